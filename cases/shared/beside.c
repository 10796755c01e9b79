/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/shared/beside.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "case/check.h"
#include "case/sleep_until.h"
#include "case/test.h"
#include "case/value_name.h"

#define SWITCH_NS (40 * UINT64_C(1000)) /* between two switches, at most */
#define LEADER    1                     /* the priority of the part that runs; others have none */
#define SWITCHER  2

/* A part's thread. It may outlive the case: what it writes is not on the case's stack. */
struct seat {
        struct table *table;
        struct part part;
        pthread_t thread;
        atomic_bool seated; /* `thread` is valid */
        atomic_bool calls;  /* it is in a call */
};

struct table {
        struct seat seats[BESIDE_PARTS];
        size_t count;
        unsigned int turns;
        atomic_size_t ready;
        atomic_size_t running;
        atomic_bool met;
        uint64_t drawn; /* state of the switcher's draws */
        uint64_t until_ns;
};

/* Without the right to priorities all threads have the usual one, and the kernel switches them. */
static void set_priority(pthread_t thread, int priority)
{
        struct sched_param param = {.sched_priority = priority};

        pthread_setschedparam(thread, priority ? SCHED_FIFO : SCHED_OTHER, &param);
}

static bool other_calls(const struct seat *seat)
{
        const struct table *table = seat->table;

        for (size_t i = 0; i < table->count; i++)
                if (&table->seats[i] != seat && atomic_load(&table->seats[i].calls))
                        return true;
        return false;
}

static DAT_RETURN take_turns(void *arg)
{
        struct seat *seat = arg;
        struct table *table = seat->table;
        struct part *part = &seat->part;

        set_priority(pthread_self(), 0);
        seat->thread = pthread_self();
        atomic_store(&seat->seated, true);
        /* None is done before another one has begun. */
        atomic_fetch_add(&table->ready, 1);
        while (atomic_load(&table->ready) < table->count && now_ns() < table->until_ns)
                sched_yield();
        for (unsigned int i = 0; i < table->turns; i++) {
                DAT_RETURN ret;

                atomic_store(&seat->calls, true);
                if (other_calls(seat))
                        atomic_store(&table->met, true);
                ret = part->turn(part->arg, i);
                atomic_store(&seat->calls, false);
                if (dat_is(part->ret, DAT_SUCCESS))
                        part->ret = ret;
                sched_yield();
        }
        atomic_store(&seat->seated, false);
        atomic_fetch_sub(&table->running, 1);
        return DAT_SUCCESS;
}

/* SplitMix64: a thread cannot draw from the case's own numbers. */
static uint64_t next_draw(struct table *table)
{
        uint64_t z = table->drawn += UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return z ^ (z >> 31);
}

/* At drawn times another part is what runs. */
static DAT_RETURN switch_parts(void *arg)
{
        struct table *table = arg;

        size_t leader = 0;

        set_priority(pthread_self(), SWITCHER);
        while (atomic_load(&table->running) > 0 && now_ns() < table->until_ns) {
                leader = (leader + 1) % table->count;
                for (size_t i = 0; i < table->count; i++)
                        if (atomic_load(&table->seats[i].seated))
                                set_priority(table->seats[i].thread, i == leader ? LEADER : 0);
                sleep_until(now_ns() + next_draw(table) % SWITCH_NS);
        }
        return DAT_SUCCESS;
}

bool beside(struct test *t, struct part *parts, size_t count, unsigned int turns)
{
        struct table *table = calloc(1, sizeof(*table));
        struct racer racers[BESIDE_PARTS + 1];
        bool met;

        suite_that(count <= BESIDE_PARTS, "%zu parts", count);
        if (!table)
                resource(t, "no memory for the parts");
        table->count = count;
        table->turns = turns;
        table->drawn = draw(t, UINT64_MAX);
        table->until_ns = now_ns() + t->settings->event_ms * NS_PER_MS;
        atomic_init(&table->running, count);
        for (size_t i = 0; i < count; i++) {
                table->seats[i].table = table;
                table->seats[i].part = parts[i];
                table->seats[i].part.ret = DAT_SUCCESS;
                racers[i] = (struct racer){.call = take_turns, .arg = &table->seats[i]};
        }
        racers[count] = (struct racer){.call = switch_parts, .arg = table};
        race(racers, count + 1);
        for (size_t i = 0; i < count; i++)
                parts[i].ret = table->seats[i].part.ret;
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
