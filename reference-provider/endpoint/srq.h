/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAPLREF_SRQ_H
#define DAPLREF_SRQ_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/event_loop.h"
#include "base/handle.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/pool.h"

struct evd;
struct pz;
struct srq_user;

struct srq {
        struct object obj;
        struct pz *pz;
        struct ibv_srq *srq;
        pthread_mutex_t resize_lock;
        struct gate gate; /* posts enter it, and a resize closes it */
        struct wr_pool pool;
        _Atomic int max_recv_dtos;
        int max_recv_iov;
        int hardware_depth;
        bool fixed; /* the device cannot resize it; buffers beyond hardware_depth are deferred */
        struct lock deferred_lock;
        struct link deferred; /* buffers that the verbs queue has no room for, in order */
        int on_device;
        int qps;       /* queue pairs that use the verbs queue; under resize_lock */
        bool watching; /* its EVDs are drained as completions arrive; under resize_lock */
        _Atomic int low_watermark;
        _Atomic bool armed;
        _Atomic int available;   /* posted, and not taken by an EP */
        _Atomic int outstanding; /* posted, or taken and not dequeued */
        struct srq_user *users;  /* where its buffers can complete; under resize_lock */
        struct work low_work;
};

DAT_RETURN ref_srq_create(DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_SRQ_ATTR *, DAT_SRQ_HANDLE *);
DAT_RETURN ref_srq_free(DAT_SRQ_HANDLE);
DAT_RETURN ref_srq_post_recv(DAT_SRQ_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE);
DAT_RETURN ref_srq_query(DAT_SRQ_HANDLE, DAT_SRQ_PARAM_MASK, DAT_SRQ_PARAM *);
DAT_RETURN ref_srq_resize(DAT_SRQ_HANDLE, DAT_COUNT);
DAT_RETURN ref_srq_set_lw(DAT_SRQ_HANDLE, DAT_COUNT);
void srq_destroy(struct srq *srq);
bool srq_may_be_arriving(struct srq *srq);
void srq_low_event(struct srq *srq);
bool srq_attach(struct srq *srq, struct evd *evd);
void srq_detach(struct srq *srq, struct evd *evd);
struct ibv_srq *srq_join(struct srq *srq);
void srq_leave(struct srq *srq);

#endif
