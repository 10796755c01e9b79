/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ia_query: the fields. */
#include "case/poison.h"
#include "cases/ia/ia_query/fixtures.h"
#include "clauses/ia_query.h"

/* Queried alone and with all others, into two kinds of memory: the value is the same. */
FAMILY(ia_query, ia_field, ia_fields)
{
        struct answer alone, again, all;

        ask(t, POISON, row->bit, DAT_PROVIDER_FIELD_NONE, &alone);
        ask(t, (unsigned char)~POISON, row->bit, DAT_PROVIDER_FIELD_NONE, &again);
        ask_all(t, &all);

        expect_that(is_same(row, &alone.ia, &again.ia, &all.ia), "%s is not written", row->id);
        expect_that(is_same(row, &alone.ia, &all.ia, &all.ia),
                    "%s has another value if all fields are queried", row->id);
        ask(t, (unsigned char)~POISON, DAT_IA_FIELD_ALL, DAT_PROVIDER_FIELD_ALL, &again);
        expect_that(is_same(row, &again.ia, &all.ia, &all.ia),
                    "%s is not written when all is asked for", row->id);
}

FAMILY(ia_query, provider_field, provider_fields)
{
        struct answer alone, again, all;

        ask(t, POISON, DAT_IA_FIELD_NONE, row->bit, &alone);
        ask(t, (unsigned char)~POISON, DAT_IA_FIELD_NONE, row->bit, &again);
        ask_all(t, &all);

        expect_that(is_same(row, &alone.provider, &again.provider, &all.provider),
                    "%s is not written", row->id);
        expect_that(is_same(row, &alone.provider, &all.provider, &all.provider),
                    "%s has another value if all fields are queried", row->id);
        ask(t, (unsigned char)~POISON, DAT_IA_FIELD_ALL, DAT_PROVIDER_FIELD_ALL, &again);
        expect_that(is_same(row, &again.provider, &all.provider, &all.provider),
                    "%s is not written when all is asked for", row->id);
}

CASE(ia_query, async_evd)
{
        struct answer answer;

        ask_all(t, &answer);
        expect_that(answer.async == async_evd(t), "the async_evd_handle is another");
        ask(t, POISON, DAT_IA_FIELD_NONE, DAT_PROVIDER_FIELD_NONE, &answer);
        expect_that(answer.async == async_evd(t), "the async_evd_handle alone is another");
}

CASE(ia_query, common_to_instances)
{
        struct answer one, other;

        ask_all(t, &one);
        ask_other(t, &other);
        expect_that(other.async != one.async, "two instances have one asynchronous EVD");
        for (size_t i = 0; i < sizeof(ia_fields) / sizeof(ia_fields[0]); i++) {
                const struct field *field = &ia_fields[i];

                expect_that(is_same(field, &one.ia, &other.ia, &one.ia),
                            "two instances of the IA tell another %s", field->id);
        }
}
