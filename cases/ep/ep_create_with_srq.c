/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_create_with_srq: what the EP is made with, and its bond with the SRQ. */
#include "clauses/ep_create_with_srq.h"
#include "../handles.h"
#include "../srq/queue.h"
#include "ep_modify.h"

#include <limits.h>
#include <string.h>

#define MANY 16 /* EPs of one SRQ */

/* The arguments of the call; what a case leaves out of them is whole and modest. */
struct arguments {
        DAT_IA_HANDLE ia;
        DAT_PZ_HANDLE pz;
        DAT_EVD_HANDLE recv_evd;
        DAT_EVD_HANDLE request_evd;
        DAT_EVD_HANDLE connect_evd;
        DAT_SRQ_HANDLE srq;
        DAT_EP_PARAM param; /* of which ep_attr is given */
        bool no_attr;
        bool no_handle;
};

static struct arguments arguments(struct test *t)
{
        const DAT_IA_ATTR *limits = ia_attr(t);
        struct arguments with = {
            .ia = ia(t),
            .pz = pz(t),
            .recv_evd = evd_with(t),
            .request_evd = evd_with(t),
            .connect_evd = evd_with(t, .flags = DAT_EVD_CONNECTION_FLAG),
            .srq = srq_with(t),
        };

        with.param.ep_attr = (DAT_EP_ATTR){
            .service_type = DAT_SERVICE_TYPE_RC,
            .max_message_size = limits->max_message_size < 8192 ? limits->max_message_size : 8192,
            .max_rdma_size = limits->max_rdma_size < 8192 ? limits->max_rdma_size : 8192,
            .qos = DAT_QOS_BEST_EFFORT,
            .max_recv_dtos = 8,
            .max_request_dtos = 8,
            .max_recv_iov = 1,
            .max_request_iov = 1,
            .srq_soft_hw = DAT_HW_DEFAULT,
            .max_rdma_read_out = limits->max_rdma_read_per_ep_out > 0 ? 1 : 0,
            .max_rdma_read_iov = limits->max_rdma_read_per_ep_out > 0 ? 1 : 0,
            .max_rdma_write_iov = 1,
        };
        return with;
}

static DAT_RETURN call(const struct arguments *with, DAT_EP_HANDLE *ep)
{
        return dat_ep_create_with_srq(
            with->ia, with->pz, with->recv_evd, with->request_evd, with->connect_evd, with->srq,
            with->no_attr ? NULL : &with->param.ep_attr, with->no_handle ? NULL : ep);
}

static DAT_EP_HANDLE adopted(struct test *t, const struct arguments *with, DAT_EP_HANDLE ep)
{
        adopt(t, DAT_HANDLE_TYPE_EP, ep);
        ep_reports_to(t, ep, DAT_EP_FIELD_RECV_EVD_HANDLE, with->recv_evd);
        ep_reports_to(t, ep, DAT_EP_FIELD_REQUEST_EVD_HANDLE, with->request_evd);
        ep_reports_to(t, ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, with->connect_evd);
        return ep;
}

static DAT_EP_HANDLE create(struct test *t, const struct arguments *with)
{
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        expect(call(with, &ep), DAT_SUCCESS);
        return adopted(t, with, ep);
}

/* What a query says of the EP; that it can be queried is part of the clause. */
static DAT_EP_PARAM described(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EP_PARAM param;

        memset(&param, 0, sizeof(param));
        expect(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
        return param;
}

/*
 * What is made
 */

CASE(ep_create_with_srq, created)
{
        struct arguments with = arguments(t);

        described(t, create(t, &with));
}

CASE(ep_create_with_srq, unconnected)
{
        struct arguments with = arguments(t);

        expect_eq(described(t, create(t, &with)).ep_state, DAT_EP_STATE_UNCONNECTED);
}

/* Where a handle stands among the arguments, and where a query shows it. */
static const struct shown {
        const char *id;
        size_t argument;
        size_t member;
} shown[] = {
#define SHOWN(name_, argument_)                                                              \
        {                                                                                    \
#name_, offsetof(struct arguments, argument_), offsetof(DAT_EP_PARAM, name_) \
        }
    SHOWN(ia_handle, ia),
    SHOWN(pz_handle, pz),
    SHOWN(recv_evd_handle, recv_evd),
    SHOWN(request_evd_handle, request_evd),
    SHOWN(connect_evd_handle, connect_evd),
    SHOWN(srq_handle, srq),
#undef SHOWN
};

static DAT_HANDLE handle_at(const void *structure, size_t offset)
{
        DAT_HANDLE handle;

        memcpy(&handle, (const char *)structure + offset, sizeof(handle));
        return handle;
}

FAMILY(ep_create_with_srq, shows, shown)
{
        struct arguments with = arguments(t);
        DAT_EP_PARAM param = described(t, create(t, &with));

        expect_that(handle_at(&param, row->member) == handle_at(&with, row->argument),
                    "%s is not the one that was given", row->id);
}

static const struct connecting {
        const char *id;
        DAT_EP_STATE state;
} connecting[] = {
    {"active", DAT_EP_STATE_UNCONNECTED},
    {"reserved", DAT_EP_STATE_RESERVED},
    {"accepting", DAT_EP_STATE_PASSIVE_CONNECTION_PENDING},
};

FAMILY(ep_create_with_srq, connects, connecting)
{
        struct queue queue = queue_with(t, 8);
        DAT_EP_HANDLE ep = ep_in(t, row->state, .srq = queue.srq);
        struct flow flow = {.ep = ep, .evd = ep_recv_evd(t, ep), .length = MESSAGE};

        flow.end = expect_connect(ep);
        queue_post(t, &queue, 2);
        expect_traffic(t, &queue, &flow, 2);
}

CASE(ep_create_with_srq, many_eps)
{
        struct arguments with = arguments(t);
        DAT_COUNT limit = ia_attr(t)->max_ep_per_srq;

        for (DAT_COUNT i = 0; i < MANY && i < limit; i++)
                create(t, &with);
}

/*
 * Attributes
 */

/* A number among the attributes, the IA's limit for it, and a value that is neither of them. */
struct number {
        const char *id;
        struct ep_parameter parameter;
        size_t limit; /* in DAT_IA_ATTR */
        uint64_t asked;
};

#define NUMBER(name_, limit_, asked_)                                            \
        {                                                                        \
#name_, {.name = #name_,                                         \
                        .offset = offsetof(DAT_EP_PARAM, ep_attr.name_),         \
                        .size = sizeof(((DAT_EP_PARAM *)NULL)->ep_attr.name_) }, \
                        offsetof(DAT_IA_ATTR, limit_),                           \
                        asked_                                                   \
        }
#define EXACT_NUMBERS                                                     \
        NUMBER(max_recv_dtos, max_dto_per_ep, 5),                         \
            NUMBER(max_message_size, max_message_size, 5000),             \
            NUMBER(max_rdma_size, max_rdma_size, 6000),                   \
            NUMBER(max_rdma_read_in, max_rdma_read_per_ep_in, 2),         \
            NUMBER(max_rdma_read_out, max_rdma_read_per_ep_out, 3),       \
            NUMBER(max_rdma_read_iov, max_iov_segments_per_rdma_read, 2), \
            NUMBER(max_rdma_write_iov, max_iov_segments_per_rdma_write, 2)
#define LEAST_NUMBERS                                \
        NUMBER(max_request_dtos, max_dto_per_ep, 5), \
            NUMBER(max_request_iov, max_iov_segments_per_dto, 3)

static const struct number exact[] = {EXACT_NUMBERS};
static const struct number at_least[] = {LEAST_NUMBERS};
static const struct number numbers[] = {EXACT_NUMBERS, LEAST_NUMBERS};

static uint64_t limit_of(struct test *t, const struct number *number)
{
        const char *at = (const char *)ia_attr(t) + number->limit;
        DAT_COUNT count;
        DAT_VLEN length;

        if (number->parameter.size == sizeof(length)) {
                memcpy(&length, at, sizeof(length));
                return length;
        }
        memcpy(&count, at, sizeof(count));
        return count > 0 ? (uint64_t)count : 0;
}

/* The arguments with another value for this attribute. */
static struct arguments asking(struct test *t, const struct number *number, uint64_t value)
{
        struct arguments with = arguments(t);

        ep_value_set(&with.param, &number->parameter, value);
        return with;
}

static uint64_t within_limit(struct test *t, const struct number *number)
{
        uint64_t limit = limit_of(t, number);

        return number->asked < limit ? number->asked : limit;
}

static uint64_t value_of(struct test *t, DAT_EP_HANDLE ep, const struct number *number)
{
        DAT_EP_PARAM param = described(t, ep);

        return ep_value(&param, &number->parameter);
}

FAMILY(ep_create_with_srq, exact, exact)
{
        uint64_t asked = within_limit(t, row);
        struct arguments with = asking(t, row, asked);

        expect_eq(value_of(t, create(t, &with), row), asked);
}

FAMILY(ep_create_with_srq, at_least, at_least)
{
        uint64_t asked = within_limit(t, row);
        struct arguments with = asking(t, row, asked);
        uint64_t has = value_of(t, create(t, &with), row);

        expect_that(has >= asked && has <= INT_MAX, "%llu asked for, %llu queried",
                    (unsigned long long)asked, (unsigned long long)has);
        record(t, "%s: %llu asked for, %llu queried", row->id, (unsigned long long)asked,
               (unsigned long long)has);
}

static const struct flags {
        const char *id;
        bool request;
        DAT_COMPLETION_FLAGS flags;
} flags[] = {
    {"recv_default", false, DAT_COMPLETION_DEFAULT_FLAG},
    {"recv_unsignalled", false, DAT_COMPLETION_UNSIGNALLED_FLAG},
    {"recv_solicited_wait", false, DAT_COMPLETION_SOLICITED_WAIT_FLAG},
    {"recv_threshold", false, DAT_COMPLETION_EVD_THRESHOLD_FLAG},
    {"request_default", true, DAT_COMPLETION_DEFAULT_FLAG},
    {"request_unsignalled", true, DAT_COMPLETION_UNSIGNALLED_FLAG},
    {"request_threshold", true, DAT_COMPLETION_EVD_THRESHOLD_FLAG},
};

static void set_flags(struct arguments *with, bool request, DAT_COMPLETION_FLAGS value)
{
        if (request)
                with->param.ep_attr.request_completion_flags = value;
        else
                with->param.ep_attr.recv_completion_flags = value;
}

FAMILY(ep_create_with_srq, exact_flags, flags)
{
        struct arguments with = arguments(t);

        set_flags(&with, row->request, row->flags);

        DAT_EP_ATTR attr = described(t, create(t, &with)).ep_attr;
        expect_eq(row->request ? attr.request_completion_flags : attr.recv_completion_flags,
                  row->flags);
}

CASE(ep_create_with_srq, exact_service)
{
        struct arguments with = arguments(t);
        DAT_EP_ATTR attr = described(t, create(t, &with)).ep_attr;

        expect_eq(attr.service_type, DAT_SERVICE_TYPE_RC);
        expect_eq(attr.qos, DAT_QOS_BEST_EFFORT);
}

CASE(ep_create_with_srq, default_watermark)
{
        struct arguments with = arguments(t);

        expect_eq(described(t, create(t, &with)).ep_attr.srq_soft_hw, DAT_HW_DEFAULT);
}

CASE(ep_create_with_srq, soft_watermark)
{
        struct arguments with = arguments(t);

        with.param.ep_attr.srq_soft_hw = 3;

        expect_eq(described(t, create(t, &with)).ep_attr.srq_soft_hw, 3);
}

FAMILY(ep_create_with_srq, at_ia_limit, numbers)
{
        uint64_t limit = limit_of(t, row);
        struct arguments with = asking(t, row, limit);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        DAT_RETURN ret = expect(call(&with, &ep), DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);

        if (dat_is(ret, DAT_INSUFFICIENT_RESOURCES))
                resource(t, "no resources for %s at the IA's limit", row->id);
        uint64_t has = value_of(t, adopted(t, &with, ep), row);
        expect_that(has >= limit, "%llu asked for, %llu queried", (unsigned long long)limit,
                    (unsigned long long)has);
}

/* Refused; or granted, and then all of it, with a note. */
static void expect_beyond(struct test *t, const struct number *row, uint64_t value)
{
        struct arguments with = asking(t, row, value);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        DAT_RETURN ret = expect(call(&with, &ep), DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES,
                                DAT_SUCCESS);

        if (!dat_is(ret, DAT_SUCCESS))
                return;
        uint64_t has = value_of(t, adopted(t, &with, ep), row);
        expect_that(has >= value, "%llu asked for and granted, %llu queried",
                    (unsigned long long)value, (unsigned long long)has);
        note(t, "%llu granted, above the IA's own limit (EP-29)", (unsigned long long)value);
}

static uint64_t greatest(const struct number *row)
{
        return row->parameter.size == sizeof(DAT_VLEN) ? UINT64_MAX : INT_MAX;
}

FAMILY(ep_create_with_srq, above_ia_limit, numbers)
{
        uint64_t limit = limit_of(t, row);

        if (limit == greatest(row))
                unsupported(t, "the IA's limit: no number is above it");
        expect_beyond(t, row, limit + 1);
}

FAMILY(ep_create_with_srq, far_above_ia_limit, numbers)
{
        if (limit_of(t, row) == greatest(row))
                unsupported(t, "the IA's limit: no number is above it");
        expect_beyond(t, row, greatest(row));
}

static const struct number counts[] = {
    NUMBER(max_recv_dtos, max_dto_per_ep, 0),
    NUMBER(max_request_dtos, max_dto_per_ep, 0),
    NUMBER(max_request_iov, max_iov_segments_per_dto, 0),
    NUMBER(max_rdma_read_in, max_rdma_read_per_ep_in, 0),
    NUMBER(max_rdma_read_out, max_rdma_read_per_ep_out, 0),
    NUMBER(max_rdma_read_iov, max_iov_segments_per_rdma_read, 0),
    NUMBER(max_rdma_write_iov, max_iov_segments_per_rdma_write, 0),
};

FAMILY(ep_create_with_srq, negative, counts)
{
        struct arguments with = asking(t, row, (uint64_t)-1);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        expect(call(&with, &ep), DAT_INVALID_PARAMETER);
}

static const struct wrong {
        const char *id;
        struct ep_parameter parameter;
        uint64_t value;
} wrong[] = {
#define WRONG(id_, name_, value_)                                            \
        {                                                                    \
                id_,                                                         \
                    {.name = #name_,                                         \
                     .offset = offsetof(DAT_EP_PARAM, ep_attr.name_),        \
                     .size = sizeof(((DAT_EP_PARAM *)NULL)->ep_attr.name_)}, \
                    value_                                                   \
        }
    WRONG("service_type", service_type, 77),
    WRONG("qos", qos, 1U << 20),
    WRONG("recv_suppressed", recv_completion_flags, DAT_COMPLETION_SUPPRESS_FLAG),
    WRONG("recv_fenced", recv_completion_flags, DAT_COMPLETION_BARRIER_FENCE_FLAG),
    WRONG("recv_unknown", recv_completion_flags, 1U << 20),
    WRONG("request_unknown", request_completion_flags, 1U << 20),
#undef WRONG
};

FAMILY(ep_create_with_srq, wrong, wrong)
{
        struct arguments with = arguments(t);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        ep_value_set(&with.param, &row->parameter, row->value);

        expect_or_note(call(&with, &ep), DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED);
}

static const struct ignored {
        const char *id;
        DAT_COUNT iov;
} ignored[] = {
    {"zero", 0},
    {"greatest", INT_MAX},
    {"negative", -1},
};

FAMILY(ep_create_with_srq, max_recv_iov_ignored, ignored)
{
        struct arguments with = arguments(t);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        with.param.ep_attr.max_recv_iov = row->iov;

        DAT_RETURN ret = expect_or_note(call(&with, &ep), DAT_SUCCESS, DAT_INVALID_PARAMETER,
                                        DAT_INSUFFICIENT_RESOURCES);
        if (dat_is(ret, DAT_SUCCESS))
                described(t, adopted(t, &with, ep));
}

CASE(ep_create_with_srq, request_room)
{
        struct arguments with = asking(t, &at_least[0], 5);
        DAT_EP_HANDLE ep = create(t, &with);
        struct peer_ep *end = expect_connect(ep);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);

        peer_post_recv(end, 5, MESSAGE);
        for (int i = 0; i < 5; i++)
                expect(dat_ep_post_send(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0},
                                        DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
        for (int i = 0; i < 5; i++)
                expect_dto(with.request_evd);
}

CASE(ep_create_with_srq, request_segments)
{
        DAT_COUNT count = (DAT_COUNT)within_limit(t, &at_least[1]);
        struct arguments with = asking(t, &at_least[1], (uint64_t)count);
        DAT_EP_HANDLE ep = create(t, &with);
        struct peer_ep *end = expect_connect(ep);
        struct buf *buf = buf_with(t);
        DAT_LMR_TRIPLET segments[3];

        message_fill(buf->addr, MESSAGE, 0);
        for (DAT_COUNT i = 0; i < count; i++)
                segments[i] = triplet(buf, 16 * (size_t)i, 16);
        segments[count - 1].segment_length = MESSAGE - 16 * (size_t)(count - 1);
        peer_post_recv(end, 1, MESSAGE);
        expect(dat_ep_post_send(ep, count, segments, (DAT_DTO_COOKIE){.as_64 = 0},
                                DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        expect_dto(with.request_evd);
        peer_wait_recv(end, 0, MESSAGE);
}

FAMILY(ep_create_with_srq, kept_by_connection, exact)
{
        uint64_t asked = within_limit(t, row);
        struct arguments with = asking(t, row, asked);
        DAT_EP_HANDLE ep = create(t, &with);

        peer_reads(peer(t), 3);
        must_connect(ep);

        expect_eq(value_of(t, ep, row), asked);
}

/*
 * EVDs
 */

static const struct no_evd {
        const char *id;
        bool recv;
        bool request;
        bool connect;
} no_evd[] = {
    {"recv", true, false, false},
    {"request", false, true, false},
    {"connect", false, false, true},
    {"all", true, true, true},
};

FAMILY(ep_create_with_srq, null_evd, no_evd)
{
        struct arguments with = arguments(t);

        if (row->recv)
                with.recv_evd = DAT_HANDLE_NULL;
        if (row->request)
                with.request_evd = DAT_HANDLE_NULL;
        if (row->connect)
                with.connect_evd = DAT_HANDLE_NULL;

        DAT_EP_PARAM param = described(t, create(t, &with));
        expect_that(param.recv_evd_handle == with.recv_evd, "another EVD for receives");
        expect_that(param.request_evd_handle == with.request_evd, "another EVD for requests");
        expect_that(param.connect_evd_handle == with.connect_evd, "another EVD for connections");
}

CASE(ep_create_with_srq, without_recv_evd)
{
        struct arguments with = arguments(t);
        struct buf *buf = buf_with(t);

        with.recv_evd = DAT_HANDLE_NULL;
        DAT_EP_HANDLE ep = create(t, &with);
        struct peer_ep *end = expect_connect(ep);

        srq_post(t, with.srq, buf, MESSAGE, 0, 1);
        peer_send(end, .length = MESSAGE);
        peer_wait_sent(end);
        expect_quiet(with.request_evd);
        expect_that(message_holds(buf->addr, MESSAGE, 0), "the message is not in the receive");
}

CASE(ep_create_with_srq, without_request_evd)
{
        struct arguments with = arguments(t);
        struct buf *buf = buf_with(t);
        DAT_LMR_TRIPLET segment = triplet(buf, 0, MESSAGE);

        with.request_evd = DAT_HANDLE_NULL;
        DAT_EP_HANDLE ep = create(t, &with);
        struct peer_ep *end = expect_connect(ep);

        message_fill(buf->addr, MESSAGE, 0);
        peer_post_recv(end, 1, MESSAGE);
        expect(dat_ep_post_send(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0},
                                DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        peer_wait_recv(end, 0, MESSAGE);
        expect_quiet(with.recv_evd);
}

CASE(ep_create_with_srq, connect_evd_later)
{
        struct arguments with = arguments(t);
        DAT_EP_PARAM later = {.connect_evd_handle = with.connect_evd};

        with.connect_evd = DAT_HANDLE_NULL;
        DAT_EP_HANDLE ep = create(t, &with);

        expect(dat_ep_modify(ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &later), DAT_SUCCESS);
        ep_reports_to(t, ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, later.connect_evd_handle);
        expect_connect(ep);
}

static const struct wrong_evd {
        const char *id;
        size_t argument;
        DAT_EVD_FLAGS flags;
} wrong_evd[] = {
    {"recv", offsetof(struct arguments, recv_evd), DAT_EVD_CONNECTION_FLAG},
    {"request", offsetof(struct arguments, request_evd), DAT_EVD_CONNECTION_FLAG},
    {"connect", offsetof(struct arguments, connect_evd), DAT_EVD_DTO_FLAG},
};

FAMILY(ep_create_with_srq, evd_of_another_stream, wrong_evd)
{
        struct arguments with = arguments(t);
        DAT_EVD_HANDLE evd = evd_with(t, .flags = row->flags);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        memcpy((char *)&with + row->argument, &evd, sizeof(evd));

        expect(call(&with, &ep), DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER);
}

CASE(ep_create_with_srq, receives_on_recv_evd)
{
        struct arguments with = arguments(t);
        DAT_EP_HANDLE ep = create(t, &with);
        struct peer_ep *end = expect_connect(ep);

        srq_post(t, with.srq, buf_with(t), MESSAGE, 3, 1);
        peer_send(end, .length = MESSAGE);
        DAT_DTO_COMPLETION_EVENT_DATA dto = expect_dto(with.recv_evd);
        expect_eq(dto.user_cookie.as_64, 3);
        expect_that(dto.ep_handle == ep, "the completion is of another EP");
        expect_quiet(with.request_evd);
}

static DAT_RMR_TRIPLET exposed(struct peer_ep *end)
{
        struct peer_memory memory = peer_expose(end, MESSAGE);

        return (DAT_RMR_TRIPLET){.rmr_context = memory.rmr_context,
                                 .target_address = memory.address,
                                 .segment_length = MESSAGE};
}

static const struct request {
        const char *id;
        enum { SEND, WRITE, READ } what;
} requests[] = {
    {"send", SEND},
    {"rdma_write", WRITE},
    {"rdma_read", READ},
};

FAMILY(ep_create_with_srq, requests_on_request_evd, requests)
{
        struct arguments with = arguments(t);
        DAT_DTO_COOKIE cookie = {.as_64 = 77};
        DAT_COMPLETION_FLAGS none = DAT_COMPLETION_DEFAULT_FLAG;
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);

        if (row->what == READ && with.param.ep_attr.max_rdma_read_out == 0)
                unsupported(t, "max_rdma_read_per_ep_out = 0");

        DAT_EP_HANDLE ep = create(t, &with);
        struct peer_ep *end = expect_connect(ep);
        DAT_RMR_TRIPLET remote = exposed(end);

        if (row->what == SEND)
                peer_post_recv(end, 1, MESSAGE);
        if (row->what == SEND)
                expect(dat_ep_post_send(ep, 1, &segment, cookie, none), DAT_SUCCESS);
        else if (row->what == WRITE)
                expect(dat_ep_post_rdma_write(ep, 1, &segment, cookie, &remote, none), DAT_SUCCESS);
        else
                expect(dat_ep_post_rdma_read(ep, 1, &segment, cookie, &remote, none), DAT_SUCCESS);
        expect_eq(expect_dto(with.request_evd).user_cookie.as_64, 77);
        expect_quiet(with.recv_evd);
}

CASE(ep_create_with_srq, reads_of_several_segments)
{
        struct arguments with = arguments(t);
        struct buf *buf = buf_with(t);
        DAT_LMR_TRIPLET segments[2] = {triplet(buf, 0, MESSAGE / 2),
                                       triplet(buf, MESSAGE / 2, MESSAGE / 2)};

        if (ia_attr(t)->max_iov_segments_per_rdma_read < 2 ||
            ia_attr(t)->max_rdma_read_per_ep_out < 2)
                unsupported(t, "max_iov_segments_per_rdma_read, max_rdma_read_per_ep_out: below 2");
        with.param.ep_attr.max_rdma_read_iov = 2;
        with.param.ep_attr.max_rdma_read_out = 2;
        DAT_EP_HANDLE ep = create(t, &with);
        DAT_RMR_TRIPLET remote = exposed(expect_connect(ep));

        for (int i = 0; i < 2; i++)
                expect(dat_ep_post_rdma_read(ep, 2, segments, (DAT_DTO_COOKIE){.as_64 = 0}, &remote,
                                             DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
        for (int i = 0; i < 2; i++)
                expect_dto(with.request_evd);
        expect_that(message_holds(buf->addr, MESSAGE, 0), "what was read came damaged");
}

CASE(ep_create_with_srq, reads_mismatch)
{
        struct arguments with = arguments(t);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        with.param.ep_attr.max_rdma_read_iov = 1;
        with.param.ep_attr.max_rdma_read_out = 0;
        DAT_RETURN answer = expect(call(&with, &ep), DAT_SUCCESS, DAT_INVALID_PARAMETER);

        if (dat_is(answer, DAT_SUCCESS))
                adopted(t, &with, ep);
}

CASE(ep_create_with_srq, bindings_on_request_evd)
{
        struct arguments with = arguments(t);

        with.request_evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);

        DAT_EP_HANDLE ep = create(t, &with);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);
        DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
        DAT_RMR_CONTEXT context;

        expect_connect(ep);
        must(dat_rmr_create(with.pz, &rmr));
        expect(dat_rmr_bind(rmr, &segment, DAT_MEM_PRIV_REMOTE_READ_FLAG, ep,
                            (DAT_RMR_COOKIE){.as_64 = 77}, DAT_COMPLETION_DEFAULT_FLAG, &context),
               DAT_SUCCESS);
        DAT_EVENT event = expect_event(with.request_evd, DAT_RMR_BIND_COMPLETION_EVENT);
        expect_eq(event.event_data.rmr_completion_event_data.user_cookie.as_64, 77);
        must(dat_rmr_free(rmr));
}

CASE(ep_create_with_srq, connection_events_on_connect_evd)
{
        struct arguments with = arguments(t);
        DAT_EP_HANDLE ep = create(t, &with);
        struct peer_ep *end = expect_connect(ep);

        peer_disconnect(end, DAT_CLOSE_ABRUPT_FLAG);
        DAT_EVENT event = expect_event(with.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        expect_that(event.event_data.connect_event_data.ep_handle == ep, "of another EP");
}

static const struct shared_flags {
        const char *id;
        bool request;
        DAT_COMPLETION_FLAGS first;
        DAT_COMPLETION_FLAGS second;
} same_flags[] = {
    {"default", false, DAT_COMPLETION_DEFAULT_FLAG, DAT_COMPLETION_DEFAULT_FLAG},
    {"unsignalled", false, DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_COMPLETION_UNSIGNALLED_FLAG},
    {"solicited_wait", false, DAT_COMPLETION_SOLICITED_WAIT_FLAG,
     DAT_COMPLETION_SOLICITED_WAIT_FLAG},
    {"threshold", false, DAT_COMPLETION_EVD_THRESHOLD_FLAG, DAT_COMPLETION_EVD_THRESHOLD_FLAG},
    {"requests_unsignalled", true, DAT_COMPLETION_UNSIGNALLED_FLAG,
     DAT_COMPLETION_UNSIGNALLED_FLAG},
};

FAMILY(ep_create_with_srq, same_flags_on_one_evd, same_flags)
{
        struct arguments with = arguments(t);

        set_flags(&with, row->request, row->first);
        create(t, &with);
        create(t, &with);
}

static const struct shared_flags mixed_flags[] = {
    {"solicited_wait_after_default", false, DAT_COMPLETION_DEFAULT_FLAG,
     DAT_COMPLETION_SOLICITED_WAIT_FLAG},
    {"default_after_solicited_wait", false, DAT_COMPLETION_SOLICITED_WAIT_FLAG,
     DAT_COMPLETION_DEFAULT_FLAG},
    {"threshold_after_solicited_wait", false, DAT_COMPLETION_SOLICITED_WAIT_FLAG,
     DAT_COMPLETION_EVD_THRESHOLD_FLAG},
    {"default_after_threshold", false, DAT_COMPLETION_EVD_THRESHOLD_FLAG,
     DAT_COMPLETION_DEFAULT_FLAG},
    {"requests_unsignalled_after_default", true, DAT_COMPLETION_DEFAULT_FLAG,
     DAT_COMPLETION_UNSIGNALLED_FLAG},
    {"requests_default_after_unsignalled", true, DAT_COMPLETION_UNSIGNALLED_FLAG,
     DAT_COMPLETION_DEFAULT_FLAG},
};

FAMILY(ep_create_with_srq, mixed_flags_on_one_evd, mixed_flags)
{
        struct arguments with = arguments(t);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        set_flags(&with, row->request, row->first);
        create(t, &with);
        set_flags(&with, row->request, row->second);

        DAT_RETURN ret = expect_or_note(call(&with, &ep), DAT_INVALID_PARAMETER, DAT_SUCCESS);
        if (dat_is(ret, DAT_SUCCESS))
                adopted(t, &with, ep);
}

FAMILY(ep_create_with_srq, solicited_waits_alone, no_evd)
{
        struct arguments with = arguments(t);
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG |
                                                  DAT_EVD_CONNECTION_FLAG);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        set_flags(&with, false, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
        with.recv_evd = evd;
        if (row->request)
                with.request_evd = evd;
        if (row->connect)
                with.connect_evd = evd;
        if (!row->request && !row->connect) {
                create(t, &with);
                return;
        }
        DAT_RETURN ret = expect_or_note(call(&with, &ep), DAT_INVALID_PARAMETER, DAT_SUCCESS);
        if (dat_is(ret, DAT_SUCCESS))
                adopted(t, &with, ep);
}

CASE(ep_create_with_srq, threshold_beside_other_streams)
{
        struct arguments with = arguments(t);

        with.recv_evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
        with.connect_evd = with.recv_evd;
        set_flags(&with, false, DAT_COMPLETION_EVD_THRESHOLD_FLAG);

        create(t, &with);
}

static const struct signals {
        const char *id;
        DAT_COMPLETION_FLAGS flags;
} signals[] = {
    {"default", DAT_COMPLETION_DEFAULT_FLAG},
    {"unsignalled", DAT_COMPLETION_UNSIGNALLED_FLAG},
};

FAMILY(ep_create_with_srq, receives_signal, signals)
{
        struct arguments with = arguments(t);

        set_flags(&with, false, row->flags);
        DAT_EP_HANDLE ep = create(t, &with);
        struct peer_ep *end = expect_connect(ep);

        srq_post(t, with.srq, buf_with(t), MESSAGE, 0, 1);
        peer_send(end, .length = MESSAGE);
        expect_dto(with.recv_evd);
}

/*
 * The Protection Zone
 */

CASE(ep_create_with_srq, pz_of_the_srq_only)
{
        struct arguments with = arguments(t);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        if (provider_attr(t)->srq_ep_pz_difference_supported)
                unsupported(t, "srq_ep_pz_difference_supported: PZs may differ");
        with.pz = pz_new(t);

        expect(call(&with, &ep), DAT_INVALID_PARAMETER);
}

CASE(ep_create_with_srq, pz_of_its_own)
{
        struct queue queue = queue_with(t, 8);
        struct arguments with = arguments(t);

        with.pz = pz_new(t);
        with.srq = queue.srq;
        DAT_EP_HANDLE ep = create(t, &with);
        struct flow flow = {
            .ep = ep, .evd = with.recv_evd, .end = expect_connect(ep), .length = MESSAGE};

        queue_post(t, &queue, 2);
        expect_traffic(t, &queue, &flow, 2);
}

CASE(ep_create_with_srq, pzs_of_several_eps)
{
        struct arguments with = arguments(t);

        for (int i = 0; i < 3; i++) {
                with.pz = pz_new(t);
                expect_that(described(t, create(t, &with)).pz_handle == with.pz, "another PZ");
        }
}

CASE(ep_create_with_srq, memory_of_another_pz)
{
        struct arguments with = arguments(t);
        DAT_EP_HANDLE ep = create(t, &with);
        struct peer_ep *end = expect_connect(ep);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t, .pz = pz_new(t)), 0, MESSAGE);
        DAT_RETURN ret;

        peer_post_recv(end, 1, MESSAGE);
        ret = expect(dat_ep_post_send(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0},
                                      DAT_COMPLETION_DEFAULT_FLAG),
                     DAT_PROTECTION_VIOLATION, DAT_INVALID_PARAMETER, DAT_SUCCESS);
        if (!dat_is(ret, DAT_SUCCESS))
                return;
        DAT_EVENT event = expect_event(with.request_evd, DAT_DTO_COMPLETION_EVENT);
        expect_eq(event.event_data.dto_completion_event_data.status, DAT_DTO_ERR_LOCAL_PROTECTION);
}

/*
 * The bond with the SRQ
 */

/* An EP of the queue after some of its life. */
static const struct life {
        const char *id;
        bool connected;
        bool disconnected;
        bool reset;
} lives[] = {
    {"unconnected", false, false, false},
    {"connected", true, false, false},
    {"disconnected", true, true, false},
    {"reset", true, true, true},
};

static DAT_EP_HANDLE live(struct test *t, DAT_SRQ_HANDLE srq, const struct life *life)
{
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq);

        if (!life->connected)
                return ep;
        struct peer_ep *end = must_connect(ep);
        if (!life->disconnected)
                return ep;
        peer_disconnect(end, DAT_CLOSE_ABRUPT_FLAG);
        must_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_DISCONNECTED);
        if (life->reset)
                expect(dat_ep_reset(ep), DAT_SUCCESS);
        return ep;
}

FAMILY(ep_create_with_srq, keeps_srq, lives)
{
        DAT_SRQ_HANDLE srq = srq_with(t);

        expect_that(described(t, live(t, srq, row)).srq_handle == srq, "the EP has another SRQ");
}

FAMILY(ep_create_with_srq, srq_in_use, lives)
{
        DAT_SRQ_HANDLE srq = srq_with(t);

        live(t, srq, row);

        expect_or_note(dat_srq_free(srq), DAT_INVALID_STATE, DAT_INVALID_HANDLE);
}

FAMILY(ep_create_with_srq, srq_free_after_ep, lives)
{
        DAT_SRQ_HANDLE srq = srq_with(t);

        release(t, live(t, srq, row));
        disown(t, srq);

        expect(dat_srq_free(srq), DAT_SUCCESS);
}

CASE(ep_create_with_srq, srq_serves_other_eps)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_EP_HANDLE ep = live(t, queue.srq, &lives[2]);

        queue_post(t, &queue, 3);
        release(t, ep);

        expect_traffic(t, &queue, &flow, 3);
}

FAMILY(ep_create_with_srq, not_replaced, lives)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_EP_PARAM other = {.srq_handle = srq_with(t)};
        DAT_EP_HANDLE ep = live(t, srq, row);

        expect(dat_ep_modify(ep, DAT_EP_FIELD_SRQ_HANDLE, &other), DAT_INVALID_PARAMETER,
               DAT_INVALID_STATE);
        expect_that(described(t, ep).srq_handle == srq, "the EP has another SRQ");
}

FAMILY(ep_create_with_srq, not_taken_away, lives)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_EP_PARAM none = {.srq_handle = DAT_HANDLE_NULL};
        DAT_EP_HANDLE ep = live(t, srq, row);

        expect(dat_ep_modify(ep, DAT_EP_FIELD_SRQ_HANDLE, &none), DAT_INVALID_PARAMETER,
               DAT_INVALID_STATE);
        expect_that(described(t, ep).srq_handle == srq, "the EP has lost its SRQ");
}

CASE(ep_create_with_srq, reset)
{
        DAT_EP_HANDLE ep = live(t, srq_with(t), &lives[3]);

        expect_eq(ep_state(t, ep), DAT_EP_STATE_UNCONNECTED);
}

CASE(ep_create_with_srq, receives_after_reset)
{
        struct queue queue = queue_with(t, 8);
        DAT_EP_HANDLE ep = live(t, queue.srq, &lives[3]);
        struct flow flow = {.ep = ep, .evd = ep_recv_evd(t, ep), .length = MESSAGE};

        flow.end = expect_connect(ep);
        queue_post(t, &queue, 2);
        expect_traffic(t, &queue, &flow, 2);
}

CASE(ep_create_with_srq, receives_of_its_srq)
{
        struct queue one = queue_with(t, 8);
        struct queue other = queue_with(t, 8);
        struct flow of_one = flow_open(t, &one, DAT_HANDLE_NULL);
        struct flow of_other = flow_open(t, &other, DAT_HANDLE_NULL);

        queue_post(t, &one, 2);
        queue_post(t, &other, 2);
        expect_traffic(t, &one, &of_one, 2);
        expect_traffic(t, &other, &of_other, 2);
}

FAMILY(ep_create_with_srq, no_receive_of_its_own, lives)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);
        DAT_EP_HANDLE ep = live(t, srq, row);
        DAT_RETURN ret = dat_ep_post_recv(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0},
                                          DAT_COMPLETION_DEFAULT_FLAG);

        expect_that(!dat_is(ret, DAT_SUCCESS), "the EP took a receive of its own");
        expect_that(!dat_is(ret, DAT_INTERNAL_ERROR), "an internal error (GEN-3)");
}

CASE(ep_create_with_srq, refused_receive_takes_no_message)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);

        (void)dat_ep_post_recv(flow.ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = SLOTS},
                               DAT_COMPLETION_DEFAULT_FLAG);
        queue_post(t, &queue, 2);
        expect_traffic(t, &queue, &flow, 2);
}

/*
 * Arguments
 */

#define HANDLE_ARGUMENT(name_, type_)                                              \
        {                                                                          \
#name_, offsetof(struct arguments, name_), DAT_HANDLE_TYPE_##type_ \
        }
#define OTHER_HANDLES HANDLE_ARGUMENT(ia, IA), HANDLE_ARGUMENT(pz, PZ), HANDLE_ARGUMENT(srq, SRQ)
#define EVD_HANDLES                                                        \
        HANDLE_ARGUMENT(recv_evd, EVD), HANDLE_ARGUMENT(request_evd, EVD), \
            HANDLE_ARGUMENT(connect_evd, EVD)

struct handle_argument {
        const char *id;
        size_t argument;
        DAT_HANDLE_TYPE type;
};

static const struct handle_argument never_null[] = {OTHER_HANDLES};
static const struct handle_argument all_handles[] = {OTHER_HANDLES, EVD_HANDLES};

static struct arguments with_bad(struct test *t, const struct handle_argument *row,
                                 enum bad_handle how)
{
        struct arguments with = arguments(t);
        DAT_HANDLE handle = bad_handle(t, row->type, how);

        memcpy((char *)&with + row->argument, &handle, sizeof(handle));
        return with;
}

FAMILY(ep_create_with_srq, null_handle, never_null)
{
        struct arguments with = with_bad(t, row, BAD_HANDLE_NULL);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        expect(call(&with, &ep), DAT_INVALID_HANDLE);
}

FAMILY(ep_create_with_srq, handle_of_other_kind, all_handles)
{
        struct arguments with = with_bad(t, row, BAD_HANDLE_OTHER_KIND);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        expect(call(&with, &ep), DAT_INVALID_HANDLE);
}

static const struct handle_argument of_an_ia[] = {
    HANDLE_ARGUMENT(pz, PZ),
    HANDLE_ARGUMENT(srq, SRQ),
    EVD_HANDLES,
};

FAMILY(ep_create_with_srq, handle_of_other_ia, of_an_ia)
{
        struct arguments with = with_bad(t, row, BAD_HANDLE_OTHER_IA);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        DAT_RETURN answer = call(&with, &ep);

        if (dat_is(answer, DAT_SUCCESS))
                adopt(t, DAT_HANDLE_TYPE_EP, ep);
        if (dat_is(answer, DAT_SUCCESS))
                note(t, "an EP was made with an object of another IA (GEN-12)");
        else
                expect(answer, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER);
}

static DAT_RETURN call_by(void *arg)
{
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        return call(arg, &ep);
}

FAMILY(ep_create_with_srq, destroyed_handle, all_handles)
{
        struct arguments with = with_bad(t, row, BAD_HANDLE_DESTROYED);
        DAT_RETURN answer;

        if (!call_apart(t, call_by, &with, &answer))
                note(t, "the call crashed");
        else if (row->type == DAT_HANDLE_TYPE_SRQ)
                expect_or_note(answer, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_STATE,
                               DAT_SUCCESS);
        else
                expect_or_note(answer, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
                               DAT_INVALID_STATE);
}

CASE(ep_create_with_srq, null_attributes)
{
        struct arguments with = arguments(t);
        DAT_RETURN answer;

        with.no_attr = true;
        if (call_apart(t, call_by, &with, &answer))
                expect(answer, DAT_INVALID_PARAMETER);
        else
                note(t, "the call crashed");
}

CASE(ep_create_with_srq, null_ep_handle)
{
        struct arguments with = arguments(t);
        DAT_RETURN answer;

        with.no_handle = true;
        if (call_apart(t, call_by, &with, &answer))
                expect_or_note(answer, DAT_INVALID_PARAMETER, DAT_INVALID_HANDLE, DAT_INVALID_STATE,
                               DAT_INVALID_ADDRESS);
        else
                record(t, "the call crashed, as it may with a null pointer (GEN-4)");
}
