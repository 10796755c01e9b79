/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The faulty libdat, on a provider without hardware: without a fault it is a libdat, and each word
 * of the rows breaks what it says. libdat_words.toml has the faults. Each is met in a process of
 * its own, since a process has one for good.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../libdat/fake_provider.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The library under test, which is loaded and not linked: the linker would find the whole one. */
static struct {
        __typeof__(dat_ia_openv) *ia_openv;
        __typeof__(dat_ia_close) *ia_close;
        __typeof__(dat_ia_query) *ia_query;
        __typeof__(dat_registry_list_providers) *list;
        __typeof__(dat_strerror) *strerror;
} dat;

static char calls[1024];

__attribute__((visibility("default"))) void fake_called(const char *function, const char *detail)
{
        size_t length = strlen(calls);

        snprintf(calls + length, sizeof(calls) - length, "%s(%s) ", function, detail);
}

__attribute__((visibility("default"))) struct fake_ia *fake_new_ia(void)
{
        static struct fake_ia ias[8];
        static size_t count;

        return &ias[count++ % COUNT(ias)];
}

static DAT_RETURN open_ia(const char *name, DAT_BOOLEAN threadsafe, DAT_IA_HANDLE *ia)
{
        DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

        return DAT_GET_TYPE(dat.ia_openv((DAT_NAME_PTR)name, 1, &evd, ia, 1, 2, threadsafe));
}

/* What is listed, as words in one line. */
static const char *listed(void)
{
        static char text[256];
        DAT_PROVIDER_INFO infos[4];
        DAT_PROVIDER_INFO *list[4];
        DAT_COUNT count = 0;
        size_t length = 0;

        for (size_t i = 0; i < COUNT(list); i++)
                list[i] = &infos[i];
        text[0] = '\0';
        if (dat.list(COUNT(list), &count, list) != DAT_SUCCESS)
                return "refused";
        for (DAT_COUNT i = 0; i < count; i++)
                length += (size_t)snprintf(text + length, sizeof(text) - length, "%s-1.%u ",
                                           infos[i].ia_name, infos[i].dapl_version_minor);
        return text;
}

static bool opens_with(const char *wanted)
{
        DAT_IA_HANDLE ia;

        return open_ia("one", DAT_FALSE, &ia) == DAT_SUCCESS && strcmp(calls, wanted) == 0;
}

#define OPENED "init(quick brown) ia_open(one) "

static bool is_whole(void)
{
        DAT_IA_HANDLE ias[2];
        const char *major = NULL;

        return open_ia("one", DAT_FALSE, &ias[0]) == DAT_SUCCESS &&
               open_ia("one", DAT_FALSE, &ias[1]) == DAT_SUCCESS &&
               dat.ia_close(ias[0], DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS &&
               dat.ia_close(ias[1], DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS &&
               strcmp(calls, OPENED "ia_open(one) ia_close(abrupt) ia_close(abrupt) fini(one) ") ==
                   0 &&
               strcmp(listed(), "one-1.2 two-1.2 ") == 0 &&
               DAT_GET_TYPE(dat.ia_query(NULL, NULL, 0, NULL, 0, NULL)) == DAT_INVALID_HANDLE &&
               dat.strerror(DAT_SUCCESS, &major, NULL) == DAT_SUCCESS &&
               strcmp(major, "DAT_SUCCESS") == 0;
}

static bool answers(void)
{
        DAT_IA_HANDLE ia;

        return open_ia("one", DAT_FALSE, &ia) == DAT_INVALID_STATE &&
               open_ia("two", DAT_FALSE, &ia) == DAT_SUCCESS;
}

static bool sets_a_text(void)
{
        const char *major = NULL;

        return dat.strerror(DAT_SUCCESS, &major, NULL) == DAT_SUCCESS &&
               strcmp(major, "well \"done\"") == 0;
}

static bool sets_an_element(void)
{
        return strcmp(listed(), "one-1.2 two-1.7 ") == 0;
}

static bool passes_other_data(void)
{
        return opens_with("init(uick brown) ia_open(one) ");
}

static bool edits_data(void)
{
        return opens_with("init(brown-quick) ia_open(one) ");
}

static bool initialises_twice(void)
{
        return opens_with("init(quick brown) init(quick brown) init(was refused to register) "
                          "ia_open(one) ");
}

static bool forgets_fini(void)
{
        DAT_IA_HANDLE ia;

        return open_ia("one", DAT_FALSE, &ia) == DAT_SUCCESS &&
               dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS &&
               strcmp(calls, OPENED "ia_close(abrupt) ") == 0;
}

static bool finishes_early(void)
{
        DAT_IA_HANDLE ias[2];

        return open_ia("one", DAT_FALSE, &ias[0]) == DAT_SUCCESS &&
               open_ia("one", DAT_FALSE, &ias[1]) == DAT_SUCCESS &&
               dat.ia_close(ias[0], DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS &&
               strcmp(calls, OPENED "ia_open(one) ia_close(abrupt) fini(one) ") == 0;
}

static bool lists_two(void)
{
        return strcmp(listed(), "two-1.2 ") == 0;
}

static bool lists_a_comment(void)
{
        return strcmp(listed(), "one-1.2 two-1.2 comment-1.2 ") == 0;
}

static bool lists_two_first(void)
{
        return strcmp(listed(), "two-1.2 one-1.2 ") == 0;
}

static bool lists_one_more(void)
{
        return strcmp(listed(), "one-1.2 again-1.2 two-1.2 ") == 0;
}

static bool lists_none(void)
{
        return !strstr(listed(), "one");
}

static bool opens_none(void)
{
        DAT_IA_HANDLE ia;

        return open_ia("one", DAT_FALSE, &ia) == DAT_PROVIDER_NOT_FOUND;
}

static bool opens_by_the_other_safety(void)
{
        DAT_IA_HANDLE ia;

        return opens_none() && open_ia("one", DAT_TRUE, &ia) == DAT_SUCCESS;
}

static bool takes_null(void)
{
        return dat.ia_query(NULL, NULL, 0, NULL, 0, NULL) == DAT_SUCCESS;
}

/* The second IA's provider opens it in its init: without the fault it is refused. */
static bool takes_what_overlaps(void)
{
        DAT_IA_HANDLE ia;

        return open_ia("two", DAT_FALSE, &ia) == DAT_SUCCESS &&
               strcmp(calls, "init(" FAKE_OPENS_ITSELF ") ia_open(two) ") == 0;
}

static const struct row {
        const char *fault;
        bool (*seen)(void);
} rows[] = {
    {"", is_whole},
    {"libdat/answer", answers},
    {"libdat/set_text", sets_a_text},
    {"libdat/set_element", sets_an_element},
    {"libdat/with", passes_other_data},
    {"libdat/edit", edits_data},
    {"libdat/init_twice", initialises_twice},
    {"libdat/no_fini", forgets_fini},
    {"libdat/early_fini", finishes_early},
    {"libdat/line_lost", lists_two},
    {"libdat/line_edited", lists_a_comment},
    {"libdat/line_late", lists_two_first},
    {"libdat/line_twice", lists_one_more},
    {"libdat/no_override", lists_none},
    {"libdat/other_file", lists_none},
    {"libdat/wanted", opens_by_the_other_safety},
    {"libdat/not_loaded", opens_none},
    {"libdat/also", opens_none},
    {"libdat/dispatch", takes_null},
    {"libdat/overlaps", takes_what_overlaps},
};

static void load(void)
{
        void *library = dlopen(LIBDAT, RTLD_NOW | RTLD_GLOBAL);

        if (!library) {
                fprintf(stderr, "%s\n", dlerror());
                _exit(2);
        }
        *(void **)&dat.ia_openv = dlsym(library, "dat_ia_openv");
        *(void **)&dat.ia_close = dlsym(library, "dat_ia_close");
        *(void **)&dat.ia_query = dlsym(library, "dat_ia_query");
        *(void **)&dat.list = dlsym(library, "dat_registry_list_providers");
        *(void **)&dat.strerror = dlsym(library, "dat_strerror");
}

static void check_row(void **state)
{
        const struct row *row = *state;
        int status = -1;
        pid_t pid = fork();

        if (pid == 0) {
                setenv("LIBDAT_FAULT", row->fault, 1);
                load();
                _exit(row->seen() ? 0 : 1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
}

static void write_conf(char *path)
{
        static const char entry[] = " nonthreadsafe default " FAKE_PROVIDER " cts.1.0 ";
        FILE *conf = fdopen(mkstemp(path), "w");

        if (!conf)
                abort();
        fprintf(conf, "one u1.2%s\"quick brown\" \"\"\n", entry);
        fprintf(conf, "two u1.2%s" FAKE_OPENS_ITSELF " \"\"\n", entry);
        fprintf(conf, "#comment u1.2%s\"\" \"\"\n", entry);
        fclose(conf);
        setenv("DAT_OVERRIDE", path, 1);
}

int main(void)
{
        char path[] = "/tmp/libdat-words-XXXXXX";
        struct CMUnitTest tests[COUNT(rows)];
        int failed;

        write_conf(path);
        for (size_t i = 0; i < COUNT(rows); i++)
                tests[i] = (struct CMUnitTest){.name = *rows[i].fault ? rows[i].fault : "whole",
                                               .test_func = check_row,
                                               .initial_state = (void *)&rows[i]};
        failed = cmocka_run_group_tests_name("libdat_words", tests, NULL, NULL);
        unlink(path);
        return failed;
}
