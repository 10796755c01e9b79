/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of the reference provider share: the objects behind the handles and the calls
 * that cross from one object to another. docs/provider.md has the picture.
 *
 * Lock order, outermost first: ia->cm_turn, ia->cm_lock, srq->resize_lock, the list of IAs,
 * ia->lock, evd->lock, cno->lock, then the leaves (pool->lock, ia->work_lock).
 */
#ifndef DAPLREF_H
#define DAPLREF_H

#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "dat_abi.h"

#define REF_ERROR(type, subtype) \
        ((DAT_RETURN)(DAT_CLASS_ERROR | (DAT_UINT32)(type) | (DAT_UINT32)(subtype)))

#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

#define REF_MAX_EPS          4096
#define REF_MAX_EVDS         2048
#define REF_MAX_EVD_QLEN     16384
#define REF_MAX_DTOS         8191
#define REF_MAX_IOV          16
#define REF_MAX_LMRS         16384
#define REF_MAX_RMRS         4096
#define REF_MAX_PZS          512
#define REF_MAX_SRQS         512
#define REF_MAX_SERVICES     4096
#define REF_MAX_CNOS         2048
#define REF_MAX_PRIVATE_DATA 64
#define REF_KINDS            (DAT_HANDLE_TYPE_SRQ + 1)

struct ia;
struct ep;
struct evd;
struct srq;
struct srq_user;
struct conn;

struct link {
        struct link *prev;
        struct link *next;
};

static inline void list_init(struct link *head)
{
        head->prev = head->next = head;
}

static inline bool list_empty(const struct link *head)
{
        return head->next == head;
}

static inline void list_append(struct link *head, struct link *item)
{
        item->prev = head->prev;
        item->next = head;
        head->prev->next = item;
        head->prev = item;
}

/* Takes the item from the list that it is in to the end of another. */
static inline void list_move(struct link *head, struct link *item)
{
        item->prev->next = item->next;
        item->next->prev = item->prev;
        list_append(head, item);
}

static inline void list_remove(struct link *item)
{
        item->prev->next = item->next;
        item->next->prev = item->prev;
        list_init(item);
}

/* handle.c: what the Consumer holds is a small record that outlives the object behind it. */

struct handle {
        const DAT_PROVIDER *provider; /* libdat reads this word, so it must come first */
        _Atomic uint32_t life;
        struct object *object;
        DAT_CONTEXT context;
        struct handle *next;
};

/* What every object begins with, for object_get() returns it as the object itself. */
struct object {
        struct handle *handle;
        struct ia *ia;
        struct link link; /* in ia->objects[kind] */
        int users;        /* objects that cannot live without this one, under ia->lock */
};

DAT_RETURN object_publish(struct ia *ia, struct object *object, DAT_HANDLE_TYPE kind);
void *object_get(DAT_HANDLE handle, DAT_HANDLE_TYPE kind);
bool object_pin(struct object *object);
void object_put_dead(struct handle *handle);
bool object_kill(struct object *object);
void object_await_last(struct object *object, uint32_t references);
void object_await_all(struct ia *ia);
bool object_lives(const struct object *object);
void object_bury(struct object *object);
DAT_RETURN object_use(struct object *object, DAT_RETURN otherwise);
void object_unuse(struct object *object);
DAT_RETURN object_retire(struct object *object, DAT_RETURN when_used);

/* The bit of a handle's life that is set until somebody frees the object. */
#define HANDLE_LIVE (UINT32_C(1) << 31)

static inline DAT_HANDLE object_handle(const struct object *object)
{
        return object ? object->handle : DAT_HANDLE_NULL;
}

/* Lets go of an object that the caller has pinned. */
static inline void object_put(void *body)
{
        struct handle *handle = ((struct object *)body)->handle;
        uint32_t before = atomic_fetch_sub_explicit(&handle->life, 1, memory_order_acq_rel);

        /* Only the memory of the record may be touched from here on: the object may be gone. */
        if (!(before & HANDLE_LIVE))
                object_put_dead(handle);
}

int futex_wait_until(_Atomic uint32_t *word, uint32_t seen, uint64_t deadline);
void futex_wake(_Atomic uint32_t *word, int waiters);
DAT_RETURN ref_set_consumer_context(DAT_HANDLE, DAT_CONTEXT);
DAT_RETURN ref_get_consumer_context(DAT_HANDLE, DAT_CONTEXT *);
DAT_RETURN ref_get_handle_type(DAT_HANDLE, DAT_HANDLE_TYPE *);

/* service.c runs work that may not be done where its need is found. */

struct work {
        struct link link;
        bool queued;
        struct object *owner;
        void (*run)(struct work *work);
};

/* handle.c has the gate, too, which lets many callers through at once, and lets one stop them all
 * for a while. */

struct gate {
        _Atomic uint32_t inside;
        _Atomic uint32_t closed;
};

void gate_enter_closed(struct gate *gate);
void gate_tell_closer(struct gate *gate);
void gate_close(struct gate *gate);
void gate_open(struct gate *gate);

/* Passes through; waits only while another thread keeps the gate closed. */
static inline void gate_enter(struct gate *gate)
{
        atomic_fetch_add(&gate->inside, 1);
        if (atomic_load(&gate->closed))
                gate_enter_closed(gate);
}

static inline void gate_leave(struct gate *gate)
{
        if (atomic_fetch_sub(&gate->inside, 1) == 1 && atomic_load(&gate->closed))
                gate_tell_closer(gate);
}

/* And a lock, which costs a few instructions where nobody else wants it, and sleeps otherwise. */

enum lock_state { LOCK_FREE, LOCK_HELD, LOCK_AWAITED };

struct lock {
        _Atomic uint32_t state;
};

void lock_await(struct lock *lock);
void lock_tell(struct lock *lock);

static inline void lock_acquire(struct lock *lock)
{
        uint32_t state = LOCK_FREE;

        if (!atomic_compare_exchange_strong_explicit(&lock->state, &state, LOCK_HELD,
                                                     memory_order_acquire, memory_order_relaxed))
                lock_await(lock);
}

static inline void lock_release(struct lock *lock)
{
        if (atomic_exchange_explicit(&lock->state, LOCK_FREE, memory_order_release) == LOCK_AWAITED)
                lock_tell(lock);
}

/* pool.c: the records of posted operations, in the order of posting. */

struct wr {
        struct link link; /* in pool->pending while posted, in pool->free otherwise */
        struct wr_pool *pool;
        enum wr_kind kind;
        _Atomic bool posted; /* with verbs, which may complete it in any thread */
        bool held;           /* a receive that waits in software for its queue pair */
        bool done;           /* a bind, complete, that waits for its predecessors */
        DAT_COMPLETION_FLAGS flags;
        DAT_CONTEXT cookie;
        DAT_VLEN length;
        DAT_RMR_HANDLE rmr;
        int num_sge;
        struct ibv_sge *sge; /* of a receive: it may be held, and fail when its memory is gone */
};

/* What verbs carries for us with each operation: the address of its record. */
union wr_id {
        uint64_t number;
        struct wr *wr;
};

struct wr_slab;

struct wr_pool {
        struct lock lock;
        struct link free;
        struct link pending;
        struct wr_slab *slabs;
        int capacity;
        _Atomic int in_use;
        int done;      /* binds among the pending, under the lock of their EVD */
        struct ep *ep; /* one of these two owns the pool */
        struct srq *srq;
        bool keeps_sge;
};

void pool_init(struct wr_pool *pool, struct ep *ep, struct srq *srq, bool keeps_sge);
bool pool_grow(struct wr_pool *pool, int capacity);
void pool_destroy(struct wr_pool *pool);

/* Returns a record, last in the order of posting, or NULL when `limit` of them are in use. */
static inline struct wr *pool_take(struct wr_pool *pool, int limit)
{
        struct wr *wr = NULL;

        lock_acquire(&pool->lock);
        if (atomic_load(&pool->in_use) < limit && !list_empty(&pool->free)) {
                wr = container_of(pool->free.next, struct wr, link);
                list_move(&pool->pending, &wr->link);
                wr->held = false;
                wr->done = false;
                atomic_fetch_add(&pool->in_use, 1);
        }
        lock_release(&pool->lock);
        return wr;
}

static inline void pool_give(struct wr *wr)
{
        struct wr_pool *pool = wr->pool;

        lock_acquire(&pool->lock);
        atomic_store_explicit(&wr->posted, false, memory_order_relaxed);
        list_move(&pool->free, &wr->link);
        atomic_fetch_sub(&pool->in_use, 1);
        lock_release(&pool->lock);
}

/*
 * Makes what the record says visible to the thread that will see its completion. The way there
 * leads through the device, which orders nothing as far as the language is concerned.
 */
static inline void wr_publish(struct wr *wr)
{
        atomic_store_explicit(&wr->posted, true, memory_order_release);
}

/* False for a completion that came after its queue pair was taken down. */
static inline bool wr_is_published(const struct wr *wr)
{
        return atomic_load_explicit(&wr->posted, memory_order_acquire);
}

/* pz.c */

struct pz {
        struct object obj;
        struct ibv_pd *pd;
};

DAT_RETURN ref_pz_create(DAT_IA_HANDLE, DAT_PZ_HANDLE *);
DAT_RETURN ref_pz_query(DAT_PZ_HANDLE, DAT_PZ_PARAM_MASK, DAT_PZ_PARAM *);
DAT_RETURN ref_pz_free(DAT_PZ_HANDLE);
void pz_destroy(struct pz *pz);

/* lmr.c: the context of an LMR is a slot number and a generation, so a freed one is recognised. */

struct lmr {
        struct object obj;
        struct pz *pz;
        struct ibv_mr *mr;
        DAT_MEM_TYPE mem_type;
        DAT_REGION_DESCRIPTION region;
        char cookie[DAT_LMR_COOKIE_SIZE];
        DAT_VLEN length;
        DAT_MEM_PRIV_FLAGS privileges;
        DAT_LMR_CONTEXT context;
};

struct lmr_slot {
        _Atomic uint32_t context; /* 0 while the slot is empty */
        uint32_t generation;
        uint32_t lkey;
        DAT_MEM_PRIV_FLAGS privileges;
        struct pz *pz;
        struct lmr *lmr;
        uint64_t start;
        uint64_t length;
        uint32_t next_free;
};

struct lmr_table {
        struct lmr_slot *slots;
        uint32_t first_free;
        uint32_t last_free;
};

DAT_RETURN ref_lmr_create(DAT_IA_HANDLE, DAT_MEM_TYPE, DAT_REGION_DESCRIPTION, DAT_VLEN,
                          DAT_PZ_HANDLE, DAT_MEM_PRIV_FLAGS, DAT_LMR_HANDLE *, DAT_LMR_CONTEXT *,
                          DAT_RMR_CONTEXT *, DAT_VLEN *, DAT_VADDR *);
DAT_RETURN ref_lmr_query(DAT_LMR_HANDLE, DAT_LMR_PARAM_MASK, DAT_LMR_PARAM *);
DAT_RETURN ref_lmr_free(DAT_LMR_HANDLE);
DAT_RETURN ref_lmr_sync_rdma_read(DAT_IA_HANDLE, const DAT_LMR_TRIPLET *, DAT_VLEN);
DAT_RETURN ref_lmr_sync_rdma_write(DAT_IA_HANDLE, const DAT_LMR_TRIPLET *, DAT_VLEN);
bool lmr_table_init(struct lmr_table *table);
void lmr_table_destroy(struct lmr_table *table);
void lmr_destroy(struct lmr *lmr);
DAT_MEM_PRIV_FLAGS lmr_grants(const struct lmr *lmr);
struct lmr *lmr_by_context(struct ia *ia, DAT_LMR_CONTEXT context);
DAT_RETURN lmr_gather(struct ia *ia, const struct pz *pz, DAT_MEM_PRIV_FLAGS need,
                      const DAT_LMR_TRIPLET *iov, DAT_COUNT segments, struct ibv_sge *sge,
                      int *num_sge, DAT_VLEN *total);
DAT_RETURN lmr_gather_recv(struct ia *ia, const struct pz *pz, const DAT_LMR_TRIPLET *iov,
                           DAT_COUNT segments, struct ibv_sge *sge, int *num_sge);
int lmr_trim(struct ibv_sge *sge, int num_sge, DAT_VLEN length);
bool lmr_serves(const struct ia *ia, const struct ibv_sge *sge, int num_sge);

/* rmr.c */

struct rmr {
        struct object obj;
        struct pz *pz;
        struct lmr *lmr; /* what it is bound to */
        struct ibv_mr *mr;
        DAT_LMR_TRIPLET triplet;
        DAT_MEM_PRIV_FLAGS privileges;
        pthread_mutex_t lock;
};

DAT_RETURN ref_rmr_create(DAT_PZ_HANDLE, DAT_RMR_HANDLE *);
DAT_RETURN ref_rmr_query(DAT_RMR_HANDLE, DAT_RMR_PARAM_MASK, DAT_RMR_PARAM *);
DAT_RETURN ref_rmr_bind(DAT_RMR_HANDLE, const DAT_LMR_TRIPLET *, DAT_MEM_PRIV_FLAGS, DAT_EP_HANDLE,
                        DAT_RMR_COOKIE, DAT_COMPLETION_FLAGS, DAT_RMR_CONTEXT *);
DAT_RETURN ref_rmr_free(DAT_RMR_HANDLE);
void rmr_destroy(struct rmr *rmr);

/* cno.c */

struct cno {
        struct object obj;
        pthread_mutex_t lock;
        _Atomic uint32_t changes; /* on which waiters sleep */
        DAT_OS_WAIT_PROXY_AGENT agent;
        struct handle *triggered_by; /* the EVD of the trigger that nobody has collected yet */
        bool triggered;
        bool closing;
        int waiters;
        unsigned int releases;
        struct work agent_work;
        struct link due;    /* EVDs whose triggers the agent has not been told of */
        bool last_evd_left; /* of which the agent has not been told either */
        bool agent_is_in;
};

DAT_RETURN ref_cno_create(DAT_IA_HANDLE, DAT_OS_WAIT_PROXY_AGENT, DAT_CNO_HANDLE *);
DAT_RETURN ref_cno_modify_agent(DAT_CNO_HANDLE, DAT_OS_WAIT_PROXY_AGENT);
DAT_RETURN ref_cno_query(DAT_CNO_HANDLE, DAT_CNO_PARAM_MASK, DAT_CNO_PARAM *);
DAT_RETURN ref_cno_free(DAT_CNO_HANDLE);
DAT_RETURN ref_cno_wait(DAT_CNO_HANDLE, DAT_TIMEOUT, DAT_EVD_HANDLE *);
void cno_trigger(struct cno *cno, struct evd *evd);
int cno_take_due(struct cno *cno, struct evd *evd);
void cno_left(struct cno *cno, const struct evd *freed);
void cno_close(struct cno *cno);
void cno_dismiss_agent(struct cno *cno);
void cno_destroy(struct cno *cno);

/* evd.c: a FIFO of events in software, into which a completion queue is drained. */

struct event {
        DAT_EVENT dat;
        struct ep *ep;   /* whose event it is; dropped when the EP goes */
        struct srq *srq; /* whose buffer the event returns to the Consumer */
        bool dto;
        bool notify;
};

/* How many completions one SRQ can leave on one EVD. */
struct evd_share {
        struct srq *srq;
        int eps;
        int depth;
        struct evd_share *next;
};

/* For what the completion queue will send, or has sent, the event that the channel holds next. */
enum evd_arming { EVD_UNARMED, EVD_ARMED_SOLICITED, EVD_ARMED_ANY };

#define EVD_QP_BUCKETS 256

struct evd {
        struct object obj;
        struct lock lock;
        DAT_COUNT qlen;
        DAT_EVD_FLAGS flags;
        bool enabled;
        bool waitable;
        bool discards; /* the IA's own EVD for completions that no Consumer wants */

        struct event *ring;
        int ring_size;
        int head;
        int count;
        int dto_count;
        int notify_count;
        DAT_EVENT *taker; /* where the next completion goes, with the queue empty; or NULL */
        bool overflowed;

        struct ibv_cq *cq;
        struct ibv_comp_channel *channel;
        int budget; /* completions that may be in the CQ at once */
        struct evd_share *shares;
        struct ep *qps[EVD_QP_BUCKETS]; /* SRQ endpoints by queue pair number */
        enum evd_arming armed;
        bool channel_hit;

        int unsignalled_users; /* completion streams by their completion flags */
        int solicited_users;
        int threshold_users;
        int plain_users;
        int other_users; /* streams that are not of completions */

        bool waiter;
        unsigned int evictions; /* of waiters, whether or not there was one */
        bool sleeping;          /* the waiter is in ppoll() */
        bool wakes;             /* the waiter is to be woken once the lock is released */
        bool woken;
        bool closing;
        int wake_fd;
        struct cno *cno;
        struct link due_link; /* in cno->due, and how many times, under cno->lock */
        int due;
        bool watched; /* the service thread listens to the channel */
        int watchers; /* graceful disconnects that need the service thread to listen */
};

DAT_RETURN ref_evd_create(DAT_IA_HANDLE, DAT_COUNT, DAT_CNO_HANDLE, DAT_EVD_FLAGS,
                          DAT_EVD_HANDLE *);
DAT_RETURN ref_evd_query(DAT_EVD_HANDLE, DAT_EVD_PARAM_MASK, DAT_EVD_PARAM *);
DAT_RETURN ref_evd_modify_cno(DAT_EVD_HANDLE, DAT_CNO_HANDLE);
DAT_RETURN ref_evd_enable(DAT_EVD_HANDLE);
DAT_RETURN ref_evd_disable(DAT_EVD_HANDLE);
DAT_RETURN ref_evd_wait(DAT_EVD_HANDLE, DAT_TIMEOUT, DAT_COUNT, DAT_EVENT *, DAT_COUNT *);
DAT_RETURN ref_evd_resize(DAT_EVD_HANDLE, DAT_COUNT);
DAT_RETURN ref_evd_post_se(DAT_EVD_HANDLE, const DAT_EVENT *);
DAT_RETURN ref_evd_dequeue(DAT_EVD_HANDLE, DAT_EVENT *);
DAT_RETURN ref_evd_free(DAT_EVD_HANDLE);
DAT_RETURN ref_evd_set_unwaitable(DAT_EVD_HANDLE);
DAT_RETURN ref_evd_clear_unwaitable(DAT_EVD_HANDLE);
DAT_RETURN evd_new(struct ia *ia, DAT_COUNT qlen, DAT_EVD_FLAGS flags, struct evd **out);
void evd_close(struct evd *evd);
void evd_wake(struct evd *evd);
void evd_destroy(struct evd *evd);
bool evd_post(struct evd *evd, const struct event *event);
void evd_post_async(struct ia *ia, DAT_EVENT_NUMBER number, DAT_HANDLE about, DAT_COUNT reason);
void evd_drain(struct evd *evd);
bool evd_look(struct evd *evd);
bool evd_prepare(struct evd *evd);
bool evd_reserve(struct evd *evd, int completions);
void evd_unreserve(struct evd *evd, int completions);
bool evd_share_srq(struct evd *evd, struct srq *srq, int depth);
void evd_unshare_srq(struct evd *evd, struct srq *srq);
bool evd_grow_share(struct evd *evd, struct srq *srq, int depth);
void evd_add_qp(struct evd *evd, struct ep *ep);
void evd_remove_qp(struct evd *evd, struct ep *ep);
void evd_flush(struct evd *evd, struct wr_pool *pool);
bool evd_flush_one(struct evd *evd, struct ep *ep, struct wr *wr);
void evd_forget_ep(struct evd *evd, const struct ep *ep);
bool evd_accepts_flags(struct evd *evd, DAT_COMPLETION_FLAGS flags);
bool evd_accepts_others(struct evd *evd);
void evd_count_stream(struct evd *evd, DAT_COMPLETION_FLAGS flags, int by);
void evd_count_other(struct evd *evd, int by);
void evd_watch(struct evd *evd, int by);
void evd_channel_ready(struct evd *evd);
void evd_bind_ready(struct evd *evd, struct wr *wr);
void evd_withdraw(struct evd *evd, struct wr *wr);

/* srq.c */

struct srq {
        struct object obj;
        struct pz *pz;
        struct ibv_srq *srq;
        pthread_mutex_t resize_lock;
        struct gate gate; /* posts go through, a resize of the verbs queue stops them */
        struct wr_pool pool;
        _Atomic int max_recv_dtos;
        int max_recv_iov;
        int hardware_depth;
        _Atomic int low_watermark;
        _Atomic bool armed;
        _Atomic int available;   /* on the queue */
        _Atomic int outstanding; /* on the queue, taken by EPs, or not reaped */
        struct srq_user *users;  /* where its buffers can complete, under resize_lock */
        struct work low_work;
};

DAT_RETURN ref_srq_create(DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_SRQ_ATTR *, DAT_SRQ_HANDLE *);
DAT_RETURN ref_srq_free(DAT_SRQ_HANDLE);
DAT_RETURN ref_srq_post_recv(DAT_SRQ_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE);
DAT_RETURN ref_srq_query(DAT_SRQ_HANDLE, DAT_SRQ_PARAM_MASK, DAT_SRQ_PARAM *);
DAT_RETURN ref_srq_resize(DAT_SRQ_HANDLE, DAT_COUNT);
DAT_RETURN ref_srq_set_lw(DAT_SRQ_HANDLE, DAT_COUNT);
void srq_destroy(struct srq *srq);
void srq_buffer_taken(struct srq *srq);
void srq_buffer_reaped(struct srq *srq);
bool srq_may_be_arriving(struct srq *srq);
void srq_low_event(struct srq *srq);
bool srq_attach(struct srq *srq, struct evd *evd);
void srq_detach(struct srq *srq, struct evd *evd);

/* service.c: the one thread of an IA, which fetches every event that nobody waits for. */

void work_init(struct work *work, struct object *owner, void (*run)(struct work *));
void work_queue(struct ia *ia, struct work *work);
void work_cancel(struct ia *ia, struct work *work);
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

/* ep.c */

struct ep {
        struct object obj;
        _Atomic int state; /* DAT_EP_STATE, changed under ia->cm_lock */
        struct pz *pz;
        struct evd *recv_evd;
        struct evd *request_evd;
        struct evd *connect_evd;
        struct srq *srq;
        DAT_EP_ATTR attr;

        struct gate gate;
        struct ibv_qp *qp;
        uint32_t qp_num;
        bool qp_takes_receives;
        struct ep *qp_next; /* in recv_evd->qps */
        struct wr_pool recvs;
        struct wr_pool requests;
        uint32_t inline_max;
        int read_credit;           /* RDMA reads that the peer serves at once; 0 is none */
        _Atomic uint32_t recv_psn; /* behind the last message that came; under the EVD's lock */
        _Atomic unsigned int
            mtu_shift; /* 0 while no message can come, or packets are not numbered */

        struct conn *conn;
        struct sockaddr_storage remote;
        DAT_PORT_QUAL local_port;
        DAT_PORT_QUAL remote_port;
        DAT_CONN_QUAL remote_qual;
        bool initiated; /* the last connection was requested from here */
        uint8_t private_data[256];
        int private_data_size;

        _Atomic bool failed; /* what breaks the connection has been seen */
        struct work broken_work;
        struct work drained_work;
        bool watching;
        uint64_t ends_at;            /* in now_us() time, while it is ending; 0 otherwise */
        struct link ending_link;     /* in ia->ending, the first to end first */
        DAT_EVENT_NUMBER last_event; /* of the connection that ends, or 0 */

        _Atomic int srq_held; /* SRQ buffers consumed by this EP and not reaped */
        _Atomic int soft_watermark;
        _Atomic int hard_watermark;
        struct work soft_work;
        _Atomic bool soft_armed;
        _Atomic bool hard_armed;
};

/* Where an EP's completions go: to its EVDs, or to where they are discarded. */
struct evd *ep_recv_target(const struct ep *ep);
struct evd *ep_request_target(const struct ep *ep);

DAT_RETURN ref_ep_create(DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_EVD_HANDLE, DAT_EVD_HANDLE,
                         DAT_EVD_HANDLE, const DAT_EP_ATTR *, DAT_EP_HANDLE *);
DAT_RETURN ref_ep_create_with_srq(DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_EVD_HANDLE, DAT_EVD_HANDLE,
                                  DAT_EVD_HANDLE, DAT_SRQ_HANDLE, const DAT_EP_ATTR *,
                                  DAT_EP_HANDLE *);
DAT_RETURN ref_ep_query(DAT_EP_HANDLE, DAT_EP_PARAM_MASK, DAT_EP_PARAM *);
DAT_RETURN ref_ep_modify(DAT_EP_HANDLE, DAT_EP_PARAM_MASK, const DAT_EP_PARAM *);
DAT_RETURN ref_ep_get_status(DAT_EP_HANDLE, DAT_EP_STATE *, DAT_BOOLEAN *, DAT_BOOLEAN *);
DAT_RETURN ref_ep_free(DAT_EP_HANDLE);
DAT_RETURN ref_ep_reset(DAT_EP_HANDLE);
DAT_RETURN ref_ep_recv_query(DAT_EP_HANDLE, DAT_COUNT *, DAT_COUNT *);
DAT_RETURN ref_ep_set_watermark(DAT_EP_HANDLE, DAT_COUNT, DAT_COUNT);
DAT_RETURN ep_new_tentative(struct ia *ia, struct ep **out);
void ep_destroy(struct ep *ep);
DAT_RETURN ep_state_error(const struct ep *ep);
void ep_post_event(struct ep *ep, DAT_EVENT_NUMBER number);
void ep_request_done(struct ep *ep);
void ep_failed(struct ep *ep);
void ep_recv_held(struct ep *ep, int by);

/* qp.c: the queue pair of an EP, from its making to its end. */

DAT_RETURN ep_make_qp(struct ep *ep);
struct ibv_qp *qp_for_number(struct ia *ia);
bool ep_start_qp(struct ep *ep, struct rdma_cm_id *id);
bool ep_step_qp(struct ep *ep, struct rdma_cm_id *id, enum ibv_qp_state state);
void ep_drop_qp(struct ep *ep);
bool ep_may_be_receiving(struct ep *ep);
void ep_end_connection(struct ep *ep, DAT_EVENT_NUMBER number);
uint64_t ep_finish_ended(struct ia *ia, uint64_t now);
void ep_await_end(struct ep *ep);
void ep_await_all_ends(struct ia *ia);

/* dto.c */

DAT_RETURN ref_ep_post_send(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE,
                            DAT_COMPLETION_FLAGS);
DAT_RETURN ref_ep_post_recv(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE,
                            DAT_COMPLETION_FLAGS);
DAT_RETURN ref_ep_post_rdma_read(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE,
                                 const DAT_RMR_TRIPLET *, DAT_COMPLETION_FLAGS);
DAT_RETURN ref_ep_post_rdma_write(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE,
                                  const DAT_RMR_TRIPLET *, DAT_COMPLETION_FLAGS);
DAT_RETURN dto_check_flags(const struct ep *ep, DAT_COMPLETION_FLAGS flags,
                           DAT_COMPLETION_FLAGS allowed, int subtype);

/* What the context of an id of librdmacm begins with. */
enum conn_kind {
        CONN_ACTIVE,   /* requested here */
        CONN_PASSIVE,  /* requested by a peer */
        CONN_FRAGMENT, /* carries the rest of another request's private data */
        CONN_PROBE,    /* asks whether a peer's host still answers, or its IA is open */
        CONN_LISTENER, /* is no connection, but a struct listener */
        CONN_ENDED,    /* has no EP any more and only waits for librdmacm to finish with it */
};

/* sp.c: service points of both kinds share listeners, since qualifiers share ports. */

struct listener {
        enum conn_kind kind; /* CONN_LISTENER */
        struct link link;    /* in ia->listeners */
        struct rdma_cm_id *id;
        uint16_t port;
        struct link points;
};

struct service_point {
        struct object obj;
        struct link point_link; /* in listener->points, under ia->cm_lock */
        struct listener *listener;
        DAT_CONN_QUAL qual;
        struct evd *evd;
        DAT_PSP_FLAGS flags;
        bool reserved; /* an RSP */
        struct ep *ep; /* of an RSP */
        bool spent;    /* an RSP that has had its request */
};

DAT_RETURN ref_psp_create(DAT_IA_HANDLE, DAT_CONN_QUAL, DAT_EVD_HANDLE, DAT_PSP_FLAGS,
                          DAT_PSP_HANDLE *);
DAT_RETURN ref_psp_create_any(DAT_IA_HANDLE, DAT_CONN_QUAL *, DAT_EVD_HANDLE, DAT_PSP_FLAGS,
                              DAT_PSP_HANDLE *);
DAT_RETURN ref_psp_query(DAT_PSP_HANDLE, DAT_PSP_PARAM_MASK, DAT_PSP_PARAM *);
DAT_RETURN ref_psp_free(DAT_PSP_HANDLE);
DAT_RETURN ref_rsp_create(DAT_IA_HANDLE, DAT_CONN_QUAL, DAT_EP_HANDLE, DAT_EVD_HANDLE,
                          DAT_RSP_HANDLE *);
DAT_RETURN ref_rsp_query(DAT_RSP_HANDLE, DAT_RSP_PARAM_MASK, DAT_RSP_PARAM *);
DAT_RETURN ref_rsp_free(DAT_RSP_HANDLE);
DAT_RETURN point_listen(struct ia *ia, DAT_CONN_QUAL qual, struct service_point *point);
DAT_RETURN point_listen_any(struct ia *ia, struct service_point *point);
void point_unlisten(struct service_point *point);
void point_destroy(struct service_point *point);
struct service_point *point_find(struct ia *ia, DAT_CONN_QUAL qual);
uint16_t port_of_qual(DAT_CONN_QUAL qual);

/* cr.c */

struct cr {
        struct object obj;
        struct conn *conn;
        struct ep *ep; /* given by the Provider or by an RSP */
        bool ep_is_ours;

        struct sockaddr_storage remote;
        DAT_PORT_QUAL remote_port;
        uint8_t private_data[REF_MAX_PRIVATE_DATA];
        int private_data_size;
};

DAT_RETURN ref_cr_query(DAT_CR_HANDLE, DAT_CR_PARAM_MASK, DAT_CR_PARAM *);
DAT_RETURN ref_cr_accept(DAT_CR_HANDLE, DAT_EP_HANDLE, DAT_COUNT, const DAT_PVOID);
DAT_RETURN ref_cr_reject(DAT_CR_HANDLE, DAT_COUNT, const DAT_PVOID);
DAT_RETURN ref_cr_handoff(DAT_CR_HANDLE, DAT_CONN_QUAL);
bool cr_deliver(struct service_point *point, struct conn *conn);
void cr_destroy(struct cr *cr);
void cr_discard(DAT_CR_HANDLE handle);

/* cm.c: connections over librdmacm. */

struct conn {
        enum conn_kind kind;
        struct link link; /* in ia->conns, under ia->cm_lock */
        struct ia *ia;
        struct rdma_cm_id *id;
        struct ibv_qp *number; /* of a fragment: a queue pair that only lends its number */
        struct ep *ep;
        struct cr *cr;
        uint8_t reads_in; /* RDMA reads that a peer wants to have served at once, and serves */
        uint8_t reads_out;
        bool resolved; /* the peer's host has answered */
        bool established;
        bool failed;                  /* the peer has given up */
        uint64_t deadline;            /* in now_us() time; 0 is none */
        struct sockaddr_storage peer; /* whom an active one resolves */
        uint64_t resolve_until;
        uint16_t port;     /* from which an active one comes, or 0 */
        uint16_t presence; /* the peer's ia->presence */
        DAT_CONN_QUAL qual;
        uint32_t token;
        bool fragmented;
        int expected; /* bytes of private data in all */
        int have;
        uint8_t data[REF_MAX_PRIVATE_DATA];
        uint8_t wire[64];
        int wire_size;
};

DAT_RETURN ref_ep_connect(DAT_EP_HANDLE, DAT_IA_ADDRESS_PTR, DAT_CONN_QUAL, DAT_TIMEOUT, DAT_COUNT,
                          const DAT_PVOID, DAT_QOS, DAT_CONNECT_FLAGS);
DAT_RETURN ref_ep_dup_connect(DAT_EP_HANDLE, DAT_EP_HANDLE, DAT_TIMEOUT, DAT_COUNT, const DAT_PVOID,
                              DAT_QOS);
DAT_RETURN ref_ep_disconnect(DAT_EP_HANDLE, DAT_CLOSE_FLAGS);
struct conn *cm_new(struct ia *ia, enum conn_kind kind);
int cm_resolve(struct conn *conn, const struct sockaddr_storage *to);
void cm_doom(struct conn *conn);
void cm_end(struct conn *conn, DAT_EVENT_NUMBER number);
bool cm_same_address(const struct sockaddr *a, const struct sockaddr *b);
bool cm_enter(struct ia *ia);
void cm_leave(struct ia *ia, bool relieving, DAT_RETURN ret);
void cm_handle_events(struct ia *ia);
uint64_t cm_expire(struct ia *ia);
void cm_part(struct ep *ep);
void cm_reject(struct conn *conn, int size, const void *data);
void cm_refuse(struct conn *conn);
void cm_accept(struct conn *conn, struct ep *ep, int size, const void *data);
void cm_reap(struct ia *ia);
void cm_close(struct ia *ia);

/* probe.c: hosts that have died say nothing, nor do processes whose last word was lost: they are
 * asked. */

void probe_init(struct ia *ia);
uint64_t probe_peers(struct ia *ia, uint64_t now);
void probe_unanswered(struct conn *question);
void probe_refused(struct conn *question, int reason);

/* ia.c, device.c, provider.c */

struct binding {
        DAT_PROVIDER table;
        DAT_PROVIDER_INFO info;
        char instance[256];
        bool registered;
        struct binding *next;
};

struct ia {
        struct object obj;
        const struct binding *binding;
        struct ibv_context *verbs;
        struct rdma_cm_id *anchor; /* bound as long as the IA is open, so a removal is heard of */
        uint16_t
            presence; /* the port on which the anchor listens for probes, or 0; peers know it */
        struct rdma_event_channel *cm;
        struct evd *async_evd; /* of this IA or of another, so under the lock of all IAs */
        struct evd *sink;      /* for completions that no Consumer wants */
        struct ibv_pd *domain; /* of all zones, where the entry says one-domain; else NULL */
        struct ibv_pd *lender; /* of the queue pairs that lend their numbers; made when needed */
        struct link siblings;
        pthread_t thread;
        struct lmr_table lmrs;

        struct link conns;  /* under cm_lock */
        struct link doomed; /* connections to destroy once cm_lock is released */
        struct link ending; /* EPs, under cm_lock */
        struct link listeners;
        struct link work; /* under work_lock */
        pthread_mutex_t lock;
        pthread_mutex_t cm_turn; /* of the thread that fetches and handles librdmacm's events */
        pthread_mutex_t cm_lock;
        pthread_mutex_t work_lock;
        struct link objects[REF_KINDS]; /* under lock */

        struct sockaddr_storage address;
        struct ibv_device_attr device;
        uint32_t token;          /* the last that was drawn, or 0; under cm_lock */
        uint64_t probe_interval; /* in microseconds; 0 is never */
        uint64_t next_probe;
        uint64_t next_look;
        uint64_t next_deadline; /* when the service thread looks again by itself, or 0 */
        uint64_t timer;         /* what timer_fd is set to, or 0 */
        int counts[REF_KINDS];
        int max_evds;
        int epoll_fd;
        int cm_fd; /* a set with librdmacm's descriptor in it */
        int kick_fd;
        int timer_fd;
        struct ibv_port_attr port_attr;
        uint8_t port;
        bool removed;
        bool closing; /* under lock: no object is made any more */
        bool owns_async_evd;
        bool async_out_of_scope;
        bool lenient;
        bool running;
        bool again;            /* the service thread has found more to do */
        _Atomic bool relieved; /* a call of the Consumer's fetches librdmacm's events */
        _Atomic bool stopping;
};

DAT_RETURN ref_ia_open(const DAT_NAME_PTR, DAT_COUNT, DAT_EVD_HANDLE *, DAT_IA_HANDLE *);
DAT_RETURN ref_ia_open_threadsafe(const DAT_NAME_PTR, DAT_COUNT, DAT_EVD_HANDLE *, DAT_IA_HANDLE *);
DAT_RETURN ref_ia_query(DAT_IA_HANDLE, DAT_EVD_HANDLE *, DAT_IA_ATTR_MASK, DAT_IA_ATTR *,
                        DAT_PROVIDER_ATTR_MASK, DAT_PROVIDER_ATTR *);
DAT_RETURN ref_ia_close(DAT_IA_HANDLE, DAT_CLOSE_FLAGS);
struct evd *ia_async_evd(struct ia *ia);
DAT_COUNT ia_limit(const struct ia *ia, DAT_HANDLE_TYPE kind);
uint64_t ia_max_lmr_length(const struct ia *ia);
int ia_max_dtos(const struct ia *ia);
int ia_max_srq_dtos(const struct ia *ia);
int ia_max_iov(const struct ia *ia);
int ia_max_reads(const struct ia *ia);
const struct binding *binding_find(const char *name, DAT_BOOLEAN is_thread_safe);
DAT_RETURN device_choose(struct ia *ia);
void device_release(struct ia *ia);

#endif
