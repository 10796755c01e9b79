/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_lmr_create: the parameters of the new LMR. */
#include "cases/lmr/lmr_create/fixtures.h"
#include "cases/lmr/shared/region.h"
#include "clauses/lmr_create.h"

FAMILY(lmr_create, created, types)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct region_opts opts = {.pz = zone};
        struct region region = created(t, of_type(t, row, opts));
        DAT_LMR_PARAM param = region_param(t, region.lmr);

        expect_that(param.ia_handle == ia(t), "the LMR is of another IA");
        expect_that(param.pz_handle == zone, "the LMR is in another PZ");
        expect_eq(param.mem_type, row->type);
        expect_eq(param.mem_priv, DAT_MEM_PRIV_ALL_FLAG);
        expect_eq(param.lmr_context, region.lmr_context);
        expect_eq(param.rmr_context, region.rmr_context);
        expect_eq(param.registered_size, region.registered_size);
        expect_eq(param.registered_address, region.registered_address);
}

static void expect_one_use(struct test *t, DAT_MEM_TYPE type, const struct use *use)
{
        struct type_row row = {.type = type};
        struct region_opts opts = {.length = 2 * REGION_PAGE};
        struct wire wire;
        struct region region;

        use_supported(t, use);
        wire = wire_in(t, pz(t));
        region = created(t, of_type(t, &row, opts));
        expect_moves(t, &wire, &region, use, 0, region.length);
        expect_moves(t, &wire, &region, use, 1, region.length - 1);
}

FAMILY(lmr_create, virtual_used, uses)
{
        expect_one_use(t, DAT_MEM_TYPE_VIRTUAL, row);
}

FAMILY(lmr_create, of_lmr_used, uses)
{
        expect_one_use(t, DAT_MEM_TYPE_LMR, row);
}

FAMILY(lmr_create, shared_used, uses)
{
        expect_one_use(t, DAT_MEM_TYPE_SHARED_VIRTUAL, row);
}

static const struct part {
        const char *id;
        ptrdiff_t offset;
        size_t length;
} parts[] = {
    {"whole", 0, 2 * REGION_PAGE},
    {"middle", 1001, REGION_PAGE + 7},
};

FAMILY(lmr_create, bound, parts)
{
        struct wire wire = wire_for_binds(t, pz(t));
        struct region region = created_with(t, .length = 2 * REGION_PAGE);
        struct region window = window_of(&region, row->offset, row->length);
        struct bound bound;
        DAT_EVENT event;

        use_supported(t, USE_REMOTE_READ);
        expect(window_open(t, &wire, &region, window, REMOTE_READ | REMOTE_WRITE, &bound),
               DAT_SUCCESS);
        event = expect_event(ep_request_evd(t, wire.here), DAT_RMR_BIND_COMPLETION_EVENT);
        expect_eq(event.event_data.rmr_completion_event_data.status, DAT_RMR_BIND_SUCCESS);
        expect_moves(t, &wire, &bound.window, USE_REMOTE_SET, 0, row->length);
        expect_moves(t, &wire, &bound.window, USE_REMOTE_READ, 0, row->length);
}

FAMILY(lmr_create, by_peer, types)
{
        DAT_EP_HANDLE ep;
        struct peer_ep *end;
        struct region_opts opts = {.length = REGION_PAGE + 77};
        struct region region = created(t, of_type(t, row, opts));
        DAT_EP_ATTR attr = transfer_attr(t, (struct transfer_opts){.reads = 1});
        DAT_LMR_TRIPLET segment = {.lmr_context = region.lmr_context,
                                   .virtual_address = (DAT_VADDR)(uintptr_t)region.addr,
                                   .segment_length = region.length};

        use_supported(t, USE_REMOTE_READ);
        peer_reads(peer(t), 1);
        ep = ep_with(t, .attr = &attr);
        end = must_connect(ep);
        must(dat_ep_post_recv(ep, 1, &segment, COOKIE(1), DAT_COMPLETION_DEFAULT_FLAG));
        peer_send(end, .length = region.length, .first = 3);
        expect_eq(expect_dto(ep_recv_evd(t, ep)).transfered_length, region.length);
        expect_that(message_holds(region.addr, region.length, 3), "the memory has not the message");
        message_fill(region.addr, region.length, 0);
        expect_that(
            peer_read(end, region.rmr_context, (DAT_VADDR)(uintptr_t)region.addr, region.length),
            "the peer could not read the memory");
}
