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

/* One of the two calls that tell an EP's state. */
struct state_query {
        enum unasked call;
        const char *page;
        DAT_RETURN (*ask)(DAT_EP_HANDLE ep, DAT_EP_STATE *state);
};

static DAT_RETURN ask_status(DAT_EP_HANDLE ep, DAT_EP_STATE *state)
{
        DAT_BOOLEAN recv_idle;
        DAT_BOOLEAN request_idle;

        return dat_ep_get_status(ep, state, &recv_idle, &request_idle);
}

static DAT_RETURN ask_query(DAT_EP_HANDLE ep, DAT_EP_STATE *state)
{
        DAT_EP_PARAM param;
        DAT_RETURN ret;

        poison(&param, sizeof(param));
        ret = dat_ep_query(ep, DAT_EP_FIELD_EP_STATE, &param);
        *state = param.ep_state;
        return ret;
}

static const struct state_query by_status = {UNASKED_EP_STATUS, "ep_get_status", ask_status};
static const struct state_query by_query = {UNASKED_EP_QUERY, "ep_query", ask_query};

/*
 * The call by which a case may ask: `first`, or the other one where a probe got no answer from
 * that. A case never looks by the call of its own page in place of the other one. NULL: by none.
 */
static const struct state_query *way_to_ask(struct test *t, const struct state_query *first)
{
        const struct state_query *other = first == &by_status ? &by_query : &by_status;

        if (is_asked(t, first->call))
                return first;
        return !is_of_page(t, other->page) && is_asked(t, other->call) ? other : NULL;
}

static DAT_EP_STATE state_by(struct test *t, const struct state_query *first, DAT_EP_HANDLE ep)
{
        const struct state_query *way = way_to_ask(t, first);
        DAT_EP_STATE state;

        if (!way)
                step_failed(t, STEP_SITE_(t), unasked_call(first->call), "no answer to the probe",
                            "%s", t->settings->probe->unasked[first->call]);
        poison(&state, sizeof(state));
        arrange(way->ask(ep, &state));
        must_be_written(t, unasked_call(way->call), "the state", &state, sizeof(state));
        return plain_ep_state(state);
}

DAT_EP_STATE ep_state(struct test *t, DAT_EP_HANDLE ep)
{
        return state_by(t, &by_status, ep);
}

bool ep_query_answers(struct test *t)
{
        return is_asked(t, UNASKED_EP_QUERY);
}

/* The page of the call looks by another one. */
DAT_EP_STATE ep_known_state(struct test *t, DAT_EP_HANDLE ep)
{
        return state_by(t, is_of_page(t, "ep_get_status") ? &by_query : &by_status, ep);
}

bool ep_state_told(struct test *t, DAT_EP_HANDLE ep, DAT_EP_STATE *state)
{
        const struct state_query *way =
            way_to_ask(t, is_of_page(t, "ep_get_status") ? &by_query : &by_status);

        poison(state, sizeof(*state));
        if (!way || !dat_is(way->ask(ep, state), DAT_SUCCESS) || is_poison(state, sizeof(*state)))
                return false;
        *state = plain_ep_state(*state);
        return true;
}

bool is_in_state(struct test *t, DAT_EP_HANDLE ep, DAT_EP_STATE wanted)
{
        const struct state_query *way =
            is_asked(t, UNASKED_EP_STATUS) ? &by_status : way_to_ask(t, &by_query);
        DAT_EP_STATE state = DAT_EP_STATE_UNCONNECTED;

        return way && dat_is(way->ask(ep, &state), DAT_SUCCESS) && plain_ep_state(state) == wanted;
}

void must_be_connected(struct test *t, DAT_EP_HANDLE ep)
{
        const struct state_query *way;
        DAT_EP_STATE state;

        if (is_of_page(t, "ep_get_status"))
                return;
        way = way_to_ask(t, &by_status);
        if (!way)
                return;
        poison(&state, sizeof(state));
        if (!dat_is(way->ask(ep, &state), DAT_SUCCESS) || is_poison(&state, sizeof(state))) {
                record(t, "the connection was not looked at: %s does not tell",
                       unasked_call(way->call));
                return;
        }
        must_show(t, step_of_event(DAT_CONNECTION_EVENT_ESTABLISHED), unasked_call(way->call),
                  "the connection", plain_ep_state(state) == DAT_EP_STATE_CONNECTED);
}
