/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes one chosen call of the provider to the C library, to libibverbs or to librdmacm fail, as it
 * does where memory, descriptors or the device come to their end. A program linked with failing.c
 * has these functions before the libraries do; calls by others than the provider pass through.
 */
#ifndef FAILING_H
#define FAILING_H

#include <stdbool.h>

/* The `nth` such call from now, counted from 1 over all threads, fails; no other does. */
void fail_call(int nth);

/* Lets all calls pass again. Returns the name of the function that failed, or null where fewer
 * calls than that came. */
const char *failed_call(void);

/* Has completion queues stay as they are, though they are told to have been resized. */
void resize_in_vain(bool vain);

#endif
