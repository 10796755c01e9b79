/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the cases that connect use of each other. */
#ifndef CASES_EP_CONNECT_IMPL_H
#define CASES_EP_CONNECT_IMPL_H

#include "cases/ep/shared/connect.h"

#define US_PER_MS 1000
#define OLD_DATA  0 /* the message that is the private data of each request, if none is said */

/* The first request on the EVD: it has this private data, and the address of the IA that asked. */
DAT_CR_HANDLE stage_request(struct test *t, const struct stage *stage, uint64_t message,
                            DAT_COUNT size, DAT_CR_PARAM *param);

/* The same; the EVD of the service point has room for so many requests. */
void stage_set_for(struct test *t, struct stage *stage, enum way way, DAT_COUNT requests_most,
                   struct ep_opts active, struct ep_opts passive);

/* The event names this EP, and came on its connect EVD. */
void expect_about(struct test *t, const DAT_EVENT *event, DAT_EP_HANDLE ep);

/* The local port qualifier of the EP, by a query. */
DAT_PORT_QUAL connect_port_of(struct test *t, DAT_EP_HANDLE ep);

/* Without an answer: the event comes after the timeout, and not before. */
void expect_time_out(struct test *t, DAT_EP_HANDLE ep, uint64_t began, DAT_TIMEOUT timeout);

#endif
