/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_create: the low watermark. */
#include "cases/evd/shared/dispatcher.h"
#include "cases/srq/shared/queue.h"
#include "cases/srq/srq_create/fixtures.h"
#include "clauses/srq_create.h"

CASE(srq_create, default_mark)
{
        DAT_SRQ_HANDLE srq = srq_create_create(t, pz(t), attr_of(8, 1, DAT_SRQ_LW_DEFAULT));

        expect_eq(srq_param(t, srq).low_watermark, DAT_SRQ_LW_DEFAULT);
}

CASE(srq_create, default_mark_raises_nothing)
{
        srq_create_create(t, pz(t), attr_of(8, 1, DAT_SRQ_LW_DEFAULT));

        expect_quiet(async_evd(t));
}

CASE(srq_create, default_mark_never_raises)
{
        struct queue queue = queue_made(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 3);
        expect_traffic(t, &queue, &flow, 3);

        expect_quiet(async_evd(t));
}

/* It may have the place, or the handle, of one that had another mark. */
CASE(srq_create, default_mark_behind_another)
{
        struct queue former = queue_made(t, 8);
        struct queue queue;
        struct flow flow;

        queue_mark(t, &former, 3);
        release(t, former.srq);
        drain_async_event(t);
        queue = queue_made(t, 8);
        expect_eq(srq_create_described(t, queue.srq).low_watermark, DAT_SRQ_LW_DEFAULT);

        flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        queue_post(t, &queue, 4);
        expect_traffic(t, &queue, &flow, 4);
        expect_quiet(async_evd(t));
}

CASE(srq_create, mark_set_later)
{
        struct armed armed = {.queue = queue_made(t, 8)};

        armed.flow = flow_open(t, &armed.queue, DAT_HANDLE_NULL);
        queue_post(t, &armed.queue, 4);
        arm_mark(t, &armed, 4);
        expect_eq(srq_create_described(t, armed.queue.srq).low_watermark, 4);

        expect_traffic(t, &armed.queue, &armed.flow, 1);
        expect_mark_event(t, &armed);
        expect_quiet(async_evd(t));
}

static const struct mark {
        const char *id;
        DAT_COUNT mark;
} marks[] = {
    {"one", 1},
    {"half", 4},
    {"size", 8},
};

/* Asks for an SRQ of 8 receives with this mark; null where it is not made. */
static DAT_SRQ_HANDLE create_marked(struct test *t, DAT_COUNT mark)
{
        DAT_SRQ_ATTR attr = attr_of(8, 1, mark);
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
        DAT_RETURN ret = expect_may(dat_srq_create(ia(t), pz(t), &attr, &srq), DAT_SUCCESS,
                                    DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED);

        if (!dat_is(ret, DAT_SUCCESS))
                return DAT_HANDLE_NULL;
        adopt(t, DAT_HANDLE_TYPE_SRQ, srq);
        return srq;
}

FAMILY(srq_create, other_mark, marks)
{
        DAT_SRQ_HANDLE srq = create_marked(t, row->mark);

        if (srq == DAT_HANDLE_NULL)
                return;
        if (srq_create_described(t, srq).low_watermark == DAT_SRQ_LW_DEFAULT) {
                note(t, "granted, and the default taken for the mark of %d (SRQ-8)", row->mark);
        } else {
                expect_eq(srq_create_described(t, srq).low_watermark, row->mark);
                expect_async_event(srq);
        }
        expect_quiet(async_evd(t));
}

/* The same; where the SRQ has another mark than that, the case ends as NOTE. */
static DAT_SRQ_HANDLE must_create_marked(struct test *t, DAT_COUNT mark)
{
        DAT_SRQ_HANDLE srq = create_marked(t, mark);

        if (srq == DAT_HANDLE_NULL || srq_param(t, srq).low_watermark != mark)
                end_noted(t, "no SRQ is made with a low watermark of %d (SRQ-8)", mark);
        return srq;
}

/*
 * The wait begins before there is an SRQ. It is on a CNO: a thread that took the event itself would
 * have it before the case knows the handle in it.
 */
CASE(srq_create, other_mark_wakes)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        struct waiter *waiter;
        struct woken woken;
        DAT_SRQ_HANDLE srq;

        must(dat_evd_modify_cno(async_evd(t), cno));
        waiter = wait_on_cno(t, cno, 4 * event_timeout(t));
        must_wait(waiter);
        srq = must_create_marked(t, 1 + (DAT_COUNT)draw(t, 8));

        /* A wait on the EVD itself would keep the CNO silent. */
        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_that(woken.evd == async_evd(t), "the CNO names another EVD");
        expect_async_event(srq);
        expect_quiet(async_evd(t));
        must(dat_evd_modify_cno(async_evd(t), DAT_HANDLE_NULL));
}

/* The mark is spent: receives that fall below it later raise no other event. */
CASE(srq_create, other_mark_spent)
{
        struct queue queue = queue_made(t, 8);
        struct flow flow;

        queue.srq = must_create_marked(t, 4);
        drain_async_event(t);
        flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        queue_post(t, &queue, 4);
        expect_quiet(async_evd(t));

        flow_deliver(t, &flow, 1);
        expect_no_mark_event(t, &flow);
}

/* A mark of the creation that the SRQ has: one that was set counts the same. */
CASE(srq_create, other_mark_bounds_size)
{
        DAT_COUNT mark = 2 + (DAT_COUNT)draw(t, 6);
        DAT_SRQ_HANDLE srq = must_create_marked(t, mark);

        drain_async_event(t);

        expect(dat_srq_resize(srq, mark - 1), DAT_INVALID_STATE);
        expect(dat_srq_resize(srq, mark), DAT_SUCCESS);
        expect_eq(srq_param(t, srq).low_watermark, mark);
}
