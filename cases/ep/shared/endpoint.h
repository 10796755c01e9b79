/* SPDX-License-Identifier: BSD-2-Clause */
/* The states of an EP, and the handles that are none of an EP's, as rows of families. */
#ifndef CASES_EP_ENDPOINT_H
#define CASES_EP_ENDPOINT_H

#include "case.h"

struct ep_state_row {
        const char *id;
        DAT_EP_STATE state;
};

static const struct ep_state_row ep_states[] = {
    {"unconnected", DAT_EP_STATE_UNCONNECTED},
    {"reserved", DAT_EP_STATE_RESERVED},
    {"passive_connection_pending", DAT_EP_STATE_PASSIVE_CONNECTION_PENDING},
    {"active_connection_pending", DAT_EP_STATE_ACTIVE_CONNECTION_PENDING},
    {"tentative_connection_pending", DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING},
    {"completion_pending", DAT_EP_STATE_COMPLETION_PENDING},
    {"connected", DAT_EP_STATE_CONNECTED},
    {"disconnect_pending", DAT_EP_STATE_DISCONNECT_PENDING},
    {"disconnected", DAT_EP_STATE_DISCONNECTED},
};

/* Those that an EP of the consumer's own making can be in. */
static const struct ep_state_row consumer_ep_states[] = {
    {"unconnected", DAT_EP_STATE_UNCONNECTED},
    {"reserved", DAT_EP_STATE_RESERVED},
    {"passive_connection_pending", DAT_EP_STATE_PASSIVE_CONNECTION_PENDING},
    {"active_connection_pending", DAT_EP_STATE_ACTIVE_CONNECTION_PENDING},
    {"completion_pending", DAT_EP_STATE_COMPLETION_PENDING},
    {"connected", DAT_EP_STATE_CONNECTED},
    {"disconnect_pending", DAT_EP_STATE_DISCONNECT_PENDING},
    {"disconnected", DAT_EP_STATE_DISCONNECTED},
};

/* Those in which no message comes to an EP that the consumer made. */
static const struct ep_state_row idle_ep_states[] = {
    {"unconnected", DAT_EP_STATE_UNCONNECTED},
    {"reserved", DAT_EP_STATE_RESERVED},
    {"passive_connection_pending", DAT_EP_STATE_PASSIVE_CONNECTION_PENDING},
    {"active_connection_pending", DAT_EP_STATE_ACTIVE_CONNECTION_PENDING},
    {"completion_pending", DAT_EP_STATE_COMPLETION_PENDING},
    {"disconnected", DAT_EP_STATE_DISCONNECTED},
};

/* The EP is in that state still; a disconnect that was pending may have come to its end. */
static inline void expect_ep_state_kept(struct test *t, DAT_EP_HANDLE ep, DAT_EP_STATE before)
{
        DAT_EP_STATE now = ep_state(t, ep);

        if (before != DAT_EP_STATE_DISCONNECT_PENDING || now != DAT_EP_STATE_DISCONNECTED)
                expect_eq(now, before);
}

static const struct invalid_ep {
        const char *id;
        enum bad_handle how;
} invalid_eps[] = {
    {"null", BAD_HANDLE_NULL},
    {"other_kind", BAD_HANDLE_OTHER_KIND},
    {"sibling", BAD_HANDLE_SIBLING},
    {"destroyed", BAD_HANDLE_DESTROYED},
};

#endif
