/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_set_consumer_context: what an object is given to keep, whatever it is and becomes. */
#include "clauses/set_consumer_context.h"
#include "cases/ep/shared/transfer.h"
#include "cases/handle/shared/object.h"
#include "cases/shared/point.h"

#include "case/object_state.h"
#include "case/standard.h"

#include <sys/mman.h>

#define FIRST  UINT64_C(0x1122334455667788)
#define SECOND UINT64_C(0xfedcba9876543210)
#define MANY   200
#define MET    5 /* rounds in which two calls met are enough */
#define KINDS  (sizeof(object_kinds) / sizeof(object_kinds[0]))

FAMILY(set_consumer_context, each_kind, object_kinds)
{
        struct live live = live_object(t, row->type, false);
        struct object_state before = object_state(t, row->type, live.handle);
        uint64_t context = draw_context(t);

        expect(dat_set_consumer_context(live.handle, CONTEXT(context)), DAT_SUCCESS);
        expect_context(t, live.handle, context);
        expect_object_kept(t, CHECK_SITE_("dat_set_consumer_context"), &before, "the object");
        live_end(t, &live);
}

FAMILY(set_consumer_context, any_origin, origins)
{
        DAT_HANDLE handle = row->make(t);

        expect(dat_set_consumer_context(handle, CONTEXT(FIRST)), DAT_SUCCESS);
        expect_context(t, handle, FIRST);
        expect(dat_set_consumer_context(handle, CONTEXT(SECOND)), DAT_SUCCESS);
        expect_context(t, handle, SECOND);
}

/* A context that points to unreadable memory: it is not read. */
static uint64_t forbidden(struct test *t)
{
        void *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (page == MAP_FAILED)
                resource(t, "no memory for a page");
        return (uint64_t)(uintptr_t)page;
}

/* One after the other: each is taken as it is, and replaces the one before. */
FAMILY(set_consumer_context, any_value, object_kinds)
{
        struct live live = live_object(t, row->type, false);
        const uint64_t values[] = {
            UINT64_MAX,
            1,
            UINT64_C(1) << 63,
            UINT32_MAX,
            (uint64_t)UINT32_MAX << 32,
            UINT64_C(0x0123456789abcdef),
            forbidden(t),
            (uint64_t)(uintptr_t)live.handle,
            (uint64_t)(uintptr_t)ia(t),
            3,
        };

        for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
                expect(dat_set_consumer_context(live.handle, CONTEXT(values[i])), DAT_SUCCESS);
                expect_context(t, live.handle, values[i]);
        }
        live_end(t, &live);
}

FAMILY(set_consumer_context, replaced, object_kinds)
{
        struct live live = live_object(t, row->type, false);

        expect(dat_set_consumer_context(live.handle, CONTEXT(FIRST)), DAT_SUCCESS);
        expect(dat_set_consumer_context(live.handle, CONTEXT(SECOND)), DAT_SUCCESS);
        expect_context(t, live.handle, SECOND);
        expect_context(t, live.handle, SECOND);
        live_end(t, &live);
}

FAMILY(set_consumer_context, taken_away, object_kinds)
{
        struct live live = live_object(t, row->type, false);

        expect(dat_set_consumer_context(live.handle, CONTEXT(FIRST)), DAT_SUCCESS);
        expect(dat_set_consumer_context(live.handle, CONTEXT(0)), DAT_SUCCESS);
        expect_context(t, live.handle, 0);
        expect(dat_set_consumer_context(live.handle, CONTEXT(SECOND)), DAT_SUCCESS);
        expect_context(t, live.handle, SECOND);
        live_end(t, &live);
}

/* Of two objects of a kind each has its own; what is done to one is not done to the other. */
FAMILY(set_consumer_context, of_two, object_kinds)
{
        struct live older = live_object(t, row->type, false);
        struct live newer = live_object(t, row->type, true);

        expect(dat_set_consumer_context(older.handle, CONTEXT(FIRST)), DAT_SUCCESS);
        expect(dat_set_consumer_context(newer.handle, CONTEXT(SECOND)), DAT_SUCCESS);
        expect_context(t, older.handle, FIRST);
        expect_context(t, newer.handle, SECOND);
        expect(dat_set_consumer_context(older.handle, CONTEXT(0)), DAT_SUCCESS);
        expect_context(t, newer.handle, SECOND);
        expect_context(t, older.handle, 0);
        expect(dat_set_consumer_context(older.handle, CONTEXT(SECOND)), DAT_SUCCESS);
        expect_context(t, older.handle, SECOND);
        expect(dat_set_consumer_context(newer.handle, CONTEXT(FIRST)), DAT_SUCCESS);
        expect_context(t, newer.handle, FIRST);
        expect_context(t, older.handle, SECOND);
        live_end(t, &older);
        live_end(t, &newer);
}

/* One object of each kind; and the objects that belong to them keep what they have. */
CASE(set_consumer_context, of_all_kinds)
{
        struct live lives[KINDS];
        size_t count = live_objects(t, object_kinds, KINDS, lives);

        for (size_t i = 0; i < count; i++)
                expect(dat_set_consumer_context(lives[i].handle, CONTEXT(FIRST + i)), DAT_SUCCESS);
        for (size_t i = 0; i < count; i++)
                expect_context(t, lives[i].handle, FIRST + i);
        for (size_t i = 0; i < count; i++)
                live_end(t, &lives[i]);
}

CASE(set_consumer_context, of_many)
{
        DAT_EVD_HANDLE evds[MANY];

        if (ia_attr(t)->max_evds < 2 * MANY)
                unsupported(t, "max_evds: fewer than the case makes");
        for (size_t i = 0; i < MANY; i++) {
                evds[i] = evd_with(t, .qlen = 1, .flags = DAT_EVD_SOFTWARE_FLAG);
                expect(dat_set_consumer_context(evds[i], CONTEXT(FIRST * (i + 1))), DAT_SUCCESS);
        }
        for (size_t i = MANY; i-- > 0;)
                expect_context(t, evds[i], FIRST * (i + 1));
}

/*
 * What an object lives through with its context
 */

static void give(struct test *t, DAT_HANDLE handle)
{
        expect(dat_set_consumer_context(handle, CONTEXT(FIRST)), DAT_SUCCESS);
}

static void live_as_ep(struct test *t)
{
        struct loop loop = loop_new(t);
        struct line line;

        give(t, loop.active);
        loop_join(t, &loop);
        expect_context(t, loop.active, FIRST);
        line = line_between(t, loop.active, loop.passive, 4);
        must_line_recv(t, &line, 1);
        must(line_send(&line, DAT_COMPLETION_DEFAULT_FLAG));
        expect_arrivals(t, &line, 1);
        expect_context(t, loop.active, FIRST);
        must_end(t, &loop);
        expect_context(t, loop.active, FIRST);
        must_complete(ep_request_evd(t, loop.active), .ep = loop.active, .length = MESSAGE);
        must(dat_ep_reset(loop.active));
        expect_context(t, loop.active, FIRST);
}

static void live_as_evd(struct test *t)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = 8, .flags = DAT_EVD_SOFTWARE_FLAG);

        give(t, evd);
        post_ses(t, evd, 1, 4);
        expect_context(t, evd, FIRST);
        must(dat_evd_resize(evd, 32));
        expect_context(t, evd, FIRST);
        must(dat_evd_disable(evd));
        must(dat_evd_enable(evd));
        must(dat_evd_set_unwaitable(evd));
        must(dat_evd_clear_unwaitable(evd));
        expect_context(t, evd, FIRST);
        expect_ses(t, evd, 1, 4);
        expect_context(t, evd, FIRST);
}

static void live_as_cr(struct test *t)
{
        struct live live = live_object(t, DAT_HANDLE_TYPE_CR, false);
        DAT_CR_PARAM param;

        give(t, live.handle);
        must(dat_cr_query(live.handle, DAT_CR_FIELD_ALL, &param));
        expect_context(t, live.handle, FIRST);
        must(dat_cr_accept(live.handle, loop_named(&live.loop), 0, NULL));
        must_event(ep_connect_evd(t, live.loop.active), DAT_CONNECTION_EVENT_ESTABLISHED);
        must_event(ep_connect_evd(t, live.loop.passive), DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void live_as_rsp(struct test *t)
{
        struct live live = live_object(t, DAT_HANDLE_TYPE_RSP, false);
        DAT_RSP_PARAM param;

        give(t, live.handle);
        must(dat_rsp_query(live.handle, DAT_RSP_FIELD_ALL, &param));
        expect_context(t, live.handle, FIRST);
        must(dat_set_consumer_context(param.ep_handle, CONTEXT(SECOND)));
        expect_context(t, live.handle, FIRST);
}

static void live_as_psp(struct test *t)
{
        struct loop loop = loop_new(t);

        loop.psp = loop_listen(t, loop.requests, DAT_PSP_CONSUMER_FLAG, &loop.qual);
        give(t, loop.psp);
        loop_connect(t, loop.active, loop.qual);
        loop_take_request(t, &loop);
        expect_context(t, loop.psp, FIRST);
        must(dat_set_consumer_context(loop.request, CONTEXT(SECOND)));
        must(dat_cr_accept(loop.request, loop.passive, 0, NULL));
        must_event(ep_connect_evd(t, loop.active), DAT_CONNECTION_EVENT_ESTABLISHED);
        must_event(ep_connect_evd(t, loop.passive), DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_context(t, loop.psp, FIRST);
}

static void live_as_pz(struct test *t)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        DAT_EP_HANDLE ep;

        give(t, zone);
        ep = ep_with(t, .pz = zone);
        must(dat_set_consumer_context(ep, CONTEXT(SECOND)));
        expect_context(t, zone, FIRST);
        release(t, ep);
        release(t, buf_with(t, .pz = zone));
        expect_context(t, zone, FIRST);
}

static void live_as_lmr(struct test *t)
{
        struct line line = line_with(t);

        give(t, line.source->lmr);
        give(t, line.target->lmr);
        must_line_recv(t, &line, 2);
        must(line_send(&line, DAT_COMPLETION_DEFAULT_FLAG));
        must(line_send(&line, DAT_COMPLETION_DEFAULT_FLAG));
        expect_arrivals(t, &line, 2);
        expect_sends_complete(t, &line, 2);
        expect_context(t, line.source->lmr, FIRST);
        expect_context(t, line.target->lmr, FIRST);
}

static void live_as_rmr(struct test *t)
{
        struct live live = live_object(t, DAT_HANDLE_TYPE_RMR, false);
        DAT_RMR_PARAM param;

        give(t, live.handle);
        must(dat_rmr_query(live.handle, DAT_RMR_FIELD_ALL, &param));
        must(dat_set_consumer_context(param.pz_handle, CONTEXT(SECOND)));
        expect_context(t, live.handle, FIRST);
}

static void live_as_cno(struct test *t)
{
        struct live live = live_object(t, DAT_HANDLE_TYPE_CNO, false);
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_SOFTWARE_FLAG, .cno = live.handle);

        give(t, live.handle);
        must(dat_set_consumer_context(evd, CONTEXT(SECOND)));
        must(dat_evd_enable(evd));
        post_ses(t, evd, 1, 1);
        expect_notified(t, live.handle, evd);
        expect_context(t, live.handle, FIRST);
}

static void live_as_ia(struct test *t)
{
        DAT_IA_HANDLE second = other_ia(t);

        give(t, ia(t));
        must(dat_set_consumer_context(second, CONTEXT(SECOND)));
        must(dat_set_consumer_context(async_evd(t), CONTEXT(SECOND)));
        release(t, ep_with(t));
        expect_context(t, ia(t), FIRST);
}

static const struct way_of_life {
        const char *id;
        void (*live)(struct test *t);
} ways_of_life[] = {
    {"ia", live_as_ia},   {"ep", live_as_ep},   {"evd", live_as_evd}, {"cr", live_as_cr},
    {"rsp", live_as_rsp}, {"psp", live_as_psp}, {"pz", live_as_pz},   {"lmr", live_as_lmr},
    {"rmr", live_as_rmr}, {"cno", live_as_cno},
};

FAMILY(set_consumer_context, lived_with, ways_of_life)
{
        row->live(t);
}

static DAT_RETURN set_first(void *handle)
{
        return dat_set_consumer_context(handle, CONTEXT(FIRST));
}

/* Threads that set contexts of two objects at once each set their own. */
CASE(set_consumer_context, of_two_at_once)
{
        DAT_PZ_HANDLE zones[2] = {pz_new(t), pz_new(t)};
        struct stress stress = stress_of(t, 3000);

        while (stress.met < MET && stress_round(&stress)) {
                struct racer racers[2] = {{.call = set_first, .arg = zones[0]},
                                          {.call = set_first, .arg = zones[1]}};

                for (int i = 0; i < 2; i++)
                        must(dat_set_consumer_context(zones[i], CONTEXT(SECOND)));
                stress_met(&stress, race(racers, 2));
                for (int i = 0; i < 2; i++) {
                        expect(racers[i].ret, DAT_SUCCESS);
                        expect_context(t, zones[i], FIRST);
                }
        }
        must_have_met(&stress);
}

/*
 * Handles
 */

CASE(set_consumer_context, null_handle)
{
        struct live live = live_object(t, DAT_HANDLE_TYPE_EVD, false);

        expect(dat_set_consumer_context(live.handle, CONTEXT(SECOND)), DAT_SUCCESS);
        expect(dat_set_consumer_context(DAT_HANDLE_NULL, CONTEXT(FIRST)), DAT_INVALID_HANDLE);
        expect_context(t, live.handle, SECOND);
}

FAMILY(set_consumer_context, destroyed_handle, fleeting_kinds)
{
        struct live kept = live_object(t, DAT_HANDLE_TYPE_PZ, false);
        struct live live = live_object(t, row->type, false);

        expect(dat_set_consumer_context(kept.handle, CONTEXT(SECOND)), DAT_SUCCESS);
        must(dat_set_consumer_context(live.handle, CONTEXT(SECOND)));
        live_free(t, &live);
        expect_stale(set_first, live_object(t, row->type, false).handle, live.handle);
        expect_context(t, kept.handle, SECOND);
}

CASE(set_consumer_context, of_srq)
{
        struct live live = live_object(t, DAT_HANDLE_TYPE_SRQ, false);

        if (dat_is(expect_may(dat_set_consumer_context(live.handle, CONTEXT(FIRST)), DAT_SUCCESS,
                              DAT_INVALID_HANDLE),
                   DAT_SUCCESS))
                expect_context(t, live.handle, FIRST);
}
