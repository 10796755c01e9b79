/* SPDX-License-Identifier: BSD-2-Clause */
/* The objects that an EP uses and what it reserves of them. */
#ifndef DAPLREF_EP_SETUP_H
#define DAPLREF_EP_SETUP_H

#include <stdbool.h>

#include "base/daplref.h"

struct ep;
struct evd;
struct ia;
struct pz;
struct srq;

/* The objects and attributes of an EP, so that a change is made as a whole or not at all. */
struct ep_setup {
        struct pz *pz;
        struct evd *recv_evd;
        struct evd *request_evd;
        struct evd *connect_evd;
        struct srq *srq;
        DAT_EP_ATTR attr;
};

struct ep_handles {
        DAT_PZ_HANDLE pz;
        DAT_EVD_HANDLE recv_evd;
        DAT_EVD_HANDLE request_evd;
        DAT_EVD_HANDLE connect_evd;
        DAT_SRQ_HANDLE srq;
};

struct ep_setup ep_setup_of(const struct ep *ep);
DAT_RETURN ep_setup_change(struct ep *ep, const struct ep_setup *from, const struct ep_setup *to,
                           int argument);
void ep_setup_count_streams(const struct ep_setup *setup, int by);
void ep_setup_detach(struct ep *ep, const struct ep_setup *setup);
DAT_RETURN ep_setup_get(struct ia *ia, const struct ep_handles *wanted, bool with_srq,
                        struct ep_setup *setup);
void ep_setup_put(struct ep_setup *setup);
DAT_RETURN ep_setup_get_evd(struct ia *ia, DAT_EVD_HANDLE handle, unsigned int stream, int subtype,
                            struct evd **out);
void ep_setup_put_evd(struct evd *evd);
bool ep_setup_suits_srq(const struct pz *pz, const struct srq *srq);

#endif
