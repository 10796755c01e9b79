/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/psp/shared/psp.h"
#include "case/ep_attr.h"
#include "case/poison.h"
#include "cases/ep/shared/transfer.h"

#include <stdlib.h>
#include <string.h>

#define READS      4 /* at once, at most */
#define READ_BYTES 64

bool psp_declared(struct test *t, DAT_PSP_FLAGS flags)
{
        DAT_EP_CREATOR_FOR_PSP creator;

        must_be_told(t, flags == DAT_PSP_PROVIDER_FLAG ? NEED_PROVIDER_MADE_EP
                                                       : NEED_CONSUMER_MADE_EP);
        creator = provider_attr_if_told(t)->ep_creator;
        return creator != (flags == DAT_PSP_PROVIDER_FLAG ? DAT_PSP_CREATES_EP_NEVER
                                                          : DAT_PSP_CREATES_EP_ALWAYS);
}

static int by_address(const void *one, const void *other)
{
        return memcmp(one, other, sizeof(DAT_PSP_HANDLE));
}

void psp_all_differ(struct test *t, const DAT_PSP_HANDLE *psps, int count)
{
        DAT_PSP_HANDLE *sorted = malloc((size_t)count * sizeof(*sorted));
        int alike = 0;

        if (!sorted)
                resource(t, "no memory for %d handles", count);
        memcpy(sorted, psps, (size_t)count * sizeof(*sorted));
        qsort(sorted, (size_t)count, sizeof(*sorted), by_address);
        for (int i = 1; i < count; i++)
                alike += sorted[i - 1] == sorted[i];
        free(sorted);
        expect_that(alike == 0, "%d of %d PSPs have the handle of another", alike, count);
}

void psp_take_peer(struct test *t, DAT_CR_HANDLE request, DAT_PSP_FLAGS flags, struct loop *loop)
{
        if (flags == DAT_PSP_PROVIDER_FLAG) {
                loop->passive = expect_own_taken(t, request);
                return;
        }
        expect(dat_cr_accept(request, loop->passive, 0, NULL), DAT_SUCCESS);
        expect_event(ep_connect_evd(t, loop->passive), DAT_CONNECTION_EVENT_ESTABLISHED);
}

void psp_hold(struct test *t, struct loop *holder)
{
        holder->psp = loop_listen(t, holder->requests, psp_flags_granted(t), &holder->qual);
}

void psp_hold_pending(struct test *t, struct loop *holder)
{
        psp_hold(t, holder);
        loop_connect(t, holder->active, holder->qual);
        loop_take_request(t, holder);
}

void psp_hold_chosen(struct test *t, struct loop *holder)
{
        poison(&holder->qual, sizeof(holder->qual));
        must(dat_psp_create_any(ia(t), &holder->qual, holder->requests, psp_flags_granted(t),
                                &holder->psp));
        adopt(t, DAT_HANDLE_TYPE_PSP, holder->psp);
        MUST_BE_WRITTEN("dat_psp_create_any", *holder, qual);
}

void psp_hold_reserved(struct test *t, struct loop *holder)
{
        holder->qual = point_qual(t);
        must(dat_rsp_create(ia(t), holder->qual, holder->passive, holder->requests, &holder->psp));
        adopt(t, DAT_HANDLE_TYPE_RSP, holder->psp);
}

void psp_hold_provider(struct test *t, struct loop *holder)
{
        holder->psp = loop_listen(t, holder->requests, DAT_PSP_PROVIDER_FLAG, &holder->qual);
}

void psp_hold_reserved_provider(struct test *t, struct loop *holder)
{
        holder->psp = rsp_listen(t, DAT_HANDLE_NULL, holder->requests, &holder->qual);
}

void psp_hold_elsewhere(struct test *t, struct loop *holder)
{
        holder->psp = point_elsewhere(t, &holder->requests, &holder->qual);
}

void psp_holds_on(struct test *t, struct loop *holder, const struct psp_holder *row)
{
        if (row->hold == psp_hold_pending) {
                expect_accepted(t, holder->request, holder);
                expect_served(t, holder->psp, holder->qual, holder->requests);
                return;
        }
        loop_connect(t, holder->active, holder->qual);
        holder->request = expect_request(t, holder->requests, holder->psp, holder->qual);
        /* The loop has no EP of the second opening to accept it with. */
        if (row->hold == psp_hold_elsewhere) {
                expect_rejected(t, holder->request, holder);
                return;
        }
        if (row->hold == psp_hold_provider || row->hold == psp_hold_reserved_provider)
                expect_own_accepted(t, holder->request, holder);
        else if (row->reserved)
                expect_accepted_by(t, holder->request, DAT_HANDLE_NULL, holder);
        else
                expect_accepted(t, holder->request, holder);
}

bool psp_ep_no_zone(const DAT_EP_PARAM *param)
{
        return param->pz_handle == DAT_HANDLE_NULL;
}

bool psp_ep_no_recv_evd(const DAT_EP_PARAM *param)
{
        return param->recv_evd_handle == DAT_HANDLE_NULL;
}

bool psp_ep_no_request_evd(const DAT_EP_PARAM *param)
{
        return param->request_evd_handle == DAT_HANDLE_NULL;
}

bool psp_ep_no_connect_evd(const DAT_EP_PARAM *param)
{
        return param->connect_evd_handle == DAT_HANDLE_NULL;
}

bool psp_ep_reliable(const DAT_EP_PARAM *param)
{
        return param->ep_attr.service_type == DAT_SERVICE_TYPE_RC;
}

/* Which loop_connect() asks for. */
bool psp_ep_best_effort(const DAT_EP_PARAM *param)
{
        return param->ep_attr.qos == DAT_QOS_BEST_EFFORT;
}

bool psp_ep_tentative(const DAT_EP_PARAM *param)
{
        return param->ep_state == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING ||
               param->ep_state == DAT_EP_STATE_UNCONFIGURED_TENTATIVE;
}

void psp_check_ep(struct test *t, struct loop *loop, const struct psp_ep_field *field)
{
        DAT_EP_PARAM param;
        DAT_EP_HANDLE ep;

        loop->active = ep_with(t);
        loop_connect(t, loop->active, loop->qual);
        loop->request = expect_request(t, loop->requests, loop->psp, loop->qual);
        ep = request_ep(t, loop->request);
        expect_that(ep != DAT_HANDLE_NULL, "the provider made no EP");

        poison(&param, sizeof(param));
        expect(dat_ep_query(ep, field->bit, &param), DAT_SUCCESS);
        expect_that(field->is_right(&param), "the EP's %s is not what the page says", field->id);
        expect_rejected(t, loop->request, loop);
}

static void read_one(struct test *t, DAT_EP_HANDLE ep, struct vector *into, const struct vector *of,
                     uint64_t cookie)
{
        DAT_RMR_TRIPLET remote = vector_remote(of);

        expect(dat_ep_post_rdma_read(ep, into->count, into->iov, COOKIE(cookie), &remote,
                                     DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
}

static void read_at_once(struct test *t, DAT_EP_HANDLE ep, const struct vector *of, int reads)
{
        struct vector into[READS];

        for (int i = 0; i < reads; i++)
                into[i] = vector_with(t, .length = READ_BYTES);
        for (int i = 0; i < reads; i++)
                read_one(t, ep, &into[i], of, (uint64_t)i);
        for (int i = 0; i < reads; i++)
                expect_eq(expect_dto(ep_request_evd(t, ep)).user_cookie.as_64, i);
        for (int i = 0; i < reads; i++)
                expect_holds(&into[i], 9, READ_BYTES);
}

/* The provider makes an EP for a request without RDMA reads, and not every later one like it. */
static void connect_without_reads(struct test *t, const struct loop *loop)
{
        DAT_EP_ATTR attr = ep_attr_modest(ia_attr(t));
        struct loop other = *loop;

        attr.max_rdma_read_in = 0;
        attr.max_rdma_read_out = 0;
        other.active = ep_with(t, .attr = &attr);
        loop_connect(t, other.active, other.qual);
        other.request = expect_request(t, other.requests, other.psp, other.qual);
        expect_own_accepted(t, other.request, &other);
}

void psp_read_all(struct test *t, struct loop *loop)
{
        const DAT_IA_ATTR *ia_limits = ia_attr(t);
        DAT_EP_ATTR attr = ep_attr_modest(ia_limits);
        struct vector of;
        int reads = READS;

        if (reads > ia_limits->max_rdma_read_per_ep_out)
                reads = ia_limits->max_rdma_read_per_ep_out;
        if (reads > ia_limits->max_rdma_read_per_ep_in)
                reads = ia_limits->max_rdma_read_per_ep_in;
        if (reads == 0)
                unsupported(t, "max_rdma_read_per_ep_in or max_rdma_read_per_ep_out = 0");
        connect_without_reads(t, loop);
        attr.max_rdma_read_out = reads;
        attr.max_rdma_read_iov = 1;
        loop->active = ep_with(t, .attr = &attr);
        loop_connect(t, loop->active, loop->qual);
        loop->request = expect_request(t, loop->requests, loop->psp, loop->qual);
        expect_own_accepted(t, loop->request, loop);

        of = vector_with(t, .length = READ_BYTES);
        vector_fill(t, &of, 9);
        read_at_once(t, loop->active, &of, 1);
        read_at_once(t, loop->active, &of, reads);
}
