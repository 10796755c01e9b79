/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_create: what an EP is asked to be, that it is so, and that it can really be used so. */
#include "clauses/ep_create.h"
#include "case/standard.h"
#include "cases/ep/shared/attributes.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/point.h"

#define FEW     5    /* DTOs under way at once */
#define MOST    8    /* segments that are tried */
#define THREADS 3    /* that make EPs at once */
#define MET     3    /* rounds in which their calls met are enough */
#define REFUSED 64   /* calls in a row */
#define EPS     64   /* at once */
#define OTHERS  3    /* EPs that are connected while the next is made */
#define SIZE    8192 /* the longest message and RDMA of the usual EP */

/* The arguments of the call; what a case leaves out of them is whole and modest. */
struct arguments {
        DAT_IA_HANDLE ia;
        DAT_PZ_HANDLE pz;
        DAT_EVD_HANDLE recv_evd;
        DAT_EVD_HANDLE request_evd;
        DAT_EVD_HANDLE connect_evd;
        DAT_EP_PARAM param; /* of which ep_attr is given */
};

static struct arguments arguments_of(struct test *t, DAT_IA_HANDLE of, DAT_PZ_HANDLE zone)
{
        struct arguments with = {
            .ia = of,
            .pz = zone,
            .recv_evd = evd_with(t, .ia = of),
            .request_evd = evd_with(t, .ia = of),
            .connect_evd = evd_with(t, .ia = of, .flags = DAT_EVD_CONNECTION_FLAG),
        };

        with.param.ep_attr = transfer_attr(t, (struct transfer_opts){
                                                  .segments = 1,
                                                  .dtos = 8,
                                                  .most = SIZE,
                                              });
        return with;
}

static struct arguments arguments(struct test *t)
{
        return arguments_of(t, ia(t), pz(t));
}

static DAT_RETURN call(const struct arguments *with, DAT_EP_HANDLE *ep)
{
        DAT_EP_ATTR attr = with->param.ep_attr;

        return dat_ep_create(with->ia, with->pz, with->recv_evd, with->request_evd,
                             with->connect_evd, &attr, ep);
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

static DAT_EP_PARAM described(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EP_PARAM param;

        memset(&param, 0xa5, sizeof(param));
        expect(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
        return param;
}

/* The usual EP at the other end of one that is made. */
static DAT_EP_HANDLE other_end(struct test *t)
{
        DAT_EP_ATTR attr = transfer_attr(t, (struct transfer_opts){
                                                .segments = 1,
                                                .most = SIZE,
                                                .reads = 2,
                                            });

        return ep_with(t, .attr = &attr);
}

static DAT_EP_HANDLE plain_end(struct test *t)
{
        return ep_with(t);
}

/*
 * What is made
 */

CASE(ep_create, created)
{
        struct arguments with = arguments(t);

        expect_that(described(t, create(t, &with)).ia_handle == ia(t), "the EP is of another IA");
}

/* The structure is the consumer's: neither a grant nor a refusal writes to it. */
CASE(ep_create, attributes_kept)
{
        struct arguments with = arguments(t);
        DAT_EP_HANDLE refused = DAT_HANDLE_NULL;
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        DAT_EP_ATTR attr = with.param.ep_attr;

        expect(dat_ep_create(with.ia, with.pz, with.recv_evd, with.request_evd, with.connect_evd,
                             &attr, &ep),
               DAT_SUCCESS);
        adopted(t, &with, ep);
        expect_that(ep_attr_same(&attr, &with.param.ep_attr),
                    "the attributes that were asked for are written");
        attr.max_recv_dtos = with.param.ep_attr.max_recv_dtos = -1;
        expect(dat_ep_create(with.ia, with.pz, with.recv_evd, with.request_evd, with.connect_evd,
                             &attr, &refused),
               DAT_INVALID_PARAMETER);
        expect_that(ep_attr_same(&attr, &with.param.ep_attr),
                    "the attributes that were refused are written");
}

CASE(ep_create, unconnected)
{
        struct arguments with = arguments(t);
        DAT_EP_HANDLE ep = create(t, &with);

        expect_eq(plain_ep_state(described(t, ep).ep_state), DAT_EP_STATE_UNCONNECTED);
        expect_eq(ep_state(t, ep), DAT_EP_STATE_UNCONNECTED);
}

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
#undef SHOWN
};

static DAT_HANDLE handle_at(const void *structure, size_t offset)
{
        DAT_HANDLE handle;

        memcpy(&handle, (const char *)structure + offset, sizeof(handle));
        return handle;
}

/* Of two EPs that differ in all that is shown; the older one is asked too. */
FAMILY(ep_create, shows, shown)
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

static DAT_EP_HANDLE connect_active(struct test *t, DAT_EP_HANDLE ep)
{
        return expect_joined(t, ep, plain_end(t)).passive;
}

static DAT_EP_HANDLE connect_accepting(struct test *t, DAT_EP_HANDLE ep)
{
        return expect_joined(t, plain_end(t), ep).active;
}

static DAT_EP_HANDLE connect_reserved(struct test *t, DAT_EP_HANDLE ep)
{
        struct loop loop = {
            .requests = request_evd(t),
            .active = plain_end(t),
            .passive = ep,
        };
        DAT_RSP_HANDLE rsp = rsp_new(t, ep, loop.requests, &loop.qual);

        loop_connect(t, loop.active, loop.qual);
        loop.request = expect_request(t, loop.requests, rsp, loop.qual);
        expect_accepted_by(t, loop.request, DAT_HANDLE_NULL, &loop);
        return loop.active;
}

static DAT_EP_HANDLE connect_like_another(struct test *t, DAT_EP_HANDLE ep)
{
        struct loop loop = expect_joined(t, plain_end(t), plain_end(t));

        expect(dat_ep_dup_connect(ep, loop.active, event_timeout(t), 0, NULL, DAT_QOS_BEST_EFFORT),
               DAT_SUCCESS);
        loop.active = ep;
        loop.passive = plain_end(t);
        loop.request = expect_request(t, loop.requests, loop.psp, loop.qual);
        expect_accepted(t, loop.request, &loop);
        return loop.passive;
}

static const struct connecting {
        const char *id;
        DAT_EP_HANDLE (*connect)(struct test *t, DAT_EP_HANDLE ep);
} connecting[] = {
    {"active", connect_active},
    {"accepting", connect_accepting},
    {"reserved", connect_reserved},
    {"like_another", connect_like_another},
};

FAMILY(ep_create, connects, connecting)
{
        struct arguments with = arguments(t);
        DAT_EP_HANDLE ep = create(t, &with);
        DAT_EP_HANDLE other = row->connect(t, ep);

        expect_message(t, ep, other);
        expect_message(t, other, ep);
}

CASE(ep_create, with_peer)
{
        struct arguments with = arguments(t);

        expect_ep_bears(t, create(t, &with));
}

CASE(ep_create, many)
{
        struct arguments with = arguments(t);
        DAT_EP_HANDLE eps[EPS];
        DAT_COUNT count = EPS;

        if (count > ia_attr(t)->max_eps)
                count = ia_attr(t)->max_eps;
        for (DAT_COUNT i = 0; i < count; i++) {
                with.param.ep_attr.max_message_size = 1000 + (DAT_VLEN)i;
                eps[i] = create(t, &with);
        }
        for (DAT_COUNT i = 0; i < count; i++)
                expect_eq(described(t, eps[i]).ep_attr.max_message_size, 1000 + i);
}

/*
 * Attributes
 */

#define EXACT_NUMBERS                                                \
        EP_NUMBER(max_message_size, max_message_size, 5000),         \
            EP_NUMBER(max_rdma_size, max_rdma_size, 6000),           \
            EP_NUMBER(max_rdma_read_in, max_rdma_read_per_ep_in, 2), \
            EP_NUMBER(max_rdma_read_out, max_rdma_read_per_ep_out, 3)
#define LEAST_NUMBERS                                                        \
        EP_NUMBER(max_recv_dtos, max_dto_per_ep, 5),                         \
            EP_NUMBER(max_request_dtos, max_dto_per_ep, 6),                  \
            EP_NUMBER(max_recv_iov, max_iov_segments_per_dto, 2),            \
            EP_NUMBER(max_request_iov, max_iov_segments_per_dto, 3),         \
            EP_NUMBER(max_rdma_read_iov, max_iov_segments_per_rdma_read, 2), \
            EP_NUMBER(max_rdma_write_iov, max_iov_segments_per_rdma_write, 2)

static const struct ep_number exact[] = {EXACT_NUMBERS};
static const struct ep_number at_least[] = {LEAST_NUMBERS};
static const struct ep_number numbers[] = {EXACT_NUMBERS, LEAST_NUMBERS};

#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))
#define EXACT   (sizeof(exact) / sizeof(exact[0]))

/* Segments of reads are for an EP that reads; it then has one read at least. */
static struct arguments asking(struct test *t, const struct ep_number *number, uint64_t value)
{
        struct arguments with = arguments(t);

        if (strcmp(number->id, "max_rdma_read_iov") == 0 &&
            ia_attr(t)->max_rdma_read_per_ep_out > 0)
                with.param.ep_attr.max_rdma_read_out = 1;
        if (strcmp(number->id, "max_rdma_read_out") == 0 && value > 0)
                with.param.ep_attr.max_rdma_read_iov = 1;
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
FAMILY(ep_create, exact, exact)
{
        uint64_t asked = within_limit(t, row);
        struct arguments with = asking(t, row, asked);
        struct arguments later = asking(t, row, asked > 1 ? asked - 1 : asked);
        DAT_EP_HANDLE ep = create(t, &with);
        DAT_EP_HANDLE newer = create(t, &later);

        expect_eq(value_of(t, ep, row), asked);
        expect_eq(value_of(t, newer, row), asked > 1 ? asked - 1 : asked);
}

FAMILY(ep_create, at_least, at_least)
{
        uint64_t asked = within_limit(t, row);
        struct arguments with = asking(t, row, asked);
        uint64_t has = value_of(t, create(t, &with), row);

        expect_that(has >= asked && has <= INT_MAX, "%llu asked for, %llu queried",
                    (unsigned long long)asked, (unsigned long long)has);
        if (has > asked)
                note(t, "%s: %llu asked for, %llu queried (EP-27)", row->id,
                     (unsigned long long)asked, (unsigned long long)has);
}

CASE(ep_create, together)
{
        struct arguments with = arguments(t);
        DAT_EP_HANDLE ep;

        for (size_t i = 0; i < NUMBERS; i++)
                ep_value_set(&with.param, &numbers[i].parameter, within_limit(t, &numbers[i]));
        ep = create(t, &with);
        with = arguments(t);
        create(t, &with);
        for (size_t i = 0; i < NUMBERS; i++) {
                uint64_t has = value_of(t, ep, &numbers[i]);
                uint64_t asked = within_limit(t, &numbers[i]);

                expect_that(has == asked || (i >= EXACT && has > asked && has <= INT_MAX),
                            "%s: %llu asked for, %llu queried", numbers[i].id,
                            (unsigned long long)asked, (unsigned long long)has);
        }
}

static void set_flags(struct arguments *with, bool request, DAT_COMPLETION_FLAGS value)
{
        if (request)
                with->param.ep_attr.request_completion_flags = value;
        else
                with->param.ep_attr.recv_completion_flags = value;
}

FAMILY(ep_create, exact_flags, ep_flags)
{
        struct arguments with = arguments(t);
        DAT_EP_ATTR attr;

        set_flags(&with, row->request, row->flags);

        attr = described(t, create(t, &with)).ep_attr;
        expect_eq(row->request ? attr.request_completion_flags : attr.recv_completion_flags,
                  row->flags);
}

FAMILY(ep_create, exact_flag_pairs, ep_flag_pairs)
{
        struct arguments with = arguments(t);
        DAT_EP_ATTR attr;

        set_flags(&with, false, row->recv);
        set_flags(&with, true, row->request);

        attr = described(t, create(t, &with)).ep_attr;
        expect_eq(attr.recv_completion_flags, row->recv);
        expect_eq(attr.request_completion_flags, row->request);
}

CASE(ep_create, exact_service)
{
        struct arguments with = arguments(t);
        DAT_EP_ATTR attr = described(t, create(t, &with)).ep_attr;

        expect_eq(attr.service_type, DAT_SERVICE_TYPE_RC);
        expect_eq(attr.qos, DAT_QOS_BEST_EFFORT);
}

FAMILY(ep_create, at_ia_limit, numbers)
{
        uint64_t limit = ep_limit_of(t, row);
        struct arguments with = asking(t, row, limit);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        DAT_RETURN ret = expect(call(&with, &ep), DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);
        uint64_t has;

        if (dat_is(ret, DAT_INSUFFICIENT_RESOURCES))
                resource(t, "no resources for %s at the IA's limit", row->id);
        has = value_of(t, adopted(t, &with, ep), row);
        expect_that(has >= limit, "%llu asked for, %llu queried", (unsigned long long)limit,
                    (unsigned long long)has);
}

/* Refused; or granted, and then all of it, with a note (EP-29). */
static void expect_beyond(struct test *t, const struct ep_number *row, uint64_t value)
{
        struct arguments with = asking(t, row, value);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        DAT_RETURN ret = expect(call(&with, &ep), DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES,
                                DAT_SUCCESS);
        uint64_t has;

        if (!dat_is(ret, DAT_SUCCESS))
                return;
        has = value_of(t, adopted(t, &with, ep), row);
        expect_that(has >= value, "%llu asked for and granted, %llu queried",
                    (unsigned long long)value, (unsigned long long)has);
        note(t, "%llu granted, above the IA's own limit (EP-29)", (unsigned long long)value);
}

FAMILY(ep_create, above_ia_limit, numbers)
{
        uint64_t limit = ep_limit_of(t, row);

        if (limit == ep_greatest(row))
                unsupported(t, "the IA's limit: no number is above it");
        expect_beyond(t, row, limit + 1);
}

FAMILY(ep_create, far_above_ia_limit, numbers)
{
        if (ep_limit_of(t, row) == ep_greatest(row))
                unsupported(t, "the IA's limit: no number is above it");
        expect_beyond(t, row, ep_greatest(row));
}

static const struct ep_number counts[] = {
    EP_NUMBER(max_recv_dtos, max_dto_per_ep, 0),
    EP_NUMBER(max_request_dtos, max_dto_per_ep, 0),
    EP_NUMBER(max_recv_iov, max_iov_segments_per_dto, 0),
    EP_NUMBER(max_request_iov, max_iov_segments_per_dto, 0),
    EP_NUMBER(max_rdma_read_in, max_rdma_read_per_ep_in, 0),
    EP_NUMBER(max_rdma_read_out, max_rdma_read_per_ep_out, 0),
    EP_NUMBER(max_rdma_read_iov, max_iov_segments_per_rdma_read, 0),
    EP_NUMBER(max_rdma_write_iov, max_iov_segments_per_rdma_write, 0),
};

FAMILY(ep_create, negative, counts)
{
        struct arguments with = arguments(t);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        ep_value_set(&with.param, &row->parameter, (uint64_t)-1);

        expect(call(&with, &ep), DAT_INVALID_PARAMETER);
}

FAMILY(ep_create, wrong, ep_wrong)
{
        struct arguments with = arguments(t);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        ep_value_set(&with.param, &row->parameter, row->value);

        expect_or_note(call(&with, &ep), DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED);
}

FAMILY(ep_create, flags_of_postings, ep_posting_flags)
{
        struct arguments with = arguments(t);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        DAT_RETURN ret;

        set_flags(&with, true, row->flags);
        ret = expect_or_note(call(&with, &ep), DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED,
                             DAT_SUCCESS);

        if (dat_is(ret, DAT_SUCCESS))
                expect_eq(described(t, adopted(t, &with, ep)).ep_attr.request_completion_flags,
                          row->flags);
}

static DAT_NAMED_ATTR invented = {.name = "udapl-cts: no attribute", .value = "of any provider"};

FAMILY(ep_create, named, ep_named)
{
        struct arguments with = arguments(t);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        with.param.ep_attr.ep_transport_specific_count = row->transport;
        with.param.ep_attr.ep_transport_specific = &invented;
        with.param.ep_attr.ep_provider_specific_count = row->provider;
        with.param.ep_attr.ep_provider_specific = &invented;

        expect_or_note(call(&with, &ep), DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED);
}

/*
 * Used so
 */

/* The EP takes them in Unconnected; none is reaped before all messages are sent. */
CASE(ep_create, recv_room)
{
        struct arguments with = asking(t, &at_least[0], FEW);
        struct vector vectors[FEW];
        DAT_EP_HANDLE ep = create(t, &with);
        struct loop loop;

        for (uint64_t i = 0; i < FEW; i++) {
                vectors[i] = vector_with(t, .length = MESSAGE);
                expect(recv_vector(ep, &vectors[i], i, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        }
        loop = expect_joined(t, plain_end(t), ep);
        for (uint64_t i = 0; i < FEW; i++) {
                struct vector from = vector_with(t, .length = MESSAGE);

                vector_fill(t, &from, i);
                must(send_vector(loop.active, &from, i, DAT_COMPLETION_DEFAULT_FLAG));
        }
        for (uint64_t i = 0; i < FEW; i++) {
                expect_completion(with.recv_evd, ep, i, MESSAGE, 0);
                expect_holds(&vectors[i], i, MESSAGE);
        }
}

/* The other end has no receive for them yet, so that all are under way. */
CASE(ep_create, request_room)
{
        struct arguments with = asking(t, &at_least[1], FEW);
        struct vector to = vector_with(t, .length = MESSAGE);
        struct vector from = vector_with(t, .length = MESSAGE);
        DAT_EP_HANDLE ep = create(t, &with);
        struct loop loop = expect_joined(t, ep, plain_end(t));

        for (uint64_t i = 0; i < FEW; i++)
                expect(send_vector(ep, &from, i, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        for (uint64_t i = 0; i < FEW; i++)
                must(recv_vector(loop.passive, &to, i, DAT_COMPLETION_DEFAULT_FLAG));
        for (uint64_t i = 0; i < FEW; i++)
                expect_completion(with.request_evd, ep, i, MESSAGE, 0);
}

static DAT_COUNT segments_of(struct test *t, const struct ep_number *number)
{
        uint64_t limit = ep_limit_of(t, number);

        return limit < MOST ? (DAT_COUNT)limit : MOST;
}

CASE(ep_create, recv_segments)
{
        DAT_COUNT count = segments_of(t, &at_least[2]);
        struct arguments with = asking(t, &at_least[2], (uint64_t)count);
        struct vector to = vector_with(t, .length = 100, .segments = count);
        struct vector from = vector_with(t, .length = 100);
        DAT_EP_HANDLE ep = create(t, &with);
        struct loop loop = expect_joined(t, plain_end(t), ep);

        vector_fill(t, &from, 1);
        expect(recv_vector(ep, &to, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        must(send_vector(loop.active, &from, 1, DAT_COMPLETION_DEFAULT_FLAG));
        expect_completion(with.recv_evd, ep, 1, 100, 0);
        expect_holds(&to, 1, 100);
}

CASE(ep_create, request_segments)
{
        DAT_COUNT count = segments_of(t, &at_least[3]);
        struct arguments with = asking(t, &at_least[3], (uint64_t)count);
        struct vector to = vector_with(t, .length = 100);
        struct vector from = vector_with(t, .length = 100, .segments = count);
        DAT_EP_HANDLE ep = create(t, &with);
        struct loop loop = expect_joined(t, ep, plain_end(t));

        vector_fill(t, &from, 1);
        must(recv_vector(loop.passive, &to, 1, DAT_COMPLETION_DEFAULT_FLAG));
        expect(send_vector(ep, &from, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect_completion(with.request_evd, ep, 1, 100, 0);
        expect_completion(ep_recv_evd(t, loop.passive), loop.passive, 1, 100, 0);
        expect_holds(&to, 1, 100);
}

CASE(ep_create, write_segments)
{
        DAT_COUNT count = segments_of(t, &at_least[5]);
        struct arguments with = asking(t, &at_least[5], (uint64_t)count);
        struct vector to = vector_with(t, .length = 100);
        struct vector from = vector_with(t, .length = 100, .segments = count);
        DAT_RMR_TRIPLET remote = vector_remote(&to);
        DAT_EP_HANDLE ep = create(t, &with);

        expect_joined(t, ep, plain_end(t));
        vector_fill(t, &from, 1);
        expect(dat_ep_post_rdma_write(ep, count, from.iov, COOKIE(1), &remote,
                                      DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        expect_completion(with.request_evd, ep, 1, 100, 0);
        expect_holds(&to, 1, 100);
}

/* As many reads at once as were asked for, of as many segments each. */
CASE(ep_create, reads)
{
        DAT_COUNT count = segments_of(t, &at_least[4]);
        struct arguments with = arguments(t);
        struct vector from = vector_with(t, .length = 100);
        DAT_RMR_TRIPLET remote = vector_remote(&from);
        struct vector to[2];
        DAT_EP_HANDLE ep;

        if (ia_attr(t)->max_rdma_read_per_ep_out < 2)
                unsupported(t, "max_rdma_read_per_ep_out: below 2");
        with.param.ep_attr.max_rdma_read_in = 2;
        with.param.ep_attr.max_rdma_read_out = 2;
        with.param.ep_attr.max_rdma_read_iov = count;
        ep = create(t, &with);
        expect_joined(t, ep, other_end(t));
        vector_fill(t, &from, 1);
        for (uint64_t i = 0; i < 2; i++) {
                to[i] = vector_with(t, .length = 100, .segments = count);
                expect(dat_ep_post_rdma_read(ep, count, to[i].iov, COOKIE(i), &remote,
                                             DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
        }
        for (uint64_t i = 0; i < 2; i++) {
                expect_completion(with.request_evd, ep, i, 100, 0);
                expect_holds(&to[i], 1, 100);
        }
}

/* The other end reads from the EP, as often at once as was asked for. */
CASE(ep_create, read_by_other_end)
{
        struct arguments with = arguments(t);
        struct vector from = vector_with(t, .length = 100);
        struct vector to = vector_with(t, .length = 100);
        DAT_RMR_TRIPLET remote = vector_remote(&from);
        DAT_EP_HANDLE ep;
        DAT_EP_HANDLE other;

        if (ia_attr(t)->max_rdma_read_per_ep_in < 2)
                unsupported(t, "max_rdma_read_per_ep_in: below 2");
        with.param.ep_attr.max_rdma_read_in = 2;
        ep = create(t, &with);
        other = other_end(t);
        expect_joined(t, other, ep);
        vector_fill(t, &from, 1);
        for (uint64_t i = 0; i < 2; i++)
                expect(dat_ep_post_rdma_read(other, 1, to.iov, COOKIE(i), &remote,
                                             DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
        for (uint64_t i = 0; i < 2; i++)
                expect_completion(ep_request_evd(t, other), other, i, 100, 0);
        expect_holds(&to, 1, 100);
}

CASE(ep_create, greatest_message)
{
        struct arguments with = arguments(t);
        size_t length = (size_t)with.param.ep_attr.max_message_size;
        struct vector to = vector_with(t, .length = length);
        struct vector from = vector_with(t, .length = length);
        DAT_EP_HANDLE ep = create(t, &with);
        struct loop loop = expect_joined(t, ep, create(t, &with));

        vector_fill(t, &from, 1);
        expect(recv_vector(loop.passive, &to, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect(send_vector(ep, &from, 2, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect_completion(with.recv_evd, loop.passive, 1, length, 0);
        expect_completion(with.request_evd, ep, 2, length, 0);
        expect_holds(&to, 1, length);
}

CASE(ep_create, greatest_rdma)
{
        struct arguments with = arguments(t);
        size_t length = (size_t)with.param.ep_attr.max_rdma_size;
        struct vector to = vector_with(t, .length = length);
        struct vector from = vector_with(t, .length = length);
        DAT_RMR_TRIPLET remote = vector_remote(&to);
        DAT_EP_HANDLE ep = create(t, &with);

        expect_joined(t, ep, plain_end(t));
        vector_fill(t, &from, 1);
        expect(dat_ep_post_rdma_write(ep, 1, from.iov, COOKIE(1), &remote,
                                      DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        expect_completion(with.request_evd, ep, 1, length, 0);
        expect_holds(&to, 1, length);
}

/*
 * Attributes that the Provider chooses
 */

static DAT_EP_HANDLE create_default(struct test *t, const struct arguments *with)
{
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        expect(dat_ep_create(with->ia, with->pz, with->recv_evd, with->request_evd,
                             with->connect_evd, NULL, &ep),
               DAT_SUCCESS);
        return adopted(t, with, ep);
}

/* Each of them is one that an EP could have, be it more than the IA promises (EP-29). */
CASE(ep_create, default_attributes)
{
        struct arguments with = arguments(t);
        DAT_EP_PARAM param = described(t, create_default(t, &with));

        expect_eq(plain_ep_state(param.ep_state), DAT_EP_STATE_UNCONNECTED);
        expect_that(param.pz_handle == with.pz && param.recv_evd_handle == with.recv_evd &&
                        param.request_evd_handle == with.request_evd &&
                        param.connect_evd_handle == with.connect_evd,
                    "zone or EVDs are not those that were given");
        expect_eq(param.ep_attr.service_type, DAT_SERVICE_TYPE_RC);
        for (size_t i = 0; i < NUMBERS; i++) {
                uint64_t has = ep_value(&param, &numbers[i].parameter);

                expect_that(has <= ep_greatest(&numbers[i]), "%s is %d by default", numbers[i].id,
                            (int)has);
                if (has > ep_limit_of(t, &numbers[i]))
                        note(t, "%s: %llu by default, above the IA's own limit (EP-29)",
                             numbers[i].id, (unsigned long long)has);
        }
}

/* However many there are already, one more is made, and the two carry messages if both can. */
CASE(ep_create, default_again)
{
        struct arguments with[FEW];
        DAT_COUNT count = cap_at_limit(t, FEW, DAT_HANDLE_TYPE_EP, 1);
        DAT_EP_HANDLE eps[FEW] = {DAT_HANDLE_NULL};

        for (DAT_COUNT i = 0; i < count; i++) {
                DAT_EP_PARAM param;

                with[i] = arguments(t);
                eps[i] = create_default(t, &with[i]);
                param = described(t, eps[i]);
                expect_eq(plain_ep_state(param.ep_state), DAT_EP_STATE_UNCONNECTED);
                expect_that(param.pz_handle == with[i].pz &&
                                param.recv_evd_handle == with[i].recv_evd &&
                                param.request_evd_handle == with[i].request_evd &&
                                param.connect_evd_handle == with[i].connect_evd,
                            "zone or EVDs are not those that were given");
                expect_eq(param.ep_attr.service_type, DAT_SERVICE_TYPE_RC);
                for (size_t j = 0; j < NUMBERS; j++)
                        expect_that(ep_value(&param, &numbers[j].parameter) <=
                                        ep_greatest(&numbers[j]),
                                    "%s is more than an EP can have", numbers[j].id);
        }
        must_that(count >= 2, "no room for two EPs");
        for (DAT_COUNT i = 0; i < 2; i++)
                expect(dat_ep_modify(eps[i],
                                     DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE |
                                         DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
                                         DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS |
                                         DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV |
                                         DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV |
                                         DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN |
                                         DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT,
                                     &with[i].param),
                       DAT_SUCCESS);
        expect_joined(t, eps[1], eps[0]);
        expect_message(t, eps[0], eps[1]);
        expect_message(t, eps[1], eps[0]);
}

/* Before it is used, it is made what the consumer needs. */
CASE(ep_create, default_then_modified)
{
        struct arguments with = arguments(t);
        DAT_EP_HANDLE ep = create_default(t, &with);
        DAT_EP_HANDLE other = plain_end(t);

        expect(dat_ep_modify(
                   ep,
                   DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE | DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
                       DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS | DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV |
                       DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV,
                   &with.param),
               DAT_SUCCESS);
        expect_eq(described(t, ep).ep_attr.max_message_size, with.param.ep_attr.max_message_size);
        expect_joined(t, other, ep);
        expect_message(t, ep, other);
        expect_message(t, other, ep);
}

CASE(ep_create, default_freed)
{
        struct arguments with = arguments(t);
        DAT_EP_HANDLE ep = create_default(t, &with);

        expect_eq(ep_state(t, ep), DAT_EP_STATE_UNCONNECTED);
        expect(dat_ep_free(ep), DAT_SUCCESS);
        disown(t, ep);
}

/*
 * EVDs
 */

FAMILY(ep_create, null_evd, ep_no_evd)
{
        struct arguments with = arguments(t);
        DAT_EP_PARAM param;

        if (row->recv)
                with.recv_evd = DAT_HANDLE_NULL;
        if (row->request)
                with.request_evd = DAT_HANDLE_NULL;
        if (row->connect)
                with.connect_evd = DAT_HANDLE_NULL;

        param = described(t, create(t, &with));
        expect_that(param.recv_evd_handle == with.recv_evd, "another EVD for receives");
        expect_that(param.request_evd_handle == with.request_evd, "another EVD for requests");
        expect_that(param.connect_evd_handle == with.connect_evd, "another EVD for connections");
}

/* The next message tells that the one before it has come. */
CASE(ep_create, without_recv_evd)
{
        struct arguments with = arguments(t);
        struct vector to = vector_with(t, .length = MESSAGE);
        struct vector from = vector_with(t, .length = MESSAGE);
        struct loop loop;

        with.recv_evd = DAT_HANDLE_NULL;
        loop = expect_joined(t, plain_end(t), create(t, &with));
        vector_fill(t, &from, 1);
        expect(recv_vector(loop.passive, &to, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        must(send_vector(loop.active, &from, 1, DAT_COMPLETION_DEFAULT_FLAG));
        must_complete(ep_request_evd(t, loop.active), loop.active, 1, MESSAGE, 0);
        expect_holds(&to, 1, MESSAGE);
        expect_empty(t, with.request_evd);
}

CASE(ep_create, without_request_evd)
{
        struct arguments with = arguments(t);
        struct vector to = vector_with(t, .length = MESSAGE);
        struct vector from = vector_with(t, .length = MESSAGE);
        struct loop loop;

        with.request_evd = DAT_HANDLE_NULL;
        loop = expect_joined(t, create(t, &with), plain_end(t));
        vector_fill(t, &from, 1);
        must(recv_vector(loop.passive, &to, 1, DAT_COMPLETION_DEFAULT_FLAG));
        expect(send_vector(loop.active, &from, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect_completion(ep_recv_evd(t, loop.passive), loop.passive, 1, MESSAGE, 0);
        expect_holds(&to, 1, MESSAGE);
        expect_empty(t, with.recv_evd);
}

CASE(ep_create, connect_evd_later)
{
        struct arguments with = arguments(t);
        DAT_EP_PARAM later = {.connect_evd_handle = with.connect_evd};
        DAT_EP_HANDLE ep;

        with.connect_evd = DAT_HANDLE_NULL;
        ep = create(t, &with);
        expect(dat_ep_modify(ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &later), DAT_SUCCESS);
        ep_reports_to(t, ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, later.connect_evd_handle);

        expect_joined(t, ep, plain_end(t));
}

static const struct stream {
        const char *id;
        size_t argument;
        DAT_EVD_FLAGS flags;
} streams[] = {
    {"recv", offsetof(struct arguments, recv_evd), DAT_EVD_CONNECTION_FLAG},
    {"request", offsetof(struct arguments, request_evd), DAT_EVD_CONNECTION_FLAG},
    {"connect", offsetof(struct arguments, connect_evd), DAT_EVD_DTO_FLAG},
    {"recv_of_software", offsetof(struct arguments, recv_evd), DAT_EVD_SOFTWARE_FLAG},
    {"request_of_software", offsetof(struct arguments, request_evd), DAT_EVD_SOFTWARE_FLAG},
    {"connect_of_requests", offsetof(struct arguments, connect_evd), DAT_EVD_CR_FLAG},
};

FAMILY(ep_create, evd_of_another_stream, streams)
{
        struct arguments with = arguments(t);
        DAT_EVD_HANDLE evd = evd_with(t, .flags = row->flags);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        memcpy((char *)&with + row->argument, &evd, sizeof(evd));

        expect(call(&with, &ep), DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER);
}

CASE(ep_create, receives_on_recv_evd)
{
        struct arguments with = arguments(t);
        struct vector to = vector_with(t, .length = MESSAGE);
        struct vector from = vector_with(t, .length = MESSAGE);
        struct loop loop = expect_joined(t, plain_end(t), create(t, &with));

        expect(recv_vector(loop.passive, &to, 77, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        must(send_vector(loop.active, &from, 1, DAT_COMPLETION_DEFAULT_FLAG));
        expect_completion(with.recv_evd, loop.passive, 77, MESSAGE, 0);
        expect_empty(t, with.request_evd);
        expect_empty(t, with.connect_evd);
}

static const struct request {
        const char *id;
        enum { SEND, WRITE, READ } what;
} requests[] = {
    {"send", SEND},
    {"rdma_write", WRITE},
    {"rdma_read", READ},
};

FAMILY(ep_create, requests_on_request_evd, requests)
{
        struct arguments with = arguments(t);
        struct vector here = vector_with(t, .length = MESSAGE);
        struct vector there = vector_with(t, .length = MESSAGE);
        DAT_RMR_TRIPLET remote = vector_remote(&there);
        struct loop loop;

        if (row->what == READ)
                with.param.ep_attr = transfer_attr(t, (struct transfer_opts){.reads = 2});
        loop = expect_joined(t, create(t, &with), row->what == READ ? other_end(t) : plain_end(t));
        must(recv_vector(loop.passive, &there, 1, DAT_COMPLETION_DEFAULT_FLAG));
        if (row->what == SEND)
                expect(send_vector(loop.active, &here, 77, DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
        else if (row->what == WRITE)
                expect(dat_ep_post_rdma_write(loop.active, 1, here.iov, COOKIE(77), &remote,
                                              DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
        else
                expect(dat_ep_post_rdma_read(loop.active, 1, here.iov, COOKIE(77), &remote,
                                             DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
        expect_completion(with.request_evd, loop.active, 77, MESSAGE, 0);
        expect_empty(t, with.recv_evd);
        expect_empty(t, with.connect_evd);
}

CASE(ep_create, bindings_on_request_evd)
{
        struct arguments with = arguments(t);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);
        DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
        DAT_RMR_CONTEXT context;
        DAT_EVENT event;
        DAT_EP_HANDLE ep;

        with.request_evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
        ep = create(t, &with);
        expect_joined(t, ep, plain_end(t));
        must(dat_rmr_create(with.pz, &rmr));
        adopt(t, DAT_HANDLE_TYPE_RMR, rmr);
        expect(dat_rmr_bind(rmr, &segment, DAT_MEM_PRIV_REMOTE_READ_FLAG, ep,
                            (DAT_RMR_COOKIE){.as_64 = 77}, DAT_COMPLETION_DEFAULT_FLAG, &context),
               DAT_SUCCESS);
        event = expect_event(with.request_evd, DAT_RMR_BIND_COMPLETION_EVENT);
        expect_eq(event.event_data.rmr_completion_event_data.user_cookie.as_64, 77);
        expect_empty(t, with.recv_evd);
}

CASE(ep_create, connection_events_on_connect_evd)
{
        struct arguments with = arguments(t);
        struct loop loop = expect_joined(t, plain_end(t), create(t, &with));
        DAT_EVENT event;

        must(dat_ep_disconnect(loop.active, DAT_CLOSE_ABRUPT_FLAG));
        event = expect_event(with.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        expect_that(event.event_data.connect_event_data.ep_handle == loop.passive, "of another EP");
        expect_empty(t, with.recv_evd);
        expect_empty(t, with.request_evd);
}

FAMILY(ep_create, same_flags_on_one_evd, ep_same_flags)
{
        struct arguments with = arguments(t);

        set_flags(&with, row->request, row->first);
        create(t, &with);
        create(t, &with);
}

FAMILY(ep_create, both_streams_on_one_evd, ep_both_streams)
{
        struct arguments with = arguments(t);
        struct vector vector = vector_with(t, .length = MESSAGE);
        struct loop loop;

        set_flags(&with, false, row->flags);
        set_flags(&with, true, row->flags);
        with.request_evd = with.recv_evd;
        loop = expect_joined(t, create(t, &with), plain_end(t));
        expect(recv_vector(loop.active, &vector, 3, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        must(send_vector(loop.passive, &vector, 1, DAT_COMPLETION_DEFAULT_FLAG));
        expect_completion(with.recv_evd, loop.active, 3, MESSAGE, 0);
        must(recv_vector(loop.passive, &vector, 1, DAT_COMPLETION_DEFAULT_FLAG));
        expect(send_vector(loop.active, &vector, 77, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect_completion(with.recv_evd, loop.active, 77, MESSAGE, 0);
}

/* A second EP that is kept from the EVD of the first, or not, by a provider that does not look. */
static void expect_kept_apart(struct test *t, const struct arguments *with)
{
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        if (dat_is(expect_or_note(call(with, &ep), DAT_INVALID_PARAMETER, DAT_SUCCESS),
                   DAT_SUCCESS))
                adopted(t, with, ep);
}

FAMILY(ep_create, mixed_flags_on_one_evd, ep_mixed_flags)
{
        struct arguments with = arguments(t);

        set_flags(&with, row->request, row->first);
        create(t, &with);
        set_flags(&with, row->request, row->second);

        expect_kept_apart(t, &with);
}

CASE(ep_create, unsignalled_for_both_streams)
{
        struct arguments with = arguments(t);

        with.request_evd = with.recv_evd;
        set_flags(&with, false, DAT_COMPLETION_UNSIGNALLED_FLAG);

        expect_kept_apart(t, &with);
}

CASE(ep_create, threshold_beside_other_streams)
{
        struct arguments with = arguments(t);

        with.recv_evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
        with.connect_evd = with.recv_evd;
        set_flags(&with, false, DAT_COMPLETION_EVD_THRESHOLD_FLAG);

        create(t, &with);
}

CASE(ep_create, request_threshold_beside_other_streams)
{
        struct arguments with = arguments(t);

        with.request_evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
        with.connect_evd = with.request_evd;
        set_flags(&with, true, DAT_COMPLETION_EVD_THRESHOLD_FLAG);

        create(t, &with);
}

/* Only flags of the threshold let completions stand beside other streams. */
CASE(ep_create, all_streams_on_one_evd)
{
        struct arguments with = arguments(t);
        struct vector vector = vector_with(t, .length = MESSAGE);
        struct loop loop;

        with.recv_evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
        with.request_evd = with.recv_evd;
        with.connect_evd = with.recv_evd;
        set_flags(&with, false, DAT_COMPLETION_EVD_THRESHOLD_FLAG);
        set_flags(&with, true, DAT_COMPLETION_EVD_THRESHOLD_FLAG);
        loop = expect_joined(t, create(t, &with), plain_end(t));

        must(recv_vector(loop.passive, &vector, 1, DAT_COMPLETION_DEFAULT_FLAG));
        expect(send_vector(loop.active, &vector, 77, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect_completion(with.recv_evd, loop.active, 77, MESSAGE, 0);
        expect(recv_vector(loop.active, &vector, 3, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        must(send_vector(loop.passive, &vector, 1, DAT_COMPLETION_DEFAULT_FLAG));
        expect_completion(with.recv_evd, loop.active, 3, MESSAGE, 0);
        must(dat_ep_disconnect(loop.passive, DAT_CLOSE_ABRUPT_FLAG));
        expect_event(with.recv_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/*
 * The Protection Zone
 */

/* The post is refused, or its DTO fails (GEN-9). */
static void expect_protected(struct test *t, DAT_RETURN ret, DAT_EVD_HANDLE evd)
{
        DAT_EVENT event;

        expect(ret, DAT_PROTECTION_VIOLATION, DAT_INVALID_PARAMETER, DAT_SUCCESS);
        if (!dat_is(ret, DAT_SUCCESS))
                return;
        event = expect_event(evd, DAT_DTO_COMPLETION_EVENT);
        expect_eq(event.event_data.dto_completion_event_data.status, DAT_DTO_ERR_LOCAL_PROTECTION);
}

CASE(ep_create, memory_of_another_pz)
{
        struct arguments with = arguments(t);
        struct vector from = vector_with(t, .length = MESSAGE, .buf.pz = pz_new(t));
        struct vector to = vector_with(t, .length = MESSAGE);
        struct loop loop = expect_joined(t, create(t, &with), plain_end(t));

        must(recv_vector(loop.passive, &to, 1, DAT_COMPLETION_DEFAULT_FLAG));
        expect_protected(t, send_vector(loop.active, &from, 1, DAT_COMPLETION_DEFAULT_FLAG),
                         with.request_evd);
        expect_untouched(&to);
}

CASE(ep_create, receives_into_another_pz)
{
        struct arguments with = arguments(t);
        struct vector from = vector_with(t, .length = MESSAGE);
        struct vector to = vector_with(t, .length = MESSAGE, .buf.pz = pz_new(t));
        struct loop loop = expect_joined(t, plain_end(t), create(t, &with));
        DAT_RETURN ret = recv_vector(loop.passive, &to, 1, DAT_COMPLETION_DEFAULT_FLAG);

        must(send_vector(loop.active, &from, 1, DAT_COMPLETION_DEFAULT_FLAG));
        expect_protected(t, ret, with.recv_evd);
        expect_untouched(&to);
}

/* The other end, of another zone, writes: it reaches memory of the zone that the EP was made in. */
CASE(ep_create, rdma_to_its_pz)
{
        struct arguments with = arguments_of(t, ia(t), pz_new(t));
        struct vector from = vector_with(t, .length = MESSAGE);
        struct vector to = vector_with(t, .length = MESSAGE, .buf.pz = with.pz);
        DAT_RMR_TRIPLET remote = vector_remote(&to);
        struct loop loop = expect_joined(t, plain_end(t), create(t, &with));

        vector_fill(t, &from, 1);
        must(dat_ep_post_rdma_write(loop.active, 1, from.iov, COOKIE(1), &remote,
                                    DAT_COMPLETION_DEFAULT_FLAG));
        expect_completion(ep_request_evd(t, loop.active), loop.active, 1, MESSAGE, 0);
        vector_await(t, &to, 1, MESSAGE);
        expect_holds(&to, 1, MESSAGE);
}

CASE(ep_create, rdma_to_another_pz)
{
        struct arguments with = arguments_of(t, ia(t), pz_new(t));
        struct vector from = vector_with(t, .length = MESSAGE);
        struct vector to = vector_with(t, .length = MESSAGE);
        DAT_RMR_TRIPLET remote = vector_remote(&to);
        struct loop loop = expect_joined(t, plain_end(t), create(t, &with));
        DAT_DTO_COMPLETION_STATUS status;
        DAT_EVENT event;

        must(dat_ep_post_rdma_write(loop.active, 1, from.iov, COOKIE(1), &remote,
                                    DAT_COMPLETION_DEFAULT_FLAG));
        event = expect_event(ep_request_evd(t, loop.active), DAT_DTO_COMPLETION_EVENT);
        status = event.event_data.dto_completion_event_data.status;
        if (status == DAT_DTO_SUCCESS)
                expect_remote_refusal(t, loop.active, false, status);
        expect_untouched(&to);
}

/*
 * Refusals, and several threads
 */

static void ask_negative(struct test *t, struct arguments *with)
{
        (void)t;
        with->param.ep_attr.max_request_dtos = -1;
}

static void ask_too_many(struct test *t, struct arguments *with)
{
        with->param.ep_attr.max_recv_iov = ia_attr(t)->max_iov_segments_per_dto + 1;
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

static const struct refusal {
        const char *id;
        void (*spoil)(struct test *t, struct arguments *with);
} refusals[] = {
    {"negative", ask_negative},
    {"too_many", ask_too_many},
    {"unknown_flag", ask_unknown_flag},
    {"other_stream", ask_other_stream},
};

/* The next EP has what it asks for; when it is gone, nothing uses what the refused ones named. */
FAMILY(ep_create, after_refusals, refusals)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct arguments good = arguments_of(t, ia(t), zone);
        DAT_HANDLE evds[] = {good.recv_evd, good.request_evd, good.connect_evd};
        struct arguments bad = good;

        row->spoil(t, &bad);
        for (int i = 0; i < REFUSED; i++) {
                DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

                if (dat_is(call(&bad, &ep), DAT_SUCCESS)) {
                        adopted(t, &bad, ep);
                        end_noted(t, "granted: there is nothing to see after a refusal");
                }
        }
        release(t, create(t, &good));

        for (int i = 0; i < 3; i++) {
                expect(dat_evd_free(evds[i]), DAT_SUCCESS);
                disown(t, evds[i]);
        }
        expect(dat_pz_free(zone), DAT_SUCCESS);
        disown(t, zone);
}

/* Of EPs in two zones, each is connected while the next is made, and one more refused. */
CASE(ep_create, beside_others)
{
        DAT_PZ_HANDLE zones[2] = {pz(t), pz_new(t)};
        struct arguments with[OTHERS];
        struct loop loops[OTHERS];

        for (int i = 0; i < OTHERS; i++) {
                struct arguments bad;
                DAT_EP_HANDLE none = DAT_HANDLE_NULL;
                DAT_EP_HANDLE other = plain_end(t);

                with[i] = arguments_of(t, ia(t), zones[i % 2]);
                loops[i] = expect_joined(t, other, create(t, &with[i]));
                bad = with[i];
                ask_negative(t, &bad);
                expect(call(&bad, &none), DAT_INVALID_PARAMETER);
        }
        for (int i = 0; i < OTHERS; i++) {
                struct vector here = vector_with(t, .length = MESSAGE, .buf.pz = with[i].pz);
                struct vector there = vector_with(t, .length = MESSAGE);
                const struct loop *loop = &loops[i];
                uint64_t cookie = 10 + (uint64_t)i;

                vector_fill(t, &there, cookie);
                expect(recv_vector(loop->passive, &here, cookie, DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
                must(send_vector(loop->active, &there, 1, DAT_COMPLETION_DEFAULT_FLAG));
                expect_completion(with[i].recv_evd, loop->passive, cookie, MESSAGE, 0);
                expect_holds(&here, cookie, MESSAGE);
                must(recv_vector(loop->active, &there, 1, DAT_COMPLETION_DEFAULT_FLAG));
                expect(send_vector(loop->passive, &here, cookie, DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
                expect_completion(with[i].request_evd, loop->passive, cookie, MESSAGE, 0);
        }
        for (int i = 0; i < OTHERS; i++) {
                DAT_EVENT event;

                must(dat_ep_disconnect(loops[i].active, DAT_CLOSE_ABRUPT_FLAG));
                event = expect_event(with[i].connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
                expect_that(event.event_data.connect_event_data.ep_handle == loops[i].passive,
                            "the event names another EP");
        }
}

struct creation {
        struct arguments with;
        DAT_EP_HANDLE ep;
};

static DAT_RETURN create_by(void *arg)
{
        struct creation *creation = arg;

        return call(&creation->with, &creation->ep);
}

/* EVDs and zone are the same for all. */
CASE(ep_create, any_thread, DEADLINE_MS(20000))
{
        struct arguments with = arguments(t);
        struct stress stress = stress_of(t, 3000);

        while (stress.met < MET && stress_round(&stress)) {
                struct creation creations[THREADS];
                struct racer racers[THREADS];

                for (int i = 0; i < THREADS; i++) {
                        creations[i] = (struct creation){.with = with};
                        creations[i].with.param.ep_attr.max_message_size = 1000 + (DAT_VLEN)i;
                        racers[i] = (struct racer){.call = create_by, .arg = &creations[i]};
                }
                stress_met(&stress, race(racers, THREADS));
                for (int i = 0; i < THREADS; i++) {
                        expect(racers[i].ret, DAT_SUCCESS);
                        adopted(t, &with, creations[i].ep);
                }
                for (int i = 0; i < THREADS; i++)
                        expect_eq(described(t, creations[i].ep).ep_attr.max_message_size, 1000 + i);
                for (int i = 0; i < THREADS; i++)
                        release(t, creations[i].ep);
        }
        must_have_met(&stress);
}

LEGAL(ep_create)
{
        static struct arguments with;

        with = arguments(t);
        call->ia_handle = with.ia;
        call->pz_handle = with.pz;
        call->recv_completion_evd_handle = with.recv_evd;
        call->request_completion_evd_handle = with.request_evd;
        call->connect_evd_handle = with.connect_evd;
        call->ep_attributes = &with.param.ep_attr;
}
