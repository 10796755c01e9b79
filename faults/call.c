/* SPDX-License-Identifier: BSD-2-Clause */
#include "call.h"

#include <stdlib.h>
#include <string.h>

#include "event.h"
#include "fault.h"

const DAT_NAMED_ATTR call_named_attributes[2] = {
    {.name = "DAPLFAULT_PATHS", .value = "2"},
    {.name = "DAPLFAULT_MAKER", .value = "udapl-cts"},
};

/* What goes to the wrapped provider in place of the consumer's structures. */
struct inward {
        uint64_t arg[CALL_ARGS_MAX];
        DAT_OS_WAIT_PROXY_AGENT agent;
        DAT_REGION_DESCRIPTION region;
        DAT_EVENT event;
        DAT_EP_PARAM param;
};

/* The consumer's agent, behind the one that the wrapped provider calls. */
struct agent {
        DAT_OS_WAIT_PROXY_AGENT consumer;
};

static void agent_call(DAT_PVOID instance_data, DAT_EVD_HANDLE evd)
{
        const struct agent *agent = instance_data;

        agent->consumer.proxy_agent_func(agent->consumer.instance_data, handle_outward(evd));
}

/* The agent lives as long as the process: nothing tells when the last call of it has ended. */
static DAT_OS_WAIT_PROXY_AGENT agent_inward(const DAT_OS_WAIT_PROXY_AGENT *consumer)
{
        struct agent *agent;

        if (!consumer->proxy_agent_func)
                return *consumer;
        agent = malloc(sizeof(*agent));
        if (!agent)
                abort();
        agent->consumer = *consumer;
        return (DAT_OS_WAIT_PROXY_AGENT){.instance_data = agent, .proxy_agent_func = agent_call};
}

static void agent_outward(DAT_OS_WAIT_PROXY_AGENT *agent)
{
        if (agent->proxy_agent_func == agent_call)
                *agent = ((const struct agent *)agent->instance_data)->consumer;
}

static DAT_HANDLE *handle_at(void *structure, short offset)
{
        return (DAT_HANDLE *)((unsigned char *)structure + offset);
}

static uint64_t address(const void *of)
{
        return (uint64_t)(uintptr_t)of;
}

static void arg_inward(const struct call *call, int i, struct inward *inward)
{
        const struct arg_desc *desc = &call->slot->args[i];
        void *consumer = call_pointer(call, i);

        inward->arg[i] = call->arg[i];
        if (!consumer)
                return;
        switch (desc->kind) {
        case ARG_HANDLE:
                inward->arg[i] = address(handle_inward(consumer));
                break;
        case ARG_AGENT:
                inward->agent = agent_inward(consumer);
                inward->arg[i] = address(&inward->agent);
                break;
        case ARG_REGION:
                inward->region = *(const DAT_REGION_DESCRIPTION *)consumer;
                if ((DAT_MEM_TYPE)call->arg[1] == DAT_MEM_TYPE_LMR)
                        inward->region.for_lmr_handle =
                            handle_inward(inward->region.for_lmr_handle);
                inward->arg[i] = address(&inward->region);
                break;
        case ARG_EVENT_IN:
                inward->event = *(const DAT_EVENT *)consumer;
                inward->event.evd_handle = handle_inward(inward->event.evd_handle);
                inward->arg[i] = address(&inward->event);
                break;
        case ARG_PARAM_IN:
                memcpy(&inward->param, consumer, desc->size);
                for (const short *at = desc->handles_at; *at >= 0; at++)
                        *handle_at(&inward->param, *at) =
                            handle_inward(*handle_at(&inward->param, *at));
                inward->arg[i] = address(&inward->param);
                break;
        default:
                break;
        }
}

/* An object of the IA whose objects the call is about; opening an IA is about none. */
static struct handle *kin_of(const struct call *call)
{
        return call->slot == &call_slots[SLOT_IA_OPEN] ? NULL : handle_find(call_pointer(call, 0));
}

/* Two handles of asynchronous EVDs are words, and no object's. */
static bool is_word(DAT_HANDLE inner)
{
        return inner == DAT_EVD_ASYNC_EXISTS || inner == DAT_EVD_OUT_OF_SCOPE;
}

static DAT_HANDLE outward_or_new(const struct call *call, DAT_HANDLE inner, DAT_HANDLE_TYPE type)
{
        struct handle *handle = inner ? handle_find_inner(inner) : NULL;

        if (!inner || is_word(inner))
                return inner;
        if (!handle || handle->destroyed)
                handle = handle_new(&call->provider->table, inner, type, kin_of(call));
        return handle;
}

static void event_outward(const struct call *call, DAT_EVENT *event)
{
        DAT_EVENT_DATA *data = &event->event_data;

        event->evd_handle = handle_outward(event->evd_handle);
        switch (event->event_number) {
        case DAT_DTO_COMPLETION_EVENT:
                data->dto_completion_event_data.ep_handle =
                    handle_outward(data->dto_completion_event_data.ep_handle);
                break;
        case DAT_RMR_BIND_COMPLETION_EVENT:
                data->rmr_completion_event_data.rmr_handle =
                    handle_outward(data->rmr_completion_event_data.rmr_handle);
                break;
        case DAT_CONNECTION_REQUEST_EVENT:
                data->cr_arrival_event_data.sp_handle.psp_handle =
                    handle_outward(data->cr_arrival_event_data.sp_handle.psp_handle);
                data->cr_arrival_event_data.cr_handle =
                    outward_or_new(call, data->cr_arrival_event_data.cr_handle, DAT_HANDLE_TYPE_CR);
                break;
        case DAT_SOFTWARE_EVENT:
                break;
        default:
                if (event->event_number & 0x4000)
                        data->connect_event_data.ep_handle =
                            handle_outward(data->connect_event_data.ep_handle);
                else if (event->event_number & 0x8000)
                        data->asynch_error_event_data.dat_handle =
                            handle_outward(data->asynch_error_event_data.dat_handle);
                break;
        }
}

/* Only a CR names an EP that the consumer has not made; each query names the same EP. */
static void cr_param_outward(const struct call *call, DAT_CR_PARAM *param)
{
        if (call->arg[1] & DAT_CR_FIELD_LOCAL_EP_HANDLE)
                param->local_ep_handle =
                    outward_or_new(call, param->local_ep_handle, DAT_HANDLE_TYPE_EP);
}

static void param_outward(const struct call *call, const struct arg_desc *desc, void *param)
{
        if (call->slot == &call_slots[SLOT_CR_QUERY])
                cr_param_outward(call, param);
        for (const short *at = desc->handles_at; *at >= 0; at++)
                *handle_at(param, *at) = handle_outward(*handle_at(param, *at));
        if (call->slot == &call_slots[SLOT_CNO_QUERY] && (call->arg[1] & DAT_CNO_FIELD_AGENT))
                agent_outward(&((DAT_CNO_PARAM *)param)->agent);
}

static void arg_outward(const struct call *call, int i)
{
        const struct arg_desc *desc = &call->slot->args[i];
        void *consumer = call_pointer(call, i);
        DAT_HANDLE *handle = consumer;

        if (!consumer)
                return;
        switch (desc->kind) {
        case ARG_HANDLE_NEW:
                *handle = handle_new(&call->provider->table, *handle, desc->type, kin_of(call));
                break;
        case ARG_HANDLE_FOUND:
                *handle = outward_or_new(call, *handle, desc->type);
                break;
        case ARG_EVENT_OUT:
                event_outward(call, consumer);
                break;
        case ARG_PARAM_OUT:
                param_outward(call, desc, consumer);
                break;
        default:
                break;
        }
}

/* The adapter of the wrapped IA is to the consumer the one that it has opened. */
static void adapter_outward(const struct call *call)
{
        DAT_IA_ATTR *attr = call_pointer(call, 3);

        if (attr && call->arg[2] & DAT_IA_FIELD_IA_ADAPTER_NAME &&
            !strncmp(attr->adapter_name, call->provider->wrapped, DAT_NAME_MAX_LENGTH))
                memcpy(attr->adapter_name, call->provider->info.ia_name, DAT_NAME_MAX_LENGTH);
}

static void note_ep(const struct call *call, bool with_srq)
{
        DAT_HANDLE *created = call_pointer(call, with_srq ? 7 : 6);
        struct handle *ep = created ? handle_find(*created) : NULL;

        if (!ep)
                return;
        ep->recv_evd = handle_find(call_pointer(call, 2));
        ep->request_evd = handle_find(call_pointer(call, 3));
        ep->srq = with_srq ? handle_find(call_pointer(call, 5)) : NULL;
}

static void note_post(const struct call *call)
{
        struct handle *queue = handle_find(call_pointer(call, 0));

        if (queue)
                handle_post(queue, call->arg[3],
                            (int)call->arg[1] > 0 ? call_pointer(call, 2) : NULL);
}

static void note_destroyed(const struct call *call)
{
        struct handle *handle = handle_find(call_pointer(call, 0));

        if (handle)
                handle->destroyed = true;
}

static void note_lmr(const struct call *call)
{
        const DAT_REGION_DESCRIPTION *region = call_pointer(call, 2);

        if ((DAT_MEM_TYPE)call->arg[1] == DAT_MEM_TYPE_VIRTUAL)
                call->provider->registered_end = (unsigned char *)region->for_va + call->arg[3];
}

static void note_ia(const struct call *call)
{
        const DAT_IA_HANDLE *ia = call_pointer(call, 3);
        struct handle *async_evd = call->provider->async_evd;

        if (async_evd && !async_evd->ia)
                async_evd->ia = handle_find(*ia);
}

static void note_closed(const struct call *call)
{
        struct handle *ia = handle_find(call_pointer(call, 0));

        if (ia)
                handle_destroy_all(ia);
}

static void note_success(const struct call *call)
{
        switch (call->slot - call_slots) {
        case SLOT_EP_CREATE:
                note_ep(call, false);
                break;
        case SLOT_EP_CREATE_WITH_SRQ:
                note_ep(call, true);
                break;
        case SLOT_EP_POST_RECV:
        case SLOT_SRQ_POST_RECV:
                note_post(call);
                break;
        case SLOT_LMR_CREATE:
                note_lmr(call);
                break;
        case SLOT_IA_CLOSE:
                note_closed(call);
                break;
        case SLOT_IA_OPEN:
                note_ia(call);
                break;
        case SLOT_CR_ACCEPT:
        case SLOT_CR_REJECT:
        case SLOT_CR_HANDOFF:
        case SLOT_CNO_FREE:
        case SLOT_EP_FREE:
        case SLOT_EVD_FREE:
        case SLOT_LMR_FREE:
        case SLOT_PSP_FREE:
        case SLOT_PZ_FREE:
        case SLOT_RMR_FREE:
        case SLOT_RSP_FREE:
        case SLOT_SRQ_FREE:
                note_destroyed(call);
                break;
        default:
                break;
        }
}

DAT_RETURN call_inner(struct call *call)
{
        struct inward inward;
        DAT_RETURN ret;

        for (int i = 0; i < call->slot->argc; i++)
                arg_inward(call, i, &inward);
        ret = call->slot->inner(call, inward.arg);
        if (ret != DAT_SUCCESS)
                return ret;
        for (int i = 0; i < call->slot->argc; i++)
                arg_outward(call, i);
        if (call->slot == &call_slots[SLOT_IA_QUERY])
                adapter_outward(call);
        note_success(call);
        return ret;
}

static void note_open(struct provider *provider, DAT_IA_HANDLE ia)
{
        DAT_IA_ATTR attr = {0};
        DAT_PROVIDER_ATTR provider_attr = {0};

        if (dat_ia_query(ia, NULL, DAT_IA_FIELD_IA_MAX_RECV_PER_SRQ, &attr,
                         DAT_PROVIDER_FIELD_MAX_PRIVATE_DATA_SIZE, &provider_attr) != DAT_SUCCESS)
                return;
        provider->max_recv_per_srq = attr.max_recv_per_srq;
        provider->max_private_data = provider_attr.max_private_data_size;
}

DAT_RETURN call_open_inner(const struct call *call, const uint64_t *arg)
{
        const struct provider *provider = call->provider;
        DAT_EVD_HANDLE *async_evd = word_pointer(arg[2]);
        DAT_EVD_HANDLE inner = async_evd ? handle_inward(*async_evd) : DAT_HANDLE_NULL;
        DAT_RETURN ret;

        ret = dat_ia_openv(provider->wrapped, (DAT_COUNT)arg[1], async_evd ? &inner : NULL,
                           word_pointer(arg[3]), provider->info.dapl_version_major,
                           provider->info.dapl_version_minor, provider->info.is_thread_safe);
        if (ret != DAT_SUCCESS)
                return ret;
        note_open(call->provider, *(DAT_IA_HANDLE *)word_pointer(arg[3]));
        if (async_evd)
                *async_evd = outward_or_new(call, inner, DAT_HANDLE_TYPE_EVD);
        call->provider->async_evd = async_evd ? handle_find(*async_evd) : NULL;
        return ret;
}

struct handle *event_object(const DAT_EVENT *event)
{
        if (event->event_number == DAT_DTO_COMPLETION_EVENT)
                return handle_find(event->event_data.dto_completion_event_data.ep_handle);
        if (event->event_number & 0x4000)
                return handle_find(event->event_data.connect_event_data.ep_handle);
        if (event->event_number & 0x8000)
                return handle_find(event->event_data.asynch_error_event_data.dat_handle);
        return NULL;
}

struct handle *call_object(const struct call *call)
{
        const DAT_EVENT *event = call->event;

        /* Requests come in one order, whatever CR each is. */
        if (event && event->event_number == DAT_CONNECTION_REQUEST_EVENT)
                return handle_find(event->event_data.cr_arrival_event_data.cr_handle);
        if (event)
                return event_object(event);
        if (call->slot == &call_slots[SLOT_IA_OPEN])
                return NULL;
        return handle_find(call_pointer(call, 0));
}

struct handle *call_made(const struct call *call)
{
        for (int i = 0; !call->event && i < call->slot->argc; i++) {
                const DAT_HANDLE *at =
                    call->slot->args[i].kind == ARG_HANDLE_NEW ? word_pointer(call->arg[i]) : NULL;

                if (at && call->ret == DAT_SUCCESS)
                        return handle_find(*at);
        }
        return call_object(call);
}

bool call_instead(struct call *call, const struct step *step)
{
        switch (step->effect) {
        case EFFECT_INVENT:
                call->ret = event_invent(call, step);
                return true;
        case EFFECT_DEAF:
                call->ret = event_sleep_through(call);
                return true;
        default:
                return false;
        }
}

bool call_misbehave(const struct call *call, const struct step *step)
{
        if (step->effect != EFFECT_SCRIBBLE)
                return hostile_act(step);
        if (call->provider->registered_end)
                memset(call->provider->registered_end, 0xee, 8);
        return true;
}

void call_afterwards(struct call *call, const struct step *step)
{
        if (step->effect == EFFECT_INVENT)
                call->ret = event_invent(call, step);
}

void call_pass_on(struct call *call)
{
        call->ret = event_takes(call) ? event_take(call) : call_inner(call);
}

DAT_RETURN call_run(enum slot_id slot, const uint64_t *arg)
{
        struct call call = {.slot = &call_slots[slot]};
        const struct handle *via = word_pointer(arg[0]);

        call.provider = (struct provider *)via->table;
        call.mutant = &call.provider->mutant;
        memcpy(call.arg, arg, (size_t)call.slot->argc * sizeof(*arg));
        call.overlaps = atomic_fetch_add(&call.provider->under_way, 1);
        call_make(&call);
        atomic_fetch_sub(&call.provider->under_way, 1);
        return call.ret;
}

static DAT_RETURN open_entry(const uint64_t *arg, bool threadsafe)
{
        struct call call = {.slot = &call_slots[SLOT_IA_OPEN]};

        call.provider = provider_find(word_pointer(arg[0]), threadsafe);
        if (!call.provider)
                return DAT_CLASS_ERROR | DAT_PROVIDER_NOT_FOUND;
        call.mutant = &call.provider->mutant;
        memcpy(call.arg, arg, (size_t)call.slot->argc * sizeof(*arg));
        return call_make(&call);
}

DAT_RETURN call_open(const uint64_t *arg)
{
        return open_entry(arg, false);
}

DAT_RETURN call_open_threadsafe(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
                                DAT_IA_HANDLE *ia_handle)
{
        const uint64_t arg[] = {address(name), (uint64_t)qlen, address(async_evd),
                                address(ia_handle)};

        return open_entry(arg, true);
}
