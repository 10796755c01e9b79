/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dat_ep_modify: 26 parameters in nine states. Each cell of the page's table is a case, of the name
 * ep_modify/<parameter>/<state>: granted, shown and of effect; refused, and kept; or the
 * transport's.
 */
#include "cases/ep/shared/endpoint.h"
#include "cases/ep/shared/modify_table.h"
#include "clauses/ep_modify.h"

#define PASSIVE DAT_EP_STATE_PASSIVE_CONNECTION_PENDING
#define MESSAGE ((size_t)64) /* bytes */

static bool allowed_in(const struct ep_parameter *parameter, DAT_EP_STATE state)
{
        return parameter->states >> state & 1;
}

/* Whether the change is seen: a parameter that has one value only shows nothing. */
static bool shows_anew(struct test *t, const struct ep_change *change)
{
        bool is_new = change->wanted != ep_value(&change->before.param, change->parameter);

        return is_new && ep_change_shown(t, change);
}

/*
 * Whether all that the page lets be changed in Passive Connection Pending is refused there. What is
 * granted and not done is a finding of its own, and no exception.
 */
static bool all_refused_in_passive(struct test *t)
{
        DAT_EP_ATTR few = ep_attr_few(t);
        uint64_t made[EP_PARAM_COUNT];
        bool refused = false;
        DAT_EP_HANDLE ep;

        for (int i = 0; i < EP_PARAM_COUNT; i++)
                made[i] = ep_new_object(t, &ep_parameters[i]);
        ep = ep_in(t, PASSIVE, .attr = &few);
        for (int i = 0; i < EP_PARAM_COUNT; i++) {
                struct ep_change change;
                DAT_RETURN ret;

                if (!allowed_in(&ep_parameters[i], PASSIVE))
                        continue;
                change = ep_change_of(t, &ep_parameters[i], ep, made[i]);
                ret = ep_modify(&change);
                if (dat_is(ret, DAT_INVALID_STATE))
                        refused = true;
                else if (!dat_is(ret, DAT_SUCCESS) || shows_anew(t, &change))
                        return false;
        }
        return refused;
}

/* Whether the change is not made in Unconnected either, where the parameter's own case tells so. */
static bool ignored_in_unconnected(struct test *t, const struct ep_parameter *parameter)
{
        struct ep_change change = ep_change_in(t, parameter, DAT_EP_STATE_UNCONNECTED);

        return dat_is(ep_modify(&change), DAT_SUCCESS) && !ep_change_shown(t, &change);
}

static void expect_granted(struct test *t, struct ep_change *change, DAT_EP_STATE state)
{
        const struct ep_parameter *parameter = change->parameter;
        DAT_RETURN ret = ep_modify(change);

        if (state == PASSIVE && dat_is(ret, DAT_INVALID_STATE) && all_refused_in_passive(t)) {
                note(t, "refused with all other parameters in this state (EP-17)");
                return;
        }
        expect(ret, DAT_SUCCESS);
        if (!ep_change_shown(t, change)) {
                expect_that(state != DAT_EP_STATE_UNCONNECTED &&
                                ignored_in_unconnected(t, parameter),
                            "%s: %llu asked for and granted, and not queried", parameter->name,
                            (unsigned long long)change->wanted);
                note(t, "granted and not done, as in Unconnected (EP-17)");
                return;
        }
        expect_ep_changed_alone(t, change);
        expect_ep_effect(t, change);
}

static bool can_be_connected(DAT_EP_STATE state)
{
        return state == DAT_EP_STATE_UNCONNECTED || state == DAT_EP_STATE_RESERVED ||
               state == PASSIVE || state == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING;
}

/* What can never be changed may be refused for the state too, where it lets nothing be (EP-50). */
static void expect_refused(struct test *t, struct ep_change *change, DAT_EP_STATE state)
{
        if (change->parameter->states)
                expect(ep_modify(change), DAT_INVALID_STATE);
        else if (can_be_connected(state))
                expect(ep_modify(change), DAT_INVALID_PARAMETER);
        else
                expect(ep_modify(change), DAT_INVALID_PARAMETER, DAT_INVALID_STATE);
        expect_ep_kept(t, change->ep, &change->before, 0);
        if (can_be_connected(state))
                expect_ep_takes(t, change->ep, pz(t), expect_connect(change->ep),
                                (struct load){1, 1, MESSAGE});
}

/*
 * Named attributes: an EP's own are handed back to it, or none is asked for where it has none,
 * which it may also call unsupported (EP-28).
 */
static void expect_transport_decides(struct test *t, struct ep_change *change, DAT_EP_STATE state)
{
        bool safe = allowed_in(change->parameter, state);
        const DAT_EP_ATTR *attr = &change->before.param.ep_attr;
        bool of_provider = change->parameter - ep_parameters >= EP_PARAM_provider_attr_count;
        DAT_COUNT count =
            of_provider ? attr->ep_provider_specific_count : attr->ep_transport_specific_count;
        DAT_RETURN ret;

        if (!safe)
                ret = expect_may(ep_modify(change), DAT_SUCCESS, DAT_INVALID_STATE,
                                 DAT_INVALID_PARAMETER);
        else if (count)
                ret = expect(ep_modify(change), DAT_SUCCESS);
        else
                ret = expect_may(ep_modify(change), DAT_SUCCESS);
        record(t, "the EP has %d such attributes, and the call %s", count,
               dat_is(ret, DAT_SUCCESS) ? "succeeded" : "was refused");
        expect_ep_kept(t, change->ep, &change->before, 0);
}

static void cell(struct test *t, const struct ep_parameter *parameter, DAT_EP_STATE state)
{
        struct ep_change change;

        if (parameter->peer_reads && allowed_in(parameter, state))
                peer_reads(peer(t), 1);
        change = ep_change_in(t, parameter, state);
        if (parameter->of_transport)
                expect_transport_decides(t, &change, state);
        else if (allowed_in(parameter, state))
                expect_granted(t, &change, state);
        else
                expect_refused(t, &change, state);
}

#define PARAMETER_CELLS(name_)                                         \
        FAMILY(ep_modify, name_, ep_states)                            \
        {                                                              \
                cell(t, &ep_parameters[EP_PARAM_##name_], row->state); \
        }
EP_PARAMETERS(PARAMETER_CELLS)

CASE(ep_modify, some_in_passive_connection_pending)
{
        expect_that(!all_refused_in_passive(t),
                    "all parameters are refused with DAT_INVALID_STATE in this state");
}
