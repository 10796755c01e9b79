/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/registry/shared/consumer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case/poison.h"
#include "cases/registry/shared/consumer_memory.h"
#include "cases/registry/shared/recorder_image.h"
#include "evidence/api.h"

enum file { FILE_CONF, FILE_RECORDER, FILE_OTHER_RECORDER, FILE_NO_LIBRARY, FILES };

struct consumer {
        struct test *t;
        struct exec_process *process;
        const struct consumer_memory *room;
        uint32_t told; /* of what happened, in the evidence */
        uint32_t next; /* for happened_next() */
};

/*
 * Its start
 */

static const char *path_of(enum file file)
{
        static char paths[FILES][EXEC_PROCESS_PATH_MAX];

        exec_process_path(file, paths[file]);
        return paths[file];
}

const char *recorder_path(size_t copy)
{
        return path_of(copy ? FILE_OTHER_RECORDER : FILE_RECORDER);
}

const char *no_library_path(void)
{
        return path_of(FILE_NO_LIBRARY);
}

const char *api_version(unsigned int more)
{
        static char texts[4][32];
        static size_t next;
        char *text = texts[next++ % 4];

        snprintf(text, sizeof(texts[0]), "u%d.%u", DAT_VERSION_MAJOR, DAT_VERSION_MINOR + more);
        return text;
}

static struct consumer *start(struct test *t, const char *text, size_t length, const char *path)
{
        static const char no_library[] = "no library\n";
        size_t size = (size_t)(recorder_image_end - recorder_image);
        const struct exec_process_file files[FILES] = {
            [FILE_CONF] = {text, length},
            [FILE_RECORDER] = {recorder_image, size},
            [FILE_OTHER_RECORDER] = {recorder_image, size},
            [FILE_NO_LIBRARY] = {no_library, sizeof(no_library)},
        };
        static struct consumer consumers[4];
        static size_t next;
        struct consumer *consumer = &consumers[next++ % 4];

        *consumer = (struct consumer){.t = t};
        consumer->process = exec_process_start(t, files, FILES, "DAT_OVERRIDE", path);
        consumer->room = exec_process_shared(consumer->process);
        return consumer;
}

/*
 * What the evidence has of a dat.conf: parts for which an entry of it has room, and "..." where
 * this is not all.
 */
#define PART_MAX  400
#define PARTS_MAX 16

static void record_conf(struct test *t, const struct conf *conf)
{
        const char *head = "the dat.conf of a process of its own:";
        size_t told = 0;

        for (int i = 0; i < PARTS_MAX && (i == 0 || told < conf->length); i++) {
                size_t left = conf->length - told;
                size_t most = left < PART_MAX ? left : PART_MAX;
                size_t length = strnlen(conf->text + told, most);
                bool cut = length < most || (i == PARTS_MAX - 1 && length < left);

                record(t, "%s\n%.*s%s", head, (int)length, conf->text + told, cut ? "..." : "");
                if (cut)
                        return;
                told += length;
                head = "dat.conf, continued:";
        }
}

struct consumer *consumer_of(struct test *t, const struct conf *conf)
{
        record_conf(t, conf);
        return start(t, conf->text, conf->length, path_of(FILE_CONF));
}

struct consumer *consumer_without_conf(struct test *t)
{
        record(t, "a process of its own, whose dat.conf is a file that there is not");
        return start(t, "", 0, "/proc/self/fd/no-such-file");
}

struct consumer *consumer_of_run(struct test *t)
{
        record(t, "a process of its own, with the dat.conf of the run");
        return start(t, "", 0, getenv("DAT_OVERRIDE"));
}

void consumer_end(struct consumer *consumer)
{
        exec_process_end(consumer->process);
}

/*
 * Keys
 */

DAT_PROVIDER_INFO key_of(const char *name)
{
        DAT_PROVIDER_INFO key = {
            .dapl_version_major = DAT_VERSION_MAJOR,
            .dapl_version_minor = DAT_VERSION_MINOR,
            .is_thread_safe = DAT_FALSE,
        };

        snprintf(key.ia_name, sizeof(key.ia_name), "%s", name);
        return key;
}

DAT_PROVIDER_INFO key_of_row(const struct key_row *row)
{
        DAT_PROVIDER_INFO key = key_of(row->name);

        key.dapl_version_major += row->majors;
        key.dapl_version_minor += row->minors;
        key.is_thread_safe = row->threadsafe;
        return key;
}

bool same_key(const DAT_PROVIDER_INFO *a, const DAT_PROVIDER_INFO *b)
{
        return strncmp(a->ia_name, b->ia_name, sizeof(a->ia_name)) == 0 &&
               a->dapl_version_major == b->dapl_version_major &&
               a->dapl_version_minor == b->dapl_version_minor &&
               !a->is_thread_safe == !b->is_thread_safe;
}

const char *key_text(const DAT_PROVIDER_INFO *key, char text[KEY_TEXT])
{
        snprintf(text, KEY_TEXT, "%.*s %u.%u %s", (int)sizeof(key->ia_name) - 1, key->ia_name,
                 key->dapl_version_major, key->dapl_version_minor,
                 key->is_thread_safe ? "threadsafe" : "nonthreadsafe");
        return text;
}

/*
 * What happened
 */

static const char *const happenings[] = {
    "loaded",
    "unloaded",
    "dat_provider_init",
    "dat_provider_fini",
    "dat_registry_add_provider",
    "dat_registry_remove_provider",
    "its ia_open_func",
    "its ia_close_func",
};

/* Of several kinds, the first. */
static const char *happening_name(unsigned int kinds)
{
        return happenings[__builtin_ctz(kinds)];
}

static uint32_t count_of(const struct consumer *consumer)
{
        uint32_t count = atomic_load(&consumer->room->count);

        return count < HAPPENED_MAX ? count : HAPPENED_MAX;
}

static void tell(struct consumer *consumer)
{
        struct test *t = consumer->t;

        for (; consumer->told < count_of(consumer); consumer->told++) {
                const struct happened *it = &consumer->room->happened[consumer->told];
                char key[KEY_TEXT];
                char type[API_NAME_SPACE];

                if (it->what & (HAPPENED_LOADED | HAPPENED_UNLOADED))
                        record(t, "the provider's library %s: %s", it->library,
                               happening_name(it->what));
                else if (it->what & (HAPPENED_ADD | HAPPENED_REMOVE))
                        record(t, "provider %s: %s gave it %s", key_text(&it->info, key),
                               happening_name(it->what), api_return_name(it->ret, type));
                else
                        record(t, "provider %s: %s(%s) %s", key_text(&it->info, key),
                               happening_name(it->what), it->text, it->library);
        }
}

const struct happened *happened_next(struct consumer *consumer, unsigned int kinds)
{
        while (consumer->next < count_of(consumer)) {
                const struct happened *it = &consumer->room->happened[consumer->next++];

                if (it->what & kinds)
                        return it;
        }
        return NULL;
}

size_t happened_count(const struct consumer *consumer, unsigned int kinds)
{
        size_t count = 0;

        for (uint32_t i = 0; i < count_of(consumer); i++)
                count += (consumer->room->happened[i].what & kinds) != 0;
        return count;
}

const struct happened *happened_check(struct test *t, const struct check_site *site,
                                      struct consumer *consumer, unsigned int kinds,
                                      const DAT_PROVIDER_INFO *key)
{
        static const struct happened nothing;
        const struct happened *it = happened_next(consumer, kinds);
        char text[KEY_TEXT];

        check_expect_that(t, site, it != NULL, "%s was not called", happening_name(kinds));
        it = it ? it : &nothing;
        check_expect_that(t, site, !key || same_key(&it->info, key), "%s was called for %s",
                          happening_name(it->what), key_text(&it->info, text));
        return it;
}

void happened_no_more(struct test *t, const struct check_site *site, struct consumer *consumer,
                      unsigned int kinds)
{
        const struct happened *it = happened_next(consumer, kinds);
        char text[KEY_TEXT];

        check_expect_that(t, site, !it, "%s of %s", it ? happening_name(it->what) : "",
                          it ? key_text(&it->info, text) : "");
}

/*
 * Calls
 */

DAT_RETURN consumer_call(struct consumer *consumer, DAT_RETURN (*call)(void *arg), void *arg,
                         size_t size)
{
        DAT_RETURN ret = exec_process_call(consumer->process, call, arg, size);

        tell(consumer);
        return ret;
}

struct open_call {
        DAT_PROVIDER_INFO key;
        DAT_IA_HANDLE ia;
};

static DAT_RETURN open_there(void *arg)
{
        struct open_call *open = arg;
        DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;

        return dat_ia_openv(open->key.ia_name, 8, &async_evd, &open->ia,
                            open->key.dapl_version_major, open->key.dapl_version_minor,
                            open->key.is_thread_safe);
}

DAT_RETURN consumer_open(struct consumer *consumer, const DAT_PROVIDER_INFO *key, DAT_IA_HANDLE *ia)
{
        struct open_call open = {.key = *key, .ia = DAT_HANDLE_NULL};
        DAT_RETURN ret = consumer_call(consumer, open_there, &open, sizeof(open));

        *ia = open.ia;
        return ret;
}

struct close_call {
        DAT_IA_HANDLE ia;
        DAT_CLOSE_FLAGS flags;
};

static DAT_RETURN close_there(void *arg)
{
        const struct close_call *close = arg;

        return dat_ia_close(close->ia, close->flags);
}

DAT_RETURN consumer_close(struct consumer *consumer, DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
        struct close_call close = {.ia = ia, .flags = flags};

        return consumer_call(consumer, close_there, &close, sizeof(close));
}

static DAT_RETURN list_there(void *arg)
{
        struct listing *listing = arg;
        DAT_PROVIDER_INFO *places[LISTED_MAX];
        size_t room = (size_t)listing->max_to_return;

        poison(listing->listed, sizeof(listing->listed));
        poison(&listing->number, sizeof(listing->number));
        for (size_t i = 0; i < LISTED_MAX; i++)
                places[i] = &listing->listed[listing->backwards && i < room ? room - 1 - i : i];
        if (listing->no_place)
                places[listing->no_place - 1] = NULL;
        return dat_registry_list_providers(listing->max_to_return, &listing->number,
                                           listing->no_list ? NULL : places);
}

DAT_RETURN consumer_list(struct consumer *consumer, struct listing *listing)
{
        return consumer_call(consumer, list_there, listing, sizeof(*listing));
}

static DAT_RETURN add_there(void *arg)
{
        const DAT_PROVIDER_INFO *key = arg;

        return dat_registry_add_provider(recording_provider(key), key);
}

DAT_RETURN consumer_add(struct consumer *consumer, const DAT_PROVIDER_INFO *key)
{
        DAT_PROVIDER_INFO copy = *key;

        return consumer_call(consumer, add_there, &copy, sizeof(copy));
}

/* The provider of one key, under another. */
struct call_as {
        DAT_PROVIDER_INFO own, key;
};

static DAT_RETURN add_as_there(void *arg)
{
        const struct call_as *add = arg;

        return dat_registry_add_provider(recording_provider(&add->own), &add->key);
}

DAT_RETURN consumer_add_as(struct consumer *consumer, const DAT_PROVIDER_INFO *own,
                           const DAT_PROVIDER_INFO *key)
{
        struct call_as add = {*own, *key};

        return consumer_call(consumer, add_as_there, &add, sizeof(add));
}

void expect_closed(struct test *t, struct consumer *consumer, DAT_IA_HANDLE ia)
{
        size_t before = happened_count(consumer, HAPPENED_CLOSE);

        expect(consumer_close(consumer, ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS,
               DAT_PROVIDER_NOT_FOUND);
        expect_eq(happened_count(consumer, HAPPENED_CLOSE), before + 1);
}

static DAT_RETURN remove_there(void *arg)
{
        const struct call_as *removal = arg;

        return dat_registry_remove_provider(recording_provider(&removal->own), &removal->key);
}

DAT_RETURN consumer_remove_as(struct consumer *consumer, const DAT_PROVIDER_INFO *own,
                              const DAT_PROVIDER_INFO *key)
{
        struct call_as removal = {*own, *key};

        return consumer_call(consumer, remove_there, &removal, sizeof(removal));
}

DAT_RETURN consumer_remove(struct consumer *consumer, const DAT_PROVIDER_INFO *key)
{
        return consumer_remove_as(consumer, key, key);
}

void consumer_order(struct consumer *consumer, unsigned int orders)
{
        record(consumer->t, "orders to its providers: %u", orders);
        atomic_store(&((struct consumer_memory *)exec_process_shared(consumer->process))->orders,
                     orders);
}
