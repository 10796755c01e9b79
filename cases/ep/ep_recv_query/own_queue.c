/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_recv_query: an EP with its own receive queue. */
#include "case/ep_attr.h"
#include "case/limits.h"
#include "case/standard.h"
#include "cases/ep/ep_recv_query/fixtures.h"
#include "cases/ep/shared/connect.h"
#include "cases/ep/shared/creation.h"
#include "cases/ep/shared/rdma.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/point.h"
#include "cases/srq/shared/queue.h"
#include "clauses/ep_recv_query.h"

#include <limits.h>
#include <string.h>

#define SEGMENTS 4

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

FAMILY(ep_recv_query, however_joined, ep_joins)
{
        struct loop loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){0});
        struct own own = {.buf = buf_with(t), .length = MESSAGE};
        struct info info;

        row->join(t, &loop);
        own.ep = loop.active;
        own.evd = ep_recv_evd(t, own.ep);
        own_post(t, &own, POSTS);

        info = recv_info(t, own.ep);
        expect_count(t, info.count, POSTS);
        expect_idle_span(t, info.span, POSTS);

        for (int left = POSTS - 1; left >= 2; left--) {
                loop_post_send(t, loop.passive, own.buf, 0);
                must_dto(own.evd);
                info = recv_info(t, own.ep);
                expect_count(t, info.count, left);
                expect_idle_span(t, info.span, left);
        }
        must(dat_ep_disconnect(own.ep, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, own.ep), DAT_CONNECTION_EVENT_DISCONNECTED);
        must_flushes(t, own.evd, 2);
        info = recv_info(t, own.ep);
        expect_count(t, info.count, 0);
        expect_count(t, info.span, 0);
}

CASE(ep_recv_query, posted_hundreds)
{
        DAT_EP_ATTR attr = ep_attr_modest(ia_attr(t));
        DAT_COUNT most = ia_attr(t)->max_dto_per_ep;
        struct own own = {.buf = buf_with(t), .length = 1};

        attr.max_recv_dtos = most < HUNDREDS ? most : HUNDREDS;
        own.ep = ep_with(t, .attr = &attr, .recv_evd = evd_of_at_most(t, HUNDREDS));
        own.evd = ep_recv_evd(t, own.ep);
        for (DAT_COUNT posts = 0; posts < attr.max_recv_dtos; posts++) {
                expect_count(t, recv_info(t, own.ep).count, posts);
                own_post(t, &own, 1);
        }
        expect_count(t, recv_info(t, own.ep).count, attr.max_recv_dtos);
        expect_idle_span(t, recv_info(t, own.ep).span, attr.max_recv_dtos);
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

/* Receives of no segment, which need no memory of that IA. */
CASE(ep_recv_query, ep_of_other_ia)
{
        struct own own = own_with(t, 2);
        DAT_EP_HANDLE other = ep_of_other_ia(t);

        for (int i = 0; i < POSTS; i++)
                must(dat_ep_post_recv(other, 0, NULL, (DAT_DTO_COOKIE){.as_64 = 0},
                                      DAT_COMPLETION_DEFAULT_FLAG));

        expect_left(t, other, POSTS);
        expect_left(t, own.ep, 2);
}

/* By turns, so that no EP is always the one that took a message last. */
CASE(ep_recv_query, own_completions_only)
{
        DAT_EVD_HANDLE evd = evd_with(t);
        struct loop loops[2];
        struct own owns[2];

        for (int i = 0; i < 2; i++) {
                loops[i] = loop_of(t, (struct ep_opts){.recv_evd = evd}, (struct ep_opts){0});
                loop_join_either(t, &loops[i]);
                owns[i] = (struct own){
                    .ep = loops[i].active, .evd = evd, .buf = buf_with(t), .length = MESSAGE};
                own_post(t, &owns[i], POSTS);
        }

        for (int done = 1; done < POSTS; done++) {
                for (int i = 0; i < 2; i++) {
                        loop_post_send(t, loops[i].passive, owns[i].buf, 0);
                        must_dto(evd);
                        expect_count(t, recv_info(t, owns[0].ep).count, POSTS - done);
                        expect_count(t, recv_info(t, owns[1].ep).count, POSTS - done + 1 - i);
                }
        }
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
 * Posts that must be refused: if granted, they are counted
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

static const struct remote_rdma {
        const char *id;
        const struct rdma_kind *kind;
} remote_rdmas[] = {
    {"write", &rdma_write},
    {"read", &rdma_read},
};

FAMILY(ep_recv_query, rdma_not_counted, remote_rdmas)
{
        struct rdma rdma = rdma_with(t, row->kind);
        struct vector room = vector_with(t, .length = MESSAGE);
        struct info info;

        for (uint64_t i = 0; i < POSTS; i++)
                must(recv_vector(rdma.loop.passive, &room, i, DAT_COMPLETION_DEFAULT_FLAG));
        must(rdma_post_whole(t, &rdma, 1, DAT_COMPLETION_DEFAULT_FLAG));
        must_complete(rdma.evd, .ep = rdma.ep, .cookie = 1, .length = rdma.local.length);

        info = recv_info(t, rdma.loop.passive);
        expect_count(t, info.count, POSTS);
        expect_idle_span(t, info.span, POSTS);
}

/*
 * Messages that have come
 */

static struct own own_after_messages(struct test *t, const struct arrival *row, int messages)
{
        struct own own = own_connected(t, POSTS);

        own_deliver(t, &own, messages);
        if (row->reaped)
                own_expect_messages(t, &own, messages);
        return own;
}

/* Whichever way the EP was connected. */
FAMILY(ep_recv_query, completed, arrivals)
{
        EACH_EP_ROUTE (route, DAT_EP_STATE_CONNECTED) {
                struct own own = own_by(t, route, POSTS);

                own_deliver(t, &own, 2);
                if (row->reaped)
                        own_expect_messages(t, &own, 2);
                expect_count(t, recv_info(t, own.ep).count, POSTS - 2);
        }
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

/* The completions are left on the EVD, and then reaped one after another. */
CASE(ep_recv_query, completed_one_by_one)
{
        struct own own = own_connected(t, POSTS);

        for (int left = POSTS - 1; left >= 0; left--) {
                own_deliver(t, &own, 1);
                expect_left(t, own.ep, left);
        }
        for (int i = 0; i < POSTS; i++) {
                own_expect_messages(t, &own, 1);
                expect_left(t, own.ep, 0);
        }
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
                expect_left(t, own.ep, POSTS - 2);

        own_send(&own, POSTS - 2);
        own_expect_messages(t, &own, POSTS);
        expect_left(t, own.ep, 0);
        expect_quiet(own.evd);
}
