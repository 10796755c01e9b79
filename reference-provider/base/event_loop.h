/* SPDX-License-Identifier: BSD-2-Clause */
/* The service thread of an IA. It calls back for descriptors, deferred work and a timer. */
#ifndef DAPLREF_EVENT_LOOP_H
#define DAPLREF_EVENT_LOOP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

struct object;

/* A descriptor of the loop. `ready` is called in the service thread while it is readable. */
struct event_source {
        void (*ready)(struct event_source *source);
};

/* Work deferred to the service thread because the caller holds a lock. */
struct work {
        struct link link;
        bool queued;
        struct object *owner; /* pinned while the work runs */
        void (*run)(struct work *work);
};

struct event_loop {
        /* Called after each round of events. Returns the time of the next call, or 0 for none. */
        uint64_t (*tick)(struct event_loop *loop);
        /* Called for each live EVD whose descriptor is readable. The EVD is pinned meanwhile. */
        void (*evd_ready)(struct object *evd);

        pthread_t thread;
        pthread_mutex_t work_lock;
        struct link work; /* under work_lock */
        int epoll_fd;
        int kick_fd;
        int timer_fd;
        struct event_source kick;
        struct event_source timer;
        uint64_t timer_at; /* the time that timer_fd is set to, or 0 */
        bool running;
        bool again; /* a callback of this thread has asked for another round */
        _Atomic bool stopping;
};

void event_loop_init(struct event_loop *loop);
void event_loop_destroy(struct event_loop *loop);
bool event_loop_open(struct event_loop *loop);
bool event_loop_start(struct event_loop *loop);
void event_loop_stop(struct event_loop *loop);
void event_loop_close(struct event_loop *loop);
bool event_loop_add(struct event_loop *loop, int fd, struct event_source *source);
bool event_loop_add_evd(struct event_loop *loop, int fd, const struct object *evd);
void event_loop_remove(struct event_loop *loop, int fd);
void event_loop_enable(struct event_loop *loop, int fd, struct event_source *source, bool enable);
void event_loop_rearm(struct event_loop *loop);
void work_init(struct work *work, struct object *owner, void (*run)(struct work *));
void work_queue(struct event_loop *loop, struct work *work);
void work_cancel(struct event_loop *loop, struct work *work);

#endif
