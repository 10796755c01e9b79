/* SPDX-License-Identifier: BSD-2-Clause */
#include "case/step.h"

#include <string.h>

#include "evidence/api.h"
#include "evidence/trace.h"

#define CALLS_MAX 6

static const struct promise_of_event {
        DAT_EVENT_NUMBER number;
        const char *calls[CALLS_MAX];
} promises[] = {
    {DAT_DTO_COMPLETION_EVENT,
     {"dat_ep_post_send", "dat_ep_post_recv", "dat_ep_post_rdma_read", "dat_ep_post_rdma_write",
      "dat_srq_post_recv"}},
    {DAT_RMR_BIND_COMPLETION_EVENT, {"dat_rmr_bind"}},
    {DAT_CONNECTION_REQUEST_EVENT,
     {"dat_psp_create", "dat_psp_create_any", "dat_rsp_create", "dat_cr_handoff"}},
    {DAT_CONNECTION_EVENT_ESTABLISHED, {"dat_ep_connect", "dat_ep_dup_connect", "dat_cr_accept"}},
    {DAT_CONNECTION_EVENT_PEER_REJECTED, {"dat_ep_connect", "dat_ep_dup_connect", "dat_cr_reject"}},
    {DAT_CONNECTION_EVENT_NON_PEER_REJECTED, {"dat_ep_connect", "dat_ep_dup_connect"}},
    {DAT_CONNECTION_EVENT_TIMED_OUT, {"dat_ep_connect", "dat_ep_dup_connect"}},
    {DAT_CONNECTION_EVENT_UNREACHABLE, {"dat_ep_connect", "dat_ep_dup_connect"}},
    {DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, {"dat_cr_accept"}},
    {DAT_CONNECTION_EVENT_DISCONNECTED, {"dat_ep_disconnect"}},
    {DAT_SOFTWARE_EVENT, {"dat_evd_post_se"}},
};

/* dat_ia_open() is a macro for dat_ia_openv(). */
static bool is_page_of(const char *page, const char *call)
{
        if (strcmp(call, "dat_ia_openv") == 0)
                call = "dat_ia_open";
        return strncmp(call, "dat_", 4) == 0 && strcmp(page, call + 4) == 0;
}

bool step_is_own(const char *page, const char *call)
{
        for (size_t i = 0; i < api_function_count; i++)
                if (is_page_of(page, api_functions[i].name))
                        return is_page_of(page, call);
        return true;
}

const char *step_of_event(DAT_EVENT_NUMBER number)
{
        for (size_t i = 0; i < sizeof(promises) / sizeof(promises[0]); i++)
                if (promises[i].number == number) {
                        const char *call = trace_newest_of(promises[i].calls, CALLS_MAX);

                        return call ? call : "dat_evd_wait";
                }
        return "dat_evd_wait";
}

bool step_brings(const char *page, DAT_EVENT_NUMBER number)
{
        for (size_t i = 0; i < sizeof(promises) / sizeof(promises[0]); i++)
                for (size_t j = 0; j < CALLS_MAX && promises[i].calls[j]; j++)
                        if (promises[i].number == number && is_page_of(page, promises[i].calls[j]))
                                return true;
        return false;
}

const char *step_of_last_call(void)
{
        DAT_RETURN ret;
        const char *call = trace_last(&ret);

        return call ? call : "";
}
