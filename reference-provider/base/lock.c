/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/lock.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Sleeps while the word is as it was seen, until futex_wake(). */
void futex_wait(_Atomic uint32_t *word, uint32_t seen)
{
        (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

/*
 * Sleeps while the word is as it was seen, until futex_wake() or until the deadline, in now_us()
 * time; 0 is none. Returns 0, ETIMEDOUT, or EINTR for a signal, whatever its handler asks for.
 */
int futex_wait_until(_Atomic uint32_t *word, uint32_t seen, uint64_t deadline)
{
        /* A sleep without an end would begin again by itself after a handler with SA_RESTART. */
        struct timespec until = {.tv_sec = INT_MAX};

        if (deadline)
                until = (struct timespec){.tv_sec = (time_t)(deadline / 1000000),
                                          .tv_nsec = (long)(deadline % 1000000) * 1000};
        if (!syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, seen, &until, NULL,
                     FUTEX_BITSET_MATCH_ANY))
                return 0;
        return errno == ETIMEDOUT || errno == EINTR ? errno : 0;
}

/* Wakes so many of those that sleep on the word. */
void futex_wake(_Atomic uint32_t *word, int waiters)
{
        (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, waiters, NULL, NULL, 0);
}

/* What newcomers sleep on, since who leaves changes the other word. */
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

/* What is left of gate_enter() for one that has met a closed gate. */
void gate_enter_closed(struct gate *gate)
{
        do {
                gate_leave(gate);
                gate_await_open(gate);
        } while ((atomic_fetch_add(&gate->inside, 1) + 1) & GATE_CLOSED);
}

/* Someone has left a gate that is being closed, perhaps the last. */
void gate_tell_closer(struct gate *gate)
{
        futex_wake(&gate->inside, INT_MAX);
}

/* Stops newcomers and waits for those inside. One closer at a time, by a lock of the caller's. */
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

/* Sleeps until the lock is the caller's. */
void lock_await(struct lock *lock)
{
        while (atomic_exchange_explicit(&lock->state, LOCK_AWAITED, memory_order_acquire) !=
               LOCK_FREE)
                futex_wait(&lock->state, LOCK_AWAITED);
}

/*
 * What is left of lock_release() for a lock that somebody waits for. Until here it is nobody
 * else's, and from here on it may be gone: to wake by its address touches nothing.
 */
void lock_tell(struct lock *lock)
{
        atomic_store_explicit(&lock->state, LOCK_FREE, memory_order_release);
        futex_wake(&lock->state, 1);
}
