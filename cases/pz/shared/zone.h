/* SPDX-License-Identifier: BSD-2-Clause */
/* What can be in a zone, by kind; and a connection whose EP and memory are of one zone. */
#ifndef CASES_PZ_ZONE_H
#define CASES_PZ_ZONE_H

#include "case.h"

#define MESSAGE ((size_t)64) /* bytes */

/* What an object in a zone needs besides the zone. */
struct zone_args {
        DAT_IA_HANDLE ia;
        DAT_EVD_HANDLE recv_evd, request_evd, connect_evd;
        DAT_EP_ATTR ep_attr;
        DAT_SRQ_ATTR srq_attr;
        struct buf *memory;
};
struct zone_args zone_args(struct test *t);

/*
 * A kind of object that is in a zone: the call that makes one, and the zone that its query tells,
 * which is DAT_HANDLE_NULL where it tells none.
 */
struct zone_kind {
        const char *id;
        DAT_HANDLE_TYPE type;
        DAT_RETURN (*create)(const struct zone_args *args, DAT_PZ_HANDLE zone, DAT_HANDLE *made);
        DAT_PZ_HANDLE (*zone_of)(DAT_HANDLE made);
};

DAT_RETURN ep_create_in(const struct zone_args *args, DAT_PZ_HANDLE zone, DAT_HANDLE *made);
DAT_RETURN lmr_create_in(const struct zone_args *args, DAT_PZ_HANDLE zone, DAT_HANDLE *made);
DAT_RETURN rmr_create_in(const struct zone_args *args, DAT_PZ_HANDLE zone, DAT_HANDLE *made);
DAT_RETURN srq_create_in(const struct zone_args *args, DAT_PZ_HANDLE zone, DAT_HANDLE *made);

DAT_PZ_HANDLE zone_of_ep(DAT_HANDLE made);
DAT_PZ_HANDLE zone_of_lmr(DAT_HANDLE made);
DAT_PZ_HANDLE zone_of_rmr(DAT_HANDLE made);
DAT_PZ_HANDLE zone_of_srq(DAT_HANDLE made);

/* The last one needs "srq_supported". */
static const struct zone_kind zone_kinds[] = {
    {"ep", DAT_HANDLE_TYPE_EP, ep_create_in, zone_of_ep},
    {"lmr", DAT_HANDLE_TYPE_LMR, lmr_create_in, zone_of_lmr},
    {"rmr", DAT_HANDLE_TYPE_RMR, rmr_create_in, zone_of_rmr},
    {"srq", DAT_HANDLE_TYPE_SRQ, srq_create_in, zone_of_srq},
};

/* An object of this kind in the zone, as its query shows. */
DAT_HANDLE made_in(struct test *t, const struct zone_kind *kind, DAT_PZ_HANDLE zone);

/* A connection over which messages come to memory of the EP's own zone. */
struct zone_path {
        DAT_EP_HANDLE ep;
        struct peer_ep *end;
        struct buf *buf;
        uint64_t sent;
};
struct zone_path path_in(struct test *t, DAT_PZ_HANDLE zone);

/* A message comes, whole, into memory of the zone. */
void expect_carries(struct test *t, struct zone_path *path);

#endif
