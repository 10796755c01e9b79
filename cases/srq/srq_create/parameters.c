/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_create: the parameters of the new SRQ. */
#include "cases/srq/shared/queue.h"
#include "cases/srq/srq_create/fixtures.h"
#include "clauses/srq_create.h"

CASE(srq_create, created)
{
        expect_at_least(t, srq_create_create(t, pz(t), attr_of(8, 1, DAT_SRQ_LW_DEFAULT)), 8, 1);
}

CASE(srq_create, attributes_kept)
{
        const DAT_SRQ_ATTR asked = attr_of(7, 1, DAT_SRQ_LW_DEFAULT);
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
        DAT_SRQ_ATTR attr = asked;
        DAT_SRQ_PARAM made;

        expect(dat_srq_create(ia(t), pz(t), &attr, &srq), DAT_SUCCESS);
        adopt(t, DAT_HANDLE_TYPE_SRQ, srq);
        made = srq_create_described(t, srq);
        if (attr.max_recv_dtos == asked.max_recv_dtos && attr.max_recv_iov == asked.max_recv_iov &&
            attr.low_watermark == asked.low_watermark)
                return;
        expect_eq(attr.max_recv_dtos, made.max_recv_dtos);
        expect_eq(attr.max_recv_iov, made.max_recv_iov);
        expect_eq(attr.low_watermark, made.low_watermark);
        note(t, "the structure that was given tells what was made (SRQ-32)");
}

/* The structure is the consumer's again when the call has returned. */
CASE(srq_create, attributes_given_back)
{
        DAT_SRQ_ATTR attr = attr_of(7, 1, DAT_SRQ_LW_DEFAULT);
        struct queue queue = {.length = MESSAGE, .buf = buf_with(t)};

        expect(dat_srq_create(ia(t), pz(t), &attr, &queue.srq), DAT_SUCCESS);
        adopt(t, DAT_HANDLE_TYPE_SRQ, queue.srq);
        attr = attr_of(1, 0, 5);

        expect_at_least(t, queue.srq, 7, 1);
        expect_eq(srq_create_described(t, queue.srq).low_watermark, DAT_SRQ_LW_DEFAULT);
        expect_room(t, &queue, 7);
}

CASE(srq_create, ia)
{
        DAT_IA_HANDLE other = other_ia(t);
        DAT_SRQ_HANDLE first = srq_create_create(t, pz(t), attr_of(8, 1, DAT_SRQ_LW_DEFAULT));
        DAT_SRQ_HANDLE foreign =
            create_on(t, other, pz_of(t, other), attr_of(8, 1, DAT_SRQ_LW_DEFAULT));
        DAT_SRQ_HANDLE last = srq_create_create(t, pz(t), attr_of(8, 1, DAT_SRQ_LW_DEFAULT));

        expect_that(srq_create_described(t, first).ia_handle == ia(t),
                    "the first SRQ is of another IA");
        expect_that(srq_create_described(t, foreign).ia_handle == other,
                    "the second SRQ is not of its IA");
        expect_that(srq_create_described(t, last).ia_handle == ia(t),
                    "the last SRQ is of another IA");
}

CASE(srq_create, pz)
{
        DAT_PZ_HANDLE zones[2] = {pz(t), pz_new(t)};
        DAT_SRQ_HANDLE srqs[3];

        for (int i = 0; i < 3; i++)
                srqs[i] = srq_create_create(t, zones[i % 2], attr_of(8, 1, DAT_SRQ_LW_DEFAULT));
        for (int i = 0; i < 3; i++)
                expect_that(srq_create_described(t, srqs[i]).pz_handle == zones[i % 2],
                            "SRQ %d has not the PZ that was given", i);
}

CASE(srq_create, another_srq)
{
        struct queue one = queue_made(t, 8);
        struct queue other = queue_made(t, 8);

        expect_that(one.srq != other.srq, "two SRQs have one handle");
        expect_room(t, &one, srq_size(t, one.srq));
        expect_room(t, &other, srq_size(t, other.srq));
}

CASE(srq_create, no_available)
{
        queue_post(t, &(struct queue){.srq = srq_with(t), .length = 1, .buf = buf_with(t)}, 3);

        DAT_SRQ_HANDLE srq = srq_create_create(t, pz(t), attr_of(8, 1, DAT_SRQ_LW_DEFAULT));
        expect_count(t, srq_create_described(t, srq).available_dto_count, 0);
}

CASE(srq_create, no_outstanding)
{
        queue_post(t, &(struct queue){.srq = srq_with(t), .length = 1, .buf = buf_with(t)}, 3);

        DAT_SRQ_HANDLE srq = srq_create_create(t, pz(t), attr_of(8, 1, DAT_SRQ_LW_DEFAULT));
        expect_count(t, srq_create_described(t, srq).outstanding_dto_count, 0);
}

/* It may have the place, or the handle, of one that had receives, and counts of them. */
CASE(srq_create, behind_freed)
{
        struct queue former = queue_made(t, 8);
        struct flow flow = flow_open(t, &former, DAT_HANDLE_NULL);
        struct queue queue;
        DAT_SRQ_PARAM made;

        queue_post(t, &former, 8);
        flow_deliver(t, &flow, 3);
        release(t, flow.ep);
        release(t, former.srq);

        queue = queue_made(t, 8);
        made = srq_create_described(t, queue.srq);
        expect_count(t, made.available_dto_count, 0);
        expect_count(t, made.outstanding_dto_count, 0);
        expect_room(t, &queue, made.max_recv_dtos);
}

CASE(srq_create, unattached)
{
        DAT_SRQ_HANDLE srq;

        ep_with(t);
        ep_with(t, .srq = srq_with(t));
        srq = srq_create_create(t, pz(t), attr_of(8, 1, DAT_SRQ_LW_DEFAULT));
        ep_with(t);
        disown(t, srq);

        expect(dat_srq_free(srq), DAT_SUCCESS);
}

CASE(srq_create, unattached_to_plain_ep)
{
        DAT_EP_HANDLE plain = ep_with(t);
        struct peer_ep *end = peer_connect(peer(t), plain);
        struct queue queue = queue_made(t, 8);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);

        queue_post(t, &queue, 4);
        must(dat_ep_post_recv(plain, 1, &segment, (DAT_DTO_COOKIE){.as_64 = SLOTS},
                              DAT_COMPLETION_DEFAULT_FLAG));
        peer_send(end, .length = MESSAGE);
        expect_eq(expect_dto(ep_recv_evd(t, plain)).user_cookie.as_64, SLOTS);

        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        expect_traffic(t, &queue, &flow, 4);
}
