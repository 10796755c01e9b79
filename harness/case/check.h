/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks: how a case says what it arranged, what the clause demands, and what it saw. */
#ifndef HARNESS_CHECK_H
#define HARNESS_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "dat_api.h"

struct test;

/* Where a check stands in the source, and its own text: the evidence of a passing line too. */
struct check_site {
        const char *file;
        int line;
        const char *text;
};

#define CHECK_SITE_(text_) \
        (&(const struct check_site){.file = __FILE__, .line = __LINE__, .text = (text_)})
#define DAT_SET_(...)     ((const DAT_RETURN[]){__VA_ARGS__})
#define DAT_SET_LEN_(...) (sizeof(DAT_SET_(__VA_ARGS__)) / sizeof(DAT_RETURN))

/*
 * must(call): a step. Anything but DAT_SUCCESS ends the case as BLOCKED by that call, since another
 * clause promises it. If the call is the page's own and says "not supported" although the case's
 * NEEDS are declared, the case is FAIL.
 */
#define must(call_) \
        check_must(t, CHECK_SITE_(#call_), (check_begin(t, CHECK_SITE_(#call_), false), (call_)))

/*
 * must_that(condition, format, ...): a step by a condition on what the provider did. If it is
 * false, the case is BLOCKED by the last call before it. must_that_of(call, condition, format, ...)
 * names another call, whose page promises the value.
 */
#define must_that(cond_, ...) check_must_that(t, CHECK_SITE_(#cond_), NULL, (cond_), __VA_ARGS__)
#define must_that_of(call_, cond_, ...) \
        check_must_that(t, CHECK_SITE_(#cond_), (call_), (cond_), __VA_ARGS__)

/* suite_that(condition, format, ...): what the suite or the host has to bring; false ends in ERROR.
 */
#define suite_that(cond_, ...) check_suite_that(t, CHECK_SITE_(#cond_), (cond_), __VA_ARGS__)

/* The clause's call, marked as such while it is made. */
#define EXPECTED_AS_(text_, call_) (check_begin(t, CHECK_SITE_(text_), true), (call_))
#define EXPECTED_(call_)           EXPECTED_AS_(#call_, call_)

/* expect(call, returns...): the clause. The type of the return must be in the set, else FAIL. */
#define expect(call_, ...)                                                            \
        check_expect(t, CHECK_SITE_(#call_), EXPECTED_(call_), DAT_SET_(__VA_ARGS__), \
                     DAT_SET_LEN_(__VA_ARGS__))

/*
 * expect_or_note(call, return, notes...): PASS for the first; a return in `notes` is kept by a
 * reading that the report should show (NOTE); any other is FAIL.
 */
#define expect_or_note(call_, ret_, ...)                                       \
        check_expect_or_note(t, CHECK_SITE_(#call_), EXPECTED_(call_), (ret_), \
                             DAT_SET_(__VA_ARGS__), DAT_SET_LEN_(__VA_ARGS__))

/*
 * expect_named(text, call, returns...), expect_or_note_named(text, call, return, notes...): the
 * same for a call by a pointer. `text` says which call it is, and lives as long as the case.
 */
#define expect_named(text_, call_, ...)                                                        \
        check_expect(t, CHECK_SITE_(text_), EXPECTED_AS_(text_, call_), DAT_SET_(__VA_ARGS__), \
                     DAT_SET_LEN_(__VA_ARGS__))
#define expect_or_note_named(text_, call_, ret_, ...)                                   \
        check_expect_or_note(t, CHECK_SITE_(text_), EXPECTED_AS_(text_, call_), (ret_), \
                             DAT_SET_(__VA_ARGS__), DAT_SET_LEN_(__VA_ARGS__))

/*
 * expect_may(call, returns...): for what a page neither demands nor refuses by a return of its own
 * (GEN-13). PASS for the returns that fit; any other refusal is a NOTE, but DAT_INTERNAL_ERROR.
 * expect_may_named(text, call, returns...): the same for a call by a pointer.
 */
#define expect_may(call_, ...)                                                            \
        check_expect_may(t, CHECK_SITE_(#call_), EXPECTED_(call_), DAT_SET_(__VA_ARGS__), \
                         DAT_SET_LEN_(__VA_ARGS__))
#define expect_may_named(text_, call_, ...)                                                        \
        check_expect_may(t, CHECK_SITE_(text_), EXPECTED_AS_(text_, call_), DAT_SET_(__VA_ARGS__), \
                         DAT_SET_LEN_(__VA_ARGS__))

/* expect_refused_or_note(call, refusals...): as expect_may(), and success is a NOTE too. */
#define expect_refused_or_note(call_, ...)                                                    \
        check_expect_refused(t, CHECK_SITE_(#call_), EXPECTED_(call_), DAT_SET_(__VA_ARGS__), \
                             DAT_SET_LEN_(__VA_ARGS__))

/*
 * expect_that(condition, format, ...): the clause by a condition. The message is a sentence that
 * says what was seen, because it is all that a finding prints; the condition is in the evidence.
 */
#define expect_that(cond_, ...) check_expect_that(t, CHECK_SITE_(#cond_), (cond_), __VA_ARGS__)

/* expect_eq(seen, wanted): the clause by two integers; both are in the evidence. */
#define expect_eq(seen_, wanted_)                                                   \
        check_expect_eq(t, CHECK_SITE_(#seen_ " == " #wanted_), (long long)(seen_), \
                        (long long)(wanted_))

/* Marks what follows, until the check, as a step or, if `clause`, as the act under judgement. */
void check_begin(struct test *t, const struct check_site *site, bool clause);
DAT_RETURN check_must(struct test *t, const struct check_site *site, DAT_RETURN ret);
/* `call` is the call that blocks the case if the condition does not hold; NULL for the last one. */
void check_must_that(struct test *t, const struct check_site *site, const char *call, bool holds,
                     const char *format, ...) __attribute__((format(printf, 5, 6)));
void check_suite_that(struct test *t, const struct check_site *site, bool holds, const char *format,
                      ...) __attribute__((format(printf, 4, 5)));
DAT_RETURN check_expect(struct test *t, const struct check_site *site, DAT_RETURN ret,
                        const DAT_RETURN *set, size_t set_len);
DAT_RETURN check_expect_or_note(struct test *t, const struct check_site *site, DAT_RETURN ret,
                                DAT_RETURN wanted, const DAT_RETURN *notes, size_t notes_len);
DAT_RETURN check_expect_may(struct test *t, const struct check_site *site, DAT_RETURN ret,
                            const DAT_RETURN *set, size_t set_len);
DAT_RETURN check_expect_refused(struct test *t, const struct check_site *site, DAT_RETURN ret,
                                const DAT_RETURN *set, size_t set_len);
void check_expect_that(struct test *t, const struct check_site *site, bool holds,
                       const char *format, ...) __attribute__((format(printf, 4, 5)));
void check_expect_eq(struct test *t, const struct check_site *site, long long seen,
                     long long wanted);

/* note(): the case continues, and what is left of its verdict is NOTE with this reason. */
void note(struct test *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* end_noted(): a note that ends the case: what the clause asks for cannot be seen here. */
_Noreturn void end_noted(struct test *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* record(): a fact for the report, without any effect on the verdict. */
void record(struct test *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* resource(): ends the case as RESOURCE: the host ran out of what the clause does not promise. */
_Noreturn void resource(struct test *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* unsupported(): ends the case as UNSUPPORTED; `attribute` is the declaration that says so. */
_Noreturn void unsupported(struct test *t, const char *attribute);

#endif
