/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ia_open: names of IAs. */
#include "case/poison.h"
#include "case/standard.h"
#include "cases/handle/shared/object.h"
#include "cases/ia/ia_open/fixtures.h"
#include "cases/ia/shared/instance.h"
#include "cases/registry/shared/consumer.h"
#include "cases/registry/shared/under_test.h"
#include "cases/shared/point.h"
#include "cases/shared/usage.h"
#include "cases/srq/shared/queue.h"
#include "clauses/ia_open.h"

#include <limits.h>
#include <string.h>
#include <sys/resource.h>

#define NAME_SPACE  (1 << 16)
#define ENTRIES_MAX 4096 /* of dat.conf */

CASE(ia_open, opened)
{
        struct instance instance = instance_new(t);
        DAT_HANDLE_TYPE type = (DAT_HANDLE_TYPE)-1;

        expect(dat_get_handle_type(instance.ia, &type), DAT_SUCCESS);
        expect_eq(type, DAT_HANDLE_TYPE_IA);
        expect_instance_works(t, instance.ia);
        expect_instance_works(t, ia(t));
}

/* A string at a place that has room for it. */
static void put(char *at, const char *text)
{
        memcpy(at, text, strlen(text) + 1);
}

/* Opens by this name: no such IA is registered. A legal open follows. */
static void expect_no_such_name(struct test *t, const char *name, bool too_long)
{
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        DAT_IA_HANDLE made = DAT_HANDLE_NULL;
        struct usage before = usage_now(t);

        expect(dat_ia_open((DAT_NAME_PTR)name, QLEN_UNASKED, &async, &made), DAT_PROVIDER_NOT_FOUND,
               too_long ? DAT_INVALID_PARAMETER : DAT_PROVIDER_NOT_FOUND);
        expect_nothing_left(t, &before, "an open that was refused");
        (void)instance_new(t);
}

static void no_bytes(char *name, size_t length)
{
        (void)length;
        name[0] = '\0';
}

static void one_more(char *name, size_t length)
{
        put(name + length, "\x7f");
}

static void other_last(char *name, size_t length)
{
        name[length - 1] = '\x7f';
}

static void other_first(char *name, size_t length)
{
        (void)length;
        name[0] = '\x7f';
}

static void space_before(char *name, size_t length)
{
        memmove(name + 1, name, length + 1);
        name[0] = ' ';
}

static void space_behind(char *name, size_t length)
{
        put(name + length, " ");
}

static void line_behind(char *name, size_t length)
{
        put(name + length, "\n");
}

static void quoted(char *name, size_t length)
{
        memmove(name + 1, name, length);
        name[0] = '"';
        put(name + length + 1, "\"");
}

static void only_space(char *name, size_t length)
{
        (void)length;
        put(name, " ");
}

static void high_bytes(char *name, size_t length)
{
        (void)length;
        put(name, "\xff\xfe\x80");
}

static void percents(char *name, size_t length)
{
        (void)length;
        put(name, "%s%s%s%s%n%n%n%n");
}

static void longest(char *name, size_t length)
{
        (void)length;
        memset(name, 'n', DAT_NAME_MAX_LENGTH - 1);
        name[DAT_NAME_MAX_LENGTH - 1] = '\0';
}

static void one_too_long(char *name, size_t length)
{
        (void)length;
        memset(name, 'n', DAT_NAME_MAX_LENGTH);
        name[DAT_NAME_MAX_LENGTH] = '\0';
}

static void far_too_long(char *name, size_t length)
{
        (void)length;
        memset(name, 'n', NAME_SPACE - 1);
        name[NAME_SPACE - 1] = '\0';
}

/* The name of the IA, and more behind it than any name has. */
static void known_too_long(char *name, size_t length)
{
        memset(name + length, 'n', NAME_SPACE - 1 - length);
        name[NAME_SPACE - 1] = '\0';
}

static const struct unknown {
        const char *id;
        void (*alter)(char *name, size_t length); /* from that of the case's IA */
        bool too_long;
} unknowns[] = {
    {"empty", no_bytes, .too_long = false},
    {"one_more", one_more, .too_long = false},
    {"other_last", other_last, .too_long = false},
    {"other_first", other_first, .too_long = false},
    {"space_before", space_before, .too_long = false},
    {"space_behind", space_behind, .too_long = false},
    {"line_behind", line_behind, .too_long = false},
    {"quoted", quoted, .too_long = false},
    {"only_space", only_space, .too_long = false},
    {"high_bytes", high_bytes, .too_long = false},
    {"percents", percents, .too_long = false},
    {"longest", longest, .too_long = false},
    {"one_too_long", one_too_long, .too_long = true},
    {"far_too_long", far_too_long, .too_long = true},
    {"known_too_long", known_too_long, .too_long = true},
};

FAMILY(ia_open, name_unknown, unknowns)
{
        static char name[NAME_SPACE];

        suite_that(strlen(ia_name(t)) < DAT_NAME_MAX_LENGTH, "the IA's name is too long");
        put(name, ia_name(t));
        row->alter(name, strlen(name));

        expect_no_such_name(t, name, row->too_long);
}

/* The consumer's memory with the name is its own again when the call returns. */
CASE(ia_open, name_is_read_once)
{
        char name[DAT_NAME_MAX_LENGTH + 1];
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        DAT_IA_HANDLE made = DAT_HANDLE_NULL;

        suite_that(strlen(ia_name(t)) < sizeof(name), "the IA's name is too long");
        put(name, ia_name(t));
        expect(dat_ia_open(name, QLEN_UNASKED, &async, &made), DAT_SUCCESS);
        poison(name, sizeof(name));

        expect_instance_works(t, made);
        expect(dat_ia_close(made, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        expect_that(is_poison(name, sizeof(name)), "the consumer's name was written");
}

/* The entries of dat.conf by this name and this version. */
static size_t entries_named(struct test *t, const char *name, DAT_PROVIDER_INFO *found, size_t most)
{
        static DAT_PROVIDER_INFO infos[ENTRIES_MAX];
        static DAT_PROVIDER_INFO *list[ENTRIES_MAX];
        DAT_COUNT count = 0;
        size_t matched = 0;

        for (int i = 0; i < ENTRIES_MAX; i++)
                list[i] = &infos[i];
        must(dat_registry_list_providers(ENTRIES_MAX, &count, list));
        for (DAT_COUNT i = 0; i < count && i < ENTRIES_MAX && matched < most; i++)
                if (strcmp(infos[i].ia_name, name) == 0 &&
                    infos[i].dapl_version_major == DAT_VERSION_MAJOR &&
                    infos[i].dapl_version_minor == DAT_VERSION_MINOR)
                        found[matched++] = infos[i];
        return matched;
}

CASE(ia_open, listed_names)
{
        DAT_PROVIDER_INFO found[4];
        size_t count = entries_named(t, ia_name(t), found, 4);

        expect_that(count > 0, "the registry does not list the IA's name");
        for (size_t i = 0; i < count; i++) {
                DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
                DAT_IA_HANDLE made = DAT_HANDLE_NULL;

                expect(dat_ia_openv(found[i].ia_name, QLEN_UNASKED, &async, &made,
                                    found[i].dapl_version_major, found[i].dapl_version_minor,
                                    found[i].is_thread_safe),
                       DAT_SUCCESS);
                adopt(t, DAT_HANDLE_TYPE_IA, made);
                expect_instance_works(t, made);
        }
}

/* An instance by each kind of entry, and what it says of its safety. */
CASE(ia_open, threadsafe_beside)
{
        DAT_PROVIDER_ATTR attr;
        struct instance plain = instance_new(t);
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        DAT_IA_HANDLE safe = DAT_HANDLE_NULL;

        expect(dat_ia_openv(ia_name(t), QLEN_UNASKED, &async, &safe, DAT_VERSION_MAJOR,
                            DAT_VERSION_MINOR, DAT_TRUE),
               DAT_SUCCESS);
        adopt(t, DAT_HANDLE_TYPE_IA, safe);
        poison((void *)&attr, sizeof(attr));
        expect(dat_ia_query(safe, &async, DAT_IA_FIELD_NONE, NULL,
                            DAT_PROVIDER_FIELD_IS_THREAD_SAFE, &attr),
               DAT_SUCCESS);
        expect_eq(attr.is_thread_safe, DAT_TRUE);
        expect_that(safe != plain.ia, "two instances have one handle");
        expect_instance_works(t, safe);
        expect_instance_works(t, plain.ia);
}

/* What is passed down to the provider, if anything, is the name without the prefix. */
static void expect_prefix_removed(struct test *t)
{
        struct conf conf = conf_new(t);
        DAT_PROVIDER_INFO prefixed = key_of("RO_AWARE_cts0");
        const struct happened *opened;
        struct consumer *consumer;
        DAT_IA_HANDLE opening;
        DAT_RETURN ret;

        conf_add(&conf, .name = "cts0");
        consumer = consumer_of(t, &conf);
        ret = expect(consumer_open(consumer, &prefixed, &opening), DAT_SUCCESS,
                     DAT_PROVIDER_NOT_FOUND);
        opened = happened_next(consumer, HAPPENED_OPEN);
        expect_that(!opened || strcmp(opened->text, "cts0") == 0,
                    "the provider is asked to open \"%.64s\"", opened ? opened->text : "");
        if (dat_is(ret, DAT_SUCCESS))
                expect_closed(t, consumer, opening);
}

CASE(ia_open, relaxed_ordering_prefix)
{
        char name[DAT_NAME_MAX_LENGTH + 16] = "RO_AWARE_";
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        DAT_IA_HANDLE made = DAT_HANDLE_NULL;
        DAT_RETURN ret;

        expect_prefix_removed(t);
        suite_that(strlen(ia_name(t)) < DAT_NAME_MAX_LENGTH, "the IA's name is too long");
        put(name + strlen(name), ia_name(t));
        ret = expect(dat_ia_open(name, QLEN_UNASKED, &async, &made), DAT_SUCCESS,
                     DAT_PROVIDER_NOT_FOUND);
        if (!dat_is(ret, DAT_SUCCESS))
                return;
        adopt(t, DAT_HANDLE_TYPE_IA, made);
        expect_instance_works(t, made);
}
