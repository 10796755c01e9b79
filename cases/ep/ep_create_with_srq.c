/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_create_with_srq: what the EP is made with, and its bond with the SRQ. */
#include "clauses/ep_create_with_srq.h"
#include "cases/ep/shared/attributes.h"
#include "cases/srq/shared/queue.h"

#include <limits.h>
#include <string.h>

#define MET               3  /* rounds in which their calls met are enough */
#define THREADS           3  /* that make EPs at once */
#define MANY              16 /* EPs of one SRQ */
#define QUAL_FIRST        22000
#define QUALS             1000
#define LIMIT_OF_REFUSALS 64

/* What a connection gives an EP. */
#define BY_CONNECTION                                                        \
        (DAT_EP_FIELD_EP_STATE | DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR |         \
         DAT_EP_FIELD_LOCAL_PORT_QUAL | DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR | \
         DAT_EP_FIELD_REMOTE_PORT_QUAL)

/* The arguments of the call; what a case leaves out of them is whole and modest. */
struct arguments {
        DAT_IA_HANDLE ia;
        DAT_PZ_HANDLE pz;
        DAT_EVD_HANDLE recv_evd;
        DAT_EVD_HANDLE request_evd;
        DAT_EVD_HANDLE connect_evd;
        DAT_SRQ_HANDLE srq;
        DAT_EP_PARAM param; /* of which ep_attr is given */
};

static struct arguments arguments_of(struct test *t, DAT_IA_HANDLE of, DAT_PZ_HANDLE zone)
{
        const DAT_IA_ATTR *limits = ia_attr(t);
        struct arguments with = {
            .ia = of,
            .pz = zone,
            .recv_evd = evd_with(t, .ia = of),
            .request_evd = evd_with(t, .ia = of),
            .connect_evd = evd_with(t, .ia = of, .flags = DAT_EVD_CONNECTION_FLAG),
            .srq = srq_with(t, .ia = of, .pz = zone),
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

static struct arguments arguments(struct test *t)
{
        return arguments_of(t, ia(t), pz(t));
}

static DAT_RETURN call(const struct arguments *with, DAT_EP_HANDLE *ep)
{
        return dat_ep_create_with_srq(with->ia, with->pz, with->recv_evd, with->request_evd,
                                      with->connect_evd, with->srq, &with->param.ep_attr, ep);
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

/* An EP of the queue, by the call under test, and EVDs of its own. */
static DAT_EP_HANDLE create_on(struct test *t, DAT_SRQ_HANDLE srq)
{
        struct arguments with = arguments(t);

        with.srq = srq;
        return create(t, &with);
}

static struct flow flow_to(struct test *t, DAT_EP_HANDLE ep, struct peer_ep *end)
{
        return (struct flow){.ep = ep, .evd = ep_recv_evd(t, ep), .end = end, .length = MESSAGE};
}

static struct flow flow_made(struct test *t, const struct queue *queue)
{
        DAT_EP_HANDLE ep = create_on(t, queue->srq);

        return flow_to(t, ep, expect_connect(ep));
}

/*
 * What is made
 */

CASE(ep_create_with_srq, created)
{
        struct arguments with = arguments(t);

        described(t, create(t, &with));
}

/* The structure is the consumer's: neither a grant nor a refusal writes to it. */
CASE(ep_create_with_srq, attributes_kept)
{
        struct arguments with = arguments(t);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        DAT_EP_ATTR before = with.param.ep_attr;

        create(t, &with);
        expect_that(ep_attr_same(&before, &with.param.ep_attr),
                    "the attributes that were asked for are written");
        before.max_recv_dtos = with.param.ep_attr.max_recv_dtos = -1;
        expect(call(&with, &ep), DAT_INVALID_PARAMETER);
        expect_that(ep_attr_same(&before, &with.param.ep_attr),
                    "the attributes that were refused are written");
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

/* Of two EPs that differ in all that is shown; the older one is asked too. */
FAMILY(ep_create_with_srq, shows, shown)
{
        DAT_IA_HANDLE other = other_ia(t);
        struct arguments with[2] = {arguments(t), arguments_of(t, other, pz_of(t, other))};
        DAT_EP_HANDLE eps[2] = {create(t, &with[0]), create(t, &with[1])};

        for (int i = 0; i < 2; i++) {
                DAT_EP_PARAM param = described(t, eps[i]);

                expect_that(handle_at(&param, row->member) == handle_at(&with[i], row->argument),
                            "%s of EP %d is not the one that was given", row->id, i);
        }
}

static struct peer_ep *connect_active(struct test *t, DAT_EP_HANDLE ep)
{
        return expect_connect(ep);
}

static struct peer_ep *connect_like_another(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EP_HANDLE other = ep_with(t);

        must_connect(other);
        return peer_connect_like(peer(t), ep, other);
}

/* A service point for the EP, or for null one whose requests have none. */
static DAT_CONN_QUAL listen_with(struct test *t, DAT_EP_HANDLE ep, DAT_EVD_HANDLE evd)
{
        uint64_t first = draw(t, QUALS);
        DAT_RETURN ret = DAT_CONN_QUAL_IN_USE;
        DAT_HANDLE point = DAT_HANDLE_NULL;
        DAT_CONN_QUAL qual = 0;

        for (uint64_t i = 0; i < QUALS && dat_is(ret, DAT_CONN_QUAL_IN_USE); i++) {
                qual = QUAL_FIRST + (first + i) % QUALS;
                ret = ep ? dat_rsp_create(ia(t), qual, ep, evd, &point)
                         : dat_psp_create(ia(t), qual, evd, DAT_PSP_CONSUMER_FLAG, &point);
        }
        expect(ret, DAT_SUCCESS);
        adopt(t, ep ? DAT_HANDLE_TYPE_RSP : DAT_HANDLE_TYPE_PSP, point);
        return qual;
}

static struct peer_ep *accept_with(struct test *t, DAT_EP_HANDLE ep, bool reserved)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = 8, .flags = DAT_EVD_CR_FLAG);
        struct peer_ep *end =
            peer_request(peer(t), listen_with(t, reserved ? ep : DAT_HANDLE_NULL, evd));
        DAT_EVENT event = must_event(evd, DAT_CONNECTION_REQUEST_EVENT);

        expect(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
                             reserved ? DAT_HANDLE_NULL : ep, 0, NULL),
               DAT_SUCCESS);
        expect_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_ESTABLISHED);
        peer_wait_connected(end);
        return end;
}

static struct peer_ep *connect_reserved(struct test *t, DAT_EP_HANDLE ep)
{
        return accept_with(t, ep, true);
}

static struct peer_ep *connect_accepting(struct test *t, DAT_EP_HANDLE ep)
{
        return accept_with(t, ep, false);
}

static const struct connecting {
        const char *id;
        struct peer_ep *(*connect)(struct test *t, DAT_EP_HANDLE ep);
} connecting[] = {
    {"active", connect_active},
    {"like_another", connect_like_another},
    {"reserved", connect_reserved},
    {"accepting", connect_accepting},
};

FAMILY(ep_create_with_srq, connects, connecting)
{
        struct queue queue = queue_with(t, 8);
        DAT_EP_HANDLE ep = create_on(t, queue.srq);
        struct flow flow = flow_to(t, ep, row->connect(t, ep));

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

CASE(ep_create_with_srq, evds_of_several_eps)
{
        struct queue queue = queue_with(t, 8);
        struct flow flows[3];

        for (int i = 0; i < 3; i++)
                flows[i] = flow_made(t, &queue);
        queue_post(t, &queue, 6);
        for (int i = 0; i < 3; i++)
                expect_traffic(t, &queue, &flows[i], 2);
        for (int i = 0; i < 3; i++)
                expect_quiet(flows[i].evd);
}

/* Where they report to one EVD, each completion names the EP that the message was for. */
CASE(ep_create_with_srq, evd_of_several_eps)
{
        struct arguments with = arguments(t);
        struct peer_ep *ends[2];
        DAT_EP_HANDLE eps[2];

        for (int i = 0; i < 2; i++)
                eps[i] = create(t, &with);
        srq_post(t, with.srq, buf_with(t), MESSAGE, 0, 2);
        for (int i = 0; i < 2; i++)
                ends[i] = expect_connect(eps[i]);
        for (int i = 1; i >= 0; i--) {
                peer_send(ends[i], .length = MESSAGE);
                expect_that(expect_dto(with.recv_evd).ep_handle == eps[i],
                            "a completion names another EP");
        }
}

CASE(ep_create_with_srq, receives_wait_already)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow;

        queue_post(t, &queue, 4);
        flow = flow_made(t, &queue);
        expect_traffic(t, &queue, &flow, 4);
}

/*
 * Attributes
 */

#define EXACT_NUMBERS                                                        \
        EP_NUMBER(max_recv_dtos, max_dto_per_ep, 5),                         \
            EP_NUMBER(max_message_size, max_message_size, 5000),             \
            EP_NUMBER(max_rdma_size, max_rdma_size, 6000),                   \
            EP_NUMBER(max_rdma_read_in, max_rdma_read_per_ep_in, 2),         \
            EP_NUMBER(max_rdma_read_out, max_rdma_read_per_ep_out, 3),       \
            EP_NUMBER(max_rdma_read_iov, max_iov_segments_per_rdma_read, 2), \
            EP_NUMBER(max_rdma_write_iov, max_iov_segments_per_rdma_write, 2)
#define LEAST_NUMBERS                                   \
        EP_NUMBER(max_request_dtos, max_dto_per_ep, 5), \
            EP_NUMBER(max_request_iov, max_iov_segments_per_dto, 3)

static const struct ep_number exact[] = {EXACT_NUMBERS};
static const struct ep_number at_least[] = {LEAST_NUMBERS};
static const struct ep_number numbers[] = {EXACT_NUMBERS, LEAST_NUMBERS};

/* The arguments with another value for this attribute. */
static struct arguments asking(struct test *t, const struct ep_number *number, uint64_t value)
{
        struct arguments with = arguments(t);

        ep_value_set(&with.param, &number->parameter, value);
        return with;
}

static uint64_t within_limit(struct test *t, const struct ep_number *number)
{
        uint64_t limit = ep_limit_of(t, number);

        return number->asked < limit ? number->asked : limit;
}

static uint64_t value_of(struct test *t, DAT_EP_HANDLE ep, const struct ep_number *number)
{
        DAT_EP_PARAM param = described(t, ep);

        return ep_value(&param, &number->parameter);
}

/* Another EP, made later, has another value. */
FAMILY(ep_create_with_srq, exact, exact)
{
        uint64_t asked[2] = {within_limit(t, row), 1};
        struct arguments with[2] = {asking(t, row, asked[0]), asking(t, row, asked[1])};
        DAT_EP_HANDLE eps[2];

        if (ep_limit_of(t, row) == 0)
                asked[1] = 0;
        ep_value_set(&with[1].param, &row->parameter, asked[1]);
        for (int i = 0; i < 2; i++)
                eps[i] = create(t, &with[i]);
        for (int i = 0; i < 2; i++)
                expect_eq(value_of(t, eps[i], row), asked[i]);
}

CASE(ep_create_with_srq, exact_together)
{
        struct arguments with = arguments(t);
        DAT_EP_HANDLE ep;

        for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
                ep_value_set(&with.param, &numbers[i].parameter, within_limit(t, &numbers[i]));
        ep = create(t, &with);
        create_on(t, srq_with(t));
        for (size_t i = 0; i < sizeof(exact) / sizeof(exact[0]); i++)
                expect_eq(value_of(t, ep, &exact[i]), within_limit(t, &exact[i]));
        for (size_t i = 0; i < sizeof(at_least) / sizeof(at_least[0]); i++)
                expect_that(value_of(t, ep, &at_least[i]) >= within_limit(t, &at_least[i]),
                            "%s is less than was asked for", at_least[i].id);
}

/* What the EP was made for goes through it. */
CASE(ep_create_with_srq, greatest_message)
{
        struct arguments with = arguments(t);
        size_t length = (size_t)with.param.ep_attr.max_message_size;
        struct buf *buf = buf_with(t, .length = 2 * length);
        DAT_LMR_TRIPLET segment = triplet(buf, length, length);
        DAT_EP_HANDLE ep = create(t, &with);
        struct peer_ep *end = expect_connect(ep);

        srq_post(t, with.srq, buf, length, 0, 1);
        peer_send(end, .length = length);
        expect_eq(expect_dto(with.recv_evd).transfered_length, length);
        expect_that(message_holds(buf->addr, length, 0), "the message came damaged");

        message_fill(buf->addr + length, length, 1);
        peer_post_recv(end, 1, length);
        expect(dat_ep_post_send(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0},
                                DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        expect_dto(with.request_evd);
        peer_wait_recv(end, 1, length);
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

static void set_flags(struct arguments *with, bool request, DAT_COMPLETION_FLAGS value)
{
        if (request)
                with->param.ep_attr.request_completion_flags = value;
        else
                with->param.ep_attr.recv_completion_flags = value;
}

FAMILY(ep_create_with_srq, exact_flags, ep_flags)
{
        struct arguments with = arguments(t);

        set_flags(&with, row->request, row->flags);

        DAT_EP_ATTR attr = described(t, create(t, &with)).ep_attr;
        expect_eq(row->request ? attr.request_completion_flags : attr.recv_completion_flags,
                  row->flags);
}

FAMILY(ep_create_with_srq, exact_flag_pairs, ep_flag_pairs)
{
        struct arguments with = arguments(t);
        DAT_EP_ATTR attr;

        set_flags(&with, false, row->recv);
        set_flags(&with, true, row->request);

        attr = described(t, create(t, &with)).ep_attr;
        expect_eq(attr.recv_completion_flags, row->recv);
        expect_eq(attr.request_completion_flags, row->request);
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

/* Of two receives that stand unreaped one is above a mark of 1, where such are counted (EP-43). */
static void exceed(struct test *t, struct queue *queue, struct flow *flow)
{
        queue_post(t, queue, 2);
        flow_deliver(t, flow, 2);
}

CASE(ep_create_with_srq, soft_watermark_raises)
{
        struct arguments with = arguments(t);
        struct queue queue = queue_with(t, 8);
        struct flow set = flow_made(t, &queue);

        must(dat_ep_set_watermark(set.ep, 1, DAT_WATERMARK_INFINITE));
        exceed(t, &queue, &set);
        if (!drain_async_event(t))
                end_noted(t, "no event with 2 receives unreaped above a mark of 1 (EP-43)");

        with.srq = queue.srq;
        with.param.ep_attr.srq_soft_hw = 1;
        DAT_EP_HANDLE ep = create(t, &with);
        struct flow flow = flow_to(t, ep, expect_connect(ep));
        exceed(t, &queue, &flow);
        expect_async_event(ep);
        expect_quiet(async_evd(t));
        expect_messages(t, &queue, &flow, 2);
}

FAMILY(ep_create_with_srq, at_ia_limit, numbers)
{
        uint64_t limit = ep_limit_of(t, row);
        struct arguments with = asking(t, row, limit);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        DAT_RETURN ret = expect(call(&with, &ep), DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);

        if (dat_is(ret, DAT_INSUFFICIENT_RESOURCES))
                resource(t, "no resources for %s at the IA's limit", row->id);
        uint64_t has = value_of(t, adopted(t, &with, ep), row);
        expect_that(has >= limit, "%llu asked for, %llu queried", (unsigned long long)limit,
                    (unsigned long long)has);
}

/* Refused; or granted, and then all of it, with a note. Of one number the page names the return. */
static void expect_beyond(struct test *t, const struct ep_number *row, uint64_t value)
{
        struct arguments with = asking(t, row, value);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        DAT_RETURN ret = call(&with, &ep);

        if (row->limit == offsetof(DAT_IA_ATTR, max_iov_segments_per_rdma_read)) {
                expect(ret, DAT_INVALID_PARAMETER);
                return;
        }
        expect(ret, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS);
        if (!dat_is(ret, DAT_SUCCESS))
                return;
        uint64_t has = value_of(t, adopted(t, &with, ep), row);
        expect_that(has >= value, "%llu asked for and granted, %llu queried",
                    (unsigned long long)value, (unsigned long long)has);
        note(t, "%llu granted, above the IA's own limit (EP-29)", (unsigned long long)value);
}

FAMILY(ep_create_with_srq, above_ia_limit, numbers)
{
        uint64_t limit = ep_limit_of(t, row);

        if (limit == ep_greatest(row))
                unsupported(t, "the IA's limit: no number is above it");
        expect_beyond(t, row, limit + 1);
}

FAMILY(ep_create_with_srq, far_above_ia_limit, numbers)
{
        if (ep_limit_of(t, row) == ep_greatest(row))
                unsupported(t, "the IA's limit: no number is above it");
        expect_beyond(t, row, ep_greatest(row));
}

static const struct ep_number counts[] = {
    EP_NUMBER(max_recv_dtos, max_dto_per_ep, 0),
    EP_NUMBER(max_request_dtos, max_dto_per_ep, 0),
    EP_NUMBER(max_request_iov, max_iov_segments_per_dto, 0),
    EP_NUMBER(max_rdma_read_in, max_rdma_read_per_ep_in, 0),
    EP_NUMBER(max_rdma_read_out, max_rdma_read_per_ep_out, 0),
    EP_NUMBER(max_rdma_read_iov, max_iov_segments_per_rdma_read, 0),
    EP_NUMBER(max_rdma_write_iov, max_iov_segments_per_rdma_write, 0),
};

FAMILY(ep_create_with_srq, negative, counts)
{
        struct arguments with = asking(t, row, (uint64_t)-1);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        expect(call(&with, &ep), DAT_INVALID_PARAMETER);
}

FAMILY(ep_create_with_srq, wrong, ep_wrong)
{
        struct arguments with = arguments(t);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        ep_value_set(&with.param, &row->parameter, row->value);

        expect_or_note(call(&with, &ep), DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED);
}

FAMILY(ep_create_with_srq, flags_of_postings, ep_posting_flags)
{
        struct arguments with = arguments(t);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        set_flags(&with, true, row->flags);
        DAT_RETURN ret = expect_or_note(call(&with, &ep), DAT_INVALID_PARAMETER,
                                        DAT_MODEL_NOT_SUPPORTED, DAT_SUCCESS);

        if (dat_is(ret, DAT_SUCCESS))
                expect_eq(described(t, adopted(t, &with, ep)).ep_attr.request_completion_flags,
                          row->flags);
}

static DAT_NAMED_ATTR invented = {.name = "udapl-cts: no attribute", .value = "of any provider"};

/* Which attributes there are, only the provider knows: none of them is by this name. */
FAMILY(ep_create_with_srq, named, ep_named)
{
        struct arguments with = arguments(t);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        with.param.ep_attr.ep_transport_specific_count = row->transport;
        with.param.ep_attr.ep_transport_specific = &invented;
        with.param.ep_attr.ep_provider_specific_count = row->provider;
        with.param.ep_attr.ep_provider_specific = &invented;

        expect_or_note(call(&with, &ep), DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED);
}

CASE(ep_create_with_srq, no_named_read)
{
        struct arguments with = arguments(t);

        /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
        DAT_NAMED_ATTR *nowhere = (DAT_NAMED_ATTR *)(uintptr_t)0x5a5;

        with.param.ep_attr.ep_transport_specific = nowhere;
        with.param.ep_attr.ep_provider_specific = nowhere;

        described(t, create(t, &with));
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

/* The peer has no receive for them yet, so that all are under way. */
CASE(ep_create_with_srq, request_room)
{
        struct arguments with = asking(t, &at_least[0], 5);
        DAT_EP_HANDLE ep = create(t, &with);
        struct peer_ep *end = expect_connect(ep);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);

        for (uint64_t i = 0; i < 5; i++)
                expect(dat_ep_post_send(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = i},
                                        DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
        peer_post_recv(end, 5, MESSAGE);
        for (uint64_t i = 0; i < 5; i++)
                expect_eq(expect_dto(with.request_evd).user_cookie.as_64, i);
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

CASE(ep_create_with_srq, all_kept_by_connection)
{
        struct arguments with = arguments(t);
        DAT_EP_HANDLE ep;

        for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
                ep_value_set(&with.param, &numbers[i].parameter, within_limit(t, &numbers[i]));
        ep = create(t, &with);

        struct ep_snapshot made = ep_snapshot(t, ep);
        peer_reads(peer(t), 3);
        expect_connect(ep);
        expect_ep_kept(t, ep, &made, BY_CONNECTION);
        expect_eq(described(t, ep).ep_attr.srq_soft_hw, DAT_HW_DEFAULT);
}

/*
 * EVDs
 */

FAMILY(ep_create_with_srq, null_evd, ep_no_evd)
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

        srq_post(t, with.srq, buf, MESSAGE, 0, 8);
        peer_send(end, .count = 8, .length = MESSAGE);
        peer_wait_sent(end);
        expect_quiet(with.request_evd);
        for (uint64_t i = 0; i < 8; i++) {
                uint64_t found = 0;

                for (size_t slot = 0; slot < 8; slot++)
                        found += message_holds(buf->addr + slot * MESSAGE, MESSAGE, i);
                expect_that(found == 1, "message %llu is in %llu receives", (unsigned long long)i,
                            (unsigned long long)found);
        }
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
    {"recv_of_software", offsetof(struct arguments, recv_evd), DAT_EVD_SOFTWARE_FLAG},
    {"request_of_software", offsetof(struct arguments, request_evd), DAT_EVD_SOFTWARE_FLAG},
    {"connect_of_requests", offsetof(struct arguments, connect_evd), DAT_EVD_CR_FLAG},
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
        struct buf *buf = buf_with(t);
        DAT_LMR_TRIPLET segment = triplet(buf, 0, MESSAGE);

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
        expect_that(row->what != READ || message_holds(buf->addr, MESSAGE, 0),
                    "what was read came damaged");
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

static const struct mismatch {
        const char *id;
        DAT_COUNT iov;
        DAT_COUNT out;
} mismatches[] = {
    {"segments_without_reads", 1, 0},
    {"reads_without_segments", 0, 1},
};

FAMILY(ep_create_with_srq, mismatch, mismatches)
{
        struct arguments with = arguments(t);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        if (with.param.ep_attr.max_rdma_read_out == 0)
                unsupported(t, "max_rdma_read_per_ep_out = 0");
        with.param.ep_attr.max_rdma_read_iov = row->iov;
        with.param.ep_attr.max_rdma_read_out = row->out;
        DAT_RETURN answer = expect(call(&with, &ep), DAT_SUCCESS, DAT_INVALID_PARAMETER);

        if (!dat_is(answer, DAT_SUCCESS))
                return;
        DAT_EP_ATTR attr = described(t, adopted(t, &with, ep)).ep_attr;
        expect_eq(attr.max_rdma_read_iov, row->iov);
        expect_eq(attr.max_rdma_read_out, row->out);
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

FAMILY(ep_create_with_srq, same_flags_on_one_evd, ep_same_flags)
{
        struct arguments with = arguments(t);

        set_flags(&with, row->request, row->first);
        create(t, &with);
        create(t, &with);
}

FAMILY(ep_create_with_srq, both_streams_on_one_evd, ep_both_streams)
{
        struct arguments with = arguments(t);

        set_flags(&with, false, row->flags);
        set_flags(&with, true, row->flags);
        with.request_evd = with.recv_evd;
        DAT_EP_HANDLE ep = create(t, &with);
        struct peer_ep *end = expect_connect(ep);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);

        srq_post(t, with.srq, buf_with(t), MESSAGE, 3, 1);
        peer_post_recv(end, 1, MESSAGE);
        peer_send(end, .length = MESSAGE);
        expect_eq(expect_dto(with.recv_evd).user_cookie.as_64, 3);
        expect(dat_ep_post_send(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 77},
                                DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        expect_eq(expect_dto(with.recv_evd).user_cookie.as_64, 77);
}

FAMILY(ep_create_with_srq, mixed_flags_on_one_evd, ep_mixed_flags)
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

FAMILY(ep_create_with_srq, solicited_waits_alone, ep_no_evd)
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

static const struct ep_signals signals[] = {
    {"default", DAT_COMPLETION_DEFAULT_FLAG},
    {"unsignalled", DAT_COMPLETION_UNSIGNALLED_FLAG},
    {"threshold", DAT_COMPLETION_EVD_THRESHOLD_FLAG},
};

FAMILY(ep_create_with_srq, receives_signal, signals)
{
        struct arguments with = arguments(t);
        struct waiter *waiter;
        struct woken woken;

        set_flags(&with, false, row->flags);
        DAT_EP_HANDLE ep = create(t, &with);
        struct peer_ep *end = expect_connect(ep);

        srq_post(t, with.srq, buf_with(t), MESSAGE, 3, 1);
        waiter = wait_on_evd(t, with.recv_evd, DAT_TIMEOUT_INFINITE, 1);
        must_wait(waiter);
        peer_send(end, .length = MESSAGE);
        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_eq(woken.event.event_number, DAT_DTO_COMPLETION_EVENT);
        expect_eq(woken.event.event_data.dto_completion_event_data.user_cookie.as_64, 3);
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

/* Whether the peer can read this memory over a connection of the EP. */
static bool readable(struct test *t, struct peer_ep *end, const struct buf *buf)
{
        (void)t;
        message_fill(buf->addr, MESSAGE, 0);
        return peer_read(end, buf->rmr_context, (DAT_VADDR)(uintptr_t)buf->addr, MESSAGE);
}

/* An EP of this zone that lets its peer read, connected. */
static struct peer_ep *read_by_peer(struct test *t, DAT_PZ_HANDLE zone, DAT_PZ_HANDLE of_srq)
{
        struct arguments with = arguments(t);

        if (ia_attr(t)->max_rdma_read_per_ep_in < 1)
                unsupported(t, "max_rdma_read_per_ep_in = 0");
        with.pz = zone;
        with.srq = srq_with(t, .pz = of_srq);
        with.param.ep_attr.max_rdma_read_in = 1;
        peer_reads(peer(t), 1);
        return expect_connect(create(t, &with));
}

CASE(ep_create_with_srq, rdma_to_its_pz)
{
        struct peer_ep *end = read_by_peer(t, pz(t), pz(t));

        expect_that(readable(t, end, buf_with(t)), "memory of the EP's zone was not read");
}

CASE(ep_create_with_srq, rdma_to_another_pz)
{
        struct buf *buf = buf_with(t, .pz = pz_new(t));
        struct peer_ep *end = read_by_peer(t, pz(t), pz(t));

        expect_that(!readable(t, end, buf), "memory of another zone was read");
}

CASE(ep_create_with_srq, rdma_to_its_own_pz)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct buf *buf = buf_with(t, .pz = zone);

        expect_that(readable(t, read_by_peer(t, zone, pz(t)), buf),
                    "memory of the EP's zone was not read");
}

CASE(ep_create_with_srq, rdma_to_pz_of_the_srq)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct buf *buf = buf_with(t);

        expect_that(!readable(t, read_by_peer(t, zone, pz(t)), buf),
                    "memory of the SRQ's zone was read over an EP of another one");
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

static struct flow live(struct test *t, const struct queue *queue, const struct life *life)
{
        DAT_EP_HANDLE ep = create_on(t, queue->srq);
        struct flow flow = flow_to(t, ep, NULL);

        if (!life->connected)
                return flow;
        flow.end = expect_connect(ep);
        if (!life->disconnected)
                return flow;
        flow_break(t, &flow);
        if (life->reset)
                expect(dat_ep_reset(ep), DAT_SUCCESS);
        return flow;
}

/* The EP, connected where it is not, receives through its SRQ; from Disconnected, after a reset. */
static void expect_receives(struct test *t, struct queue *queue, struct flow *flow,
                            const struct life *life)
{
        if (life->disconnected && !life->reset)
                expect(dat_ep_reset(flow->ep), DAT_SUCCESS);
        if (!life->connected || life->disconnected)
                flow->end = expect_connect(flow->ep);
        queue_post(t, queue, 2);
        expect_traffic(t, queue, flow, 2);
}

FAMILY(ep_create_with_srq, keeps_srq, lives)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = live(t, &queue, row);

        expect_that(described(t, flow.ep).srq_handle == queue.srq, "the EP has another SRQ");
        expect_receives(t, &queue, &flow, row);
}

FAMILY(ep_create_with_srq, srq_in_use, lives)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = live(t, &queue, row);
        DAT_RETURN ret = dat_srq_free(queue.srq);

        if (dat_is(ret, DAT_INVALID_HANDLE) && DAT_GET_SUBTYPE(ret) == DAT_INVALID_STATE_SRQ_IN_USE)
                note(t, "DAT_INVALID_HANDLE, whose subtype says that the SRQ is in use (SRQ-1)");
        else
                expect(ret, DAT_INVALID_STATE);
        expect_receives(t, &queue, &flow, row);
}

FAMILY(ep_create_with_srq, srq_free_after_ep, lives)
{
        struct queue queue = queue_with(t, 8);

        release(t, live(t, &queue, row).ep);
        disown(t, queue.srq);

        expect(dat_srq_free(queue.srq), DAT_SUCCESS);
}

FAMILY(ep_create_with_srq, srq_serves_others_after, lives)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_made(t, &queue);
        struct flow gone = live(t, &queue, row);

        queue_post(t, &queue, 3);
        release(t, gone.ep);

        expect_traffic(t, &queue, &flow, 3);
}

/* Asks for the SRQ of an EP to be another, or none; fields of no mask are poison. */
static void expect_srq_kept(struct test *t, const struct life *life, struct queue *other)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = live(t, &queue, life);
        DAT_EP_PARAM asked;

        memset(&asked, 0x5a, sizeof(asked));
        asked.srq_handle = other ? other->srq : DAT_HANDLE_NULL;

        expect_or_note(dat_ep_modify(flow.ep, DAT_EP_FIELD_SRQ_HANDLE, &asked),
                       DAT_INVALID_PARAMETER, DAT_INVALID_STATE);
        expect_that(described(t, flow.ep).srq_handle == queue.srq, "the EP has not its SRQ");
        if (other)
                queue_post(t, other, 2);
        expect_receives(t, &queue, &flow, life);
}

FAMILY(ep_create_with_srq, not_replaced, lives)
{
        struct queue other = queue_with(t, 8);

        expect_srq_kept(t, row, &other);
}

FAMILY(ep_create_with_srq, not_taken_away, lives)
{
        expect_srq_kept(t, row, NULL);
}

CASE(ep_create_with_srq, reset)
{
        struct queue queue = queue_with(t, 8);

        expect_eq(ep_state(t, live(t, &queue, &lives[3]).ep), DAT_EP_STATE_UNCONNECTED);
}

CASE(ep_create_with_srq, receives_after_reset)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = live(t, &queue, &lives[3]);

        flow.end = expect_connect(flow.ep);
        queue_post(t, &queue, 2);
        expect_traffic(t, &queue, &flow, 2);
}

CASE(ep_create_with_srq, receives_of_its_srq)
{
        struct queue one = queue_with(t, 8);
        struct queue other = queue_with(t, 8);
        struct flow of_one = flow_made(t, &one);
        struct flow of_other = flow_made(t, &other);

        queue_post(t, &one, 2);
        queue_post(t, &other, 2);
        expect_traffic(t, &one, &of_one, 2);
        expect_traffic(t, &other, &of_other, 2);
}

FAMILY(ep_create_with_srq, no_receive_of_its_own, lives)
{
        struct queue queue = queue_with(t, 8);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);
        struct flow flow = live(t, &queue, row);

        for (DAT_COUNT segments = 0; segments < 2; segments++) {
                DAT_RETURN ret =
                    dat_ep_post_recv(flow.ep, segments, segments ? &segment : NULL,
                                     (DAT_DTO_COOKIE){.as_64 = SLOTS}, DAT_COMPLETION_DEFAULT_FLAG);

                expect_that(!dat_is(ret, DAT_SUCCESS), "the EP took a receive of its own");
                expect_that(!dat_is(ret, DAT_INTERNAL_ERROR), "an internal error (GEN-3)");
        }
}

/* What an EP's own queue has room for, and more: none of it is taken, counted or filled. */
FAMILY(ep_create_with_srq, after_refused_receives, lives)
{
        struct queue queue = queue_with(t, 8);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);
        struct flow flow = live(t, &queue, row);

        for (int i = 0; i < LIMIT_OF_REFUSALS; i++)
                (void)dat_ep_post_recv(flow.ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = SLOTS},
                                       DAT_COMPLETION_DEFAULT_FLAG);
        expect_receives(t, &queue, &flow, row);
        expect_quiet(flow.evd);
        expect_room(t, &queue, srq_size(t, queue.srq));
}

/*
 * Arguments
 */

/* A call that is refused for one of its arguments. */
static void ask_negative(struct test *t, struct arguments *with)
{
        (void)t;
        with->param.ep_attr.max_request_dtos = -1;
}

static void ask_too_many(struct test *t, struct arguments *with)
{
        with->param.ep_attr.max_rdma_read_iov = ia_attr(t)->max_iov_segments_per_rdma_read + 1;
}

static void ask_unknown_flag(struct test *t, struct arguments *with)
{
        (void)t;
        with->param.ep_attr.recv_completion_flags = (DAT_COMPLETION_FLAGS)(1U << 20);
}

static void ask_other_stream(struct test *t, struct arguments *with)
{
        (void)t;
        with->recv_evd = with->connect_evd;
}

static void ask_bad_evd(struct test *t, struct arguments *with)
{
        (void)t;
        with->connect_evd = with->pz;
}

static const struct refusal {
        const char *id;
        void (*spoil)(struct test *t, struct arguments *with);
} refusals[] = {
    {"negative", ask_negative},          {"too_many", ask_too_many},
    {"unknown_flag", ask_unknown_flag},  {"other_stream", ask_other_stream},
    {"connect_evd_no_evd", ask_bad_evd},
};

/* The next EP has what it asks for; when it is gone, nothing uses what the refused ones named. */
FAMILY(ep_create_with_srq, after_refusals, refusals)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct arguments good = arguments_of(t, ia(t), zone);
        DAT_HANDLE named[4] = {good.srq, good.recv_evd, good.request_evd, good.connect_evd};
        struct arguments bad = good;

        row->spoil(t, &bad);
        for (int i = 0; i < LIMIT_OF_REFUSALS; i++) {
                DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

                if (dat_is(call(&bad, &ep), DAT_SUCCESS)) {
                        adopted(t, &bad, ep);
                        end_noted(t, "granted: there is nothing to see after a refusal");
                }
        }
        DAT_EP_HANDLE ep = create(t, &good);
        expect_eq(described(t, ep).ep_state, DAT_EP_STATE_UNCONNECTED);
        release(t, ep);

        for (int i = 0; i < 4; i++)
                disown(t, named[i]);
        disown(t, zone);
        expect(dat_srq_free(good.srq), DAT_SUCCESS);
        expect(dat_evd_free(good.recv_evd), DAT_SUCCESS);
        expect(dat_evd_free(good.request_evd), DAT_SUCCESS);
        expect(dat_evd_free(good.connect_evd), DAT_SUCCESS);
        expect(dat_pz_free(zone), DAT_SUCCESS);
}

static const struct one_more {
        const char *id;
        bool connected; /* an EP of the SRQ is connected before */
        bool refused;
} one_more[] = {
    {"first", false, false},
    {"second", true, false},
    {"first_refused", false, true},
    {"second_refused", true, true},
};

/* The SRQ keeps its mark armed, its receives and its places. */
FAMILY(ep_create_with_srq, leaves_srq, one_more)
{
        struct armed armed = row->connected ? armed_with(t, 4, 4) : queue_armed(t, 4, 4);
        DAT_SRQ_PARAM before = srq_param(t, armed.queue.srq);
        struct arguments with = arguments(t);
        DAT_EP_HANDLE none = DAT_HANDLE_NULL;

        expect_that(before.max_recv_dtos >= 8, "an SRQ made for 8 receives has %d",
                    before.max_recv_dtos);
        with.srq = armed.queue.srq;
        if (row->refused) {
                with.param.ep_attr.max_request_dtos = -1;
                expect(call(&with, &none), DAT_INVALID_PARAMETER);
        } else {
                create(t, &with);
        }
        expect_quiet(async_evd(t));
        expect_kept(t, armed.queue.srq, &before);

        if (!row->connected)
                armed.flow = flow_open(t, &armed.queue, DAT_HANDLE_NULL);
        flow_deliver(t, &armed.flow, 1);
        expect_mark_event(t, &armed);
        expect_quiet(async_evd(t));
        expect_messages(t, &armed.queue, &armed.flow, 1);
        expect_room(t, &armed.queue, before.max_recv_dtos - 3);
}

/* A call that a thread makes, beside others. */
struct creation {
        struct arguments with;
        DAT_EP_HANDLE ep;
};

static DAT_RETURN create_by(void *arg)
{
        struct creation *creation = arg;

        return call(&creation->with, &creation->ep);
}

/* EVDs, zone and SRQ are the same for all. */
CASE(ep_create_with_srq, any_thread, DEADLINE_MS(20000))
{
        struct arguments with = arguments(t);
        struct stress stress = stress_of(t, 3000);

        while (stress.met < MET && stress_round(&stress)) {
                struct creation creations[THREADS];
                struct racer racers[THREADS];

                for (int i = 0; i < THREADS; i++) {
                        creations[i] = (struct creation){.with = with};
                        creations[i].with.param.ep_attr.max_recv_dtos = 2 + i;
                        racers[i] = (struct racer){.call = create_by, .arg = &creations[i]};
                }
                stress_met(&stress, race(racers, THREADS));
                for (int i = 0; i < THREADS; i++) {
                        expect(racers[i].ret, DAT_SUCCESS);
                        adopted(t, &with, creations[i].ep);
                }
                for (int i = 0; i < THREADS; i++) {
                        DAT_EP_PARAM param = described(t, creations[i].ep);

                        expect_eq(param.ep_attr.max_recv_dtos, 2 + i);
                        expect_that(param.srq_handle == with.srq, "the EP has another SRQ");
                }
                for (int i = 0; i < THREADS; i++)
                        release(t, creations[i].ep);
        }
        must_have_met(&stress);
}

LEGAL(ep_create_with_srq)
{
        static struct arguments with;

        with = arguments(t);
        call->ia_handle = with.ia;
        call->pz_handle = with.pz;
        call->recv_evd_handle = with.recv_evd;
        call->request_evd_handle = with.request_evd;
        call->connect_evd_handle = with.connect_evd;
        call->srq_handle = with.srq;
        call->ep_attributes = &with.param.ep_attr;
}
