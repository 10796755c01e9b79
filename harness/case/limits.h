/* SPDX-License-Identifier: BSD-2-Clause */
/* What there is room for on the IA, by its own limits. */
#ifndef HARNESS_LIMITS_H
#define HARNESS_LIMITS_H

#include <limits.h>

#include "case/check.h"

/*
 * arrange() of a call that makes an object. One that is refused for want of resources, where the
 * fixtures have made as many as the IA publishes, ends the case as UNSUPPORTED by that limit.
 */
#define arrange_one(type_, call_) \
        check_limit(t, CHECK_SITE_(#call_), DAT_HANDLE_TYPE_##type_, (call_))
void check_limit(struct test *t, const struct check_site *site, DAT_HANDLE_TYPE type,
                 DAT_RETURN ret);

/*
 * The value of a limit of the IA, as max_srqs, that a case asks for. One that is not above 0, while
 * the feature is there, ends the case as BLOCKED by dat_ia_query, which promises it.
 */
#define limit_told(name_) check_limit_told(t, CHECK_SITE_(#name_ " > 0"), #name_, ia_attr(t)->name_)
DAT_COUNT check_limit_told(struct test *t, const struct check_site *site, const char *name,
                           DAT_COUNT limit);

/* The same of a limit that a case only keeps to: an IA that tells none has none. */
#define limit_or_none(name_) (ia_attr_if_told(t)->name_ > 0 ? ia_attr_if_told(t)->name_ : INT_MAX)

/* A number that eight bits do not hold, of what an IA may have room for. */
#define HUNDREDS 300

#endif
