/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file in which a consumer's process records its DAT calls (docs/trace.md). The process writes
 * through a shared mapping, so what it has written survives any end of it; a reader trusts nothing
 * in there.
 *
 * Behind the header lie RECORD_SEGMENTS segments of entries. The first RECORD_FIRST are written
 * once; the others go round, so that a long run leaves its first calls and its last. A call has its
 * entry when it has returned; the call that a thread is in is in the header.
 */
#ifndef HARNESS_RECORD_LAYOUT_H
#define HARNESS_RECORD_LAYOUT_H

#include <stdatomic.h>
#include <stdint.h>

#include "evidence/evidence.h"

#define RECORD_MAGIC    UINT64_C(0x3163657270616475) /* "udaprec1" */
#define RECORD_SEGMENTS 8
#define RECORD_FIRST    4
#define RECORD_ALIGN    16
#define RECORD_SIZE_MIN (UINT64_C(1) << 20)

enum record_kind {
        RECORD_CALL = 1,  /* a call that has returned */
        RECORD_ATTRIBUTES /* a struct probe: what an IA declares */
};

/*
 * An entry: this, `args` words, `pointees` structs call_pointee, `ins` and `outs` structs
 * call_span, and `bytes` bytes. `commit` is written last; it tells entries of this turn of a
 * segment from older bytes.
 */
struct record_entry {
        _Atomic uint32_t commit;
        uint32_t size; /* of all of it, a multiple of RECORD_ALIGN */
        uint16_t kind;
        uint16_t function; /* index in api_functions */
        uint32_t thread;
        uint64_t number; /* of the call, from 1 in the order of their beginnings */
        uint64_t began_ns;
        uint64_t ended_ns;
        uint32_t ret;
        uint16_t bytes;
        uint8_t args;
        uint8_t pointees;
        uint8_t ins;
        uint8_t outs;
        uint8_t unused[6];
};

#define RECORD_COMMIT(turn) (UINT32_C(0x5ec00000) | (uint32_t)((turn)&0xfffff))

/* Turn t of writing, from 0, is in this segment. */
static inline uint64_t record_place(uint64_t turn)
{
        if (turn < RECORD_FIRST)
                return turn;
        return RECORD_FIRST + (turn - RECORD_FIRST) % (RECORD_SEGMENTS - RECORD_FIRST);
}

struct record_segment {
        _Atomic uint64_t turn; /* 1 + the turn that it holds; 0: none */
        _Atomic uint64_t used; /* bytes that were asked for, be there so many or not */
        _Atomic uint64_t writers;
};

/* A call that a thread repeats while it finds nothing. */
#define RECORD_POLL_ARGS 5

struct record_poll {
        _Atomic uint32_t inside; /* it is being made again */
        uint32_t valid;
        uint32_t function;
        uint32_t ret;
        uint64_t args[RECORD_POLL_ARGS];
        uint64_t count; /* of those that are in no entry */
        uint64_t began_ns;
        uint64_t ended_ns; /* of the last that has returned */
};

#define RECORD_POLLS   8
#define RECORD_THREADS 128

/* What a thread does now. Those of more threads are recorded only when they have returned. */
struct record_thread {
        _Atomic uint32_t number; /* the thread's; 0: of no thread */
        struct call_record call; /* CALL_BEGUN: it is being made */
        struct record_poll polls[RECORD_POLLS];
};

struct record_header {
        uint64_t magic;
        uint32_t header_size;
        uint32_t api_major;
        uint64_t segment_size;
        int32_t pid;
        int32_t parent;
        uint64_t started_ns;    /* CLOCK_MONOTONIC */
        uint64_t started_clock; /* nanoseconds of CLOCK_REALTIME */
        char program[256];
        _Atomic uint64_t calls;   /* that have a number */
        _Atomic uint64_t lost;    /* entries for which there was no room */
        _Atomic uint64_t polls;   /* calls that are in no entry because they found nothing again */
        _Atomic uint32_t stopped; /* 0, or the errno for which nothing more is recorded */
        _Atomic uint64_t turn;
        struct record_segment segments[RECORD_SEGMENTS];
        struct record_thread threads[RECORD_THREADS];
};

#endif
