/* SPDX-License-Identifier: BSD-2-Clause */
/* EPs whose disconnect waits until the device has returned their SRQ receives. */
#ifndef DAPLREF_EP_FLUSH_H
#define DAPLREF_EP_FLUSH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/daplref.h"
#include "base/list.h"

struct ep;
struct ia;

/* All fields but the last are under ia->cm_lock. */
struct ep_flush {
        struct link eps; /* EPs in EP_FLUSHING, in order */
        uint64_t begun;  /* barriers started, and the last that is complete */
        uint64_t over;
        pthread_cond_t more;
        pthread_t thread;
        bool running;
        bool stopping;
        bool awaits_last_wqe; /* the device may report the last completion of a queue pair */
        _Atomic bool reports_last_wqe; /* it has reported one */
};

void ep_flush_init(struct ia *ia);
void ep_flush_destroy(struct ia *ia);
DAT_RETURN ep_flush_start(struct ia *ia);
void ep_flush_stop(struct ia *ia);
void ep_flush_add(struct ep *ep);
void ep_flush_last_wqe(struct ep *ep);
void ep_flush_await(struct ep *ep);
void ep_flush_await_all(struct ia *ia);

#endif
