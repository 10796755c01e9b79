/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects and checks that several files of the cases of dat_ep_modify use. */
#ifndef CASES_EP_MODIFY_GENERAL_FIXTURES_H
#define CASES_EP_MODIFY_GENERAL_FIXTURES_H

#include "case.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/ep/shared/modify_table.h"

#define MESSAGE ((size_t)64)

struct ep_change unconnected(struct test *t, enum ep_parameter_id id);

#define MODIFIABLE_COUNT (sizeof(ep_modifiable) / sizeof(ep_modifiable[0]))

/* Other values for all that an Unconnected EP can be given here; made before the EP. */
struct wishes {
        uint64_t made[MODIFIABLE_COUNT];
        DAT_EP_PARAM asked;
        DAT_EP_PARAM_MASK all;
};

void wish_objects(struct test *t, struct wishes *wishes);

void wish(struct test *t, struct wishes *wishes, const DAT_EP_PARAM *now);

/* An EP of few means, as it is `before`, and other values for all that it can have. */
DAT_EP_HANDLE ep_with_wishes_in(struct test *t, DAT_EP_STATE state, struct wishes *wishes,
                                struct ep_snapshot *before);

/* An Unconnected one. */
DAT_EP_HANDLE ep_with_wishes(struct test *t, struct wishes *wishes, struct ep_snapshot *before);

static const struct ep_parameter_row fixed[] = {
#define ROW(name_)                       \
        {                                \
#name_, EP_PARAM_##name_ \
        }
    ROW(ia_handle),
    ROW(ep_state),
    ROW(local_ia_address_ptr),
    ROW(local_port_qual),
    ROW(remote_ia_address_ptr),
    ROW(remote_port_qual),
#undef ROW
};

/* A request of the EP that does not connect it; and the same, after which its event is taken. */
void ask_rejecting(struct test *t, DAT_EP_HANDLE ep);
void ask_nobody(struct test *t, DAT_EP_HANDLE ep);
void be_rejected(struct test *t, DAT_EP_HANDLE ep);
void find_no_listener(struct test *t, DAT_EP_HANDLE ep);

static const struct failed_request {
        const char *id;
        void (*ask)(struct test *t, DAT_EP_HANDLE ep);
        void (*connect)(struct test *t, DAT_EP_HANDLE ep);
} failed_requests[] = {
    {"rejected", ask_rejecting, be_rejected},
    {"no_listener", ask_nobody, find_no_listener},
};

#endif
