/* SPDX-License-Identifier: BSD-2-Clause */
/* How the environment steers libdat. It is read once, so each test is a process of its own. */

#include "captured_stderr.h"
#include "return_code.h"

#include <dat/udat.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const char conf[] = "ia0 u1.2 nonthreadsafe default /nonexistent/lib.so id.1.0 \"\" \"\"\n"
                           "ia1 u1.2 sometimes default /nonexistent/lib.so id.1.0 \"\" \"\"\n";

/* What dat_registry_list_providers() answered, and what was said on stderr meanwhile. */
struct answer {
        DAT_RETURN ret;
        DAT_RETURN ret_for_0;
        DAT_COUNT count;
        char said[1024];
};

/* Ask in a new process whose environment has these values; NULL is no value. */
static struct answer ask(const char *dat_override, const char *debug)
{
        struct answer answer = {.count = -1};
        int ends[2];
        int status;
        pid_t child;

        assert_int_equal(pipe(ends), 0);
        child = fork();
        assert_true(child >= 0);
        if (child == 0) {
                DAT_PROVIDER_INFO info;
                DAT_PROVIDER_INFO *list[] = {&info};

                unsetenv("DAT_OVERRIDE");
                unsetenv("DAT_DBG_TYPE");
                if (dat_override)
                        setenv("DAT_OVERRIDE", dat_override, 1);
                if (debug)
                        setenv("DAT_DBG_TYPE", debug, 1);
                capture_stderr();
                answer.ret = dat_registry_list_providers(1, &answer.count, list);
                answer.ret_for_0 = dat_registry_list_providers(0, &(DAT_COUNT){0}, list);
                strncpy(answer.said, captured_stderr(), sizeof(answer.said) - 1);
                _exit(write(ends[1], &answer, sizeof(answer)) != sizeof(answer));
        }
        close(ends[1]);
        assert_int_equal(read(ends[0], &answer, sizeof(answer)), sizeof(answer));
        close(ends[0]);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        return answer;
}

static void override_names_the_file(void **state)
{
        struct answer answer = ask(*state, NULL);

        assert_int_equal(answer.ret, DAT_SUCCESS);
        assert_int_equal(answer.count, 1);
}

static void bad_line_is_told_in_one_line(void **state)
{
        struct answer answer = ask(*state, NULL);
        char expected[512];

        snprintf(expected, sizeof(expected),
                 "libdat: %s:2: entry skipped: field 3 (thread safety): \"sometimes\" is neither "
                 "threadsafe nor nonthreadsafe\n",
                 (const char *)*state);
        assert_string_equal(answer.said, expected);
}

static void unreadable_override_lists_nothing(void **state)
{
        struct answer answer = ask("/nonexistent/dat.conf", NULL);

        (void)state;
        assert_int_equal(answer.ret, DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE));
        assert_int_equal(answer.count, 0);
        assert_string_equal(answer.said, "libdat: DAT_OVERRIDE=/nonexistent/dat.conf: cannot be "
                                         "read: No such file or directory; no IA is listed\n");
}

static void empty_override_does_not_fall_back(void **state)
{
        struct answer answer = ask("", NULL);

        (void)state;
        assert_int_equal(answer.ret, DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE));
        assert_int_equal(answer.count, 0);
        assert_non_null(strstr(answer.said, "DAT_OVERRIDE=: cannot be read"));
}

static void directory_is_no_file(void **state)
{
        struct answer answer = ask("/", NULL);

        (void)state;
        assert_int_equal(answer.ret, DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE));
        assert_int_equal(answer.count, 0);
        assert_string_equal(answer.said, "libdat: /: cannot be read: Is a directory\n");
}

static void empty_file_lists_nothing(void **state)
{
        struct answer answer = ask("/dev/null", NULL);

        (void)state;
        assert_int_equal(answer.ret, DAT_SUCCESS);
        assert_int_equal(answer.count, 0);
        assert_int_equal(answer.ret_for_0, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
        assert_string_equal(answer.said, "");
}

static void without_override_the_system_file_is_read(void **state)
{
        struct answer answer = ask(NULL, NULL);

        (void)state;
        if (access("/etc/dat.conf", F_OK) == 0)
                skip();
        assert_int_equal(answer.ret, DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE));
        assert_string_equal(answer.said, "");
}

static void debug_type_0_is_silence(void **state)
{
        struct answer answer = ask(*state, "0");

        assert_int_equal(answer.count, 1);
        assert_string_equal(answer.said, "");
}

static void debug_type_4_traces_entries(void **state)
{
        struct answer answer = ask(*state, "0x4");
        char expected[512];

        snprintf(expected, sizeof(expected),
                 "libdat: %s:1: IA ia0, version 1.2, nonthreadsafe: /nonexistent/lib.so\n",
                 (const char *)*state);
        assert_string_equal(answer.said, expected);
}

static void debug_type_that_is_no_number_is_ignored(void **state)
{
        assert_string_not_equal(ask(*state, "loud").said, "");
        assert_string_not_equal(ask(*state, "").said, "");
}

static int write_conf(void **state)
{
        static char path[] = "/tmp/libdat-test-XXXXXX.dat.conf";
        int fd = mkstemps(path, strlen(".dat.conf"));

        if (fd < 0 || write(fd, conf, strlen(conf)) != (ssize_t)strlen(conf))
                return -1;
        *state = path;
        return close(fd);
}

static int remove_conf(void **state)
{
        return unlink(*state);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(override_names_the_file),
            cmocka_unit_test(bad_line_is_told_in_one_line),
            cmocka_unit_test(unreadable_override_lists_nothing),
            cmocka_unit_test(empty_override_does_not_fall_back),
            cmocka_unit_test(directory_is_no_file),
            cmocka_unit_test(empty_file_lists_nothing),
            cmocka_unit_test(without_override_the_system_file_is_read),
            cmocka_unit_test(debug_type_0_is_silence),
            cmocka_unit_test(debug_type_4_traces_entries),
            cmocka_unit_test(debug_type_that_is_no_number_is_ignored),
        };

        return cmocka_run_group_tests_name("environment", tests, write_conf, remove_conf);
}
