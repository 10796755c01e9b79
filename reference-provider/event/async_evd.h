/* SPDX-License-Identifier: BSD-2-Clause */
/* The asynchronous EVD of an IA, which may belong to another IA. */
#ifndef DAPLREF_ASYNC_EVD_H
#define DAPLREF_ASYNC_EVD_H

#include "base/daplref.h"

struct evd;
struct ia;

DAT_RETURN async_evd_open(struct ia *ia, DAT_COUNT qlen, DAT_EVD_HANDLE handle);
struct evd *async_evd_get(struct ia *ia);
void async_evd_post(struct ia *ia, DAT_EVENT_NUMBER number, DAT_HANDLE about, DAT_COUNT reason);
void async_evd_leave(struct ia *ia);

#endif
