/* SPDX-License-Identifier: BSD-2-Clause */
/* All cases of this binary, in the order of their ids; each row of a family is a case. */
#ifndef HARNESS_REGISTRY_H
#define HARNESS_REGISTRY_H

#include <jansson.h>
#include <stdbool.h>

#include "case.h"

struct case_ref {
        char *id;
        const struct case_entry *entry;
        const void *row;
        uint64_t needs; /* of the case, be it a row */
};

/* Deadline of a case that does not name one, in milliseconds. */
#define DEADLINE_MS_DEFAULT 10000

/* Collects them, once; false, having said why on stderr, for an id that is bad or is there twice.
 */
bool registry_load(void);

size_t registry_count(void);
const struct case_ref *registry_at(size_t i);
const struct case_ref *registry_find(const char *id);

unsigned int case_deadline_ms(const struct case_entry *entry);

/* The id of the clause that promises a call of the provider, or "" where this binary has none. */
const char *registry_promise(const char *call);

/* Of all cases, what they are called and where they stand: 16 hexadecimal digits. */
#define REGISTRY_DIGEST_MAX 17
void registry_digest(char text[REGISTRY_DIGEST_MAX]);

/* The case as `--list` shows it. */
json_t *case_json(const struct case_ref *ref);

/* "no such case: srq_resize/gro; nearest: srq_resize/grow", to be freed. */
char *registry_no_such(const char *id);

#endif
