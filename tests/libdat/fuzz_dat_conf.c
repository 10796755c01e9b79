/* SPDX-License-Identifier: BSD-2-Clause */
/* libFuzzer target: any bytes at all are a dat.conf that can be read. */

#include "dat_conf.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)          \
        do {                      \
                if (!(condition)) \
                        abort();  \
        } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_complaint(void *context, unsigned int line, unsigned int field,
                            const char *reason)
{
        unsigned int *last = context;

        CHECK(line > *last);
        CHECK(field <= CONF_FIELDS);
        CHECK(reason[0]);
        for (; *reason; reason++)
                CHECK(*reason >= ' ' && *reason <= '~');
        *last = line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        FILE *file = fmemopen((void *)data, size, "r");
        struct conf_entry *entries;
        unsigned int complained = 0;
        unsigned int line = 0;

        if (!file)
                return 0;
        entries = conf_read(file, check_complaint, &complained);
        fclose(file);
        for (const struct conf_entry *e = entries; e; e = e->next) {
                CHECK(e->line > line);
                CHECK(memchr(e->info.ia_name, '\0', sizeof(e->info.ia_name)));
                CHECK(e->info.is_thread_safe == DAT_TRUE || e->info.is_thread_safe == DAT_FALSE);
                /* Neither can be longer than what they were read from. */
                CHECK(strlen(e->library) + strlen(e->ia_params) < size);
                line = e->line;
        }
        conf_free(entries);
        return 0;
}
