/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HARNESS_BUILD_ID_H
#define HARNESS_BUILD_ID_H

#include <stddef.h>

/* The build id that the linker gave this binary, in hexadecimal; "" where it gave none. */
void build_id(char *text, size_t size);

#endif
