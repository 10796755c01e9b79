/* SPDX-License-Identifier: BSD-2-Clause */
/* Which step of a fault strikes, and when. */
#include <string.h>

#include "fault.h"

const struct fault *fault_find(const char *id)
{
        for (size_t i = 0; i < fault_table_size; i++) {
                if (!strcmp(fault_table[i].id, id))
                        return &fault_table[i];
        }
        return NULL;
}

static bool has_slot(const struct trigger *trigger, const struct slot *slot)
{
        for (const short *id = trigger->slots; *id >= 0; id++) {
                if (slot == &call_slots[*id])
                        return true;
        }
        return false;
}

static bool matches(const struct trigger *trigger, const struct call *call, bool late)
{
        if (trigger->slots) {
                if (call->event || trigger->late != late || !has_slot(trigger, call->slot))
                        return false;
        } else {
                if (!call->event)
                        return false;
                if (trigger->number && trigger->number != call->event->event_number)
                        return false;
        }
        return !trigger->when || trigger->when(call);
}

static bool counts(struct step_state *state, const struct step *step)
{
        unsigned int hit = ++state->hits;

        return hit >= step->nth && (!step->times || hit < step->nth + step->times);
}

bool fault_strikes(struct call *call, int i, bool late)
{
        struct mutant *mutant = call->mutant;
        const struct step *step = &mutant->fault->steps[i];
        struct step_state *state = &mutant->state[i];
        bool struck;

        if (!matches(&step->on, call, late))
                return false;
        pthread_mutex_lock(&mutant->lock);
        struck =
            !step->after || (state->armed && (step->any_object || fault_same_object(state, call)));
        struck = struck && counts(state, step);
        pthread_mutex_unlock(&mutant->lock);
        return struck;
}

static void arm(struct call *call, const struct step *step, struct step_state *state)
{
        if (step->after_nth && ++state->arms != step->after_nth)
                return;
        state->armed = true;
        state->hits = 0;
        state->subject = call_object(call);
        if (step->remember)
                state->remembered = step->remember(call);
}

/* What steps have remembered of each object, the newest ones. */
#define OWN_MAX 256

static struct {
        const struct step_state *state;
        const struct handle *of;
        long long value;
} owns[OWN_MAX];
static unsigned int own_count;
static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;

/* What was remembered at a call that makes an object is that object's own. */
static void keep_own(const struct call *call, const struct step_state *state)
{
        pthread_mutex_lock(&own_lock);
        owns[own_count % OWN_MAX].state = state;
        owns[own_count % OWN_MAX].of = call_made(call);
        owns[own_count % OWN_MAX].value = state->remembered;
        own_count++;
        pthread_mutex_unlock(&own_lock);
}

long long fault_own(const struct call *call, int i)
{
        const struct step_state *state = &call->mutant->state[i];
        const struct handle *object = call_object(call);
        long long value = state->remembered;

        pthread_mutex_lock(&own_lock);
        for (unsigned int back = 1; back <= OWN_MAX && back <= own_count; back++) {
                unsigned int at = (own_count - back) % OWN_MAX;

                if (owns[at].state == state && owns[at].of == object) {
                        value = owns[at].value;
                        break;
                }
        }
        pthread_mutex_unlock(&own_lock);
        return value;
}

void fault_arm(struct call *call, bool late)
{
        struct mutant *mutant = call->mutant;
        const struct fault *fault = mutant->fault;

        for (int i = 0; fault && i < fault->step_count; i++) {
                const struct step *step = &fault->steps[i];

                if (!step->after)
                        continue;
                pthread_mutex_lock(&mutant->lock);
                if (matches(step->after, call, late))
                        arm(call, step, &mutant->state[i]);
                if (late && step->remember &&
                    (matches(step->after, call, false) || matches(step->after, call, true)))
                        keep_own(call, &mutant->state[i]);
                pthread_mutex_unlock(&mutant->lock);
        }
}
