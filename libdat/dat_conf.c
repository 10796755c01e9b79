/* SPDX-License-Identifier: BSD-2-Clause */

#include "dat_conf.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A line on its way to becoming an entry. */
struct line {
        const char *at;
        const char *end;
        char *fields[CONF_FIELDS + 1];
        char *copy;
        unsigned int bad_field;
        char reason[160];
};

const char *conf_field_name(unsigned int field)
{
        static const char *const names[] = {
            [CONF_IA_NAME] = "IA name",
            [CONF_API_VERSION] = "API version",
            [CONF_THREAD_SAFETY] = "thread safety",
            [CONF_DEFAULT] = "default",
            [CONF_LIBRARY] = "library",
            [CONF_PROVIDER_VERSION] = "provider version",
            [CONF_IA_PARAMS] = "IA parameters",
            [CONF_PLATFORM_PARAMS] = "platform parameters",
        };

        return field >= CONF_IA_NAME && field <= CONF_PLATFORM_PARAMS ? names[field] : "";
}

/* Note why the line is skipped. Returns false, so that a check can end with it. */
__attribute__((format(printf, 3, 4))) static bool refuse(struct line *line, unsigned int field,
                                                         const char *format, ...)
{
        va_list args;

        line->bad_field = field;
        va_start(args, format);
        vsnprintf(line->reason, sizeof(line->reason), format, args);
        va_end(args);
        for (char *c = line->reason; *c; c++)
                if (!isprint((unsigned char)*c))
                        *c = '?';
        return false;
}

static bool is_blank(char c)
{
        return c == ' ' || c == '\t';
}

/* Stand on the next field, or the end of the line or its comment. False at the end. */
static bool seek_field(struct line *line)
{
        while (line->at < line->end && is_blank(*line->at))
                line->at++;
        return line->at < line->end && *line->at != '#';
}

/* Copy a quoted field without its quotes and backslashes. */
static bool take_quoted(struct line *line, unsigned int field, char **to)
{
        line->at++;
        while (line->at < line->end && *line->at != '"') {
                if (*line->at == '\\' && ++line->at == line->end)
                        break;
                *(*to)++ = *line->at++;
        }
        if (line->at == line->end)
                return refuse(line, field, "its closing quote is missing");
        line->at++;
        return true;
}

/* Copy a bare field; a quote inside ends it, and belongs to it. */
static void take_bare(struct line *line, char **to)
{
        while (line->at < line->end && !is_blank(*line->at)) {
                char c = *line->at++;

                *(*to)++ = c;
                if (c == '"')
                        break;
        }
}

static bool split(struct line *line)
{
        char *to = line->copy;
        unsigned int field = 0;

        while (seek_field(line)) {
                const char *start = line->at;

                if (field == CONF_FIELDS)
                        return refuse(line, 0, "more than %d fields", CONF_FIELDS);
                if (field && !is_blank(start[-1]))
                        return refuse(line, field, "no blank after it");
                field++;
                line->fields[field] = to;
                if (*start != '"')
                        take_bare(line, &to);
                else if (!take_quoted(line, field, &to))
                        return false;
                *to++ = '\0';
                if (strlen(line->fields[field]) != (size_t)(to - line->fields[field]) - 1)
                        return refuse(line, field, "contains a null byte");
        }
        if (field && field < CONF_FIELDS)
                return refuse(line, field + 1, "missing; an entry has %d fields", CONF_FIELDS);
        return true;
}

/* Read decimal digits at *text and step over them. */
static bool take_number(const char **text, DAT_UINT32 *number)
{
        uint64_t value = 0;

        if (!isdigit((unsigned char)**text))
                return false;
        for (; isdigit((unsigned char)**text); (*text)++) {
                value = value * 10 + (uint64_t)(**text - '0');
                if (value > UINT32_MAX)
                        return false;
        }
        *number = (DAT_UINT32)value;
        return true;
}

static bool take_version(const char *text, DAT_UINT32 *major, DAT_UINT32 *minor)
{
        return take_number(&text, major) && *text++ == '.' && take_number(&text, minor) && !*text;
}

static bool has_prefix(const char *text, const char *prefix)
{
        return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool check_fields(struct line *line, DAT_PROVIDER_INFO *info)
{
        char *const *fields = line->fields;
        const char *version = strchr(fields[CONF_PROVIDER_VERSION], '.');
        DAT_UINT32 ignored;

        if (strlen(fields[CONF_IA_NAME]) >= DAT_NAME_MAX_LENGTH)
                return refuse(line, CONF_IA_NAME, "longer than %d characters",
                              DAT_NAME_MAX_LENGTH - 1);
        if ((fields[CONF_API_VERSION][0] != 'u' && fields[CONF_API_VERSION][0] != 'k') ||
            !take_version(fields[CONF_API_VERSION] + 1, &info->dapl_version_major,
                          &info->dapl_version_minor))
                return refuse(line, CONF_API_VERSION, "\"%.60s\" is not of the form u1.2",
                              fields[CONF_API_VERSION]);
        if (!has_prefix(fields[CONF_THREAD_SAFETY], "threadsafe") &&
            !has_prefix(fields[CONF_THREAD_SAFETY], "nonthreadsafe"))
                return refuse(line, CONF_THREAD_SAFETY,
                              "\"%.60s\" is neither threadsafe nor nonthreadsafe",
                              fields[CONF_THREAD_SAFETY]);
        if (!has_prefix(fields[CONF_DEFAULT], "default") &&
            !has_prefix(fields[CONF_DEFAULT], "nondefault"))
                return refuse(line, CONF_DEFAULT, "\"%.60s\" is neither default nor nondefault",
                              fields[CONF_DEFAULT]);
        if (!version || version == fields[CONF_PROVIDER_VERSION] ||
            !take_version(version + 1, &ignored, &ignored))
                return refuse(line, CONF_PROVIDER_VERSION, "\"%.60s\" is not of the form id.1.2",
                              fields[CONF_PROVIDER_VERSION]);
        memcpy(info->ia_name, fields[CONF_IA_NAME], strlen(fields[CONF_IA_NAME]) + 1);
        info->is_thread_safe = has_prefix(fields[CONF_THREAD_SAFETY], "threadsafe");
        return true;
}

/* Make an entry of text. Sets *entry, to NULL where the line is blank or does not concern us. */
static bool parse(struct line *line, struct conf_entry **entry)
{
        DAT_PROVIDER_INFO info = {0};

        *entry = NULL;
        if (!split(line))
                return false;
        if (!line->fields[CONF_IA_NAME])
                return true;
        if (!check_fields(line, &info))
                return false;
        if (line->fields[CONF_API_VERSION][0] != 'u' ||
            has_prefix(line->fields[CONF_DEFAULT], "non"))
                return true;
        *entry = calloc(1, sizeof(**entry));
        if (!*entry)
                return refuse(line, 0, "out of memory");
        (*entry)->info = info;
        (*entry)->library = strdup(line->fields[CONF_LIBRARY]);
        (*entry)->ia_params = strdup(line->fields[CONF_IA_PARAMS]);
        if ((*entry)->library && (*entry)->ia_params)
                return true;
        conf_free(*entry);
        *entry = NULL;
        return refuse(line, 0, "out of memory");
}

struct conf_entry *conf_read(FILE *file, conf_complain complain, void *context)
{
        struct conf_entry *first = NULL;
        struct conf_entry **last = &first;
        char *text = NULL;
        size_t size = 0;
        ssize_t length;

        errno = 0;
        for (unsigned int number = 1; (length = getline(&text, &size, file)) >= 0; number++) {
                struct line line = {.at = text, .end = text + length};

                if (line.end > text && line.end[-1] == '\n')
                        line.end--;
                if (line.end > text && line.end[-1] == '\r')
                        line.end--;
                /* A field takes its characters and a null; all but one have a blank before. */
                line.copy = malloc((size_t)length + 2);
                if (!line.copy)
                        break;
                if (!parse(&line, last))
                        complain(context, number, line.bad_field, line.reason);
                free(line.copy);
                if (*last) {
                        (*last)->line = number;
                        last = &(*last)->next;
                }
        }
        if (!feof(file))
                complain(context, 0, 0, strerror(errno));
        free(text);
        return first;
}

void conf_free(struct conf_entry *entries)
{
        while (entries) {
                struct conf_entry *next = entries->next;

                free(entries->library);
                free(entries->ia_params);
                free(entries);
                entries = next;
        }
}
