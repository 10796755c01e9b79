/* SPDX-License-Identifier: BSD-2-Clause */
#include "evidence/render.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "evidence/address.h"
#include "evidence/lines.h"
#include "evidence/value.h"

/* One rendering: where it goes, and what it has learned of handles so far. */
struct render {
        unsigned long long seq;
        const char *who;
        render_emit *emit;
        void *context;
        struct names names;
};

static json_t *event_new(const struct render *render, const char *kind)
{
        return json_pack("{s:s s:I s:s}", "type", "event", "seq", (json_int_t)render->seq, "kind",
                         kind);
}

static void emit_text(const struct render *render, const char *kind, const char *text)
{
        json_t *event = event_new(render, kind);

        json_object_set_new(event, "text", text_json(text, strlen(text)));
        render->emit(render->context, event);
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
                if (length >= size)
                        value_add(text, &render->names, param->type, bytes);
                return;
        }
        text_add(text, "[");
        for (size_t at = 0; at + size <= length; at += size) {
                text_add(text, at ? ", " : "");
                value_add(text, &render->names, param->type, bytes + at);
        }
        text_add(text, "]");
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

static json_t *pair(const char *name, const struct value_text *text)
{
        return json_pack("[s o]", name, text_json(text->at, text->length));
}

static json_t *render_args(struct render *render, const struct call_record *call,
                           const struct api_function *function)
{
        json_t *list = json_array();

        for (size_t i = 0; i < function->count; i++) {
                const struct api_param *param = &function->params[i];
                struct value_text text = {.length = 0};

                if (param->pointer && !(param->direction & API_IN) && call->args[i])
                        continue;
                add_argument(render, &text, call, param, i);
                json_array_append_new(list, pair(param->name, &text));
        }
        return list;
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

                if (!bytes || param->type->kind != API_HANDLE || !kind)
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

static json_t *render_out(struct render *render, const struct call_record *call,
                          const struct api_function *function)
{
        json_t *list = json_array();

        for (size_t i = 0; i < function->count; i++) {
                const unsigned char *bytes = span_bytes(call, &call->out[i]);
                struct value_text text = {.length = 0};

                if (!bytes)
                        continue;
                add_pointed(render, &text, &function->params[i], bytes, call->out[i].length);
                json_array_append_new(list, pair(function->params[i].name, &text));
        }
        return list;
}

static json_t *render_call(struct render *render, const struct call_record *call)
{
        const struct api_function *function = &api_functions[call->function];
        bool done = atomic_load(&call->state) == CALL_DONE;
        json_t *event = event_new(render, "call");
        char space[API_NAME_SPACE];

        json_object_set_new(event, "n", json_integer((json_int_t)call->number));
        json_object_set_new(event, "who", json_string(render->who));
        if (call->thread > 1)
                json_object_set_new(event, "thread", json_integer(call->thread));
        json_object_set_new(event, "call", json_string(function->name));
        json_object_set_new(event, "args", render_args(render, call, function));
        if (done) {
                learn_made(render, call, function);
                if (strcmp(function->name, "dat_lmr_create") == 0)
                        learn_memory(render, call, function);
                json_object_set_new(event, "ret", json_string(api_return_name(call->ret, space)));
                if (!dat_is(call->ret, DAT_SUCCESS))
                        json_object_set_new(event, "sub",
                                            json_string(api_subtype_name(call->ret, space)));
                json_object_set_new(event, "out", render_out(render, call, function));
                if (dat_is(call->ret, DAT_SUCCESS))
                        learn_freed(render, call, function);
        } else {
                json_object_set_new(event, "unfinished", json_true());
        }
        json_object_set_new(event, "at_us", json_integer((json_int_t)(call->at_ns / 1000)));
        if (done)
                json_object_set_new(event, "us", json_integer((json_int_t)(call->took_ns / 1000)));
        if (call->teardown)
                json_object_set_new(event, "teardown", json_true());
        return event;
}

/* The slots of a log that still hold their entries, in order. */
static bool is_kept(uint64_t n, uint64_t count)
{
        return n < LOG_FIRST || n + LOG_LAST >= count;
}

static void emit_gap(const struct render *render, const char *what, uint64_t count)
{
        char text[128];

        if (count <= LOG_SLOTS)
                return;
        snprintf(text, sizeof(text),
                 "%s %d to %" PRIu64 " are not kept: the first %d and the last %d are", what,
                 LOG_FIRST + 1, count - LOG_LAST, LOG_FIRST, LOG_LAST);
        emit_text(render, "record", text);
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

static void render_calls(struct render *render, const struct evidence *evidence)
{
        uint64_t count = believable(atomic_load(&evidence->call_count));

        for (uint64_t n = 0; n < count; n = skip_gap(n + 1, count)) {
                const struct call_record *call = &evidence->calls[log_slot(n)];

                if (!is_kept(n, count) || call->number != n + 1 ||
                    atomic_load(&call->state) == CALL_EMPTY || call->function >= api_function_count)
                        continue;
                render->emit(render->context, render_call(render, call));
        }
        emit_gap(render, "calls", count);
}

static json_t *text_field(const char *text, size_t size)
{
        return text_json(text, strnlen(text, size));
}

static json_t *split_lines(const char *text, size_t size)
{
        json_t *list = json_array();
        size_t length = strnlen(text, size);

        for (size_t at = 0; at < length;) {
                const char *end = memchr(text + at, '\n', length - at);
                size_t line = end ? (size_t)(end - text) - at : length - at;

                json_array_append_new(list, text_json(text + at, line));
                at += line + 1;
        }
        return list;
}

static json_t *render_check(const struct render *render, const struct entry *entry)
{
        static const char *const roles[] = {"must", "expect", "guard"};
        json_t *event = event_new(render, "check");

        json_object_set_new(event, "text", text_field(entry->text, sizeof(entry->text)));
        json_object_set_new(event, "file", text_field(entry->file, sizeof(entry->file)));
        json_object_set_new(event, "line", json_integer(entry->line > 0 ? entry->line : 0));
        json_object_set_new(event, "role", json_string(roles[entry->role % 3]));
        json_object_set_new(event, "ok", json_boolean(entry->ok));
        json_object_set_new(event, "expected",
                            split_lines(entry->expected, sizeof(entry->expected)));
        json_object_set_new(event, "seen", text_field(entry->seen, sizeof(entry->seen)));
        json_object_set_new(event, "calls", json_integer((json_int_t)(entry->calls & INT64_MAX)));
        return event;
}

static void render_entries(struct render *render, const struct evidence *evidence)
{
        static const char *const kinds[] = {"check", "note", "record", "leak"};
        uint64_t count = believable(atomic_load(&evidence->entry_count));

        for (uint64_t n = 0; n < count; n = skip_gap(n + 1, count)) {
                const struct entry *entry = &evidence->entries[log_slot(n)];
                json_t *event;

                if (!is_kept(n, count) || atomic_load(&entry->number) != n + 1 ||
                    entry->kind > ENTRY_LEAK)
                        continue;
                if (entry->kind == ENTRY_CHECK) {
                        event = render_check(render, entry);
                } else {
                        event = event_new(render, kinds[entry->kind]);
                        json_object_set_new(event, "text",
                                            text_field(entry->text, sizeof(entry->text)));
                }
                render->emit(render->context, event);
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

static void render_crash(struct render *render, const struct evidence *evidence)
{
        const struct crash *crash = &evidence->crash;
        uint32_t number = atomic_load(&crash->signal);
        json_t *event;

        if (number == 0)
                return;
        event = event_new(render, "crash");
        json_object_set_new(event, "signal", json_string(signal_name((int)number)));
        json_object_set_new(event, "backtrace", render_frames(&crash->frames));
        if (atomic_load(&evidence->phase) != PHASE_BODY)
                json_object_set_new(event, "teardown", json_true());
        if (strcmp(render->who, "peer") == 0)
                json_object_set_new(event, "who", json_string(render->who));
        render->emit(render->context, event);
}

void render_evidence(const struct evidence *evidence, unsigned long long seq, const char *who,
                     render_emit *emit, void *context)
{
        struct render render = {.seq = seq, .who = who, .emit = emit, .context = context};

        render_calls(&render, evidence);
        render_entries(&render, evidence);
        render_crash(&render, evidence);
        names_clear(&render.names);
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
