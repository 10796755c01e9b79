/* SPDX-License-Identifier: BSD-2-Clause */
/* Cases that are as good or bad as the provider that they run on. */
#include "case.h"

CASE_WITH(provider, resizes, .needs = NEED_SRQ)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);

        expect(dat_srq_resize(srq, 16), DAT_SUCCESS);
        expect_eq(srq_param(t, srq).max_recv_dtos, 16);
}

/* More calls than a slow provider makes in one deadline. */
CASE_WITH(provider, resizes_often, .needs = NEED_SRQ)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);

        for (int i = 0; i < 20; i++)
                expect(dat_srq_resize(srq, 16), DAT_SUCCESS);
}

CASE_WITH(provider, resizes_for_ever, .needs = NEED_SRQ)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);

        while (dat_is(dat_srq_resize(srq, 16), DAT_SUCCESS))
                ;
}

/* As a case that polls for what does not come. */
CASE_WITH(provider, asks_for_ever, .needs = NEED_SRQ)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);

        while (srq_param(t, srq).max_recv_dtos == 8)
                ;
}

CASE_WITH(provider, resizes_in_network, .needs = NEED_SRQ, .peers = 1, .network = true)
{
        expect(dat_srq_resize(srq_with(t), 16), DAT_SUCCESS);
}

PROMISE(dat_srq_resize, "provider/resizes");

/* The same call where the page is about another one: unmarked, as a step, and as what is judged. */
CASE_WITH(srq_query, resizes_on_the_way, .needs = NEED_SRQ)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_RETURN ret = dat_srq_resize(srq, 16);

        expect_that(dat_is(ret, DAT_SUCCESS), "it returned 0x%x", ret);
}

CASE_WITH(srq_query, resizes_by_step, .needs = NEED_SRQ)
{
        DAT_SRQ_HANDLE srq = srq_with(t);

        must(dat_srq_resize(srq, 16));
}

CASE_WITH(srq_query, resizes_by_expectation, .needs = NEED_SRQ)
{
        DAT_SRQ_HANDLE srq = srq_with(t);

        expect(dat_srq_resize(srq, 16), DAT_SUCCESS);
}

CASE_WITH(srq_resize, resizes, .needs = NEED_SRQ)
{
        DAT_SRQ_HANDLE srq = srq_with(t);

        must(dat_srq_resize(srq, 16));
}

CASE_WITH(provider, resizes_by_arrangement, .needs = NEED_SRQ)
{
        DAT_SRQ_HANDLE srq = srq_with(t);

        must(dat_srq_resize(srq, 16));
}

CASE_WITH(provider, makes_srq, .needs = 0)
{
        expect_that(srq_with(t) != DAT_HANDLE_NULL, "there is no SRQ");
}

CASE_WITH(provider, makes_three_zones, .needs = 0)
{
        for (int i = 0; i < 3; i++)
                expect_that(pz_new(t) != DAT_HANDLE_NULL, "there is no zone");
}

CASE_WITH(provider, has_room, .needs = 0)
{
        expect_eq(cap_at_limit(t, 5, DAT_HANDLE_TYPE_PZ, 1), 5);
        expect_eq(cap_at_limit(t, 3, DAT_HANDLE_TYPE_PZ, 2), 2);
        pz_new(t);
        expect_eq(cap_at_limit(t, 5, DAT_HANDLE_TYPE_PZ, 1), 4);
        expect_eq(cap_at_limit(t, 1000, DAT_HANDLE_TYPE_EP, 1), 1000);
}

CASE_WITH(provider, makes_srq_supported, .needs = NEED_SRQ)
{
        expect_that(srq_with(t) != DAT_HANDLE_NULL, "there is no SRQ");
}

CASE_WITH(provider, has_watermarks, .needs = NEED_SRQ | NEED_SRQ_WATERMARKS)
{
        record(t, "not reached");
}

/* The fixture looks at the EP by dat_ep_query, the case by dat_ep_get_status, teardown too. */
CASE_WITH(provider, makes_an_ep, .needs = 0)
{
        expect_eq(ep_state(t, ep_with(t)), DAT_EP_STATE_UNCONNECTED);
}

CASE_WITH(provider, frees_everything, .needs = 0)
{
        struct buf *buf = buf_with(t, .length = 100);

        srq_with(t, .pz = pz_new(t));
        evd_with(t);
        expect_that(buf->length == 100, "a buffer of %zu bytes", buf->length);
}

CASE_WITH(provider, fails_and_frees, .needs = NEED_SRQ)
{
        DAT_SRQ_HANDLE srq = srq_with(t);

        expect(dat_srq_resize(srq, 16), DAT_INVALID_STATE);
}

CASE_WITH(provider, posts_receives, .needs = 0)
{
        DAT_SRQ_HANDLE srq = srq_with(t);

        srq_post(t, srq, buf_with(t, .length = 256), 64, 2, 2);
}

CASE_WITH(provider, waits_in_vain, .needs = 0)
{
        expect_event(evd_with(t), DAT_DTO_COMPLETION_EVENT);
}

CASE_WITH(provider, keeps_quiet, .needs = 0)
{
        expect_quiet(evd_with(t));
}

CASE_WITH(provider, resizes_beside_a_peer, .peers = 1)
{
        DAT_SRQ_HANDLE srq = srq_with(t);

        peer(t);
        expect(dat_srq_resize(srq, 16), DAT_SUCCESS);
        settle(t);
}

/* Where one EP of the case is connected, another one asks without the token. */
CASE_WITH(provider, meets_a_stranger, .peers = 1)
{
        DAT_EP_HANDLE known = ep_with(t);
        DAT_EP_HANDLE strange = ep_with(t);
        DAT_EP_PARAM place;

        peer_connect(peer(t), known);
        must(dat_ep_query(known, DAT_EP_FIELD_ALL, &place));
        must(dat_ep_connect(strange, place.remote_ia_address_ptr, place.remote_port_qual,
                            DAT_TIMEOUT_INFINITE, 0, NULL, DAT_QOS_BEST_EFFORT,
                            DAT_CONNECT_DEFAULT_FLAG));
        peer_connect(peer(t), ep_with(t));
        expect_event(ep_connect_evd(t, strange), DAT_CONNECTION_EVENT_PEER_REJECTED);
}

static const struct feature {
        const char *id;
} features[] = {{"srq"},           {"threshold"},   {"merged"},       {"provider_made"},
                {"consumer_made"}, {"thread_safe"}, {"shared_memory"}};

FAMILY_WITH(provider, has, features, .needs = NEED_SRQ,
            .row_needs = (const struct row_needs[]){
                {"threshold", NEED_UNSIGNALLED_FLAG | NEED_EVD_THRESHOLD_FLAG},
                {"merged", NEED_MERGED_CR_DTO},
                {"provider_made", NEED_PROVIDER_MADE_EP},
                {"consumer_made", NEED_CONSUMER_MADE_EP},
                {"thread_safe", NEED_THREAD_SAFE},
                {"shared_memory", NEED_MEM_TYPE_SHARED},
                {NULL, 0},
            })
{
        expect_that(ia(t) != DAT_HANDLE_NULL, "there is no IA for %s", row->id);
}
