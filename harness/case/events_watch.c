/* SPDX-License-Identifier: BSD-2-Clause */
/* Each event that a case takes is looked at, by no doing of the case's author. */
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case/in_vain.h"
#include "case/later_event.h"
#include "case/test.h"
#include "evidence/api.h"
#include "evidence/trace.h"

/* A handle that a call has given, and of what. */
struct known {
        uint64_t handle;
        const char *kind; /* "ep", as the trace has it */
};

/*
 * An object that an event names before the call that makes it has returned: a thread that waits
 * may take the event first. So what is not known yet is looked for again at the end.
 */
struct early {
        uint64_t call;
        const char *event;
        const char *member;
        const char *kinds[2]; /* that the object may be of; none: of any */
        DAT_HANDLE handle;
};

#define EARLY_MAX 32

static struct watch {
        struct test *t;
        pthread_mutex_t lock;
        struct known *known;
        size_t count;
        size_t capacity;
        bool provider_makes_eps;
        const char *reborn; /* what has the destroyed object's handle now */
        char wrong[ENTRY_TEXT_MAX];
        char of_srq[ENTRY_TEXT_MAX];
        struct early early[EARLY_MAX];
        size_t early_count;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Whether there was ever such an object; of null, whether there was one of any kind. */
static bool is_known(DAT_HANDLE handle, const char *kind)
{
        for (size_t i = 0; i < watch.count; i++)
                if (watch.known[i].handle == (uint64_t)(uintptr_t)handle &&
                    (!kind || strcmp(watch.known[i].kind, kind) == 0))
                        return true;
        return false;
}

/* A handle that a destroyed object of the same kind had is a live object's now. */
static void note_reborn(uint64_t handle, const char *kind)
{
        if (handle && handle == atomic_load(&watch.t->evidence->destroyed) &&
            is_known((DAT_HANDLE)(uintptr_t)handle, kind)) /* NOLINT(performance-no-int-to-ptr) */
                watch.reborn = kind;
}

static void learn(uint64_t handle, const char *kind)
{
        note_reborn(handle, kind);
        if (watch.count == watch.capacity) {
                size_t larger = watch.capacity ? 2 * watch.capacity : 64;
                struct known *moved = realloc(watch.known, larger * sizeof(*moved));

                if (!moved)
                        abort();
                watch.known = moved;
                watch.capacity = larger;
        }
        watch.known[watch.count++] = (struct known){handle, kind};
}

/* The object's number among those of its kind, as reports name it; 0 where it is unknown. */
static size_t number_of(DAT_HANDLE handle, const char *kind)
{
        size_t number = 0;

        for (size_t i = 0; i < watch.count; i++) {
                if (strcmp(watch.known[i].kind, kind) != 0)
                        continue;
                number++;
                if (watch.known[i].handle == (uint64_t)(uintptr_t)handle)
                        return number;
        }
        return 0;
}

static void found_wrong(uint64_t call, const char *event, const char *expected, const char *format,
                        ...) __attribute__((format(printf, 4, 5)));
static void found_wrong(uint64_t call, const char *event, const char *expected, const char *format,
                        ...)
{
        struct check_site site = {.file = __FILE__, .line = __LINE__};
        char text[128];
        char seen[128];
        va_list args;

        va_start(args, format);
        vsnprintf(seen, sizeof(seen), format, args);
        va_end(args);
        snprintf(text, sizeof(text), "%s, taken by call %" PRIu64, event, call);
        site.text = text;
        check_rule(watch.t, &site, expected, seen);
        if (!watch.wrong[0])
                snprintf(watch.wrong, sizeof(watch.wrong), "%s: expected %s, saw %s", text,
                         expected, seen);
}

static bool is_known_by_now(const struct early *early)
{
        bool is_ep = early->kinds[0] && strcmp(early->kinds[0], "ep") == 0;

        if (is_ep && watch.provider_makes_eps && early->handle)
                return true;
        return is_known(early->handle, early->kinds[0]) ||
               (early->kinds[1] && is_known(early->handle, early->kinds[1]));
}

static void look_again(const struct early *early)
{
        if (!is_known_by_now(early))
                found_wrong(early->call, early->event, "an object of the case", "%s, which is none",
                            early->member);
}

static void look_at_object(const struct early *named)
{
        if (is_known_by_now(named))
                return;
        if (named->handle && watch.early_count < EARLY_MAX)
                watch.early[watch.early_count++] = *named;
        else
                look_again(named);
}

/*
 * A completion that names its SRQ is one defect, which srq_post_recv/completion_names_ep judges: a
 * case of another clause only notes it.
 */
static void look_at_ep_of_dto(const struct early *named)
{
        if (is_known_by_now(named) || !is_known(named->handle, "srq"))
                look_at_object(named);
        else if (!watch.of_srq[0])
                snprintf(watch.of_srq, sizeof(watch.of_srq),
                         "%s, taken by call %" PRIu64 ", names the SRQ, and not the EP",
                         named->event, named->call);
}

/*
 * Events of other numbers than DAT 1.2 has, and asynchronous ones of a registry that hides the IA's
 * handle from the provider, name what cannot be known here.
 */
static void look_at_objects(uint64_t call, const char *name, const DAT_EVENT *event)
{
        const DAT_EVENT_DATA *data = &event->event_data;
        struct early named = {.call = call, .event = name, .member = "ep_handle", .kinds = {"ep"}};

        switch (event->event_number) {
        case DAT_DTO_COMPLETION_EVENT:
                named.handle = data->dto_completion_event_data.ep_handle;
                look_at_ep_of_dto(&named);
                break;
        case DAT_RMR_BIND_COMPLETION_EVENT:
                named.handle = data->rmr_completion_event_data.rmr_handle;
                named.member = "rmr_handle";
                named.kinds[0] = "rmr";
                look_at_object(&named);
                break;
        case DAT_CONNECTION_REQUEST_EVENT:
                named.handle = data->cr_arrival_event_data.sp_handle.psp_handle;
                named.member = "sp_handle";
                named.kinds[0] = "psp";
                named.kinds[1] = "rsp";
                look_at_object(&named);
                if (data->cr_arrival_event_data.cr_handle == DAT_HANDLE_NULL)
                        found_wrong(call, name, "an object of the case", "%s, which is none",
                                    "cr_handle");
                break;
        case DAT_CONNECTION_EVENT_ESTABLISHED:
        case DAT_CONNECTION_EVENT_PEER_REJECTED:
        case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
        case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
        case DAT_CONNECTION_EVENT_DISCONNECTED:
        case DAT_CONNECTION_EVENT_BROKEN:
        case DAT_CONNECTION_EVENT_TIMED_OUT:
        case DAT_CONNECTION_EVENT_UNREACHABLE:
                named.handle = data->connect_event_data.ep_handle;
                look_at_object(&named);
                in_vain_forget(named.handle);
                break;
        case DAT_ASYNC_ERROR_EVD_OVERFLOW:
        case DAT_ASYNC_ERROR_IA_CATASTROPHIC:
        case DAT_ASYNC_ERROR_EP_BROKEN:
        case DAT_ASYNC_ERROR_TIMED_OUT:
        case DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR:
                named.handle = data->asynch_error_event_data.dat_handle;
                named.member = "dat_handle";
                named.kinds[0] = NULL;
                if (!REGISTRY_FOLLOWS_HANDLES)
                        look_at_object(&named);
                break;
        default:
                break;
        }
}

/* EVDs by their numbers, since handles differ from run to run; the first one is the async EVD. */
static void name_evd(uint64_t call, const char *event, size_t from, size_t seen)
{
        char expected[64];

        snprintf(expected, sizeof(expected), "evd_handle to be its EVD, the case's %zu. one", from);
        if (seen)
                found_wrong(call, event, expected, "the %zu. one", seen);
        else
                found_wrong(call, event, expected, "a handle of none");
}

static void look_at_event(uint64_t call, DAT_EVD_HANDLE evd, const DAT_EVENT *event)
{
        const char *name =
            api_member_name(api_enum_named("DAT_EVENT_NUMBER"), (uint64_t)event->event_number);

        if (!name)
                name = "an event of an unknown number";
        if (event->evd_handle != evd)
                name_evd(call, name, number_of(evd, "evd"), number_of(event->evd_handle, "evd"));
        look_at_objects(call, name, event);
}

static void learn_made(const struct api_function *function, const struct trace_arg *args)
{
        for (size_t i = 0; i < function->count; i++) {
                const struct api_param *param = &function->params[i];
                uint64_t handle;

                if (param->pointer && (param->direction & API_OUT) &&
                    param->type->kind == API_HANDLE && param->type->object &&
                    trace_read(&handle, trace_pointer(&args[i]), sizeof(handle)))
                        learn(handle, param->type->object);
        }
}

static uint64_t argument(const struct trace_arg *args, size_t i)
{
        uint64_t value = 0;

        memcpy(&value, args[i].at, args[i].size < sizeof(value) ? args[i].size : sizeof(value));
        return value;
}

static void learn_of_cr(const struct trace_arg *args)
{
        DAT_CR_PARAM param;

        if ((argument(args, 1) & DAT_CR_FIELD_LOCAL_EP_HANDLE) &&
            trace_read(&param, trace_pointer(&args[2]), sizeof(param))) {
                learn((uint64_t)(uintptr_t)param.local_ep_handle, "ep");
                in_vain_request_of((DAT_CR_HANDLE)trace_pointer(&args[0]), param.local_ep_handle);
        }
}

static bool takes_event(const char *call, size_t *at)
{
        *at = strcmp(call, "dat_evd_wait") == 0 ? 3 : 1;
        return *at == 3 || strcmp(call, "dat_evd_dequeue") == 0;
}

static bool connects(const char *call)
{
        return strcmp(call, "dat_ep_connect") == 0 || strcmp(call, "dat_ep_dup_connect") == 0;
}

/* The EP has no last event any more. */
static bool begins_anew(const char *call)
{
        return strcmp(call, "dat_ep_reset") == 0 || strcmp(call, "dat_ep_free") == 0;
}

static void forget(DAT_EP_HANDLE ep)
{
        later_event_forget(watch.t, ep);
        in_vain_forget(ep);
}

static void observe(void *context, const struct trace_call *call,
                    const struct api_function *function, const struct trace_arg *args)
{
        DAT_EVENT event;
        size_t at;

        (void)context;
        pthread_mutex_lock(&watch.lock);
        learn_made(function, args);
        if (strcmp(function->name, "dat_cr_query") == 0)
                learn_of_cr(args);
        else if (strcmp(function->name, "dat_psp_create") == 0)
                watch.provider_makes_eps |= argument(args, 3) == DAT_PSP_PROVIDER_FLAG;
        else if (strcmp(function->name, "dat_cr_accept") == 0)
                in_vain_accepted((DAT_CR_HANDLE)trace_pointer(&args[0]),
                                 (DAT_EP_HANDLE)trace_pointer(&args[1]));
        else if (connects(function->name))
                in_vain_connected(function->name, (DAT_EP_HANDLE)trace_pointer(&args[0]));
        else if (begins_anew(function->name))
                forget((DAT_EP_HANDLE)trace_pointer(&args[0]));
        else if (takes_event(function->name, &at) &&
                 trace_read(&event, trace_pointer(&args[at]), sizeof(event)))
                look_at_event(call->number, (DAT_EVD_HANDLE)trace_pointer(&args[0]), &event);
        pthread_mutex_unlock(&watch.lock);
}

void events_watch(struct test *t)
{
        watch.t = t;
        trace_observe(observe, t);
}

const char *handle_reborn(void)
{
        return watch.reborn;
}

const char *events_of_srq(void)
{
        return watch.of_srq[0] ? watch.of_srq : NULL;
}

const char *events_wrong(void)
{
        trace_observe(NULL, NULL);
        for (size_t i = 0; i < watch.early_count; i++)
                look_again(&watch.early[i]);
        watch.early_count = 0;
        return watch.wrong[0] ? watch.wrong : NULL;
}
