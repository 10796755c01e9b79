/* SPDX-License-Identifier: BSD-2-Clause */
#include "case/poison.h"

#include <stdio.h>
#include <string.h>

#include "case/test.h"
#include "evidence/api.h"

void poison(void *at, size_t size)
{
        memset(at, POISON, size);
}

bool is_poison(const void *at, size_t size)
{
        const unsigned char *bytes = at;

        for (size_t i = 0; i < size; i++)
                if (bytes[i] != POISON)
                        return false;
        return true;
}

bool unwritten_fields(const char *structure, void *at, char *names, size_t size)
{
        const struct api_struct *layout = api_struct_named(structure);
        size_t used = 0;

        names[0] = '\0';
        for (size_t i = 0; i < layout->count; i++) {
                const struct api_field *field = &layout->fields[i];
                void *value = (char *)at + field->offset;

                if (!is_poison(value, field->type->size))
                        continue;
                memset(value, 0, field->type->size);
                if (used < size)
                        used += (size_t)snprintf(names + used, size - used, "%s%s",
                                                 used ? ", " : "", field->name);
        }
        return used > 0;
}

void must_be_written(struct test *t, const char *call, const char *name, const void *at,
                     size_t size)
{
        if (is_poison(at, size))
                step_failed(t, STEP_SITE_(t), call, "DAT_SUCCESS, with a value left unwritten",
                            "%s returned DAT_SUCCESS and left %s unwritten", call, name);
}

void must_show(struct test *t, const char *call, const char *shown_by, const char *what, bool shown)
{
        if (!shown)
                step_failed(t, STEP_SITE_(t), call, "DAT_SUCCESS, without its effect",
                            "%s returned DAT_SUCCESS, but %s does not show %s", call, shown_by,
                            what);
}

bool is_of_page(const struct test *t, const char *page)
{
        return strcmp(t->entry->page, page) == 0;
}
