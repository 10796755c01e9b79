/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_post_recv: the vector after the call. */
#include "cases/ep/shared/endpoint.h"
#include "cases/ep/shared/segment.h"
#include "cases/srq/shared/queue.h"
#include "cases/srq/srq_post_recv/fixtures.h"
#include "clauses/srq_post_recv.h"

#include <string.h>
#include <sys/mman.h>

/* Whether the provider lets the consumer have the vector back at once. */
static void need_ownership(struct test *t, DAT_IOV_OWNERSHIP most)
{
        if (provider_attr(t)->iov_ownership_on_return > most)
                unsupported(t, most == DAT_IOV_CONSUMER
                                   ? "iov_ownership_on_return: not DAT_IOV_CONSUMER"
                                   : "iov_ownership_on_return = DAT_IOV_PROVIDER_MOD");
}

static DAT_LMR_TRIPLET *mapped_vector(struct test *t)
{
        DAT_LMR_TRIPLET *iov = mmap(NULL, sizeof(*iov) * SEGMENTS, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (iov == MAP_FAILED)
                resource(t, "no memory for a vector");
        return iov;
}

static void overwrite(DAT_LMR_TRIPLET *iov, size_t length)
{
        memset(iov, 0xff, length);
}

static void protect(DAT_LMR_TRIPLET *iov, size_t length)
{
        mprotect(iov, length, PROT_NONE);
}

static void unmap(DAT_LMR_TRIPLET *iov, size_t length)
{
        munmap(iov, length);
}

static const struct reuse {
        const char *id;
        void (*end)(DAT_LMR_TRIPLET *iov, size_t length);
} reuses[] = {
    {"overwritten", overwrite},
    {"protected", protect},
    {"unmapped", unmap},
};

FAMILY(srq_post_recv, vector_given_back, reuses)
{
        struct vector vector = vector_with(t);
        DAT_LMR_TRIPLET *iov = mapped_vector(t);
        DAT_SRQ_HANDLE srq = srq_for_vectors(t);
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq);
        struct peer_ep *end = peer_connect(peer(t), ep);
        unsigned char flat[VECTOR_LENGTH];

        need_ownership(t, DAT_IOV_CONSUMER);
        memcpy(iov, vector.iov, sizeof(vector.iov));
        expect(dat_srq_post_recv(srq, SEGMENTS, iov, COOKIE), DAT_SUCCESS);
        row->end(iov, sizeof(vector.iov));
        peer_send(end, .length = VECTOR_LENGTH);

        expect_dto(ep_recv_evd(t, ep));
        gather(&vector, flat);
        expect_that(message_holds(flat, VECTOR_LENGTH, 0), "the message went elsewhere");
}

CASE(srq_post_recv, vector_reused_for_next)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_LMR_TRIPLET segment;

        need_ownership(t, DAT_IOV_CONSUMER);
        for (uint64_t slot = 0; slot < 8; slot++) {
                segment = triplet(queue.buf, slot * MESSAGE, MESSAGE);
                expect(dat_srq_post_recv(queue.srq, 1, &segment, (DAT_DTO_COOKIE){.as_64 = slot}),
                       DAT_SUCCESS);
                queue.posted |= UINT64_C(1) << slot;
        }
        expect_traffic(t, &queue, &flow, 8);
}

CASE(srq_post_recv, vector_not_modified)
{
        struct vector vector = vector_with(t);
        DAT_SRQ_HANDLE srq = srq_for_vectors(t);
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq);
        struct peer_ep *end = peer_connect(peer(t), ep);
        DAT_LMR_TRIPLET iov[SEGMENTS];

        need_ownership(t, DAT_IOV_PROVIDER_NOMOD);
        memcpy(iov, vector.iov, sizeof(iov));
        expect(dat_srq_post_recv(srq, SEGMENTS - 1, vector.iov, COOKIE), DAT_SUCCESS);
        peer_send(end, .length = 250);
        must_dto(ep_recv_evd(t, ep));

        expect_that(!memcmp(iov, vector.iov, sizeof(iov)),
                    "the provider changed the vector, or what is behind it");
}

CASE(srq_post_recv, vector_of_refused)
{
        struct vector vector = vector_with(t);
        DAT_LMR_TRIPLET iov[SEGMENTS];
        DAT_RETURN ret;

        need_ownership(t, DAT_IOV_PROVIDER_NOMOD);
        vector.iov[SEGMENTS - 2].virtual_address += vector.buf->length;
        memcpy(iov, vector.iov, sizeof(iov));
        ret = expect(dat_srq_post_recv(srq_for_vectors(t), SEGMENTS - 1, vector.iov, COOKIE),
                     DAT_INVALID_PARAMETER, DAT_SUCCESS);
        if (dat_is(ret, DAT_SUCCESS))
                end_noted(t,
                          "the receive was not refused at once: it has its vector until it fails");
        expect_that(!memcmp(iov, vector.iov, sizeof(iov)),
                    "the provider changed the vector, or what is behind it");
}
