/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ia_query: limits that the attributes promise. */
#include "case/ep_attr.h"
#include "case/poison.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ia/ia_query/fixtures.h"
#include "cases/pz/shared/zone.h"
#include "cases/shared/loop.h"
#include "clauses/ia_query.h"

#include <string.h>

#define MOST         512 /* objects at once */
#define MOST_PER_SRQ 128 /* EPs */
#define READERS      8   /* EPs */
#define MOST_DTOS    1500
#define MOST_BYTES   ((DAT_VLEN)8 << 20)

static DAT_RETURN pz_create_in(const struct zone_args *args, DAT_PZ_HANDLE zone, DAT_HANDLE *made)
{
        (void)zone;
        return dat_pz_create(args->ia, made);
}

static DAT_RETURN evd_create_in(const struct zone_args *args, DAT_PZ_HANDLE zone, DAT_HANDLE *made)
{
        (void)zone;
        return dat_evd_create(args->ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, made);
}

static const struct limit {
        const char *id;
        size_t offset;
        DAT_HANDLE_TYPE type;
        DAT_RETURN (*create)(const struct zone_args *args, DAT_PZ_HANDLE zone, DAT_HANDLE *made);
        DAT_COUNT there; /* so many the fixtures and the IA have made */
} limits[] = {
    {"max_eps", offsetof(DAT_IA_ATTR, max_eps), DAT_HANDLE_TYPE_EP, ep_create_in, 0},
    {"max_evds", offsetof(DAT_IA_ATTR, max_evds), DAT_HANDLE_TYPE_EVD, evd_create_in, 4},
    {"max_lmrs", offsetof(DAT_IA_ATTR, max_lmrs), DAT_HANDLE_TYPE_LMR, lmr_create_in, 1},
    {"max_pzs", offsetof(DAT_IA_ATTR, max_pzs), DAT_HANDLE_TYPE_PZ, pz_create_in, 1},
    {"max_rmrs", offsetof(DAT_IA_ATTR, max_rmrs), DAT_HANDLE_TYPE_RMR, rmr_create_in, 0},
    {"max_srqs", offsetof(DAT_IA_ATTR, max_srqs), DAT_HANDLE_TYPE_SRQ, srq_create_in, 0},
};

/* Whether an object was made; nothing but a lack of resources may stand in the way. */
static bool make_one(struct test *t, const struct limit *row, const struct zone_args *args)
{
        DAT_HANDLE made = DAT_HANDLE_NULL;
        DAT_RETURN ret =
            expect(row->create(args, pz(t), &made), DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);

        if (dat_is(ret, DAT_SUCCESS))
                adopt(t, row->type, made);
        return dat_is(ret, DAT_SUCCESS);
}

static DAT_COUNT limit_of(struct test *t, const struct limit *row)
{
        struct answer answer;
        DAT_COUNT limit;

        ask_all(t, &answer);
        memcpy(&limit, (const char *)&answer.ia + row->offset, sizeof(limit));
        expect_that(limit > 0, "%s is %d", row->id, limit);
        return limit;
}

/* Makes as many as the IA may have, or as a case makes. */
static void make_all(struct test *t, const struct limit *row, const struct zone_args *args,
                     DAT_COUNT limit)
{
        DAT_COUNT made;

        for (made = row->there; made < limit && made < MOST; made++)
                if (!make_one(t, row, args))
                        resource(t, "no resources for more than %d of %s = %d", made, row->id,
                                 limit);
        record(t, "%d of %s = %d were there at once; a case makes no more than %d", made, row->id,
               limit, MOST);
}

FAMILY(ia_query, count, limits, DEADLINE_MS(20000))
{
        struct zone_args args = zone_args(t);

        make_all(t, row, &args, limit_of(t, row));
}

/* What is made beyond the limit is a whole one: it is freed, and another one made. */
FAMILY(ia_query, beyond_count, limits, DEADLINE_MS(20000))
{
        struct zone_args args = zone_args(t);
        DAT_COUNT limit = limit_of(t, row);
        DAT_HANDLE made = DAT_HANDLE_NULL;

        if (limit > MOST)
                end_noted(t, "%s is %d, and a case makes no more than %d: none is beyond it",
                          row->id, limit, MOST);
        make_all(t, row, &args, limit);
        if (!dat_is(
                expect(row->create(&args, pz(t), &made), DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS),
                DAT_SUCCESS))
                return;
        adopt(t, row->type, made);
        note(t, "granted, above the IA's own %s of %d", row->id, limit);
        release(t, made);
}

CASE(ia_query, beyond_evd_qlen)
{
        DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
        struct answer answer;
        DAT_EVD_PARAM param;

        ask_all(t, &answer);
        if (!dat_is(expect(dat_evd_create(ia(t), answer.ia.max_evd_qlen + 1, DAT_HANDLE_NULL,
                                          DAT_EVD_DTO_FLAG, &evd),
                           DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_PARAMETER, DAT_SUCCESS),
                    DAT_SUCCESS))
                return;
        adopt(t, DAT_HANDLE_TYPE_EVD, evd);
        note(t, "granted, above the IA's own max_evd_qlen of %d", answer.ia.max_evd_qlen);
        memset(&param, 0, sizeof(param));
        expect(dat_evd_query(evd, DAT_EVD_FIELD_EVD_QLEN, &param), DAT_SUCCESS);
        expect_that(param.evd_qlen > answer.ia.max_evd_qlen, "the EVD has %d places",
                    param.evd_qlen);
}

CASE(ia_query, eps_per_srq, DEADLINE_MS(20000))
{
        struct zone_args args = zone_args(t);
        DAT_SRQ_HANDLE srq = srq_with(t);
        struct answer answer;
        DAT_COUNT made;

        ask_all(t, &answer);
        expect_that(answer.ia.max_ep_per_srq > 0, "max_ep_per_srq is %d", answer.ia.max_ep_per_srq);
        for (made = 0; made < answer.ia.max_ep_per_srq && made < MOST_PER_SRQ; made++) {
                DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
                DAT_RETURN ret =
                    expect(dat_ep_create_with_srq(ia(t), pz(t), args.recv_evd, args.request_evd,
                                                  args.connect_evd, srq, &args.ep_attr, &ep),
                           DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);

                if (!dat_is(ret, DAT_SUCCESS))
                        resource(t, "no resources for more than %d EPs of an SRQ", made);
                adopt(t, DAT_HANDLE_TYPE_EP, ep);
        }
        record(t, "an SRQ had %d of max_ep_per_srq = %d; a case makes no more than %d", made,
               answer.ia.max_ep_per_srq, MOST_PER_SRQ);
}

/* Where the number of reads of an EP is guaranteed, each EP of several has it. */
static const struct guarantee {
        const char *id;
        bool out;
} guarantees[] = {
    {"in", .out = false},
    {"out", .out = true},
};

FAMILY(ia_query, reads_guaranteed, guarantees)
{
        struct zone_args args = zone_args(t);
        struct answer answer;

        ask_all(t, &answer);
        if ((row->out ? answer.ia.max_rdma_read_per_ep_out_guaranteed
                      : answer.ia.max_rdma_read_per_ep_in_guaranteed) != DAT_TRUE)
                end_noted(t, "the number of reads of an EP is not guaranteed");
        if (row->out)
                args.ep_attr.max_rdma_read_out = answer.ia.max_rdma_read_per_ep_out;
        else
                args.ep_attr.max_rdma_read_in = answer.ia.max_rdma_read_per_ep_in;
        args.ep_attr.max_rdma_read_iov = args.ep_attr.max_rdma_read_out > 0;
        for (int i = 0; i < READERS; i++) {
                DAT_HANDLE ep = DAT_HANDLE_NULL;
                DAT_EP_PARAM param;

                expect(ep_create_in(&args, pz(t), &ep), DAT_SUCCESS);
                adopt(t, DAT_HANDLE_TYPE_EP, ep);
                memset(&param, 0, sizeof(param));
                expect(dat_ep_query(ep, DAT_EP_FIELD_EP_ATTR_ALL, &param), DAT_SUCCESS);
                expect_that(param.ep_attr.max_rdma_read_in >= args.ep_attr.max_rdma_read_in,
                            "EP %d has %d incoming reads", i, param.ep_attr.max_rdma_read_in);
                expect_that(param.ep_attr.max_rdma_read_out >= args.ep_attr.max_rdma_read_out,
                            "EP %d has %d outgoing reads", i, param.ep_attr.max_rdma_read_out);
        }
}

static void most_recvs(const DAT_IA_ATTR *ia, DAT_EP_ATTR *attr)
{
        attr->max_recv_dtos = ia->max_dto_per_ep;
}

static void most_requests(const DAT_IA_ATTR *ia, DAT_EP_ATTR *attr)
{
        attr->max_request_dtos = ia->max_dto_per_ep;
}

static void most_recv_segments(const DAT_IA_ATTR *ia, DAT_EP_ATTR *attr)
{
        attr->max_recv_iov = ia->max_iov_segments_per_dto;
}

static void most_request_segments(const DAT_IA_ATTR *ia, DAT_EP_ATTR *attr)
{
        attr->max_request_iov = ia->max_iov_segments_per_dto;
}

static void most_reads_in(const DAT_IA_ATTR *ia, DAT_EP_ATTR *attr)
{
        attr->max_rdma_read_in = ia->max_rdma_read_per_ep_in;
}

static void most_reads_out(const DAT_IA_ATTR *ia, DAT_EP_ATTR *attr)
{
        attr->max_rdma_read_out = ia->max_rdma_read_per_ep_out;
        attr->max_rdma_read_iov = ia->max_iov_segments_per_rdma_read > 0;
}

static void most_read_segments(const DAT_IA_ATTR *ia, DAT_EP_ATTR *attr)
{
        attr->max_rdma_read_out = ia->max_rdma_read_per_ep_out > 0;
        attr->max_rdma_read_iov = ia->max_iov_segments_per_rdma_read;
}

static void most_write_segments(const DAT_IA_ATTR *ia, DAT_EP_ATTR *attr)
{
        attr->max_rdma_write_iov = ia->max_iov_segments_per_rdma_write;
}

static void longest_message(const DAT_IA_ATTR *ia, DAT_EP_ATTR *attr)
{
        attr->max_message_size = ia->max_message_size;
}

static void longest_rdma(const DAT_IA_ATTR *ia, DAT_EP_ATTR *attr)
{
        attr->max_rdma_size = ia->max_rdma_size;
}

#define OF_COUNT(field_) offsetof(DAT_EP_ATTR, field_), false
#define OF_SIZE(field_)  offsetof(DAT_EP_ATTR, field_), true

static const struct ep_limit {
        const char *id;
        void (*set)(const DAT_IA_ATTR *ia, DAT_EP_ATTR *attr);
        size_t offset;
        bool is_size; /* a DAT_VLEN, no DAT_COUNT */
} ep_limits[] = {
    {"recvs", most_recvs, OF_COUNT(max_recv_dtos)},
    {"requests", most_requests, OF_COUNT(max_request_dtos)},
    {"recv_segments", most_recv_segments, OF_COUNT(max_recv_iov)},
    {"request_segments", most_request_segments, OF_COUNT(max_request_iov)},
    {"reads_in", most_reads_in, OF_COUNT(max_rdma_read_in)},
    {"reads_out", most_reads_out, OF_COUNT(max_rdma_read_out)},
    {"read_segments", most_read_segments, OF_COUNT(max_rdma_read_iov)},
    {"write_segments", most_write_segments, OF_COUNT(max_rdma_write_iov)},
    {"message_size", longest_message, OF_SIZE(max_message_size)},
    {"rdma_size", longest_rdma, OF_SIZE(max_rdma_size)},
};

static DAT_VLEN value_in(const DAT_EP_ATTR *attr, const struct ep_limit *row)
{
        const char *at = (const char *)attr + row->offset;
        DAT_COUNT count;
        DAT_VLEN size;

        if (row->is_size) {
                memcpy(&size, at, sizeof(size));
                return size;
        }
        memcpy(&count, at, sizeof(count));
        return count < 0 ? 0 : (DAT_VLEN)count;
}

FAMILY(ia_query, ep_limit, ep_limits)
{
        struct zone_args args = zone_args(t);
        DAT_HANDLE ep = DAT_HANDLE_NULL;
        struct answer answer;
        DAT_EP_PARAM param;

        ask_all(t, &answer);
        row->set(&answer.ia, &args.ep_attr);
        expect(ep_create_in(&args, pz(t), &ep), DAT_SUCCESS);
        adopt(t, DAT_HANDLE_TYPE_EP, ep);

        memset(&param, 0, sizeof(param));
        expect(dat_ep_query(ep, DAT_EP_FIELD_EP_ATTR_ALL, &param), DAT_SUCCESS);
        expect_that(value_in(&param.ep_attr, row) >= value_in(&args.ep_attr, row),
                    "the EP has %llu of %llu", (unsigned long long)value_in(&param.ep_attr, row),
                    (unsigned long long)value_in(&args.ep_attr, row));
}

static const struct fill {
        const char *id;
        bool requests;
} fills[] = {
    {"recvs", .requests = false},
    {"requests", .requests = true},
};

static void post_recvs(struct test *t, DAT_EP_HANDLE ep, const struct vector *room, DAT_COUNT count)
{
        for (DAT_COUNT i = 0; i < count; i++)
                expect(recv_vector(ep, room, (uint64_t)i, DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
}

/* Of each direction, as many DTOs as the IA promises, or as a case posts. */
FAMILY(ia_query, dtos_at_once, fills, DEADLINE_MS(20000))
{
        DAT_EP_ATTR many = ep_attr_modest(ia_attr(t));
        DAT_COUNT limit = ia_attr(t)->max_dto_per_ep;
        DAT_COUNT count = limit < MOST_DTOS ? limit : MOST_DTOS;
        DAT_EVD_HANDLE evds[] = {evd_of_at_most(t, count), evd_of_at_most(t, count)};
        struct vector message = vector_with(t, .length = MESSAGE);
        struct vector room = vector_with(t, .length = MESSAGE);
        struct loop loop;

        for (int i = 0; i < 2; i++)
                must_have_room(t, evds[i], count);
        many.max_recv_dtos = count;
        if (row->requests)
                many.max_request_dtos = count;
        loop = loop_of(t, (struct ep_opts){.attr = &many, .request_evd = evds[0]},
                       (struct ep_opts){.attr = &many, .recv_evd = evds[1]});
        post_recvs(t, loop.passive, &room, count);
        record(t, "%d DTOs of max_dto_per_ep = %d were posted", count, limit);
        if (!row->requests)
                return;
        loop_join(t, &loop);
        for (DAT_COUNT i = 0; i < count; i++)
                expect(send_vector(loop.active, &message, (uint64_t)i, DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
        /* The EVDs have room for the others. */
        expect_dto(evds[0]);
        expect_dto(evds[1]);
}

CASE(ia_query, evd_qlen)
{
        DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
        struct answer answer;
        DAT_EVD_PARAM param;

        ask_all(t, &answer);
        expect_that(answer.ia.max_evd_qlen > 0, "max_evd_qlen is %d", answer.ia.max_evd_qlen);
        expect(
            dat_evd_create(ia(t), answer.ia.max_evd_qlen, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd),
            DAT_SUCCESS);
        adopt(t, DAT_HANDLE_TYPE_EVD, evd);
        memset(&param, 0, sizeof(param));
        expect(dat_evd_query(evd, DAT_EVD_FIELD_EVD_QLEN, &param), DAT_SUCCESS);
        expect_that(param.evd_qlen >= answer.ia.max_evd_qlen, "the EVD has %d places, not %d",
                    param.evd_qlen, answer.ia.max_evd_qlen);
}

CASE(ia_query, recv_per_srq)
{
        struct zone_args args = zone_args(t);
        DAT_HANDLE srq = DAT_HANDLE_NULL;
        struct answer answer;
        DAT_SRQ_PARAM param;

        ask_all(t, &answer);
        expect_that(answer.ia.max_recv_per_srq > 0, "max_recv_per_srq is %d",
                    answer.ia.max_recv_per_srq);
        args.srq_attr.max_recv_dtos = answer.ia.max_recv_per_srq;
        expect(srq_create_in(&args, pz(t), &srq), DAT_SUCCESS);
        adopt(t, DAT_HANDLE_TYPE_SRQ, srq);
        memset(&param, 0, sizeof(param));
        expect(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param), DAT_SUCCESS);
        expect_that(param.max_recv_dtos >= answer.ia.max_recv_per_srq,
                    "the SRQ has room for %d receives, not %d", param.max_recv_dtos,
                    answer.ia.max_recv_per_srq);
}

CASE(ia_query, lmr_block_size)
{
        struct answer answer;
        DAT_VLEN length;
        struct buf *buf;

        ask_all(t, &answer);
        length = answer.ia.max_lmr_block_size;
        expect_that(length > 0, "max_lmr_block_size is 0");
        buf = buf_with(t, .length = length < MOST_BYTES ? length : MOST_BYTES);
        record(t,
               "%llu bytes of max_lmr_block_size = %llu were registered; a case takes no more "
               "than %llu",
               (unsigned long long)buf->length, (unsigned long long)length,
               (unsigned long long)MOST_BYTES);
        expect_that((DAT_VADDR)(uintptr_t)buf->addr + buf->length - 1 <=
                        answer.ia.max_lmr_virtual_address,
                    "an LMR lies above max_lmr_virtual_address");
        expect_that((DAT_VADDR)(uintptr_t)buf->addr + buf->length - 1 <=
                        answer.ia.max_rmr_target_address,
                    "memory that can be bound lies above max_rmr_target_address");
}
