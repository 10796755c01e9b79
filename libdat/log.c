/* SPDX-License-Identifier: BSD-2-Clause */

#include "log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long wanted = LOG_WARNING;

static void read_environment(void)
{
        const char *text = getenv("DAT_DBG_TYPE");
        char *end;
        unsigned long topics;

        if (!text || !*text)
                return;
        topics = strtoul(text, &end, 0);
        if (!*end)
                wanted = topics;
}

void log_line(enum log_topic topic, const char *format, ...)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        char text[1024];
        va_list args;

        pthread_once(&once, read_environment);
        if (!(wanted & topic))
                return;
        va_start(args, format);
        vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        /* One call, so that lines of several threads do not mix. */
        fprintf(stderr, "libdat: %s\n", text);
}
