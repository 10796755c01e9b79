/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a case is made of. A case includes this header and nothing else of the harness:
 *
 *	CASE(srq_resize, below_low_watermark)
 *	{
 *		DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);
 *
 *		must(dat_srq_set_lw(srq, 4));
 *		drain_async_event(t);
 *		expect(dat_srq_resize(srq, 3), DAT_INVALID_STATE);
 *	}
 *
 * must() arranges: when it fails the case is BLOCKED. expect() is the clause: when it fails the
 * case is FAIL. Both end the case at once; what the fixtures made is then freed in reverse order.
 */
#ifndef HARNESS_CASE_H
#define HARNESS_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dat_api.h"

struct test;

/*
 * Optional features. A case that needs one which the provider's own attributes declare absent is
 * UNSUPPORTED; the lower-case name with "_supported" is the catalogue's word for it.
 */
#define NEED_(bit_)               (UINT64_C(1) << (bit_))
#define NEED_SRQ                  NEED_(0) /* dat_srq_create is not refused as a model */
#define NEED_SRQ_WATERMARKS       NEED_(1)
#define NEED_SRQ_INFO_AVAILABLE   NEED_(2) /* srq_info_supported: available_dto_count */
#define NEED_SRQ_INFO_OUTSTANDING NEED_(3) /* srq_info_supported: outstanding_dto_count */
#define NEED_SRQ_PZ_DIFFERENCE    NEED_(4)
#define NEED_EP_RECV_INFO         NEED_(5)
#define NEED_EP_WATERMARKS        NEED_(6) /* recv watermarks of an EP */
#define NEED_THREAD_SAFE          NEED_(7)
/* completion_flags_supported has the flag */
#define NEED_SUPPRESS_FLAG       NEED_(8)
#define NEED_SOLICITED_WAIT_FLAG NEED_(9)
#define NEED_UNSIGNALLED_FLAG    NEED_(10)
#define NEED_BARRIER_FENCE_FLAG  NEED_(11)
#define NEED_EVD_THRESHOLD_FLAG  NEED_(12)
/* ep_creator: whether a PSP makes the EPs of its requests, and whether it leaves them to others */
#define NEED_PROVIDER_MADE_EP NEED_(13)
#define NEED_CONSUMER_MADE_EP NEED_(14)
/* evd_stream_merging_supported: an EVD of both streams, and of more where each two of them merge */
#define NEED_MERGED_SOFTWARE_CR         NEED_(15)
#define NEED_MERGED_SOFTWARE_DTO        NEED_(16)
#define NEED_MERGED_SOFTWARE_CONNECTION NEED_(17)
#define NEED_MERGED_SOFTWARE_RMR_BIND   NEED_(18)
#define NEED_MERGED_SOFTWARE_ASYNC      NEED_(19)
#define NEED_MERGED_CR_DTO              NEED_(20)
#define NEED_MERGED_CR_CONNECTION       NEED_(21)
#define NEED_MERGED_CR_RMR_BIND         NEED_(22)
#define NEED_MERGED_CR_ASYNC            NEED_(23)
#define NEED_MERGED_DTO_CONNECTION      NEED_(24)
#define NEED_MERGED_DTO_RMR_BIND        NEED_(25)
#define NEED_MERGED_DTO_ASYNC           NEED_(26)
#define NEED_MERGED_CONNECTION_RMR_BIND NEED_(27)
#define NEED_MERGED_CONNECTION_ASYNC    NEED_(28)
#define NEED_MERGED_RMR_BIND_ASYNC      NEED_(29)
/* lmr_mem_types_supported has the type, where it is read as bits (LMR-3) */
#define NEED_MEM_TYPE_LMR    NEED_(30)
#define NEED_MEM_TYPE_SHARED NEED_(31)
/* a request completes when the peer has it: not on iWARP (DTO-3) */
#define NEED_END_TO_END_COMPLETION NEED_(32)
/* memory that may only be written is not read: not on siw (DTO-42) */
#define NEED_REMOTE_READ_PROTECTION NEED_(33)
/* what an EP took from its SRQ is flushed: not on soft-RoCE of newer kernels (SRQ-26) */
#define NEED_SRQ_FLUSH_OF_TAKEN NEED_(34)

/* What a row of a family needs besides what the family does. */
struct row_needs {
        const char *id;
        uint64_t needs;
};

/* The clause whose case fails a provider that refuses every call of this name. */
struct promise {
        const char *call;   /* "dat_srq_resize" */
        const char *clause; /* "srq_resize/grow" */
};

/* Adds one: cases/declare.py makes it of the catalogue's key `legal`. */
#define PROMISE(call_, clause_)                                                        \
        __attribute__((used, section("promises"),                                      \
                       aligned(8))) static const struct promise promise_of_##call_ = { \
            .call = #call_,                                                            \
            .clause = (clause_),                                                       \
        }

/* One registered case, or one family of them: with rows, each row is a case of its own. */
struct case_entry {
        const char *page; /* "srq_resize" */
        const char *name; /* "below_low_watermark" */
        const char *file;
        int line;
        void (*body)(struct test *t, const void *row);
        uint64_t needs;                    /* OR of NEED_ */
        unsigned int peers;                /* peer processes the case talks to: 0 or 1 */
        bool network;                      /* the case disturbs the network to its peer */
        bool without_ia;                   /* the case starts without an open IA */
        unsigned int deadline_ms;          /* 0: the default of the run */
        const struct row_needs *row_needs; /* of the rows that have any; ended by a null id */
        const void *rows;                  /* array whose element starts with a `const char *id` */
        size_t row_count;
        size_t row_size;
};

/* The longest time that the clause itself may take, where the default would be wrong. */
#define DEADLINE_MS(ms) .deadline_ms = (ms)

/* The case asks the registry in processes of its own: the IA under test is not opened for it. */
#define WITHOUT_IA .without_ia = true

#define CASE_ENTRY_(page_, name_, body_, ...)                                                   \
        __attribute__((used, section("case_entries"),                                           \
                       aligned(8))) static const struct case_entry page_##__##name_##_entry = { \
            .page = #page_,                                                                     \
            .name = #name_,                                                                     \
            .file = __FILE__,                                                                   \
            .line = __LINE__,                                                                   \
            .body = body_,                                                                      \
            __VA_ARGS__}

/*
 * A case; its id is "page/name", which is also its clause's id. Its needs, its peer and whether it
 * disturbs the network are the clause's: clauses/<page>.h, made of the catalogue, is included.
 */
#define CASE(page_, name_, ...) CASE_WITH(page_, name_, CLAUSE_##page_##__##name_, __VA_ARGS__)

/*
 * A family: one body over a table, each row a case with the id "page/name/row". `table_` is an
 * array of structures whose first member is `const char *id`; the body sees its row as `row`.
 */
#define FAMILY(page_, name_, table_, ...) \
        FAMILY_WITH(page_, name_, table_, CLAUSE_##page_##__##name_, __VA_ARGS__)

/*
 * What a legal call of the page is: fills in `call`, whose members have the names of the call's
 * arguments. The page's standard cases start from it (case/standard.h).
 */
#define LEGAL(page_) void page_##_legal(struct test *t, struct dat_##page_##_call *call)

/* The same for cases that have no clause: members of struct case_entry say what they need. */
#define CASE_WITH(page_, name_, ...)                                         \
        static void page_##__##name_(struct test *t);                        \
        static void page_##__##name_##_body(struct test *t, const void *row) \
        {                                                                    \
                (void)row;                                                   \
                page_##__##name_(t);                                         \
        }                                                                    \
        CASE_ENTRY_(page_, name_, page_##__##name_##_body, __VA_ARGS__);     \
        static void page_##__##name_(struct test *t)

#define FAMILY_WITH(page_, name_, table_, ...)                                            \
        static void page_##__##name_(struct test *t, const __typeof__((table_)[0]) *row); \
        static void page_##__##name_##_body(struct test *t, const void *row)              \
        {                                                                                 \
                page_##__##name_(t, row);                                                 \
        }                                                                                 \
        CASE_ENTRY_(page_, name_, page_##__##name_##_body, .rows = (table_),              \
                    .row_count = sizeof(table_) / sizeof((table_)[0]),                    \
                    .row_size = sizeof((table_)[0]), __VA_ARGS__);                        \
        static void page_##__##name_(struct test *t, const __typeof__((table_)[0]) *row)

#include "case/check.h"
#include "case/fixture.h"
#include "case/value_name.h"
#include "case/waiter.h"
#include "peer/peer.h"

#endif
