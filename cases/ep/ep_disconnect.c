/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_disconnect: who is told of the end, what is completed before it, and what is flushed. */
#include "clauses/ep_disconnect.h"
#include "case/ep_attr.h"
#include "case/standard.h"
#include "cases/ep/shared/connect.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/point.h"

#include <string.h>

#define WORKS 8  /* requests, or receives, that an EP has */
#define MANY  48 /* where it has more than fit into a batch of any size */
#define BINDS 4
#define LOOKS 500 /* at an EP that is about to be Disconnected */
#define LARGE ((size_t)1 << 18)

struct flag_row {
        const char *id;
        DAT_CLOSE_FLAGS flags;
};
static const struct flag_row both_flags[] = {
    {"abrupt", DAT_CLOSE_ABRUPT_FLAG},
    {"graceful", DAT_CLOSE_GRACEFUL_FLAG},
};

/* Work of an EP: a send that finds no receive, and what stands behind it. */
enum work { SENDS, WRITES, READS };
struct work_row {
        const char *id;
        enum work work;
};
static const struct work_row works[] = {{"sends", SENDS}, {"writes", WRITES}, {"reads", READS}};

/* A connection within the IA, and memory of both ends: slot i of `out` holds message i. */
struct line {
        struct loop loop;
        struct buf *out;
        struct buf *in;
};

static DAT_EP_ATTR attr_with_reads(struct test *t)
{
        DAT_EP_ATTR attr = ep_attr_modest(ia_attr(t));

        attr.max_rdma_read_in = ia_attr(t)->max_rdma_read_per_ep_in > 0 ? 1 : 0;
        attr.max_rdma_read_out = ia_attr(t)->max_rdma_read_per_ep_out > 0 ? 1 : 0;
        attr.max_rdma_read_iov = attr.max_rdma_read_out;
        return attr;
}

/* The EPs are yet to be connected. */
static struct line line_apart(struct test *t, DAT_EP_ATTR attr, struct ep_opts active,
                              struct ep_opts passive)
{
        struct line line;

        active.attr = passive.attr = &attr;
        line.out = buf_with(t, .length = WORKS * MESSAGE);
        line.in = buf_with(t, .length = WORKS * MESSAGE);
        for (size_t i = 0; i < WORKS; i++) {
                message_fill(line.out->addr + i * MESSAGE, MESSAGE, i);
                message_fill(line.in->addr + i * MESSAGE, MESSAGE, WORKS + i);
        }
        line.loop = loop_of(t, active, passive);
        return line;
}

static struct line line_with(struct test *t, struct ep_opts active, struct ep_opts passive)
{
        struct line line = line_apart(t, attr_with_reads(t), active, passive);

        loop_join(t, &line.loop);
        return line;
}

static struct line line_of(struct test *t)
{
        return line_with(t, (struct ep_opts){0}, (struct ep_opts){0});
}

/* The same line from its other end. */
static struct line turned(struct line line)
{
        DAT_EP_HANDLE active = line.loop.active;

        line.loop.active = line.loop.passive;
        line.loop.passive = active;
        return line;
}

static void post_recvs(struct test *t, DAT_EP_HANDLE ep, const struct buf *buf, size_t first,
                       size_t count)
{
        for (size_t i = first; i < first + count; i++) {
                DAT_LMR_TRIPLET segment = triplet(buf, i % WORKS * MESSAGE, MESSAGE);

                must(dat_ep_post_recv(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = i},
                                      DAT_COMPLETION_DEFAULT_FLAG));
        }
}

static DAT_RETURN post(const struct line *line, enum work work, size_t slot)
{
        DAT_LMR_TRIPLET segment = triplet(line->out, slot % WORKS * MESSAGE, MESSAGE);
        DAT_RMR_TRIPLET remote = {
            .rmr_context = line->in->rmr_context,
            .target_address = (DAT_VADDR)(uintptr_t)(line->in->addr + slot % WORKS * MESSAGE),
            .segment_length = MESSAGE,
        };
        DAT_DTO_COOKIE cookie = {.as_64 = slot};

        switch (work) {
        case WRITES:
                return dat_ep_post_rdma_write(line->loop.active, 1, &segment, cookie, &remote,
                                              DAT_COMPLETION_DEFAULT_FLAG);
        case READS:
                return dat_ep_post_rdma_read(line->loop.active, 1, &segment, cookie, &remote,
                                             DAT_COMPLETION_DEFAULT_FLAG);
        default:
                return dat_ep_post_send(line->loop.active, 1, &segment, cookie,
                                        DAT_COMPLETION_DEFAULT_FLAG);
        }
}

static void must_have(struct test *t, enum work work)
{
        if (work == READS &&
            (ia_attr(t)->max_rdma_read_per_ep_in < 1 || ia_attr(t)->max_rdma_read_per_ep_out < 1))
                unsupported(t, "max_rdma_read_per_ep_in, max_rdma_read_per_ep_out");
}

/* A send first, which waits for a receive; the others wait for it. */
static void post_works(struct test *t, const struct line *line, enum work work)
{
        if (work == READS &&
            (ia_attr(t)->max_rdma_read_per_ep_in < 1 || ia_attr(t)->max_rdma_read_per_ep_out < 1))
                unsupported(t, "max_rdma_read_per_ep_in, max_rdma_read_per_ep_out");
        for (size_t i = 0; i < WORKS; i++)
                must(post(line, i ? work : SENDS, i));
}

static void end_by(struct test *t, DAT_EP_HANDLE ep, DAT_CLOSE_FLAGS flags)
{
        expect(dat_ep_disconnect(ep, flags), DAT_SUCCESS);
}

static void expect_ended(struct test *t, DAT_EP_HANDLE ep)
{
        expect_ep_told(t, ep, DAT_CONNECTION_EVENT_DISCONNECTED, DAT_EP_STATE_DISCONNECTED);
}

/* The end of an EP that did nothing for it. */
static void expect_ended_by_other(struct test *t, DAT_EP_HANDLE ep)
{
        expect_ep_failed(t, ep, 0, DAT_CONNECTION_EVENT_DISCONNECTED, DAT_CONNECTION_EVENT_BROKEN);
}

/* The next completion on the EVD is of that EP, and has that cookie. */
static DAT_DTO_COMPLETION_STATUS expect_completion(struct test *t, DAT_EVD_HANDLE evd,
                                                   DAT_EP_HANDLE ep, uint64_t cookie)
{
        DAT_EVENT event = expect_event(evd, DAT_DTO_COMPLETION_EVENT);
        const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

        expect_that(dto->ep_handle == ep, "a completion names another EP");
        expect_eq(dto->user_cookie.as_64, cookie);
        return dto->status;
}

/* So many are flushed, in the order of their posts, and there are no others. */
static void expect_flushed(struct test *t, DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, size_t first,
                           size_t count)
{
        for (size_t i = first; i < first + count; i++)
                expect_eq(expect_completion(t, evd, ep, i), DAT_DTO_ERR_FLUSHED);
        expect_empty(t, evd);
}

/* All complete, and none with success once one has not. Returns how many had success. */
static size_t expect_broken_off(struct test *t, DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, size_t count)
{
        size_t done = 0;

        for (size_t i = 0; i < count; i++) {
                if (expect_completion(t, evd, ep, i) != DAT_DTO_SUCCESS)
                        continue;
                expect_that(done == i, "request %zu succeeded, and one before it had not", i);
                done++;
        }
        expect_empty(t, evd);
        return done;
}

/*
 * The end
 */

static const struct end_row {
        const char *id;
        DAT_CLOSE_FLAGS flags;
        bool passive;
} ends[] = {
    {"abrupt", DAT_CLOSE_ABRUPT_FLAG, false},
    {"graceful", DAT_CLOSE_GRACEFUL_FLAG, false},
    {"abrupt_by_passive", DAT_CLOSE_ABRUPT_FLAG, true},
    {"graceful_by_passive", DAT_CLOSE_GRACEFUL_FLAG, true},
};

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
        struct line line = line_of(t);

        end_by(t, line.loop.active, row->flags);
        end_by(t, line.loop.passive, row->flags);
        expect_ended(t, line.loop.active);
        expect_ended_by_other(t, line.loop.passive);
        expect_empty(t, ep_connect_evd(t, line.loop.active));
}

FAMILY(ep_disconnect, twice, both_flags)
{
        struct line line = line_of(t);

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
        struct line line = line_of(t);
        struct line other = line_of(t);

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
        struct line line = line_of(t);

        post_recvs(t, line.loop.active, line.in, 0, WORKS);
        post_recvs(t, line.loop.passive, line.out, 0, WORKS);
        end_by(t, line.loop.active, row->flags);
        expect_ended(t, line.loop.active);
        expect_flushed(t, ep_recv_evd(t, line.loop.active), line.loop.active, 0, WORKS);
        expect_ended_by_other(t, line.loop.passive);
        expect_flushed(t, ep_recv_evd(t, line.loop.passive), line.loop.passive, 0, WORKS);
}

FAMILY(ep_disconnect, requests_broken_off, works)
{
        struct line line = line_of(t);

        post_works(t, &line, row->work);
        end_by(t, line.loop.active, DAT_CLOSE_ABRUPT_FLAG);
        expect_ended(t, line.loop.active);
        expect_eq(
            expect_broken_off(t, ep_request_evd(t, line.loop.active), line.loop.active, WORKS), 0);
}

/* The end that did nothing for it has sends without a receive. */
FAMILY(ep_disconnect, requests_of_other_end, both_flags)
{
        struct line line = line_of(t);
        struct line back = turned(line);
        size_t done;

        post_works(t, &back, SENDS);
        end_by(t, line.loop.active, row->flags);
        expect_ended_by_other(t, line.loop.passive);
        done = expect_broken_off(t, ep_request_evd(t, line.loop.passive), line.loop.passive, WORKS);
        record(t, "%zu of %d sends without a receive succeeded", done, WORKS);
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
        struct line line = line_of(t);
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
        struct line line = line_of(t);
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

/* Much memory is on its way; each write of it ends, and none with success behind one without. */
CASE(ep_disconnect, writes_under_way)
{
        struct line line = line_of(t);
        size_t length = ep_attr_at_most(ia_attr(t)->max_rdma_size, LARGE);
        struct buf *from = buf_with(t, .length = LARGE);
        struct buf *to = buf_with(t, .length = LARGE);
        DAT_LMR_TRIPLET segment = triplet(from, 0, length);
        DAT_RMR_TRIPLET remote = {
            .rmr_context = to->rmr_context,
            .target_address = (DAT_VADDR)(uintptr_t)to->addr,
            .segment_length = length,
        };

        for (size_t i = 0; i < WORKS; i++)
                must(dat_ep_post_rdma_write(line.loop.active, 1, &segment,
                                            (DAT_DTO_COOKIE){.as_64 = i}, &remote,
                                            DAT_COMPLETION_DEFAULT_FLAG));
        end_by(t, line.loop.active, DAT_CLOSE_ABRUPT_FLAG);
        expect_ended(t, line.loop.active);
        record(t, "%zu of %d writes succeeded",
               expect_broken_off(t, ep_request_evd(t, line.loop.active), line.loop.active, WORKS),
               WORKS);
}

/*
 * In peace
 */

/* The EP waits for what it has been given. */
static void expect_waiting(struct test *t, const struct line *line)
{
        DAT_EP_HANDLE ep = line->loop.active;

        expect_eq(ep_state(t, ep), DAT_EP_STATE_DISCONNECT_PENDING);
        expect_empty(t, ep_connect_evd(t, ep));
        expect_empty(t, ep_request_evd(t, ep));
}

/* An EP that waits for a send without a receive, and for what stands behind it. */
static struct line waiting_line(struct test *t, enum work work)
{
        struct line line = line_of(t);

        post_works(t, &line, work);
        end_by(t, line.loop.active, DAT_CLOSE_GRACEFUL_FLAG);
        expect_waiting(t, &line);
        return line;
}

/* The receives come: all that was waited for succeeds, and is where it belongs; then the end. */
static void expect_done_in_peace(struct test *t, const struct line *line, enum work work)
{
        DAT_EP_HANDLE ep = line->loop.active;
        size_t received = work == SENDS ? WORKS : 1;

        post_recvs(t, line->loop.passive, line->in, 0, received);
        for (size_t i = 0; i < WORKS; i++)
                expect_eq(expect_completion(t, ep_request_evd(t, ep), ep, i), DAT_DTO_SUCCESS);
        expect_ended(t, ep);
        expect_empty(t, ep_request_evd(t, ep));
        for (size_t i = 0; i < received; i++)
                expect_eq(
                    expect_completion(t, ep_recv_evd(t, line->loop.passive), line->loop.passive, i),
                    DAT_DTO_SUCCESS);
        for (size_t i = 0; i < WORKS; i++) {
                bool read = i && work == READS;
                const struct buf *where = read ? line->out : line->in;

                expect_that(message_holds(where->addr + i * MESSAGE, MESSAGE, read ? WORKS + i : i),
                            "what request %zu moved is not there", i);
        }
        expect_ended_by_other(t, line->loop.passive);
}

FAMILY(ep_disconnect, requests_completed, works)
{
        struct line line = waiting_line(t, row->work);

        expect_done_in_peace(t, &line, row->work);
}

/* Nobody takes the completions: the end comes by itself, and they stand there behind it. */
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
                expect_that(!told[which], "%s is told twice",
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
        struct line line = line_of(t);
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

        must_have(t, row->work);
        line = waiting_line(t, SENDS);
        expect(post(&line, row->work, 0), DAT_INVALID_STATE);
        expect_done_in_peace(t, &line, SENDS);
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

        expect_or_note(dat_ep_disconnect(line.loop.active, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS,
                       DAT_INVALID_PARAMETER);
        expect_waiting(t, &line);
        expect_done_in_peace(t, &line, SENDS);
}

/* Whose connection it is that waits, and which of its connections. */
static struct line line_of_passive(struct test *t)
{
        return turned(line_of(t));
}

static struct line line_again(struct test *t)
{
        struct line line = line_of(t);

        must(dat_ep_disconnect(line.loop.active, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, line.loop.active), DAT_CONNECTION_EVENT_DISCONNECTED);
        must_event(ep_connect_evd(t, line.loop.passive), DAT_CONNECTION_EVENT_DISCONNECTED);
        must(dat_ep_reset(line.loop.active));
        must(dat_ep_reset(line.loop.passive));
        loop_join(t, &line.loop);
        return line;
}

static struct line line_of_srq(struct test *t)
{
        return line_with(t, (struct ep_opts){.srq = srq_with(t)}, (struct ep_opts){0});
}

static const struct kind_of_line {
        const char *id;
        struct line (*make)(struct test *t);
} lines[] = {
    {"passive", line_of_passive},
    {"second_connection", line_again},
    {"of_srq", line_of_srq},
};

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
        struct line line = line_of(t);
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

/* It waits like any other, is cut off like any other, and is as good as new then. */
FAMILY(ep_disconnect, however_joined, ep_joins)
{
        struct line line =
            line_apart(t, ep_attr_modest(ia_attr(t)), (struct ep_opts){0}, (struct ep_opts){0});
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
} hurries[] = {
    {"abrupt", DAT_CLOSE_ABRUPT_FLAG, false},
    {"others_abrupt", DAT_CLOSE_ABRUPT_FLAG, true},
    {"others_graceful", DAT_CLOSE_GRACEFUL_FLAG, true},
};

/* Receives stood there beside the sends that the EP waited for. */
FAMILY(ep_disconnect, pending_flushed, hurries)
{
        struct line line = line_of(t);
        DAT_EP_HANDLE ep = line.loop.active;

        post_recvs(t, ep, line.in, 0, WORKS);
        post_works(t, &line, SENDS);
        end_by(t, ep, DAT_CLOSE_GRACEFUL_FLAG);
        expect_waiting(t, &line);
        expect_empty(t, ep_recv_evd(t, ep));
        end_by(t, row->other ? line.loop.passive : ep, row->flags);
        if (row->other)
                expect_ended_by_other(t, ep);
        else
                expect_ended(t, ep);
        expect_flushed(t, ep_recv_evd(t, ep), ep, 0, WORKS);
        expect_eq(expect_broken_off(t, ep_request_evd(t, ep), ep, WORKS), 0);
}

/*
 * On one EVD
 */

static const struct merged_row {
        const char *id;
        DAT_CLOSE_FLAGS flags;
        size_t received; /* of the sends that find a receive */
        enum work work;
        bool alone; /* but for connections, an EVD has one stream of its EP */
} merged[] = {
    {"graceful", DAT_CLOSE_GRACEFUL_FLAG, WORKS, SENDS, false},
    {"abrupt", DAT_CLOSE_ABRUPT_FLAG, WORKS, SENDS, false},
    {"abrupt_half", DAT_CLOSE_ABRUPT_FLAG, WORKS / 2, SENDS, false},
    {"graceful_alone", DAT_CLOSE_GRACEFUL_FLAG, WORKS, SENDS, true},
    {"graceful_writes", DAT_CLOSE_GRACEFUL_FLAG, 1, WRITES, false},
    {"graceful_reads", DAT_CLOSE_GRACEFUL_FLAG, 1, READS, false},
};

/* Whatever succeeded is told before the end; all is told. Returns how many succeeded. */
static size_t expect_end_behind_success(struct test *t, DAT_EVD_HANDLE evd, size_t count)
{
        bool over = false;
        size_t done = 0;
        size_t seen = 0;

        while (seen < count || !over) {
                DAT_EVENT event;
                DAT_COUNT more;

                expect(dat_evd_wait(evd, event_timeout(t), 1, &event, &more), DAT_SUCCESS);
                if (event.event_number != DAT_DTO_COMPLETION_EVENT) {
                        expect_that(event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
                                        event.event_number == DAT_CONNECTION_EVENT_BROKEN,
                                    "event %#x came of a disconnect",
                                    (unsigned int)event.event_number);
                        expect_that(!over, "the end is told twice");
                        over = true;
                        continue;
                }
                seen++;
                if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
                        continue;
                expect_that(!over, "a success came behind the end");
                done++;
        }
        expect_that(seen == count, "%zu completions came of %zu DTOs", seen, count);
        return done;
}

FAMILY(ep_disconnect, end_behind_success, merged)
{
        DAT_EVD_FLAGS flags = (DAT_EVD_FLAGS)(DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
        DAT_EVD_HANDLE one = evd_with(t, .flags = flags);
        DAT_EVD_HANDLE other = evd_with(t, .flags = flags);
        struct ep_opts active = {.request_evd = one, .connect_evd = one};
        struct ep_opts passive = {.recv_evd = other, .connect_evd = other};
        struct line line;
        size_t sent;
        size_t came;

        if (!row->alone) {
                active.recv_evd = one;
                passive.request_evd = other;
        }
        line = line_with(t, active, passive);
        post_recvs(t, line.loop.passive, line.in, 0, row->received);
        post_works(t, &line, row->work);
        end_by(t, line.loop.active, row->flags);
        sent = expect_end_behind_success(t, one, WORKS);
        came = expect_end_behind_success(t, other, row->received);
        if (row->flags == DAT_CLOSE_GRACEFUL_FLAG)
                expect_eq(sent, WORKS);
        if (row->work == SENDS)
                expect_that(sent <= came, "%zu sends succeeded, and %zu came", sent, came);
}

/*
 * Before the connection is there
 */

static const struct abort_row {
        const char *id;
        DAT_CLOSE_FLAGS flags;
        bool heard; /* the request has been heard */
} aborts[] = {
    {"abrupt", DAT_CLOSE_ABRUPT_FLAG, false},
    {"graceful", DAT_CLOSE_GRACEFUL_FLAG, false},
    {"abrupt_when_heard", DAT_CLOSE_ABRUPT_FLAG, true},
    {"graceful_when_heard", DAT_CLOSE_GRACEFUL_FLAG, true},
};

/* What may be told of a connection that is given up: nothing, too. */
static void expect_given_up(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EVENT event;

        expect_eq(ep_state(t, ep), DAT_EP_STATE_DISCONNECTED);
        settle_briefly(t);
        if (!dat_is(dat_evd_dequeue(ep_connect_evd(t, ep), &event), DAT_SUCCESS)) {
                record(t, "nothing is told of a connection that was given up");
                return;
        }
        expect_that(event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
                        event.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
                    "event %#x tells that a connection was given up",
                    (unsigned int)event.event_number);
        expect_that(event.event_data.connect_event_data.ep_handle == ep,
                    "the event names another EP");
        expect_empty(t, ep_connect_evd(t, ep));
}

FAMILY(ep_disconnect, given_up, aborts)
{
        struct stage stage;
        struct buf *buf = buf_with(t, .length = WORKS * MESSAGE);

        stage_set(t, &stage, BY_ADDRESS);
        post_recvs(t, stage.asking.ep, buf, 0, WORKS);
        must(connect_ask(&stage.asking));
        if (row->heard)
                expect_stage_heard(t, &stage);
        end_by(t, stage.asking.ep, row->flags);
        expect_given_up(t, stage.asking.ep);
        expect_flushed(t, ep_recv_evd(t, stage.asking.ep), stage.asking.ep, 0, WORKS);
}

/* The answer to a request that was given up connects nobody. */
CASE(ep_disconnect, given_up_for_good)
{
        struct stage stage;
        DAT_EVENT event;
        DAT_COUNT more;

        stage_set(t, &stage, BY_ADDRESS);
        must(connect_ask(&stage.asking));
        expect_stage_heard(t, &stage);
        end_by(t, stage.asking.ep, DAT_CLOSE_ABRUPT_FLAG);
        expect_given_up(t, stage.asking.ep);
        if (dat_is(dat_cr_accept(stage.loop.request, stage.loop.passive, 0, NULL), DAT_SUCCESS))
                must(dat_evd_wait(ep_connect_evd(t, stage.loop.passive), event_timeout(t), 1,
                                  &event, &more));
        expect_eq(ep_state(t, stage.asking.ep), DAT_EP_STATE_DISCONNECTED);
        expect_empty(t, ep_connect_evd(t, stage.asking.ep));
}

FAMILY(ep_disconnect, completion_given_up, both_flags)
{
        struct buf *buf = buf_with(t, .length = WORKS * MESSAGE);
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_COMPLETION_PENDING);

        post_recvs(t, ep, buf, 0, WORKS);
        end_by(t, ep, row->flags);
        expect_given_up(t, ep);
        expect_flushed(t, ep_recv_evd(t, ep), ep, 0, WORKS);
}

/*
 * States and flags
 */

#define REFUSED_IN                                                                  \
        (EP_IN(UNCONNECTED) | EP_IN(RESERVED) | EP_IN(PASSIVE_CONNECTION_PENDING) | \
         EP_IN(TENTATIVE_CONNECTION_PENDING))
#define GIVEN_UP_IN (EP_IN(ACTIVE_CONNECTION_PENDING) | EP_IN(COMPLETION_PENDING))

static void disconnect_in(struct test *t, DAT_EP_STATE state, DAT_CLOSE_FLAGS flags)
{
        struct ep_held held = ep_hold(t, state);

        if (ep_is_in(&held, REFUSED_IN)) {
                expect(dat_ep_disconnect(held.ep, flags), DAT_INVALID_STATE);
                expect_ep_untouched(t, &held);
                return;
        }
        if (ep_is_in(&held, EP_IN(DISCONNECT_PENDING)) && flags == DAT_CLOSE_GRACEFUL_FLAG) {
                expect_or_note(dat_ep_disconnect(held.ep, flags), DAT_SUCCESS,
                               DAT_INVALID_PARAMETER);
                expect_ep_untouched(t, &held);
                return;
        }
        end_by(t, held.ep, flags);
        if (ep_is_in(&held, EP_IN(DISCONNECTED)))
                expect_ep_untouched(t, &held);
        else if (ep_is_in(&held, GIVEN_UP_IN))
                expect_given_up(t, held.ep);
        else
                expect_ended(t, held.ep);
}

FAMILY(ep_disconnect, in_state, ep_states)
{
        disconnect_in(t, row->state, DAT_CLOSE_ABRUPT_FLAG);
}

FAMILY(ep_disconnect, gracefully_in_state, ep_states)
{
        disconnect_in(t, row->state, DAT_CLOSE_GRACEFUL_FLAG);
}

static const struct bad_flags {
        const char *id;
        unsigned int flags;
} bad_flags[] = {
    {"two", 2},
    {"graceful_and_more", (unsigned int)DAT_CLOSE_GRACEFUL_FLAG | 4},
    {"highest", 0x80000000},
    {"all", 0xffffffff},
};
#define BAD_FLAGS (sizeof(bad_flags) / sizeof(bad_flags[0]))

/* What is refused flushes nothing: the receives take the messages of the connection to come. */
enum early { UNCONNECTED, RESERVED, RSP_FREED };
static const struct early_row {
        const char *id;
        enum early early;
} early[] = {{"unconnected", UNCONNECTED}, {"reserved", RESERVED}, {"rsp_freed", RSP_FREED}};

FAMILY(ep_disconnect, refused_flushes_nothing, early)
{
        struct line line =
            line_apart(t, attr_with_reads(t), (struct ep_opts){0}, (struct ep_opts){0});
        DAT_EP_HANDLE ep = line.loop.passive;
        DAT_RSP_HANDLE rsp = DAT_HANDLE_NULL;

        post_recvs(t, ep, line.in, 0, WORKS);
        if (row->early != UNCONNECTED)
                rsp = rsp_new(t, ep, line.loop.requests, &line.loop.qual);
        if (row->early == RSP_FREED)
                release(t, rsp);
        for (size_t i = 0; i < 2; i++)
                expect(dat_ep_disconnect(ep, both_flags[i].flags), DAT_INVALID_STATE);
        for (size_t i = 0; i < BAD_FLAGS; i++)
                expect(dat_ep_disconnect(ep, (DAT_CLOSE_FLAGS)bad_flags[i].flags),
                       DAT_INVALID_STATE, DAT_INVALID_PARAMETER);
        expect_empty(t, ep_recv_evd(t, ep));
        if (row->early == RESERVED) {
                loop_connect(t, line.loop.active, line.loop.qual);
                loop_take_request(t, &line.loop);
                expect_accepted_by(t, line.loop.request, DAT_HANDLE_NULL, &line.loop);
        } else {
                loop_join(t, &line.loop);
        }
        for (size_t i = 0; i < WORKS; i++)
                must(post(&line, SENDS, i));
        for (size_t i = 0; i < WORKS; i++) {
                expect_eq(expect_completion(t, ep_recv_evd(t, ep), ep, i), DAT_DTO_SUCCESS);
                expect_that(message_holds(line.in->addr + i * MESSAGE, MESSAGE, i),
                            "receive %zu has not its message", i);
        }
}

FAMILY(ep_disconnect, bad_flags, bad_flags)
{
        struct line line = line_of(t);

        expect(dat_ep_disconnect(line.loop.active, (DAT_CLOSE_FLAGS)row->flags),
               DAT_INVALID_PARAMETER);
        expect_eq(ep_state(t, line.loop.active), DAT_EP_STATE_CONNECTED);
        expect_message(t, line.loop.active, line.loop.passive);
        expect_message(t, line.loop.passive, line.loop.active);
        expect_empty(t, ep_connect_evd(t, line.loop.active));
}

static void bad_flags_while_asking(struct test *t)
{
        struct stage stage;

        stage_set(t, &stage, BY_ADDRESS);
        must(connect_ask(&stage.asking));
        for (size_t i = 0; i < BAD_FLAGS; i++) {
                expect(dat_ep_disconnect(stage.asking.ep, (DAT_CLOSE_FLAGS)bad_flags[i].flags),
                       DAT_INVALID_PARAMETER);
                expect_ep_pending(t, stage.asking.ep);
        }
        expect_stage_accepted(t, &stage);
        expect_loop_carries(t, stage.asking.ep, stage.loop.passive);
}

/* That it may not be ended there at all is an answer, too. */
static void bad_flags_while_asked(struct test *t)
{
        struct loop loop = loop_new(t);

        rsp_new(t, loop.passive, loop.requests, &loop.qual);
        loop_connect(t, loop.active, loop.qual);
        loop_take_request(t, &loop);
        for (size_t i = 0; i < BAD_FLAGS; i++) {
                expect(dat_ep_disconnect(loop.passive, (DAT_CLOSE_FLAGS)bad_flags[i].flags),
                       DAT_INVALID_STATE, DAT_INVALID_PARAMETER);
                expect_ep_in(t, loop.passive, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
        }
        expect_accepted_by(t, loop.request, DAT_HANDLE_NULL, &loop);
        expect_loop_carries(t, loop.active, loop.passive);
}

static void bad_flags_while_waiting(struct test *t)
{
        struct line line = waiting_line(t, SENDS);

        for (size_t i = 0; i < BAD_FLAGS; i++) {
                expect(dat_ep_disconnect(line.loop.active, (DAT_CLOSE_FLAGS)bad_flags[i].flags),
                       DAT_INVALID_PARAMETER);
                expect_waiting(t, &line);
        }
        expect_done_in_peace(t, &line, SENDS);
}

/* So is that there is nothing to do. */
static void bad_flags_afterwards(struct test *t)
{
        struct loop loop = loop_new(t);

        ep_turn_leave(t, &loop);
        must_event(ep_connect_evd(t, loop.passive), DAT_CONNECTION_EVENT_DISCONNECTED);
        for (size_t i = 0; i < BAD_FLAGS; i++)
                expect(dat_ep_disconnect(loop.active, (DAT_CLOSE_FLAGS)bad_flags[i].flags),
                       DAT_INVALID_PARAMETER, DAT_SUCCESS);
        expect_ep_in(t, loop.active, DAT_EP_STATE_DISCONNECTED);
        expect_empty(t, ep_connect_evd(t, loop.active));
        expect(dat_ep_reset(loop.active), DAT_SUCCESS);
        expect(dat_ep_reset(loop.passive), DAT_SUCCESS);
        expect_joined(t, loop.active, loop.passive);
}

static const struct bad_moment {
        const char *id;
        void (*call)(struct test *t);
} bad_moments[] = {
    {"asking", bad_flags_while_asking},
    {"asked", bad_flags_while_asked},
    {"waiting", bad_flags_while_waiting},
    {"disconnected", bad_flags_afterwards},
};

FAMILY(ep_disconnect, bad_flags_meanwhile, bad_moments)
{
        row->call(t);
}

static void must_be_gone(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EVENT event;
        DAT_COUNT more;

        must(dat_evd_wait(ep_connect_evd(t, ep), event_timeout(t), 1, &event, &more));
        must_that(ep_state(t, ep) == DAT_EP_STATE_DISCONNECTED,
                  "an EP whose connection broke is not Disconnected");
}

/* What breaks a connection is told by whatever event, and may be otherwise at each end. */
CASE(ep_disconnect, after_break)
{
        struct loop loop = loop_new(t);
        DAT_EP_HANDLE ends[] = {loop.active, loop.passive};

        ep_turn_break(t, &loop);
        for (size_t i = 0; i < 2; i++)
                must_be_gone(t, ends[i]);
        for (size_t i = 0; i < 4; i++)
                end_by(t, ends[i / 2], both_flags[i % 2].flags);
        settle_briefly(t);
        for (size_t i = 0; i < 2; i++) {
                expect_ep_in(t, ends[i], DAT_EP_STATE_DISCONNECTED);
                expect_empty(t, ep_connect_evd(t, ends[i]));
        }
}

/* Nobody has read of the end yet, nor reaped what was flushed. */
FAMILY(ep_disconnect, twice_unread, both_flags)
{
        struct line line = line_of(t);
        DAT_EP_HANDLE ep = line.loop.active;
        int looks = LOOKS;

        post_recvs(t, ep, line.in, 0, WORKS);
        post_works(t, &line, SENDS);
        end_by(t, ep, DAT_CLOSE_ABRUPT_FLAG);
        while (ep_state(t, ep) != DAT_EP_STATE_DISCONNECTED && looks--)
                settle_briefly(t);
        must_that(looks > 0, "an EP that has left is not Disconnected");
        end_by(t, ep, row->flags);
        expect_ended(t, ep);
        expect_flushed(t, ep_recv_evd(t, ep), ep, 0, WORKS);
        record(t, "%zu of %d sends without a receive succeeded",
               expect_broken_off(t, ep_request_evd(t, ep), ep, WORKS), WORKS);
}

static void drop_events(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_EVENT event;

        settle_briefly(t);
        while (dat_is(dat_evd_dequeue(evd, &event), DAT_SUCCESS))
                ;
}

/* What is left of a request that was given up is not of the call. */
FAMILY(ep_disconnect, after_turn, ep_turns)
{
        struct loop loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){0});

        row->make(t, &loop);
        drop_events(t, ep_connect_evd(t, loop.active));
        switch (row->state) {
        case DAT_EP_STATE_CONNECTED:
                end_by(t, loop.active, DAT_CLOSE_ABRUPT_FLAG);
                expect_ended(t, loop.active);
                return;
        case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
                end_by(t, loop.active, DAT_CLOSE_GRACEFUL_FLAG);
                expect_given_up(t, loop.active);
                return;
        default:
                break;
        }
        for (size_t i = 0; i < 2; i++)
                expect(dat_ep_disconnect(loop.active, both_flags[i].flags),
                       row->state == DAT_EP_STATE_DISCONNECTED ? DAT_SUCCESS : DAT_INVALID_STATE);
        expect_eq(ep_state(t, loop.active), row->state);
        settle_briefly(t);
        expect_empty(t, ep_connect_evd(t, loop.active));
}

/* Two EPs have the same EVDs: what the one is flushed of, the other one receives. */
CASE(ep_disconnect, shared_evds)
{
        struct ep_opts opts = {
            .recv_evd = evd_with(t),
            .request_evd = evd_with(t),
            .connect_evd = evd_with(t, .qlen = 8, .flags = DAT_EVD_CONNECTION_FLAG),
        };
        struct line lines[2];

        for (int i = 0; i < 2; i++) {
                lines[i] = line_with(t, (struct ep_opts){0}, opts);
                post_recvs(t, lines[i].loop.passive, lines[i].in, 0, WORKS);
        }
        end_by(t, lines[0].loop.passive, DAT_CLOSE_ABRUPT_FLAG);
        expect_ended(t, lines[0].loop.passive);
        expect_flushed(t, opts.recv_evd, lines[0].loop.passive, 0, WORKS);
        for (size_t i = 0; i < WORKS; i++)
                must(post(&lines[1], SENDS, i));
        for (size_t i = 0; i < WORKS; i++)
                expect_eq(expect_completion(t, opts.recv_evd, lines[1].loop.passive, i),
                          DAT_DTO_SUCCESS);
        end_by(t, lines[1].loop.passive, DAT_CLOSE_ABRUPT_FLAG);
        expect_ended(t, lines[1].loop.passive);
}

/*
 * With the peer
 */

FAMILY(ep_disconnect, peer_is_told, both_flags)
{
        DAT_EP_HANDLE ep = ep_with(t, .srq = DAT_HANDLE_NULL);
        struct peer_ep *end = peer_connect(peer(t), ep);
        struct peer_event event;

        end_by(t, ep, row->flags);
        expect_ended(t, ep);
        event = peer_wait_event(end);
        expect_that(event.number == DAT_CONNECTION_EVENT_DISCONNECTED ||
                        event.number == DAT_CONNECTION_EVENT_BROKEN,
                    "the peer was told event %#x", (unsigned int)event.number);
        expect_that(!peer_has_event(end), "the peer was told twice");
}

/* What was sent before the end is received. */
CASE(ep_disconnect, peer_receives_all)
{
        DAT_EP_HANDLE ep = ep_with(t, .srq = DAT_HANDLE_NULL);
        struct peer_ep *end = peer_connect(peer(t), ep);
        struct buf *buf = buf_with(t, .length = WORKS * MESSAGE);

        peer_post_recv(end, WORKS, MESSAGE);
        for (size_t i = 0; i < WORKS; i++) {
                DAT_LMR_TRIPLET segment = triplet(buf, i * MESSAGE, MESSAGE);

                message_fill(buf->addr + i * MESSAGE, MESSAGE, i);
                must(dat_ep_post_send(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = i},
                                      DAT_COMPLETION_DEFAULT_FLAG));
        }
        end_by(t, ep, DAT_CLOSE_GRACEFUL_FLAG);
        for (size_t i = 0; i < WORKS; i++)
                expect_eq(expect_completion(t, ep_request_evd(t, ep), ep, i), DAT_DTO_SUCCESS);
        expect_ended(t, ep);
        for (size_t i = 0; i < WORKS; i++)
                peer_wait_recv(end, i, MESSAGE);
        peer_wait_disconnected(end);
}

/* Where the peer ended it, there is nothing left to end. */
FAMILY(ep_disconnect, peer_was_first, both_flags)
{
        DAT_EP_HANDLE ep = ep_with(t, .srq = DAT_HANDLE_NULL);
        struct peer_ep *end = peer_connect(peer(t), ep);

        peer_disconnect(end, DAT_CLOSE_ABRUPT_FLAG);
        must_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_DISCONNECTED);
        end_by(t, ep, row->flags);
        expect_eq(ep_state(t, ep), DAT_EP_STATE_DISCONNECTED);
        settle_briefly(t);
        expect_empty(t, ep_connect_evd(t, ep));
}

LEGAL(ep_disconnect)
{
        call->ep_handle = line_of(t).loop.active;
        call->close_flags = DAT_CLOSE_ABRUPT_FLAG;
}
