/* SPDX-License-Identifier: BSD-2-Clause */
#include "evidence/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The last that was made by now, or NULL. */
static struct name *made_by_now(const struct names *names, uint64_t handle)
{
        struct name *last = NULL;

        for (size_t i = names->count; i > 0; i--) {
                struct name *name = &names->list[i - 1];

                if (name->handle == handle && name->process == names->process &&
                    name->made_ns <= names->now && (!last || name->made_ns > last->made_ns))
                        last = name;
        }
        return last;
}

struct name *names_find(const struct names *names, uint64_t handle)
{
        struct name *last = made_by_now(names, handle);

        for (size_t i = names->count; i > 0 && !last; i--) {
                struct name *name = &names->list[i - 1];

                if (name->handle == handle && name->process == names->process)
                        last = name;
        }
        return last;
}

bool name_is(const struct name *name, const char *kind)
{
        if (strcmp(kind, "sp") == 0)
                return strcmp(name->kind, "psp") == 0 || strcmp(name->kind, "rsp") == 0;
        if (strcmp(kind, "async_evd") == 0)
                kind = "evd";
        return strcmp(name->kind, kind) == 0 ||
               (strcmp(kind, "evd") == 0 && strcmp(name->kind, "async_evd") == 0);
}

struct name *names_find_kind(const struct names *names, uint64_t handle, const char *kind)
{
        struct name *last = names_find(names, handle);

        if (!names->in_event || !kind || !last || name_is(last, kind))
                return last;
        for (size_t i = names->count; i > 0; i--) {
                struct name *name = &names->list[i - 1];

                if (name->handle == handle && name->process == names->process &&
                    name_is(name, kind))
                        return name;
        }
        return last;
}

static size_t count_of(const struct names *names, const char *kind)
{
        size_t count = 0;

        for (size_t i = 0; i < names->count; i++)
                if (strcmp(names->list[i].kind, kind) == 0)
                        count++;
        return count;
}

/* There is but one IA and one async EVD in most cases: they need no number. */
static bool is_single(const char *kind)
{
        return strcmp(kind, "ia") == 0 || strcmp(kind, "async_evd") == 0;
}

static struct name *name_new(struct names *names, uint64_t handle, const char *kind,
                             uint64_t made_ns)
{
        size_t number = count_of(names, kind) + 1;
        struct name *name;

        if (names->count == names->capacity) {
                size_t larger = names->capacity ? 2 * names->capacity : 64;
                struct name *moved = realloc(names->list, larger * sizeof(*moved));

                if (!moved)
                        return NULL;
                names->list = moved;
                names->capacity = larger;
        }
        name = &names->list[names->count++];
        *name = (struct name){
            .handle = handle, .kind = kind, .process = names->process, .made_ns = made_ns};
        if (number == 1 && is_single(kind))
                snprintf(name->text, sizeof(name->text), "%s", kind);
        else
                snprintf(name->text, sizeof(name->text), "%s#%zu", kind, number);
        return name;
}

struct name *names_made(struct names *names, uint64_t handle, const char *kind)
{
        struct name *name = made_by_now(names, handle);

        if (name && !name->freed && !name->freed_by && name_is(name, kind))
                return name;
        return name_new(names, handle, kind, names->now);
}

struct name *names_told(struct names *names, uint64_t handle, const char *kind)
{
        struct name *name = made_by_now(names, handle);

        if (name && !name->freed && name_is(name, kind))
                return name;
        return name_new(names, handle, kind, name ? name->made_ns : 0);
}

static bool is_live_memory(const struct names *names, const struct name *name)
{
        return name->is_memory && !name->freed && name->process == names->process;
}

const struct name *names_of_lmr_context(const struct names *names, uint32_t context)
{
        for (size_t i = names->count; i > 0; i--) {
                const struct name *name = &names->list[i - 1];

                if (is_live_memory(names, name) && name->lmr_context == context)
                        return name;
        }
        return NULL;
}

const struct name *names_of_rmr_context(const struct names *names, uint32_t context)
{
        for (size_t i = names->count; i > 0; i--) {
                const struct name *name = &names->list[i - 1];

                if (is_live_memory(names, name) && name->rmr_context == context)
                        return name;
        }
        return NULL;
}

const struct name *names_of_address(const struct names *names, uint64_t address)
{
        for (size_t i = names->count; i > 0; i--) {
                const struct name *name = &names->list[i - 1];

                if (is_live_memory(names, name) && address - name->address < name->length)
                        return name;
        }
        return NULL;
}

void names_clear(struct names *names)
{
        free(names->list);
        *names = (struct names){.list = NULL};
}
