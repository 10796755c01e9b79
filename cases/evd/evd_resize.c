/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_evd_resize: room as asked for, every event kept, and what is no length. */
#include "clauses/evd_resize.h"
#include "cases/evd/shared/async.h"
#include "cases/evd/shared/event_kind.h"
#include "cases/evd/shared/left_alone.h"
#include "cases/evd/shared/private_data.h"
#include "cases/evd/shared/silent.h"
#include "cases/evd/shared/source.h"
#include "cases/handle/shared/object.h"
#include "cases/shared/usage.h"

#include <limits.h>
#include <string.h>

#define INCOMING      16 /* messages on their way */
#define REQUESTS_MOST 32
#define SEVERAL       3 /* refusals */

static DAT_COUNT places_of(struct test *t, DAT_EVD_HANDLE evd)
{
        return evd_param(t, evd).evd_qlen;
}

/*
 * A length `more` above the present one. Where an EVD has all that the IA allows from the first, as
 * evd_query/qlen_is_room holds it to, there is none.
 */
static DAT_COUNT places_above(struct test *t, DAT_EVD_HANDLE evd, DAT_COUNT more)
{
        DAT_COUNT places = places_of(t, evd);

        if (ia_attr(t)->max_evd_qlen - places < more)
                end_noted(t, "an EVD has %d of at most %d places: it cannot grow", places,
                          ia_attr(t)->max_evd_qlen);
        return places + more;
}

/* An empty EVD takes `count` software events, and gives them. */
static void expect_room_of(struct test *t, DAT_EVD_HANDLE evd, DAT_COUNT count)
{
        for (DAT_COUNT i = 0; i < count; i++) {
                DAT_EVENT event = se_event((unsigned int)i);

                expect(dat_evd_post_se(evd, &event), DAT_SUCCESS);
        }
        expect_ses(t, evd, 0, count);
        expect_empty(t, evd);
}

/*
 * Sizes that can be had
 */

static const struct growth {
        const char *id;
        DAT_COUNT more;
} growths[] = {
    {"by_one", 1},
    {"twice", SE_QLEN},
    {"by_far", 20 * SE_QLEN},
};

FAMILY(evd_resize, grow, growths)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        DAT_COUNT request = places_above(t, evd, row->more);

        expect(dat_evd_resize(evd, request), DAT_SUCCESS);

        expect_that(places_of(t, evd) >= request, "%d places asked for, %d queried", request,
                    places_of(t, evd));
        expect_room_of(t, evd, request);
}

/* The PSP was there before, and the requests are more than its EVD had places then. */
CASE(evd_resize, grow_for_requests)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = 1, .flags = DAT_EVD_CR_FLAG);
        DAT_COUNT count = places_above(t, evd, 1);
        DAT_CONN_QUAL qual;
        DAT_PSP_HANDLE psp;

        if (count > REQUESTS_MOST)
                end_noted(t, "an EVD has %d places from the first: too many to fill", count - 1);
        psp = loop_listen(t, evd, psp_flags_granted(t), &qual);
        expect(dat_evd_resize(evd, count), DAT_SUCCESS);

        for (DAT_COUNT i = 0; i < count; i++)
                loop_connect(t, ep_with(t), qual);
        settle(t);
        for (DAT_COUNT i = 0; i < count; i++) {
                DAT_EVENT event = expect_dequeued(t, evd);

                expect_eq(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
                expect_that(event.event_data.cr_arrival_event_data.sp_handle.psp_handle == psp,
                            "the request is not of the PSP");
        }
        expect_empty(t, evd);
}

CASE(evd_resize, grow_full_queue)
{
        EACH_SOURCE (kind) {
                struct source source = source_new(t, kind, DAT_HANDLE_NULL);
                DAT_COUNT places = places_of(t, source.evd);
                DAT_COUNT request = places_above(t, source.evd, 8);

                source_fill(t, &source, 0, places);
                expect(dat_evd_resize(source.evd, request), DAT_SUCCESS);

                expect_source_room(t, &source, (unsigned int)places, request - places);
                expect_source_events(t, &source, 0, request);
                expect_empty(t, source.evd);
        }
}

CASE(evd_resize, grow_to_ia_limit)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        DAT_COUNT limit = ia_attr(t)->max_evd_qlen;
        DAT_RETURN ret =
            expect(dat_evd_resize(evd, limit), DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);

        if (dat_is(ret, DAT_SUCCESS))
                expect_that(places_of(t, evd) >= limit, "%d places asked for, %d queried", limit,
                            places_of(t, evd));
        else
                note(t, "there is no room for the %d places of max_evd_qlen", limit);
}

CASE(evd_resize, shrink)
{
        DAT_COUNT limit = ia_attr(t)->max_evd_qlen;
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = limit < 8 * SE_QLEN ? limit : 8 * SE_QLEN,
                                      .flags = DAT_EVD_SOFTWARE_FLAG);

        expect(dat_evd_resize(evd, SE_QLEN), DAT_SUCCESS);

        expect_that(places_of(t, evd) >= SE_QLEN, "%d places asked for, %d queried", SE_QLEN,
                    places_of(t, evd));
        expect_room_of(t, evd, SE_QLEN);
}

CASE(evd_resize, shrink_to_one)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);

        expect(dat_evd_resize(evd, 1), DAT_SUCCESS);
        expect_room_of(t, evd, 1);
}

CASE(evd_resize, same_size)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        DAT_COUNT places = places_of(t, evd);

        expect(dat_evd_resize(evd, places), DAT_SUCCESS);

        expect_that(places_of(t, evd) >= places, "%d places asked for, %d queried", places,
                    places_of(t, evd));
        expect_room_of(t, evd, places);
}

static DAT_COUNT one_more(struct test *t, DAT_EVD_HANDLE evd)
{
        return places_above(t, evd, 1);
}

static DAT_COUNT twice(struct test *t, DAT_EVD_HANDLE evd)
{
        return places_above(t, evd, SE_QLEN);
}

static DAT_COUNT half(struct test *t, DAT_EVD_HANDLE evd)
{
        (void)t;
        (void)evd;
        return SE_QLEN / 2;
}

static DAT_COUNT of_one(struct test *t, DAT_EVD_HANDLE evd)
{
        (void)t;
        (void)evd;
        return 1;
}

static const struct resized {
        const char *id;
        DAT_COUNT (*to)(struct test *t, DAT_EVD_HANDLE evd);
} resizeds[] = {
    {"grown", twice}, {"grown_by_one", one_more}, {"same_size", places_of},
    {"shrunk", half}, {"shrunk_to_one", of_one},
};

/* The length that the query returns is the room that there is, as after dat_evd_create. */
FAMILY(evd_resize, full_at_length, resizeds)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        DAT_EVENT event = se_event(0);
        DAT_COUNT places;

        expect(dat_evd_resize(evd, row->to(t, evd)), DAT_SUCCESS);

        places = places_of(t, evd);
        for (int round = 0; round < 2; round++) {
                for (DAT_COUNT i = 0; i < places; i++) {
                        DAT_EVENT next = se_event((unsigned int)i);

                        expect(dat_evd_post_se(evd, &next), DAT_SUCCESS);
                }
                expect(dat_evd_post_se(evd, &event), DAT_QUEUE_FULL);
                expect_ses(t, evd, 0, places);
                expect_empty(t, evd);
        }
}

CASE(evd_resize, repeated)
{
        EACH_SOURCE (kind) {
                struct source source = source_new(t, kind, cno_new(t));
                DAT_COUNT more = places_above(t, source.evd, 100);
                struct usage before;

                source_fill(t, &source, 0, 4);
                before = usage_now(t);
                for (int i = 0; i < 100; i++) {
                        expect(dat_evd_resize(source.evd, more), DAT_SUCCESS);
                        expect(dat_evd_resize(source.evd, 4), DAT_SUCCESS);
                }
                expect_nothing_left(t, &before, "two hundred resizes");
                expect(dat_evd_resize(source.evd, more), DAT_SUCCESS);

                expect_source_events(t, &source, 0, 4);
                expect_empty(t, source.evd);
                expect_source_room(t, &source, 4, more);
                expect_source_events(t, &source, 4, more);
                expect_empty(t, source.evd);
        }
}

/*
 * What a granted request leaves as it was
 */

static const struct to {
        const char *id;
        DAT_COUNT queued;
        DAT_COUNT places; /* 0: as many as there are */
} tos[] = {
    {"grow", SE_QLEN, 4 * SE_QLEN},
    {"shrink_to_content", SE_QLEN / 2, SE_QLEN / 2},
    {"shrink_above_content", SE_QLEN / 2, SE_QLEN - 1},
    {"same_size", SE_QLEN, 0},
};

FAMILY(evd_resize, keeps_events, tos)
{
        EACH_SOURCE (kind) {
                struct source source = source_new(t, kind, DAT_HANDLE_NULL);

                source_fill(t, &source, 0, row->queued);
                expect(dat_evd_resize(source.evd,
                                      row->places ? row->places : places_of(t, source.evd)),
                       DAT_SUCCESS);

                expect_source_events(t, &source, 0, row->queued);
                expect_empty(t, source.evd);
                expect_quiet(async_evd(t));
        }
}

/*
 * The most places of the provider's memory for each one of the EVD; of completions, which cost a
 * transfer each, fewer are tried.
 */
#define ROUND_THE_END   8
#define ROUND_OF_DEVICE 2

/* So many events have been queued and returned. */
static struct source source_after(struct test *t, const struct source_kind *kind,
                                  unsigned int events)
{
        struct source source = source_new(t, kind, DAT_HANDLE_NULL);

        for (unsigned int i = 0; i < events; i++) {
                source_bring(t, &source, i, 1);
                expect_source_events(t, &source, i, 1);
        }
        return source;
}

FAMILY(evd_resize, keeps_order_round_the_end, tos)
{
        EACH_SOURCE (kind) {
                unsigned int most = kind->open ? ROUND_OF_DEVICE : ROUND_THE_END;

                for (unsigned int multiple = 1; multiple <= most; multiple *= 2) {
                        unsigned int gone = multiple * SE_QLEN - 3;
                        struct source source = source_after(t, kind, gone);

                        source_fill(t, &source, gone, row->queued);
                        expect(dat_evd_resize(source.evd,
                                              row->places ? row->places : places_of(t, source.evd)),
                               DAT_SUCCESS);

                        expect_source_events(t, &source, gone, row->queued);
                        expect_empty(t, source.evd);
                }
        }
}

CASE(evd_resize, keeps_parameters)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE other = se_evd(t, DAT_HANDLE_NULL);
        DAT_EVD_HANDLE evd = se_evd(t, cno);
        DAT_EVD_HANDLE newer = se_evd(t, DAT_HANDLE_NULL);
        DAT_COUNT others = places_of(t, other);
        uint64_t context = draw_context(t);
        DAT_EVD_PARAM before;
        DAT_EVD_PARAM after;

        post_ses(t, other, 30, 3);
        post_ses(t, newer, 40, 3);
        must(dat_set_consumer_context(evd, CONTEXT(context)));
        must(dat_evd_set_unwaitable(evd));
        before = evd_param(t, evd);
        expect(dat_evd_resize(evd, places_above(t, evd, 8)), DAT_SUCCESS);

        after = evd_param(t, evd);
        expect_that(after.ia_handle == before.ia_handle, "the IA has changed");
        expect_that(after.cno_handle == cno, "the CNO has changed");
        expect_eq(after.evd_state, before.evd_state);
        expect_eq(after.evd_flags, before.evd_flags);
        expect_eq(places_of(t, other), others);
        expect_ses(t, other, 30, 3);
        expect_ses(t, newer, 40, 3);
        expect_context(t, evd, context);
        expect_no_notice(t, cno);
}

CASE(evd_resize, keeps_later_cno)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = se_evd(t, cno_new(t));

        must(dat_evd_modify_cno(evd, cno));
        expect(dat_evd_resize(evd, places_above(t, evd, 8)), DAT_SUCCESS);

        expect_that(evd_param(t, evd).cno_handle == cno, "the CNO has changed");
        post_ses(t, evd, 0, 1);
        expect_notified(t, cno, evd);
}

CASE(evd_resize, keeps_trigger)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = cno_new(t);
                struct source source = source_new(t, kind, cno);

                must(dat_evd_enable(source.evd));
                source_fill(t, &source, 0, 1);
                expect(dat_evd_resize(source.evd, places_above(t, source.evd, 8)), DAT_SUCCESS);

                expect_notified(t, cno, source.evd);
                expect_source_events(t, &source, 0, 1);
        }
}

static DAT_RETURN grow_evd(struct test *t, DAT_EVD_HANDLE evd)
{
        return dat_evd_resize(evd, places_above(t, evd, 8));
}

CASE(evd_resize, notices_go_on)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = cno_new(t);
                struct source source = source_new(t, kind, cno);

                must(dat_evd_enable(source.evd));
                expect_notices_go_on(t, &source, cno, grow_evd, true);
        }
}

CASE(evd_resize, lets_waiter_of_cno_wait)
{
        EACH_SOURCE (kind) {
                expect_cno_waiter_kept(
                    t, kind, (struct evd_state){.enabled = true, .waitable = true}, grow_evd);
        }
}

FAMILY(evd_resize, keeps_silent, silences)
{
        expect_cno_silent(t, row, grow_evd);
}

CASE(evd_resize, keeps_waiter)
{
        EACH_SOURCE (kind) {
                struct source source = source_new(t, kind, DAT_HANDLE_NULL);

                expect_waiter_kept(t, &source, grow_evd);
        }
}

static void lasting_resized(struct test *t, struct lasting *lasting)
{
        expect(dat_evd_resize(lasting->evd, places_above(t, lasting->evd, 8)), DAT_SUCCESS);
        expect(dat_evd_resize(lasting->evd, 1), DAT_SUCCESS);
}

CASE(evd_resize, keeps_private_data)
{
        static const struct lasting_row row = {"resized", lasting_resized};

        expect_private_data_lasts(t, &row, expect_dequeued);
}

/* Two events are there, and a thread waits for three when the EVD is resized. */
static void expect_waiter_for_more_kept(struct test *t, evd_call *resize)
{
        EACH_SOURCE (kind) {
                struct source source = source_new(t, kind, DAT_HANDLE_NULL);
                struct waiter *waiter;
                struct woken woken;

                source_fill(t, &source, 0, 2);
                waiter = wait_on_evd(t, source.evd, DAT_TIMEOUT_INFINITE, 3);
                must_wait(waiter);
                expect(resize(t, source.evd), DAT_SUCCESS);
                expect_asleep(waiter);

                source_bring(t, &source, 2, 1);
                woken = expect_awake(waiter);
                expect(woken.ret, DAT_SUCCESS);
                expect_source_event(t, &source, &woken.event, 0);
                expect_source_events(t, &source, 1, 2);
                expect_empty(t, source.evd);
        }
}

CASE(evd_resize, keeps_waiter_for_more)
{
        expect_waiter_for_more_kept(t, grow_evd);
}

/* Success where the refusal is as the page has it. */
static DAT_RETURN refused(struct test *t, DAT_EVD_HANDLE evd)
{
        expect(dat_evd_resize(evd, -1), DAT_INVALID_PARAMETER, DAT_INVALID_STATE);
        return DAT_SUCCESS;
}

CASE(evd_resize, refusal_keeps_waiter)
{
        expect_waiter_for_more_kept(t, refused);
}

/* An EP whose receives the peer's messages complete on `evd`. */
static struct peer_ep *feed(struct test *t, DAT_EVD_HANDLE evd, const struct buf *buf)
{
        DAT_EP_HANDLE ep = ep_with(t, .recv_evd = evd);
        struct peer_ep *end = peer_connect(peer(t), ep);

        for (unsigned int i = 0; i < INCOMING; i++) {
                DAT_LMR_TRIPLET segment = triplet(buf, i * MESSAGE, MESSAGE);

                must(dat_ep_post_recv(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = i},
                                      DAT_COMPLETION_DEFAULT_FLAG));
        }
        return end;
}

static void expect_message(struct test *t, const struct buf *buf, DAT_EVD_HANDLE evd,
                           const DAT_EVENT *event, unsigned int number)
{
        const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

        expect_eq(event->event_number, DAT_DTO_COMPLETION_EVENT);
        expect_that(event->evd_handle == evd, "the event names another EVD");
        expect_eq(dto->status, DAT_DTO_SUCCESS);
        expect_eq(dto->user_cookie.as_64, number);
        expect_that(message_holds(buf->addr + number * MESSAGE, MESSAGE, number),
                    "the memory of receive %u has not message %u", number, number);
}

CASE(evd_resize, keeps_completions)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = INCOMING);
        struct buf *buf = buf_with(t, .length = INCOMING * MESSAGE);
        struct peer_ep *end = feed(t, evd, buf);

        peer_send(end, .count = INCOMING, .length = MESSAGE);
        peer_wait_sent(end);
        settle(t);
        expect(dat_evd_resize(evd, places_above(t, evd, 8)), DAT_SUCCESS);

        for (unsigned int i = 0; i < INCOMING; i++) {
                DAT_EVENT event = expect_event(evd, DAT_DTO_COMPLETION_EVENT);

                expect_message(t, buf, evd, &event, i);
        }
        expect_quiet(evd);
}

CASE(evd_resize, keeps_incoming)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = INCOMING);
        struct buf *buf = buf_with(t, .length = INCOMING * MESSAGE);
        struct peer_ep *end = feed(t, evd, buf);
        DAT_COUNT sizes[] = {places_of(t, evd), places_above(t, evd, 16)};

        peer_send(end, .count = INCOMING, .length = MESSAGE);
        for (unsigned int i = 0; i < INCOMING; i++) {
                DAT_EVENT event;

                expect(dat_evd_resize(evd, sizes[i % 2]), DAT_SUCCESS);
                event = expect_event(evd, DAT_DTO_COMPLETION_EVENT);
                expect_message(t, buf, evd, &event, i);
        }
        expect_quiet(evd);
        expect_quiet(async_evd(t));
}

/*
 * Below what is queued
 */

/* A refusal leaves the EVD as it was. */
static void expect_untouched(struct test *t, DAT_EVD_HANDLE evd, const DAT_EVD_PARAM *before)
{
        DAT_EVD_PARAM after = evd_param(t, evd);

        expect_eq(after.evd_qlen, before->evd_qlen);
        expect_eq(after.evd_state, before->evd_state);
        expect_eq(after.evd_flags, before->evd_flags);
        expect_that(after.cno_handle == before->cno_handle, "the CNO has changed");
}

/* The EVD is empty, and has room for so many events. */
static void expect_full_source(struct test *t, const struct source *source, DAT_COUNT count)
{
        expect_empty(t, source->evd);
        expect_source_room(t, source, 0, count);
        expect_source_events(t, source, 0, count);
        expect_empty(t, source->evd);
}

static const struct shortage {
        const char *id;
        DAT_COUNT queued, places;
} shortages[] = {
    {"by_one", SE_QLEN, SE_QLEN - 1},
    {"to_one", SE_QLEN, 1},
    {"of_few", 2, 1},
};

FAMILY(evd_resize, below_content, shortages)
{
        EACH_SOURCE (kind) {
                struct source source = source_new(t, kind, cno_new(t));
                DAT_EVD_PARAM before = evd_param(t, source.evd);
                DAT_RETURN ret = DAT_SUCCESS;

                source_fill(t, &source, 0, row->queued);
                for (int i = 0; i < SEVERAL; i++) {
                        ret = expect(dat_evd_resize(source.evd, row->places), DAT_INVALID_STATE,
                                     DAT_SUCCESS);
                        if (!dat_is(ret, DAT_INVALID_STATE))
                                break;
                        expect_untouched(t, source.evd, &before);
                }

                expect_source_events(t, &source, 0, row->queued);
                expect_empty(t, source.evd);
                if (dat_is(ret, DAT_INVALID_STATE))
                        expect_full_source(t, &source, before.evd_qlen);
                expect_quiet(async_evd(t));
        }
}

/*
 * What is no length
 */

static const struct length {
        const char *id;
        DAT_COUNT places;
} negatives[] = {
    {"minus_one", -1},
    {"least", INT_MIN},
};

FAMILY(evd_resize, negative, negatives)
{
        EACH_SOURCE (kind) {
                struct source source = source_new(t, kind, cno_new(t));
                DAT_EVD_PARAM before = evd_param(t, source.evd);

                source_fill(t, &source, 0, 2);
                for (int i = 0; i < SEVERAL; i++) {
                        expect(dat_evd_resize(source.evd, row->places), DAT_INVALID_PARAMETER,
                               DAT_INVALID_STATE);
                        expect_untouched(t, source.evd, &before);
                }
                expect_source_events(t, &source, 0, 2);
                expect_full_source(t, &source, before.evd_qlen);
        }
}

CASE(evd_resize, zero)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);

        expect_may(dat_evd_resize(evd, 0), DAT_INVALID_PARAMETER, DAT_SUCCESS);
        expect(dat_evd_resize(evd, SE_QLEN), DAT_SUCCESS);
        expect_room_of(t, evd, SE_QLEN);
}

static const struct length excesses[] = {
    {"by_one", 0},
    {"greatest", INT_MAX},
};

FAMILY(evd_resize, above_ia_limit, excesses)
{
        DAT_COUNT limit = ia_attr(t)->max_evd_qlen;
        DAT_COUNT request = row->places ? row->places : limit + (limit < INT_MAX);

        EACH_SOURCE (kind) {
                struct source source = source_new(t, kind, cno_new(t));
                DAT_EVD_PARAM before = evd_param(t, source.evd);
                DAT_RETURN ret;

                source_fill(t, &source, 0, 2);
                ret = expect_may(dat_evd_resize(source.evd, request), DAT_INVALID_PARAMETER,
                                 DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS);
                if (dat_is(ret, DAT_SUCCESS)) {
                        expect_that(places_of(t, source.evd) >= request,
                                    "%d places asked for, %d queried", request,
                                    places_of(t, source.evd));
                        note(t, "%d places granted, above the IA's own limit of %d", request,
                             limit);
                } else {
                        expect_untouched(t, source.evd, &before);
                }

                expect_source_events(t, &source, 0, 2);
                expect_full_source(t, &source, before.evd_qlen);
        }
}

FAMILY(evd_resize, each_stream, event_kinds)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = SE_QLEN, .flags = row->flags);
        struct brought brought[] = {{.evd = evd}, {.evd = evd}};
        DAT_COUNT more = places_above(t, evd, 8);

        for (int i = 0; i < 2; i++)
                make_ready(t, row, &brought[i], DAT_HANDLE_NULL);
        for (int i = 0; i < 2; i++) {
                row->bring(t, &brought[i]);
                settle(t);
        }
        expect(dat_evd_resize(evd, more), DAT_SUCCESS);
        expect(dat_evd_resize(evd, 2), DAT_SUCCESS);
        expect(dat_evd_resize(evd, 1), DAT_INVALID_STATE, DAT_SUCCESS);

        for (int i = 0; i < 2; i++) {
                DAT_EVENT event = expect_dequeued(t, evd);

                expect_brought(t, row, &brought[i], &event);
        }
        expect_empty(t, evd);
}

/* An EVD in use, whose streams report to it and whose CNO tells of them, before and after. */
FAMILY(evd_resize, stream_goes_on, event_kinds)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        struct brought brought = fed_before(t, row, cno);
        struct waiter *waiter;

        expect(dat_evd_resize(brought.evd, places_above(t, brought.evd, 8)), DAT_SUCCESS);
        expect_heard(t, row, &brought, cno);

        make_ready(t, row, &brought, cno);
        expect(dat_evd_resize(brought.evd, SE_QLEN), DAT_SUCCESS);
        waiter = wait_on_evd(t, brought.evd, DAT_TIMEOUT_INFINITE, 1);
        must_wait(waiter);
        expect_woken(t, row, &brought, waiter);
}

/* It grows before its event comes, and once more with that. */
CASE(evd_resize, async_evd)
{
        DAT_EVD_HANDLE async = async_evd(t);
        struct armed armed = async_to_come(t);
        DAT_EVENT event;

        expect(dat_evd_resize(async, places_above(t, async, 8)), DAT_SUCCESS);
        async_comes(t, &armed);
        settle(t);
        expect(dat_evd_resize(async, places_above(t, async, 8)), DAT_SUCCESS);

        event = expect_dequeued(t, async);
        expect_async_about(&event, armed.queue.srq);
        expect_empty(t, async);
}

FAMILY(evd_resize, keeps_state, evd_states)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = row->has_cno ? cno_new(t) : DAT_HANDLE_NULL;
                struct source source = source_in(t, kind, row->state, cno);

                expect(dat_evd_resize(source.evd, places_above(t, source.evd, 8)), DAT_SUCCESS);
                source.qlen = 0;

                expect_source_state(t, &source, row->state, cno);
        }
}

FAMILY(evd_resize, keeps_events_in_state, evd_states)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = row->has_cno ? cno_new(t) : DAT_HANDLE_NULL;
                struct source source = source_in(t, kind, row->state, cno);

                source_fill(t, &source, 0, 3);
                expect(dat_evd_resize(source.evd, places_above(t, source.evd, 8)), DAT_SUCCESS);
                expect(dat_evd_resize(source.evd, 3), DAT_SUCCESS);

                expect_source_events(t, &source, 0, 3);
                expect_empty(t, source.evd);
        }
}

LEGAL(evd_resize)
{
        call->evd_handle = se_evd(t, DAT_HANDLE_NULL);
        call->evd_min_qlen = SE_QLEN + 1;
}
