/* SPDX-License-Identifier: BSD-2-Clause */
/* The ends of connections that have to wait for the device. */
#ifndef DAPLREF_ENDS_H
#define DAPLREF_ENDS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/daplref.h"
#include "base/list.h"

struct ep;
struct ia;

/* All under ia->cm_lock. */
struct ends {
        struct link eps; /* that are ending, the first to end first */
        uint64_t begun;  /* barriers, and the last of them that is over */
        uint64_t over;
        pthread_cond_t more;
        pthread_t thread;
        bool running;
        bool stopping;
        bool awaits_last;       /* the device may tell when a queue pair has given back its last */
        _Atomic bool told_last; /* it has done so */
};

void ends_init(struct ia *ia);
void ends_destroy(struct ia *ia);
DAT_RETURN ends_start(struct ia *ia);
void ends_stop(struct ia *ia);
void ends_add(struct ep *ep);
void ends_last_given_back(struct ep *ep);
void ends_await(struct ep *ep);
void ends_await_all(struct ia *ia);

#endif
