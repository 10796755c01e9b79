/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A consumer of the registry under test: a process of its own (case/exec_process.h) whose dat.conf
 * the case writes. Its providers are the suite's, and record what the registry has them do, or the
 * provider under test; what registers itself, and removes itself, is recorded of any.
 */
#ifndef CASES_REGISTRY_CONSUMER_H
#define CASES_REGISTRY_CONSUMER_H

#include "case.h"

/* A dat.conf, as it is written. */
#define CONF_MAX ((size_t)2 * 1024 * 1024)

struct conf {
        struct test *t;
        char *text;
        size_t length;
};

struct conf conf_new(struct test *t);

/* Text as it is. */
void conf_text(struct conf *conf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A line of eight fields, each as in the file, with its quotes. */
struct entry_fields {
        const char *name;             /* cts0 */
        const char *version;          /* of the API that the suite runs by: u1.2 */
        const char *safety;           /* nonthreadsafe */
        const char *standing;         /* default */
        const char *library;          /* the first recorder */
        const char *provider_version; /* cts.1.0 */
        const char *params;           /* "" */
        const char *platform;         /* "" */
};
void conf_entry(struct conf *conf, struct entry_fields fields);
#define conf_add(conf_, ...) conf_entry((conf_), (struct entry_fields){__VA_ARGS__})

/* An entry of this key, whose other fields are the usual ones. */
void conf_key(struct conf *conf, const DAT_PROVIDER_INFO *key, const char *params);

#define NAME_TEN_   "0123456789"
#define NAME_FIFTY_ NAME_TEN_ NAME_TEN_ NAME_TEN_ NAME_TEN_ NAME_TEN_
/* A name of the greatest length. */
#define LONGEST_NAME NAME_FIFTY_ NAME_FIFTY_ NAME_FIFTY_ NAME_FIFTY_ NAME_FIFTY_ "01234"
_Static_assert(sizeof(LONGEST_NAME) == DAT_NAME_MAX_LENGTH, "the longest name and its null");

/* A version of the API that the suite runs by, so many minors higher, as dat.conf has it. */
const char *api_version(unsigned int more);

/* Where the process finds copy 0 or 1 of the recording library, and what is no library. */
const char *recorder_path(size_t copy);
const char *no_library_path(void);

/*
 * The process, whose registry reads this dat.conf; conf_missing: DAT_OVERRIDE names no file;
 * conf_of_run: that of the run.
 */
struct consumer;
struct consumer *consumer_of(struct test *t, const struct conf *conf);
struct consumer *consumer_without_conf(struct test *t);
struct consumer *consumer_of_run(struct test *t);

/* Ends the process before the case does. */
void consumer_end(struct consumer *consumer);

/* An IA's key in the registry, of the API's version and not thread-safe. */
DAT_PROVIDER_INFO key_of(const char *name);

/* A row about a key. */
struct key_row {
        const char *id;
        const char *name;
        DAT_UINT32 majors, minors; /* more than those of the API */
        DAT_BOOLEAN threadsafe;
};
DAT_PROVIDER_INFO key_of_row(const struct key_row *row);

/* Opens by dat_ia_openv; closes. */
DAT_RETURN consumer_open(struct consumer *consumer, const DAT_PROVIDER_INFO *key,
                         DAT_IA_HANDLE *ia);
DAT_RETURN consumer_close(struct consumer *consumer, DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags);

/* dat_registry_list_providers, into LISTED_MAX places that are poison before. */
#define LISTED_MAX 64
struct listing {
        DAT_COUNT max_to_return;
        bool no_list;   /* the list is a null pointer */
        int no_place;   /* the pointer of this place, from 1 on, is null; 0: of none */
        bool backwards; /* the first entry goes to the last of the places that there is room for */
        DAT_COUNT number;
        DAT_PROVIDER_INFO listed[LISTED_MAX];
};
DAT_RETURN consumer_list(struct consumer *consumer, struct listing *listing);

/* An application's own provider, of the recording kind, is added and removed. */
DAT_RETURN consumer_add(struct consumer *consumer, const DAT_PROVIDER_INFO *key);
DAT_RETURN consumer_remove(struct consumer *consumer, const DAT_PROVIDER_INFO *key);

/* The same provider that consumer_add() adds for `own` is added for `key`, or removed. */
DAT_RETURN consumer_remove_as(struct consumer *consumer, const DAT_PROVIDER_INFO *own,
                              const DAT_PROVIDER_INFO *key);
DAT_RETURN consumer_add_as(struct consumer *consumer, const DAT_PROVIDER_INFO *own,
                           const DAT_PROVIDER_INFO *key);

/*
 * Closes; of what an application registered, the IA's provider sees it, and what the call says is
 * not asked (REG-7).
 */
void expect_closed(struct test *t, struct consumer *consumer, DAT_IA_HANDLE ia);

/* Any other call there (fresh_call). */
DAT_RETURN consumer_call(struct consumer *consumer, DAT_RETURN (*call)(void *arg), void *arg,
                         size_t size);

/* What a recording provider is to do otherwise, from now on. */
enum order {
        ORDER_NOTHING = 0,
        ORDER_NOT_REGISTER = 1, /* init registers nothing */
        ORDER_STAY = 2,         /* fini does not remove what init registered */
        ORDER_FAIL_OPEN = 4,    /* opening gives DAT_INSUFFICIENT_RESOURCES */
        ORDER_FAIL_CLOSE = 8,   /* so does closing */
        ORDER_OTHER_NAME = 16,  /* init registers another name too */
};
void consumer_order(struct consumer *consumer, unsigned int orders);

/* What happened to providers, in the order in which it did. */
enum happening {
        HAPPENED_LOADED = 1,
        HAPPENED_UNLOADED = 2,
        HAPPENED_INIT = 4,
        HAPPENED_FINI = 8,
        HAPPENED_ADD = 16,
        HAPPENED_REMOVE = 32,
        HAPPENED_OPEN = 64,
        HAPPENED_CLOSE = 128,
};

#define HAPPENED_TEXT 1024

struct happened {
        enum happening what;
        DAT_PROVIDER_INFO info;
        char text[HAPPENED_TEXT]; /* instance data; or the name that an IA was opened by */
        char library[64];         /* that was loaded, or whose init or fini it was */
        DAT_RETURN ret;           /* of adding or removing */
};

/*
 * The next one of these kinds, of those that no happened_next() has given; NULL where there is
 * none. The case's evidence has them all.
 */
const struct happened *happened_next(struct consumer *consumer, unsigned int kinds);

/* How many there were of these kinds in all. */
size_t happened_count(const struct consumer *consumer, unsigned int kinds);

/* One of these kinds happened next, to this key (to any, where it is NULL), else FAIL. */
#define expect_happened(consumer_, kinds_, key_) \
        happened_check(t, CHECK_SITE_(#kinds_ " of " #key_), (consumer_), (kinds_), (key_))
const struct happened *happened_check(struct test *t, const struct check_site *site,
                                      struct consumer *consumer, unsigned int kinds,
                                      const DAT_PROVIDER_INFO *key);

/* Nothing of these kinds happened that no happened_next() has given, else FAIL. */
#define expect_no_more(consumer_, kinds_) \
        happened_no_more(t, CHECK_SITE_("no more calls of the provider"), (consumer_), (kinds_))
void happened_no_more(struct test *t, const struct check_site *site, struct consumer *consumer,
                      unsigned int kinds);

bool same_key(const DAT_PROVIDER_INFO *a, const DAT_PROVIDER_INFO *b);

/* "cts0 1.2 nonthreadsafe" */
#define KEY_TEXT (DAT_NAME_MAX_LENGTH + 48)
const char *key_text(const DAT_PROVIDER_INFO *key, char text[KEY_TEXT]);

#endif
