/* SPDX-License-Identifier: BSD-2-Clause */
/* Cases that are as good or bad as the provider that they run on. */
#include "case.h"

CASE(provider, resizes, NEEDS(SRQ))
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);

        expect(dat_srq_resize(srq, 16), DAT_SUCCESS);
        expect_eq(srq_param(t, srq).max_recv_dtos, 16);
}

CASE(provider, resizes_by_arrangement, NEEDS(SRQ))
{
        DAT_SRQ_HANDLE srq = srq_with(t);

        must(dat_srq_resize(srq, 16));
}

CASE(provider, makes_srq)
{
        srq_with(t);
}

CASE(provider, makes_srq_supported, NEEDS(SRQ))
{
        srq_with(t);
}

CASE(provider, has_watermarks, NEEDS(SRQ, SRQ_WATERMARKS))
{
        record(t, "not reached");
}

CASE(provider, frees_everything)
{
        struct buf *buf = buf_with(t, .length = 100);

        srq_with(t, .pz = pz_new(t));
        evd_with(t);
        expect_that(buf->length == 100, "a buffer of %zu bytes", buf->length);
}

CASE(provider, fails_and_frees, NEEDS(SRQ))
{
        DAT_SRQ_HANDLE srq = srq_with(t);

        expect(dat_srq_resize(srq, 16), DAT_INVALID_STATE);
}

CASE(provider, posts_receives)
{
        DAT_SRQ_HANDLE srq = srq_with(t);

        srq_post(t, srq, buf_with(t, .length = 256), 64, 2, 2);
}

CASE(provider, waits_in_vain)
{
        expect_event(evd_with(t), DAT_DTO_COMPLETION_EVENT);
}

CASE(provider, keeps_quiet)
{
        expect_quiet(evd_with(t));
}

CASE(provider, resizes_beside_a_peer, PEER)
{
        DAT_SRQ_HANDLE srq = srq_with(t);

        peer(t);
        expect(dat_srq_resize(srq, 16), DAT_SUCCESS);
        settle(t);
}
