/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_recv_query: the receives that an EP holds and their span, at rest and in traffic. */
#include "clauses/ep_recv_query.h"
#include "case/standard.h"
#include "cases/ep/shared/connect.h"
#include "cases/ep/shared/states.h"
#include "cases/shared/point.h"
#include "cases/srq/shared/queue.h"

#include <limits.h>
#include <string.h>

#define LONG_MESSAGE ((size_t)128 * 1024) /* bytes */
#define PACKETS      ((size_t)6000)       /* bytes, at least two packets of a RDMA network */
#define UNTOLD       INT_MIN              /* in a count that was not written */
#define POSTS        5
#define SEGMENTS     4
#define WINDOW       8  /* receives that traffic always finds */
#define WINDOWS      8  /* times that traffic fills them */
#define FEW_WINDOWS  3  /* the same at least, where the network is slow */
#define MANY         50 /* queries, or windows at most */

struct info {
        DAT_COUNT count;
        DAT_COUNT span;
};

static struct info recv_info(struct test *t, DAT_EP_HANDLE ep)
{
        struct info info = {.count = UNTOLD, .span = UNTOLD};

        expect(dat_ep_recv_query(ep, &info.count, &info.span), DAT_SUCCESS);
        return info;
}

/* Receives that an idle EP has in its own queue: they are its span too, or none is (EP-15). */
static void expect_idle_span(struct test *t, DAT_COUNT seen, DAT_COUNT posted)
{
        if (seen == 0 && posted != 0)
                note(t, "a span of 0 where no message is on its way to %d receives (EP-15)",
                     posted);
        else
                expect_count(t, seen, posted);
}

/* Both counts are told or unknown; told, they are from `least` to `most`, the span not the less. */
static void expect_within(struct test *t, struct info info, DAT_COUNT least, DAT_COUNT most)
{
        bool count_told = info.count != DAT_VALUE_UNKNOWN;
        bool span_told = info.span != DAT_VALUE_UNKNOWN;

        if (count_told)
                expect_that(info.count >= least && info.count <= most,
                            "%d receives at the EP, which holds %d to %d", info.count, least, most);
        if (span_told)
                expect_that(info.span >= 0 && info.span <= most,
                            "a span of %d, where %d receives are to complete", info.span, most);
        if (count_told && span_told)
                expect_that(info.span >= info.count, "%d receives in a span of %d", info.count,
                            info.span);
        if (!count_told || !span_told)
                note(t, "counts are declared supported, and were not both told");
}

/* An EP with a receive queue of its own: receive i takes message i, in slot i modulo SLOTS. */
struct own {
        DAT_EP_HANDLE ep;
        DAT_EVD_HANDLE evd;
        struct peer_ep *end;
        struct buf *buf;
        size_t length; /* of a message, and of a receive */
        uint64_t posted;
        uint64_t sent;
        uint64_t received;
};

/* So many segments for a receive, and the rest modest. */
static DAT_EP_ATTR ep_attr_of(struct test *t, int segments)
{
        return (DAT_EP_ATTR){
            .service_type = DAT_SERVICE_TYPE_RC,
            .max_message_size = ia_attr(t)->max_message_size,
            .max_rdma_size = ia_attr(t)->max_rdma_size,
            .qos = DAT_QOS_BEST_EFFORT,
            .max_recv_dtos = 2 * POSTS,
            .max_request_dtos = 1,
            .max_recv_iov = segments,
            .max_request_iov = 1,
            .srq_soft_hw = DAT_HW_DEFAULT,
            .max_rdma_write_iov = 1,
        };
}

static struct own own_for(struct test *t, size_t length, size_t slots)
{
        struct buf *buf = buf_with(t, .length = slots * length);
        DAT_EP_HANDLE ep = ep_with(t);

        return (struct own){.ep = ep, .evd = ep_recv_evd(t, ep), .buf = buf, .length = length};
}

static void own_post(struct test *t, struct own *own, int count)
{
        for (; count > 0; count--) {
                size_t slot = own->posted % (own->buf->length / own->length);
                DAT_LMR_TRIPLET segment = triplet(own->buf, slot * own->length, own->length);

                must(dat_ep_post_recv(own->ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = own->posted},
                                      DAT_COMPLETION_DEFAULT_FLAG));
                own->posted++;
        }
}

/* An Unconnected EP with `posts` receives. */
static struct own own_with(struct test *t, int posts)
{
        struct own own = own_for(t, MESSAGE, SLOTS);

        own_post(t, &own, posts);
        return own;
}

static struct own own_connected(struct test *t, int posts)
{
        struct own own = own_with(t, posts);

        own.end = peer_connect(peer(t), own.ep);
        return own;
}

static void own_send(struct own *own, int count)
{
        peer_send(own->end, .count = count, .length = own->length, .first = own->sent);
        own->sent += count;
}

/* The messages arrive, and their completions stand unreaped. */
static void own_deliver(struct test *t, struct own *own, int count)
{
        own_send(own, count);
        peer_wait_sent(own->end);
        settle(t);
}

static void own_expect_messages(struct test *t, struct own *own, int count)
{
        for (; count > 0; count--) {
                DAT_DTO_COMPLETION_EVENT_DATA dto = expect_dto(own->evd);
                size_t slot = own->received % (own->buf->length / own->length);

                expect_eq(dto.user_cookie.as_64, own->received);
                expect_eq(dto.transfered_length, own->length);
                expect_that(
                    message_holds(own->buf->addr + slot * own->length, own->length, own->received),
                    "the receive does not hold message %llu", (unsigned long long)own->received);
                own->received++;
        }
}

static void expect_flushes(struct test *t, DAT_EVD_HANDLE evd, int count)
{
        for (; count > 0; count--) {
                DAT_EVENT event = expect_event(evd, DAT_DTO_COMPLETION_EVENT);

                expect_eq(event.event_data.dto_completion_event_data.status, DAT_DTO_ERR_FLUSHED);
        }
}

/* They are all there, as a wait for so many shows, before any of them is reaped but that one. */
static void expect_flushed(struct test *t, DAT_EVD_HANDLE evd, int count)
{
        DAT_EVENT event;
        DAT_COUNT more;

        expect(dat_evd_wait(evd, event_timeout(t), count, &event, &more), DAT_SUCCESS);
        expect_eq(event.event_data.dto_completion_event_data.status, DAT_DTO_ERR_FLUSHED);
}

/*
 * A receive queue of its own, without messages
 */

static const struct filling {
        const char *id;
        int posts; /* all that the EP takes where it is negative */
} fillings[] = {
    {"none", 0},
    {"one", 1},
    {"several", POSTS},
    {"full", -1},
};

/* An Unconnected EP with receives; `posts` is how many. */
static DAT_EP_HANDLE filled(struct test *t, const struct filling *row, DAT_COUNT *posts)
{
        struct own own = own_with(t, 0);
        DAT_EP_PARAM param = {.ep_state = DAT_EP_STATE_UNCONNECTED};

        must(dat_ep_query(own.ep, DAT_EP_FIELD_ALL, &param));
        *posts = row->posts < 0 ? param.ep_attr.max_recv_dtos : row->posts;
        own_post(t, &own, *posts);
        return own.ep;
}

FAMILY(ep_recv_query, posted, fillings)
{
        DAT_COUNT posts;
        DAT_EP_HANDLE ep = filled(t, row, &posts);

        expect_count(t, recv_info(t, ep).count, posts);
}

FAMILY(ep_recv_query, posted_span, fillings)
{
        DAT_COUNT posts;
        DAT_EP_HANDLE ep = filled(t, row, &posts);

        expect_idle_span(t, recv_info(t, ep).span, posts);
}

CASE(ep_recv_query, posted_one_by_one)
{
        struct own own = own_with(t, 0);

        for (int posts = 0; posts <= WINDOW; posts++) {
                expect_count(t, recv_info(t, own.ep).count, posts);
                own_post(t, &own, 1);
        }
}

CASE(ep_recv_query, connected)
{
        struct own own = own_connected(t, POSTS);

        expect_count(t, recv_info(t, own.ep).count, POSTS);
}

CASE(ep_recv_query, connected_span)
{
        struct own own = own_connected(t, POSTS);

        expect_idle_span(t, recv_info(t, own.ep).span, POSTS);
}

CASE(ep_recv_query, own_receives_only)
{
        static const int posts[] = {0, POSTS, 2};
        DAT_EVD_HANDLE evd = evd_with(t);
        struct own owns[3];

        for (int i = 0; i < 3; i++) {
                owns[i] = (struct own){
                    .ep = ep_with(t, .recv_evd = evd),
                    .evd = evd,
                    .buf = buf_with(t),
                    .length = MESSAGE,
                };
                own_post(t, &owns[i], posts[i]);
        }

        for (int i = 0; i < 3; i++)
                expect_count(t, recv_info(t, owns[i].ep).count, posts[i]);
}

CASE(ep_recv_query, segments_counted_once)
{
        DAT_COUNT limit = ia_attr(t)->max_iov_segments_per_dto;
        int count = limit < SEGMENTS ? (int)limit : SEGMENTS;
        DAT_EP_ATTR attr = ep_attr_of(t, count);
        DAT_EP_HANDLE ep = ep_with(t, .attr = &attr);
        struct buf *buf = buf_with(t);
        DAT_LMR_TRIPLET segments[SEGMENTS];

        for (int i = 0; i < count; i++)
                segments[i] = triplet(buf, (size_t)i * MESSAGE, MESSAGE);
        for (int i = 0; i < POSTS; i++)
                must(dat_ep_post_recv(ep, count, segments, (DAT_DTO_COOKIE){.as_64 = 0},
                                      DAT_COMPLETION_DEFAULT_FLAG));

        struct info info = recv_info(t, ep);
        expect_count(t, info.count, POSTS);
        expect_idle_span(t, info.span, POSTS);
}

/*
 * Posts that are refused: counted where they are taken all the same
 */

static const struct attempt {
        const char *id;
        bool full;    /* each place of the EP has its receive before */
        bool foreign; /* the last segment lies beyond its memory */
        int segments;
} attempts[] = {
    {"beyond_size", true, false, 1},
    {"bad_last_segment", false, true, 2},
    {"too_many_segments", false, false, SEGMENTS + 1},
};

FAMILY(ep_recv_query, refused_post, attempts)
{
        int count = row->foreign && ia_attr(t)->max_iov_segments_per_dto < 2 ? 1 : row->segments;
        DAT_EP_ATTR attr = ep_attr_of(t, row->foreign ? count : 1);
        struct buf *buf = buf_with(t, .length = SLOTS * MESSAGE);
        DAT_EP_HANDLE ep = ep_with(t, .attr = &attr);
        struct own own = {.ep = ep, .evd = ep_recv_evd(t, ep), .buf = buf, .length = MESSAGE};
        DAT_EP_PARAM param = {.ep_state = DAT_EP_STATE_UNCONNECTED};
        DAT_LMR_TRIPLET segments[SEGMENTS + 1];
        DAT_COUNT posts;
        DAT_RETURN ret;

        must(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
        posts = row->full ? param.ep_attr.max_recv_dtos : POSTS;
        own_post(t, &own, posts);
        for (int i = 0; i < count; i++)
                segments[i] = triplet(buf, 0, MESSAGE);
        if (row->foreign)
                segments[count - 1] = triplet(buf, buf->length, MESSAGE);

        ret = dat_ep_post_recv(ep, count, segments, (DAT_DTO_COOKIE){.as_64 = SLOTS},
                               DAT_COMPLETION_DEFAULT_FLAG);
        if (dat_is(ret, DAT_SUCCESS))
                posts++;
        expect_count(t, recv_info(t, ep).count, posts);
        expect_idle_span(t, recv_info(t, ep).span, posts);
}

CASE(ep_recv_query, requests_not_counted)
{
        struct own own = own_connected(t, POSTS);
        DAT_LMR_TRIPLET segment = triplet(own.buf, 0, MESSAGE);

        peer_post_recv(own.end, 2, MESSAGE);
        for (int i = 0; i < 2; i++) {
                must(dat_ep_post_send(own.ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0},
                                      DAT_COMPLETION_DEFAULT_FLAG));
                must_dto(ep_request_evd(t, own.ep));
        }

        struct info info = recv_info(t, own.ep);
        expect_count(t, info.count, POSTS);
        expect_idle_span(t, info.span, POSTS);
}

/*
 * Messages that have come
 */

static const struct arrival {
        const char *id;
        bool reaped;
} arrivals[] = {
    {"unreaped", false},
    {"reaped", true},
};

static struct own own_after_messages(struct test *t, const struct arrival *row, int messages)
{
        struct own own = own_connected(t, POSTS);

        own_deliver(t, &own, messages);
        if (row->reaped)
                own_expect_messages(t, &own, messages);
        return own;
}

FAMILY(ep_recv_query, completed, arrivals)
{
        struct own own = own_after_messages(t, row, 2);

        expect_count(t, recv_info(t, own.ep).count, POSTS - 2);
}

FAMILY(ep_recv_query, completed_span, arrivals)
{
        struct own own = own_after_messages(t, row, 2);

        expect_idle_span(t, recv_info(t, own.ep).span, POSTS - 2);
}

FAMILY(ep_recv_query, all_completed, arrivals)
{
        struct own own = own_after_messages(t, row, POSTS);
        struct info info = recv_info(t, own.ep);

        expect_count(t, info.count, 0);
        expect_count(t, info.span, 0);
}

CASE(ep_recv_query, posted_again)
{
        struct own own = own_connected(t, POSTS);

        own_deliver(t, &own, 2);
        own_post(t, &own, 3);
        own_expect_messages(t, &own, 2);

        expect_count(t, recv_info(t, own.ep).count, POSTS + 1);
}

CASE(ep_recv_query, counted_complete)
{
        struct own own = own_connected(t, POSTS);
        DAT_COUNT count = recv_info(t, own.ep).count;

        expect_count(t, count, POSTS);
        own_send(&own, POSTS);
        own_expect_messages(t, &own, POSTS);
        expect_quiet(own.evd);
}

CASE(ep_recv_query, takes_nothing)
{
        struct own own = own_connected(t, POSTS);

        own_deliver(t, &own, 2);
        for (int i = 0; i < MANY; i++)
                recv_info(t, own.ep);

        own_send(&own, POSTS - 2);
        own_expect_messages(t, &own, POSTS);
        expect_quiet(own.evd);
}

/*
 * What an EP went through, to its end: no message is on its way. Each returns how many of its
 * receives still wait for one.
 */

static DAT_COUNT had_no_segments(struct test *t, struct own *own)
{
        for (int i = 0; i < POSTS; i++)
                must(dat_ep_post_recv(own->ep, 0, NULL, (DAT_DTO_COOKIE){.as_64 = 0},
                                      DAT_COMPLETION_DEFAULT_FLAG));
        return POSTS;
}

/* Whose completions wake nobody. */
static DAT_COUNT had_unsignalled(struct test *t, struct own *own)
{
        DAT_EP_ATTR attr = ep_attr_of(t, 1);
        DAT_LMR_TRIPLET segment = triplet(own->buf, 0, MESSAGE);

        attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
        own->evd = evd_with(t);
        own->ep = ep_with(t, .recv_evd = own->evd, .attr = &attr);
        for (int i = 0; i < POSTS; i++)
                must(dat_ep_post_recv(own->ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0},
                                      DAT_COMPLETION_UNSIGNALLED_FLAG));
        own->end = peer_connect(peer(t), own->ep);
        own_deliver(t, own, 2);
        return POSTS - 2;
}

/* Nothing but receives is reported of it. */
static DAT_COUNT had_recv_evd_alone(struct test *t, struct own *own)
{
        DAT_EP_ATTR attr = ep_attr_of(t, 1);

        must(dat_ep_create(ia(t), pz(t), own->evd, DAT_HANDLE_NULL, DAT_HANDLE_NULL, &attr,
                           &own->ep));
        adopt(t, DAT_HANDLE_TYPE_EP, own->ep);
        own_post(t, own, POSTS);
        return POSTS;
}

/* Its sends stand unreaped where the receives would. */
static DAT_COUNT had_one_evd(struct test *t, struct own *own)
{
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);

        own->ep = ep_with(t, .recv_evd = own->evd, .request_evd = own->evd);
        own_post(t, own, POSTS);
        own->end = peer_connect(peer(t), own->ep);
        peer_post_recv(own->end, 2, MESSAGE);
        for (int i = 0; i < 2; i++)
                must(dat_ep_post_send(own->ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0},
                                      DAT_COMPLETION_DEFAULT_FLAG));
        settle(t);
        return POSTS;
}

static DAT_COUNT had_evd_changed(struct test *t, struct own *own)
{
        DAT_EP_PARAM param = {.recv_evd_handle = evd_with(t)};

        own->ep = ep_with(t, .recv_evd = own->evd);
        own_post(t, own, 2);
        must(dat_ep_modify(own->ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
        own->evd = param.recv_evd_handle;
        ep_reports_to(t, own->ep, DAT_EP_FIELD_RECV_EVD_HANDLE, own->evd);
        own_post(t, own, POSTS - 2);
        own->end = peer_connect(peer(t), own->ep);
        own_deliver(t, own, 2);
        return POSTS - 2;
}

static DAT_COUNT was_modified(struct test *t, struct own *own)
{
        DAT_EP_PARAM param = {.ep_state = DAT_EP_STATE_UNCONNECTED};

        own_post(t, own, 2);
        param.ep_attr.max_request_dtos = 4;
        must(dat_ep_modify(own->ep, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &param));
        own_post(t, own, 1);
        return 3;
}

/* Which is no change to an EP that is Unconnected. */
static DAT_COUNT was_reset_unconnected(struct test *t, struct own *own)
{
        own_post(t, own, POSTS);
        must(dat_ep_reset(own->ep));
        return POSTS;
}

static DAT_COUNT was_passive(struct test *t, struct own *own)
{
        own->ep = ep_in(t, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
        own->evd = ep_recv_evd(t, own->ep);
        own_post(t, own, 2);
        own->end = must_connect(own->ep);
        own_post(t, own, 2);
        own_send(own, 1);
        own_expect_messages(t, own, 1);
        return 3;
}

static DAT_COUNT was_reconnected(struct test *t, struct own *own)
{
        own_post(t, own, POSTS);
        own->end = peer_connect(peer(t), own->ep);
        own_send(own, 2);
        own_expect_messages(t, own, 2);
        peer_disconnect(own->end, DAT_CLOSE_ABRUPT_FLAG);
        must_event(ep_connect_evd(t, own->ep), DAT_CONNECTION_EVENT_DISCONNECTED);
        expect_flushes(t, own->evd, POSTS - 2);
        must(dat_ep_reset(own->ep));
        own->received = own->posted;
        own->sent = own->posted;
        own_post(t, own, 4);
        own->end = must_connect(own->ep);
        own_send(own, 1);
        own_expect_messages(t, own, 1);
        return 3;
}

/* Nothing but dat_evd_dequeue reaped. */
static DAT_COUNT had_dequeued(struct test *t, struct own *own)
{
        DAT_EVENT event;

        own_post(t, own, POSTS);
        own->end = peer_connect(peer(t), own->ep);
        own_deliver(t, own, 2);
        for (int i = 0; i < 2; i++)
                must(dat_evd_dequeue(own->evd, &event));
        return POSTS - 2;
}

static DAT_COUNT had_empty_message(struct test *t, struct own *own)
{
        own_post(t, own, POSTS);
        own->end = peer_connect(peer(t), own->ep);
        peer_send(own->end, .empty = true);
        must_dto(own->evd);
        return POSTS - 1;
}

/* Each place of its queue was used several times. */
static DAT_COUNT had_many_messages(struct test *t, struct own *own)
{
        own->end = peer_connect(peer(t), own->ep);
        for (int i = 0; i < MANY; i++) {
                own_post(t, own, 3);
                own_send(own, 3);
                own_expect_messages(t, own, 3);
        }
        own_post(t, own, 3);
        return 3;
}

/* The message that was too long ended the connection, or not: what it flushed is counted. */
static DAT_COUNT had_failure(struct test *t, struct own *own)
{
        DAT_COUNT left = POSTS - 1;
        DAT_EVENT event;

        own_post(t, own, POSTS);
        own->end = peer_connect(peer(t), own->ep);
        peer_send(own->end, .length = MESSAGE + 1);
        must_event(own->evd, DAT_DTO_COMPLETION_EVENT);
        settle(t);
        while (dat_is(dat_evd_dequeue(own->evd, &event), DAT_SUCCESS))
                left--;
        return left;
}

static DAT_COUNT was_written_to(struct test *t, struct own *own)
{
        struct buf *target = buf_with(t);

        own_post(t, own, POSTS);
        own->end = peer_connect(peer(t), own->ep);
        peer_write(own->end, target->rmr_context, (DAT_VADDR)(uintptr_t)target->addr, MESSAGE, 0);
        return POSTS;
}

static DAT_COUNT had_sibling_freed(struct test *t, struct own *own)
{
        DAT_EP_HANDLE sibling = ep_with(t, .recv_evd = own->evd);
        struct own other = {.ep = sibling, .evd = own->evd, .buf = own->buf, .length = MESSAGE};

        own_post(t, own, POSTS);
        own_post(t, &other, 2);
        release(t, sibling);
        return POSTS;
}

static DAT_COUNT wrote(struct test *t, struct own *own)
{
        DAT_LMR_TRIPLET segment = triplet(own->buf, 0, MESSAGE);
        DAT_RMR_TRIPLET remote = {.segment_length = MESSAGE};
        struct peer_memory memory;

        own_post(t, own, POSTS);
        own->end = peer_connect(peer(t), own->ep);
        memory = peer_expose(own->end, MESSAGE);
        remote.rmr_context = memory.rmr_context;
        remote.target_address = memory.address;
        must(dat_ep_post_rdma_write(own->ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0}, &remote,
                                    DAT_COMPLETION_DEFAULT_FLAG));
        must_dto(ep_request_evd(t, own->ep));
        return POSTS;
}

static DAT_COUNT read_from_peer(struct test *t, struct own *own)
{
        DAT_EP_ATTR attr = ep_attr_of(t, 1);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);
        DAT_RMR_TRIPLET remote = {.segment_length = MESSAGE};
        struct peer_memory memory;

        if (ia_attr(t)->max_rdma_read_per_ep_out < 1)
                unsupported(t, "max_rdma_read_per_ep_out = 0");
        attr.max_rdma_read_out = 1;
        attr.max_rdma_read_iov = 1;
        own->ep = ep_with(t, .recv_evd = own->evd, .attr = &attr);
        own_post(t, own, POSTS);
        own->end = peer_connect(peer(t), own->ep);
        memory = peer_expose(own->end, MESSAGE);
        remote.rmr_context = memory.rmr_context;
        remote.target_address = memory.address;
        must(dat_ep_post_rdma_read(own->ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0}, &remote,
                                   DAT_COMPLETION_DEFAULT_FLAG));
        must_dto(ep_request_evd(t, own->ep));
        return POSTS;
}

/* A memory region, on its request EVD. */
static DAT_COUNT had_bound(struct test *t, struct own *own)
{
        DAT_LMR_TRIPLET segment = triplet(own->buf, 0, MESSAGE);
        DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
        DAT_RMR_CONTEXT context;

        must(dat_rmr_create(pz(t), &rmr));
        adopt(t, DAT_HANDLE_TYPE_RMR, rmr);
        own->ep =
            ep_with(t, .recv_evd = own->evd,
                    .request_evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG));
        own_post(t, own, POSTS);
        own->end = peer_connect(peer(t), own->ep);
        must(dat_rmr_bind(rmr, &segment, DAT_MEM_PRIV_REMOTE_READ_FLAG, own->ep,
                          (DAT_RMR_COOKIE){.as_64 = 0}, DAT_COMPLETION_DEFAULT_FLAG, &context));
        must_event(ep_request_evd(t, own->ep), DAT_RMR_BIND_COMPLETION_EVENT);
        return POSTS;
}

static DAT_COUNT was_disconnected_gracefully(struct test *t, struct own *own)
{
        own_post(t, own, POSTS);
        own->end = peer_connect(peer(t), own->ep);
        must(dat_ep_disconnect(own->ep, DAT_CLOSE_GRACEFUL_FLAG));
        must_event(ep_connect_evd(t, own->ep), DAT_CONNECTION_EVENT_DISCONNECTED);
        expect_flushes(t, own->evd, POSTS);
        return 0;
}

/* More than a byte can count. */
static DAT_COUNT had_many_receives(struct test *t, struct own *own)
{
        DAT_EP_ATTR attr = ep_attr_of(t, 1);
        DAT_COUNT limit = ia_attr(t)->max_dto_per_ep;

        attr.max_recv_dtos = limit < 300 ? limit : 300;
        own->ep = ep_with(t, .recv_evd = evd_with(t, .qlen = attr.max_recv_dtos), .attr = &attr);
        own_post(t, own, attr.max_recv_dtos);
        return attr.max_recv_dtos;
}

static DAT_COUNT had_refusals(struct test *t, struct own *own)
{
        struct buf *foreign = buf_with(t, .pz = pz_new(t));
        DAT_LMR_TRIPLET good = triplet(own->buf, 0, MESSAGE);
        DAT_COUNT posts = POSTS;

        own_post(t, own, POSTS);
        for (int i = 0; i < 2; i++) {
                DAT_LMR_TRIPLET segment = i ? good : triplet(foreign, 0, MESSAGE);

                if (dat_is(dat_ep_post_recv(own->ep, i ? -1 : 1, &segment,
                                            (DAT_DTO_COOKIE){.as_64 = 0},
                                            DAT_COMPLETION_DEFAULT_FLAG),
                           DAT_SUCCESS))
                        posts++;
        }
        return posts;
}

static void accept_request(struct test *t, struct own *own)
{
        struct peer_cr request = peer_take_request(peer(t));

        own->end = peer_accept(&request, NULL, 0);
        must_event(ep_connect_evd(t, own->ep), DAT_CONNECTION_EVENT_ESTABLISHED);
        peer_wait_connected(own->end);
}

/* To where another EP is connected. */
static DAT_COUNT was_connected_as_another(struct test *t, struct own *own)
{
        struct remote remote;

        remote_set(t, &remote, AS_ANOTHER);
        own->ep = remote.asking.ep;
        own->evd = ep_recv_evd(t, own->ep);
        own_post(t, own, POSTS);
        must(connect_ask(&remote.asking));
        accept_request(t, own);
        own_send(own, 2);
        own_expect_messages(t, own, 2);
        return POSTS - 2;
}

/* Another EP, which has receives of its own, was connected to where this one is. */
static DAT_COUNT was_followed(struct test *t, struct own *own)
{
        struct own other = {.buf = own->buf, .length = MESSAGE};
        struct remote remote;

        remote_set(t, &remote, AS_ANOTHER);
        own->ep = remote.asking.like;
        own->evd = ep_recv_evd(t, own->ep);
        own->end = remote.old_end;
        own_post(t, own, POSTS);
        other.ep = remote.asking.ep;
        own_post(t, &other, 1);
        must(connect_ask(&remote.asking));
        accept_request(t, &other);
        own_send(own, 1);
        own_expect_messages(t, own, 1);
        return POSTS - 1;
}

/* What a vain request flushed is complete; how many that are is asked of dat_ep_connect. */
static DAT_COUNT not_flushed(struct test *t, const struct own *own)
{
        DAT_COUNT left = POSTS;
        DAT_EVENT event;

        settle(t);
        while (dat_is(dat_evd_dequeue(own->evd, &event), DAT_SUCCESS))
                left--;
        return left;
}

static DAT_COUNT was_rejected(struct test *t, struct own *own)
{
        struct peer_cr request;
        struct remote remote;

        remote_set(t, &remote, BY_ADDRESS);
        own->ep = remote.asking.ep;
        own->evd = ep_recv_evd(t, own->ep);
        own_post(t, own, POSTS);
        must(connect_ask(&remote.asking));
        request = peer_take_request(peer(t));
        peer_reject(&request);
        must_event(ep_connect_evd(t, own->ep), DAT_CONNECTION_EVENT_PEER_REJECTED);
        return not_flushed(t, own);
}

static DAT_COUNT was_not_heard(struct test *t, struct own *own)
{
        own_post(t, own, POSTS);
        must(dat_ep_connect(own->ep, ia_attr(t)->ia_address_ptr, point_qual(t), event_timeout(t), 0,
                            NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
        must_event(ep_connect_evd(t, own->ep), DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        return not_flushed(t, own);
}

static DAT_COUNT had_evd_resized(struct test *t, struct own *own)
{
        DAT_EVD_PARAM param = {.evd_qlen = 0};

        own_post(t, own, POSTS);
        own->end = peer_connect(peer(t), own->ep);
        own_deliver(t, own, 2);
        must(dat_evd_query(own->evd, DAT_EVD_FIELD_EVD_QLEN, &param));
        (void)dat_evd_resize(own->evd, 2 * param.evd_qlen);
        return POSTS - 2;
}

/* Which leaves all as it is (EP-30). */
static DAT_COUNT had_change_refused(struct test *t, struct own *own)
{
        DAT_EP_PARAM param = {.ep_state = DAT_EP_STATE_UNCONNECTED};

        own_post(t, own, POSTS);
        param.ep_attr.recv_completion_flags = DAT_COMPLETION_SUPPRESS_FLAG;
        (void)dat_ep_modify(own->ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &param);
        return POSTS;
}

static const struct history {
        const char *id;
        DAT_COUNT (*make)(struct test *t, struct own *own);
} histories[] = {
    {"no_segments", had_no_segments},
    {"unsignalled", had_unsignalled},
    {"recv_evd_alone", had_recv_evd_alone},
    {"one_evd", had_one_evd},
    {"evd_changed", had_evd_changed},
    {"modified", was_modified},
    {"reset_unconnected", was_reset_unconnected},
    {"passive", was_passive},
    {"reconnected", was_reconnected},
    {"dequeued", had_dequeued},
    {"empty_message", had_empty_message},
    {"many_messages", had_many_messages},
    {"failure", had_failure},
    {"written_to", was_written_to},
    {"sibling_freed", had_sibling_freed},
    {"wrote", wrote},
    {"read", read_from_peer},
    {"bound", had_bound},
    {"disconnected_gracefully", was_disconnected_gracefully},
    {"many_receives", had_many_receives},
    {"refusals", had_refusals},
    {"connected_as_another", was_connected_as_another},
    {"followed", was_followed},
    {"rejected", was_rejected},
    {"not_heard", was_not_heard},
    {"evd_resized", had_evd_resized},
    {"change_refused", had_change_refused},
};

FAMILY(ep_recv_query, after, histories)
{
        struct own own = own_with(t, 0);
        DAT_COUNT left = row->make(t, &own);
        struct info info = recv_info(t, own.ep);

        expect_count(t, info.count, left);
        expect_idle_span(t, info.span, left);
}

/*
 * Messages on their way
 */

static const struct traffic {
        const char *id;
        size_t length; /* bytes */
} traffic[] = {
    {"short_messages", MESSAGE},
    {"long_messages", LONG_MESSAGE},
};

/* At each query some of the messages sent may have come: so many receives may be gone. */
static void own_traffic(struct test *t, struct own *own)
{
        own_post(t, own, WINDOW - (int)(own->posted - own->received));
        own_send(own, WINDOW - 2);
        while (own->received < own->sent) {
                expect_within(t, recv_info(t, own->ep), (int)(own->posted - own->sent),
                              (int)(own->posted - own->received));
                own_expect_messages(t, own, 1);
        }
        expect_count(t, recv_info(t, own->ep).count, 2);
}

FAMILY(ep_recv_query, in_traffic, traffic)
{
        struct own own = own_for(t, row->length, WINDOW);

        own.end = peer_connect(peer(t), own.ep);
        for (int window = 0; window < WINDOWS; window++)
                own_traffic(t, &own);
}

/* Packets overtake each other, those of one message and those of several. */
static const struct peer_disturb_opts out_of_order = {.delay_ms = 10, .reorder_percent = 5};

/* A few windows in any case, and more until packets have overtaken each other. */
static bool goes_on_to_overtake(struct test *t, int window)
{
        return window < FEW_WINDOWS || (window < MANY && !peer_overtook(peer(t)));
}

CASE(ep_recv_query, half_received)
{
        struct own own = own_for(t, COMING, 2);
        bool begun = false;

        own_post(t, &own, 2);
        own.end = peer_connect(peer(t), own.ep);
        peer_disturb(peer(t), .kbit_per_s = SLOW_KBIT);
        own_send(&own, 1);
        for (int look = 0; look < MANY && !begun; look++) {
                settle(t);
                begun = message_holds(own.buf->addr, MESSAGE, 0);
                if (begun && message_holds(own.buf->addr, COMING, 0))
                        unsupported_in_part(t);
        }
        must_that(begun, "no byte of a message has come");
        struct info info = recv_info(t, own.ep);

        must_that(!message_holds(own.buf->addr, COMING, 0), "the message was whole by then");
        expect_within(t, info, 2, 2);
}

CASE(ep_recv_query, in_traffic_out_of_order)
{
        struct own own = own_for(t, PACKETS, WINDOW);

        own.end = peer_connect(peer(t), own.ep);
        peer_disturb_by(peer(t), out_of_order);
        for (int window = 0; goes_on_to_overtake(t, window); window++)
                own_traffic(t, &own);
        must_have_overtaken(peer(t));
}

/*
 * The end of a connection
 */

static const struct ending {
        const char *id;
        bool by_peer;
} endings[] = {
    {"by_case", false},
    {"by_peer", true},
};

static void disconnect(struct test *t, const struct ending *row, DAT_EP_HANDLE ep,
                       struct peer_ep *end)
{
        if (row->by_peer)
                peer_disconnect(end, DAT_CLOSE_ABRUPT_FLAG);
        else
                must(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void expect_none(struct test *t, DAT_EP_HANDLE ep)
{
        struct info info = recv_info(t, ep);

        expect_count(t, info.count, 0);
        expect_count(t, info.span, 0);
}

FAMILY(ep_recv_query, disconnected, endings)
{
        struct own own = own_connected(t, POSTS);

        disconnect(t, row, own.ep, own.end);
        expect_flushed(t, own.evd, POSTS);
        expect_none(t, own.ep);
        expect_flushes(t, own.evd, POSTS - 1);
        expect_none(t, own.ep);
}

CASE(ep_recv_query, posted_disconnected)
{
        struct own own = own_connected(t, 0);

        disconnect(t, &endings[0], own.ep, own.end);
        own_post(t, &own, 2);
        expect_flushes(t, own.evd, 2);

        expect_count(t, recv_info(t, own.ep).count, 0);
}

CASE(ep_recv_query, after_reset)
{
        struct own own = own_connected(t, POSTS);

        disconnect(t, &endings[0], own.ep, own.end);
        expect_flushes(t, own.evd, POSTS);
        must(dat_ep_reset(own.ep));
        expect_count(t, recv_info(t, own.ep).count, 0);

        own_post(t, &own, 2);
        expect_count(t, recv_info(t, own.ep).count, 2);
}

/*
 * Receives of an SRQ
 */

CASE(ep_recv_query, srq_unconnected)
{
        struct queue queue = queue_with(t, 8);
        DAT_EP_HANDLE ep = ep_with(t, .srq = queue.srq);

        queue_post(t, &queue, POSTS);

        struct info info = recv_info(t, ep);
        expect_count(t, info.count, 0);
        expect_count(t, info.span, 0);
}

static const struct ep_state_row taking_nothing[] = {
    {"reserved", DAT_EP_STATE_RESERVED},
    {"passive_connection_pending", DAT_EP_STATE_PASSIVE_CONNECTION_PENDING},
    {"active_connection_pending", DAT_EP_STATE_ACTIVE_CONNECTION_PENDING},
    {"disconnected", DAT_EP_STATE_DISCONNECTED},
};

FAMILY(ep_recv_query, srq_in_state, taking_nothing)
{
        struct queue queue = queue_with(t, 8);
        DAT_EP_HANDLE ep = ep_in(t, row->state, .srq = queue.srq);

        queue_post(t, &queue, POSTS);

        struct info info = recv_info(t, ep);
        expect_count(t, info.count, 0);
        expect_count(t, info.span, 0);
}

/*
 * What the SRQ tells as available and what its EPs hold is all that was posted and has not come:
 * none is told twice, and none by nobody.
 */
static void expect_accounted(struct test *t, const struct queue *queue, DAT_COUNT held,
                             DAT_COUNT waiting)
{
        DAT_COUNT available = srq_param(t, queue->srq).available_dto_count;

        if (provider_attr(t)->srq_info_supported && available != DAT_VALUE_UNKNOWN &&
            held != DAT_VALUE_UNKNOWN)
                expect_that(available + held == waiting,
                            "%d receives are available and %d at EPs, where %d wait for messages",
                            available, held, waiting);
}

CASE(ep_recv_query, srq_connected)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        struct info info;

        queue_post(t, &queue, POSTS);

        info = recv_info(t, flow.ep);
        expect_within(t, info, 0, POSTS);
        expect_accounted(t, &queue, info.count, POSTS);
        expect_traffic(t, &queue, &flow, POSTS);
}

CASE(ep_recv_query, srq_accounted)
{
        struct queue queue = queue_with(t, 8);
        struct flow flows[2];
        DAT_COUNT held = 0;

        for (int i = 0; i < 2; i++)
                flows[i] = flow_open(t, &queue, DAT_HANDLE_NULL);
        queue_post(t, &queue, POSTS);
        flow_deliver(t, &flows[0], 1);
        flow_deliver(t, &flows[1], 1);
        expect_messages(t, &queue, &flows[1], 1);

        for (int i = 0; i < 2; i++) {
                struct info info = recv_info(t, flows[i].ep);

                expect_within(t, info, 0, POSTS - 2);
                if (info.count == DAT_VALUE_UNKNOWN || held == DAT_VALUE_UNKNOWN)
                        held = DAT_VALUE_UNKNOWN;
                else
                        held += info.count;
        }
        expect_accounted(t, &queue, held, POSTS - 2);
}

FAMILY(ep_recv_query, srq_completed, arrivals)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, POSTS);
        flow_deliver(t, &flow, POSTS);
        if (row->reaped)
                expect_messages(t, &queue, &flow, POSTS);

        struct info info = recv_info(t, flow.ep);
        expect_count(t, info.count, 0);
        expect_count(t, info.span, 0);
}

FAMILY(ep_recv_query, srq_disconnected, endings)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, POSTS);
        disconnect(t, row, flow.ep, flow.end);
        settle(t);

        struct info info = recv_info(t, flow.ep);
        expect_count(t, info.count, 0);
        expect_count(t, info.span, 0);
}

/*
 * What an EP of an SRQ, or that SRQ, went through: each receive that was posted has had its
 * message.
 */

static void srq_was_resized(struct test *t, struct queue *queue, struct flow *flow)
{
        queue_post(t, queue, POSTS);
        flow_deliver(t, flow, 1);
        must(dat_srq_resize(queue->srq, srq_size_above(t, queue->srq, 8)));
        expect_messages(t, queue, flow, 1);
        expect_traffic(t, queue, flow, POSTS - 1);
}

static void srq_ep_was_marked(struct test *t, struct queue *queue, struct flow *flow)
{
        must(dat_ep_set_watermark(flow->ep, 8, DAT_WATERMARK_INFINITE));
        queue_post(t, queue, POSTS);
        expect_traffic(t, queue, flow, POSTS);
}

static void srq_was_marked(struct test *t, struct queue *queue, struct flow *flow)
{
        queue_post(t, queue, POSTS);
        must(dat_srq_set_lw(queue->srq, 2));
        expect_traffic(t, queue, flow, POSTS);
}

static void srq_ep_was_reset(struct test *t, struct queue *queue, struct flow *flow)
{
        queue_post(t, queue, 2);
        expect_traffic(t, queue, flow, 2);
        flow_break(t, flow);
        must(dat_ep_reset(flow->ep));
}

static void srq_ep_was_reconnected(struct test *t, struct queue *queue, struct flow *flow)
{
        srq_ep_was_reset(t, queue, flow);
        flow->end = must_connect(flow->ep);
        flow->sent = 0;
        flow->received = 0;
        queue_post(t, queue, 2);
        expect_traffic(t, queue, flow, 2);
}

/* Too long for the receive that it took. */
static void srq_had_failure(struct test *t, struct queue *queue, struct flow *flow)
{
        queue_post(t, queue, 1);
        peer_send(flow->end, .length = MESSAGE + 1);
        must_event(flow->evd, DAT_DTO_COMPLETION_EVENT);
}

static void srq_had_empty_message(struct test *t, struct queue *queue, struct flow *flow)
{
        queue_post(t, queue, 1);
        peer_send(flow->end, .empty = true);
        must_dto(flow->evd);
}

/* Its messages stand unreaped, on the EVD that it shares with this one. */
/* Nothing but dat_evd_dequeue reaped. */
static void srq_had_dequeued(struct test *t, struct queue *queue, struct flow *flow)
{
        DAT_EVENT event;

        queue_post(t, queue, POSTS);
        flow_deliver(t, flow, POSTS);
        for (int i = 0; i < POSTS; i++)
                must(dat_evd_dequeue(flow->evd, &event));
}

static void srq_had_vain_calls(struct test *t, struct queue *queue, struct flow *flow)
{
        for (int turn = 0; turn < VAIN_TURNS; turn++)
                vain_turn(t, queue, flow, turn);
        queue_post(t, queue, POSTS);
        expect_traffic(t, queue, flow, POSTS);
}

static void srq_had_requests(struct test *t, struct queue *queue, struct flow *flow)
{
        flow_break(t, flow);
        *flow = flow_with_requests(t, queue);
        queue_post(t, queue, 2);
        expect_traffic(t, queue, flow, 2);
}

/* What stands unreaped on the EP's EVD is of an EP of another SRQ. */
static void srq_had_other_on_evd(struct test *t, struct queue *queue, struct flow *flow)
{
        struct queue other = queue_with(t, 8);
        struct flow beside = flow_open(t, &other, flow->evd);

        queue_post(t, queue, 2);
        expect_traffic(t, queue, flow, 2);
        queue_post(t, &other, POSTS);
        flow_deliver(t, &beside, POSTS);
}

static void srq_had_evd_resized(struct test *t, struct queue *queue, struct flow *flow)
{
        queue_post(t, queue, POSTS);
        flow_deliver(t, flow, POSTS);
        evd_turn(t, flow->evd, 0);
        expect_messages(t, queue, flow, POSTS);
}

static void srq_had_sibling_freed(struct test *t, struct queue *queue, struct flow *flow)
{
        struct flow sibling = flow_open(t, queue, flow->evd);

        queue_post(t, queue, 2);
        expect_traffic(t, queue, &sibling, 1);
        expect_traffic(t, queue, flow, 1);
        flow_break(t, &sibling);
        release(t, sibling.ep);
}

static void srq_had_sibling(struct test *t, struct queue *queue, struct flow *flow)
{
        struct flow sibling = flow_open(t, queue, flow->evd);

        queue_post(t, queue, POSTS);
        flow_deliver(t, flow, 2);
        flow_deliver(t, &sibling, POSTS - 2);
}

static const struct srq_history {
        const char *id;
        void (*make)(struct test *t, struct queue *queue, struct flow *flow);
} srq_histories[] = {
    {"resized", srq_was_resized},
    {"soft_mark", srq_ep_was_marked},
    {"low_mark", srq_was_marked},
    {"reset", srq_ep_was_reset},
    {"reconnected", srq_ep_was_reconnected},
    {"failure", srq_had_failure},
    {"empty_message", srq_had_empty_message},
    {"sibling_unreaped", srq_had_sibling},
    {"dequeued", srq_had_dequeued},
    {"vain_calls", srq_had_vain_calls},
    {"requests", srq_had_requests},
    {"shared_evd", srq_had_other_on_evd},
    {"evd_resized", srq_had_evd_resized},
    {"sibling_freed", srq_had_sibling_freed},
};

FAMILY(ep_recv_query, srq_after, srq_histories)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        row->make(t, &queue, &flow);

        struct info info = recv_info(t, flow.ep);
        expect_count(t, info.count, 0);
        expect_count(t, info.span, 0);
}

static void srq_traffic(struct test *t, struct queue *queue, struct flow *flow)
{
        queue_post(t, queue, WINDOW - __builtin_popcountll(queue->posted));
        flow_send(flow, WINDOW - 2);
        while (flow->received < flow->sent) {
                expect_within(t, recv_info(t, flow->ep), 0, __builtin_popcountll(queue->posted));
                expect_messages(t, queue, flow, 1);
        }
}

FAMILY(ep_recv_query, srq_in_traffic, traffic)
{
        struct queue queue = queue_for(t, WINDOW, row->length, WINDOW);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        for (int window = 0; window < WINDOWS; window++)
                srq_traffic(t, &queue, &flow);
}

CASE(ep_recv_query, srq_in_traffic_out_of_order)
{
        struct queue queue = queue_for(t, WINDOW, PACKETS, WINDOW);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        peer_disturb_by(peer(t), out_of_order);
        for (int window = 0; goes_on_to_overtake(t, window); window++)
                srq_traffic(t, &queue, &flow);
        must_have_overtaken(peer(t));
}

CASE(ep_recv_query, srq_half_received)
{
        struct queue queue = queue_for(t, WINDOW, COMING, 3);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 3);
        flows_hold(t, &queue, &flow, 1);
        struct info info = recv_info(t, flow.ep);

        must_be_coming(t, &queue, &flow, 1);
        expect_within(t, info, 1, 3);
}

CASE(ep_recv_query, srq_several_eps)
{
        struct queue queue = queue_for(t, WINDOW, LONG_MESSAGE, WINDOW);
        struct flow flows[2];
        DAT_COUNT sum;

        for (int i = 0; i < 2; i++)
                flows[i] = flow_open(t, &queue, DAT_HANDLE_NULL);
        for (int window = 0; window < WINDOWS; window++) {
                queue_post(t, &queue, WINDOW);
                for (int i = 0; i < 2; i++)
                        flow_send(&flows[i], WINDOW / 2);
                for (int left = WINDOW; left > 0; left--) {
                        sum = 0;
                        for (int i = 0; i < 2; i++) {
                                struct info info = recv_info(t, flows[i].ep);

                                expect_within(t, info, 0, left);
                                if (info.count != DAT_VALUE_UNKNOWN)
                                        sum += info.count;
                        }
                        expect_that(sum <= left, "%d receives at two EPs, of %d", sum, left);
                        expect_messages(t, &queue, &flows[left % 2], 1);
                }
        }
}

CASE(ep_recv_query, srq_takes_nothing)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, POSTS);
        flow_deliver(t, &flow, 2);
        for (int i = 0; i < MANY; i++)
                recv_info(t, flow.ep);

        flow_send(&flow, POSTS - 2);
        expect_messages(t, &queue, &flow, POSTS);
        expect_quiet(flow.evd);
}

/*
 * States
 */

FAMILY(ep_recv_query, in_state, ep_states)
{
        struct ep_held held = ep_hold(t, row->state);
        struct info info = recv_info(t, held.ep);

        expect_count(t, info.count, 0);
        expect_count(t, info.span, 0);
        expect_ep_untouched(t, &held);
}

/* In Disconnected they are flushed at once, and where a disconnect is pending they may be. */
FAMILY(ep_recv_query, posted_in_state, consumer_ep_states)
{
        struct own own = {
            .ep = ep_in(t, row->state),
            .buf = buf_with(t),
            .length = MESSAGE,
        };
        DAT_EP_STATE before = ep_state(t, own.ep);
        struct info info;

        own.evd = ep_recv_evd(t, own.ep);
        own_post(t, &own, 3);
        if (row->state == DAT_EP_STATE_DISCONNECTED)
                expect_flushes(t, own.evd, 3);

        info = recv_info(t, own.ep);
        if (row->state == DAT_EP_STATE_DISCONNECTED) {
                expect_count(t, info.count, 0);
                expect_count(t, info.span, 0);
        } else if (ep_state(t, own.ep) == before) {
                expect_count(t, info.count, 3);
                expect_idle_span(t, info.span, 3);
        } else {
                expect_within(t, info, 0, 3);
        }
}

/*
 * Arguments, and what a provider has not
 */

CASE(ep_recv_query, count_alone)
{
        struct own own = own_with(t, POSTS);
        DAT_COUNT count = UNTOLD;

        expect(dat_ep_recv_query(own.ep, &count, NULL), DAT_SUCCESS);
        expect_count(t, count, POSTS);
}

CASE(ep_recv_query, span_alone)
{
        struct own own = own_with(t, POSTS);
        DAT_COUNT span = UNTOLD;

        expect(dat_ep_recv_query(own.ep, NULL, &span), DAT_SUCCESS);
        expect_idle_span(t, span, POSTS);
}

static DAT_RETURN query_into_nothing(void *ep)
{
        return dat_ep_recv_query(ep, NULL, NULL);
}

CASE(ep_recv_query, nothing_asked)
{
        struct own own = own_with(t, POSTS);
        DAT_RETURN answer;

        if (subprocess_call(t, query_into_nothing, own.ep, &answer))
                record(t, "the call returned 0x%x (GEN-4)", (unsigned int)answer);

        expect_count(t, recv_info(t, own.ep).count, POSTS);
}

static const struct result {
        const char *id;
        bool span;
} results[] = {
    {"count", false},
    {"span", true},
};

FAMILY(ep_recv_query, within_count, results)
{
        struct own own = own_with(t, POSTS);
        struct buf *buf = buf_with(t, .length = sizeof(DAT_COUNT));
        DAT_COUNT *guarded = (DAT_COUNT *)buf->addr;
        DAT_COUNT count;

        expect(
            dat_ep_recv_query(own.ep, row->span ? &count : guarded, row->span ? guarded : &count),
            DAT_SUCCESS);
        release(t, buf->lmr);
}

/* Declared absent: not supported, or both unknown (EP-14). */
CASE(ep_recv_query, as_declared)
{
        struct own own = own_with(t, POSTS);
        struct info info = {.count = UNTOLD, .span = UNTOLD};
        DAT_RETURN ret = dat_ep_recv_query(own.ep, &info.count, &info.span);

        must_be_told(t, NEED_EP_RECV_INFO);
        if (provider_attr(t)->ep_recv_info_supported) {
                expect(ret, DAT_SUCCESS);
                expect_count(t, info.count, POSTS);
                expect_idle_span(t, info.span, POSTS);
                return;
        }
        if (!dat_is(ret, DAT_SUCCESS)) {
                expect_or_note(ret, DAT_MODEL_NOT_SUPPORTED, DAT_NOT_IMPLEMENTED);
                return;
        }
        expect_eq(info.count, DAT_VALUE_UNKNOWN);
        expect_eq(info.span, DAT_VALUE_UNKNOWN);
}

static DAT_RETURN query_of(void *ep)
{
        DAT_COUNT count;
        DAT_COUNT span;

        return dat_ep_recv_query(ep, &count, &span);
}

FAMILY(ep_recv_query, invalid_handle, invalid_eps)
{
        DAT_HANDLE ep = bad_handle(t, DAT_HANDLE_TYPE_EP, row->how);

        if (row->how == BAD_HANDLE_DESTROYED)
                expect_stale(query_of, ep);
        else if (!provider_attr(t)->ep_recv_info_supported)
                expect(query_of(ep), DAT_INVALID_HANDLE, DAT_MODEL_NOT_SUPPORTED);
        else
                expect(query_of(ep), DAT_INVALID_HANDLE);
}
