/* SPDX-License-Identifier: BSD-2-Clause */
/* The file dat.conf: one entry per line, eight fields. README.md has the grammar. */

#ifndef LIBDAT_DAT_CONF_H
#define LIBDAT_DAT_CONF_H

#include <dat/dat.h>
#include <stdio.h>

enum conf_field {
        CONF_IA_NAME = 1,
        CONF_API_VERSION,
        CONF_THREAD_SAFETY,
        CONF_DEFAULT,
        CONF_LIBRARY,
        CONF_PROVIDER_VERSION,
        CONF_IA_PARAMS,
        CONF_PLATFORM_PARAMS,
};
#define CONF_FIELDS CONF_PLATFORM_PARAMS

/* A line that offers a user-level, default library for an IA. */
struct conf_entry {
        DAT_PROVIDER_INFO info;
        char *library;
        char *ia_params;
        unsigned int line;
        struct conf_entry *next;
};

/* Where and why a line was skipped. Field 0 is the line as a whole. */
typedef void (*conf_complain)(void *context, unsigned int line, unsigned int field,
                              const char *reason);

/*
 * Read entries until end of file. Lines that are valid but for the kernel or not default leave
 * nothing. Returns the entries in file order, or NULL where there are none; complain() is told of
 * each line skipped, and of a failing read.
 */
struct conf_entry *conf_read(FILE *file, conf_complain complain, void *context);

void conf_free(struct conf_entry *entries);

/* What is in the field, an enum conf_field. */
const char *conf_field_name(unsigned int field);

#endif
