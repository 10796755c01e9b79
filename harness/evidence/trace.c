/* SPDX-License-Identifier: BSD-2-Clause */
#include "evidence/trace.h"

#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "evidence/digest.h"
#include "evidence/memory.h"
#include "evidence/value.h"

/* Elements of an array and bytes of private data that are worth keeping. */
#define ARRAY_MAX  16
#define BYTES_MAX  64
#define STRING_MAX 256
#define PAGE       4096
#define DIGEST_MAX (64u << 10)
static struct evidence *evidence;
static trace_observer *observer;
static void *observer_context;
static _Atomic unsigned int threads;
static _Thread_local unsigned int thread;
static _Thread_local struct trace_watch *watched;
static _Thread_local const char *last_call;
static _Thread_local DAT_RETURN last_ret;

unsigned int trace_thread(void)
{
        if (!thread)
                thread = atomic_fetch_add(&threads, 1) + 1;
        return thread;
}

unsigned int trace_thread_known(void)
{
        return thread;
}

void trace_forget_open(uint64_t before)
{
        for (uint64_t n = before; evidence && n < atomic_load(&evidence->call_count); n++) {
                struct call_record *call = &evidence->calls[log_slot(n)];

                if (call->number == n + 1 && call->thread == trace_thread() &&
                    atomic_load(&call->state) == CALL_BEGUN)
                        atomic_store(&call->state, CALL_EMPTY);
        }
}

unsigned int trace_new_thread(void)
{
        return atomic_fetch_add(&threads, 1) + 1;
}

void trace_observe(trace_observer *seen, void *context)
{
        observer = seen;
        observer_context = context;
}

void trace_watch(struct trace_watch *watch)
{
        watched = watch;
}

void trace_start(struct evidence *to)
{
        evidence = to;
        evidence->own_pid = getpid();
        trace_read_start(__builtin_frame_address(0));
        memory_start();
        trace_thread();
}

const char *trace_last(DAT_RETURN *ret)
{
        *ret = last_ret;
        return last_call;
}

const char *trace_name_of(uint64_t number)
{
        const struct call_record *call;

        if (number == 0 || !evidence)
                return NULL;
        call = &evidence->calls[log_slot(number - 1)];
        return call->number == number ? api_functions[call->function].name : NULL;
}

static bool is_named(const struct call_record *call, const char *const *names, size_t count)
{
        for (size_t i = 0; i < count && names[i]; i++)
                if (strcmp(api_functions[call->function].name, names[i]) == 0)
                        return true;
        return false;
}

const char *trace_newest_of(const char *const *names, size_t count)
{
        for (uint64_t n = trace_count(); n > 0; n--) {
                const struct call_record *call = &evidence->calls[log_slot(n - 1)];

                if (call->number == n && atomic_load(&call->state) == CALL_DONE &&
                    is_named(call, names, count))
                        return api_functions[call->function].name;
        }
        return NULL;
}

uint64_t trace_count(void)
{
        return evidence ? atomic_load(&evidence->call_count) : 0;
}

static void capture(struct call_record *call, struct call_span *span, const void *from,
                    size_t length)
{
        size_t got;

        if (!from || length == 0 || length > CALL_BYTES_MAX - call->used)
                return;
        got = trace_read_part(call->bytes + call->used, from, length);
        if (got < length)
                return;
        span->offset = (uint16_t)call->used;
        span->length = (uint16_t)length;
        call->used += (uint32_t)((length + 7) & ~(size_t)7);
}

/* A string may end just before memory that cannot be read, so it is read page by page. */
static void capture_string(struct call_record *call, struct call_span *span, const char *from)
{
        char *to = (char *)call->bytes + call->used;
        size_t length = 0;

        if (!from || STRING_MAX > CALL_BYTES_MAX - call->used)
                return;
        while (length < STRING_MAX - 1) {
                size_t page_left = PAGE - (uintptr_t)(from + length) % PAGE;
                size_t want = STRING_MAX - 1 - length;
                size_t got = trace_read_part(to + length, from + length,
                                             want < page_left ? want : page_left);
                size_t string = strnlen(to + length, got);

                length += string;
                if (got == 0 || string < got)
                        break;
        }
        to[length] = '\0';
        span->offset = (uint16_t)call->used;
        span->length = (uint16_t)(length + 1);
        call->used += (uint32_t)((length + 8) & ~(size_t)7);
}

static struct call_pointee *pointee_add(struct call_record *call, enum pointee_kind kind,
                                        const void *at, size_t length)
{
        struct call_pointee *pointee = &call->pointees[call->pointee_count];
        struct call_span span = {.length = 0};

        if (!at || call->pointee_count == CALL_POINTEES_MAX)
                return NULL;
        capture(call, &span, at, length);
        if (!span.length && length)
                return NULL;
        *pointee = (struct call_pointee){.at = (uint64_t)(uintptr_t)at,
                                         .kind = (uint16_t)kind,
                                         .offset = span.offset,
                                         .length = span.length};
        call->pointee_count++;
        return pointee;
}

static void capture_address(struct call_record *call, const void *at)
{
        if (!pointee_add(call, POINTEE_ADDRESS, at, sizeof(struct sockaddr_in6)))
                pointee_add(call, POINTEE_ADDRESS, at, sizeof(struct sockaddr));
}

static void capture_bytes(struct call_record *call, const void *at, DAT_COUNT size)
{
        size_t length = size > 0 ? (size_t)size : 0;
        struct call_pointee *pointee = pointee_add(
            call, POINTEE_BYTES, at, length < POINTEE_BYTES_KEPT ? length : POINTEE_BYTES_KEPT);

        if (!pointee)
                return;
        pointee->whole = (uint32_t)length;
        pointee->digested = length <= DIGEST_MAX && digest_bytes(at, length, &pointee->digest);
}

/* Follows the addresses and the private data that a captured structure points at. */
static void capture_members(struct call_record *call, const struct api_struct *layout,
                            const unsigned char *bytes)
{
        DAT_COUNT size = 0;

        for (size_t i = 0; i < layout->count; i++) {
                const struct api_field *field = &layout->fields[i];
                const void *at = NULL;

                if (field->type->kind == API_SIGNED &&
                    strcmp(field->name, "private_data_size") == 0)
                        memcpy(&size, bytes + field->offset, sizeof(size));
                if (field->type->kind != API_ADDRESS && field->type->kind != API_POINTER)
                        continue;
                memcpy(&at, bytes + field->offset, sizeof(at));
                if (field->type->kind == API_ADDRESS)
                        capture_address(call, at);
                else if (strcmp(field->name, "private_data") == 0)
                        capture_bytes(call, at, size);
        }
}

static void capture_pointees(struct call_record *call, const struct api_param *param,
                             const struct call_span *span)
{
        const unsigned char *bytes = call->bytes + span->offset;
        const struct api_struct *layout = param->type->layout;
        DAT_EVENT event;

        if (param->type->kind == API_EVENT && span->length >= sizeof(event)) {
                memcpy(&event, bytes, sizeof(event));
                layout = value_event_layout(event.event_number);
                bytes += offsetof(DAT_EVENT, event_data);
        }
        if (layout && param->count == API_NO_COUNT && span->length >= layout->size)
                capture_members(call, layout, bytes);
}

static size_t elements(const struct api_param *param, const struct call_record *call, size_t max)
{
        int count = param->count == API_NO_COUNT ? 1 : (int)call->args[param->count];

        if (count < 0)
                return 0;
        return (size_t)count < max ? (size_t)count : max;
}

static void capture_pointed(struct call_record *call, const struct api_param *param,
                            struct call_span *span, const void *pointer)
{
        if (param->type->kind == API_STRING) {
                const char *string = NULL;

                if (pointer && trace_read_part(&string, pointer, sizeof(string)) == sizeof(string))
                        capture_string(call, span, string);
                return;
        }
        capture(call, span, pointer, elements(param, call, ARRAY_MAX) * param->type->size);
        if (span->length)
                capture_pointees(call, param, span);
}

static void capture_in(struct call_record *call, const struct api_param *param, size_t i,
                       const struct trace_arg *arg)
{
        struct call_span *span = &call->in[i];
        const void *pointer = trace_pointer(arg);

        if (param->pointer) {
                if (param->direction & API_IN)
                        capture_pointed(call, param, span, pointer);
                return;
        }
        switch (param->type->kind) {
        case API_STRUCT:
                capture(call, span, arg->at, arg->size);
                break;
        case API_STRING:
                capture_string(call, span, pointer);
                break;
        case API_ADDRESS:
                capture(call, span, pointer, sizeof(struct sockaddr_in6));
                if (span->length == 0)
                        capture(call, span, pointer, sizeof(struct sockaddr));
                capture_address(call, pointer);
                break;
        case API_BYTES:
                capture(call, span, pointer, elements(param, call, BYTES_MAX));
                capture_bytes(call, pointer, (DAT_COUNT)elements(param, call, INT32_MAX));
                break;
        default:
                break;
        }
}

/*
 * A record is one thread's at a time: another one comes upon it only when the log has gone round
 * between its two looks, and then leaves its own call unrecorded.
 */
static bool take(struct call_record *record)
{
        return atomic_exchange(&record->busy, 1) == 0;
}

static void give_back(struct call_record *record)
{
        atomic_store(&record->busy, 0);
}

static void record_begin(struct call_record *call, uint64_t number, unsigned int function,
                         const struct trace_arg *args)
{
        const struct api_function *api = &api_functions[function];

        atomic_store(&call->state, CALL_EMPTY);
        call->function = (uint16_t)function;
        call->teardown = atomic_load(&evidence->phase) != PHASE_BODY;
        call->thread = (uint16_t)trace_thread();
        call->number = number;
        call->ret = 0;
        call->used = 0;
        call->pointee_count = 0;
        call->changed = 0;
        call->exec = 0;
        call->pid = getpid();
        call->took_ns = 0;
        call->memory = (struct call_memory){.kind = MEMORY_NONE};
        memset(call->in, 0, sizeof(call->in));
        memset(call->out, 0, sizeof(call->out));
        for (size_t i = 0; i < api->count; i++) {
                size_t size = args[i].size < 8 ? args[i].size : 8;

                call->args[i] = 0;
                memcpy(&call->args[i], args[i].at, size);
        }
        for (size_t i = 0; i < api->count; i++)
                capture_in(call, &api->params[i], i, &args[i]);
        memory_begin(number, function, args, &call->memory);
        call->began_ns = now_ns();
        call->at_ns = call->began_ns - evidence->started_ns;
        atomic_store(&call->state, CALL_BEGUN);
}

/* What a call was given to read, it leaves as it was. */
static bool is_changed(const struct call_record *call, size_t i, const struct trace_arg *arg)
{
        const struct call_span *span = &call->in[i];
        unsigned char now[CALL_BYTES_MAX];

        return span->length && trace_read(now, trace_pointer(arg), span->length) &&
               memcmp(now, call->bytes + span->offset, span->length) != 0;
}

static void record_end(struct call_record *call, const struct trace_arg *args, DAT_RETURN ret,
                       uint64_t ended_ns)
{
        const struct api_function *api = &api_functions[call->function];

        call->took_ns = ended_ns - evidence->started_ns - call->at_ns;
        call->ret = ret;
        for (size_t i = 0; i < api->count; i++)
                if (api->params[i].pointer && api->params[i].direction == API_IN &&
                    is_changed(call, i, &args[i]))
                        call->changed |= (uint16_t)(1u << i);
        for (size_t i = 0; dat_is(ret, DAT_SUCCESS) && i < api->count; i++)
                if (api->params[i].pointer && (api->params[i].direction & API_OUT))
                        capture_pointed(call, &api->params[i], &call->out[i],
                                        trace_pointer(&args[i]));
        memory_end(call->number, call->function, args, ret, &call->memory);
        atomic_store(&call->state, CALL_DONE);
}

struct trace_call trace_begin(unsigned int function, const struct trace_arg *args)
{
        struct trace_call call = {.record = NULL, .function = function};
        struct call_record *record;
        uint64_t n;

        if (!evidence)
                return call;
        n = atomic_fetch_add(&evidence->call_count, 1);
        record = &evidence->calls[log_slot(n)];
        call.number = n + 1;
        if (take(record)) {
                call.record = record;
                record_begin(record, call.number, function, args);
                give_back(record);
        } else {
                memory_begin(call.number, function, args, NULL);
        }
        if (watched) {
                atomic_store(&watched->newest, call.number);
                atomic_store(&watched->inside, call.number);
        }
        return call;
}

/* False where the record is another call's by now. */
static bool end_record(const struct trace_call *call, const struct trace_arg *args, DAT_RETURN ret,
                       uint64_t ended_ns)
{
        bool own;

        if (!call->record || !take(call->record))
                return false;
        own = call->record->number == call->number;
        if (own)
                record_end(call->record, args, ret, ended_ns);
        give_back(call->record);
        return own;
}

void trace_end(const struct trace_call *call, const struct trace_arg *args, DAT_RETURN ret)
{
        uint64_t ended_ns = now_ns();

        last_call = api_functions[call->function].name;
        last_ret = ret;
        if (watched)
                atomic_store(&watched->inside, 0);
        if (!end_record(call, args, ret, ended_ns))
                memory_end(call->number, call->function, args, ret, NULL);
        if (observer && dat_is(ret, DAT_SUCCESS))
                observer(observer_context, call, &api_functions[call->function], args);
}

/* All of a record but what says whose it is. */
static void copy_record(struct call_record *to, const struct call_record *from)
{
        to->function = from->function;
        to->ret = from->ret;
        to->used = from->used;
        to->at_ns = from->at_ns;
        to->began_ns = from->began_ns;
        to->pid = from->pid;
        to->pointee_count = from->pointee_count;
        to->changed = from->changed;
        memcpy(to->pointees, from->pointees, sizeof(to->pointees));
        to->took_ns = from->took_ns;
        memcpy(to->args, from->args, sizeof(to->args));
        memcpy(to->in, from->in, sizeof(to->in));
        memcpy(to->out, from->out, sizeof(to->out));
        memcpy(to->bytes, from->bytes, sizeof(to->bytes));
        to->memory = (struct call_memory){.kind = MEMORY_NONE};
}

static void relay_call(const struct call_record *from, unsigned int thread)
{
        uint64_t n = atomic_fetch_add(&evidence->call_count, 1);
        struct call_record *to = &evidence->calls[log_slot(n)];

        if (!take(to))
                return;
        atomic_store(&to->state, CALL_EMPTY);
        copy_record(to, from);
        to->number = n + 1;
        to->thread = (uint16_t)thread;
        to->exec = (uint16_t)thread;
        to->teardown = atomic_load(&evidence->phase) != PHASE_BODY;
        atomic_store(&to->state, atomic_load(&from->state));
        last_call = api_functions[from->function].name;
        last_ret = from->ret;
        give_back(to);
}

uint64_t trace_relay(const struct evidence *from, uint64_t first, unsigned int thread)
{
        uint64_t count = atomic_load(&from->call_count);
        uint64_t n;

        if (!evidence)
                return count;
        for (n = first; n < count; n++) {
                const struct call_record *call = &from->calls[log_slot(n)];

                if (call->number == n + 1 && call->function < api_function_count)
                        relay_call(call, thread);
        }
        return n;
}
