/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The puppet: a case without a clause, which makes the DAT calls that its run's program names. The
 * trace records the calls; the executable specification judges them. A program is a list of steps,
 * a line each: the step's name and its arguments, whole numbers. An object is named by its kind and
 * its slot: 1000 * kind + slot; a negative number is the null handle. A slot whose object was
 * freed, or was never made, is the null handle too, because a provider may give a freed handle
 * again. A step behind "&" is taken only if the last call succeeded, so that no walk waits for what
 * a refused call began. The number of a freed object, 100 above its slot, names its handle until
 * another object is made. A wait may be on a thread of its own: the next step follows when the
 * thread waits or has returned, and the wait ends before the walk does. Objects of the upper slots
 * are made of a second IA, or of the null handle while it is not open. The other end of a
 * connection may be a peer's, a process of its own on this host or on another one (peer_steps.c).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case.h"
#include "case/ep_attr.h"
#include "case/sleep_until.h"
#include "case/test.h"
#include "case/waiter.h"
#include "walk.h"

#define STEP_ARGS    8
#define MEMORY_BYTES 4096
/* Where the RSP of slot 0 listens; the others follow. */
#define RSP_QUALIFIER 24000
#define DRAIN_MOST    256
#define NAME_MAX_     31
/* The context in a segment of a slot that never had an LMR: of none, and 0 may be a real one. */
#define NO_CONTEXT 0x7ffffff1

/* A slot so much further up names the last object that was freed there. */
#define FREED 100
/* The slot of the IA's own EVD, and the number that stands for the most receives of an SRQ. */
#define ASYNC_SLOT    31
#define MOST_RECEIVES (-3)
#define SEGMENTS      4
#define LISTED_MOST   4  /* providers of the registry */
#define BETWEEN       64 /* bytes from a segment to the next */
/* Receives, and requests, of an EP that is made with flags. */
#define FLAGS_DEPTH 8
/* So long a wait without a timeout may continue before it is ended, in milliseconds. */
#define ENDLESS_MS 700
/* Slots from this one on are of the second IA, whose own EVD has the slot behind them. */
#define OTHER_SLOTS      16
#define OTHER_ASYNC_SLOT 30

/* The number of no object. */
#define NO_OBJECT (-1)

/* A negative mask asks for all fields. */
#define MASK(number_, all_) ((number_) < 0 ? (DAT_UINT64)(all_) : (DAT_UINT64)(number_))

/* The place of an object, or NULL where the number names none. */
static DAT_HANDLE *place(struct walk *walk, long number)
{
        if (number < 0 || number / BY_KIND >= KINDS || number % BY_KIND >= SLOTS)
                return NULL;
        return &walk->at[number / BY_KIND][number % BY_KIND];
}

DAT_HANDLE walk_object(struct walk *walk, long number)
{
        DAT_HANDLE *at = place(walk, number);

        if (!at && number >= FREED && place(walk, number - FREED))
                return walk->freed[number / BY_KIND][number % BY_KIND - FREED];
        return at ? *at : DAT_HANDLE_NULL;
}

static DAT_COUNT count_of(long number)
{
        return (DAT_COUNT)number;
}

static unsigned int slot_of(long number)
{
        return number < 0 ? 0 : (unsigned int)(number % BY_KIND) % SLOTS;
}

/* A new object goes to its slot where that is empty; else it would be lost, so it is not made. */
static bool is_free(struct walk *walk, long number, enum kind kind)
{
        DAT_HANDLE *at = place(walk, number);

        return at && number / BY_KIND == kind && *at == DAT_HANDLE_NULL;
}

/* An object is of the IA that another number is of: its own, or that of what it was made by. */
static void belongs(struct walk *walk, long number, long with)
{
        const DAT_HANDLE *at = place(walk, with);

        if (!at)
                return;
        walk->of_other[number / BY_KIND][number % BY_KIND] =
            number == with ? slot_of(with) >= OTHER_SLOTS
                           : walk->of_other[with / BY_KIND][with % BY_KIND];
}

static DAT_RETURN keep(struct walk *walk, long number, DAT_RETURN ret, const DAT_HANDLE *made)
{
        if (dat_is(ret, DAT_SUCCESS)) {
                memset(walk->freed, 0, sizeof(walk->freed));
                *place(walk, number) = *made;
                belongs(walk, number, number);
        }
        return ret;
}

static DAT_RETURN gone(struct walk *walk, long number, DAT_RETURN ret)
{
        DAT_HANDLE *at = place(walk, number);

        if (at && dat_is(ret, DAT_SUCCESS)) {
                walk->freed[number / BY_KIND][number % BY_KIND] = *at;
                *at = DAT_HANDLE_NULL;
        }
        return ret;
}

/* The IA of which the object of a number is made. */
static DAT_IA_HANDLE ia_of(const struct walk *walk, long number)
{
        return slot_of(number) < OTHER_SLOTS ? walk->t->ia : walk->other;
}

/* A negative time is no timeout. */
static DAT_TIMEOUT timeout_of(long ms)
{
        return ms < 0 ? DAT_TIMEOUT_INFINITE : (DAT_TIMEOUT)(ms * US_PER_MS);
}

static void forget(struct walk *walk, DAT_HANDLE owner)
{
        for (unsigned int i = 0; i < TOLD_MOST; i++)
                if (walk->told[i].owner == owner)
                        walk->told[i].at = NULL;
}

/* Keeps private data for a later look; without room for it, it is not looked at. */
static void remember(struct walk *walk, DAT_HANDLE owner, const char *clause, const void *at,
                     DAT_COUNT length)
{
        struct told *told = walk->told;

        forget(walk, owner);
        while (told < walk->told + TOLD_MOST && told->at)
                told++;
        if (told == walk->told + TOLD_MOST || !at || length <= 0 || length > PRIVATE_MOST)
                return;
        *told = (struct told){.owner = owner, .clause = clause, .at = at, .length = (size_t)length};
        memcpy(told->was, at, told->length);
}

/* Who finds a walk wanting reads the clause in brackets (results/runlog/walks.py). */
static void look_again(struct walk *walk)
{
        struct test *t = walk->t;

        for (unsigned int i = 0; i < TOLD_MOST; i++) {
                const struct told *told = &walk->told[i];

                if (told->at)
                        expect_that(memcmp(told->at, told->was, told->length) == 0,
                                    "private data is not what it was [%s]", told->clause);
        }
}

static DAT_RETURN private_again(struct walk *walk, const long *arg)
{
        (void)arg;
        look_again(walk);
        return walk->said;
}

static DAT_DTO_COOKIE cookie(const struct walk *walk)
{
        return (DAT_DTO_COOKIE){.as_64 = walk->steps};
}

const struct memory *walk_memory(const struct walk *walk, long lmr)
{
        return &walk->memory[slot_of(lmr)];
}

DAT_LMR_TRIPLET walk_segment(struct walk *walk, long lmr, long offset, long length)
{
        const struct memory *memory = walk_memory(walk, lmr);
        DAT_LMR_TRIPLET made;

        memset(&made, 0, sizeof(made));
        made.lmr_context = memory->bytes ? memory->lmr_context : NO_CONTEXT;
        made.virtual_address = (DAT_VADDR)(uintptr_t)memory->bytes + (DAT_VADDR)offset;
        made.segment_length = (DAT_UINT32)length;
        return made;
}

static DAT_RETURN pz_create(struct walk *walk, const long *arg)
{
        DAT_PZ_HANDLE made = DAT_HANDLE_NULL;

        if (!is_free(walk, arg[0], PZ))
                return walk->said;
        return keep(walk, arg[0], dat_pz_create(ia_of(walk, arg[0]), &made), &made);
}

static DAT_RETURN pz_query(struct walk *walk, const long *arg)
{
        DAT_PZ_PARAM param;

        return dat_pz_query(walk_object(walk, arg[0]), MASK(arg[1], DAT_PZ_FIELD_ALL), &param);
}

static DAT_RETURN pz_free(struct walk *walk, const long *arg)
{
        return gone(walk, arg[0], dat_pz_free(walk_object(walk, arg[0])));
}

static DAT_RETURN lmr_create(struct walk *walk, const long *arg)
{
        struct memory *memory = &walk->memory[slot_of(arg[0])];
        DAT_REGION_DESCRIPTION region;
        DAT_LMR_HANDLE made = DAT_HANDLE_NULL;
        DAT_VLEN length;
        DAT_VADDR address;

        if (!is_free(walk, arg[0], LMR))
                return walk->said;
        if (!memory->bytes)
                memory->bytes = calloc(1, MEMORY_BYTES);
        if (!memory->bytes)
                resource(walk->t, "no memory for a registration");
        memset(&region, 0, sizeof(region));
        region.for_va = memory->bytes;
        return keep(walk, arg[0],
                    dat_lmr_create(ia_of(walk, arg[0]), DAT_MEM_TYPE_VIRTUAL, region, MEMORY_BYTES,
                                   walk_object(walk, arg[1]), (DAT_MEM_PRIV_FLAGS)arg[2], &made,
                                   &memory->lmr_context, &memory->rmr_context, &length, &address),
                    &made);
}

static DAT_RETURN lmr_create_of(struct walk *walk, const long *arg)
{
        struct memory *memory = &walk->memory[slot_of(arg[0])];
        const struct memory *of = walk_memory(walk, arg[2]);
        DAT_LMR_HANDLE made = DAT_HANDLE_NULL;
        DAT_REGION_DESCRIPTION region;
        DAT_VLEN length;
        DAT_VADDR address;

        if (!is_free(walk, arg[0], LMR) || memory->bytes)
                return walk->said;
        memset(&region, 0, sizeof(region));
        region.for_lmr_handle = walk_object(walk, arg[2]);
        memory->bytes = of->bytes;
        memory->of_other_lmr = true;
        return keep(walk, arg[0],
                    dat_lmr_create(ia_of(walk, arg[0]), DAT_MEM_TYPE_LMR, region, MEMORY_BYTES,
                                   walk_object(walk, arg[1]), (DAT_MEM_PRIV_FLAGS)arg[3], &made,
                                   &memory->lmr_context, &memory->rmr_context, &length, &address),
                    &made);
}

static DAT_RETURN lmr_query(struct walk *walk, const long *arg)
{
        DAT_LMR_PARAM param;

        return dat_lmr_query(walk_object(walk, arg[0]), MASK(arg[1], DAT_LMR_FIELD_ALL), &param);
}

static DAT_RETURN lmr_sync_rdma_read(struct walk *walk, const long *arg)
{
        DAT_LMR_TRIPLET synced = walk_segment(walk, arg[0], arg[1], arg[2]);

        return dat_lmr_sync_rdma_read(ia_of(walk, arg[0]), &synced, 1);
}

static DAT_RETURN lmr_sync_rdma_write(struct walk *walk, const long *arg)
{
        DAT_LMR_TRIPLET synced = walk_segment(walk, arg[0], arg[1], arg[2]);

        return dat_lmr_sync_rdma_write(ia_of(walk, arg[0]), &synced, 1);
}

static DAT_RETURN lmr_free(struct walk *walk, const long *arg)
{
        return gone(walk, arg[0], dat_lmr_free(walk_object(walk, arg[0])));
}

static DAT_RETURN rmr_create(struct walk *walk, const long *arg)
{
        DAT_RMR_HANDLE made = DAT_HANDLE_NULL;
        DAT_RETURN ret;

        if (!is_free(walk, arg[0], RMR))
                return walk->said;
        ret = keep(walk, arg[0], dat_rmr_create(walk_object(walk, arg[1]), &made), &made);
        if (dat_is(ret, DAT_SUCCESS))
                belongs(walk, arg[0], arg[1]);
        return ret;
}

static DAT_RETURN rmr_query(struct walk *walk, const long *arg)
{
        DAT_RMR_PARAM param;

        return dat_rmr_query(walk_object(walk, arg[0]), MASK(arg[1], DAT_RMR_FIELD_ALL), &param);
}

static DAT_RETURN rmr_bind(struct walk *walk, const long *arg)
{
        DAT_LMR_TRIPLET bound = walk_segment(walk, arg[1], arg[2], arg[3]);

        return dat_rmr_bind(walk_object(walk, arg[0]), &bound, (DAT_MEM_PRIV_FLAGS)arg[4],
                            walk_object(walk, arg[5]), (DAT_RMR_COOKIE){.as_64 = walk->steps},
                            (DAT_COMPLETION_FLAGS)arg[6], &walk->bound[slot_of(arg[0])]);
}

static DAT_RETURN rmr_free(struct walk *walk, const long *arg)
{
        return gone(walk, arg[0], dat_rmr_free(walk_object(walk, arg[0])));
}

static DAT_RETURN evd_create(struct walk *walk, const long *arg)
{
        DAT_EVD_HANDLE made = DAT_HANDLE_NULL;

        if (!is_free(walk, arg[0], EVD))
                return walk->said;
        return keep(walk, arg[0],
                    dat_evd_create(ia_of(walk, arg[0]), count_of(arg[1]), walk_object(walk, arg[2]),
                                   (DAT_EVD_FLAGS)arg[3], &made),
                    &made);
}

static DAT_RETURN evd_query(struct walk *walk, const long *arg)
{
        DAT_EVD_PARAM param;

        return dat_evd_query(walk_object(walk, arg[0]), MASK(arg[1], DAT_EVD_FIELD_ALL), &param);
}

static DAT_RETURN evd_modify_cno(struct walk *walk, const long *arg)
{
        return dat_evd_modify_cno(walk_object(walk, arg[0]), walk_object(walk, arg[1]));
}

static DAT_RETURN evd_enable(struct walk *walk, const long *arg)
{
        return dat_evd_enable(walk_object(walk, arg[0]));
}

static DAT_RETURN evd_disable(struct walk *walk, const long *arg)
{
        return dat_evd_disable(walk_object(walk, arg[0]));
}

static DAT_RETURN evd_set_unwaitable(struct walk *walk, const long *arg)
{
        return dat_evd_set_unwaitable(walk_object(walk, arg[0]));
}

static DAT_RETURN evd_clear_unwaitable(struct walk *walk, const long *arg)
{
        return dat_evd_clear_unwaitable(walk_object(walk, arg[0]));
}

static DAT_RETURN evd_post_se(struct walk *walk, const long *arg)
{
        DAT_EVENT event;

        memset(&event, 0, sizeof(event));
        event.event_number = DAT_SOFTWARE_EVENT;
        event.event_data.software_event_data.pointer = walk;
        return dat_evd_post_se(walk_object(walk, arg[0]), &event);
}

/*
 * A connection request that was taken goes to its slot; it is rejected where that has one. The
 * private data of an acceptance is looked at again later.
 */
static void take_event(struct walk *walk, long evd, long number, const char *clause, DAT_RETURN ret,
                       const DAT_EVENT *event)
{
        const DAT_CONNECTION_EVENT_DATA *data = &event->event_data.connect_event_data;
        DAT_CR_HANDLE request;

        if (!dat_is(ret, DAT_SUCCESS))
                return;
        if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
                remember(walk, data->ep_handle, clause, data->private_data,
                         data->private_data_size);
        if (event->event_number != DAT_CONNECTION_REQUEST_EVENT)
                return;
        request = event->event_data.cr_arrival_event_data.cr_handle;
        if (is_free(walk, number, CR)) {
                keep(walk, number, ret, &request);
                belongs(walk, number, evd);
        } else {
                dat_cr_reject(request);
        }
}

static DAT_RETURN evd_dequeue(struct walk *walk, const long *arg)
{
        DAT_EVENT event;
        DAT_RETURN ret = dat_evd_dequeue(walk_object(walk, arg[0]), &event);

        take_event(walk, arg[0], arg[1], "evd_dequeue/private_data_lasts", ret, &event);
        return ret;
}

static DAT_RETURN evd_wait(struct walk *walk, const long *arg)
{
        DAT_EVENT event;
        DAT_COUNT more;
        DAT_RETURN ret = dat_evd_wait(walk_object(walk, arg[0]), (DAT_TIMEOUT)(arg[2] * US_PER_MS),
                                      count_of(arg[3]), &event, &more);

        take_event(walk, arg[0], arg[1], "evd_wait/private_data_lasts", ret, &event);
        return ret;
}

static bool awakes(struct sleeper *sleeper)
{
        uint64_t until_ns = now_ns() + ENDLESS_MS * NS_PER_MS;

        while (is_waiting(sleeper->waiter) && now_ns() < until_ns)
                sleep_until(now_ns() + NS_PER_MS);
        return !is_waiting(sleeper->waiter);
}

/*
 * Ends a wait without a timeout that no event has ended: on an EVD as the pages have it, and on a
 * CNO by an event on an EVD of its own.
 */
static void rouse(struct walk *walk, const struct sleeper *sleeper)
{
        DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
        DAT_EVENT event;

        if (sleeper->kind == EVD) {
                dat_evd_set_unwaitable(sleeper->handle);
                dat_evd_clear_unwaitable(sleeper->handle);
                return;
        }
        if (!dat_is(dat_evd_create(ia_of(walk, sleeper->on), 1, sleeper->handle,
                                   DAT_EVD_SOFTWARE_FLAG, &evd),
                    DAT_SUCCESS))
                return;
        memset(&event, 0, sizeof(event));
        event.event_number = DAT_SOFTWARE_EVENT;
        dat_evd_post_se(evd, &event);
        sleep_until(now_ns() + ENDLESS_MS * NS_PER_MS);
        dat_evd_free(evd);
}

/* All waits end; a request that one took goes to its slot, as that of a step does. */
static void join(struct walk *walk, long number)
{
        struct test *t = walk->t;

        for (unsigned int i = 0; i < walk->sleeper_count; i++) {
                struct sleeper *sleeper = &walk->sleepers[i];
                struct woken woken;

                if (sleeper->endless && !awakes(sleeper))
                        rouse(walk, sleeper);
                woken = expect_awake(sleeper->waiter);
                walk->said = woken.ret;
                if (sleeper->kind == EVD)
                        take_event(walk, sleeper->on, number, "evd_wait/private_data_lasts",
                                   woken.ret, &woken.event);
                waiter_end(t, sleeper->waiter);
        }
        walk->sleeper_count = 0;
}

/* What a wait that has begun says is known when it ends. */
static DAT_RETURN waits(struct walk *walk, const long *arg, enum kind kind, struct waiter *waiter)
{
        walk->sleepers[walk->sleeper_count++] =
            (struct sleeper){.waiter = waiter,
                             .kind = kind,
                             .on = arg[0],
                             .handle = walk_object(walk, arg[0]),
                             .endless = arg[1] < 0};
        waiter_settles(walk->t, waiter);
        return DAT_SUCCESS;
}

static DAT_RETURN evd_waiter(struct walk *walk, const long *arg)
{
        if (walk->sleeper_count == WAITERS)
                join(walk, NO_OBJECT);
        return waits(
            walk, arg, EVD,
            wait_on_evd(walk->t, walk_object(walk, arg[0]), timeout_of(arg[1]), count_of(arg[2])));
}

static DAT_RETURN cno_waiter(struct walk *walk, const long *arg)
{
        if (walk->sleeper_count == WAITERS)
                join(walk, NO_OBJECT);
        return waits(walk, arg, CNO,
                     wait_on_cno(walk->t, walk_object(walk, arg[0]), timeout_of(arg[1])));
}

static DAT_RETURN evd_join(struct walk *walk, const long *arg)
{
        join(walk, arg[0]);
        return walk->said;
}

/* A thread on the EVD keeps waiting only where the provider declares to be safe for threads. */
static DAT_RETURN evd_resize(struct walk *walk, const long *arg)
{
        join(walk, NO_OBJECT);
        return dat_evd_resize(walk_object(walk, arg[0]), count_of(arg[1]));
}

static DAT_RETURN evd_free(struct walk *walk, const long *arg)
{
        return gone(walk, arg[0], dat_evd_free(walk_object(walk, arg[0])));
}

static DAT_RETURN cno_create(struct walk *walk, const long *arg)
{
        DAT_CNO_HANDLE made = DAT_HANDLE_NULL;

        if (!is_free(walk, arg[0], CNO))
                return walk->said;
        return keep(walk, arg[0],
                    dat_cno_create(ia_of(walk, arg[0]), DAT_OS_WAIT_PROXY_AGENT_NULL, &made),
                    &made);
}

/* What a provider may call, on a thread of its own. */
static void agent(DAT_PVOID instance, DAT_EVD_HANDLE evd)
{
        (void)instance;
        (void)evd;
}

static DAT_RETURN cno_modify_agent(struct walk *walk, const long *arg)
{
        DAT_OS_WAIT_PROXY_AGENT given = {
            .instance_data = walk,
            .proxy_agent_func = agent,
        };

        return dat_cno_modify_agent(walk_object(walk, arg[0]),
                                    arg[1] ? given : DAT_OS_WAIT_PROXY_AGENT_NULL);
}

static DAT_RETURN cno_query(struct walk *walk, const long *arg)
{
        DAT_CNO_PARAM param;

        return dat_cno_query(walk_object(walk, arg[0]), MASK(arg[1], DAT_CNO_FIELD_ALL), &param);
}

static DAT_RETURN cno_wait(struct walk *walk, const long *arg)
{
        DAT_EVD_HANDLE evd;

        return dat_cno_wait(walk_object(walk, arg[0]), (DAT_TIMEOUT)(arg[1] * US_PER_MS), &evd);
}

/* No page says what happens to a thread that waits on a CNO that is freed. */
static DAT_RETURN cno_free(struct walk *walk, const long *arg)
{
        join(walk, NO_OBJECT);
        return gone(walk, arg[0], dat_cno_free(walk_object(walk, arg[0])));
}

static DAT_COUNT receives(struct walk *walk, long number)
{
        return number == MOST_RECEIVES ? ia_attr(walk->t)->max_recv_per_srq : count_of(number);
}

static DAT_RETURN srq_create(struct walk *walk, const long *arg)
{
        DAT_SRQ_HANDLE made = DAT_HANDLE_NULL;
        DAT_SRQ_ATTR attr;

        memset(&attr, 0, sizeof(attr));
        attr.max_recv_dtos = receives(walk, arg[2]);
        attr.max_recv_iov = count_of(arg[3]);
        attr.low_watermark = DAT_SRQ_LW_DEFAULT;
        if (!is_free(walk, arg[0], SRQ))
                return walk->said;
        return keep(walk, arg[0],
                    dat_srq_create(ia_of(walk, arg[0]), walk_object(walk, arg[1]), &attr, &made),
                    &made);
}

static DAT_RETURN srq_query(struct walk *walk, const long *arg)
{
        DAT_SRQ_PARAM param;

        return dat_srq_query(walk_object(walk, arg[0]), MASK(arg[1], DAT_SRQ_FIELD_ALL), &param);
}

static DAT_RETURN srq_resize(struct walk *walk, const long *arg)
{
        return dat_srq_resize(walk_object(walk, arg[0]), receives(walk, arg[1]));
}

static DAT_RETURN srq_set_lw(struct walk *walk, const long *arg)
{
        return dat_srq_set_lw(walk_object(walk, arg[0]), count_of(arg[1]));
}

static DAT_RETURN srq_post_recv(struct walk *walk, const long *arg)
{
        DAT_LMR_TRIPLET iov = walk_segment(walk, arg[1], arg[2], arg[3]);

        return dat_srq_post_recv(walk_object(walk, arg[0]), 1, &iov, cookie(walk));
}

static DAT_RETURN srq_free(struct walk *walk, const long *arg)
{
        return gone(walk, arg[0], dat_srq_free(walk_object(walk, arg[0])));
}

static DAT_EP_ATTR ep_attributes(struct walk *walk, long recvs, long requests)
{
        DAT_EP_ATTR attr = ep_attr_modest(ia_attr(walk->t));

        attr.max_recv_dtos = count_of(recvs);
        attr.max_request_dtos = count_of(requests);
        attr.max_rdma_read_in = ia_attr(walk->t)->max_rdma_read_per_ep_in ? 1 : 0;
        attr.max_rdma_read_out = ia_attr(walk->t)->max_rdma_read_per_ep_out ? 1 : 0;
        attr.max_rdma_read_iov = attr.max_rdma_read_out;
        return attr;
}

static DAT_RETURN ep_create_as(struct walk *walk, const long *arg, DAT_EP_ATTR *attr)
{
        DAT_EP_HANDLE made = DAT_HANDLE_NULL;

        if (!is_free(walk, arg[0], EP))
                return walk->said;
        return keep(walk, arg[0],
                    dat_ep_create(ia_of(walk, arg[0]), walk_object(walk, arg[1]),
                                  walk_object(walk, arg[2]), walk_object(walk, arg[3]),
                                  walk_object(walk, arg[4]), attr, &made),
                    &made);
}

static DAT_RETURN ep_create(struct walk *walk, const long *arg)
{
        DAT_EP_ATTR attr = ep_attributes(walk, arg[5], arg[6]);

        return ep_create_as(walk, arg, &attr);
}

static DAT_RETURN ep_create_flags(struct walk *walk, const long *arg)
{
        DAT_EP_ATTR attr = ep_attributes(walk, FLAGS_DEPTH, FLAGS_DEPTH);

        attr.recv_completion_flags = (DAT_COMPLETION_FLAGS)arg[5];
        attr.request_completion_flags = (DAT_COMPLETION_FLAGS)arg[6];
        return ep_create_as(walk, arg, &attr);
}

static DAT_RETURN ep_create_with_srq(struct walk *walk, const long *arg)
{
        DAT_EP_ATTR attr = ep_attributes(walk, arg[6], arg[7]);
        DAT_EP_HANDLE made = DAT_HANDLE_NULL;

        if (!is_free(walk, arg[0], EP))
                return walk->said;
        return keep(walk, arg[0],
                    dat_ep_create_with_srq(ia_of(walk, arg[0]), walk_object(walk, arg[1]),
                                           walk_object(walk, arg[2]), walk_object(walk, arg[3]),
                                           walk_object(walk, arg[4]), walk_object(walk, arg[5]),
                                           &attr, &made),
                    &made);
}

static DAT_RETURN ep_query(struct walk *walk, const long *arg)
{
        DAT_EP_PARAM param;

        return dat_ep_query(walk_object(walk, arg[0]), MASK(arg[1], DAT_EP_FIELD_ALL), &param);
}

static DAT_RETURN ep_get_status(struct walk *walk, const long *arg)
{
        DAT_EP_STATE state;
        DAT_BOOLEAN recv_idle, request_idle;

        return dat_ep_get_status(walk_object(walk, arg[0]), &state, &recv_idle, &request_idle);
}

static DAT_RETURN ep_modify_pz(struct walk *walk, const long *arg)
{
        DAT_EP_PARAM param;

        memset(&param, 0, sizeof(param));
        param.pz_handle = walk_object(walk, arg[1]);
        return dat_ep_modify(walk_object(walk, arg[0]), DAT_EP_FIELD_PZ_HANDLE, &param);
}

static DAT_RETURN ep_modify_depths(struct walk *walk, const long *arg)
{
        DAT_EP_PARAM param;

        memset(&param, 0, sizeof(param));
        param.ep_attr.max_recv_dtos = count_of(arg[1]);
        param.ep_attr.max_request_dtos = count_of(arg[2]);
        return dat_ep_modify(
            walk_object(walk, arg[0]),
            DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS | DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &param);
}

/* Segments of an LMR, each behind the one before it. */
static void segments(struct walk *walk, const long *arg, DAT_LMR_TRIPLET *iov)
{
        for (long i = 0; i < SEGMENTS; i++)
                iov[i] = walk_segment(walk, arg[1], i * BETWEEN, arg[2]);
}

static DAT_RETURN srq_post_segments(struct walk *walk, const long *arg)
{
        DAT_LMR_TRIPLET iov[SEGMENTS];

        segments(walk, arg, iov);
        return dat_srq_post_recv(walk_object(walk, arg[0]), count_of(arg[3]), iov, cookie(walk));
}

static DAT_RETURN ep_post_recv_segments(struct walk *walk, const long *arg)
{
        DAT_LMR_TRIPLET iov[SEGMENTS];

        segments(walk, arg, iov);
        return dat_ep_post_recv(walk_object(walk, arg[0]), count_of(arg[3]), iov, cookie(walk),
                                (DAT_COMPLETION_FLAGS)arg[4]);
}

static DAT_RETURN ep_post_send_segments(struct walk *walk, const long *arg)
{
        DAT_LMR_TRIPLET iov[SEGMENTS];

        segments(walk, arg, iov);
        return dat_ep_post_send(walk_object(walk, arg[0]), count_of(arg[3]), iov, cookie(walk),
                                (DAT_COMPLETION_FLAGS)arg[4]);
}

static DAT_RETURN ep_modify_handle(struct walk *walk, const long *arg)
{
        DAT_HANDLE set = walk_object(walk, arg[2]);
        DAT_EP_PARAM param;

        memset(&param, 0, sizeof(param));
        param.pz_handle = set;
        param.recv_evd_handle = set;
        param.request_evd_handle = set;
        param.connect_evd_handle = set;
        param.srq_handle = set;
        return dat_ep_modify(walk_object(walk, arg[0]), (DAT_EP_PARAM_MASK)arg[1], &param);
}

static DAT_RETURN ep_modify_number(struct walk *walk, const long *arg)
{
        DAT_EP_PARAM param;
        DAT_EP_ATTR *attr = &param.ep_attr;

        memset(&param, 0, sizeof(param));
        attr->max_message_size = (DAT_VLEN)arg[2];
        attr->max_rdma_size = (DAT_VLEN)arg[2];
        attr->recv_completion_flags = (DAT_COMPLETION_FLAGS)arg[2];
        attr->request_completion_flags = (DAT_COMPLETION_FLAGS)arg[2];
        attr->max_recv_dtos = count_of(arg[2]);
        attr->max_request_dtos = count_of(arg[2]);
        attr->max_recv_iov = count_of(arg[2]);
        attr->max_request_iov = count_of(arg[2]);
        attr->max_rdma_read_in = count_of(arg[2]);
        attr->max_rdma_read_out = count_of(arg[2]);
        attr->srq_soft_hw = count_of(arg[2]);
        attr->max_rdma_read_iov = count_of(arg[2]);
        attr->max_rdma_write_iov = count_of(arg[2]);
        return dat_ep_modify(walk_object(walk, arg[0]), (DAT_EP_PARAM_MASK)arg[1], &param);
}

static DAT_RETURN ep_recv_query(struct walk *walk, const long *arg)
{
        DAT_COUNT allocated, span;

        return dat_ep_recv_query(walk_object(walk, arg[0]), &allocated, &span);
}

static DAT_RETURN ep_set_watermark(struct walk *walk, const long *arg)
{
        return dat_ep_set_watermark(walk_object(walk, arg[0]), count_of(arg[1]), count_of(arg[2]));
}

static DAT_RETURN ep_post_recv(struct walk *walk, const long *arg)
{
        DAT_LMR_TRIPLET iov = walk_segment(walk, arg[1], arg[2], arg[3]);

        return dat_ep_post_recv(walk_object(walk, arg[0]), 1, &iov, cookie(walk),
                                (DAT_COMPLETION_FLAGS)arg[4]);
}

static DAT_RETURN ep_post_send(struct walk *walk, const long *arg)
{
        DAT_LMR_TRIPLET iov = walk_segment(walk, arg[1], arg[2], arg[3]);

        return dat_ep_post_send(walk_object(walk, arg[0]), 1, &iov, cookie(walk),
                                (DAT_COMPLETION_FLAGS)arg[4]);
}

/* The memory of an LMR of this process, by its remote context. */
static DAT_RMR_TRIPLET remote(struct walk *walk, long lmr, long length)
{
        const struct memory *memory = walk_memory(walk, lmr);
        DAT_RMR_TRIPLET made;

        memset(&made, 0, sizeof(made));
        made.rmr_context = memory->rmr_context;
        made.target_address = (DAT_VADDR)(uintptr_t)memory->bytes;
        made.segment_length = (DAT_UINT32)length;
        return made;
}

static DAT_RETURN ep_post_rdma_write(struct walk *walk, const long *arg)
{
        DAT_LMR_TRIPLET iov = walk_segment(walk, arg[1], 0, arg[3]);
        DAT_RMR_TRIPLET to = remote(walk, arg[2], arg[3]);

        return dat_ep_post_rdma_write(walk_object(walk, arg[0]), 1, &iov, cookie(walk), &to,
                                      (DAT_COMPLETION_FLAGS)arg[4]);
}

static DAT_RETURN ep_post_rdma_read(struct walk *walk, const long *arg)
{
        DAT_LMR_TRIPLET iov = walk_segment(walk, arg[1], 0, arg[3]);
        DAT_RMR_TRIPLET from = remote(walk, arg[2], arg[3]);

        return dat_ep_post_rdma_read(walk_object(walk, arg[0]), 1, &iov, cookie(walk), &from,
                                     (DAT_COMPLETION_FLAGS)arg[4]);
}

DAT_CONN_QUAL walk_qualifier(const struct walk *walk, long number)
{
        if (number / BY_KIND == RSP)
                return RSP_QUALIFIER + slot_of(number);
        return walk->qualifier[slot_of(number)];
}

unsigned char *walk_private_data(struct walk *walk, long length)
{
        if (length <= 0 || length > PRIVATE_MOST)
                return NULL;
        memset(walk->private, (int)(walk->steps & 0xff), (size_t)length);
        return walk->private;
}

static DAT_RETURN ep_connect(struct walk *walk, const long *arg)
{
        return dat_ep_connect(walk_object(walk, arg[0]), ia_attr(walk->t)->ia_address_ptr,
                              walk_qualifier(walk, arg[1]), CONNECT_MS * US_PER_MS,
                              count_of(arg[2]), walk_private_data(walk, arg[2]),
                              DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

static DAT_RETURN ep_connect_within(struct walk *walk, const long *arg)
{
        return dat_ep_connect(walk_object(walk, arg[0]), ia_attr(walk->t)->ia_address_ptr,
                              walk_qualifier(walk, arg[1]), (DAT_TIMEOUT)(arg[3] * US_PER_MS),
                              count_of(arg[2]), walk_private_data(walk, arg[2]),
                              DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

static DAT_RETURN ep_dup_connect(struct walk *walk, const long *arg)
{
        return dat_ep_dup_connect(walk_object(walk, arg[0]), walk_object(walk, arg[1]),
                                  CONNECT_MS * US_PER_MS, count_of(arg[2]),
                                  walk_private_data(walk, arg[2]), DAT_QOS_BEST_EFFORT);
}

static DAT_RETURN ep_disconnect(struct walk *walk, const long *arg)
{
        return dat_ep_disconnect(walk_object(walk, arg[0]),
                                 arg[1] ? DAT_CLOSE_GRACEFUL_FLAG : DAT_CLOSE_ABRUPT_FLAG);
}

/* Private data of an EP lasts until this call at most; it is looked at before. */
static DAT_RETURN ep_reset(struct walk *walk, const long *arg)
{
        look_again(walk);
        forget(walk, walk_object(walk, arg[0]));
        return dat_ep_reset(walk_object(walk, arg[0]));
}

static DAT_RETURN ep_free(struct walk *walk, const long *arg)
{
        look_again(walk);
        forget(walk, walk_object(walk, arg[0]));
        return gone(walk, arg[0], dat_ep_free(walk_object(walk, arg[0])));
}

static DAT_RETURN psp_create_any(struct walk *walk, const long *arg)
{
        DAT_PSP_HANDLE made = DAT_HANDLE_NULL;

        if (!is_free(walk, arg[0], PSP))
                return walk->said;
        return keep(walk, arg[0],
                    dat_psp_create_any(ia_of(walk, arg[0]), &walk->qualifier[slot_of(arg[0])],
                                       walk_object(walk, arg[1]), DAT_PSP_CONSUMER_FLAG, &made),
                    &made);
}

/* EPs for its requests are made by the provider. */
static DAT_RETURN psp_create_making(struct walk *walk, const long *arg)
{
        DAT_PSP_HANDLE made = DAT_HANDLE_NULL;

        if (!is_free(walk, arg[0], PSP))
                return walk->said;
        return keep(walk, arg[0],
                    dat_psp_create_any(ia_of(walk, arg[0]), &walk->qualifier[slot_of(arg[0])],
                                       walk_object(walk, arg[1]), DAT_PSP_PROVIDER_FLAG, &made),
                    &made);
}

static DAT_RETURN psp_create(struct walk *walk, const long *arg)
{
        DAT_PSP_HANDLE made = DAT_HANDLE_NULL;
        DAT_CONN_QUAL qualifier = (DAT_CONN_QUAL)arg[1];
        DAT_RETURN ret;

        if (!is_free(walk, arg[0], PSP))
                return walk->said;
        ret = dat_psp_create(ia_of(walk, arg[0]), qualifier, walk_object(walk, arg[2]),
                             DAT_PSP_CONSUMER_FLAG, &made);
        if (dat_is(ret, DAT_SUCCESS))
                walk->qualifier[slot_of(arg[0])] = qualifier;
        return keep(walk, arg[0], ret, &made);
}

static DAT_RETURN psp_query(struct walk *walk, const long *arg)
{
        DAT_PSP_PARAM param;

        return dat_psp_query(walk_object(walk, arg[0]), MASK(arg[1], DAT_PSP_FIELD_ALL), &param);
}

static DAT_RETURN psp_free(struct walk *walk, const long *arg)
{
        return gone(walk, arg[0], dat_psp_free(walk_object(walk, arg[0])));
}

static DAT_RETURN rsp_create(struct walk *walk, const long *arg)
{
        DAT_RSP_HANDLE made = DAT_HANDLE_NULL;

        if (!is_free(walk, arg[0], RSP))
                return walk->said;
        return keep(walk, arg[0],
                    dat_rsp_create(ia_of(walk, arg[0]), walk_qualifier(walk, arg[0]),
                                   walk_object(walk, arg[1]), walk_object(walk, arg[2]), &made),
                    &made);
}

static DAT_RETURN rsp_query(struct walk *walk, const long *arg)
{
        DAT_RSP_PARAM param;

        return dat_rsp_query(walk_object(walk, arg[0]), MASK(arg[1], DAT_RSP_FIELD_ALL), &param);
}

static DAT_RETURN rsp_free(struct walk *walk, const long *arg)
{
        return gone(walk, arg[0], dat_rsp_free(walk_object(walk, arg[0])));
}

static DAT_RETURN cr_query(struct walk *walk, const long *arg)
{
        DAT_CR_HANDLE request = walk_object(walk, arg[0]);
        DAT_CR_PARAM param;
        DAT_RETURN ret = dat_cr_query(request, MASK(arg[1], DAT_CR_FIELD_ALL), &param);

        if (arg[1] < 0 && dat_is(ret, DAT_SUCCESS))
                remember(walk, request, "evd_dequeue/request_lasts", param.private_data,
                         param.private_data_size);
        return ret;
}

/* The call may be the end of a request: its private data is looked at before. */
static DAT_CR_HANDLE ending(struct walk *walk, long number)
{
        DAT_CR_HANDLE request = walk_object(walk, number);

        look_again(walk);
        forget(walk, request);
        return request;
}

static DAT_RETURN cr_accept(struct walk *walk, const long *arg)
{
        return gone(walk, arg[0],
                    dat_cr_accept(ending(walk, arg[0]), walk_object(walk, arg[1]), count_of(arg[2]),
                                  walk_private_data(walk, arg[2])));
}

/* Accepts for the EP that the provider has made, which has its slot from then on. */
static DAT_RETURN cr_accept_made(struct walk *walk, const long *arg)
{
        DAT_CR_HANDLE request = walk_object(walk, arg[0]);
        DAT_CR_PARAM param = {.local_ep_handle = DAT_HANDLE_NULL};
        DAT_EP_HANDLE made;
        DAT_RETURN ret;

        if (!is_free(walk, arg[1], EP))
                return walk->said;
        ret = dat_cr_query(request, DAT_CR_FIELD_ALL, &param);
        if (!dat_is(ret, DAT_SUCCESS))
                return ret;
        made = param.local_ep_handle;
        ret = dat_cr_accept(ending(walk, arg[0]), DAT_HANDLE_NULL, count_of(arg[2]),
                            walk_private_data(walk, arg[2]));
        gone(walk, arg[0], ret);
        return made == DAT_HANDLE_NULL ? ret : keep(walk, arg[1], ret, &made);
}

static DAT_RETURN cr_handoff(struct walk *walk, const long *arg)
{
        return gone(walk, arg[0],
                    dat_cr_handoff(ending(walk, arg[0]), walk_qualifier(walk, arg[1])));
}

static DAT_RETURN cr_reject(struct walk *walk, const long *arg)
{
        return gone(walk, arg[0], dat_cr_reject(ending(walk, arg[0])));
}

static DAT_RETURN handle_type(struct walk *walk, const long *arg)
{
        DAT_HANDLE_TYPE type;

        return dat_get_handle_type(walk_object(walk, arg[0]), &type);
}

static DAT_RETURN handle_set_context(struct walk *walk, const long *arg)
{
        return dat_set_consumer_context(walk_object(walk, arg[0]),
                                        (DAT_CONTEXT){.as_64 = (DAT_UINT64)arg[1]});
}

static DAT_RETURN handle_get_context(struct walk *walk, const long *arg)
{
        DAT_CONTEXT context;

        return dat_get_consumer_context(walk_object(walk, arg[0]), &context);
}

static DAT_RETURN strerror_of(struct walk *walk, const long *arg)
{
        const char *major, *minor;

        (void)walk;
        return dat_strerror((DAT_RETURN)arg[0], &major, &minor);
}

static DAT_RETURN registry_list(struct walk *walk, const long *arg)
{
        DAT_PROVIDER_INFO info[LISTED_MOST];
        DAT_PROVIDER_INFO *to[LISTED_MOST];
        DAT_COUNT told;

        (void)walk;
        for (unsigned int i = 0; i < LISTED_MOST; i++)
                to[i] = &info[i];
        return dat_registry_list_providers(count_of(arg[0]), &told, to);
}

static DAT_RETURN ia_open_other(struct walk *walk, const long *arg)
{
        struct test *t = walk->t;
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        DAT_IA_HANDLE made = DAT_HANDLE_NULL;
        DAT_RETURN ret;

        if (walk->other != DAT_HANDLE_NULL)
                return walk->said;
        ret =
            dat_ia_openv(ia_name(t), count_of(arg[0]), &async, &made, DAT_VERSION_MAJOR,
                         DAT_VERSION_MINOR, t->settings->probe->threadsafe ? DAT_TRUE : DAT_FALSE);
        if (dat_is(ret, DAT_SUCCESS)) {
                memset(walk->freed, 0, sizeof(walk->freed));
                walk->other = made;
                walk->at[EVD][OTHER_ASYNC_SLOT] = async;
                walk->of_other[EVD][OTHER_ASYNC_SLOT] = true;
        }
        return ret;
}

static DAT_RETURN ia_query(struct walk *walk, const long *arg)
{
        DAT_EVD_HANDLE async;
        DAT_IA_ATTR ia_told;
        DAT_PROVIDER_ATTR provider_told;

        return dat_ia_query(arg[0] ? walk->other : walk->t->ia, &async, DAT_IA_FIELD_ALL, &ia_told,
                            DAT_PROVIDER_FIELD_ALL, &provider_told);
}

/* What is made of an IA goes with it. */
static DAT_RETURN ia_close_other(struct walk *walk, const long *arg)
{
        DAT_RETURN ret;

        join(walk, NO_OBJECT);
        look_again(walk);
        for (unsigned int slot = 0; slot < SLOTS; slot++) {
                if (walk->of_other[EP][slot])
                        forget(walk, walk->at[EP][slot]);
                if (walk->of_other[CR][slot])
                        forget(walk, walk->at[CR][slot]);
        }
        ret = dat_ia_close(walk->other, arg[0] ? DAT_CLOSE_GRACEFUL_FLAG : DAT_CLOSE_ABRUPT_FLAG);
        if (!dat_is(ret, DAT_SUCCESS))
                return ret;
        walk->other = DAT_HANDLE_NULL;
        memset(walk->freed, 0, sizeof(walk->freed));
        for (enum kind kind = PZ; kind < KINDS; kind++)
                for (unsigned int slot = 0; slot < SLOTS; slot++)
                        if (walk->of_other[kind][slot])
                                walk->at[kind][slot] = DAT_HANDLE_NULL;
        return ret;
}

#define STEP(name_, args_)                                     \
        {                                                      \
                .name = #name_, .args = (args_), .take = name_ \
        }

static const struct move moves[] = {
    {.name = "ia_open", .args = 1, .take = ia_open_other},
    STEP(ia_query, 1),
    {.name = "ia_close", .args = 1, .take = ia_close_other},
    STEP(private_again, 0),
    STEP(pz_create, 1),
    STEP(pz_query, 2),
    STEP(pz_free, 1),
    STEP(lmr_create, 3),
    STEP(lmr_create_of, 4),
    STEP(lmr_query, 2),
    STEP(lmr_sync_rdma_read, 3),
    STEP(lmr_sync_rdma_write, 3),
    STEP(lmr_free, 1),
    STEP(rmr_create, 2),
    STEP(rmr_query, 2),
    STEP(rmr_bind, 7),
    STEP(rmr_free, 1),
    STEP(evd_create, 4),
    STEP(evd_query, 2),
    STEP(evd_resize, 2),
    STEP(evd_modify_cno, 2),
    STEP(evd_enable, 1),
    STEP(evd_disable, 1),
    STEP(evd_set_unwaitable, 1),
    STEP(evd_clear_unwaitable, 1),
    STEP(evd_post_se, 1),
    STEP(evd_dequeue, 2),
    STEP(evd_wait, 4),
    STEP(evd_waiter, 3),
    STEP(evd_join, 1),
    STEP(evd_free, 1),
    STEP(cno_create, 1),
    STEP(cno_modify_agent, 2),
    STEP(cno_query, 2),
    STEP(cno_wait, 2),
    STEP(cno_waiter, 2),
    STEP(cno_free, 1),
    STEP(srq_create, 4),
    STEP(srq_query, 2),
    STEP(srq_resize, 2),
    STEP(srq_set_lw, 2),
    STEP(srq_post_recv, 4),
    STEP(srq_post_segments, 4),
    STEP(srq_free, 1),
    STEP(ep_create, 7),
    STEP(ep_create_flags, 7),
    STEP(ep_create_with_srq, 8),
    STEP(ep_query, 2),
    STEP(ep_get_status, 1),
    STEP(ep_modify_pz, 2),
    STEP(ep_modify_depths, 3),
    STEP(ep_modify_handle, 3),
    STEP(ep_modify_number, 3),
    STEP(ep_recv_query, 1),
    STEP(ep_set_watermark, 3),
    STEP(ep_post_recv, 5),
    STEP(ep_post_send, 5),
    STEP(ep_post_recv_segments, 5),
    STEP(ep_post_send_segments, 5),
    STEP(ep_post_rdma_write, 5),
    STEP(ep_post_rdma_read, 5),
    STEP(ep_connect, 3),
    STEP(ep_connect_within, 4),
    STEP(ep_dup_connect, 3),
    STEP(ep_disconnect, 2),
    STEP(ep_reset, 1),
    STEP(ep_free, 1),
    STEP(psp_create, 3),
    STEP(psp_create_any, 2),
    STEP(psp_create_making, 2),
    STEP(psp_query, 2),
    STEP(psp_free, 1),
    STEP(rsp_create, 3),
    STEP(rsp_query, 2),
    STEP(rsp_free, 1),
    STEP(cr_query, 2),
    STEP(cr_accept, 3),
    STEP(cr_accept_made, 3),
    STEP(cr_handoff, 2),
    STEP(cr_reject, 1),
    STEP(handle_type, 1),
    STEP(handle_set_context, 2),
    STEP(handle_get_context, 1),
    {.name = "error_text", .args = 1, .take = strerror_of},
    STEP(registry_list, 1),
};

static const struct move *find_move(const char *name)
{
        for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++)
                if (strcmp(moves[i].name, name) == 0)
                        return &moves[i];
        for (const struct move *move = peer_moves; move->name; move++)
                if (strcmp(move->name, name) == 0)
                        return move;
        return NULL;
}

/* Takes the step of one line; a line that is none ends the walk, for its author is at fault. */
static void take_line(struct walk *walk, const char *line)
{
        char name[NAME_MAX_ + 1];
        long arg[STEP_ARGS] = {0};
        const struct move *move;
        int used = 0;

        line += strspn(line, " ");
        if (*line == '&' && !dat_is(walk->said, DAT_SUCCESS))
                return;
        line += *line == '&';
        if (sscanf(line, "%31s%n", name, &used) != 1)
                return;
        move = find_move(name);
        if (!move)
                test_end(walk->t, VERDICT_ERROR, "step %u, \"%s\", is unknown", walk->steps, name);
        line += used;
        for (unsigned int i = 0; i < move->args; i++) {
                char *end;

                errno = 0;
                arg[i] = strtol(line, &end, 10);
                if (end == line || errno)
                        test_end(walk->t, VERDICT_ERROR, "step %u, \"%s\", lacks argument %u",
                                 walk->steps, name, i + 1);
                line = end;
        }
        walk->said = move->take(walk, arg);
}

static void free_all(struct walk *walk, enum kind kind, DAT_RETURN (*free_one)(DAT_HANDLE handle))
{
        for (unsigned int slot = 0; slot < SLOTS; slot++) {
                if (walk->at[kind][slot] == DAT_HANDLE_NULL)
                        continue;
                free_one(walk->at[kind][slot]);
                walk->at[kind][slot] = DAT_HANDLE_NULL;
        }
}

/* Frees what is left, users first; the IA's close takes what a provider refuses to free. */
static void clean_up(struct walk *walk)
{
        free_all(walk, CR, dat_cr_reject);
        free_all(walk, PSP, dat_psp_free);
        free_all(walk, RSP, dat_rsp_free);
        free_all(walk, EP, dat_ep_free);
        free_all(walk, RMR, dat_rmr_free);
        free_all(walk, LMR, dat_lmr_free);
        free_all(walk, SRQ, dat_srq_free);
        free_all(walk, EVD, dat_evd_free);
        free_all(walk, CNO, dat_cno_free);
        free_all(walk, PZ, dat_pz_free);
        if (walk->other != DAT_HANDLE_NULL)
                dat_ia_close(walk->other, DAT_CLOSE_ABRUPT_FLAG);
        for (unsigned int slot = 0; slot < SLOTS; slot++)
                if (!walk->memory[slot].of_other_lmr)
                        free(walk->memory[slot].bytes);
}

static unsigned int count_lines(const char *text)
{
        unsigned int lines = 0;

        for (; text && *text; text = strchr(text, '\n')) {
                text += strspn(text, "\n");
                lines += *text != '\0';
        }
        return lines;
}

CASE_WITH(explore, walk, .needs = 0, .peers = 1, .network = 1)
{
        const char *given = t->settings->program ? t->settings->program : "";
        struct walk *walk = calloc(1, sizeof(*walk));
        char *program = strdup(given);
        char *rest = NULL;

        if (!walk || !program)
                resource(t, "no memory for a walk");
        walk->t = t;
        ia_attr(t);
        walk->at[EVD][ASYNC_SLOT] = async_evd(t);
        for (char *line = strtok_r(program, "\n", &rest); line;
             line = strtok_r(NULL, "\n", &rest)) {
                walk->steps++;
                take_line(walk, line);
        }
        join(walk, NO_OBJECT);
        look_again(walk);
        walk->at[EVD][ASYNC_SLOT] = DAT_HANDLE_NULL;
        walk->at[EVD][OTHER_ASYNC_SLOT] = DAT_HANDLE_NULL;
        clean_up(walk);
        expect_eq(walk->steps, count_lines(given));
        free(program);
        free(walk);
}
