/* SPDX-License-Identifier: BSD-2-Clause */
#include "evidence/typed.h"

#include <netinet/in.h>
#include <string.h>

#include "dat_api.h"
#include "evidence/address.h"
#include "evidence/value.h"

static void member(const struct typed *typed, const char *name)
{
        write_name(typed->writer, name);
}

static void number(const struct typed *typed, const char *name, uint64_t value)
{
        member(typed, name);
        write_unsigned(typed->writer, value);
}

static void string(const struct typed *typed, const char *text)
{
        write_text(typed->writer, text, strlen(text));
}

void typed_write_text(const struct typed *typed, const unsigned char *bytes, size_t size)
{
        write_open(typed->writer, '{');
        member(typed, "text");
        write_text(typed->writer, (const char *)bytes, strnlen((const char *)bytes, size));
        write_close(typed->writer, '}');
}

void typed_write_pointer(const struct typed *typed, uint64_t pointer)
{
        if (!pointer) {
                write_null(typed->writer);
                return;
        }
        write_open(typed->writer, '{');
        number(typed, "pointer", pointer);
        write_close(typed->writer, '}');
}

static const struct call_pointee *pointee(const struct typed *typed, uint64_t at,
                                          enum pointee_kind kind)
{
        const struct call_record *call = typed->call;

        for (uint32_t i = 0; call && i < call->pointee_count && i < CALL_POINTEES_MAX; i++) {
                const struct call_pointee *one = &call->pointees[i];

                if (one->at == at && one->kind == kind &&
                    (size_t)one->offset + one->length <= CALL_BYTES_MAX)
                        return one;
        }
        return NULL;
}

void typed_write_address(const struct typed *typed, uint64_t pointer)
{
        const struct call_pointee *found = pointee(typed, pointer, POINTEE_ADDRESS);
        struct sockaddr_in6 address = {.sin6_port = 0};
        char text[64];

        if (!pointer || !found || found->length < sizeof(struct sockaddr)) {
                typed_write_pointer(typed, pointer);
                return;
        }
        memcpy(&address, typed->call->bytes + found->offset,
               found->length < sizeof(address) ? found->length : sizeof(address));
        address_text((const struct sockaddr *)&address, text, sizeof(text));
        write_open(typed->writer, '{');
        member(typed, "family");
        if (!text[0]) {
                write_number(typed->writer, address.sin6_family);
        } else {
                string(typed, address.sin6_family == AF_INET ? "AF_INET" : "AF_INET6");
                member(typed, "address");
                string(typed, text);
                number(typed, "port", ntohs(address.sin6_port));
        }
        write_close(typed->writer, '}');
}

void typed_write_bytes(const struct typed *typed, uint64_t pointer)
{
        const struct call_pointee *found = pointee(typed, pointer, POINTEE_BYTES);
        char text[HEX_OF(POINTEE_BYTES_KEPT) + 1];

        if (!pointer || !found) {
                typed_write_pointer(typed, pointer);
                return;
        }
        write_open(typed->writer, '{');
        number(typed, "length", found->whole);
        if (found->digested) {
                member(typed, "digest");
                string(typed, digest_digits(text, found->digest));
        }
        hex_digits(text, typed->call->bytes + found->offset,
                   found->length < POINTEE_BYTES_KEPT ? found->length : POINTEE_BYTES_KEPT);
        member(typed, "hex");
        string(typed, text);
        write_close(typed->writer, '}');
}

void typed_write_nameless(const struct typed *typed, uint64_t handle)
{
        write_open(typed->writer, '{');
        member(typed, "handle");
        write_unsigned(typed->writer, handle);
        write_close(typed->writer, '}');
}

static void write_handle(const struct typed *typed, uint64_t handle, const char *kind)
{
        const struct name *name = names_find_kind(typed->names, handle, kind);

        if (!handle) {
                write_null(typed->writer);
                return;
        }
        write_open(typed->writer, '{');
        member(typed, "handle");
        if (name)
                string(typed, name->text);
        else
                write_unsigned(typed->writer, handle);
        if (name && name->freed) {
                member(typed, "freed");
                write_bool(typed->writer, true);
        }
        write_close(typed->writer, '}');
}

static void write_context(const struct typed *typed, const struct name *name, uint32_t context)
{
        write_open(typed->writer, '{');
        number(typed, "context", context);
        if (name) {
                member(typed, "lmr");
                string(typed, name->text);
        }
        write_close(typed->writer, '}');
}

static void write_vaddr(const struct typed *typed, uint64_t address)
{
        const struct name *name = names_of_address(typed->names, address);

        write_open(typed->writer, '{');
        number(typed, "va", address);
        if (name) {
                member(typed, "lmr");
                string(typed, name->text);
                number(typed, "offset", address - name->address);
        }
        write_close(typed->writer, '}');
}

static void write_signed(const struct typed *typed, const unsigned char *bytes, size_t size)
{
        uint64_t value = value_number(bytes, size);

        write_number(typed->writer, size == 4 ? (int32_t)value : (int64_t)value);
}

/* A name, or names joined by "|"; a number if no name has a part in it. */
static void write_enum(const struct typed *typed, const struct api_enum *names, uint64_t value)
{
        const char *name = names ? api_member_name(names, value) : NULL;
        struct value_text text;

        if (name && strncmp(name, "DAT_", 4) == 0) {
                write_plain(typed->writer, name, strlen(name));
                return;
        }
        /* The rest of a page of text is left as it is. */
        text.length = 0;
        value_add_enum(&text, names, value);
        if (text.length >= 4 && memcmp(text.at, "DAT_", 4) == 0)
                write_text(typed->writer, text.at, text.length);
        else
                write_unsigned(typed->writer, value);
}

static void write_struct(const struct typed *typed, const struct api_struct *layout,
                         const unsigned char *bytes)
{
        write_open(typed->writer, '{');
        for (size_t i = 0; i < layout->count; i++) {
                const struct api_field *field = &layout->fields[i];

                write_plain_name(typed->writer, field->name, field->name_length);
                if (field->type->kind == API_POINTER && strcmp(field->name, "private_data") == 0)
                        typed_write_bytes(typed, value_number(bytes + field->offset, 8));
                else
                        typed_write(typed, field->type, bytes + field->offset);
        }
        write_close(typed->writer, '}');
}

static void write_async(const struct typed *typed, const DAT_ASYNCH_ERROR_EVENT_DATA *data)
{
        uint64_t handle = (uint64_t)(uintptr_t)data->dat_handle;

        write_open(typed->writer, '{');
        member(typed, "dat_handle");
        write_handle(typed, handle, NULL);
        member(typed, "reason");
        write_enum(typed, value_async_reasons(typed->names, handle), (uint64_t)data->reason);
        write_close(typed->writer, '}');
}

static void write_event(const struct typed *typed, const unsigned char *bytes)
{
        const struct api_struct *layout;
        DAT_EVENT event;

        memcpy(&event, bytes, sizeof(event));
        layout = value_event_layout(event.event_number);
        if (event.event_number == DAT_CONNECTION_REQUEST_EVENT)
                names_made(typed->names,
                           (uint64_t)(uintptr_t)event.event_data.cr_arrival_event_data.cr_handle,
                           "cr");
        write_open(typed->writer, '{');
        member(typed, "event_number");
        write_enum(typed, api_event_numbers, (uint64_t)event.event_number);
        member(typed, "evd_handle");
        write_handle(typed, (uint64_t)(uintptr_t)event.evd_handle, NULL);
        member(typed, "event_data");
        typed->names->in_event = true;
        if (layout)
                write_struct(typed, layout, bytes + offsetof(DAT_EVENT, event_data));
        else
                write_async(typed, &event.event_data.asynch_error_event_data);
        typed->names->in_event = false;
        write_close(typed->writer, '}');
}

static void write_return(const struct typed *typed, uint32_t value)
{
        char space[API_NAME_SPACE];

        write_open(typed->writer, '{');
        member(typed, "type");
        string(typed, api_return_name(value, space));
        member(typed, "subtype");
        string(typed, api_subtype_name(value, space));
        write_close(typed->writer, '}');
}

void typed_write(const struct typed *typed, const struct api_type *type, const unsigned char *bytes)
{
        uint64_t value = value_number(bytes, type->size);

        switch (type->kind) {
        case API_SIGNED:
                write_signed(typed, bytes, type->size);
                break;
        case API_UNSIGNED:
        case API_CONTEXT:
                write_unsigned(typed->writer, value);
                break;
        case API_BOOLEAN:
                if (value <= 1)
                        write_bool(typed->writer, value);
                else
                        write_unsigned(typed->writer, value);
                break;
        case API_ENUM:
                write_enum(typed, type->names, value);
                break;
        case API_HANDLE:
                /* In an event, only a service point has no kind. */
                write_handle(typed, value, type->object ? type->object : "sp");
                break;
        case API_RETURN:
                write_return(typed, (uint32_t)value);
                break;
        case API_LMR_CONTEXT:
                write_context(typed, names_of_lmr_context(typed->names, (uint32_t)value),
                              (uint32_t)value);
                break;
        case API_RMR_CONTEXT:
                write_context(typed, names_of_rmr_context(typed->names, (uint32_t)value),
                              (uint32_t)value);
                break;
        case API_VADDR:
                write_vaddr(typed, value);
                break;
        case API_TEXT:
                typed_write_text(typed, bytes, type->size);
                break;
        case API_STRUCT:
                write_struct(typed, type->layout, bytes);
                break;
        case API_EVENT:
                write_event(typed, bytes);
                break;
        case API_ADDRESS:
                typed_write_address(typed, value);
                break;
        case API_BYTES:
                typed_write_bytes(typed, value);
                break;
        case API_STRING:
        case API_LISTED:
        case API_POINTER:
                typed_write_pointer(typed, value);
                break;
        }
}
