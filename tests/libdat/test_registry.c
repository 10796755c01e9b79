/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registry through its public calls, with fake providers. The dat.conf of this process is read
 * once, so one file has an IA for each test.
 */

#include "captured_stderr.h"
#include "fake_provider.h"
#include "return_code.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The listed keys, in file order. %1$s is the fake provider, %2$s a library that is none. */
static const char conf[] =
    "plain u1.2 nonthreadsafe default %1$s id.1.0 \"some parameters\" \"\"\n"
    "missing u1.2 nonthreadsafe default /nonexistent/lib.so id.1.0 \"\" \"\"\n"
    "none u1.2 nonthreadsafe default %2$s id.1.0 \"\" \"\"\n"
    "chain u1.2 nonthreadsafe default /nonexistent/lib.so id.1.0 first \"\"\n"
    "not_registered u1.2 nonthreadsafe default %1$s id.1.0 not_registered \"\"\n"
    "chain u1.2 nonthreadsafe default %2$s id.1.0 second \"\"\n"
    "chain u1.2 nonthreadsafe default %1$s id.1.0 third \"\"\n"
    "chain u1.2 nonthreadsafe default %1$s id.1.0 fourth \"\"\n"
    "other_name u1.2 nonthreadsafe default %1$s id.1.0 other_name \"\"\n"
    "stays u1.2 nonthreadsafe default %1$s id.1.0 stays_registered \"\"\n"
    "itself u1.2 nonthreadsafe default %1$s id.1.0 opens_itself \"\"\n"
    "fails_open u1.2 nonthreadsafe default %1$s id.1.0 fails_open \"\"\n"
    "fails_close u1.2 nonthreadsafe default %1$s id.1.0 fails_close \"\"\n"
    "null_handle u1.2 nonthreadsafe default %1$s id.1.0 null_handle \"\"\n"
    "own_table u1.2 nonthreadsafe default %1$s id.1.0 own_table \"\"\n"
    "warns u1.2 nonthreadsafe default %1$s id.1.0 warns \"\"\n"
    "hidden u1.2 nonthreadsafe nondefault %1$s id.1.0 \"\" \"\"\n"
    "kernel k1.2 nonthreadsafe default %1$s id.1.0 \"\" \"\"\n"
    "version u1.7 nonthreadsafe default %1$s id.1.0 seven \"\"\n"
    "version u1.4 nonthreadsafe default %1$s id.1.0 four \"\"\n"
    "version u1.1 nonthreadsafe default %1$s id.1.0 one \"\"\n"
    "version u2.0 nonthreadsafe default %1$s id.1.0 two \"\"\n"
    "safe u1.2 threadsafe default %1$s id.1.0 safe \"\"\n"
    "RO_AWARE_exact u1.2 nonthreadsafe default %1$s id.1.0 exact \"\"\n";

/* Keys among them: without hidden, kernel and the repetitions of chain. */
#define LISTED 19

/*
 * What the fake provider reports
 */

static char calls[65536];
static pthread_mutex_t calls_lock = PTHREAD_MUTEX_INITIALIZER;

/* Where the call that begins with hold_at is held until the test lets it continue. */
static const char *hold_at;
static sem_t held;
static sem_t go_on;

static struct fake_ia ias[512];
static size_t ias_used;
static struct fake_ia *ia_again; /* the address that the next IA gets, if one */

__attribute__((visibility("default"))) void fake_called(const char *function, const char *detail)
{
        size_t used;

        pthread_mutex_lock(&calls_lock);
        used = strlen(calls);
        snprintf(calls + used, sizeof(calls) - used, "%s(%s) ", function, detail);
        pthread_mutex_unlock(&calls_lock);
        if (hold_at && strcmp(function, hold_at) == 0) {
                sem_post(&held);
                sem_wait(&go_on);
        }
}

__attribute__((visibility("default"))) struct fake_ia *fake_new_ia(void)
{
        struct fake_ia *ia;

        pthread_mutex_lock(&calls_lock);
        ia = ia_again ? ia_again : &ias[ias_used++ % COUNT(ias)];
        ia_again = NULL;
        pthread_mutex_unlock(&calls_lock);
        return ia;
}

/* The provider calls since the last question. */
static void assert_calls(const char *expected)
{
        assert_string_equal(calls, expected);
        calls[0] = '\0';
}

static DAT_RETURN open_named(const char *name, DAT_IA_HANDLE *ia)
{
        DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;

        return dat_ia_open((char *)name, 8, &async_evd, ia);
}

/* Open what must open. */
static DAT_IA_HANDLE opened(const char *name)
{
        DAT_IA_HANDLE ia = DAT_HANDLE_NULL;

        assert_int_equal(open_named(name, &ia), DAT_SUCCESS);
        assert_non_null(ia);
        return ia;
}

static DAT_RETURN open_version(const char *name, DAT_UINT32 major, DAT_UINT32 minor,
                               DAT_BOOLEAN thread_safety)
{
        DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
        DAT_IA_HANDLE ia;
        DAT_RETURN ret =
            dat_ia_openv((char *)name, 8, &async_evd, &ia, major, minor, thread_safety);

        if (ret == DAT_SUCCESS)
                assert_int_equal(dat_ia_close(ia, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
        return ret;
}

static bool fake_is_loaded(void)
{
        void *handle = dlopen(FAKE_PROVIDER, RTLD_NOW | RTLD_NOLOAD);

        if (handle)
                dlclose(handle);
        return handle != NULL;
}

static void assert_contains(const char *text, const char *words)
{
        if (!strstr(text, words))
                fail_msg("\"%s\" does not say \"%s\"", text, words);
}

static size_t lines_of(const char *text)
{
        size_t lines = 0;

        for (; *text; text++)
                lines += *text == '\n';
        return lines;
}

/*
 * Opening and closing
 */

static void open_loads_and_last_close_unloads(void **state)
{
        DAT_IA_HANDLE first;
        DAT_IA_HANDLE second;

        (void)state;
        assert_false(fake_is_loaded());
        first = opened("plain");
        assert_calls("init(some parameters) ia_open(plain) ");
        second = opened("plain");
        assert_calls("ia_open(plain) ");

        assert_int_equal(dat_ia_close(first, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        assert_calls("ia_close(abrupt) ");
        assert_true(fake_is_loaded());
        assert_int_equal(dat_ia_close(second, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        assert_calls("ia_close(graceful) fini(plain) ");
        assert_false(fake_is_loaded());

        assert_int_equal(dat_ia_close(opened("plain"), DAT_CLOSE_DEFAULT), DAT_SUCCESS);
        assert_calls("init(some parameters) ia_open(plain) ia_close(abrupt) fini(plain) ");
}

static void open_passes_its_arguments_on(void **state)
{
        DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
        struct fake_ia *ia;

        (void)state;
        assert_int_equal(dat_ia_open("plain", 77, &async_evd, (DAT_IA_HANDLE *)&ia), DAT_SUCCESS);
        assert_string_equal(ia->name, "plain");
        assert_int_equal(ia->async_evd_min_qlen, 77);
        assert_ptr_equal(ia->async_evd_handle, &async_evd);
        assert_int_equal(dat_ia_close(ia, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
}

static void open_refuses_bad_arguments(void **state)
{
        DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
        char name[DAT_NAME_MAX_LENGTH + 1];
        DAT_IA_HANDLE ia;

        (void)state;
        memset(name, 'a', sizeof(name));
        assert_int_equal(open_named(NULL, &ia), DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
        assert_int_equal(open_named(name, &ia), DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
        name[DAT_NAME_MAX_LENGTH - 1] = '\0';
        assert_int_equal(open_named(name, &ia),
                         DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED));
        assert_int_equal(dat_ia_open("plain", 8, &async_evd, NULL),
                         DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4));
        assert_calls("");
}

static void failed_open_is_undone(void **state)
{
        DAT_IA_HANDLE ia;

        (void)state;
        assert_int_equal(open_named("fails_open", &ia), FAKE_ERROR);
        assert_calls("init(fails_open) ia_open(fails_open) fini(fails_open) ");
        assert_false(fake_is_loaded());
}

static void failed_close_keeps_the_library(void **state)
{
        DAT_IA_HANDLE ia = opened("fails_close");

        (void)state;
        assert_int_equal(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), FAKE_ERROR);
        assert_true(fake_is_loaded());
        assert_int_equal(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        assert_calls("init(fails_close) ia_open(fails_close) ia_close(graceful) ia_close(graceful) "
                     "fini(fails_close) ");
        assert_false(fake_is_loaded());
}

static void warning_is_a_success(void **state)
{
        DAT_IA_HANDLE ia;

        (void)state;
        assert_int_equal(open_named("warns", &ia), FAKE_WARNING);
        assert_int_equal(dat_ia_close(ia, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
        assert_calls("init(warns) ia_open(warns) ia_close(abrupt) fini(warns) ");
}

static void handle_of_another_table_is_dispatched(void **state)
{
        DAT_IA_HANDLE ia = opened("own_table");
        DAT_HANDLE_TYPE type = DAT_HANDLE_TYPE_CR;

        (void)state;
        assert_int_equal(dat_get_handle_type(ia, &type), DAT_SUCCESS);
        assert_int_equal(type, DAT_HANDLE_TYPE_IA);
        assert_int_equal(dat_ia_close(ia, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
        assert_int_equal(dat_get_handle_type(ia, &type),
                         DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1));
}

static void handle_of_an_unloaded_library_is_refused(void **state)
{
        DAT_IA_HANDLE ia = opened("plain");
        DAT_HANDLE_TYPE type;

        (void)state;
        assert_int_equal(dat_ia_close(ia, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
        assert_false(fake_is_loaded());
        assert_int_equal(dat_get_handle_type(ia, &type),
                         DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1));
        assert_int_equal(dat_ia_close(ia, DAT_CLOSE_DEFAULT),
                         DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA));
}

static void null_handle_from_the_provider_is_an_error(void **state)
{
        DAT_IA_HANDLE ia;
        const char *said;
        DAT_RETURN ret;

        (void)state;
        capture_stderr();
        ret = open_named("null_handle", &ia);
        said = captured_stderr();
        assert_int_equal(ret, DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE));
        assert_contains(said, "IA null_handle: its provider opened it, but gave no usable handle");
        assert_calls("init(null_handle) ia_open(null_handle) fini(null_handle) ");
}

static void close_refuses_what_is_no_handle(void **state)
{
        static void *zeroed[4];

        (void)state;
        assert_int_equal(dat_ia_close(DAT_HANDLE_NULL, DAT_CLOSE_DEFAULT),
                         DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA));
        assert_int_equal(dat_ia_close(zeroed, DAT_CLOSE_DEFAULT),
                         DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA));
        assert_int_equal(dat_ia_close((char *)zeroed + 1, DAT_CLOSE_DEFAULT),
                         DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA));
        assert_int_equal(dat_ia_close((DAT_IA_HANDLE)8, DAT_CLOSE_DEFAULT),
                         DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA));
}

/*
 * Libraries that do not come up
 */

/* The open fails, with as many lines on stderr, of which the first says the words. */
static void assert_not_loaded(const char *name, size_t lines, const char *words)
{
        DAT_IA_HANDLE ia;
        const char *said;
        DAT_RETURN ret;

        capture_stderr();
        ret = open_named(name, &ia);
        said = captured_stderr();
        assert_int_equal(ret, DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED));
        assert_contains(said, words);
        assert_int_equal(lines_of(said), lines);
        assert_false(fake_is_loaded());
}

static void missing_library(void **state)
{
        (void)state;
        assert_not_loaded("missing", 1,
                          "dat.conf:2: IA missing: field 5 (library): /nonexistent/lib.so: cannot "
                          "open shared object file");
}

static void library_that_is_no_provider(void **state)
{
        (void)state;
        assert_not_loaded("none", 1, "exports no dat_provider_init, so it is no DAT provider");
}

static void init_that_does_not_register(void **state)
{
        (void)state;
        assert_not_loaded("not_registered", 1, "loaded, but did not register it");
        assert_calls("init(not_registered) ");
}

static void init_that_registers_another_name(void **state)
{
        (void)state;
        assert_not_loaded("other_name", 2, "IA another, version 1.2: registration refused");
        assert_calls("init(other_name) init(was refused to register) ");
}

static void init_that_opens_its_own_ia(void **state)
{
        (void)state;
        assert_int_equal(dat_ia_close(opened("itself"), DAT_CLOSE_DEFAULT), DAT_SUCCESS);
        assert_calls("init(opens_itself) init(was refused its own IA) ia_open(itself) "
                     "ia_close(abrupt) fini(itself) ");
}

static void fini_that_does_not_unregister(void **state)
{
        (void)state;
        for (int i = 0; i < 2; i++) {
                assert_int_equal(dat_ia_close(opened("stays"), DAT_CLOSE_DEFAULT), DAT_SUCCESS);
                assert_calls("init(stays_registered) ia_open(stays) ia_close(abrupt) fini(stays) ");
                assert_false(fake_is_loaded());
        }
}

static void libraries_of_one_key_are_tried_in_order(void **state)
{
        DAT_IA_HANDLE ia;
        const char *said;

        (void)state;
        capture_stderr();
        ia = opened("chain");
        said = captured_stderr();
        assert_int_equal(lines_of(said), 2);
        assert_contains(said, "dat.conf:4: IA chain");
        assert_contains(said, "dat.conf:6: IA chain");
        assert_int_equal(dat_ia_close(ia, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
        assert_calls("init(third) ia_open(chain) ia_close(abrupt) fini(chain) ");
}

/*
 * Which entry an open finds
 */

static void minor_version_wanted_or_the_next_higher(void **state)
{
        (void)state;
        assert_int_equal(open_version("version", 1, 7, DAT_FALSE), DAT_SUCCESS);
        assert_calls("init(seven) ia_open(version) ia_close(abrupt) fini(version) ");
        assert_int_equal(open_version("version", 1, 2, DAT_FALSE), DAT_SUCCESS);
        assert_calls("init(four) ia_open(version) ia_close(abrupt) fini(version) ");
        assert_int_equal(open_version("version", 1, 8, DAT_FALSE),
                         DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_MINOR_NOT_FOUND));
}

static void major_version_wanted(void **state)
{
        (void)state;
        assert_int_equal(open_version("version", 2, 0, DAT_FALSE), DAT_SUCCESS);
        assert_calls("init(two) ia_open(version) ia_close(abrupt) fini(version) ");
        assert_int_equal(open_version("version", 0, 0, DAT_FALSE),
                         DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_MAJOR_NOT_FOUND));
        assert_int_equal(open_version("version", 3, 0, DAT_FALSE),
                         DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_MAJOR_NOT_FOUND));
}

static void thread_safety_wanted(void **state)
{
        (void)state;
        assert_int_equal(open_version("safe", 1, 2, DAT_TRUE), DAT_SUCCESS);
        assert_calls("init(safe) ia_open(safe) ia_close(abrupt) fini(safe) ");
        assert_int_equal(open_version("safe", 1, 2, DAT_FALSE),
                         DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_THREAD_SAFETY_NOT_FOUND));
        assert_int_equal(open_version("plain", 1, 2, DAT_TRUE),
                         DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_THREAD_SAFETY_NOT_FOUND));
}

static void hidden_entries_are_not_found(void **state)
{
        (void)state;
        assert_int_equal(open_version("hidden", 1, 2, DAT_FALSE),
                         DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED));
        assert_int_equal(open_version("kernel", 1, 2, DAT_FALSE),
                         DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED));
        assert_int_equal(open_version("", 1, 2, DAT_FALSE),
                         DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED));
}

static void relaxed_ordering_prefix_is_taken_off(void **state)
{
        (void)state;
        assert_int_equal(open_version("RO_AWARE_plain", 1, 2, DAT_FALSE), DAT_SUCCESS);
        assert_calls("init(some parameters) ia_open(plain) ia_close(abrupt) fini(plain) ");
        assert_int_equal(open_version("RO_AWARE_exact", 1, 2, DAT_FALSE), DAT_SUCCESS);
        assert_calls("init(exact) ia_open(RO_AWARE_exact) ia_close(abrupt) fini(RO_AWARE_exact) ");
        assert_int_equal(open_version("RO_AWARE_", 1, 2, DAT_FALSE),
                         DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED));
}

/*
 * dat_registry_list_providers
 */

static void list_has_each_key_once_in_file_order(void **state)
{
        DAT_PROVIDER_INFO infos[LISTED + 1];
        DAT_PROVIDER_INFO *list[LISTED + 1];
        DAT_COUNT count = -1;

        (void)state;
        for (size_t i = 0; i < COUNT(list); i++)
                list[i] = &infos[i];
        strcpy(infos[LISTED].ia_name, "untouched");
        assert_int_equal(dat_registry_list_providers(LISTED + 1, &count, list), DAT_SUCCESS);
        assert_int_equal(count, LISTED);
        assert_string_equal(infos[0].ia_name, "plain");
        assert_string_equal(infos[3].ia_name, "chain");
        assert_string_equal(infos[4].ia_name, "not_registered");
        assert_string_equal(infos[5].ia_name, "other_name");
        assert_string_equal(infos[LISTED - 3].ia_name, "version");
        assert_int_equal(infos[LISTED - 3].dapl_version_major, 2);
        assert_int_equal(infos[LISTED - 3].dapl_version_minor, 0);
        assert_string_equal(infos[LISTED - 2].ia_name, "safe");
        assert_int_equal(infos[LISTED - 2].is_thread_safe, DAT_TRUE);
        assert_string_equal(infos[LISTED].ia_name, "untouched");
}

static void list_that_is_too_small(void **state)
{
        DAT_PROVIDER_INFO info;
        DAT_PROVIDER_INFO *list[LISTED];
        static const DAT_COUNT sizes[] = {0, -1, 1, LISTED - 1};
        DAT_COUNT count;

        (void)state;
        for (size_t i = 0; i < COUNT(list); i++)
                list[i] = &info;
        for (size_t i = 0; i < COUNT(sizes); i++) {
                count = -1;
                assert_int_equal(dat_registry_list_providers(sizes[i], &count, list),
                                 DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
                assert_int_equal(count, LISTED);
        }
        assert_int_equal(dat_registry_list_providers(LISTED, &count, list), DAT_SUCCESS);
}

static void list_with_null_pointers(void **state)
{
        DAT_PROVIDER_INFO info;
        DAT_PROVIDER_INFO *list[LISTED + 1] = {0};
        DAT_COUNT count = -1;

        (void)state;
        assert_int_equal(dat_registry_list_providers(LISTED, NULL, list),
                         DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
        assert_int_equal(dat_registry_list_providers(LISTED, &count, NULL),
                         DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3));
        assert_int_equal(count, LISTED);
        for (size_t i = 0; i < LISTED - 1; i++)
                list[i] = &info;
        assert_int_equal(dat_registry_list_providers(LISTED, &count, list),
                         DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3));
        list[LISTED - 1] = &info;
        assert_int_equal(dat_registry_list_providers(LISTED + 1, &count, list), DAT_SUCCESS);
}

/*
 * Providers that an application registers
 */

static DAT_RETURN own_ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
                              DAT_IA_HANDLE *ia);

static DAT_RETURN own_ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
        (void)ia;
        (void)flags;
        return DAT_SUCCESS;
}

static const DAT_PROVIDER own_provider = {
    .ia_open_func = own_ia_open,
    .ia_close_func = own_ia_close,
};
static const DAT_PROVIDER other_provider = {.ia_open_func = own_ia_open};

static DAT_RETURN own_ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
                              DAT_IA_HANDLE *ia)
{
        static struct fake_ia object = {.table = &own_provider};

        (void)name;
        (void)qlen;
        (void)async_evd;
        *ia = &object;
        return DAT_SUCCESS;
}

static const DAT_PROVIDER_INFO own_info = {
    .ia_name = "own",
    .dapl_version_major = 1,
    .dapl_version_minor = 2,
};

static void own_provider_opens_closes_and_leaves(void **state)
{
        DAT_IA_HANDLE first;
        DAT_IA_HANDLE second;

        (void)state;
        assert_int_equal(dat_registry_add_provider(&own_provider, &own_info), DAT_SUCCESS);
        first = opened("own");
        second = opened("own");
        assert_int_equal(dat_registry_remove_provider(&own_provider, &own_info),
                         DAT_ERROR(DAT_PROVIDER_IN_USE, DAT_NO_SUBTYPE));
        assert_int_equal(dat_ia_close(first, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
        assert_int_equal(dat_registry_remove_provider(&own_provider, &own_info),
                         DAT_ERROR(DAT_PROVIDER_IN_USE, DAT_NO_SUBTYPE));
        assert_int_equal(dat_ia_close(second, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
        assert_int_equal(dat_registry_remove_provider(&own_provider, &own_info), DAT_SUCCESS);
        assert_int_equal(open_version("own", 1, 2, DAT_FALSE),
                         DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED));
}

static void own_provider_goes_before_the_listed_one(void **state)
{
        DAT_PROVIDER_INFO info = own_info;

        (void)state;
        strcpy(info.ia_name, "plain");
        assert_int_equal(dat_registry_add_provider(&own_provider, &info), DAT_SUCCESS);
        assert_int_equal(open_version("plain", 1, 2, DAT_FALSE), DAT_SUCCESS);
        assert_calls("");
        assert_int_equal(dat_registry_remove_provider(&own_provider, &info), DAT_SUCCESS);
}

static void key_is_registered_once(void **state)
{
        DAT_PROVIDER_INFO safe = own_info;

        (void)state;
        safe.is_thread_safe = DAT_TRUE;
        assert_int_equal(dat_registry_add_provider(&own_provider, &own_info), DAT_SUCCESS);
        assert_int_equal(dat_registry_add_provider(&own_provider, &own_info),
                         DAT_ERROR(DAT_PROVIDER_ALREADY_REGISTERED, DAT_NO_SUBTYPE));
        assert_int_equal(dat_registry_add_provider(&other_provider, &own_info),
                         DAT_ERROR(DAT_PROVIDER_ALREADY_REGISTERED, DAT_NO_SUBTYPE));
        assert_int_equal(dat_registry_add_provider(&own_provider, &safe), DAT_SUCCESS);
        assert_int_equal(dat_registry_remove_provider(&own_provider, &safe), DAT_SUCCESS);
        assert_int_equal(dat_registry_remove_provider(&own_provider, &own_info), DAT_SUCCESS);
}

static void remove_refuses_what_is_not_there(void **state)
{
        (void)state;
        assert_int_equal(dat_registry_remove_provider(&own_provider, &own_info),
                         DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
        assert_int_equal(dat_registry_add_provider(&own_provider, &own_info), DAT_SUCCESS);
        assert_int_equal(dat_registry_remove_provider(&other_provider, &own_info),
                         DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
        assert_int_equal(dat_registry_remove_provider(NULL, &own_info),
                         DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
        assert_int_equal(dat_registry_remove_provider(&own_provider, NULL),
                         DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
        assert_int_equal(dat_registry_remove_provider(&own_provider, &own_info), DAT_SUCCESS);
}

static void add_refuses_bad_arguments(void **state)
{
        static const DAT_PROVIDER empty;
        DAT_PROVIDER_INFO endless = own_info;

        (void)state;
        memset(endless.ia_name, 'a', sizeof(endless.ia_name));
        assert_int_equal(dat_registry_add_provider(NULL, &own_info),
                         DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
        assert_int_equal(dat_registry_add_provider(&empty, &own_info),
                         DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
        assert_int_equal(dat_registry_add_provider(&own_provider, NULL),
                         DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
        assert_int_equal(dat_registry_add_provider(&own_provider, &endless),
                         DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
}

static void too_many_providers(void **state)
{
        static DAT_PROVIDER tables[300];
        DAT_PROVIDER_INFO info = own_info;
        DAT_COUNT added = 0;
        DAT_RETURN ret;

        (void)state;
        for (;; added++) {
                assert_in_range(added, 0, 299);
                tables[added] = own_provider;
                info.dapl_version_minor = 100 + (DAT_UINT32)added;
                ret = dat_registry_add_provider(&tables[added], &info);
                if (ret != DAT_SUCCESS)
                        break;
        }
        assert_int_equal(ret, DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_NO_SUBTYPE));
        assert_int_equal(added, 256);
        while (added--) {
                info.dapl_version_minor = 100 + (DAT_UINT32)added;
                assert_int_equal(dat_registry_remove_provider(&tables[added], &info), DAT_SUCCESS);
        }
        assert_int_equal(dat_ia_close(opened("plain"), DAT_CLOSE_DEFAULT), DAT_SUCCESS);
}

/*
 * Threads
 */

static void *open_plain(void *done)
{
        DAT_IA_HANDLE ia = DAT_HANDLE_NULL;

        if (open_named("plain", &ia) != DAT_SUCCESS)
                ia = DAT_HANDLE_NULL;
        sem_post(done);
        return ia;
}

static void *close_it(void *ia)
{
        return dat_ia_close(ia, DAT_CLOSE_DEFAULT) == DAT_SUCCESS ? ia : NULL;
}

/* Nothing within a time in which a thread that need not wait has long gone on. */
static void assert_quiet(sem_t *semaphore)
{
        struct timespec deadline;

        clock_gettime(CLOCK_REALTIME, &deadline);
        deadline.tv_nsec += 100000000;
        deadline.tv_sec += deadline.tv_nsec / 1000000000;
        deadline.tv_nsec %= 1000000000;
        assert_int_equal(sem_timedwait(semaphore, &deadline), -1);
        assert_int_equal(errno, ETIMEDOUT);
}

static void open_waits_for_the_init_of_another_thread(void **state)
{
        pthread_t threads[2];
        void *ias_opened[2];
        sem_t done;

        (void)state;
        sem_init(&done, 0, 0);
        hold_at = "init";
        assert_int_equal(pthread_create(&threads[0], NULL, open_plain, &done), 0);
        sem_wait(&held);
        assert_int_equal(pthread_create(&threads[1], NULL, open_plain, &done), 0);
        assert_quiet(&done);
        hold_at = NULL;
        sem_post(&go_on);
        for (size_t i = 0; i < COUNT(threads); i++)
                pthread_join(threads[i], &ias_opened[i]);
        assert_calls("init(some parameters) ia_open(plain) ia_open(plain) ");
        for (size_t i = 0; i < COUNT(threads); i++)
                assert_non_null(close_it(ias_opened[i]));
        assert_calls("ia_close(abrupt) ia_close(abrupt) fini(plain) ");
        sem_destroy(&done);
}

static void open_waits_for_the_fini_of_another_thread(void **state)
{
        DAT_IA_HANDLE first = opened("plain");
        pthread_t closing;
        pthread_t opening;
        void *second;
        void *closed;
        sem_t done;

        (void)state;
        sem_init(&done, 0, 0);
        hold_at = "fini";
        assert_int_equal(pthread_create(&closing, NULL, close_it, first), 0);
        sem_wait(&held);
        assert_int_equal(pthread_create(&opening, NULL, open_plain, &done), 0);
        assert_quiet(&done);
        hold_at = NULL;
        sem_post(&go_on);
        pthread_join(closing, &closed);
        assert_non_null(closed);
        pthread_join(opening, &second);
        assert_calls("init(some parameters) ia_open(plain) ia_close(abrupt) fini(plain) "
                     "init(some parameters) ia_open(plain) ");
        assert_non_null(close_it(second));
        sem_destroy(&done);
}

/* The provider closed an IA and has given its address to another one before libdat knows. */
static void address_of_an_ia_that_is_being_closed(void **state)
{
        DAT_IA_HANDLE first = opened("plain");
        DAT_IA_HANDLE second;
        pthread_t closing;
        void *closed;

        (void)state;
        hold_at = "ia_close";
        assert_int_equal(pthread_create(&closing, NULL, close_it, first), 0);
        sem_wait(&held);
        hold_at = NULL;
        ia_again = first;
        second = opened("RO_AWARE_exact");
        assert_ptr_equal(second, first);
        sem_post(&go_on);
        pthread_join(closing, &closed);
        assert_non_null(closed);
        assert_calls("init(some parameters) ia_open(plain) ia_close(abrupt) init(exact) "
                     "ia_open(RO_AWARE_exact) fini(plain) ");
        assert_true(fake_is_loaded());
        assert_non_null(close_it(second));
        assert_calls("ia_close(abrupt) fini(RO_AWARE_exact) ");
        assert_false(fake_is_loaded());
}

/* Of two threads that close an IA, the provider refuses one; the record goes with the other. */
static void two_threads_close_one_ia(void **state)
{
        DAT_IA_HANDLE ia = opened("fails_close");
        pthread_t closing;
        void *closed;

        (void)state;
        hold_at = "ia_close";
        assert_int_equal(pthread_create(&closing, NULL, close_it, ia), 0);
        sem_wait(&held);
        hold_at = NULL;
        assert_int_equal(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), FAKE_ERROR);
        sem_post(&go_on);
        pthread_join(closing, &closed);
        assert_non_null(closed);
        assert_calls("init(fails_close) ia_open(fails_close) ia_close(abrupt) ia_close(graceful) "
                     "fini(fails_close) ");
        assert_false(fake_is_loaded());
}

#define THREADS 4
#define ROUNDS  25

static void *open_and_close(void *failures)
{
        DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
        DAT_IA_HANDLE ia;

        for (int i = 0; i < ROUNDS; i++) {
                if (dat_ia_open("plain", 8, &async_evd, &ia) != DAT_SUCCESS ||
                    dat_ia_close(ia, DAT_CLOSE_DEFAULT) != DAT_SUCCESS)
                        ++*(int *)failures;
        }
        return NULL;
}

/* The text without every call of the function, whatever its detail. */
static void strike_out(char *text, const char *function)
{
        char *at;

        while ((at = strstr(text, function))) {
                char *end = strchr(at, ' ') + 1;

                memmove(at, end, strlen(end) + 1);
        }
}

static void threads_share_one_library(void **state)
{
        pthread_t threads[THREADS];
        int failures[THREADS] = {0};

        (void)state;
        for (size_t i = 0; i < THREADS; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, open_and_close, &failures[i]),
                                 0);
        for (size_t i = 0; i < THREADS; i++) {
                pthread_join(threads[i], NULL);
                assert_int_equal(failures[i], 0);
        }
        assert_false(fake_is_loaded());

        /* However the opens fell together, init and fini took turns. */
        strike_out(calls, "ia_open(");
        strike_out(calls, "ia_close(");
        assert_non_null(strstr(calls, "init("));
        for (const char *at = calls; *at;) {
                static const char turn[] = "init(some parameters) fini(plain) ";

                assert_memory_equal(at, turn, strlen(turn));
                at += strlen(turn);
        }
}

static int write_conf(void **state)
{
        static char path[] = "/tmp/libdat-test-XXXXXX.dat.conf";
        int fd = mkstemps(path, strlen(".dat.conf"));
        FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

        if (!file)
                return -1;
        fprintf(file, conf, FAKE_PROVIDER, NOT_A_PROVIDER);
        fclose(file);
        *state = path;
        sem_init(&held, 0, 0);
        sem_init(&go_on, 0, 0);
        return setenv("DAT_OVERRIDE", path, 1);
}

static int remove_conf(void **state)
{
        return unlink(*state);
}

static int forget_calls(void **state)
{
        (void)state;
        calls[0] = '\0';
        return 0;
}

#define TEST(name) cmocka_unit_test_setup(name, forget_calls)

int main(void)
{
        const struct CMUnitTest tests[] = {
            TEST(open_loads_and_last_close_unloads),
            TEST(open_passes_its_arguments_on),
            TEST(open_refuses_bad_arguments),
            TEST(failed_open_is_undone),
            TEST(failed_close_keeps_the_library),
            TEST(warning_is_a_success),
            TEST(handle_of_another_table_is_dispatched),
            TEST(handle_of_an_unloaded_library_is_refused),
            TEST(null_handle_from_the_provider_is_an_error),
            TEST(close_refuses_what_is_no_handle),
            TEST(missing_library),
            TEST(library_that_is_no_provider),
            TEST(init_that_does_not_register),
            TEST(init_that_registers_another_name),
            TEST(init_that_opens_its_own_ia),
            TEST(fini_that_does_not_unregister),
            TEST(libraries_of_one_key_are_tried_in_order),
            TEST(minor_version_wanted_or_the_next_higher),
            TEST(major_version_wanted),
            TEST(thread_safety_wanted),
            TEST(hidden_entries_are_not_found),
            TEST(relaxed_ordering_prefix_is_taken_off),
            TEST(list_has_each_key_once_in_file_order),
            TEST(list_that_is_too_small),
            TEST(list_with_null_pointers),
            TEST(own_provider_opens_closes_and_leaves),
            TEST(own_provider_goes_before_the_listed_one),
            TEST(key_is_registered_once),
            TEST(remove_refuses_what_is_not_there),
            TEST(add_refuses_bad_arguments),
            TEST(too_many_providers),
            TEST(open_waits_for_the_init_of_another_thread),
            TEST(open_waits_for_the_fini_of_another_thread),
            TEST(address_of_an_ia_that_is_being_closed),
            TEST(two_threads_close_one_ia),
            TEST(threads_share_one_library),
        };

        return cmocka_run_group_tests_name("registry", tests, write_conf, remove_conf);
}
