/* SPDX-License-Identifier: BSD-2-Clause */
/* What an object's own query tells of it, before a call that is refused and after it. */
#ifndef HARNESS_OBJECT_STATE_H
#define HARNESS_OBJECT_STATE_H

#include <stddef.h>

#include "case.h"

#define OBJECT_PARAM_SPACE 256 /* bytes; the structure of any query is smaller */

struct object_query_kind;

struct object_state {
        DAT_HANDLE handle;
        const struct object_query_kind *kind; /* NULL: nothing is known of the object */
        _Alignas(max_align_t) unsigned char param[OBJECT_PARAM_SPACE];
};

/*
 * All fields of the object's query. Nothing is known of a null handle and of an IA, which has only
 * limits to tell; nor of an object whose query fails, is what the case itself is about, or gave a
 * probe no answer.
 */
struct object_state object_state(struct test *t, DAT_HANDLE_TYPE type, DAT_HANDLE handle);

/*
 * The object is as it was: its query succeeds and tells the same, else FAIL. What a pointer in it
 * points at is not looked at. `name` is what the message calls the object.
 */
void expect_object_kept(struct test *t, const struct check_site *site,
                        const struct object_state *before, const char *name);

#endif
