/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/recorder.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "case/attributes.h"
#include "evidence/capture.h"
#include "record/frames.h"
#include "record/layout.h"
#include "record/store.h"

#define FUNCTIONS_MAX  128
#define EXIT_WRONG_API 125

#if UDAPL_CTS_API_MAJOR > 1
#define LIBDAT       "libdat2.so.2"
#define OTHER_API    "1.2"
#define OTHER_SYMBOL "DAT_1.2"
#else
#define LIBDAT       "libdat.so.1"
#define OTHER_API    "2.0"
#define OTHER_SYMBOL "DAT_2.0"
#endif

/* A call that finds nothing is made again and again: of those in a row, few are recorded. */
static const struct {
        const char *call;
        DAT_RETURN nothing;
} polled[] = {
    {"dat_evd_dequeue", DAT_QUEUE_EMPTY},
    {"dat_evd_wait", DAT_TIMEOUT_EXPIRED},
    {"dat_cno_wait", DAT_TIMEOUT_EXPIRED},
};

enum { UNOPENED, OPENING, OPEN, CLOSED };

static struct {
        _Atomic int state;
        struct record_header *store;
        _Atomic uint32_t threads;
} process;

static struct {
        DAT_RETURN nothing[FUNCTIONS_MAX]; /* by function; 0: it is no poll */
        unsigned int ia_open, ia_query;
        size_t ia_name, ia_handle; /* parameters of ia_open */
        pthread_key_t thread_end;
} known;

static _Atomic(void *) next_of[FUNCTIONS_MAX];

/* What a thread knows of itself, as long as the process has the same store. */
static _Thread_local struct {
        unsigned int depth; /* of wrappers; libdat calls itself, and that is no consumer's call */
        uint32_t number;
        struct record_thread *place; /* in the file, or NULL */
        size_t polls;                /* so many of its polls are valid, the first ones */
} self;

static void forget_parent(void)
{
        atomic_store(&process.state, UNOPENED);
        atomic_store(&process.threads, 0);
        memset(&self, 0, sizeof(self));
}

static bool is_named(unsigned int function, const char *name)
{
        return strcmp(api_functions[function].name, name) == 0;
}

static void know_ia_open(unsigned int function)
{
        known.ia_open = function;
        for (size_t i = 0; i < api_functions[function].count; i++) {
                if (strcmp(api_functions[function].params[i].name, "name") == 0)
                        known.ia_name = i;
                if (strcmp(api_functions[function].params[i].name, "ia_handle") == 0)
                        known.ia_handle = i;
        }
}

static void leave(void *place);

__attribute__((constructor)) static void begin(void)
{
        for (unsigned int i = 0; i < api_function_count && i < FUNCTIONS_MAX; i++) {
                for (size_t k = 0; k < sizeof(polled) / sizeof(polled[0]); k++)
                        if (is_named(i, polled[k].call))
                                known.nothing[i] = polled[k].nothing;
                if (is_named(i, "dat_ia_openv"))
                        know_ia_open(i);
                if (is_named(i, "dat_ia_query"))
                        known.ia_query = i;
        }
        pthread_key_create(&known.thread_end, leave);
        pthread_atfork(NULL, NULL, forget_parent);
}

static void *find_next(const char *name)
{
        void *found = dlsym(RTLD_NEXT, name);
        void *library;

        if (found && found == dlvsym(RTLD_NEXT, name, OTHER_SYMBOL)) {
                fprintf(stderr,
                        "libdattrace: the program calls DAT " OTHER_API
                        ", and this recorder is for another: trace it with --api " OTHER_API "\n");
                _exit(EXIT_WRONG_API);
        }
        if (found)
                return found;
        /* A plugin's libdat is in no scope but the plugin's. */
        library = dlopen(LIBDAT, RTLD_LAZY | RTLD_NOLOAD);
        return library ? dlsym(library, name) : NULL;
}

__attribute__((noinline)) static void *find_first(unsigned int function)
{
        void *found = find_next(api_functions[function].name);

        if (!found) {
                fprintf(stderr, "libdattrace: no library has %s\n", api_functions[function].name);
                _exit(EXIT_WRONG_API);
        }
        atomic_store(&next_of[function], found);
        return found;
}

static void *next_function(unsigned int function)
{
        void *found = atomic_load_explicit(&next_of[function], memory_order_relaxed);

        return found ? found : find_first(function);
}

static bool open_store(void)
{
        int unopened = UNOPENED;

        if (atomic_compare_exchange_strong(&process.state, &unopened, OPENING)) {
                process.store = store_open();
                atomic_store(&process.state, process.store ? OPEN : CLOSED);
        }
        while (atomic_load(&process.state) == OPENING)
                sched_yield();
        return atomic_load(&process.state) == OPEN;
}

static void know_self(void)
{
        self.number = atomic_fetch_add(&process.threads, 1) + 1;
        frames_find();
        for (size_t i = 0; i < RECORD_THREADS; i++) {
                struct record_thread *place = &process.store->threads[i];
                uint32_t none = 0;

                if (!atomic_compare_exchange_strong(&place->number, &none, self.number))
                        continue;
                self.place = place;
                pthread_setspecific(known.thread_end, place);
                return;
        }
}

static uint64_t next_number(void)
{
        return atomic_fetch_add(&process.store->calls, 1) + 1;
}

static uint32_t aligned(size_t size)
{
        return (uint32_t)((size + RECORD_ALIGN - 1) & ~(size_t)(RECORD_ALIGN - 1));
}

static void *add(void *to, const void *from, size_t size)
{
        if (size)
                memcpy(to, from, size);
        return (unsigned char *)to + size;
}

/* The entry of a call: spans are left out where they are of no bytes. */
static void put_call(const struct call_record *record, uint32_t used, uint64_t ended_ns)
{
        size_t count = api_functions[record->function].count;
        size_t ins = used ? count : 0;
        size_t outs = record->used > used ? count : 0;
        size_t args_size = count * sizeof(record->args[0]);
        size_t pointees_size = record->pointee_count * sizeof(record->pointees[0]);
        size_t spans_size = (ins + outs) * sizeof(record->in[0]);
        struct record_entry *entry;
        struct store_room room;
        void *to;

        entry = store_reserve(
            process.store,
            aligned(sizeof(*entry) + args_size + pointees_size + spans_size + record->used), &room);
        if (!entry)
                return;
        entry->kind = RECORD_CALL;
        entry->function = record->function;
        entry->thread = self.number;
        entry->number = record->number;
        entry->began_ns = record->began_ns;
        entry->ended_ns = ended_ns;
        entry->ret = record->ret;
        entry->bytes = (uint16_t)record->used;
        entry->args = (uint8_t)count;
        entry->pointees = (uint8_t)record->pointee_count;
        entry->ins = (uint8_t)ins;
        entry->outs = (uint8_t)outs;
        to = entry + 1;
        for (size_t i = 0; i < count; i++)
                memcpy((uint64_t *)to + i, &record->args[i], sizeof(record->args[i]));
        to = (uint64_t *)to + count;
        if (record->used) {
                to = add(to, record->pointees, pointees_size);
                to = add(to, record->in, ins * sizeof(record->in[0]));
                to = add(to, record->out, outs * sizeof(record->out[0]));
                add(to, record->bytes, record->used);
        }
        store_commit(entry, &room);
}

static void put_poll(struct record_poll *poll)
{
        struct call_record record;

        record.function = (uint16_t)poll->function;
        record.number = next_number();
        record.began_ns = poll->began_ns;
        record.ret = poll->ret;
        record.used = 0;
        record.pointee_count = 0;
        memcpy(record.args, poll->args, sizeof(poll->args));
        put_call(&record, 0, poll->ended_ns);
        atomic_fetch_add(&process.store->polls, poll->count - 1);
        poll->count = 0;
}

/* Records the last of each poll that was repeated; with `forget`, the next one is the first. */
static void flush_polls(bool forget)
{
        for (size_t i = 0; i < self.polls; i++) {
                if (self.place->polls[i].count)
                        put_poll(&self.place->polls[i]);
                if (forget)
                        self.place->polls[i].valid = 0;
        }
        if (forget)
                self.polls = 0;
}

/* The calling thread ends, within a call if it was cancelled: another one may have its place. */
static void leave(void *place)
{
        if (place != self.place)
                return;
        flush_polls(true);
        atomic_store(&self.place->call.state, CALL_EMPTY);
        for (size_t i = 0; i < RECORD_POLLS; i++)
                atomic_store(&self.place->polls[i].inside, 0);
        atomic_store(&self.place->number, 0);
        self.place = NULL;
}

/* Whether a poll was made with these arguments; those of polls are words or smaller. */
static bool is_same(const struct record_poll *poll, const struct api_function *api,
                    const struct trace_arg *args)
{
        for (size_t i = 0; i < api->count; i++)
                if (poll->args[i] != trace_word(&args[i]))
                        return false;
        return true;
}

/* The poll that this call repeats, or NULL. */
static struct record_poll *poll_again(unsigned int function, const struct trace_arg *args)
{
        for (size_t i = 0; i < self.polls; i++) {
                struct record_poll *poll = &self.place->polls[i];

                if (poll->function == function && is_same(poll, &api_functions[function], args))
                        return poll;
        }
        return NULL;
}

static void poll_remember(const struct call_record *record)
{
        struct record_poll *poll;

        if (self.polls == RECORD_POLLS)
                return;
        poll = &self.place->polls[self.polls++];
        memcpy(poll->args, record->args,
               api_functions[record->function].count * sizeof(poll->args[0]));
        poll->function = record->function;
        poll->ret = record->ret;
        poll->count = 0;
        poll->valid = 1;
}

static struct call_record *begin_record(struct recorder_call *call, unsigned int function,
                                        const struct trace_arg *args)
{
        struct call_record *record = self.place ? &self.place->call : &call->own;

        capture_call(record, function, args);
        call->used = record->used;
        record->number = next_number();
        return record;
}

static void begin_call(struct recorder_call *call, unsigned int function,
                       const struct trace_arg *args)
{
        bool polls = known.nothing[function];

        call->record = &call->own;
        call->poll = polls ? poll_again(function, args) : NULL;
        if (call->poll) {
                call->poll->began_ns = now_ns();
                atomic_store_explicit(&call->poll->inside, 1, memory_order_relaxed);
                return;
        }
        if (self.polls)
                flush_polls(!polls);
        call->record = begin_record(call, function, args);
        call->record->began_ns = now_ns();
        atomic_store_explicit(&call->record->state, CALL_BEGUN, memory_order_release);
}

/* A thread that is cancelled while it makes the file would leave all others waiting for it. */
static bool make_ready(void)
{
        int saved = errno;
        int cancel;
        bool ready;

        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
        ready = open_store();
        if (ready)
                know_self();
        pthread_setcancelstate(cancel, NULL);
        errno = saved;
        return ready;
}

/* The calling thread has a number as soon as it has a store. */
static bool is_ready(void)
{
        return self.number || make_ready();
}

void *recorder_begin(struct recorder_call *call, unsigned int function,
                     const struct trace_arg *args)
{
        call->record = NULL;
        if (self.depth++ == 0 && is_ready())
                begin_call(call, function, args);
        return next_function(function);
}

/* A call that was begun as a poll has found something: now it has a record after all. */
static void begin_late(struct recorder_call *call, const struct trace_arg *args)
{
        unsigned int function = call->poll->function;
        uint64_t began_ns = call->poll->began_ns;

        atomic_store_explicit(&call->poll->inside, 0, memory_order_relaxed);
        flush_polls(true);
        call->record = begin_record(call, function, args);
        call->record->began_ns = began_ns;
}

static void put_attributes(const struct probe *probe)
{
        struct record_entry *entry;
        struct store_room room;

        entry = store_reserve(process.store, aligned(sizeof(*entry) + sizeof(*probe)), &room);
        if (!entry)
                return;
        memset(&entry->kind, 0, sizeof(*entry) - offsetof(struct record_entry, kind));
        entry->kind = RECORD_ATTRIBUTES;
        entry->thread = self.number;
        entry->bytes = sizeof(*probe);
        memcpy(entry + 1, probe, sizeof(*probe));
        store_commit(entry, &room);
}

/* What the opened IA declares: the pages bind a provider by it. */
static void note_attributes(const struct call_record *record)
{
        const struct call_span *name = &record->in[known.ia_name];
        const struct call_span *handle = &record->out[known.ia_handle];
        attributes_call *query = (attributes_call *)next_function(known.ia_query);
        struct probe probe = {.open = true};
        int saved = errno;
        DAT_IA_HANDLE ia;

        if (handle->length < sizeof(ia))
                return;
        memcpy(&ia, record->bytes + handle->offset, sizeof(ia));
        snprintf(probe.ia, sizeof(probe.ia), "%.*s", (int)name->length,
                 (const char *)record->bytes + name->offset);
        if (dat_is(attributes_query(query, ia, &probe), DAT_SUCCESS))
                put_attributes(&probe);
        errno = saved;
}

/* A poll that finds nothing may be made again; one that finds something ends the row. */
static void note_poll(const struct call_record *record)
{
        if (dat_is(record->ret, known.nothing[record->function]))
                poll_remember(record);
        else if (self.polls)
                flush_polls(true);
}

static void end_call(struct recorder_call *call, const struct trace_arg *args, DAT_RETURN ret)
{
        uint64_t ended_ns = now_ns();
        struct call_record *record;

        if (call->poll && call->poll->ret == ret) {
                call->poll->count++;
                call->poll->ended_ns = ended_ns;
                atomic_store_explicit(&call->poll->inside, 0, memory_order_relaxed);
                return;
        }
        if (call->poll)
                begin_late(call, args);
        record = call->record;
        capture_answer(record, args, ret);
        put_call(record, call->used, ended_ns);
        atomic_store_explicit(&record->state, CALL_DONE, memory_order_release);
        if (known.nothing[record->function] && self.place)
                note_poll(record);
        if (record->function == known.ia_open && dat_is(ret, DAT_SUCCESS))
                note_attributes(record);
}

void recorder_end(struct recorder_call *call, const struct trace_arg *args, DAT_RETURN ret)
{
        if (call->record)
                end_call(call, args, ret);
        self.depth--;
}
