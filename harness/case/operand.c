// SPDX-License-Identifier: BSD-2-Clause
#include "case/operand.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "case/poison.h"
#include "evidence/api.h"

static bool in_name(char character)
{
        return isalnum((unsigned char)character) || character == '_';
}

/* Each check compares with hundreds of names, and hardly any begins as its own does. */
static bool same(const char *name, const char *at, size_t length)
{
        return name[0] == at[0] && strncmp(name, at, length) == 0 && name[length] == '\0';
}

/* The enumeration that has a constant of this name, or NULL. Each constant begins with DAT_. */
static const struct api_enum *enum_of_constant(const char *at, size_t length)
{
        if (length < 4 || memcmp(at, "DAT_", 4) != 0)
                return NULL;
        for (size_t i = 0; i < api_enum_count; i++)
                for (size_t j = 0; j < api_enums[i]->count; j++)
                        if (same(api_enums[i]->members[j].name, at, length))
                                return api_enums[i];
        return NULL;
}

/* The type that each structure with a field of this name has there, or NULL. */
static const struct api_type *type_of_field(const char *at, size_t length)
{
        const struct api_type *found = NULL;

        for (size_t i = 0; i < api_struct_count; i++) {
                const struct api_struct *layout = api_structs[i];

                for (size_t j = 0; j < layout->count; j++) {
                        if (!same(layout->fields[j].name, at, length))
                                continue;
                        if (found && found != layout->fields[j].type)
                                return NULL;
                        found = layout->fields[j].type;
                }
        }
        return found;
}

/* The last name in the `length` bytes at `text` that is not a number; its length is 0 if none is.
 */
static const char *last_name(const char *text, size_t length, size_t *name_length)
{
        size_t end = length;

        while (end > 0 && !in_name(text[end - 1]))
                end--;
        *name_length = 0;
        while (end > *name_length && in_name(text[end - *name_length - 1]))
                ++*name_length;
        if (*name_length && isdigit((unsigned char)text[end - *name_length]))
                *name_length = 0;
        return text + end - *name_length;
}

static bool ends_with(const char *at, size_t length, const char *end)
{
        size_t end_length = strlen(end);

        return length >= end_length && memcmp(at + length - end_length, end, end_length) == 0;
}

static bool type_of_name(const char *at, size_t length, struct operand_type *type)
{
        const struct api_type *field;

        if (length == 0)
                return false;
        type->names = enum_of_constant(at, length);
        if (!type->names && same("event_number", at, length))
                type->names = api_enum_named("DAT_EVENT_NUMBER");
        if (type->names)
                return true;
        field = type_of_field(at, length);
        if (!field)
                return false;
        if (field->kind == API_ENUM || field->names)
                type->names = field->names;
        else if (field->kind == API_BOOLEAN)
                type->is_boolean = true;
        if (strcmp(field->name, "DAT_TIMEOUT") == 0)
                type->unit = " us";
        else if (ends_with(at, length, "_size") || ends_with(at, length, "length"))
                type->unit = " bytes";
        return type->names || type->is_boolean || type->unit[0];
}

struct operand_type operand_type(const char *text)
{
        struct operand_type type = {.unit = ""};
        const char *between = strstr(text, " == ");
        const char *wanted = between ? between + 4 : text + strlen(text);
        const char *called;
        size_t length;
        const char *at = last_name(wanted, strlen(wanted), &length);

        if (type_of_name(at, length, &type))
                return type;
        length = between ? (size_t)(between - text) : strlen(text);
        called = memchr(text, '(', length);
        at = last_name(text, length, &length);
        if (type_of_name(at, length, &type) || !called)
                return type;
        /* What queries a field is named after it: ep_state(t, ep). */
        at = last_name(text, (size_t)(called - text), &length);
        type_of_name(at, length, &type);
        return type;
}

/* Writes the names of all bits of `value`; returns whether each has one. */
static bool flags_text(char *text, size_t size, const struct api_enum *names,
                       unsigned long long value)
{
        size_t used = 0;

        for (size_t i = 0; i < names->count && value; i++) {
                unsigned long long flag = names->members[i].value;

                if (flag == 0 || (value & flag) != flag)
                        continue;
                used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "|" : "",
                                         names->members[i].name);
                if (used >= size)
                        return false;
                value &= ~flag;
        }
        return value == 0 && used > 0;
}

/* Whether it is what poison() leaves, in 32 bits or 64. */
static bool is_unwritten(long long value)
{
        int low = (int)value;
        unsigned char bytes[sizeof(low)];

        memset(bytes, POISON, sizeof(bytes));
        if (memcmp(&low, bytes, sizeof(low)) != 0)
                return false;
        return value == low || value == (unsigned int)low || (int)(value >> 32) == low;
}

void operand_text(char *text, size_t size, const struct operand_type *type, long long value)
{
        const char *name = NULL;

        if (is_unwritten(value))
                name = "unwritten";
        else if (type->is_boolean && (value == 0 || value == 1))
                name = value ? "DAT_TRUE" : "DAT_FALSE";
        else if (type->names)
                name = api_member_name(type->names, (unsigned long long)value);
        /* No event has the number 0: fixtures give it for one that did not come. */
        if (!name && value == 0 && type->names == api_enum_named("DAT_EVENT_NUMBER"))
                name = "no event";
        if (name)
                snprintf(text, size, "%s", name);
        else if (!type->names || !type->names->flags ||
                 !flags_text(text, size, type->names, (unsigned long long)value))
                snprintf(text, size, "%lld%s", value, type->unit);
}
