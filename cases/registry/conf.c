/* SPDX-License-Identifier: BSD-2-Clause */
/* dat.conf(4): what is an entry, what its fields mean, and what is none and hides none. */
#include "clauses/conf.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cases/registry/shared/consumer.h"

/* As many entries, and how many are read first. */
#define MANY     2500
#define FEWEST   (MANY / 4)
#define DEADLINE 120000 /* ms, of conf/many: a call in a process apart has half of it */

#define LONG_COMMENT 9000

#define HUNDRED_                                                                                   \
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abcdefghijklmnop" \
        "q"                                                                                        \
        "rstuvwxyz.."
#define FIVE_(text_)  text_ text_ text_ text_ text_
#define FIVE_HUNDRED  FIVE_(HUNDRED_)
#define FIVE_THOUSAND FIVE_(FIVE_HUNDRED) FIVE_(FIVE_HUNDRED)

/* The lines between the entries of `before` and `behind`, which are as entries usually are. */
static struct consumer *consumer_between(struct test *t, void (*write)(struct conf *, const void *),
                                         const void *row)
{
        struct conf conf = conf_new(t);

        conf_add(&conf, .name = "before", .params = "\"data before\"");
        write(&conf, row);
        conf_add(&conf, .name = "behind", .params = "\"data behind\"");
        return consumer_of(t, &conf);
}

/* How often the names are listed; `all` is how many entries there are. */
static int times_listed(struct test *t, struct consumer *consumer, const DAT_PROVIDER_INFO *key,
                        DAT_COUNT *all)
{
        struct listing listing = {.max_to_return = LISTED_MAX};
        int times = 0;

        expect(consumer_list(consumer, &listing), DAT_SUCCESS);
        expect_that(listing.number >= 0 && listing.number <= LISTED_MAX, "%d entries are listed",
                    listing.number);
        for (DAT_COUNT i = 0; i < listing.number; i++)
                times += same_key(&listing.listed[i], key);
        *all = listing.number;
        return times;
}

static void expect_opens(struct test *t, struct consumer *consumer, const DAT_PROVIDER_INFO *key,
                         const char *data)
{
        const struct happened *init;
        DAT_IA_HANDLE ia;

        expect(consumer_open(consumer, key, &ia), DAT_SUCCESS);
        init = expect_happened(consumer, HAPPENED_INIT, key);
        expect_that(strcmp(init->text, data) == 0, "its instance data is \"%.200s\"", init->text);
        expect_happened(consumer, HAPPENED_OPEN, key);
        expect(consumer_close(consumer, ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
}

/* The entries of consumer_between() are listed once each and opened; `more` lie between them. */
static void expect_around(struct test *t, struct consumer *consumer, DAT_COUNT least,
                          DAT_COUNT most)
{
        DAT_PROVIDER_INFO before = key_of("before");
        DAT_PROVIDER_INFO behind = key_of("behind");
        DAT_COUNT all;

        expect_eq(times_listed(t, consumer, &before, &all), 1);
        expect_eq(times_listed(t, consumer, &behind, &all), 1);
        expect_that(all >= 2 + least && all <= 2 + most, "%d entries are listed", all);
        expect_opens(t, consumer, &before, "data before");
        expect_opens(t, consumer, &behind, "data behind");
}

/*
 * Entries
 */

static const struct entry_row {
        const char *id;
        const char *above; /* lines before it */
        const char *name;
        const char *data;
        const char *provider_version;
        const char *platform;
} entries[] = {
    {.id = "plain", .data = "data"},
    {.id = "empty_strings", .data = ""},
    {.id = "blanks_in_data", .data = " two  words "},
    {.id = "hash_in_data", .data = "# no comment"},
    {.id = "long_data", .data = FIVE_HUNDRED},
    {.id = "platform", .data = "", .platform = "\"driver_name=tavor\""},
    {.id = "blanks_in_platform", .data = "data", .platform = "\" # x  y \""},
    {.id = "provider_version", .data = "", .provider_version = "SUNW.1.0"},
    {.id = "long_name", .data = "data", .name = LONGEST_NAME},
    {.id = "short_name", .data = "data", .name = "o"},
    {.id = "punctuated_name", .data = "data", .name = "odd-0.1:2/3_4@5+6"},
    {.id = "name_of_digits", .data = "data", .name = "0123"},
    {.id = "behind_a_comment", .data = "data", .above = "# a comment\n"},
    {.id = "behind_empty_lines", .data = "data", .above = "\n\n\n"},
};

static void write_entry(struct conf *conf, const void *arg)
{
        const struct entry_row *row = arg;
        char quoted[1024];

        snprintf(quoted, sizeof(quoted), "\"%s\"", row->data);
        conf_text(conf, "%s", row->above ? row->above : "");
        conf_add(conf, .name = row->name ? row->name : "odd", .params = quoted,
                 .provider_version = row->provider_version, .platform = row->platform);
}

FAMILY(conf, entry, entries, WITHOUT_IA)
{
        struct consumer *consumer = consumer_between(t, write_entry, row);
        DAT_PROVIDER_INFO key = key_of(row->name ? row->name : "odd");
        DAT_COUNT all;

        expect_eq(times_listed(t, consumer, &key, &all), 1);
        expect_opens(t, consumer, &key, row->data);
        expect_around(t, consumer, 1, 1);
}

CASE(conf, last_line, WITHOUT_IA)
{
        struct conf conf = conf_new(t);
        DAT_PROVIDER_INFO key = key_of("last");
        struct consumer *consumer;
        DAT_COUNT all;

        conf_add(&conf, .name = "first");
        conf_add(&conf, .name = "last", .params = "\"data\"");
        conf.length--;
        consumer = consumer_of(t, &conf);
        expect_eq(times_listed(t, consumer, &key, &all), 1);
        expect_opens(t, consumer, &key, "data");
}

static const struct few_row {
        const char *id;
        int fields;
} few[] = {{"one", 1},  {"two", 2}, {"three", 3}, {"four", 4},
           {"five", 5}, {"six", 6}, {"seven", 7}};

static void write_few(struct conf *conf, const void *arg)
{
        const struct few_row *row = arg;
        const char *fields[] = {
            "odd", api_version(0), "nonthreadsafe", "default", recorder_path(0), "cts.1.0", "\"\""};

        for (int i = 0; i < row->fields; i++)
                conf_text(conf, "%s%s", i ? " " : "", fields[i]);
        conf_text(conf, "\n");
}

FAMILY(conf, too_few_fields, few, WITHOUT_IA)
{
        expect_around(t, consumer_between(t, write_few, row), 0, 0);
}

/*
 * Lines that are none, or may be
 */

/* %1$s is the version, %2$s the library. */
struct line_row {
        const char *id;
        const char *line;
        int times;
};

static void write_line(struct conf *conf, const void *arg)
{
        const struct line_row *row = arg;

        for (int i = 0; i <= row->times; i++) {
                for (const char *at = row->line; *at; at++)
                        if (*at == '@')
                                conf_text(conf, "%s", api_version(0));
                        else if (*at == '$')
                                conf_text(conf, "%s", recorder_path(0));
                        else
                                conf_text(conf, "%c", *at);
                conf_text(conf, "\n");
        }
}

#define REST " $ cts.1.0 \"\" \"\""
#define ALL  "odd @ nonthreadsafe default" REST

static const struct line_row comments[] = {
    {.id = "entry", .line = "#" ALL},
    {.id = "entry_behind_blank", .line = "# " ALL},
    {.id = "alone", .line = "#"},
    {.id = "words", .line = "# dat.conf for the suite"},
    {.id = "open_quote", .line = "# it \"begins"},
    {.id = "backslash", .line = "# goes on \\"},
    {.id = "signs", .line = "##### # ####"},
    {.id = "long", .line = "#" FIVE_THOUSAND},
    {.id = "many", .line = "# one of a thousand", .times = 999},
};

FAMILY(conf, comment, comments, WITHOUT_IA)
{
        expect_around(t, consumer_between(t, write_line, row), 0, 0);
}

/*
 * Comments of as many characters as a reader's room may have, and of one less, which end in an
 * entry.
 */
static void write_full_room(struct conf *conf, const void *arg)
{
        const size_t *room = arg;
        char filler[LONG_COMMENT];

        for (size_t less = 0; less < 2; less++) {
                size_t length = *room - less;

                memset(filler, '#', length);
                filler[length] = '\0';
                conf_text(conf, "%s", filler);
                conf_add(conf, .name = "odd");
        }
}

static const struct room_row {
        const char *id;
        size_t room;
} rooms[] = {
    {"after_80", 80},     {"after_128", 128},   {"after_256", 256},   {"after_512", 512},
    {"after_1024", 1024}, {"after_2048", 2048}, {"after_4096", 4096}, {"after_8192", 8192},
};

FAMILY(conf, comment_ends_in_entry, rooms, WITHOUT_IA)
{
        expect_around(t, consumer_between(t, write_full_room, &row->room), 0, 0);
}

static const struct edge_row {
        const char *id;
        bool first;
} edges[] = {{"first", true}, {"last", false}};

FAMILY(conf, comment_at_the_edge, edges, WITHOUT_IA)
{
        struct conf conf = conf_new(t);

        if (row->first)
                conf_text(&conf, "# the first line\n");
        conf_add(&conf, .name = "before", .params = "\"data before\"");
        conf_add(&conf, .name = "behind", .params = "\"data behind\"");
        if (!row->first)
                conf_text(&conf, "# the last line, which has no end");
        expect_around(t, consumer_of(t, &conf), 0, 0);
}

static const struct line_row odd_lines[] = {
    {.id = "too_many_fields", .line = ALL " \"\""},
    {.id = "no_api_letter", .line = "odd 1.2 nonthreadsafe default" REST},
    {.id = "other_api_letter", .line = "odd x1.2 nonthreadsafe default" REST},
    {.id = "kernel", .line = "odd k1.2 nonthreadsafe default" REST},
    {.id = "no_minor", .line = "odd u1. nonthreadsafe default" REST},
    {.id = "no_number", .line = "odd uone.two nonthreadsafe default" REST},
    {.id = "huge_version",
     .line = "odd u123456789012345678901234567890.2 nonthreadsafe default" REST},
    {.id = "no_safety", .line = "odd @ maybe default" REST},
    {.id = "no_standing", .line = "odd @ nonthreadsafe sometimes" REST},
    {.id = "no_provider_version", .line = "odd @ nonthreadsafe default $ none \"\" \"\""},
    {.id = "open_quote", .line = "odd @ nonthreadsafe default $ cts.1.0 \"\" \"open"},
    {.id = "quote_in_a_word", .line = "o\"dd @ nonthreadsafe default" REST},
    {.id = "escaped_quote", .line = "odd @ nonthreadsafe default $ cts.1.0 \"a \\\" b\" \"\""},
    {.id = "name_too_long", .line = LONGEST_NAME "6 @ nonthreadsafe default" REST},
    {.id = "name_far_too_long", .line = FIVE_THOUSAND " @ nonthreadsafe default" REST},
    {.id = "data_far_too_long",
     .line = "odd @ nonthreadsafe default $ cts.1.0 \"" FIVE_THOUSAND "\" \"\""},
    {.id = "tabs", .line = "odd\t@\tnonthreadsafe\tdefault\t$\tcts.1.0\t\"\"\t\"\""},
    {.id = "many_blanks", .line = "odd  @   nonthreadsafe  default  $  cts.1.0  \"\"   \"\""},
    {.id = "blanks_around", .line = "  " ALL "  "},
    {.id = "carriage_return", .line = ALL "\r"},
    {.id = "comment_behind", .line = ALL " # behind it"},
    {.id = "backslash_at_end", .line = ALL " \\"},
    {.id = "control_characters", .line = "odd\001\002\033[2J @ nonthreadsafe default" REST},
    {.id = "beyond_ascii", .line = "\xff\xfe\x80 @ nonthreadsafe default" REST},
    {.id = "blanks_only", .line = "   \t  "},
    {.id = "quotes_only", .line = "\"\" \"\" \"\""},
};

FAMILY(conf, odd_line, odd_lines, WITHOUT_IA)
{
        expect_around(t, consumer_between(t, write_line, row), 0, 1);
}

/*
 * Fields
 */

static const struct version_row {
        const char *id;
        DAT_UINT32 major, minor;
} versions[] = {
    {"usual", DAT_VERSION_MAJOR, DAT_VERSION_MINOR},
    {"next_minor", DAT_VERSION_MAJOR, DAT_VERSION_MINOR + 1},
    {"two_digits", 12, 34},
    {"zero", 3, 0},
};

FAMILY(conf, version, versions, WITHOUT_IA)
{
        DAT_PROVIDER_INFO key = key_of("odd");
        struct conf conf = conf_new(t);
        struct consumer *consumer;
        DAT_COUNT all;

        key.dapl_version_major = row->major;
        key.dapl_version_minor = row->minor;
        conf_key(&conf, &key, "\"data\"");
        consumer = consumer_of(t, &conf);
        expect_eq(times_listed(t, consumer, &key, &all), 1);
        expect_opens(t, consumer, &key, "data");
}

static const struct key_row safeties[] = {
    {.id = "threadsafe", .name = "odd", .threadsafe = DAT_TRUE},
    {.id = "nonthreadsafe", .name = "odd", .threadsafe = DAT_FALSE},
};

FAMILY(conf, safety, safeties, WITHOUT_IA)
{
        DAT_PROVIDER_INFO key = key_of_row(row);
        struct conf conf = conf_new(t);

        conf_add(&conf, .name = "odd", .safety = "threadsafe", .params = "\"threadsafe\"");
        conf_add(&conf, .name = "odd", .safety = "nonthreadsafe", .params = "\"nonthreadsafe\"");
        expect_opens(t, consumer_of(t, &conf), &key, row->id);
}

static const struct default_row {
        const char *id;
        int versions, nth;
} defaults[] = {{"first", 2, 0}, {"last", 2, 1}, {"between", 3, 1}, {"of_many", 20, 13}};

FAMILY(conf, default, defaults, WITHOUT_IA)
{
        DAT_PROVIDER_INFO key = key_of("odd");
        struct conf conf = conf_new(t);

        for (int i = 0; i < row->versions; i++) {
                bool is_default = i == row->nth;

                conf_add(&conf, .name = "odd", .standing = is_default ? "default" : "nondefault",
                         .params = is_default ? "\"default\"" : "\"nondefault\"",
                         .library = recorder_path(!is_default));
        }
        expect_opens(t, consumer_of(t, &conf), &key, "default");
}

static const struct alike_row {
        const char *id;
        const char *name;
        size_t differs; /* the character in which the other name has another one */
} names_alike[] = {
    {"in_the_first", LONGEST_NAME, 0},
    {"in_the_32nd", LONGEST_NAME, 31},
    {"in_the_64th", LONGEST_NAME, 63},
    {"in_the_last", LONGEST_NAME, sizeof(LONGEST_NAME) - 2},
    {"in_case", "able", 0},
};

FAMILY(conf, names_alike, names_alike, WITHOUT_IA)
{
        DAT_PROVIDER_INFO keys[2] = {key_of(row->name), key_of(row->name)};
        static const char *const data[2] = {"one", "other"};
        struct consumer *consumer;
        struct conf conf = conf_new(t);
        DAT_COUNT all;

        keys[1].ia_name[row->differs] = row->name[row->differs] == 'a' ? 'A' : 'x';
        conf_key(&conf, &keys[0], "\"one\"");
        conf_key(&conf, &keys[1], "\"other\"");
        consumer = consumer_of(t, &conf);
        for (size_t i = 0; i < 2; i++) {
                expect_eq(times_listed(t, consumer, &keys[i], &all), 1);
                expect_eq(all, 2);
                expect_opens(t, consumer, &keys[i], data[i]);
        }
}

static void write_nondefault(struct conf *conf, const void *arg)
{
        (void)arg;
        conf_add(conf, .name = "odd", .standing = "nondefault", .params = "\"data\"");
}

/* What may be listed: it is opened then, and not found else. */
static void expect_opens_if_listed(struct test *t, struct consumer *consumer)
{
        DAT_PROVIDER_INFO key = key_of("odd");
        DAT_IA_HANDLE ia;
        DAT_COUNT all;

        if (times_listed(t, consumer, &key, &all))
                expect_opens(t, consumer, &key, "data");
        else
                expect(consumer_open(consumer, &key, &ia), DAT_PROVIDER_NOT_FOUND);
        expect_around(t, consumer, 0, 1);
}

CASE(conf, nondefault_alone, WITHOUT_IA)
{
        expect_opens_if_listed(t, consumer_between(t, write_nondefault, NULL));
}

static const struct library_row {
        const char *id;
        const char *name;
        size_t copy;
} libraries[] = {{"first", "cts0", 0}, {"second", "cts1", 1}};

FAMILY(conf, library, libraries, WITHOUT_IA)
{
        DAT_PROVIDER_INFO key = key_of(row->name);
        struct conf conf = conf_new(t);
        const struct happened *it;
        struct consumer *consumer;
        DAT_IA_HANDLE ia;

        for (size_t i = 0; i < 2; i++)
                conf_add(&conf, .name = libraries[i].name,
                         .library = recorder_path(libraries[i].copy));
        consumer = consumer_of(t, &conf);
        expect(consumer_open(consumer, &key, &ia), DAT_SUCCESS);
        it = expect_happened(consumer, HAPPENED_LOADED, NULL);
        expect_that(strcmp(it->library, recorder_path(row->copy)) == 0, "%s was loaded",
                    it->library);
        it = expect_happened(consumer, HAPPENED_INIT, &key);
        expect_that(strcmp(it->library, recorder_path(row->copy)) == 0, "%s was initialised",
                    it->library);
        expect_no_more(consumer, HAPPENED_LOADED);
}

static const struct bad_library_row {
        const char *id;
        const char *path;
} bad_libraries[] = {
    {"missing", "/proc/self/fd/no-such-library.so"},
    {"no_library", NULL},
    {"folder", "/proc/self/fd"},
};

static void write_bad_library(struct conf *conf, const void *arg)
{
        const struct bad_library_row *row = arg;

        conf_add(conf, .name = "odd", .library = row->path ? row->path : no_library_path());
}

FAMILY(conf, library_not_there, bad_libraries, WITHOUT_IA)
{
        struct consumer *consumer = consumer_between(t, write_bad_library, row);
        DAT_PROVIDER_INFO key = key_of("odd");
        DAT_IA_HANDLE ia;
        DAT_COUNT all;

        expect_eq(times_listed(t, consumer, &key, &all), 1);
        expect(consumer_open(consumer, &key, &ia), DAT_PROVIDER_NOT_FOUND);
        expect_around(t, consumer, 1, 1);
}

static void write_described(struct conf *conf, const void *arg)
{
        (void)arg;
        conf_add(conf, .name = "odd", .provider_version = "SUNW1.0", .params = "\"data\"");
}

CASE(conf, version_as_described, WITHOUT_IA)
{
        expect_opens_if_listed(t, consumer_between(t, write_described, NULL));
}

/*
 * The file
 */

static const struct empty_row {
        const char *id;
        const char *text;
} empties[] = {
    {"nothing", ""},
    {"comments", "# a comment\n#\n"},
    {"empty_lines", "\n\n\n"},
};

FAMILY(conf, empty, empties, WITHOUT_IA)
{
        struct conf conf = conf_new(t);
        DAT_PROVIDER_INFO key = key_of("odd");
        struct consumer *consumer;
        DAT_IA_HANDLE ia;
        DAT_COUNT all;

        conf_text(&conf, "%s", row->text);
        consumer = consumer_of(t, &conf);
        times_listed(t, consumer, &key, &all);
        expect_eq(all, 0);
        expect(consumer_open(consumer, &key, &ia), DAT_PROVIDER_NOT_FOUND);
}

static void write_twins(struct conf *conf, const void *arg)
{
        (void)arg;
        conf_add(conf, .name = "odd", .params = "\"data\"");
        conf_add(conf, .name = "odd", .params = "\"data\"", .library = recorder_path(1));
}

CASE(conf, same_key, WITHOUT_IA)
{
        struct consumer *consumer = consumer_between(t, write_twins, NULL);
        DAT_PROVIDER_INFO key = key_of("odd");
        DAT_COUNT all;
        int times = times_listed(t, consumer, &key, &all);

        expect_that(times == 1 || times == 2, "it is listed %d times", times);
        expect_opens(t, consumer, &key, "data");
        expect_around(t, consumer, 1, 2);
}

CASE(conf, override, WITHOUT_IA)
{
        static const char *const names[] = {"one", "other"};
        struct consumer *consumers[2];

        for (size_t i = 0; i < 2; i++) {
                struct conf conf = conf_new(t);

                conf_add(&conf, .name = names[i], .params = "\"data\"");
                consumers[i] = consumer_of(t, &conf);
        }
        for (size_t i = 0; i < 2; i++) {
                DAT_PROVIDER_INFO own = key_of(names[i]);
                DAT_PROVIDER_INFO others = key_of(names[1 - i]);
                DAT_IA_HANDLE ia;
                DAT_COUNT all;

                expect_eq(times_listed(t, consumers[i], &own, &all), 1);
                expect_eq(all, 1);
                expect_opens(t, consumers[i], &own, "data");
                expect(consumer_open(consumers[i], &others, &ia), DAT_PROVIDER_NOT_FOUND);
        }
}

/* Lists them all there: an error is reported by number. */
struct list_many {
        DAT_COUNT asked;
        DAT_COUNT number;
        int wrong; /* the first name that is not listed once, or -1 */
};

static int first_wrong(DAT_PROVIDER_INFO *const *places, DAT_COUNT count)
{
        static unsigned char seen[MANY];

        memset(seen, 0, sizeof(seen));
        for (int i = 0; i < count; i++) {
                int n = -1;

                if (sscanf(places[i]->ia_name, "many%5d", &n) == 1 && n >= 0 && n < count)
                        seen[n]++;
        }
        for (int i = 0; i < count; i++)
                if (seen[i] != 1)
                        return i;
        return -1;
}

static DAT_RETURN list_many(void *arg)
{
        static DAT_PROVIDER_INFO infos[MANY];
        static DAT_PROVIDER_INFO *places[MANY];
        struct list_many *many = arg;
        DAT_RETURN ret;

        for (int i = 0; i < MANY; i++)
                places[i] = &infos[i];
        ret = dat_registry_list_providers(many->asked, &many->number, places);
        many->wrong = first_wrong(places, many->asked);
        return ret;
}

/* A consumer of so many entries, each listed once. */
static struct consumer *expect_listed(struct test *t, DAT_COUNT count)
{
        struct conf conf = conf_new(t);
        struct list_many many = {.asked = count, .number = -1};
        struct consumer *consumer;

        for (int i = 0; i < count; i++)
                conf_text(&conf, "many%05d %s nonthreadsafe default %s cts.1.0 \"data %d\" \"\"\n",
                          i, api_version(0), recorder_path(0), i);
        consumer = consumer_of(t, &conf);
        expect(consumer_call(consumer, list_many, &many, sizeof(many)), DAT_SUCCESS);
        expect_eq(many.number, count);
        expect_that(many.wrong < 0, "many%05d is not listed once", many.wrong);
        return consumer;
}

static int64_t now_ms(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/*
 * No page says how long a registry may read, and one that reads in the square of the lines is slow.
 * So fewer are read first: as long as eight times that, the cube of twice as many, is in the limit
 * of a call, more follow. A registry that has no end for these then hangs.
 */
CASE(conf, many, WITHOUT_IA, DEADLINE_MS(DEADLINE))
{
        DAT_COUNT count = FEWEST;
        struct consumer *consumer;
        int64_t took;

        for (;;) {
                const int opened[] = {0, count / 2, count - 1};

                took = -now_ms();
                consumer = expect_listed(t, count);
                took += now_ms();
                for (size_t i = 0; i < sizeof(opened) / sizeof(opened[0]); i++) {
                        char name[32];
                        char data[32];
                        DAT_PROVIDER_INFO key;

                        snprintf(name, sizeof(name), "many%05d", opened[i]);
                        snprintf(data, sizeof(data), "data %d", opened[i]);
                        key = key_of(name);
                        expect_opens(t, consumer, &key, data);
                }
                consumer_end(consumer);
                if (count == MANY)
                        return;
                if (8 * took > DEADLINE / 4)
                        break;
                count *= 2;
        }
        note(t, "%d entries took %lld ms: %d were not asked for", count, (long long)took, MANY);
}
