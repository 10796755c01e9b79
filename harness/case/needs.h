/* SPDX-License-Identifier: BSD-2-Clause */
/* Optional features, and where a provider declares them. The table is in needs.c. */
#ifndef HARNESS_NEEDS_H
#define HARNESS_NEEDS_H

#include <jansson.h>

#include "case.h"
#include "evidence/evidence.h"

/* Room for what an attribute declares of a feature, with the names of all its flags. */
#define NEED_TEXT_MAX 256

/* How it became known whether a feature is there, or why it is not known. */
struct feature_found {
        uint64_t need;
        char how[REASON_MAX];
};

/*
 * What is known of features whose attribute dat_ia_query leaves unwritten: those that count as
 * declared, those that count as declared absent, and which of both --assume has decided, and no
 * trial; and of each how it became known, or why it is not. A feature whose attribute was written
 * goes by its attribute, whatever stands here.
 */
struct found_features {
        uint64_t present;
        uint64_t absent;
        uint64_t assumed;
        const struct feature_found *features;
        size_t count;
};

/* The catalogue's words for a set of needs, as a list. */
json_t *needs_json(uint64_t needs);

/* The catalogue's word for one feature ("srq_supported"). */
const char *need_name(uint64_t need);

/* The feature of a word of the catalogue that an attribute declares; 0 where there is none. */
uint64_t need_named(const char *name);

/* The features that no written attribute tells of; safety under threads by the threadsafe entry. */
uint64_t needs_unwritten(const struct probe *probe, const struct probe *threadsafe);

/*
 * Every feature and whether it is declared or counts as declared, as an object, without those of
 * which nothing is known; safety under threads by the threadsafe entry.
 */
json_t *needs_declared_json(const struct probe *probe, const struct probe *threadsafe,
                            const struct found_features *found);

/*
 * Writes what says that a needed feature is absent ("srq_supported = 0") and returns true; false
 * when none is.
 */
bool needs_missing(uint64_t needs, const struct probe *probe, const struct found_features *found,
                   char *text, size_t size);

/*
 * Writes which attribute was never written that tells of a needed feature, and why nothing else
 * tells of it, and returns true; false when all are known.
 */
bool needs_untold(uint64_t needs, const struct probe *probe, const struct found_features *found,
                  char *text, size_t size);

/* Gives the attributes that were never written the values that say what was found. */
void needs_fill_in(DAT_PROVIDER_ATTR *attr, const struct probe *probe,
                   const struct found_features *found);

/* "srq_supported = 1, srq_watermarks_supported = 3": what declares a set of needs. */
void needs_declaration(uint64_t needs, const struct probe *probe,
                       const struct found_features *found, char *text, size_t size);

#endif
