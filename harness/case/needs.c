/* SPDX-License-Identifier: BSD-2-Clause */
#include "case/needs.h"

#include <stdio.h>
#include <string.h>

#include "case/transport.h"
#include "case/value_name.h"

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
        size_t mirror; /* of the other half of a symmetric attribute; 0: it has none */
        uint64_t need;
        bool of_srq;
        int bits;             /* that are to be set; 0: any will do */
        const char *names;    /* the type that names the values of `bits` */
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
#define FLAG(flag_, name_)                                                                 \
        {                                                                                  \
                ATTRIBUTE(flag_##_FLAG, name_, completion_flags_supported),                \
                    .bits = DAT_COMPLETION_##flag_##_FLAG, .names = "DAT_COMPLETION_FLAGS" \
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
#define MERGED(need_, name_, one_, other_)                                                      \
        {                                                                                       \
                ATTRIBUTE(MERGED_##need_, name_, evd_stream_merging_supported[one_][other_]),   \
                    .mirror =                                                                   \
                        offsetof(DAT_PROVIDER_ATTR, evd_stream_merging_supported[other_][one_]) \
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
     .bits = DAT_MEM_TYPE_LMR, .names = "DAT_MEM_TYPE"},
    {ATTRIBUTE(MEM_TYPE_SHARED, "mem_type_shared_supported", lmr_mem_types_supported),
     .bits = DAT_MEM_TYPE_SHARED_VIRTUAL, .names = "DAT_MEM_TYPE"},
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

static bool is_unwritten(size_t offset, const struct probe *probe)
{
        for (size_t i = 0; i < sizeof(int); i++)
                if (!probe->provider_unwritten[offset + i])
                        return false;
        return true;
}

static bool is_untold(const struct need_row *row, const struct probe *probe)
{
        return !row->absent && is_unwritten(row->offset, probe);
}

enum standing { DECLARED, DENIED, UNKNOWN };

/* What is known of a feature by its own row. */
static enum standing standing_of(const struct need_row *row, const struct probe *probe,
                                 const struct found_features *found)
{
        if (!is_untold(row, probe))
                return denies(row, &probe->provider_attr) ? DENIED : DECLARED;
        if (found->present & row->need)
                return DECLARED;
        return found->absent & row->need ? DENIED : UNKNOWN;
}

/* The row that decides: the feature's own, or that of SRQs where they are not declared. */
static const struct need_row *decider(const struct need_row *row, const struct probe *probe,
                                      const struct found_features *found)
{
        return row->of_srq && standing_of(&rows[0], probe, found) != DECLARED ? &rows[0] : row;
}

json_t *needs_json(uint64_t needs)
{
        json_t *list = json_array();

        for (size_t i = 0; i < ROW_COUNT; i++)
                if (needs & rows[i].need)
                        json_array_append_new(list, json_string(rows[i].name));
        return list;
}

const char *need_name(uint64_t need)
{
        for (size_t i = 0; i < ROW_COUNT; i++)
                if (rows[i].need == need)
                        return rows[i].name;
        return "";
}

uint64_t need_named(const char *name)
{
        for (size_t i = 0; i < ROW_COUNT; i++)
                if (!rows[i].absent && strcmp(rows[i].name, name) == 0)
                        return rows[i].need;
        return 0;
}

/* What the entry declares of this feature: safety under threads is the threadsafe one's. */
static const struct probe *entry_of(const struct need_row *row, const struct probe *probe,
                                    const struct probe *threadsafe)
{
        return row->need & NEED_THREAD_SAFE ? threadsafe : probe;
}

uint64_t needs_unwritten(const struct probe *probe, const struct probe *threadsafe)
{
        uint64_t needs = 0;

        for (size_t i = 0; i < ROW_COUNT; i++)
                if (is_untold(&rows[i], entry_of(&rows[i], probe, threadsafe)))
                        needs |= rows[i].need;
        return needs;
}

json_t *needs_declared_json(const struct probe *probe, const struct probe *threadsafe,
                            const struct found_features *found)
{
        json_t *object = json_object();

        for (size_t i = 0; i < ROW_COUNT; i++) {
                const struct probe *by = entry_of(&rows[i], probe, threadsafe);
                enum standing standing = standing_of(decider(&rows[i], by, found), by, found);

                if (standing != UNKNOWN)
                        json_object_set_new(object, rows[i].name,
                                            json_boolean(standing == DECLARED));
        }
        return object;
}

/* How it became known what an attribute does not tell. */
static const char *found_by(const struct need_row *row, const struct found_features *found)
{
        return found->assumed & row->need ? "assumed by --assume" : "found out by trying";
}

/*
 * "srq_supported = 0"; a flag that is not among others, and what no attribute tells, are named by
 * their feature.
 */
static void describe(const struct need_row *row, const struct probe *probe,
                     const struct found_features *found, char *text, size_t size)
{
        int said = value(row, &probe->provider_attr);

        if (is_untold(row, probe))
                snprintf(text, size, "%s = %d: %s", row->name, (found->present & row->need) != 0,
                         found_by(row, found));
        else if (row->names && denies(row, &probe->provider_attr))
                snprintf(text, size, "%s = %s: no %s", row->attribute,
                         value_names(&(struct value_text){.length = 0}, row->names, (uint32_t)said),
                         row->name);
        else
                snprintf(text, size, "%s = %d", row->attribute, said);
}

/* The row of the first needed feature that stands so, or the one that decides it; or NULL. */
static const struct need_row *first_that(uint64_t needs, enum standing standing,
                                         const struct probe *probe,
                                         const struct found_features *found)
{
        for (size_t i = 0; i < ROW_COUNT; i++) {
                const struct need_row *row = decider(&rows[i], probe, found);

                if ((needs & rows[i].need) && standing_of(row, probe, found) == standing)
                        return row;
        }
        return NULL;
}

bool needs_missing(uint64_t needs, const struct probe *probe, const struct found_features *found,
                   char *text, size_t size)
{
        const struct need_row *denied = first_that(needs, DENIED, probe, found);

        if (denied)
                describe(denied, probe, found, text, size);
        return denied;
}

static const char *why_unknown(const struct need_row *row, const struct found_features *found)
{
        for (size_t i = 0; i < found->count; i++)
                if (found->features[i].need == row->need)
                        return found->features[i].how;
        return "";
}

bool needs_untold(uint64_t needs, const struct probe *probe, const struct found_features *found,
                  char *text, size_t size)
{
        const struct need_row *untold = first_that(needs, UNKNOWN, probe, found);

        if (untold)
                snprintf(text, size,
                         "dat_ia_query left %s unwritten, and it is not known whether the feature "
                         "is there%s%s",
                         untold->attribute, *why_unknown(untold, found) ? ": " : "",
                         why_unknown(untold, found));
        return untold;
}

static void write_value(DAT_PROVIDER_ATTR *attr, size_t offset, int value)
{
        memcpy((char *)attr + offset, &value, sizeof(value));
}

/* Two features of one attribute leave in it what says that either is there. */
static void fill_in(const struct need_row *row, DAT_PROVIDER_ATTR *attr, const struct probe *probe,
                    const struct found_features *found)
{
        if (found->present & row->need) {
                if (denies(row, attr))
                        write_value(attr, row->offset,
                                    row->bits ? value(row, attr) | row->bits : 1);
                if (row->mirror && is_unwritten(row->mirror, probe))
                        write_value(attr, row->mirror, 1);
        } else if ((found->absent & row->need) && row->denied) {
                write_value(attr, row->offset, row->denied);
        }
}

void needs_fill_in(DAT_PROVIDER_ATTR *attr, const struct probe *probe,
                   const struct found_features *found)
{
        for (size_t i = 0; i < ROW_COUNT; i++)
                if (is_untold(&rows[i], probe))
                        write_value(attr, rows[i].offset, 0);
        for (size_t i = 0; i < ROW_COUNT; i++)
                if (is_untold(&rows[i], probe))
                        fill_in(&rows[i], attr, probe, found);
}

void needs_declaration(uint64_t needs, const struct probe *probe,
                       const struct found_features *found, char *text, size_t size)
{
        size_t used = 0;

        text[0] = '\0';
        for (size_t i = 0; i < ROW_COUNT && used < size; i++) {
                char one[NEED_TEXT_MAX];

                if (!(needs & rows[i].need))
                        continue;
                describe(&rows[i], probe, found, one, sizeof(one));
                used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", one);
        }
}
