/* SPDX-License-Identifier: BSD-2-Clause */
#include "evidence/render_call.h"

#include <stdio.h>
#include <string.h>

#include "evidence/address.h"
#include "evidence/typed.h"
#include "evidence/value.h"

void render_begin(struct render *render, const char *kind)
{
        struct writer *writer = &render->writer;

        writer_reset(writer);
        write_open(writer, '{');
        write_string(writer, "type", "event");
        write_count(writer, "seq", render->seq);
        write_string(writer, "kind", kind);
}

void render_end(struct render *render)
{
        write_close(&render->writer, '}');
        if (!render->writer.lost)
                render->emit(render->context, render->writer.at, render->writer.length);
}

static const unsigned char *span_bytes(const struct call_record *call, const struct call_span *span)
{
        if (span->length == 0 || (size_t)span->offset + span->length > CALL_BYTES_MAX)
                return NULL;
        return call->bytes + span->offset;
}

/* Bytes that are made hexadecimal at once. */
#define HEX_PART 64

static void add_hex(struct value_text *text, const unsigned char *bytes, size_t length)
{
        char hex[HEX_OF(HEX_PART) + 1];

        for (size_t at = 0; at < length; at += HEX_PART) {
                size_t part = length - at < HEX_PART ? length - at : HEX_PART;

                hex_digits(hex, bytes + at, part);
                text_put(text, hex);
        }
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

static bool is_text(const struct api_param *param)
{
        return param->type->kind == API_STRING || param->type->kind == API_LISTED;
}

/* What a pointer points at: one element, or an array in brackets. */
static void add_pointed(struct render *render, struct value_text *text,
                        const struct api_param *param, const unsigned char *bytes, size_t length)
{
        size_t size = param->type->size;

        if (is_text(param)) {
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
                if (!param->pointer)
                        value_add(text, &render->names, param->type,
                                  (const unsigned char *)&call->args[i]);
                else if (call->args[i])
                        text_put_hex(text, call->args[i]);
                else
                        text_put(text, "NULL");
                return;
        }
        switch (param->type->kind) {
        case API_ADDRESS:
                address_text((const struct sockaddr *)bytes, address, sizeof(address));
                text_put(text, address[0] ? address : "an address of another family");
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
static void write_pair(struct writer *writer, const struct api_param *param,
                       const struct value_text *text)
{
        write_open(writer, '[');
        write_plain(writer, param->name, param->name_length);
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
                write_pair(&render->writer, param, &text);
        }
        write_close(&render->writer, ']');
}

static bool ends_with(const char *text, const char *end)
{
        size_t length = strlen(text);

        return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

/* Whether the object of the call's first argument is gone when the call has succeeded. */
static bool is_end(const struct api_function *function)
{
        static const char *const ends[] = {"_free", "_close", "dat_cr_accept", "dat_cr_reject",
                                           "dat_cr_handoff"};

        for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
                if (ends_with(function->name, ends[i]))
                        return true;
        return false;
}

static bool met(const struct call_record *call, const struct call_record *other)
{
        return other->thread != call->thread && other->exec == call->exec &&
               other->pid == call->pid && other->number > call->number &&
               other->began_ns <= call->began_ns + call->took_ns;
}

/*
 * A call that was begun later may have freed the object that had the handle, while `call` made
 * another one: it stands behind `call`, and means the former.
 */
static void foretell_free(struct render *render, const struct call_record *call, uint64_t handle)
{
        struct name *name = names_find(&render->names, handle);

        if (!name || name->freed || name->freed_by || !render->evidence)
                return;
        for (size_t i = 0; i < evidence_calls(render->evidence); i++) {
                const struct call_record *other = &render->evidence->calls[i];

                if (atomic_load(&other->state) == CALL_DONE &&
                    other->function < api_function_count && met(call, other) &&
                    other->args[0] == handle && dat_is(other->ret, DAT_SUCCESS) &&
                    is_end(&api_functions[other->function]))
                        name->freed_by = other->number;
        }
}

static bool is_maker(const struct api_function *function)
{
        return strstr(function->name, "_create") || strstr(function->name, "_open");
}

/* Gives a name to each handle that a call made or told, before its output is rendered. */
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
                if (!handle)
                        continue;
                if (!is_maker(function)) {
                        names_told(&render->names, handle, kind);
                        continue;
                }
                foretell_free(render, call, handle);
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

static void learn_freed(struct render *render, const struct call_record *call,
                        const struct api_function *function)
{
        struct name *name;

        if (!is_end(function))
                return;
        render->names.now = call->began_ns;
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
                write_pair(&render->writer, &function->params[i], &text);
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

        if (is_text(param)) {
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
                write_plain_name(typed->writer, param->name, param->name_length);
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
                write_plain_name(typed->writer, function->params[i].name,
                                 function->params[i].name_length);
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
        char digest[DIGEST_SPACE];

        if (memory->kind < MEMORY_SENT || memory->kind > MEMORY_WRITTEN)
                return;
        write_name(writer, "memory");
        write_open(writer, '{');
        if (memory->kind == MEMORY_ARRIVED || memory->kind == MEMORY_WRITTEN)
                write_size(writer, "post", memory->post);
        write_size(writer, "length", memory->length);
        if (memory->kind == MEMORY_SENT || memory->kind == MEMORY_ARRIVED)
                write_string(writer, "digest", digest_digits(digest, memory->digest));
        if (memory->has_remote)
                write_string(writer, "remote", digest_digits(digest, memory->remote));
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

void render_call(struct render *render, const struct call_record *call)
{
        const struct api_function *function = &api_functions[call->function];
        bool done = atomic_load(&call->state) == CALL_DONE;
        struct writer *writer = &render->writer;
        const struct typed typed = {writer, &render->names, call};

        render->names.process = call->exec;
        render->names.now = call->began_ns;
        render_begin(render, "call");
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
                render->names.now = call->began_ns + call->took_ns;
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
        render_end(render);
}
