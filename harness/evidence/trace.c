/* SPDX-License-Identifier: BSD-2-Clause */
#include "evidence/trace.h"

#include <string.h>
#include <unistd.h>

#include "evidence/capture.h"
#include "evidence/memory.h"

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

const char *trace_newest_returned(DAT_RETURN ret, bool (*is_it)(const char *page, const char *call),
                                  const char *page)
{
        for (uint64_t n = trace_count(); n > 0; n--) {
                const struct call_record *call = &evidence->calls[log_slot(n - 1)];
                const char *name = api_functions[call->function].name;

                if (call->number == n && atomic_load(&call->state) == CALL_DONE &&
                    call->ret == ret && (!is_it || is_it(page, name)))
                        return name;
        }
        return NULL;
}

uint64_t trace_count(void)
{
        return evidence ? atomic_load(&evidence->call_count) : 0;
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
        atomic_store(&call->state, CALL_EMPTY);
        call->teardown = atomic_load(&evidence->phase) != PHASE_BODY;
        call->thread = (uint16_t)trace_thread();
        call->changed = 0;
        call->exec = 0;
        call->pid = getpid();
        call->took_ns = 0;
        call->memory = (struct call_memory){.kind = MEMORY_NONE};
        capture_call(call, function, args);
        call->number = number;
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
        for (size_t i = 0; i < api->count; i++)
                if (api->params[i].pointer && api->params[i].direction == API_IN &&
                    is_changed(call, i, &args[i]))
                        call->changed |= (uint16_t)(1u << i);
        capture_answer(call, args, ret);
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
