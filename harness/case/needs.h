/* SPDX-License-Identifier: BSD-2-Clause */
/* Optional features, and where a provider declares them. The table is in needs.c. */
#ifndef HARNESS_NEEDS_H
#define HARNESS_NEEDS_H

#include <jansson.h>

#include "case.h"

/* The catalogue's words for a set of needs, as a list. */
json_t *needs_json(uint64_t needs);

/*
 * Every feature and whether the attributes declare it, as an object, without those of which an
 * attribute that was never written would tell; safety under threads by those of the threadsafe
 * entry.
 */
json_t *needs_declared_json(const DAT_PROVIDER_ATTR *attr, const DAT_PROVIDER_ATTR *threadsafe,
                            const bool *unwritten);

/*
 * Writes the declaration that says that a needed feature is absent ("srq_supported = 0") and
 * returns true; false when all are declared.
 */
bool needs_missing(uint64_t needs, const DAT_PROVIDER_ATTR *attr, char *text, size_t size);

/*
 * Writes which needed feature is told of by an attribute that was never written, by the bytes of
 * the attributes that were not, and returns true; false when all are told of.
 */
bool needs_untold(uint64_t needs, const bool *unwritten, char *text, size_t size);

/* "srq_supported = 1, srq_watermarks_supported = 3": what declares a set of needs. */
void needs_declaration(uint64_t needs, const DAT_PROVIDER_ATTR *attr, char *text, size_t size);

#endif
