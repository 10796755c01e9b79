/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_provider_init: when a registry calls it and with what, and what a provider does in it. */
#include "clauses/provider_init.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "cases/registry/shared/consumer.h"
#include "cases/registry/shared/under_test.h"
#include "cases/shared/point.h"

#define MANY 20

/* The next init is of this key, with this data, and comes before the opening of its IA. */
static void expect_initialised(struct test *t, struct consumer *consumer,
                               const DAT_PROVIDER_INFO *key, const char *data)
{
        const struct happened *it;

        it = expect_happened(consumer, HAPPENED_INIT | HAPPENED_OPEN, key);
        expect_that(it->what == HAPPENED_INIT, "no init came before the opening");
        expect_that(strcmp(it->text, data) == 0, "its instance data was \"%.200s\"", it->text);
        it = expect_happened(consumer, HAPPENED_INIT | HAPPENED_OPEN, key);
        expect_that(it->what == HAPPENED_OPEN, "init was called twice");
}

static DAT_IA_HANDLE must_open(struct test *t, struct consumer *consumer,
                               const DAT_PROVIDER_INFO *key)
{
        DAT_IA_HANDLE ia;

        must(consumer_open(consumer, key, &ia));
        return ia;
}

static DAT_IA_HANDLE expect_open(struct test *t, struct consumer *consumer,
                                 const DAT_PROVIDER_INFO *key)
{
        DAT_IA_HANDLE ia;

        expect(consumer_open(consumer, key, &ia), DAT_SUCCESS);
        return ia;
}

static void expect_close(struct test *t, struct consumer *consumer, DAT_IA_HANDLE ia)
{
        expect(consumer_close(consumer, ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
}

static const struct key_row keys[] = {
    {.id = "nonthreadsafe", .name = "cts0"},
    {.id = "threadsafe", .name = "cts0", .threadsafe = DAT_TRUE},
    {.id = "next_minor", .name = "cts0", .minors = 1},
    {.id = "other_major", .name = "cts0", .majors = 7},
    {.id = "long_name", .name = LONGEST_NAME},
};

FAMILY(provider_init, before_open, keys, WITHOUT_IA)
{
        DAT_PROVIDER_INFO key = key_of_row(row);
        struct conf conf = conf_new(t);
        struct consumer *consumer;

        conf_key(&conf, &key, "\"a b\"");
        consumer = consumer_of(t, &conf);
        expect_open(t, consumer, &key);
        expect_happened(consumer, HAPPENED_LOADED, NULL);
        expect_initialised(t, consumer, &key, "a b");
        expect_no_more(consumer, HAPPENED_INIT | HAPPENED_FINI);
}

/* A process whose dat.conf has the names cts0 to cts2, by the same library or by two. */
static struct consumer *consumer_of_three(struct test *t, bool other_library)
{
        struct conf conf = conf_new(t);

        conf_add(&conf, .name = "cts0", .params = "\"data 0\"");
        conf_add(&conf, .name = "cts1", .params = "\"data 1\"",
                 .library = recorder_path(other_library));
        conf_add(&conf, .name = "cts2", .params = "\"data 2\"");
        return consumer_of(t, &conf);
}

static void list(struct test *t, struct consumer *consumer)
{
        struct listing listing = {.max_to_return = LISTED_MAX};

        expect(consumer_list(consumer, &listing), DAT_SUCCESS);
}

static void open_another(struct test *t, struct consumer *consumer)
{
        DAT_PROVIDER_INFO key = key_of("cts2");

        expect_open(t, consumer, &key);
        expect_initialised(t, consumer, &key, "data 2");
}

static void open_none(struct test *t, struct consumer *consumer)
{
        DAT_PROVIDER_INFO key = key_of("cts3");
        DAT_IA_HANDLE ia;

        expect(consumer_open(consumer, &key, &ia), DAT_PROVIDER_NOT_FOUND);
}

static const struct idle_row {
        const char *id;
        void (*act)(struct test *t, struct consumer *consumer);
} idle[] = {{"listed", list}, {"other_opened", open_another}, {"not_found", open_none}};

FAMILY(provider_init, not_before_need, idle, WITHOUT_IA)
{
        struct consumer *consumer = consumer_of_three(t, false);
        DAT_PROVIDER_INFO key = key_of("cts0");

        row->act(t, consumer);
        expect_no_more(consumer, HAPPENED_INIT);
        expect_open(t, consumer, &key);
        expect_initialised(t, consumer, &key, "data 0");
}

#define HUNDRED                                                                                \
        "0123456789 abcdefghi 0123456789 abcdefghi 0123456789 abcdefghi 0123456789 abcdefghi " \
        "0123456789 abcde"
#define THOUSAND HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED

static const struct data_row {
        const char *id;
        const char *data;
} data[] = {
    {"empty", ""},          {"word", "word"},       {"blanks", "  two words\tand  a tab "},
    {"hash", "a #b # c"},   {"percent", "%s%n %d"}, {"utf8", "gr\xc3\xbc\xc3\x9f"},
    {"of_its_own", "mine"}, {"long", THOUSAND},
};

FAMILY(provider_init, instance_data, data, WITHOUT_IA)
{
        DAT_PROVIDER_INFO key = key_of("cts0");
        struct conf conf = conf_new(t);
        char quoted[sizeof(THOUSAND) + 2];
        struct consumer *consumer;

        snprintf(quoted, sizeof(quoted), "\"%s\"", row->data);
        conf_add(&conf, .name = "before", .params = "\"its before\"");
        conf_add(&conf, .params = quoted);
        conf_add(&conf, .name = "behind", .params = "\"its behind\"");
        consumer = consumer_of(t, &conf);
        expect_open(t, consumer, &key);
        expect_initialised(t, consumer, &key, row->data);
}

static const struct once_row {
        const char *id;
        int more;
        bool close_first, beside;
} once[] = {
    {.id = "second", .more = 1},
    {.id = "many", .more = MANY},
    {.id = "second_of_the_older", .more = 1, .close_first = true},
    {.id = "beside_another", .more = 1, .beside = true},
};

FAMILY(provider_init, once, once, WITHOUT_IA)
{
        struct consumer *consumer = consumer_of_three(t, false);
        DAT_PROVIDER_INFO key = key_of("cts0");
        DAT_IA_HANDLE first = expect_open(t, consumer, &key);

        expect_initialised(t, consumer, &key, "data 0");
        if (row->beside)
                open_another(t, consumer);
        for (int i = 0; i < row->more; i++)
                expect_open(t, consumer, &key);
        if (row->close_first) {
                expect_close(t, consumer, first);
                expect_open(t, consumer, &key);
        }
        expect_no_more(consumer, HAPPENED_INIT);
}

static const struct per_name_row {
        const char *id;
        bool other_library, in_turn;
} per_name[] = {
    {"same_library", false, false},
    {"same_library_in_turn", false, true},
    {"other_library", true, false},
    {"other_library_in_turn", true, true},
};

FAMILY(provider_init, per_name, per_name, WITHOUT_IA)
{
        struct consumer *consumer = consumer_of_three(t, row->other_library);
        DAT_PROVIDER_INFO first = key_of("cts0");
        DAT_PROVIDER_INFO second = key_of("cts1");
        DAT_IA_HANDLE ia = expect_open(t, consumer, &first);

        expect_initialised(t, consumer, &first, "data 0");
        if (row->in_turn)
                expect_close(t, consumer, ia);
        expect_open(t, consumer, &second);
        expect_initialised(t, consumer, &second, "data 1");
}

/*
 * The IA is opened, with an init before it where the last one is taken back: by fini, by the
 * provider's removal, or with its library.
 */
static void expect_init_if_gone(struct test *t, struct consumer *consumer)
{
        const struct happened *it;
        bool gone = true;

        while ((it = happened_next(consumer, ~0u))) {
                if (it->what & (HAPPENED_FINI | HAPPENED_UNLOADED))
                        gone = true;
                if (it->what == HAPPENED_REMOVE && dat_is(it->ret, DAT_SUCCESS))
                        gone = true;
                if (it->what == HAPPENED_INIT)
                        gone = false;
                if (it->what == HAPPENED_OPEN)
                        expect_that(!gone, "the IA was opened without an init");
        }
}

CASE(provider_init, after_fini, WITHOUT_IA)
{
        struct consumer *consumer = consumer_of_three(t, false);
        DAT_PROVIDER_INFO key = key_of("cts0");

        for (int i = 0; i < 5; i++)
                expect_close(t, consumer, expect_open(t, consumer, &key));
        expect_eq(happened_count(consumer, HAPPENED_OPEN), 5);
        expect_init_if_gone(t, consumer);
}

/* The registration that fini has left is no reason to do without an init. */
CASE(provider_init, after_fini_that_left_it, WITHOUT_IA)
{
        struct consumer *consumer = consumer_of_three(t, false);
        DAT_PROVIDER_INFO key = key_of("cts0");

        consumer_order(consumer, ORDER_STAY);
        for (int i = 0; i < 5; i++)
                expect_close(t, consumer, expect_open(t, consumer, &key));
        expect_eq(happened_count(consumer, HAPPENED_OPEN), 5);
        expect_init_if_gone(t, consumer);
}

/* A registry may keep the provider until it needs the name, or take it back at the last close. */
CASE(provider_init, after_removal, WITHOUT_IA)
{
        struct consumer *consumer = consumer_of_three(t, false);
        DAT_PROVIDER_INFO key = key_of("cts0");

        expect_close(t, consumer, must_open(t, consumer, &key));
        consumer_remove(consumer, &key);
        expect_close(t, consumer, expect_open(t, consumer, &key));
        expect_eq(happened_count(consumer, HAPPENED_OPEN), 2);
        expect_init_if_gone(t, consumer);
}

CASE(provider_init, fails, WITHOUT_IA)
{
        struct consumer *consumer = consumer_of_three(t, true);
        DAT_PROVIDER_INFO key = key_of("cts0");
        DAT_PROVIDER_INFO other = key_of("cts1");
        DAT_IA_HANDLE ia;

        consumer_order(consumer, ORDER_NOT_REGISTER);
        expect(consumer_open(consumer, &key, &ia), DAT_PROVIDER_NOT_FOUND);
        expect_happened(consumer, HAPPENED_INIT, &key);
        expect_no_more(consumer, HAPPENED_OPEN);
        consumer_order(consumer, ORDER_NOTHING);
        expect_open(t, consumer, &other);
        expect_initialised(t, consumer, &other, "data 1");
}

/* What was added, of the IA under test; where nothing was seen, it took another way. */
static const struct happened *added(struct test *t, struct consumer *consumer)
{
        const struct happened *add = happened_next(consumer, HAPPENED_ADD);

        if (!add)
                end_noted(t, "the provider reaches the registry by a way that cannot be watched");
        return add;
}

CASE(provider_init, registers, WITHOUT_IA)
{
        DAT_PROVIDER_INFO key = key_under_test(t);
        struct consumer *consumer = consumer_of_run(t);
        const struct happened *add;
        char text[KEY_TEXT];

        expect_open(t, consumer, &key);
        add = added(t, consumer);
        expect_that(same_key(&add->info, &key), "it added %s", key_text(&add->info, text));
        expect(add->ret, DAT_SUCCESS);
}

CASE(provider_init, registers_no_other, WITHOUT_IA)
{
        DAT_PROVIDER_INFO key = key_under_test(t);
        struct consumer *consumer = consumer_of_run(t);
        const struct happened *add;
        char text[KEY_TEXT];

        must_open(t, consumer, &key);
        for (add = added(t, consumer); add; add = happened_next(consumer, HAPPENED_ADD))
                expect_that(is_under_test(t, add->info.ia_name), "it added %s",
                            key_text(&add->info, text));
}

CASE(provider_init, again, WITHOUT_IA)
{
        DAT_PROVIDER_INFO key = key_under_test(t);
        struct consumer *consumer = consumer_of_run(t);

        for (int i = 0; i < 4; i++)
                expect_close(t, consumer, expect_open(t, consumer, &key));
}

static void expect_beside(struct test *t, const char *name)
{
        DAT_PROVIDER_INFO key = key_under_test(t);
        DAT_PROVIDER_INFO other = key;
        struct consumer *consumer = consumer_of_run_and(t, name, NULL);
        DAT_IA_HANDLE first;
        DAT_IA_HANDLE second;

        snprintf(other.ia_name, sizeof(other.ia_name), "%s", name);
        first = expect_open(t, consumer, &key);
        second = expect_open(t, consumer, &other);
        expect_close(t, consumer, first);
        expect_close(t, consumer, second);
        expect_close(t, consumer, expect_open(t, consumer, &other));
}

CASE(provider_init, under_another_name, WITHOUT_IA)
{
        expect_beside(t, "cts_other");
}

CASE(provider_init, under_longest_name, WITHOUT_IA)
{
        expect_beside(t, LONGEST_NAME);
}

static DAT_RETURN make_zone_there(void *arg)
{
        DAT_IA_HANDLE *ia = arg;
        DAT_PZ_HANDLE zone = DAT_HANDLE_NULL;
        DAT_RETURN ret = dat_pz_create(*ia, &zone);

        return dat_is(ret, DAT_SUCCESS) ? dat_pz_free(zone) : ret;
}

static void expect_zone(struct test *t, struct consumer *consumer, DAT_IA_HANDLE ia)
{
        expect(consumer_call(consumer, make_zone_there, &ia, sizeof(ia)), DAT_SUCCESS);
}

/* What the provider undoes for one name, when its last instance is closed, is that name's own. */
CASE(provider_init, again_beside_another, WITHOUT_IA)
{
        DAT_PROVIDER_INFO key = key_under_test(t);
        DAT_PROVIDER_INFO other = key;
        struct consumer *consumer = consumer_of_run_and(t, "cts_other", NULL);
        DAT_IA_HANDLE stays;

        snprintf(other.ia_name, sizeof(other.ia_name), "cts_other");
        stays = expect_open(t, consumer, &other);
        for (int i = 0; i < 3; i++) {
                DAT_IA_HANDLE ia = expect_open(t, consumer, &key);

                expect_zone(t, consumer, ia);
                expect_close(t, consumer, ia);
                expect_zone(t, consumer, stays);
        }
        expect_close(t, consumer, expect_open(t, consumer, &other));
        expect_close(t, consumer, stays);
}

struct adapter {
        DAT_IA_HANDLE ia;
        char name[DAT_NAME_MAX_LENGTH];
        struct sockaddr_storage address;
};

static DAT_RETURN query_there(void *arg)
{
        struct adapter *adapter = arg;
        DAT_EVD_HANDLE async;
        DAT_IA_ATTR attr;
        DAT_RETURN ret;

        memset(&attr, 0, sizeof(attr));
        ret = dat_ia_query(adapter->ia, &async,
                           DAT_IA_FIELD_IA_ADAPTER_NAME | DAT_IA_FIELD_IA_ADDRESS_PTR, &attr,
                           DAT_PROVIDER_FIELD_NONE, NULL);
        if (!dat_is(ret, DAT_SUCCESS) || !attr.ia_address_ptr)
                return ret;
        memcpy(adapter->name, attr.adapter_name, sizeof(adapter->name));
        memcpy(&adapter->address, attr.ia_address_ptr,
               attr.ia_address_ptr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                          : sizeof(struct sockaddr_in));
        return ret;
}

static struct adapter adapter_of(struct test *t, struct consumer *consumer, DAT_IA_HANDLE ia)
{
        struct adapter adapter = {.ia = ia};

        expect(consumer_call(consumer, query_there, &adapter, sizeof(adapter)), DAT_SUCCESS);
        return adapter;
}

/* Data of another name, known to the provider or not, are not those of the run's. */
CASE(provider_init, own_data, WITHOUT_IA)
{
        DAT_PROVIDER_INFO key = key_under_test(t);
        DAT_PROVIDER_INFO odd = key;
        struct consumer *consumer = consumer_of_run_and(t, "cts_odd", "no adapter, nor any = word");
        DAT_IA_HANDLE first = expect_open(t, consumer, &key);
        struct adapter before = adapter_of(t, consumer, first);
        struct adapter after;
        DAT_IA_HANDLE ia;
        bool made;

        snprintf(odd.ia_name, sizeof(odd.ia_name), "cts_odd");
        made = dat_is(consumer_open(consumer, &odd, &ia), DAT_SUCCESS);

        after = adapter_of(t, consumer, expect_open(t, consumer, &key));
        expect_that(strncmp(after.name, before.name, sizeof(after.name)) == 0,
                    "the name is of another adapter now");
        expect_that(same_host(&after.address, &before.address), "the address is another one now");
        if (made)
                expect_close(t, consumer, ia);
}

/* What it makes of them is the provider's own: it may take any. */
CASE(provider_init, unknown_data, WITHOUT_IA)
{
        DAT_PROVIDER_INFO key = key_under_test(t);
        DAT_PROVIDER_INFO odd = key;
        struct consumer *consumer = consumer_of_run_and(t, "cts_odd", "no adapter, nor any = word");
        DAT_IA_HANDLE ia;

        snprintf(odd.ia_name, sizeof(odd.ia_name), "cts_odd");
        for (int i = 0; i < 2; i++) {
                if (dat_is(consumer_open(consumer, &odd, &ia), DAT_SUCCESS))
                        expect_close(t, consumer, ia);
                expect_close(t, consumer, expect_open(t, consumer, &key));
        }
}

static const struct data_row some_data[] = {
    {"empty", ""},
    {"blanks", "  two words\tand  a tab "},
    {"long", THOUSAND},
};

FAMILY(provider_init, any_data, some_data, WITHOUT_IA)
{
        DAT_PROVIDER_INFO key = key_under_test(t);
        DAT_PROVIDER_INFO odd = key;
        struct consumer *consumer = consumer_of_run_and(t, "cts_odd", row->data);
        DAT_IA_HANDLE ia;

        snprintf(odd.ia_name, sizeof(odd.ia_name), "cts_odd");
        if (dat_is(consumer_open(consumer, &odd, &ia), DAT_SUCCESS))
                expect_close(t, consumer, ia);
        expect_close(t, consumer, expect_open(t, consumer, &key));
}

CASE(provider_init, leaves_arguments, WITHOUT_IA)
{
        DAT_PROVIDER_INFO key = key_under_test(t);
        struct consumer *consumer = consumer_of_run(t);

        snprintf(key.ia_name, sizeof(key.ia_name), "cts_own");
        expect_that(init_leaves_arguments(t, consumer, &key),
                    "init has changed what it was called with");
        expect_open(t, consumer, &key);
}

CASE(provider_init, by_application, WITHOUT_IA)
{
        DAT_PROVIDER_INFO key = key_under_test(t);
        struct consumer *consumer = consumer_of_run(t);
        DAT_IA_HANDLE ia;

        snprintf(key.ia_name, sizeof(key.ia_name), "cts_own");
        expect(consumer_open(consumer, &key, &ia), DAT_PROVIDER_NOT_FOUND);
        must_init(t, consumer, &key);
        expect_open(t, consumer, &key);
}
