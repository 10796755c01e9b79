/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_create: many SRQs, arguments and threads. */
#include "case/limits.h"
#include "cases/shared/rounds.h"
#include "cases/srq/shared/queue.h"
#include "cases/srq/srq_create/fixtures.h"
#include "clauses/srq_create.h"

#include <limits.h>

#define MET       3    /* rounds in which their calls met are enough */
#define THREADS   3    /* that make SRQs at once */
#define MOST_SRQS 1024 /* that a case makes at once */

/*
 * Many
 */

/*
 * Makes all the SRQs that the IA has, or as many as a case makes; a lack of resources ends the
 * case. Returns how many are left to make.
 */
static DAT_COUNT create_all(struct test *t)
{
        DAT_COUNT limit = limit_told(max_srqs);
        DAT_COUNT made = limit < MOST_SRQS ? limit : MOST_SRQS;

        for (DAT_COUNT i = 0; i < made; i++)
                create_at_limit(t, 1, 1);
        return limit - made;
}

CASE(srq_create, as_many_as_the_ia_has)
{
        DAT_COUNT left = create_all(t);

        if (left)
                note(t, "of the IA's %d SRQs %d are more than a case makes", limit_told(max_srqs),
                     left);
}

CASE(srq_create, one_more_than_the_ia_has)
{
        DAT_SRQ_ATTR attr = attr_of(1, 1, DAT_SRQ_LW_DEFAULT);
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
        DAT_RETURN ret;

        if (create_all(t))
                end_noted(t, "the IA's max_srqs are more than a case makes: none is beyond them");
        ret = expect_or_note(dat_srq_create(ia(t), pz(t), &attr, &srq), DAT_INSUFFICIENT_RESOURCES,
                             DAT_SUCCESS);
        if (!dat_is(ret, DAT_SUCCESS))
                return;
        adopt(t, DAT_HANDLE_TYPE_SRQ, srq);
        note(t, "granted, above the IA's own max_srqs of %d", limit_told(max_srqs));
        expect_at_least(t, srq, 1, 1);
}

CASE(srq_create, again_after_free, ROUNDS_DEADLINE)
{
        struct rounds rounds = rounds_of(t, DAT_HANDLE_TYPE_SRQ);

        while (rounds_next(&rounds)) {
                DAT_SRQ_HANDLE srq = srq_create_create(t, pz(t), attr_of(1, 1, DAT_SRQ_LW_DEFAULT));

                release(t, srq);
        }
        expect_no_leak(&rounds);
}

/*
 * Arguments
 */

static const struct bad_attr {
        const char *id;
        DAT_SRQ_ATTR attr;
} negative[] = {
    {"max_recv_dtos", {.max_recv_dtos = -1, .max_recv_iov = 1}},
    {"max_recv_dtos_least", {.max_recv_dtos = INT_MIN, .max_recv_iov = 1}},
    {"max_recv_iov", {.max_recv_dtos = 8, .max_recv_iov = -1}},
    {"max_recv_iov_least", {.max_recv_dtos = 8, .max_recv_iov = INT_MIN}},
};

FAMILY(srq_create, negative, negative)
{
        DAT_SRQ_ATTR attr = row->attr;
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;

        expect(dat_srq_create(ia(t), pz(t), &attr, &srq), DAT_INVALID_PARAMETER);
}

FAMILY(srq_create, refusal_keeps_attributes, negative)
{
        DAT_SRQ_ATTR attr = row->attr;
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;

        expect(dat_srq_create(ia(t), pz(t), &attr, &srq), DAT_INVALID_PARAMETER);
        expect_eq(attr.max_recv_dtos, row->attr.max_recv_dtos);
        expect_eq(attr.max_recv_iov, row->attr.max_recv_iov);
        expect_eq(attr.low_watermark, row->attr.low_watermark);
}

static const struct bad_attr wrong_marks[] = {
    {"negative", {.max_recv_dtos = 8, .max_recv_iov = 1, .low_watermark = -1}},
    {"above_size", {.max_recv_dtos = 8, .max_recv_iov = 1}},
    {"greatest", {.max_recv_dtos = 8, .max_recv_iov = 1, .low_watermark = INT_MAX}},
};

/* The row's mark; or else one more than the places of a queue that is asked for 8 of them. */
static DAT_COUNT mark_of(struct test *t, const struct bad_attr *row)
{
        if (row->attr.low_watermark)
                return row->attr.low_watermark;
        return srq_size(t, srq_create_create(t, pz(t), attr_of(8, 1, DAT_SRQ_LW_DEFAULT))) + 1;
}

FAMILY(srq_create, wrong_mark, wrong_marks)
{
        DAT_SRQ_ATTR attr = attr_of(8, 1, mark_of(t, row));
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
        DAT_RETURN ret = expect_refused_or_note(dat_srq_create(ia(t), pz(t), &attr, &srq),
                                                DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED);

        if (dat_is(ret, DAT_SUCCESS)) {
                adopt(t, DAT_HANDLE_TYPE_SRQ, srq);
                expect_eq(srq_create_described(t, srq).low_watermark, DAT_SRQ_LW_DEFAULT);
        }
        expect_quiet(async_evd(t));
}

static const struct beyond {
        const char *id;
        bool segments;
        bool greatest;
} beyond[] = {
    {"max_recv_dtos_above_ia_limit", false, false},
    {"max_recv_dtos_greatest", false, true},
    {"max_recv_iov_above_ia_limit", true, false},
    {"max_recv_iov_greatest", true, true},
};

FAMILY(srq_create, too_large, beyond)
{
        DAT_COUNT limit =
            row->segments ? ia_attr(t)->max_iov_segments_per_dto : limit_told(max_recv_per_srq);

        if (limit == INT_MAX)
                unsupported(t, "the IA's limit: no number is above it");
        DAT_COUNT asked = row->greatest ? INT_MAX : limit + 1;
        DAT_COUNT dtos = row->segments ? 8 : asked;
        DAT_COUNT iov = row->segments ? asked : 1;
        DAT_SRQ_ATTR attr = attr_of(dtos, iov, DAT_SRQ_LW_DEFAULT);
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
        DAT_RETURN ret = expect_may(dat_srq_create(ia(t), pz(t), &attr, &srq),
                                    DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS);

        if (!dat_is(ret, DAT_SUCCESS))
                return;
        adopt(t, DAT_HANDLE_TYPE_SRQ, srq);
        expect_at_least(t, srq, dtos, iov);
        note(t, "%d granted, above the IA's own limit of %d", asked, limit);
}

static const struct bad_attr zeros[] = {
    {"max_recv_dtos", {.max_recv_dtos = 0, .max_recv_iov = 1}},
    {"max_recv_iov", {.max_recv_dtos = 8, .max_recv_iov = 0}},
};

FAMILY(srq_create, zero, zeros)
{
        DAT_SRQ_ATTR attr = row->attr;
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
        struct queue queue = {.length = 1, .buf = buf_with(t)};
        DAT_RETURN ret = expect_may(dat_srq_create(ia(t), pz(t), &attr, &srq),
                                    DAT_INVALID_PARAMETER, DAT_SUCCESS);

        if (!dat_is(ret, DAT_SUCCESS))
                return;
        adopt(t, DAT_HANDLE_TYPE_SRQ, srq);
        expect_at_least(t, srq, row->attr.max_recv_dtos, row->attr.max_recv_iov);
        queue.srq = srq;
        if (srq_create_described(t, srq).max_recv_iov > 0)
                expect_room(t, &queue, srq_size(t, srq));
}

static const struct bad_attr refused[] = {
    {"max_recv_dtos", {.max_recv_dtos = -1, .max_recv_iov = 1}},
    {"max_recv_iov", {.max_recv_dtos = 8, .max_recv_iov = -1}},
    {"low_watermark", {.max_recv_dtos = 8, .max_recv_iov = 1, .low_watermark = INT_MAX}},
    {"all", {.max_recv_dtos = -1, .max_recv_iov = INT_MAX, .low_watermark = INT_MAX}},
    {"max_recv_dtos_greatest", {.max_recv_dtos = INT_MAX, .max_recv_iov = 1}},
    {"max_recv_iov_greatest", {.max_recv_dtos = 8, .max_recv_iov = INT_MAX}},
};

/* A count may be DAT_VALUE_UNKNOWN at any moment (SRQ-10). */
static void expect_same_count(struct test *t, DAT_COUNT dto_count, DAT_COUNT was)
{
        if (dto_count != DAT_VALUE_UNKNOWN && was != DAT_VALUE_UNKNOWN)
                expect_eq(dto_count, was);
}

/* An SRQ from before is as it was, and the next one has all that it is asked to have. */
FAMILY(srq_create, after_refusals, refused)
{
        DAT_COUNT rounds =
            limit_or_none(max_srqs) < MOST_SRQS ? limit_or_none(max_srqs) : MOST_SRQS;
        DAT_PZ_HANDLE zone = pz_new(t);
        struct queue before = queue_made(t, 8);
        DAT_SRQ_PARAM was;
        DAT_SRQ_PARAM is;

        expect_posts(t, &before, 2);
        was = srq_create_described(t, before.srq);
        for (DAT_COUNT i = 0; i < rounds; i++) {
                DAT_SRQ_ATTR attr = row->attr;
                DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;

                if (dat_is(dat_srq_create(ia(t), zone, &attr, &srq), DAT_SUCCESS)) {
                        adopt(t, DAT_HANDLE_TYPE_SRQ, srq);
                        end_noted(t, "granted: there is nothing to see after a refusal");
                }
        }
        is = srq_create_described(t, before.srq);
        expect_eq(is.max_recv_dtos, was.max_recv_dtos);
        expect_eq(is.max_recv_iov, was.max_recv_iov);
        expect_eq(is.low_watermark, was.low_watermark);
        expect_same_count(t, is.available_dto_count, was.available_dto_count);
        expect_same_count(t, is.outstanding_dto_count, was.outstanding_dto_count);
        expect_room(t, &before, is.max_recv_dtos - 2);

        struct queue next = queue_made(t, 8);
        expect_at_least(t, next.srq, 8, 1);
        expect_room(t, &next, srq_size(t, next.srq));
        disown(t, zone);
        expect(dat_pz_free(zone), DAT_SUCCESS);
        expect_quiet(async_evd(t));
}

static const struct one_more {
        const char *id;
        DAT_SRQ_ATTR attr;
        bool granted;
} one_more[] = {
    {"granted", {.max_recv_dtos = 16, .max_recv_iov = 1}, true},
    {"refused", {.max_recv_dtos = -1, .max_recv_iov = 1}, false},
    {"segments_refused", {.max_recv_dtos = 8, .max_recv_iov = -1}, false},
};

/* The SRQs that there are keep their marks armed, their receives and their places. */
FAMILY(srq_create, keeps_others_armed, one_more)
{
        DAT_SRQ_ATTR attr = row->attr;
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
        struct armed armed[2];
        DAT_SRQ_PARAM before[2];

        for (int i = 0; i < 2; i++)
                armed[i] = armed_with(t, 4, 4);
        for (int i = 0; i < 2; i++)
                before[i] = srq_create_described(t, armed[i].queue.srq);
        expect(dat_srq_create(ia(t), pz_new(t), &attr, &srq),
               row->granted ? DAT_SUCCESS : DAT_INVALID_PARAMETER);
        if (row->granted)
                adopt(t, DAT_HANDLE_TYPE_SRQ, srq);
        expect_quiet(async_evd(t));

        for (int i = 0; i < 2; i++) {
                expect_kept(t, armed[i].queue.srq, &before[i]);
                expect_that(before[i].max_recv_dtos >= 8, "an SRQ made for 8 receives has %d",
                            before[i].max_recv_dtos);
                flow_deliver(t, &armed[i].flow, 1);
                expect_mark_event(t, &armed[i]);
                expect_messages(t, &armed[i].queue, &armed[i].flow, 1);
                expect_room(t, &armed[i].queue, before[i].max_recv_dtos - 3);
        }
        expect_quiet(async_evd(t));
}

CASE(srq_create, none_without_srqs)
{
        DAT_SRQ_ATTR attr = attr_of(8, 1, DAT_SRQ_LW_DEFAULT);
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
        DAT_RETURN ret;

        must_be_told(t, NEED_SRQ);
        if (provider_attr(t)->srq_supported)
                unsupported(t, "srq_supported: the provider has SRQs");
        ret = dat_srq_create(ia(t), pz(t), &attr, &srq);
        if (dat_is(ret, DAT_SUCCESS)) {
                adopt(t, DAT_HANDLE_TYPE_SRQ, srq);
                note(t, "an SRQ was created, though srq_supported = 0 (GEN-2)");
                return;
        }
        expect_or_note(ret, DAT_MODEL_NOT_SUPPORTED, DAT_NOT_IMPLEMENTED);
}

/* A call that a thread makes, beside others. */
struct creation {
        DAT_IA_HANDLE ia;
        DAT_PZ_HANDLE pz;
        DAT_SRQ_ATTR attr;
        DAT_SRQ_HANDLE srq;
};

static DAT_RETURN create_by(void *arg)
{
        struct creation *creation = arg;

        return dat_srq_create(creation->ia, creation->pz, &creation->attr, &creation->srq);
}

CASE(srq_create, any_thread, DEADLINE_MS(20000))
{
        DAT_PZ_HANDLE zones[2] = {pz(t), pz_new(t)};
        struct buf *bufs[2] = {buf_with(t), buf_with(t, .pz = zones[1])};
        struct stress stress = stress_of(t, 3000);

        while (stress.met < MET && stress_round(&stress)) {
                struct creation creations[THREADS];
                struct racer racers[THREADS];

                for (int i = 0; i < THREADS; i++) {
                        creations[i] =
                            (struct creation){.ia = ia(t),
                                              .pz = zones[i % 2],
                                              .attr = attr_of(4 + i, 1, DAT_SRQ_LW_DEFAULT)};
                        racers[i] = (struct racer){.call = create_by, .arg = &creations[i]};
                }
                stress_met(&stress, race(racers, THREADS));
                for (int i = 0; i < THREADS; i++) {
                        expect(racers[i].ret, DAT_SUCCESS);
                        adopt(t, DAT_HANDLE_TYPE_SRQ, creations[i].srq);
                }
                for (int i = 0; i < THREADS; i++) {
                        struct queue queue = {
                            .srq = creations[i].srq, .length = 1, .buf = bufs[i % 2]};

                        expect_at_least(t, queue.srq, 4 + i, 1);
                        expect_that(srq_create_described(t, queue.srq).pz_handle == zones[i % 2],
                                    "the SRQ of thread %d has not its zone", i);
                        expect_room(t, &queue, 4 + i);
                }
                for (int i = 0; i < THREADS; i++)
                        release(t, creations[i].srq);
        }
        must_have_met(&stress);
}

LEGAL(srq_create)
{
        static DAT_SRQ_ATTR attr;

        attr = attr_of(8, 1, DAT_SRQ_LW_DEFAULT);
        call->ia_handle = ia(t);
        call->pz_handle = pz(t);
        call->srq_attr = &attr;
}
