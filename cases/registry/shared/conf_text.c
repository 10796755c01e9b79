/* SPDX-License-Identifier: BSD-2-Clause */
/* A dat.conf that is written. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cases/registry/shared/consumer.h"

struct conf conf_new(struct test *t)
{
        static char text[CONF_MAX];

        return (struct conf){.t = t, .text = text};
}

void conf_text(struct conf *conf, const char *format, ...)
{
        struct test *t = conf->t;
        size_t left = CONF_MAX - conf->length;
        va_list args;
        int length;

        va_start(args, format);
        length = vsnprintf(conf->text + conf->length, left, format, args);
        va_end(args);
        suite_that(length >= 0 && (size_t)length < left, "the dat.conf is too long");
        conf->length += (size_t)length;
}

static const char * or (const char *given, const char *otherwise)
{
        return given ? given : otherwise;
}

void conf_entry(struct conf *conf, struct entry_fields fields)
{
        conf_text(conf, "%s %s %s %s %s %s %s %s\n", or (fields.name, "cts0"),
                  or (fields.version, api_version(0)), or (fields.safety, "nonthreadsafe"),
                  or (fields.standing, "default"), or (fields.library, recorder_path(0)),
                  or (fields.provider_version, "cts.1.0"), or (fields.params, "\"\""),
                  or (fields.platform, "\"\""));
}

void conf_key(struct conf *conf, const DAT_PROVIDER_INFO *key, const char *params)
{
        char version[32];

        snprintf(version, sizeof(version), "u%u.%u", key->dapl_version_major,
                 key->dapl_version_minor);
        conf_add(conf, .name = key->ia_name, .version = version, .params = params,
                 .safety = key->is_thread_safe ? "threadsafe" : "nonthreadsafe");
}
