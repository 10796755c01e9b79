/* SPDX-License-Identifier: BSD-2-Clause */
/* One call of the consumer on its way to the wrapped provider and back. */
#ifndef FAULTS_CALL_H
#define FAULTS_CALL_H

#include <pthread.h>
#include <stdatomic.h>

#include "handle.h"
#include "slots.h"

#define CALL_ARGS_MAX 11

struct call;
struct fault;

/* What an argument is to the wrapper. Structures by value are carried by address. */
enum arg_kind {
        ARG_PLAIN,
        ARG_HANDLE,
        ARG_HANDLE_NEW,   /* where the call stores the handle of an object that it made */
        ARG_HANDLE_FOUND, /* where the call stores the handle of an object that was there */
        ARG_AGENT,
        ARG_REGION,
        ARG_EVENT_IN,
        ARG_EVENT_OUT,
        ARG_PARAM_IN,
        ARG_PARAM_OUT,
};

struct arg_desc {
        const char *name;
        enum arg_kind kind;
        DAT_HANDLE_TYPE type;    /* of ARG_HANDLE_NEW and ARG_HANDLE_FOUND */
        size_t size;             /* of the structure of ARG_PARAM_IN */
        const short *handles_at; /* offsets of the handles in a parameter structure; -1 ends */
};

/* One slot of the provider table; the table of slots is generated from the ABI's facts. */
struct slot {
        const char *name; /* "dat_srq_resize" */
        int argc;
        const struct arg_desc *args;
        int text; /* in libdat: the argument that `edit` edits, from 1; 0: none */
        /* Makes the public call with `arg`, which has the wrapped provider's handles. */
        DAT_RETURN (*inner)(const struct call *call, const uint64_t *arg);
};

/* What the conditions of faults ask about the object of a call. */
struct facts {
        bool srq_known;
        long long max_recv_dtos;
        long long low_watermark;
        long long available;
        long long outstanding;
        /* The EPs of the SRQ, in all and by state, and the EVDs that they receive on. */
        long long eps;
        long long connected_eps;
        long long disconnected_eps;
        long long recv_evds;
        /* Receives of EPs without an SRQ, on the same EVDs. */
        long long plain_outstanding;
        struct handle *other_srq;
        long long others_outstanding;
        bool ep_known;
        long long ep_state;
};

/* So many bytes of results a step can leave unwritten. */
#define KEPT_MAX 512

#ifndef STEPS_MAX
#define STEPS_MAX 16
#endif

/* How far one step of the fault has come. */
struct step_state {
        struct handle *subject; /* the object that armed it */
        bool armed;
        unsigned int arms;
        unsigned int hits;
        long long remembered;
};

/* A fault at work. Without a fault nothing is broken. */
struct mutant {
        const struct fault *fault;
        pthread_mutex_t lock; /* of the state */
        struct step_state state[STEPS_MAX];
};

/* One IA that we wrap: an entry of dat.conf. */
struct provider {
        DAT_PROVIDER table;
        struct provider *next;
        DAT_PROVIDER_INFO info;
        char *params;
        char *wrapped; /* the IA behind it, in params */
        struct mutant mutant;
        struct handle *async_evd;
        atomic_uint under_way; /* calls of the consumer */
        long long max_recv_per_srq;
        long long max_private_data;
        unsigned char *registered_end; /* of the newest LMR */
};

struct call {
        struct mutant *mutant;
        struct provider *provider; /* NULL in the registry */
        const struct slot *slot;
        uint64_t arg[CALL_ARGS_MAX];
        DAT_RETURN ret;
        struct facts facts;
        unsigned int overlaps; /* others under way; in libdat, those of its kind */

        /* While an event is looked at. */
        DAT_EVENT *event;
        struct posted received; /* by the receive of this buffer, if any */
        bool is_received;

        union {
                DAT_EP_ATTR ep_attr;
                DAT_EP_PARAM ep_param;
                DAT_EVENT event;
                DAT_PROVIDER_INFO info;
                unsigned char bytes[256];
        } scratch;
        unsigned char kept[KEPT_MAX]; /* of EFFECT_KEEP: results as they were before the call */
};

/* The provider table with our functions in every slot, and what those know of each call; both are
 * generated from the facts of the ABI. */
extern const DAT_PROVIDER call_table;
extern const struct slot call_slots[SLOT_COUNT];

/* What the rows call `named_attributes`: attributes that no other provider has. */
extern const DAT_NAMED_ATTR call_named_attributes[2];

/* The way of each call: conditions, call_pass_on(), effects. */
DAT_RETURN call_make(struct call *call);

/* What the library that the call goes through has for it: the call as it is, unbroken. */
void call_pass_on(struct call *call);

/*
 * Takes a copy of a result of the call before it is made, or puts it back after it; `used` counts
 * the bytes of those that come one after another. What has no room is written as usual.
 */
void call_keep(struct call *call, size_t *used, void *at, size_t size, bool back);

/* Sleeps so many milliseconds in the calling thread. */
void call_linger(unsigned int ms);

/* Where the provider table's functions enter. */
DAT_RETURN call_run(enum slot_id slot, const uint64_t *arg);

/*
 * The same for dat_ia_open(), whose first argument is a name and no handle of ours. The second one
 * is in the tables of threadsafe entries, which may have the name of another entry.
 */
DAT_RETURN call_open(const uint64_t *arg);
DAT_RETURN call_open_threadsafe(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
                                DAT_IA_HANDLE *ia_handle);
DAT_RETURN call_open_inner(const struct call *call, const uint64_t *arg);

/* Makes the call on the wrapped provider and gives what comes back the consumer's handles. */
DAT_RETURN call_inner(struct call *call);

/* Before an argument that is only read is changed: has the call carry a copy of its own. */
void call_own(struct call *call, int arg, size_t size);

/* The object that the call is about: of an event, its EP. NULL where it is none of ours. */
struct handle *call_object(const struct call *call);

/* The object that a call has made; of other calls, the same as above. */
struct handle *call_made(const struct call *call);

/* The object that an event is about: of a completion, the EP. */
struct handle *event_object(const DAT_EVENT *event);

/* The consumer's pointer that argument `arg` is. */
static inline void *call_pointer(const struct call *call, int arg)
{
        return word_pointer(call->arg[arg]);
}

/* The IA of this name and safety that provider_init() registered, or NULL. */
struct provider *provider_find(const char *ia_name, bool threadsafe);

#endif
