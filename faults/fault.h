/* SPDX-License-Identifier: BSD-2-Clause */
/* A fault: one row of a .toml file, compiled. docs/fault-rows.md has the words of the rows. */
#ifndef FAULTS_FAULT_H
#define FAULTS_FAULT_H

#include "call.h"

enum effect {
        EFFECT_ANSWER,   /* returns without doing it */
        EFFECT_REPORT,   /* does it and returns something else */
        EFFECT_WITH,     /* does it with other arguments */
        EFFECT_AGAIN,    /* does it once more, with other arguments */
        EFFECT_SET,      /* does it and stores other results; or alters an event */
        EFFECT_KEEP,     /* does it and leaves some results unwritten */
        EFFECT_ALSO,     /* does it and makes another call too */
        EFFECT_LOSE,     /* an event never comes */
        EFFECT_DOUBLE,   /* comes twice */
        EFFECT_REORDER,  /* comes after the next one of its object */
        EFFECT_INVENT,   /* comes although nothing happened */
        EFFECT_CORRUPT,  /* the received message is altered */
        EFFECT_RUN,      /* runs one of functions.h */
        EFFECT_HANG,     /* never returns */
        EFFECT_DEAF,     /* a wait is not woken by what comes after it began */
        EFFECT_SCRIBBLE, /* writes past the end of the newest LMR's memory */
        EFFECT_EDIT,     /* does it with another text */
};

/* What sets a fault off: calls of these slots, or with no slots an event. */
struct trigger {
        const short *slots;      /* -1 ends */
        DAT_EVENT_NUMBER number; /* 0: any event */
        bool (*when)(const struct call *call);
        bool late; /* `when` asks for what the call returned */
};

/* Which facts the conditions of a fault want to know before the call. */
enum asks {
        ASKS_SRQ = 1 << 0,
        ASKS_EP = 1 << 1,
        ASKS_NEIGHBOURS = 1 << 2, /* the SRQ's EPs, and the other SRQs */
};

struct step {
        const struct trigger *after; /* the step sleeps until this has happened */
        unsigned int after_nth;      /* so many times; 0: it wakes up at each */
        struct trigger on;
        bool any_object;    /* not only the object that armed it */
        unsigned int nth;   /* the first match that counts */
        unsigned int times; /* how many count from there; 0: all */
        enum effect effect;
        bool has_returns;
        DAT_RETURN returns;
        DAT_EVENT_NUMBER number; /* of an invented event, or of the second one */
        unsigned int late_ms;    /* after which the second one comes */
        const char *find;        /* what is edited: an extended regular expression */
        const char *replace;     /* \1 and so on are its groups */
        long long (*remember)(const struct call *call);
        void (*change)(struct call *call);
        void (*keep)(struct call *call, bool back); /* takes a copy of results, or puts it back */
        void (*function)(void);                     /* of EFFECT_RUN: one of functions.h */
};

struct fault {
        const char *id;
        unsigned int asks;
        int step_count;
        const struct step *steps;
};

extern const struct fault fault_table[];
extern const size_t fault_table_size;

/* The fault of this id, or NULL. */
const struct fault *fault_find(const char *id);

/* Asks the wrapped provider what the fault's conditions want to know, before the call. */
void fault_facts(struct call *call);

/*
 * Whether step `i` of the fault strikes now: at the call (`late` is false before it is made and
 * true after it) or, while call->event is set, at the event. Each match counts.
 */
bool fault_strikes(struct call *call, int i, bool late);

/* What step `i` remembered of the call's object; if that has nothing, what it remembered last. */
long long fault_own(const struct call *call, int i);

/* Arms the steps that wait for this call or, while call->event is set, this event. */
void fault_arm(struct call *call, bool late);

/* Whether the call is about the object that armed the step, as far as the two compare. */
bool fault_same_object(const struct step_state *state, const struct call *call);

/* Carries out EFFECT_RUN or EFFECT_HANG. Returns false for any other effect. */
bool hostile_act(const struct step *step);

/* The same, with the effects that only this library has. */
bool call_misbehave(const struct call *call, const struct step *step);

/* Its own effects, before the call (whether one has taken its place) and after it. */
bool call_instead(struct call *call, const struct step *step);
void call_afterwards(struct call *call, const struct step *step);

/* Conditions' words. A text is an address; of a null one nothing holds. */
bool fault_text_equal(long long text, long long other);
bool fault_text_matches(long long text, long long expression);
bool fault_handle_destroyed(long long handle);
long long fault_handle_kind(long long handle); /* -1: none of ours */
/* Whether the process can read and write the pages of so many bytes there, now present. */
bool fault_memory_mapped(long long address, long long size);
/* The address of a copy of so many bytes, and zeros behind them; until this thread's next one. */
long long fault_memory_padded(long long address, long long size);

#endif
