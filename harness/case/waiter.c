/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls on other threads of the case: waits that are proven, and races. */
#include "case/waiter.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "case/registry.h"
#include "case/sleep_until.h"
#include "case/test.h"
#include "evidence/api.h"
#include "evidence/trace.h"

#define NS_PER_US UINT64_C(1000)
#define NS_PER_S  UINT64_C(1000000000)

/*
 * A thread waits when one sleep in its call lasts so long, and is seen in so many looks. Sleeps on
 * the way there are shorter: for a lock, or for what a driver answers.
 */
#define SLEEP_NS     (10 * NS_PER_MS)
#define LOOKS_ASLEEP 8
#define LOOK_NS      (NS_PER_MS / 2)
/*
 * No event ends a sleep of a length that was fixed before, however long it lasts, so that is the
 * way there. But one who polls may have one such sleep after the other.
 */
#define NAPS 16
/* It polls there when it has spent more processor time than any way into a call takes. */
#define POLLED_NS (20 * NS_PER_MS)

enum call_kind { CALL_EVD_WAIT, CALL_CNO_WAIT, CALL_ANY };

struct waiter {
        struct waiter *next;
        enum call_kind kind;
        DAT_HANDLE on; /* the EVD or the CNO */
        DAT_TIMEOUT timeout;
        DAT_COUNT threshold;
        DAT_RETURN (*call)(void *arg);
        void *arg;
        pthread_t thread;
        _Atomic int stat;    /* its state in /proc, opened by itself; -1: not yet */
        _Atomic int syscall; /* the system call that it is in, likewise */
        struct trace_watch watch;
        struct woken woken; /* from when it is done */
        pthread_mutex_t lock;
        pthread_cond_t changed;
        bool done;
};

static void cond_init_monotonic(pthread_cond_t *cond)
{
        pthread_condattr_t attr;

        pthread_condattr_init(&attr);
        pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
        pthread_cond_init(cond, &attr);
        pthread_condattr_destroy(&attr);
}

static struct timespec at_ns(uint64_t ns)
{
        return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S),
                                 .tv_nsec = (long)(ns % NS_PER_S)};
}

static uint64_t event_deadline(const struct test *t)
{
        return now_ns() + t->settings->event_ms * NS_PER_MS;
}

/* What a call leaves unwritten does not look like an answer. */
static void make_call(struct waiter *waiter)
{
        struct woken *woken = &waiter->woken;
        uint64_t began_ns;

        memset(&woken->event, 0xa5, sizeof(woken->event));
        woken->more = -1;
        woken->evd = (DAT_EVD_HANDLE)woken;
        began_ns = now_ns();
        switch (waiter->kind) {
        case CALL_EVD_WAIT:
                woken->ret = dat_evd_wait(waiter->on, waiter->timeout, waiter->threshold,
                                          &woken->event, &woken->more);
                break;
        case CALL_CNO_WAIT:
                woken->ret = dat_cno_wait(waiter->on, waiter->timeout, &woken->evd);
                break;
        case CALL_ANY:
                woken->ret = waiter->call(waiter->arg);
                break;
        }
        woken->us = (now_ns() - began_ns) / NS_PER_US;
}

static void *waiter_main(void *arg)
{
        struct waiter *waiter = arg;

        trace_watch(&waiter->watch);
        atomic_store(&waiter->syscall, open("/proc/thread-self/syscall", O_RDONLY | O_CLOEXEC));
        atomic_store(&waiter->stat, open("/proc/thread-self/stat", O_RDONLY | O_CLOEXEC));
        make_call(waiter);
        pthread_mutex_lock(&waiter->lock);
        waiter->done = true;
        pthread_cond_signal(&waiter->changed);
        pthread_mutex_unlock(&waiter->lock);
        return NULL;
}

static bool is_done(struct waiter *waiter)
{
        bool done;

        pthread_mutex_lock(&waiter->lock);
        done = waiter->done;
        pthread_mutex_unlock(&waiter->lock);
        return done;
}

/* Waits for the end of the call; false when it has none until then. */
static bool done_until(struct waiter *waiter, uint64_t until_ns)
{
        struct timespec until = at_ns(until_ns);
        bool done;

        pthread_mutex_lock(&waiter->lock);
        while (!waiter->done &&
               pthread_cond_timedwait(&waiter->changed, &waiter->lock, &until) != ETIMEDOUT)
                ;
        done = waiter->done;
        pthread_mutex_unlock(&waiter->lock);
        return done;
}

static void waiter_forget(struct waiter *waiter)
{
        int stat = atomic_load(&waiter->stat);
        int syscall = atomic_load(&waiter->syscall);

        pthread_join(waiter->thread, NULL);
        if (stat >= 0)
                close(stat);
        if (syscall >= 0)
                close(syscall);
        pthread_cond_destroy(&waiter->changed);
        pthread_mutex_destroy(&waiter->lock);
        free(waiter);
}

static bool is_live_evd(struct test *t, DAT_HANDLE handle)
{
        return handle == t->async_evd || object_find(t, handle);
}

/* What waits on an EVD that the case has freed, or elsewhere, is left to its own timeout. */
static void waiter_wake(struct test *t, struct waiter *waiter)
{
        if (waiter->kind == CALL_EVD_WAIT && is_live_evd(t, waiter->on))
                dat_evd_set_unwaitable(waiter->on);
}

/* A step of teardown: wakes waiters, and ends those whose call returns in time. */
static void waiters_end(struct test *t)
{
        uint64_t until_ns = event_deadline(t);

        for (struct waiter *waiter = t->waiters; waiter; waiter = waiter->next)
                if (!is_done(waiter))
                        waiter_wake(t, waiter);
        while (t->waiters) {
                struct waiter *waiter = t->waiters;

                t->waiters = waiter->next;
                if (done_until(waiter, until_ns))
                        waiter_forget(waiter);
                else
                        leak(t, "a thread of the case waits still, %u ms after its end",
                             t->settings->event_ms);
        }
}

static struct waiter *waiter_start(struct test *t, struct waiter what)
{
        struct waiter *waiter = malloc(sizeof(*waiter));
        int err;

        if (!waiter)
                resource(t, "no memory for a thread");
        *waiter = what;
        atomic_store(&waiter->stat, -1);
        atomic_store(&waiter->syscall, -1);
        pthread_mutex_init(&waiter->lock, NULL);
        cond_init_monotonic(&waiter->changed);
        err = pthread_create(&waiter->thread, NULL, waiter_main, waiter);
        if (err) {
                free(waiter);
                resource(t, "no thread: %s", strerror(err));
        }
        waiter->next = t->waiters;
        t->waiters = waiter;
        t->steps[STEP_THREADS] = waiters_end;
        return waiter;
}

struct waiter *wait_on_evd(struct test *t, DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout,
                           DAT_COUNT threshold)
{
        return waiter_start(
            t, (struct waiter){
                   .kind = CALL_EVD_WAIT, .on = evd, .timeout = timeout, .threshold = threshold});
}

struct waiter *wait_on_cno(struct test *t, DAT_CNO_HANDLE cno, DAT_TIMEOUT timeout)
{
        return waiter_start(t,
                            (struct waiter){.kind = CALL_CNO_WAIT, .on = cno, .timeout = timeout});
}

struct waiter *wait_in(struct test *t, DAT_RETURN (*call)(void *arg), void *arg)
{
        return waiter_start(t, (struct waiter){.kind = CALL_ANY, .call = call, .arg = arg});
}

static void do_nothing(int number)
{
        (void)number;
}

void waiter_interrupt(struct test *t, struct waiter *waiter)
{
        const struct sigaction action = {.sa_handler = do_nothing};

        if (sigaction(SIGUSR1, &action, NULL) || pthread_kill(waiter->thread, SIGUSR1))
                resource(t, "no signal to a thread");
}

bool is_waiting(struct waiter *waiter)
{
        return !is_done(waiter);
}

/* What a file of /proc says of the thread at the moment; false where it says nothing. */
static bool says(int file, char *text, size_t size)
{
        ssize_t length = file < 0 ? -1 : pread(file, text, size - 1, 0);

        if (length <= 0)
                return false;
        text[length] = '\0';
        return true;
}

/* Whether the kernel says of the thread that it sleeps. */
static bool sleeps(const struct waiter *waiter)
{
        char text[256];
        const char *state;

        if (!says(atomic_load(&waiter->stat), text, sizeof(text)))
                return false;
        /* The name may have parentheses of its own. */
        state = strrchr(text, ')');
        return state && strncmp(state, ") S", 3) == 0;
}

/* Whether the thread sleeps for a length that it has fixed itself, which no event ends. */
static bool naps(const struct waiter *waiter)
{
        char text[256];
        char *end;
        long number;

        if (!says(atomic_load(&waiter->syscall), text, sizeof(text)))
                return false;
        number = strtol(text, &end, 10);
        if (end == text)
                return false;
#ifdef SYS_nanosleep
        if (number == SYS_nanosleep)
                return true;
#endif
        return number == SYS_clock_nanosleep;
}

/* The processor time that the thread has spent; 0 when it is gone. */
static uint64_t spent_ns(const struct waiter *waiter)
{
        struct timespec spent = {.tv_sec = 0};
        clockid_t clock;

        if (pthread_getcpuclockid(waiter->thread, &clock) != 0 || clock_gettime(clock, &spent) < 0)
                return 0;
        return (uint64_t)spent.tv_sec * NS_PER_S + (uint64_t)spent.tv_nsec;
}

/* What was seen of a thread so far, in the call that it is in. */
struct sight {
        uint64_t call;       /* 0: it is in none */
        uint64_t entered_ns; /* its processor time then */
        uint64_t spent_ns;   /* its processor time at the last look */
        uint64_t asleep_ns;  /* since when it is in the sleep of the last look */
        unsigned int looks;  /* at that sleep */
        bool naps;           /* by one of them: it is a nap */
        unsigned int sleeps; /* that were seen, one after the other */
};

static void look(const struct waiter *waiter, struct sight *sight)
{
        uint64_t call = atomic_load(&waiter->watch.inside);
        uint64_t spent = spent_ns(waiter);
        bool same = call == sight->call && spent == sight->spent_ns;

        if (call != sight->call)
                *sight = (struct sight){.call = call, .entered_ns = spent};
        sight->spent_ns = spent;
        if (!call || !sleeps(waiter)) {
                sight->looks = 0;
        } else if (same && sight->looks > 0) {
                sight->looks++;
        } else {
                sight->asleep_ns = now_ns();
                sight->looks = 1;
                sight->naps = false;
                sight->sleeps++;
        }
        /* Asked at each look: it may be over by the time of one. */
        sight->naps |= naps(waiter);
}

/* What the sight shows of a wait; NULL for nothing yet. */
static const char *shown(const struct sight *sight)
{
        if (!sight->call)
                return NULL;
        if (sight->spent_ns - sight->entered_ns >= POLLED_NS)
                return "it polls in its call";
        if (sight->sleeps >= NAPS)
                return "it sleeps in its call again and again";
        if (sight->looks < LOOKS_ASLEEP || now_ns() - sight->asleep_ns < SLEEP_NS || sight->naps)
                return NULL;
        return "it sleeps in its call";
}

/* Looks at the thread until it waits; NULL when it has returned, or nothing is shown in time. */
static const char *seen_waiting(struct waiter *waiter, uint64_t until_ns)
{
        struct sight sight = {.call = 0};

        while (now_ns() < until_ns) {
                const char *seen;

                look(waiter, &sight);
                seen = shown(&sight);
                if (seen || done_until(waiter, now_ns() + LOOK_NS))
                        return seen;
        }
        return NULL;
}

static void describe_return(const struct waiter *waiter, char *text, size_t size)
{
        char space[API_NAME_SPACE];

        snprintf(text, size, "it returned %s after %llu us",
                 api_return_name(waiter->woken.ret, space), (unsigned long long)waiter->woken.us);
}

/* The call that the waiter's thread is in, or was in last; "" if it has made none. */
static const char *call_name(const struct waiter *waiter)
{
        const char *name = trace_name_of(atomic_load(&waiter->watch.newest));

        return name ? name : "";
}

/* What shows that the waiter waits; NULL where it has returned. */
static const char *waits_by(struct test *t, struct waiter *waiter, const char *what)
{
        const char *seen = seen_waiting(waiter, event_deadline(t));

        if (!seen && !is_done(waiter))
                test_end(t, VERDICT_ERROR, "%s: whether it does is not to be seen within %u ms",
                         what, t->settings->event_ms);
        return seen;
}

bool waiter_settles(struct test *t, struct waiter *waiter)
{
        return waits_by(t, waiter, "a thread waits") != NULL;
}

void waiter_waits(struct test *t, const struct check_site *site, struct waiter *waiter, bool clause)
{
        const char *seen = waits_by(t, waiter, site->text);
        char returned[96];

        if (!seen)
                describe_return(waiter, returned, sizeof(returned));
        check_seen(t, site, clause, seen != NULL, call_name(waiter),
                   "a thread that waits in its call", seen ? seen : returned);
}

/* The check of a wait that has to end, by which `call` is broken if it does not. */
static struct woken awake(struct test *t, const struct check_site *site, struct waiter *waiter,
                          bool clause, const char *call)
{
        bool done = done_until(waiter, event_deadline(t));
        char seen[96];

        if (done)
                describe_return(waiter, seen, sizeof(seen));
        else
                snprintf(seen, sizeof(seen), "it waits still after %u ms", t->settings->event_ms);
        check_seen(t, site, clause, done, call, "the return of its call", seen);
        return waiter->woken;
}

struct woken waiter_awake(struct test *t, const struct check_site *site, struct waiter *waiter,
                          bool clause)
{
        return awake(t, site, waiter, clause, call_name(waiter));
}

struct woken waiter_awake_by(struct test *t, const struct check_site *site, struct waiter *waiter,
                             const char *call)
{
        return awake(t, site, waiter, false, call);
}

void waiter_asleep(struct test *t, const struct check_site *site, struct waiter *waiter)
{
        bool done = done_until(waiter, now_ns() + t->settings->quiet_ms * NS_PER_MS);
        char seen[96] = "it waits still";

        if (done)
                describe_return(waiter, seen, sizeof(seen));
        check_seen(t, site, true, !done, call_name(waiter), "a thread that waits in its call",
                   seen);
}

void waiter_end(struct test *t, struct waiter *waiter)
{
        struct waiter **at = &t->waiters;

        must_that(is_done(waiter), "the waiter waits still");
        while (*at != waiter)
                at = &(*at)->next;
        *at = waiter->next;
        waiter_forget(waiter);
}

/*
 * Races
 */

/* Between the last thread's start and the common instant, and the farthest apart of two calls. */
#define RACE_START_NS  (2 * NS_PER_MS)
#define RACE_SPREAD_NS (100 * NS_PER_US)

/*
 * Where there is but one processor, threads meet in their calls only when one preempts the other,
 * as one does that wakes. A timer there may be as coarse as the kernel's tick, so the first one
 * spins to its start, and that is laid before a tick, which the last race has found. Where timers
 * are finer, the others come anywhere between that start and the tick.
 */
#define TICKS_NS      (20 * NS_PER_MS) /* a whole number of them, at any usual rate */
#define TICK_EARLY_NS (200 * NS_PER_US)

static uint64_t tick_ns;

/* A thread may outlive the case that gave it up: what it writes is not on the case's stack. */
struct heat {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        size_t running;
        pthread_barrier_t ready;
        uint64_t start_ns;
        struct entrant {
                struct heat *heat;
                pthread_t thread;
                struct racer racer;
                uint64_t after_ns;
                uint64_t woken_ns;
                bool spins;
                bool preempts;
        } entrants[];
};

static void *entrant_main(void *arg)
{
        struct entrant *entrant = arg;
        struct heat *heat = entrant->heat;
        struct racer *racer = &entrant->racer;

        pthread_barrier_wait(&heat->ready);
        if (entrant->spins)
                while (now_ns() < heat->start_ns + entrant->after_ns)
                        ;
        else
                sleep_until(heat->start_ns + entrant->after_ns);
        entrant->woken_ns = now_ns();
        racer->began_ns = entrant->woken_ns;
        racer->ret = racer->call(racer->arg);
        racer->ended_ns = now_ns();
        pthread_mutex_lock(&heat->lock);
        if (--heat->running == 0)
                pthread_cond_signal(&heat->changed);
        pthread_mutex_unlock(&heat->lock);
        return NULL;
}

static struct heat *heat_new(struct test *t, const struct racer *racers, size_t count)
{
        struct heat *heat = calloc(1, sizeof(*heat) + count * sizeof(heat->entrants[0]));
        bool alone = sysconf(_SC_NPROCESSORS_ONLN) == 1;

        if (!heat)
                resource(t, "no memory for a race");
        pthread_mutex_init(&heat->lock, NULL);
        cond_init_monotonic(&heat->changed);
        pthread_barrier_init(&heat->ready, NULL, (unsigned int)count + 1);
        heat->running = count;
        for (size_t i = 0; i < count; i++)
                heat->entrants[i] = (struct entrant){
                    .heat = heat,
                    .racer = racers[i],
                    .after_ns = draw(t, alone ? TICK_EARLY_NS : RACE_SPREAD_NS),
                    .spins = alone && i == 0,
                };
        if (alone)
                heat->entrants[0].after_ns = draw(t, TICK_EARLY_NS + RACE_SPREAD_NS);
        return heat;
}

/* From one tick of the kernel's to the next, which is what its coarse clocks go by. */
static uint64_t tick_length_ns(void)
{
        struct timespec tick;

        if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) < 0 || tick.tv_sec || !tick.tv_nsec)
                return TICKS_NS;
        return (uint64_t)tick.tv_nsec;
}

static uint64_t start_after(uint64_t ns)
{
        uint64_t length = tick_length_ns();
        uint64_t passed = tick_ns && ns > tick_ns ? (ns - tick_ns) / length + 1 : 0;

        return passed ? tick_ns + passed * length - TICK_EARLY_NS : ns;
}

static void heat_free(struct heat *heat)
{
        pthread_barrier_destroy(&heat->ready);
        pthread_cond_destroy(&heat->changed);
        pthread_mutex_destroy(&heat->lock);
        free(heat);
}

static bool heat_over(struct heat *heat, uint64_t until_ns)
{
        struct timespec until = at_ns(until_ns);
        bool over;

        pthread_mutex_lock(&heat->lock);
        while (heat->running > 0 &&
               pthread_cond_timedwait(&heat->changed, &heat->lock, &until) != ETIMEDOUT)
                ;
        over = heat->running == 0;
        pthread_mutex_unlock(&heat->lock);
        return over;
}

/* Those who make many calls may take longer than one event does, as long as calls return. */
static bool heat_ends(const struct test *t, struct heat *heat)
{
        uint64_t calls;

        do {
                calls = trace_count();
                if (heat_over(heat, event_deadline(t)))
                        return true;
        } while (trace_count() != calls);
        return false;
}

static bool any_met(const struct racer *racers, size_t count)
{
        for (size_t i = 0; i < count; i++)
                for (size_t j = 0; j < i; j++)
                        if (racers[i].began_ns < racers[j].ended_ns &&
                            racers[j].began_ns < racers[i].ended_ns)
                                return true;
        return false;
}

bool race_all(struct test *t, const struct check_site *site, struct racer *racers, size_t count)
{
        struct heat *heat = heat_new(t, racers, count);
        char seen[64];

        for (size_t i = 0; i < count; i++) {
                int err = pthread_create(&heat->entrants[i].thread, NULL, entrant_main,
                                         &heat->entrants[i]);

                if (err)
                        resource(t, "no thread: %s", strerror(err));
        }
        heat->start_ns = start_after(now_ns() + RACE_START_NS);
        pthread_barrier_wait(&heat->ready);
        if (!heat_ends(t, heat)) {
                snprintf(seen, sizeof(seen), "not all have returned, nor any call within %u ms",
                         t->settings->event_ms);
                check_seen(t, site, true, false, "", "the return of all calls", seen);
        }
        for (size_t i = 0; i < count; i++) {
                pthread_join(heat->entrants[i].thread, NULL);
                racers[i] = heat->entrants[i].racer;
                if (i > 0 && heat->entrants[0].spins)
                        tick_ns = heat->entrants[i].woken_ns;
        }
        heat_free(heat);
        return any_met(racers, count);
}

struct stress stress_of(struct test *t, unsigned int rounds)
{
        return (struct stress){
            .t = t,
            .rounds = rounds,
            .until_ns = now_ns() + t->settings->deadline_ms * NS_PER_MS / 2,
        };
}

bool stress_round(struct stress *stress)
{
        return stress->done < stress->rounds && now_ns() < stress->until_ns;
}

void stress_met(struct stress *stress, bool met)
{
        stress->done++;
        stress->met += met;
}

void must_have_met(const struct stress *stress)
{
        record(stress->t, "%u of %u rounds met, seed %llu", stress->met, stress->done,
               (unsigned long long)stress->t->settings->seed);
        if (stress->met == 0)
                test_end(stress->t, VERDICT_ERROR, "in none of %u rounds did the calls meet",
                         stress->done);
}
