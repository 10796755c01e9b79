/* SPDX-License-Identifier: BSD-2-Clause */
/* Futexes, and the locks made of them. */
#ifndef DAPLREF_LOCK_H
#define DAPLREF_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

void futex_wait(_Atomic uint32_t *word, uint32_t seen);
int futex_wait_until(_Atomic uint32_t *word, uint32_t seen, uint64_t deadline);
void futex_wake(_Atomic uint32_t *word, int waiters);

/*
 * Many threads pass a gate at once, and one can stop them all. The count and the closed bit are one
 * word, so that passing costs one atomic operation.
 */
struct gate {
        _Atomic uint32_t inside; /* the threads inside, and GATE_CLOSED */
        _Atomic uint32_t sleepers;
};

#define GATE_CLOSED (UINT32_C(1) << 31)

void gate_enter_closed(struct gate *gate);
void gate_tell_closer(struct gate *gate);
void gate_close(struct gate *gate);
void gate_open(struct gate *gate);

/* Enters the gate. Waits only while another thread keeps it closed. */
static inline void gate_enter(struct gate *gate)
{
        if ((atomic_fetch_add(&gate->inside, 1) + 1) & GATE_CLOSED)
                gate_enter_closed(gate);
}

static inline void gate_leave(struct gate *gate)
{
        if ((atomic_fetch_sub(&gate->inside, 1) - 1) & GATE_CLOSED)
                gate_tell_closer(gate);
}

/* A mutex of one word: a few instructions if uncontended, a futex wait otherwise. */
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
        if (atomic_fetch_sub_explicit(&lock->state, 1, memory_order_release) != LOCK_HELD)
                lock_tell(lock);
}

#endif
