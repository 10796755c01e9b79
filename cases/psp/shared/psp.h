/* SPDX-License-Identifier: BSD-2-Clause */
/* What the two calls share that make a PSP: at a given qualifier, and at one of the provider's. */
#ifndef CASES_PSP_H
#define CASES_PSP_H

#include "case/standard.h"
#include "cases/shared/point.h"

/* Who makes the EPs of requests. */
struct psp_maker {
        const char *id;
        DAT_PSP_FLAGS flags;
};
#define PSP_MAKERS                                \
        {"consumer", DAT_PSP_CONSUMER_FLAG},      \
        {                                         \
                "provider", DAT_PSP_PROVIDER_FLAG \
        }

/* Whether ep_creator says that a PSP with these flags can be made. */
bool psp_declared(struct test *t, DAT_PSP_FLAGS flags);

/* The PSPs have each a handle of its own. */
void psp_all_differ(struct test *t, const DAT_PSP_HANDLE *psps, int count);

/*
 * A request of the peer is accepted, with the loop's passive EP, or with the provider's, which is
 * then the loop's.
 */
void psp_take_peer(struct test *t, DAT_CR_HANDLE request, DAT_PSP_FLAGS flags, struct loop *loop);

/* Who has a qualifier that a PSP is asked for, in vain. */
struct psp_holder {
        const char *id;
        void (*hold)(struct test *t, struct loop *holder); /* fills in what it made */
        DAT_PSP_FLAGS flags;                               /* of the PSP that is asked for */
        bool same_evd;
        bool reserved; /* the holder is an RSP, with the loop's passive EP */
};
void psp_hold(struct test *t, struct loop *holder);
void psp_hold_pending(struct test *t, struct loop *holder);
void psp_hold_chosen(struct test *t, struct loop *holder);
void psp_hold_reserved(struct test *t, struct loop *holder);
void psp_hold_provider(struct test *t, struct loop *holder);
void psp_hold_reserved_provider(struct test *t, struct loop *holder);
void psp_hold_elsewhere(struct test *t, struct loop *holder);
#define PSP_HOLDERS                                                                       \
        {"same_evd", psp_hold, DAT_PSP_CONSUMER_FLAG, .same_evd = true},                  \
            {"other_evd", psp_hold, DAT_PSP_CONSUMER_FLAG, .same_evd = false},            \
            {"other_flag", psp_hold, DAT_PSP_PROVIDER_FLAG, .same_evd = true},            \
            {"with_request", psp_hold_pending, DAT_PSP_CONSUMER_FLAG, .same_evd = false}, \
            {"chosen", psp_hold_chosen, DAT_PSP_CONSUMER_FLAG, .same_evd = false},        \
            {"other_ia", psp_hold_elsewhere, DAT_PSP_CONSUMER_FLAG, .same_evd = false},   \
            {"of_provider", psp_hold_provider, DAT_PSP_CONSUMER_FLAG, .same_evd = false}, \
            {"reserved_by_provider", psp_hold_reserved_provider, DAT_PSP_CONSUMER_FLAG,   \
             .same_evd = false},                                                          \
        {                                                                                 \
                "reserved", psp_hold_reserved, DAT_PSP_CONSUMER_FLAG, .same_evd = false,  \
                                                                      .reserved = true    \
        }

/* The holder takes its request as if nothing had been asked. */
void psp_holds_on(struct test *t, struct loop *holder, const struct psp_holder *row);

/* What the EP of a request is that the provider made, as its query tells by that field alone. */
struct psp_ep_field {
        const char *id;
        DAT_EP_PARAM_MASK bit;
        bool (*is_right)(const DAT_EP_PARAM *param);
};
bool psp_ep_no_zone(const DAT_EP_PARAM *param);
bool psp_ep_no_recv_evd(const DAT_EP_PARAM *param);
bool psp_ep_no_request_evd(const DAT_EP_PARAM *param);
bool psp_ep_no_connect_evd(const DAT_EP_PARAM *param);
bool psp_ep_reliable(const DAT_EP_PARAM *param);
bool psp_ep_best_effort(const DAT_EP_PARAM *param);
bool psp_ep_tentative(const DAT_EP_PARAM *param);
#define PSP_EP_FIELDS                                                                       \
        {"pz_handle", DAT_EP_FIELD_PZ_HANDLE, psp_ep_no_zone},                              \
            {"recv_evd_handle", DAT_EP_FIELD_RECV_EVD_HANDLE, psp_ep_no_recv_evd},          \
            {"request_evd_handle", DAT_EP_FIELD_REQUEST_EVD_HANDLE, psp_ep_no_request_evd}, \
            {"connect_evd_handle", DAT_EP_FIELD_CONNECT_EVD_HANDLE, psp_ep_no_connect_evd}, \
            {"service_type", DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE, psp_ep_reliable},           \
            {"qos", DAT_EP_FIELD_EP_ATTR_QOS, psp_ep_best_effort},                          \
        {                                                                                   \
                "ep_state", DAT_EP_FIELD_EP_STATE, psp_ep_tentative                         \
        }
void psp_check_ep(struct test *t, struct loop *loop, const struct psp_ep_field *field);

/* RDMA reads of the EP that asks, from memory of the provider's EP, as many as both may have. */
void psp_read_all(struct test *t, struct loop *loop);

/* Values that are no flag. */
struct psp_no_flag {
        const char *id;
        unsigned int bits;
};
#define PSP_NO_FLAGS                                         \
        {"two", 2}, {"three", 3}, {"highest_bit", 1U << 31}, \
        {                                                    \
                "all_bits", ~0U                              \
        }

/* Each bit that is no flag, by itself or with the flag for EPs of the provider. */
struct psp_other_bits {
        const char *id;
        unsigned int flag;
};
#define PSP_OTHER_BITS                                 \
        {"alone", 0},                                  \
        {                                              \
                "with_provider", DAT_PSP_PROVIDER_FLAG \
        }
#define PSP_FIRST_OTHER_BIT 1
#define PSP_BITS            32

#endif
