/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trace: every DAT call that this process makes is recorded in its evidence, before it is made
 * and again when it returns, so that a call which never returns is seen too. The wrappers are
 * generated (api_generate.py) and linked in front of the calls by --wrap.
 */
#ifndef HARNESS_TRACE_H
#define HARNESS_TRACE_H

#include "evidence/api.h"
#include "evidence/evidence.h"
#include "evidence/trace_read.h"

/* From now on calls are recorded in `evidence`; times count from its started_ns. */
void trace_start(struct evidence *evidence);

/* A call while it is made. Its record is another call's when the log has gone round meanwhile. */
struct trace_call {
        struct call_record *record; /* NULL: none is kept */
        uint64_t number;
        unsigned int function;
};

/* Records that call `function` is entered, and that it has returned. */
struct trace_call trace_begin(unsigned int function, const struct trace_arg *args);
void trace_end(const struct trace_call *call, const struct trace_arg *args, DAT_RETURN ret);

/*
 * From now on `observer` is told of each call that has succeeded, by the thread that made it. What
 * it wants to read of the consumer's memory trace_read() reads, be it there or not; false, where it
 * is not.
 */
typedef void trace_observer(void *context, const struct trace_call *call,
                            const struct api_function *function, const struct trace_arg *args);
void trace_observe(trace_observer *observer, void *context);

/* The calling thread's number in the records: 1, or in the order of their first calls. */
unsigned int trace_thread(void);

/* The same, or 0 where the calling thread has made no call. */
unsigned int trace_thread_known(void);

/*
 * Forgets the calls behind number `before` that the calling thread's copy in a process apart has
 * begun and not ended: that process is gone, as it may be.
 */
void trace_forget_open(uint64_t before);

/* A number for a thread of another process, whose calls are relayed. */
unsigned int trace_new_thread(void);

/*
 * Records calls that another process of this program has recorded in `from`, as those of `thread`;
 * those before `first` are not looked at. Returns the number of the first that is still to come.
 */
uint64_t trace_relay(const struct evidence *from, uint64_t first, unsigned int thread);

/* The calls of a thread, for other threads to look at, by their numbers. */
struct trace_watch {
        _Atomic uint64_t inside; /* the call that it is in; 0 outside of any */
        _Atomic uint64_t newest; /* that it is in or was in; 0: it made none */
};

/* From now on `watch` tells of the calling thread; NULL ends it. */
void trace_watch(struct trace_watch *watch);

/* The name of the calling thread's newest call that has returned, and its return; or NULL. */
const char *trace_last(DAT_RETURN *ret);

/*
 * Of the calls that this process has made, and that have returned, the newest that has one of these
 * names (`count` of them; a null pointer is no name); NULL where none has, or it is no longer kept.
 */
const char *trace_newest_of(const char *const *names, size_t count);

/* The same of those that returned `ret`, and of which `is_it` says so (NULL: of all). */
const char *trace_newest_returned(DAT_RETURN ret, bool (*is_it)(const char *page, const char *call),
                                  const char *page);

/* The name of the call of this number, or NULL where it is no longer kept. */
const char *trace_name_of(uint64_t number);

/* How many calls have been recorded. */
uint64_t trace_count(void);

#endif
