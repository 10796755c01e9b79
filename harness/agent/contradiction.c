/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/contradiction.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "evidence/api.h"
#include "evidence/render.h"

static bool keeps(enum verdict verdict)
{
        return verdict == VERDICT_PASS || verdict == VERDICT_NOTE;
}

static bool speaks_well(enum verdict verdict)
{
        return keeps(verdict) || verdict == VERDICT_UNSUPPORTED || verdict == VERDICT_RESOURCE;
}

static bool is_check(const struct entry *entry)
{
        return atomic_load(&entry->number) != 0 && entry->kind == ENTRY_CHECK;
}

static bool failed_check(const struct evidence *evidence, char *text, size_t size)
{
        size_t used = evidence_entries(evidence);

        for (size_t i = 0; i < used; i++) {
                const struct entry *entry = &evidence->entries[i];

                if (!is_check(entry) || entry->ok)
                        continue;
                snprintf(text, size, "%.*s:%d: %.*s did not hold", (int)sizeof(entry->file) - 1,
                         entry->file, entry->line, (int)sizeof(entry->text) - 1, entry->text);
                return true;
        }
        return false;
}

static bool has_leak(const struct evidence *evidence)
{
        size_t used = evidence_entries(evidence);

        for (size_t i = 0; i < used; i++)
                if (atomic_load(&evidence->entries[i].number) != 0 &&
                    evidence->entries[i].kind == ENTRY_LEAK)
                        return true;
        return false;
}

/* A case may leave a thread in its call, where nothing ends the wait; then it tells of it. */
static bool open_call(const struct evidence *evidence, char *text, size_t size)
{
        size_t used = evidence_calls(evidence);
        bool told = has_leak(evidence);

        for (size_t i = 0; i < used; i++) {
                const struct call_record *call = &evidence->calls[i];

                if (atomic_load(&call->state) != CALL_BEGUN || call->teardown ||
                    call->function >= api_function_count || (told && call->thread != 1))
                        continue;
                snprintf(text, size, "%s did not return", api_functions[call->function].name);
                return true;
        }
        return false;
}

static bool crashed(const struct evidence *evidence, char *text, size_t size)
{
        uint32_t number = atomic_load(&evidence->crash.signal);

        if (!number || atomic_load(&evidence->phase) != PHASE_BODY)
                return false;
        snprintf(text, size, "the process was ended by %s", signal_name((int)number));
        return true;
}

/* Who comes to the end of a case has said so, and leaves by one way only. */
static bool left_early(const struct statement *said, char *text, size_t size)
{
        int status = said->child->status;

        if (said->ended || said->teardown)
                return false;
        if (atomic_load(&said->child->evidence->phase) != PHASE_DONE)
                snprintf(text, size, "the case did not come to its end");
        else if (WIFSIGNALED(status))
                snprintf(text, size, "its process was ended by %s", signal_name(WTERMSIG(status)));
        else if (WEXITSTATUS(status) != 0)
                snprintf(text, size, "its process left with status %d", WEXITSTATUS(status));
        else
                return false;
        return true;
}

static bool made_a_call(const struct evidence *evidence)
{
        return atomic_load(&evidence->calls[0].state) != CALL_EMPTY;
}

static bool expected_something(const struct evidence *evidence)
{
        size_t used = evidence_entries(evidence);

        for (size_t i = 0; i < used; i++)
                if (is_check(&evidence->entries[i]) && evidence->entries[i].role == ROLE_EXPECT)
                        return true;
        return false;
}

static bool succeeded(const struct call_record *call, const char *name)
{
        return atomic_load(&call->state) == CALL_DONE && call->function < api_function_count &&
               strcmp(api_functions[call->function].name, name) == 0 &&
               DAT_GET_TYPE(call->ret) == DAT_SUCCESS;
}

/* Teardown closes each IA of the case's own process: who leaps over that leaves one open. */
static bool left_open(const struct statement *said, char *text, size_t size)
{
        const struct evidence *evidence = said->child->evidence;
        size_t used = evidence_calls(evidence);
        int open = 0;

        /* Of a log that is too long, the middle is not there. */
        if (!said->has_ia || said->ended || said->teardown ||
            atomic_load(&evidence->call_count) > LOG_SLOTS)
                return false;
        for (size_t i = 0; i < used; i++) {
                const struct call_record *call = &evidence->calls[i];

                if (call->exec || call->pid != evidence->calls[0].pid)
                        continue;
                open += succeeded(call, "dat_ia_openv");
                open -= succeeded(call, "dat_ia_close");
        }
        if (open > 0)
                snprintf(text, size, "%d IA was not closed", open);
        return open > 0;
}

bool contradicts(const struct statement *said, char *text, size_t size)
{
        const struct evidence *evidence = said->child->evidence;

        if (!speaks_well(said->verdict))
                return false;
        if (failed_check(evidence, text, size) ||
            (!said->teardown && open_call(evidence, text, size)) || crashed(evidence, text, size) ||
            left_early(said, text, size))
                return true;
        if (keeps(said->verdict) && left_open(said, text, size))
                return true;
        if (keeps(said->verdict) && !made_a_call(evidence))
                snprintf(text, size, "no call was made");
        else if (said->verdict == VERDICT_PASS && !expected_something(evidence))
                snprintf(text, size, "nothing was checked");
        else if (said->changed)
                snprintf(text, size, "%s", said->changed);
        else if (said->unseen)
                snprintf(text, size, "its process left before the agent had looked at it");
        else
                return false;
        return true;
}
