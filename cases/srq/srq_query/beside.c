/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_query: calls of other threads beside it. */
#include "cases/srq/shared/neighbours.h"
#include "clauses/srq_query.h"

static const struct srq_neighbour neighbours[] = {
    {"post", srq_beside_post},           {"resize", srq_beside_resize}, {"reap", srq_beside_reap},
    {"other_srq", srq_beside_other_srq}, {"ep", srq_beside_ep},
};

static bool is_within(DAT_COUNT told, DAT_COUNT least, DAT_COUNT most)
{
        return told == DAT_VALUE_UNKNOWN || (told >= least && told <= most);
}

/*
 * What query `i` of a round told is right for some moment of it. A round's receives are outstanding
 * all the time, but where they are posted in it or others are reaped.
 */
static void check_told(struct test *t, const struct srq_beside *it, const struct srq_neighbour *row,
                       int i)
{
        const DAT_SRQ_PARAM *param = &it->params[i];
        DAT_COUNT before = i ? it->params[i - 1].outstanding_dto_count : DAT_VALUE_UNKNOWN;
        bool posts = row->turn == srq_beside_post;
        bool reaps = row->turn == srq_beside_reap;
        DAT_COUNT left = posts || reaps ? 0 : SRQ_TURNS - it->ahead;

        expect_that(param->ia_handle == it->ia && param->pz_handle == it->pz,
                    "the SRQ is of another IA or PZ");
        expect_eq(param->srq_state, DAT_SRQ_STATE_OPERATIONAL);
        expect_that(param->max_recv_dtos >= SRQ_LEAST, "the size told is %d", param->max_recv_dtos);
        expect_that(is_within(param->available_dto_count, left, SRQ_TURNS), "%d receives available",
                    param->available_dto_count);
        expect_that(is_within(param->outstanding_dto_count, posts ? 0 : SRQ_TURNS,
                              reaps ? 2 * SRQ_TURNS : SRQ_TURNS),
                    "%d receives outstanding", param->outstanding_dto_count);
        if (posts && before != DAT_VALUE_UNKNOWN)
                expect_that(is_within(param->outstanding_dto_count, before, SRQ_TURNS),
                            "%d receives outstanding, after %d", param->outstanding_dto_count,
                            before);
}

static void check_all_told(struct test *t, const struct srq_beside *it,
                           const struct srq_neighbour *row)
{
        for (int i = 0; i < SRQ_TURNS; i++)
                check_told(t, it, row, i);
}

FAMILY(srq_query, beside, neighbours, BESIDE_DEADLINE)
{
        expect_srq_beside(t, srq_beside_query, row, check_all_told);
}
