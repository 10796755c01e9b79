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
 * must() arranges: when it fails the case is BROKEN. expect() is the clause: when it fails the
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
enum need {
        NEED_SRQ = 1 << 0,            /* srq_supported: dat_srq_create is not refused as a model */
        NEED_SRQ_WATERMARKS = 1 << 1, /* srq_watermarks_supported */
        NEED_SRQ_INFO_AVAILABLE = 1 << 2,   /* srq_info_supported: available_dto_count */
        NEED_SRQ_INFO_OUTSTANDING = 1 << 3, /* srq_info_supported: outstanding_dto_count */
        NEED_SRQ_PZ_DIFFERENCE = 1 << 4,    /* srq_ep_pz_difference_supported */
        NEED_EP_RECV_INFO = 1 << 5,         /* ep_recv_info_supported */
        NEED_EP_WATERMARKS = 1 << 6,        /* recv watermarks of an EP */
        NEED_THREAD_SAFE = 1 << 7,          /* is_thread_safe */
};

/* One registered case, or one family of them: with rows, each row is a case of its own. */
struct case_entry {
        const char *page; /* "srq_resize" */
        const char *name; /* "below_low_watermark" */
        const char *file;
        int line;
        void (*body)(struct test *t, const void *row);
        unsigned int needs;       /* OR of enum need */
        unsigned int peers;       /* peer processes the case talks to: 0 or 1 */
        bool network;             /* the case disturbs the network to its peer */
        unsigned int deadline_ms; /* 0: the default of the run */
        const void *rows;         /* array whose element starts with a `const char *id` */
        size_t row_count;
        size_t row_size;
};

/* The longest time that the clause itself may take, where the default would be wrong. */
#define DEADLINE_MS(ms) .deadline_ms = (ms)

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
#include "case/waiter.h"
#include "peer/peer.h"

#endif
