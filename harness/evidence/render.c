/* SPDX-License-Identifier: BSD-2-Clause */
#include "evidence/render.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evidence/lines.h"
#include "evidence/render_call.h"
#include "evidence/value.h"
#include "evidence/writer.h"

void render_tree(render_emit *emit, void *context, json_t *event)
{
        char *text = json_dumps(event, JSON_COMPACT);

        if (text)
                emit(context, text, strlen(text));
        free(text);
        json_decref(event);
}

static void write_field(struct writer *writer, const char *name, const char *text, size_t size)
{
        write_name(writer, name);
        write_text(writer, text, strnlen(text, size));
}

static void emit_text(struct render *render, const char *kind, const char *text, size_t size)
{
        render_begin(render, kind);
        write_field(&render->writer, "text", text, size);
        render_end(render);
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
                render_call(render, call);
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

        render_begin(render, "check");
        write_field(writer, "text", entry->text, sizeof(entry->text));
        write_field(writer, "file", entry->file, sizeof(entry->file));
        write_count(writer, "line", (uint64_t)(entry->line > 0 ? entry->line : 0));
        write_string(writer, "role", roles[entry->role % 3]);
        write_name(writer, "ok");
        write_bool(writer, entry->ok);
        write_lines(writer, "expected", entry->expected, sizeof(entry->expected));
        write_field(writer, "seen", entry->seen, sizeof(entry->seen));
        write_count(writer, "calls", entry->calls & INT64_MAX);
        render_end(render);
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
            .seq = seq,
            .who = who,
            .emit = emit,
            .context = context,
            .own_pid = evidence->own_pid,
            .evidence = evidence,
        };

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
                render_call(&render, call);
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
                            probe->unasked[UNASKED_IA_QUERY][0]
                                ? json_string("unwritten")
                                : text_field(probe->address, sizeof(probe->address)));
        return object;
}
