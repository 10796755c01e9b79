/* SPDX-License-Identifier: BSD-2-Clause */
/* The parameters of dat_ep_modify: who may change them when, to what, and with what effect. */
#include "ep_modify.h"

#include <string.h>

#define MESSAGE      ((size_t)64)   /* bytes */
#define SHORT        ((size_t)4096) /* the longest message of an EP that is to be changed */
#define LONG         ((size_t)8192)
#define SEGMENT      ((size_t)16)
#define MORE_DTOS    16
#define DTOS_MAX     48 /* below the length of a fixture's EVD */
#define SEGMENTS_MAX 64

#define IN_STATE(state_)  (1u << DAT_EP_STATE_##state_)
#define NEVER             0
#define QUIESCENT         (IN_STATE(UNCONNECTED) | IN_STATE(TENTATIVE_CONNECTION_PENDING))
#define BEFORE_CONNECTING (QUIESCENT | IN_STATE(RESERVED) | IN_STATE(PASSIVE_CONNECTION_PENDING))

static const struct sockaddr_storage elsewhere = {.ss_family = AF_INET};

/*
 * Other values
 */

static uint64_t make_pz(struct test *t)
{
        return (uint64_t)(uintptr_t)pz_new(t);
}

static uint64_t make_dto_evd(struct test *t)
{
        return (uint64_t)(uintptr_t)evd_with(t);
}

static uint64_t make_connect_evd(struct test *t)
{
        return (uint64_t)(uintptr_t)evd_with(t, .qlen = 8, .flags = DAT_EVD_CONNECTION_FLAG);
}

static uint64_t no_object(struct test *t, uint64_t old)
{
        (void)t;
        (void)old;
        return (uint64_t)(uintptr_t)DAT_HANDLE_NULL;
}

static uint64_t other_state(struct test *t, uint64_t old)
{
        (void)t;
        return old == DAT_EP_STATE_CONNECTED ? DAT_EP_STATE_UNCONNECTED : DAT_EP_STATE_CONNECTED;
}

static uint64_t other_address(struct test *t, uint64_t old)
{
        (void)t;
        (void)old;
        return (uint64_t)(uintptr_t)&elsewhere;
}

static uint64_t other_port(struct test *t, uint64_t old)
{
        (void)t;
        return old + 1;
}

static uint64_t other_length(struct test *t, uint64_t old)
{
        (void)t;
        return old == LONG ? SHORT : LONG;
}

static uint64_t other_flags(struct test *t, uint64_t old)
{
        (void)t;
        return old == DAT_COMPLETION_UNSIGNALLED_FLAG ? DAT_COMPLETION_DEFAULT_FLAG
                                                      : DAT_COMPLETION_UNSIGNALLED_FLAG;
}

static uint64_t more_or_less(uint64_t old, DAT_COUNT limit)
{
        return old < (uint64_t)limit ? old + 1 : old - 1;
}

static uint64_t other_dtos(struct test *t, uint64_t old)
{
        uint64_t most = (uint64_t)ia_attr(t)->max_dto_per_ep;

        if (most > DTOS_MAX)
                most = DTOS_MAX;
        return old + MORE_DTOS <= most ? old + MORE_DTOS : more_or_less(old, (DAT_COUNT)most);
}

static uint64_t other_iov(struct test *t, uint64_t old)
{
        DAT_COUNT limit = ia_attr(t)->max_iov_segments_per_dto;

        return more_or_less(old, limit < SEGMENTS_MAX ? limit : SEGMENTS_MAX);
}

static uint64_t other_reads_in(struct test *t, uint64_t old)
{
        return more_or_less(old, ia_attr(t)->max_rdma_read_per_ep_in);
}

static uint64_t other_reads_out(struct test *t, uint64_t old)
{
        return more_or_less(old, ia_attr(t)->max_rdma_read_per_ep_out);
}

static const char *one_flag(struct test *t)
{
        return provider_attr(t)->completion_flags_supported & DAT_COMPLETION_UNSIGNALLED_FLAG
                   ? NULL
                   : "completion_flags_supported: no DAT_COMPLETION_UNSIGNALLED_FLAG";
}

static const char *one_segment(struct test *t)
{
        return ia_attr(t)->max_iov_segments_per_dto > 1
                   ? NULL
                   : "max_iov_segments_per_dto: there is one number only";
}

static const char *no_reads_in(struct test *t)
{
        return ia_attr(t)->max_rdma_read_per_ep_in > 0 ? NULL : "max_rdma_read_per_ep_in = 0";
}

static const char *no_reads_out(struct test *t)
{
        return ia_attr(t)->max_rdma_read_per_ep_out > 0 ? NULL : "max_rdma_read_per_ep_out = 0";
}

/*
 * Effects
 */

static DAT_PZ_HANDLE zone_of(struct test *t, const struct ep_change *change)
{
        return change->parameter->field == DAT_EP_FIELD_PZ_HANDLE ? ep_wanted_handle(change)
                                                                  : pz(t);
}

static DAT_RETURN post_recv(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET *segments, int count,
                            DAT_COMPLETION_FLAGS flags)
{
        return dat_ep_post_recv(ep, count, segments, (DAT_DTO_COOKIE){.as_64 = 0}, flags);
}

static DAT_RETURN post_send(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET *segments, int count,
                            DAT_COMPLETION_FLAGS flags)
{
        return dat_ep_post_send(ep, count, segments, (DAT_DTO_COOKIE){.as_64 = 0}, flags);
}

static void split(const struct buf *buf, DAT_LMR_TRIPLET *segments, size_t count)
{
        for (size_t i = 0; i < count; i++)
                segments[i] = triplet(buf, i * SEGMENT, SEGMENT);
}

/* A message of so many segments comes. */
static void receive_segments(struct test *t, const struct ep_change *change, size_t count,
                             size_t length)
{
        struct buf *buf = buf_with(t, .length = count * length, .pz = zone_of(t, change));
        DAT_LMR_TRIPLET segments[SEGMENTS_MAX] = {triplet(buf, 0, length)};
        struct peer_ep *end = expect_connect(change->ep);

        if (count > 1)
                split(buf, segments, count);
        expect(post_recv(change->ep, segments, (int)count, DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        peer_send(end, .length = count * length);
        expect_eq(expect_dto(ep_recv_evd(t, change->ep)).transfered_length, count * length);
        expect_that(message_holds(buf->addr, count * length, 0), "the message came damaged");
}

static void send_segments(struct test *t, const struct ep_change *change, size_t count,
                          size_t length)
{
        struct buf *buf = buf_with(t, .length = count * length, .pz = zone_of(t, change));
        DAT_LMR_TRIPLET segments[SEGMENTS_MAX] = {triplet(buf, 0, length)};
        struct peer_ep *end = expect_connect(change->ep);

        if (count > 1)
                split(buf, segments, count);
        message_fill(buf->addr, count * length, 0);
        peer_post_recv(end, 1, count * length);
        expect(post_send(change->ep, segments, (int)count, DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        expect_dto(ep_request_evd(t, change->ep));
        peer_wait_recv(end, 0, count * length);
}

void expect_ep_receives(struct test *t, const struct ep_change *change)
{
        receive_segments(t, change, 1, MESSAGE);
}

void expect_ep_sends(struct test *t, const struct ep_change *change)
{
        send_segments(t, change, 1, MESSAGE);
}

static void expect_long_message(struct test *t, const struct ep_change *change)
{
        send_segments(t, change, 1, (size_t)change->wanted);
}

static void expect_segments_in(struct test *t, const struct ep_change *change)
{
        receive_segments(t, change, (size_t)change->wanted, SEGMENT);
}

static void expect_segments_out(struct test *t, const struct ep_change *change)
{
        send_segments(t, change, (size_t)change->wanted, SEGMENT);
}

static void expect_connection(struct test *t, const struct ep_change *change)
{
        expect_connect(change->ep);
}

/* What wakes no waiter is there to be dequeued. */
static void expect_dequeued(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_EVENT event = {.event_number = DAT_SOFTWARE_EVENT};

        settle(t);
        expect(dat_evd_dequeue(evd, &event), DAT_SUCCESS);
        expect_eq(event.event_number, DAT_DTO_COMPLETION_EVENT);
        expect_eq(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
}

static void expect_unsignalled_recv(struct test *t, const struct ep_change *change)
{
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);
        struct peer_ep *end = expect_connect(change->ep);

        expect(post_recv(change->ep, &segment, 1, DAT_COMPLETION_UNSIGNALLED_FLAG), DAT_SUCCESS);
        peer_send(end, .length = MESSAGE);
        peer_wait_sent(end);
        expect_dequeued(t, ep_recv_evd(t, change->ep));
}

static void expect_unsignalled_send(struct test *t, const struct ep_change *change)
{
        struct buf *buf = buf_with(t);
        DAT_LMR_TRIPLET segment = triplet(buf, 0, MESSAGE);
        struct peer_ep *end = expect_connect(change->ep);

        message_fill(buf->addr, MESSAGE, 0);
        peer_post_recv(end, 1, MESSAGE);
        expect(post_send(change->ep, &segment, 1, DAT_COMPLETION_UNSIGNALLED_FLAG), DAT_SUCCESS);
        peer_wait_recv(end, 0, MESSAGE);
        expect_dequeued(t, ep_request_evd(t, change->ep));
}

/* They share memory: how many come counts here, and not what. */
static void expect_room_in(struct test *t, const struct ep_change *change)
{
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);
        struct peer_ep *end = expect_connect(change->ep);

        for (uint64_t i = 0; i < change->wanted; i++)
                expect(post_recv(change->ep, &segment, 1, DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
        peer_send(end, .count = (int)change->wanted, .length = MESSAGE);
        for (uint64_t i = 0; i < change->wanted; i++)
                expect_dto(ep_recv_evd(t, change->ep));
}

/* Each send finds a receive, and none is reaped before all are posted: they are outstanding. */
static void expect_room_out(struct test *t, const struct ep_change *change)
{
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, SHORT);

        peer_post_recv(expect_connect(change->ep), (int)change->wanted, SHORT);
        for (uint64_t i = 0; i < change->wanted; i++)
                expect(post_send(change->ep, &segment, 1, DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
        for (uint64_t i = 0; i < change->wanted; i++)
                expect_dto(ep_request_evd(t, change->ep));
}

typedef DAT_RETURN post_rdma(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE,
                             const DAT_RMR_TRIPLET *, DAT_COMPLETION_FLAGS);

static struct buf *expect_rdma(struct test *t, const struct ep_change *change, post_rdma *post,
                               size_t length)
{
        struct buf *buf = buf_with(t, .length = length);
        DAT_LMR_TRIPLET segment = triplet(buf, 0, length);
        struct peer_memory memory = peer_expose(expect_connect(change->ep), length);
        DAT_RMR_TRIPLET remote = {
            .rmr_context = memory.rmr_context,
            .target_address = memory.address,
            .segment_length = length,
        };

        expect(post(change->ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0}, &remote,
                    DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        expect_dto(ep_request_evd(t, change->ep));
        return buf;
}

static void expect_long_write(struct test *t, const struct ep_change *change)
{
        expect_rdma(t, change, dat_ep_post_rdma_write, (size_t)change->wanted);
}

static void expect_read(struct test *t, const struct ep_change *change)
{
        if (change->wanted == 0)
                return;
        struct buf *buf = expect_rdma(t, change, dat_ep_post_rdma_read, MESSAGE);

        expect_that(message_holds(buf->addr, MESSAGE, 0), "what was read came damaged");
}

static void expect_read_by_peer(struct test *t, const struct ep_change *change)
{
        struct buf *buf = buf_with(t);
        struct peer_ep *end = expect_connect(change->ep);

        if (change->wanted == 0)
                return;
        message_fill(buf->addr, MESSAGE, 0);
        expect_that(peer_read(end, buf->rmr_context, (DAT_VADDR)(uintptr_t)buf->addr, MESSAGE),
                    "the peer could not read the EP's memory");
}

/*
 * The table
 */

#define PARAM(name_, FIELD_, member_, states_, ...)                                        \
        [EP_PARAM_##name_] = {.name = #name_,                                              \
                              .field = DAT_EP_FIELD_##FIELD_,                              \
                              .offset = offsetof(DAT_EP_PARAM, member_),                   \
                              .size = sizeof(__typeof__(((DAT_EP_PARAM *)NULL)->member_)), \
                              .states = (states_),                                         \
                              __VA_ARGS__}
#define ATTR(name_, FIELD_, ...) \
        PARAM(name_, EP_ATTR_##FIELD_, ep_attr.name_, BEFORE_CONNECTING, __VA_ARGS__)
#define NAMED(name_, FIELD_, member_) \
        PARAM(name_, EP_ATTR_##FIELD_, ep_attr.member_, IN_STATE(UNCONNECTED), .of_transport = true)

const struct ep_parameter ep_parameters[EP_PARAM_COUNT] = {
    PARAM(ia_handle, IA_HANDLE, ia_handle, NEVER, .other = no_object),
    PARAM(ep_state, EP_STATE, ep_state, NEVER, .other = other_state),
    PARAM(local_ia_address_ptr, LOCAL_IA_ADDRESS_PTR, local_ia_address_ptr, NEVER, .address = true,
          .other = other_address),
    PARAM(local_port_qual, LOCAL_PORT_QUAL, local_port_qual, NEVER, .other = other_port),
    PARAM(remote_ia_address_ptr, REMOTE_IA_ADDRESS_PTR, remote_ia_address_ptr, NEVER,
          .address = true, .other = other_address),
    PARAM(remote_port_qual, REMOTE_PORT_QUAL, remote_port_qual, NEVER, .other = other_port),
    PARAM(pz_handle, PZ_HANDLE, pz_handle, QUIESCENT, .make = make_pz,
          .effect = expect_ep_receives),
    PARAM(recv_evd_handle, RECV_EVD_HANDLE, recv_evd_handle, BEFORE_CONNECTING,
          .make = make_dto_evd, .effect = expect_ep_receives),
    PARAM(request_evd_handle, REQUEST_EVD_HANDLE, request_evd_handle, BEFORE_CONNECTING,
          .make = make_dto_evd, .effect = expect_ep_sends),
    PARAM(connect_evd_handle, CONNECT_EVD_HANDLE, connect_evd_handle, BEFORE_CONNECTING,
          .make = make_connect_evd, .effect = expect_connection),
    ATTR(service_type, SERVICE_TYPE, .effect = expect_ep_receives),
    ATTR(max_message_size, MAX_MESSAGE_SIZE, .other = other_length, .effect = expect_long_message),
    ATTR(max_rdma_size, MAX_RDMA_SIZE, .other = other_length, .effect = expect_long_write),
    ATTR(qos, QOS, .effect = expect_ep_receives),
    ATTR(recv_completion_flags, RECV_COMPLETION_FLAGS, .other = other_flags, .fixed_by = one_flag,
         .effect = expect_unsignalled_recv),
    ATTR(request_completion_flags, REQUEST_COMPLETION_FLAGS, .other = other_flags,
         .fixed_by = one_flag, .effect = expect_unsignalled_send),
    ATTR(max_recv_dtos, MAX_RECV_DTOS, .other = other_dtos, .at_least = true,
         .effect = expect_room_in),
    ATTR(max_request_dtos, MAX_REQUEST_DTOS, .other = other_dtos, .at_least = true,
         .effect = expect_room_out),
    ATTR(max_recv_iov, MAX_RECV_IOV, .other = other_iov, .fixed_by = one_segment, .at_least = true,
         .effect = expect_segments_in),
    ATTR(max_request_iov, MAX_REQUEST_IOV, .other = other_iov, .fixed_by = one_segment,
         .at_least = true, .effect = expect_segments_out),
    ATTR(max_rdma_read_in, MAX_RDMA_READ_IN, .other = other_reads_in, .fixed_by = no_reads_in,
         .peer_reads = true, .effect = expect_read_by_peer),
    ATTR(max_rdma_read_out, MAX_RDMA_READ_OUT, .other = other_reads_out, .fixed_by = no_reads_out,
         .effect = expect_read),
    NAMED(transport_attr_count, NUM_TRANSPORT_ATTR, ep_transport_specific_count),
    NAMED(transport_attr, TRANSPORT_SPECIFIC_ATTR, ep_transport_specific),
    NAMED(provider_attr_count, NUM_PROVIDER_ATTR, ep_provider_specific_count),
    NAMED(provider_attr, PROVIDER_SPECIFIC_ATTR, ep_provider_specific),
};

/*
 * An EP before and after
 */

DAT_HANDLE ep_wanted_handle(const struct ep_change *change)
{
        DAT_HANDLE handle;

        memcpy(&handle, &change->wanted, sizeof(handle));
        return handle;
}

uint64_t ep_value(const DAT_EP_PARAM *param, const struct ep_parameter *parameter)
{
        const unsigned char *at = (const unsigned char *)param + parameter->offset;
        uint32_t narrow;
        uint64_t wide;

        if (parameter->size == sizeof(narrow)) {
                memcpy(&narrow, at, sizeof(narrow));
                return narrow;
        }
        memcpy(&wide, at, sizeof(wide));
        return wide;
}

void ep_value_set(DAT_EP_PARAM *param, const struct ep_parameter *parameter, uint64_t value)
{
        unsigned char *at = (unsigned char *)param + parameter->offset;
        uint32_t narrow = (uint32_t)value;

        if (parameter->size == sizeof(narrow))
                memcpy(at, &narrow, sizeof(narrow));
        else
                memcpy(at, &value, sizeof(value));
}

/* Where dat_ep_query says that an EP has remote address and port, and a local port. */
static bool has_ports(DAT_EP_STATE state)
{
        return state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING || state == DAT_EP_STATE_CONNECTED ||
               state == DAT_EP_STATE_DISCONNECT_PENDING;
}

static void copy_address(struct sockaddr_storage *to, const struct sockaddr *from)
{
        if (from)
                memcpy(to, from,
                       from->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                   : sizeof(struct sockaddr_in));
}

/* A number that differs where names or values do: FNV-1a. */
static uint64_t digest(const DAT_NAMED_ATTR *attr, DAT_COUNT count)
{
        uint64_t sum = UINT64_C(0xcbf29ce484222325);

        for (DAT_COUNT i = 0; attr && i < count; i++) {
                const char *const texts[] = {attr[i].name, attr[i].value};

                for (int j = 0; j < 2; j++)
                        for (const char *at = texts[j]; at && *at; at++)
                                sum = (sum ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
        }
        return sum;
}

struct ep_snapshot ep_snapshot(struct test *t, DAT_EP_HANDLE ep)
{
        struct ep_snapshot seen;

        memset(&seen, 0, sizeof(seen));
        must(dat_ep_query(ep, DAT_EP_FIELD_ALL, &seen.param));
        seen.transport_attr = digest(seen.param.ep_attr.ep_transport_specific,
                                     seen.param.ep_attr.ep_transport_specific_count);
        seen.provider_attr = digest(seen.param.ep_attr.ep_provider_specific,
                                    seen.param.ep_attr.ep_provider_specific_count);
        copy_address(&seen.local, (const struct sockaddr *)seen.param.local_ia_address_ptr);
        if (has_ports(seen.param.ep_state))
                copy_address(&seen.remote,
                             (const struct sockaddr *)seen.param.remote_ia_address_ptr);
        return seen;
}

DAT_EP_ATTR ep_attr_few(struct test *t)
{
        bool reads = ia_attr(t)->max_rdma_read_per_ep_out > 0;

        return (DAT_EP_ATTR){
            .service_type = DAT_SERVICE_TYPE_RC,
            .max_message_size = SHORT,
            .max_rdma_size = SHORT,
            .qos = DAT_QOS_BEST_EFFORT,
            .max_recv_dtos = 8,
            .max_request_dtos = 8,
            .max_recv_iov = 1,
            .max_request_iov = 1,
            .srq_soft_hw = DAT_HW_DEFAULT,
            .max_rdma_read_iov = reads,
            .max_rdma_write_iov = 1,
        };
}

struct ep_change ep_change_in(struct test *t, const struct ep_parameter *parameter,
                              DAT_EP_STATE state)
{
        const char *fixed = parameter->fixed_by ? parameter->fixed_by(t) : NULL;
        struct ep_change change = {.parameter = parameter};
        DAT_EP_ATTR few = ep_attr_few(t);
        uint64_t old;

        if (fixed)
                unsupported(t, fixed);
        if (parameter->make)
                change.wanted = parameter->make(t);
        change.ep = ep_in(t, state, .attr = &few);
        change.before = ep_snapshot(t, change.ep);
        old = ep_value(&change.before.param, parameter);
        if (parameter->other)
                change.wanted = parameter->other(t, old);
        else if (!parameter->make)
                change.wanted = old;
        change.asked = change.before.param;
        ep_value_set(&change.asked, parameter, change.wanted);
        return change;
}

bool ep_change_shown(struct test *t, const struct ep_change *change)
{
        struct ep_snapshot after = ep_snapshot(t, change->ep);
        uint64_t seen = ep_value(&after.param, change->parameter);

        if (seen == change->wanted)
                return true;
        if (!change->parameter->at_least || seen < change->wanted)
                return false;
        note(t, "%s: %llu asked for, %llu queried (EP-27)", change->parameter->name,
             (unsigned long long)change->wanted, (unsigned long long)seen);
        return true;
}

static bool defined(const struct ep_parameter *parameter, DAT_EP_STATE state)
{
        DAT_EP_PARAM_MASK of_connection = DAT_EP_FIELD_LOCAL_PORT_QUAL |
                                          DAT_EP_FIELD_REMOTE_PORT_QUAL |
                                          DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR;

        return !(parameter->field & of_connection) || has_ports(state);
}

/* A disconnect that is pending goes on by itself. */
static bool same(const struct ep_snapshot *one, const struct ep_snapshot *other,
                 const struct ep_parameter *parameter)
{
        if (parameter->field == DAT_EP_FIELD_EP_STATE &&
            one->param.ep_state == DAT_EP_STATE_DISCONNECT_PENDING &&
            other->param.ep_state == DAT_EP_STATE_DISCONNECTED)
                return true;
        if (parameter->field == DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR)
                return memcmp(&one->local, &other->local, sizeof(one->local)) == 0;
        if (parameter->field == DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR)
                return memcmp(&one->remote, &other->remote, sizeof(one->remote)) == 0;
        if (parameter->field == DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR)
                return one->transport_attr == other->transport_attr;
        if (parameter->field == DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR)
                return one->provider_attr == other->provider_attr;
        return ep_value(&one->param, parameter) == ep_value(&other->param, parameter);
}

void expect_ep_kept(struct test *t, DAT_EP_HANDLE ep, const struct ep_snapshot *before,
                    DAT_EP_PARAM_MASK except)
{
        struct ep_snapshot after = ep_snapshot(t, ep);

        for (int i = 0; i < EP_PARAM_COUNT; i++) {
                const struct ep_parameter *parameter = &ep_parameters[i];

                if (parameter->field & except || !defined(parameter, before->param.ep_state) ||
                    !defined(parameter, after.param.ep_state))
                        continue;
                expect_that(same(before, &after, parameter), "%s was %#llx and is %#llx",
                            parameter->name,
                            (unsigned long long)ep_value(&before->param, parameter),
                            (unsigned long long)ep_value(&after.param, parameter));
        }
}
