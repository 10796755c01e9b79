/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_create: what an SRQ has at least, what it starts with, and what is no SRQ. */
#include "clauses/srq_create.h"
#include "cases/srq/shared/queue.h"

#include <limits.h>

#define MET        3    /* rounds in which their calls met are enough */
#define THREADS    3    /* that make SRQs at once */
#define MANY       500  /* receives */
#define MOST_SRQS  1024 /* that a case makes at once */
#define MOST_PARTS 64   /* segments that a case makes of a message */
#define LOOKS      30   /* quiet periods in which a message that waits comes */

/* An SRQ with these attributes, by the call under test. */
static DAT_SRQ_HANDLE create_on(struct test *t, DAT_IA_HANDLE of, DAT_PZ_HANDLE zone,
                                DAT_SRQ_ATTR attr)
{
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;

        expect(dat_srq_create(of, zone, &attr, &srq), DAT_SUCCESS);
        adopt(t, DAT_HANDLE_TYPE_SRQ, srq);
        return srq;
}

static DAT_SRQ_HANDLE create(struct test *t, DAT_PZ_HANDLE zone, DAT_SRQ_ATTR attr)
{
        return create_on(t, ia(t), zone, attr);
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

/* A queue on an SRQ of this zone. */
static struct queue queue_in(struct test *t, DAT_PZ_HANDLE zone, DAT_COUNT size)
{
        return (struct queue){.srq = create(t, zone, attr_of(size, 1, DAT_SRQ_LW_DEFAULT)),
                              .length = MESSAGE,
                              .buf = buf_with(t, .length = SLOTS * MESSAGE, .pz = zone)};
}

static struct queue queue_made(struct test *t, DAT_COUNT size)
{
        return queue_in(t, pz(t), size);
}

static void expect_at_least(struct test *t, DAT_SRQ_HANDLE srq, DAT_COUNT dtos, DAT_COUNT iov)
{
        DAT_SRQ_PARAM param = described(t, srq);

        expect_that(param.max_recv_dtos >= dtos, "%d receives asked for, %d queried", dtos,
                    param.max_recv_dtos);
        expect_that(param.max_recv_iov >= iov, "%d segments asked for, %d queried", iov,
                    param.max_recv_iov);
}

/*
 * What is made
 */

CASE(srq_create, created)
{
        expect_at_least(t, create(t, pz(t), attr_of(8, 1, DAT_SRQ_LW_DEFAULT)), 8, 1);
}

CASE(srq_create, attributes_kept)
{
        const DAT_SRQ_ATTR asked = attr_of(7, 1, DAT_SRQ_LW_DEFAULT);
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
        DAT_SRQ_ATTR attr = asked;
        DAT_SRQ_PARAM made;

        expect(dat_srq_create(ia(t), pz(t), &attr, &srq), DAT_SUCCESS);
        adopt(t, DAT_HANDLE_TYPE_SRQ, srq);
        made = described(t, srq);
        if (attr.max_recv_dtos == asked.max_recv_dtos && attr.max_recv_iov == asked.max_recv_iov &&
            attr.low_watermark == asked.low_watermark)
                return;
        expect_eq(attr.max_recv_dtos, made.max_recv_dtos);
        expect_eq(attr.max_recv_iov, made.max_recv_iov);
        expect_eq(attr.low_watermark, made.low_watermark);
        note(t, "the structure that was given tells what was made (SRQ-32)");
}

CASE(srq_create, ia)
{
        DAT_IA_HANDLE other = other_ia(t);
        DAT_SRQ_HANDLE first = create(t, pz(t), attr_of(8, 1, DAT_SRQ_LW_DEFAULT));
        DAT_SRQ_HANDLE foreign =
            create_on(t, other, pz_of(t, other), attr_of(8, 1, DAT_SRQ_LW_DEFAULT));
        DAT_SRQ_HANDLE last = create(t, pz(t), attr_of(8, 1, DAT_SRQ_LW_DEFAULT));

        expect_that(described(t, first).ia_handle == ia(t), "the first SRQ is of another IA");
        expect_that(described(t, foreign).ia_handle == other, "the second SRQ is not of its IA");
        expect_that(described(t, last).ia_handle == ia(t), "the last SRQ is of another IA");
}

CASE(srq_create, pz)
{
        DAT_PZ_HANDLE zones[2] = {pz(t), pz_new(t)};
        DAT_SRQ_HANDLE srqs[3];

        for (int i = 0; i < 3; i++)
                srqs[i] = create(t, zones[i % 2], attr_of(8, 1, DAT_SRQ_LW_DEFAULT));
        for (int i = 0; i < 3; i++)
                expect_that(described(t, srqs[i]).pz_handle == zones[i % 2],
                            "SRQ %d has not the PZ that was given", i);
}

CASE(srq_create, another_srq)
{
        struct queue one = queue_made(t, 8);
        struct queue other = queue_made(t, 8);

        expect_that(one.srq != other.srq, "two SRQs have one handle");
        expect_room(t, &one, srq_size(t, one.srq));
        expect_room(t, &other, srq_size(t, other.srq));
}

CASE(srq_create, no_available)
{
        queue_post(t, &(struct queue){.srq = srq_with(t), .length = 1, .buf = buf_with(t)}, 3);

        DAT_SRQ_HANDLE srq = create(t, pz(t), attr_of(8, 1, DAT_SRQ_LW_DEFAULT));
        expect_count(t, described(t, srq).available_dto_count, 0);
}

CASE(srq_create, no_outstanding)
{
        queue_post(t, &(struct queue){.srq = srq_with(t), .length = 1, .buf = buf_with(t)}, 3);

        DAT_SRQ_HANDLE srq = create(t, pz(t), attr_of(8, 1, DAT_SRQ_LW_DEFAULT));
        expect_count(t, described(t, srq).outstanding_dto_count, 0);
}

CASE(srq_create, unattached)
{
        DAT_SRQ_HANDLE srq;

        ep_with(t);
        ep_with(t, .srq = srq_with(t));
        srq = create(t, pz(t), attr_of(8, 1, DAT_SRQ_LW_DEFAULT));
        ep_with(t);
        disown(t, srq);

        expect(dat_srq_free(srq), DAT_SUCCESS);
}

CASE(srq_create, unattached_to_plain_ep)
{
        DAT_EP_HANDLE plain = ep_with(t);
        struct peer_ep *end = peer_connect(peer(t), plain);
        struct queue queue = queue_made(t, 8);
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
    {"sixty_four", 64},
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

        expect_at_least(t, create(t, pz(t), attr_of(asked, 1, DAT_SRQ_LW_DEFAULT)), asked, 1);
}

FAMILY(srq_create, room, sizes)
{
        DAT_COUNT asked = size_of(t, row);
        struct queue queue = queue_made(t, asked);

        expect_room(t, &queue, asked);
}

CASE(srq_create, room_as_queried)
{
        struct queue queue = queue_made(t, size_of(t, &sizes[1]));

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
        struct queue queue = {.srq = create(t, pz(t), attr_of(8, count, DAT_SRQ_LW_DEFAULT)),
                              .length = MESSAGE,
                              .buf = buf_with(t)};
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

        expect_at_least(t, create(t, pz(t), attr_of(8, asked, DAT_SRQ_LW_DEFAULT)), 8, asked);
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

/* Each has its own segments and places, whatever was made, or refused, before it. */
CASE(srq_create, segments_of_several)
{
        DAT_COUNT most = parts_of(t, &parts[2]);
        DAT_COUNT asked[] = {1, most, most < 2 ? most : 2, most};

        for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
                DAT_SRQ_ATTR impossible = attr_of(-1, 1, DAT_SRQ_LW_DEFAULT);
                DAT_SRQ_HANDLE none = DAT_HANDLE_NULL;
                struct queue queue = queue_in_parts(t, asked[i]);

                expect_at_least(t, queue.srq, 8, asked[i]);
                expect_room(t, &queue, 7);
                expect(dat_srq_create(ia(t), pz(t), &impossible, &none), DAT_INVALID_PARAMETER);
        }
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

/* A connection to the queue over an EP of this zone. */
static struct flow flow_in(struct test *t, const struct queue *queue, DAT_PZ_HANDLE zone)
{
        DAT_EP_HANDLE ep = ep_with(t, .srq = queue->srq, .pz = zone);

        return (struct flow){.ep = ep,
                             .evd = ep_recv_evd(t, ep),
                             .end = peer_connect(peer(t), ep),
                             .length = MESSAGE};
}

CASE(srq_create, memory_of_its_pz)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct queue queue = queue_in(t, zone, 8);
        struct flow flow = flow_in(t, &queue, zone);

        expect_posts(t, &queue, 2);
        expect_traffic(t, &queue, &flow, 2);
}

CASE(srq_create, memory_of_several)
{
        DAT_PZ_HANDLE zones[2] = {pz(t), pz_new(t)};
        struct queue queues[3];

        for (int i = 0; i < 3; i++) {
                queues[i] = queue_in(t, zones[i % 2], 8);
                expect_posts(t, &queues[i], 2);
        }
        for (int i = 0; i < 3; i++) {
                struct flow flow = flow_in(t, &queues[i], zones[i % 2]);

                expect_traffic(t, &queues[i], &flow, 2);
        }
}

CASE(srq_create, memory_of_another_pz)
{
        struct queue queue = queue_made(t, 8);
        struct buf *foreign = buf_with(t, .pz = pz_new(t));
        DAT_LMR_TRIPLET segment = triplet(foreign, 0, MESSAGE);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_RETURN ret =
            expect(dat_srq_post_recv(queue.srq, 1, &segment, (DAT_DTO_COOKIE){.as_64 = SLOTS}),
                   DAT_PROTECTION_VIOLATION, DAT_INVALID_PARAMETER, DAT_SUCCESS);

        if (dat_is(ret, DAT_SUCCESS)) {
                flow_send(&flow, 1);
                DAT_EVENT event = expect_event(flow.evd, DAT_DTO_COMPLETION_EVENT);
                expect_eq(event.event_data.dto_completion_event_data.status,
                          DAT_DTO_ERR_LOCAL_PROTECTION);
        } else {
                expect_posts(t, &queue, 1);
                expect_traffic(t, &queue, &flow, 1);
        }
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
        struct queue queue = queue_made(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 3);
        expect_traffic(t, &queue, &flow, 3);

        expect_quiet(async_evd(t));
}

CASE(srq_create, mark_set_later)
{
        struct armed armed = {.queue = queue_made(t, 8)};

        armed.flow = flow_open(t, &armed.queue, DAT_HANDLE_NULL);
        queue_post(t, &armed.queue, 4);
        arm_mark(t, &armed, 4);
        expect_eq(described(t, armed.queue.srq).low_watermark, 4);

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
static bool arrives(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_RETURN ret = DAT_QUEUE_EMPTY;
        DAT_EVENT event;

        for (int look = 0; look < LOOKS && dat_is(ret, DAT_QUEUE_EMPTY); look++) {
                ret = dat_evd_dequeue(evd, &event);
                if (dat_is(ret, DAT_QUEUE_EMPTY))
                        settle(t);
        }
        return dat_is(ret, DAT_SUCCESS) && event.event_number == DAT_DTO_COMPLETION_EVENT &&
               event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS;
}

/* After so many messages, the next one finds no receive, at an EP of the queue and a plain one. */
static void compare_without_receive(struct test *t, int before)
{
        struct queue queue = queue_made(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_EP_HANDLE plain = ep_with(t);
        struct peer_ep *end = peer_connect(peer(t), plain);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);
        DAT_DTO_COOKIE cookie = {.as_64 = 0};

        for (int i = 0; i < before; i++) {
                expect_posts(t, &queue, 1);
                expect_traffic(t, &queue, &flow, 1);
                must(dat_ep_post_recv(plain, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG));
                peer_send(end, .length = MESSAGE);
                must_dto(ep_recv_evd(t, plain));
        }
        flow_send(&flow, 1);
        peer_send(end, .length = MESSAGE);
        settle(t);
        expect_posts(t, &queue, 1);
        (void)dat_ep_post_recv(plain, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG);

        bool by_plain = arrives(t, ep_recv_evd(t, plain));
        bool by_srq = arrives(t, flow.evd);
        record(t, "without a receive a message %s", by_plain ? "waits" : "is lost");
        expect_that(by_srq == by_plain, "the EP of the SRQ %s, the one with its own queue %s",
                    by_srq ? "gets it" : "does not", by_plain ? "gets it" : "does not");
}

CASE(srq_create, no_receive)
{
        compare_without_receive(t, 0);
}

CASE(srq_create, no_receive_any_more)
{
        compare_without_receive(t, 2);
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
        struct queue queue = queue_made(t, 8);
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
        struct queue queue = queue_made(t, 8);
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
        struct queue queue = queue_made(t, 2);
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
        struct queue queue = queue_made(t, 24);
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

/*
 * Makes all the SRQs that the IA has, or as many as a case makes; a lack of resources ends the
 * case. Returns how many are left to make.
 */
static DAT_COUNT create_all(struct test *t)
{
        DAT_COUNT limit = ia_attr(t)->max_srqs;
        DAT_COUNT made = limit < MOST_SRQS ? limit : MOST_SRQS;

        for (DAT_COUNT i = 0; i < made; i++)
                create_at_limit(t, 1, 1);
        return limit - made;
}

CASE(srq_create, as_many_as_the_ia_has)
{
        DAT_COUNT left = create_all(t);

        if (left)
                note(t, "of the IA's %d SRQs %d are more than a case makes", ia_attr(t)->max_srqs,
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
        note(t, "granted, above the IA's own max_srqs of %d", ia_attr(t)->max_srqs);
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
    {"above_size", {.max_recv_dtos = 8, .max_recv_iov = 1}},
    {"greatest", {.max_recv_dtos = 8, .max_recv_iov = 1, .low_watermark = INT_MAX}},
};

/* The row's mark; or else one more than the places of a queue that is asked for 8 of them. */
static DAT_COUNT mark_of(struct test *t, const struct bad_attr *row)
{
        if (row->attr.low_watermark)
                return row->attr.low_watermark;
        return srq_size(t, create(t, pz(t), attr_of(8, 1, DAT_SRQ_LW_DEFAULT))) + 1;
}

FAMILY(srq_create, wrong_mark, wrong_marks)
{
        DAT_SRQ_ATTR attr = attr_of(8, 1, mark_of(t, row));
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
        DAT_RETURN ret =
            expect_or_note(dat_srq_create(ia(t), pz(t), &attr, &srq), DAT_INVALID_PARAMETER,
                           DAT_MODEL_NOT_SUPPORTED, DAT_SUCCESS);

        if (dat_is(ret, DAT_SUCCESS)) {
                adopt(t, DAT_HANDLE_TYPE_SRQ, srq);
                expect_eq(described(t, srq).low_watermark, DAT_SRQ_LW_DEFAULT);
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
        struct queue queue = {.length = 1, .buf = buf_with(t)};
        DAT_RETURN ret =
            expect(dat_srq_create(ia(t), pz(t), &attr, &srq), DAT_INVALID_PARAMETER, DAT_SUCCESS);

        if (!dat_is(ret, DAT_SUCCESS))
                return;
        adopt(t, DAT_HANDLE_TYPE_SRQ, srq);
        expect_at_least(t, srq, row->attr.max_recv_dtos, row->attr.max_recv_iov);
        queue.srq = srq;
        if (described(t, srq).max_recv_iov > 0)
                expect_room(t, &queue, srq_size(t, srq));
}

static const struct bad_attr refused[] = {
    {"max_recv_dtos", {.max_recv_dtos = -1, .max_recv_iov = 1}},
    {"max_recv_iov", {.max_recv_dtos = 8, .max_recv_iov = -1}},
    {"low_watermark", {.max_recv_dtos = 8, .max_recv_iov = 1, .low_watermark = INT_MAX}},
    {"all", {.max_recv_dtos = -1, .max_recv_iov = INT_MAX, .low_watermark = INT_MAX}},
};

/* A count may be DAT_VALUE_UNKNOWN at any moment (SRQ-10). */
static void expect_same_count(struct test *t, DAT_COUNT is, DAT_COUNT was)
{
        if (is != DAT_VALUE_UNKNOWN && was != DAT_VALUE_UNKNOWN)
                expect_eq(is, was);
}

/* An SRQ from before is as it was, and the next one has all that it is asked to have. */
FAMILY(srq_create, after_refusals, refused)
{
        DAT_COUNT rounds = ia_attr(t)->max_srqs < MOST_SRQS ? ia_attr(t)->max_srqs : MOST_SRQS;
        DAT_PZ_HANDLE zone = pz_new(t);
        struct queue before = queue_made(t, 8);
        DAT_SRQ_PARAM was;
        DAT_SRQ_PARAM is;

        expect_posts(t, &before, 2);
        was = described(t, before.srq);
        for (DAT_COUNT i = 0; i < rounds; i++) {
                DAT_SRQ_ATTR attr = row->attr;
                DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;

                if (dat_is(dat_srq_create(ia(t), zone, &attr, &srq), DAT_SUCCESS)) {
                        adopt(t, DAT_HANDLE_TYPE_SRQ, srq);
                        end_noted(t, "granted: there is nothing to see after a refusal");
                }
        }
        is = described(t, before.srq);
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
                before[i] = described(t, armed[i].queue.srq);
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
                        expect_that(described(t, queue.srq).pz_handle == zones[i % 2],
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
