/* SPDX-License-Identifier: BSD-2-Clause */
/* The service thread of an IA, which fetches every event that nobody waits for. */
#ifndef DAPLREF_SERVICE_H
#define DAPLREF_SERVICE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "daplref.h"
#include "list.h"

struct evd;
struct ia;
struct object;

/* What may not be done where its need is found. */
struct work {
        struct link link;
        bool queued;
        struct object *owner;
        void (*run)(struct work *work);
};

void work_init(struct work *work, struct object *owner, void (*run)(struct work *));
void work_queue(struct ia *ia, struct work *work);
void work_cancel(struct ia *ia, struct work *work);
bool service_spawn(pthread_t *thread, void *(*run)(void *), void *argument);
DAT_RETURN service_start(struct ia *ia);
void service_stop(struct ia *ia);
void service_close(struct ia *ia);
bool service_listen(struct ia *ia, struct evd *evd);
void service_ignore(struct ia *ia, struct evd *evd);
void service_rearm(struct ia *ia);
bool service_relieve(struct ia *ia);
void service_resume(struct ia *ia);
void service_hold_wakes(void);
void service_release_wakes(void);
bool service_wakes_later(struct evd *evd);
uint64_t now_us(void);

#endif
