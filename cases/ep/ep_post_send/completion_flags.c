/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_post_send: completion flags. */
#include "cases/ep/ep_post_send/fixtures.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/bits.h"
#include "cases/shared/point.h"
#include "clauses/ep_post_send.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define SUPPRESS  DAT_COMPLETION_SUPPRESS_FLAG
#define SOLICITED DAT_COMPLETION_SOLICITED_WAIT_FLAG

static const struct flagged {
        const char *id;
        DAT_COMPLETION_FLAGS of_ep;
        DAT_COMPLETION_FLAGS flags;
} flagged[] = {
    {"plain", PLAIN, PLAIN},
    {"suppress", PLAIN, SUPPRESS},
    {"solicited", PLAIN, SOLICITED},
    {"fence", PLAIN, FENCE},
    {"suppress_solicited", PLAIN, FLAGS(SUPPRESS | SOLICITED)},
    {"suppress_fence", PLAIN, FLAGS(SUPPRESS | FENCE)},
    {"solicited_fence", PLAIN, FLAGS(SOLICITED | FENCE)},
    {"suppress_solicited_fence", PLAIN, FLAGS(SUPPRESS | SOLICITED | FENCE)},
    {"unsignalled_plain", UNSIGNAL, PLAIN},
    {"unsignalled", UNSIGNAL, UNSIGNAL},
    {"unsignalled_suppress", UNSIGNAL, FLAGS(UNSIGNAL | SUPPRESS)},
    {"unsignalled_solicited", UNSIGNAL, FLAGS(UNSIGNAL | SOLICITED)},
    {"unsignalled_fence", UNSIGNAL, FLAGS(UNSIGNAL | FENCE)},
    {"unsignalled_suppress_solicited", UNSIGNAL, FLAGS(UNSIGNAL | SUPPRESS | SOLICITED)},
    {"unsignalled_suppress_fence", UNSIGNAL, FLAGS(UNSIGNAL | SUPPRESS | FENCE)},
    {"unsignalled_solicited_fence", UNSIGNAL, FLAGS(UNSIGNAL | SOLICITED | FENCE)},
    {"unsignalled_all", UNSIGNAL, FLAGS(UNSIGNAL | SUPPRESS | SOLICITED | FENCE)},
    {"threshold_plain", DAT_COMPLETION_EVD_THRESHOLD_FLAG, PLAIN},
    {"threshold_suppress", DAT_COMPLETION_EVD_THRESHOLD_FLAG, SUPPRESS},
    {"threshold_solicited", DAT_COMPLETION_EVD_THRESHOLD_FLAG, SOLICITED},
    {"threshold_fence", DAT_COMPLETION_EVD_THRESHOLD_FLAG, FENCE},
};

/* Two sends with the flags and a plain one: each message comes; what is suppressed tells nothing.
 */
FAMILY(ep_post_send, flags, flagged)
{
        struct line line = line_with(t, .request_flags = row->of_ep);

        must_line_recv(t, &line, 3);
        expect(line_send(&line, row->flags), DAT_SUCCESS);
        expect(line_send(&line, row->flags), DAT_SUCCESS);
        expect(line_send(&line, PLAIN), DAT_SUCCESS);

        expect_arrivals(t, &line, 3);
        if (row->flags & SUPPRESS)
                line.complete = 2;
        expect_sends_complete(t, &line, 3 - (int)line.complete);
        expect_empty(t, ep_request_evd(t, line.from));
}

/* The cookie of a send that fails: one that is forgotten is not 0 by chance. */
#define FAILING UINT64_C(40)

/* Failures are reported even if suppressed: two sends, flushed in their order; and so anew. */
FAMILY(ep_post_send, flags_of_flushed, flagged)
{
        struct loop loop = transfer_with(t, .request_flags = row->of_ep);
        struct line line = line_between(t, loop.active, loop.passive, 2);

        for (uint64_t cookie = FAILING; cookie <= FAILING + 2; cookie += 2) {
                if (cookie > FAILING)
                        ep_join_anew(t, &loop);
                must_end(t, &loop);
                line.sent = cookie;
                expect(line_send(&line, row->flags), DAT_SUCCESS);
                expect(line_send(&line, PLAIN), DAT_SUCCESS);

                for (uint64_t i = 0; i < 2; i++)
                        expect_completion(ep_request_evd(t, line.from), .ep = line.from,
                                          .cookie = cookie + i, .status = DAT_DTO_ERR_FLUSHED);
                expect_empty(t, ep_request_evd(t, line.from));
        }
}

/* A send without a receive fails when the connection ends, and is reported; the next one too. */
FAMILY(ep_post_send, flags_of_failed, flagged)
{
        struct loop loop = transfer_with(t, .request_flags = row->of_ep);
        struct line line = line_between(t, loop.active, loop.passive, 2);

        for (uint64_t cookie = FAILING; cookie <= FAILING + 2; cookie += 2) {
                DAT_DTO_COMPLETION_EVENT_DATA dto;

                if (cookie > FAILING)
                        ep_join_anew(t, &loop);
                line.sent = cookie;
                expect(line_send(&line, row->flags), DAT_SUCCESS);
                must_end(t, &loop);
                must(line_send(&line, PLAIN));

                dto = expect_dto_failed(t, ep_request_evd(t, line.from));
                expect_that(dto.ep_handle == line.from, "the completion names another EP");
                expect_eq(dto.user_cookie.as_64, cookie);
                expect_completion(ep_request_evd(t, line.from), .ep = line.from,
                                  .cookie = cookie + 1, .status = DAT_DTO_ERR_FLUSHED);
        }
}

static const struct unconfigured {
        const char *id;
        DAT_COMPLETION_FLAGS of_ep;
        DAT_COMPLETION_FLAGS flags;
        DAT_COMPLETION_FLAGS of_receives; /* the EP's other attribute */
} unconfigured[] = {
    {"alone", PLAIN, UNSIGNAL, .of_receives = PLAIN},
    {"with_suppress", PLAIN, FLAGS(UNSIGNAL | SUPPRESS), .of_receives = PLAIN},
    {"with_solicited", PLAIN, FLAGS(UNSIGNAL | SOLICITED), .of_receives = PLAIN},
    {"with_fence", PLAIN, FLAGS(UNSIGNAL | FENCE), .of_receives = PLAIN},
    {"threshold", DAT_COMPLETION_EVD_THRESHOLD_FLAG, UNSIGNAL, .of_receives = PLAIN},
    {"for_receives", PLAIN, UNSIGNAL, .of_receives = UNSIGNAL},
};

FAMILY(ep_post_send, unsignalled_unconfigured, unconfigured)
{
        struct line line =
            line_with(t, .request_flags = row->of_ep, .recv_flags = row->of_receives);

        expect(line_send(&line, row->flags), DAT_INVALID_PARAMETER);
        expect_no_send(t, &line);
}

static const struct undefined {
        const char *id;
        unsigned int flags;
} undefined[] = {
    {"next_bit", 0x20},       {"next_bit_with_suppress", 0x21},
    {"middle_bit", 1U << 16}, {"highest_bit", 1U << 31},
    {"all_bits", ~0U},
};

FAMILY(ep_post_send, undefined_flags, undefined)
{
        struct line line = line_with(t);

        expect(line_send(&line, FLAGS(row->flags)), DAT_INVALID_PARAMETER);
        expect_no_send(t, &line);
}

CASE(ep_post_send, each_undefined_flag)
{
        struct line line = line_with(t);

        EACH_UNDEFINED_BIT (bit, COMPLETION_FLAG_BITS)
                expect_bit(bit, line_send(&line, FLAGS(bit)), DAT_INVALID_PARAMETER);
        expect_no_send(t, &line);
}

/* Who waits for solicited messages alone is woken by one, and finds what came before. */
static const struct flagged solicitations[] = {
    {"alone", PLAIN, SOLICITED},
    {"with_suppress", PLAIN, FLAGS(SOLICITED | SUPPRESS)},
    {"with_fence", PLAIN, FLAGS(SOLICITED | FENCE)},
    {"with_unsignalled", UNSIGNAL, FLAGS(SOLICITED | UNSIGNAL)},
};

FAMILY(ep_post_send, solicited_wakes, solicitations)
{
        struct loop loop = transfer_with(t, .recv_flags = SOLICITED, .request_flags = row->of_ep);

        for (int connection = 0; connection < 2; connection++) {
                struct line line = line_between(t, loop.active, loop.passive, LINE_SLOTS);
                struct waiter *waiter;

                must_line_recv(t, &line, 2);
                waiter = wait_on_evd(t, ep_recv_evd(t, line.to), DAT_TIMEOUT_INFINITE, 1);
                must_wait(waiter);
                expect(line_send(&line, PLAIN), DAT_SUCCESS);
                expect(line_send(&line, row->flags), DAT_SUCCESS);
                expect_woken(waiter, .ep = line.to, .cookie = 0, .length = MESSAGE);
                line.arrived = 1;
                expect_arrivals(t, &line, 1);
                if (connection)
                        break;
                must_end(t, &loop);
                ep_join_anew(t, &loop);
        }
}

/* Messages of all shapes, for flags that are to act whatever is sent with them. */
static const struct shape {
        const char *id;
        DAT_COUNT segments;
        size_t length;
} shapes[] = {
    {"no_bytes", 0, 0},
    {"several_segments", 3, LENGTH},
    {"many_packets", 1, 100000},
};

FAMILY(ep_post_send, solicited_shape_wakes, shapes)
{
        struct loop loop = transfer_with(t, .segments = 3, .recv_flags = SOLICITED);
        DAT_EVD_HANDLE evd = ep_recv_evd(t, loop.passive);
        struct vector from = vector_with(t, .length = row->length, .segments = row->segments);
        struct vector to = vector_with(t, .length = row->length + 1);
        struct waiter *waiter;

        must_carry(t, row->length);
        must(recv_vector(loop.passive, &to, 2, PLAIN));
        waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 1);
        must_wait(waiter);
        expect(send_vector(loop.active, &from, 3, SOLICITED), DAT_SUCCESS);
        expect_woken(waiter, .ep = loop.passive, .cookie = 2, .length = row->length);
}

/* Who waits for solicited messages sleeps while others come, of any shape and with any flag. */
static const struct unsolicited {
        const char *id;
        struct shape shape;
        DAT_COMPLETION_FLAGS flags;
} unsolicited[] = {
    {"plain", {"", 1, MESSAGE}, PLAIN},
    {"no_bytes", {"", 0, 0}, PLAIN},
    {"several_segments", {"", 3, LENGTH}, PLAIN},
    {"many_packets", {"", 1, 100000}, PLAIN},
    {"with_suppress", {"", 1, MESSAGE}, SUPPRESS},
    {"with_fence", {"", 1, MESSAGE}, FENCE},
    {"with_suppress_fence", {"", 1, MESSAGE}, FLAGS(SUPPRESS | FENCE)},
};

FAMILY(ep_post_send, unsolicited_wakes_nobody, unsolicited)
{
        struct loop loop = transfer_with(t, .segments = 3, .recv_flags = SOLICITED);
        DAT_EVD_HANDLE evd = ep_recv_evd(t, loop.passive);
        size_t length = row->shape.length;
        struct vector from = vector_with(t, .length = length, .segments = row->shape.segments);
        struct vector last = vector_with(t, .length = MESSAGE);
        struct vector to = vector_with(t, .length = length + MESSAGE);
        struct waiter *waiter;

        must_carry(t, row->shape.length);
        for (uint64_t i = 0; i < 2; i++)
                must(recv_vector(loop.passive, &to, i, PLAIN));
        waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 1);
        must_wait(waiter);
        expect(send_vector(loop.active, &from, 0, row->flags), DAT_SUCCESS);
        expect_asleep(waiter);
        expect(send_vector(loop.active, &last, 1, SOLICITED), DAT_SUCCESS);
        expect_woken(waiter, .ep = loop.passive, .cookie = 0, .length = length);
        expect_completion(evd, .ep = loop.passive, .cookie = 1, .length = MESSAGE);
}

/* The success of a message of any shape can be suppressed: the first to be told of is the next. */
FAMILY(ep_post_send, suppressed_shape, shapes)
{
        struct loop loop = transfer_with(t, .segments = 3);
        DAT_EVD_HANDLE evd = ep_request_evd(t, loop.active);
        struct vector from = vector_with(t, .length = row->length, .segments = row->segments);
        struct vector to = vector_with(t, .length = row->length + 1);

        must_carry(t, row->length);
        for (uint64_t i = 0; i < 2; i++)
                must(recv_vector(loop.passive, &to, i, PLAIN));
        expect(send_vector(loop.active, &from, 0, SUPPRESS), DAT_SUCCESS);
        expect(send_vector(loop.active, &from, 1, PLAIN), DAT_SUCCESS);

        expect_completion(evd, .ep = loop.active, .cookie = 1, .length = row->length);
        expect_empty(t, evd);
        for (uint64_t i = 0; i < 2; i++)
                expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = i,
                                  .length = row->length);
}

CASE(ep_post_send, solicited_empty_wakes)
{
        struct line line = line_with(t, .recv_flags = SOLICITED);
        struct waiter *waiter;

        must_line_recv(t, &line, 1);
        waiter = wait_on_evd(t, ep_recv_evd(t, line.to), DAT_TIMEOUT_INFINITE, 1);
        must_wait(waiter);
        expect(dat_ep_post_send(line.from, 0, NULL, COOKIE(3), SOLICITED), DAT_SUCCESS);
        expect_woken(waiter, .ep = line.to, .cookie = 0);
        expect_completion(ep_request_evd(t, line.from), .ep = line.from, .cookie = 3);
}

CASE(ep_post_send, unsignalled_wakes_nobody)
{
        struct loop loop = transfer_with(t, .request_flags = UNSIGNAL);
        DAT_EVD_HANDLE evd = ep_request_evd(t, loop.active);

        for (int connection = 0; connection < 2; connection++) {
                struct line line = line_between(t, loop.active, loop.passive, LINE_SLOTS);
                struct waiter *waiter;

                must_line_recv(t, &line, 2);
                waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 1);
                must_wait(waiter);
                expect(line_send(&line, UNSIGNAL), DAT_SUCCESS);
                expect_arrivals(t, &line, 1);
                expect_asleep(waiter);
                expect(line_send(&line, PLAIN), DAT_SUCCESS);
                expect_woken(waiter, .ep = line.from, .cookie = 0, .length = MESSAGE);
                line.complete = 1;
                expect_sends_complete(t, &line, 1);
                if (connection)
                        break;
                expect_arrivals(t, &line, 1);
                must_end(t, &loop);
                ep_join_anew(t, &loop);
        }
}

static struct waiter *waiter_on(struct test *t, DAT_EVD_HANDLE evd)
{
        struct waiter *waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 1);

        must_wait(waiter);
        return waiter;
}

/* A solicited message wakes for itself alone, not for the one behind it. */
CASE(ep_post_send, plain_behind_solicited)
{
        struct line line = line_with(t, .recv_flags = SOLICITED);
        DAT_EVD_HANDLE evd = ep_recv_evd(t, line.to);
        struct waiter *waiter;

        must_line_recv(t, &line, 3);
        waiter = waiter_on(t, evd);
        expect(line_send(&line, SOLICITED), DAT_SUCCESS);
        expect_woken(waiter, .ep = line.to, .cookie = 0, .length = MESSAGE);
        waiter = waiter_on(t, evd);
        expect(line_send(&line, PLAIN), DAT_SUCCESS);
        expect_asleep(waiter);
        expect(line_send(&line, SOLICITED), DAT_SUCCESS);
        expect_woken(waiter, .ep = line.to, .cookie = 1, .length = MESSAGE);
        line.arrived = 2;
        expect_arrivals(t, &line, 1);
}

CASE(ep_post_send, unsignalled_behind_plain)
{
        struct line line = line_with(t, .request_flags = UNSIGNAL);
        DAT_EVD_HANDLE evd = ep_request_evd(t, line.from);
        struct waiter *waiter;

        must_line_recv(t, &line, 3);
        waiter = waiter_on(t, evd);
        expect(line_send(&line, PLAIN), DAT_SUCCESS);
        expect_woken(waiter, .ep = line.from, .cookie = 0, .length = MESSAGE);
        waiter = waiter_on(t, evd);
        expect(line_send(&line, UNSIGNAL), DAT_SUCCESS);
        expect_arrivals(t, &line, 2);
        expect_asleep(waiter);
        expect(line_send(&line, PLAIN), DAT_SUCCESS);
        expect_woken(waiter, .ep = line.from, .cookie = 1, .length = MESSAGE);
        line.complete = 2;
        expect_sends_complete(t, &line, 1);
}

/* More suppressed sends than the EVD has places leave it room for the reported ones. */
CASE(ep_post_send, suppressed_take_no_place)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = 16);
        struct line line = line_with(t, .request_evd = evd);

        for (int i = 0; i < 64; i += 8) {
                must_line_recv(t, &line, 8);
                for (int k = 0; k < 7; k++)
                        expect(line_send(&line, SUPPRESS), DAT_SUCCESS);
                expect(line_send(&line, PLAIN), DAT_SUCCESS);
                expect_arrivals(t, &line, 8);
        }
        for (uint64_t i = 7; i < 64; i += 8)
                expect_completion(evd, .ep = line.from, .cookie = i, .length = MESSAGE);
        expect_empty(t, evd);
        expect_empty(t, async_evd(t));
}
