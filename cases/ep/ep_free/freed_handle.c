/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_free: the freed handle and invalid arguments. */
#include "case/standard.h"
#include "cases/ep/ep_free/fixtures.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/handles.h"
#include "cases/shared/point.h"
#include "clauses/ep_free.h"

#include <string.h>

/*
 * The handle afterwards
 */

/* What the calls below take besides the EP. */
static struct {
        DAT_IA_HANDLE ia;
        DAT_IA_ADDRESS_PTR address;
        DAT_EVD_HANDLE requests;
        DAT_LMR_TRIPLET segment;
        DAT_RMR_TRIPLET remote;
        DAT_EP_HANDLE other;
        DAT_RMR_HANDLE rmr;
        DAT_CONN_QUAL qual;
} beside;

static DAT_RETURN get_status(void *ep)
{
        DAT_EP_STATE state;
        DAT_BOOLEAN recv_idle;
        DAT_BOOLEAN request_idle;

        return dat_ep_get_status(ep, &state, &recv_idle, &request_idle);
}

static DAT_RETURN modify(void *ep)
{
        DAT_EP_PARAM param = {.ep_attr = {.max_message_size = 4096}};

        return dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE, &param);
}

static DAT_RETURN post_recv(void *ep)
{
        return dat_ep_post_recv(ep, 1, &beside.segment, COOKIE(0), DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN post_send(void *ep)
{
        return dat_ep_post_send(ep, 1, &beside.segment, COOKIE(0), DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN post_rdma_write(void *ep)
{
        return dat_ep_post_rdma_write(ep, 1, &beside.segment, COOKIE(0), &beside.remote,
                                      DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN post_rdma_read(void *ep)
{
        return dat_ep_post_rdma_read(ep, 1, &beside.segment, COOKIE(0), &beside.remote,
                                     DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN bind_by(void *ep)
{
        DAT_RMR_CONTEXT context;

        return dat_rmr_bind(beside.rmr, &beside.segment, DAT_MEM_PRIV_REMOTE_READ_FLAG, ep,
                            (DAT_RMR_COOKIE){.as_64 = 0}, DAT_COMPLETION_DEFAULT_FLAG, &context);
}

static DAT_RETURN recv_query(void *ep)
{
        DAT_COUNT count;
        DAT_COUNT span;

        return dat_ep_recv_query(ep, &count, &span);
}

static DAT_RETURN set_watermark(void *ep)
{
        return dat_ep_set_watermark(ep, DAT_WATERMARK_INFINITE, DAT_WATERMARK_INFINITE);
}

static DAT_RETURN connect_it(void *ep)
{
        return dat_ep_connect(ep, beside.address, beside.qual, DAT_TIMEOUT_INFINITE, 0, NULL,
                              DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

static DAT_RETURN dup_connect(void *ep)
{
        return dat_ep_dup_connect(ep, beside.other, DAT_TIMEOUT_INFINITE, 0, NULL,
                                  DAT_QOS_BEST_EFFORT);
}

static DAT_RETURN dup_connect_like(void *ep)
{
        return dat_ep_dup_connect(beside.other, ep, DAT_TIMEOUT_INFINITE, 0, NULL,
                                  DAT_QOS_BEST_EFFORT);
}

static DAT_RETURN disconnect(void *ep)
{
        return dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG);
}

static DAT_RETURN reset(void *ep)
{
        return dat_ep_reset(ep);
}

static DAT_RETURN rsp_create(void *ep)
{
        DAT_RSP_HANDLE made;

        return dat_rsp_create(beside.ia, beside.qual, ep, beside.requests, &made);
}

/* Where its state would not refuse the call, an EP is freed Connected or Disconnected too. */
static const struct use {
        const char *id;
        DAT_RETURN (*call)(void *ep);
        void (*lead)(struct test *t, struct loop *loop);
} uses[] = {
    {"query", query, NULL},
    {"get_status", get_status, NULL},
    {"modify", modify, NULL},
    {"post_recv", post_recv, NULL},
    {"post_send", post_send, loop_join},
    {"post_rdma_write", post_rdma_write, loop_join},
    {"post_rdma_read", post_rdma_read, loop_join},
    {"rmr_bind", bind_by, NULL},
    {"recv_query", recv_query, NULL},
    {"set_watermark", set_watermark, NULL},
    {"connect", connect_it, NULL},
    {"dup_connect", dup_connect, NULL},
    {"dup_connect_like", dup_connect_like, loop_join},
    {"disconnect", disconnect, loop_join},
    {"reset", reset, ep_turn_leave},
    {"rsp_create", rsp_create, NULL},
};

/* An EP that was freed in the state that the row leads to, with all that the call needs. */
static DAT_EP_HANDLE gone_after(struct test *t, const struct use *row)
{
        DAT_COUNT reads = row->call == post_rdma_read && ia_attr(t)->max_rdma_read_per_ep_out > 0 &&
                          ia_attr(t)->max_rdma_read_per_ep_in > 0;
        DAT_EP_ATTR attr = transfer_attr(t, (struct transfer_opts){.reads = reads});
        struct loop loop =
            loop_of(t, (struct ep_opts){.attr = &attr}, (struct ep_opts){.attr = &attr});

        row->lead(t, &loop);
        free_now(t, loop.active);
        return loop.active;
}

FAMILY(ep_free, handle_afterwards, uses)
{
        struct buf *buf = buf_with(t);

        beside.ia = ia(t);
        beside.address = ia_address(t);
        beside.requests = request_evd(t);
        beside.segment = triplet(buf, 0, MESSAGE);
        beside.remote = (DAT_RMR_TRIPLET){
            .rmr_context = buf->rmr_context,
            .target_address = (DAT_VADDR)(uintptr_t)buf->addr,
            .segment_length = MESSAGE,
        };
        beside.other = ep_with(t);
        beside.qual = point_qual(t);
        if (row->call == bind_by) {
                must(dat_rmr_create(pz(t), &beside.rmr));
                adopt(t, DAT_HANDLE_TYPE_RMR, beside.rmr);
        }

        if (row->lead)
                expect_stale(row->call, live_handle(t, DAT_HANDLE_TYPE_EP), gone_after(t, row));
        expect_stale(row->call, live_handle(t, DAT_HANDLE_TYPE_EP),
                     bad_handle(t, DAT_HANDLE_TYPE_EP, BAD_HANDLE_DESTROYED));
}

/* A request is accepted by no EP that is gone, and then by one that is there. */
CASE(ep_free, not_accepted_with)
{
        struct loop loop = loop_new(t);
        DAT_EP_HANDLE gone;
        DAT_RETURN ret;

        loop_ask(t, &loop);
        loop_take_request(t, &loop);
        gone = ep_with(t);
        free_now(t, gone);
        ret = dat_cr_accept(loop.request, gone, 0, NULL);
        expect_that(!dat_is(ret, DAT_SUCCESS), "a request was accepted with an EP that is gone");
        expect(dat_cr_accept(loop.request, loop.passive, 0, NULL), DAT_SUCCESS);
        expect_event(ep_connect_evd(t, loop.active), DAT_CONNECTION_EVENT_ESTABLISHED);
}

CASE(ep_free, second_free)
{
        DAT_EP_HANDLE other = ep_with(t);
        DAT_EP_HANDLE gone = bad_handle(t, DAT_HANDLE_TYPE_EP, BAD_HANDLE_DESTROYED);
        DAT_RETURN ret;

        if (subprocess_call(t, dat_ep_free, gone, &ret))
                record(t, "a second free of an EP returned %s", name_of_return(ret));
        free_now(t, other);
}

/*
 * Arguments
 */

FAMILY(ep_free, invalid_handle, invalid_handles)
{
        DAT_EP_HANDLE ep = ep_with(t);

        expect(dat_ep_free(bad_handle(t, DAT_HANDLE_TYPE_EP, row->how)), DAT_INVALID_HANDLE);
        free_now(t, ep);
}

CASE(ep_free, other_kind_kept)
{
        DAT_EVD_HANDLE evd = evd_with(t);
        DAT_EVD_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        (void)dat_ep_free(evd);

        expect(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param), DAT_SUCCESS);
        expect_that(param.ia_handle == ia(t), "the EVD is of another IA");
}
