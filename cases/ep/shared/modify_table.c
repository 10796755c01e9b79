/* SPDX-License-Identifier: BSD-2-Clause */
/* The parameters of dat_ep_modify: who may change them when, to what, and with what effect. */
#include "cases/ep/shared/modify_table.h"
#include "cases/shared/point.h"

#include <limits.h>
#include <string.h>

#define MESSAGE      ((size_t)64)   /* bytes */
#define SHORT        ((size_t)4096) /* the longest message of an EP that is to be changed */
#define LONG         ((size_t)8192)
#define SEGMENT      ((size_t)16)
#define MORE_DTOS    16
#define DTOS_MAX     48 /* below the length of a fixture's EVD */
#define SEGMENTS_MAX 64
#define READS_MAX    4 /* those that the peer's end is the target of at once */

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

/* One of `flags` that the provider declares, or none where the EP has one, or declares none. */
static uint64_t declared_flag(struct test *t, uint64_t old, const DAT_COMPLETION_FLAGS *flags,
                              int count)
{
        DAT_COMPLETION_FLAGS declared = provider_attr_if_told(t)->completion_flags_supported;

        for (int i = 0; old == DAT_COMPLETION_DEFAULT_FLAG && i < count; i++)
                if (declared & flags[i])
                        return flags[i];
        return DAT_COMPLETION_DEFAULT_FLAG;
}

static uint64_t other_recv_flags(struct test *t, uint64_t old)
{
        static const DAT_COMPLETION_FLAGS flags[] = {DAT_COMPLETION_UNSIGNALLED_FLAG,
                                                     DAT_COMPLETION_EVD_THRESHOLD_FLAG,
                                                     DAT_COMPLETION_SOLICITED_WAIT_FLAG};

        return declared_flag(t, old, flags, 3);
}

static uint64_t other_request_flags(struct test *t, uint64_t old)
{
        static const DAT_COMPLETION_FLAGS flags[] = {DAT_COMPLETION_UNSIGNALLED_FLAG,
                                                     DAT_COMPLETION_EVD_THRESHOLD_FLAG};

        return declared_flag(t, old, flags, 2);
}

static uint64_t more_or_less(uint64_t old, DAT_COUNT limit)
{
        return old < (uint64_t)limit ? old + 1 : old - 1;
}

static uint64_t other_dtos(struct test *t, uint64_t old)
{
        uint64_t most = (uint64_t)ia_attr_if_told(t)->max_dto_per_ep;

        if (most > DTOS_MAX)
                most = DTOS_MAX;
        return old + MORE_DTOS <= most ? old + MORE_DTOS : more_or_less(old, (DAT_COUNT)most);
}

static uint64_t other_iov(struct test *t, uint64_t old)
{
        DAT_COUNT limit = ia_attr_if_told(t)->max_iov_segments_per_dto;

        if (limit <= 1)
                return 1;
        return more_or_less(old, limit < SEGMENTS_MAX ? limit : SEGMENTS_MAX);
}

/* As many as the peer's end lets be under way, or one less. */
static uint64_t other_reads(uint64_t old, DAT_COUNT limit)
{
        uint64_t most = limit < READS_MAX ? (uint64_t)limit : READS_MAX;

        return most == old && old > 0 ? old - 1 : most;
}

static uint64_t other_reads_in(struct test *t, uint64_t old)
{
        return other_reads(old, ia_attr_if_told(t)->max_rdma_read_per_ep_in);
}

static uint64_t other_reads_out(struct test *t, uint64_t old)
{
        return other_reads(old, ia_attr_if_told(t)->max_rdma_read_per_ep_out);
}

/*
 * Effects
 */

static DAT_PZ_HANDLE zone_of(struct test *t, const struct ep_change *change)
{
        return change->parameter->field == DAT_EP_FIELD_PZ_HANDLE ? ep_handle(change->wanted)
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

static void split(const struct buf *buf, size_t offset, DAT_LMR_TRIPLET *segments,
                  const struct load *load)
{
        for (size_t i = 0; i < load->segments; i++)
                segments[i] = triplet(buf, offset + i * load->length, load->length);
}

/* None is reaped before all are posted: they are outstanding at once. */
void expect_ep_takes(struct test *t, DAT_EP_HANDLE ep, DAT_PZ_HANDLE zone, struct peer_ep *end,
                     struct load load)
{
        size_t length = load.segments * load.length;
        struct buf *buf = buf_with(t, .length = load.dtos * length, .pz = zone);
        DAT_LMR_TRIPLET segments[SEGMENTS_MAX];

        for (size_t i = 0; i < load.dtos; i++) {
                split(buf, i * length, segments, &load);
                expect(post_recv(ep, segments, (int)load.segments, DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
        }
        peer_send(end, .count = (int)load.dtos, .length = length);
        for (size_t i = 0; i < load.dtos; i++) {
                expect_eq(expect_dto(ep_recv_evd(t, ep)).transfered_length, length);
                expect_that(message_holds(buf->addr + i * length, length, i),
                            "message %zu came damaged", i);
        }
        release(t, buf->lmr);
}

/* Each send finds a receive, and none is reaped before all are posted: they are outstanding. */
void expect_ep_gives(struct test *t, DAT_EP_HANDLE ep, DAT_PZ_HANDLE zone, struct peer_ep *end,
                     struct load load)
{
        size_t length = load.segments * load.length;
        struct buf *buf = buf_with(t, .length = load.dtos * length, .pz = zone);
        DAT_LMR_TRIPLET segments[SEGMENTS_MAX];

        peer_post_recv(end, (int)load.dtos, length);
        for (size_t i = 0; i < load.dtos; i++) {
                message_fill(buf->addr + i * length, length, i);
                split(buf, i * length, segments, &load);
                expect(post_send(ep, segments, (int)load.segments, DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
        }
        for (size_t i = 0; i < load.dtos; i++)
                expect_dto(ep_request_evd(t, ep));
        for (size_t i = 0; i < load.dtos; i++)
                peer_wait_recv(end, i, length);
        release(t, buf->lmr);
}

static size_t at_most(DAT_COUNT number, size_t limit)
{
        if (number < 1)
                return 1;
        return (size_t)number < limit ? (size_t)number : limit;
}

void expect_ep_bears_over(struct test *t, DAT_EP_HANDLE ep, struct peer_ep *end)
{
        DAT_EP_PARAM param = ep_snapshot(t, ep).param;
        struct load in = {at_most(param.ep_attr.max_recv_dtos, DTOS_MAX),
                          at_most(param.ep_attr.max_recv_iov, SEGMENTS_MAX), SEGMENT};
        struct load out = {at_most(param.ep_attr.max_request_dtos, DTOS_MAX),
                           at_most(param.ep_attr.max_request_iov, SEGMENTS_MAX), SEGMENT};
        struct load longest = {
            1, 1, param.ep_attr.max_message_size < LONG ? param.ep_attr.max_message_size : LONG};

        expect_ep_takes(t, ep, param.pz_handle, end, in);
        expect_ep_gives(t, ep, param.pz_handle, end, out);
        expect_ep_takes(t, ep, param.pz_handle, end, longest);
        expect_ep_gives(t, ep, param.pz_handle, end, longest);
}

void expect_ep_bears(struct test *t, DAT_EP_HANDLE ep)
{
        expect_ep_bears_over(t, ep, expect_connect(ep));
}

static void bring(struct test *t, const struct ep_change *change, struct load load)
{
        expect_ep_takes(t, change->ep, zone_of(t, change), expect_connect(change->ep), load);
}

static void carry(struct test *t, const struct ep_change *change, struct load load)
{
        expect_ep_gives(t, change->ep, zone_of(t, change), expect_connect(change->ep), load);
}

void expect_ep_receives(struct test *t, const struct ep_change *change)
{
        bring(t, change, (struct load){1, 1, MESSAGE});
}

void expect_ep_sends(struct test *t, const struct ep_change *change)
{
        carry(t, change, (struct load){1, 1, MESSAGE});
}

static void expect_long_message(struct test *t, const struct ep_change *change)
{
        struct load load = {1, 1, (size_t)change->wanted};
        struct peer_ep *end = expect_connect(change->ep);

        expect_ep_gives(t, change->ep, pz(t), end, load);
        expect_ep_takes(t, change->ep, pz(t), end, load);
}

static void expect_segments_in(struct test *t, const struct ep_change *change)
{
        bring(t, change, (struct load){1, (size_t)change->wanted, SEGMENT});
}

static void expect_segments_out(struct test *t, const struct ep_change *change)
{
        carry(t, change, (struct load){1, (size_t)change->wanted, SEGMENT});
}

static void expect_room_in(struct test *t, const struct ep_change *change)
{
        bring(t, change, (struct load){(size_t)change->wanted, 1, MESSAGE});
}

static void expect_room_out(struct test *t, const struct ep_change *change)
{
        carry(t, change, (struct load){(size_t)change->wanted, 1, SHORT});
}

/* It begins and ends on the EVD. */
static void expect_connection(struct test *t, const struct ep_change *change)
{
        expect_connect(change->ep);
        must(dat_ep_disconnect(change->ep, DAT_CLOSE_ABRUPT_FLAG));
        expect_event(ep_connect_evd(t, change->ep), DAT_CONNECTION_EVENT_DISCONNECTED);
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

static void expect_flagged_recv(struct test *t, const struct ep_change *change)
{
        DAT_COMPLETION_FLAGS flag = (DAT_COMPLETION_FLAGS)change->wanted;
        bool unsignalled = flag == DAT_COMPLETION_UNSIGNALLED_FLAG;
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);
        struct peer_ep *end = expect_connect(change->ep);

        expect(post_recv(change->ep, &segment, 1, unsignalled ? flag : DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        peer_send(end, .length = MESSAGE, .flags = flag & DAT_COMPLETION_SOLICITED_WAIT_FLAG);
        peer_wait_sent(end);
        if (unsignalled)
                expect_dequeued(t, ep_recv_evd(t, change->ep));
        else
                expect_dto(ep_recv_evd(t, change->ep));
}

static void expect_flagged_send(struct test *t, const struct ep_change *change)
{
        DAT_COMPLETION_FLAGS flag = (DAT_COMPLETION_FLAGS)change->wanted;
        bool unsignalled = flag == DAT_COMPLETION_UNSIGNALLED_FLAG;
        struct buf *buf = buf_with(t);
        DAT_LMR_TRIPLET segment = triplet(buf, 0, MESSAGE);
        struct peer_ep *end = expect_connect(change->ep);

        message_fill(buf->addr, MESSAGE, 0);
        peer_post_recv(end, 1, MESSAGE);
        expect(post_send(change->ep, &segment, 1, unsignalled ? flag : DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        peer_wait_recv(end, 0, MESSAGE);
        if (unsignalled)
                expect_dequeued(t, ep_request_evd(t, change->ep));
        else
                expect_dto(ep_request_evd(t, change->ep));
}

typedef DAT_RETURN post_rdma(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE,
                             const DAT_RMR_TRIPLET *, DAT_COMPLETION_FLAGS);

/* So many of them are outstanding at once, each for a place of its own. */
static struct buf *expect_rdma(struct test *t, const struct ep_change *change, post_rdma *post,
                               size_t count, size_t length)
{
        struct buf *buf = buf_with(t, .length = count * length);
        struct peer_memory memory = peer_expose(expect_connect(change->ep), length);
        DAT_RMR_TRIPLET remote = {
            .rmr_context = memory.rmr_context,
            .target_address = memory.address,
            .segment_length = length,
        };

        for (size_t i = 0; i < count; i++) {
                DAT_LMR_TRIPLET segment = triplet(buf, i * length, length);

                expect(post(change->ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = i}, &remote,
                            DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
        }
        for (size_t i = 0; i < count; i++)
                expect_eq(expect_dto(ep_request_evd(t, change->ep)).user_cookie.as_64, i);
        return buf;
}

static void expect_long_write(struct test *t, const struct ep_change *change)
{
        expect_rdma(t, change, dat_ep_post_rdma_write, 1, (size_t)change->wanted);
}

static void expect_reads(struct test *t, const struct ep_change *change)
{
        size_t count = (size_t)change->wanted;

        if (count == 0)
                return;
        struct buf *buf = expect_rdma(t, change, dat_ep_post_rdma_read, count, MESSAGE);

        for (size_t i = 0; i < count; i++)
                expect_that(message_holds(buf->addr + i * MESSAGE, MESSAGE, 0),
                            "what read %zu brought came damaged", i);
}

static void expect_reads_by_peer(struct test *t, const struct ep_change *change)
{
        struct buf *buf = buf_with(t);
        struct peer_ep *end;

        peer_reads(peer(t), (DAT_COUNT)change->wanted);
        end = expect_connect(change->ep);
        message_fill(buf->addr, MESSAGE, 0);
        for (uint64_t i = 0; i < change->wanted; i++)
                expect_that(
                    peer_read(end, buf->rmr_context, (DAT_VADDR)(uintptr_t)buf->addr, MESSAGE),
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
    ATTR(recv_completion_flags, RECV_COMPLETION_FLAGS, .other = other_recv_flags,
         .effect = expect_flagged_recv),
    ATTR(request_completion_flags, REQUEST_COMPLETION_FLAGS, .other = other_request_flags,
         .effect = expect_flagged_send),
    ATTR(max_recv_dtos, MAX_RECV_DTOS, .other = other_dtos, .at_least = true,
         .effect = expect_room_in),
    ATTR(max_request_dtos, MAX_REQUEST_DTOS, .other = other_dtos, .at_least = true,
         .effect = expect_room_out),
    ATTR(max_recv_iov, MAX_RECV_IOV, .other = other_iov, .at_least = true,
         .effect = expect_segments_in),
    ATTR(max_request_iov, MAX_REQUEST_IOV, .other = other_iov, .at_least = true,
         .effect = expect_segments_out),
    ATTR(max_rdma_read_in, MAX_RDMA_READ_IN, .other = other_reads_in, .peer_reads = true,
         .effect = expect_reads_by_peer),
    ATTR(max_rdma_read_out, MAX_RDMA_READ_OUT, .other = other_reads_out, .effect = expect_reads),
    NAMED(transport_attr_count, NUM_TRANSPORT_ATTR, ep_transport_specific_count),
    NAMED(transport_attr, TRANSPORT_SPECIFIC_ATTR, ep_transport_specific),
    NAMED(provider_attr_count, NUM_PROVIDER_ATTR, ep_provider_specific_count),
    NAMED(provider_attr, PROVIDER_SPECIFIC_ATTR, ep_provider_specific),
};

/*
 * An EP before and after
 */

uint64_t ep_value_wrapping(const struct ep_parameter *parameter, uint64_t value)
{
        return value + (UINT64_C(1) << (CHAR_BIT / 2 * parameter->size));
}

DAT_HANDLE ep_handle(uint64_t value)
{
        DAT_HANDLE handle;

        memcpy(&handle, &value, sizeof(handle));
        return handle;
}

bool ep_attr_same(const DAT_EP_ATTR *one, const DAT_EP_ATTR *other)
{
        const DAT_EP_PARAM of_one = {.ep_attr = *one};
        const DAT_EP_PARAM of_other = {.ep_attr = *other};
        bool same = one->srq_soft_hw == other->srq_soft_hw &&
                    one->max_rdma_read_iov == other->max_rdma_read_iov &&
                    one->max_rdma_write_iov == other->max_rdma_write_iov;

        for (size_t i = 0; i < EP_PARAM_COUNT; i++)
                same &=
                    ep_value(&of_one, &ep_parameters[i]) == ep_value(&of_other, &ep_parameters[i]);
        return same;
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

struct ep_snapshot ep_look(struct test *t, DAT_EP_HANDLE ep)
{
        struct ep_snapshot seen;

        memset(&seen, 0, sizeof(seen));
        if (ep_query_answers(t) ||
            !ep_made_with(t, ep, &seen.param.pz_handle, &seen.param.srq_handle))
                return ep_snapshot(t, ep);
        seen.unasked = true;
        return seen;
}

DAT_EP_ATTR ep_attr_few(struct test *t)
{
        bool reads = ia_attr_if_told(t)->max_rdma_read_per_ep_out > 0;

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

/* Fields outside the mask have values that no EP can have, so that a read of them shows. */
#define POISON 0xa5

uint64_t ep_new_object(struct test *t, const struct ep_parameter *parameter)
{
        return parameter->make ? parameter->make(t) : 0;
}

struct ep_change ep_change_of(struct test *t, const struct ep_parameter *parameter,
                              DAT_EP_HANDLE ep, uint64_t made)
{
        struct ep_change change = {.parameter = parameter, .ep = ep, .wanted = made};
        uint64_t old;

        change.before = ep_snapshot(t, ep);
        old = ep_value(&change.before.param, parameter);
        if (parameter->other)
                change.wanted = parameter->other(t, old);
        else if (!parameter->make)
                change.wanted = old;
        memset(&change.asked, POISON, sizeof(change.asked));
        /* A number of named attributes and the place where they are go together. */
        if (parameter->of_transport)
                change.asked = change.before.param;
        ep_value_set(&change.asked, parameter, change.wanted);
        return change;
}

struct ep_change ep_change_in(struct test *t, const struct ep_parameter *parameter,
                              DAT_EP_STATE state)
{
        uint64_t made = ep_new_object(t, parameter);
        DAT_EP_ATTR few = ep_attr_few(t);

        return ep_change_of(t, parameter, ep_in(t, state, .attr = &few), made);
}

static uint64_t value_now(struct test *t, const struct ep_change *change)
{
        struct ep_snapshot now = ep_snapshot(t, change->ep);

        return ep_value(&now.param, change->parameter);
}

static bool is_granted(struct test *t, const struct ep_change *change, uint64_t seen)
{
        if (seen == change->wanted)
                return true;
        if (!change->parameter->at_least || seen < change->wanted)
                return false;
        note(t, "%s: %llu asked for, %llu queried (EP-27)", change->parameter->name,
             (unsigned long long)change->wanted, (unsigned long long)seen);
        return true;
}

bool ep_change_shown(struct test *t, const struct ep_change *change)
{
        return is_granted(t, change, value_now(t, change));
}

DAT_RETURN ep_modify(struct ep_change *change)
{
        return dat_ep_modify(change->ep, change->parameter->field, &change->asked);
}

void expect_ep_changed_alone(struct test *t, const struct ep_change *change)
{
        const DAT_EP_PARAM_MASK evds = DAT_EP_FIELD_RECV_EVD_HANDLE |
                                       DAT_EP_FIELD_REQUEST_EVD_HANDLE |
                                       DAT_EP_FIELD_CONNECT_EVD_HANDLE;

        expect_ep_kept(t, change->ep, &change->before, change->parameter->field);
        ep_reports_to(t, change->ep, change->parameter->field & evds, ep_handle(change->wanted));
}

void expect_ep_change(struct test *t, struct ep_change *change)
{
        expect(ep_modify(change), DAT_SUCCESS);
        expect_that(ep_change_shown(t, change), "%s: %llu asked for and granted, and not queried",
                    change->parameter->name, (unsigned long long)change->wanted);
        expect_ep_changed_alone(t, change);
}

void expect_ep_effect(struct test *t, const struct ep_change *change)
{
        uint64_t seen;

        change->parameter->effect(t, change);
        seen = value_now(t, change);
        expect_that(is_granted(t, change, seen),
                    "%s: %llu before the EP was connected, and %llu afterwards",
                    change->parameter->name, (unsigned long long)change->wanted,
                    (unsigned long long)seen);
}

static bool defined(const struct ep_parameter *parameter, DAT_EP_STATE state)
{
        DAT_EP_PARAM_MASK of_connection = DAT_EP_FIELD_LOCAL_PORT_QUAL |
                                          DAT_EP_FIELD_REMOTE_PORT_QUAL |
                                          DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR;

        return !(parameter->field & of_connection) || has_ports(state);
}

/* What the page does not list, and only its own bit may change (EP-18). */
#define UNLISTED(name_, FIELD_, member_)                                    \
        {                                                                   \
                .name = #name_, .field = DAT_EP_FIELD_##FIELD_,             \
                .offset = offsetof(DAT_EP_PARAM, member_),                  \
                .size = sizeof(__typeof__(((DAT_EP_PARAM *)NULL)->member_)) \
        }
static const struct ep_parameter unlisted[] = {
    UNLISTED(srq_handle, SRQ_HANDLE, srq_handle),
    UNLISTED(max_rdma_read_iov, EP_ATTR_MAX_RDMA_READ_IOV, ep_attr.max_rdma_read_iov),
    UNLISTED(max_rdma_write_iov, EP_ATTR_MAX_RDMA_WRITE_IOV, ep_attr.max_rdma_write_iov),
};

/* The page has one number of segments for all requests: with it those of RDMA may change. */
static bool is_excepted(const struct ep_parameter *parameter, DAT_EP_PARAM_MASK except)
{
        if (except & DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV)
                except |= DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV |
                          DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV;
        return parameter->field & except;
}

static void expect_value_kept(struct test *t, const struct ep_parameter *parameter,
                              const DAT_EP_PARAM *before, const DAT_EP_PARAM *after, bool kept)
{
        expect_that(kept, "%s was %#llx and is %#llx", parameter->name,
                    (unsigned long long)ep_value(before, parameter),
                    (unsigned long long)ep_value(after, parameter));
}

/* A pending disconnect completes by itself. */
static bool same(const struct ep_snapshot *one, const struct ep_snapshot *other,
                 const struct ep_parameter *parameter)
{
        if (parameter->field == DAT_EP_FIELD_EP_STATE &&
            one->param.ep_state == DAT_EP_STATE_DISCONNECT_PENDING &&
            other->param.ep_state == DAT_EP_STATE_DISCONNECTED)
                return true;
        if (parameter->field == DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR)
                return same_host(&one->local, &other->local);
        if (parameter->field == DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR)
                return same_host(&one->remote, &other->remote);
        if (parameter->field == DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR)
                return one->transport_attr == other->transport_attr;
        if (parameter->field == DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR)
                return one->provider_attr == other->provider_attr;
        return ep_value(&one->param, parameter) == ep_value(&other->param, parameter);
}

void expect_ep_kept(struct test *t, DAT_EP_HANDLE ep, const struct ep_snapshot *before,
                    DAT_EP_PARAM_MASK except)
{
        struct ep_snapshot after;

        if (before->unasked)
                return;
        after = ep_snapshot(t, ep);
        for (int i = 0; i < EP_PARAM_COUNT; i++) {
                const struct ep_parameter *parameter = &ep_parameters[i];

                if (parameter->field & except || !defined(parameter, before->param.ep_state) ||
                    !defined(parameter, after.param.ep_state))
                        continue;
                expect_value_kept(t, parameter, &before->param, &after.param,
                                  same(before, &after, parameter));
        }
        for (size_t i = 0; i < sizeof(unlisted) / sizeof(unlisted[0]); i++)
                if (!is_excepted(&unlisted[i], except))
                        expect_value_kept(t, &unlisted[i], &before->param, &after.param,
                                          ep_value(&before->param, &unlisted[i]) ==
                                              ep_value(&after.param, &unlisted[i]));
}
