/* SPDX-License-Identifier: BSD-2-Clause */
/* Steps that make and end connections: EPs, PSPs, RSPs and requests. */
#include "case.h"
#include "walk.h"

static DAT_RETURN ep_connect(struct walk *walk, const long *arg)
{
        return dat_ep_connect(walk_object(walk, arg[0]), ia_attr(walk->t)->ia_address_ptr,
                              walk_qualifier(walk, arg[1]), CONNECT_MS * US_PER_MS,
                              count_of(arg[2]), walk_private_data(walk, arg[2]),
                              DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

static DAT_RETURN ep_connect_within(struct walk *walk, const long *arg)
{
        return dat_ep_connect(walk_object(walk, arg[0]), ia_attr(walk->t)->ia_address_ptr,
                              walk_qualifier(walk, arg[1]), (DAT_TIMEOUT)(arg[3] * US_PER_MS),
                              count_of(arg[2]), walk_private_data(walk, arg[2]),
                              DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

static DAT_RETURN ep_dup_connect(struct walk *walk, const long *arg)
{
        return dat_ep_dup_connect(walk_object(walk, arg[0]), walk_object(walk, arg[1]),
                                  CONNECT_MS * US_PER_MS, count_of(arg[2]),
                                  walk_private_data(walk, arg[2]), DAT_QOS_BEST_EFFORT);
}

static DAT_RETURN ep_disconnect(struct walk *walk, const long *arg)
{
        return dat_ep_disconnect(walk_object(walk, arg[0]),
                                 arg[1] ? DAT_CLOSE_GRACEFUL_FLAG : DAT_CLOSE_ABRUPT_FLAG);
}

/* Private data of an EP lasts until this call at most; it is looked at before. */
static DAT_RETURN ep_reset(struct walk *walk, const long *arg)
{
        walk_look_again(walk);
        walk_forget(walk, walk_object(walk, arg[0]));
        return dat_ep_reset(walk_object(walk, arg[0]));
}

static DAT_RETURN ep_free(struct walk *walk, const long *arg)
{
        walk_look_again(walk);
        walk_forget(walk, walk_object(walk, arg[0]));
        return walk_gone(walk, arg[0], dat_ep_free(walk_object(walk, arg[0])));
}

static DAT_RETURN psp_create_for(struct walk *walk, const long *arg, DAT_PSP_FLAGS flags)
{
        DAT_PSP_HANDLE made = DAT_HANDLE_NULL;

        if (!walk_is_free(walk, arg[0], PSP))
                return walk->said;
        return walk_keep(walk, arg[0],
                         dat_psp_create_any(walk_ia_of(walk, arg[0]),
                                            &walk->qualifier[slot_of(arg[0])],
                                            walk_object(walk, arg[1]), flags, &made),
                         &made);
}

static DAT_RETURN psp_create_any(struct walk *walk, const long *arg)
{
        return psp_create_for(walk, arg, DAT_PSP_CONSUMER_FLAG);
}

/* EPs for its requests are made by the provider. */
static DAT_RETURN psp_create_making(struct walk *walk, const long *arg)
{
        return psp_create_for(walk, arg, DAT_PSP_PROVIDER_FLAG);
}

static DAT_RETURN psp_create(struct walk *walk, const long *arg)
{
        DAT_PSP_HANDLE made = DAT_HANDLE_NULL;
        DAT_CONN_QUAL qualifier = (DAT_CONN_QUAL)arg[1];
        DAT_RETURN ret;

        if (!walk_is_free(walk, arg[0], PSP))
                return walk->said;
        ret = dat_psp_create(walk_ia_of(walk, arg[0]), qualifier, walk_object(walk, arg[2]),
                             DAT_PSP_CONSUMER_FLAG, &made);
        if (dat_is(ret, DAT_SUCCESS))
                walk->qualifier[slot_of(arg[0])] = qualifier;
        return walk_keep(walk, arg[0], ret, &made);
}

static DAT_RETURN psp_query(struct walk *walk, const long *arg)
{
        DAT_PSP_PARAM param;

        return dat_psp_query(walk_object(walk, arg[0]), MASK(arg[1], DAT_PSP_FIELD_ALL), &param);
}

static DAT_RETURN psp_free(struct walk *walk, const long *arg)
{
        return walk_gone(walk, arg[0], dat_psp_free(walk_object(walk, arg[0])));
}

static DAT_RETURN rsp_create(struct walk *walk, const long *arg)
{
        DAT_RSP_HANDLE made = DAT_HANDLE_NULL;

        if (!walk_is_free(walk, arg[0], RSP))
                return walk->said;
        return walk_keep(walk, arg[0],
                         dat_rsp_create(walk_ia_of(walk, arg[0]), walk_qualifier(walk, arg[0]),
                                        walk_object(walk, arg[1]), walk_object(walk, arg[2]),
                                        &made),
                         &made);
}

static DAT_RETURN rsp_query(struct walk *walk, const long *arg)
{
        DAT_RSP_PARAM param;

        return dat_rsp_query(walk_object(walk, arg[0]), MASK(arg[1], DAT_RSP_FIELD_ALL), &param);
}

static DAT_RETURN rsp_free(struct walk *walk, const long *arg)
{
        return walk_gone(walk, arg[0], dat_rsp_free(walk_object(walk, arg[0])));
}

static DAT_RETURN cr_query(struct walk *walk, const long *arg)
{
        DAT_CR_HANDLE request = walk_object(walk, arg[0]);
        DAT_CR_PARAM param;
        DAT_RETURN ret = dat_cr_query(request, MASK(arg[1], DAT_CR_FIELD_ALL), &param);

        if (arg[1] < 0 && dat_is(ret, DAT_SUCCESS))
                walk_remember(walk, request, "evd_dequeue/request_lasts", param.private_data,
                              param.private_data_size);
        return ret;
}

/* The call may be the end of a request: its private data is looked at before. */
static DAT_CR_HANDLE ending(struct walk *walk, long number)
{
        DAT_CR_HANDLE request = walk_object(walk, number);

        walk_look_again(walk);
        walk_forget(walk, request);
        return request;
}

static DAT_RETURN cr_accept(struct walk *walk, const long *arg)
{
        return walk_gone(walk, arg[0],
                         dat_cr_accept(ending(walk, arg[0]), walk_object(walk, arg[1]),
                                       count_of(arg[2]), walk_private_data(walk, arg[2])));
}

/* Accepts for the EP that the provider has made, which has its slot from then on. */
static DAT_RETURN cr_accept_made(struct walk *walk, const long *arg)
{
        DAT_CR_HANDLE request = walk_object(walk, arg[0]);
        DAT_CR_PARAM param = {.local_ep_handle = DAT_HANDLE_NULL};
        DAT_EP_HANDLE made;
        DAT_RETURN ret;

        if (!walk_is_free(walk, arg[1], EP))
                return walk->said;
        ret = dat_cr_query(request, DAT_CR_FIELD_ALL, &param);
        if (!dat_is(ret, DAT_SUCCESS))
                return ret;
        made = param.local_ep_handle;
        ret = dat_cr_accept(ending(walk, arg[0]), DAT_HANDLE_NULL, count_of(arg[2]),
                            walk_private_data(walk, arg[2]));
        walk_gone(walk, arg[0], ret);
        return made == DAT_HANDLE_NULL ? ret : walk_keep(walk, arg[1], ret, &made);
}

static DAT_RETURN cr_handoff(struct walk *walk, const long *arg)
{
        return walk_gone(walk, arg[0],
                         dat_cr_handoff(ending(walk, arg[0]), walk_qualifier(walk, arg[1])));
}

static DAT_RETURN cr_reject(struct walk *walk, const long *arg)
{
        return walk_gone(walk, arg[0], dat_cr_reject(ending(walk, arg[0])));
}

const struct move connection_moves[] = {
    STEP(ep_connect, 3),        STEP(ep_connect_within, 4),
    STEP(ep_dup_connect, 3),    STEP(ep_disconnect, 2),
    STEP(ep_reset, 1),          STEP(ep_free, 1),
    STEP(psp_create, 3),        STEP(psp_create_any, 2),
    STEP(psp_create_making, 2), STEP(psp_query, 2),
    STEP(psp_free, 1),          STEP(rsp_create, 3),
    STEP(rsp_query, 2),         STEP(rsp_free, 1),
    STEP(cr_query, 2),          STEP(cr_accept, 3),
    STEP(cr_accept_made, 3),    STEP(cr_handoff, 2),
    STEP(cr_reject, 1),         {.name = NULL},
};
