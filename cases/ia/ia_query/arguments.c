/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ia_query: side effects and arguments. */
#include "case/poison.h"
#include "case/test.h"
#include "cases/ia/ia_query/fixtures.h"
#include "cases/pz/shared/zone.h"
#include "clauses/ia_query.h"

#include <string.h>

#define MANY    100 /* queries */
#define THREADS 3
#define MET     3 /* rounds in which their calls met are enough */

/*
 * What a query leaves as it was
 */

CASE(ia_query, within_ia_attr)
{
        struct buf *buf = buf_with(t, .length = sizeof(DAT_IA_ATTR));
        DAT_EVD_HANDLE async;

        expect(dat_ia_query(ia(t), &async, DAT_IA_FIELD_ALL, (DAT_IA_ATTR *)(void *)buf->addr,
                            DAT_PROVIDER_FIELD_NONE, NULL),
               DAT_SUCCESS);
        check_guards(t);
        release(t, buf->lmr);
}

CASE(ia_query, within_provider_attr)
{
        struct buf *buf = buf_with(t, .length = sizeof(DAT_PROVIDER_ATTR));
        DAT_EVD_HANDLE async;

        expect(dat_ia_query(ia(t), &async, DAT_IA_FIELD_NONE, NULL, DAT_PROVIDER_FIELD_ALL,
                            (DAT_PROVIDER_ATTR *)(void *)buf->addr),
               DAT_SUCCESS);
        check_guards(t);
        release(t, buf->lmr);
}

struct asking {
        DAT_IA_HANDLE ia;
        struct answer answer;
};

static DAT_RETURN ask_by(void *arg)
{
        struct asking *asking = arg;
        struct answer *answer = &asking->answer;

        return dat_ia_query(asking->ia, &answer->async, DAT_IA_FIELD_ALL, &answer->ia,
                            DAT_PROVIDER_FIELD_ALL, &answer->provider);
}

static void expect_told(struct test *t, const struct answer *answer, const struct answer *known)
{
        expect_that(answer->async == known->async, "a thread was told another's asynchronous EVD");
        for (size_t i = 0; i < sizeof(ia_fields) / sizeof(ia_fields[0]); i++)
                expect_that(is_same(&ia_fields[i], &answer->ia, &known->ia, &known->ia),
                            "a thread was told another %s", ia_fields[i].id);
        for (size_t i = 0; i < sizeof(provider_fields) / sizeof(provider_fields[0]); i++)
                expect_that(is_same(&provider_fields[i], &answer->provider, &known->provider,
                                    &known->provider),
                            "a thread was told another %s", provider_fields[i].id);
}

CASE(ia_query, any_thread)
{
        struct stress stress = stress_of(t, MANY);
        struct answer own, other;

        ask_all(t, &own);
        ask_other(t, &other);
        while (stress.met < MET && stress_round(&stress)) {
                struct asking askings[THREADS];
                struct racer racers[THREADS];

                memset((void *)askings, POISON, sizeof(askings));
                for (int i = 0; i < THREADS; i++) {
                        askings[i].ia = i ? ia(t) : other_ia(t);
                        racers[i] = (struct racer){.call = ask_by, .arg = &askings[i]};
                }
                stress_met(&stress, race(racers, THREADS));
                for (int i = 0; i < THREADS; i++) {
                        expect(racers[i].ret, DAT_SUCCESS);
                        expect_told(t, &askings[i].answer, i ? &own : &other);
                }
        }
        must_have_met(&stress);
}

/*
 * Arguments
 */

static const struct mask {
        const char *id;
        uint64_t ia, provider;
} masks[] = {
    {"ia_next_bit", (uint64_t)DAT_IA_FIELD_ALL + 1, DAT_PROVIDER_FIELD_NONE},
    {"ia_next_bit_among_all", (uint64_t)DAT_IA_FIELD_ALL * 2 + 1, DAT_PROVIDER_FIELD_ALL},
    {"ia_highest_bit", UINT64_C(1) << 63, DAT_PROVIDER_FIELD_NONE},
    {"provider_next_bit", DAT_IA_FIELD_NONE, (uint64_t)DAT_PROVIDER_FIELD_ALL + 1},
    {"provider_next_bit_among_all", DAT_IA_FIELD_ALL, (uint64_t)DAT_PROVIDER_FIELD_ALL * 2 + 1},
    {"provider_highest_bit", DAT_IA_FIELD_NONE, UINT64_C(1) << 63},
};

FAMILY(ia_query, invalid_mask, masks)
{
        struct answer answer;

        expect(dat_ia_query(ia(t), &answer.async, (DAT_IA_ATTR_MASK)row->ia, &answer.ia,
                            (DAT_PROVIDER_ATTR_MASK)row->provider, &answer.provider),
               DAT_INVALID_PARAMETER);
        ask_all(t, &answer);
        expect_that(answer.async == async_evd(t), "the async_evd_handle is another");
}

static const struct bits {
        const char *id;
        bool of_provider;
        uint64_t fields;
} bits[] = {
    {"ia", false, DAT_IA_FIELD_ALL},
    {"provider", true, DAT_PROVIDER_FIELD_ALL},
};

FAMILY(ia_query, invalid_bit, bits)
{
        struct answer answer;

        for (uint64_t bit = 1; bit; bit <<= 1) {
                uint64_t of_ia = row->of_provider ? DAT_IA_FIELD_NONE : bit;
                uint64_t of_provider = row->of_provider ? bit : DAT_PROVIDER_FIELD_NONE;

                if (bit & row->fields)
                        continue;
                expect(dat_ia_query(ia(t), &answer.async, (DAT_IA_ATTR_MASK)of_ia, &answer.ia,
                                    (DAT_PROVIDER_ATTR_MASK)of_provider, &answer.provider),
                       DAT_INVALID_PARAMETER);
        }
        ask_all(t, &answer);
        expect_that(answer.async == async_evd(t), "the async_evd_handle is another");
}

LEGAL(ia_query)
{
        static struct answer answer;

        call->ia_handle = ia(t);
        call->async_evd_handle = &answer.async;
        call->ia_attr_mask = DAT_IA_FIELD_ALL;
        call->ia_attr = &answer.ia;
        call->provider_attr_mask = DAT_PROVIDER_FIELD_ALL;
        call->provider_attr = &answer.provider;
}
