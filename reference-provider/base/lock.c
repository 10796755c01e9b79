/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/lock.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Sleeps while *word == seen, until futex_wake(). */
void futex_wait(_Atomic uint32_t *word, uint32_t seen)
{
        (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

/*
 * Sleeps while *word == seen, until futex_wake() or the deadline in now_us() time; 0 is none.
 * Returns 0, ETIMEDOUT, or EINTR for a signal, even with SA_RESTART.
 */
int futex_wait_until(_Atomic uint32_t *word, uint32_t seen, uint64_t deadline)
{
        /* A futex wait without a timeout would restart after a handler with SA_RESTART. */
        struct timespec until = {.tv_sec = INT_MAX};

        if (deadline)
                until = (struct timespec){.tv_sec = (time_t)(deadline / 1000000),
                                          .tv_nsec = (long)(deadline % 1000000) * 1000};
        if (!syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, seen, &until, NULL,
                     FUTEX_BITSET_MATCH_ANY))
                return 0;
        return errno == ETIMEDOUT || errno == EINTR ? errno : 0;
}

/* Wakes at most `waiters` threads that sleep on the word. */
void futex_wake(_Atomic uint32_t *word, int waiters)
{
        (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, waiters, NULL, NULL, 0);
}

/*
 * Values of gate->sleepers. Threads that arrive sleep on it, because threads that leave change the
 * other word.
 */
enum { GATE_OPEN, GATE_SHUT, GATE_AWAITED };

static void gate_await_open(struct gate *gate)
{
        for (;;) {
                uint32_t sleepers = GATE_SHUT;

                if (!atomic_compare_exchange_strong(&gate->sleepers, &sleepers, GATE_AWAITED) &&
                    sleepers == GATE_OPEN)
                        return;
                futex_wait(&gate->sleepers, GATE_AWAITED);
        }
}

/* The slow path of gate_enter() for a closed gate. */
void gate_enter_closed(struct gate *gate)
{
        do {
                gate_leave(gate);
                gate_await_open(gate);
        } while ((atomic_fetch_add(&gate->inside, 1) + 1) & GATE_CLOSED);
}

/* Wakes the closer when a thread leaves a gate that is being closed. */
void gate_tell_closer(struct gate *gate)
{
        futex_wake(&gate->inside, INT_MAX);
}

/*
 * Stops arriving threads and waits for those inside. The caller's lock allows one closer at a time.
 */
void gate_close(struct gate *gate)
{
        uint32_t inside;

        atomic_store(&gate->sleepers, GATE_SHUT);
        atomic_fetch_or(&gate->inside, GATE_CLOSED);
        while ((inside = atomic_load(&gate->inside)) != GATE_CLOSED)
                futex_wait(&gate->inside, inside);
}

void gate_open(struct gate *gate)
{
        atomic_fetch_and(&gate->inside, ~GATE_CLOSED);
        if (atomic_exchange(&gate->sleepers, GATE_OPEN) == GATE_AWAITED)
                futex_wake(&gate->sleepers, INT_MAX);
}

/* Sleeps until the caller has the lock. */
void lock_await(struct lock *lock)
{
        while (atomic_exchange_explicit(&lock->state, LOCK_AWAITED, memory_order_acquire) !=
               LOCK_FREE)
                futex_wait(&lock->state, LOCK_AWAITED);
}

/*
 * The slow path of lock_release() for a contended lock. After the store the lock may be freed;
 * futex_wake() uses its address only.
 */
void lock_tell(struct lock *lock)
{
        atomic_store_explicit(&lock->state, LOCK_FREE, memory_order_release);
        futex_wake(&lock->state, 1);
}
