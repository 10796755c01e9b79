/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/blame.h"

#include <stdio.h>
#include <string.h>

#include "case.h"
#include "case/step.h"
#include "evidence/api.h"

static const char *name_of(const struct call_record *call)
{
        return call->function < api_function_count ? api_functions[call->function].name : NULL;
}

/* Whether a thread of the case is in a call of its page: that may be what breaks another call. */
static bool is_in_own_call(const char *page, const struct evidence *evidence)
{
        size_t used = evidence_calls(evidence);

        for (size_t i = 0; i < used; i++) {
                const struct call_record *call = &evidence->calls[i];
                const char *name = name_of(call);

                if (atomic_load(&call->state) == CALL_BEGUN && name && step_is_own(page, name))
                        return true;
        }
        return false;
}

static bool is_step_of(const struct evidence *evidence, const struct call_record *call,
                       enum step_role role)
{
        return atomic_load(&evidence->step.role) == role && evidence->step.thread == call->thread;
}

static void fill(struct blocked *blocked, const struct case_entry *entry,
                 const struct evidence *evidence, const struct call_record *call, const char *saw)
{
        bool is_step = is_step_of(evidence, call, STEP_MUST);
        const struct step *step = &evidence->step;
        const char *name = name_of(call);

        *blocked = (struct blocked){.line = is_step ? step->line : entry->line};
        snprintf(blocked->call, sizeof(blocked->call), "%s",
                 strcmp(name, "dat_ia_openv") == 0 ? "dat_ia_open" : name);
        snprintf(blocked->ret, sizeof(blocked->ret), "%s", saw);
        snprintf(blocked->file, sizeof(blocked->file), "%.*s", (int)sizeof(step->file) - 1,
                 is_step ? step->file : entry->file);
        snprintf(blocked->text, sizeof(blocked->text), "%.*s", (int)sizeof(step->text) - 1,
                 is_step ? step->text : name);
}

bool blames_call(const struct case_entry *entry, const struct evidence *evidence,
                 const struct call_record *call, const char *saw, struct blocked *blocked)
{
        if (!call || !name_of(call) || is_step_of(evidence, call, STEP_EXPECT) ||
            is_in_own_call(entry->page, evidence))
                return false;
        fill(blocked, entry, evidence, call, saw);
        return true;
}
