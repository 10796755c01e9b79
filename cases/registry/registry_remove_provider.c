/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_registry_remove_provider: providers that go, and those that are in use. */
#include "clauses/registry_remove_provider.h"

#include "cases/registry/shared/consumer.h"

static struct consumer *consumer_of_one(struct test *t)
{
        struct conf conf = conf_new(t);

        conf_add(&conf, .name = "cts0");
        return consumer_of(t, &conf);
}

static DAT_IA_HANDLE expect_asks(struct test *t, struct consumer *consumer,
                                 const DAT_PROVIDER_INFO *wanted, const DAT_PROVIDER_INFO *asked)
{
        DAT_IA_HANDLE ia;

        expect(consumer_open(consumer, wanted, &ia), DAT_SUCCESS);
        expect_happened(consumer, HAPPENED_OPEN, asked);
        return ia;
}

static void expect_opens(struct test *t, struct consumer *consumer, const DAT_PROVIDER_INFO *key)
{
        expect_closed(t, consumer, expect_asks(t, consumer, key, key));
}

static void expect_not_found(struct test *t, struct consumer *consumer,
                             const DAT_PROVIDER_INFO *key)
{
        DAT_IA_HANDLE ia;

        expect(consumer_open(consumer, key, &ia), DAT_PROVIDER_NOT_FOUND);
        expect_no_more(consumer, HAPPENED_OPEN);
}

static const struct removal_row {
        struct key_row key;
        bool open;
} removals[] = {
    {{.id = "never_opened", .name = "added"}, false},
    {{.id = "closed", .name = "added"}, true},
    {{.id = "threadsafe", .name = "added", .threadsafe = DAT_TRUE}, true},
    {{.id = "next_minor", .name = "added", .minors = 1}, true},
    {{.id = "long_name", .name = LONGEST_NAME}, true},
};

FAMILY(registry_remove_provider, prevents, removals, WITHOUT_IA)
{
        struct consumer *consumer = consumer_of_one(t);
        DAT_PROVIDER_INFO key = key_of_row(&row->key);

        must(consumer_add(consumer, &key));
        if (row->open)
                expect_opens(t, consumer, &key);
        expect(consumer_remove(consumer, &key), DAT_SUCCESS);
        expect_not_found(t, consumer, &key);
}

static const struct key_row several[] = {
    {.id = "oldest", .name = "oldest"},
    {.id = "middle", .name = "middle"},
    {.id = "of_threads", .name = "middle", .threadsafe = DAT_TRUE},
    {.id = "newest", .name = "newest"},
};
#define SEVERAL (sizeof(several) / sizeof(several[0]))

/* All are of one DAT_PROVIDER, that of the key `own`, or each is of its own. */
static void expect_others_stay(struct test *t, const struct key_row *row,
                               const DAT_PROVIDER_INFO *own)
{
        struct consumer *consumer = consumer_of_one(t);
        DAT_PROVIDER_INFO removed = key_of_row(row);

        for (size_t i = 0; i < SEVERAL; i++) {
                DAT_PROVIDER_INFO key = key_of_row(&several[i]);

                must(consumer_add_as(consumer, own ? own : &key, &key));
        }
        expect(consumer_remove_as(consumer, own ? own : &removed, &removed), DAT_SUCCESS);
        for (size_t i = 0; i < SEVERAL; i++) {
                DAT_PROVIDER_INFO key = key_of_row(&several[i]);

                if (same_key(&key, &removed))
                        expect_not_found(t, consumer, &key);
                else
                        expect_closed(t, consumer,
                                      expect_asks(t, consumer, &key, own ? own : &key));
        }
}

FAMILY(registry_remove_provider, others_stay, several, WITHOUT_IA)
{
        DAT_PROVIDER_INFO own = key_of("own");

        expect_others_stay(t, row, NULL);
        expect_others_stay(t, row, &own);
}

CASE(registry_remove_provider, another_instead, WITHOUT_IA)
{
        struct consumer *consumer = consumer_of_one(t);
        DAT_PROVIDER_INFO key = key_of("added");
        DAT_PROVIDER_INFO other = key_of("other");

        must(consumer_add(consumer, &key));
        expect(consumer_remove(consumer, &key), DAT_SUCCESS);
        must(consumer_add_as(consumer, &other, &key));
        expect_asks(t, consumer, &key, &other);
}

static const struct use_row {
        const char *id;
        const char *name;
        int opened, closed; /* of them, the newest first */
        bool oldest_first;
        DAT_UINT32 minors;
        DAT_BOOLEAN threadsafe;
} uses[] = {
    {.id = "one", .name = "added", .opened = 1},
    {.id = "two", .name = "added", .opened = 2},
    {.id = "one_of_two", .name = "added", .opened = 2, .closed = 1, .oldest_first = true},
    {.id = "older_of_two", .name = "added", .opened = 2, .closed = 1},
    {.id = "of_dat_conf", .name = "cts0", .opened = 1},
    {.id = "threadsafe", .name = "added", .opened = 1, .threadsafe = DAT_TRUE},
    {.id = "next_minor", .name = "added", .opened = 1, .minors = 1},
    {.id = "long_name", .name = LONGEST_NAME, .opened = 1},
};

FAMILY(registry_remove_provider, in_use, uses, WITHOUT_IA)
{
        struct consumer *consumer = consumer_of_one(t);
        DAT_PROVIDER_INFO key = key_of(row->name);
        DAT_IA_HANDLE ias[2] = {DAT_HANDLE_NULL, DAT_HANDLE_NULL};
        int left = row->opened - row->closed;

        key.dapl_version_minor += row->minors;
        key.is_thread_safe = row->threadsafe;
        if (!same_key(&key, &(DAT_PROVIDER_INFO[]){key_of("cts0")}[0]))
                must(consumer_add(consumer, &key));
        for (int i = 0; i < row->opened; i++)
                ias[i] = expect_asks(t, consumer, &key, &key);
        if (row->closed)
                expect_closed(t, consumer, ias[row->oldest_first ? 0 : 1]);
        if (row->oldest_first)
                ias[0] = ias[1];
        expect(consumer_remove(consumer, &key), DAT_PROVIDER_IN_USE);
        expect_opens(t, consumer, &key);
        expect(consumer_remove(consumer, &key), DAT_PROVIDER_IN_USE);
        while (left > 0)
                expect_closed(t, consumer, ias[--left]);
}

static const struct no_longer_row {
        const char *id;
        int opened, tries;
} no_longer[] = {{"one", 1, 1}, {"two", 2, 1}, {"tried_often", 1, 10}};

FAMILY(registry_remove_provider, in_use_no_longer, no_longer, WITHOUT_IA)
{
        struct consumer *consumer = consumer_of_one(t);
        DAT_PROVIDER_INFO key = key_of("added");
        DAT_IA_HANDLE ias[2] = {DAT_HANDLE_NULL, DAT_HANDLE_NULL};

        must(consumer_add(consumer, &key));
        for (int i = 0; i < row->opened; i++)
                ias[i] = expect_asks(t, consumer, &key, &key);
        for (int left = row->opened; left > 0; left--) {
                for (int i = 0; i < row->tries; i++)
                        expect(consumer_remove(consumer, &key), DAT_PROVIDER_IN_USE);
                expect_closed(t, consumer, ias[left - 1]);
        }
        expect(consumer_remove(consumer, &key), DAT_SUCCESS);
        expect_not_found(t, consumer, &key);
}

CASE(registry_remove_provider, never_in_use, WITHOUT_IA)
{
        struct consumer *consumer = consumer_of_one(t);
        DAT_PROVIDER_INFO key = key_of("added");
        DAT_IA_HANDLE ia;

        must(consumer_add(consumer, &key));
        consumer_order(consumer, ORDER_FAIL_OPEN);
        must_that(!dat_is(consumer_open(consumer, &key, &ia), DAT_SUCCESS),
                  "an opening that its provider refused has succeeded");
        must_that(happened_next(consumer, HAPPENED_OPEN) != NULL, "the provider was not asked");
        consumer_order(consumer, ORDER_NOTHING);
        expect(consumer_remove(consumer, &key), DAT_SUCCESS);
        expect_not_found(t, consumer, &key);
}

CASE(registry_remove_provider, another_in_use, WITHOUT_IA)
{
        struct consumer *consumer = consumer_of_one(t);
        DAT_PROVIDER_INFO used = key_of("used");
        DAT_PROVIDER_INFO idle = key_of("idle");
        DAT_IA_HANDLE ia;

        must(consumer_add(consumer, &used));
        must(consumer_add(consumer, &idle));
        expect_opens(t, consumer, &idle);
        ia = expect_asks(t, consumer, &used, &used);
        expect(consumer_remove(consumer, &idle), DAT_SUCCESS);
        expect_not_found(t, consumer, &idle);
        expect_opens(t, consumer, &used);
        expect_closed(t, consumer, ia);
}

static const struct unknown_row {
        struct key_row key;
        bool removed;
} unknown[] = {
    {{.id = "never", .name = "never"}, false},
    {{.id = "removed", .name = "removed"}, true},
    {{.id = "of_dat_conf", .name = "cts0"}, false},
    {{.id = "other_minor", .name = "added", .minors = 1}, false},
    {{.id = "other_major", .name = "added", .majors = 1}, false},
    {{.id = "other_safety", .name = "added", .threadsafe = DAT_TRUE}, false},
    {{.id = "name_in_part", .name = "adde"}, false},
};

/* The static registry has this entry, and no other. */
static void expect_listed_one(struct test *t, struct consumer *consumer,
                              const DAT_PROVIDER_INFO *key)
{
        struct listing listing = {.max_to_return = LISTED_MAX};

        expect(consumer_list(consumer, &listing), DAT_SUCCESS);
        expect_eq(listing.number, 1);
        expect_that(same_key(&listing.listed[0], key), "it is not listed");
}

FAMILY(registry_remove_provider, not_found, unknown, WITHOUT_IA)
{
        struct consumer *consumer = consumer_of_one(t);
        DAT_PROVIDER_INFO added = key_of("added");
        DAT_PROVIDER_INFO listed = key_of("cts0");
        DAT_PROVIDER_INFO key = key_of_row(&row->key);

        must(consumer_add(consumer, &added));
        if (row->removed) {
                must(consumer_add(consumer, &key));
                must(consumer_remove(consumer, &key));
        }
        expect_or_note(consumer_remove(consumer, &key), DAT_INVALID_PARAMETER,
                       DAT_PROVIDER_NOT_FOUND);
        expect_opens(t, consumer, &added);
        /* The DAT_PROVIDER is that of another key. */
        expect_or_note(consumer_remove_as(consumer, &added, &key), DAT_INVALID_PARAMETER,
                       DAT_PROVIDER_NOT_FOUND);
        expect_opens(t, consumer, &added);
        expect_listed_one(t, consumer, &listed);
        expect_opens(t, consumer, &listed);
}
