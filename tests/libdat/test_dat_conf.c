/* SPDX-License-Identifier: BSD-2-Clause */
/* The grammar of dat.conf, rule by rule. */

#include "dat_conf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GOOD "ia0 u1.2 nonthreadsafe default lib.so id.1.0 params platform"

/* The last complaint, and how many there were. */
struct complaints {
        unsigned int count;
        unsigned int line;
        unsigned int field;
        char reason[256];
};

static void note(void *context, unsigned int line, unsigned int field, const char *reason)
{
        struct complaints *complaints = context;

        complaints->count++;
        complaints->line = line;
        complaints->field = field;
        strncpy(complaints->reason, reason, sizeof(complaints->reason) - 1);
}

static struct conf_entry *read_bytes(const char *text, size_t length, struct complaints *complaints)
{
        FILE *file = fmemopen((void *)text, length, "r");
        struct conf_entry *entries;

        assert_non_null(file);
        memset(complaints, 0, sizeof(*complaints));
        entries = conf_read(file, note, complaints);
        fclose(file);
        return entries;
}

static struct conf_entry *read_text(const char *text, struct complaints *complaints)
{
        return read_bytes(text, strlen(text), complaints);
}

/* The text is one valid entry. */
static struct conf_entry *read_one(const char *text)
{
        struct complaints complaints;
        struct conf_entry *entry = read_text(text, &complaints);

        assert_string_equal(complaints.reason, "");
        assert_non_null(entry);
        assert_null(entry->next);
        return entry;
}

/* The text leaves no entry and no complaint. */
static void assert_ignored(const char *text)
{
        struct complaints complaints;

        assert_null(read_text(text, &complaints));
        assert_string_equal(complaints.reason, "");
}

/* The first line of the text is refused for the field, for a reason that contains the words. */
static void assert_refused(const char *text, unsigned int field, const char *words)
{
        struct complaints complaints;

        assert_null(read_text(text, &complaints));
        assert_int_equal(complaints.count, 1);
        assert_int_equal(complaints.line, 1);
        assert_int_equal(complaints.field, field);
        if (!strstr(complaints.reason, words))
                fail_msg("\"%s\" does not say \"%s\"", complaints.reason, words);
}

static void all_fields(void **state)
{
        struct conf_entry *entry = read_one(GOOD "\n");

        (void)state;
        assert_string_equal(entry->info.ia_name, "ia0");
        assert_int_equal(entry->info.dapl_version_major, 1);
        assert_int_equal(entry->info.dapl_version_minor, 2);
        assert_int_equal(entry->info.is_thread_safe, DAT_FALSE);
        assert_string_equal(entry->library, "lib.so");
        assert_string_equal(entry->ia_params, "params");
        assert_int_equal(entry->line, 1);
        conf_free(entry);
}

static void blank_lines_and_comments(void **state)
{
        (void)state;
        assert_ignored("\n");
        assert_ignored(" \t \n");
        assert_ignored("# " GOOD "\n");
        assert_ignored(" \t# " GOOD "\n");
        assert_ignored("#");
        assert_ignored(" ");
}

static void last_line_needs_no_newline(void **state)
{
        (void)state;
        conf_free(read_one(GOOD));
}

static void carriage_return_ends_a_line(void **state)
{
        struct conf_entry *entry = read_one(GOOD "\r\n\r\n");

        (void)state;
        conf_free(entry);
}

static void blanks_separate_fields(void **state)
{
        struct conf_entry *entry = read_one(
            "\t ia0 \t u1.2\tnonthreadsafe  default\t\tlib.so id.1.0 params platform \t\n");

        (void)state;
        assert_string_equal(entry->library, "lib.so");
        conf_free(entry);
}

static void comment_after_the_fields(void **state)
{
        struct complaints complaints;
        struct conf_entry *entries =
            read_text(GOOD " # one\n" GOOD "\n" GOOD " \"\"# three\n", &complaints);

        (void)state;
        assert_int_equal(complaints.count, 1);
        assert_int_equal(complaints.line, 3);
        assert_int_equal(entries->line, 1);
        assert_int_equal(entries->next->line, 2);
        assert_null(entries->next->next);
        conf_free(entries);
        conf_free(read_one("ia0 u1.2 nonthreadsafe default lib.so id.1.0 params \"x\"#comment"));
}

static void hash_inside_a_field_is_literal(void **state)
{
        struct conf_entry *entry =
            read_one("ia#0 u1.2 nonthreadsafe default \"l # ib\" id.1.0 p#q platform");

        (void)state;
        assert_string_equal(entry->info.ia_name, "ia#0");
        assert_string_equal(entry->library, "l # ib");
        assert_string_equal(entry->ia_params, "p#q");
        conf_free(entry);
}

static void quoted_fields(void **state)
{
        struct conf_entry *entry = read_one("\"ia 0\" \"u1.2\" \"nonthreadsafe\" \"default\" "
                                            "\"/a b/\\\"c\\\"\\\\d\\e\" \"id.1.0\" \"\" \"\"");

        (void)state;
        assert_string_equal(entry->info.ia_name, "ia 0");
        assert_string_equal(entry->library, "/a b/\"c\"\\de");
        assert_string_equal(entry->ia_params, "");
        conf_free(entry);
}

static void bare_fields(void **state)
{
        struct conf_entry *entry =
            read_one("ia\\0 u1.2 nonthreadsafe default lib\" id.1.0 a\\\\b platform");

        (void)state;
        assert_string_equal(entry->info.ia_name, "ia\\0");
        assert_string_equal(entry->library, "lib\"");
        assert_string_equal(entry->ia_params, "a\\\\b");
        conf_free(entry);
}

static void fields_need_a_blank_between(void **state)
{
        (void)state;
        assert_refused("\"ia0\"u1.2 nonthreadsafe default lib.so id.1.0 params platform", 1,
                       "no blank after it");
        assert_refused("ia0 u1.2 nonthreadsafe default li\"b.so id.1.0 params platform", 5,
                       "no blank after it");
}

static void quote_must_close(void **state)
{
        (void)state;
        assert_refused("ia0 u1.2 nonthreadsafe default lib.so id.1.0 \"params\n", 7,
                       "closing quote");
        assert_refused("\"", 1, "closing quote");
        assert_refused("\"\\", 1, "closing quote");
        assert_refused("ia0 u1.2 nonthreadsafe default lib.so id.1.0 params \"p\\\"", 8,
                       "closing quote");
}

static void eight_fields(void **state)
{
        (void)state;
        assert_refused("ia0", 2, "missing");
        assert_refused("ia0 u1.2 nonthreadsafe default lib.so id.1.0 params\n", 8, "missing");
        assert_refused("ia0 u1.2 nonthreadsafe default lib.so id.1.0 params # x\n", 8, "missing");
        assert_refused(GOOD " ninth", 0, "more than 8 fields");
        assert_refused(GOOD " \\", 0, "more than 8 fields");
}

static void line_does_not_continue(void **state)
{
        struct complaints complaints;

        (void)state;
        assert_null(
            read_text("ia0 u1.2 nonthreadsafe \\\ndefault lib.so id.1.0 p q\n", &complaints));
        assert_int_equal(complaints.count, 2);
}

static void ia_name_has_255_characters_at_most(void **state)
{
        static const char rest[] = " u1.2 nonthreadsafe default lib.so id.1.0 params platform";
        char name[257];
        char text[512];
        struct conf_entry *entry;

        (void)state;
        memset(name, 'a', sizeof(name));
        snprintf(text, sizeof(text), "%.255s%s", name, rest);
        entry = read_one(text);
        assert_int_equal(strlen(entry->info.ia_name), 255);
        conf_free(entry);

        snprintf(text, sizeof(text), "%.256s%s", name, rest);
        assert_refused(text, 1, "255");
}

static void api_version(void **state)
{
        static const char *const wrong[] = {"1.2",  "v1.2",  "u",    "u1",   "u1.",
                                            "u.2",  "u1.2x", "ux.2", "U1.2", "u1.2.3",
                                            "u1,2", "u-1.2", "\"\"", "k",    "u4294967296.0"};
        struct conf_entry *entry;
        char text[256];

        (void)state;
        entry = read_one("ia0 u01.02 nonthreadsafe default lib.so id.1.0 params platform");
        assert_int_equal(entry->info.dapl_version_major, 1);
        assert_int_equal(entry->info.dapl_version_minor, 2);
        conf_free(entry);
        entry = read_one("ia0 u4294967295.9 nonthreadsafe default lib.so id.1.0 params platform");
        assert_int_equal(entry->info.dapl_version_major, 4294967295U);
        assert_int_equal(entry->info.dapl_version_minor, 9);
        conf_free(entry);
        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                snprintf(text, sizeof(text), "ia0 %s threadsafe default l id.1.0 p p", wrong[i]);
                assert_refused(text, 2, "not of the form u1.2");
        }
}

static void thread_safety(void **state)
{
        struct conf_entry *entry;

        (void)state;
        entry = read_one("ia0 u1.2 threadsafe default lib.so id.1.0 params platform");
        assert_int_equal(entry->info.is_thread_safe, DAT_TRUE);
        conf_free(entry);
        entry = read_one("ia0 u1.2 threadsafely default lib.so id.1.0 params platform");
        assert_int_equal(entry->info.is_thread_safe, DAT_TRUE);
        conf_free(entry);
        assert_refused("ia0 u1.2 Threadsafe default lib.so id.1.0 params platform", 3,
                       "\"Threadsafe\" is neither");
        assert_refused("ia0 u1.2 thread default lib.so id.1.0 params platform", 3, "neither");
        assert_refused("ia0 u1.2 \"\" default lib.so id.1.0 params platform", 3, "neither");
}

static void only_default_entries_count(void **state)
{
        (void)state;
        conf_free(read_one("ia0 u1.2 threadsafe defaulted lib.so id.1.0 params platform"));
        assert_ignored("ia0 u1.2 threadsafe nondefault lib.so id.1.0 params platform");
        assert_refused("ia0 u1.2 threadsafe Default lib.so id.1.0 params platform", 4,
                       "\"Default\" is neither");
}

static void kernel_entries_do_not_count(void **state)
{
        (void)state;
        assert_ignored("ia0 k1.2 threadsafe default lib.so id.1.0 params platform");
}

static void provider_version(void **state)
{
        static const char *const wrong[] = {"id",     "id.1",   "id.1.",    ".1.0",  "1.0",
                                            "id.a.0", "id.1.b", "id.1.0.0", "id1.0", "\"\""};
        char text[256];

        (void)state;
        conf_free(read_one("ia0 u1.2 threadsafe default lib.so \"any id.01.0\" params platform"));
        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                snprintf(text, sizeof(text), "ia0 u1.2 threadsafe default l %s p p", wrong[i]);
                assert_refused(text, 6, "not of the form id.1.2");
        }
}

static void null_byte_is_refused(void **state)
{
        static const char text[] =
            "ia0 u1.2 threadsafe default lib\0so id.1.0 params platform\n" GOOD "\n";
        struct complaints complaints;
        struct conf_entry *entries = read_bytes(text, sizeof(text) - 1, &complaints);

        (void)state;
        assert_int_equal(complaints.count, 1);
        assert_int_equal(complaints.field, 5);
        assert_int_equal(entries->line, 2);
        conf_free(entries);
}

static void reasons_are_printable(void **state)
{
        (void)state;
        assert_refused("ia0 \033[2J threadsafe default lib.so id.1.0 params platform", 2,
                       "\"?[2J\"");
}

static void bad_line_spoils_no_other(void **state)
{
        struct complaints complaints;
        struct conf_entry *entries = read_text(GOOD "\nbad\n\n# comment\n" GOOD "\n", &complaints);

        (void)state;
        assert_int_equal(complaints.count, 1);
        assert_int_equal(complaints.line, 2);
        assert_int_equal(entries->line, 1);
        assert_int_equal(entries->next->line, 5);
        assert_null(entries->next->next);
        conf_free(entries);
}

static void every_field_has_a_name(void **state)
{
        (void)state;
        for (unsigned int field = 1; field <= CONF_FIELDS; field++)
                assert_string_not_equal(conf_field_name(field), "");
        assert_string_equal(conf_field_name(0), "");
        assert_string_equal(conf_field_name(CONF_FIELDS + 1), "");
}

static void failing_read_is_told(void **state)
{
        struct complaints complaints = {0};
        FILE *directory = fopen("/", "r");

        (void)state;
        assert_non_null(directory);
        assert_null(conf_read(directory, note, &complaints));
        fclose(directory);
        assert_int_equal(complaints.count, 1);
        assert_int_equal(complaints.line, 0);
        assert_string_equal(complaints.reason, "Is a directory");
}

/* Lines that the runner reads too, each after what happens to it. */
static void lines_of_the_runner(void **state)
{
        FILE *file = fopen(DAT_CONF_LINES, "re");
        char text[1024];
        size_t count = 0;

        (void)state;
        assert_non_null(file);
        for (; fgets(text, sizeof(text), file); count++) {
                char *line = strchr(text, ':');
                struct complaints complaints;
                struct conf_entry *entry;

                assert_non_null(line);
                *line++ = '\0';
                entry = read_text(line, &complaints);
                if (!entry == !strcmp(text, "take"))
                        fail_msg("not so: %s %s", text, line);
                if (!complaints.count == !strcmp(text, "refuse"))
                        fail_msg("not so: %s %s", text, line);
                conf_free(entry);
        }
        fclose(file);
        assert_true(count > 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(all_fields),
            cmocka_unit_test(blank_lines_and_comments),
            cmocka_unit_test(last_line_needs_no_newline),
            cmocka_unit_test(carriage_return_ends_a_line),
            cmocka_unit_test(blanks_separate_fields),
            cmocka_unit_test(comment_after_the_fields),
            cmocka_unit_test(hash_inside_a_field_is_literal),
            cmocka_unit_test(quoted_fields),
            cmocka_unit_test(bare_fields),
            cmocka_unit_test(fields_need_a_blank_between),
            cmocka_unit_test(quote_must_close),
            cmocka_unit_test(eight_fields),
            cmocka_unit_test(line_does_not_continue),
            cmocka_unit_test(ia_name_has_255_characters_at_most),
            cmocka_unit_test(api_version),
            cmocka_unit_test(thread_safety),
            cmocka_unit_test(only_default_entries_count),
            cmocka_unit_test(kernel_entries_do_not_count),
            cmocka_unit_test(provider_version),
            cmocka_unit_test(null_byte_is_refused),
            cmocka_unit_test(reasons_are_printable),
            cmocka_unit_test(bad_line_spoils_no_other),
            cmocka_unit_test(every_field_has_a_name),
            cmocka_unit_test(failing_read_is_told),
            cmocka_unit_test(lines_of_the_runner),
        };

        return cmocka_run_group_tests_name("dat.conf", tests, NULL, NULL);
}
