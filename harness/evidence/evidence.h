/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a contained process leaves behind: memory that it shares with the agent, so that neither
 * its death nor what the provider does with descriptors and streams can lose it. The agent trusts
 * nothing in there: lengths are bounded, strings are cut, a verdict counts only with its seal.
 */
#ifndef HARNESS_EVIDENCE_H
#define HARNESS_EVIDENCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dat_api.h"
#include "evidence/frames.h"

enum verdict {
        VERDICT_NONE,
        VERDICT_PASS,
        VERDICT_NOTE,
        VERDICT_FAIL,
        VERDICT_CRASH,
        VERDICT_TIMEOUT,
        VERDICT_UNSUPPORTED,
        VERDICT_RESOURCE,
        VERDICT_BLOCKED, /* a step around the act under judgement failed, by a call of the provider
                          */
        VERDICT_ERROR,
        VERDICT_CONTRADICTED, /* the agent alone says it */
};

const char *verdict_name(enum verdict verdict);

#define REASON_MAX 1024

/* The step that blocked a case; all zero unless the verdict is BLOCKED. Strings end within. */
struct blocked {
        char call[64]; /* the call that failed, or by which what did not come should have come */
        char ret[128]; /* its return, or in words what was seen instead */
        char file[96]; /* the place of the step in the case's source */
        int32_t line;
        char text[256];
};

/* A verdict, and the proof that the case's own harness wrote it: a hash over a key and it. */
struct sealed_verdict {
        uint64_t seal;
        uint32_t verdict;
        char reason[REASON_MAX];
        struct blocked blocked;
};

/* Where the process is. Body: its deadline is the run's; teardown has one of its own. */
enum phase { PHASE_BODY, PHASE_TEARDOWN, PHASE_DONE };

/*
 * Logs of fixed slots that keep the first and the last of their entries: record n (from 0) stands
 * in slot log_slot(n), which says so by its own n + 1.
 */
#define LOG_FIRST 1792
#define LOG_LAST  256
#define LOG_SLOTS (LOG_FIRST + LOG_LAST)

static inline size_t log_slot(uint64_t n)
{
        return n < LOG_FIRST ? n : LOG_FIRST + (n - LOG_FIRST) % LOG_LAST;
}

/* One DAT call. Captured structures lie in `bytes`; length 0: not captured. */
#define CALL_ARGS_MAX  12 /* a bit for each is in call_record.changed */
#define CALL_BYTES_MAX 1536

enum call_state { CALL_EMPTY, CALL_BEGUN, CALL_DONE };

struct call_span {
        uint16_t offset;
        uint16_t length;
};

/* Memory that an argument or an output points at: a socket address, or private data. */
#define CALL_POINTEES_MAX  4
#define POINTEE_BYTES_KEPT 64

enum pointee_kind { POINTEE_ADDRESS, POINTEE_BYTES };

struct call_pointee {
        uint64_t at;
        uint64_t digest; /* of all its bytes, if digested */
        uint32_t whole;  /* its length; `length` bytes of it are captured */
        uint16_t offset;
        uint16_t length;
        uint16_t kind;
        uint16_t digested;
};

/*
 * Bytes that a post sends, or that have come to a receive (docs/typed-values.md); of an RDMA, also
 * those of the remote buffer, of which alone a read is posted, and a write completes.
 */
enum memory_kind { MEMORY_NONE, MEMORY_SENT, MEMORY_ARRIVED, MEMORY_TO_READ, MEMORY_WRITTEN };

struct call_memory {
        uint64_t post; /* of what arrived: the number of the call that posted it */
        uint64_t length;
        uint64_t digest;
        uint64_t remote;     /* the digest of the remote buffer, */
        uint32_t has_remote; /* where it was read */
        uint32_t kept;       /* bytes of the vector that were kept; 0: all are of the message */
        uint32_t changed;    /* the first of them behind the message that changed; `kept`: none */
        uint32_t kind;
};

struct call_record {
        _Atomic uint32_t busy; /* one thread writes to it, and the others let it */
        _Atomic uint32_t state;
        uint16_t function; /* index in api_functions */
        uint16_t teardown; /* made by the harness after the verdict */
        uint16_t thread;   /* that makes it: 1 is the one that the process began with */
        uint16_t exec;     /* 0, or the number of the exec_process that made it */
        int32_t pid;       /* of the process that made it, as it sees itself */
        uint16_t pointee_count;
        uint16_t changed; /* a bit for each argument whose memory, which is IN, the call changed */
        uint64_t number;  /* n + 1 */
        uint32_t ret;
        uint32_t used;
        uint64_t at_ns; /* since the process started its work */
        uint64_t took_ns;
        uint64_t began_ns; /* of CLOCK_MONOTONIC */
        uint64_t args[CALL_ARGS_MAX];
        struct call_span in[CALL_ARGS_MAX];
        struct call_span out[CALL_ARGS_MAX];
        struct call_pointee pointees[CALL_POINTEES_MAX];
        struct call_memory memory;
        unsigned char bytes[CALL_BYTES_MAX];
};

enum entry_kind { ENTRY_CHECK, ENTRY_NOTE, ENTRY_RECORD, ENTRY_LEAK };
enum check_role { ROLE_MUST, ROLE_EXPECT, ROLE_GUARD };

#define ENTRY_TEXT_MAX 448

/* A check, or a remark. */
struct entry {
        _Atomic uint64_t number; /* n + 1, written last */
        uint64_t calls;          /* calls made before it */
        uint16_t kind;
        uint16_t role;
        uint16_t ok;
        int line;
        char file[96];
        char text[ENTRY_TEXT_MAX];
        char expected[256]; /* alternatives, one a line */
        char seen[256];
};

/* The must() or expect() whose call is being made: a crash or hang is found during it. */
enum step_role { STEP_NONE, STEP_MUST, STEP_EXPECT };

struct step {
        _Atomic uint32_t role;
        uint32_t thread; /* that makes the call, as in call_record */
        int32_t line;
        char file[96];
        char text[256];
};

struct crash {
        _Atomic uint32_t signal; /* 0: none */
        uint32_t thread;
        struct frames frames;
};

/* Where each thread of a process was that had no end: it says so when the agent asks. */
#define STACKS_MAX       64
#define THREAD_NAME_SIZE 16

struct stack {
        _Atomic int32_t id; /* the thread's, as the process itself sees it; written last but for */
        _Atomic uint32_t told; /* that it has no more to tell */
        uint32_t thread;       /* its number in the records; 0: it made no call */
        char name[THREAD_NAME_SIZE];
        struct frames frames;
};

struct stacks {
        _Atomic uint32_t asked;
        _Atomic uint32_t taken; /* how many of `at` */
        struct stack at[STACKS_MAX];
};

/* The calls that fixtures do without if a probe got no answer from them. */
enum unasked {
        UNASKED_IA_QUERY,
        UNASKED_EP_QUERY,
        UNASKED_EP_STATUS,
        UNASKED_EVD_WAIT,
        UNASKED_EVD_DEQUEUE,
        UNASKED_COUNT,
};

/* The name of such a call. */
const char *unasked_call(enum unasked call);

/* What a probe process learned about the provider. */
#define PROBE_LEFT_MAX     16
#define PROBE_LEFT_TEXT    64
#define PROBE_PRELOAD_MAX  8
#define PROBE_PATH_MAX     256
#define PROBE_BUILD_ID_MAX 65

struct probe {
        bool open;
        bool threadsafe;              /* it is of the IA's threadsafe entry, not of the other one */
        bool listed;                  /* false: no provider is registered by such an entry */
        char ia[DAT_NAME_MAX_LENGTH]; /* the one asked for, or else the registry's first */
        char reason[REASON_MAX];
        uint32_t asking; /* 1 + the call that has not answered as it should, 0: none */
        char unasked[UNASKED_COUNT][REASON_MAX]; /* why fixtures do without it; "": they ask */
        char library[PROBE_PATH_MAX];
        char build_id[PROBE_BUILD_ID_MAX];
        uint32_t preload_count;
        char preload[PROBE_PRELOAD_MAX][PROBE_PATH_MAX];
        char address[64];
        DAT_IA_ATTR ia_attr;
        DAT_PROVIDER_ATTR provider_attr;
        bool ia_unwritten[sizeof(DAT_IA_ATTR)]; /* the bytes that dat_ia_query left as they were */
        bool provider_unwritten[sizeof(DAT_PROVIDER_ATTR)];
        uint32_t left_count; /* descriptors that opening and closing the IA once leaves */
        char left[PROBE_LEFT_MAX][PROBE_LEFT_TEXT];
};

/*
 * Written by nobody once they are made: what finds them changed has found that someone writes to
 * memory that is not theirs.
 */
struct canary {
        uint64_t words[8];
};

struct evidence {
        struct canary first;
        _Atomic uint32_t phase;
        _Atomic int32_t pid;        /* as seen by who reads /proc, for a debugger */
        _Atomic uint64_t destroyed; /* the handle of an object that the case made and destroyed */
        _Atomic uint64_t refused; /* the number of the first free that teardown was refused, or 0 */
        _Atomic uint32_t absent;  /* of a trial: whether the provider answered that it has none */
        _Atomic uint32_t unasked; /* the calls that the case did without: bits of enum unasked */
        uint64_t started_ns;
        int32_t own_pid;            /* as the process sees itself */
        struct sealed_verdict body; /* before teardown */
        struct sealed_verdict end;  /* after it */
        struct step step;
        struct crash crash;
        struct stacks stacks;
        struct probe probe;
        _Atomic uint64_t call_count;
        _Atomic uint64_t entry_count;
        struct canary middle;
        struct call_record calls[LOG_SLOTS];
        struct entry entries[LOG_SLOTS];
        struct canary last;
};

/*
 * Fresh, zeroed but for its canaries, which are made from the secret, and shared with the processes
 * forked from here on; NULL when there is no memory.
 */
struct evidence *evidence_new(uint64_t secret);
void evidence_free(struct evidence *evidence);

/*
 * How many slots of a log have been written to: the others are not worth a look, which would give
 * each of their pages memory. A count that was made smaller hides no slot that follows on another.
 */
size_t evidence_calls(const struct evidence *evidence);
size_t evidence_entries(const struct evidence *evidence);

/* Whether all guarded memory is as it was. */
bool evidence_whole(const struct evidence *evidence, uint64_t secret);

/*
 * Writes a verdict with its seal, and the step that blocked it (NULL: none); reads one back, false
 * when there is none or its seal is wrong. The key is in no other memory when they return: who has
 * it there can wipe it.
 */
void verdict_put(struct sealed_verdict *to, const uint64_t *key, enum verdict verdict,
                 const char *reason, const struct blocked *blocked);
bool verdict_get(const struct sealed_verdict *from, const uint64_t *key, struct sealed_verdict *to);

#define NS_PER_MS UINT64_C(1000000)

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t now_ns(void);

#endif
