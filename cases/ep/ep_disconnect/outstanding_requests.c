/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_disconnect: the disconnect event and outstanding requests. */
#include "case/ep_attr.h"
#include "case/standard.h"
#include "cases/ep/ep_disconnect/fixtures.h"
#include "cases/ep/shared/connect.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/point.h"
#include "cases/shared/under_way.h"
#include "clauses/ep_disconnect.h"

#include <string.h>

#define MANY  48 /* where it has more than fit into a batch of any size */
#define LARGE ((size_t)1 << 20)

/*
 * The end
 */

FAMILY(ep_disconnect, ended, ends)
{
        struct line line = line_of(t);
        DAT_EP_HANDLE one = row->passive ? line.loop.passive : line.loop.active;
        DAT_EP_HANDLE other = row->passive ? line.loop.active : line.loop.passive;

        end_by(t, one, row->flags);
        expect_ended(t, one);
        expect_ended_by_other(t, other);
        expect_empty(t, ep_connect_evd(t, one));
}

FAMILY(ep_disconnect, both_ends, both_flags)
{
        struct line line = line_either(t);

        end_by(t, line.loop.active, row->flags);
        end_by(t, line.loop.passive, row->flags);
        expect_ended(t, line.loop.active);
        expect_ended_by_other(t, line.loop.passive);
        expect_empty(t, ep_connect_evd(t, line.loop.active));
}

FAMILY(ep_disconnect, twice, both_flags)
{
        struct line line = line_either(t);

        end_by(t, line.loop.active, DAT_CLOSE_ABRUPT_FLAG);
        expect_ended(t, line.loop.active);
        expect_ended_by_other(t, line.loop.passive);
        end_by(t, line.loop.active, row->flags);
        end_by(t, line.loop.passive, row->flags);
        expect_eq(ep_state(t, line.loop.active), DAT_EP_STATE_DISCONNECTED);
        expect_eq(ep_state(t, line.loop.passive), DAT_EP_STATE_DISCONNECTED);
        settle_briefly(t);
        expect_empty(t, ep_connect_evd(t, line.loop.active));
        expect_empty(t, ep_connect_evd(t, line.loop.passive));
}

FAMILY(ep_disconnect, others_go_on, both_flags)
{
        struct line line = line_either(t);
        struct line other = line_either(t);

        end_by(t, line.loop.active, row->flags);
        expect_ended(t, line.loop.active);
        expect_message(t, other.loop.active, other.loop.passive);
        expect_message(t, other.loop.passive, other.loop.active);
        expect_empty(t, ep_connect_evd(t, other.loop.active));
        expect_empty(t, ep_connect_evd(t, other.loop.passive));
}

/*
 * What is outstanding
 */

FAMILY(ep_disconnect, receives_flushed, both_flags)
{
        struct line line = line_either(t);

        post_recvs(t, line.loop.active, line.in, 0, WORKS);
        post_recvs(t, line.loop.passive, line.out, 0, WORKS);
        end_by(t, line.loop.active, row->flags);
        expect_ended(t, line.loop.active);
        expect_flushed(t, ep_recv_evd(t, line.loop.active), line.loop.active, 0, WORKS);
        expect_ended_by_other(t, line.loop.passive);
        expect_flushed(t, ep_recv_evd(t, line.loop.passive), line.loop.passive, 0, WORKS);
}

/* The receives have messages first, and then none. */
static void expect_received_or_flushed(struct test *t, DAT_EP_HANDLE ep)
{
        size_t received = 0;

        for (size_t i = 0; i < WORKS; i++) {
                DAT_DTO_COMPLETION_STATUS status = expect_completion(t, ep_recv_evd(t, ep), ep, i);

                if (status == DAT_DTO_SUCCESS && received == i)
                        received++;
                else
                        expect_eq(status, DAT_DTO_ERR_FLUSHED);
        }
        record(t, "%zu of %d receives had a message", received, WORKS);
        expect_empty(t, ep_recv_evd(t, ep));
}

/* Messages are under way in both directions when both ends disconnect. */
FAMILY(ep_disconnect, both_at_work, both_flags)
{
        struct line line = line_either(t);
        struct line back = turned(line);
        DAT_EP_HANDLE eps[] = {line.loop.active, line.loop.passive};

        for (int i = 0; i < 2; i++)
                post_recvs(t, eps[i], buf_with(t, .length = line.in->length), 0, WORKS);
        for (size_t i = 0; i < WORKS; i++) {
                must(post(&line, SENDS, i));
                must(post(&back, SENDS, i));
        }
        end_by(t, eps[0], row->flags);
        end_by(t, eps[1], row->flags);

        expect_ended(t, eps[0]);
        expect_ended_by_other(t, eps[1]);
        for (int i = 0; i < 2; i++) {
                (void)expect_broken_off(t, ep_request_evd(t, eps[i]), eps[i], WORKS);
                expect_received_or_flushed(t, eps[i]);
                expect_empty(t, ep_connect_evd(t, eps[i]));
        }
}

FAMILY(ep_disconnect, requests_broken_off, works)
{
        struct line line = line_either(t);

        post_works(t, &line, row->work);
        end_by(t, line.loop.active, DAT_CLOSE_ABRUPT_FLAG);
        expect_ended(t, line.loop.active);
        expect_eq(
            expect_broken_off(t, ep_request_evd(t, line.loop.active), line.loop.active, WORKS), 0);
}

/* The end that did nothing for it has sends without a receive. */
FAMILY(ep_disconnect, requests_of_other_end, both_flags)
{
        struct line line = line_either(t);
        struct line back = turned(line);
        size_t done;

        post_works(t, &back, SENDS);
        end_by(t, line.loop.active, row->flags);
        expect_ended_by_other(t, line.loop.passive);
        done = expect_broken_off(t, ep_request_evd(t, line.loop.passive), line.loop.passive, WORKS);
        record(t, "%zu of %d sends without a receive succeeded", done, WORKS);
}

static const struct work_row rdmas[] = {{"writes", WRITES}, {"reads", READS}};

FAMILY(ep_disconnect, rdma_of_other_end, rdmas)
{
        struct line line = line_either(t);
        struct line back = turned(line);

        post_works(t, &back, row->work);
        end_by(t, line.loop.active, DAT_CLOSE_ABRUPT_FLAG);
        expect_ended_by_other(t, line.loop.passive);
        record(t, "%zu of %d requests behind a send without a receive succeeded",
               expect_broken_off(t, ep_request_evd(t, line.loop.passive), line.loop.passive, WORKS),
               WORKS);
}

static const struct pair_row {
        const char *id;
        bool receives;
        enum work work; /* otherwise */
        bool passive;   /* the EPs are those that accepted */
} pairs[] = {
    {"receives", true, SENDS, false}, {"receives_of_passive", true, SENDS, true},
    {"sends", false, SENDS, false},   {"sends_of_passive", false, SENDS, true},
    {"writes", false, WRITES, false}, {"reads", false, READS, false},
};

static void post_of(struct test *t, const struct line *line, const struct pair_row *row)
{
        if (row->receives)
                post_recvs(t, line->loop.active, line->in, 0, WORKS);
        else
                post_works(t, line, row->work);
}

/* Both EPs report to the same EVD; each of them ends while the other has its work, or had it. */
FAMILY(ep_disconnect, flushed_of_two, pairs)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = 2 * WORKS);
        const struct ep_opts sharing = {.recv_evd = row->receives ? evd : DAT_HANDLE_NULL,
                                        .request_evd = row->receives ? DAT_HANDLE_NULL : evd};
        const struct ep_opts apart = {0};
        struct line pair[2];

        for (int i = 0; i < 2; i++) {
                pair[i] =
                    line_with(t, row->passive ? apart : sharing, row->passive ? sharing : apart);
                if (row->passive)
                        pair[i] = turned(pair[i]);
        }
        for (int i = 0; i < 2; i++)
                post_of(t, &pair[i], row);
        for (int i = 0; i < 2; i++) {
                DAT_EP_HANDLE ep = pair[i].loop.active;

                end_by(t, ep, DAT_CLOSE_ABRUPT_FLAG);
                expect_ended(t, ep);
                if (row->receives)
                        expect_flushed(t, evd, ep, 0, WORKS);
                else
                        expect_eq(expect_broken_off(t, evd, ep, WORKS), 0);
        }
}

static const struct many_row {
        const char *id;
        bool receives;
        bool other; /* of the end that did nothing for it */
} many[] = {
    {"receives", true, false},
    {"requests", false, false},
    {"receives_of_other_end", true, true},
    {"requests_of_other_end", false, true},
};

FAMILY(ep_disconnect, many, many)
{
        DAT_EP_ATTR attr = attr_with_reads(t);
        struct line line;
        struct line of;
        DAT_EP_HANDLE ep;

        if (ia_attr(t)->max_dto_per_ep < MANY)
                unsupported(t, "max_dto_per_ep: fewer than the case posts");
        attr.max_recv_dtos = attr.max_request_dtos = MANY;
        line = line_apart(t, attr, (struct ep_opts){0}, (struct ep_opts){0});
        of = row->other ? turned(line) : line;
        ep = of.loop.active;
        loop_join(t, &line.loop);
        if (row->receives)
                post_recvs(t, ep, line.in, 0, MANY);
        else
                for (size_t i = 0; i < MANY; i++)
                        must(post(&of, SENDS, i));
        end_by(t, line.loop.active, DAT_CLOSE_ABRUPT_FLAG);
        if (row->other)
                expect_ended_by_other(t, ep);
        else
                expect_ended(t, ep);
        if (row->receives)
                expect_flushed(t, ep_recv_evd(t, ep), ep, 0, MANY);
        else
                record(t, "%zu of %d sends without a receive succeeded",
                       expect_broken_off(t, ep_request_evd(t, ep), ep, MANY), MANY);
}

/* Who waits for a receive is woken when it is flushed: at the end that ends, or the other one. */
static const struct sleeper_row {
        const char *id;
        bool other;
} sleepers[] = {{"who_ends", false}, {"other_end", true}};

FAMILY(ep_disconnect, flush_wakes, sleepers)
{
        struct line line = line_either(t);
        DAT_EP_HANDLE ep = row->other ? line.loop.passive : line.loop.active;
        const DAT_DTO_COMPLETION_EVENT_DATA *dto;
        struct waiter *waiter;
        struct woken woken;

        post_recvs(t, ep, line.in, 0, 1);
        waiter = wait_on_evd(t, ep_recv_evd(t, ep), DAT_TIMEOUT_INFINITE, 1);
        must_wait(waiter);
        end_by(t, line.loop.active, DAT_CLOSE_ABRUPT_FLAG);
        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_eq(woken.event.event_number, DAT_DTO_COMPLETION_EVENT);
        dto = &woken.event.event_data.dto_completion_event_data;
        expect_that(dto->ep_handle == ep, "a completion names another EP");
        expect_eq(dto->status, DAT_DTO_ERR_FLUSHED);
}

/* Half of the sends find a receive, so that they may have succeeded. */
CASE(ep_disconnect, order_of_failure)
{
        struct line line = line_either(t);
        size_t done;

        post_recvs(t, line.loop.passive, line.in, 0, WORKS / 2);
        post_works(t, &line, SENDS);
        expect_eq(expect_completion(t, ep_request_evd(t, line.loop.active), line.loop.active, 0),
                  DAT_DTO_SUCCESS);
        end_by(t, line.loop.active, DAT_CLOSE_ABRUPT_FLAG);
        expect_ended(t, line.loop.active);
        for (done = 1; done < WORKS; done++)
                if (expect_completion(t, ep_request_evd(t, line.loop.active), line.loop.active,
                                      done) != DAT_DTO_SUCCESS)
                        break;
        expect_that(done <= WORKS / 2, "%zu sends succeeded, and %d had a receive", done,
                    WORKS / 2);
        for (size_t i = done + 1; i < WORKS; i++)
                expect_that(expect_completion(t, ep_request_evd(t, line.loop.active),
                                              line.loop.active, i) != DAT_DTO_SUCCESS,
                            "send %zu succeeded, and one before it had not", i);
        expect_empty(t, ep_request_evd(t, line.loop.active));
}

/*
 * Much memory is to be written; each write of it ends, and none with success behind one without.
 * They wait behind a send that finds no receive: a device that runs a post to its end does not
 * complete them before the disconnect.
 */
CASE(ep_disconnect, writes_under_way)
{
        struct line line = line_either(t);
        size_t length = ep_attr_at_most(ia_attr(t)->max_rdma_size, LARGE);
        struct buf *from = buf_with(t, .length = LARGE);
        struct buf *to = buf_with(t, .length = LARGE);
        DAT_LMR_TRIPLET segment = triplet(from, 0, length);
        DAT_RMR_TRIPLET remote = {
            .rmr_context = to->rmr_context,
            .target_address = (DAT_VADDR)(uintptr_t)to->addr,
            .segment_length = length,
        };
        struct under_way requests;
        size_t done;
        bool held;

        held = under_way_hold(t, line.loop.active, line.out);
        for (size_t i = 0; i < WORKS; i++)
                must(dat_ep_post_rdma_write(line.loop.active, 1, &segment,
                                            (DAT_DTO_COOKIE){.as_64 = i}, &remote,
                                            DAT_COMPLETION_DEFAULT_FLAG));
        requests =
            under_way_before(t, ep_request_evd(t, line.loop.active), WORKS, "the disconnect");
        end_by(t, line.loop.active, DAT_CLOSE_ABRUPT_FLAG);
        expect_ended(t, line.loop.active);
        if (held)
                expect_under_way_flushed(t, line.loop.active);
        done = expect_under_way_broken_off(t, &requests, line.loop.active);
        record(t, "%zu of %d writes succeeded", done, WORKS);
}
