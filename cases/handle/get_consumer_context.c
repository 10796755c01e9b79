/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_get_consumer_context: the context of an object, and of one that has none. */
#include "clauses/get_consumer_context.h"
#include "cases/cno/shared/agent.h"
#include "cases/ep/shared/transfer.h"
#include "cases/handle/shared/object.h"
#include "cases/shared/point.h"

#include "case/standard.h"

#include <string.h>

#define FIRST UINT64_C(0x1122334455667788)

FAMILY(get_consumer_context, each_kind, object_kinds)
{
        struct live live = live_object(t, row->type, false);
        uint64_t context = draw_context(t);

        must(dat_set_consumer_context(live.handle, CONTEXT(context)));
        for (int i = 0; i < 3; i++)
                expect_context(t, live.handle, context);
        live_end(t, &live);
}

FAMILY(get_consumer_context, none_yet, object_kinds)
{
        struct live live = live_object(t, row->type, false);

        expect_context(t, live.handle, 0);
        live_end(t, &live);
}

FAMILY(get_consumer_context, any_origin, origins)
{
        expect_context(t, row->make(t), 0);
}

/* What one that is gone was given, a new one has not, whatever its handle is. */
FAMILY(get_consumer_context, none_again, fleeting_kinds)
{
        for (int i = 0; i < 4; i++) {
                struct live live = live_object(t, row->type, false);

                expect_context(t, live.handle, 0);
                must(dat_set_consumer_context(live.handle, CONTEXT(FIRST)));
                live_free(t, &live);
        }
}

/* The object's handle, as something else tells it. */
static DAT_HANDLE ep_of_completion(struct test *t, DAT_HANDLE *object)
{
        struct line line = line_with(t);

        *object = line.to;
        must(dat_set_consumer_context(line.to, CONTEXT(FIRST)));
        must_line_recv(t, &line, 1);
        must(line_send(&line, DAT_COMPLETION_DEFAULT_FLAG));
        return must_dto(ep_recv_evd(t, line.to)).ep_handle;
}

static DAT_HANDLE evd_of_event(struct test *t, DAT_HANDLE *object)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_SOFTWARE_FLAG);

        *object = evd;
        must(dat_set_consumer_context(evd, CONTEXT(FIRST)));
        post_ses(t, evd, 1, 1);
        return must_event(evd, DAT_SOFTWARE_EVENT).evd_handle;
}

static DAT_HANDLE zone_of_ep(struct test *t, DAT_HANDLE *object)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        DAT_EP_HANDLE ep = ep_with(t, .pz = zone);
        DAT_EP_PARAM param;

        *object = zone;
        must(dat_set_consumer_context(zone, CONTEXT(FIRST)));
        must(dat_ep_query(ep, DAT_EP_FIELD_PZ_HANDLE, &param));
        return param.pz_handle;
}

static DAT_HANDLE ia_of_ep(struct test *t, DAT_HANDLE *object)
{
        DAT_EP_PARAM param;

        *object = ia(t);
        must(dat_set_consumer_context(ia(t), CONTEXT(FIRST)));
        must(dat_ep_query(ep_with(t), DAT_EP_FIELD_IA_HANDLE, &param));
        return param.ia_handle;
}

static DAT_HANDLE cno_of_evd(struct test *t, DAT_HANDLE *object)
{
        struct live cno = live_object(t, DAT_HANDLE_TYPE_CNO, false);
        DAT_EVD_PARAM param;

        *object = cno.handle;
        must(dat_set_consumer_context(cno.handle, CONTEXT(FIRST)));
        must(dat_evd_query(evd_with(t, .flags = DAT_EVD_SOFTWARE_FLAG, .cno = cno.handle),
                           DAT_EVD_FIELD_CNO, &param));
        return param.cno_handle;
}

static DAT_HANDLE psp_of_request(struct test *t, DAT_HANDLE *object)
{
        struct loop loop = loop_new(t);
        DAT_EVENT event;

        loop.psp = loop_listen(t, loop.requests, psp_flags_granted(t), &loop.qual);
        *object = loop.psp;
        must(dat_set_consumer_context(loop.psp, CONTEXT(FIRST)));
        loop_connect(t, loop.active, loop.qual);
        event = must_event(loop.requests, DAT_CONNECTION_REQUEST_EVENT);
        must(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle));
        return event.event_data.cr_arrival_event_data.sp_handle.psp_handle;
}

static const struct teller {
        const char *id;
        DAT_HANDLE (*tell)(struct test *t, DAT_HANDLE *object);
} tellers[] = {
    {"ep_of_completion", ep_of_completion},
    {"evd_of_event", evd_of_event},
    {"zone_of_ep", zone_of_ep},
    {"ia_of_ep", ia_of_ep},
    {"cno_of_evd", cno_of_evd},
    {"psp_of_request", psp_of_request},
};

FAMILY(get_consumer_context, by_told_handle, tellers)
{
        DAT_HANDLE object = DAT_HANDLE_NULL;
        DAT_HANDLE told = row->tell(t, &object);

        expect_context(t, told, FIRST);
        expect_context(t, object, FIRST);
}

/* The context is written where the consumer wants it, and into no byte around. */
CASE(get_consumer_context, within_storage)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        DAT_CONTEXT told[3];
        DAT_CONTEXT before;

        memset(told, 0x5c, sizeof(told));
        before = told[0];
        must(dat_set_consumer_context(zone, CONTEXT(FIRST)));
        expect(dat_get_consumer_context(zone, &told[1]), DAT_SUCCESS);
        expect_that(told[1].as_64 == FIRST, "the context is 0x%llx",
                    (unsigned long long)told[1].as_64);
        expect_that(told[0].as_64 == before.as_64, "bytes before the storage were written");
        expect_that(told[2].as_64 == before.as_64, "bytes behind the storage were written");
}

/*
 * What is done to the object
 */

static void change_evd(struct test *t)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_SOFTWARE_FLAG);
        DAT_EVD_PARAM param;

        must(dat_set_consumer_context(evd, CONTEXT(FIRST)));
        must(dat_evd_modify_cno(evd, cno));
        expect_context(t, evd, FIRST);
        must(dat_evd_modify_cno(evd, DAT_HANDLE_NULL));
        expect_context(t, evd, FIRST);
        must(dat_evd_query(evd, DAT_EVD_FIELD_EVD_QLEN, &param));
        must(dat_evd_resize(evd, param.evd_qlen));
        expect_context(t, evd, FIRST);
        must(dat_evd_disable(evd));
        expect_context(t, evd, FIRST);
        must(dat_evd_enable(evd));
        expect_context(t, evd, FIRST);
        must(dat_evd_set_unwaitable(evd));
        expect_context(t, evd, FIRST);
        must(dat_evd_clear_unwaitable(evd));
        expect_context(t, evd, FIRST);
}

static void change_ep(struct test *t)
{
        DAT_PZ_HANDLE zone = pz_new(t); /* longer there than the EP */
        struct loop loop = loop_new(t);
        DAT_EP_PARAM param;

        must(dat_set_consumer_context(loop.active, CONTEXT(FIRST)));
        must(dat_ep_query(loop.active, DAT_EP_FIELD_PZ_HANDLE, &param));
        param.pz_handle = zone;
        must(dat_ep_modify(loop.active, DAT_EP_FIELD_PZ_HANDLE, &param));
        expect_context(t, loop.active, FIRST);
        loop_join(t, &loop);
        expect_context(t, loop.active, FIRST);
        must(dat_ep_disconnect(loop.active, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, loop.active), DAT_CONNECTION_EVENT_DISCONNECTED);
        expect_context(t, loop.active, FIRST);
        must(dat_ep_reset(loop.active));
        expect_context(t, loop.active, FIRST);
}

static void change_cno(struct test *t)
{
        DAT_CNO_HANDLE cno = cno_new(t);

        must(dat_set_consumer_context(cno, CONTEXT(FIRST)));
        agent_given(t, cno, agent_new(t));
        expect_context(t, cno, FIRST);
        agent_given(t, cno, NULL);
        expect_context(t, cno, FIRST);
        evd_with(t, .flags = DAT_EVD_SOFTWARE_FLAG, .cno = cno);
        expect_context(t, cno, FIRST);
}

/* Objects that others use are not freed: the refusal leaves them their contexts. */
static void ask_to_free(struct test *t)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE requests = evd_with(t, .flags = DAT_EVD_CR_FLAG);
        DAT_CONN_QUAL qual;

        buf_with(t, .pz = zone);
        evd_with(t, .flags = DAT_EVD_SOFTWARE_FLAG, .cno = cno);
        psp_new(t, requests, psp_flags_granted(t), &qual);
        must(dat_set_consumer_context(zone, CONTEXT(FIRST)));
        must(dat_set_consumer_context(cno, CONTEXT(FIRST)));
        must(dat_set_consumer_context(requests, CONTEXT(FIRST)));
        must_that(!dat_is(dat_pz_free(zone), DAT_SUCCESS), "a PZ with an LMR was freed");
        expect_context(t, zone, FIRST);
        must_that(!dat_is(dat_cno_free(cno), DAT_SUCCESS), "a CNO with an EVD was freed");
        expect_context(t, cno, FIRST);
        must_that(!dat_is(dat_evd_free(requests), DAT_SUCCESS), "an EVD with a PSP was freed");
        expect_context(t, requests, FIRST);
}

static const struct changed {
        const char *id;
        void (*change)(struct test *t);
} changed[] = {
    {"evd", change_evd},
    {"ep", change_ep},
    {"cno", change_cno},
    {"refused", ask_to_free},
};

FAMILY(get_consumer_context, after_changes, changed)
{
        row->change(t);
}

/*
 * Handles
 */

CASE(get_consumer_context, null_handle)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        DAT_CONTEXT told;

        must(dat_set_consumer_context(zone, CONTEXT(FIRST)));
        expect(dat_get_consumer_context(DAT_HANDLE_NULL, &told), DAT_INVALID_HANDLE);
        expect_context(t, zone, FIRST);
}

static DAT_RETURN get_context(void *handle)
{
        DAT_CONTEXT told;

        return dat_get_consumer_context(handle, &told);
}

FAMILY(get_consumer_context, destroyed_handle, fleeting_kinds)
{
        struct live kept = live_object(t, DAT_HANDLE_TYPE_PZ, false);
        struct live live = live_object(t, row->type, false);

        must(dat_set_consumer_context(kept.handle, CONTEXT(FIRST)));
        live_free(t, &live);
        expect_stale(get_context, live_object(t, row->type, false).handle, live.handle);
        expect_context(t, kept.handle, FIRST);
}

CASE(get_consumer_context, of_srq)
{
        struct live live = live_object(t, DAT_HANDLE_TYPE_SRQ, false);
        DAT_CONTEXT told;

        if (dat_is(expect_may(dat_get_consumer_context(live.handle, &told), DAT_SUCCESS,
                              DAT_INVALID_HANDLE),
                   DAT_SUCCESS))
                expect_context(t, live.handle, 0);
}

LEGAL(get_consumer_context)
{
        static DAT_CONTEXT told;

        call->dat_handle = pz_new(t);
        call->context = &told;
}
