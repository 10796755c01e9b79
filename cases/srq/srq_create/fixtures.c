/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/srq/srq_create/fixtures.h"

DAT_SRQ_HANDLE create_on(struct test *t, DAT_IA_HANDLE of, DAT_PZ_HANDLE zone, DAT_SRQ_ATTR attr)
{
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
        DAT_RETURN ret = dat_srq_create(of, zone, &attr, &srq);

        /* At the IA's own limit of segments there may be no resources for them. */
        if (attr.max_recv_iov >= ia_attr(t)->max_iov_segments_per_dto &&
            dat_is(ret, DAT_INSUFFICIENT_RESOURCES))
                resource(t, "no resources for %d receives of %d segments", attr.max_recv_dtos,
                         attr.max_recv_iov);
        expect_named("dat_srq_create(of, zone, &attr, &srq)", ret, DAT_SUCCESS);
        adopt(t, DAT_HANDLE_TYPE_SRQ, srq);
        return srq;
}

DAT_SRQ_HANDLE srq_create_create(struct test *t, DAT_PZ_HANDLE zone, DAT_SRQ_ATTR attr)
{
        return create_on(t, ia(t), zone, attr);
}

DAT_SRQ_PARAM srq_create_described(struct test *t, DAT_SRQ_HANDLE srq)
{
        DAT_SRQ_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        expect(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param), DAT_SUCCESS);
        return param;
}

DAT_SRQ_ATTR attr_of(DAT_COUNT dtos, DAT_COUNT iov, DAT_COUNT mark)
{
        return (DAT_SRQ_ATTR){.max_recv_dtos = dtos, .max_recv_iov = iov, .low_watermark = mark};
}

struct queue queue_in(struct test *t, DAT_PZ_HANDLE zone, DAT_COUNT size)
{
        return (struct queue){.srq =
                                  srq_create_create(t, zone, attr_of(size, 1, DAT_SRQ_LW_DEFAULT)),
                              .length = MESSAGE,
                              .buf = buf_with(t, .length = SLOTS * MESSAGE, .pz = zone)};
}

struct queue queue_made(struct test *t, DAT_COUNT size)
{
        return queue_in(t, pz(t), size);
}

void expect_at_least(struct test *t, DAT_SRQ_HANDLE srq, DAT_COUNT dtos, DAT_COUNT iov)
{
        DAT_SRQ_PARAM param = srq_create_described(t, srq);

        expect_that(param.max_recv_dtos >= dtos, "%d receives asked for, %d queried", dtos,
                    param.max_recv_dtos);
        expect_that(param.max_recv_iov >= iov, "%d segments asked for, %d queried", iov,
                    param.max_recv_iov);
}

DAT_SRQ_HANDLE create_at_limit(struct test *t, DAT_COUNT dtos, DAT_COUNT iov)
{
        DAT_SRQ_ATTR attr = attr_of(dtos, iov, DAT_SRQ_LW_DEFAULT);
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
        DAT_RETURN ret = expect(dat_srq_create(ia(t), pz(t), &attr, &srq), DAT_SUCCESS,
                                DAT_INSUFFICIENT_RESOURCES);

        if (dat_is(ret, DAT_INSUFFICIENT_RESOURCES))
                resource(t, "no resources for %d receives of %d segments", dtos, iov);
        adopt(t, DAT_HANDLE_TYPE_SRQ, srq);
        return srq;
}
