/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_query: every field by its own bit, the counts at every step, and what is no mask. */
#include "clauses/srq_query.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/shared/masks.h"
#include "cases/srq/shared/queue.h"

#include <limits.h>
#include <string.h>

#define LONG_MESSAGE ((size_t)128 * 1024) /* bytes */
#define MANY         100                  /* queries */
#define WIDEST       1024                 /* segments that a case can give */

/* An SRQ whose parameters a case knows, for it made them. */
struct known {
        DAT_SRQ_HANDLE srq;
        DAT_COUNT iov;
        DAT_PZ_HANDLE pz;
        const struct buf *buf;
};

#define KNOWN_DTOS  10
#define KNOWN_IOV   2
#define KNOWN_POSTS 3

static struct known known_srq(struct test *t)
{
        DAT_COUNT most = ia_attr(t)->max_iov_segments_per_dto;
        DAT_COUNT iov = most < KNOWN_IOV ? most : KNOWN_IOV;
        DAT_PZ_HANDLE zone = pz_new(t);
        struct known known = {
            .srq = srq_with(t, .max_recv_dtos = KNOWN_DTOS, .max_recv_iov = iov, .pz = zone),
            .iov = iov,
            .pz = zone,
            .buf = buf_with(t, .pz = zone),
        };

        srq_post(t, known.srq, known.buf, MESSAGE, 0, KNOWN_POSTS);
        return known;
}

/* A query of the fields in `mask`, into memory that no provider would leave so. */
static DAT_SRQ_PARAM queried(struct test *t, DAT_SRQ_HANDLE srq, unsigned int mask)
{
        DAT_SRQ_PARAM param;

        memset(&param, 0xa5, sizeof(param));
        expect(dat_srq_query(srq, (DAT_SRQ_PARAM_MASK)mask, &param), DAT_SUCCESS);
        return param;
}

static void query_often(struct test *t, DAT_SRQ_HANDLE srq)
{
        for (int i = 0; i < MANY; i++)
                queried(t, srq, DAT_SRQ_FIELD_ALL);
}

/*
 * Fields
 */

static void check_ia(struct test *t, const struct known *known, const DAT_SRQ_PARAM *param)
{
        (void)known;
        expect_that(param->ia_handle == ia(t), "the SRQ is of another IA");
}

static void check_state(struct test *t, const struct known *known, const DAT_SRQ_PARAM *param)
{
        (void)known;
        expect_eq(param->srq_state, DAT_SRQ_STATE_OPERATIONAL);
}

static void check_pz(struct test *t, const struct known *known, const DAT_SRQ_PARAM *param)
{
        expect_that(param->pz_handle == known->pz, "the SRQ is of another PZ");
}

/* At least what was asked for; more than the IA promises hurts nobody (SRQ-17). */
static void check_least(struct test *t, DAT_COUNT seen, DAT_COUNT asked, DAT_COUNT limit)
{
        expect_that(seen >= asked, "%d asked for, %d queried", asked, seen);
        if (seen > limit)
                note(t, "%d queried, above the IA's own limit of %d", seen, limit);
}

static void check_dtos(struct test *t, const struct known *known, const DAT_SRQ_PARAM *param)
{
        (void)known;
        check_least(t, param->max_recv_dtos, KNOWN_DTOS, ia_attr(t)->max_recv_per_srq);
}

static void check_iov(struct test *t, const struct known *known, const DAT_SRQ_PARAM *param)
{
        check_least(t, param->max_recv_iov, known->iov, ia_attr(t)->max_iov_segments_per_dto);
}

static void check_mark(struct test *t, const struct known *known, const DAT_SRQ_PARAM *param)
{
        (void)known;
        expect_eq(param->low_watermark, DAT_SRQ_LW_DEFAULT);
}

/* A provider may tell less than it declares, never anything wrong, nor more than it declares. */
static void expect_declared(struct test *t, DAT_COUNT seen, DAT_COUNT wanted)
{
        if (provider_attr(t)->srq_info_supported)
                expect_count(t, seen, wanted);
        else
                expect_eq(seen, DAT_VALUE_UNKNOWN);
}

static void check_available(struct test *t, const struct known *known, const DAT_SRQ_PARAM *param)
{
        (void)known;
        expect_declared(t, param->available_dto_count, KNOWN_POSTS);
}

static void check_outstanding(struct test *t, const struct known *known, const DAT_SRQ_PARAM *param)
{
        (void)known;
        expect_declared(t, param->outstanding_dto_count, KNOWN_POSTS);
}

static const struct field {
        const char *id;
        DAT_SRQ_PARAM_MASK bit;
        void (*check)(struct test *t, const struct known *known, const DAT_SRQ_PARAM *param);
} fields[] = {
    {"ia_handle", DAT_SRQ_FIELD_IA_HANDLE, check_ia},
    {"srq_state", DAT_SRQ_FIELD_SRQ_STATE, check_state},
    {"pz_handle", DAT_SRQ_FIELD_PZ_HANDLE, check_pz},
    {"max_recv_dtos", DAT_SRQ_FIELD_MAX_RECV_DTO, check_dtos},
    {"max_recv_iov", DAT_SRQ_FIELD_MAX_RECV_IOV, check_iov},
    {"low_watermark", DAT_SRQ_FIELD_LOW_WATERMARK, check_mark},
    {"available_dto_count", DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT, check_available},
    {"outstanding_dto_count", DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT, check_outstanding},
};

#define FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))

/* Asks for the fields in `mask` and checks each; those in `others` are the case's to check. */
static DAT_SRQ_PARAM check_fields_but(struct test *t, const struct known *known, unsigned int mask,
                                      unsigned int others)
{
        DAT_SRQ_PARAM param = queried(t, known->srq, mask);

        for (size_t i = 0; i < FIELD_COUNT; i++)
                if (mask & ~others & fields[i].bit)
                        fields[i].check(t, known, &param);
        return param;
}

static void check_fields(struct test *t, const struct known *known, unsigned int mask)
{
        check_fields_but(t, known, mask, 0);
}

FAMILY(srq_query, field, fields)
{
        struct known known = known_srq(t);
        DAT_SRQ_PARAM param = queried(t, known.srq, row->bit);

        row->check(t, &known, &param);
}

FAMILY(srq_query, field_among_all, fields)
{
        struct known known = known_srq(t);
        DAT_SRQ_PARAM param = queried(t, known.srq, DAT_SRQ_FIELD_ALL);

        row->check(t, &known, &param);
}

CASE(srq_query, every_mask)
{
        struct known known = known_srq(t);

        for (unsigned int mask = 1; mask <= DAT_SRQ_FIELD_ALL; mask++)
                check_fields(t, &known, mask);
}

CASE(srq_query, every_mask_with_mark)
{
        struct known known = known_srq(t);

        must(dat_srq_set_lw(known.srq, KNOWN_POSTS - 1));
        for (unsigned int mask = 1; mask <= DAT_SRQ_FIELD_ALL; mask++) {
                DAT_SRQ_PARAM param =
                    check_fields_but(t, &known, mask, DAT_SRQ_FIELD_LOW_WATERMARK);

                if (mask & DAT_SRQ_FIELD_LOW_WATERMARK)
                        expect_eq(param.low_watermark, KNOWN_POSTS - 1);
        }
}

CASE(srq_query, size_is_room)
{
        struct queue queue = queue_with(t, KNOWN_DTOS);
        DAT_SRQ_PARAM param = queried(t, queue.srq, DAT_SRQ_FIELD_MAX_RECV_DTO);

        expect_room(t, &queue, param.max_recv_dtos);
}

static const struct magnitude {
        const char *id;
        DAT_COUNT size;
} magnitudes[] = {
    {"one", 1},
    {"two_thousand", 2000},
};

FAMILY(srq_query, size_of, magnitudes)
{
        DAT_COUNT limit = ia_attr(t)->max_recv_per_srq;
        DAT_COUNT size = row->size < limit ? row->size : limit;
        struct queue queue = queue_with(t, size);
        DAT_COUNT told = queried(t, queue.srq, DAT_SRQ_FIELD_MAX_RECV_DTO).max_recv_dtos;

        check_least(t, told, size, limit);
        expect_room(t, &queue, told);
}

static const struct width {
        const char *id;
        DAT_COUNT iov; /* 0: as many as the IA has */
} widths[] = {
    {"one", 1},
    {"ia_limit", 0},
};

FAMILY(srq_query, segments_are_taken, widths)
{
        DAT_COUNT iov = row->iov ? row->iov : ia_attr(t)->max_iov_segments_per_dto;
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_iov = iov);
        const struct buf *buf = buf_with(t);
        DAT_COUNT told = queried(t, srq, DAT_SRQ_FIELD_MAX_RECV_IOV).max_recv_iov;
        DAT_LMR_TRIPLET segments[WIDEST];

        expect_that(told >= iov, "%d asked for, %d queried", iov, told);
        if (told > WIDEST)
                told = WIDEST;
        for (int i = 0; i < told; i++)
                segments[i] = triplet(buf, (size_t)i, 1);

        expect(dat_srq_post_recv(srq, told, segments, (DAT_DTO_COOKIE){.as_64 = 0}), DAT_SUCCESS);
}

/* Which of several SRQs, in the order of their making, is asked about. */
static const struct chosen {
        const char *id;
        int index;
} chosen[] = {
    {"first", 0},
    {"middle", 1},
    {"last", 2},
};

FAMILY(srq_query, own_parameters, chosen)
{
        DAT_PZ_HANDLE zones[3];
        DAT_SRQ_HANDLE srqs[3];
        DAT_SRQ_PARAM param;

        for (int i = 0; i < 3; i++) {
                zones[i] = pz_new(t);
                srqs[i] = srq_with(t, .max_recv_dtos = 4, .pz = zones[i]);
                srq_post(t, srqs[i], buf_with(t, .pz = zones[i]), MESSAGE, 0, 1 + i);
        }
        DAT_COUNT size = srq_size(t, srqs[(row->index + 1) % 3]);
        DAT_COUNT request = srq_size_above(t, srqs[row->index], 8);

        must(dat_srq_resize(srqs[row->index], request));

        param = queried(t, srqs[row->index], DAT_SRQ_FIELD_ALL);
        expect_that(param.max_recv_dtos >= request, "%d places, %d asked for", param.max_recv_dtos,
                    request);
        expect_that(param.pz_handle == zones[row->index], "the PZ is not the SRQ's own");
        expect_declared(t, param.outstanding_dto_count, 1 + row->index);
        expect_declared(t, param.available_dto_count, 1 + row->index);
        param = queried(t, srqs[(row->index + 1) % 3], DAT_SRQ_FIELD_ALL);
        expect_eq(param.max_recv_dtos, size);
        expect_that(param.pz_handle == zones[(row->index + 1) % 3], "the PZ is not the SRQ's own");
}

CASE(srq_query, srq_of_other_ia)
{
        DAT_IA_HANDLE other = other_ia(t);
        DAT_PZ_HANDLE zone = pz_of(t, other);
        DAT_SRQ_HANDLE own = srq_with(t);
        DAT_SRQ_HANDLE srq = srq_with(t, .ia = other, .pz = zone);
        DAT_SRQ_PARAM param = queried(t, srq, DAT_SRQ_FIELD_ALL);

        expect_that(param.ia_handle == other, "the IA is not the SRQ's own");
        expect_that(param.pz_handle == zone, "the PZ is not the SRQ's own");
        param = queried(t, own, DAT_SRQ_FIELD_ALL);
        expect_that(param.ia_handle == ia(t), "the IA is not the SRQ's own");
}

static const struct asked {
        const char *id;
        unsigned int extra; /* what is asked for besides the field itself */
        DAT_COUNT mark;     /* 0: the size */
} asked[] = {
    {"alone", 0, 5},   {"among_all", DAT_SRQ_FIELD_ALL, 5},
    {"one", 0, 1},     {"one_among_all", DAT_SRQ_FIELD_ALL, 1},
    {"at_size", 0, 0}, {"at_size_among_all", DAT_SRQ_FIELD_ALL, 0},
};

FAMILY(srq_query, low_watermark_set, asked)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);
        DAT_COUNT mark = row->mark ? row->mark : srq_size(t, srq);

        must(dat_srq_set_lw(srq, mark));

        DAT_SRQ_PARAM param = queried(t, srq, DAT_SRQ_FIELD_LOW_WATERMARK | row->extra);
        expect_eq(param.low_watermark, mark);
}

/* A mark of another SRQ, and those before, are none of it. */
CASE(srq_query, low_watermark_set_again)
{
        const DAT_COUNT marks[] = {5, 8, 1, DAT_SRQ_LW_DEFAULT, 3};
        DAT_SRQ_HANDLE srqs[] = {srq_with(t, .max_recv_dtos = 8), srq_with(t, .max_recv_dtos = 8)};

        must(dat_srq_set_lw(srqs[1], 4));
        for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
                must(dat_srq_set_lw(srqs[0], marks[i]));
                expect_eq(queried(t, srqs[0], DAT_SRQ_FIELD_ALL).low_watermark, marks[i]);
                expect_eq(queried(t, srqs[1], DAT_SRQ_FIELD_ALL).low_watermark, 4);
        }
}

CASE(srq_query, within_structure)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        struct buf *buf = buf_with(t, .length = sizeof(DAT_SRQ_PARAM));

        for (unsigned int mask = 1; mask <= DAT_SRQ_FIELD_ALL; mask++)
                expect(dat_srq_query(srq, (DAT_SRQ_PARAM_MASK)mask, (DAT_SRQ_PARAM *)buf->addr),
                       DAT_SUCCESS);
        release(t, buf->lmr);
}

/*
 * Counts
 */

static DAT_COUNT available(struct test *t, DAT_SRQ_HANDLE srq)
{
        return queried(t, srq, DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT).available_dto_count;
}

static DAT_COUNT outstanding(struct test *t, DAT_SRQ_HANDLE srq)
{
        return queried(t, srq, DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT).outstanding_dto_count;
}

/* The steps of the page's example: 3 receives posted, a message there, its completion reaped. */
static const struct step {
        const char *id;
        bool arrived;
        bool reaped;
        DAT_COUNT available;
        DAT_COUNT outstanding;
} steps[] = {
    {"posted", .available = 3, .outstanding = 3},
    {"arrived", .arrived = true, .available = 2, .outstanding = 3},
    {"dequeued", .arrived = true, .reaped = true, .available = 2, .outstanding = 2},
};

static struct queue example(struct test *t, const struct step *step, struct flow *flow)
{
        struct queue queue = queue_with(t, 10);

        *flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        queue_post(t, &queue, 3);
        if (step->arrived)
                flow_deliver(t, flow, 1);
        if (step->reaped)
                must_dto(flow->evd);
        return queue;
}

FAMILY(srq_query, example_size, steps)
{
        struct flow flow;
        struct queue queue = example(t, row, &flow);
        DAT_COUNT size = queried(t, queue.srq, DAT_SRQ_FIELD_MAX_RECV_DTO).max_recv_dtos;

        expect_that(size >= 10, "10 asked for, %d queried", size);
        expect_room(t, &queue, size - row->outstanding);
}

FAMILY(srq_query, example_available, steps)
{
        struct flow flow;
        struct queue queue = example(t, row, &flow);

        expect_available(t, available(t, queue.srq), &flow, 1, row->available);
}

FAMILY(srq_query, example_outstanding, steps)
{
        struct flow flow;
        struct queue queue = example(t, row, &flow);

        expect_count(t, outstanding(t, queue.srq), row->outstanding);
}

FAMILY(srq_query, example_at_once, steps)
{
        struct flow flow;
        struct queue queue = example(t, row, &flow);
        DAT_SRQ_PARAM param = queried(t, queue.srq, DAT_SRQ_FIELD_ALL);

        expect_available(t, param.available_dto_count, &flow, 1, row->available);
        expect_count(t, param.outstanding_dto_count, row->outstanding);
}

/* How many of the queue's places have a receive. */
static const struct filling {
        const char *id;
        bool full;
} fillings[] = {
    {"empty", false},
    {"full", true},
};

static DAT_SRQ_HANDLE filled(struct test *t, const struct filling *row, DAT_COUNT *posts)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);
        struct buf *buf = buf_with(t);

        *posts = row->full ? srq_fill(t, srq, buf) : 0;
        return srq;
}

FAMILY(srq_query, available_when, fillings)
{
        DAT_COUNT posts;
        DAT_SRQ_HANDLE srq = filled(t, row, &posts);

        expect_count(t, available(t, srq), posts);
}

FAMILY(srq_query, outstanding_when, fillings)
{
        DAT_COUNT posts;
        DAT_SRQ_HANDLE srq = filled(t, row, &posts);

        expect_count(t, outstanding(t, srq), posts);
}

/* Each number between none and a full queue, up by posting and down by messages. */
CASE(srq_query, available_at_each_step)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        for (DAT_COUNT posted = 1; posted <= 8; posted++) {
                queue_post(t, &queue, 1);
                expect_available(t, available(t, queue.srq), &flow, 1, posted);
        }
        for (DAT_COUNT left = 7; left >= 0; left--) {
                expect_traffic(t, &queue, &flow, 1);
                expect_available(t, available(t, queue.srq), &flow, 1, left);
        }
}

CASE(srq_query, outstanding_at_each_step)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        for (DAT_COUNT posted = 1; posted <= 8; posted++) {
                queue_post(t, &queue, 1);
                expect_count(t, outstanding(t, queue.srq), posted);
        }
        flow_deliver(t, &flow, 8);
        for (DAT_COUNT left = 8; left > 0; left--) {
                expect_count(t, outstanding(t, queue.srq), left);
                expect_messages(t, &queue, &flow, 1);
        }
        expect_count(t, outstanding(t, queue.srq), 0);
}

CASE(srq_query, available_are_taken)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 5);
        expect_available(t, available(t, queue.srq), &flow, 1, 5);

        expect_traffic(t, &queue, &flow, 5);
        expect_count(t, available(t, queue.srq), 0);
}

CASE(srq_query, outstanding_leaves_room)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 5);
        flow_deliver(t, &flow, 3);

        DAT_SRQ_PARAM param = queried(t, queue.srq, DAT_SRQ_FIELD_ALL);
        expect_count(t, param.outstanding_dto_count, 5);
        expect_room(t, &queue, param.max_recv_dtos - 5);
}

/* Where the completions of two EPs go. */
static const struct evds {
        const char *id;
        bool shared;
} evds[] = {
    {"own_evds", false},
    {"one_evd", true},
};

/* Of 8 receives, 2 EPs have had 2 and 1 messages, none reaped. */
static struct queue with_two_eps(struct test *t, const struct evds *row, struct flow *flows)
{
        struct queue queue = queue_with(t, 8);
        DAT_EVD_HANDLE evd = row->shared ? evd_with(t) : DAT_HANDLE_NULL;

        for (int i = 0; i < 2; i++)
                flows[i] = flow_open(t, &queue, evd);
        queue_post(t, &queue, 8);
        for (int i = 0; i < 2; i++)
                flow_deliver(t, &flows[i], 2 - i);
        return queue;
}

FAMILY(srq_query, available_to_several_eps, evds)
{
        struct flow flows[2];
        struct queue queue = with_two_eps(t, row, flows);

        expect_available(t, available(t, queue.srq), flows, 2, 5);
}

FAMILY(srq_query, outstanding_at_several_eps, evds)
{
        struct flow flows[2];
        struct queue queue = with_two_eps(t, row, flows);

        expect_count(t, outstanding(t, queue.srq), 8);
}

/* Of 7 receives 4 have their message, and of these one is reaped. */
CASE(srq_query, every_mask_in_use)
{
        const unsigned int counts =
            DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT | DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT;
        struct queue queue = queue_with(t, KNOWN_DTOS);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        struct known known = {.srq = queue.srq, .iov = 1, .pz = pz(t), .buf = queue.buf};

        queue_post(t, &queue, 7);
        flow_deliver(t, &flow, 4);
        expect_messages(t, &queue, &flow, 1);
        for (unsigned int mask = 1; mask <= DAT_SRQ_FIELD_ALL; mask++) {
                DAT_SRQ_PARAM param = check_fields_but(t, &known, mask, counts);

                if (mask & DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT)
                        expect_available(t, param.available_dto_count, &flow, 1, 3);
                if (mask & DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT)
                        expect_count(t, param.outstanding_dto_count, 6);
        }
}

CASE(srq_query, available_after_disconnect)
{
        DAT_COUNT left = 3;
        DAT_EVENT event;
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 5);
        flow_deliver(t, &flow, 2);
        flow_break(t, &flow);
        expect_messages(t, &queue, &flow, 2);
        settle(t);
        /* What is flushed the EP had taken (SRQ-26). */
        while (dat_is(dat_evd_dequeue(flow.evd, &event), DAT_SUCCESS))
                left--;

        expect_count(t, available(t, queue.srq), left);
}

CASE(srq_query, outstanding_after_disconnect)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 5);
        flow_deliver(t, &flow, 2);
        flow_break(t, &flow);

        expect_count(t, outstanding(t, queue.srq), 5);
        must_dto(flow.evd);
        expect_count(t, outstanding(t, queue.srq), 4);
}

CASE(srq_query, outstanding_on_changed_evd)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 3);
        flow_deliver(t, &flow, 2);
        for (int turn = 0; turn < EVD_TURNS; turn++) {
                evd_turn(t, flow.evd, turn);
                expect_count(t, outstanding(t, queue.srq), 3);
        }
}

/* What a queue went through, to its end: none of its receives is unreaped, and none half there. */
struct past {
        struct queue queue;
        struct flow flows[3];
        int flow_count;
        DAT_COUNT left; /* the receives that wait on it */
};

static struct past past_of(struct test *t, struct queue queue, int eps)
{
        struct past past = {.queue = queue, .flow_count = eps};

        for (int i = 0; i < eps; i++)
                past.flows[i] = flow_open(t, &past.queue, DAT_HANDLE_NULL);
        return past;
}

static struct past had_segments(struct test *t)
{
        DAT_LMR_TRIPLET segments[2];
        struct past past;

        if (ia_attr(t)->max_iov_segments_per_dto < 2)
                unsupported(t, "max_iov_segments_per_dto: a receive has one segment at most");
        past = past_of(t,
                       (struct queue){.srq = srq_with(t, .max_recv_dtos = 8, .max_recv_iov = 2),
                                      .length = MESSAGE,
                                      .buf = buf_with(t)},
                       0);
        segments[0] = triplet(past.queue.buf, 0, 1);
        segments[1] = triplet(past.queue.buf, 1, 1);
        for (past.left = 0; past.left < 3; past.left++)
                expect(dat_srq_post_recv(past.queue.srq, 2, segments, (DAT_DTO_COOKIE){.as_64 = 0}),
                       DAT_SUCCESS);
        return past;
}

static struct past had_no_segments(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 0);

        for (past.left = 0; past.left < 3; past.left++)
                expect(dat_srq_post_recv(past.queue.srq, 0, NULL, (DAT_DTO_COOKIE){.as_64 = 0}),
                       DAT_SUCCESS);
        return past;
}

/* More than a byte can count. */
static struct past had_many(struct test *t)
{
        DAT_COUNT limit = ia_attr(t)->max_recv_per_srq;
        struct past past = past_of(t, queue_with(t, limit < 300 ? limit : 300), 0);

        past.left = srq_fill(t, past.queue.srq, past.queue.buf);
        return past;
}

static struct past had_refusals(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 0);
        DAT_LMR_TRIPLET segment = triplet(past.queue.buf, 0, MESSAGE);

        expect_posts(t, &past.queue, 3);
        for (int i = 0; i < MANY; i++)
                (void)dat_srq_post_recv(past.queue.srq, -1, &segment, (DAT_DTO_COOKIE){.as_64 = 0});
        past.left = 3;
        return past;
}

/* Nothing but dat_evd_dequeue reaped. */
static struct past had_dequeued(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 1);
        DAT_EVENT event;

        expect_posts(t, &past.queue, 5);
        flow_deliver(t, &past.flows[0], 2);
        for (int i = 0; i < 2; i++)
                must(dat_evd_dequeue(past.flows[0].evd, &event));
        past.left = 3;
        return past;
}

static struct past had_empty_message(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 1);

        expect_posts(t, &past.queue, 4);
        peer_send(past.flows[0].end, .empty = true);
        must_dto(past.flows[0].evd);
        past.left = 3;
        return past;
}

/* Reaps what an EP that has no connection any more had failed or flushed. */
static void reap_rest(struct past *past)
{
        DAT_EVENT event;

        while (dat_is(dat_evd_dequeue(past->flows[0].evd, &event), DAT_SUCCESS))
                past->left--;
}

static struct past had_failure(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 1);

        expect_posts(t, &past.queue, 3);
        peer_send(past.flows[0].end, .length = MESSAGE + 1);
        must_event(past.flows[0].evd, DAT_DTO_COMPLETION_EVENT);
        past.left = 2;
        settle(t);
        reap_rest(&past);
        return past;
}

static struct past had_reset(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 1);

        expect_posts(t, &past.queue, 5);
        expect_traffic(t, &past.queue, &past.flows[0], 2);
        flow_break(t, &past.flows[0]);
        settle(t);
        past.left = 3;
        reap_rest(&past);
        must(dat_ep_reset(past.flows[0].ep));
        return past;
}

static struct past had_resizes(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 1);

        expect_posts(t, &past.queue, 3);
        must(dat_srq_resize(past.queue.srq, srq_size_above(t, past.queue.srq, 8)));
        expect_posts(t, &past.queue, 2);
        expect_traffic(t, &past.queue, &past.flows[0], 1);
        must(dat_srq_resize(past.queue.srq, 6));
        (void)dat_srq_resize(past.queue.srq, 2);
        expect_traffic(t, &past.queue, &past.flows[0], 2);
        expect_posts(t, &past.queue, 1);
        past.left = 3;
        return past;
}

static struct past had_three_eps(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 3);

        expect_posts(t, &past.queue, 6);
        for (int i = 0; i < 3; i++)
                expect_traffic(t, &past.queue, &past.flows[i], 1);
        past.left = 3;
        return past;
}

/* Its connection had ended before. */
static struct past had_ep_freed(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 2);

        expect_posts(t, &past.queue, 5);
        expect_traffic(t, &past.queue, &past.flows[0], 1);
        flow_break(t, &past.flows[0]);
        settle(t);
        past.left = 4;
        reap_rest(&past);
        release(t, past.flows[0].ep);
        past.flows[0] = past.flows[--past.flow_count];
        return past;
}

static struct past had_ep_modified(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 1);
        DAT_EP_PARAM param = {.ep_state = DAT_EP_STATE_UNCONNECTED};
        DAT_EP_HANDLE ep = ep_with(t, .srq = past.queue.srq);

        expect_posts(t, &past.queue, 4);
        param.ep_attr.max_request_dtos = 4;
        must(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &param));
        expect_traffic(t, &past.queue, &past.flows[0], 1);
        past.left = 3;
        return past;
}

static struct past had_mark(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 1);

        expect_posts(t, &past.queue, 5);
        must(dat_srq_set_lw(past.queue.srq, 4));
        expect_traffic(t, &past.queue, &past.flows[0], 2);
        past.left = 3;
        return past;
}

static struct past had_sends(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 0);

        expect_posts(t, &past.queue, 3);
        past.flows[past.flow_count++] = flow_with_sends(t, &past.queue, 2);
        past.left = 3;
        return past;
}

static struct past had_requests(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 0);

        expect_posts(t, &past.queue, 3);
        past.flows[past.flow_count++] = flow_with_requests(t, &past.queue);
        past.left = 3;
        return past;
}

/* What stands unreaped on the EP's EVD is another SRQ's. */
static struct past had_shared_evd(struct test *t)
{
        DAT_EVD_HANDLE evd = evd_with(t);
        struct past past = past_of(t, queue_with(t, 8), 0);
        struct queue other = queue_with(t, 8);
        struct flow beside = flow_open(t, &other, evd);

        past.flows[past.flow_count++] = flow_open(t, &past.queue, evd);
        expect_posts(t, &past.queue, 4);
        expect_traffic(t, &past.queue, &past.flows[0], 1);
        queue_post(t, &other, 5);
        flow_deliver(t, &beside, 2);
        past.left = 3;
        return past;
}

static struct past had_vain_calls(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 1);

        expect_posts(t, &past.queue, 4);
        for (int turn = 0; turn < VAIN_TURNS; turn++)
                vain_turn(t, &past.queue, &past.flows[0], turn);
        expect_traffic(t, &past.queue, &past.flows[0], 1);
        past.left = 3;
        return past;
}

static struct past had_graceful_end(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 1);

        expect_posts(t, &past.queue, 5);
        expect_traffic(t, &past.queue, &past.flows[0], 2);
        must(dat_ep_disconnect(past.flows[0].ep, DAT_CLOSE_GRACEFUL_FLAG));
        must_event(ep_connect_evd(t, past.flows[0].ep), DAT_CONNECTION_EVENT_DISCONNECTED);
        settle(t);
        past.left = 3;
        reap_rest(&past);
        return past;
}

static const struct history {
        const char *id;
        struct past (*make)(struct test *t);
} histories[] = {
    {"several_segments", had_segments},
    {"no_segments", had_no_segments},
    {"many", had_many},
    {"refusals", had_refusals},
    {"dequeued", had_dequeued},
    {"empty_message", had_empty_message},
    {"failure", had_failure},
    {"ep_reset", had_reset},
    {"resizes", had_resizes},
    {"three_eps", had_three_eps},
    {"ep_freed", had_ep_freed},
    {"ep_modified", had_ep_modified},
    {"marked", had_mark},
    {"sends", had_sends},
    {"requests", had_requests},
    {"shared_evd", had_shared_evd},
    {"vain_calls", had_vain_calls},
    {"graceful_end", had_graceful_end},
};

FAMILY(srq_query, available_after, histories)
{
        struct past past = row->make(t);

        expect_available(t, available(t, past.queue.srq), past.flows, past.flow_count, past.left);
}

FAMILY(srq_query, outstanding_after, histories)
{
        struct past past = row->make(t);

        expect_count(t, outstanding(t, past.queue.srq), past.left);
}

/* An SRQ of 2 receives beside one of 5, and an EP with a queue of its own and 4 receives. */
static DAT_SRQ_HANDLE with_neighbours(struct test *t)
{
        struct queue other = queue_with(t, 8);
        struct queue queue = queue_with(t, 8);
        DAT_EVD_HANDLE evd = evd_with(t);
        DAT_EP_HANDLE plain = ep_with(t, .recv_evd = evd);
        DAT_LMR_TRIPLET segment = triplet(queue.buf, 0, MESSAGE);

        ep_with(t, .srq = queue.srq, .recv_evd = evd);
        for (int i = 0; i < 4; i++)
                must(dat_ep_post_recv(plain, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0},
                                      DAT_COMPLETION_DEFAULT_FLAG));
        queue_post(t, &other, 5);
        queue_post(t, &queue, 2);
        return queue.srq;
}

CASE(srq_query, available_of_this_srq)
{
        expect_count(t, available(t, with_neighbours(t)), 2);
}

CASE(srq_query, outstanding_of_this_srq)
{
        expect_count(t, outstanding(t, with_neighbours(t)), 2);
}

CASE(srq_query, available_in_traffic)
{
        struct queue queue = queue_for(t, 8, LONG_MESSAGE, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        for (int window = 0; window < 8; window++) {
                DAT_COUNT before = 8;
                DAT_COUNT least;

                queue_post(t, &queue, 8);
                expect_available(t, available(t, queue.srq), &flow, 1, 8);
                least = 2 - taken_ahead(t, &flow, 1);
                flow_send(&flow, 6);
                for (int reaped = 0; reaped < 6; reaped++) {
                        DAT_COUNT now = available(t, queue.srq);

                        if (now != DAT_VALUE_UNKNOWN) {
                                expect_that(now <= before && now >= 0 && now >= least,
                                            "%d available, where %d were before and %d remain", now,
                                            before, least);
                                before = now;
                        }
                        expect_messages(t, &queue, &flow, 1);
                }
                expect_available(t, available(t, queue.srq), &flow, 1, 2);
                expect_traffic(t, &queue, &flow, 2);
        }
}

CASE(srq_query, outstanding_in_traffic)
{
        struct queue queue = queue_for(t, 8, LONG_MESSAGE, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        for (int window = 0; window < 8; window++) {
                queue_post(t, &queue, 8);
                flow_send(&flow, 8);
                for (int left = 8; left > 0; left--) {
                        expect_count(t, outstanding(t, queue.srq), left);
                        expect_messages(t, &queue, &flow, 1);
                }
        }
}

/*
 * Messages that are half received
 */

/* A queue of `posts` receives, of which each of `flows` has taken one for a message half there. */
static struct queue half_received(struct test *t, int posts, struct flow *flows, int count)
{
        struct queue queue = queue_for(t, 8, COMING, (size_t)posts);

        for (int i = 0; i < count; i++)
                flows[i] = flow_open(t, &queue, DAT_HANDLE_NULL);
        queue_post(t, &queue, posts);
        flows_hold(t, &queue, flows, count);
        return queue;
}

CASE(srq_query, outstanding_half_received)
{
        struct flow flows[2];
        struct queue queue = half_received(t, 2, flows, 2);
        DAT_COUNT seen = outstanding(t, queue.srq);

        must_be_coming(t, &queue, flows, 2);
        expect_count(t, seen, 2);
}

/* How many are flushed beside the one that was half there is the provider's choice (SRQ-26). */
CASE(srq_query, outstanding_flushed)
{
        struct flow flow;
        struct queue queue = half_received(t, 3, &flow, 1);
        DAT_COUNT left = 3;
        DAT_EVENT event;

        must(dat_ep_disconnect(flow.ep, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, flow.ep), DAT_CONNECTION_EVENT_DISCONNECTED);
        must_be_coming(t, &queue, &flow, 1);
        settle(t);
        expect_count(t, outstanding(t, queue.srq), left);

        while (dat_is(dat_evd_dequeue(flow.evd, &event), DAT_SUCCESS)) {
                must_that(left > 0, "more receives were flushed than were posted");
                left--;
                expect_count(t, outstanding(t, queue.srq), left);
        }
        must_that(left < 3, "the receive of a message that was half there was not flushed");
        expect_count(t, available(t, queue.srq), left);
}

/* A provider that sees no receive taken until its message is whole is excused until then (SRQ-28).
 */
CASE(srq_query, available_half_received)
{
        struct queue queue = queue_for(t, 8, COMING, 3);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_COUNT at_rest;

        queue_post(t, &queue, 3);
        expect_available(t, available(t, queue.srq), &flow, 1, 3);
        at_rest = 3 - taken_ahead(t, &flow, 1);
        flows_hold(t, &queue, &flow, 1);
        DAT_COUNT seen = available(t, queue.srq);

        must_be_coming(t, &queue, &flow, 1);
        if (seen == 3)
                note(t, "the receive of a message that has begun to come is told as available until"
                        " the message is whole: the device shows it no earlier (SRQ-28)");
        else if (seen != at_rest)
                expect_count(t, seen, at_rest - 1);
        expect_messages(t, &queue, &flow, 1);
        expect_available(t, available(t, queue.srq), &flow, 1, 2);
}

CASE(srq_query, outstanding_of_three_kinds)
{
        struct queue queue = queue_for(t, 8, COMING, 6);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 6);
        flow_deliver(t, &flow, 2);
        flows_hold(t, &queue, &flow, 1);
        DAT_COUNT seen = outstanding(t, queue.srq);

        must_be_coming(t, &queue, &flow, 1);
        expect_count(t, seen, 6);
}

CASE(srq_query, keeps_half_received)
{
        struct flow flow;
        struct queue queue = half_received(t, 2, &flow, 1);

        query_often(t, queue.srq);
        must_be_coming(t, &queue, &flow, 1);

        expect_messages(t, &queue, &flow, 1);
}

CASE(srq_query, available_as_declared)
{
        struct known known = known_srq(t);

        expect_declared(t, available(t, known.srq), KNOWN_POSTS);
}

CASE(srq_query, outstanding_as_declared)
{
        struct known known = known_srq(t);

        expect_declared(t, outstanding(t, known.srq), KNOWN_POSTS);
}

/*
 * What a query leaves as it was
 */

FAMILY(srq_query, while_ep, consumer_ep_states)
{
        struct known known = known_srq(t);
        DAT_EP_HANDLE ep = ep_in(t, row->state, .srq = known.srq, .pz = known.pz);
        DAT_EP_STATE before = ep_state(t, ep);

        check_fields(t, &known, DAT_SRQ_FIELD_ALL & ~DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT);

        expect_ep_state_kept(t, ep, before);
}

static void refuse_resize(struct test *t, const struct known *known)
{
        (void)t;
        (void)dat_srq_resize(known->srq, 1);
}

static void refuse_mark(struct test *t, const struct known *known)
{
        (void)t;
        (void)dat_srq_set_lw(known->srq, INT_MAX);
}

static void refuse_free(struct test *t, const struct known *known)
{
        (void)t;
        (void)dat_srq_free(known->srq);
}

static void refuse_mask(struct test *t, const struct known *known)
{
        DAT_SRQ_PARAM param;

        (void)t;
        (void)dat_srq_query(known->srq, (DAT_SRQ_PARAM_MASK)~0U, &param);
}

/* Calls that are refused of an SRQ with receives and an EP. */
static const struct refusal {
        const char *id;
        void (*refuse)(struct test *t, const struct known *known);
} refusals[] = {
    {"resize", refuse_resize},
    {"set_lw", refuse_mark},
    {"free", refuse_free},
    {"query", refuse_mask},
};

FAMILY(srq_query, after_refusal, refusals)
{
        struct known known = known_srq(t);

        ep_with(t, .srq = known.srq, .pz = known.pz);
        for (int i = 0; i < MANY; i++)
                row->refuse(t, &known);

        check_fields(t, &known, DAT_SRQ_FIELD_ALL);
        for (size_t i = 0; i < FIELD_COUNT; i++)
                check_fields(t, &known, fields[i].bit);
}

CASE(srq_query, keeps_parameters)
{
        struct known known = known_srq(t);
        DAT_SRQ_PARAM before = queried(t, known.srq, DAT_SRQ_FIELD_ALL);

        for (int i = 0; i < MANY; i++)
                expect_kept(t, known.srq, &before);
}

/* All that is no count. */
static void expect_attributes(struct test *t, DAT_SRQ_HANDLE srq, const DAT_SRQ_PARAM *before)
{
        DAT_SRQ_PARAM after = queried(t, srq, DAT_SRQ_FIELD_ALL);

        expect_that(after.ia_handle == before->ia_handle, "the SRQ is of another IA");
        expect_that(after.pz_handle == before->pz_handle, "the SRQ is of another zone");
        expect_eq(after.srq_state, before->srq_state);
        expect_eq(after.max_recv_dtos, before->max_recv_dtos);
        expect_eq(after.max_recv_iov, before->max_recv_iov);
        expect_eq(after.low_watermark, before->low_watermark);
}

CASE(srq_query, messages_leave_attributes)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_SRQ_PARAM before = queried(t, queue.srq, DAT_SRQ_FIELD_ALL);

        queue_post(t, &queue, 4);
        flow_deliver(t, &flow, 2);
        expect_attributes(t, queue.srq, &before);
        expect_messages(t, &queue, &flow, 2);
        expect_attributes(t, queue.srq, &before);
}

/* Of as many segments as the SRQ takes, and refused ones. */
CASE(srq_query, posts_leave_attributes)
{
        DAT_COUNT limit = ia_attr(t)->max_iov_segments_per_dto;
        DAT_COUNT count = limit < 2 ? limit : 2;
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8, .max_recv_iov = count);
        struct buf *buf = buf_with(t);
        DAT_LMR_TRIPLET segments[2] = {triplet(buf, 0, 1), triplet(buf, 1, 1)};
        DAT_SRQ_PARAM before = queried(t, srq, DAT_SRQ_FIELD_ALL);

        for (int i = 0; i < 3; i++)
                expect(dat_srq_post_recv(srq, count, segments, (DAT_DTO_COOKIE){.as_64 = 0}),
                       DAT_SUCCESS);
        (void)dat_srq_post_recv(srq, -1, segments, (DAT_DTO_COOKIE){.as_64 = 0});

        expect_attributes(t, srq, &before);
}

CASE(srq_query, ep_of_other_zone)
{
        struct known known = known_srq(t);
        DAT_SRQ_PARAM before = queried(t, known.srq, DAT_SRQ_FIELD_ALL);

        ep_with(t, .srq = known.srq, .pz = pz_new(t));
        expect_kept(t, known.srq, &before);
        check_fields(t, &known, DAT_SRQ_FIELD_ALL);
}

CASE(srq_query, keeps_buffers)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 4);
        query_often(t, queue.srq);

        expect_traffic(t, &queue, &flow, 4);
}

CASE(srq_query, keeps_completions)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 4);
        flow_deliver(t, &flow, 4);
        query_often(t, queue.srq);

        expect_messages(t, &queue, &flow, 4);
        expect_quiet(flow.evd);
}

CASE(srq_query, keeps_watermark_armed)
{
        struct armed armed = armed_with(t, 4, 4);

        query_often(t, armed.queue.srq);
        expect_quiet(async_evd(t));

        flow_deliver(t, &armed.flow, 1);
        expect_mark_event(t, &armed);
        expect_quiet(async_evd(t));
}

/*
 * Arguments
 */

static const struct undefined_mask masks[] = {UNDEFINED_MASKS(DAT_SRQ_FIELD_ALL)};

FAMILY(srq_query, invalid_mask, masks)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_SRQ_PARAM param;
        unsigned int mask = 0;

        memset(&param, 0, sizeof(param));
        while (undefined_mask_next(row, &mask))
                expect(dat_srq_query(srq, (DAT_SRQ_PARAM_MASK)mask, &param), DAT_INVALID_PARAMETER);
}

/* Each bit of the mask's 32 that is no field's, alone and beside every field's. */
CASE(srq_query, invalid_mask_by_any_bit)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_SRQ_PARAM param;

        for (unsigned int bit = DAT_SRQ_FIELD_ALL + 1; bit != 0; bit <<= 1)
                for (unsigned int valid = 1; valid <= DAT_SRQ_FIELD_ALL; valid <<= 1) {
                        expect(dat_srq_query(srq, (DAT_SRQ_PARAM_MASK)bit, &param),
                               DAT_INVALID_PARAMETER);
                        expect(dat_srq_query(srq, (DAT_SRQ_PARAM_MASK)(bit | valid), &param),
                               DAT_INVALID_PARAMETER);
                }
}

CASE(srq_query, invalid_mask_then_valid)
{
        struct known known = known_srq(t);

        refuse_mask(t, &known);

        check_fields(t, &known, DAT_SRQ_FIELD_ALL);
}

CASE(srq_query, no_mask)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_SRQ_PARAM param;

        memset(&param, 0, sizeof(param));
        expect_or_note(dat_srq_query(srq, (DAT_SRQ_PARAM_MASK)0, &param), DAT_SUCCESS,
                       DAT_INVALID_PARAMETER);
}

static DAT_RETURN query_into_nothing(void *srq)
{
        return dat_srq_query(srq, DAT_SRQ_FIELD_ALL, NULL);
}

CASE(srq_query, null_structure)
{
        struct known known = known_srq(t);
        DAT_RETURN answer;

        if (subprocess_call(t, query_into_nothing, known.srq, &answer))
                record(t, "the call returned 0x%x", (unsigned int)answer);

        check_fields(t, &known, DAT_SRQ_FIELD_ALL);
}

LEGAL(srq_query)
{
        static DAT_SRQ_PARAM param;

        call->srq_handle = srq_with(t);
        call->srq_param_mask = DAT_SRQ_FIELD_ALL;
        call->srq_param = &param;
}
