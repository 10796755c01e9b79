/* SPDX-License-Identifier: BSD-2-Clause */
#include "evidence/value.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "dat_api.h"
#include "evidence/writer.h"

void text_add(struct value_text *text, const char *format, ...)
{
        size_t room = sizeof(text->at) - text->length;
        va_list args;
        int length;

        va_start(args, format);
        length = vsnprintf(text->at + text->length, room, format, args);
        va_end(args);
        if (length > 0)
                text->length += (size_t)length < room ? (size_t)length : room - 1;
}

void text_put_part(struct value_text *text, const char *more, size_t length)
{
        size_t room = sizeof(text->at) - 1 - text->length;

        if (length > room)
                length = room;
        memcpy(text->at + text->length, more, length);
        text->length += length;
}

/* The digits that end before `end`. */
static void put_digits(struct value_text *text, const char *from, const char *end)
{
        text_put_part(text, from, (size_t)(end - from));
}

static void put_unsigned(struct value_text *text, uint64_t number)
{
        char digits[DIGITS_SPACE];
        char *end = digits + sizeof(digits);

        put_digits(text, digits_before(end, number), end);
}

void text_put_hex(struct value_text *text, uint64_t number)
{
        char digits[DIGITS_SPACE];
        char *end = digits + sizeof(digits);

        text_put(text, "0x");
        put_digits(text, hex_before(end, number), end);
}

static void put_signed(struct value_text *text, int64_t number)
{
        char digits[DIGITS_SPACE];
        char *end = digits + sizeof(digits);

        put_digits(text, signed_digits_before(end, number), end);
}

uint64_t value_number(const unsigned char *bytes, size_t size)
{
        uint64_t number = 0;
        uint32_t half;

        /* The sizes of nearly all types are plain loads. */
        if (size == sizeof(half)) {
                memcpy(&half, bytes, sizeof(half));
                return half;
        }
        if (size >= sizeof(number))
                memcpy(&number, bytes, sizeof(number));
        else
                memcpy(&number, bytes, size);
        return number;
}

static int64_t signed_number(const unsigned char *bytes, size_t size)
{
        uint64_t number = value_number(bytes, size);

        return size == 4 ? (int32_t)number : (int64_t)number;
}

/* All members of a mask are its name for "all"; else each that is in it, the widest first. */
static void add_flags(struct value_text *text, const struct api_enum *names, uint64_t value)
{
        const char *whole = api_member_name(names, value);
        uint64_t left = value;
        const char *between = "";

        if (whole) {
                text_put(text, whole);
                return;
        }
        for (size_t i = 0; i < names->count; i++) {
                const struct api_member *member = &names->members[i];
                bool one_bit = member->value && (member->value & (member->value - 1)) == 0;

                if (one_bit && (left & member->value)) {
                        text_put(text, between);
                        text_put(text, member->name);
                        between = "|";
                        left &= ~member->value;
                }
        }
        if (left || !*between) {
                text_put(text, between);
                text_put_hex(text, left);
        }
}

void value_add_enum(struct value_text *text, const struct api_enum *names, uint64_t value)
{
        const char *name = names ? api_member_name(names, value) : NULL;

        if (names && names->flags)
                add_flags(text, names, value);
        else if (name)
                text_put(text, name);
        else
                put_unsigned(text, value);
}

static void add_handle(struct value_text *text, const struct names *names, uint64_t handle,
                       const char *kind)
{
        const struct name *name = names_find_kind(names, handle, kind);

        if (handle == 0)
                text_put(text, "DAT_HANDLE_NULL");
        else if (!name)
                text_put_hex(text, handle);
        else
                text_put(text, name->text);
        if (handle && name && name->freed)
                text_put(text, " (freed)");
}

static void add_address(struct value_text *text, const struct names *names, uint64_t address)
{
        const struct name *name = names_of_address(names, address);

        if (!name) {
                text_put_hex(text, address);
                return;
        }
        text_put(text, name->text);
        text_put(text, "+");
        put_unsigned(text, address - name->address);
}

static void add_context(struct value_text *text, const struct name *name, uint32_t context)
{
        if (name)
                text_put(text, name->text);
        else
                text_put_hex(text, context);
}

static void add_characters(struct value_text *text, const unsigned char *bytes, size_t size)
{
        text_put(text, "\"");
        for (size_t i = 0; i < size && bytes[i]; i++) {
                const char character[2] = {(char)bytes[i]};

                if (isprint(bytes[i]))
                        text_put(text, character);
                else
                        text_add(text, "\\x%02x", bytes[i]);
        }
        text_put(text, "\"");
}

static void add_struct(struct value_text *text, struct names *names,
                       const struct api_struct *layout, const unsigned char *bytes)
{
        text_put(text, "{");
        for (size_t i = 0; i < layout->count; i++) {
                const struct api_field *field = &layout->fields[i];

                text_put(text, i ? ", " : "");
                text_put_part(text, field->name, field->name_length);
                text_put(text, "=");
                value_add(text, names, field->type, bytes + field->offset);
        }
        text_put(text, "}");
}

const struct api_enum *value_async_reasons(const struct names *names, uint64_t handle)
{
        const struct name *name = names_find(names, handle);
        const char *kind = name ? name->kind : "";
        char table[40] = "DAT_";
        size_t length = strlen(table);

        if (strcmp(kind, "async_evd") == 0)
                kind = "evd";
        while (*kind && length < 12)
                table[length++] = (char)toupper((unsigned char)*kind++);
        snprintf(table + length, sizeof(table) - length, "_ASYNC_ERROR_REASON");
        return api_enum_named(table);
}

static void add_async(struct value_text *text, const struct names *names,
                      const DAT_ASYNCH_ERROR_EVENT_DATA *data)
{
        uint64_t handle = (uint64_t)(uintptr_t)data->dat_handle;

        text_put(text, "{dat_handle=");
        add_handle(text, names, handle, NULL);
        text_put(text, ", reason=");
        value_add_enum(text, value_async_reasons(names, handle), (uint64_t)data->reason);
        text_put(text, "}");
}

const struct api_struct *value_event_layout(DAT_EVENT_NUMBER number)
{
        static const struct {
                DAT_EVENT_NUMBER first, last;
                const char *layout;
        } members[] = {
            {DAT_DTO_COMPLETION_EVENT, DAT_DTO_COMPLETION_EVENT, "DAT_DTO_COMPLETION_EVENT_DATA"},
            {DAT_RMR_BIND_COMPLETION_EVENT, DAT_RMR_BIND_COMPLETION_EVENT,
             "DAT_RMR_BIND_COMPLETION_EVENT_DATA"},
            {DAT_CONNECTION_REQUEST_EVENT, DAT_CONNECTION_REQUEST_EVENT,
             "DAT_CR_ARRIVAL_EVENT_DATA"},
            {DAT_CONNECTION_EVENT_ESTABLISHED, DAT_CONNECTION_EVENT_UNREACHABLE,
             "DAT_CONNECTION_EVENT_DATA"},
            {DAT_SOFTWARE_EVENT, DAT_SOFTWARE_EVENT, "DAT_SOFTWARE_EVENT_DATA"},
        };

        /* Each is looked up once: the trace asks at every event. */
        static const struct api_struct *_Atomic known[sizeof(members) / sizeof(members[0])];

        for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
                const struct api_struct *layout;

                if (number < members[i].first || number > members[i].last)
                        continue;
                layout = atomic_load_explicit(&known[i], memory_order_acquire);
                if (!layout)
                        layout = api_struct_named(members[i].layout);
                atomic_store_explicit(&known[i], layout, memory_order_release);
                return layout;
        }
        return NULL;
}

static void add_event(struct value_text *text, struct names *names, const unsigned char *bytes)
{
        const struct api_struct *layout;
        DAT_EVENT event;

        memcpy(&event, bytes, sizeof(event));
        text_put(text, "{event_number=");
        value_add_enum(text, api_event_numbers, (uint64_t)event.event_number);
        text_put(text, ", evd_handle=");
        add_handle(text, names, (uint64_t)(uintptr_t)event.evd_handle, NULL);
        text_put(text, ", event_data=");
        if (event.event_number == DAT_CONNECTION_REQUEST_EVENT)
                names_made(names,
                           (uint64_t)(uintptr_t)event.event_data.cr_arrival_event_data.cr_handle,
                           "cr");
        names->in_event = true;
        layout = value_event_layout(event.event_number);
        if (layout)
                add_struct(text, names, layout, bytes + offsetof(DAT_EVENT, event_data));
        else
                add_async(text, names, &event.event_data.asynch_error_event_data);
        names->in_event = false;
        text_put(text, "}");
}

void value_add(struct value_text *text, struct names *names, const struct api_type *type,
               const unsigned char *bytes)
{
        uint64_t number = value_number(bytes, type->size);
        const char *special = type->names ? api_member_name(type->names, number) : NULL;
        char space[API_NAME_SPACE];

        switch (type->kind) {
        case API_SIGNED:
                if (type->names)
                        special = api_member_name(type->names,
                                                  (uint64_t)signed_number(bytes, type->size));
                if (special)
                        text_put(text, special);
                else
                        put_signed(text, signed_number(bytes, type->size));
                break;
        case API_UNSIGNED:
                if (special)
                        text_put(text, special);
                else
                        put_unsigned(text, number);
                break;
        case API_CONTEXT:
                put_unsigned(text, number);
                break;
        case API_BOOLEAN:
                text_put(text, number ? "DAT_TRUE" : "DAT_FALSE");
                break;
        case API_ENUM:
                value_add_enum(text, type->names, number);
                break;
        case API_HANDLE:
                /* In an event, only a service point has no kind. */
                add_handle(text, names, number, type->object ? type->object : "sp");
                break;
        case API_RETURN:
                text_put(text, api_return_name((uint32_t)number, space));
                break;
        case API_LMR_CONTEXT:
                add_context(text, names_of_lmr_context(names, (uint32_t)number), (uint32_t)number);
                break;
        case API_RMR_CONTEXT:
                add_context(text, names_of_rmr_context(names, (uint32_t)number), (uint32_t)number);
                break;
        case API_VADDR:
                add_address(text, names, number);
                break;
        case API_TEXT:
                add_characters(text, bytes, type->size);
                break;
        case API_STRUCT:
                add_struct(text, names, type->layout, bytes);
                break;
        case API_EVENT:
                add_event(text, names, bytes);
                break;
        case API_STRING:
        case API_LISTED:
        case API_ADDRESS:
        case API_BYTES:
        case API_POINTER:
                if (number)
                        text_put_hex(text, number);
                else
                        text_put(text, "NULL");
                break;
        }
}
