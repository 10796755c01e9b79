/* SPDX-License-Identifier: BSD-2-Clause */
/* What there is room for on the IA, by its own limits. */
#ifndef HARNESS_LIMITS_H
#define HARNESS_LIMITS_H

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
 * The value of a limit of the IA, as max_srqs, without which a case of the feature has no question.
 * One that is not above 0 ends the case as BLOCKED by dat_ia_query, which promises it.
 */
#define limit_told(name_) check_limit_told(t, CHECK_SITE_(#name_), ia_attr(t)->name_)
DAT_COUNT check_limit_told(struct test *t, const struct check_site *site, DAT_COUNT limit);

#endif
