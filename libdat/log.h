/* SPDX-License-Identifier: BSD-2-Clause */
/* What libdat says on stderr; DAT_DBG_TYPE chooses, as a sum of these. Warnings are the default. */

#ifndef LIBDAT_LOG_H
#define LIBDAT_LOG_H

enum log_topic {
        LOG_WARNING = 0x1,
        LOG_LIBRARIES = 0x4,
        LOG_REGISTRY = 0x8,
};

/* Print one line, "libdat: " before it, where the topic is wanted. */
void log_line(enum log_topic topic, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
