/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_disconnect: graceful disconnects. */
#include "case/ep_attr.h"
#include "case/standard.h"
#include "cases/ep/ep_disconnect/fixtures.h"
#include "cases/ep/shared/connect.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/point.h"
#include "clauses/ep_disconnect.h"

#include <string.h>

#define BINDS      4
#define OUT_BESIDE 40 /* messages in memory that no other request has */
#define IN_BESIDE  41

static void must_have(struct test *t, enum work work)
{
        if (work == READS &&
            (ia_attr(t)->max_rdma_read_per_ep_in < 1 || ia_attr(t)->max_rdma_read_per_ep_out < 1))
                unsupported(t, "max_rdma_read_per_ep_in, max_rdma_read_per_ep_out");
}

FAMILY(ep_disconnect, requests_completed, works)
{
        struct line line = waiting_line(t, row->work);

        expect_done_in_peace(t, &line, row->work);
}

/* The completions are not read: the disconnect event comes by itself, and they stay on the EVD. */
FAMILY(ep_disconnect, ends_unreaped, works)
{
        struct line line = waiting_line(t, row->work);
        DAT_EP_HANDLE ep = line.loop.active;

        post_recvs(t, line.loop.passive, line.in, 0, row->work == SENDS ? WORKS : 1);
        expect_ended(t, ep);
        for (size_t i = 0; i < WORKS; i++)
                expect_eq(expect_completion(t, ep_request_evd(t, ep), ep, i), DAT_DTO_SUCCESS);
        expect_empty(t, ep_request_evd(t, ep));
}

/* Binds of an EP, behind a send that has yet to find its receive. */
struct binds {
        struct line line;
        DAT_EVD_HANDLE evd;
        DAT_RMR_HANDLE rmrs[BINDS];
};

static struct binds binds_posted(struct test *t)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
        struct binds binds = {
            .line = line_with(t, (struct ep_opts){.request_evd = evd}, (struct ep_opts){0}),
            .evd = evd,
        };
        DAT_LMR_TRIPLET segment = triplet(binds.line.in, 0, MESSAGE);
        DAT_RMR_CONTEXT context;

        for (size_t i = 0; i < BINDS; i++) {
                must(dat_rmr_create(pz(t), &binds.rmrs[i]));
                adopt(t, DAT_HANDLE_TYPE_RMR, binds.rmrs[i]);
        }
        must(post(&binds.line, SENDS, 0));
        for (uint64_t i = 0; i < BINDS; i++)
                must(dat_rmr_bind(binds.rmrs[i], &segment, DAT_MEM_PRIV_REMOTE_READ_FLAG,
                                  binds.line.loop.active, (DAT_RMR_COOKIE){.as_64 = i},
                                  DAT_COMPLETION_DEFAULT_FLAG, &context));
        return binds;
}

CASE(ep_disconnect, binds_completed)
{
        struct binds binds = binds_posted(t);
        DAT_EP_HANDLE ep = binds.line.loop.active;

        end_by(t, ep, DAT_CLOSE_GRACEFUL_FLAG);
        post_recvs(t, binds.line.loop.passive, binds.line.in, 0, 1);
        expect_eq(expect_completion(t, binds.evd, ep, 0), DAT_DTO_SUCCESS);
        for (size_t i = 0; i < BINDS; i++) {
                DAT_EVENT event = expect_event(binds.evd, DAT_RMR_BIND_COMPLETION_EVENT);
                const DAT_RMR_BIND_COMPLETION_EVENT_DATA *bind =
                    &event.event_data.rmr_completion_event_data;

                expect_that(bind->rmr_handle == binds.rmrs[i], "the completion names another RMR");
                expect_eq(bind->user_cookie.as_64, i);
                expect_eq(bind->status, DAT_RMR_BIND_SUCCESS);
        }
        expect_ended(t, ep);
        expect_empty(t, binds.evd);
}

static const struct bind_end {
        const char *id;
        bool waits; /* until a graceful end is given up */
        bool other;
} bind_ends[] = {
    {"abrupt", false, false},
    {"abrupt_while_pending", true, false},
    {"by_other_end", false, true},
};

/* Of binds that the end found on their way some may have been made, and those say so. */
FAMILY(ep_disconnect, binds_broken_off, bind_ends)
{
        struct binds binds = binds_posted(t);
        DAT_EP_HANDLE ep = binds.line.loop.active;
        bool told[BINDS + 1] = {false};
        size_t done = 0;

        if (row->waits)
                end_by(t, ep, DAT_CLOSE_GRACEFUL_FLAG);
        end_by(t, row->other ? binds.line.loop.passive : ep, DAT_CLOSE_ABRUPT_FLAG);
        if (row->other)
                expect_ended_by_other(t, ep);
        else
                expect_ended(t, ep);
        for (size_t i = 0; i <= BINDS; i++) {
                DAT_EVENT event;
                DAT_COUNT more;
                uint64_t which = BINDS;

                expect(dat_evd_wait(binds.evd, event_timeout(t), 1, &event, &more), DAT_SUCCESS);
                if (event.event_number == DAT_RMR_BIND_COMPLETION_EVENT) {
                        const DAT_RMR_BIND_COMPLETION_EVENT_DATA *bind =
                            &event.event_data.rmr_completion_event_data;

                        which = bind->user_cookie.as_64;
                        expect_that(which < BINDS && bind->rmr_handle == binds.rmrs[which],
                                    "the completion names another RMR");
                        done += bind->status == DAT_RMR_BIND_SUCCESS;
                } else {
                        expect_eq(event.event_number, DAT_DTO_COMPLETION_EVENT);
                }
                expect_that(!told[which], "%s is reported twice",
                            which < BINDS ? "a bind" : "the send");
                told[which] = true;
        }
        expect_empty(t, binds.evd);
        record(t, "%zu of %d binds behind a send that was broken off succeeded", done, BINDS);
}

/* The other end waits for nothing. */
CASE(ep_disconnect, pending_ended_by_other)
{
        struct line line = waiting_line(t, SENDS);

        end_by(t, line.loop.passive, DAT_CLOSE_ABRUPT_FLAG);
        expect_ended(t, line.loop.passive);
        expect_ended_by_other(t, line.loop.active);
        expect_eq(
            expect_broken_off(t, ep_request_evd(t, line.loop.active), line.loop.active, WORKS), 0);
}

/* The passive side's messages are received all the while. */
CASE(ep_disconnect, pending_receives)
{
        struct line line = line_either(t);
        struct buf *buf = buf_with(t, .length = 3 * MESSAGE);

        loop_post_recv(t, line.loop.active, buf, 5);
        post_works(t, &line, SENDS);
        end_by(t, line.loop.active, DAT_CLOSE_GRACEFUL_FLAG);
        expect_waiting(t, &line);
        message_fill(buf->addr + 2 * MESSAGE, MESSAGE, 7);
        loop_post_send(t, line.loop.passive, buf, 6);
        expect_eq(expect_completion(t, ep_recv_evd(t, line.loop.active), line.loop.active, 5),
                  DAT_DTO_SUCCESS);
        expect_that(message_holds(buf->addr, MESSAGE, 7), "the memory has not the message");
        expect_eq(expect_completion(t, ep_request_evd(t, line.loop.passive), line.loop.passive, 6),
                  DAT_DTO_SUCCESS);
        expect_done_in_peace(t, &line, SENDS);
}

FAMILY(ep_disconnect, pending_takes_no_request, works)
{
        struct line line;
        struct line beside;

        must_have(t, row->work);
        line = waiting_line(t, SENDS);
        beside = line;
        beside.out = buf_with(t, .length = MESSAGE);
        beside.in = buf_with(t, .length = MESSAGE);
        message_fill(beside.out->addr, MESSAGE, OUT_BESIDE);
        message_fill(beside.in->addr, MESSAGE, IN_BESIDE);
        expect(post(&beside, row->work, 0), DAT_INVALID_STATE);
        expect_done_in_peace(t, &line, SENDS);
        expect_that(message_holds(beside.out->addr, MESSAGE, OUT_BESIDE) &&
                        message_holds(beside.in->addr, MESSAGE, IN_BESIDE),
                    "the request was refused, and moved bytes");
}

CASE(ep_disconnect, pending_takes_no_bind)
{
        DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
        DAT_RMR_CONTEXT context;
        DAT_LMR_TRIPLET segment;
        struct line line;

        must(dat_rmr_create(pz(t), &rmr));
        adopt(t, DAT_HANDLE_TYPE_RMR, rmr);
        line = waiting_line(t, SENDS);
        segment = triplet(line.in, 0, MESSAGE);
        expect(dat_rmr_bind(rmr, &segment, DAT_MEM_PRIV_REMOTE_READ_FLAG, line.loop.active,
                            (DAT_RMR_COOKIE){.as_64 = 9}, DAT_COMPLETION_DEFAULT_FLAG, &context),
               DAT_INVALID_STATE);
        expect_done_in_peace(t, &line, SENDS);
}

CASE(ep_disconnect, abrupt_while_pending)
{
        struct line line = waiting_line(t, SENDS);

        end_by(t, line.loop.active, DAT_CLOSE_ABRUPT_FLAG);
        expect_ended(t, line.loop.active);
        expect_eq(
            expect_broken_off(t, ep_request_evd(t, line.loop.active), line.loop.active, WORKS), 0);
        expect_ended_by_other(t, line.loop.passive);
}

CASE(ep_disconnect, graceful_while_pending)
{
        struct line line = waiting_line(t, SENDS);

        expect_may(dat_ep_disconnect(line.loop.active, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        expect_waiting(t, &line);
        expect_done_in_peace(t, &line, SENDS);
}

/* What the second graceful one leaves as it was, an abrupt one still ends. */
CASE(ep_disconnect, abrupt_behind_two_graceful)
{
        struct line line = waiting_line(t, SENDS);

        (void)expect_may(dat_ep_disconnect(line.loop.active, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        expect_waiting(t, &line);
        end_by(t, line.loop.active, DAT_CLOSE_ABRUPT_FLAG);
        expect_ended(t, line.loop.active);
        expect_eq(
            expect_broken_off(t, ep_request_evd(t, line.loop.active), line.loop.active, WORKS), 0);
        expect_ended_by_other(t, line.loop.passive);
}

FAMILY(ep_disconnect, completed_for, lines)
{
        struct line line = row->make(t);

        post_works(t, &line, SENDS);
        end_by(t, line.loop.active, DAT_CLOSE_GRACEFUL_FLAG);
        expect_waiting(t, &line);
        expect_done_in_peace(t, &line, SENDS);
}

/* What succeeds is not told, and yet it is waited for. */
CASE(ep_disconnect, suppressed_completed)
{
        struct line line = line_either(t);
        DAT_EP_HANDLE ep = line.loop.active;

        for (size_t i = 0; i < WORKS; i++) {
                DAT_LMR_TRIPLET segment = triplet(line.out, i * MESSAGE, MESSAGE);

                must(dat_ep_post_send(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = i},
                                      DAT_COMPLETION_SUPPRESS_FLAG));
        }
        end_by(t, ep, DAT_CLOSE_GRACEFUL_FLAG);
        expect_waiting(t, &line);
        post_recvs(t, line.loop.passive, line.in, 0, WORKS);
        expect_ended(t, ep);
        expect_empty(t, ep_request_evd(t, ep));
        for (size_t i = 0; i < WORKS; i++) {
                expect_eq(
                    expect_completion(t, ep_recv_evd(t, line.loop.passive), line.loop.passive, i),
                    DAT_DTO_SUCCESS);
                expect_that(message_holds(line.in->addr + i * MESSAGE, MESSAGE, i),
                            "receive %zu has not its message", i);
        }
}

/* Unsignalled and suppressed requests are waited for like others. */
static const struct quiet {
        const char *id;
        enum work work;
        DAT_COMPLETION_FLAGS flags;
} quiets[] = {
    {"unsignalled_sends", SENDS, DAT_COMPLETION_UNSIGNALLED_FLAG},
    {"unsignalled_writes", WRITES, DAT_COMPLETION_UNSIGNALLED_FLAG},
    {"suppressed_writes", WRITES, DAT_COMPLETION_SUPPRESS_FLAG},
    {"suppressed_reads", READS, DAT_COMPLETION_SUPPRESS_FLAG},
};

/* A wait returns unsignalled completions only if there is another one, here a flushed send. */
static void expect_queued(struct test *t, const struct line *line)
{
        DAT_EP_HANDLE ep = line->loop.active;
        DAT_EVD_HANDLE evd = ep_request_evd(t, ep);

        must(post(line, SENDS, WORKS));
        for (size_t i = 0; i < WORKS; i++)
                expect_eq(expect_completion(t, evd, ep, i), DAT_DTO_SUCCESS);
        expect_eq(expect_completion(t, evd, ep, WORKS), DAT_DTO_ERR_FLUSHED);
}

FAMILY(ep_disconnect, quiet_completed, quiets)
{
        bool told = row->flags == DAT_COMPLETION_UNSIGNALLED_FLAG;
        DAT_EP_ATTR attr = attr_with_reads(t);
        struct line line;
        DAT_EP_HANDLE ep;

        must_have(t, row->work);
        if (told)
                attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
        line = line_apart(t, attr, (struct ep_opts){0}, (struct ep_opts){0});
        loop_join_either(t, &line.loop);
        ep = line.loop.active;
        for (size_t i = 0; i < WORKS; i++)
                must(post_flagged(&line, i ? row->work : SENDS, i, row->flags));
        end_by(t, ep, DAT_CLOSE_GRACEFUL_FLAG);
        expect_waiting(t, &line);
        post_recvs(t, line.loop.passive, line.in, 0, row->work == SENDS ? WORKS : 1);
        expect_ended(t, ep);
        if (told)
                expect_queued(t, &line);
        expect_empty(t, ep_request_evd(t, ep));
        expect_ended_by_other(t, line.loop.passive);
        expect_moved(t, &line, row->work);
}

/* The other end gets its event after the requests. */
CASE(ep_disconnect, other_end_waits)
{
        struct line line = waiting_line(t, SENDS);

        settle_briefly(t);
        expect_eq(ep_state(t, line.loop.passive), DAT_EP_STATE_CONNECTED);
        expect_empty(t, ep_connect_evd(t, line.loop.passive));
        expect_done_in_peace(t, &line, SENDS);
}

/* It waits like any other, is cut off like any other, and is as good as new then. */
FAMILY(ep_disconnect, however_joined, ep_joins)
{
        struct line line = line_apart(t, ep_attr_modest(ia_attr_if_told(t)), (struct ep_opts){0},
                                      (struct ep_opts){0});
        DAT_EP_HANDLE ep;

        row->join(t, &line.loop);
        ep = line.loop.active;
        post_recvs(t, ep, line.in, 0, 2);
        must(post(&line, SENDS, 0));
        end_by(t, ep, DAT_CLOSE_GRACEFUL_FLAG);
        expect_waiting(t, &line);
        expect_empty(t, ep_recv_evd(t, ep));
        end_by(t, ep, DAT_CLOSE_ABRUPT_FLAG);
        expect_ended(t, ep);
        expect_flushed(t, ep_recv_evd(t, ep), ep, 0, 2);
        expect_eq(expect_broken_off(t, ep_request_evd(t, ep), ep, 1), 0);
        expect_ended_by_other(t, line.loop.passive);
        expect(dat_ep_reset(ep), DAT_SUCCESS);
        expect(dat_ep_reset(line.loop.passive), DAT_SUCCESS);
        expect_joined(t, ep, line.loop.passive);
        expect_loop_carries(t, ep, line.loop.passive);
}

CASE(ep_disconnect, followed_goes_on)
{
        struct loop loop = loop_new(t);
        struct loop old = ep_follow(t, &loop);

        end_by(t, loop.active, DAT_CLOSE_ABRUPT_FLAG);
        expect_ended(t, loop.active);
        expect_loop_carries(t, old.active, old.passive);
        expect_empty(t, ep_connect_evd(t, old.active));
        end_by(t, old.active, DAT_CLOSE_GRACEFUL_FLAG);
        expect_ended(t, old.active);
}

static const struct hurry_row {
        const char *id;
        DAT_CLOSE_FLAGS flags;
        bool other;
        bool peace; /* all that the EP waits for comes */
} hurries[] = {
    {"abrupt", DAT_CLOSE_ABRUPT_FLAG, false, false},
    {"others_abrupt", DAT_CLOSE_ABRUPT_FLAG, true, false},
    {"others_graceful", DAT_CLOSE_GRACEFUL_FLAG, true, false},
    {"awaited", DAT_CLOSE_GRACEFUL_FLAG, false, true},
};

/* Receives stood there beside the sends that the EP waited for. */
FAMILY(ep_disconnect, pending_flushed, hurries)
{
        struct line line = line_either(t);
        DAT_EP_HANDLE ep = line.loop.active;

        post_recvs(t, ep, line.in, 0, WORKS);
        post_works(t, &line, SENDS);
        end_by(t, ep, DAT_CLOSE_GRACEFUL_FLAG);
        expect_waiting(t, &line);
        expect_empty(t, ep_recv_evd(t, ep));
        if (row->peace) {
                expect_done_in_peace(t, &line, SENDS);
                expect_flushed(t, ep_recv_evd(t, ep), ep, 0, WORKS);
                return;
        }
        end_by(t, row->other ? line.loop.passive : ep, row->flags);
        if (row->other)
                expect_ended_by_other(t, ep);
        else
                expect_ended(t, ep);
        expect_flushed(t, ep_recv_evd(t, ep), ep, 0, WORKS);
        expect_eq(expect_broken_off(t, ep_request_evd(t, ep), ep, WORKS), 0);
}
