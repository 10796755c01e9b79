/* SPDX-License-Identifier: BSD-2-Clause */
/* What a call is to write is poison before it, so that nothing it leaves unwritten is an answer. */
#ifndef HARNESS_POISON_H
#define HARNESS_POISON_H

#include <stdbool.h>
#include <stddef.h>

struct test;

#define POISON 0xa5

/* Fills with poison. */
void poison(void *at, size_t size);

/* Whether all of it still is poison. */
bool is_poison(const void *at, size_t size);

/*
 * Zeroes the fields of a structure that still are poison ("DAT_IA_ATTR" names the structure), and
 * lists their names; false where there are none.
 */
bool unwritten_fields(const char *structure, void *at, char *names, size_t size);

/* Ends the case as BLOCKED by `call` where a value that it was asked for still is poison. */
void must_be_written(struct test *t, const char *call, const char *name, const void *at,
                     size_t size);
#define MUST_BE_WRITTEN(call_, structure_, field_) \
        must_be_written(t, (call_), #field_, &(structure_).field_, sizeof((structure_).field_))

/* Ends the case as BLOCKED by the call whose success another call does not confirm. */
void must_show(struct test *t, const char *call, const char *shown_by, const char *what,
               bool shown);

/* Whether the case is of this page: what it asks itself no fixture asks before it. */
bool is_of_page(const struct test *t, const char *page);

#endif
