/* SPDX-License-Identifier: BSD-2-Clause */
/* An IA has as many objects of a kind as it says; a case does with them, or is not asked. */
#include "case/limits.h"
#include "case/test.h"

#include <stddef.h>
#include <stdio.h>

static const struct limit {
        DAT_HANDLE_TYPE type;
        enum object_kind kind;
        const char *name;
        size_t offset;
} limits[] = {
#define LIMIT(kind_, name_)                                                                   \
        {                                                                                     \
                DAT_HANDLE_TYPE_##kind_, OBJECT_##kind_, #name_, offsetof(DAT_IA_ATTR, name_) \
        }
    LIMIT(EP, max_eps), LIMIT(EVD, max_evds), LIMIT(LMR, max_lmrs),
    LIMIT(PZ, max_pzs), LIMIT(RMR, max_rmrs), LIMIT(SRQ, max_srqs),
#undef LIMIT
};

static const struct limit *limit_of(DAT_HANDLE_TYPE type)
{
        for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
                if (limits[i].type == type)
                        return &limits[i];
        return NULL;
}

static DAT_COUNT most(struct test *t, const struct limit *limit)
{
        return *(const DAT_COUNT *)((const char *)ia_attr_if_told(t) + limit->offset);
}

/* Those of other IAs count: an adapter may share its own among them. */
static DAT_COUNT made(const struct test *t, const struct limit *limit)
{
        DAT_COUNT count = limit->kind == OBJECT_EVD && t->async_evd != DAT_HANDLE_NULL;

        for (const struct object *o = t->objects; o; o = o->older)
                count += o->kind == limit->kind;
        return count;
}

DAT_COUNT cap_at_limit(struct test *t, DAT_COUNT wanted, DAT_HANDLE_TYPE type, DAT_COUNT each)
{
        const struct limit *limit = limit_of(type);
        DAT_COUNT room = (most(t, limit) - made(t, limit)) / each;
        char text[96];

        if (most(t, limit) <= 0 || room >= wanted)
                return wanted;
        if (room < 2) {
                snprintf(text, sizeof(text), "%s = %d, of which the case needs more", limit->name,
                         most(t, limit));
                unsupported(t, text);
        }
        record(t, "%s = %d: %d instead of %d", limit->name, most(t, limit), room, wanted);
        return room;
}

void check_limit(struct test *t, const struct check_site *site, DAT_HANDLE_TYPE type,
                 DAT_RETURN ret)
{
        const struct limit *limit = limit_of(type);
        char text[96];

        if (!dat_is(ret, DAT_INSUFFICIENT_RESOURCES) || most(t, limit) <= 0 ||
            made(t, limit) < most(t, limit)) {
                check_arrange(t, site, ret);
                return;
        }
        snprintf(text, sizeof(text), "%s = %d: the case has as many, and needs more", limit->name,
                 most(t, limit));
        unsupported(t, text);
}

DAT_COUNT check_limit_told(struct test *t, const struct check_site *site, const char *name,
                           DAT_COUNT limit)
{
        if (limit <= 0)
                check_must_that(t, site, "dat_ia_query", false, "%s is %d", name, limit);
        return limit;
}
