/* SPDX-License-Identifier: BSD-2-Clause */
#include "fault.h"

#include <string.h>

const struct fault *fault_find(const char *id)
{
        for (size_t i = 0; i < fault_table_size; i++) {
                if (!strcmp(fault_table[i].id, id))
                        return &fault_table[i];
        }
        return NULL;
}

bool fault_handle_destroyed(long long handle)
{
        struct handle *ours = handle_find(word_pointer((uint64_t)handle));

        return ours && ours->destroyed;
}

long long fault_handle_kind(long long handle)
{
        struct handle *ours = handle_find(word_pointer((uint64_t)handle));

        return ours ? (long long)ours->type : -1;
}

static struct handle *srq_of(struct handle *object)
{
        if (object && object->type == DAT_HANDLE_TYPE_EP)
                return object->srq;
        return object;
}

static long long ep_state(const struct handle *ep)
{
        DAT_EP_STATE state;
        DAT_BOOLEAN recv_idle;
        DAT_BOOLEAN request_idle;

        if (dat_ep_get_status(ep->inner, &state, &recv_idle, &request_idle) != DAT_SUCCESS)
                return -1;
        return state;
}

static void ep_neighbour(struct facts *facts, struct handle **evds, const struct handle *ep)
{
        long long state = ep_state(ep);

        facts->eps++;
        facts->connected_eps += state == DAT_EP_STATE_CONNECTED;
        facts->disconnected_eps += state == DAT_EP_STATE_DISCONNECTED;
        for (int i = 0; i < facts->recv_evds; i++) {
                if (evds[i] == ep->recv_evd)
                        return;
        }
        evds[facts->recv_evds++] = ep->recv_evd;
}

static void plain_neighbour(struct facts *facts, struct handle **evds, const struct handle *ep)
{
        for (int i = 0; i < facts->recv_evds; i++) {
                if (evds[i] == ep->recv_evd)
                        facts->plain_outstanding += ep->posted_count;
        }
}

static void neighbours(const struct provider *provider, struct facts *facts,
                       const struct handle *srq)
{
        struct handle *found[HANDLES_MAX];
        struct handle *evds[HANDLES_MAX] = {NULL};
        size_t count = handle_list(&provider->table, DAT_HANDLE_TYPE_EP, found);

        for (size_t i = 0; i < count; i++) {
                if (found[i]->srq == srq)
                        ep_neighbour(facts, evds, found[i]);
        }
        for (size_t i = 0; i < count; i++) {
                if (!found[i]->srq)
                        plain_neighbour(facts, evds, found[i]);
        }
        count = handle_list(&provider->table, DAT_HANDLE_TYPE_SRQ, found);
        for (size_t i = 0; i < count; i++) {
                if (found[i] == srq)
                        continue;
                facts->other_srq = found[i];
                facts->others_outstanding += found[i]->posted_count;
        }
}

static void srq_facts(struct facts *facts, const struct handle *srq)
{
        DAT_SRQ_PARAM param = {0};

        if (dat_srq_query(srq->inner, DAT_SRQ_FIELD_ALL, &param) != DAT_SUCCESS)
                return;
        facts->srq_known = true;
        facts->max_recv_dtos = param.max_recv_dtos;
        facts->low_watermark = param.low_watermark;
        facts->available = param.available_dto_count;
        facts->outstanding = param.outstanding_dto_count == DAT_VALUE_UNKNOWN
                                 ? srq->posted_count
                                 : param.outstanding_dto_count;
}

/* The object of the call or event, if that is an EP; else the EP among the call's arguments. */
static struct handle *ep_of(const struct call *call, struct handle *object)
{
        if (call->event || object->type == DAT_HANDLE_TYPE_EP)
                return object;
        for (int i = 1; i < call->slot->argc; i++) {
                struct handle *argument = call->slot->args[i].kind == ARG_HANDLE
                                              ? handle_find(word_pointer(call->arg[i]))
                                              : NULL;

                if (argument && argument->type == DAT_HANDLE_TYPE_EP)
                        return argument;
        }
        return object;
}

void fault_facts(struct call *call)
{
        const struct fault *fault = call->provider->fault;
        struct handle *object = fault && fault->asks ? call_object(call) : NULL;
        struct handle *srq = srq_of(object);
        struct handle *ep;

        if (!object || object->destroyed)
                return;
        if (srq && srq->type == DAT_HANDLE_TYPE_SRQ && !srq->destroyed) {
                if (fault->asks & ASKS_SRQ)
                        srq_facts(&call->facts, srq);
                if (fault->asks & ASKS_NEIGHBOURS)
                        neighbours(call->provider, &call->facts, srq);
        }
        ep = ep_of(call, object);
        if (ep->type == DAT_HANDLE_TYPE_EP && !ep->destroyed && (fault->asks & ASKS_EP)) {
                call->facts.ep_state = ep_state(ep);
                call->facts.ep_known = call->facts.ep_state >= 0;
        }
}

static bool has_slot(const struct trigger *trigger, const struct slot *slot)
{
        for (const short *id = trigger->slots; *id >= 0; id++) {
                if (slot == &call_slots[*id])
                        return true;
        }
        return false;
}

static bool matches(const struct trigger *trigger, const struct call *call, bool late)
{
        if (trigger->slots) {
                if (call->event || trigger->late != late || !has_slot(trigger, call->slot))
                        return false;
        } else {
                if (!call->event)
                        return false;
                if (trigger->number && trigger->number != call->event->event_number)
                        return false;
        }
        return !trigger->when || trigger->when(call);
}

/* Whether the call is about the object that armed the step, as far as the two compare. */
static bool same_object(const struct step_state *state, const struct call *call)
{
        const struct handle *subject = state->subject;
        const struct handle *object = call_object(call);

        if (!subject || !object)
                return true;
        if (object->type == subject->type)
                return object == subject;
        if (subject->type == DAT_HANDLE_TYPE_SRQ && object->type == DAT_HANDLE_TYPE_EP)
                return object->srq == subject;
        if (subject->type == DAT_HANDLE_TYPE_EP && object->type == DAT_HANDLE_TYPE_SRQ)
                return subject->srq == object;
        return true;
}

static bool counts(struct step_state *state, const struct step *step)
{
        unsigned int hit = ++state->hits;

        return hit >= step->nth && (!step->times || hit < step->nth + step->times);
}

bool fault_strikes(struct call *call, int i, bool late)
{
        struct provider *provider = call->provider;
        const struct step *step = &provider->fault->steps[i];
        struct step_state *state = &provider->state[i];
        bool struck;

        if (!matches(&step->on, call, late))
                return false;
        pthread_mutex_lock(&provider->lock);
        struck = !step->after || (state->armed && (step->any_object || same_object(state, call)));
        struck = struck && counts(state, step);
        pthread_mutex_unlock(&provider->lock);
        return struck;
}

static void arm(struct call *call, const struct step *step, struct step_state *state)
{
        if (step->after_nth && ++state->arms != step->after_nth)
                return;
        state->armed = true;
        state->hits = 0;
        state->subject = call_object(call);
        if (step->remember)
                state->remembered = step->remember(call);
}

void fault_arm(struct call *call, bool late)
{
        struct provider *provider = call->provider;
        const struct fault *fault = provider->fault;

        for (int i = 0; fault && i < fault->step_count; i++) {
                const struct step *step = &fault->steps[i];

                if (!step->after || !matches(step->after, call, late))
                        continue;
                pthread_mutex_lock(&provider->lock);
                arm(call, step, &provider->state[i]);
                pthread_mutex_unlock(&provider->lock);
        }
}
