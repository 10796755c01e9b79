/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/shared/masks.h"
#include "case/poison.h"
#include "case/test.h"

#define PARAM_SPACE 1024 /* bytes; the structure of any query is smaller */

void expect_query(struct test *t, const struct object_query *query, DAT_HANDLE object,
                  uint64_t mask, void *param)
{
        poison(param, query->size);
        expect_named(query->text, query->call(object, mask, param), DAT_SUCCESS);
}

struct buf *expect_query_within(struct test *t, const struct object_query *query, DAT_HANDLE object)
{
        struct buf *buf = buf_with(t, .length = query->size);

        expect_named(query->text, query->call(object, query->all, buf->addr), DAT_SUCCESS);
        check_guards(t);
        return buf;
}

/* Memory for a structure whose fields are not looked at. */
struct unread_param {
        _Alignas(max_align_t) unsigned char bytes[PARAM_SPACE];
};

static void unread_param_init(struct test *t, struct unread_param *param,
                              const struct object_query *query)
{
        suite_that(query->size <= sizeof(param->bytes), "a structure of %zu bytes", query->size);
        poison(param->bytes, sizeof(param->bytes));
}

void expect_no_mask_answered(struct test *t, const struct object_query *query, DAT_HANDLE object)
{
        struct unread_param param;

        unread_param_init(t, &param, query);
        expect_may_named(query->text, query->call(object, 0, param.bytes), DAT_SUCCESS);
}

bool undefined_mask_next(const struct undefined_mask *row, unsigned int *mask)
{
        if (row->bits) {
                if (*mask)
                        return false;
                *mask = row->bits;
                return true;
        }
        do {
                if (*mask == 1U << 31)
                        return false;
                *mask = *mask ? *mask << 1 : 1;
        } while (*mask & row->fields);
        return true;
}

void expect_masks_refused(struct test *t, const struct object_query *query, DAT_HANDLE object,
                          const struct undefined_mask *row)
{
        struct unread_param param;
        unsigned int mask = 0;

        unread_param_init(t, &param, query);
        while (undefined_mask_next(row, &mask))
                expect_named(query->text, query->call(object, mask, param.bytes),
                             DAT_INVALID_PARAMETER);
}
