/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A provider library without hardware, whose ia_params say how it misbehaves. It is loaded by
 * libdat, and tells the test program, which outlives it, what was called.
 */

#ifndef TESTS_LIBDAT_FAKE_PROVIDER_H
#define TESTS_LIBDAT_FAKE_PROVIDER_H

#include <dat/dat_registry.h>

/* One word or several of these in ia_params. */
#define FAKE_NOT_REGISTERED "not_registered"   /* init registers nothing */
#define FAKE_OTHER_NAME     "other_name"       /* init registers another IA name */
#define FAKE_STAYS          "stays_registered" /* fini does not remove the registration */
#define FAKE_OPENS_ITSELF   "opens_itself"     /* init opens the IA that it is called for */
#define FAKE_FAILS_OPEN     "fails_open"       /* opening answers FAKE_ERROR */
#define FAKE_FAILS_CLOSE    "fails_close"      /* so does the first close */
#define FAKE_NULL_HANDLE    "null_handle"      /* opening succeeds with a null handle */
#define FAKE_OWN_TABLE      "own_table"        /* the IA's first word is a copy of the table */
#define FAKE_WARNS          "warns"            /* opening succeeds with FAKE_WARNING */

#define FAKE_ERROR   ((DAT_RETURN)(DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_TEP))
#define FAKE_WARNING ((DAT_RETURN)(DAT_CLASS_WARNING | DAT_QUEUE_FULL))

struct fake_ia {
        const DAT_PROVIDER *table;
        char name[DAT_NAME_MAX_LENGTH];
        DAT_COUNT async_evd_min_qlen;
        DAT_EVD_HANDLE *async_evd_handle;
};

/* Defined by the test program. */
void fake_called(const char *function, const char *detail);
struct fake_ia *fake_new_ia(void);

#endif
