/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One run of contained processes, from the first fork to the last reaping: a case (with the peer
 * that it may start), a probe of the IA, or a peer that is hosted for another agent's case. There
 * is at most one run at a time, so every process that descends from this one is the run's.
 *
 * The owner polls run_fds(), calls run_step() when anything is ready or run_timeout_ms() is over,
 * and tells it of reaped processes. When run_done(), no process of the run exists any more.
 */
#ifndef HARNESS_RUN_H
#define HARNESS_RUN_H

#include <poll.h>

#include "agent/case_process.h"
#include "agent/child.h"
#include "agent/code.h"
#include "agent/hang_report.h"
#include "agent/output.h"
#include "agent/probe_process.h"
#include "agent/stall.h"
#include "evidence/render.h"
#include "peer/disturbance.h"
#include "peer/peer_process.h"

#define CODE_TEXT 128

enum run_kind { RUN_NONE, RUN_PROBE, RUN_CASE, RUN_PEER };

enum run_stage {
        STAGE_WORKING,  /* the main process does its work */
        STAGE_STOPPING, /* it is gone; its peer is being stopped */
        STAGE_CLEARING, /* whatever is left is being killed and reaped */
        STAGE_DONE,
};

/* Where the case's peer is in its life. */
enum peer_state { PEER_OFF, PEER_ON, PEER_ENDED };

/* Why the agent, and not the process itself, ended it. */
enum run_killed { KILLED_NOT, KILLED_DEADLINE, KILLED_TEARDOWN, KILLED_STALL, KILLED_ABORT };

/* Carries a message to or from a peer on another host; takes over `data`. */
typedef void run_peer_out(void *context, unsigned long long seq, const char *op, json_t *data);

struct run {
        enum run_kind kind;
        enum run_stage stage;
        unsigned long long seq;
        unsigned int deadline_ms;
        struct case_job job;
        struct peer_job peer_job;
        struct child main;
        struct child peer; /* of a case, on this host; and */
        int peer_end;      /* its end of what joins it to the case, where that may have one */
        enum peer_state peer_state;
        char peer_crash[128];                  /* how it ended beside its case, unless by that */
        json_t *remote;                        /* what a remote peer's agent said of its end */
        struct disturbance disturbance;        /* of what this host sends to a case elsewhere */
        bool disturbed;                        /* so it was; then: */
        bool told_to_stop;                     /* a peer that is hosted here */
        unsigned long long packets;            /* how many it met */
        char not_calmed[2 * DISTURBANCE_TEXT]; /* why it is so still, or nothing */
        enum run_killed killed;
        struct hang_report hang_report;
        struct stall stall;
        unsigned int stalled_ms;   /* of KILLED_STALL: what the call was given */
        unsigned int strays;       /* processes that outlived those that the agent started */
        unsigned int ipc_left;     /* IPC objects that outlived them */
        unsigned int files_left;   /* files and folders in temporary folders that outlived them */
        unsigned int garbage;      /* lines on the suite's own channels that it did not write */
        const char *overreach;     /* what was asked of the agent that the case may not; or NULL */
        bool seen;                 /* the case's process was looked at, at its end, and */
        enum code_state code;      /* so its code was; */
        char code_text[CODE_TEXT]; /* in words */
        bool stop_unanswered;
        bool stop_announced;
        struct output output;
        uint64_t started_ns;
        uint64_t ended_ns;
        struct pace pace;
        uint64_t body_ns;     /* what the case could run of its body so far, and */
        uint64_t teardown_ns; /* of its teardown, both without: */
        uint64_t extended_ns; /* by how much kernel work and progress have extended its limits */
        uint64_t progress;    /* the most progress seen: numbers of calls, and messages */
        uint64_t messages;    /* of the peer's host */
        uint64_t quiet_ns;    /* what the case could run since the last progress */
        bool goes_on;         /* it had no end, though its calls return */
        uint64_t clock_ns;    /* the run's own clock, and */
        uint64_t ticked_ns;   /* when it was looked at */
        uint64_t until_ns;    /* of that clock: when the present stage is over, 0: never */
        run_peer_out *peer_out;
        void *context;
};

/* False, with errno, when the host has not the means; the run is then RUN_NONE. */
bool run_probe(struct run *run, const struct probe_job *job, unsigned int deadline_ms);
bool run_case(struct run *run, unsigned long long seq, const struct case_job *job);
bool run_peer(struct run *run, unsigned long long seq, const struct peer_job *job);

#define RUN_FDS_MAX 2
int run_fds(const struct run *run, struct pollfd *fds);
int run_timeout_ms(struct run *run);
void run_step(struct run *run, const struct pollfd *fds, int count);
bool run_done(const struct run *run);

/* Reaps what has ended; true when no process is left at all. */
bool run_reap(struct run *run);

/* A message from the other host: `start` is not among them. Takes over `data`. */
void run_peer_in(struct run *run, const char *op, json_t *data);

/* Ends a case: its verdict follows. */
void run_abort(struct run *run);

/* The same for whatever it is, when there is no listener left: no answer is waited for. */
void run_abandon(struct run *run);

/* The time limit of a case's teardown, in milliseconds. */
unsigned int run_teardown_ms(const struct run *run);

/* By how many milliseconds, at most, a case that makes progress may exceed its limits in all. */
unsigned int run_extension_ms(const struct run *run);

/* Frees what the run holds; its kind is RUN_NONE afterwards. */
void run_forget(struct run *run);

#endif
