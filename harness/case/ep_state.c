/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of an EP, as the provider reports it. */
#include "case/poison.h"
#include "case/step.h"
#include "case/test.h"

/* The states that a header adds for EPs yet to be configured count as the plain ones (GEN-7). */
DAT_EP_STATE plain_ep_state(DAT_EP_STATE state)
{
        switch (state) {
        case DAT_EP_STATE_UNCONFIGURED_UNCONNECTED:
                return DAT_EP_STATE_UNCONNECTED;
        case DAT_EP_STATE_UNCONFIGURED_RESERVED:
                return DAT_EP_STATE_RESERVED;
        case DAT_EP_STATE_UNCONFIGURED_PASSIVE:
                return DAT_EP_STATE_PASSIVE_CONNECTION_PENDING;
        case DAT_EP_STATE_UNCONFIGURED_TENTATIVE:
                return DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING;
        default:
                return state;
        }
}

static DAT_RETURN ask_state(DAT_EP_HANDLE ep, DAT_EP_STATE *state)
{
        DAT_BOOLEAN recv_idle;
        DAT_BOOLEAN request_idle;

        poison(state, sizeof(*state));
        return dat_ep_get_status(ep, state, &recv_idle, &request_idle);
}

DAT_EP_STATE ep_state(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EP_STATE state;

        arrange(ask_state(ep, &state));
        must_be_written(t, "dat_ep_get_status", "the state", &state, sizeof(state));
        return plain_ep_state(state);
}

/* The page of the call looks by another one. */
DAT_EP_STATE ep_known_state(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EP_PARAM param;

        if (!is_of_page(t, "ep_get_status"))
                return ep_state(t, ep);
        poison(&param, sizeof(param));
        arrange(dat_ep_query(ep, DAT_EP_FIELD_EP_STATE, &param));
        MUST_BE_WRITTEN("dat_ep_query", param, ep_state);
        return plain_ep_state(param.ep_state);
}

void must_be_connected(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EP_STATE state;

        if (is_of_page(t, "ep_get_status"))
                return;
        if (!dat_is(ask_state(ep, &state), DAT_SUCCESS) || is_poison(&state, sizeof(state))) {
                record(t, "the connection was not looked at: dat_ep_get_status does not tell");
                return;
        }
        must_show(t, step_of_event(DAT_CONNECTION_EVENT_ESTABLISHED), "dat_ep_get_status",
                  "the connection", plain_ep_state(state) == DAT_EP_STATE_CONNECTED);
}
