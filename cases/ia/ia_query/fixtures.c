/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/ia/ia_query/fixtures.h"
#include "cases/shared/point.h"

#include <string.h>

void ask(struct test *t, unsigned char before, uint64_t ia_mask, uint64_t provider_mask,
         struct answer *answer)
{
        memset((void *)answer, before, sizeof(*answer));
        expect(dat_ia_query(ia(t), &answer->async, (DAT_IA_ATTR_MASK)ia_mask, &answer->ia,
                            (DAT_PROVIDER_ATTR_MASK)provider_mask, &answer->provider),
               DAT_SUCCESS);
}

void ask_all(struct test *t, struct answer *answer)
{
        ask(t, POISON, DAT_IA_FIELD_ALL, DAT_PROVIDER_FIELD_ALL, answer);
}

static bool same_named(const DAT_NAMED_ATTR *one, const DAT_NAMED_ATTR *other, DAT_COUNT count)
{
        for (DAT_COUNT i = 0; i < count; i++)
                if (strcmp(one[i].name, other[i].name) != 0 ||
                    strcmp(one[i].value, other[i].value) != 0)
                        return false;
        return true;
}

bool is_same(const struct field *field, const void *one, const void *other, const void *all)
{
        const char *left = (const char *)one + field->offset;
        const char *right = (const char *)other + field->offset;
        const void *pointers[2];
        DAT_COUNT count;

        if (field->kind == NUMBER)
                return memcmp(left, right, field->size) == 0;
        if (field->kind == STRING)
                return strncmp(left, right, field->size) == 0;
        memcpy(&pointers[0], left, sizeof(pointers[0]));
        memcpy(&pointers[1], right, sizeof(pointers[1]));
        if (field->kind == ADDRESS)
                return same_host(pointers[0], pointers[1]);
        memcpy(&count, (const char *)all + field->count_at, sizeof(count));
        return same_named(pointers[0], pointers[1], count);
}

void ask_other(struct test *t, struct answer *answer)
{
        memset((void *)answer, POISON, sizeof(*answer));
        expect(dat_ia_query(other_ia(t), &answer->async, DAT_IA_FIELD_ALL, &answer->ia,
                            DAT_PROVIDER_FIELD_ALL, &answer->provider),
               DAT_SUCCESS);
}
