/* SPDX-License-Identifier: BSD-2-Clause */
#include "case/needs.h"
#include "case/transport.h"

#include <stdio.h>
#include <string.h>

/*
 * A feature is declared when its attribute is not 0. The counts (srq_info_supported, say) can be
 * read as "how many of the two" or as a mask of them; a value that says "one" does not say which,
 * so any value but 0 declares both, and a case lives with DAT_VALUE_UNKNOWN, which the pages allow
 * at any time. No attribute speaks of an EP's high watermarks alone: they go with the SRQ's.
 * A feature of SRQs is absent where SRQs are. What the transport has not, the host's kernel tells.
 */
static const struct need_row {
        const char *name;
        const char *attribute;
        size_t offset;
        uint64_t need;
        bool of_srq;
        int bits;             /* that are to be set; 0: any will do */
        int denied;           /* the value that says that it is absent */
        bool (*absent)(void); /* asked instead of an attribute */
} rows[] = {
#define ATTRIBUTE(need_, name_, attribute_)        \
        .name = (name_), .attribute = #attribute_, \
        .offset = offsetof(DAT_PROVIDER_ATTR, attribute_), .need = NEED_##need_
    {ATTRIBUTE(SRQ, "srq_supported", srq_supported)},
    {ATTRIBUTE(SRQ_WATERMARKS, "srq_watermarks_supported", srq_watermarks_supported),
     .of_srq = true},
    {ATTRIBUTE(SRQ_INFO_AVAILABLE, "srq_info_available_supported", srq_info_supported),
     .of_srq = true},
    {ATTRIBUTE(SRQ_INFO_OUTSTANDING, "srq_info_outstanding_supported", srq_info_supported),
     .of_srq = true},
    {ATTRIBUTE(SRQ_PZ_DIFFERENCE, "srq_pz_difference_supported", srq_ep_pz_difference_supported),
     .of_srq = true},
    {ATTRIBUTE(EP_RECV_INFO, "ep_recv_info_supported", ep_recv_info_supported)},
    {ATTRIBUTE(EP_WATERMARKS, "ep_watermarks_supported", srq_watermarks_supported)},
    {ATTRIBUTE(THREAD_SAFE, "thread_safe_supported", is_thread_safe)},
#define FLAG(flag_, name_)                                                  \
        {                                                                   \
                ATTRIBUTE(flag_##_FLAG, name_, completion_flags_supported), \
                    .bits = DAT_COMPLETION_##flag_##_FLAG                   \
        }
    FLAG(SUPPRESS, "suppress_flag_supported"),
    FLAG(SOLICITED_WAIT, "solicited_wait_flag_supported"),
    FLAG(UNSIGNALLED, "unsignalled_flag_supported"),
    FLAG(BARRIER_FENCE, "barrier_fence_flag_supported"),
    FLAG(EVD_THRESHOLD, "evd_threshold_flag_supported"),
#undef FLAG
    {ATTRIBUTE(PROVIDER_MADE_EP, "provider_made_ep_supported", ep_creator),
     .denied = DAT_PSP_CREATES_EP_NEVER},
    {ATTRIBUTE(CONSUMER_MADE_EP, "consumer_made_ep_supported", ep_creator),
     .denied = DAT_PSP_CREATES_EP_ALWAYS},
/* Rows and columns of the attribute are the streams in the order of their flags. */
#define MERGED(need_, name_, one_, other_)                                                   \
        {                                                                                    \
                ATTRIBUTE(MERGED_##need_, name_, evd_stream_merging_supported[one_][other_]) \
        }
    MERGED(SOFTWARE_CR, "merged_software_cr_supported", 0, 1),
    MERGED(SOFTWARE_DTO, "merged_software_dto_supported", 0, 2),
    MERGED(SOFTWARE_CONNECTION, "merged_software_connection_supported", 0, 3),
    MERGED(SOFTWARE_RMR_BIND, "merged_software_rmr_bind_supported", 0, 4),
    MERGED(SOFTWARE_ASYNC, "merged_software_async_supported", 0, 5),
    MERGED(CR_DTO, "merged_cr_dto_supported", 1, 2),
    MERGED(CR_CONNECTION, "merged_cr_connection_supported", 1, 3),
    MERGED(CR_RMR_BIND, "merged_cr_rmr_bind_supported", 1, 4),
    MERGED(CR_ASYNC, "merged_cr_async_supported", 1, 5),
    MERGED(DTO_CONNECTION, "merged_dto_connection_supported", 2, 3),
    MERGED(DTO_RMR_BIND, "merged_dto_rmr_bind_supported", 2, 4),
    MERGED(DTO_ASYNC, "merged_dto_async_supported", 2, 5),
    MERGED(CONNECTION_RMR_BIND, "merged_connection_rmr_bind_supported", 3, 4),
    MERGED(CONNECTION_ASYNC, "merged_connection_async_supported", 3, 5),
    MERGED(RMR_BIND_ASYNC, "merged_rmr_bind_async_supported", 4, 5),
#undef MERGED
    {ATTRIBUTE(MEM_TYPE_LMR, "mem_type_lmr_supported", lmr_mem_types_supported),
     .bits = DAT_MEM_TYPE_LMR},
    {ATTRIBUTE(MEM_TYPE_SHARED, "mem_type_shared_supported", lmr_mem_types_supported),
     .bits = DAT_MEM_TYPE_SHARED_VIRTUAL},
#undef ATTRIBUTE
    {.name = "end_to_end_completion_supported",
     .attribute = "transport_is_iwarp",
     .need = NEED_END_TO_END_COMPLETION,
     .absent = host_is_iwarp},
    {.name = "remote_read_protection_supported",
     .attribute = "transport_is_siw",
     .need = NEED_REMOTE_READ_PROTECTION,
     .absent = host_is_siw},
    {.name = "srq_flush_of_taken_supported",
     .attribute = "transport_drops_taken",
     .need = NEED_SRQ_FLUSH_OF_TAKEN,
     .absent = host_drops_taken},
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

static int value(const struct need_row *row, const DAT_PROVIDER_ATTR *attr)
{
        int value;

        if (row->absent)
                return row->absent();
        memcpy(&value, (const char *)attr + row->offset, sizeof(value));
        return value;
}

static bool denies(const struct need_row *row, const DAT_PROVIDER_ATTR *attr)
{
        int said = value(row, attr);

        if (row->absent)
                return said;
        return row->bits ? (said & row->bits) != row->bits : said == row->denied;
}

/* The row whose attribute says that this feature is absent, or NULL. */
static const struct need_row *denied_by(const struct need_row *row, const DAT_PROVIDER_ATTR *attr)
{
        if (row->of_srq && denies(&rows[0], attr))
                return &rows[0];
        return denies(row, attr) ? row : NULL;
}

json_t *needs_json(uint64_t needs)
{
        json_t *list = json_array();

        for (size_t i = 0; i < ROW_COUNT; i++)
                if (needs & rows[i].need)
                        json_array_append_new(list, json_string(rows[i].name));
        return list;
}

/* "srq_supported = 0"; a flag that is not among others is named by its feature. */
static void describe(const struct need_row *row, const DAT_PROVIDER_ATTR *attr, char *text,
                     size_t size)
{
        if (row->bits)
                snprintf(text, size, "%s = 0x%x: no %s", row->attribute, value(row, attr),
                         row->name);
        else
                snprintf(text, size, "%s = %d", row->attribute, value(row, attr));
}

bool needs_missing(uint64_t needs, const DAT_PROVIDER_ATTR *attr, char *text, size_t size)
{
        for (size_t i = 0; i < ROW_COUNT; i++) {
                const struct need_row *denied = NULL;

                if (needs & rows[i].need)
                        denied = denied_by(&rows[i], attr);
                if (denied) {
                        describe(denied, attr, text, size);
                        return true;
                }
        }
        return false;
}

static bool is_untold(const struct need_row *row, const bool *unwritten)
{
        bool untold = !row->absent;

        for (size_t i = 0; untold && i < sizeof(int); i++)
                untold &= unwritten[row->offset + i];
        return untold;
}

/* Whether what tells of this feature, or of all SRQs, was never written. */
static bool is_untold_of(const struct need_row *row, const bool *unwritten)
{
        return is_untold(row, unwritten) || (row->of_srq && is_untold(&rows[0], unwritten));
}

json_t *needs_declared_json(const DAT_PROVIDER_ATTR *attr, const DAT_PROVIDER_ATTR *threadsafe,
                            const bool *unwritten)
{
        json_t *object = json_object();

        for (size_t i = 0; i < ROW_COUNT; i++) {
                const DAT_PROVIDER_ATTR *by = rows[i].need & NEED_THREAD_SAFE ? threadsafe : attr;

                if (!is_untold_of(&rows[i], unwritten))
                        json_object_set_new(object, rows[i].name,
                                            json_boolean(!denied_by(&rows[i], by)));
        }
        return object;
}

bool needs_untold(uint64_t needs, const bool *unwritten, char *text, size_t size)
{
        for (size_t i = 0; i < ROW_COUNT; i++) {
                if ((needs & rows[i].need) && is_untold_of(&rows[i], unwritten)) {
                        snprintf(text, size, "%s", rows[i].attribute);
                        return true;
                }
        }
        return false;
}

void needs_declaration(uint64_t needs, const DAT_PROVIDER_ATTR *attr, char *text, size_t size)
{
        size_t used = 0;

        text[0] = '\0';
        for (size_t i = 0; i < ROW_COUNT && used < size; i++)
                if (needs & rows[i].need)
                        used += (size_t)snprintf(text + used, size - used, "%s%s = %d",
                                                 used ? ", " : "", rows[i].attribute,
                                                 value(&rows[i], attr));
}
