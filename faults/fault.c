/* SPDX-License-Identifier: BSD-2-Clause */
#include "fault.h"

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
        const struct fault *fault = call->mutant->fault;
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

/* Whether the call is about the object that armed the step, as far as the two compare. */
bool fault_same_object(const struct step_state *state, const struct call *call)
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
