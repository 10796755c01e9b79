/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/ep/shared/rdma_impl.h"
#include "cases/shared/bits.h"

#include <string.h>

#define TRIES 200

/*
 * Completions
 */

void rdma_completes_once(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_with(t, kind);

        expect(rdma_post_whole(t, &rdma, 77, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect_rdma(t, &rdma, 77, LENGTH);
        expect_rdma_goes_on(t, &rdma);
        expect_rdma_silent(t, ep_recv_evd(t, rdma.ep));
        expect_rdma_silent(t, ep_connect_evd(t, rdma.ep));
}

/* The long ones come first: a short one behind them would overtake. */
void rdma_in_order(struct test *t, const struct rdma_kind *kind)
{
        static const size_t lengths[] = {LONG, 1, 100000, 64, 5000, 1, 4096, 2};
        DAT_COUNT once = rdma_at_once(t, kind, 8);
        struct rdma rdma = rdma_with(t, kind, .length = LONG, .reads = kind->reads ? once : 0);
        DAT_RMR_TRIPLET remote = vector_remote(&rdma.remote);
        uint64_t done = 0;

        for (uint64_t i = 0; i < 8; i++) {
                DAT_LMR_TRIPLET *iov = rdma_iov(t, rdma.local.iov, 1);

                iov->segment_length = lengths[i];
                remote.segment_length = lengths[i];
                expect(kind->post(rdma.ep, 1, iov, COOKIE(i), &remote, DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
                if (i + 1 < 8 && i + 1 - done < (uint64_t)once)
                        continue;
                for (; done <= i; done++)
                        expect_completion(rdma.evd, .ep = rdma.ep, .cookie = done,
                                          .length = lengths[done]);
        }
        expect_rdma_bytes(t, &rdma, LONG);
        expect_rdma_silent(t, rdma.evd);
}

void rdma_in_order_with_others(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_with(t, kind, .length = LONG, .dtos = OUTSTANDING);
        struct vector message = vector_with(t, .length = SMALL);
        struct vector room = vector_with(t, .length = 2 * SMALL);

        for (uint64_t i = 0; i < 2; i++)
                must(recv_vector(rdma.loop.passive, &room, i, DAT_COMPLETION_DEFAULT_FLAG));
        for (uint64_t i = 0; i < 4; i += 2) {
                expect(rdma_post_whole(t, &rdma, i, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
                must(send_vector(rdma.ep, &message, i + 1, DAT_COMPLETION_DEFAULT_FLAG));
        }
        for (uint64_t i = 0; i < 4; i++)
                expect_completion(rdma.evd, .ep = rdma.ep, .cookie = i,
                                  .length = i % 2 ? SMALL : LONG);
        expect_rdma_bytes(t, &rdma, LONG);
}

/* A later message arrives, and is the only completion at the other end. */
void rdma_unseen_there(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_with(t, kind);
        DAT_EP_HANDLE there = rdma.loop.passive;
        struct vector message = vector_with(t, .length = SMALL);
        struct vector room = vector_with(t, .length = SMALL);

        vector_fill(t, &message, 8);
        must(recv_vector(there, &room, 21, DAT_COMPLETION_DEFAULT_FLAG));
        expect(rdma_post_whole(t, &rdma, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect_rdma(t, &rdma, 1, LENGTH);
        must(send_vector(rdma.ep, &message, 2, DAT_COMPLETION_DEFAULT_FLAG));
        expect_completion(ep_recv_evd(t, there), .ep = there, .cookie = 21, .length = SMALL);

        expect_holds(&room, 8, SMALL);
        expect_rdma_silent(t, ep_recv_evd(t, there));
        expect_rdma_silent(t, ep_request_evd(t, there));
        expect_rdma_silent(t, ep_connect_evd(t, there));
}

void rdma_cookie(struct test *t, const struct rdma_kind *kind, const struct cookie *row)
{
        struct rdma rdma = rdma_with(t, kind, .length = SMALL);

        expect(rdma_post_whole(t, &rdma, row->value, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect_rdma(t, &rdma, row->value, SMALL);
}

void rdma_same_cookie(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_with(t, kind, .length = SMALL);

        for (int i = 0; i < 4; i++)
                expect(rdma_post_whole(t, &rdma, 5, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        for (int i = 0; i < 4; i++)
                expect_rdma(t, &rdma, 5, SMALL);
        expect_rdma_silent(t, rdma.evd);
}

void rdma_of_its_own_ep(struct test *t, const struct rdma_kind *kind)
{
        DAT_EVD_HANDLE evd = evd_with(t);
        struct rdma rdmas[2];

        for (int i = 0; i < 2; i++)
                rdmas[i] = rdma_with(t, kind, .length = SMALL, .request_evd = evd);
        for (uint64_t i = 0; i < 8; i++) {
                const struct rdma *rdma = &rdmas[i < 4 ? i % 2 : i / 6];

                expect(rdma_post_whole(t, rdma, i, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
                expect_rdma(t, rdma, i, SMALL);
        }
        expect_rdma_silent(t, evd);
}

void rdma_cookie_of(struct test *t, const struct rdma_kind *kind, const struct rdma_outcome *row)
{
        struct rdma rdma = rdma_with(t, kind, .segments = row->segments);
        DAT_RMR_TRIPLET remote = vector_remote(&rdma.remote);
        DAT_RETURN ret;

        if (row->too_late)
                must_end(t, &rdma.loop);
        if (row->denied)
                remote.target_address += rdma.remote.buf->beyond;
        ret = rdma_post(t, &rdma, &rdma.local, remote, EVERY_BYTE, DAT_COMPLETION_DEFAULT_FLAG);
        if (!row->denied) {
                expect(ret, DAT_SUCCESS);
                expect_completion(rdma.evd, .ep = rdma.ep, .cookie = EVERY_BYTE, .length = LENGTH,
                                  .status = row->too_late ? DAT_DTO_ERR_FLUSHED : DAT_DTO_SUCCESS);
        } else if (dat_is(expect(ret, DAT_SUCCESS, DAT_PROTECTION_VIOLATION,
                                 DAT_PRIVILEGES_VIOLATION, DAT_INVALID_PARAMETER),
                          DAT_SUCCESS)) {
                DAT_EVENT event = expect_event(rdma.evd, DAT_DTO_COMPLETION_EVENT);

                expect_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, EVERY_BYTE);
        }
        expect_rdma_silent(t, rdma.evd);
}

/*
 * Flags
 */

DAT_COMPLETION_FLAGS rdma_configured_for(const struct rdma_flags *row)
{
        return row->flags & UNSIGNALLED ? UNSIGNALLED : DAT_COMPLETION_DEFAULT_FLAG;
}

/* Of several segments and of one, and a signalled one behind them: what was suppressed is not told
 * of, and all has come. */
void rdma_flagged(struct test *t, const struct rdma_kind *kind, const struct rdma_flags *row)
{
        DAT_COUNT segments = rdma_some_segments(t, kind);
        struct rdma rdma =
            rdma_with(t, kind, .request_flags = rdma_configured_for(row), .segments = segments);
        struct rdma whole = rdma;

        whole.local = vector_with(t, .length = LENGTH);
        whole.remote = vector_with(t, .length = LENGTH);
        vector_fill(t, rdma_source(&whole), RDMA_MESSAGE);
        expect(rdma_post_whole(t, &rdma, 31, row->flags), DAT_SUCCESS);
        expect(rdma_post_whole(t, &whole, 32, row->flags), DAT_SUCCESS);
        for (uint64_t i = 31; i <= 32 && !(row->flags & SUPPRESS); i++)
                expect_completion(rdma.evd, .ep = rdma.ep, .cookie = i, .length = LENGTH);
        expect_rdma_goes_on(t, &rdma);
        expect_rdma_bytes(t, &rdma, LENGTH);
        expect_rdma_bytes(t, &whole, LENGTH);
}

void rdma_flags_refused(struct test *t, const struct rdma_kind *kind, const struct rdma_flags *row)
{
        struct rdma rdma = rdma_with(t, kind);

        expect(rdma_post_whole(t, &rdma, 1, row->flags), DAT_INVALID_PARAMETER);
        expect_rdma_refused(t, &rdma);
}

void rdma_unsignalled_refused(struct test *t, const struct rdma_kind *kind,
                              const struct rdma_unconfigured *row)
{
        struct rdma rdma =
            rdma_with(t, kind, .request_flags = row->of_ep, .recv_flags = row->of_receives);

        expect(rdma_post_whole(t, &rdma, 1, row->flags), DAT_INVALID_PARAMETER);
        expect_rdma_refused(t, &rdma);
}

void rdma_each_undefined_flag(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_with(t, kind);

        EACH_UNDEFINED_BIT (bit, COMPLETION_FLAG_BITS)
                expect_bit(bit, rdma_post_whole(t, &rdma, 1, (DAT_COMPLETION_FLAGS)bit),
                           DAT_INVALID_PARAMETER);
        expect_rdma_refused(t, &rdma);
}

void rdma_flags_unlisted(struct test *t, const struct rdma_kind *kind, const struct rdma_flags *row)
{
        struct rdma rdma = rdma_with(t, kind);
        DAT_RETURN ret = expect_or_note(rdma_post_whole(t, &rdma, 1, row->flags),
                                        DAT_INVALID_PARAMETER, DAT_SUCCESS);

        if (dat_is(ret, DAT_SUCCESS))
                expect_rdma(t, &rdma, 1, LENGTH);
        else
                expect_rdma_refused(t, &rdma);
}

/* More than the EVD has places are suppressed, as many at once as the EP takes. */
void rdma_suppressed_rounds(struct test *t, const struct rdma_kind *kind)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = OUTSTANDING);
        struct rdma rdma = rdma_deep(t, kind, .length = SMALL, .request_evd = evd);
        uint64_t rounds = (uint64_t)ROUNDS * OUTSTANDING / (uint64_t)rdma.depth;

        for (uint64_t round = 0; round < rounds; round++) {
                for (DAT_COUNT i = 0; i < rdma.depth - 1; i++)
                        expect(rdma_post_whole(t, &rdma, 6, SUPPRESS), DAT_SUCCESS);
                expect(rdma_post_whole(t, &rdma, 100 + round, DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
                expect_completion(evd, .ep = rdma.ep, .cookie = 100 + round, .length = SMALL);
                expect_rdma_silent(t, evd);
        }
        expect_rdma_bytes(t, &rdma, SMALL);
        expect_rdma_silent(t, async_evd(t));
}

/* So is that of one of several segments: the next is the first to be told of. */
void rdma_suppressed_vector(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_with(t, kind, .segments = 3);

        expect(rdma_post_whole(t, &rdma, 31, SUPPRESS), DAT_SUCCESS);
        expect_rdma_goes_on(t, &rdma);
        expect_rdma_bytes(t, &rdma, LENGTH);
}

static bool has_come(const struct rdma *rdma)
{
        return message_holds(vector_at(rdma_target(rdma)), LENGTH, RDMA_MESSAGE);
}

/* Beyond the region: the failure is reported, at once or later. */
void rdma_suppressed_failure(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_with(t, kind);
        DAT_RMR_TRIPLET remote = vector_remote(&rdma.remote);
        DAT_EVENT event;

        remote.target_address += rdma.remote.buf->beyond;
        if (!dat_is(expect(rdma_post(t, &rdma, &rdma.local, remote, 17, SUPPRESS), DAT_SUCCESS,
                           DAT_PROTECTION_VIOLATION, DAT_PRIVILEGES_VIOLATION,
                           DAT_INVALID_PARAMETER),
                    DAT_SUCCESS))
                return;
        event = expect_event(rdma.evd, DAT_DTO_COMPLETION_EVENT);
        expect_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, 17);
        expect_that(event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS,
                    "bytes beyond the region were reached");
}

/* A waiter sleeps on while what it is not to be told of comes, and is woken by what it is. */
static void expect_waits_on(struct test *t, const struct rdma *rdma)
{
        struct waiter *waiter = wait_on_evd(t, rdma->evd, DAT_TIMEOUT_INFINITE, 1);

        must_wait(waiter);
        expect(rdma_post_whole(t, rdma, 1, UNSIGNALLED), DAT_SUCCESS);
        for (int i = 0; i < TRIES && !has_come(rdma); i++)
                settle_briefly(t);
        expect_rdma_bytes(t, rdma, LENGTH);
        expect_asleep(waiter);
        expect(rdma_post_whole(t, rdma, 2, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect_woken(waiter, .ep = rdma->ep, .cookie = 1, .length = LENGTH);
        expect_completion(rdma->evd, .ep = rdma->ep, .cookie = 2, .length = LENGTH);
}

/* The same on the next connection, with other memory. */
void rdma_unsignalled_waits(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_with(t, kind, .request_flags = UNSIGNALLED);
        struct rdma next = rdma;

        next.local = vector_with(t, .length = LENGTH);
        next.remote = vector_with(t, .length = LENGTH);
        vector_fill(t, rdma_source(&next), RDMA_MESSAGE);
        expect_waits_on(t, &rdma);
        must_end(t, &rdma.loop);
        ep_join_anew(t, &rdma.loop);
        expect_waits_on(t, &next);
}

/* A long read fills what the fenced one then takes its bytes from. */
void rdma_fenced(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_with(t, kind, .length = LONG, .reads = 2);
        struct vector between = vector_with(t, .length = LONG);
        struct vector first = *rdma_source(&rdma);
        struct vector last = vector_with(t, .length = LONG);
        struct rdma fenced = rdma;
        DAT_RMR_TRIPLET from = vector_remote(&first);

        fenced.local = kind->reads ? last : between;
        fenced.remote = kind->reads ? between : last;
        expect(dat_ep_post_rdma_read(rdma.ep, 1, rdma_iov(t, between.iov, 1), COOKIE(1), &from,
                                     DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        expect(rdma_post_whole(t, &fenced, 2, FENCE), DAT_SUCCESS);
        expect_completion(rdma.evd, .ep = rdma.ep, .cookie = 1, .length = LONG);
        expect_rdma(t, &fenced, 2, LONG);
}

/*
 * The I/O vector after the call
 */

void rdma_vector_given_back(struct test *t, const struct rdma_kind *kind,
                            const struct vector_end *row)
{
        DAT_COUNT count = rdma_some_segments(t, kind);
        struct rdma rdma = rdma_with(t, kind, .length = LONG, .segments = count);
        DAT_RMR_TRIPLET remote = vector_remote(&rdma.remote);
        DAT_LMR_TRIPLET *iov = vector_mapping(t, &rdma.local);

        need_ownership(t, DAT_IOV_CONSUMER);
        expect(kind->post(rdma.ep, count, iov, COOKIE(1), &remote, DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        row->end(iov, vector_mapped(&rdma.local));
        expect_rdma(t, &rdma, 1, LONG);
}

void rdma_vector_not_modified(struct test *t, const struct rdma_kind *kind)
{
        DAT_COUNT count = rdma_some_segments(t, kind);
        struct rdma rdma = rdma_with(t, kind, .segments = count);
        DAT_RMR_TRIPLET remote = vector_remote(&rdma.remote);
        struct marked marked = marked_of(t, &rdma.local);

        need_ownership(t, DAT_IOV_PROVIDER_NOMOD);
        expect(
            kind->post(rdma.ep, count, marked.iov, COOKIE(1), &remote, DAT_COMPLETION_DEFAULT_FLAG),
            DAT_SUCCESS);
        expect_rdma(t, &rdma, 1, LENGTH);
        expect_unmarked(t, &marked);
}

void rdma_remote_not_modified(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_with(t, kind);
        DAT_RMR_TRIPLET remote = vector_remote(&rdma.remote);
        DAT_RMR_TRIPLET before;

        memcpy(&before, &remote, sizeof(before));
        expect(kind->post(rdma.ep, 1, rdma_iov(t, rdma.local.iov, 1), COOKIE(1), &remote,
                          DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        expect_rdma(t, &rdma, 1, LENGTH);
        expect_that(memcmp(&remote, &before, sizeof(before)) == 0,
                    "the provider changed the description of the remote buffer");
}

void rdma_arguments_of_refused(struct test *t, const struct rdma_kind *kind)
{
        DAT_COUNT count = rdma_some_segments(t, kind);
        struct rdma rdma = rdma_with(t, kind, .segments = count);
        DAT_RMR_TRIPLET remote = vector_remote(&rdma.remote);
        struct marked marked = marked_of(t, &rdma.local);
        DAT_RMR_TRIPLET before;

        need_ownership(t, DAT_IOV_PROVIDER_NOMOD);
        memcpy(&before, &remote, sizeof(before));
        expect(kind->post(rdma.ep, count, marked.iov, COOKIE(1), &remote, UNSIGNALLED),
               DAT_INVALID_PARAMETER);
        expect_unmarked(t, &marked);
        expect_that(memcmp(&remote, &before, sizeof(before)) == 0,
                    "the provider changed the description of the remote buffer");
}

/* The provider may not keep it. */
void rdma_remote_given_back(struct test *t, const struct rdma_kind *kind)
{
        struct rdma rdma = rdma_with(t, kind, .length = LONG);
        DAT_RMR_TRIPLET remote = vector_remote(&rdma.remote);

        expect(kind->post(rdma.ep, 1, rdma_iov(t, rdma.local.iov, 1), COOKIE(1), &remote,
                          DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        memset(&remote, 0xff, sizeof(remote));
        expect_rdma(t, &rdma, 1, LONG);
}
