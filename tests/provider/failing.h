/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes one chosen call of the provider to the C library, to libibverbs or to librdmacm fail, as if
 * memory, descriptors or the device's resources had run out. A program linked with failing.c
 * defines these functions before the libraries do. Calls from outside the provider are not changed.
 * In libdaplref-failing.so, the provider's own object_publish() is one of these calls.
 */
#ifndef FAILING_H
#define FAILING_H

#include <stdbool.h>

/* The `nth` such call from now, counted from 1 over all threads, fails; no other does. */
void fail_call(int nth);

/* Lets all calls pass again. Returns the name of the function that failed, or null where fewer
 * calls than that came. */
const char *failed_call(void);

/* Whether this call must fail. Such functions ask it with their name and their return address. */
bool call_fails(const char *name, const void *caller);

/* Keeps completion queues as they are, though their resize is reported as a success. */
void resize_in_vain(bool vain);

#endif
