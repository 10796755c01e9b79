/* SPDX-License-Identifier: BSD-2-Clause */
/* EVDs by the source of their events: software events, or completions of a device queue. */
#ifndef CASES_EVD_SOURCE_H
#define CASES_EVD_SOURCE_H

#include "cases/evd/shared/state.h"
#include "cases/shared/loop.h"

struct source;

struct source_kind {
        const char *id;
        DAT_EVD_FLAGS flags; /* of an EVD for its events */
        /* Prepares what brings the events; NULL if nothing is needed. */
        void (*open)(struct test *t, struct source *source);
        /* Brings the event `number`; a failure is of the clause or of a step. */
        void (*bring)(struct test *t, const struct source *source, unsigned int number,
                      bool clause);
        void (*check)(struct test *t, const struct source *source, const DAT_EVENT *event,
                      unsigned int number);
};

/* How an EP completes: by receives, sends or RDMA writes; drawn for each source. */
struct completion_way;

struct source {
        DAT_EVD_HANDLE evd;
        const struct source_kind *kind;
        DAT_COUNT qlen; /* when it was made; 0: not known */
        const struct completion_way *way;
        struct loop loop;
        struct buf *buf;
};

#define SOURCE_KINDS 2
extern const struct source_kind source_kinds[SOURCE_KINDS];

/*
 * The statement that follows is made for each kind. A clause about the state of an EVD asks all of
 * them: a provider handles software events by itself, and completions with the device.
 */
#define EACH_SOURCE(kind_)                                     \
        for (const struct source_kind *(kind_) = source_kinds; \
             (kind_) < source_kinds + SOURCE_KINDS; (kind_)++)

/*
 * An EVD with SE_QLEN places, in this state, and the source of its events. The record says which
 * kind it is, and how its completions come about. A failing step ends the case as BLOCKED.
 */
struct source source_in(struct test *t, const struct source_kind *kind, struct evd_state state,
                        DAT_CNO_HANDLE cno);

/* The same EVD as dat_evd_create made it: no call has changed its state. */
struct source source_new(struct test *t, const struct source_kind *kind, DAT_CNO_HANDLE cno);

/*
 * Brings the events `first` and the `count - 1` after it. Software events are queued when it
 * returns; completions may still be in flight.
 */
void source_bring(struct test *t, const struct source *source, unsigned int first, int count);

/* The same, and completions have had a quiet period to be queued. */
void source_fill(struct test *t, const struct source *source, unsigned int first, int count);

/* source_fill(), if the clause is that there is room for these events: a failure is FAIL. */
void expect_source_room(struct test *t, const struct source *source, unsigned int first, int count);

/* The event is the one that source_bring() brought as `number`, on this EVD. */
void expect_source_event(struct test *t, const struct source *source, const DAT_EVENT *event,
                         unsigned int number);

/* dat_evd_dequeue gives `first` and the `count - 1` after it, in this order. */
void expect_source_events(struct test *t, const struct source *source, unsigned int first,
                          int count);

/*
 * The EVD, which is empty, is in this state: by its query, by what an event that comes does to its
 * CNO (DAT_HANDLE_NULL: it has none), by what a wait for it is answered with, and by
 * dat_evd_dequeue, which gives the event in any state. IA, streams and length are as at first.
 */
void expect_source_state(struct test *t, const struct source *source, struct evd_state state,
                         DAT_CNO_HANDLE cno);

/* The same of an EVD for software events. */
void expect_state(struct test *t, DAT_EVD_HANDLE evd, struct evd_state state, DAT_CNO_HANDLE cno);

#endif
