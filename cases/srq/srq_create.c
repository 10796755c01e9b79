/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_create: what an SRQ has at least, what it starts with, and what is no SRQ. */
#include "clauses/srq_create.h"
#include "../handles.h"
#include "queue.h"

#include <limits.h>

#define MANY         500  /* receives */
#define MOST_SRQS    1024 /* that a case makes at once */
#define MOST_PARTS   64   /* segments that a case makes of a message */
#define DELIVERED_US 3000000

/* An SRQ with these attributes, by the call under test. */
static DAT_SRQ_HANDLE create(struct test *t, DAT_PZ_HANDLE zone, DAT_SRQ_ATTR attr)
{
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;

        expect(dat_srq_create(ia(t), zone, &attr, &srq), DAT_SUCCESS);
        adopt(t, DAT_HANDLE_TYPE_SRQ, srq);
        return srq;
}

/* What a query says of it; that it can be queried is part of the clause. */
static DAT_SRQ_PARAM described(struct test *t, DAT_SRQ_HANDLE srq)
{
        DAT_SRQ_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        expect(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param), DAT_SUCCESS);
        return param;
}

static DAT_SRQ_ATTR attr_of(DAT_COUNT dtos, DAT_COUNT iov, DAT_COUNT mark)
{
        return (DAT_SRQ_ATTR){.max_recv_dtos = dtos, .max_recv_iov = iov, .low_watermark = mark};
}

/*
 * What is made
 */

CASE(srq_create, created)
{
        described(t, create(t, pz(t), attr_of(8, 1, DAT_SRQ_LW_DEFAULT)));
}

CASE(srq_create, ia)
{
        DAT_SRQ_HANDLE srq = srq_with(t);

        expect_that(srq_param(t, srq).ia_handle == ia(t), "the SRQ is of another IA");
}

CASE(srq_create, pz)
{
        DAT_PZ_HANDLE first = pz(t);
        DAT_PZ_HANDLE second = pz_new(t);
        DAT_SRQ_HANDLE of_second = srq_with(t, .pz = second);
        DAT_SRQ_HANDLE of_first = srq_with(t, .pz = first);

        expect_that(srq_param(t, of_first).pz_handle == first, "not the PZ that was given");
        expect_that(srq_param(t, of_second).pz_handle == second, "not the PZ that was given");
}

CASE(srq_create, another_srq)
{
        struct queue one = queue_with(t, 8);
        struct queue other = queue_with(t, 8);

        expect_that(one.srq != other.srq, "two SRQs have one handle");
        srq_fill(t, one.srq, one.buf);
        expect_room(t, &other, 8);
}

CASE(srq_create, no_available)
{
        expect_count(t, srq_param(t, srq_with(t)).available_dto_count, 0);
}

CASE(srq_create, no_outstanding)
{
        expect_count(t, srq_param(t, srq_with(t)).outstanding_dto_count, 0);
}

CASE(srq_create, unattached)
{
        DAT_SRQ_HANDLE srq = srq_with(t);

        ep_with(t);
        disown(t, srq);

        expect(dat_srq_free(srq), DAT_SUCCESS);
}

CASE(srq_create, unattached_to_plain_ep)
{
        DAT_EP_HANDLE plain = ep_with(t);
        struct peer_ep *end = peer_connect(peer(t), plain);
        struct queue queue = queue_with(t, 8);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);

        queue_post(t, &queue, 4);
        must(dat_ep_post_recv(plain, 1, &segment, (DAT_DTO_COOKIE){.as_64 = SLOTS},
                              DAT_COMPLETION_DEFAULT_FLAG));
        peer_send(end, .length = MESSAGE);
        expect_eq(expect_dto(ep_recv_evd(t, plain)).user_cookie.as_64, SLOTS);

        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        expect_traffic(t, &queue, &flow, 4);
}

/*
 * How much it holds
 */

static const struct size {
        const char *id;
        DAT_COUNT dtos;
} sizes[] = {
    {"one", 1},
    {"odd", 33},
    {"many", MANY},
};

static DAT_COUNT size_of(struct test *t, const struct size *row)
{
        DAT_COUNT limit = ia_attr(t)->max_recv_per_srq;

        return row->dtos < limit ? row->dtos : limit;
}

FAMILY(srq_create, size, sizes)
{
        DAT_COUNT asked = size_of(t, row);
        DAT_COUNT size = srq_size(t, create(t, pz(t), attr_of(asked, 1, DAT_SRQ_LW_DEFAULT)));

        expect_that(size >= asked, "%d asked for, %d queried", asked, size);
}

FAMILY(srq_create, room, sizes)
{
        DAT_COUNT asked = size_of(t, row);
        struct queue queue = queue_with(t, asked);

        expect_room(t, &queue, asked);
}

CASE(srq_create, room_as_queried)
{
        struct queue queue = queue_with(t, 33);

        expect_room(t, &queue, srq_size(t, queue.srq));
}

/* Attributes that the IA's limits allow are refused for lack of resources only. */
static DAT_SRQ_HANDLE create_at_limit(struct test *t, DAT_COUNT dtos, DAT_COUNT iov)
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

static void expect_at_least(struct test *t, DAT_SRQ_HANDLE srq, DAT_COUNT dtos, DAT_COUNT iov)
{
        DAT_SRQ_PARAM param = described(t, srq);

        expect_that(param.max_recv_dtos >= dtos, "%d receives asked for, %d queried", dtos,
                    param.max_recv_dtos);
        expect_that(param.max_recv_iov >= iov, "%d segments asked for, %d queried", iov,
                    param.max_recv_iov);
}

CASE(srq_create, size_at_ia_limit)
{
        DAT_COUNT limit = ia_attr(t)->max_recv_per_srq;

        expect_at_least(t, create_at_limit(t, limit, 1), limit, 1);
}

CASE(srq_create, segments_at_ia_limit)
{
        DAT_COUNT limit = ia_attr(t)->max_iov_segments_per_dto;

        expect_at_least(t, create_at_limit(t, 8, limit), 8, limit);
}

CASE(srq_create, both_at_ia_limits)
{
        DAT_COUNT dtos = ia_attr(t)->max_recv_per_srq;
        DAT_COUNT iov = ia_attr(t)->max_iov_segments_per_dto;
        DAT_SRQ_ATTR attr = attr_of(dtos, iov, DAT_SRQ_LW_DEFAULT);
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
        DAT_RETURN ret = dat_srq_create(ia(t), pz(t), &attr, &srq);

        if (dat_is(ret, DAT_INSUFFICIENT_RESOURCES))
                resource(t, "no resources for %d receives of %d segments", dtos, iov);
        expect_or_note(ret, DAT_SUCCESS, DAT_INVALID_PARAMETER);
        if (!dat_is(ret, DAT_SUCCESS))
                return;
        adopt(t, DAT_HANDLE_TYPE_SRQ, srq);
        expect_at_least(t, srq, dtos, iov);
}

static const struct parts {
        const char *id;
        DAT_COUNT iov; /* 0: the IA's limit */
} parts[] = {
    {"one", 1},
    {"two", 2},
    {"most", 0},
};

static DAT_COUNT parts_of(struct test *t, const struct parts *row)
{
        DAT_COUNT limit = ia_attr(t)->max_iov_segments_per_dto;
        DAT_COUNT asked = row->iov && row->iov < limit ? row->iov : limit;

        return asked < MOST_PARTS ? asked : MOST_PARTS;
}

/* A queue of one receive, whose message comes in so many parts. */
static struct queue queue_in_parts(struct test *t, DAT_COUNT count)
{
        struct queue queue = {
            .srq = srq_with(t, .max_recv_iov = count), .length = MESSAGE, .buf = buf_with(t)};
        DAT_LMR_TRIPLET segments[MOST_PARTS];

        for (DAT_COUNT i = 0; i < count; i++) {
                size_t begin = MESSAGE * (size_t)i / (size_t)count;
                size_t end = MESSAGE * ((size_t)i + 1) / (size_t)count;

                segments[i] = triplet(queue.buf, begin, end - begin);
        }
        expect(dat_srq_post_recv(queue.srq, count, segments, (DAT_DTO_COOKIE){.as_64 = 0}),
               DAT_SUCCESS);
        queue.posted = 1;
        return queue;
}

FAMILY(srq_create, segments, parts)
{
        DAT_COUNT asked = parts_of(t, row);
        DAT_SRQ_HANDLE srq = create(t, pz(t), attr_of(8, asked, DAT_SRQ_LW_DEFAULT));
        DAT_COUNT iov = srq_param(t, srq).max_recv_iov;

        expect_that(iov >= asked, "%d asked for, %d queried", asked, iov);
}

FAMILY(srq_create, segments_taken, parts)
{
        queue_in_parts(t, parts_of(t, row));
}

FAMILY(srq_create, segments_filled, parts)
{
        struct queue queue = queue_in_parts(t, parts_of(t, row));
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        expect_traffic(t, &queue, &flow, 1);
}

CASE(srq_create, larger_than_asked)
{
        DAT_COUNT limit = ia_attr(t)->max_recv_per_srq;

        for (DAT_COUNT asked = 1; asked <= 100 && asked <= limit; asked *= 10) {
                DAT_SRQ_HANDLE srq = create(t, pz(t), attr_of(asked, 1, DAT_SRQ_LW_DEFAULT));
                DAT_SRQ_PARAM param = described(t, srq);

                expect_at_least(t, srq, asked, 1);
                record(t, "%d receives of 1 segment asked for: %d of %d", asked,
                       param.max_recv_dtos, param.max_recv_iov);
        }
}

/*
 * The Protection Zone
 */

CASE(srq_create, memory_of_its_pz)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct queue queue = {
            .srq = srq_with(t, .pz = zone), .length = MESSAGE, .buf = buf_with(t, .pz = zone)};
        DAT_EP_HANDLE ep = ep_with(t, .srq = queue.srq, .pz = zone);
        struct flow flow = {.ep = ep,
                            .evd = ep_recv_evd(t, ep),
                            .end = peer_connect(peer(t), ep),
                            .length = MESSAGE};

        DAT_LMR_TRIPLET segment = triplet(queue.buf, 0, MESSAGE);
        expect(dat_srq_post_recv(queue.srq, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0}),
               DAT_SUCCESS);
        queue.posted = 1;
        expect_traffic(t, &queue, &flow, 1);
}

CASE(srq_create, memory_of_another_pz)
{
        struct queue queue = queue_with(t, 8);
        struct buf *foreign = buf_with(t, .pz = pz_new(t));
        DAT_LMR_TRIPLET segment = triplet(foreign, 0, MESSAGE);
        DAT_EP_HANDLE ep = ep_with(t, .srq = queue.srq);
        struct peer_ep *end = peer_connect(peer(t), ep);
        DAT_RETURN ret =
            expect(dat_srq_post_recv(queue.srq, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0}),
                   DAT_PROTECTION_VIOLATION, DAT_INVALID_PARAMETER, DAT_SUCCESS);

        if (!dat_is(ret, DAT_SUCCESS))
                return;
        peer_send(end, .length = MESSAGE);
        DAT_EVENT event = expect_event(ep_recv_evd(t, ep), DAT_DTO_COMPLETION_EVENT);
        expect_eq(event.event_data.dto_completion_event_data.status, DAT_DTO_ERR_LOCAL_PROTECTION);
        expect_that(!message_holds(foreign->addr, MESSAGE, 0), "the message is in that memory");
}

/*
 * The low watermark
 */

CASE(srq_create, default_mark)
{
        DAT_SRQ_HANDLE srq = create(t, pz(t), attr_of(8, 1, DAT_SRQ_LW_DEFAULT));

        expect_eq(srq_param(t, srq).low_watermark, DAT_SRQ_LW_DEFAULT);
}

CASE(srq_create, default_mark_raises_nothing)
{
        create(t, pz(t), attr_of(8, 1, DAT_SRQ_LW_DEFAULT));

        expect_quiet(async_evd(t));
}

CASE(srq_create, default_mark_never_raises)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 3);
        expect_traffic(t, &queue, &flow, 3);

        expect_quiet(async_evd(t));
}

CASE(srq_create, mark_set_later)
{
        struct armed armed = armed_with(t, 4, 3);

        flow_send(&armed.flow, 2);
        expect_async_event(armed.queue.srq);
}

static const struct mark {
        const char *id;
        DAT_COUNT mark;
} marks[] = {
    {"one", 1},
    {"half", 4},
    {"size", 8},
};

FAMILY(srq_create, other_mark, marks)
{
        DAT_SRQ_ATTR attr = attr_of(8, 1, row->mark);
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
        DAT_RETURN ret = expect(dat_srq_create(ia(t), pz(t), &attr, &srq), DAT_SUCCESS,
                                DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED);

        if (!dat_is(ret, DAT_SUCCESS))
                return;
        adopt(t, DAT_HANDLE_TYPE_SRQ, srq);
        if (described(t, srq).low_watermark == DAT_SRQ_LW_DEFAULT) {
                note(t, "granted, and the default taken for the mark of %d (SRQ-8)", row->mark);
        } else {
                expect_eq(described(t, srq).low_watermark, row->mark);
                expect_async_event(srq);
        }
        expect_quiet(async_evd(t));
}

/*
 * An EP that finds no receive
 */

/* Whether the next message arrives whole, in good time. */
static bool arrives(DAT_EVD_HANDLE evd)
{
        DAT_COUNT more;
        DAT_EVENT event;

        return dat_is(dat_evd_wait(evd, DELIVERED_US, 1, &event, &more), DAT_SUCCESS) &&
               event.event_number == DAT_DTO_COMPLETION_EVENT &&
               event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS;
}

CASE(srq_create, no_receive)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_EP_HANDLE plain = ep_with(t);
        struct peer_ep *end = peer_connect(peer(t), plain);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);

        flow_send(&flow, 1);
        peer_send(end, .length = MESSAGE);
        settle(t);
        queue_post(t, &queue, 1);
        (void)dat_ep_post_recv(plain, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0},
                               DAT_COMPLETION_DEFAULT_FLAG);

        bool by_plain = arrives(ep_recv_evd(t, plain));
        bool by_srq = arrives(flow.evd);
        record(t, "without a receive a message %s", by_plain ? "waits" : "is lost");
        expect_that(by_srq == by_plain, "the EP of the SRQ %s, the one with its own queue %s",
                    by_srq ? "gets it" : "does not", by_plain ? "gets it" : "does not");
}

/*
 * The EPs that share it
 */

static const struct sharing {
        const char *id;
        int eps;
        bool one_evd;
} sharings[] = {
    {"own_evds", 3, false},
    {"one_evd", 3, true},
};

/* Connects the row's EPs to the queue. */
static void open_flows(struct test *t, const struct queue *queue, const struct sharing *row,
                       struct flow *flows)
{
        DAT_EVD_HANDLE evd = row->one_evd ? evd_with(t) : DAT_HANDLE_NULL;

        for (int i = 0; i < row->eps; i++)
                flows[i] = flow_open(t, queue, evd);
}

FAMILY(srq_create, recv_evds, sharings)
{
        struct queue queue = queue_with(t, 8);
        struct flow flows[3];

        open_flows(t, &queue, row, flows);
        queue_post(t, &queue, 3);
        for (int i = 0; i < row->eps; i++) {
                flow_send(&flows[i], 1);
                expect_messages(t, &queue, &flows[i], 1);
        }
}

CASE(srq_create, any_ep_takes)
{
        struct queue queue = queue_with(t, 8);
        struct flow one = flow_open(t, &queue, DAT_HANDLE_NULL);
        struct flow other = flow_open(t, &queue, DAT_HANDLE_NULL);

        for (int i = 0; i < 4; i++) {
                struct flow *flow = i % 2 ? &other : &one;

                queue_post(t, &queue, 1);
                flow_send(flow, 1);
                expect_messages(t, &queue, flow, 1);
        }
}

CASE(srq_create, fewer_receives_than_eps)
{
        struct queue queue = queue_with(t, 2);
        struct flow flows[3];

        open_flows(t, &queue, &sharings[0], flows);
        queue_post(t, &queue, 2);
        flow_send(&flows[2], 2);
        expect_messages(t, &queue, &flows[2], 2);
}

static const struct sharing orders[] = {
    {"one_ep", 1, false},
    {"own_evds", 3, false},
    {"one_evd", 3, true},
};

FAMILY(srq_create, order_per_connection, orders)
{
        struct queue queue = queue_with(t, 24);
        struct flow flows[3];

        open_flows(t, &queue, row, flows);
        queue_post(t, &queue, 8 * row->eps);
        for (int i = 0; i < 8 * row->eps; i++)
                flow_send(&flows[i % row->eps], 1);
        for (int i = 0; i < 8 * row->eps; i++) {
                DAT_DTO_COMPLETION_EVENT_DATA dto = expect_dto(flows[i % row->eps].evd);

                check_message(t, &queue, flows, row->eps, &dto);
        }
}

/*
 * Many
 */

/* Makes all the SRQs that the IA has; a lack of resources ends the case. */
static DAT_COUNT create_all(struct test *t)
{
        DAT_COUNT limit = ia_attr(t)->max_srqs;

        if (limit > MOST_SRQS)
                resource(t, "%d SRQs are more than a case makes", limit);
        for (DAT_COUNT i = 0; i < limit; i++)
                create_at_limit(t, 1, 1);
        return limit;
}

CASE(srq_create, as_many_as_the_ia_has)
{
        create_all(t);
}

CASE(srq_create, one_more_than_the_ia_has)
{
        DAT_COUNT limit = create_all(t);
        DAT_SRQ_ATTR attr = attr_of(1, 1, DAT_SRQ_LW_DEFAULT);
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
        DAT_RETURN ret = expect_or_note(dat_srq_create(ia(t), pz(t), &attr, &srq),
                                        DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS);

        if (!dat_is(ret, DAT_SUCCESS))
                return;
        adopt(t, DAT_HANDLE_TYPE_SRQ, srq);
        note(t, "granted, above the IA's own max_srqs of %d", limit);
        expect_at_least(t, srq, 1, 1);
}

CASE(srq_create, again_after_free)
{
        DAT_COUNT rounds = ia_attr(t)->max_srqs < MOST_SRQS ? ia_attr(t)->max_srqs : MOST_SRQS;

        for (DAT_COUNT i = 0; i <= rounds; i++) {
                DAT_SRQ_HANDLE srq = create(t, pz(t), attr_of(1, 1, DAT_SRQ_LW_DEFAULT));

                release(t, srq);
        }
}

/*
 * Arguments
 */

FAMILY(srq_create, invalid_ia_handle, invalid_handles)
{
        DAT_SRQ_ATTR attr = attr_of(8, 1, DAT_SRQ_LW_DEFAULT);
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;

        expect(dat_srq_create(bad_handle(t, DAT_HANDLE_TYPE_IA, row->how), pz(t), &attr, &srq),
               DAT_INVALID_HANDLE);
}

FAMILY(srq_create, invalid_pz_handle, invalid_handles)
{
        DAT_SRQ_ATTR attr = attr_of(8, 1, DAT_SRQ_LW_DEFAULT);
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;

        expect(dat_srq_create(ia(t), bad_handle(t, DAT_HANDLE_TYPE_PZ, row->how), &attr, &srq),
               DAT_INVALID_HANDLE);
}

CASE(srq_create, pz_of_other_ia)
{
        DAT_SRQ_ATTR attr = attr_of(8, 1, DAT_SRQ_LW_DEFAULT);
        DAT_PZ_HANDLE zone = bad_handle(t, DAT_HANDLE_TYPE_PZ, BAD_HANDLE_OTHER_IA);
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
        DAT_RETURN answer = dat_srq_create(ia(t), zone, &attr, &srq);

        if (!dat_is(answer, DAT_SUCCESS)) {
                expect(answer, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER);
                return;
        }
        adopt(t, DAT_HANDLE_TYPE_SRQ, srq);
        note(t, "an SRQ was made in a PZ of another IA (GEN-12)");
}

/* The arguments of a call that is made in a process of its own. */
struct arguments {
        DAT_IA_HANDLE ia;
        DAT_PZ_HANDLE pz;
        DAT_SRQ_ATTR *attr;
        DAT_SRQ_HANDLE *srq;
};

static DAT_RETURN create_by(void *arg)
{
        const struct arguments *with = arg;

        return dat_srq_create(with->ia, with->pz, with->attr, with->srq);
}

static const struct stale {
        const char *id;
        DAT_HANDLE_TYPE type;
} stale[] = {
    {"ia_handle", DAT_HANDLE_TYPE_IA},
    {"pz_handle", DAT_HANDLE_TYPE_PZ},
};

FAMILY(srq_create, destroyed, stale)
{
        DAT_SRQ_ATTR attr = attr_of(8, 1, DAT_SRQ_LW_DEFAULT);
        DAT_HANDLE gone = bad_handle(t, row->type, BAD_HANDLE_DESTROYED);
        bool is_ia = row->type == DAT_HANDLE_TYPE_IA;
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
        struct arguments arguments = {
            .ia = is_ia ? gone : ia(t), .pz = is_ia ? pz(t) : gone, .attr = &attr, .srq = &srq};
        DAT_RETURN answer;

        if (call_apart(t, create_by, &arguments, &answer))
                expect_or_note(answer, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
                               DAT_INVALID_STATE);
        else
                note(t, "the call crashed");
}

static const struct null {
        const char *id;
        bool attr;
} nulls[] = {
    {"srq_attr", true},
    {"srq_handle", false},
};

FAMILY(srq_create, null, nulls)
{
        DAT_SRQ_ATTR attr = attr_of(8, 1, DAT_SRQ_LW_DEFAULT);
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
        struct arguments arguments = {.ia = ia(t),
                                      .pz = pz(t),
                                      .attr = row->attr ? NULL : &attr,
                                      .srq = row->attr ? &srq : NULL};
        DAT_RETURN answer;

        if (call_apart(t, create_by, &arguments, &answer))
                expect_or_note(answer, DAT_INVALID_PARAMETER, DAT_INVALID_HANDLE, DAT_INVALID_STATE,
                               DAT_INVALID_ADDRESS);
        else
                record(t, "the call crashed, as it may with a null pointer (GEN-4)");
}

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

static const struct bad_attr wrong_marks[] = {
    {"negative", {.max_recv_dtos = 8, .max_recv_iov = 1, .low_watermark = -1}},
    {"greatest", {.max_recv_dtos = 8, .max_recv_iov = 1, .low_watermark = INT_MAX}},
};

FAMILY(srq_create, wrong_mark, wrong_marks)
{
        DAT_SRQ_ATTR attr = row->attr;
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
        DAT_RETURN ret =
            expect_or_note(dat_srq_create(ia(t), pz(t), &attr, &srq), DAT_INVALID_PARAMETER,
                           DAT_MODEL_NOT_SUPPORTED, DAT_SUCCESS);

        if (!dat_is(ret, DAT_SUCCESS))
                return;
        adopt(t, DAT_HANDLE_TYPE_SRQ, srq);
        expect_eq(described(t, srq).low_watermark, DAT_SRQ_LW_DEFAULT);
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
            row->segments ? ia_attr(t)->max_iov_segments_per_dto : ia_attr(t)->max_recv_per_srq;

        if (limit == INT_MAX)
                unsupported(t, "the IA's limit: no number is above it");
        DAT_COUNT asked = row->greatest ? INT_MAX : limit + 1;
        DAT_COUNT dtos = row->segments ? 8 : asked;
        DAT_COUNT iov = row->segments ? asked : 1;
        DAT_SRQ_ATTR attr = attr_of(dtos, iov, DAT_SRQ_LW_DEFAULT);
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
        DAT_RETURN ret = expect(dat_srq_create(ia(t), pz(t), &attr, &srq), DAT_INVALID_PARAMETER,
                                DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS);

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
        DAT_RETURN ret =
            expect(dat_srq_create(ia(t), pz(t), &attr, &srq), DAT_INVALID_PARAMETER, DAT_SUCCESS);

        if (dat_is(ret, DAT_SUCCESS))
                adopt(t, DAT_HANDLE_TYPE_SRQ, srq);
}

CASE(srq_create, none_without_srqs)
{
        DAT_SRQ_ATTR attr = attr_of(8, 1, DAT_SRQ_LW_DEFAULT);
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
        DAT_RETURN ret;

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
