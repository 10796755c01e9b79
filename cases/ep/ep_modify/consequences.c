/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dat_ep_modify: what a change takes along and what it leaves. Receives that are posted, the EVDs
 * and zones of before and after, other EPs, an SRQ; and changes that come later, or are taken back.
 */
#include "cases/ep/ep_modify/general_fixtures.h"
#include "cases/ep/shared/creation.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/ep/shared/high_marks.h"
#include "cases/ep/shared/modify_table.h"
#include "cases/ep/shared/rdma.h"
#include "cases/srq/shared/queue.h"
#include "clauses/ep_modify.h"

#include <string.h>

#define LONG      ((size_t)8192) /* longer than what an EP of few means may transfer */
#define RECEIVES  4
#define TIMES     20
#define SEGMENTS  4 /* of an RDMA, at most */
#define UNWRITTEN 0x5a
#define PLACES    8 /* of an SRQ */

static DAT_RETURN post_recv(DAT_EP_HANDLE ep, const struct buf *buf)
{
        DAT_LMR_TRIPLET segment = triplet(buf, 0, MESSAGE);

        return dat_ep_post_recv(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0},
                                DAT_COMPLETION_DEFAULT_FLAG);
}

/* The change, back to what was before. */
static struct ep_change backwards(const struct ep_change *change)
{
        struct ep_change back = *change;

        back.wanted = ep_value(&change->before.param, change->parameter);
        ep_value_set(&back.asked, back.parameter, back.wanted);
        ep_value_set(&back.before.param, back.parameter, change->wanted);
        return back;
}

/*
 * Posted receives
 */

static const struct ep_state_row before_accepting[] = {
    {"unconnected", DAT_EP_STATE_UNCONNECTED},
    {"reserved", DAT_EP_STATE_RESERVED},
    {"passive_connection_pending", DAT_EP_STATE_PASSIVE_CONNECTION_PENDING},
    {"tentative_connection_pending", DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING},
};

/* What a provider's EP lacks for a receive. */
static void equip(struct test *t, struct ep_change *change)
{
        DAT_EP_PARAM with = {.pz_handle = pz(t), .recv_evd_handle = ep_recv_evd(t, change->ep)};

        must(dat_ep_modify(change->ep, DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE,
                           &with));
        change->before = ep_snapshot(t, change->ep);
}

/* A provider that declares no other flag has one more reason to refuse it. */
FAMILY(ep_modify, recv_flags_after_posting, before_accepting)
{
        struct ep_change change =
            ep_change_in(t, &ep_parameters[EP_PARAM_recv_completion_flags], row->state);

        if (row->state == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING)
                equip(t, &change);
        must(post_recv(change.ep, buf_with(t)));
        if (change.wanted == ep_value(&change.before.param, change.parameter))
                change.wanted = DAT_COMPLETION_UNSIGNALLED_FLAG;
        ep_value_set(&change.asked, change.parameter, change.wanted);

        expect_may(ep_modify(&change), DAT_INVALID_STATE, DAT_INVALID_PARAMETER);
        expect_ep_kept(t, change.ep, &change.before, 0);
}

static void expect_protection_error(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_EVENT event = expect_event(evd, DAT_DTO_COMPLETION_EVENT);

        expect_eq(event.event_data.dto_completion_event_data.status, DAT_DTO_ERR_LOCAL_PROTECTION);
}

static void expect_message(struct test *t, DAT_EP_HANDLE ep, const struct buf *buf,
                           uint64_t sequence)
{
        expect_eq(expect_dto(ep_recv_evd(t, ep)).transfered_length, MESSAGE);
        expect_that(message_holds(buf->addr, MESSAGE, sequence), "message %d came damaged",
                    (int)sequence);
}

/* Either the receive that the new zone does not cover fails, or the zone stays (EP-19). */
CASE(ep_modify, pz_with_posted_receive)
{
        struct ep_change change = unconnected(t, EP_PARAM_pz_handle);
        struct buf *buf = buf_with(t);
        DAT_RETURN ret;

        must(post_recv(change.ep, buf));

        ret = expect_may(ep_modify(&change), DAT_SUCCESS, DAT_INVALID_STATE, DAT_INVALID_PARAMETER);
        if (!dat_is(ret, DAT_SUCCESS)) {
                expect_ep_kept(t, change.ep, &change.before, 0);
                expect(dat_pz_free(change.asked.pz_handle), DAT_SUCCESS);
                disown(t, change.asked.pz_handle);
        }
        memset(buf->addr, UNWRITTEN, MESSAGE);
        peer_send(expect_connect(change.ep), .length = MESSAGE);
        if (!dat_is(ret, DAT_SUCCESS)) {
                expect_message(t, change.ep, buf, 0);
                return;
        }
        expect_protection_error(t, ep_recv_evd(t, change.ep));
        for (size_t i = 0; i < MESSAGE; i++)
                expect_that(buf->addr[i] == UNWRITTEN, "memory of the old PZ was written");
}

CASE(ep_modify, old_pz_covers_no_more)
{
        struct ep_change change = unconnected(t, EP_PARAM_pz_handle);
        struct buf *buf = buf_with(t);
        struct peer_ep *end;
        DAT_RETURN ret;

        expect(ep_modify(&change), DAT_SUCCESS);
        end = expect_connect(change.ep);

        ret = expect(post_recv(change.ep, buf), DAT_PROTECTION_VIOLATION, DAT_INVALID_PARAMETER,
                     DAT_SUCCESS);
        if (!dat_is(ret, DAT_SUCCESS))
                return;
        peer_send(end, .length = MESSAGE);
        expect_protection_error(t, ep_recv_evd(t, change.ep));
}

/* An EP that may have a read under way, where the IA has reads, and is not connected yet. */
static DAT_EP_HANDLE reading_ep(struct test *t, DAT_EVD_HANDLE request_evd)
{
        DAT_EP_ATTR attr = ep_attr_few(t);

        attr.max_rdma_read_out = attr.max_rdma_read_iov;
        return ep_with(t, .attr = &attr, .request_evd = request_evd);
}

static DAT_RMR_TRIPLET exposed(struct peer_ep *end, size_t length)
{
        struct peer_memory memory = peer_expose(end, length);

        return (DAT_RMR_TRIPLET){
            .rmr_context = memory.rmr_context,
            .target_address = memory.address,
            .segment_length = length,
        };
}

static void expect_send(struct test *t, DAT_EP_HANDLE ep, DAT_PZ_HANDLE zone)
{
        expect_ep_gives(t, ep, zone, expect_connect(ep), (struct load){1, 1, MESSAGE});
}

static void expect_write(struct test *t, DAT_EP_HANDLE ep, DAT_PZ_HANDLE zone)
{
        DAT_LMR_TRIPLET segment = triplet(buf_with(t, .pz = zone), 0, MESSAGE);
        DAT_RMR_TRIPLET remote = exposed(expect_connect(ep), MESSAGE);

        expect(dat_ep_post_rdma_write(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0}, &remote,
                                      DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        expect_dto(ep_request_evd(t, ep));
}

static void expect_read_of(struct test *t, DAT_EP_HANDLE ep, DAT_PZ_HANDLE zone, size_t length)
{
        struct buf *buf = buf_with(t, .pz = zone, .length = length);
        DAT_LMR_TRIPLET segment = triplet(buf, 0, length);
        DAT_RMR_TRIPLET remote;

        if (ia_attr(t)->max_rdma_read_per_ep_out < 1)
                unsupported(t, "max_rdma_read_per_ep_out = 0");
        remote = exposed(expect_connect(ep), length);
        expect(dat_ep_post_rdma_read(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0}, &remote,
                                     DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        expect_dto(ep_request_evd(t, ep));
        expect_that(message_holds(buf->addr, length, 0), "what was read came damaged");
}

static void expect_read(struct test *t, DAT_EP_HANDLE ep, DAT_PZ_HANDLE zone)
{
        expect_read_of(t, ep, zone, MESSAGE);
}

/* Of an RMR of its own. */
static void expect_bind_granted(struct test *t, DAT_EP_HANDLE ep, DAT_PZ_HANDLE zone,
                                DAT_LMR_TRIPLET *segment)
{
        DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
        DAT_RMR_CONTEXT context;

        must(dat_rmr_create(zone, &rmr));
        adopt(t, DAT_HANDLE_TYPE_RMR, rmr);
        expect(dat_rmr_bind(rmr, segment, DAT_MEM_PRIV_REMOTE_READ_FLAG, ep,
                            (DAT_RMR_COOKIE){.as_64 = 0}, DAT_COMPLETION_DEFAULT_FLAG, &context),
               DAT_SUCCESS);
}

static void expect_bind(struct test *t, DAT_EP_HANDLE ep, DAT_PZ_HANDLE zone)
{
        DAT_LMR_TRIPLET segment = triplet(buf_with(t, .pz = zone), 0, MESSAGE);

        expect_connect(ep);
        expect_bind_granted(t, ep, zone, &segment);
        expect_event(ep_request_evd(t, ep), DAT_RMR_BIND_COMPLETION_EVENT);
}

/* What an EP does with memory of its own zone. */
static const struct use {
        const char *id;
        void (*expect_use)(struct test *t, DAT_EP_HANDLE ep, DAT_PZ_HANDLE zone);
        DAT_EVD_FLAGS evd; /* of its request EVD */
} uses[] = {
    {"send", expect_send, DAT_EVD_DTO_FLAG},
    {"rdma_write", expect_write, DAT_EVD_DTO_FLAG},
    {"rdma_read", expect_read, DAT_EVD_DTO_FLAG},
    {"bind", expect_bind, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG},
};

FAMILY(ep_modify, new_pz_covers, uses)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        DAT_EP_HANDLE ep = reading_ep(t, evd_with(t, .flags = row->evd));
        struct ep_change change =
            ep_change_of(t, &ep_parameters[EP_PARAM_pz_handle], ep, (uint64_t)(uintptr_t)zone);

        expect_ep_change(t, &change);

        row->expect_use(t, ep, zone);
}

/* The completion of each kind of request is on the new EVD alone. */
FAMILY(ep_modify, request_evd_of, uses)
{
        DAT_EVD_HANDLE made = evd_with(t, .flags = row->evd);
        DAT_EVD_HANDLE old = evd_with(t, .flags = row->evd);
        DAT_EP_HANDLE ep = reading_ep(t, old);
        struct ep_change change = ep_change_of(t, &ep_parameters[EP_PARAM_request_evd_handle], ep,
                                               (uint64_t)(uintptr_t)made);

        expect_ep_change(t, &change);

        row->expect_use(t, ep, pz(t));
        expect_quiet(old);
}

/* What the other end may read is of the zone that the EP has now. The second read fails. */
CASE(ep_modify, peer_reads_in_new_pz)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct buf *bufs[] = {buf_with(t, .pz = zone), buf_with(t)};
        DAT_EP_ATTR attr = ep_attr_few(t);
        struct ep_change change;
        struct peer_ep *end;

        if (ia_attr(t)->max_rdma_read_per_ep_in < 1)
                unsupported(t, "max_rdma_read_per_ep_in = 0");
        attr.max_rdma_read_in = 1;
        peer_reads(peer(t), 1);
        change = ep_change_of(t, &ep_parameters[EP_PARAM_pz_handle], ep_with(t, .attr = &attr),
                              (uint64_t)(uintptr_t)zone);
        expect_ep_change(t, &change);
        end = expect_connect(change.ep);

        for (int i = 0; i < 2; i++) {
                bool read;

                message_fill(bufs[i]->addr, MESSAGE, 0);
                read = peer_read(end, bufs[i]->rmr_context, (DAT_VADDR)(uintptr_t)bufs[i]->addr,
                                 MESSAGE);
                expect_that(read == (i == 0), "memory of the %s PZ was %sread", i ? "old" : "new",
                            read ? "" : "not ");
        }
}

CASE(ep_modify, peer_writes_in_new_pz)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct buf *buf = buf_with(t, .pz = zone);
        struct ep_change change = ep_change_of(t, &ep_parameters[EP_PARAM_pz_handle], ep_with(t),
                                               (uint64_t)(uintptr_t)zone);

        expect_ep_change(t, &change);

        peer_write(expect_connect(change.ep), buf->rmr_context, (DAT_VADDR)(uintptr_t)buf->addr,
                   MESSAGE, 1);
        expect_that(message_holds(buf->addr, MESSAGE, 1), "memory of the new PZ was not written");
}

static DAT_RETURN post_write(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET *segment, DAT_RMR_TRIPLET *remote)
{
        return dat_ep_post_rdma_write(ep, 1, segment, (DAT_DTO_COOKIE){.as_64 = 0}, remote,
                                      DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN post_read(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET *segment, DAT_RMR_TRIPLET *remote)
{
        return dat_ep_post_rdma_read(ep, 1, segment, (DAT_DTO_COOKIE){.as_64 = 0}, remote,
                                     DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN post_send(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET *segment, DAT_RMR_TRIPLET *remote)
{
        (void)remote;
        return dat_ep_post_send(ep, 1, segment, (DAT_DTO_COOKIE){.as_64 = 0},
                                DAT_COMPLETION_DEFAULT_FLAG);
}

/* What an EP cannot do with memory of a zone that it has left. */
static const struct request {
        const char *id;
        DAT_RETURN (*post)(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET *segment, DAT_RMR_TRIPLET *remote);
        bool reads;
} requests[] = {
    {"send", post_send, false},
    {"rdma_write", post_write, false},
    {"rdma_read", post_read, true},
};

FAMILY(ep_modify, old_pz_not_for, requests)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        DAT_EP_HANDLE ep = reading_ep(t, DAT_HANDLE_NULL);
        struct ep_change change =
            ep_change_of(t, &ep_parameters[EP_PARAM_pz_handle], ep, (uint64_t)(uintptr_t)zone);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);
        DAT_RMR_TRIPLET remote;
        struct peer_ep *end;

        if (row->reads && ia_attr(t)->max_rdma_read_per_ep_out < 1)
                unsupported(t, "max_rdma_read_per_ep_out = 0");
        expect_ep_change(t, &change);
        end = expect_connect(ep);
        remote = exposed(end, MESSAGE);
        peer_post_recv(end, 1, MESSAGE);

        if (dat_is(expect(row->post(ep, &segment, &remote), DAT_PROTECTION_VIOLATION,
                          DAT_INVALID_PARAMETER, DAT_SUCCESS),
                   DAT_SUCCESS))
                expect_protection_error(t, ep_request_evd(t, ep));
}

/* Of an RMR and an LMR that are of the zone that the EP has left. */
CASE(ep_modify, old_pz_not_for_binds)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);
        DAT_EP_HANDLE ep = reading_ep(t, evd);
        struct ep_change change =
            ep_change_of(t, &ep_parameters[EP_PARAM_pz_handle], ep, (uint64_t)(uintptr_t)zone);
        DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
        DAT_RMR_CONTEXT context;
        DAT_EVENT event;

        must(dat_rmr_create(pz(t), &rmr));
        adopt(t, DAT_HANDLE_TYPE_RMR, rmr);
        expect_ep_change(t, &change);
        expect_connect(ep);

        if (!dat_is(expect(dat_rmr_bind(rmr, &segment, DAT_MEM_PRIV_REMOTE_READ_FLAG, ep,
                                        (DAT_RMR_COOKIE){.as_64 = 0}, DAT_COMPLETION_DEFAULT_FLAG,
                                        &context),
                           DAT_PROTECTION_VIOLATION, DAT_INVALID_PARAMETER, DAT_SUCCESS),
                    DAT_SUCCESS)) {
                expect_quiet(evd);
                return;
        }
        event = expect_event(evd, DAT_RMR_BIND_COMPLETION_EVENT);
        expect_that(event.event_data.rmr_completion_event_data.status != DAT_RMR_BIND_SUCCESS,
                    "an RMR of the zone that the EP has left was bound");
}

/* Longer than the EP was made for. */
CASE(ep_modify, max_rdma_size_of_reads)
{
        struct ep_change change = ep_change_of(t, &ep_parameters[EP_PARAM_max_rdma_size],
                                               reading_ep(t, DAT_HANDLE_NULL), 0);

        change.wanted = LONG;
        ep_value_set(&change.asked, change.parameter, change.wanted);
        expect_ep_change(t, &change);

        expect_read_of(t, change.ep, pz(t), LONG);
}

/* As many as the EP was given room for, outstanding at once. */
CASE(ep_modify, max_request_dtos_of_writes)
{
        struct ep_change change = unconnected(t, EP_PARAM_max_request_dtos);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);
        DAT_RMR_TRIPLET remote;

        expect_ep_change(t, &change);
        remote = exposed(expect_connect(change.ep), MESSAGE);

        for (uint64_t i = 0; i < change.wanted; i++)
                expect(dat_ep_post_rdma_write(change.ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = i},
                                              &remote, DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
        for (uint64_t i = 0; i < change.wanted; i++)
                expect_eq(expect_dto(ep_request_evd(t, change.ep)).user_cookie.as_64, i);
}

/* They wait for receives that are not there, so that none gives its place back meanwhile. */
CASE(ep_modify, max_request_dtos_at_once)
{
        struct ep_change change = unconnected(t, EP_PARAM_max_request_dtos);
        struct buf *buf = buf_with(t, .length = (size_t)change.wanted * MESSAGE);
        struct peer_ep *end;

        expect_ep_change(t, &change);
        end = expect_connect(change.ep);
        for (uint64_t i = 0; i < change.wanted; i++) {
                DAT_LMR_TRIPLET segment = triplet(buf, (size_t)i * MESSAGE, MESSAGE);

                message_fill(buf->addr + i * MESSAGE, MESSAGE, i);
                expect(dat_ep_post_send(change.ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = i},
                                        DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
        }
        if (ep_state(t, change.ep) != DAT_EP_STATE_CONNECTED)
                end_noted(t,
                          "the transport ends a connection if the receiver has no receive posted");
        peer_post_recv(end, (int)change.wanted, MESSAGE);
        for (uint64_t i = 0; i < change.wanted; i++)
                expect_eq(expect_dto(ep_request_evd(t, change.ep)).user_cookie.as_64, i);
        for (uint64_t i = 0; i < change.wanted; i++)
                peer_wait_recv(end, i, MESSAGE);
}

enum ask { A_BIND, A_WRITE, A_SEND, A_READ };

static enum ask only_binds(uint64_t place, uint64_t count)
{
        (void)place;
        (void)count;
        return A_BIND;
}

/* One read only, for an EP may have no more under way; it comes where all else has its room. */
static enum ask in_turn(uint64_t place, uint64_t count)
{
        return place == count - 1 ? A_READ : (enum ask)(place % A_READ);
}

static void expect_granted(struct test *t, DAT_EP_HANDLE ep, enum ask request,
                           DAT_LMR_TRIPLET *segment, DAT_RMR_TRIPLET *remote)
{
        if (request == A_BIND)
                expect_bind_granted(t, ep, pz(t), segment);
        else if (request == A_WRITE)
                expect(post_write(ep, segment, remote), DAT_SUCCESS);
        else if (request == A_SEND)
                expect(post_send(ep, segment, remote), DAT_SUCCESS);
        else
                expect(post_read(ep, segment, remote), DAT_SUCCESS);
}

static const struct mixture {
        const char *id;
        enum ask (*request)(uint64_t place, uint64_t count);
        bool reads;
} mixtures[] = {
    {"binds", only_binds, false},
    {"mixed", in_turn, true},
};

FAMILY(ep_modify, max_request_dtos_of, mixtures)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
        DAT_EP_HANDLE ep = reading_ep(t, evd);
        struct ep_change change = ep_change_of(t, &ep_parameters[EP_PARAM_max_request_dtos], ep, 0);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);
        DAT_RMR_TRIPLET remote;
        struct peer_ep *end;

        if (row->reads && ia_attr(t)->max_rdma_read_per_ep_out < 1)
                unsupported(t, "max_rdma_read_per_ep_out = 0");
        if ((uint64_t)ia_attr(t)->max_rmrs < change.wanted)
                unsupported(t, "max_rmrs: fewer than the case binds");
        expect_ep_change(t, &change);
        end = expect_connect(ep);
        remote = exposed(end, MESSAGE);
        peer_post_recv(end, (int)change.wanted, MESSAGE);

        for (uint64_t i = 0; i < change.wanted; i++)
                expect_granted(t, ep, row->request(i, change.wanted), &segment, &remote);
        for (uint64_t i = 0; i < change.wanted; i++)
                if (row->request(i, change.wanted) == A_BIND)
                        expect_event(evd, DAT_RMR_BIND_COMPLETION_EVENT);
                else
                        expect_dto(evd);
}

static DAT_COUNT rdma_segments(struct test *t, bool reads)
{
        const DAT_IA_ATTR *attr = ia_attr(t);
        DAT_COUNT most =
            reads ? attr->max_iov_segments_per_rdma_read : attr->max_iov_segments_per_rdma_write;

        if (reads && attr->max_rdma_read_per_ep_out < 1)
                unsupported(t, "max_rdma_read_per_ep_out = 0");
        if (most < 2)
                unsupported(t, reads ? "max_iov_segments_per_rdma_read: one"
                                     : "max_iov_segments_per_rdma_write: one");
        if (attr->max_iov_segments_per_dto < 2)
                unsupported(t, "max_iov_segments_per_dto: one");
        if (most > attr->max_iov_segments_per_dto)
                most = attr->max_iov_segments_per_dto;
        return most < SEGMENTS ? most : SEGMENTS;
}

static const struct rdma_use {
        const char *id;
        const struct rdma_kind *kind;
} rdma_uses[] = {
    {"rdma_write", &rdma_write},
    {"rdma_read", &rdma_read},
};

/* Attributes of RDMA alone, which the page does not list, the EP has from its creation. */
FAMILY(ep_modify, max_request_iov_of, rdma_uses)
{
        DAT_COUNT segments = rdma_segments(t, row->kind->reads);
        size_t length = (size_t)segments * MESSAGE;
        DAT_EP_ATTR attr = ep_attr_few(t);
        struct rdma rdma = {.kind = row->kind};
        struct ep_change change;
        struct peer_memory memory;
        DAT_RMR_TRIPLET remote;
        struct peer_ep *end;

        attr.max_rdma_read_out = row->kind->reads;
        attr.max_rdma_read_iov = row->kind->reads ? segments : attr.max_rdma_read_iov;
        attr.max_rdma_write_iov = row->kind->reads ? 1 : segments;
        rdma.ep = ep_with(t, .attr = &attr);
        rdma.evd = ep_request_evd(t, rdma.ep);
        change = ep_change_of(t, &ep_parameters[EP_PARAM_max_request_iov], rdma.ep, 0);
        change.wanted = (uint64_t)segments;
        ep_value_set(&change.asked, change.parameter, change.wanted);
        expect_ep_change(t, &change);
        end = expect_connect(rdma.ep);
        memory = peer_expose(end, length);
        remote = rdma_remote_of(memory);
        remote.segment_length = length;
        rdma.local = vector_with(t, .length = length, .segments = segments);
        if (!row->kind->reads)
                vector_fill(t, &rdma.local, RDMA_MESSAGE);

        expect(rdma_post(t, &rdma, &rdma.local, remote, 1, DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        expect_completion(rdma.evd, .ep = rdma.ep, .cookie = 1, .length = length);
        if (row->kind->reads)
                expect_holds(&rdma.local, 0, length);
        else
                expect_that(rdma_peer_has(t, end, memory, length),
                            "the segments did not arrive in order");
}

/* Of each kind of request. */
static const struct flagged_request {
        const char *id;
        enum ask request;
} flagged_requests[] = {
    {"rdma_write", A_WRITE},
    {"rdma_read", A_READ},
    {"bind", A_BIND},
    {"send", A_SEND},
};

struct flagged {
        DAT_EP_HANDLE ep;
        DAT_RMR_HANDLE rmr; /* of a bind */
        DAT_LMR_TRIPLET segment;
        DAT_RMR_TRIPLET remote;
};

static DAT_RETURN post_flagged(struct flagged *it, enum ask request, DAT_COMPLETION_FLAGS flags)
{
        DAT_RMR_CONTEXT context;

        if (request == A_WRITE)
                return dat_ep_post_rdma_write(it->ep, 1, &it->segment, COOKIE(1), &it->remote,
                                              flags);
        if (request == A_READ)
                return dat_ep_post_rdma_read(it->ep, 1, &it->segment, COOKIE(1), &it->remote,
                                             flags);
        if (request == A_SEND)
                return dat_ep_post_send(it->ep, 1, &it->segment, COOKIE(1), flags);
        return dat_rmr_bind(it->rmr, &it->segment, DAT_MEM_PRIV_REMOTE_READ_FLAG, it->ep,
                            (DAT_RMR_COOKIE){.as_64 = 1}, flags, &context);
}

/* An EP for the request, which is not connected yet, and has what a bind takes if it is one. */
static struct flagged flagged_with(struct test *t, enum ask request)
{
        DAT_EVD_FLAGS streams =
            request == A_BIND ? DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG : DAT_EVD_DTO_FLAG;
        struct flagged it = {.ep = reading_ep(t, evd_with(t, .flags = streams)),
                             .segment = triplet(buf_with(t), 0, MESSAGE)};

        if (request == A_READ && ia_attr(t)->max_rdma_read_per_ep_out < 1)
                unsupported(t, "max_rdma_read_per_ep_out = 0");
        if (request == A_BIND) {
                must(dat_rmr_create(pz(t), &it.rmr));
                adopt(t, DAT_HANDLE_TYPE_RMR, it.rmr);
        }
        return it;
}

static struct ep_change changed_of(struct test *t, const struct ep_parameter *parameter,
                                   DAT_EP_HANDLE ep, DAT_COMPLETION_FLAGS flags)
{
        struct ep_change change = ep_change_of(t, parameter, ep, 0);

        change.wanted = (uint64_t)flags;
        ep_value_set(&change.asked, change.parameter, change.wanted);
        expect_ep_change(t, &change);
        return change;
}

FAMILY(ep_modify, request_flags_of, flagged_requests)
{
        struct flagged it = flagged_with(t, row->request);
        struct waiter *waiter;
        struct peer_ep *end;

        changed_of(t, &ep_parameters[EP_PARAM_request_completion_flags], it.ep,
                   DAT_COMPLETION_UNSIGNALLED_FLAG);
        end = expect_connect(it.ep);
        it.remote = exposed(end, MESSAGE);
        if (row->request == A_SEND)
                peer_post_recv(end, 2, MESSAGE);
        waiter = wait_on_evd(t, ep_request_evd(t, it.ep), DAT_TIMEOUT_INFINITE, 1);
        must_wait(waiter);

        expect(post_flagged(&it, row->request, DAT_COMPLETION_UNSIGNALLED_FLAG), DAT_SUCCESS);
        expect_asleep(waiter);
        expect(post_flagged(&it, row->request, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect(expect_awake(waiter).ret, DAT_SUCCESS);
}

/* Flags of an EP for receives, with what wakes no waiter by them, and what does. */
static const struct flagged_receive {
        const char *id;
        DAT_COMPLETION_FLAGS of_ep;
        DAT_COMPLETION_FLAGS first; /* of the receive that is posted first */
        DAT_COMPLETION_FLAGS sent;  /* with the second message */
        DAT_COUNT threshold;
} flagged_receives[] = {
    {"unsignalled", DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_COMPLETION_UNSIGNALLED_FLAG,
     DAT_COMPLETION_DEFAULT_FLAG, 1},
    {"solicited_wait", DAT_COMPLETION_SOLICITED_WAIT_FLAG, DAT_COMPLETION_DEFAULT_FLAG,
     DAT_COMPLETION_SOLICITED_WAIT_FLAG, 1},
    {"evd_threshold", DAT_COMPLETION_EVD_THRESHOLD_FLAG, DAT_COMPLETION_DEFAULT_FLAG,
     DAT_COMPLETION_DEFAULT_FLAG, 2},
};

static struct ep_change changed_to(struct test *t, enum ep_parameter_id id,
                                   DAT_COMPLETION_FLAGS flags)
{
        DAT_EP_ATTR few = ep_attr_few(t);

        return changed_of(t, &ep_parameters[id], ep_in(t, DAT_EP_STATE_UNCONNECTED, .attr = &few),
                          flags);
}

/* The first of two messages wakes no waiter, and the second one does. */
FAMILY(ep_modify, recv_flags_of, flagged_receives)
{
        struct ep_change change = changed_to(t, EP_PARAM_recv_completion_flags, row->of_ep);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);
        struct peer_ep *end = expect_connect(change.ep);
        struct waiter *waiter;

        expect(dat_ep_post_recv(change.ep, 1, &segment, COOKIE(1), row->first), DAT_SUCCESS);
        expect(dat_ep_post_recv(change.ep, 1, &segment, COOKIE(2), DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        waiter = wait_on_evd(t, ep_recv_evd(t, change.ep), DAT_TIMEOUT_INFINITE, row->threshold);
        must_wait(waiter);
        peer_send(end, .length = MESSAGE);
        peer_wait_sent(end);
        expect_asleep(waiter);
        peer_send(end, .length = MESSAGE, .flags = row->sent);
        expect(expect_awake(waiter).ret, DAT_SUCCESS);
}

/* The first of two sends wakes no waiter for two, and the second one does. */
CASE(ep_modify, request_threshold)
{
        struct ep_change change =
            changed_to(t, EP_PARAM_request_completion_flags, DAT_COMPLETION_EVD_THRESHOLD_FLAG);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);
        struct peer_ep *end = expect_connect(change.ep);
        struct waiter *waiter;

        peer_post_recv(end, 2, MESSAGE);
        waiter = wait_on_evd(t, ep_request_evd(t, change.ep), DAT_TIMEOUT_INFINITE, 2);
        must_wait(waiter);
        expect(post_send(change.ep, &segment, NULL), DAT_SUCCESS);
        expect_asleep(waiter);
        expect(post_send(change.ep, &segment, NULL), DAT_SUCCESS);
        expect(expect_awake(waiter).ret, DAT_SUCCESS);
}

static const struct flag_removed {
        const char *id;
        enum ep_parameter_id parameter;
        enum ask request; /* unless it is a receive */
} flags_removed[] = {
    {"recv", EP_PARAM_recv_completion_flags, A_SEND},
    {"send", EP_PARAM_request_completion_flags, A_SEND},
    {"rdma_write", EP_PARAM_request_completion_flags, A_WRITE},
    {"rdma_read", EP_PARAM_request_completion_flags, A_READ},
    {"bind", EP_PARAM_request_completion_flags, A_BIND},
};

/* The EP had the flag and has it no more, so that no post may ask for it. */
FAMILY(ep_modify, unsignalled_removed, flags_removed)
{
        bool of_recv = row->parameter == EP_PARAM_recv_completion_flags;
        struct flagged it = flagged_with(t, row->request);
        struct ep_change change =
            changed_of(t, &ep_parameters[row->parameter], it.ep, DAT_COMPLETION_UNSIGNALLED_FLAG);
        struct ep_change back = backwards(&change);

        expect_ep_change(t, &back);
        it.remote = exposed(expect_connect(it.ep), MESSAGE);
        if (of_recv)
                expect(dat_ep_post_recv(it.ep, 1, &it.segment, COOKIE(1),
                                        DAT_COMPLETION_UNSIGNALLED_FLAG),
                       DAT_INVALID_PARAMETER);
        else
                expect(post_flagged(&it, row->request, DAT_COMPLETION_UNSIGNALLED_FLAG),
                       DAT_INVALID_PARAMETER);
        expect_quiet(of_recv ? ep_recv_evd(t, it.ep) : ep_request_evd(t, it.ep));
}

/* All but zone and receive flags, which receives hold. */
static const struct ep_parameter_row beside_receives[] = {
    {"recv_evd_handle", EP_PARAM_recv_evd_handle},
    {"request_evd_handle", EP_PARAM_request_evd_handle},
    {"connect_evd_handle", EP_PARAM_connect_evd_handle},
    {"service_type", EP_PARAM_service_type},
    {"max_message_size", EP_PARAM_max_message_size},
    {"max_rdma_size", EP_PARAM_max_rdma_size},
    {"qos", EP_PARAM_qos},
    {"request_completion_flags", EP_PARAM_request_completion_flags},
    {"max_recv_dtos", EP_PARAM_max_recv_dtos},
    {"max_request_dtos", EP_PARAM_max_request_dtos},
    {"max_recv_iov", EP_PARAM_max_recv_iov},
    {"max_request_iov", EP_PARAM_max_request_iov},
    {"max_rdma_read_in", EP_PARAM_max_rdma_read_in},
    {"max_rdma_read_out", EP_PARAM_max_rdma_read_out},
};

static void expect_flush(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_EVENT event = expect_event(evd, DAT_DTO_COMPLETION_EVENT);

        expect_eq(event.event_data.dto_completion_event_data.status, DAT_DTO_ERR_FLUSHED);
}

/* The receives that the EP holds, where dat_ep_recv_query tells; else DAT_VALUE_UNKNOWN. */
static DAT_COUNT receives_told(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_COUNT held = DAT_VALUE_UNKNOWN;
        DAT_COUNT span;

        if (provider_attr_if_told(t)->ep_recv_info_supported &&
            !dat_is(dat_ep_recv_query(ep, &held, &span), DAT_SUCCESS))
                return DAT_VALUE_UNKNOWN;
        return held;
}

static void expect_receives(struct test *t, DAT_EP_HANDLE ep, DAT_COUNT wanted)
{
        DAT_COUNT held = receives_told(t, ep);

        expect_that(held == wanted || held == DAT_VALUE_UNKNOWN,
                    "the EP has %d receives after the change, where %d are to complete", held,
                    wanted);
}

/* Of two receives the first gets a message, and the other one the end of the connection. */
FAMILY(ep_modify, with_posted_receive, beside_receives)
{
        struct ep_change change = unconnected(t, row->parameter);
        DAT_EVD_HANDLE old = change.before.param.recv_evd_handle;
        struct buf *buf = buf_with(t);
        bool told;

        must(post_recv(change.ep, buf));
        must(post_recv(change.ep, buf_with(t)));
        told = receives_told(t, change.ep) == 2;

        expect_ep_change(t, &change);
        if (told)
                expect_receives(t, change.ep, 2);
        peer_send(expect_connect(change.ep), .length = MESSAGE);
        expect_message(t, change.ep, buf, 0);
        if (told)
                expect_receives(t, change.ep, 1);
        must(dat_ep_disconnect(change.ep, DAT_CLOSE_ABRUPT_FLAG));
        expect_flush(t, ep_recv_evd(t, change.ep));
        if (told)
                expect_receives(t, change.ep, 0);
        if (row->parameter == EP_PARAM_recv_evd_handle)
                expect_quiet(old);
}

/* An EP that was not changed has its receives flushed: else the change is not to blame. */
static void must_flush_unchanged(struct test *t, const struct failed_request *request)
{
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_UNCONNECTED);

        request->connect(t, ep);
        must(post_recv(ep, buf_with(t)));
        must_event(ep_recv_evd(t, ep), DAT_DTO_COMPLETION_EVENT);
}

/* Whether the first receive is flushed by the request that fails, or stays, is not said. */
FAMILY(ep_modify, posted_receive_flushed, failed_requests)
{
        struct ep_change change = unconnected(t, EP_PARAM_recv_evd_handle);
        DAT_EVD_HANDLE old = change.before.param.recv_evd_handle;

        must_flush_unchanged(t, row);
        must(post_recv(change.ep, buf_with(t)));

        expect_ep_change(t, &change);
        row->connect(t, change.ep);
        expect(post_recv(change.ep, buf_with(t)), DAT_SUCCESS);
        expect_flush(t, ep_recv_evd(t, change.ep));
        expect_quiet(old);
}

/* Granted or not (EP-53), the receives that were posted serve. */
CASE(ep_modify, fewer_than_posted)
{
        struct ep_change change = unconnected(t, EP_PARAM_max_recv_dtos);
        struct buf *bufs[RECEIVES];
        struct peer_ep *end;

        for (int i = 0; i < RECEIVES; i++) {
                bufs[i] = buf_with(t);
                must(post_recv(change.ep, bufs[i]));
        }
        change.wanted = 1;
        ep_value_set(&change.asked, change.parameter, change.wanted);

        if (dat_is(expect_may(ep_modify(&change), DAT_SUCCESS, DAT_INVALID_STATE,
                              DAT_INVALID_PARAMETER),
                   DAT_SUCCESS))
                expect_that(ep_change_shown(t, &change), "granted, and not queried");
        else
                expect_ep_kept(t, change.ep, &change.before, 0);
        end = expect_connect(change.ep);
        peer_send(end, .count = RECEIVES, .length = MESSAGE);
        for (int i = 0; i < RECEIVES; i++)
                expect_message(t, change.ep, bufs[i], (uint64_t)i);
}

static const struct ep_parameter_row of_receives[] = {
    {"max_recv_dtos", EP_PARAM_max_recv_dtos},
    {"max_recv_iov", EP_PARAM_max_recv_iov},
};

/* Two segments each if there may be as many, so that their number can be lowered to that. */
static struct ep_change with_receives(struct test *t, const struct ep_parameter_row *row,
                                      struct buf **bufs)
{
        bool of_segments = row->parameter == EP_PARAM_max_recv_iov;
        DAT_COUNT segments = of_segments ? 2 : 1;
        DAT_EP_ATTR attr = ep_attr_few(t);
        struct ep_change change;

        if (of_segments && ia_attr(t)->max_iov_segments_per_dto <= segments)
                unsupported(t, "max_iov_segments_per_dto: none more than the case posts");
        if (ia_attr(t)->max_dto_per_ep <= RECEIVES)
                unsupported(t, "max_dto_per_ep: none more than the case posts");
        attr.max_recv_dtos = RECEIVES + 1;
        attr.max_recv_iov = segments + of_segments;
        change = ep_change_of(t, &ep_parameters[row->parameter], ep_with(t, .attr = &attr), 0);
        for (int i = 0; i < RECEIVES; i++) {
                DAT_LMR_TRIPLET vector[2];

                bufs[i] = buf_with(t);
                vector[0] = triplet(bufs[i], 0, of_segments ? MESSAGE / 2 : MESSAGE);
                vector[1] = triplet(bufs[i], MESSAGE / 2, MESSAGE / 2);
                must(dat_ep_post_recv(change.ep, segments, vector, (DAT_DTO_COOKIE){.as_64 = 0},
                                      DAT_COMPLETION_DEFAULT_FLAG));
        }
        change.wanted = (uint64_t)(of_segments ? segments : RECEIVES);
        ep_value_set(&change.asked, change.parameter, change.wanted);
        return change;
}

FAMILY(ep_modify, as_many_as_posted, of_receives)
{
        struct buf *bufs[RECEIVES];
        struct ep_change change = with_receives(t, row, bufs);

        expect_ep_change(t, &change);
        peer_send(expect_connect(change.ep), .count = RECEIVES, .length = MESSAGE);
        for (int i = 0; i < RECEIVES; i++)
                expect_message(t, change.ep, bufs[i], (uint64_t)i);
}

/*
 * EVDs and zones
 */

static const struct ep_parameter_row evds[] = {
    {"recv", EP_PARAM_recv_evd_handle},
    {"request", EP_PARAM_request_evd_handle},
    {"connect", EP_PARAM_connect_evd_handle},
};

CASE(ep_modify, leaves_recv_evd)
{
        struct ep_change change = unconnected(t, EP_PARAM_recv_evd_handle);
        DAT_EVD_HANDLE old = ep_recv_evd(t, change.ep);

        expect_ep_change(t, &change);

        expect_ep_receives(t, &change);
        expect_quiet(old);
}

CASE(ep_modify, leaves_request_evd)
{
        struct ep_change change = unconnected(t, EP_PARAM_request_evd_handle);
        DAT_EVD_HANDLE old = ep_request_evd(t, change.ep);

        expect_ep_change(t, &change);

        expect_ep_sends(t, &change);
        expect_quiet(old);
}

CASE(ep_modify, leaves_connect_evd)
{
        struct ep_change change = unconnected(t, EP_PARAM_connect_evd_handle);
        DAT_EVD_HANDLE old = ep_connect_evd(t, change.ep);

        expect_ep_change(t, &change);

        expect_connect(change.ep);
        expect_quiet(old);
}

/* Which event tells of a request that fails is for other pages. */
FAMILY(ep_modify, failed_request_on_new_evd, failed_requests)
{
        struct ep_change change = unconnected(t, EP_PARAM_connect_evd_handle);
        DAT_EVD_HANDLE old = ep_connect_evd(t, change.ep);
        DAT_EVENT event;
        DAT_COUNT more;

        expect_ep_change(t, &change);
        row->ask(t, change.ep);

        expect(dat_evd_wait(ep_connect_evd(t, change.ep), event_timeout(t), 1, &event, &more),
               DAT_SUCCESS);
        expect_that(event.event_data.connect_event_data.ep_handle == change.ep,
                    "the event is of another EP");
        expect_quiet(old);
}

/*
 * All three EVDs are new, and get the connection event, the disconnect event and the flushes. They
 * take the place of others that were new, too.
 */
static void expect_new_evds(struct test *t, DAT_EP_HANDLE ep, const uint64_t made[6])
{
        struct buf *buf = buf_with(t);
        DAT_LMR_TRIPLET segment = triplet(buf, 0, MESSAGE);
        DAT_RMR_TRIPLET remote;
        struct peer_ep *end;

        for (int i = 0; i < 6; i++) {
                struct ep_change change =
                    ep_change_of(t, &ep_parameters[evds[i % 3].parameter], ep, made[i]);

                expect_ep_change(t, &change);
        }
        must(post_recv(ep, buf));
        end = expect_connect(ep);
        remote = exposed(end, MESSAGE);

        must(dat_ep_post_rdma_write(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 1}, &remote,
                                    DAT_COMPLETION_DEFAULT_FLAG));
        expect_dto(ep_request_evd(t, ep));
        peer_disconnect(end, DAT_CLOSE_ABRUPT_FLAG);
        expect_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_DISCONNECTED);
        expect_flush(t, ep_recv_evd(t, ep));
        must(dat_ep_post_send(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 2},
                              DAT_COMPLETION_DEFAULT_FLAG));
        expect_flush(t, ep_request_evd(t, ep));
}

static void new_evds(struct test *t, uint64_t made[6])
{
        for (int i = 0; i < 6; i++)
                made[i] = ep_new_object(t, &ep_parameters[evds[i % 3].parameter]);
}

CASE(ep_modify, new_evds_to_the_end)
{
        uint64_t made[6];

        new_evds(t, made);
        expect_new_evds(t, reading_ep(t, DAT_HANDLE_NULL), made);
}

/* It is Reserved, and then asked. */
CASE(ep_modify, new_evds_of_asked_to_the_end)
{
        uint64_t made[6];

        new_evds(t, made);
        expect_new_evds(t, ep_in(t, DAT_EP_STATE_RESERVED), made);
}

/* That EP was made to report nothing of the kind. */
FAMILY(ep_modify, evd_for_none, evds)
{
        const DAT_EP_PARAM_MASK fields[] = {DAT_EP_FIELD_RECV_EVD_HANDLE,
                                            DAT_EP_FIELD_REQUEST_EVD_HANDLE,
                                            DAT_EP_FIELD_CONNECT_EVD_HANDLE};
        DAT_EP_ATTR few = ep_attr_few(t);
        DAT_EVD_HANDLE given[3];
        DAT_EVD_HANDLE wanted = DAT_HANDLE_NULL;
        struct ep_change change;
        DAT_EP_HANDLE ep;

        for (int i = 0; i < 3; i++) {
                given[i] = ep_handle(ep_new_object(t, &ep_parameters[evds[i].parameter]));
                if (evds[i].parameter == row->parameter) {
                        wanted = given[i];
                        given[i] = DAT_HANDLE_NULL;
                }
        }
        ep = ep_lacking_evd(t, given[0], given[1], given[2], &few);
        for (int i = 0; i < 3; i++)
                ep_reports_to(t, ep, fields[i], given[i]);
        change = ep_change_of(t, &ep_parameters[row->parameter], ep, (uint64_t)(uintptr_t)wanted);

        expect_ep_change(t, &change);
        expect_ep_bears(t, ep);
}

/* Nothing holds an EVD any more that an EP has left. */
FAMILY(ep_modify, old_evd_is_free, evds)
{
        struct ep_change change = unconnected(t, row->parameter);
        DAT_EVD_HANDLE old = change.before.param.recv_evd_handle;

        if (row->parameter == EP_PARAM_request_evd_handle)
                old = change.before.param.request_evd_handle;
        if (row->parameter == EP_PARAM_connect_evd_handle)
                old = change.before.param.connect_evd_handle;
        expect_ep_change(t, &change);
        disown(t, old);

        expect(dat_evd_free(old), DAT_SUCCESS);
}

FAMILY(ep_modify, new_evd_is_in_use, evds)
{
        struct ep_change change = unconnected(t, row->parameter);

        expect_ep_change(t, &change);

        expect(dat_evd_free(ep_handle(change.wanted)), DAT_INVALID_STATE);
}

/* The object that the EP has, by its own word, is held by it; the other one is free (EP-13). */
FAMILY(ep_modify, refused_with_object, evds)
{
        struct ep_change change = unconnected(t, row->parameter);
        DAT_EVD_HANDLE old = ep_handle(ep_value(&change.before.param, change.parameter));
        DAT_EVD_HANDLE offered = ep_handle(change.wanted);
        struct ep_snapshot after;
        bool done;

        change.asked.ep_attr.max_request_dtos = -1;
        expect(dat_ep_modify(change.ep,
                             change.parameter->field | DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS,
                             &change.asked),
               DAT_INVALID_PARAMETER);

        after = ep_snapshot(t, change.ep);
        done = ep_value(&after.param, change.parameter) == change.wanted;
        expect(dat_evd_free(done ? offered : old), DAT_INVALID_STATE);
        disown(t, done ? old : offered);
        expect(dat_evd_free(done ? old : offered), DAT_SUCCESS);
}

CASE(ep_modify, old_pz_is_free)
{
        DAT_PZ_HANDLE old = pz_new(t);
        DAT_PZ_HANDLE zone = pz_new(t);
        DAT_EP_HANDLE ep = ep_with(t, .pz = old);
        struct ep_change change =
            ep_change_of(t, &ep_parameters[EP_PARAM_pz_handle], ep, (uint64_t)(uintptr_t)zone);

        expect_ep_change(t, &change);
        disown(t, old);

        expect(dat_pz_free(old), DAT_SUCCESS);
}

CASE(ep_modify, new_pz_is_in_use)
{
        struct ep_change change = unconnected(t, EP_PARAM_pz_handle);

        expect_ep_change(t, &change);

        expect(dat_pz_free(ep_handle(change.wanted)), DAT_INVALID_STATE);
}

CASE(ep_modify, one_evd_for_both)
{
        DAT_EVD_HANDLE both = evd_with(t);
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_UNCONNECTED);

        for (int i = 0; i < 2; i++) {
                struct ep_change change = ep_change_of(t, &ep_parameters[evds[i].parameter], ep,
                                                       (uint64_t)(uintptr_t)both);

                expect_ep_change(t, &change);
        }
        expect_ep_bears(t, ep);
}

FAMILY(ep_modify, no_evd, evds)
{
        struct ep_change change = unconnected(t, row->parameter);

        change.wanted = (uint64_t)(uintptr_t)DAT_HANDLE_NULL;
        ep_value_set(&change.asked, change.parameter, change.wanted);

        if (dat_is(expect_may(ep_modify(&change), DAT_SUCCESS, DAT_INVALID_PARAMETER), DAT_SUCCESS))
                expect_that(ep_change_shown(t, &change), "granted, and not queried");
        else
                expect_ep_kept(t, change.ep, &change.before, 0);
}

/*
 * Later, and again
 */

FAMILY(ep_modify, after_reset, ep_modifiable)
{
        struct ep_change change =
            ep_change_in(t, &ep_parameters[row->parameter], DAT_EP_STATE_DISCONNECTED);

        must(dat_ep_reset(change.ep));
        change.before = ep_snapshot(t, change.ep);

        expect_ep_change(t, &change);
        expect_ep_effect(t, &change);
}

/* An EP that waited for a request of its RSP is the consumer's again when `held` is released. */
static void expect_changes_without(struct test *t, DAT_EP_STATE state,
                                   DAT_HANDLE (*held)(struct test *t, DAT_EP_HANDLE ep))
{
        DAT_PZ_HANDLE zone = pz_new(t);
        DAT_EP_ATTR few = ep_attr_few(t);
        DAT_EP_HANDLE ep = ep_in(t, state, .attr = &few);
        struct ep_change change;

        release(t, held(t, ep));
        must_that(ep_state(t, ep) == DAT_EP_STATE_UNCONNECTED, "the EP is not Unconnected again");
        change = ep_change_of(t, &ep_parameters[EP_PARAM_pz_handle], ep, (uint64_t)(uintptr_t)zone);
        expect_ep_change(t, &change);
        change = ep_change_of(t, &ep_parameters[EP_PARAM_max_recv_dtos], ep, 0);
        expect_ep_change(t, &change);
}

CASE(ep_modify, after_rsp_free)
{
        expect_changes_without(t, DAT_EP_STATE_RESERVED, ep_rsp);
}

CASE(ep_modify, after_reject)
{
        expect_changes_without(t, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING, ep_request);
}

/* What the EP has is as good a value as another; and each EVD is held as before. */
CASE(ep_modify, same_values)
{
        DAT_EP_ATTR few = ep_attr_few(t);
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_UNCONNECTED, .attr = &few);
        struct ep_snapshot before = ep_snapshot(t, ep);
        DAT_EP_PARAM_MASK all = 0;

        for (size_t i = 0; i < sizeof(ep_modifiable) / sizeof(ep_modifiable[0]); i++) {
                DAT_EP_PARAM_MASK field = ep_parameters[ep_modifiable[i].parameter].field;

                expect(dat_ep_modify(ep, field, &before.param), DAT_SUCCESS);
                all |= field;
        }
        expect(dat_ep_modify(ep, all, &before.param), DAT_SUCCESS);
        expect_ep_kept(t, ep, &before, 0);
        expect(dat_evd_free(before.param.recv_evd_handle), DAT_INVALID_STATE);
        expect(dat_evd_free(before.param.request_evd_handle), DAT_INVALID_STATE);
        expect(dat_evd_free(before.param.connect_evd_handle), DAT_INVALID_STATE);
}

FAMILY(ep_modify, changed_back, ep_modifiable)
{
        struct ep_change change = unconnected(t, row->parameter);
        struct ep_change back = backwards(&change);

        expect_ep_change(t, &change);
        expect_ep_change(t, &back);

        expect_ep_effect(t, &back);
}

CASE(ep_modify, last_value_counts)
{
        struct ep_change change = unconnected(t, EP_PARAM_max_message_size);
        struct ep_change back = backwards(&change);

        for (int i = 0; i < TIMES; i++) {
                expect(ep_modify(&change), DAT_SUCCESS);
                expect(ep_modify(&back), DAT_SUCCESS);
        }
        expect_ep_kept(t, change.ep, &change.before, 0);
}

/* In Passive Connection Pending all may be refused (EP-17). */
static const struct ep_state_row changed_twice_in[] = {
    {"unconnected", DAT_EP_STATE_UNCONNECTED},
    {"reserved", DAT_EP_STATE_RESERVED},
    {"tentative_connection_pending", DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING},
};

FAMILY(ep_modify, evds_changed_twice, changed_twice_in)
{
        static const enum ep_parameter_id streams[] = {
            EP_PARAM_recv_evd_handle, EP_PARAM_request_evd_handle, EP_PARAM_connect_evd_handle};

        for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
                const struct ep_parameter *stream = &ep_parameters[streams[i]];
                uint64_t made = ep_new_object(t, stream);
                struct ep_change change = ep_change_in(t, stream, row->state);

                expect_ep_change(t, &change);
                change = ep_change_of(t, stream, change.ep, made);
                expect_ep_change(t, &change);
                expect_ep_effect(t, &change);
        }
}

/*
 * Other EPs
 */

CASE(ep_modify, other_ep_untouched)
{
        DAT_EP_HANDLE other = ep_in(t, DAT_EP_STATE_UNCONNECTED);
        struct ep_snapshot before = ep_snapshot(t, other);
        struct ep_change change = unconnected(t, EP_PARAM_max_recv_dtos);

        expect_ep_change(t, &change);

        expect_ep_kept(t, other, &before, 0);
}

CASE(ep_modify, ep_of_other_ia)
{
        DAT_EP_HANDLE own = ep_in(t, DAT_EP_STATE_UNCONNECTED);
        struct ep_snapshot before = ep_snapshot(t, own);
        struct ep_change change =
            ep_change_of(t, &ep_parameters[EP_PARAM_max_recv_dtos], ep_of_other_ia(t), 0);

        expect_ep_change(t, &change);
        expect_ep_kept(t, own, &before, 0);
}

FAMILY(ep_modify, older_ep, ep_modifiable)
{
        struct ep_change change = unconnected(t, row->parameter);
        DAT_EP_ATTR few = ep_attr_few(t);
        DAT_EP_HANDLE newer[2];
        struct ep_snapshot before[2];

        for (int i = 0; i < 2; i++) {
                newer[i] = ep_with(t, .attr = &few);
                before[i] = ep_snapshot(t, newer[i]);
        }
        expect_ep_change(t, &change);

        for (int i = 0; i < 2; i++)
                expect_ep_kept(t, newer[i], &before[i], 0);
}

/*
 * An EP with an SRQ
 */

static const struct ep_parameter_row beside_srq[] = {
    {"recv_evd_handle", EP_PARAM_recv_evd_handle},
    {"request_evd_handle", EP_PARAM_request_evd_handle},
    {"connect_evd_handle", EP_PARAM_connect_evd_handle},
    {"service_type", EP_PARAM_service_type},
    {"max_message_size", EP_PARAM_max_message_size},
    {"max_rdma_size", EP_PARAM_max_rdma_size},
    {"qos", EP_PARAM_qos},
    {"request_completion_flags", EP_PARAM_request_completion_flags},
    {"max_recv_dtos", EP_PARAM_max_recv_dtos},
    {"max_request_dtos", EP_PARAM_max_request_dtos},
    {"max_request_iov", EP_PARAM_max_request_iov},
    {"max_rdma_read_in", EP_PARAM_max_rdma_read_in},
    {"max_rdma_read_out", EP_PARAM_max_rdma_read_out},
};

FAMILY(ep_modify, of_srq, beside_srq)
{
        const struct ep_parameter *parameter = &ep_parameters[row->parameter];
        uint64_t made = ep_new_object(t, parameter);
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = PLACES);
        struct buf *buf = buf_with(t);
        DAT_EP_ATTR few = ep_attr_few(t);
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq, .attr = &few);
        struct ep_change change = ep_change_of(t, parameter, ep, made);
        struct peer_ep *end;

        srq_post(t, srq, buf, MESSAGE, 0, 1);

        expect_ep_change(t, &change);
        expect_that(ep_snapshot(t, ep).param.srq_handle == srq, "the EP has left its SRQ");
        end = expect_connect(ep);
        peer_send(end, .length = MESSAGE);
        if (row->parameter == EP_PARAM_recv_evd_handle) {
                DAT_COUNT available;

                peer_wait_sent(end);
                settle(t);
                available = srq_param(t, srq).available_dto_count;
                expect_that(available == 0 || available == DAT_VALUE_UNKNOWN,
                            "%d receives are available, and the only one has its message",
                            available);
        }
        expect_message(t, ep, buf, 0);
        expect_room(t, &(const struct queue){.srq = srq, .buf = buf, .length = MESSAGE}, PLACES);
        expect_ep_gives(t, ep, pz(t), end,
                        (struct load){row->parameter == EP_PARAM_max_request_dtos
                                          ? (size_t)change.wanted
                                          : (size_t)few.max_request_dtos,
                                      1, MESSAGE});
}

/* What an EP with an SRQ does as one without it: its effect needs no receive of its own. */
static const struct ep_parameter_row of_requests[] = {
    {"request_evd_handle", EP_PARAM_request_evd_handle},
    {"connect_evd_handle", EP_PARAM_connect_evd_handle},
    {"max_rdma_size", EP_PARAM_max_rdma_size},
    {"request_completion_flags", EP_PARAM_request_completion_flags},
    {"max_request_iov", EP_PARAM_max_request_iov},
    {"max_rdma_read_in", EP_PARAM_max_rdma_read_in},
    {"max_rdma_read_out", EP_PARAM_max_rdma_read_out},
};

/* An EP with an SRQ that has been changed. */
static struct ep_change changed_with_srq(struct test *t, const struct ep_parameter *parameter,
                                         DAT_SRQ_HANDLE srq)
{
        uint64_t made = ep_new_object(t, parameter);
        DAT_EP_ATTR few = ep_attr_few(t);
        struct ep_change change =
            ep_change_of(t, parameter, ep_with(t, .srq = srq, .attr = &few), made);

        expect_ep_change(t, &change);
        return change;
}

FAMILY(ep_modify, of_srq_effect, of_requests)
{
        const struct ep_parameter *parameter = &ep_parameters[row->parameter];
        struct ep_change change;

        if (parameter->peer_reads)
                peer_reads(peer(t), 1);
        change = changed_with_srq(t, parameter, srq_with(t));
        expect_ep_effect(t, &change);
}

/* Longer than the EP was made for, both ways. */
CASE(ep_modify, of_srq_long_messages)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        struct buf *buf = buf_with(t, .length = LONG);
        struct ep_change change =
            changed_with_srq(t, &ep_parameters[EP_PARAM_max_message_size], srq);
        struct peer_ep *end = expect_connect(change.ep);

        srq_post(t, srq, buf, LONG, 0, 1);
        expect_ep_gives(t, change.ep, pz(t), end, (struct load){1, 1, LONG});
        peer_send(end, .length = LONG);
        expect_eq(expect_dto(ep_recv_evd(t, change.ep)).transfered_length, LONG);
        expect_that(message_holds(buf->addr, LONG, 0), "the message came damaged");
}

/* Flags of an EP with an SRQ, whose receives have none of their own. */
static const struct srq_flags {
        const char *id;
        DAT_COMPLETION_FLAGS of_ep;
        DAT_COMPLETION_FLAGS sent; /* with the message that wakes */
        DAT_COUNT threshold;
        bool sleeps; /* through a plain message before it */
} srq_flags[] = {
    {"unsignalled", DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_COMPLETION_DEFAULT_FLAG, 1, false},
    {"solicited_wait", DAT_COMPLETION_SOLICITED_WAIT_FLAG, DAT_COMPLETION_SOLICITED_WAIT_FLAG, 1,
     true},
    {"evd_threshold", DAT_COMPLETION_EVD_THRESHOLD_FLAG, DAT_COMPLETION_DEFAULT_FLAG, 2, true},
};

FAMILY(ep_modify, of_srq_recv_flags, srq_flags)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_EP_ATTR few = ep_attr_few(t);
        struct ep_change change = ep_change_of(t, &ep_parameters[EP_PARAM_recv_completion_flags],
                                               ep_with(t, .srq = srq, .attr = &few), 0);
        struct waiter *waiter;
        struct peer_ep *end;

        change.wanted = (uint64_t)row->of_ep;
        ep_value_set(&change.asked, change.parameter, change.wanted);
        expect_ep_change(t, &change);
        srq_post(t, srq, buf_with(t), MESSAGE, 0, 2);
        end = expect_connect(change.ep);
        waiter = wait_on_evd(t, ep_recv_evd(t, change.ep), DAT_TIMEOUT_INFINITE, row->threshold);
        must_wait(waiter);

        if (row->sleeps) {
                peer_send(end, .length = MESSAGE);
                peer_wait_sent(end);
                expect_asleep(waiter);
        }
        peer_send(end, .length = MESSAGE, .flags = row->sent);
        expect(expect_awake(waiter).ret, DAT_SUCCESS);
}

FAMILY(ep_modify, of_srq_keeps_marks, high_marks)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_EP_ATTR few = ep_attr_few(t);
        const struct ep_parameter *evd = &ep_parameters[EP_PARAM_recv_evd_handle];
        uint64_t made = ep_new_object(t, evd);
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq, .attr = &few);
        struct ep_change changes[] = {
            ep_change_of(t, &ep_parameters[EP_PARAM_max_request_dtos], ep, 0),
            ep_change_of(t, evd, ep, made),
        };

        srq_post(t, srq, buf_with(t), MESSAGE, 0, 1);
        must(dat_ep_set_watermark(ep, row->soft, row->hard));

        for (int i = 0; i < 2; i++)
                expect(ep_modify(&changes[i]), DAT_SUCCESS);
        peer_send(expect_connect(ep), .length = MESSAGE);
        expect_high_mark_exceeded(t, ep, row);
}

static const struct bad_zone {
        const char *id;
        enum bad_handle how;
} bad_zones[] = {
    {"null", BAD_HANDLE_NULL},
    {"other_kind", BAD_HANDLE_OTHER_KIND},
    {"sibling", BAD_HANDLE_SIBLING},
    {"destroyed", BAD_HANDLE_DESTROYED},
};

FAMILY(ep_modify, invalid_pz_with_srq, bad_zones)
{
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq_with(t));
        DAT_HANDLE bad = bad_handle(t, DAT_HANDLE_TYPE_PZ, row->how);
        struct ep_change change =
            ep_change_of(t, &ep_parameters[EP_PARAM_pz_handle], ep, (uint64_t)(uintptr_t)bad);

        expect_or_note(ep_modify(&change), DAT_INVALID_PARAMETER, DAT_INVALID_HANDLE);
        expect_ep_kept(t, ep, &change.before, 0);
}

/* EP-25 */
CASE(ep_modify, pz_of_srq)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq_with(t));
        struct ep_change change =
            ep_change_of(t, &ep_parameters[EP_PARAM_pz_handle], ep, (uint64_t)(uintptr_t)zone);

        if (provider_attr(t)->srq_ep_pz_difference_supported) {
                expect_ep_change(t, &change);
                return;
        }
        expect(ep_modify(&change), DAT_INVALID_PARAMETER);
        expect_ep_kept(t, ep, &change.before, 0);
}
