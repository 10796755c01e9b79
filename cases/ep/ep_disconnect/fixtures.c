/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/ep/ep_disconnect/fixtures.h"
#include "case/later_event.h"

DAT_EP_ATTR attr_with_reads(struct test *t)
{
        DAT_EP_ATTR attr = ep_attr_modest(ia_attr_if_told(t));

        attr.max_rdma_read_in = ia_attr(t)->max_rdma_read_per_ep_in > 0 ? 1 : 0;
        attr.max_rdma_read_out = ia_attr(t)->max_rdma_read_per_ep_out > 0 ? 1 : 0;
        attr.max_rdma_read_iov = attr.max_rdma_read_out;
        return attr;
}

struct line line_apart(struct test *t, DAT_EP_ATTR attr, struct ep_opts active,
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

struct line line_with(struct test *t, struct ep_opts active, struct ep_opts passive)
{
        struct line line = line_apart(t, attr_with_reads(t), active, passive);

        loop_join(t, &line.loop);
        return line;
}

struct line line_of(struct test *t)
{
        return line_with(t, (struct ep_opts){0}, (struct ep_opts){0});
}

struct line line_either(struct test *t)
{
        struct line line =
            line_apart(t, attr_with_reads(t), (struct ep_opts){0}, (struct ep_opts){0});

        loop_join_either(t, &line.loop);
        return line;
}

struct line turned(struct line line)
{
        DAT_EP_HANDLE active = line.loop.active;

        line.loop.active = line.loop.passive;
        line.loop.passive = active;
        return line;
}

void post_recvs(struct test *t, DAT_EP_HANDLE ep, const struct buf *buf, size_t first, size_t count)
{
        for (size_t i = first; i < first + count; i++) {
                DAT_LMR_TRIPLET segment = triplet(buf, i % WORKS * MESSAGE, MESSAGE);

                must(dat_ep_post_recv(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = i},
                                      DAT_COMPLETION_DEFAULT_FLAG));
        }
}

DAT_RETURN post_flagged(const struct line *line, enum work work, size_t slot,
                        DAT_COMPLETION_FLAGS flags)
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
                                              flags);
        case READS:
                return dat_ep_post_rdma_read(line->loop.active, 1, &segment, cookie, &remote,
                                             flags);
        default:
                return dat_ep_post_send(line->loop.active, 1, &segment, cookie, flags);
        }
}

DAT_RETURN post(const struct line *line, enum work work, size_t slot)
{
        return post_flagged(line, work, slot, DAT_COMPLETION_DEFAULT_FLAG);
}

void post_works(struct test *t, const struct line *line, enum work work)
{
        if (work == READS &&
            (ia_attr(t)->max_rdma_read_per_ep_in < 1 || ia_attr(t)->max_rdma_read_per_ep_out < 1))
                unsupported(t, "max_rdma_read_per_ep_in, max_rdma_read_per_ep_out");
        for (size_t i = 0; i < WORKS; i++)
                must(post(line, i ? work : SENDS, i));
}

void end_by(struct test *t, DAT_EP_HANDLE ep, DAT_CLOSE_FLAGS flags)
{
        expect(dat_ep_disconnect(ep, flags), DAT_SUCCESS);
}

void expect_ended(struct test *t, DAT_EP_HANDLE ep)
{
        expect_ep_told(t, ep, DAT_CONNECTION_EVENT_DISCONNECTED, DAT_EP_STATE_DISCONNECTED);
}

void expect_ended_by_other(struct test *t, DAT_EP_HANDLE ep)
{
        expect_ep_failed(t, ep, 0, DAT_CONNECTION_EVENT_DISCONNECTED, DAT_CONNECTION_EVENT_BROKEN);
}

static DAT_DTO_COMPLETION_STATUS expect_of(struct test *t, const DAT_DTO_COMPLETION_EVENT_DATA *dto,
                                           DAT_EP_HANDLE ep, uint64_t cookie)
{
        expect_that(dto->ep_handle == ep, "a completion names another EP");
        expect_eq(dto->user_cookie.as_64, cookie);
        return dto->status;
}

DAT_DTO_COMPLETION_STATUS expect_completion(struct test *t, DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep,
                                            uint64_t cookie)
{
        DAT_EVENT event = expect_event(evd, DAT_DTO_COMPLETION_EVENT);

        return expect_of(t, &event.event_data.dto_completion_event_data, ep, cookie);
}

void expect_flushed(struct test *t, DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, size_t first,
                    size_t count)
{
        for (size_t i = first; i < first + count; i++)
                expect_eq(expect_completion(t, evd, ep, i), DAT_DTO_ERR_FLUSHED);
        expect_empty(t, evd);
}

size_t expect_under_way_broken_off(struct test *t, struct under_way *requests, DAT_EP_HANDLE ep)
{
        size_t done = 0;

        for (size_t i = 0; i < requests->count; i++) {
                DAT_DTO_COMPLETION_EVENT_DATA dto = under_way_next(t, requests);

                if (expect_of(t, &dto, ep, i) != DAT_DTO_SUCCESS)
                        continue;
                expect_that(done == i, "request %zu succeeded, and one before it had not", i);
                done++;
        }
        expect_empty(t, requests->evd);
        return done;
}

size_t expect_broken_off(struct test *t, DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, size_t count)
{
        struct under_way requests = {.evd = evd, .count = count};

        return expect_under_way_broken_off(t, &requests, ep);
}

void expect_waiting(struct test *t, const struct line *line)
{
        DAT_EP_HANDLE ep = line->loop.active;

        expect_eq(ep_state(t, ep), DAT_EP_STATE_DISCONNECT_PENDING);
        expect_empty(t, ep_connect_evd(t, ep));
        expect_empty(t, ep_request_evd(t, ep));
}

struct line waiting_line(struct test *t, enum work work)
{
        struct line line = line_either(t);

        post_works(t, &line, work);
        end_by(t, line.loop.active, DAT_CLOSE_GRACEFUL_FLAG);
        expect_waiting(t, &line);
        return line;
}

void expect_moved(struct test *t, const struct line *line, enum work work)
{
        for (size_t i = 0; i < WORKS; i++) {
                bool read = i && work == READS;
                const struct buf *where = read ? line->out : line->in;

                expect_that(message_holds(where->addr + i * MESSAGE, MESSAGE, read ? WORKS + i : i),
                            "what request %zu moved is not there", i);
        }
}

void expect_done_in_peace(struct test *t, const struct line *line, enum work work)
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
        expect_moved(t, line, work);
        expect_ended_by_other(t, line->loop.passive);
}

struct line line_of_passive(struct test *t)
{
        return turned(line_of(t));
}

struct line line_again(struct test *t)
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

struct line line_of_srq(struct test *t)
{
        return line_with(t, (struct ep_opts){.srq = srq_with(t)}, (struct ep_opts){0});
}

void expect_given_up(struct test *t, DAT_EP_HANDLE ep)
{
        char space[64];
        DAT_EVENT event;

        expect_eq(ep_state(t, ep), DAT_EP_STATE_DISCONNECTED);
        settle_briefly(t);
        if (!dat_is(dat_evd_dequeue(ep_connect_evd(t, ep), &event), DAT_SUCCESS)) {
                record(t, "no event of a connection request that was aborted");
                return;
        }
        expect_that(event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
                        event.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
                    "%s tells that a connection was given up",
                    event_name(event.event_number, space, sizeof(space)));
        expect_that(event.event_data.connect_event_data.ep_handle == ep,
                    "the event names another EP");
        expect_no_later_event(ep, event.event_number);
}
