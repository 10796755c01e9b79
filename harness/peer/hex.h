/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes on the suite's channel: two digits each. */
#ifndef HARNESS_HEX_H
#define HARNESS_HEX_H

#include <jansson.h>
#include <stddef.h>

/* A string of `size` bytes. */
json_t *hex_json(const void *bytes, size_t size);

/* The bytes of such a string, `room` at most; returns how many. */
size_t hex_parse(const char *text, unsigned char *bytes, size_t room);

#endif
