/* SPDX-License-Identifier: BSD-2-Clause */
/* Attributes that EPs are asked for, and EVDs that they are made with, as rows of families. */
#ifndef CASES_EP_ATTRIBUTES_H
#define CASES_EP_ATTRIBUTES_H

#include <limits.h>
#include <string.h>

#include "cases/ep/shared/modify_table.h"

/* A number among the attributes, the IA's limit for it, and a value that is neither of them. */
struct ep_number {
        const char *id;
        struct ep_parameter parameter;
        size_t limit; /* in DAT_IA_ATTR */
        uint64_t asked;
};

#define EP_NUMBER(name_, limit_, asked_)                                         \
        {                                                                        \
#name_, {.name = #name_,                                         \
                        .offset = offsetof(DAT_EP_PARAM, ep_attr.name_),         \
                        .size = sizeof(((DAT_EP_PARAM *)NULL)->ep_attr.name_) }, \
                        offsetof(DAT_IA_ATTR, limit_),                           \
                        asked_                                                   \
        }

static inline uint64_t ep_limit_of(struct test *t, const struct ep_number *number)
{
        const char *at = (const char *)ia_attr(t) + number->limit;
        DAT_COUNT count;
        DAT_VLEN length;

        if (number->parameter.size == sizeof(length)) {
                memcpy(&length, at, sizeof(length));
                return length;
        }
        memcpy(&count, at, sizeof(count));
        return count > 0 ? (uint64_t)count : 0;
}

/* The greatest value that the attribute's type has. */
static inline uint64_t ep_greatest(const struct ep_number *row)
{
        return row->parameter.size == sizeof(DAT_VLEN) ? UINT64_MAX : INT_MAX;
}

/* Completion flags of receives, or of requests. */
static const struct ep_flags {
        const char *id;
        bool request;
        DAT_COMPLETION_FLAGS flags;
} ep_flags[] = {
    {"recv_default", false, DAT_COMPLETION_DEFAULT_FLAG},
    {"recv_unsignalled", false, DAT_COMPLETION_UNSIGNALLED_FLAG},
    {"recv_solicited_wait", false, DAT_COMPLETION_SOLICITED_WAIT_FLAG},
    {"recv_threshold", false, DAT_COMPLETION_EVD_THRESHOLD_FLAG},
    {"request_default", true, DAT_COMPLETION_DEFAULT_FLAG},
    {"request_unsignalled", true, DAT_COMPLETION_UNSIGNALLED_FLAG},
    {"request_threshold", true, DAT_COMPLETION_EVD_THRESHOLD_FLAG},
};

/* Of both. */
static const struct ep_flag_pair {
        const char *id;
        DAT_COMPLETION_FLAGS recv;
        DAT_COMPLETION_FLAGS request;
} ep_flag_pairs[] = {
    {"default_and_unsignalled", DAT_COMPLETION_DEFAULT_FLAG, DAT_COMPLETION_UNSIGNALLED_FLAG},
    {"default_and_threshold", DAT_COMPLETION_DEFAULT_FLAG, DAT_COMPLETION_EVD_THRESHOLD_FLAG},
    {"unsignalled_and_unsignalled", DAT_COMPLETION_UNSIGNALLED_FLAG,
     DAT_COMPLETION_UNSIGNALLED_FLAG},
    {"unsignalled_and_threshold", DAT_COMPLETION_UNSIGNALLED_FLAG,
     DAT_COMPLETION_EVD_THRESHOLD_FLAG},
    {"solicited_and_unsignalled", DAT_COMPLETION_SOLICITED_WAIT_FLAG,
     DAT_COMPLETION_UNSIGNALLED_FLAG},
    {"solicited_and_threshold", DAT_COMPLETION_SOLICITED_WAIT_FLAG,
     DAT_COMPLETION_EVD_THRESHOLD_FLAG},
    {"threshold_and_unsignalled", DAT_COMPLETION_EVD_THRESHOLD_FLAG,
     DAT_COMPLETION_UNSIGNALLED_FLAG},
    {"threshold_and_threshold", DAT_COMPLETION_EVD_THRESHOLD_FLAG,
     DAT_COMPLETION_EVD_THRESHOLD_FLAG},
};

/* Qualities of service, which a provider may declare, but for the first. */
static const struct ep_quality {
        const char *id;
        DAT_QOS qos;
} ep_qualities[] = {
    {"best_effort", DAT_QOS_BEST_EFFORT}, {"high_throughput", DAT_QOS_HIGH_THROUGHPUT},
    {"low_latency", DAT_QOS_LOW_LATENCY}, {"economy", DAT_QOS_ECONOMY},
    {"premium", DAT_QOS_PREMIUM},
};

/* Values that the attribute cannot have. */
static const struct ep_wrong {
        const char *id;
        struct ep_parameter parameter;
        uint64_t value;
} ep_wrong[] = {
#define WRONG(id_, name_, value_)                                            \
        {                                                                    \
                id_,                                                         \
                    {.name = #name_,                                         \
                     .offset = offsetof(DAT_EP_PARAM, ep_attr.name_),        \
                     .size = sizeof(((DAT_EP_PARAM *)NULL)->ep_attr.name_)}, \
                    value_                                                   \
        }
    WRONG("service_type", service_type, 77),
    WRONG("next_service_type", service_type, DAT_SERVICE_TYPE_RC + 1),
    WRONG("greatest_service_type", service_type, INT_MAX),
    WRONG("qos", qos, 1U << 20),
    WRONG("recv_suppressed", recv_completion_flags, DAT_COMPLETION_SUPPRESS_FLAG),
    WRONG("recv_fenced", recv_completion_flags, DAT_COMPLETION_BARRIER_FENCE_FLAG),
    WRONG("recv_unknown", recv_completion_flags, 1U << 20),
    WRONG("request_unknown", request_completion_flags, 1U << 20),
#undef WRONG
};

/* Flags of single requests. */
static const struct {
        const char *id;
        DAT_COMPLETION_FLAGS flags;
} ep_posting_flags[] = {
    {"solicited_wait", DAT_COMPLETION_SOLICITED_WAIT_FLAG},
    {"suppress", DAT_COMPLETION_SUPPRESS_FLAG},
    {"barrier_fence", DAT_COMPLETION_BARRIER_FENCE_FLAG},
};

/* Numbers of named attributes. */
static const struct ep_named {
        const char *id;
        DAT_COUNT transport;
        DAT_COUNT provider;
} ep_named[] = {
    {"transport", 1, 0},
    {"provider", 0, 1},
    {"transport_negative", -1, 0},
    {"provider_negative", 0, -1},
};

/* EVDs that an EP is made without. */
static const struct ep_no_evd {
        const char *id;
        bool recv;
        bool request;
        bool connect;
} ep_no_evd[] = {
    {"recv", true, false, false},
    {"request", false, true, false},
    {"connect", false, false, true},
    {"all", true, true, true},
};

/* Flags of two EPs on one EVD, which agree, and which do not. */
static const struct ep_shared_flags {
        const char *id;
        bool request;
        DAT_COMPLETION_FLAGS first;
        DAT_COMPLETION_FLAGS second;
} ep_same_flags[] = {
    {"default", false, DAT_COMPLETION_DEFAULT_FLAG, DAT_COMPLETION_DEFAULT_FLAG},
    {"unsignalled", false, DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_COMPLETION_UNSIGNALLED_FLAG},
    {"solicited_wait", false, DAT_COMPLETION_SOLICITED_WAIT_FLAG,
     DAT_COMPLETION_SOLICITED_WAIT_FLAG},
    {"threshold", false, DAT_COMPLETION_EVD_THRESHOLD_FLAG, DAT_COMPLETION_EVD_THRESHOLD_FLAG},
    {"requests_default", true, DAT_COMPLETION_DEFAULT_FLAG, DAT_COMPLETION_DEFAULT_FLAG},
    {"requests_unsignalled", true, DAT_COMPLETION_UNSIGNALLED_FLAG,
     DAT_COMPLETION_UNSIGNALLED_FLAG},
    {"requests_threshold", true, DAT_COMPLETION_EVD_THRESHOLD_FLAG,
     DAT_COMPLETION_EVD_THRESHOLD_FLAG},
};

static const struct ep_shared_flags ep_mixed_flags[] = {
    {"solicited_wait_after_default", false, DAT_COMPLETION_DEFAULT_FLAG,
     DAT_COMPLETION_SOLICITED_WAIT_FLAG},
    {"default_after_solicited_wait", false, DAT_COMPLETION_SOLICITED_WAIT_FLAG,
     DAT_COMPLETION_DEFAULT_FLAG},
    {"threshold_after_solicited_wait", false, DAT_COMPLETION_SOLICITED_WAIT_FLAG,
     DAT_COMPLETION_EVD_THRESHOLD_FLAG},
    {"default_after_threshold", false, DAT_COMPLETION_EVD_THRESHOLD_FLAG,
     DAT_COMPLETION_DEFAULT_FLAG},
    {"requests_unsignalled_after_default", true, DAT_COMPLETION_DEFAULT_FLAG,
     DAT_COMPLETION_UNSIGNALLED_FLAG},
    {"requests_default_after_unsignalled", true, DAT_COMPLETION_UNSIGNALLED_FLAG,
     DAT_COMPLETION_DEFAULT_FLAG},
};

/* Flags by which a completion wakes no waiter unless it is asked to, or reaches the threshold. */
static const struct ep_silent {
        const char *id;
        bool request;
        DAT_COMPLETION_FLAGS flags;
} ep_silent[] = {
    {"recv_unsignalled", false, DAT_COMPLETION_UNSIGNALLED_FLAG},
    {"recv_solicited_wait", false, DAT_COMPLETION_SOLICITED_WAIT_FLAG},
    {"recv_threshold", false, DAT_COMPLETION_EVD_THRESHOLD_FLAG},
    {"request_unsignalled", true, DAT_COMPLETION_UNSIGNALLED_FLAG},
    {"request_threshold", true, DAT_COMPLETION_EVD_THRESHOLD_FLAG},
};

/* Flags of both streams of an EP on one EVD. */
static const struct ep_signals {
        const char *id;
        DAT_COMPLETION_FLAGS flags;
} ep_both_streams[] = {
    {"default", DAT_COMPLETION_DEFAULT_FLAG},
    {"threshold", DAT_COMPLETION_EVD_THRESHOLD_FLAG},
};

#endif
