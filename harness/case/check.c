/* SPDX-License-Identifier: BSD-2-Clause */
#include "case/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "case/needs.h"
#include "case/operand.h"
#include "case/step.h"
#include "case/test.h"
#include "evidence/api.h"
#include "evidence/trace.h"

/* How many calls were made before the one that is checked. */
static _Thread_local uint64_t calls_before;

static struct entry *entry_new(struct test *t, uint64_t *number)
{
        uint64_t n = atomic_fetch_add(&t->evidence->entry_count, 1);
        struct entry *entry = &t->evidence->entries[log_slot(n)];

        atomic_store(&entry->number, 0);
        entry->calls = trace_count();
        entry->expected[0] = '\0';
        entry->seen[0] = '\0';
        entry->text[0] = '\0';
        *number = n + 1;
        return entry;
}

static void record_text(struct test *t, enum entry_kind kind, const char *text)
{
        uint64_t number;
        struct entry *entry = entry_new(t, &number);

        entry->kind = (uint16_t)kind;
        snprintf(entry->text, sizeof(entry->text), "%s", text);
        atomic_store(&entry->number, number);
}

void check_begin(struct test *t, const struct check_site *site, bool clause)
{
        struct step *step = &t->evidence->step;

        calls_before = trace_count();
        atomic_store(&step->role, STEP_NONE);
        step->thread = trace_thread();
        step->line = site->line;
        snprintf(step->file, sizeof(step->file), "%s", site->file);
        snprintf(step->text, sizeof(step->text), "%s", site->text);
        atomic_store(&step->role, clause ? STEP_EXPECT : STEP_MUST);
}

static void record_check(struct test *t, const struct check_site *site, enum check_role role,
                         bool ok, const char *expected, const char *seen)
{
        uint64_t number;
        struct entry *entry = entry_new(t, &number);

        atomic_store(&t->evidence->step.role, STEP_NONE);
        entry->kind = ENTRY_CHECK;
        entry->role = (uint16_t)role;
        entry->ok = ok;
        entry->line = site->line;
        snprintf(entry->file, sizeof(entry->file), "%s", site->file);
        snprintf(entry->text, sizeof(entry->text), "%s", site->text);
        snprintf(entry->expected, sizeof(entry->expected), "%s", expected);
        snprintf(entry->seen, sizeof(entry->seen), "%s", seen);
        atomic_store(&entry->number, number);
}

/* What was seen is the sentence of a condition that does not hold; there is none if it holds. */
static void record_condition(struct test *t, const struct check_site *site, enum check_role role,
                             bool holds, const char *sentence)
{
        record_check(t, site, role, holds, site->text, holds ? "" : sentence);
}

_Noreturn void test_end(struct test *t, enum verdict verdict, const char *format, ...)
{
        va_list args;

        t->verdict = verdict;
        va_start(args, format);
        vsnprintf(t->reason, sizeof(t->reason), format, args);
        va_end(args);
        longjmp(t->end, 1);
}

_Noreturn void step_failed(struct test *t, const struct check_site *site, const char *call,
                           const char *ret, const char *format, ...)
{
        struct blocked *blocked = &t->blocked;
        va_list args;
        char reason[REASON_MAX];

        *blocked = (struct blocked){.line = site->line};
        snprintf(blocked->call, sizeof(blocked->call), "%s", call);
        snprintf(blocked->ret, sizeof(blocked->ret), "%s", ret);
        snprintf(blocked->file, sizeof(blocked->file), "%s", site->file);
        snprintf(blocked->text, sizeof(blocked->text), "%s", site->text);
        va_start(args, format);
        vsnprintf(reason, sizeof(reason), format, args);
        va_end(args);
        test_end(t, VERDICT_BLOCKED, "%s", reason);
}

const char *return_name(DAT_RETURN ret, char *space)
{
        char type[API_NAME_SPACE];
        char subtype[API_NAME_SPACE];

        if (DAT_GET_SUBTYPE(ret) == DAT_NO_SUBTYPE)
                snprintf(space, RETURN_NAME_SPACE, "%s", api_return_name(ret, type));
        else
                snprintf(space, RETURN_NAME_SPACE, "%s, %s", api_return_name(ret, type),
                         api_subtype_name(ret, subtype));
        return space;
}

static bool in_set(DAT_RETURN ret, const DAT_RETURN *set, size_t set_len)
{
        for (size_t i = 0; i < set_len; i++)
                if (dat_is(ret, set[i]))
                        return true;
        return false;
}

/* The names of a set of returns, each once, with `between` between them. */
static void set_text(char *text, size_t size, const DAT_RETURN *set, size_t set_len,
                     const char *between)
{
        char name[API_NAME_SPACE];
        size_t used = 0;

        text[0] = '\0';
        for (size_t i = 0; i < set_len && used < size; i++)
                if (!in_set(set[i], set, i))
                        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? between : "",
                                                 api_return_name(set[i], name));
}

static bool says_unsupported(DAT_RETURN ret)
{
        return dat_is(ret, DAT_MODEL_NOT_SUPPORTED) || dat_is(ret, DAT_NOT_IMPLEMENTED);
}

/*
 * The call whose return is checked, where the text names a helper of the case or a thread's answer:
 * the newest that the helper made, or else the page's own or any that returned the same.
 */
static const char *answering_call(const struct test *t, DAT_RETURN ret)
{
        DAT_RETURN last_ret;
        const char *last = trace_last(&last_ret);
        const char *own;

        if (last && last_ret == ret && trace_count() > calls_before)
                return last;
        own = trace_newest_returned(ret, step_is_own, t->entry->page);
        return own ? own : trace_newest_returned(ret, NULL, NULL);
}

/* A site whose text is one for a reader who knows the DAT calls only. */
static struct check_site answer_site(const struct test *t, const struct check_site *site,
                                     DAT_RETURN ret, char *space, size_t size)
{
        struct check_site named = *site;
        const char *call;

        if (strncmp(site->text, "dat_", 4) == 0)
                return named;
        call = answering_call(t, ret);
        if (!call)
                return named;
        snprintf(space, size, "%s(...)", call);
        named.text = space;
        return named;
}

/* The call of a step that returned `ret`: the one in its text, or else the thread's newest. */
static const char *call_of(const struct check_site *site, DAT_RETURN ret, char *space, size_t size)
{
        DAT_RETURN last_ret;
        const char *last = trace_last(&last_ret);

        if (last && last_ret == ret && strncmp(site->text, "dat_", 4) != 0)
                return last;
        snprintf(space, size, "%.*s", (int)strcspn(site->text, "( "), site->text);
        return space;
}

/*
 * A step was refused, which another clause forbids. Only of the page's own call is "not supported"
 * a failure of the page: a feature that is not declared absent.
 */
static _Noreturn void step_refused(struct test *t, const struct check_site *site, DAT_RETURN ret)
{
        char seen[RETURN_NAME_SPACE];
        char declared[2 * NEED_TEXT_MAX];
        char space[64];
        const char *call = call_of(site, ret, space, sizeof(space));
        char text[64];
        struct check_site named = answer_site(t, site, ret, text, sizeof(text));

        return_name(ret, seen);
        record_check(t, &named, ROLE_MUST, false, "DAT_SUCCESS", seen);
        if (!says_unsupported(ret) || !step_is_own(t->entry->page, call))
                step_failed(t, &named, call, seen, "%s returned %s", named.text, seen);
        if (t->needs == 0)
                test_end(t, VERDICT_FAIL,
                         "%s returned %s, but no attribute declares the feature absent", named.text,
                         seen);
        needs_declaration(t->needs, t->settings->probe, &t->settings->found, declared,
                          sizeof(declared));
        test_end(t, VERDICT_FAIL, "%s returned %s, but the feature is declared (%s)", named.text,
                 seen, declared);
}

/* The harness's own arguments say nothing to a reader: the call's name does. */
void check_arrange(struct test *t, const struct check_site *site, DAT_RETURN ret)
{
        struct check_site named = *site;
        char name[64];

        if (dat_is(ret, DAT_SUCCESS))
                return;
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(site->text, "("), site->text);
        named.text = name;
        step_refused(t, &named, ret);
}

DAT_RETURN check_must(struct test *t, const struct check_site *site, DAT_RETURN ret)
{
        if (!dat_is(ret, DAT_SUCCESS))
                step_refused(t, site, ret);
        record_check(t, site, ROLE_MUST, true, "DAT_SUCCESS", "DAT_SUCCESS");
        return ret;
}

void check_must_that(struct test *t, const struct check_site *site, const char *call, bool holds,
                     const char *format, ...)
{
        char seen[256];
        va_list args;

        va_start(args, format);
        vsnprintf(seen, sizeof(seen), format, args);
        va_end(args);
        record_condition(t, site, ROLE_MUST, holds, seen);
        if (!holds)
                step_failed(t, site, call ? call : step_of_last_call(), seen, "%s", seen);
}

void check_suite_that(struct test *t, const struct check_site *site, bool holds, const char *format,
                      ...)
{
        char seen[256];
        va_list args;

        va_start(args, format);
        vsnprintf(seen, sizeof(seen), format, args);
        va_end(args);
        record_condition(t, site, ROLE_MUST, holds, seen);
        if (!holds)
                test_end(t, VERDICT_ERROR, "%s (it must hold that %s)", seen, site->text);
}

DAT_RETURN check_expect(struct test *t, const struct check_site *site, DAT_RETURN ret,
                        const DAT_RETURN *set, size_t set_len)
{
        char expected[256];
        char seen[RETURN_NAME_SPACE];
        char text[64];
        struct check_site named = answer_site(t, site, ret, text, sizeof(text));
        bool ok = in_set(ret, set, set_len);

        set_text(expected, sizeof(expected), set, set_len, "\n");
        return_name(ret, seen);
        record_check(t, &named, ROLE_EXPECT, ok, expected, seen);
        if (ok)
                return ret;
        set_text(expected, sizeof(expected), set, set_len, " or ");
        test_end(t, VERDICT_FAIL, "%s returned %s, expected %s", named.text, seen, expected);
}

DAT_RETURN check_expect_or_note(struct test *t, const struct check_site *site, DAT_RETURN ret,
                                DAT_RETURN wanted, const DAT_RETURN *notes, size_t notes_len)
{
        char seen[RETURN_NAME_SPACE];
        char text[64];
        struct check_site named = answer_site(t, site, ret, text, sizeof(text));

        if (!dat_is(ret, wanted) && in_set(ret, notes, notes_len)) {
                char first[API_NAME_SPACE];
                char others[200];
                char expected[256];

                return_name(ret, seen);
                set_text(others, sizeof(others), notes, notes_len, "\n");
                snprintf(expected, sizeof(expected), "%s\n%s", api_return_name(wanted, first),
                         others);
                record_check(t, &named, ROLE_EXPECT, true, expected, seen);
                note(t, "%s returned %s rather than %s", named.text, seen,
                     api_return_name(wanted, first));
                return ret;
        }
        return check_expect(t, site, ret, &wanted, 1);
}

/* Records that the return is kept besides those of the set, and why, for its NOTE. */
static DAT_RETURN keep_besides(struct test *t, const struct check_site *site, DAT_RETURN ret,
                               const DAT_RETURN *set, size_t set_len, const char *why)
{
        char listed[200];
        char expected[256];
        char name[API_NAME_SPACE];
        char seen[RETURN_NAME_SPACE];
        char text[64];
        struct check_site named = answer_site(t, site, ret, text, sizeof(text));

        set_text(listed, sizeof(listed), set, set_len, "\n");
        snprintf(expected, sizeof(expected), "%s\n%s", listed, api_return_name(ret, name));
        return_name(ret, seen);
        record_check(t, &named, ROLE_EXPECT, true, expected, seen);
        note(t, "%s returned %s; %s (GEN-13)", named.text, seen, why);
        return ret;
}

DAT_RETURN check_expect_may(struct test *t, const struct check_site *site, DAT_RETURN ret,
                            const DAT_RETURN *set, size_t set_len)
{
        if (in_set(ret, set, set_len) || dat_is(ret, DAT_SUCCESS) ||
            dat_is(ret, DAT_INTERNAL_ERROR))
                return check_expect(t, site, ret, set, set_len);
        return keep_besides(t, site, ret, set, set_len, "the page names no return for a refusal");
}

DAT_RETURN check_expect_refused(struct test *t, const struct check_site *site, DAT_RETURN ret,
                                const DAT_RETURN *set, size_t set_len)
{
        if (dat_is(ret, DAT_SUCCESS))
                return keep_besides(t, site, ret, set, set_len, "the page demands no refusal");
        return check_expect_may(t, site, ret, set, set_len);
}

void check_expect_that(struct test *t, const struct check_site *site, bool holds,
                       const char *format, ...)
{
        char seen[256];
        va_list args;

        va_start(args, format);
        vsnprintf(seen, sizeof(seen), format, args);
        va_end(args);
        record_condition(t, site, ROLE_EXPECT, holds, seen);
        if (!holds)
                test_end(t, VERDICT_FAIL, "%s", seen);
}

void check_expect_eq(struct test *t, const struct check_site *site, long long seen,
                     long long wanted)
{
        char seen_text[96];
        char wanted_text[96];
        struct operand_type type = operand_type(site->text);

        operand_text(seen_text, sizeof(seen_text), &type, seen);
        operand_text(wanted_text, sizeof(wanted_text), &type, wanted);
        record_check(t, site, ROLE_EXPECT, seen == wanted, wanted_text, seen_text);
        if (seen != wanted)
                test_end(t, VERDICT_FAIL, "%s: %s was seen, %s expected", site->text, seen_text,
                         wanted_text);
}

void check_seen(struct test *t, const struct check_site *site, bool clause, bool ok,
                const char *call, const char *expected, const char *seen)
{
        record_check(t, site, clause ? ROLE_EXPECT : ROLE_MUST, ok, expected, seen);
        if (ok)
                return;
        if (!clause)
                step_failed(t, site, call, seen, "%s: expected %s, saw %s", site->text, expected,
                            seen);
        test_end(t, VERDICT_FAIL, "%s: expected %s, saw %s", site->text, expected, seen);
}

void check_rule(struct test *t, const struct check_site *site, const char *expected,
                const char *seen)
{
        record_check(t, site, ROLE_EXPECT, false, expected, seen);
}

void check_guard(struct test *t, const char *seen)
{
        static const struct check_site site = {
            .file = __FILE__,
            .line = __LINE__,
            .text = "the guard areas of a buffer are whole",
        };

        record_check(t, &site, ROLE_GUARD, false, "untouched guard areas", seen);
}

static void keep_note(struct test *t, const char *format, va_list args)
{
        char text[ENTRY_TEXT_MAX];

        vsnprintf(text, sizeof(text), format, args);
        record_text(t, ENTRY_NOTE, text);
        if (t->notes++ == 0)
                snprintf(t->reason, sizeof(t->reason), "%s", text);
}

void note(struct test *t, const char *format, ...)
{
        va_list args;

        va_start(args, format);
        keep_note(t, format, args);
        va_end(args);
}

_Noreturn void end_noted(struct test *t, const char *format, ...)
{
        va_list args;

        va_start(args, format);
        keep_note(t, format, args);
        va_end(args);
        t->verdict = VERDICT_NOTE;
        longjmp(t->end, 1);
}

void record(struct test *t, const char *format, ...)
{
        char text[ENTRY_TEXT_MAX];
        va_list args;

        va_start(args, format);
        vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        record_text(t, ENTRY_RECORD, text);
}

void leak(struct test *t, const char *format, ...)
{
        char text[ENTRY_TEXT_MAX];
        va_list args;

        va_start(args, format);
        vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        record_text(t, ENTRY_LEAK, text);
        if (t->leaks++ == 0)
                snprintf(t->leak, sizeof(t->leak), "%s", text);
}

_Noreturn void resource(struct test *t, const char *format, ...)
{
        char text[REASON_MAX];
        va_list args;

        va_start(args, format);
        vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        test_end(t, VERDICT_RESOURCE, "%s", text);
}

_Noreturn void unsupported(struct test *t, const char *attribute)
{
        test_end(t, VERDICT_UNSUPPORTED, "%s", attribute);
}
