/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_query: every field by its own bit and among others, in each state, and of which EP it is.
 */
#include "clauses/ep_query.h"
#include "case/ep_attr.h"
#include "case/poison.h"
#include "case/standard.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"

#include <netinet/in.h>
#include <string.h>

#define MANY  100 /* queries */
#define DRAWN 300 /* masks */
#define POSTS 4

/* An EP whose parameters a case knows, for it made them. */
struct known {
        DAT_EP_HANDLE ep;
        DAT_EP_PARAM param;
};

static DAT_COUNT at_most(DAT_COUNT limit, DAT_COUNT wanted)
{
        return limit < wanted ? limit : wanted;
}

/* Attributes that are not those of the next number. */
static DAT_EP_ATTR attr_number(struct test *t, DAT_COUNT i)
{
        const DAT_IA_ATTR *most = ia_attr(t);
        DAT_COUNT reads = at_most(most->max_rdma_read_per_ep_out, 2 + i % 2);

        return (DAT_EP_ATTR){
            .service_type = DAT_SERVICE_TYPE_RC,
            .max_message_size = 4096 * ((DAT_VLEN)i + 1),
            .max_rdma_size = 4096 * ((DAT_VLEN)i + 2),
            .qos = DAT_QOS_BEST_EFFORT,
            .max_recv_dtos = 8 + i,
            .max_request_dtos = 5 + i,
            .max_recv_iov = at_most(most->max_iov_segments_per_dto, 1 + i % 4),
            .max_request_iov = at_most(most->max_iov_segments_per_dto, 2 + i % 4),
            .max_rdma_read_in = at_most(most->max_rdma_read_per_ep_in, 1 + i % 3),
            .max_rdma_read_out = reads,
            .srq_soft_hw = DAT_HW_DEFAULT,
            .max_rdma_read_iov =
                reads ? at_most(most->max_iov_segments_per_rdma_read, 1 + i % 2) : 0,
            .max_rdma_write_iov = at_most(most->max_iov_segments_per_rdma_write, 1 + i % 3),
        };
}

static struct known known_ep(struct test *t, DAT_COUNT i)
{
        DAT_EP_ATTR attr = attr_number(t, i);
        DAT_PZ_HANDLE zone = pz_new(t);
        DAT_EP_HANDLE ep = ep_with(t, .pz = zone, .attr = &attr);

        return (struct known){
            .ep = ep,
            .param =
                {
                    .ia_handle = ia(t),
                    .ep_state = DAT_EP_STATE_UNCONNECTED,
                    .local_ia_address_ptr = ia_attr(t)->ia_address_ptr,
                    .pz_handle = zone,
                    .recv_evd_handle = ep_recv_evd(t, ep),
                    .request_evd_handle = ep_request_evd(t, ep),
                    .connect_evd_handle = ep_connect_evd(t, ep),
                    .srq_handle = DAT_HANDLE_NULL,
                    .ep_attr = attr,
                },
        };
}

/* A query of the fields in `mask`, into memory that no provider would leave so. */
static DAT_EP_PARAM queried(struct test *t, DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask)
{
        DAT_EP_PARAM param;

        memset(&param, 0xa5, sizeof(param));
        expect(dat_ep_query(ep, mask, &param), DAT_SUCCESS);
        return param;
}

/* Two EPs, connected, and what the one has to be told of the other. */
static void join(struct test *t, struct known *active, struct known *passive)
{
        struct loop loop = {
            .requests = evd_with(t, .flags = DAT_EVD_CR_FLAG),
            .active = active->ep,
            .passive = passive->ep,
        };
        struct known *ends[] = {active, passive};

        loop_join(t, &loop);
        for (int i = 0; i < 2; i++) {
                DAT_EP_PARAM other = queried(t, ends[!i]->ep, DAT_EP_FIELD_ALL);

                ends[i]->param.ep_state = DAT_EP_STATE_CONNECTED;
                ends[i]->param.remote_ia_address_ptr = ia_attr(t)->ia_address_ptr;
                ends[i]->param.local_port_qual = other.remote_port_qual;
                ends[i]->param.remote_port_qual = other.local_port_qual;
        }
}

/*
 * Fields
 */

enum kind { EXACT, AT_LEAST, ADDRESS, STATE };

struct field {
        const char *id;
        DAT_EP_PARAM_MASK bit;
        enum kind kind;
        struct ep_parameter place;
};

#define FIELD(name_, FIELD_, member_, kind_)                                         \
        {                                                                            \
#name_, DAT_EP_FIELD_##FIELD_, kind_,                                \
                {                                                                    \
                        .offset = offsetof(DAT_EP_PARAM, member_),                   \
                        .size = sizeof(__typeof__(((DAT_EP_PARAM *)NULL)->member_)), \
                }                                                                    \
        }
#define PARAM(name_, FIELD_, kind_) FIELD(name_, FIELD_, name_, kind_)
#define ATTR(name_, FIELD_, kind_)  FIELD(name_, EP_ATTR_##FIELD_, ep_attr.name_, kind_)

static const struct field fields[] = {
    PARAM(ia_handle, IA_HANDLE, EXACT),
    PARAM(ep_state, EP_STATE, STATE),
    PARAM(local_ia_address_ptr, LOCAL_IA_ADDRESS_PTR, ADDRESS),
    PARAM(local_port_qual, LOCAL_PORT_QUAL, EXACT),
    PARAM(remote_ia_address_ptr, REMOTE_IA_ADDRESS_PTR, ADDRESS),
    PARAM(remote_port_qual, REMOTE_PORT_QUAL, EXACT),
    PARAM(pz_handle, PZ_HANDLE, EXACT),
    PARAM(recv_evd_handle, RECV_EVD_HANDLE, EXACT),
    PARAM(request_evd_handle, REQUEST_EVD_HANDLE, EXACT),
    PARAM(connect_evd_handle, CONNECT_EVD_HANDLE, EXACT),
    PARAM(srq_handle, SRQ_HANDLE, EXACT),
    ATTR(service_type, SERVICE_TYPE, EXACT),
    ATTR(max_message_size, MAX_MESSAGE_SIZE, EXACT),
    ATTR(max_rdma_size, MAX_RDMA_SIZE, EXACT),
    ATTR(qos, QOS, EXACT),
    ATTR(recv_completion_flags, RECV_COMPLETION_FLAGS, EXACT),
    ATTR(request_completion_flags, REQUEST_COMPLETION_FLAGS, EXACT),
    ATTR(max_recv_dtos, MAX_RECV_DTOS, AT_LEAST),
    ATTR(max_request_dtos, MAX_REQUEST_DTOS, AT_LEAST),
    ATTR(max_recv_iov, MAX_RECV_IOV, AT_LEAST),
    ATTR(max_request_iov, MAX_REQUEST_IOV, AT_LEAST),
    ATTR(max_rdma_read_in, MAX_RDMA_READ_IN, EXACT),
    ATTR(max_rdma_read_out, MAX_RDMA_READ_OUT, EXACT),
    ATTR(max_rdma_read_iov, MAX_RDMA_READ_IOV, AT_LEAST),
    ATTR(max_rdma_write_iov, MAX_RDMA_WRITE_IOV, AT_LEAST),
};

#define FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))
/* Those that only an EP with a connection, or on its way to one, has a value for. */
#define OF_CONNECTION                                                        \
        (DAT_EP_FIELD_LOCAL_PORT_QUAL | DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR | \
         DAT_EP_FIELD_REMOTE_PORT_QUAL)

/* Family and address; the port in it is told by another field. */
static bool same_host(const void *one, const void *other)
{
        const struct sockaddr_in *a = one;
        const struct sockaddr_in *b = other;
        const struct sockaddr_in6 *a6 = one;
        const struct sockaddr_in6 *b6 = other;

        if (!a || !b || a->sin_family != b->sin_family)
                return false;
        if (a->sin_family == AF_INET6)
                return memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr)) == 0;
        return a->sin_addr.s_addr == b->sin_addr.s_addr;
}

static const void *address_in(const DAT_EP_PARAM *param, const struct field *field)
{
        return field->bit == DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR ? param->local_ia_address_ptr
                                                               : param->remote_ia_address_ptr;
}

static bool is_right(const struct field *field, const DAT_EP_PARAM *known,
                     const DAT_EP_PARAM *param)
{
        uint64_t seen = ep_value(param, &field->place);
        uint64_t wanted = ep_value(known, &field->place);

        switch (field->kind) {
        case ADDRESS:
                return same_host(address_in(param, field), address_in(known, field));
        case AT_LEAST:
                return seen >= wanted && seen <= INT32_MAX;
        case STATE:
                return plain_ep_state(param->ep_state) == known->ep_state;
        default:
                return seen == wanted;
        }
}

static void check_field(struct test *t, const struct field *field, const DAT_EP_PARAM *known,
                        const DAT_EP_PARAM *param)
{
        unsigned long long seen = ep_value(param, &field->place);
        unsigned long long wanted = ep_value(known, &field->place);

        expect_that(is_right(field, known, param), "%s is told as %#llx, and is %#llx", field->id,
                    seen, wanted);
        if (field->kind == AT_LEAST && seen > wanted)
                note(t, "%s: %llu asked for, %llu queried (EP-27)", field->id, wanted, seen);
}

static void check_param(struct test *t, const DAT_EP_PARAM *known, const DAT_EP_PARAM *param,
                        DAT_EP_PARAM_MASK mask)
{
        for (size_t i = 0; i < FIELD_COUNT; i++)
                if (mask & fields[i].bit)
                        check_field(t, &fields[i], known, param);
}

static void check_fields(struct test *t, const struct known *known, DAT_EP_PARAM_MASK mask)
{
        DAT_EP_PARAM param = queried(t, known->ep, mask);

        check_param(t, &known->param, &param, mask);
}

/* Those that have a value, of an EP that has no connection and is on the way to none. */
static void check_without_connection(struct test *t, const struct known *known)
{
        DAT_EP_PARAM param = queried(t, known->ep, DAT_EP_FIELD_ALL);

        check_param(t, &known->param, &param, DAT_EP_FIELD_ALL & ~OF_CONNECTION);
}

FAMILY(ep_query, field, fields)
{
        struct known active = known_ep(t, 1);
        struct known passive = known_ep(t, 2);
        DAT_EP_PARAM param;

        join(t, &active, &passive);
        param = queried(t, active.ep, row->bit);
        check_field(t, row, &active.param, &param);
        param = queried(t, passive.ep, row->bit);
        check_field(t, row, &passive.param, &param);
}

FAMILY(ep_query, field_among_all, fields)
{
        struct known active = known_ep(t, 1);
        struct known passive = known_ep(t, 2);
        DAT_EP_PARAM param;

        join(t, &active, &passive);
        param = queried(t, active.ep, DAT_EP_FIELD_ALL);
        check_field(t, row, &active.param, &param);
        param = queried(t, passive.ep, DAT_EP_FIELD_ALL);
        check_field(t, row, &passive.param, &param);
}

CASE(ep_query, every_two)
{
        struct known active = known_ep(t, 1);
        struct known passive = known_ep(t, 2);

        join(t, &active, &passive);
        for (size_t i = 0; i < FIELD_COUNT; i++)
                for (size_t j = 0; j < i; j++)
                        check_fields(t, &active, fields[i].bit | fields[j].bit);
}

CASE(ep_query, all_but_one)
{
        struct known active = known_ep(t, 1);
        struct known passive = known_ep(t, 2);

        join(t, &active, &passive);
        for (size_t i = 0; i < FIELD_COUNT; i++)
                check_fields(t, &passive, DAT_EP_FIELD_ALL & ~fields[i].bit);
}

CASE(ep_query, any_mask)
{
        struct known active = known_ep(t, 1);
        struct known passive = known_ep(t, 2);

        join(t, &active, &passive);
        for (int i = 0; i < DRAWN; i++)
                check_fields(t, &passive, DAT_EP_FIELD_ALL & draw(t, UINT64_C(1) << 31));
}

/* The suite knows no name of such an attribute: the one query must bear the other out. */
CASE(ep_query, named_attributes)
{
        struct known known = known_ep(t, 1);
        DAT_EP_ATTR all = queried(t, known.ep, DAT_EP_FIELD_ALL).ep_attr;
        DAT_EP_ATTR alone;

        alone = queried(t, known.ep, DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR).ep_attr;
        expect_eq(alone.ep_transport_specific_count, all.ep_transport_specific_count);
        alone = queried(t, known.ep, DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR).ep_attr;
        expect_eq(alone.ep_provider_specific_count, all.ep_provider_specific_count);
        expect_that(all.ep_transport_specific_count >= 0 && all.ep_provider_specific_count >= 0,
                    "a negative number of attributes");
        for (int i = 0; i < all.ep_transport_specific_count; i++)
                expect_that(all.ep_transport_specific[i].name, "an attribute without a name");
        for (int i = 0; i < all.ep_provider_specific_count; i++)
                expect_that(all.ep_provider_specific[i].name, "an attribute without a name");
}

/*
 * SRQs, and EPs without EVDs
 */

CASE(ep_query, srq)
{
        DAT_SRQ_HANDLE older = srq_with(t);
        DAT_SRQ_HANDLE newer = srq_with(t);
        DAT_EP_HANDLE ep = ep_with(t, .srq = older);

        ep_with(t, .srq = newer);

        expect_that(queried(t, ep, DAT_EP_FIELD_SRQ_HANDLE).srq_handle == older, "another SRQ");
        expect_that(queried(t, ep, DAT_EP_FIELD_ALL).srq_handle == older, "another SRQ");
}

/* The receives of an EP with an SRQ are not its own: how many segments they have is not asked. */
CASE(ep_query, fields_of_srq)
{
        DAT_EP_PARAM_MASK mask =
            DAT_EP_FIELD_ALL & ~(OF_CONNECTION | DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV);
        struct known known = known_ep(t, 1);
        DAT_EP_ATTR attr = known.param.ep_attr;
        struct loop loop = {
            .requests = evd_with(t, .flags = DAT_EVD_CR_FLAG),
            .passive = known.ep,
        };
        DAT_EP_PARAM param;

        known.param.srq_handle = srq_with(t);
        known.param.pz_handle = pz(t);
        loop.active = known.ep = ep_with(t, .srq = known.param.srq_handle, .attr = &attr);
        known.param.recv_evd_handle = ep_recv_evd(t, known.ep);
        known.param.request_evd_handle = ep_request_evd(t, known.ep);
        known.param.connect_evd_handle = ep_connect_evd(t, known.ep);
        param = queried(t, known.ep, DAT_EP_FIELD_ALL);
        check_param(t, &known.param, &param, mask);
        expect_that(queried(t, loop.passive, DAT_EP_FIELD_ALL).srq_handle == DAT_HANDLE_NULL,
                    "an EP has the SRQ of another one");

        loop_join(t, &loop);
        known.param.ep_state = DAT_EP_STATE_CONNECTED;
        check_fields(t, &known, mask);
        must(dat_ep_disconnect(known.ep, DAT_CLOSE_ABRUPT_FLAG));
        must_event(known.param.connect_evd_handle, DAT_CONNECTION_EVENT_DISCONNECTED);
        must(dat_ep_reset(known.ep));
        known.param.ep_state = DAT_EP_STATE_UNCONNECTED;
        check_fields(t, &known, mask);
}

CASE(ep_query, soft_mark)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_EP_ATTR attr = attr_number(t, 1);
        DAT_EP_HANDLE ep;

        attr.srq_soft_hw = 5;
        ep = ep_with(t, .srq = srq, .attr = &attr);

        expect_eq(queried(t, ep, DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW).ep_attr.srq_soft_hw, 5);
        expect_eq(queried(t, ep, DAT_EP_FIELD_ALL).ep_attr.srq_soft_hw, 5);
}

CASE(ep_query, without_evds)
{
        struct known known = {.param = {.ia_handle = ia(t),
                                        .ep_state = DAT_EP_STATE_UNCONNECTED,
                                        .local_ia_address_ptr = ia_attr(t)->ia_address_ptr,
                                        .pz_handle = pz(t),
                                        .ep_attr = attr_number(t, 1)}};

        must(dat_ep_create(ia(t), pz(t), DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
                           &known.param.ep_attr, &known.ep));
        adopt(t, DAT_HANDLE_TYPE_EP, known.ep);

        check_without_connection(t, &known);
}

/*
 * States
 */

#define OF_OWNER                                                                                   \
        (DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_REQUEST_EVD_HANDLE | \
         DAT_EP_FIELD_CONNECT_EVD_HANDLE)
#define ALWAYS (DAT_EP_FIELD_IA_HANDLE | DAT_EP_FIELD_EP_STATE | DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR)

/* What the page gives a value in this state, and the case knows; a Provider's EP is not its own. */
static DAT_EP_PARAM_MASK known_in(DAT_EP_STATE state)
{
        switch (state) {
        case DAT_EP_STATE_UNCONNECTED:
        case DAT_EP_STATE_RESERVED:
        case DAT_EP_STATE_DISCONNECTED:
                return ALWAYS | OF_OWNER;
        case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING:
                return ALWAYS | DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR;
        default:
                return ALWAYS | OF_OWNER | DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR;
        }
}

/*
 * The state to be told. A disconnect that is pending may end, as another call says then too; a
 * provider to which an accepted request is a passive one says so in both calls (EP-8).
 */
static DAT_EP_STATE state_now(struct test *t, DAT_EP_HANDLE ep, DAT_EP_STATE state,
                              DAT_EP_STATE told)
{
        DAT_EP_STATE now = ep_state(t, ep);

        if (state == DAT_EP_STATE_DISCONNECT_PENDING && now == DAT_EP_STATE_DISCONNECTED)
                return now;
        if (state == DAT_EP_STATE_COMPLETION_PENDING && now != state && told == now) {
                note(t, "an accepted request is told as Passive Connection Pending (EP-8)");
                return now;
        }
        return state;
}

FAMILY(ep_query, in_state, ep_states)
{
        struct peer_place place = peer_listen(peer(t));
        DAT_EP_HANDLE ep = ep_in(t, row->state);
        DAT_EP_PARAM param = queried(t, ep, DAT_EP_FIELD_ALL);
        DAT_EP_STATE alone = queried(t, ep, DAT_EP_FIELD_EP_STATE).ep_state;
        DAT_EP_STATE state = state_now(t, ep, row->state, plain_ep_state(param.ep_state));
        struct ep_held held = {.ep = ep, .state = row->state, .before = ep_snapshot(t, ep)};
        DAT_EP_PARAM known = {
            .ia_handle = ia(t),
            .ep_state = state,
            .local_ia_address_ptr = ia_attr(t)->ia_address_ptr,
            .remote_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&place.address,
            .pz_handle = pz(t),
            .recv_evd_handle = ep_recv_evd(t, ep),
            .request_evd_handle = ep_request_evd(t, ep),
            .connect_evd_handle = ep_connect_evd(t, ep),
        };

        check_param(t, &known, &param, known_in(state));
        expect_eq(plain_ep_state(alone), state);
        expect_ep_untouched(t, &held);
}

#define EP_ATTRIBUTES \
        (DAT_EP_FIELD_ALL & ~(ALWAYS | OF_OWNER | OF_CONNECTION | DAT_EP_FIELD_SRQ_HANDLE))

/* By its own bit each field tells what it has to in the state, and what it tells among all. */
FAMILY(ep_query, alone_in_state, ep_states)
{
        DAT_EP_HANDLE ep = ep_in(t, row->state);
        bool own = row->state != DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING;
        DAT_EP_PARAM_MASK mask = known_in(row->state) & ~(DAT_EP_PARAM_MASK)DAT_EP_FIELD_EP_STATE;
        DAT_EP_PARAM all = queried(t, ep, DAT_EP_FIELD_ALL);
        DAT_EP_PARAM known = {.ep_attr = ep_attr_modest(ia_attr(t))};

        if (own) {
                check_param(t, &known, &all, EP_ATTRIBUTES);
                mask |= EP_ATTRIBUTES;
        }
        for (size_t i = 0; i < FIELD_COUNT; i++) {
                DAT_EP_PARAM alone;

                if (!(mask & fields[i].bit))
                        continue;
                alone = queried(t, ep, fields[i].bit);
                expect_that(is_right(&fields[i], &all, &alone), "%s alone is told otherwise",
                            fields[i].id);
        }
}

/* What the EP was made with is not of the turn. */
FAMILY(ep_query, fields_after, ep_turns)
{
        struct known known = known_ep(t, 1);
        struct loop loop = {
            .requests = evd_with(t, .flags = DAT_EVD_CR_FLAG),
            .active = known.ep,
            .passive = ep_with(t),
        };

        row->make(t, &loop);
        known.param.ep_state = row->state;

        check_without_connection(t, &known);
}

FAMILY(ep_query, state_after, ep_turns)
{
        struct loop loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){0});

        row->make(t, &loop);

        expect_eq(plain_ep_state(queried(t, loop.active, DAT_EP_FIELD_EP_STATE).ep_state),
                  row->state);
        expect_eq(plain_ep_state(queried(t, loop.active, DAT_EP_FIELD_ALL).ep_state), row->state);
}

/*
 * Ports
 */

static DAT_PORT_QUAL asking_port(struct test *t, DAT_CR_HANDLE request)
{
        DAT_CR_PARAM param;

        memset(&param, 0xa5, sizeof(param));
        must(dat_cr_query(request, DAT_CR_FIELD_REMOTE_PORT_QUAL, &param));
        return param.remote_port_qual;
}

/* What the request says of who asks is what the EPs say, at each end, before and after. */
CASE(ep_query, port_of_asker)
{
        struct loop loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){0});
        DAT_PORT_QUAL port;

        loop_ask(t, &loop);
        loop_take_request(t, &loop);
        port = asking_port(t, loop.request);
        expect_eq(queried(t, loop.active, DAT_EP_FIELD_LOCAL_PORT_QUAL).local_port_qual, port);
        must(dat_cr_accept(loop.request, loop.passive, 0, NULL));
        must_event(ep_connect_evd(t, loop.active), DAT_CONNECTION_EVENT_ESTABLISHED);
        must_event(ep_connect_evd(t, loop.passive), DAT_CONNECTION_EVENT_ESTABLISHED);

        expect_eq(queried(t, loop.active, DAT_EP_FIELD_LOCAL_PORT_QUAL).local_port_qual, port);
        expect_eq(queried(t, loop.passive, DAT_EP_FIELD_REMOTE_PORT_QUAL).remote_port_qual, port);
}

CASE(ep_query, port_of_peer)
{
        DAT_EP_HANDLE ep = ep_with(t);
        struct peer_ep *end = must_connect(ep);

        expect_eq(queried(t, ep, DAT_EP_FIELD_REMOTE_PORT_QUAL).remote_port_qual, peer_port(end));
        expect_eq(queried(t, ep, DAT_EP_FIELD_ALL).remote_port_qual, peer_port(end));
}

/* The request is the peer's: its EP is the one that the Reserved EP is asked by. */
CASE(ep_query, port_of_peer_that_asks)
{
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
        DAT_PORT_QUAL port = asking_port(t, ep_request(t, ep));
        struct peer_ep *end;

        expect_eq(queried(t, ep, DAT_EP_FIELD_REMOTE_PORT_QUAL).remote_port_qual, port);
        end = must_connect(ep);

        expect_eq(queried(t, ep, DAT_EP_FIELD_REMOTE_PORT_QUAL).remote_port_qual, port);
        expect_eq(peer_port(end), port);
}

/* A Provider's EP has no consumer's parameters yet, and knows who asks. */
CASE(ep_query, port_of_tentative)
{
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
        DAT_PORT_QUAL port = asking_port(t, ep_request(t, ep));

        expect_eq(queried(t, ep, DAT_EP_FIELD_REMOTE_PORT_QUAL).remote_port_qual, port);
        expect_eq(queried(t, ep, DAT_EP_FIELD_ALL).remote_port_qual, port);
}

static void expect_same_ends(struct test *t, const DAT_EP_PARAM *one, const DAT_EP_PARAM *other)
{
        expect_eq(one->local_port_qual, other->local_port_qual);
        expect_eq(one->remote_port_qual, other->remote_port_qual);
        expect_that(same_host(one->remote_ia_address_ptr, other->remote_ia_address_ptr),
                    "another remote address");
}

/* The ports are there before the connection is complete. */
CASE(ep_query, ports_before_completion)
{
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_COMPLETION_PENDING);
        DAT_EP_PARAM before = queried(t, ep, DAT_EP_FIELD_ALL);
        struct peer_ep *end = expect_goes_on(ep, DAT_EP_STATE_COMPLETION_PENDING);
        DAT_EP_PARAM after = queried(t, ep, DAT_EP_FIELD_ALL);

        expect_eq(before.remote_port_qual, peer_port(end));
        /* Of a passive request, which it may be told as (EP-8), no local port is asked. */
        if (plain_ep_state(before.ep_state) == DAT_EP_STATE_COMPLETION_PENDING)
                expect_same_ends(t, &before, &after);
}

/* A send without a receive keeps the disconnect pending. */
CASE(ep_query, ports_until_end)
{
        struct loop loop = transfer_with(t);
        struct vector vector = vector_with(t, .length = MESSAGE);
        DAT_EP_PARAM before = queried(t, loop.active, DAT_EP_FIELD_ALL);
        DAT_EP_PARAM after;

        must(send_vector(loop.active, &vector, 0, DAT_COMPLETION_DEFAULT_FLAG));
        must(dat_ep_disconnect(loop.active, DAT_CLOSE_GRACEFUL_FLAG));
        after = queried(t, loop.active, DAT_EP_FIELD_ALL);
        expect_eq(plain_ep_state(after.ep_state), DAT_EP_STATE_DISCONNECT_PENDING);
        expect_same_ends(t, &before, &after);
}

/* An EP that is reset, and connected with another one: it asks or is asked, as before or not. */
static const struct next_row {
        const char *id;
        bool asked_first;
        bool asks_then;
} nexts[] = {
    {"asks_again", false, true},
    {"is_asked_then", false, false},
    {"asks_then", true, true},
    {"is_asked_again", true, false},
};

FAMILY(ep_query, next_connection, nexts)
{
        struct known one = known_ep(t, 1);
        struct known other = known_ep(t, 2);
        struct known next = known_ep(t, 8);
        struct known *again = row->asked_first ? &other : &one;

        join(t, &one, &other);
        must(dat_ep_disconnect(one.ep, DAT_CLOSE_ABRUPT_FLAG));
        must_event(one.param.connect_evd_handle, DAT_CONNECTION_EVENT_DISCONNECTED);
        must_event(other.param.connect_evd_handle, DAT_CONNECTION_EVENT_DISCONNECTED);
        must(dat_ep_reset(again->ep));
        if (row->asks_then)
                join(t, again, &next);
        else
                join(t, &next, again);

        check_fields(t, again, DAT_EP_FIELD_ALL);
        check_fields(t, &next, DAT_EP_FIELD_ALL);
}

/* What an EP that is connected has to be told of the other end, which is no case's own. */
static void know_other_end(struct test *t, struct known *known, DAT_EP_HANDLE other)
{
        DAT_EP_PARAM there = queried(t, other, DAT_EP_FIELD_ALL);

        known->param.ep_state = DAT_EP_STATE_CONNECTED;
        known->param.remote_ia_address_ptr = ia_attr(t)->ia_address_ptr;
        known->param.local_port_qual = there.remote_port_qual;
        known->param.remote_port_qual = there.local_port_qual;
}

/* An EP that follows another one, or waits at a point of its own. */
static const struct ep_join joins[] = {
    {"as_another", ep_join_as_another},
    {"by_rsp", ep_join_by_rsp},
};

FAMILY(ep_query, however_joined, joins)
{
        struct known known = known_ep(t, 1);
        struct loop loop = {
            .requests = evd_with(t, .flags = DAT_EVD_CR_FLAG),
            .active = known.ep,
            .passive = ep_with(t),
        };

        row->join(t, &loop);
        know_other_end(t, &known, loop.passive);
        check_fields(t, &known, DAT_EP_FIELD_ALL);
        for (size_t i = 0; i < FIELD_COUNT; i++)
                check_fields(t, &known, fields[i].bit);
}

/* The attributes are the provider's choice, and told alike by any mask; the rest it was given. */
CASE(ep_query, own_of_provider)
{
        struct loop loop = {
            .requests = evd_with(t, .flags = DAT_EVD_CR_FLAG),
            .passive = ep_with(t),
        };
        struct known known = {.ep = DAT_HANDLE_NULL};
        DAT_EP_PARAM all;

        ep_join_by_provider(t, &loop);
        known.ep = loop.active;
        all = queried(t, known.ep, DAT_EP_FIELD_ALL);
        known.param = (DAT_EP_PARAM){
            .ia_handle = ia(t),
            .local_ia_address_ptr = ia_attr(t)->ia_address_ptr,
            .pz_handle = pz(t),
            .recv_evd_handle = ep_recv_evd(t, known.ep),
            .request_evd_handle = ep_request_evd(t, known.ep),
            .connect_evd_handle = ep_connect_evd(t, known.ep),
            .srq_handle = DAT_HANDLE_NULL,
            .ep_attr = all.ep_attr,
        };
        know_other_end(t, &known, loop.passive);
        check_param(t, &known.param, &all, DAT_EP_FIELD_ALL);
        for (size_t i = 0; i < FIELD_COUNT; i++) {
                DAT_EP_PARAM alone = queried(t, known.ep, fields[i].bit);
                DAT_EP_PARAM others = queried(t, known.ep, DAT_EP_FIELD_ALL & ~fields[i].bit);
                const void *at = (const char *)&alone + fields[i].place.offset;

                expect_that(!is_poison(at, fields[i].place.size), "%s is not told", fields[i].id);
                check_field(t, &fields[i], &known.param, &alone);
                check_param(t, &known.param, &others, DAT_EP_FIELD_ALL & ~fields[i].bit);
        }
}

/*
 * Which EP it is
 */

CASE(ep_query, own_parameters)
{
        struct known known[POSTS];

        for (DAT_COUNT i = 0; i < POSTS; i++)
                known[i] = known_ep(t, i);
        join(t, &known[1], &known[2]);

        check_without_connection(t, &known[0]);
        check_fields(t, &known[1], DAT_EP_FIELD_ALL);
        check_fields(t, &known[2], DAT_EP_FIELD_ALL);
        check_without_connection(t, &known[3]);
}

CASE(ep_query, own_ia)
{
        struct known here = known_ep(t, 1);
        struct known there = here;

        there.param.ia_handle = other_ia(t);
        there.param.pz_handle = pz_of(t, other_ia(t));
        there.param.recv_evd_handle = evd_with(t, .ia = other_ia(t));
        there.param.request_evd_handle = evd_with(t, .ia = other_ia(t));
        there.param.connect_evd_handle =
            evd_with(t, .ia = other_ia(t), .qlen = 8, .flags = DAT_EVD_CONNECTION_FLAG);
        must(dat_ep_create(other_ia(t), there.param.pz_handle, there.param.recv_evd_handle,
                           there.param.request_evd_handle, there.param.connect_evd_handle,
                           &there.param.ep_attr, &there.ep));
        adopt(t, DAT_HANDLE_TYPE_EP, there.ep);

        check_without_connection(t, &here);
        check_without_connection(t, &there);
}

CASE(ep_query, after_others_freed)
{
        struct known older = known_ep(t, 0);
        struct known known = known_ep(t, 1);
        struct known newer = known_ep(t, 2);

        release(t, older.ep);
        check_without_connection(t, &known);
        release(t, newer.ep);
        check_without_connection(t, &known);
        newer = known_ep(t, 3);
        check_without_connection(t, &newer);
}

CASE(ep_query, after_modify)
{
        struct known known = known_ep(t, 1);
        DAT_EP_ATTR attr = attr_number(t, 2);

        known.param.pz_handle = pz_new(t);
        known.param.ep_attr.max_message_size = attr.max_message_size;
        known.param.ep_attr.max_rdma_size = attr.max_rdma_size;
        known.param.ep_attr.max_recv_dtos = attr.max_recv_dtos;
        must(dat_ep_modify(known.ep,
                           DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE |
                               DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE |
                               DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS,
                           &known.param));

        check_without_connection(t, &known);
        release(t, known.ep);
}

/* A connection that breaks, of which each end is told by whatever event. */
static void break_off(struct test *t, struct known *active, struct known *passive)
{
        struct loop loop = {
            .requests = evd_with(t, .flags = DAT_EVD_CR_FLAG),
            .active = active->ep,
            .passive = passive->ep,
        };
        struct known *ends[] = {active, passive};

        ep_turn_break(t, &loop);
        for (int i = 0; i < 2; i++) {
                DAT_EVENT event;
                DAT_COUNT more;

                must(dat_evd_wait(ends[i]->param.connect_evd_handle, event_timeout(t), 1, &event,
                                  &more));
                ends[i]->param.ep_state = DAT_EP_STATE_DISCONNECTED;
        }
}

/* Each way of a connection that is over leaves what the EP was made with. */
CASE(ep_query, after_connection)
{
        struct known active = known_ep(t, 1);
        struct known passive = known_ep(t, 2);

        join(t, &active, &passive);
        must(dat_ep_disconnect(active.ep, DAT_CLOSE_ABRUPT_FLAG));
        must_event(active.param.connect_evd_handle, DAT_CONNECTION_EVENT_DISCONNECTED);
        must_event(passive.param.connect_evd_handle, DAT_CONNECTION_EVENT_DISCONNECTED);
        active.param.ep_state = DAT_EP_STATE_DISCONNECTED;
        passive.param.ep_state = DAT_EP_STATE_DISCONNECTED;
        check_without_connection(t, &active);
        check_without_connection(t, &passive);
        must(dat_ep_reset(active.ep));
        active.param.ep_state = DAT_EP_STATE_UNCONNECTED;
        check_without_connection(t, &active);
        must(dat_ep_reset(passive.ep));
        break_off(t, &active, &passive);
        check_without_connection(t, &active);
        check_without_connection(t, &passive);
}

/*
 * What the call leaves as it was
 */

CASE(ep_query, takes_nothing)
{
        struct loop loop = transfer_with(t);
        struct vector vector = vector_with(t, .length = MESSAGE);

        for (uint64_t i = 0; i < POSTS; i++)
                must(recv_vector(loop.passive, &vector, i, DAT_COMPLETION_DEFAULT_FLAG));
        for (uint64_t i = 0; i < POSTS; i++)
                must(send_vector(loop.active, &vector, i, DAT_COMPLETION_DEFAULT_FLAG));
        must(dat_ep_disconnect(loop.active, DAT_CLOSE_GRACEFUL_FLAG));
        for (int i = 0; i < MANY; i++) {
                queried(t, loop.active, DAT_EP_FIELD_ALL);
                queried(t, loop.passive, DAT_EP_FIELD_ALL);
        }

        for (uint64_t i = 0; i < POSTS; i++) {
                expect_completion(ep_recv_evd(t, loop.passive), loop.passive, i, MESSAGE, 0);
                expect_completion(ep_request_evd(t, loop.active), loop.active, i, MESSAGE, 0);
        }
        expect_event(ep_connect_evd(t, loop.active), DAT_CONNECTION_EVENT_DISCONNECTED);
        expect_event(ep_connect_evd(t, loop.passive), DAT_CONNECTION_EVENT_DISCONNECTED);
}

CASE(ep_query, within_structure)
{
        struct known known = known_ep(t, 1);
        struct buf *buf = buf_with(t, .length = sizeof(DAT_EP_PARAM));
        DAT_EP_PARAM *param = (DAT_EP_PARAM *)(void *)buf->addr;

        expect(dat_ep_query(known.ep, DAT_EP_FIELD_ALL, param), DAT_SUCCESS);
        check_param(t, &known.param, param, DAT_EP_FIELD_ALL & ~OF_CONNECTION);
        for (size_t i = 0; i < FIELD_COUNT; i++)
                expect(dat_ep_query(known.ep, fields[i].bit, param), DAT_SUCCESS);
        release(t, buf->lmr);
}

/*
 * Arguments
 */

/* The bit among those of the fields that is none. By DAT 2.0 there is none: one above them all. */
#define GAP  UINT64_C(0x800)
#define HOLE (DAT_EP_FIELD_ALL & GAP ? UINT64_C(1) << 40 : GAP)

static const struct wrong_mask {
        const char *id;
        DAT_EP_PARAM_MASK bits;
} masks[] = {
    {"hole", HOLE},
    {"hole_among_all", DAT_EP_FIELD_ALL | HOLE},
    {"next_bit", UINT64_C(1) << 31},
    {"next_bit_among_all", DAT_EP_FIELD_ALL | UINT64_C(1) << 31},
    {"bit_32", UINT64_C(1) << 32},
    {"highest_bit", UINT64_C(1) << 63},
    {"all_bits", ~UINT64_C(0)},
};

FAMILY(ep_query, invalid_mask, masks)
{
        struct known known = known_ep(t, 1);
        DAT_EP_PARAM param;

        memset(&param, 0, sizeof(param));
        expect(dat_ep_query(known.ep, row->bits, &param), DAT_INVALID_PARAMETER);
        check_without_connection(t, &known);
}

/* Each bit that is no field's, alone and beside one that is. */
CASE(ep_query, invalid_mask_connected)
{
        struct known active = known_ep(t, 1);
        struct known passive = known_ep(t, 2);
        DAT_EP_PARAM param;

        join(t, &active, &passive);
        memset(&param, 0, sizeof(param));
        for (unsigned int i = 0; i < 64; i++) {
                DAT_EP_PARAM_MASK bit = UINT64_C(1) << i;

                if (DAT_EP_FIELD_ALL & bit)
                        continue;
                expect(dat_ep_query(active.ep, bit, &param), DAT_INVALID_PARAMETER);
                expect(dat_ep_query(active.ep, bit | DAT_EP_FIELD_EP_STATE, &param),
                       DAT_INVALID_PARAMETER);
        }
        check_fields(t, &active, DAT_EP_FIELD_ALL);
        check_fields(t, &passive, DAT_EP_FIELD_ALL);
}

CASE(ep_query, no_mask)
{
        struct known known = known_ep(t, 1);
        DAT_EP_PARAM param;

        memset(&param, 0, sizeof(param));
        expect_or_note(dat_ep_query(known.ep, 0, &param), DAT_SUCCESS, DAT_INVALID_PARAMETER);
        check_without_connection(t, &known);
}

LEGAL(ep_query)
{
        static DAT_EP_PARAM param;

        call->ep_handle = ep_with(t);
        call->ep_param_mask = DAT_EP_FIELD_ALL;
        call->ep_param = &param;
}
