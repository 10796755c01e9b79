/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/registry/shared/under_test.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case/test.h"
#include "cases/registry/shared/consumer_memory.h"

#define FIELDS        8
#define FIELD_LIBRARY 4
#define FIELD_PARAMS  6
#define FIELD_MAX     1024

/* The entry of the IA under test. */
struct entry_under_test {
        char field[FIELDS][FIELD_MAX];
};

static const char *conf_of_run(struct test *t, size_t *length)
{
        static char text[CONF_MAX];
        const char *path = getenv("DAT_OVERRIDE");
        FILE *file = fopen(path ? path : "/etc/dat.conf", "re");

        suite_that(file != NULL, "the dat.conf of the run cannot be read");
        *length = fread(text, 1, sizeof(text) - 1, file);
        fclose(file);
        suite_that(*length < sizeof(text) - 1, "the dat.conf of the run is too long");
        text[*length] = '\0';
        return text;
}

/* Takes a field without its quotes; returns what is behind it, or NULL where there is none. */
static const char *take_field(const char *at, const char *end, char *to)
{
        size_t length = 0;
        bool quoted;

        while (at < end && (*at == ' ' || *at == '\t'))
                at++;
        if (at == end || *at == '#')
                return NULL;
        quoted = *at == '"';
        at += quoted;
        while (at < end && length < FIELD_MAX - 1 &&
               (quoted ? *at != '"' : *at != ' ' && *at != '\t')) {
                if (quoted && *at == '\\' && at + 1 < end)
                        at++;
                to[length++] = *at++;
        }
        to[length] = '\0';
        return at + (quoted && at < end);
}

static bool take_entry(const char *line, const char *end, struct entry_under_test *entry)
{
        const char *at = line;

        for (size_t i = 0; i < FIELDS; i++) {
                at = take_field(at, end, entry->field[i]);
                if (!at)
                        return false;
        }
        return true;
}

static const struct entry_under_test *entry_under_test(struct test *t)
{
        static struct entry_under_test entry;
        const char *safety = t->settings->probe->threadsafe ? "threadsafe" : "nonthreadsafe";
        size_t length;
        const char *at = conf_of_run(t, &length);

        while (*at) {
                const char *end = at + strcspn(at, "\n");

                if (take_entry(at, end, &entry) && strcmp(entry.field[0], t->settings->ia) == 0 &&
                    strcmp(entry.field[1], api_version(0)) == 0 &&
                    strcmp(entry.field[2], safety) == 0)
                        return &entry;
                at = *end ? end + 1 : end;
        }
        test_end(t, VERDICT_ERROR, "the run's dat.conf has no entry of %s, %s and %s",
                 t->settings->ia, api_version(0), safety);
}

DAT_PROVIDER_INFO key_under_test(struct test *t)
{
        DAT_PROVIDER_INFO key = key_of(t->settings->ia);

        key.is_thread_safe = t->settings->probe->threadsafe ? DAT_TRUE : DAT_FALSE;
        return key;
}

/* Whether the run's dat.conf has an IA of this name. */
static bool is_listed(struct test *t, const char *name)
{
        struct entry_under_test entry;
        size_t length;

        for (const char *at = conf_of_run(t, &length); *at;) {
                const char *end = at + strcspn(at, "\n");

                if (take_entry(at, end, &entry) && strcmp(entry.field[0], name) == 0)
                        return true;
                at = *end ? end + 1 : end;
        }
        return false;
}

bool is_under_test(struct test *t, const char *name)
{
        const char *params = entry_under_test(t)->field[FIELD_PARAMS];
        size_t first = strcspn(params, " \t");

        return strcmp(name, t->settings->ia) == 0 ||
               (strlen(name) == first && strncmp(name, params, first) == 0 && is_listed(t, name));
}

/* In quotes, as a field may be that has blanks or nothing in it. */
static void write_quoted(struct conf *conf, const char *text)
{
        conf_text(conf, " \"");
        for (; *text; text++)
                conf_text(conf, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
        conf_text(conf, "\"");
}

struct consumer *consumer_of_run_and(struct test *t, const char *name, const char *params)
{
        const struct entry_under_test *entry = entry_under_test(t);
        struct conf conf = conf_new(t);
        size_t length;

        conf_text(&conf, "%s\n%s", conf_of_run(t, &length), name);
        for (size_t i = 1; i < FIELD_PARAMS; i++)
                if (i == FIELD_LIBRARY)
                        write_quoted(&conf, entry->field[i]);
                else
                        conf_text(&conf, " %s", entry->field[i]);
        write_quoted(&conf, params ? params : entry->field[FIELD_PARAMS]);
        write_quoted(&conf, entry->field[FIELD_PARAMS + 1]);
        conf_text(&conf, "\n");
        return consumer_of(t, &conf);
}

struct entry_point_call {
        char library[FIELD_MAX];
        char params[FIELD_MAX];
        DAT_PROVIDER_INFO key;
        bool fini;
        bool changed; /* the key or the data, by the call */
};

static DAT_RETURN call_entry_point(void *arg)
{
        struct entry_point_call *call = arg;
        struct entry_point_call before = *call;
        void *library = dlopen(call->library, RTLD_NOW | RTLD_LOCAL);
        DAT_PROVIDER_INIT_FUNC init;
        DAT_PROVIDER_FINI_FUNC fini;

        if (!library)
                return DAT_INTERNAL_ERROR;
        init = (DAT_PROVIDER_INIT_FUNC)dlsym(library, DAT_PROVIDER_INIT_FUNC_STR);
        fini = (DAT_PROVIDER_FINI_FUNC)dlsym(library, DAT_PROVIDER_FINI_FUNC_STR);
        if (!init || !fini)
                return DAT_INTERNAL_ERROR;
        if (call->fini)
                fini(&call->key);
        else
                init(&call->key, call->params);
        call->changed = memcmp(&call->key, &before.key, sizeof(before.key)) != 0 ||
                        strcmp(call->params, before.params) != 0;
        return DAT_SUCCESS;
}

/* Whether the call left its arguments as they were. */
static bool must_call(struct test *t, struct consumer *consumer, const DAT_PROVIDER_INFO *key,
                      bool fini)
{
        const struct entry_under_test *entry = entry_under_test(t);
        struct entry_point_call call = {.key = *key, .fini = fini};

        memcpy(call.library, entry->field[FIELD_LIBRARY], sizeof(call.library));
        memcpy(call.params, entry->field[FIELD_PARAMS], sizeof(call.params));
        must(consumer_call(consumer, call_entry_point, &call, sizeof(call)));
        return !call.changed;
}

bool init_leaves_arguments(struct test *t, struct consumer *consumer, const DAT_PROVIDER_INFO *key)
{
        return must_call(t, consumer, key, false);
}

void must_init(struct test *t, struct consumer *consumer, const DAT_PROVIDER_INFO *key)
{
        must_call(t, consumer, key, false);
}

void must_fini(struct test *t, struct consumer *consumer, const DAT_PROVIDER_INFO *key)
{
        must_call(t, consumer, key, true);
}
