/* SPDX-License-Identifier: BSD-2-Clause */
#include "libdat.h"

#include <errno.h>
#include <regex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf_lines.h"
#include "fault.h"
#include "whole.h"

#define GROUPS_MAX 10

static struct mutant mutant = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void choose(void)
{
        const char *id = getenv("LIBDAT_FAULT");

        if (!id || !*id)
                return;
        mutant.fault = fault_find(id);
        if (!mutant.fault)
                fprintf(stderr, "libdatfault: no such fault: %s; nothing is broken\n", id);
}

bool libdat_is_whole(void)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;

        pthread_once(&once, choose);
        return !mutant.fault;
}

DAT_RETURN libdat_run(enum slot_id slot, const uint64_t *arg)
{
        static atomic_uint under_way[SLOT_COUNT];
        struct call call = {.slot = &call_slots[slot], .mutant = &mutant};

        libdat_is_whole();
        memcpy(call.arg, arg, (size_t)call.slot->argc * sizeof(*arg));
        call.overlaps = atomic_fetch_add(&under_way[slot], 1);
        call_make(&call);
        atomic_fetch_sub(&under_way[slot], 1);
        return call.ret;
}

void call_pass_on(struct call *call)
{
        call->ret = call->slot->inner(call, call->arg);
}

/* The registry has no objects that a fault could be bound to. */
struct handle *call_made(const struct call *call)
{
        return call_object(call);
}

struct handle *call_object(const struct call *call)
{
        (void)call;
        return NULL;
}

bool fault_same_object(const struct step_state *state, const struct call *call)
{
        (void)state;
        (void)call;
        return true;
}

void fault_facts(struct call *call)
{
        (void)call;
}

bool call_misbehave(const struct call *call, const struct step *step)
{
        (void)call;
        return hostile_act(step);
}

void call_afterwards(struct call *call, const struct step *step)
{
        (void)call;
        (void)step;
}

static void put_replacement(FILE *out, const char *replace, const char *text,
                            const regmatch_t *groups)
{
        for (; *replace; replace++) {
                const regmatch_t *group = NULL;

                if (replace[0] == '\\' && replace[1] >= '0' && replace[1] <= '9')
                        group = &groups[*++replace - '0'];
                if (!group)
                        fputc(*replace, out);
                else if (group->rm_so >= 0)
                        fwrite(text + group->rm_so, 1, (size_t)(group->rm_eo - group->rm_so), out);
        }
}

/* The text with each match replaced. It is never freed: the callee may keep it. */
static char *edited(const char *text, const struct step *step)
{
        regmatch_t groups[GROUPS_MAX];
        regex_t compiled;
        char *result = NULL;
        size_t size;
        FILE *out;
        int flags = 0;

        if (regcomp(&compiled, step->find, REG_EXTENDED))
                abort();
        out = open_memstream(&result, &size);
        if (!out)
                abort();
        while (*text && !regexec(&compiled, text, GROUPS_MAX, groups, flags) &&
               groups[0].rm_eo > 0) {
                fwrite(text, 1, (size_t)groups[0].rm_so, out);
                put_replacement(out, step->replace, text, groups);
                text += groups[0].rm_eo;
                flags = REG_NOTBOL;
        }
        fputs(text, out);
        fclose(out);
        regfree(&compiled);
        return result;
}

bool call_instead(struct call *call, const struct step *step)
{
        uint64_t *text = call->slot->text ? &call->arg[call->slot->text - 1] : NULL;

        switch (step->effect) {
        case EFFECT_LOSE:
                return true;
        case EFFECT_REORDER:
                if (text)
                        conf_lines_hold(word_pointer(*text));
                return true;
        case EFFECT_EDIT:
                if (text && *text)
                        *text = (uint64_t)(uintptr_t)edited(word_pointer(*text), step);
                return false;
        default:
                return false;
        }
}
