/* SPDX-License-Identifier: BSD-2-Clause */
#include "evidence/capture.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "evidence/digest.h"
#include "evidence/value.h"

/* Elements of an array and bytes of private data that are worth keeping. */
#define ARRAY_MAX  16
#define BYTES_MAX  64
#define STRING_MAX 256
#define PAGE       4096
#define DIGEST_MAX (64u << 10)

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

        if (param->type->kind == API_EVENT && span->length >= sizeof(DAT_EVENT)) {
                DAT_EVENT_NUMBER number;

                memcpy(&number, bytes + offsetof(DAT_EVENT, event_number), sizeof(number));
                layout = value_event_layout(number);
                bytes += offsetof(DAT_EVENT, event_data);
        }
        if (layout && layout->follows && param->count == API_NO_COUNT &&
            span->length >= layout->size)
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

                if (trace_read(&string, pointer, sizeof(string)))
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

void capture_call(struct call_record *call, unsigned int function, const struct trace_arg *args)
{
        const struct api_function *api = &api_functions[function];

        call->function = (uint16_t)function;
        call->ret = 0;
        call->used = 0;
        call->pointee_count = 0;
        memset(call->in, 0, sizeof(call->in));
        memset(call->out, 0, sizeof(call->out));
        for (size_t i = 0; i < api->count; i++)
                call->args[i] = trace_word(&args[i]);
        for (size_t i = 0; i < api->count; i++)
                if (api->params[i].given)
                        capture_in(call, &api->params[i], i, &args[i]);
}

/* "cts0 1.2 nonthreadsafe, cts1 1.2 threadsafe": all that were listed, or nothing. */
static void capture_listed(struct call_record *call, const struct call_span *number,
                           struct call_span *span, const void *const *listed)
{
        size_t room = CALL_BYTES_MAX - call->used;
        char *to = (char *)call->bytes + call->used;
        size_t length = 0;
        DAT_COUNT count;

        if (number->length != sizeof(count))
                return;
        memcpy(&count, call->bytes + number->offset, sizeof(count));
        for (DAT_COUNT i = 0; i < count; i++) {
                const void *at;
                DAT_PROVIDER_INFO info;

                if (!trace_read(&at, listed + i, sizeof(at)) ||
                    !trace_read(&info, at, sizeof(info)))
                        return;
                length += (size_t)snprintf(
                    to + length, room - length, "%s%.*s %u.%u %s", i ? ", " : "",
                    (int)sizeof(info.ia_name) - 1, info.ia_name, info.dapl_version_major,
                    info.dapl_version_minor, info.is_thread_safe ? "threadsafe" : "nonthreadsafe");
                if (length >= room)
                        return;
        }
        span->offset = (uint16_t)call->used;
        span->length = (uint16_t)(length + 1);
        call->used += (uint32_t)((length + 8) & ~(size_t)7);
}

void capture_answer(struct call_record *call, const struct trace_arg *args, DAT_RETURN ret)
{
        const struct api_function *api = &api_functions[call->function];

        call->ret = ret;
        for (size_t i = 0; dat_is(ret, DAT_SUCCESS) && i < api->count; i++) {
                const struct api_param *param = &api->params[i];

                if (param->type->kind == API_LISTED && i > 0)
                        capture_listed(call, &call->out[i - 1], &call->out[i],
                                       trace_pointer(&args[i]));
                else if (param->told)
                        capture_pointed(call, param, &call->out[i], trace_pointer(&args[i]));
        }
}
