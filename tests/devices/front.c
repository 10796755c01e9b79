/* SPDX-License-Identifier: BSD-2-Clause */
#include "front.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define CONTROL_BYTES 32 /* of a request, before its segments */
#define SEGMENT_BYTES 16

struct ibv_context *__real_ibv_open_device(struct ibv_device *);
struct ibv_context *__wrap_ibv_open_device(struct ibv_device *);
int __real_ibv_query_device(struct ibv_context *, struct ibv_device_attr *);
int __wrap_ibv_query_device(struct ibv_context *, struct ibv_device_attr *);
struct ibv_cq *__real_ibv_create_cq(struct ibv_context *, int, void *, struct ibv_comp_channel *,
                                    int);
struct ibv_cq *__wrap_ibv_create_cq(struct ibv_context *, int, void *, struct ibv_comp_channel *,
                                    int);
int __real_ibv_destroy_cq(struct ibv_cq *);
int __wrap_ibv_destroy_cq(struct ibv_cq *);
int __real_ibv_resize_cq(struct ibv_cq *, int);
int __wrap_ibv_resize_cq(struct ibv_cq *, int);
struct ibv_srq *__real_ibv_create_srq(struct ibv_pd *, struct ibv_srq_init_attr *);
struct ibv_srq *__wrap_ibv_create_srq(struct ibv_pd *, struct ibv_srq_init_attr *);
int __real_ibv_destroy_srq(struct ibv_srq *);
int __wrap_ibv_destroy_srq(struct ibv_srq *);
int __real_ibv_modify_srq(struct ibv_srq *, struct ibv_srq_attr *, int);
int __wrap_ibv_modify_srq(struct ibv_srq *, struct ibv_srq_attr *, int);
int __real_ibv_query_srq(struct ibv_srq *, struct ibv_srq_attr *);
int __wrap_ibv_query_srq(struct ibv_srq *, struct ibv_srq_attr *);
struct ibv_qp *__real_ibv_create_qp(struct ibv_pd *, struct ibv_qp_init_attr *);
struct ibv_qp *__wrap_ibv_create_qp(struct ibv_pd *, struct ibv_qp_init_attr *);
int __real_ibv_destroy_qp(struct ibv_qp *);
int __wrap_ibv_destroy_qp(struct ibv_qp *);

/* What soft-RoCE does not keep for us of a completion queue or an SRQ. */
struct note {
        const void *about;
        struct ibv_wc *kept; /* entries that stayed while those of a queue pair were taken out */
        int count;
        uint32_t limit; /* as it was set last */
        struct note *next;
};

static struct {
        pthread_mutex_t lock;
        struct note *notes;
        struct ibv_device_attr published;
        int (*poll)(struct ibv_cq *, int, struct ibv_wc *);
        int (*post_send)(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **);
        int cqs;
        int srqs;
        int qps;
} front = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct note *find(const void *about)
{
        struct note *note = front.notes;

        while (note && note->about != about)
                note = note->next;
        return note;
}

static struct note *find_or_make(const void *about)
{
        struct note *note = find(about);

        if (note)
                return note;
        note = calloc(1, sizeof(*note));
        if (!note)
                abort();
        *note = (struct note){.about = about, .next = front.notes};
        front.notes = note;
        return note;
}

static void forget(const void *about)
{
        for (struct note **at = &front.notes; *at; at = &(*at)->next) {
                struct note *note = *at;

                if (note->about != about)
                        continue;
                *at = note->next;
                free(note->kept);
                free(note);
                return;
        }
}

static void refuse(int error)
{
        errno = error;
}

/* One more of what the device has no more than `most` of. */
static bool count(int *have, int most)
{
        bool room;

        pthread_mutex_lock(&front.lock);
        room = *have < most;
        *have += room;
        pthread_mutex_unlock(&front.lock);
        if (!room)
                refuse(ENOMEM);
        return room;
}

/* One less, of which nothing is remembered. */
static void discount(int *have, const void *about)
{
        pthread_mutex_lock(&front.lock);
        --*have;
        forget(about);
        pthread_mutex_unlock(&front.lock);
}

static int poll_kept(struct note *note, int room, struct ibv_wc *wc)
{
        int n = note->count < room ? note->count : room;

        if (!n)
                return 0;
        memcpy(wc, note->kept, (size_t)n * sizeof(*wc));
        note->count -= n;
        memmove(note->kept, note->kept + n, (size_t)note->count * sizeof(*wc));
        return n;
}

static int poll_cq(struct ibv_cq *cq, int room, struct ibv_wc *wc)
{
        struct note *note;
        int more = 0;
        int n = 0;

        pthread_mutex_lock(&front.lock);
        note = find(cq);
        if (note)
                n = poll_kept(note, room, wc);
        if (n < room)
                more = front.poll(cq, room - n, wc + n);
        pthread_mutex_unlock(&front.lock);
        if (more < 0)
                return more;
        for (int i = 0; i < n + more; i++) {
                if (device_profile.one_too_long && wc[i].status == IBV_WC_REM_OP_ERR)
                        wc[i].status = IBV_WC_REM_INV_REQ_ERR;
        }
        return n + more;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *send, struct ibv_send_wr **bad)
{
        for (struct ibv_send_wr *at = send; at; at = at->next) {
                if (at->opcode != IBV_WR_RDMA_READ ||
                    (uint32_t)at->num_sge <= (uint32_t)front.published.max_sge_rd)
                        continue;
                *bad = at;
                return EINVAL;
        }
        return front.post_send(qp, send, bad);
}

/* Takes the entries of a queue pair out of the queue. Called with the lock held. */
static void clean(struct ibv_cq *cq, uint32_t qp_num)
{
        struct note *note = find_or_make(cq);
        struct ibv_wc wc;
        int left = 0;

        while (front.poll(cq, 1, &wc) == 1) {
                struct ibv_wc *kept =
                    realloc(note->kept, ((size_t)note->count + 1) * sizeof(*kept));

                if (!kept)
                        abort();
                note->kept = kept;
                note->kept[note->count++] = wc;
        }
        for (int i = 0; i < note->count; i++) {
                if (note->kept[i].qp_num != qp_num)
                        note->kept[left++] = note->kept[i];
        }
        note->count = left;
}

struct ibv_context *__wrap_ibv_open_device(struct ibv_device *device)
{
        struct ibv_context *verbs = __real_ibv_open_device(device);
        struct ibv_device_attr attr;

        if (!verbs)
                return NULL;
        if (__wrap_ibv_query_device(verbs, &attr)) {
                ibv_close_device(verbs);
                return NULL;
        }
        pthread_mutex_lock(&front.lock);
        front.published = attr;
        front.poll = verbs->ops.poll_cq;
        front.post_send = verbs->ops.post_send;
        pthread_mutex_unlock(&front.lock);
        verbs->ops.poll_cq = poll_cq;
        verbs->ops.post_send = post_send;
        return verbs;
}

int __wrap_ibv_query_device(struct ibv_context *verbs, struct ibv_device_attr *attr)
{
        int ret = __real_ibv_query_device(verbs, attr);

        if (ret)
                return ret;
        if (device_profile.srq_resize)
                attr->device_cap_flags &= ~(unsigned int)IBV_DEVICE_SRQ_RESIZE;
        if (device_profile.publish)
                device_profile.publish(attr);
        return 0;
}

struct ibv_cq *__wrap_ibv_create_cq(struct ibv_context *verbs, int entries, void *context,
                                    struct ibv_comp_channel *channel, int vector)
{
        struct ibv_cq *cq;

        if (entries > front.published.max_cqe) {
                refuse(EINVAL);
                return NULL;
        }
        if (!count(&front.cqs, front.published.max_cq))
                return NULL;
        cq = __real_ibv_create_cq(verbs, entries, context, channel, vector);
        if (!cq)
                discount(&front.cqs, NULL);
        return cq;
}

int __wrap_ibv_destroy_cq(struct ibv_cq *cq)
{
        int ret = __real_ibv_destroy_cq(cq);

        if (!ret)
                discount(&front.cqs, cq);
        return ret;
}

int __wrap_ibv_resize_cq(struct ibv_cq *cq, int entries)
{
        if (device_profile.cq_resize)
                return device_profile.cq_resize;
        return entries > front.published.max_cqe ? EINVAL : __real_ibv_resize_cq(cq, entries);
}

struct ibv_srq *__wrap_ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
        struct ibv_srq *srq;

        if (init->attr.max_wr > (uint32_t)front.published.max_srq_wr ||
            init->attr.max_sge > (uint32_t)front.published.max_srq_sge) {
                refuse(EINVAL);
                return NULL;
        }
        if (!count(&front.srqs, front.published.max_srq))
                return NULL;
        srq = __real_ibv_create_srq(pd, init);
        if (!srq)
                discount(&front.srqs, NULL);
        return srq;
}

int __wrap_ibv_destroy_srq(struct ibv_srq *srq)
{
        int ret = __real_ibv_destroy_srq(srq);

        if (!ret)
                discount(&front.srqs, srq);
        return ret;
}

int __wrap_ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
        int ret;

        if (mask & IBV_SRQ_MAX_WR && device_profile.srq_resize)
                return device_profile.srq_resize;
        ret = __real_ibv_modify_srq(srq, attr, mask);
        if (ret || !(mask & IBV_SRQ_LIMIT))
                return ret;
        pthread_mutex_lock(&front.lock);
        find_or_make(srq)->limit = attr->srq_limit;
        pthread_mutex_unlock(&front.lock);
        return 0;
}

int __wrap_ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
        int ret = __real_ibv_query_srq(srq, attr);
        struct note *note;

        if (ret || !device_profile.stays_armed)
                return ret;
        pthread_mutex_lock(&front.lock);
        note = find(srq);
        if (note)
                attr->srq_limit = note->limit;
        pthread_mutex_unlock(&front.lock);
        return 0;
}

static uint64_t blocks(const struct ibv_qp_cap *cap)
{
        uint64_t block = (uint64_t)device_profile.block;
        uint64_t data = (uint64_t)cap->max_send_sge * SEGMENT_BYTES;
        uint64_t bytes;
        uint64_t size = 1;

        if (data < cap->max_inline_data)
                data = cap->max_inline_data;
        bytes = (CONTROL_BYTES + data + block - 1) / block * block * cap->max_send_wr;
        while (size < bytes)
                size *= 2;
        return size / block;
}

static bool fits(const struct ibv_qp_init_attr *init)
{
        const struct ibv_device_attr *most = &front.published;
        const struct ibv_qp_cap *cap = &init->cap;
        uint32_t recv_wr = init->srq ? 0 : cap->max_recv_wr;
        uint32_t recv_sge = init->srq ? 0 : cap->max_recv_sge;

        return cap->max_send_wr <= (uint32_t)most->max_qp_wr &&
               recv_wr <= (uint32_t)most->max_qp_wr &&
               cap->max_send_sge <= (uint32_t)most->max_sge &&
               recv_sge <= (uint32_t)most->max_sge &&
               (!device_profile.block || blocks(cap) <= (uint64_t)most->max_qp_wr);
}

struct ibv_qp *__wrap_ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
        struct ibv_qp *qp;

        if (!fits(init)) {
                refuse(EINVAL);
                return NULL;
        }
        if (!count(&front.qps, front.published.max_qp))
                return NULL;
        qp = __real_ibv_create_qp(pd, init);
        if (!qp)
                discount(&front.qps, NULL);
        return qp;
}

int __wrap_ibv_destroy_qp(struct ibv_qp *qp)
{
        struct ibv_cq *send_cq = qp->send_cq;
        struct ibv_cq *recv_cq = qp->recv_cq;
        uint32_t number = qp->qp_num;
        int ret = __real_ibv_destroy_qp(qp);

        if (ret)
                return ret;
        if (device_profile.destroy_cleans) {
                pthread_mutex_lock(&front.lock);
                clean(send_cq, number);
                clean(recv_cq, number);
                pthread_mutex_unlock(&front.lock);
        }
        discount(&front.qps, qp);
        return 0;
}
