/* SPDX-License-Identifier: BSD-2-Clause */
#include "evidence/render.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evidence/address.h"
#include "evidence/lines.h"
#include "evidence/typed.h"
#include "evidence/value.h"
#include "evidence/writer.h"

/* One rendering: where it goes, and what it has learned of handles so far. */
struct render {
        unsigned long long seq;
        const char *who;
        render_emit *emit;
        void *context;
        struct names names;
        int32_t own_pid;
        struct writer writer; /* of the event that is being rendered */
};

void render_tree(render_emit *emit, void *context, json_t *event)
{
        char *text = json_dumps(event, JSON_COMPACT);

        if (text)
                emit(context, text, strlen(text));
        free(text);
        json_decref(event);
}

static void write_string(struct writer *writer, const char *name, const char *value)
{
        write_name(writer, name);
        write_text(writer, value, strlen(value));
}

static void write_field(struct writer *writer, const char *name, const char *text, size_t size)
{
        write_name(writer, name);
        write_text(writer, text, strnlen(text, size));
}

static void write_count(struct writer *writer, const char *name, uint64_t count)
{
        write_name(writer, name);
        write_number(writer, (int64_t)count);
}

static void event_begin(struct render *render, const char *kind)
{
        struct writer *writer = &render->writer;

        writer_reset(writer);
        write_open(writer, '{');
        write_string(writer, "type", "event");
        write_count(writer, "seq", render->seq);
        write_string(writer, "kind", kind);
}

static void event_end(struct render *render)
{
        write_close(&render->writer, '}');
        if (!render->writer.lost)
                render->emit(render->context, render->writer.at, render->writer.length);
}

static void emit_text(struct render *render, const char *kind, const char *text, size_t size)
{
        event_begin(render, kind);
        write_field(&render->writer, "text", text, size);
        event_end(render);
}

static const unsigned char *span_bytes(const struct call_record *call, const struct call_span *span)
{
        if (span->length == 0 || (size_t)span->offset + span->length > CALL_BYTES_MAX)
                return NULL;
        return call->bytes + span->offset;
}

static void add_hex(struct value_text *text, const unsigned char *bytes, size_t length)
{
        for (size_t i = 0; i < length; i++)
                text_add(text, "%02x", bytes[i]);
}

/*
 * The constant that stands for an asynchronous EVD of none of the instance's, or NULL. Handles of
 * DAT 2.0 are small numbers, so another object may have the same value.
 */
static const char *async_evd_constant(const struct api_param *param, const unsigned char *bytes)
{
        uint64_t handle;

        if (strcmp(param->name, "async_evd_handle") != 0)
                return NULL;
        handle = value_number(bytes, sizeof(handle));
        if (handle == (uintptr_t)DAT_EVD_ASYNC_EXISTS)
                return "DAT_EVD_ASYNC_EXISTS";
        return handle == (uintptr_t)DAT_EVD_OUT_OF_SCOPE ? "DAT_EVD_OUT_OF_SCOPE" : NULL;
}

/* What a pointer points at: one element, or an array in brackets. */
static void add_pointed(struct render *render, struct value_text *text,
                        const struct api_param *param, const unsigned char *bytes, size_t length)
{
        size_t size = param->type->size;

        if (param->type->kind == API_STRING) {
                text_add(text, "\"%.*s\"", (int)strnlen((const char *)bytes, length), bytes);
                return;
        }
        if (param->count == API_NO_COUNT) {
                const char *constant = length >= size ? async_evd_constant(param, bytes) : NULL;

                if (constant)
                        text_put(text, constant);
                else if (length >= size)
                        value_add(text, &render->names, param->type, bytes);
                return;
        }
        text_put(text, "[");
        for (size_t at = 0; at + size <= length; at += size) {
                text_put(text, at ? ", " : "");
                value_add(text, &render->names, param->type, bytes + at);
        }
        text_put(text, "]");
}

static void add_argument(struct render *render, struct value_text *text,
                         const struct call_record *call, const struct api_param *param, size_t i)
{
        const unsigned char *bytes = span_bytes(call, &call->in[i]);
        size_t length = call->in[i].length;
        char address[64];

        if (param->pointer && bytes) {
                add_pointed(render, text, param, bytes, length);
                return;
        }
        if (param->pointer || !bytes) {
                const char *none = "NULL";

                if (!param->pointer)
                        value_add(text, &render->names, param->type,
                                  (const unsigned char *)&call->args[i]);
                else
                        text_add(text, call->args[i] ? "0x%" PRIx64 : none, call->args[i]);
                return;
        }
        switch (param->type->kind) {
        case API_ADDRESS:
                address_text((const struct sockaddr *)bytes, address, sizeof(address));
                text_add(text, "%s", address[0] ? address : "an address of another family");
                break;
        case API_BYTES:
                add_hex(text, bytes, length);
                break;
        case API_STRING:
                text_add(text, "\"%.*s\"", (int)strnlen((const char *)bytes, length), bytes);
                break;
        default:
                if (length >= param->type->size)
                        value_add(text, &render->names, param->type, bytes);
        }
}

/* A parameter's name and its value. */
static void write_pair(struct writer *writer, const char *name, const struct value_text *text)
{
        write_open(writer, '[');
        write_text(writer, name, strlen(name));
        write_text(writer, text->at, text->length);
        write_close(writer, ']');
}

static void write_args(struct render *render, const struct call_record *call,
                       const struct api_function *function)
{
        write_name(&render->writer, "args");
        write_open(&render->writer, '[');
        for (size_t i = 0; i < function->count; i++) {
                const struct api_param *param = &function->params[i];
                struct value_text text;

                text.length = 0;
                if (param->pointer && !(param->direction & API_IN) && call->args[i])
                        continue;
                add_argument(render, &text, call, param, i);
                write_pair(&render->writer, param->name, &text);
        }
        write_close(&render->writer, ']');
}

/* Gives a name to each handle that a call made, before its output is rendered. */
static void learn_made(struct render *render, const struct call_record *call,
                       const struct api_function *function)
{
        for (size_t i = 0; i < function->count; i++) {
                const struct api_param *param = &function->params[i];
                const unsigned char *bytes = span_bytes(call, &call->out[i]);
                const char *kind = param->type->object;
                uint64_t handle;

                if (!bytes || param->type->kind != API_HANDLE || !kind ||
                    async_evd_constant(param, bytes))
                        continue;
                handle = value_number(bytes, sizeof(handle));
                if (strcmp(param->name, "async_evd_handle") == 0)
                        kind = "async_evd";
                if (handle)
                        names_made(&render->names, handle, kind);
        }
}

/* The parameter with this name; the first, where there is none. */
static size_t param_index(const struct api_function *function, const char *name)
{
        for (size_t i = 0; i < function->count; i++)
                if (strcmp(function->params[i].name, name) == 0)
                        return i;
        return 0;
}

/* What a new LMR covers, so that addresses and contexts can be shown as parts of it. */
static void learn_memory(struct render *render, const struct call_record *call,
                         const struct api_function *function)
{
        const unsigned char *region =
            span_bytes(call, &call->in[param_index(function, "region_description")]);
        const unsigned char *handle =
            span_bytes(call, &call->out[param_index(function, "lmr_handle")]);
        const unsigned char *lmr =
            span_bytes(call, &call->out[param_index(function, "lmr_context")]);
        const unsigned char *rmr =
            span_bytes(call, &call->out[param_index(function, "rmr_context")]);
        struct name *name = handle ? names_find(&render->names, value_number(handle, 8)) : NULL;

        if (!name || !region || !lmr || !rmr)
                return;
        name->is_memory = true;
        name->lmr_context = (uint32_t)value_number(lmr, 4);
        name->rmr_context = (uint32_t)value_number(rmr, 4);
        name->address = value_number(region, 8);
        name->length = call->args[param_index(function, "length")];
}

static bool ends_with(const char *text, const char *end)
{
        size_t length = strlen(text);

        return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

static void learn_freed(struct render *render, const struct call_record *call,
                        const struct api_function *function)
{
        struct name *name;

        if (!ends_with(function->name, "_free") && !ends_with(function->name, "_close"))
                return;
        name = names_find(&render->names, call->args[0]);
        if (name)
                name->freed = true;
}

static void write_out(struct render *render, const struct call_record *call,
                      const struct api_function *function)
{
        write_name(&render->writer, "out");
        write_open(&render->writer, '[');
        for (size_t i = 0; i < function->count; i++) {
                const unsigned char *bytes = span_bytes(call, &call->out[i]);
                struct value_text text;

                if (!bytes)
                        continue;
                text.length = 0;
                add_pointed(render, &text, &function->params[i], bytes, call->out[i].length);
                write_pair(&render->writer, function->params[i].name, &text);
        }
        write_close(&render->writer, ']');
}

/* What a call that returned has answered. */
static void write_answer(struct render *render, const struct call_record *call,
                         const struct api_function *function)
{
        struct writer *writer = &render->writer;
        char space[API_NAME_SPACE];

        write_string(writer, "ret", api_return_name(call->ret, space));
        if (!dat_is(call->ret, DAT_SUCCESS))
                write_string(writer, "sub", api_subtype_name(call->ret, space));
        write_out(render, call, function);
        if (dat_is(call->ret, DAT_SUCCESS))
                learn_freed(render, call, function);
}

static void write_typed_pointed(const struct typed *typed, const struct api_param *param,
                                const unsigned char *bytes, size_t length)
{
        size_t size = param->type->size;

        if (param->type->kind == API_STRING) {
                typed_write_text(typed, bytes, length);
                return;
        }
        if (param->count == API_NO_COUNT) {
                if (length < size)
                        write_null(typed->writer);
                else if (async_evd_constant(param, bytes))
                        typed_write_nameless(typed, value_number(bytes, size));
                else
                        typed_write(typed, param->type, bytes);
                return;
        }
        write_open(typed->writer, '[');
        for (size_t at = 0; at + size <= length; at += size)
                typed_write(typed, param->type, bytes + at);
        write_close(typed->writer, ']');
}

static void write_typed_argument(const struct typed *typed, const struct api_param *param, size_t i)
{
        const struct call_record *call = typed->call;
        const unsigned char *bytes = span_bytes(call, &call->in[i]);

        if (param->pointer && bytes)
                write_typed_pointed(typed, param, bytes, call->in[i].length);
        else if (param->pointer)
                typed_write_pointer(typed, call->args[i]);
        else if (param->type->kind == API_STRING && bytes)
                typed_write_text(typed, bytes, call->in[i].length);
        else if (param->type->kind == API_STRUCT && bytes &&
                 call->in[i].length >= param->type->size)
                typed_write(typed, param->type, bytes);
        else
                typed_write(typed, param->type, (const unsigned char *)&call->args[i]);
}

/* The arguments of a call as data. */
static void write_typed_args(const struct typed *typed, const struct api_function *function)
{
        write_name(typed->writer, "args");
        write_open(typed->writer, '{');
        for (size_t i = 0; i < function->count; i++) {
                const struct api_param *param = &function->params[i];

                if (param->pointer && !(param->direction & API_IN) && typed->call->args[i])
                        continue;
                write_name(typed->writer, param->name);
                write_typed_argument(typed, param, i);
        }
        write_close(typed->writer, '}');
}

static void write_typed_out(const struct typed *typed, const struct api_function *function)
{
        write_name(typed->writer, "out");
        write_open(typed->writer, '{');
        for (size_t i = 0; i < function->count; i++) {
                const unsigned char *bytes = span_bytes(typed->call, &typed->call->out[i]);

                if (!bytes)
                        continue;
                write_name(typed->writer, function->params[i].name);
                write_typed_pointed(typed, &function->params[i], bytes, typed->call->out[i].length);
        }
        write_close(typed->writer, '}');
}

/* When the call was made and by which process: of itself, a fork of it, or one that it executed. */
static void write_origin(struct render *render, const struct call_record *call, bool done)
{
        struct writer *writer = &render->writer;
        char child[32];

        write_name(writer, "ns");
        write_open(writer, '[');
        write_unsigned(writer, call->began_ns);
        if (done)
                write_unsigned(writer, call->began_ns + call->took_ns);
        write_close(writer, ']');
        if (!call->exec && call->pid == render->own_pid)
                return;
        snprintf(child, sizeof(child), "%s#%d", call->exec ? "exec" : "fork",
                 call->exec ? call->exec : call->pid);
        write_string(writer, "child", child);
}

/* A number that the case's process has written, whatever it is. */
static void write_size(struct writer *writer, const char *name, uint64_t size)
{
        write_name(writer, name);
        write_unsigned(writer, size);
}

static void write_memory(struct writer *writer, const struct call_memory *memory)
{
        char digest[17];

        if (memory->kind != MEMORY_SENT && memory->kind != MEMORY_ARRIVED)
                return;
        write_name(writer, "memory");
        write_open(writer, '{');
        if (memory->kind == MEMORY_ARRIVED)
                write_size(writer, "post", memory->post);
        write_size(writer, "length", memory->length);
        snprintf(digest, sizeof(digest), "%016" PRIx64, memory->digest);
        write_string(writer, "digest", digest);
        if (memory->kept)
                write_size(writer, "kept", memory->kept);
        if (memory->changed < memory->kept)
                write_size(writer, "changed", memory->changed);
        write_close(writer, '}');
}

static void write_changed(struct writer *writer, const struct call_record *call,
                          const struct api_function *function)
{
        if (!call->changed)
                return;
        write_name(writer, "changed");
        write_open(writer, '[');
        for (size_t i = 0; i < function->count; i++)
                if (call->changed & 1u << i)
                        write_text(writer, function->params[i].name,
                                   strlen(function->params[i].name));
        write_close(writer, ']');
}

static void write_true(struct writer *writer, const char *name)
{
        write_name(writer, name);
        write_bool(writer, true);
}

static void emit_call(struct render *render, const struct call_record *call)
{
        const struct api_function *function = &api_functions[call->function];
        bool done = atomic_load(&call->state) == CALL_DONE;
        struct writer *writer = &render->writer;
        const struct typed typed = {writer, &render->names, call};

        render->names.process = call->exec;
        event_begin(render, "call");
        write_count(writer, "n", call->number);
        write_string(writer, "who", render->who);
        if (call->thread > 1)
                write_count(writer, "thread", call->thread);
        write_string(writer, "call", function->name);
        write_args(render, call, function);
        write_name(writer, "typed");
        write_open(writer, '{');
        write_typed_args(&typed, function);
        if (done) {
                learn_made(render, call, function);
                if (strcmp(function->name, "dat_lmr_create") == 0)
                        learn_memory(render, call, function);
                write_typed_out(&typed, function);
        }
        write_close(writer, '}');
        if (done)
                write_answer(render, call, function);
        else
                write_true(writer, "unfinished");
        write_origin(render, call, done);
        write_memory(writer, &call->memory);
        write_changed(writer, call, function);
        write_count(writer, "at_us", call->at_ns / 1000);
        if (done)
                write_count(writer, "us", call->took_ns / 1000);
        if (call->teardown)
                write_true(writer, "teardown");
        event_end(render);
}

/* The slots of a log that still hold their entries, in order. */
static bool is_kept(uint64_t n, uint64_t count)
{
        return n < LOG_FIRST || n + LOG_LAST >= count;
}

static void emit_gap(struct render *render, const char *what, uint64_t count)
{
        char text[128];

        if (count <= LOG_SLOTS)
                return;
        snprintf(text, sizeof(text),
                 "%s %d to %" PRIu64 " are not kept: the first %d and the last %d are", what,
                 LOG_FIRST + 1, count - LOG_LAST, LOG_FIRST, LOG_LAST);
        emit_text(render, "record", text, sizeof(text));
}

/* A damaged counter must not send the agent round a loop for years. */
static uint64_t believable(uint64_t count)
{
        return count < UINT64_C(1) << 40 ? count : LOG_SLOTS;
}

static uint64_t skip_gap(uint64_t n, uint64_t count)
{
        return n == LOG_FIRST && count > LOG_SLOTS ? count - LOG_LAST : n;
}

static void render_log(struct render *render, const struct evidence *evidence)
{
        uint64_t count = believable(atomic_load(&evidence->call_count));

        for (uint64_t n = 0; n < count; n = skip_gap(n + 1, count)) {
                const struct call_record *call = &evidence->calls[log_slot(n)];

                if (!is_kept(n, count) || call->number != n + 1 ||
                    atomic_load(&call->state) == CALL_EMPTY || call->function >= api_function_count)
                        continue;
                emit_call(render, call);
        }
        emit_gap(render, "calls", count);
}

static json_t *text_field(const char *text, size_t size)
{
        return text_json(text, strnlen(text, size));
}

static void write_lines(struct writer *writer, const char *name, const char *text, size_t size)
{
        size_t length = strnlen(text, size);

        write_name(writer, name);
        write_open(writer, '[');
        for (size_t at = 0; at < length;) {
                const char *end = memchr(text + at, '\n', length - at);
                size_t line = end ? (size_t)(end - text) - at : length - at;

                write_text(writer, text + at, line);
                at += line + 1;
        }
        write_close(writer, ']');
}

static void emit_check(struct render *render, const struct entry *entry)
{
        static const char *const roles[] = {"must", "expect", "guard"};
        struct writer *writer = &render->writer;

        event_begin(render, "check");
        write_field(writer, "text", entry->text, sizeof(entry->text));
        write_field(writer, "file", entry->file, sizeof(entry->file));
        write_count(writer, "line", (uint64_t)(entry->line > 0 ? entry->line : 0));
        write_string(writer, "role", roles[entry->role % 3]);
        write_name(writer, "ok");
        write_bool(writer, entry->ok);
        write_lines(writer, "expected", entry->expected, sizeof(entry->expected));
        write_field(writer, "seen", entry->seen, sizeof(entry->seen));
        write_count(writer, "calls", entry->calls & INT64_MAX);
        event_end(render);
}

static void render_entries(struct render *render, const struct evidence *evidence)
{
        static const char *const kinds[] = {"check", "note", "record", "leak"};
        uint64_t count = believable(atomic_load(&evidence->entry_count));

        for (uint64_t n = 0; n < count; n = skip_gap(n + 1, count)) {
                const struct entry *entry = &evidence->entries[log_slot(n)];

                if (!is_kept(n, count) || atomic_load(&entry->number) != n + 1 ||
                    entry->kind > ENTRY_LEAK)
                        continue;
                if (entry->kind == ENTRY_CHECK)
                        emit_check(render, entry);
                else
                        emit_text(render, kinds[entry->kind], entry->text, sizeof(entry->text));
        }
        emit_gap(render, "checks and remarks", count);
}

const char *signal_name(int number)
{
        static const struct {
                int number;
                const char *name;
        } names[] = {
            {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},   {SIGABRT, "SIGABRT"}, {SIGFPE, "SIGFPE"},
            {SIGILL, "SIGILL"},   {SIGKILL, "SIGKILL"}, {SIGTERM, "SIGTERM"}, {SIGPIPE, "SIGPIPE"},
            {SIGINT, "SIGINT"},   {SIGHUP, "SIGHUP"},   {SIGTRAP, "SIGTRAP"}, {SIGSYS, "SIGSYS"},
            {SIGALRM, "SIGALRM"}, {SIGUSR1, "SIGUSR1"}, {SIGUSR2, "SIGUSR2"},
        };
        static char other[24];

        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
                if (names[i].number == number)
                        return names[i].name;
        snprintf(other, sizeof(other), "signal %d", number);
        return other;
}

json_t *render_frames(const struct frames *frames)
{
        uint32_t described = atomic_load(&frames->described);
        json_t *list = json_array();

        for (uint32_t i = 0; i < frames->count && i < FRAMES_MAX; i++) {
                char address[24];
                const char *text = address;

                snprintf(address, sizeof(address), "0x%" PRIxPTR, (uintptr_t)frames->address[i]);
                if (i < described)
                        text = frames->text[i];
                json_array_append_new(list, text_field(text, FRAME_TEXT_MAX - 1));
        }
        return list;
}

static void render_crash(const struct render *render, const struct evidence *evidence)
{
        const struct crash *crash = &evidence->crash;
        uint32_t number = atomic_load(&crash->signal);
        json_t *event;

        if (number == 0)
                return;
        event = json_pack("{s:s s:I s:s}", "type", "event", "seq", (json_int_t)render->seq, "kind",
                          "crash");
        json_object_set_new(event, "signal", json_string(signal_name((int)number)));
        json_object_set_new(event, "backtrace", render_frames(&crash->frames));
        if (atomic_load(&evidence->phase) != PHASE_BODY)
                json_object_set_new(event, "teardown", json_true());
        if (strcmp(render->who, "peer") == 0)
                json_object_set_new(event, "who", json_string(render->who));
        render_tree(render->emit, render->context, event);
}

void render_evidence(const struct evidence *evidence, unsigned long long seq, const char *who,
                     render_emit *emit, void *context)
{
        struct render render = {
            .seq = seq, .who = who, .emit = emit, .context = context, .own_pid = evidence->own_pid};

        render_log(&render, evidence);
        render_entries(&render, evidence);
        render_crash(&render, evidence);
        names_clear(&render.names);
        writer_free(&render.writer);
}

void render_calls(render_next *next, void *calls, int32_t own_pid, render_emit *emit, void *context)
{
        struct render render = {
            .who = "case", .emit = emit, .context = context, .own_pid = own_pid};
        const struct call_record *call;

        while ((call = next(calls)))
                emit_call(&render, call);
        names_clear(&render.names);
        writer_free(&render.writer);
}

/* The last call that has begun and not returned, of `thread`, or for 0 of any. */
static const struct call_record *last_begun(const struct evidence *evidence, uint32_t thread)
{
        const struct call_record *last = NULL;
        size_t used = evidence_calls(evidence);

        for (size_t i = 0; i < used; i++) {
                const struct call_record *call = &evidence->calls[i];

                if (atomic_load(&call->state) == CALL_BEGUN &&
                    call->function < api_function_count && (!thread || call->thread == thread) &&
                    (!last || call->number > last->number))
                        last = call;
        }
        return last;
}

/* A thread that crashed is in its own call; what had no end hangs in the last one. */
const struct call_record *render_pending_call(const struct evidence *evidence)
{
        bool crashed = atomic_load(&evidence->crash.signal) != 0;

        return last_begun(evidence, crashed ? evidence->crash.thread : 0);
}

const char *render_pending(const struct evidence *evidence)
{
        const struct call_record *call = render_pending_call(evidence);

        return call ? api_functions[call->function].name : NULL;
}

const char *render_pending_of(const struct evidence *evidence, uint32_t thread)
{
        const struct call_record *call = last_begun(evidence, thread);

        return call ? api_functions[call->function].name : NULL;
}

json_t *render_refused(const struct evidence *evidence)
{
        uint64_t number = atomic_load(&evidence->refused);
        const struct call_record *call;
        char space[API_NAME_SPACE];

        if (number == 0)
                return NULL;
        call = &evidence->calls[log_slot(number - 1)];
        if (call->number != number || atomic_load(&call->state) != CALL_DONE || !call->teardown ||
            call->function >= api_function_count)
                return NULL;
        return json_pack("{s:s s:s s:s}", "call", api_functions[call->function].name, "what",
                         "refused", "saw", api_return_name(call->ret, space));
}

/* A scalar as JSON has it; what exceeds its integers is text, and what is no scalar is NULL. */
static json_t *scalar(const struct api_type *type, const unsigned char *bytes)
{
        struct value_text text = {.length = 0};
        struct names names = {.list = NULL};
        uint64_t number;

        switch (type->kind) {
        case API_BOOLEAN:
                return json_boolean(value_number(bytes, type->size));
        case API_SIGNED:
                return json_integer((int32_t)value_number(bytes, type->size));
        case API_UNSIGNED:
        case API_VADDR:
                number = value_number(bytes, type->size);
                if (number <= INT64_MAX)
                        return json_integer((json_int_t)number);
                value_add(&text, &names, type, bytes);
                break;
        case API_ENUM:
                value_add(&text, &names, type, bytes);
                break;
        case API_TEXT:
                return text_field((const char *)bytes, type->size);
        default:
                return NULL;
        }
        return text_json(text.at, text.length);
}

static bool is_unwritten(const struct api_field *field, const bool *unwritten)
{
        for (size_t i = 0; i < field->type->size; i++)
                if (!unwritten[field->offset + i])
                        return false;
        return true;
}

static void add_scalars(json_t *object, const char *name, const void *values, const bool *unwritten)
{
        const struct api_struct *layout = api_struct_named(name);

        for (size_t i = 0; i < layout->count; i++) {
                const struct api_field *field = &layout->fields[i];
                json_t *value = scalar(field->type, (const unsigned char *)values + field->offset);

                if (value && is_unwritten(field, unwritten)) {
                        json_decref(value);
                        value = json_string("unwritten");
                }
                if (value)
                        json_object_set_new(object, field->name, value);
        }
}

json_t *render_attributes(const struct probe *probe)
{
        json_t *object = json_object();

        add_scalars(object, "DAT_IA_ATTR", &probe->ia_attr, probe->ia_unwritten);
        add_scalars(object, "DAT_PROVIDER_ATTR", &probe->provider_attr, probe->provider_unwritten);
        json_object_set_new(object, "ia_address_ptr",
                            text_field(probe->address, sizeof(probe->address)));
        return object;
}
