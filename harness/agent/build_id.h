/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HARNESS_BUILD_ID_H
#define HARNESS_BUILD_ID_H

#include <link.h>
#include <stddef.h>

#define BUILD_ID_MAX 65

/* The build id that the linker gave this binary, in hexadecimal; "" where it gave none. */
void build_id(char *text, size_t size);

/* The same of an object that dl_iterate_phdr() tells of. */
void build_id_of(const struct dl_phdr_info *object, char *text, size_t size);

#endif
