/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/shared/beside.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "case/check.h"
#include "case/test.h"
#include "case/value_name.h"

/*
 * On one processor, a thread that sleeps between its turns interrupts the one that does not, in a
 * call too. On several of them all run at once.
 */
#define SLEEP_NS (40 * UINT64_C(1000)) /* at most */

/* A part's thread. It may outlive the case: what it writes is not on the case's stack. */
struct seat {
        struct table *table;
        struct part part;
        uint64_t drawn;    /* state of its draws */
        int timer;         /* by which it sleeps */
        bool is_first;     /* it does not sleep */
        atomic_bool calls; /* it is in a call */
};

struct table {
        struct seat seats[BESIDE_PARTS];
        size_t count;
        unsigned int turns;
        bool one_processor;
        atomic_size_t ready;
        atomic_bool met;
        uint64_t until_ns;
};

static bool other_calls(const struct seat *seat)
{
        const struct table *table = seat->table;

        for (size_t i = 0; i < table->count; i++)
                if (&table->seats[i] != seat && atomic_load(&table->seats[i].calls))
                        return true;
        return false;
}

/* SplitMix64: a thread cannot draw from the case's own numbers. */
static uint64_t next_draw(struct seat *seat)
{
        uint64_t z = seat->drawn += UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return z ^ (z >> 31);
}

/* One timer for all turns: to make one each time takes longer than a short call. */
static void wait_for(int timer, uint64_t ns)
{
        struct itimerspec when = {.it_value.tv_nsec = (long)ns};
        uint64_t expirations;

        if (timerfd_settime(timer, 0, &when, NULL) == 0)
                (void)!read(timer, &expirations, sizeof(expirations));
}

/* A thread that wakes takes the processor from this one, in a call too. It needs no privilege. */
static void let_others_first(void)
{
        /* No more than this: another one may spin on a lock that this thread holds. */
        setpriority(PRIO_PROCESS, (id_t)gettid(), 10);
}

static void pause_before(struct seat *seat)
{
        if (seat->table->one_processor && !seat->is_first)
                wait_for(seat->timer, 1 + next_draw(seat) % SLEEP_NS);
        else
                sched_yield();
}

static DAT_RETURN take_turns(void *arg)
{
        struct seat *seat = arg;
        struct table *table = seat->table;
        struct part *part = &seat->part;

        if (table->one_processor && seat->is_first)
                let_others_first();
        /* None is done before another one has begun. */
        atomic_fetch_add(&table->ready, 1);
        while (atomic_load(&table->ready) < table->count && now_ns() < table->until_ns)
                sched_yield();
        for (unsigned int i = 0; i < table->turns; i++) {
                DAT_RETURN ret;

                pause_before(seat);
                atomic_store(&seat->calls, true);
                if (other_calls(seat))
                        atomic_store(&table->met, true);
                ret = part->turn(part->arg, i);
                atomic_store(&seat->calls, false);
                if (dat_is(part->ret, DAT_SUCCESS))
                        part->ret = ret;
        }
        return DAT_SUCCESS;
}

bool beside(struct test *t, struct part *parts, size_t count, unsigned int turns)
{
        struct table *table = calloc(1, sizeof(*table));
        struct racer racers[BESIDE_PARTS];
        size_t first = draw(t, count);
        bool met;

        suite_that(count <= BESIDE_PARTS, "%zu parts", count);
        if (!table)
                resource(t, "no memory for the parts");
        table->count = count;
        table->turns = turns;
        table->one_processor = sysconf(_SC_NPROCESSORS_ONLN) == 1;
        table->until_ns = now_ns() + t->settings->event_ms * NS_PER_MS;
        for (size_t i = 0; i < count; i++) {
                table->seats[i] = (struct seat){
                    .table = table,
                    .part = parts[i],
                    .drawn = draw(t, UINT64_MAX),
                    .timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC),
                    .is_first = i == first,
                };
                table->seats[i].part.ret = DAT_SUCCESS;
                racers[i] = (struct racer){.call = take_turns, .arg = &table->seats[i]};
        }
        race(racers, count);
        for (size_t i = 0; i < count; i++) {
                parts[i].ret = table->seats[i].part.ret;
                close(table->seats[i].timer);
        }
        met = atomic_load(&table->met);
        free(table);
        return met;
}

bool step_worked(struct broken_step *broken, const char *call, DAT_RETURN ret)
{
        if (dat_is(ret, DAT_SUCCESS))
                return true;
        if (!broken->call)
                *broken = (struct broken_step){.call = call, .ret = ret};
        return false;
}

void must_have_worked(struct test *t, const struct broken_step *broken)
{
        must_that_of(broken->call, !broken->call, "it returned %s beside calls of another thread",
                     name_of_return(broken->ret));
}

DAT_RETURN other_ep_turn(struct broken_step *broken, DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz,
                         DAT_EVD_HANDLE dto_evd, DAT_EVD_HANDLE connect_evd, DAT_EP_ATTR *attr)
{
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        DAT_RETURN ret = dat_ep_create(ia, pz, dto_evd, dto_evd, connect_evd, attr, &ep);

        if (step_worked(broken, "dat_ep_create", ret)) {
                ret = dat_ep_free(ep);
                step_worked(broken, "dat_ep_free", ret);
        }
        return ret;
}
