/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/handle/shared/object.h"
#include "cases/cno/shared/agent.h"
#include "cases/shared/point.h"
#include "cases/shared/rmr.h"

#include <string.h>

static DAT_HANDLE new_cno(struct test *t)
{
        DAT_CNO_HANDLE made = DAT_HANDLE_NULL;

        must(dat_cno_create(ia(t), DAT_OS_WAIT_PROXY_AGENT_NULL, &made));
        adopt(t, DAT_HANDLE_TYPE_CNO, made);
        return made;
}

static DAT_HANDLE new_rmr(struct test *t)
{
        DAT_RMR_HANDLE made = DAT_HANDLE_NULL;

        must(dat_rmr_create(pz(t), &made));
        adopt(t, DAT_HANDLE_TYPE_RMR, made);
        return made;
}

static DAT_HANDLE new_psp(struct test *t)
{
        DAT_CONN_QUAL qual;

        return loop_listen(t, request_evd(t), psp_flags_granted(t), &qual);
}

static DAT_HANDLE new_rsp(struct test *t)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_EP_HANDLE ep = ep_with(t);
        DAT_CONN_QUAL qual;

        return rsp_listen(t, ep, evd, &qual);
}

static DAT_HANDLE new_request(struct test *t, struct loop *loop)
{
        *loop = loop_new(t);
        loop_ask(t, loop);
        loop_take_request(t, loop);
        return loop->request;
}

struct live live_object(struct test *t, DAT_HANDLE_TYPE type, bool second)
{
        struct live live = {.type = type};

        switch (type) {
        case DAT_HANDLE_TYPE_IA:
                live.handle = second ? other_ia(t) : ia(t);
                break;
        case DAT_HANDLE_TYPE_EP:
                live.handle = ep_with(t);
                break;
        case DAT_HANDLE_TYPE_EVD:
                live.handle = evd_with(t, .flags = DAT_EVD_SOFTWARE_FLAG);
                break;
        case DAT_HANDLE_TYPE_CR:
                live.handle = new_request(t, &live.loop);
                break;
        case DAT_HANDLE_TYPE_RSP:
                live.handle = new_rsp(t);
                break;
        case DAT_HANDLE_TYPE_PSP:
                live.handle = new_psp(t);
                break;
        case DAT_HANDLE_TYPE_PZ:
                live.handle = pz_new(t);
                break;
        case DAT_HANDLE_TYPE_LMR:
                live.buf = buf_with(t);
                live.handle = live.buf->lmr;
                break;
        case DAT_HANDLE_TYPE_RMR:
                live.handle = new_rmr(t);
                break;
        case DAT_HANDLE_TYPE_CNO:
                live.handle = new_cno(t);
                break;
        case DAT_HANDLE_TYPE_SRQ:
                live.handle = srq_with(t);
                break;
        default:
                suite_that(false, "there is no way to make an object of type %d", (int)type);
        }
        return live;
}

size_t live_objects(struct test *t, const struct object_kind *kinds, size_t count,
                    struct live *lives)
{
        size_t made = 0;

        for (size_t i = 0; i < count; i++) {
                struct live live =
                    kinds[i].type == DAT_HANDLE_TYPE_RMR
                        ? (struct live){.type = kinds[i].type, .handle = rmr_if_any(t, pz(t))}
                        : live_object(t, kinds[i].type, false);

                if (live.handle != DAT_HANDLE_NULL)
                        lives[made++] = live;
        }
        return made;
}

void live_end(struct test *t, const struct live *live)
{
        if (live->type == DAT_HANDLE_TYPE_CR)
                must(dat_cr_reject(live->handle));
}

void live_free(struct test *t, const struct live *live)
{
        if (live->type == DAT_HANDLE_TYPE_CR)
                live_end(t, live);
        else
                release(t, live->handle);
}

DAT_HANDLE own_async_evd(struct test *t)
{
        return async_evd(t);
}

DAT_HANDLE made_async_evd(struct test *t)
{
        return evd_with(t, .flags = DAT_EVD_ASYNC_FLAG);
}

DAT_HANDLE made_request_evd(struct test *t)
{
        return request_evd(t);
}

DAT_HANDLE made_dto_evd(struct test *t)
{
        return evd_with(t, .flags = DAT_EVD_DTO_FLAG);
}

DAT_HANDLE cno_of_agent(struct test *t)
{
        return cno_with(t, agent_new(t));
}

DAT_HANDLE ep_connected(struct test *t)
{
        struct loop loop = loop_new(t);

        loop_join(t, &loop);
        return loop.active;
}

DAT_HANDLE ep_disconnected(struct test *t)
{
        DAT_EP_HANDLE ep = ep_connected(t);

        must(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_DISCONNECTED);
        return ep;
}

DAT_HANDLE ep_of_srq(struct test *t)
{
        return ep_with(t, .srq = srq_with(t));
}

/* It is Connected: a request that is left standing would be the case's to end. */
DAT_HANDLE ep_of_provider(struct test *t)
{
        struct loop loop = loop_new(t);

        loop.psp = loop_listen(t, loop.requests, DAT_PSP_PROVIDER_FLAG, &loop.qual);
        loop_connect(t, loop.active, loop.qual);
        loop_take_request(t, &loop);
        return expect_own_accepted(t, loop.request, &loop);
}

DAT_HANDLE psp_of_providers_eps(struct test *t)
{
        DAT_CONN_QUAL qual;

        return loop_listen(t, request_evd(t), DAT_PSP_PROVIDER_FLAG, &qual);
}

DAT_HANDLE rsp_of_providers_ep(struct test *t)
{
        DAT_CONN_QUAL qual;

        return rsp_new(t, DAT_HANDLE_NULL, request_evd(t), &qual);
}

void expect_context(struct test *t, DAT_HANDLE handle, uint64_t context)
{
        DAT_CONTEXT told;

        memset(&told, 0xa5, sizeof(told));
        expect(dat_get_consumer_context(handle, &told), DAT_SUCCESS);
        expect_that(told.as_64 == context, "the context is 0x%llx, not 0x%llx",
                    (unsigned long long)told.as_64, (unsigned long long)context);
}

uint64_t draw_context(struct test *t)
{
        return draw(t, UINT64_MAX) + 1;
}
