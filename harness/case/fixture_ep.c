/* SPDX-License-Identifier: BSD-2-Clause */
#include "case/ep_attr.h"
#include "case/limits.h"
#include "case/poison.h"
#include "case/test.h"

#define CONNECT_QLEN 8

struct object *ep_object(struct test *t, DAT_EP_HANDLE ep)
{
        struct object *object = object_find(t, ep);

        if (!object)
                object = object_of_ep(t, ep, OBJECT_CR);
        if (!object || (object->kind != OBJECT_EP && object->kind != OBJECT_CR))
                test_end(t, VERDICT_ERROR, "the EP was not made by a fixture, or is freed");
        return object;
}

#define EP_HANDLES                                                                                 \
        (DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_REQUEST_EVD_HANDLE | \
         DAT_EP_FIELD_CONNECT_EVD_HANDLE)

static bool tells_handles(const DAT_EP_PARAM *param)
{
        return !is_poison(&param->pz_handle, sizeof(param->pz_handle)) &&
               !is_poison(&param->recv_evd_handle, sizeof(param->recv_evd_handle)) &&
               !is_poison(&param->request_evd_handle, sizeof(param->request_evd_handle)) &&
               !is_poison(&param->connect_evd_handle, sizeof(param->connect_evd_handle));
}

/*
 * The query may be what is wrong. An EVD or a zone that the EP uses is refused its free, and then
 * the case continues. If the free is granted, nothing uses the object, and the case ends here.
 */
static void must_use(struct test *t, const char *call, const char *what, DAT_HANDLE told,
                     DAT_HANDLE given, DAT_RETURN (*free_it)(DAT_HANDLE))
{
        if (told == given)
                return;
        if (given != DAT_HANDLE_NULL && dat_is(free_it(given), DAT_INVALID_STATE)) {
                record(t, "%s was granted, and dat_ep_query does not show %s, which is in use",
                       call, what);
                return;
        }
        must_show(t, call, "dat_ep_query", what, false);
}

static DAT_RETURN free_zone(DAT_HANDLE zone)
{
        return dat_pz_free(zone);
}

static DAT_RETURN free_evd(DAT_HANDLE evd)
{
        return dat_evd_free(evd);
}

void ep_verify(struct test *t, DAT_EP_HANDLE ep, const char *call, const DAT_EP_PARAM *asked)
{
        DAT_EP_PARAM param;

        if (!is_asked(t, UNASKED_EP_QUERY))
                return;
        poison(&param, sizeof(param));
        if (!dat_is(dat_ep_query(ep, EP_HANDLES, &param), DAT_SUCCESS) || !tells_handles(&param)) {
                record(t, "what %s did was not looked at: dat_ep_query does not tell", call);
                return;
        }
        must_use(t, call, "its zone", param.pz_handle, asked->pz_handle, free_zone);
        must_use(t, call, "its receive EVD", param.recv_evd_handle, asked->recv_evd_handle,
                 free_evd);
        must_use(t, call, "its request EVD", param.request_evd_handle, asked->request_evd_handle,
                 free_evd);
        must_use(t, call, "its connect EVD", param.connect_evd_handle, asked->connect_evd_handle,
                 free_evd);
}

/* The pages of the calls look for themselves. */
static void verify_made(struct test *t, DAT_EP_HANDLE ep, const char *call, DAT_PZ_HANDLE zone)
{
        const struct object *object = ep_object(t, ep);
        DAT_EP_PARAM asked = {
            .pz_handle = zone,
            .recv_evd_handle = object->recv_evd,
            .request_evd_handle = object->request_evd,
            .connect_evd_handle = object->connect_evd,
        };

        if (!is_of_page(t, "ep_query") && !is_of_page(t, "ep_modify") && !is_of_page(t, call + 4))
                ep_verify(t, ep, call, &asked);
}

DAT_EP_HANDLE ep_make(struct test *t, struct ep_opts opts)
{
        DAT_PZ_HANDLE zone = opts.pz ? opts.pz : pz(t);
        DAT_EVD_HANDLE recv = opts.recv_evd ? opts.recv_evd : evd_with(t);
        DAT_EVD_HANDLE request = opts.request_evd ? opts.request_evd : evd_with(t);
        DAT_EVD_HANDLE connect = opts.connect_evd;
        DAT_EP_ATTR attr = ep_attr_modest(ia_attr_if_told(t));
        DAT_EP_HANDLE made = DAT_HANDLE_NULL;
        struct object *object;

        if (opts.attr)
                attr = *opts.attr;
        if (!connect)
                connect = evd_with(t, .qlen = CONNECT_QLEN, .flags = DAT_EVD_CONNECTION_FLAG);
        if (opts.srq)
                arrange_one(EP, dat_ep_create_with_srq(t->ia, zone, recv, request, connect,
                                                       opts.srq, &attr, &made));
        else
                arrange_one(EP, dat_ep_create(t->ia, zone, recv, request, connect, &attr, &made));
        object = object_add(t, OBJECT_EP, made);
        object->zone = zone;
        object->srq = opts.srq;
        object->recv_evd = recv;
        object->request_evd = request;
        object->connect_evd = connect;
        verify_made(t, made, opts.srq ? "dat_ep_create_with_srq" : "dat_ep_create", zone);
        return made;
}

bool ep_made_with(struct test *t, DAT_EP_HANDLE ep, DAT_PZ_HANDLE *zone, DAT_SRQ_HANDLE *srq)
{
        const struct object *object = object_find(t, ep);

        if (!object || !object->zone)
                return false;
        *zone = object->zone;
        *srq = object->srq;
        return true;
}

DAT_EVD_HANDLE ep_recv_evd(struct test *t, DAT_EP_HANDLE ep)
{
        return ep_object(t, ep)->recv_evd;
}

DAT_EVD_HANDLE ep_request_evd(struct test *t, DAT_EP_HANDLE ep)
{
        return ep_object(t, ep)->request_evd;
}

DAT_EVD_HANDLE ep_connect_evd(struct test *t, DAT_EP_HANDLE ep)
{
        return ep_object(t, ep)->connect_evd;
}
