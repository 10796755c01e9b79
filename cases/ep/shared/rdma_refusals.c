/* SPDX-License-Identifier: BSD-2-Clause */
/* What an RDMA may not reach, and what is no RDMA at all: refused at once or found out late. */
#include "case/transport.h"
#include "cases/ep/shared/rdma.h"
#include "cases/ep/shared/segment.h"
#include "evidence/api.h"

#include <string.h>

#define LENGTH   ((size_t)1000)
#define PLAIN    ((size_t)100) /* bytes, where a row has no length of its own */
#define LIMIT    ((size_t)4096)
#define SEGMENTS 3
#define MANY     8192 /* segments that a case can give */

/* The status of a completion that is not to be of success; which one it is best told by. */
static void expect_failed(struct test *t, const struct rdma *rdma, uint64_t cookie,
                          DAT_DTO_COMPLETION_STATUS best)
{
        DAT_EVENT event = expect_event(rdma->evd, DAT_DTO_COMPLETION_EVENT);
        const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

        expect_that(dto->ep_handle == rdma->ep, "the completion is of another EP");
        expect_that(dto->user_cookie.as_64 == cookie, "the completion is of another DTO");
        if (host_is_iwarp() && best == DAT_DTO_ERR_REMOTE_ACCESS) {
                expect_remote_refusal(t, rdma->ep, rdma->kind->reads, dto->status);
                return;
        }
        expect_that(dto->status != DAT_DTO_SUCCESS, "what may not be done completed with success");
        if (dto->status != best)
                note(t, "it completed with %s instead of %s", api_status_name(dto->status),
                     api_status_name(best));
}

/* Refused at once, and the EP keeps working; or it fails later, and no data is moved. */
static void expect_nothing_done(struct test *t, const struct rdma *rdma, DAT_RETURN ret,
                                DAT_DTO_COMPLETION_STATUS late)
{
        if (!dat_is(ret, DAT_SUCCESS)) {
                expect_rdma_refused(t, rdma);
                return;
        }
        expect_failed(t, rdma, 1, late);
        expect_untouched(rdma_target(rdma));
        expect_holds(rdma_source(rdma), RDMA_MESSAGE, rdma_source(rdma)->length);
}

static DAT_RETURN expect_violation(struct test *t, DAT_RETURN ret, const struct rdma_wrong *row)
{
        return expect(ret, row->returns[0], row->returns[1], row->returns[2], DAT_SUCCESS);
}

/*
 * Memory that may not be reached
 */

void rdma_local_refused(struct test *t, const struct rdma_kind *kind, const struct wrong_row *row)
{
        struct rdma rdma =
            rdma_with(t, kind, .segments = row->segments, .remote_length = 2 * REGION);
        DAT_RMR_TRIPLET remote = vector_remote(&rdma.remote);
        struct wrong wrong = wrong_with(t, row, kind->local);
        bool refused;

        if (row->kind < WRONG_LONG) {
                remote.segment_length = 0;
                for (DAT_COUNT i = 0; i < row->segments; i++)
                        remote.segment_length += wrong.vector.iov[i].segment_length;
        }
        refused = expect_wrong(
            rdma_post(t, &rdma, &wrong.vector, remote, 1, DAT_COMPLETION_DEFAULT_FLAG), &wrong);
        if (refused)
                expect_rdma_refused(t, &rdma);
        else
                expect_wrong_told(t, rdma.evd, rdma.ep, 1, &wrong);
        if (refused || !kind->reads)
                expect_wrong_untouched(t, &wrong);
        else
                expect_late_untouched(t, &wrong);
        if (!kind->reads && (refused || wrong_at_once(&wrong)))
                expect_untouched(&rdma.remote);
}

void rdma_wrong_on_disconnected(struct test *t, const struct rdma_kind *kind,
                                const struct wrong_row *row)
{
        struct rdma rdma =
            rdma_with(t, kind, .segments = row->segments, .remote_length = 2 * REGION);
        DAT_RMR_TRIPLET remote = vector_remote(&rdma.remote);
        struct wrong wrong;

        must_end(t, &rdma.loop);
        wrong = wrong_with(t, row, kind->local);
        remote.segment_length = wrong.vector.length;
        if (!expect_wrong(
                rdma_post(t, &rdma, &wrong.vector, remote, 4, DAT_COMPLETION_DEFAULT_FLAG), &wrong))
                expect_completion(rdma.evd, .ep = rdma.ep, .cookie = 4,
                                  .status = DAT_DTO_ERR_FLUSHED);
        expect_empty(t, rdma.evd);
        expect_wrong_untouched(t, &wrong);
        expect_holds(rdma_source(&rdma), RDMA_MESSAGE, rdma_source(&rdma)->length);
}

/*
 * Remote memory that may not be reached
 */

/* A context of the buffer's memory that is gone, while the buffer's own is there. */
static DAT_RMR_CONTEXT freed_context(struct test *t, const struct buf *buf)
{
        DAT_REGION_DESCRIPTION region = {.for_va = buf->addr};
        DAT_LMR_CONTEXT local;
        DAT_RMR_CONTEXT remote;
        DAT_LMR_HANDLE lmr;
        DAT_VLEN length;
        DAT_VADDR address;

        must(dat_lmr_create(ia(t), DAT_MEM_TYPE_VIRTUAL, region, buf->length, pz(t),
                            DAT_MEM_PRIV_ALL_FLAG, &lmr, &local, &remote, &length, &address));
        must(dat_lmr_free(lmr));
        return remote;
}

static DAT_MEM_PRIV_FLAGS privileges_of(const struct rdma_kind *kind, const struct rdma_wrong *row)
{
        DAT_MEM_PRIV_FLAGS local = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;

        if (row->privilege == AS_NEEDED)
                return DAT_MEM_PRIV_ALL_FLAG;
        return row->privilege == OTHER_CALLS ? local | kind->other_remote : local;
}

static size_t length_at(const struct rdma_wrong *row)
{
        return row->length ? row->length : PLAIN;
}

void rdma_remote_refused(struct test *t, const struct rdma_kind *kind, const struct rdma_wrong *row)
{
        struct rdma rdma = rdma_with(t, kind, .length = length_at(row));
        struct buf *buf = buf_with(t, .length = REGION, .privileges = privileges_of(kind, row),
                                   .pz = row->other_zone ? pz_new(t) : pz(t));
        DAT_RMR_TRIPLET remote;
        DAT_RETURN ret;

        rdma.remote = vector_over(t, buf);
        remote = vector_remote(&rdma.remote);
        remote.target_address += row->offset;
        remote.segment_length = length_at(row);
        if (kind->reads)
                vector_fill(t, &rdma.remote, RDMA_MESSAGE);
        if (row->freed)
                remote.rmr_context = freed_context(t, buf);
        ret = expect_violation(
            t, rdma_post(t, &rdma, &rdma.local, remote, 1, DAT_COMPLETION_DEFAULT_FLAG), row);
        expect_nothing_done(t, &rdma, ret, DAT_DTO_ERR_REMOTE_ACCESS);
}

/* As the owner of the memory sees it, who is another process. */
void rdma_peer_refused(struct test *t, const struct rdma_kind *kind, const struct rdma_wrong *row)
{
        DAT_EP_ATTR attr = rdma_attr(t, kind, (struct rdma_opts){.dtos = 0});
        struct rdma rdma = {.kind = kind, .ep = ep_with(t, .attr = &attr)};
        struct peer_ep *end = must_connect(rdma.ep);
        struct peer_memory memory = peer_expose(end, REGION);
        DAT_RMR_TRIPLET remote = {.rmr_context = memory.rmr_context,
                                  .target_address = memory.address + row->offset,
                                  .segment_length = length_at(row)};
        DAT_RETURN ret;

        rdma.evd = ep_request_evd(t, rdma.ep);
        rdma.local = vector_with(t, .length = length_at(row));
        if (!kind->reads)
                vector_fill(t, &rdma.local, RDMA_MESSAGE);
        ret = expect_violation(
            t, rdma_post(t, &rdma, &rdma.local, remote, 1, DAT_COMPLETION_DEFAULT_FLAG), row);
        if (dat_is(ret, DAT_SUCCESS))
                expect_failed(t, &rdma, 1, DAT_DTO_ERR_REMOTE_ACCESS);
        if (kind->reads)
                expect_untouched(&rdma.local);
        expect_that(peer_holds(end, memory, 0, REGION, 0), "the peer's memory was written");
}

/*
 * Windows
 */

DAT_RMR_CONTEXT rdma_must_bind(struct test *t, const struct rdma *rdma, DAT_RMR_HANDLE rmr,
                               DAT_LMR_TRIPLET segment, DAT_MEM_PRIV_FLAGS privileges)
{
        DAT_RMR_CONTEXT context = 0;

        must(dat_rmr_bind(rmr, &segment, privileges, rdma->loop.passive,
                          (DAT_RMR_COOKIE){.as_64 = 1}, DAT_COMPLETION_DEFAULT_FLAG, &context));
        must_event(ep_request_evd(t, rdma->loop.passive), DAT_RMR_BIND_COMPLETION_EVENT);
        return context;
}

struct rdma rdma_windowed(struct test *t, const struct rdma_kind *kind, DAT_RMR_HANDLE *rmr)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
        struct rdma rdma = rdma_with(
            t, kind, .passive_evd = evd,
            .remote = {.privileges = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG});

        must(dat_rmr_create(pz(t), rmr));
        adopt(t, DAT_HANDLE_TYPE_RMR, *rmr);
        return rdma;
}

void rdma_through_window(struct test *t, const struct rdma_kind *kind)
{
        DAT_RMR_HANDLE rmr;
        struct rdma rdma = rdma_windowed(t, kind, &rmr);
        DAT_RMR_TRIPLET remote = vector_remote(&rdma.remote);

        remote.rmr_context = rdma_must_bind(t, &rdma, rmr, rdma.remote.iov[0], kind->remote);
        expect(rdma_post(t, &rdma, &rdma.local, remote, 1, DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        expect_rdma(t, &rdma, 1, LENGTH);
}

void rdma_window_gone(struct test *t, const struct rdma_kind *kind, const struct rdma_window *row)
{
        DAT_LMR_TRIPLET elsewhere = triplet(buf_with(t), 0, row->rebound ? LENGTH : 0);
        DAT_RMR_HANDLE rmr;
        struct rdma rdma = rdma_windowed(t, kind, &rmr);
        DAT_RMR_TRIPLET remote = vector_remote(&rdma.remote);
        DAT_RETURN ret;

        remote.rmr_context = rdma_must_bind(t, &rdma, rmr, rdma.remote.iov[0], kind->remote);
        rdma_must_bind(t, &rdma, rmr, elsewhere, kind->remote);
        ret = expect(rdma_post(t, &rdma, &rdma.local, remote, 1, DAT_COMPLETION_DEFAULT_FLAG),
                     DAT_PROTECTION_VIOLATION, DAT_PRIVILEGES_VIOLATION, DAT_INVALID_PARAMETER,
                     DAT_SUCCESS);
        expect_nothing_done(t, &rdma, ret, DAT_DTO_ERR_REMOTE_ACCESS);
}

/* A zone of its own at the active end, whose memory is in it. */
void rdma_privileges_enough(struct test *t, const struct rdma_kind *kind)
{
        DAT_MEM_PRIV_FLAGS beside =
            kind->reads ? DAT_MEM_PRIV_LOCAL_READ_FLAG : DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
        struct rdma rdma = rdma_with(t, kind, .pz = pz_new(t), .local = {.privileges = kind->local},
                                     .remote = {.privileges = kind->remote | beside});

        expect(rdma_post_whole(t, &rdma, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect_rdma(t, &rdma, 1, LENGTH);
}

/*
 * Lengths and numbers
 */

void rdma_too_short(struct test *t, const struct rdma_kind *kind, const struct rdma_short *row)
{
        size_t local = kind->reads ? row->target : row->source;
        struct rdma rdma = rdma_with(t, kind, .length = local, .empty = !local,
                                     .segments = row->segments, .remote_length = REGION);
        DAT_RMR_TRIPLET remote = vector_remote(&rdma.remote);
        DAT_RETURN ret;

        remote.segment_length = kind->reads ? row->source : row->target;
        ret = expect(rdma_post(t, &rdma, &rdma.local, remote, 1, DAT_COMPLETION_DEFAULT_FLAG),
                     DAT_LENGTH_ERROR, DAT_SUCCESS);
        expect_nothing_done(t, &rdma, ret, DAT_DTO_ERR_LOCAL_LENGTH);
}

/* By as much as 32 bits do not hold: it is no less for that, nor is it memory that is there. */
void rdma_too_short_by_far(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_with(t, kind);
        DAT_RMR_TRIPLET remote = vector_remote(&rdma.remote);
        DAT_RETURN ret;

        remote.segment_length += SEGMENT_LONG;
        ret = expect(rdma_post(t, &rdma, &rdma.local, remote, 1, DAT_COMPLETION_DEFAULT_FLAG),
                     DAT_LENGTH_ERROR, DAT_PROTECTION_VIOLATION, DAT_PRIVILEGES_VIOLATION,
                     DAT_INVALID_PARAMETER, DAT_SUCCESS);
        expect_nothing_done(t, &rdma, ret, DAT_DTO_ERR_LOCAL_LENGTH);
}

void rdma_beyond_most(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_with(t, kind, .length = LIMIT + 1, .most = LIMIT);
        DAT_RETURN ret = expect_may(rdma_post_whole(t, &rdma, 1, DAT_COMPLETION_DEFAULT_FLAG),
                                    DAT_INVALID_PARAMETER, DAT_LENGTH_ERROR,
                                    DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS);
        DAT_EVENT event;

        if (!dat_is(ret, DAT_SUCCESS)) {
                expect_rdma_refused(t, &rdma);
                return;
        }
        event = expect_event(rdma.evd, DAT_DTO_COMPLETION_EVENT);
        if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
                return;
        expect_eq(event.event_data.dto_completion_event_data.transfered_length, LIMIT + 1);
        expect_rdma_bytes(t, &rdma, LIMIT + 1);
        note(t, "more was moved than the EP's max_rdma_size");
}

void rdma_negative_segments(struct test *t, const struct rdma_kind *kind,
                            const struct rdma_count *row)
{
        struct rdma rdma = rdma_with(t, kind);
        DAT_RMR_TRIPLET remote = vector_remote(&rdma.remote);

        expect(kind->post(rdma.ep, row->segments, rdma_iov(t, rdma.local.iov, 1), COOKIE(1),
                          &remote, DAT_COMPLETION_DEFAULT_FLAG),
               DAT_INVALID_PARAMETER);
        expect_rdma_refused(t, &rdma);
}

void rdma_greatest_segments(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_with(t, kind);
        DAT_RMR_TRIPLET remote = vector_remote(&rdma.remote);

        expect_may(kind->post(rdma.ep, INT_MAX, rdma_iov(t, rdma.local.iov, 1), COOKIE(1), &remote,
                              DAT_COMPLETION_DEFAULT_FLAG),
                   DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES);
        expect_rdma_refused(t, &rdma);
}

/* The EP may have been given more segments than it was asked for. */
void rdma_segment_too_many(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_with(t, kind, .segments = SEGMENTS);
        DAT_EP_PARAM param = {.ep_state = DAT_EP_STATE_UNCONNECTED};
        DAT_COUNT most;
        DAT_RETURN ret;

        must(dat_ep_query(rdma.ep, DAT_EP_FIELD_ALL, &param));
        most = kind->reads ? param.ep_attr.max_rdma_read_iov : param.ep_attr.max_rdma_write_iov;
        if (most >= MANY)
                unsupported(t,
                            "max_rdma_read_iov, max_rdma_write_iov: more than the case can give");
        rdma.local = vector_with(t, .length = LENGTH, .segments = most + 1);
        if (!kind->reads)
                vector_fill(t, &rdma.local, RDMA_MESSAGE);
        ret = expect_may(rdma_post_whole(t, &rdma, 1, DAT_COMPLETION_DEFAULT_FLAG),
                         DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS);
        if (!dat_is(ret, DAT_SUCCESS)) {
                expect_rdma_refused(t, &rdma);
                return;
        }
        expect_rdma(t, &rdma, 1, LENGTH);
        note(t, "a vector of %d was taken, above the EP's own limit", most + 1);
}
