/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ia_query: attributes agree with the behaviour. */
#include "case/poison.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ia/ia_query/fixtures.h"
#include "cases/shared/loop.h"
#include "cases/shared/point.h"
#include "clauses/ia_query.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LEAST_DATA 64 /* bytes of private data that each provider takes */
#define MOST_DATA  4096
#define STREAMS    6

#define FREED_BLOCKS 1024
#define MARK         0x6b

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

/* Whatever is given out again after an instance was closed is not what an answer leads to. */
static void use_freed_memory(struct test *t)
{
        static void *blocks[FREED_BLOCKS];

        for (size_t i = 0; i < FREED_BLOCKS; i++) {
                size_t size = 16 + i % 32 * 16;

                blocks[i] = malloc(size);
                if (!blocks[i])
                        resource(t, "no memory for a block");
                memset(blocks[i], POISON, size);
        }
        for (size_t i = 0; i < FREED_BLOCKS; i++)
                free(blocks[i]);
}

CASE(ia_query, outlives_other)
{
        struct answer before, other, now;
        struct sockaddr_storage address;
        DAT_IA_ADDRESS_PTR told;

        ask_all(t, &before);
        told = before.ia.ia_address_ptr;
        memset(&address, 0, sizeof(address));
        memcpy(&address, told,
               told->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                           : sizeof(struct sockaddr_in));
        ask_other(t, &other);
        release(t, other_ia(t));
        use_freed_memory(t);

        expect_that(same_host(told, &address), "the first answer leads to another address");
        ask_all(t, &now);
        expect_that(same_host(now.ia.ia_address_ptr, &address), "the IA's address has changed");
        expect_same(t, &before, &now);
}

/* After the completion the vector is the consumer's, for any iov_ownership_on_return. */
CASE(ia_query, iov_after_completion)
{
        struct loop loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){0});
        struct buf *buf = buf_with(t);
        DAT_LMR_TRIPLET iovs[2], marks[2];

        loop_join_either(t, &loop);
        for (int i = 0; i < 2; i++)
                iovs[i] = triplet(buf, (size_t)i * MESSAGE, MESSAGE);
        memset(marks, MARK, sizeof(marks));
        must(dat_ep_post_recv(loop.passive, 1, &iovs[0], COOKIE(1), DAT_COMPLETION_DEFAULT_FLAG));
        must(dat_ep_post_send(loop.active, 1, &iovs[1], COOKIE(2), DAT_COMPLETION_DEFAULT_FLAG));
        must_dto(ep_recv_evd(t, loop.passive));
        must_dto(ep_request_evd(t, loop.active));
        memcpy(iovs, marks, sizeof(iovs));

        expect_message(t, loop.active, loop.passive);
        expect_message(t, loop.passive, loop.active);
        settle(t);
        expect_that(memcmp(iovs, marks, sizeof(iovs)) == 0,
                    "the provider wrote into a vector after its completion");
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
    {"srq_supported", offsetof(DAT_PROVIDER_ATTR, srq_supported), {DAT_FALSE, DAT_TRUE}, 2},
    {"srq_ep_pz_difference_supported",
     offsetof(DAT_PROVIDER_ATTR, srq_ep_pz_difference_supported),
     {DAT_FALSE, DAT_TRUE},
     2},
    {"lmr_sync_req", offsetof(DAT_PROVIDER_ATTR, lmr_sync_req), {DAT_FALSE, DAT_TRUE}, 2},
    {"dto_async_return_guaranteed",
     offsetof(DAT_PROVIDER_ATTR, dto_async_return_guaranteed),
     {DAT_FALSE, DAT_TRUE},
     2},
    {"rdma_write_for_rdma_read_req",
     offsetof(DAT_PROVIDER_ATTR, rdma_write_for_rdma_read_req),
     {DAT_FALSE, DAT_TRUE},
     2},
};

/* That an attribute is left unwritten is what the clauses of its field judge. */
#define MUST_HAVE_WRITTEN(field_) MUST_BE_WRITTEN("dat_ia_query", answer.provider, field_)

FAMILY(ia_query, value, choices)
{
        struct answer answer;
        bool known = false;
        int value;

        ask_all(t, &answer);
        must_be_written(t, "dat_ia_query", row->id, (char *)&answer.provider + row->offset,
                        sizeof(value));
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
        MUST_HAVE_WRITTEN(optimal_buffer_alignment);
        alignment = answer.provider.optimal_buffer_alignment;
        expect_that(alignment > 0 && alignment <= DAT_OPTIMAL_ALIGNMENT &&
                        DAT_OPTIMAL_ALIGNMENT % alignment == 0,
                    "the optimal alignment is %u", (unsigned int)alignment);
}

CASE(ia_query, completion_flags)
{
        struct answer answer;
        unsigned int listed = DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG |
                              DAT_COMPLETION_UNSIGNALLED_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG;
        unsigned int defined = listed | DAT_COMPLETION_EVD_THRESHOLD_FLAG;
        unsigned int declared;

        ask_all(t, &answer);
        MUST_HAVE_WRITTEN(completion_flags_supported);
        declared = (unsigned int)answer.provider.completion_flags_supported;
        expect_eq(declared & ~defined, 0);
        if (listed & ~declared)
                note(t, "of the page's completion flags, %s is not declared",
                     names_of(DAT_COMPLETION_FLAGS, listed & ~declared));
}

/* A connection asks for each quality that is declared, and is granted it. */
CASE(ia_query, qos)
{
        const unsigned int each[] = {DAT_QOS_BEST_EFFORT, DAT_QOS_HIGH_THROUGHPUT,
                                     DAT_QOS_LOW_LATENCY, DAT_QOS_ECONOMY, DAT_QOS_PREMIUM};
        unsigned int defined = 0;
        unsigned int declared;
        struct answer answer;

        ask_all(t, &answer);
        MUST_HAVE_WRITTEN(dat_qos_supported);
        declared = (unsigned int)answer.provider.dat_qos_supported;
        for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
                struct loop loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){0});
                DAT_EVENT event;

                defined |= each[i];
                if ((declared & each[i]) != each[i])
                        continue;
                loop_open(t, &loop);
                expect(dat_ep_connect(loop.active, ia_address(t), loop.qual, event_timeout(t), 0,
                                      NULL, (DAT_QOS)each[i], DAT_CONNECT_DEFAULT_FLAG),
                       DAT_SUCCESS);
                event = expect_event(loop.requests, DAT_CONNECTION_REQUEST_EVENT);
                must(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle));
        }
        expect_eq(declared & ~defined, 0);
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
        MUST_HAVE_WRITTEN(evd_stream_merging_supported);
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
        MUST_HAVE_WRITTEN(evd_stream_merging_supported);
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

/* The other cases of a type that is not declared are not asked (LMR-3): that it works is noted. */
FAMILY(ia_query, mem_type, mem_types)
{
        DAT_MEM_TYPE declared = provider_attr_if_told(t)->lmr_mem_types_supported;
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
        if (((unsigned int)declared & (unsigned int)row->type) != (unsigned int)row->type)
                note(t, "%s works, and lmr_mem_types_supported does not declare it (GEN-2)",
                     names_of(DAT_MEM_TYPE, row->type));
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
        MUST_HAVE_WRITTEN(max_private_data_size);
        expect_that(answer.provider.max_private_data_size >= LEAST_DATA,
                    "max_private_data_size is %d", answer.provider.max_private_data_size);
        if (row->most && answer.provider.max_private_data_size < MOST_DATA)
                size = answer.provider.max_private_data_size;
        message_fill(data, sizeof(data), 5);
        loop_open(t, &loop);
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
