/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/srq/srq_query/fixtures.h"
#include "case/limits.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/shared/masks.h"
#include "cases/srq/shared/queue.h"

#include <string.h>

#define KNOWN_IOV 2

struct known known_srq(struct test *t)
{
        DAT_COUNT iov = ia_attr_if_told(t)->max_iov_segments_per_dto < KNOWN_IOV ? 1 : KNOWN_IOV;
        DAT_PZ_HANDLE zone = pz_new(t);
        struct known known = {
            .srq = srq_with(t, .max_recv_dtos = KNOWN_DTOS, .max_recv_iov = iov, .pz = zone),
            .iov = iov,
            .pz = zone,
            .buf = buf_with(t, .pz = zone),
        };

        srq_post(t, known.srq, known.buf, MESSAGE, 0, KNOWN_POSTS);
        return known;
}

static DAT_RETURN query_srq(DAT_HANDLE srq, uint64_t mask, void *param)
{
        return dat_srq_query(srq, (DAT_SRQ_PARAM_MASK)mask, param);
}

const struct object_query srq_object_query = {"dat_srq_query(srq, mask, param)", query_srq,
                                              sizeof(DAT_SRQ_PARAM), DAT_SRQ_FIELD_ALL};

DAT_SRQ_PARAM srq_query_queried(struct test *t, DAT_SRQ_HANDLE srq, unsigned int mask)
{
        DAT_SRQ_PARAM param;

        expect_query(t, &srq_object_query, srq, mask, &param);
        return param;
}

void query_often(struct test *t, DAT_SRQ_HANDLE srq)
{
        for (int i = 0; i < MANY; i++)
                srq_query_queried(t, srq, DAT_SRQ_FIELD_ALL);
}

void check_ia(struct test *t, const struct known *known, const DAT_SRQ_PARAM *param)
{
        (void)known;
        expect_that(param->ia_handle == ia(t), "the SRQ is of another IA");
}

void check_state(struct test *t, const struct known *known, const DAT_SRQ_PARAM *param)
{
        (void)known;
        expect_eq(param->srq_state, DAT_SRQ_STATE_OPERATIONAL);
}

void check_pz(struct test *t, const struct known *known, const DAT_SRQ_PARAM *param)
{
        expect_that(param->pz_handle == known->pz, "the SRQ is of another PZ");
}

void check_least(struct test *t, DAT_COUNT seen, DAT_COUNT asked, DAT_COUNT limit)
{
        expect_that(seen >= asked, "%d asked for, %d queried", asked, seen);
        if (seen > limit)
                note(t, "%d srq_query_queried, above the IA's own limit of %d", seen, limit);
}

void check_dtos(struct test *t, const struct known *known, const DAT_SRQ_PARAM *param)
{
        (void)known;
        check_least(t, param->max_recv_dtos, KNOWN_DTOS, limit_or_none(max_recv_per_srq));
}

void check_iov(struct test *t, const struct known *known, const DAT_SRQ_PARAM *param)
{
        check_least(t, param->max_recv_iov, known->iov, limit_or_none(max_iov_segments_per_dto));
}

void check_mark(struct test *t, const struct known *known, const DAT_SRQ_PARAM *param)
{
        (void)known;
        expect_eq(param->low_watermark, DAT_SRQ_LW_DEFAULT);
}

void expect_declared(struct test *t, DAT_COUNT dto_count, DAT_COUNT wanted)
{
        must_be_told(t, NEED_SRQ_INFO_AVAILABLE | NEED_SRQ_INFO_OUTSTANDING);
        if (provider_attr_if_told(t)->srq_info_supported)
                expect_count(t, dto_count, wanted);
        else
                expect_eq(dto_count, DAT_VALUE_UNKNOWN);
}

void check_available(struct test *t, const struct known *known, const DAT_SRQ_PARAM *param)
{
        (void)known;
        expect_declared(t, param->available_dto_count, KNOWN_POSTS);
}

void check_outstanding(struct test *t, const struct known *known, const DAT_SRQ_PARAM *param)
{
        (void)known;
        expect_declared(t, param->outstanding_dto_count, KNOWN_POSTS);
}

DAT_SRQ_PARAM check_fields_but(struct test *t, const struct known *known, unsigned int mask,
                               unsigned int others)
{
        DAT_SRQ_PARAM param = srq_query_queried(t, known->srq, mask);

        for (size_t i = 0; i < FIELD_COUNT; i++)
                if (mask & ~others & fields[i].bit)
                        fields[i].check(t, known, &param);
        return param;
}

void srq_query_check_fields(struct test *t, const struct known *known, unsigned int mask)
{
        check_fields_but(t, known, mask, 0);
}

DAT_COUNT available(struct test *t, DAT_SRQ_HANDLE srq)
{
        return srq_query_queried(t, srq, DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT).available_dto_count;
}

DAT_COUNT outstanding(struct test *t, DAT_SRQ_HANDLE srq)
{
        return srq_query_queried(t, srq, DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT).outstanding_dto_count;
}

void refuse_mask(struct test *t, const struct known *known)
{
        DAT_SRQ_PARAM param;

        (void)t;
        (void)dat_srq_query(known->srq, (DAT_SRQ_PARAM_MASK)~0U, &param);
}
