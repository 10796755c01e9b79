/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_psp_create: the size of the EVD. */
#include "cases/psp/psp_create/fixtures.h"
#include "cases/psp/shared/psp.h"
#include "clauses/psp_create.h"

#define QUEUE 32  /* requests, at most, that fill one */
#define LOOKS 300 /* for an answer; each lasts as long as settle_briefly() */

/* Some EPs that ask, and all report to one EVD. */
struct askers {
        DAT_EVD_HANDLE connect;
        DAT_CNO_HANDLE cno;
        DAT_EVD_HANDLE requests;
        DAT_PSP_HANDLE psp;
        DAT_CONN_QUAL qual;
        int count; /* that stand on the EVD */
};

static struct askers askers_at(struct test *t, DAT_COUNT qlen, DAT_PSP_FLAGS flags)
{
        struct askers askers = {
            .connect = evd_with(t, .qlen = QUEUE + 2, .flags = DAT_EVD_CONNECTION_FLAG),
            .cno = cno_new(t),
        };

        askers.requests = evd_with(t, .qlen = qlen, .flags = DAT_EVD_CR_FLAG, .cno = askers.cno);
        must(dat_evd_enable(askers.requests));
        askers.psp = psp_new(t, askers.requests, flags, &askers.qual);
        return askers;
}

static DAT_EP_HANDLE ask(struct test *t, const struct askers *askers)
{
        DAT_EP_HANDLE ep = ep_with(t, .connect_evd = askers->connect);

        loop_connect(t, ep, askers->qual);
        return ep;
}

/* Requests fill the EVD, and are not dequeued. */
static void fill(struct test *t, struct askers *askers)
{
        DAT_COUNT places = evd_param(t, askers->requests).evd_qlen;

        for (askers->count = 0; askers->count < places && askers->count < QUEUE; askers->count++) {
                DAT_EVD_HANDLE evd;

                ask(t, askers);
                expect(dat_cno_wait(askers->cno, event_timeout(t), &evd), DAT_SUCCESS);
        }
}

/* Each comes, and is the consumer's: it can be rejected. */
static void expect_filled(struct test *t, const struct askers *askers)
{
        for (int i = 0; i < askers->count; i++) {
                DAT_CR_HANDLE request =
                    expect_request(t, askers->requests, askers->psp, askers->qual);

                expect(dat_cr_reject(request), DAT_SUCCESS);
                expect_event(askers->connect, DAT_CONNECTION_EVENT_PEER_REJECTED);
        }
}

static const struct backlog {
        const char *id;
        DAT_COUNT made;
        DAT_COUNT resized; /* 0: not */
        bool provider;     /* makes the EPs */
} backlogs[] = {
    {"one", 1, 0, false},
    {"four", PLACES, 0, false},
    {"grown", 1, 2 * PLACES, false},
    {"shrunk", 2 * PLACES, PLACES, false},
    {"of_provider", PLACES, 0, true},
};

FAMILY(psp_create, backlog, backlogs)
{
        struct askers askers =
            askers_at(t, row->made, row->provider ? DAT_PSP_PROVIDER_FLAG : psp_flags_granted(t));

        if (row->resized)
                must(dat_evd_resize(askers.requests, row->resized));
        fill(t, &askers);

        expect_filled(t, &askers);
        expect_empty(t, askers.requests);
        expect_empty(t, askers.connect);
}

/*
 * What happened to the request that found no place, so far: 0 nothing, 1 it came to the EVD and is
 * rejected, 2 it is refused.
 */
static int beyond(struct test *t, const struct askers *askers)
{
        DAT_EVENT event;

        if (dat_is(dat_evd_dequeue(askers->connect, &event), DAT_SUCCESS)) {
                expect_that(event.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
                                event.event_number == DAT_CONNECTION_EVENT_UNREACHABLE ||
                                event.event_number == DAT_CONNECTION_EVENT_TIMED_OUT,
                            "the EP that asked got %s", name_of_event(event.event_number));
                return 2;
        }
        return 0;
}

static int look_beyond(struct test *t, const struct askers *askers, int looks, bool taken)
{
        int became = beyond(t, askers);
        DAT_EVENT event;

        for (int i = 0; i < looks && !became; i++) {
                settle_briefly(t);
                became = beyond(t, askers);
                if (!became && taken &&
                    dat_is(dat_evd_dequeue(askers->requests, &event), DAT_SUCCESS)) {
                        expect_eq(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
                        must(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle));
                        must_event(askers->connect, DAT_CONNECTION_EVENT_PEER_REJECTED);
                        became = 1;
                }
        }
        return became;
}

static void expect_backlog_past(struct test *t, DAT_PSP_FLAGS flags)
{
        struct askers askers = askers_at(t, PLACES, flags);
        int became;

        fill(t, &askers);
        ask(t, &askers);
        became = look_beyond(t, &askers, LOOKS / 10, false);

        expect_filled(t, &askers);
        if (!became)
                became = look_beyond(t, &askers, LOOKS, true);
        expect_that(became, "the request beyond the queue was neither refused nor reported");
        record(t, "with %d requests in the queue, one more was %s", askers.count,
               became == 1 ? "reported later" : "refused");
        expect_empty(t, askers.requests);
        expect_served_by(t, askers.psp, askers.qual, askers.requests, flags);
        drain_async_event(t);
}

CASE(psp_create, backlog_past)
{
        expect_backlog_past(t, psp_flags_granted(t));
}

CASE(psp_create, backlog_past_of_provider)
{
        expect_backlog_past(t, DAT_PSP_PROVIDER_FLAG);
}
