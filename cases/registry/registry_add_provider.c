/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_registry_add_provider: IAs that an application's own provider declares. */
#include "clauses/registry_add_provider.h"

#include <stdio.h>
#include <string.h>

#include "cases/registry/shared/consumer.h"

#define SEVERAL  6
#define NUMEROUS 150 /* the consumer records three calls of each */
#define OFTEN    20

/* A process whose dat.conf has cts0 and cts1. */
static struct consumer *consumer_of_two(struct test *t)
{
        struct conf conf = conf_new(t);

        conf_add(&conf, .name = "cts0");
        conf_add(&conf, .name = "cts1");
        return consumer_of(t, &conf);
}

static DAT_PROVIDER_INFO nth_key(int n)
{
        char name[16];

        snprintf(name, sizeof(name), "added%d", n);
        return key_of(name);
}

/* Opens by `wanted`: the provider of `key` is asked, by its name. */
static DAT_IA_HANDLE expect_asks(struct test *t, struct consumer *consumer,
                                 const DAT_PROVIDER_INFO *wanted, const DAT_PROVIDER_INFO *key)
{
        const struct happened *open;
        DAT_IA_HANDLE ia;

        expect(consumer_open(consumer, wanted, &ia), DAT_SUCCESS);
        open = expect_happened(consumer, HAPPENED_OPEN, key);
        expect_that(strcmp(open->text, wanted->ia_name) == 0, "it was asked by the name %s",
                    open->text);
        return ia;
}

static void expect_opens(struct test *t, struct consumer *consumer, const DAT_PROVIDER_INFO *key)
{
        DAT_IA_HANDLE ia = expect_asks(t, consumer, key, key);

        expect_closed(t, consumer, ia);
}

static const struct key_row keys[] = {
    {.id = "nonthreadsafe", .name = "added"},
    {.id = "threadsafe", .name = "added", .threadsafe = DAT_TRUE},
    {.id = "next_minor", .name = "added", .minors = 1},
    {.id = "other_major", .name = "added", .majors = 7},
    {.id = "short_name", .name = "c"},
    {.id = "long_name", .name = LONGEST_NAME},
};

FAMILY(registry_add_provider, opens, keys, WITHOUT_IA)
{
        DAT_PROVIDER_INFO key = key_of_row(row);
        struct consumer *consumer = consumer_of_two(t);

        expect(consumer_add(consumer, &key), DAT_SUCCESS);
        expect_opens(t, consumer, &key);
        expect_opens(t, consumer, &key);
}

CASE(registry_add_provider, without_conf, WITHOUT_IA)
{
        DAT_PROVIDER_INFO key = key_of("added");
        struct consumer *consumer = consumer_without_conf(t);

        expect(consumer_add(consumer, &key), DAT_SUCCESS);
        expect_opens(t, consumer, &key);
}

CASE(registry_add_provider, several, WITHOUT_IA)
{
        struct consumer *consumer = consumer_of_two(t);
        DAT_IA_HANDLE ias[SEVERAL];

        for (int i = 0; i < SEVERAL; i++) {
                DAT_PROVIDER_INFO key = nth_key(i);

                expect(consumer_add(consumer, &key), DAT_SUCCESS);
        }
        for (int i = 0; i < SEVERAL; i++) {
                DAT_PROVIDER_INFO key = nth_key(i);

                ias[i] = expect_asks(t, consumer, &key, &key);
        }
        for (int i = 0; i < SEVERAL; i++) {
                DAT_PROVIDER_INFO key = nth_key(i);

                expect_closed(t, consumer, ias[i]);
                expect_happened(consumer, HAPPENED_CLOSE, &key);
        }
}

/* One table under two names: each name is an IA of its own. */
CASE(registry_add_provider, one_table, WITHOUT_IA)
{
        struct consumer *consumer = consumer_of_two(t);
        DAT_PROVIDER_INFO own = key_of("own");
        DAT_IA_HANDLE ias[2];

        for (int i = 0; i < 2; i++) {
                DAT_PROVIDER_INFO key = nth_key(i);

                expect(consumer_add_as(consumer, &own, &key), DAT_SUCCESS);
        }
        for (int i = 0; i < 2; i++) {
                DAT_PROVIDER_INFO key = nth_key(i);

                ias[i] = expect_asks(t, consumer, &key, &own);
        }
        for (int i = 0; i < 2; i++) {
                expect_closed(t, consumer, ias[i]);
                expect_happened(consumer, HAPPENED_CLOSE, &own);
        }
}

/* The maximum is the registry's own: what it granted before stays. */
CASE(registry_add_provider, up_to_maximum, WITHOUT_IA)
{
        struct consumer *consumer = consumer_of_two(t);
        DAT_PROVIDER_INFO own = key_of("own");
        int added = 0;

        while (added < NUMEROUS) {
                DAT_PROVIDER_INFO key = nth_key(added);
                DAT_RETURN ret = expect(consumer_add_as(consumer, &own, &key), DAT_SUCCESS,
                                        DAT_INSUFFICIENT_RESOURCES);

                if (!dat_is(ret, DAT_SUCCESS))
                        break;
                added++;
        }
        record(t, "%d providers were registered at once; a case adds no more than %d", added,
               NUMEROUS);
        expect_that(added > 0, "no provider can be registered");
        for (int i = 0; i < added; i++) {
                DAT_PROVIDER_INFO key = nth_key(i);
                DAT_IA_HANDLE ia = expect_asks(t, consumer, &key, &own);

                expect_closed(t, consumer, ia);
        }
}

static const struct beside_row {
        const char *id;
        bool added_first;
} beside[] = {{"added_first", true}, {"opened_first", false}};

FAMILY(registry_add_provider, beside_static, beside, WITHOUT_IA)
{
        struct consumer *consumer = consumer_of_two(t);
        DAT_PROVIDER_INFO added = key_of("added");
        DAT_PROVIDER_INFO listed = key_of("cts0");

        if (!row->added_first)
                expect_opens(t, consumer, &listed);
        expect(consumer_add(consumer, &added), DAT_SUCCESS);
        expect_opens(t, consumer, &listed);
        expect_opens(t, consumer, &added);
        expect_opens(t, consumer, &listed);
}

static const struct other_key_row {
        const char *id;
        DAT_PROVIDER_INFO key;
        DAT_BOOLEAN added_safe;
} other_keys[] = {
#define OTHER_(id_, name_, major_, minor_, safe_, added_)                \
        {                                                                \
                id_,                                                     \
                    {.ia_name = name_,                                   \
                     .dapl_version_major = DAT_VERSION_MAJOR + (major_), \
                     .dapl_version_minor = DAT_VERSION_MINOR + (minor_), \
                     .is_thread_safe = safe_},                           \
                    added_                                               \
        }
    OTHER_("name", "another", 0, 0, DAT_FALSE, DAT_FALSE),
    OTHER_("name_in_part", "adde", 0, 0, DAT_FALSE, DAT_FALSE),
    OTHER_("name_and_more", "added0", 0, 0, DAT_FALSE, DAT_FALSE),
    OTHER_("letter_case", "ADDED", 0, 0, DAT_FALSE, DAT_FALSE),
    OTHER_("higher_minor", "added", 0, 1, DAT_FALSE, DAT_FALSE),
    OTHER_("major", "added", 1, 0, DAT_FALSE, DAT_FALSE),
    OTHER_("major_below", "added", -1, 0, DAT_FALSE, DAT_FALSE),
    OTHER_("safety", "added", 0, 0, DAT_TRUE, DAT_FALSE),
    OTHER_("no_safety", "added", 0, 0, DAT_FALSE, DAT_TRUE),
};

FAMILY(registry_add_provider, other_key, other_keys, WITHOUT_IA)
{
        struct consumer *consumer = consumer_of_two(t);
        DAT_PROVIDER_INFO key = key_of("added");
        DAT_IA_HANDLE ia;

        key.is_thread_safe = row->added_safe;
        must(consumer_add(consumer, &key));
        expect(consumer_open(consumer, &row->key, &ia), DAT_PROVIDER_NOT_FOUND);
        expect_no_more(consumer, HAPPENED_OPEN);
        expect_opens(t, consumer, &key);
}

static const struct alike_row {
        const char *id;
        const char *name;
        size_t differs; /* the character in which the other name has another one */
} names_alike[] = {
    {"in_the_first", LONGEST_NAME, 0}, {"in_the_32nd", LONGEST_NAME, 31},
    {"in_the_64th", LONGEST_NAME, 63}, {"in_the_last", LONGEST_NAME, sizeof(LONGEST_NAME) - 2},
    {"in_case", "added", 0},
};

static const struct beginning_row {
        const char *id;
        const char *names[2]; /* in the order in which they are added */
} beginnings[] = {
    {"shorter_first", {"added", "added0"}},
    {"longer_first", {"added0", "added"}},
};

FAMILY(registry_add_provider, name_begins_another, beginnings, WITHOUT_IA)
{
        struct consumer *consumer = consumer_of_two(t);
        DAT_PROVIDER_INFO one = key_of(row->names[0]);
        DAT_PROVIDER_INFO other = key_of(row->names[1]);

        expect(consumer_add(consumer, &one), DAT_SUCCESS);
        expect(consumer_add(consumer, &other), DAT_SUCCESS);
        expect_opens(t, consumer, &one);
        expect_opens(t, consumer, &other);
        expect_opens(t, consumer, &one);
}

FAMILY(registry_add_provider, names_alike, names_alike, WITHOUT_IA)
{
        struct consumer *consumer = consumer_of_two(t);
        DAT_PROVIDER_INFO one = key_of(row->name);
        DAT_PROVIDER_INFO other = one;

        other.ia_name[row->differs] = row->name[row->differs] == 'a' ? 'A' : 'x';
        expect(consumer_add(consumer, &one), DAT_SUCCESS);
        expect(consumer_add(consumer, &other), DAT_SUCCESS);
        expect_opens(t, consumer, &one);
        expect_opens(t, consumer, &other);
}

static const struct taken_row {
        const char *id;
        bool same_provider, open;
        int younger, tries;
} taken[] = {
    {.id = "same_provider", .same_provider = true, .tries = 1},
    {.id = "other_provider", .tries = 1},
    {.id = "while_open", .open = true, .tries = 1},
    {.id = "among_many", .younger = SEVERAL - 1, .tries = 1},
    {.id = "again_and_again", .tries = OFTEN},
};

FAMILY(registry_add_provider, same_name, taken, WITHOUT_IA)
{
        struct consumer *consumer = consumer_of_two(t);
        DAT_PROVIDER_INFO key = nth_key(0);
        DAT_PROVIDER_INFO other = key_of("other");
        DAT_IA_HANDLE ia = DAT_HANDLE_NULL;

        for (int i = 0; i <= row->younger; i++) {
                DAT_PROVIDER_INFO younger = nth_key(i);

                must(consumer_add(consumer, &younger));
        }
        if (row->open)
                ia = expect_asks(t, consumer, &key, &key);
        for (int i = 0; i < row->tries; i++)
                expect(row->same_provider ? consumer_add(consumer, &key)
                                          : consumer_add_as(consumer, &other, &key),
                       DAT_PROVIDER_ALREADY_REGISTERED);
        expect_opens(t, consumer, &key);
        if (row->open)
                expect_closed(t, consumer, ia);
}

CASE(registry_add_provider, refused_leaves_nothing, WITHOUT_IA)
{
        struct consumer *consumer = consumer_of_two(t);
        DAT_PROVIDER_INFO key = key_of("added");
        DAT_PROVIDER_INFO other = key_of("other");
        DAT_IA_HANDLE ia;

        must(consumer_add(consumer, &key));
        expect(consumer_add_as(consumer, &other, &key), DAT_PROVIDER_ALREADY_REGISTERED);
        expect(consumer_add(consumer, &key), DAT_PROVIDER_ALREADY_REGISTERED);
        expect(consumer_remove(consumer, &key), DAT_SUCCESS);
        expect(consumer_open(consumer, &key, &ia), DAT_PROVIDER_NOT_FOUND);
        expect_no_more(consumer, HAPPENED_OPEN);
        expect(consumer_add_as(consumer, &other, &key), DAT_SUCCESS);
        expect_asks(t, consumer, &key, &other);
}

CASE(registry_add_provider, unterminated_name, WITHOUT_IA)
{
        struct consumer *consumer = consumer_of_two(t);
        DAT_PROVIDER_INFO own = key_of("added");
        DAT_PROVIDER_INFO key = own;

        memset(key.ia_name, 'a', sizeof(key.ia_name));
        expect(consumer_add_as(consumer, &own, &key), DAT_PROVIDER_ALREADY_REGISTERED,
               DAT_INVALID_PARAMETER);
        expect(consumer_add(consumer, &own), DAT_SUCCESS);
        expect_opens(t, consumer, &own);
}

CASE(registry_add_provider, name_of_dat_conf, WITHOUT_IA)
{
        struct consumer *consumer = consumer_of_two(t);
        DAT_PROVIDER_INFO key = key_of("cts0");
        DAT_PROVIDER_INFO other = key_of("other");
        DAT_IA_HANDLE ia = expect_asks(t, consumer, &key, &key);

        expect(consumer_add_as(consumer, &other, &key), DAT_PROVIDER_ALREADY_REGISTERED);
        expect_opens(t, consumer, &key);
        expect(consumer_close(consumer, ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
}

static const struct key_row alike[] = {
    {.id = "next_minor", .name = "added", .minors = 1},
    {.id = "threadsafe", .name = "added", .threadsafe = DAT_TRUE},
};

FAMILY(registry_add_provider, name_of_other_version, alike, WITHOUT_IA)
{
        struct consumer *consumer = consumer_of_two(t);
        DAT_PROVIDER_INFO key = key_of("added");
        DAT_PROVIDER_INFO other = key_of_row(row);

        must(consumer_add(consumer, &key));
        if (dat_is(expect(consumer_add(consumer, &other), DAT_SUCCESS,
                          DAT_PROVIDER_ALREADY_REGISTERED),
                   DAT_SUCCESS))
                expect_opens(t, consumer, &other);
        expect_opens(t, consumer, &key);
}

CASE(registry_add_provider, after_removal, WITHOUT_IA)
{
        struct consumer *consumer = consumer_of_two(t);
        DAT_PROVIDER_INFO key = key_of("added");
        DAT_PROVIDER_INFO other = key_of("other");

        for (int i = 0; i < 3; i++) {
                expect(consumer_add(consumer, &key), DAT_SUCCESS);
                expect_opens(t, consumer, &key);
                must(consumer_remove(consumer, &key));
        }
        expect(consumer_add_as(consumer, &other, &key), DAT_SUCCESS);
        expect_asks(t, consumer, &key, &other);
}
