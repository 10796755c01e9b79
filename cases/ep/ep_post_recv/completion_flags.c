/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_post_recv: completion flags. */
#include "cases/ep/ep_post_recv/fixtures.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/bits.h"
#include "clauses/ep_post_recv.h"

#include <limits.h>
#include <string.h>

#define THRESHOLD DAT_COMPLETION_EVD_THRESHOLD_FLAG
#define FLAGS(n_) ((DAT_COMPLETION_FLAGS)(n_))

static const struct flagged {
        const char *id;
        DAT_COMPLETION_FLAGS of_ep;
        DAT_COMPLETION_FLAGS flags;
} flagged[] = {
    {"plain", PLAIN, PLAIN},
    {"solicited_plain", SOLICITED, PLAIN},
    {"unsignalled_plain", UNSIGNAL, PLAIN},
    {"unsignalled", UNSIGNAL, UNSIGNAL},
    {"threshold_plain", THRESHOLD, PLAIN},
};

/* Solicited messages to two receives with the flags, and to a plain one: each completes. */
FAMILY(ep_post_recv, flags, flagged)
{
        struct line line = line_with(t, .recv_flags = row->of_ep);

        expect(line_recv(&line, row->flags), DAT_SUCCESS);
        expect(line_recv(&line, row->flags), DAT_SUCCESS);
        expect(line_recv(&line, PLAIN), DAT_SUCCESS);
        for (int i = 0; i < 3; i++)
                must(line_send(&line, SOLICITED));

        expect_arrivals(t, &line, 3);
        expect_empty(t, ep_recv_evd(t, line.to));
}

/* Receives without a message complete as flushed, in the order of posting. */
FAMILY(ep_post_recv, flags_of_flushed, flagged)
{
        struct loop loop = transfer_with(t, .recv_flags = row->of_ep);
        struct line line = line_between(t, loop.active, loop.passive, 3);

        expect(line_recv(&line, row->flags), DAT_SUCCESS);
        expect(line_recv(&line, row->flags), DAT_SUCCESS);
        expect(line_recv(&line, PLAIN), DAT_SUCCESS);
        must_end(t, &loop);

        for (uint64_t i = 0; i < 3; i++)
                expect_completion(ep_recv_evd(t, line.to), .ep = line.to, .cookie = i,
                                  .status = DAT_DTO_ERR_FLUSHED);
        expect_empty(t, ep_recv_evd(t, line.to));
}

static const struct flagged unconfigured[] = {
    {"plain", PLAIN, UNSIGNAL},
    {"solicited", SOLICITED, UNSIGNAL},
    {"threshold", THRESHOLD, UNSIGNAL},
};

/* The active EP is the one whose requests can be configured. */
CASE(ep_post_recv, unsignalled_for_requests)
{
        struct loop loop = transfer_with(t, .request_flags = UNSIGNAL);
        struct line line = line_between(t, loop.passive, loop.active, LINE_SLOTS);

        expect(line_recv(&line, UNSIGNAL), DAT_INVALID_PARAMETER);
        expect_no_receive(t, &line);
}

FAMILY(ep_post_recv, unsignalled_unconfigured, unconfigured)
{
        struct line line = line_with(t, .recv_flags = row->of_ep);

        expect(line_recv(&line, row->flags), DAT_INVALID_PARAMETER);
        expect_no_receive(t, &line);
}

/* Where the EP is in no state to complete a receive, the flag is refused as elsewhere. */
FAMILY(ep_post_recv, unsignalled_in_state, consumer_ep_states)
{
        struct ep_held held = ep_hold(t, row->state);
        DAT_LMR_TRIPLET segment =
            triplet(buf_with(t, .pz = held.before.param.pz_handle), 0, MESSAGE);

        /* Disconnected flushes it, which is another clause. */
        if (!ep_is_in(&held, EP_IN(DISCONNECTED)))
                ep_hold_receive(t, &held);
        expect(dat_ep_post_recv(held.ep, 1, &segment, COOKIE(99), UNSIGNAL), DAT_INVALID_PARAMETER);
        expect_ep_untouched(t, &held);
}

static const struct undefined {
        const char *id;
        unsigned int flags;
} undefined[] = {
    {"suppress", DAT_COMPLETION_SUPPRESS_FLAG},
    {"solicited_wait", DAT_COMPLETION_SOLICITED_WAIT_FLAG},
    {"barrier_fence", DAT_COMPLETION_BARRIER_FENCE_FLAG},
    {"next_bit", 0x20},
    {"middle_bit", 1U << 16},
    {"highest_bit", 1U << 31},
    {"all_bits", ~0U},
};

FAMILY(ep_post_recv, undefined_flags, undefined)
{
        struct line line = line_with(t);

        expect(line_recv(&line, FLAGS(row->flags)), DAT_INVALID_PARAMETER);
        expect_no_receive(t, &line);
}

CASE(ep_post_recv, each_undefined_flag)
{
        struct line line = line_with(t);

        EACH_UNDEFINED_BIT (bit, COMPLETION_FLAG_BITS)
                expect_bit(bit, line_recv(&line, FLAGS(bit)), DAT_INVALID_PARAMETER);
        expect_no_receive(t, &line);
}

/* Who was woken by the second of two messages is given the first, and finds the second. */
static void expect_woken_by_second(struct test *t, struct line *line, struct waiter *waiter)
{
        expect_woken(waiter, .ep = line->to, .cookie = 0, .length = MESSAGE);
        line->arrived = 1;
        expect_arrivals(t, line, 1);
}

/* A case about waiters asks this of a connection, which it leaves without a posted receive. */
typedef void waking(struct test *t, struct line *line);

/* Asks it of a connection, and of the next one of the same EPs. */
static void ask_twice(struct test *t, DAT_COMPLETION_FLAGS recv_flags, waking *ask)
{
        struct loop loop = transfer_with(t, .recv_flags = recv_flags);
        struct line line = line_between(t, loop.active, loop.passive, LINE_SLOTS);

        ask(t, &line);
        must_end(t, &loop);
        ep_join_anew(t, &loop);
        line = line_between(t, loop.active, loop.passive, LINE_SLOTS);
        ask(t, &line);
}

static void ask_unsignalled(struct test *t, struct line *line)
{
        struct waiter *waiter;

        expect(line_recv(line, UNSIGNAL), DAT_SUCCESS);
        expect(line_recv(line, PLAIN), DAT_SUCCESS);
        waiter = wait_on_evd(t, ep_recv_evd(t, line->to), DAT_TIMEOUT_INFINITE, 1);
        must_wait(waiter);
        must(line_send(line, PLAIN));
        expect_asleep(waiter);
        must(line_send(line, PLAIN));
        expect_woken_by_second(t, line, waiter);
}

CASE(ep_post_recv, unsignalled_wakes_nobody)
{
        ask_twice(t, UNSIGNAL, ask_unsignalled);
}

/* More unsignalled receives than the EP has places for do not silence a later plain one. */
CASE(ep_post_recv, plain_behind_unsignalled)
{
        struct line line = line_with(t, .recv_flags = UNSIGNAL);
        DAT_EVD_HANDLE evd = ep_recv_evd(t, line.to);
        DAT_COUNT places = ep_snapshot(t, line.to).param.ep_attr.max_recv_dtos;
        struct waiter *waiter;

        for (DAT_COUNT i = 0; i < 2 * places && i < 2 * MOST_RECVS; i++) {
                expect(line_recv(&line, UNSIGNAL), DAT_SUCCESS);
                must(line_send(&line, PLAIN));
                expect_arrivals_unheard(t, &line, 1);
                must_dto(ep_request_evd(t, line.from));
        }
        expect(line_recv(&line, PLAIN), DAT_SUCCESS);
        waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 1);
        must_wait(waiter);
        must(line_send(&line, PLAIN));
        expect_woken(waiter, .ep = line.to, .cookie = line.arrived, .length = MESSAGE);
}

/* Nor is anybody by one of another number of segments. */
static const struct unheard {
        const char *id;
        DAT_COUNT segments;
} unheard[] = {
    {"no_segments", 0},
    {"several_segments", 3},
};

FAMILY(ep_post_recv, unsignalled_vector_wakes_nobody, unheard)
{
        struct loop loop = transfer_with(t, .segments = 3, .recv_flags = UNSIGNAL);
        DAT_EVD_HANDLE evd = ep_recv_evd(t, loop.passive);
        size_t length = row->segments ? LENGTH : 0;
        struct vector from = vector_with(t, .length = length);
        struct vector to = vector_with(t, .length = LENGTH, .segments = 3);
        struct waiter *waiter;

        expect(dat_ep_post_recv(loop.passive, row->segments, to.iov, COOKIE(0), UNSIGNAL),
               DAT_SUCCESS);
        expect(recv_vector(loop.passive, &to, 1, PLAIN), DAT_SUCCESS);
        waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 1);
        must_wait(waiter);
        must(send_vector(loop.active, &from, 0, PLAIN));
        expect_asleep(waiter);
        must(send_vector(loop.active, &from, 1, PLAIN));
        expect_woken(waiter, .ep = loop.passive, .cookie = 0, .length = length);
        expect_completion(evd, .ep = loop.passive, .cookie = 1, .length = length);
}

static void ask_unsolicited(struct test *t, struct line *line)
{
        struct waiter *waiter;

        expect(line_recv(line, PLAIN), DAT_SUCCESS);
        expect(line_recv(line, PLAIN), DAT_SUCCESS);
        waiter = wait_on_evd(t, ep_recv_evd(t, line->to), DAT_TIMEOUT_INFINITE, 1);
        must_wait(waiter);
        must(line_send(line, PLAIN));
        expect_asleep(waiter);
        must(line_send(line, SOLICITED));
        expect_woken_by_second(t, line, waiter);
}

CASE(ep_post_recv, unsolicited_wakes_nobody)
{
        ask_twice(t, SOLICITED, ask_unsolicited);
}

static void ask_each(struct test *t, struct line *line)
{
        for (uint64_t i = 0; i < 3; i++) {
                struct waiter *waiter;

                expect(line_recv(line, PLAIN), DAT_SUCCESS);
                waiter = wait_on_evd(t, ep_recv_evd(t, line->to), DAT_TIMEOUT_INFINITE, 1);
                must_wait(waiter);
                must(line_send(line, PLAIN));
                expect_woken(waiter, .ep = line->to, .cookie = i, .length = MESSAGE);
        }
}

/* On an EP that is not configured so, a message needs no solicited wait to wake. */
CASE(ep_post_recv, each_wakes)
{
        ask_twice(t, PLAIN, ask_each);
}
