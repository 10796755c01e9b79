/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/rmr/shared/window.h"

#include <string.h>

#define MARGIN ((size_t)64) /* bytes of the far end's memory before those that it uses */
#define LOOKS  200          /* for what was written (DTO-2), each by settle_briefly() */

/* The two EPs, connected; the far one has a zone and memory of its own. */
static void join(struct test *t, struct window *window, struct window_opts opts)
{
        DAT_EVD_HANDLE evd =
            evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, .cno = opts.cno);
        DAT_EP_ATTR far_attr = transfer_attr(t, (struct transfer_opts){.reads = opts.reads});
        DAT_EP_ATTR attr = far_attr;
        DAT_PZ_HANDLE far_pz = pz_new(t);
        struct loop loop;

        attr.request_completion_flags = opts.requests;
        attr.recv_completion_flags = opts.receives;
        loop = loop_of(t, (struct ep_opts){.pz = window->pz, .request_evd = evd, .attr = &attr},
                       (struct ep_opts){.pz = far_pz, .attr = &far_attr});
        window->away = buf_with(t, .pz = far_pz, .length = MEMORY + 2 * MARGIN);
        loop_join_either(t, &loop);
        window->near = loop.active;
        window->far = loop.passive;
        window->requests = evd;
}

struct window window_make(struct test *t, struct window_opts opts)
{
        DAT_MEM_PRIV_FLAGS privileges = opts.privileges ? opts.privileges : LOCAL_PRIVILEGES;
        struct window window = {.pz = opts.pz ? opts.pz : pz(t), .sequence = 100};

        window.memory = buf_with(t, .pz = window.pz, .length = MEMORY, .privileges = privileges);
        message_fill(window.memory->addr, MEMORY, 1);
        memcpy(window.before, window.memory->addr, MEMORY);
        join(t, &window, opts);
        return window;
}

struct window window_for(struct test *t, enum way way)
{
        return window_with(t, .reads = way == BY_READ);
}

struct window window_beside(struct test *t, const struct window *window, DAT_PZ_HANDLE pz,
                            bool reads)
{
        struct window beside = *window;

        beside.pz = pz;
        join(t, &beside, (struct window_opts){.reads = reads});
        return beside;
}

static void end_and_reset(struct test *t, DAT_EP_HANDLE ep)
{
        must_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_DISCONNECTED);
        must(dat_ep_reset(ep));
}

void window_part(struct test *t, const struct window *window)
{
        must(dat_ep_disconnect(window->near, DAT_CLOSE_ABRUPT_FLAG));
        end_and_reset(t, window->near);
        end_and_reset(t, window->far);
}

void window_rejoin(struct test *t, const struct window *window)
{
        struct loop loop = {.active = window->near,
                            .passive = window->far,
                            .requests = evd_with(t, .flags = DAT_EVD_CR_FLAG)};

        loop_join_either(t, &loop);
}

DAT_RMR_HANDLE rmr_in(struct test *t, DAT_PZ_HANDLE pz)
{
        DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;

        must(dat_rmr_create(pz, &rmr));
        adopt(t, DAT_HANDLE_TYPE_RMR, rmr);
        return rmr;
}

DAT_LMR_TRIPLET region(const struct window *window)
{
        return triplet(window->memory, REGION, WIDTH);
}

static DAT_RMR_CONTEXT bind_and_take(struct test *t, DAT_EP_HANDLE ep, DAT_EVD_HANDLE evd,
                                     DAT_RMR_HANDLE rmr, DAT_LMR_TRIPLET segment,
                                     DAT_MEM_PRIV_FLAGS privileges)
{
        DAT_RMR_CONTEXT context = 0;
        DAT_EVENT event;

        must(dat_rmr_bind(rmr, &segment, privileges, ep, COOKIE(5), DAT_COMPLETION_DEFAULT_FLAG,
                          &context));
        event = must_event(evd, DAT_RMR_BIND_COMPLETION_EVENT);
        must_that(event.event_data.rmr_completion_event_data.status == DAT_RMR_BIND_SUCCESS,
                  "a legal bind completed with status %d",
                  (int)event.event_data.rmr_completion_event_data.status);
        return context;
}

DAT_RMR_CONTEXT must_bind(struct test *t, const struct window *window, DAT_RMR_HANDLE rmr,
                          DAT_LMR_TRIPLET segment, DAT_MEM_PRIV_FLAGS privileges)
{
        return bind_and_take(t, window->near, window->requests, rmr, segment, privileges);
}

DAT_RMR_CONTEXT must_bind_region(struct test *t, const struct window *window, DAT_RMR_HANDLE rmr)
{
        return must_bind(t, window, rmr, region(window), REMOTE_PRIVILEGES);
}

DAT_DTO_COMPLETION_STATUS reach(struct test *t, struct window *window, enum way way,
                                DAT_RMR_CONTEXT context, size_t offset, size_t length)
{
        DAT_LMR_TRIPLET local = triplet(window->away, MARGIN, length);
        DAT_RMR_TRIPLET remote = {
            .rmr_context = context,
            .target_address = (DAT_VADDR)(uintptr_t)window->memory->addr + offset,
            .segment_length = length,
        };
        const char *posted = way == BY_READ ? "dat_ep_post_rdma_read" : "dat_ep_post_rdma_write";
        DAT_DTO_COOKIE cookie = {.as_64 = ++window->sequence};
        DAT_DTO_COMPLETION_EVENT_DATA *dto;
        DAT_EVENT event;

        message_fill(window->away->addr, window->away->length, window->sequence);
        if (way == BY_READ)
                must(dat_ep_post_rdma_read(window->far, 1, &local, cookie, &remote,
                                           DAT_COMPLETION_DEFAULT_FLAG));
        else
                must(dat_ep_post_rdma_write(window->far, 1, &local, cookie, &remote,
                                            DAT_COMPLETION_DEFAULT_FLAG));
        event = expect_event(ep_request_evd(t, window->far), DAT_DTO_COMPLETION_EVENT);
        dto = &event.event_data.dto_completion_event_data;
        must_that_of(posted, dto->user_cookie.as_64 == cookie.as_64, "cookie %llu, not %llu",
                     (unsigned long long)dto->user_cookie.as_64, (unsigned long long)cookie.as_64);
        return dto->status;
}

/* The memory is as the case left it, and so are the case's bytes beside those that were read. */
static void expect_kept(struct test *t, const struct window *window, size_t length)
{
        unsigned char filled[MEMORY + 2 * MARGIN];
        const unsigned char *away = window->away->addr;

        expect_that(memcmp(window->memory->addr, window->before, MEMORY) == 0,
                    "memory that was not written has changed");
        message_fill(filled, sizeof(filled), window->sequence);
        expect_that(memcmp(away, filled, MARGIN) == 0 &&
                        memcmp(away + MARGIN + length, filled + MARGIN + length,
                               sizeof(filled) - MARGIN - length) == 0,
                    "memory around that of the RDMA DTO has changed");
}

void expect_reached(struct test *t, struct window *window, enum way way, DAT_RMR_CONTEXT context,
                    size_t offset, size_t length)
{
        const unsigned char *at = window->away->addr + MARGIN;

        expect_eq(reach(t, window, way, context, offset, length), DAT_DTO_SUCCESS);
        if (way == BY_WRITE) {
                const unsigned char *there = window->memory->addr + offset;

                for (int look = 0; look < LOOKS && memcmp(there, at, length) != 0; look++)
                        settle_briefly(t);
                expect_that(memcmp(there, at, length) == 0,
                            "what was written is not in the memory");
                memcpy(window->before + offset, at, length);
        } else {
                expect_that(memcmp(at, window->before + offset, length) == 0,
                            "what was read is not what the memory has");
        }
        expect_kept(t, window, length);
}

void expect_denied(struct test *t, struct window *window, enum way way, DAT_RMR_CONTEXT context,
                   size_t offset, size_t length)
{
        unsigned char filled[MEMORY + 2 * MARGIN];

        expect_remote_refusal(t, window->far, way == BY_READ,
                              reach(t, window, way, context, offset, length));
        expect_that(memcmp(window->memory->addr, window->before, MEMORY) == 0,
                    "memory that may not be reached was written");
        message_fill(filled, sizeof(filled), window->sequence);
        expect_that(memcmp(window->away->addr, filled, sizeof(filled)) == 0,
                    "a byte came from memory that may not be reached");
}

void expect_bind_done(struct test *t, DAT_EVD_HANDLE evd, DAT_RMR_HANDLE rmr, uint64_t cookie,
                      DAT_RMR_BIND_COMPLETION_STATUS status)
{
        DAT_EVENT event = expect_event(evd, DAT_RMR_BIND_COMPLETION_EVENT);
        const DAT_RMR_BIND_COMPLETION_EVENT_DATA *data =
            &event.event_data.rmr_completion_event_data;

        expect_that(event.evd_handle == evd, "the completion names another EVD");
        expect_that(data->rmr_handle == rmr, "the completion names another RMR");
        expect_eq(data->user_cookie.as_64, cookie);
        expect_eq(data->status, status);
}

struct peer_window peer_window(struct test *t)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
        DAT_EP_ATTR attr = transfer_attr(t, (struct transfer_opts){.reads = 1});
        struct peer_window window = {.ep = ep_with(t, .request_evd = evd, .attr = &attr),
                                     .requests = evd,
                                     .memory = buf_with(t, .privileges = LOCAL_PRIVILEGES)};

        peer_reads(peer(t), 1);
        window.end = must_connect(window.ep);
        message_fill(window.memory->addr, window.memory->length, 0);
        return window;
}

DAT_RMR_CONTEXT peer_window_bind(struct test *t, const struct peer_window *window,
                                 DAT_RMR_HANDLE rmr)
{
        return bind_and_take(t, window->ep, window->requests, rmr,
                             triplet(window->memory, 0, WIDTH), REMOTE_PRIVILEGES);
}

bool peer_window_reads(const struct peer_window *window, DAT_RMR_CONTEXT context)
{
        return peer_read(window->end, context, (DAT_VADDR)(uintptr_t)window->memory->addr, WIDTH);
}
