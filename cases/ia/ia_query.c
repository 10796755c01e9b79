/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ia_query: each attribute by its own bit, and whether what is published is true. */
#include "clauses/ia_query.h"
#include "case/poison.h"
#include "cases/pz/shared/zone.h"
#include "cases/shared/loop.h"

#include <string.h>
#include <sys/mman.h>

#define MOST         512 /* objects at once */
#define MOST_PER_SRQ 128 /* EPs */
#define READERS      8   /* EPs */
#define MOST_BYTES   ((DAT_VLEN)8 << 20)
#define LEAST_DATA   64 /* bytes of private data that each provider takes */
#define MOST_DATA    4096
#define MANY         100 /* queries */
#define THREADS      3
#define MET          3 /* rounds in which their calls met are enough */
#define STREAMS      6

/* What a query gives. */
struct answer {
        DAT_EVD_HANDLE async;
        DAT_IA_ATTR ia;
        DAT_PROVIDER_ATTR provider;
};

/* A query into memory that has this byte everywhere. */
static void ask(struct test *t, unsigned char before, uint64_t ia_mask, uint64_t provider_mask,
                struct answer *answer)
{
        memset((void *)answer, before, sizeof(*answer));
        expect(dat_ia_query(ia(t), &answer->async, (DAT_IA_ATTR_MASK)ia_mask, &answer->ia,
                            (DAT_PROVIDER_ATTR_MASK)provider_mask, &answer->provider),
               DAT_SUCCESS);
}

static void ask_all(struct test *t, struct answer *answer)
{
        ask(t, POISON, DAT_IA_FIELD_ALL, DAT_PROVIDER_FIELD_ALL, answer);
}

/*
 * Fields
 */

enum kind {
        NUMBER,
        STRING,
        ADDRESS,
        NAMED,
};

struct field {
        const char *id;
        uint64_t bit;
        size_t offset, size; /* the size is of numbers and strings */
        enum kind kind;
        size_t count_at; /* where the number of named attributes stands */
};

#define IA_FIELD(name_, bit_, kind_)                                          \
        {                                                                     \
#name_, DAT_IA_FIELD_IA_##bit_, offsetof(DAT_IA_ATTR, name_), \
                    sizeof(((DAT_IA_ATTR *)0)->name_), kind_, 0               \
        }
#define IA_NAMED(name_, bit_)                                                           \
        {                                                                               \
#name_, DAT_IA_FIELD_IA_##bit_, offsetof(DAT_IA_ATTR, name_), 0, NAMED, \
                    offsetof(DAT_IA_ATTR, num_##name_)                                  \
        }
#define PROVIDER_FIELD(name_, bit_, kind_)                                             \
        {                                                                              \
#name_, DAT_PROVIDER_FIELD_##bit_, offsetof(DAT_PROVIDER_ATTR, name_), \
                    sizeof(((DAT_PROVIDER_ATTR *)0)->name_), kind_, 0                  \
        }

static const struct field ia_fields[] = {
    IA_FIELD(adapter_name, ADAPTER_NAME, STRING),
    IA_FIELD(vendor_name, VENDOR_NAME, STRING),
    IA_FIELD(hardware_version_major, HARDWARE_MAJOR_VERSION, NUMBER),
    IA_FIELD(hardware_version_minor, HARDWARE_MINOR_VERSION, NUMBER),
    IA_FIELD(firmware_version_major, FIRMWARE_MAJOR_VERSION, NUMBER),
    IA_FIELD(firmware_version_minor, FIRMWARE_MINOR_VERSION, NUMBER),
    {"ia_address_ptr", DAT_IA_FIELD_IA_ADDRESS_PTR, offsetof(DAT_IA_ATTR, ia_address_ptr), 0,
     ADDRESS, 0},
    IA_FIELD(max_eps, MAX_EPS, NUMBER),
    IA_FIELD(max_dto_per_ep, MAX_DTO_PER_EP, NUMBER),
    IA_FIELD(max_rdma_read_per_ep_in, MAX_RDMA_READ_PER_EP_IN, NUMBER),
    IA_FIELD(max_rdma_read_per_ep_out, MAX_RDMA_READ_PER_EP_OUT, NUMBER),
    IA_FIELD(max_evds, MAX_EVDS, NUMBER),
    IA_FIELD(max_evd_qlen, MAX_EVD_QLEN, NUMBER),
    IA_FIELD(max_iov_segments_per_dto, MAX_IOV_SEGMENTS_PER_DTO, NUMBER),
    IA_FIELD(max_lmrs, MAX_LMRS, NUMBER),
    IA_FIELD(max_lmr_block_size, MAX_LMR_BLOCK_SIZE, NUMBER),
    IA_FIELD(max_lmr_virtual_address, MAX_LMR_VIRTUAL_ADDRESS, NUMBER),
    IA_FIELD(max_pzs, MAX_PZS, NUMBER),
    IA_FIELD(max_message_size, MAX_MESSAGE_SIZE, NUMBER),
    IA_FIELD(max_rdma_size, MAX_RDMA_SIZE, NUMBER),
    IA_FIELD(max_rmrs, MAX_RMRS, NUMBER),
    IA_FIELD(max_rmr_target_address, MAX_RMR_TARGET_ADDRESS, NUMBER),
    IA_FIELD(max_srqs, MAX_SRQS, NUMBER),
    IA_FIELD(max_ep_per_srq, MAX_EP_PER_SRQ, NUMBER),
    IA_FIELD(max_recv_per_srq, MAX_RECV_PER_SRQ, NUMBER),
    IA_FIELD(max_iov_segments_per_rdma_read, MAX_IOV_SEGMENTS_PER_RDMA_READ, NUMBER),
    IA_FIELD(max_iov_segments_per_rdma_write, MAX_IOV_SEGMENTS_PER_RDMA_WRITE, NUMBER),
    IA_FIELD(max_rdma_read_in, MAX_RDMA_READ_IN, NUMBER),
    IA_FIELD(max_rdma_read_out, MAX_RDMA_READ_OUT, NUMBER),
    IA_FIELD(max_rdma_read_per_ep_in_guaranteed, MAX_RDMA_READ_PER_EP_IN_GUARANTEED, NUMBER),
    IA_FIELD(max_rdma_read_per_ep_out_guaranteed, MAX_RDMA_READ_PER_EP_OUT_GUARANTEED, NUMBER),
    IA_FIELD(num_transport_attr, NUM_TRANSPORT_ATTR, NUMBER),
    IA_NAMED(transport_attr, TRANSPORT_ATTR),
    IA_FIELD(num_vendor_attr, NUM_VENDOR_ATTR, NUMBER),
    IA_NAMED(vendor_attr, VENDOR_ATTR),
};

static const struct field provider_fields[] = {
    PROVIDER_FIELD(provider_name, PROVIDER_NAME, STRING),
    PROVIDER_FIELD(provider_version_major, PROVIDER_VERSION_MAJOR, NUMBER),
    PROVIDER_FIELD(provider_version_minor, PROVIDER_VERSION_MINOR, NUMBER),
    PROVIDER_FIELD(dapl_version_major, DAPL_VERSION_MAJOR, NUMBER),
    PROVIDER_FIELD(dapl_version_minor, DAPL_VERSION_MINOR, NUMBER),
    PROVIDER_FIELD(lmr_mem_types_supported, LMR_MEM_TYPE_SUPPORTED, NUMBER),
    PROVIDER_FIELD(iov_ownership_on_return, IOV_OWNERSHIP, NUMBER),
    PROVIDER_FIELD(dat_qos_supported, DAT_QOS_SUPPORTED, NUMBER),
    PROVIDER_FIELD(completion_flags_supported, COMPLETION_FLAGS_SUPPORTED, NUMBER),
    PROVIDER_FIELD(is_thread_safe, IS_THREAD_SAFE, NUMBER),
    PROVIDER_FIELD(max_private_data_size, MAX_PRIVATE_DATA_SIZE, NUMBER),
    PROVIDER_FIELD(supports_multipath, SUPPORTS_MULTIPATH, NUMBER),
    PROVIDER_FIELD(ep_creator, EP_CREATOR, NUMBER),
    PROVIDER_FIELD(pz_support, PZ_SUPPORT, NUMBER),
    PROVIDER_FIELD(optimal_buffer_alignment, OPTIMAL_BUFFER_ALIGNMENT, NUMBER),
    PROVIDER_FIELD(evd_stream_merging_supported, EVD_STREAM_MERGING_SUPPORTED, NUMBER),
    PROVIDER_FIELD(srq_supported, SRQ_SUPPORTED, NUMBER),
    PROVIDER_FIELD(srq_watermarks_supported, SRQ_WATERMARKS_SUPPORTED, NUMBER),
    PROVIDER_FIELD(srq_ep_pz_difference_supported, SRQ_EP_PZ_DIFFERENCE_SUPPORTED, NUMBER),
    PROVIDER_FIELD(srq_info_supported, SRQ_INFO_SUPPORTED, NUMBER),
    PROVIDER_FIELD(ep_recv_info_supported, EP_RECV_INFO_SUPPORTED, NUMBER),
    PROVIDER_FIELD(lmr_sync_req, LMR_SYNC_REQ, NUMBER),
    PROVIDER_FIELD(dto_async_return_guaranteed, DTO_ASYNC_RETURN_GUARANTEED, NUMBER),
    PROVIDER_FIELD(rdma_write_for_rdma_read_req, RDMA_WRITE_FOR_RDMA_READ_REQ, NUMBER),
    PROVIDER_FIELD(num_provider_specific_attr, NUM_PROVIDER_SPECIFIC_ATTR, NUMBER),
    {"provider_specific_attr", DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR,
     offsetof(DAT_PROVIDER_ATTR, provider_specific_attr), 0, NAMED,
     offsetof(DAT_PROVIDER_ATTR, num_provider_specific_attr)},
};

static bool same_named(const DAT_NAMED_ATTR *one, const DAT_NAMED_ATTR *other, DAT_COUNT count)
{
        for (DAT_COUNT i = 0; i < count; i++)
                if (strcmp(one[i].name, other[i].name) != 0 ||
                    strcmp(one[i].value, other[i].value) != 0)
                        return false;
        return true;
}

/* Whether two structures of attributes tell the same; `all` tells how many named ones there are. */
static bool is_same(const struct field *field, const void *one, const void *other, const void *all)
{
        const char *left = (const char *)one + field->offset;
        const char *right = (const char *)other + field->offset;
        const void *pointers[2];
        DAT_COUNT count;

        if (field->kind == NUMBER)
                return memcmp(left, right, field->size) == 0;
        if (field->kind == STRING)
                return strncmp(left, right, field->size) == 0;
        memcpy(&pointers[0], left, sizeof(pointers[0]));
        memcpy(&pointers[1], right, sizeof(pointers[1]));
        if (field->kind == ADDRESS)
                return memcmp(pointers[0], pointers[1], sizeof(struct sockaddr)) == 0;
        memcpy(&count, (const char *)all + field->count_at, sizeof(count));
        return same_named(pointers[0], pointers[1], count);
}

/* Asked for alone and with all others, into memory of two kinds: what is told is the same. */
FAMILY(ia_query, ia_field, ia_fields)
{
        struct answer alone, again, all;

        ask(t, POISON, row->bit, DAT_PROVIDER_FIELD_NONE, &alone);
        ask(t, (unsigned char)~POISON, row->bit, DAT_PROVIDER_FIELD_NONE, &again);
        ask_all(t, &all);

        expect_that(is_same(row, &alone.ia, &again.ia, &all.ia), "%s is not written", row->id);
        expect_that(is_same(row, &alone.ia, &all.ia, &all.ia),
                    "%s is told otherwise when all is asked for", row->id);
        ask(t, (unsigned char)~POISON, DAT_IA_FIELD_ALL, DAT_PROVIDER_FIELD_ALL, &again);
        expect_that(is_same(row, &again.ia, &all.ia, &all.ia),
                    "%s is not written when all is asked for", row->id);
}

FAMILY(ia_query, provider_field, provider_fields)
{
        struct answer alone, again, all;

        ask(t, POISON, DAT_IA_FIELD_NONE, row->bit, &alone);
        ask(t, (unsigned char)~POISON, DAT_IA_FIELD_NONE, row->bit, &again);
        ask_all(t, &all);

        expect_that(is_same(row, &alone.provider, &again.provider, &all.provider),
                    "%s is not written", row->id);
        expect_that(is_same(row, &alone.provider, &all.provider, &all.provider),
                    "%s is told otherwise when all is asked for", row->id);
        ask(t, (unsigned char)~POISON, DAT_IA_FIELD_ALL, DAT_PROVIDER_FIELD_ALL, &again);
        expect_that(is_same(row, &again.provider, &all.provider, &all.provider),
                    "%s is not written when all is asked for", row->id);
}

CASE(ia_query, async_evd)
{
        struct answer answer;

        ask_all(t, &answer);
        expect_that(answer.async == async_evd(t), "the asynchronous EVD is another");
        ask(t, POISON, DAT_IA_FIELD_NONE, DAT_PROVIDER_FIELD_NONE, &answer);
        expect_that(answer.async == async_evd(t), "the asynchronous EVD alone is another");
}

/* The same of another instance of the IA. */
static void ask_other(struct test *t, struct answer *answer)
{
        memset((void *)answer, POISON, sizeof(*answer));
        expect(dat_ia_query(other_ia(t), &answer->async, DAT_IA_FIELD_ALL, &answer->ia,
                            DAT_PROVIDER_FIELD_ALL, &answer->provider),
               DAT_SUCCESS);
}

CASE(ia_query, common_to_instances)
{
        struct answer one, other;

        ask_all(t, &one);
        ask_other(t, &other);
        expect_that(other.async != one.async, "two instances have one asynchronous EVD");
        for (size_t i = 0; i < sizeof(ia_fields) / sizeof(ia_fields[0]); i++) {
                const struct field *field = &ia_fields[i];

                expect_that(is_same(field, &one.ia, &other.ia, &one.ia),
                            "two instances of the IA tell another %s", field->id);
        }
}

/*
 * Whether it is true
 */

static void expect_name(struct test *t, const char *name, const char *told)
{
        expect_that(strncmp(told, name, DAT_NAME_MAX_LENGTH) == 0, "the adapter is %.64s, not %s",
                    told, name);
}

struct text {
        const char *id;
        const char *(*of)(const struct answer *answer);
};

static const char *adapter_of(const struct answer *answer)
{
        return answer->ia.adapter_name;
}

static const char *vendor_of(const struct answer *answer)
{
        return answer->ia.vendor_name;
}

static const char *provider_of(const struct answer *answer)
{
        return answer->provider.provider_name;
}

static const struct text texts[] = {
    {"adapter_name", adapter_of},
    {"vendor_name", vendor_of},
    {"provider_name", provider_of},
};

FAMILY(ia_query, name, texts)
{
        struct answer answer;
        size_t length;

        ask_all(t, &answer);
        length = strnlen(row->of(&answer), DAT_NAME_MAX_LENGTH);
        expect_that(length < DAT_NAME_MAX_LENGTH, "%s has no end", row->id);
        if (row->of == adapter_of)
                expect_that(length > 0, "the adapter has no name");
}

CASE(ia_query, adapter_is_ia)
{
        struct answer answer;

        ask_all(t, &answer);
        expect_name(t, ia_name(t), answer.ia.adapter_name);
        ask(t, POISON, DAT_IA_FIELD_IA_ADAPTER_NAME, DAT_PROVIDER_FIELD_NONE, &answer);
        expect_name(t, ia_name(t), answer.ia.adapter_name);
        ask_other(t, &answer);
        expect_name(t, ia_name(t), answer.ia.adapter_name);
}

static void expect_same(struct test *t, const struct answer *before, const struct answer *now)
{
        for (size_t i = 0; i < sizeof(ia_fields) / sizeof(ia_fields[0]); i++)
                expect_that(is_same(&ia_fields[i], &before->ia, &now->ia, &before->ia),
                            "%s has changed", ia_fields[i].id);
        for (size_t i = 0; i < sizeof(provider_fields) / sizeof(provider_fields[0]); i++)
                expect_that(is_same(&provider_fields[i], &before->provider, &now->provider,
                                    &before->provider),
                            "%s has changed", provider_fields[i].id);
}

CASE(ia_query, unchanged_by_use)
{
        struct answer before, now;
        DAT_HANDLE made[5];

        ask_all(t, &before);
        made[0] = pz_of(t, ia(t));
        made[1] = ep_with(t);
        made[2] = evd_with(t, .flags = DAT_EVD_SOFTWARE_FLAG);
        made[3] = buf_with(t)->lmr;
        made[4] = other_ia(t);

        ask_all(t, &now);
        expect_same(t, &before, &now);
        for (size_t i = sizeof(made) / sizeof(made[0]); i-- > 0;)
                release(t, made[i]);
        ask_all(t, &now);
        expect_same(t, &before, &now);
}

CASE(ia_query, api_version)
{
        struct answer answer;

        ask_all(t, &answer);
        expect_eq(answer.provider.dapl_version_major, DAT_VERSION_MAJOR);
        expect_eq(answer.provider.dapl_version_minor, DAT_VERSION_MINOR);
}

/* An attribute with few values: those that the header has. */
static const struct choice {
        const char *id;
        size_t offset;
        int values[4];
        size_t count;
} choices[] = {
    {"iov_ownership",
     offsetof(DAT_PROVIDER_ATTR, iov_ownership_on_return),
     {DAT_IOV_CONSUMER, DAT_IOV_PROVIDER_NOMOD, DAT_IOV_PROVIDER_MOD},
     3},
    {"ep_creator",
     offsetof(DAT_PROVIDER_ATTR, ep_creator),
     {DAT_PSP_CREATES_EP_NEVER, DAT_PSP_CREATES_EP_IFASKED, DAT_PSP_CREATES_EP_ALWAYS},
     3},
    {"pz_support", offsetof(DAT_PROVIDER_ATTR, pz_support), {DAT_PZ_UNIQUE, DAT_PZ_SHAREABLE}, 2},
    {"is_thread_safe", offsetof(DAT_PROVIDER_ATTR, is_thread_safe), {DAT_FALSE, DAT_TRUE}, 2},
    {"supports_multipath",
     offsetof(DAT_PROVIDER_ATTR, supports_multipath),
     {DAT_FALSE, DAT_TRUE},
     2},
};

FAMILY(ia_query, value, choices)
{
        struct answer answer;
        bool known = false;
        int value;

        ask_all(t, &answer);
        memcpy(&value, (const char *)&answer.provider + row->offset, sizeof(value));
        for (size_t i = 0; i < row->count; i++)
                known |= value == row->values[i];
        expect_that(known, "%s is %d", row->id, value);
}

CASE(ia_query, optimal_alignment)
{
        struct answer answer;
        DAT_UINT32 alignment;

        ask_all(t, &answer);
        alignment = answer.provider.optimal_buffer_alignment;
        expect_that(alignment > 0 && alignment <= DAT_OPTIMAL_ALIGNMENT &&
                        DAT_OPTIMAL_ALIGNMENT % alignment == 0,
                    "the optimal alignment is %u", (unsigned int)alignment);
}

CASE(ia_query, completion_flags)
{
        struct answer answer;
        unsigned int defined = DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG |
                               DAT_COMPLETION_UNSIGNALLED_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG |
                               DAT_COMPLETION_EVD_THRESHOLD_FLAG;

        ask_all(t, &answer);
        expect_eq((unsigned int)answer.provider.completion_flags_supported & ~defined, 0);
}

/* Streams in the order of the matrix. */
static const DAT_EVD_FLAGS streams[STREAMS] = {
    DAT_EVD_SOFTWARE_FLAG,   DAT_EVD_CR_FLAG,       DAT_EVD_DTO_FLAG,
    DAT_EVD_CONNECTION_FLAG, DAT_EVD_RMR_BIND_FLAG, DAT_EVD_ASYNC_FLAG,
};

CASE(ia_query, merging)
{
        struct answer answer;

        ask_all(t, &answer);
        for (int i = 0; i < STREAMS; i++) {
                for (int k = 0; k < STREAMS; k++) {
                        DAT_BOOLEAN merged = answer.provider.evd_stream_merging_supported[i][k];
                        DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

                        expect_that(merged == DAT_TRUE || merged == DAT_FALSE,
                                    "the merging of streams %d and %d is %d", i, k, (int)merged);
                        expect_eq(merged, answer.provider.evd_stream_merging_supported[k][i]);
                        if (!merged)
                                continue;
                        expect(dat_evd_create(ia(t), 8, DAT_HANDLE_NULL,
                                              (DAT_EVD_FLAGS)(streams[i] | streams[k]), &evd),
                               DAT_SUCCESS);
                        expect(dat_evd_free(evd), DAT_SUCCESS);
                }
        }
}

static bool all_merge(const DAT_PROVIDER_ATTR *attr, unsigned int chosen)
{
        for (int i = 0; i < STREAMS; i++)
                for (int k = 0; k < i; k++)
                        if (chosen >> i & chosen >> k & 1 &&
                            attr->evd_stream_merging_supported[i][k] != DAT_TRUE)
                                return false;
        return true;
}

CASE(ia_query, merging_more)
{
        struct answer answer;

        ask_all(t, &answer);
        for (unsigned int chosen = 0; chosen < 1U << STREAMS; chosen++) {
                DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
                unsigned int flags = 0;

                if (__builtin_popcount(chosen) < 3 || !all_merge(&answer.provider, chosen))
                        continue;
                for (int i = 0; i < STREAMS; i++)
                        if (chosen >> i & 1)
                                flags |= (unsigned int)streams[i];
                expect(dat_evd_create(ia(t), 8, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)flags, &evd),
                       DAT_SUCCESS);
                expect(dat_evd_free(evd), DAT_SUCCESS);
        }
}

/* Memory as each type describes it: the process's own, that of an LMR, and one that is shared. */
static DAT_REGION_DESCRIPTION own_memory(const struct buf *buf)
{
        return (DAT_REGION_DESCRIPTION){.for_va = buf->addr};
}

static DAT_REGION_DESCRIPTION lmr_memory(const struct buf *buf)
{
        return (DAT_REGION_DESCRIPTION){.for_lmr_handle = buf->lmr};
}

/* The mapping goes with the process. */
static DAT_REGION_DESCRIPTION shared_memory(const struct buf *buf)
{
        static char cookie[DAT_LMR_COOKIE_SIZE] = "udapl-cts";
        void *mapped =
            mmap(NULL, buf->length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        DAT_REGION_DESCRIPTION region = {
            .for_shared_memory = {.virtual_address = mapped == MAP_FAILED ? NULL : mapped,
                                  .shared_memory_id = &cookie}};

        return region;
}

static const struct mem_type {
        const char *id;
        DAT_MEM_TYPE type;
        DAT_REGION_DESCRIPTION (*describe)(const struct buf *buf);
} mem_types[] = {
    {"virtual", DAT_MEM_TYPE_VIRTUAL, own_memory},
    {"lmr", DAT_MEM_TYPE_LMR, lmr_memory},
    {"shared", DAT_MEM_TYPE_SHARED_VIRTUAL, shared_memory},
};

FAMILY(ia_query, mem_type, mem_types)
{
        struct buf *buf = buf_with(t);
        DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
        DAT_LMR_CONTEXT lmr_context;
        DAT_RMR_CONTEXT rmr_context;
        DAT_VLEN length;
        DAT_VADDR address;

        expect(dat_lmr_create(ia(t), row->type, row->describe(buf), buf->length, pz(t),
                              DAT_MEM_PRIV_ALL_FLAG, &lmr, &lmr_context, &rmr_context, &length,
                              &address),
               DAT_SUCCESS);
        adopt(t, DAT_HANDLE_TYPE_LMR, lmr);
}

/* Private data of the greatest size, and the least that each provider takes, to the last byte. */
static const struct amount {
        const char *id;
        bool most;
} amounts[] = {
    {"least", .most = false},
    {"most", .most = true},
};

FAMILY(ia_query, private_data, amounts)
{
        struct loop loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){0});
        unsigned char data[MOST_DATA];
        struct answer answer;
        DAT_CR_PARAM param;
        DAT_COUNT size = LEAST_DATA;
        DAT_EVENT event;

        ask_all(t, &answer);
        expect_that(answer.provider.max_private_data_size >= LEAST_DATA,
                    "max_private_data_size is %d", answer.provider.max_private_data_size);
        if (row->most && answer.provider.max_private_data_size < MOST_DATA)
                size = answer.provider.max_private_data_size;
        message_fill(data, sizeof(data), 5);
        loop.psp = loop_listen(t, loop.requests, DAT_PSP_CONSUMER_FLAG, &loop.qual);
        expect(dat_ep_connect(loop.active, answer.ia.ia_address_ptr, loop.qual, event_timeout(t),
                              size, data, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
               DAT_SUCCESS);

        event = expect_event(loop.requests, DAT_CONNECTION_REQUEST_EVENT);
        memset(&param, 0, sizeof(param));
        expect(dat_cr_query(event.event_data.cr_arrival_event_data.cr_handle, DAT_CR_FIELD_ALL,
                            &param),
               DAT_SUCCESS);
        expect_that(param.private_data_size >= size, "%d bytes came, of %d",
                    param.private_data_size, size);
        expect_that(message_holds(param.private_data, (size_t)size, 5),
                    "the private data is not what was sent");
        must(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle));
}

/* Named attributes have a name and a value each. */
static const struct named {
        const char *id;
        size_t offset;
} nameds[] = {
    {"transport", 0},
    {"vendor", 1},
    {"provider", 2},
};

FAMILY(ia_query, named, nameds)
{
        const DAT_NAMED_ATTR *named;
        struct answer answer;
        DAT_COUNT count;

        ask_all(t, &answer);
        count = row->offset == 0   ? answer.ia.num_transport_attr
                : row->offset == 1 ? answer.ia.num_vendor_attr
                                   : answer.provider.num_provider_specific_attr;
        named = row->offset == 0   ? answer.ia.transport_attr
                : row->offset == 1 ? answer.ia.vendor_attr
                                   : answer.provider.provider_specific_attr;
        expect_that(count >= 0, "there are %d attributes", count);
        for (DAT_COUNT i = 0; i < count; i++)
                expect_that(named[i].name && *named[i].name && named[i].value,
                            "attribute %d has no name or no value", i);
}

/*
 * Limits
 */

static DAT_RETURN pz_create_in(const struct zone_args *args, DAT_PZ_HANDLE zone, DAT_HANDLE *made)
{
        (void)zone;
        return dat_pz_create(args->ia, made);
}

static DAT_RETURN evd_create_in(const struct zone_args *args, DAT_PZ_HANDLE zone, DAT_HANDLE *made)
{
        (void)zone;
        return dat_evd_create(args->ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, made);
}

static const struct limit {
        const char *id;
        size_t offset;
        DAT_HANDLE_TYPE type;
        DAT_RETURN (*create)(const struct zone_args *args, DAT_PZ_HANDLE zone, DAT_HANDLE *made);
        DAT_COUNT there; /* so many the fixtures and the IA have made */
} limits[] = {
    {"max_eps", offsetof(DAT_IA_ATTR, max_eps), DAT_HANDLE_TYPE_EP, ep_create_in, 0},
    {"max_evds", offsetof(DAT_IA_ATTR, max_evds), DAT_HANDLE_TYPE_EVD, evd_create_in, 4},
    {"max_lmrs", offsetof(DAT_IA_ATTR, max_lmrs), DAT_HANDLE_TYPE_LMR, lmr_create_in, 1},
    {"max_pzs", offsetof(DAT_IA_ATTR, max_pzs), DAT_HANDLE_TYPE_PZ, pz_create_in, 1},
    {"max_rmrs", offsetof(DAT_IA_ATTR, max_rmrs), DAT_HANDLE_TYPE_RMR, rmr_create_in, 0},
    {"max_srqs", offsetof(DAT_IA_ATTR, max_srqs), DAT_HANDLE_TYPE_SRQ, srq_create_in, 0},
};

/* Whether an object was made; nothing but a lack of resources may stand in the way. */
static bool make_one(struct test *t, const struct limit *row, const struct zone_args *args)
{
        DAT_HANDLE made = DAT_HANDLE_NULL;
        DAT_RETURN ret =
            expect(row->create(args, pz(t), &made), DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);

        if (dat_is(ret, DAT_SUCCESS))
                adopt(t, row->type, made);
        return dat_is(ret, DAT_SUCCESS);
}

static DAT_COUNT limit_of(struct test *t, const struct limit *row)
{
        struct answer answer;
        DAT_COUNT limit;

        ask_all(t, &answer);
        memcpy(&limit, (const char *)&answer.ia + row->offset, sizeof(limit));
        expect_that(limit > 0, "%s is %d", row->id, limit);
        return limit;
}

/* Makes as many as the IA may have, or as a case makes. */
static void make_all(struct test *t, const struct limit *row, const struct zone_args *args,
                     DAT_COUNT limit)
{
        DAT_COUNT made;

        for (made = row->there; made < limit && made < MOST; made++)
                if (!make_one(t, row, args))
                        resource(t, "no resources for more than %d of %s = %d", made, row->id,
                                 limit);
        record(t, "%d of %s = %d were there at once; a case makes no more than %d", made, row->id,
               limit, MOST);
}

FAMILY(ia_query, count, limits, DEADLINE_MS(20000))
{
        struct zone_args args = zone_args(t);

        make_all(t, row, &args, limit_of(t, row));
}

/* What is made beyond the limit is a whole one: it is freed, and another one made. */
FAMILY(ia_query, beyond_count, limits, DEADLINE_MS(20000))
{
        struct zone_args args = zone_args(t);
        DAT_COUNT limit = limit_of(t, row);
        DAT_HANDLE made = DAT_HANDLE_NULL;

        if (limit > MOST)
                end_noted(t, "%s is %d, and a case makes no more than %d: none is beyond it",
                          row->id, limit, MOST);
        make_all(t, row, &args, limit);
        if (!dat_is(
                expect(row->create(&args, pz(t), &made), DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS),
                DAT_SUCCESS))
                return;
        adopt(t, row->type, made);
        note(t, "granted, above the IA's own %s of %d", row->id, limit);
        release(t, made);
}

CASE(ia_query, beyond_evd_qlen)
{
        DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
        struct answer answer;
        DAT_EVD_PARAM param;

        ask_all(t, &answer);
        if (!dat_is(expect(dat_evd_create(ia(t), answer.ia.max_evd_qlen + 1, DAT_HANDLE_NULL,
                                          DAT_EVD_DTO_FLAG, &evd),
                           DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_PARAMETER, DAT_SUCCESS),
                    DAT_SUCCESS))
                return;
        adopt(t, DAT_HANDLE_TYPE_EVD, evd);
        note(t, "granted, above the IA's own max_evd_qlen of %d", answer.ia.max_evd_qlen);
        memset(&param, 0, sizeof(param));
        expect(dat_evd_query(evd, DAT_EVD_FIELD_EVD_QLEN, &param), DAT_SUCCESS);
        expect_that(param.evd_qlen > answer.ia.max_evd_qlen, "the EVD has %d places",
                    param.evd_qlen);
}

CASE(ia_query, eps_per_srq, DEADLINE_MS(20000))
{
        struct zone_args args = zone_args(t);
        DAT_SRQ_HANDLE srq = srq_with(t);
        struct answer answer;
        DAT_COUNT made;

        ask_all(t, &answer);
        expect_that(answer.ia.max_ep_per_srq > 0, "max_ep_per_srq is %d", answer.ia.max_ep_per_srq);
        for (made = 0; made < answer.ia.max_ep_per_srq && made < MOST_PER_SRQ; made++) {
                DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
                DAT_RETURN ret =
                    expect(dat_ep_create_with_srq(ia(t), pz(t), args.recv_evd, args.request_evd,
                                                  args.connect_evd, srq, &args.ep_attr, &ep),
                           DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);

                if (!dat_is(ret, DAT_SUCCESS))
                        resource(t, "no resources for more than %d EPs of an SRQ", made);
                adopt(t, DAT_HANDLE_TYPE_EP, ep);
        }
        record(t, "an SRQ had %d of max_ep_per_srq = %d; a case makes no more than %d", made,
               answer.ia.max_ep_per_srq, MOST_PER_SRQ);
}

/* Where the number of reads of an EP is guaranteed, each EP of several has it. */
static const struct guarantee {
        const char *id;
        bool out;
} guarantees[] = {
    {"in", .out = false},
    {"out", .out = true},
};

FAMILY(ia_query, reads_guaranteed, guarantees)
{
        struct zone_args args = zone_args(t);
        struct answer answer;

        ask_all(t, &answer);
        if ((row->out ? answer.ia.max_rdma_read_per_ep_out_guaranteed
                      : answer.ia.max_rdma_read_per_ep_in_guaranteed) != DAT_TRUE)
                end_noted(t, "the number of reads of an EP is not guaranteed");
        if (row->out)
                args.ep_attr.max_rdma_read_out = answer.ia.max_rdma_read_per_ep_out;
        else
                args.ep_attr.max_rdma_read_in = answer.ia.max_rdma_read_per_ep_in;
        args.ep_attr.max_rdma_read_iov = args.ep_attr.max_rdma_read_out > 0;
        for (int i = 0; i < READERS; i++) {
                DAT_HANDLE ep = DAT_HANDLE_NULL;
                DAT_EP_PARAM param;

                expect(ep_create_in(&args, pz(t), &ep), DAT_SUCCESS);
                adopt(t, DAT_HANDLE_TYPE_EP, ep);
                memset(&param, 0, sizeof(param));
                expect(dat_ep_query(ep, DAT_EP_FIELD_EP_ATTR_ALL, &param), DAT_SUCCESS);
                expect_that(param.ep_attr.max_rdma_read_in >= args.ep_attr.max_rdma_read_in,
                            "EP %d has %d incoming reads", i, param.ep_attr.max_rdma_read_in);
                expect_that(param.ep_attr.max_rdma_read_out >= args.ep_attr.max_rdma_read_out,
                            "EP %d has %d outgoing reads", i, param.ep_attr.max_rdma_read_out);
        }
}

static void most_recvs(const DAT_IA_ATTR *ia, DAT_EP_ATTR *attr)
{
        attr->max_recv_dtos = ia->max_dto_per_ep;
}

static void most_requests(const DAT_IA_ATTR *ia, DAT_EP_ATTR *attr)
{
        attr->max_request_dtos = ia->max_dto_per_ep;
}

static void most_recv_segments(const DAT_IA_ATTR *ia, DAT_EP_ATTR *attr)
{
        attr->max_recv_iov = ia->max_iov_segments_per_dto;
}

static void most_request_segments(const DAT_IA_ATTR *ia, DAT_EP_ATTR *attr)
{
        attr->max_request_iov = ia->max_iov_segments_per_dto;
}

static void most_reads_in(const DAT_IA_ATTR *ia, DAT_EP_ATTR *attr)
{
        attr->max_rdma_read_in = ia->max_rdma_read_per_ep_in;
}

static void most_reads_out(const DAT_IA_ATTR *ia, DAT_EP_ATTR *attr)
{
        attr->max_rdma_read_out = ia->max_rdma_read_per_ep_out;
        attr->max_rdma_read_iov = ia->max_iov_segments_per_rdma_read > 0;
}

static void most_read_segments(const DAT_IA_ATTR *ia, DAT_EP_ATTR *attr)
{
        attr->max_rdma_read_out = ia->max_rdma_read_per_ep_out > 0;
        attr->max_rdma_read_iov = ia->max_iov_segments_per_rdma_read;
}

static void most_write_segments(const DAT_IA_ATTR *ia, DAT_EP_ATTR *attr)
{
        attr->max_rdma_write_iov = ia->max_iov_segments_per_rdma_write;
}

static void longest_message(const DAT_IA_ATTR *ia, DAT_EP_ATTR *attr)
{
        attr->max_message_size = ia->max_message_size;
}

static void longest_rdma(const DAT_IA_ATTR *ia, DAT_EP_ATTR *attr)
{
        attr->max_rdma_size = ia->max_rdma_size;
}

static const struct ep_limit {
        const char *id;
        void (*set)(const DAT_IA_ATTR *ia, DAT_EP_ATTR *attr);
} ep_limits[] = {
    {"recvs", most_recvs},
    {"requests", most_requests},
    {"recv_segments", most_recv_segments},
    {"request_segments", most_request_segments},
    {"reads_in", most_reads_in},
    {"reads_out", most_reads_out},
    {"read_segments", most_read_segments},
    {"write_segments", most_write_segments},
    {"message_size", longest_message},
    {"rdma_size", longest_rdma},
};

FAMILY(ia_query, ep_limit, ep_limits)
{
        struct zone_args args = zone_args(t);
        DAT_HANDLE ep = DAT_HANDLE_NULL;
        struct answer answer;

        ask_all(t, &answer);
        row->set(&answer.ia, &args.ep_attr);
        expect(ep_create_in(&args, pz(t), &ep), DAT_SUCCESS);
        adopt(t, DAT_HANDLE_TYPE_EP, ep);
}

CASE(ia_query, evd_qlen)
{
        DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
        struct answer answer;

        ask_all(t, &answer);
        expect_that(answer.ia.max_evd_qlen > 0, "max_evd_qlen is %d", answer.ia.max_evd_qlen);
        expect(
            dat_evd_create(ia(t), answer.ia.max_evd_qlen, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd),
            DAT_SUCCESS);
        adopt(t, DAT_HANDLE_TYPE_EVD, evd);
}

CASE(ia_query, recv_per_srq)
{
        struct zone_args args = zone_args(t);
        DAT_HANDLE srq = DAT_HANDLE_NULL;
        struct answer answer;

        ask_all(t, &answer);
        args.srq_attr.max_recv_dtos = answer.ia.max_recv_per_srq;
        expect(srq_create_in(&args, pz(t), &srq), DAT_SUCCESS);
        adopt(t, DAT_HANDLE_TYPE_SRQ, srq);
}

CASE(ia_query, lmr_block_size)
{
        struct answer answer;
        DAT_VLEN length;
        struct buf *buf;

        ask_all(t, &answer);
        length = answer.ia.max_lmr_block_size;
        expect_that(length > 0, "max_lmr_block_size is 0");
        buf = buf_with(t, .length = length < MOST_BYTES ? length : MOST_BYTES);
        record(t,
               "%llu bytes of max_lmr_block_size = %llu were registered; a case takes no more "
               "than %llu",
               (unsigned long long)buf->length, (unsigned long long)length,
               (unsigned long long)MOST_BYTES);
        expect_that((DAT_VADDR)(uintptr_t)buf->addr + buf->length - 1 <=
                        answer.ia.max_lmr_virtual_address,
                    "an LMR lies above max_lmr_virtual_address");
        expect_that((DAT_VADDR)(uintptr_t)buf->addr + buf->length - 1 <=
                        answer.ia.max_rmr_target_address,
                    "memory that can be bound lies above max_rmr_target_address");
}

/*
 * What a query leaves as it was
 */

CASE(ia_query, within_ia_attr)
{
        struct buf *buf = buf_with(t, .length = sizeof(DAT_IA_ATTR));
        DAT_EVD_HANDLE async;

        expect(dat_ia_query(ia(t), &async, DAT_IA_FIELD_ALL, (DAT_IA_ATTR *)(void *)buf->addr,
                            DAT_PROVIDER_FIELD_NONE, NULL),
               DAT_SUCCESS);
        release(t, buf->lmr);
}

CASE(ia_query, within_provider_attr)
{
        struct buf *buf = buf_with(t, .length = sizeof(DAT_PROVIDER_ATTR));
        DAT_EVD_HANDLE async;

        expect(dat_ia_query(ia(t), &async, DAT_IA_FIELD_NONE, NULL, DAT_PROVIDER_FIELD_ALL,
                            (DAT_PROVIDER_ATTR *)(void *)buf->addr),
               DAT_SUCCESS);
        release(t, buf->lmr);
}

struct asking {
        DAT_IA_HANDLE ia;
        struct answer answer;
};

static DAT_RETURN ask_by(void *arg)
{
        struct asking *asking = arg;
        struct answer *answer = &asking->answer;

        return dat_ia_query(asking->ia, &answer->async, DAT_IA_FIELD_ALL, &answer->ia,
                            DAT_PROVIDER_FIELD_ALL, &answer->provider);
}

static void expect_told(struct test *t, const struct answer *answer, const struct answer *known)
{
        expect_that(answer->async == known->async, "a thread was told another's asynchronous EVD");
        for (size_t i = 0; i < sizeof(ia_fields) / sizeof(ia_fields[0]); i++)
                expect_that(is_same(&ia_fields[i], &answer->ia, &known->ia, &known->ia),
                            "a thread was told another %s", ia_fields[i].id);
}

CASE(ia_query, any_thread)
{
        struct stress stress = stress_of(t, MANY);
        struct answer own, other;

        ask_all(t, &own);
        ask_other(t, &other);
        while (stress.met < MET && stress_round(&stress)) {
                struct asking askings[THREADS];
                struct racer racers[THREADS];

                memset((void *)askings, POISON, sizeof(askings));
                for (int i = 0; i < THREADS; i++) {
                        askings[i].ia = i ? ia(t) : other_ia(t);
                        racers[i] = (struct racer){.call = ask_by, .arg = &askings[i]};
                }
                stress_met(&stress, race(racers, THREADS));
                for (int i = 0; i < THREADS; i++) {
                        expect(racers[i].ret, DAT_SUCCESS);
                        expect_told(t, &askings[i].answer, i ? &own : &other);
                }
        }
        must_have_met(&stress);
}

/*
 * Arguments
 */

static const struct mask {
        const char *id;
        uint64_t ia, provider;
} masks[] = {
    {"ia_next_bit", (uint64_t)DAT_IA_FIELD_ALL + 1, DAT_PROVIDER_FIELD_NONE},
    {"ia_next_bit_among_all", (uint64_t)DAT_IA_FIELD_ALL * 2 + 1, DAT_PROVIDER_FIELD_ALL},
    {"ia_highest_bit", UINT64_C(1) << 63, DAT_PROVIDER_FIELD_NONE},
    {"provider_next_bit", DAT_IA_FIELD_NONE, (uint64_t)DAT_PROVIDER_FIELD_ALL + 1},
    {"provider_next_bit_among_all", DAT_IA_FIELD_ALL, (uint64_t)DAT_PROVIDER_FIELD_ALL * 2 + 1},
    {"provider_highest_bit", DAT_IA_FIELD_NONE, UINT64_C(1) << 63},
};

FAMILY(ia_query, invalid_mask, masks)
{
        struct answer answer;

        expect(dat_ia_query(ia(t), &answer.async, (DAT_IA_ATTR_MASK)row->ia, &answer.ia,
                            (DAT_PROVIDER_ATTR_MASK)row->provider, &answer.provider),
               DAT_INVALID_PARAMETER);
        ask_all(t, &answer);
        expect_that(answer.async == async_evd(t), "the asynchronous EVD is another");
}

static const struct bits {
        const char *id;
        bool of_provider;
        uint64_t fields;
} bits[] = {
    {"ia", false, DAT_IA_FIELD_ALL},
    {"provider", true, DAT_PROVIDER_FIELD_ALL},
};

FAMILY(ia_query, invalid_bit, bits)
{
        struct answer answer;

        for (uint64_t bit = 1; bit; bit <<= 1) {
                uint64_t of_ia = row->of_provider ? DAT_IA_FIELD_NONE : bit;
                uint64_t of_provider = row->of_provider ? bit : DAT_PROVIDER_FIELD_NONE;

                if (bit & row->fields)
                        continue;
                expect(dat_ia_query(ia(t), &answer.async, (DAT_IA_ATTR_MASK)of_ia, &answer.ia,
                                    (DAT_PROVIDER_ATTR_MASK)of_provider, &answer.provider),
                       DAT_INVALID_PARAMETER);
        }
        ask_all(t, &answer);
        expect_that(answer.async == async_evd(t), "the asynchronous EVD is another");
}

LEGAL(ia_query)
{
        static struct answer answer;

        call->ia_handle = ia(t);
        call->async_evd_handle = &answer.async;
        call->ia_attr_mask = DAT_IA_FIELD_ALL;
        call->ia_attr = &answer.ia;
        call->provider_attr_mask = DAT_PROVIDER_FIELD_ALL;
        call->provider_attr = &answer.provider;
}
