/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_registry_list_providers: what is listed, and what there is no room for. */
#include "clauses/registry_list_providers.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "case/poison.h"
#include "case/standard.h"
#include "cases/registry/shared/consumer.h"

#define MANY    7
#define THREADS 4

/* A dat.conf of so many entries: cts0, cts1 and so on. */
static struct conf conf_of(struct test *t, int entries)
{
        struct conf conf = conf_new(t);

        for (int i = 0; i < entries; i++) {
                char name[16];

                snprintf(name, sizeof(name), "cts%d", i);
                conf_add(&conf, .name = name);
        }
        return conf;
}

static DAT_PROVIDER_INFO nth_key(int n)
{
        char name[16];

        snprintf(name, sizeof(name), "cts%d", n);
        return key_of(name);
}

static int times_listed(const struct listing *listing, const DAT_PROVIDER_INFO *key)
{
        int times = 0;

        for (DAT_COUNT i = 0; i < listing->number && i < LISTED_MAX; i++)
                times += same_key(&listing->listed[i], key);
        return times;
}

static void expect_listed(struct test *t, const struct listing *listing,
                          const DAT_PROVIDER_INFO *key)
{
        char text[KEY_TEXT];

        expect_that(times_listed(listing, key) == 1, "%s is listed %d times", key_text(key, text),
                    times_listed(listing, key));
}

/* `count` entries come, and nothing behind them is written. */
static void expect_entries(struct test *t, struct consumer *consumer, struct listing *listing,
                           int count)
{
        expect(consumer_list(consumer, listing), DAT_SUCCESS);
        expect_eq(listing->number, count);
        for (int i = count; i < LISTED_MAX; i++)
                expect_that(is_poison(&listing->listed[i], sizeof(listing->listed[i])),
                            "place %d was written, behind %d entries", i, count);
}

static struct listing expect_list(struct test *t, struct consumer *consumer, int room, int count)
{
        struct listing listing = {.max_to_return = room};

        expect_entries(t, consumer, &listing, count);
        return listing;
}

/* The entries of conf_of(), all and each once. */
static void expect_all(struct test *t, struct consumer *consumer, int room, int count)
{
        struct listing listing = expect_list(t, consumer, room, count);

        for (int i = 0; i < count; i++) {
                DAT_PROVIDER_INFO key = nth_key(i);

                expect_listed(t, &listing, &key);
        }
}

static const struct count_row {
        const char *id;
        int entries;
} as_many[] = {{"one", 1}, {"two", 2}, {"seven", MANY}, {"sixty_four", LISTED_MAX}};

FAMILY(registry_list_providers, as_many, as_many, WITHOUT_IA)
{
        struct conf conf = conf_of(t, row->entries);

        expect_all(t, consumer_of(t, &conf), row->entries, row->entries);
}

static const struct count_row fewer[] = {
    {"none", 0}, {"one", 1}, {"seven", MANY}, {"sixty_three", LISTED_MAX - 1}};

FAMILY(registry_list_providers, room_to_spare, fewer, WITHOUT_IA)
{
        struct conf conf = conf_of(t, row->entries);

        expect_all(t, consumer_of(t, &conf), LISTED_MAX, row->entries);
}

static const struct key_row keys[] = {
    {.id = "nonthreadsafe", .name = "cts0"},
    {.id = "threadsafe", .name = "cts0", .threadsafe = DAT_TRUE},
    {.id = "next_minor", .name = "cts0", .minors = 1},
    {.id = "other_major", .name = "cts0", .majors = 7},
    {.id = "short_name", .name = "c"},
    {.id = "long_name", .name = LONGEST_NAME},
};

FAMILY(registry_list_providers, fields, keys, WITHOUT_IA)
{
        DAT_PROVIDER_INFO key = key_of_row(row);
        struct conf conf = conf_new(t);
        struct listing listing;

        conf_key(&conf, &key, NULL);
        listing = expect_list(t, consumer_of(t, &conf), 1, 1);
        expect_listed(t, &listing, &key);
        expect_that(!is_poison(&listing.listed[0].is_thread_safe, sizeof(DAT_BOOLEAN)),
                    "the thread safety was not written");
}

CASE(registry_list_providers, alike_but_one, WITHOUT_IA)
{
        struct conf conf = conf_new(t);
        struct listing listing;
        DAT_PROVIDER_INFO key;

        for (size_t i = 0; i < 4; i++) {
                key = key_of_row(&keys[i]);
                conf_key(&conf, &key, NULL);
        }
        listing = expect_list(t, consumer_of(t, &conf), 4, 4);
        for (size_t i = 0; i < 4; i++) {
                key = key_of_row(&keys[i]);
                expect_listed(t, &listing, &key);
        }
}

CASE(registry_list_providers, where_pointed, WITHOUT_IA)
{
        struct conf conf = conf_of(t, MANY);
        struct listing listing = {.max_to_return = MANY, .backwards = true};

        expect_entries(t, consumer_of(t, &conf), &listing, MANY);
        for (int i = 0; i < MANY; i++) {
                DAT_PROVIDER_INFO key = nth_key(i);

                expect_listed(t, &listing, &key);
        }
}

CASE(registry_list_providers, static_only, WITHOUT_IA)
{
        struct conf conf = conf_of(t, 2);
        struct consumer *consumer = consumer_of(t, &conf);
        DAT_PROVIDER_INFO added = key_of("added");

        must(consumer_add(consumer, &added));
        expect_all(t, consumer, LISTED_MAX, 2);
        must(consumer_remove(consumer, &added));
        expect_all(t, consumer, LISTED_MAX, 2);
}

static const struct small_row {
        const char *id;
        DAT_COUNT room;
        bool no_list;
        int no_place;
} too_small[] = {
    {.id = "zero", .room = 0},
    {.id = "one_less", .room = MANY - 1},
    {.id = "one", .room = 1},
    {.id = "negative", .room = -1},
    {.id = "no_list", .room = MANY, .no_list = true},
    {.id = "no_list_for_none", .room = 0, .no_list = true},
    {.id = "no_first_place", .room = MANY, .no_place = 1},
    {.id = "no_last_place", .room = MANY, .no_place = MANY},
};

FAMILY(registry_list_providers, too_small, too_small, WITHOUT_IA)
{
        struct conf conf = conf_of(t, MANY);
        struct consumer *consumer = consumer_of(t, &conf);
        struct listing listing = {
            .max_to_return = row->room, .no_list = row->no_list, .no_place = row->no_place};
        DAT_COUNT room = row->room > 0 ? row->room : 0;

        expect(consumer_list(consumer, &listing), DAT_INVALID_PARAMETER);
        expect_eq(listing.number, MANY);
        for (DAT_COUNT i = room; i < LISTED_MAX; i++)
                expect_that(is_poison(&listing.listed[i], sizeof(listing.listed[i])),
                            "place %d was written, of room for %d", i, row->room);
        expect_all(t, consumer, MANY, MANY);
}

CASE(registry_list_providers, nothing_for_none, WITHOUT_IA)
{
        struct conf conf = conf_of(t, 0);
        struct listing listing = {.max_to_return = 0};

        expect_may(consumer_list(consumer_of(t, &conf), &listing), DAT_SUCCESS,
                   DAT_INVALID_PARAMETER);
        expect_eq(listing.number, 0);
}

CASE(registry_list_providers, missing, WITHOUT_IA)
{
        struct listing listing = {.max_to_return = LISTED_MAX};

        if (dat_is(expect_or_note(consumer_list(consumer_without_conf(t), &listing),
                                  DAT_INTERNAL_ERROR, DAT_SUCCESS),
                   DAT_SUCCESS))
                expect_eq(listing.number, 0);
}

/* What is between two lists. */
static void nothing(struct test *t, struct consumer *consumer)
{
        expect_all(t, consumer, MANY, MANY);
}

static void open_meanwhile(struct test *t, struct consumer *consumer)
{
        DAT_PROVIDER_INFO key = nth_key(3);
        DAT_IA_HANDLE ia;

        must(consumer_open(consumer, &key, &ia));
        expect_all(t, consumer, MANY, MANY);
        must(consumer_close(consumer, ia, DAT_CLOSE_GRACEFUL_FLAG));
        happened_next(consumer, HAPPENED_CLOSE);
}

static void refuse_meanwhile(struct test *t, struct consumer *consumer)
{
        struct listing listing = {.max_to_return = 1};

        consumer_list(consumer, &listing);
        (void)t;
}

static const struct between_row {
        const char *id;
        void (*meanwhile)(struct test *t, struct consumer *consumer);
        size_t inits;
} between[] = {
    {"at_first", nothing, 0},
    {"while_open", open_meanwhile, 1},
    {"after_refusal", refuse_meanwhile, 0},
};

FAMILY(registry_list_providers, no_effect, between, WITHOUT_IA)
{
        struct conf conf = conf_of(t, MANY);
        struct consumer *consumer = consumer_of(t, &conf);

        expect_all(t, consumer, MANY, MANY);
        row->meanwhile(t, consumer);
        expect_all(t, consumer, MANY, MANY);
        expect_eq(happened_count(consumer, HAPPENED_INIT), row->inits);
        expect_eq(happened_count(consumer, HAPPENED_OPEN), row->inits);
}

static const struct key_row openable[] = {
    {.id = "nonthreadsafe", .name = "cts0"},
    {.id = "threadsafe", .name = "cts0", .threadsafe = DAT_TRUE},
    {.id = "next_minor", .name = "cts0", .minors = 1},
    {.id = "other_major", .name = "cts0", .majors = 7},
};

/* Opens by `wanted`; the provider is asked whose instance data are `params`. */
static void expect_opens(struct test *t, struct consumer *consumer, const DAT_PROVIDER_INFO *wanted,
                         const char *params)
{
        const struct happened *init;
        DAT_IA_HANDLE ia;

        expect(consumer_open(consumer, wanted, &ia), DAT_SUCCESS);
        init = expect_happened(consumer, HAPPENED_INIT, NULL);
        expect_that(strcmp(init->text, params) == 0, "the provider of \"%s\" was initialised",
                    init->text);
        expect_happened(consumer, HAPPENED_OPEN, NULL);
        expect(consumer_close(consumer, ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
}

FAMILY(registry_list_providers, opens_as_listed, openable, WITHOUT_IA)
{
        DAT_PROVIDER_INFO key = key_of_row(row);
        struct conf conf = conf_new(t);
        struct consumer *consumer;

        for (size_t i = 0; i < sizeof(openable) / sizeof(openable[0]); i++) {
                DAT_PROVIDER_INFO other = key_of_row(&openable[i]);
                char params[64];

                snprintf(params, sizeof(params), "\"%s\"", openable[i].id);
                conf_key(&conf, &other, params);
        }
        consumer = consumer_of(t, &conf);
        expect_opens(t, consumer, &key, row->id);
}

static const struct other_row {
        const char *id;
        DAT_BOOLEAN listed_safe, wanted_safe;
        int majors, minors; /* wanted, more than are listed */
} others[] = {
    {.id = "higher_minor", .minors = 1},          {.id = "higher_major", .majors = 1},
    {.id = "lower_major", .majors = -1},          {.id = "safety", .wanted_safe = DAT_TRUE},
    {.id = "no_safety", .listed_safe = DAT_TRUE},
};

FAMILY(registry_list_providers, other_than_listed, others, WITHOUT_IA)
{
        DAT_PROVIDER_INFO listed = key_of("cts0");
        DAT_PROVIDER_INFO wanted = listed;
        struct conf conf = conf_new(t);
        struct consumer *consumer;
        DAT_IA_HANDLE ia;

        listed.is_thread_safe = row->listed_safe;
        wanted.is_thread_safe = row->wanted_safe;
        wanted.dapl_version_major += (DAT_UINT32)row->majors;
        wanted.dapl_version_minor += (DAT_UINT32)row->minors;
        conf_key(&conf, &listed, "\"listed\"");
        consumer = consumer_of(t, &conf);
        expect(consumer_open(consumer, &wanted, &ia), DAT_PROVIDER_NOT_FOUND);
        expect_no_more(consumer, HAPPENED_INIT | HAPPENED_OPEN);
        expect_opens(t, consumer, &listed, "listed");
}

CASE(registry_list_providers, higher_minor, WITHOUT_IA)
{
        DAT_PROVIDER_INFO wanted = key_of("cts0");
        DAT_PROVIDER_INFO higher = wanted;
        struct conf conf = conf_new(t);
        struct consumer *consumer;
        DAT_IA_HANDLE ia;

        higher.dapl_version_minor++;
        conf_key(&conf, &higher, NULL);
        consumer = consumer_of(t, &conf);
        if (dat_is(expect_or_note(consumer_open(consumer, &wanted, &ia), DAT_SUCCESS,
                                  DAT_PROVIDER_NOT_FOUND),
                   DAT_SUCCESS))
                expect(consumer_close(consumer, ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
}

static const struct order_row {
        const char *id;
        bool first;
} orders[] = {{"exact_first", true}, {"exact_last", false}};

FAMILY(registry_list_providers, exact_before_higher, orders, WITHOUT_IA)
{
        DAT_PROVIDER_INFO exact = key_of("cts0");
        DAT_PROVIDER_INFO higher = exact;
        struct conf conf = conf_new(t);

        higher.dapl_version_minor++;
        conf_key(&conf, row->first ? &exact : &higher, row->first ? "\"exact\"" : "\"higher\"");
        conf_key(&conf, row->first ? &higher : &exact, row->first ? "\"higher\"" : "\"exact\"");
        expect_opens(t, consumer_of(t, &conf), &exact, "exact");
}

/* Threads of the process, which all list at once; each has a listing of its own. */
struct at_once {
        struct listing listing[THREADS];
        DAT_RETURN ret[THREADS];
};

struct lister {
        pthread_t thread;
        pthread_barrier_t *start;
        struct listing *listing;
        DAT_RETURN *ret;
};

static void *list_at_once(void *arg)
{
        struct lister *lister = arg;
        DAT_PROVIDER_INFO *places[LISTED_MAX];

        for (size_t i = 0; i < LISTED_MAX; i++)
                places[i] = &lister->listing->listed[i];
        pthread_barrier_wait(lister->start);
        *lister->ret = dat_registry_list_providers(lister->listing->max_to_return,
                                                   &lister->listing->number, places);
        return NULL;
}

static DAT_RETURN list_by_threads(void *arg)
{
        struct at_once *at_once = arg;
        struct lister listers[THREADS];
        pthread_barrier_t start;

        pthread_barrier_init(&start, NULL, THREADS);
        for (size_t i = 0; i < THREADS; i++) {
                listers[i] = (struct lister){
                    .start = &start, .listing = &at_once->listing[i], .ret = &at_once->ret[i]};
                if (pthread_create(&listers[i].thread, NULL, list_at_once, &listers[i]) != 0)
                        return DAT_INSUFFICIENT_RESOURCES;
        }
        for (size_t i = 0; i < THREADS; i++)
                pthread_join(listers[i].thread, NULL);
        return DAT_SUCCESS;
}

CASE(registry_list_providers, by_threads, WITHOUT_IA)
{
        static struct at_once at_once;
        struct conf conf = conf_of(t, 5);

        for (int round = 0; round < 5; round++) {
                struct consumer *consumer = consumer_of(t, &conf);

                for (size_t i = 0; i < THREADS; i++)
                        at_once.listing[i].max_to_return = 5;
                must(consumer_call(consumer, list_by_threads, &at_once, sizeof(at_once)));
                for (size_t i = 0; i < THREADS; i++) {
                        expect(at_once.ret[i], DAT_SUCCESS);
                        expect_eq(at_once.listing[i].number, 5);
                        for (int n = 0; n < 5; n++) {
                                DAT_PROVIDER_INFO key = nth_key(n);

                                expect_listed(t, &at_once.listing[i], &key);
                        }
                }
                consumer_end(consumer);
        }
}

LEGAL(registry_list_providers)
{
        static DAT_PROVIDER_INFO infos[1024];
        static DAT_PROVIDER_INFO *places[1024];
        static DAT_COUNT number;

        (void)t;
        for (size_t i = 0; i < 1024; i++)
                places[i] = &infos[i];
        call->max_to_return = 1024;
        call->entries_returned = &number;
        call->dat_provider_list = places;
}
