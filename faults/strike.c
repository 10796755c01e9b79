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
        if (!step->remember)
                return;
        state->remembered = step->remember(call);
        state->own[state->own_count++ % OWN_MAX] =
            (struct own){.of = state->subject, .value = state->remembered};
}

long long fault_own(const struct call *call, int i)
{
        const struct step_state *state = &call->mutant->state[i];
        const struct handle *object = call_object(call);

        for (unsigned int back = 1; back <= OWN_MAX && back <= state->own_count; back++) {
                const struct own *own = &state->own[(state->own_count - back) % OWN_MAX];

                if (own->of == object)
                        return own->value;
        }
        return state->remembered;
}

/* What was remembered before a call that makes an object is that object's own. */
static void own_made(const struct call *call, const struct step *step, struct step_state *state)
{
        if (step->remember && state->own_count)
                state->own[(state->own_count - 1) % OWN_MAX].of = call_made(call);
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
                if (late && matches(step->after, call, false))
                        own_made(call, step, &mutant->state[i]);
                if (matches(step->after, call, late))
                        arm(call, step, &mutant->state[i]);
                pthread_mutex_unlock(&mutant->lock);
        }
}
