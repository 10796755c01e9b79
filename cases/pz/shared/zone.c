/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/pz/shared/zone.h"
#include "case/ep_attr.h"

#include <string.h>

struct zone_args zone_args(struct test *t)
{
        return (struct zone_args){
            .ia = ia(t),
            .recv_evd = evd_with(t),
            .request_evd = evd_with(t),
            .connect_evd = evd_with(t, .qlen = 8, .flags = DAT_EVD_CONNECTION_FLAG),
            .ep_attr = ep_attr_modest(ia_attr_if_told(t)),
            .srq_attr = {.max_recv_dtos = 8,
                         .max_recv_iov = 1,
                         .low_watermark = DAT_SRQ_LW_DEFAULT},
            .memory = buf_with(t),
        };
}

DAT_RETURN ep_create_in(const struct zone_args *args, DAT_PZ_HANDLE zone, DAT_HANDLE *made)
{
        return dat_ep_create(args->ia, zone, args->recv_evd, args->request_evd, args->connect_evd,
                             &args->ep_attr, made);
}

DAT_RETURN lmr_create_in(const struct zone_args *args, DAT_PZ_HANDLE zone, DAT_HANDLE *made)
{
        DAT_REGION_DESCRIPTION region = {.for_va = args->memory->addr};
        DAT_LMR_CONTEXT lmr_context;
        DAT_RMR_CONTEXT rmr_context;
        DAT_VLEN length;
        DAT_VADDR address;

        return dat_lmr_create(args->ia, DAT_MEM_TYPE_VIRTUAL, region, args->memory->length, zone,
                              DAT_MEM_PRIV_ALL_FLAG, made, &lmr_context, &rmr_context, &length,
                              &address);
}

DAT_RETURN rmr_create_in(const struct zone_args *args, DAT_PZ_HANDLE zone, DAT_HANDLE *made)
{
        (void)args;
        return dat_rmr_create(zone, made);
}

DAT_RETURN srq_create_in(const struct zone_args *args, DAT_PZ_HANDLE zone, DAT_HANDLE *made)
{
        DAT_SRQ_ATTR attr = args->srq_attr;

        return dat_srq_create(args->ia, zone, &attr, made);
}

DAT_PZ_HANDLE zone_of_ep(DAT_HANDLE made)
{
        DAT_EP_PARAM param = {.pz_handle = DAT_HANDLE_NULL};

        (void)dat_ep_query(made, DAT_EP_FIELD_PZ_HANDLE, &param);
        return param.pz_handle;
}

DAT_PZ_HANDLE zone_of_lmr(DAT_HANDLE made)
{
        DAT_LMR_PARAM param = {.pz_handle = DAT_HANDLE_NULL};

        (void)dat_lmr_query(made, DAT_LMR_FIELD_PZ_HANDLE, &param);
        return param.pz_handle;
}

DAT_PZ_HANDLE zone_of_rmr(DAT_HANDLE made)
{
        DAT_RMR_PARAM param = {.pz_handle = DAT_HANDLE_NULL};

        (void)dat_rmr_query(made, DAT_RMR_FIELD_PZ_HANDLE, &param);
        return param.pz_handle;
}

DAT_PZ_HANDLE zone_of_srq(DAT_HANDLE made)
{
        DAT_SRQ_PARAM param = {.pz_handle = DAT_HANDLE_NULL};

        (void)dat_srq_query(made, DAT_SRQ_FIELD_PZ_HANDLE, &param);
        return param.pz_handle;
}

DAT_HANDLE made_in(struct test *t, const struct zone_kind *kind, DAT_PZ_HANDLE zone)
{
        struct zone_args args = zone_args(t);
        DAT_HANDLE made = DAT_HANDLE_NULL;

        must(kind->create(&args, zone, &made));
        adopt(t, kind->type, made);
        must_that(kind->zone_of(made) == zone, "the %s is not in the zone that it was made in",
                  kind->id);
        return made;
}

struct zone_path path_in(struct test *t, DAT_PZ_HANDLE zone)
{
        struct zone_path path = {.ep = ep_with(t, .pz = zone), .buf = buf_with(t, .pz = zone)};

        path.end = must_connect(path.ep);
        return path;
}

void expect_carries(struct test *t, struct zone_path *path)
{
        DAT_LMR_TRIPLET segment = triplet(path->buf, 0, MESSAGE);
        DAT_DTO_COMPLETION_EVENT_DATA dto;

        expect(dat_ep_post_recv(path->ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = path->sent},
                                DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        peer_send(path->end, .length = MESSAGE, .first = path->sent);
        dto = expect_dto(ep_recv_evd(t, path->ep));
        expect_eq(dto.user_cookie.as_64, path->sent);
        expect_that(message_holds(path->buf->addr, MESSAGE, path->sent),
                    "the memory has not message %llu", (unsigned long long)path->sent);
        path->sent++;
}
