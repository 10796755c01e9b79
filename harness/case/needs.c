/* SPDX-License-Identifier: BSD-2-Clause */
#include "case/needs.h"

#include <stdio.h>
#include <string.h>

/*
 * A feature is declared when its attribute is not 0. The counts (srq_info_supported, say) can be
 * read as "how many of the two" or as a mask of them; a value that says "one" does not say which,
 * so any value but 0 declares both, and a case lives with DAT_VALUE_UNKNOWN, which the pages allow
 * at any time. No attribute speaks of an EP's high watermarks alone: they go with the SRQ's.
 * A feature of SRQs is absent where SRQs are.
 */
static const struct need_row {
        const char *name;
        const char *attribute;
        size_t offset;
        enum need need;
        bool of_srq;
} rows[] = {
#define ROW(need_, name_, attribute_, of_srq_)                                                     \
        {                                                                                          \
                name_, #attribute_, offsetof(DAT_PROVIDER_ATTR, attribute_), NEED_##need_, of_srq_ \
        }
    ROW(SRQ, "srq_supported", srq_supported, false),
    ROW(SRQ_WATERMARKS, "srq_watermarks_supported", srq_watermarks_supported, true),
    ROW(SRQ_INFO_AVAILABLE, "srq_info_available_supported", srq_info_supported, true),
    ROW(SRQ_INFO_OUTSTANDING, "srq_info_outstanding_supported", srq_info_supported, true),
    ROW(SRQ_PZ_DIFFERENCE, "srq_pz_difference_supported", srq_ep_pz_difference_supported, true),
    ROW(EP_RECV_INFO, "ep_recv_info_supported", ep_recv_info_supported, false),
    ROW(EP_WATERMARKS, "ep_watermarks_supported", srq_watermarks_supported, false),
    ROW(THREAD_SAFE, "thread_safe_supported", is_thread_safe, false),
#undef ROW
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

static int value(const struct need_row *row, const DAT_PROVIDER_ATTR *attr)
{
        int value;

        memcpy(&value, (const char *)attr + row->offset, sizeof(value));
        return value;
}

/* The row whose attribute says that this feature is absent, or NULL. */
static const struct need_row *denied_by(const struct need_row *row, const DAT_PROVIDER_ATTR *attr)
{
        if (row->of_srq && value(&rows[0], attr) == 0)
                return &rows[0];
        return value(row, attr) == 0 ? row : NULL;
}

json_t *needs_json(unsigned int needs)
{
        json_t *list = json_array();

        for (size_t i = 0; i < ROW_COUNT; i++)
                if (needs & rows[i].need)
                        json_array_append_new(list, json_string(rows[i].name));
        return list;
}

json_t *needs_declared_json(const DAT_PROVIDER_ATTR *attr)
{
        json_t *object = json_object();

        for (size_t i = 0; i < ROW_COUNT; i++)
                json_object_set_new(object, rows[i].name, json_boolean(!denied_by(&rows[i], attr)));
        return object;
}

bool needs_missing(unsigned int needs, const DAT_PROVIDER_ATTR *attr, char *text, size_t size)
{
        for (size_t i = 0; i < ROW_COUNT; i++) {
                const struct need_row *denied = NULL;

                if (needs & rows[i].need)
                        denied = denied_by(&rows[i], attr);
                if (denied) {
                        snprintf(text, size, "%s = %d", denied->attribute, value(denied, attr));
                        return true;
                }
        }
        return false;
}

void needs_declaration(unsigned int needs, const DAT_PROVIDER_ATTR *attr, char *text, size_t size)
{
        size_t used = 0;

        text[0] = '\0';
        for (size_t i = 0; i < ROW_COUNT && used < size; i++)
                if (needs & rows[i].need)
                        used += (size_t)snprintf(text + used, size - used, "%s%s = %d",
                                                 used ? ", " : "", rows[i].attribute,
                                                 value(&rows[i], attr));
}
