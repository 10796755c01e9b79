/* SPDX-License-Identifier: BSD-2-Clause */
#include "front.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define CONTROL_BYTES 32 /* of a request, before its segments */
#define SEGMENT_BYTES 16

#define NS_PER_S 1000000000L
#define COARSE   10000000ul /* nanoseconds */
#define LINGERING                                                                       \
        50000000L /* nanoseconds until a queue pair in ERR has told of all that it took \
                   */
#define SEVEN 6   /* of retry_cnt: soft-RoCE takes 7 as no limit */

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

int __real_epoll_ctl(int, int, int, struct epoll_event *);
int __wrap_epoll_ctl(int, int, int, struct epoll_event *);
int __real_ibv_modify_qp(struct ibv_qp *, struct ibv_qp_attr *, int);
int __wrap_ibv_modify_qp(struct ibv_qp *, struct ibv_qp_attr *, int);
int __real_ibv_query_qp(struct ibv_qp *, struct ibv_qp_attr *, int, struct ibv_qp_init_attr *);
int __wrap_ibv_query_qp(struct ibv_qp *, struct ibv_qp_attr *, int, struct ibv_qp_init_attr *);
int __real_ibv_close_device(struct ibv_context *);
int __wrap_ibv_close_device(struct ibv_context *);
int __real_ibv_get_async_event(struct ibv_context *, struct ibv_async_event *);
int __wrap_ibv_get_async_event(struct ibv_context *, struct ibv_async_event *);
void __real_ibv_ack_async_event(struct ibv_async_event *);
void __wrap_ibv_ack_async_event(struct ibv_async_event *);
struct ibv_device **__real_ibv_get_device_list(int *);
struct ibv_device **__wrap_ibv_get_device_list(int *);
int __real_rdma_bind_addr(struct rdma_cm_id *, struct sockaddr *);
int __wrap_rdma_bind_addr(struct rdma_cm_id *, struct sockaddr *);
int __real_rdma_get_cm_event(struct rdma_event_channel *, struct rdma_cm_event **);
int __wrap_rdma_get_cm_event(struct rdma_event_channel *, struct rdma_cm_event **);
struct rdma_event_channel *__real_rdma_create_event_channel(void);
struct rdma_event_channel *__wrap_rdma_create_event_channel(void);
void __real_rdma_destroy_event_channel(struct rdma_event_channel *);
void __wrap_rdma_destroy_event_channel(struct rdma_event_channel *);

/* What soft-RoCE does not keep for us of an object. */
struct note {
        const void *about;
        struct ibv_wc *kept; /* of a completion queue: entries that are yet to be given out */
        int count;
        uint32_t limit;    /* of an SRQ, as it was set last */
        uint32_t psn;      /* of a queue pair, as it was set */
        struct ibv_qp *qp; /* of one in ERR with an SRQ */
        int64_t until;     /* then what it took of the SRQ has completed */
        bool told;
        int unacknowledged;
        int async_fd; /* of a context, or of a channel of librdmacm */
        int timer_fd;
        bool in_place; /* the timer is waited for in place of the other */
        struct note *next;
};

static struct {
        pthread_mutex_t lock;
        pthread_cond_t acknowledged;
        struct note *notes;
        struct ibv_device_attr published;
        int (*poll)(struct ibv_cq *, int, struct ibv_wc *);
        int (*post_send)(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **);
        int cqs;
        int srqs;
        int qps;
} front = {.lock = PTHREAD_MUTEX_INITIALIZER, .acknowledged = PTHREAD_COND_INITIALIZER};

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

static int64_t now_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void keep(struct note *note, const struct ibv_wc *wc)
{
        struct ibv_wc *kept = realloc(note->kept, ((size_t)note->count + 1) * sizeof(*kept));

        if (!kept)
                abort();
        note->kept = kept;
        note->kept[note->count++] = *wc;
}

/* Is it a buffer of an SRQ that a queue pair in ERR has yet to tell of? */
static bool lingers(const struct ibv_wc *wc, int64_t now)
{
        struct note *note = front.notes;

        if (wc->status != IBV_WC_SUCCESS || !(wc->opcode & IBV_WC_RECV))
                return false;
        while (note && !(note->qp && note->qp->qp_num == wc->qp_num))
                note = note->next;
        return note && now < note->until;
}

static int poll_kept(struct note *note, int room, struct ibv_wc *wc)
{
        int64_t now = now_ns();
        int left = 0;
        int n = 0;

        for (int i = 0; i < note->count; i++) {
                if (n < room && !lingers(&note->kept[i], now))
                        wc[n++] = note->kept[i];
                else
                        note->kept[left++] = note->kept[i];
        }
        note->count = left;
        return n;
}

/* The device's own, but for what is kept back. Called with the lock held. */
static int poll_device(struct ibv_cq *cq, int room, struct ibv_wc *wc)
{
        int n = 0;

        while (n < room) {
                int ret = front.poll(cq, 1, &wc[n]);

                if (ret < 0)
                        return ret;
                if (!ret)
                        break;
                if (lingers(&wc[n], now_ns()))
                        keep(find_or_make(cq), &wc[n]);
                else
                        n++;
        }
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
                more = poll_device(cq, room - n, wc + n);
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

        while (front.poll(cq, 1, &wc) == 1)
                keep(note, &wc);
        for (int i = 0; i < note->count; i++) {
                if (note->kept[i].qp_num != qp_num)
                        note->kept[left++] = note->kept[i];
        }
        note->count = left;
}

/* A timer that is ready when a queue pair of the context is to be told of. */
static void make_timer(struct ibv_context *verbs)
{
        int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);

        if (timer < 0)
                abort();
        pthread_mutex_lock(&front.lock);
        *find_or_make(verbs) = (struct note){.about = verbs,
                                             .async_fd = verbs->async_fd,
                                             .timer_fd = timer,
                                             .next = front.notes->next};
        pthread_mutex_unlock(&front.lock);
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
        if (device_profile.last_wqe)
                make_timer(verbs);
        return verbs;
}

int __wrap_ibv_close_device(struct ibv_context *verbs)
{
        struct note *note;

        pthread_mutex_lock(&front.lock);
        note = find(verbs);
        if (note) {
                (void)close(note->timer_fd);
                forget(verbs);
        }
        pthread_mutex_unlock(&front.lock);
        return __real_ibv_close_device(verbs);
}

/* A thread that waits for the context's events waits for its timer too, or for that alone. */
int __wrap_epoll_ctl(int set, int operation, int fd, struct epoll_event *event)
{
        struct note *note;
        int ret = 0;

        pthread_mutex_lock(&front.lock);
        note = front.notes;
        while (note && !(note->timer_fd && note->async_fd == fd))
                note = note->next;
        if (!note || !note->in_place)
                ret = __real_epoll_ctl(set, operation, fd, event);
        if (!ret && note)
                ret = __real_epoll_ctl(set, operation, note->timer_fd, event);
        pthread_mutex_unlock(&front.lock);
        return ret;
}

static void set_timer(const struct ibv_context *verbs)
{
        struct itimerspec time = {0};
        int64_t first = 0;

        for (struct note *note = front.notes; note; note = note->next) {
                if (note->qp && note->qp->context == verbs && !note->told &&
                    (!first || note->until < first))
                        first = note->until;
        }
        time.it_value.tv_sec = first / NS_PER_S;
        time.it_value.tv_nsec = first % NS_PER_S;
        (void)timerfd_settime(find(verbs)->timer_fd, TFD_TIMER_ABSTIME, &time, NULL);
}

/* A queue pair of the context that has told of all that it took of its SRQ, or NULL. */
static struct ibv_qp *next_to_tell(struct ibv_context *verbs)
{
        int64_t now = now_ns();

        for (struct note *note = front.notes; note; note = note->next) {
                if (!note->qp || note->qp->context != verbs || note->told || now < note->until)
                        continue;
                note->told = true;
                note->unacknowledged++;
                set_timer(verbs);
                return note->qp;
        }
        return NULL;
}

int __wrap_ibv_get_async_event(struct ibv_context *verbs, struct ibv_async_event *event)
{
        struct ibv_qp *qp = NULL;

        pthread_mutex_lock(&front.lock);
        if (device_profile.last_wqe)
                qp = next_to_tell(verbs);
        pthread_mutex_unlock(&front.lock);
        if (!qp)
                return __real_ibv_get_async_event(verbs, event);
        *event =
            (struct ibv_async_event){.element.qp = qp, .event_type = IBV_EVENT_QP_LAST_WQE_REACHED};
        return 0;
}

void __wrap_ibv_ack_async_event(struct ibv_async_event *event)
{
        struct note *note;

        if (event->event_type != IBV_EVENT_QP_LAST_WQE_REACHED) {
                __real_ibv_ack_async_event(event);
                return;
        }
        pthread_mutex_lock(&front.lock);
        note = find(event->element.qp);
        if (note)
                note->unacknowledged--;
        pthread_cond_broadcast(&front.acknowledged);
        pthread_mutex_unlock(&front.lock);
}

struct ibv_device **__wrap_ibv_get_device_list(int *number)
{
        struct ibv_device **devices = __real_ibv_get_device_list(number);

        for (int i = 0; device_profile.no_connections && devices && devices[i]; i++) {
                devices[i]->node_type = IBV_NODE_UNSPECIFIED;
                devices[i]->transport_type = IBV_TRANSPORT_UNSPECIFIED;
        }
        return devices;
}

int __wrap_rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *address)
{
        return device_profile.no_connections ? 0 : __real_rdma_bind_addr(id, address);
}

/* Its events are there at the ticks of a timer only. */
struct rdma_event_channel *__wrap_rdma_create_event_channel(void)
{
        struct rdma_event_channel *channel = __real_rdma_create_event_channel();
        struct timespec late = {.tv_nsec = device_profile.slow_cm};
        struct itimerspec ticks = {.it_interval = late, .it_value = late};
        struct note *note;
        int timer;

        if (!channel || !device_profile.slow_cm)
                return channel;
        timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
        if (timer < 0 || timerfd_settime(timer, 0, &ticks, NULL))
                abort();
        pthread_mutex_lock(&front.lock);
        note = find_or_make(channel);
        note->async_fd = channel->fd;
        note->timer_fd = timer;
        note->in_place = true;
        pthread_mutex_unlock(&front.lock);
        return channel;
}

void __wrap_rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
        struct note *note;

        pthread_mutex_lock(&front.lock);
        note = find(channel);
        if (note) {
                (void)close(note->timer_fd);
                forget(channel);
        }
        pthread_mutex_unlock(&front.lock);
        __real_rdma_destroy_event_channel(channel);
}

static int timer_of(const struct rdma_event_channel *channel)
{
        struct note *note;
        int timer;

        pthread_mutex_lock(&front.lock);
        note = find(channel);
        timer = note ? note->timer_fd : -1;
        pthread_mutex_unlock(&front.lock);
        return timer;
}

int __wrap_rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
        struct pollfd tick = {.fd = timer_of(channel), .events = POLLIN};
        uint64_t ticks;
        int ret;

        if (tick.fd >= 0 && !poll(&tick, 1, 0)) {
                errno = EAGAIN;
                return -1;
        }
        ret = __real_rdma_get_cm_event(channel, event);
        if (ret && tick.fd >= 0)
                (void)!read(tick.fd, &ticks, sizeof(ticks));
        return ret;
}

__attribute__((constructor)) static void set_clocks(void)
{
        if (device_profile.coarse)
                (void)prctl(PR_SET_TIMERSLACK, COARSE);
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
        if (device_profile.resizes_in_name)
                return 0;
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
        if (device_profile.srq_wr && init->attr.max_wr > device_profile.srq_wr) {
                refuse(ENOMEM);
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

        if (device_profile.no_connections && init->qp_type == IBV_QPT_RC) {
                refuse(EOPNOTSUPP);
                return NULL;
        }
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

static void note_modified(struct ibv_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
        bool ends = device_profile.last_wqe && qp->srq && mask & IBV_QP_STATE &&
                    attr->qp_state == IBV_QPS_ERR;
        struct note *note;

        if (!ends && !(mask & IBV_QP_RQ_PSN))
                return;
        pthread_mutex_lock(&front.lock);
        note = find_or_make(qp);
        if (mask & IBV_QP_RQ_PSN)
                note->psn = attr->rq_psn;
        if (ends && !note->qp) {
                note->qp = qp;
                note->until = now_ns() + LINGERING;
                set_timer(qp->context);
        }
        pthread_mutex_unlock(&front.lock);
}

int __wrap_ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
        struct ibv_qp_attr finite = *attr;
        int ret;

        if (device_profile.finite_retries && finite.retry_cnt > SEVEN)
                finite.retry_cnt = SEVEN;
        if (device_profile.slow_rnr)
                finite.min_rnr_timer = 0; /* InfiniBand's specification, table 45: the longest */
        ret = __real_ibv_modify_qp(qp, &finite, mask);
        if (!ret)
                note_modified(qp, attr, mask);
        return ret;
}

int __wrap_ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
                        struct ibv_qp_init_attr *init)
{
        int ret = __real_ibv_query_qp(qp, attr, mask, init);
        struct note *note;

        if (!ret && device_profile.no_psn)
                attr->rq_psn = 0;
        if (ret || !device_profile.fixed_psn)
                return ret;
        pthread_mutex_lock(&front.lock);
        note = find(qp);
        if (note)
                attr->rq_psn = note->psn;
        pthread_mutex_unlock(&front.lock);
        return 0;
}

/* As verbs has it: what was told of the queue pair is acknowledged before it goes. */
static void await_acknowledgement(const struct ibv_qp *qp)
{
        struct note *note;

        pthread_mutex_lock(&front.lock);
        note = find(qp);
        if (note)
                note->told = true;
        while (note && note->unacknowledged)
                pthread_cond_wait(&front.acknowledged, &front.lock);
        pthread_mutex_unlock(&front.lock);
}

int __wrap_ibv_destroy_qp(struct ibv_qp *qp)
{
        struct ibv_cq *send_cq = qp->send_cq;
        struct ibv_cq *recv_cq = qp->recv_cq;
        uint32_t number = qp->qp_num;
        int ret;

        await_acknowledgement(qp);
        ret = __real_ibv_destroy_qp(qp);
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
