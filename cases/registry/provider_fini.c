/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_provider_fini: when a registry calls it and for what, and what a provider does in it. */
#include "clauses/provider_fini.h"

#include <stdio.h>
#include <string.h>

#include "cases/registry/shared/consumer.h"
#include "cases/registry/shared/under_test.h"

#define MANY  10
#define NAMES 3
#define DRAWS 40

static DAT_IA_HANDLE must_open(struct test *t, struct consumer *consumer,
                               const DAT_PROVIDER_INFO *key)
{
        DAT_IA_HANDLE ia;

        must(consumer_open(consumer, key, &ia));
        return ia;
}

static void must_close(struct test *t, struct consumer *consumer, DAT_IA_HANDLE ia)
{
        must(consumer_close(consumer, ia, DAT_CLOSE_GRACEFUL_FLAG));
}

/* A process whose dat.conf has cts0 and cts1 of one library, and cts2 of another. */
static struct consumer *consumer_of_three(struct test *t)
{
        struct conf conf = conf_new(t);

        conf_add(&conf, .name = "cts0");
        conf_add(&conf, .name = "cts1");
        conf_add(&conf, .name = "cts2", .library = recorder_path(1));
        return consumer_of(t, &conf);
}

static const struct while_open_row {
        const char *id;
        int opened;
        bool newest_first, another, refused;
} while_open[] = {
    {.id = "one_of_two", .opened = 2},
    {.id = "newer_of_two", .opened = 2, .newest_first = true},
    {.id = "one_of_many", .opened = MANY},
    {.id = "other_name", .opened = 1, .another = true},
    {.id = "close_refused", .opened = 1, .refused = true},
};

FAMILY(provider_fini, not_while_open, while_open, WITHOUT_IA)
{
        struct consumer *consumer = consumer_of_three(t);
        DAT_PROVIDER_INFO key = key_of("cts0");
        DAT_PROVIDER_INFO other = key_of("cts1");
        DAT_IA_HANDLE ias[MANY] = {DAT_HANDLE_NULL};
        const struct happened *it;

        for (int i = 0; i < row->opened; i++)
                ias[i] = must_open(t, consumer, &key);
        for (int i = 1; i < row->opened; i++)
                must_close(t, consumer, ias[row->newest_first ? row->opened - i : i - 1]);
        if (row->another)
                must_close(t, consumer, must_open(t, consumer, &other));
        if (row->refused) {
                consumer_order(consumer, ORDER_FAIL_CLOSE);
                expect_that(
                    !dat_is(consumer_close(consumer, ias[0], DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS),
                    "a close that its provider refused has succeeded");
        }
        while ((it = happened_next(consumer, HAPPENED_FINI | HAPPENED_UNLOADED)))
                expect_that(it->what == HAPPENED_FINI && same_key(&it->info, &other),
                            "fini was called, or the library unloaded, under an open IA");
        must_open(t, consumer, &key);
        expect_no_more(consumer, HAPPENED_INIT);
}

static const struct unload_row {
        const char *id;
        const char *names[NAMES];
        DAT_CLOSE_FLAGS flags;
} unloads[] = {
    {"one_name", {"cts0"}, DAT_CLOSE_GRACEFUL_FLAG},
    {"two_names", {"cts0", "cts1"}, DAT_CLOSE_GRACEFUL_FLAG},
    {"two_libraries", {"cts0", "cts2"}, DAT_CLOSE_GRACEFUL_FLAG},
    {"abrupt", {"cts0"}, DAT_CLOSE_ABRUPT_FLAG},
};

/* What a library was initialised for, less what it was told the end of. */
static void expect_told(struct test *t, struct consumer *consumer)
{
        const struct happened *it;
        int left[2] = {0, 0};
        bool unloaded = false;

        while ((it = happened_next(consumer, HAPPENED_INIT | HAPPENED_FINI | HAPPENED_UNLOADED))) {
                int which = strcmp(it->library, recorder_path(0)) == 0 ? 0 : 1;

                if (it->what == HAPPENED_UNLOADED) {
                        unloaded = true;
                        expect_that(left[which] == 0, "%s was unloaded with %d names left",
                                    it->library, left[which]);
                }
                left[which] += it->what == HAPPENED_INIT;
                left[which] -= it->what == HAPPENED_FINI;
        }
        if (!unloaded)
                note(t, "no library was unloaded");
}

FAMILY(provider_fini, before_unload, unloads, WITHOUT_IA)
{
        struct consumer *consumer = consumer_of_three(t);
        DAT_IA_HANDLE ias[NAMES];

        for (int i = 0; i < NAMES && row->names[i]; i++) {
                DAT_PROVIDER_INFO key = key_of(row->names[i]);

                ias[i] = must_open(t, consumer, &key);
        }
        for (int i = 0; i < NAMES && row->names[i]; i++)
                must(consumer_close(consumer, ias[i], row->flags));
        expect_told(t, consumer);
}

static const struct key_row keys[] = {
    {.id = "nonthreadsafe", .name = "cts0"},
    {.id = "threadsafe", .name = "cts0", .threadsafe = DAT_TRUE},
    {.id = "next_minor", .name = "cts0", .minors = 1},
    {.id = "long_name", .name = LONGEST_NAME},
};

/* A registry may never call it: then there is nothing to see. */
FAMILY(provider_fini, same_information, keys, WITHOUT_IA)
{
        DAT_PROVIDER_INFO key = key_of_row(row);
        struct conf conf = conf_new(t);
        struct consumer *consumer;

        conf_add(&conf, .name = "before");
        conf_key(&conf, &key, NULL);
        consumer = consumer_of(t, &conf);
        must_close(t, consumer, must_open(t, consumer, &key));
        if (!happened_count(consumer, HAPPENED_FINI))
                end_noted(t, "fini is not called at the last close");
        expect_happened(consumer, HAPPENED_FINI, &key);
}

/* For each name init and fini come in turn, and init first. */
static void expect_in_turn(struct test *t, struct consumer *consumer)
{
        bool initialised[NAMES] = {false, false, false};
        const struct happened *it;

        while ((it = happened_next(consumer, HAPPENED_INIT | HAPPENED_FINI | HAPPENED_OPEN))) {
                int which = it->info.ia_name[3] - '0';

                suite_that(which >= 0 && which < NAMES, "a name that is none: %s",
                           it->info.ia_name);
                if (it->what == HAPPENED_FINI)
                        expect_that(initialised[which], "fini of %s without an init before it",
                                    it->info.ia_name);
                if (it->what == HAPPENED_INIT)
                        expect_that(!initialised[which], "init of %s without a fini before it",
                                    it->info.ia_name);
                if (it->what == HAPPENED_OPEN)
                        expect_that(initialised[which], "%s was opened without an init",
                                    it->info.ia_name);
                else
                        initialised[which] = it->what == HAPPENED_INIT;
        }
}

static void in_turn(struct test *t, struct consumer *consumer, int names)
{
        for (int i = 0; i < MANY; i++) {
                DAT_PROVIDER_INFO key = key_of(i % names ? "cts1" : "cts0");

                must_close(t, consumer, must_open(t, consumer, &key));
        }
}

static void one_in_turn(struct test *t, struct consumer *consumer)
{
        in_turn(t, consumer, 1);
}

static void two_in_turn(struct test *t, struct consumer *consumer)
{
        in_turn(t, consumer, 2);
}

static void at_once(struct test *t, struct consumer *consumer)
{
        DAT_PROVIDER_INFO key = key_of("cts0");
        DAT_IA_HANDLE ias[MANY];

        for (int round = 0; round < 2; round++) {
                for (int i = 0; i < MANY; i++)
                        ias[i] = must_open(t, consumer, &key);
                for (int i = 0; i < MANY; i++)
                        must_close(t, consumer, ias[i]);
        }
}

static void as_drawn(struct test *t, struct consumer *consumer)
{
        DAT_IA_HANDLE ias[NAMES][DRAWS];
        int open[NAMES] = {0, 0, 0};

        for (int i = 0; i < DRAWS; i++) {
                int which = (int)draw(t, NAMES);
                DAT_PROVIDER_INFO key = key_of("cts0");

                key.ia_name[3] = (char)('0' + which);
                if (open[which] && draw(t, 2))
                        must_close(t, consumer, ias[which][--open[which]]);
                else
                        ias[which][open[which]++] = must_open(t, consumer, &key);
        }
}

static const struct course_row {
        const char *id;
        void (*run)(struct test *t, struct consumer *consumer);
} courses[] = {
    {"in_turn", one_in_turn},
    {"at_once", at_once},
    {"two_names", two_in_turn},
    {"drawn", as_drawn},
};

FAMILY(provider_fini, once, courses, WITHOUT_IA)
{
        struct consumer *consumer = consumer_of_three(t);

        row->run(t, consumer);
        expect_in_turn(t, consumer);
}

CASE(provider_fini, stays_registered, WITHOUT_IA)
{
        struct consumer *consumer = consumer_of_three(t);
        DAT_PROVIDER_INFO key = key_of("cts0");
        DAT_IA_HANDLE ia;

        consumer_order(consumer, ORDER_STAY);
        for (int i = 0; i < 3; i++) {
                expect(consumer_open(consumer, &key, &ia), DAT_SUCCESS);
                expect_happened(consumer, HAPPENED_OPEN, &key);
                must_close(t, consumer, ia);
        }
}

/* Where nothing was seen of the provider, it reaches the registry by another way. */
static bool is_watched(const struct consumer *consumer)
{
        return happened_count(consumer, HAPPENED_ADD) != 0;
}

CASE(provider_fini, unregisters, WITHOUT_IA)
{
        DAT_PROVIDER_INFO key = key_under_test(t);
        struct consumer *consumer = consumer_of_run(t);
        const struct happened *removal;
        char text[KEY_TEXT];

        must_close(t, consumer, must_open(t, consumer, &key));
        if (!is_watched(consumer))
                end_noted(t, "the provider reaches the registry by a way that cannot be watched");
        /* A provider that opens another IA closes that too. */
        do
                removal = happened_next(consumer, HAPPENED_REMOVE);
        while (removal && is_under_test(t, removal->info.ia_name) &&
               !same_key(&removal->info, &key));
        if (!removal)
                end_noted(t, "the provider has not removed its name, or fini was not called");
        expect_that(same_key(&removal->info, &key), "it removed %s",
                    key_text(&removal->info, text));
        expect(removal->ret, DAT_SUCCESS);
}

CASE(provider_fini, by_application, WITHOUT_IA)
{
        DAT_PROVIDER_INFO key = key_under_test(t);
        struct consumer *consumer = consumer_of_run(t);
        DAT_IA_HANDLE ia;

        snprintf(key.ia_name, sizeof(key.ia_name), "cts_own");
        must_init(t, consumer, &key);
        must_fini(t, consumer, &key);
        if (dat_is(consumer_open(consumer, &key, &ia), DAT_SUCCESS))
                end_noted(t, "the provider has not removed its name");
        must_init(t, consumer, &key);
        expect(consumer_open(consumer, &key, &ia), DAT_SUCCESS);
}
