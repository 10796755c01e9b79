/* SPDX-License-Identifier: BSD-2-Clause */
/* A case while it runs, inside its own process: what the parts of the harness know of it. */
#ifndef HARNESS_TEST_H
#define HARNESS_TEST_H

#include <setjmp.h>

#include "case.h"
#include "case/needs.h"
#include "evidence/evidence.h"

enum peer_mode { PEER_MODE_NONE, PEER_MODE_LOCAL, PEER_MODE_REMOTE };

#define HURRIED_MAX 16
#define PROGRAM_MAX 65536 /* bytes of a puppet's program, its end included */

/* Calls of teardown that have less time than others, by their numbers in api_functions. */
struct hurried {
        size_t count;
        uint16_t functions[HURRIED_MAX];
};

/* What a run command says of the case's surroundings. */
struct settings {
        const char *ia;
        const char *libdat_fault; /* of the faulty libdat, in the case's processes; or "" */
        const char *program;      /* the steps that the puppet takes, a line each; NULL or "" */
        unsigned int deadline_ms; /* of the body */
        unsigned int event_ms;
        unsigned int quiet_ms;
        enum peer_mode peer_mode;
        bool gdb;
        struct hurried hurried;    /* what had no end so often before */
        uint64_t seed;             /* of the run: what is drawn comes from it */
        bool undeclared;           /* run it though a feature that it needs is declared absent */
        bool thorough;             /* wait in each case for what comes late */
        const struct probe *probe; /* what a probe process saw of the IA */
        struct found_features found;
};

/* How teardown checks the guards of a buffer (true: they are whole), and unmaps it. */
struct buf_ops {
        bool (*check)(struct test *t, const struct buf *buf);
        void (*unmap)(struct buf *buf);
};

enum object_kind {
        OBJECT_IA,
        OBJECT_PZ,
        OBJECT_EVD,
        OBJECT_CNO,
        OBJECT_LMR,
        OBJECT_RMR,
        OBJECT_SRQ,
        OBJECT_EP,
        OBJECT_PSP,
        OBJECT_RSP,
        OBJECT_CR,
};

/* Something that the fixtures made and that is still to be freed. */
struct object {
        struct object *older;
        enum object_kind kind;
        DAT_HANDLE handle;
        struct buf *buf;                                   /* of an LMR that belongs to one */
        const struct buf_ops *buf_ops;                     /* where there is a buf */
        DAT_EVD_HANDLE recv_evd, request_evd, connect_evd; /* of an EP, or for that of a CR */
        DAT_PZ_HANDLE zone;                                /* that an EP was made in; or null */
        DAT_SRQ_HANDLE srq;                                /* that an EP was made with; or null */
        DAT_EP_HANDLE ep;                                  /* of an RSP, or of a CR */
        DAT_EVD_HANDLE cr_evd;                             /* of an RSP */
        DAT_CONN_QUAL qual;                                /* of an RSP */
        DAT_CR_HANDLE request; /* of an RSP: what came for it, if known */
        struct peer_ep *end;   /* the other end: of a CR, or of an EP that ep_in() connected */
};

/* What teardown does before it frees objects, in this order. */
enum teardown_step { STEP_THREADS, STEP_PROCESSES, STEP_COUNT };

struct test {
        const struct case_entry *entry;
        const void *row;
        uint64_t needs;
        const struct settings *settings;
        struct evidence *evidence;
        int channel; /* to the agent */
        int to_peer; /* on this host, or -1: to one elsewhere the agent carries what is said */
        jmp_buf end;

        enum verdict verdict;
        char reason[REASON_MAX];
        struct blocked blocked; /* of a case that is BLOCKED */
        bool has_unowned;       /* a call that is not judged has made an object without an owner */
        unsigned int notes;
        unsigned int leaks;
        char leak[ENTRY_TEXT_MAX]; /* the first one */

        bool open;
        DAT_IA_HANDLE ia;
        DAT_IA_HANDLE other_ia;
        DAT_EVD_HANDLE async_evd;
        bool queried;
        DAT_IA_ATTR ia_attr;
        struct sockaddr_storage ia_address; /* where dat_ia_query is not called */
        DAT_PROVIDER_ATTR *provider_attr;   /* has const members: filled by the provider only */
        DAT_PZ_HANDLE pz;
        struct object *objects;
        void (*steps[STEP_COUNT])(struct test *t); /* NULL: there is nothing to do */
        struct peer *peer;
        /* NULL, or whether the EP of the peer's last call of this name shows it (in_vain.h). */
        void (*ask_peer)(struct peer *peer, const char *call);
        struct waiter *waiters;
        struct later_event *later;           /* what EPs were told last */
        struct exec_process *exec_processes; /* newest first */
        uint64_t draws;                      /* state of draw() */
};

/* Ends the case with a verdict. */
_Noreturn void test_end(struct test *t, enum verdict verdict, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Ends the case as BLOCKED by `call` (a DAT call's name), which returned `ret`, or after which
 * `ret` was seen. The format and its arguments give the reason. `site` is the step in the case's
 * source.
 */
_Noreturn void step_failed(struct test *t, const struct check_site *site, const char *call,
                           const char *ret, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* As step_failed(), at the case itself: for a fixture that has no site of its own. */
#define STEP_SITE_(t_)               \
        (&(const struct check_site){ \
            .file = (t_)->entry->file, .line = (t_)->entry->line, .text = __func__})

/* leak(): something was not given back: a PASS becomes a NOTE. */
void leak(struct test *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * arrange(): must() for the harness itself. What works leaves no check behind, so that a report
 * shows what the case's author wrote.
 */
#define arrange(call_) check_arrange(t, CHECK_SITE_(#call_), (call_))
void check_arrange(struct test *t, const struct check_site *site, DAT_RETURN ret);

/* A return that is to be DAT_SUCCESS: of the clause (FAIL) or of a step (BLOCKED). */
static inline void check_ret(struct test *t, const struct check_site *site, DAT_RETURN ret,
                             bool clause)
{
        if (clause)
                check_expect(t, site, ret, DAT_SET_(DAT_SUCCESS), 1);
        else
                check_arrange(t, site, ret);
}

/* peer_connect(), whose failure is of the clause or of an arrangement. */
struct peer_ep *peer_connect_by(struct peer *peer, const struct check_site *site, DAT_EP_HANDLE ep,
                                bool clause);

/*
 * What was seen of a step or of the clause. If it is not `ok`, the case ends as FAIL for the
 * clause, else as BLOCKED by `call`.
 */
void check_seen(struct test *t, const struct check_site *site, bool clause, bool ok,
                const char *call, const char *expected, const char *seen);

/* Records that what any case may expect does not hold; says nothing of the verdict. */
void check_rule(struct test *t, const struct check_site *site, const char *expected,
                const char *seen);

/* Records a damaged guard; says nothing of the verdict. */
void check_guard(struct test *t, const char *seen);

/* Ends the case as FAIL if the guard of any buffer was overwritten. */
void check_guards(struct test *t);

/* The teardown list (teardown.c). */
struct object *object_add(struct test *t, enum object_kind kind, DAT_HANDLE handle);
struct object *object_find(struct test *t, const void *handle);
/* The RSP or CR of an EP, or NULL. */
struct object *object_of_ep(struct test *t, DAT_EP_HANDLE ep, enum object_kind kind);
/* What a fixture knows of an EP that it made, or that a CR brought; else the case ends in ERROR. */
struct object *ep_object(struct test *t, DAT_EP_HANDLE ep);
/*
 * The EP has the zone and the EVDs that `asked` has; else the case is BLOCKED by `call`. Where
 * dat_ep_query does not tell, the case continues: only clauses about what it tells need that.
 */
void ep_verify(struct test *t, DAT_EP_HANDLE ep, const char *call, const DAT_EP_PARAM *asked);
/*
 * Whether fixtures make a call that they can do without: not where a probe got no answer from it
 * (docs/decisions/0264-looks-of-fixtures.md). The record then says so, and the verdict names it.
 */
bool is_asked(struct test *t, enum unasked call);
/* The EP's plain state by dat_ep_get_status, or by dat_ep_query in cases of that page. */
DAT_EP_STATE ep_known_state(struct test *t, DAT_EP_HANDLE ep);
/* The same; false if no call tells, or none is to be made. */
bool ep_state_told(struct test *t, DAT_EP_HANDLE ep, DAT_EP_STATE *state);
/* Whether the EP says that it is in this state; false if no call tells, or none is to be made. */
bool is_in_state(struct test *t, DAT_EP_HANDLE ep, DAT_EP_STATE wanted);
/* Ends the case as BLOCKED if an EP whose connection was reported is reported as not Connected. */
void must_be_connected(struct test *t, DAT_EP_HANDLE ep);
void object_remove(struct test *t, struct object *object);
DAT_RETURN object_free(const struct object *object, const char **call);

/* Begins what draw() gives, from the run's seed and the case's id. */
void draw_begin(struct test *t, const char *id);

/*
 * The kind of object that has been made since with the very handle of the one that bad_handle()
 * destroyed; NULL where none has.
 */
const char *handle_reborn(void);

/*
 * From now on each event that the case takes, whichever way, is looked at: it names the EVD that it
 * was taken from, and an object that there is. The first one that does not is told of by
 * events_wrong(), in words; else NULL.
 */
void events_watch(struct test *t);
const char *events_wrong(void);

/* The first completion that named its SRQ in place of its EP; NULL if none did. */
const char *events_of_srq(void);

/* Opens the IA under test; closes it with all that is left, from any state. */
void ia_open(struct test *t);
/* The same IA opened once more; the caller closes it. */
DAT_IA_HANDLE ia_another(struct test *t, DAT_COUNT qlen);
void teardown(struct test *t);

#endif
