/* SPDX-License-Identifier: BSD-2-Clause */
/* The way of a call through its fault, in the provider and in the registry alike. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "call.h"
#include "fault.h"

void call_own(struct call *call, int arg, size_t size)
{
        const void *consumer = call_pointer(call, arg);

        if (!consumer || consumer == &call->scratch)
                return;
        memcpy(&call->scratch, consumer, size);
        call->arg[arg] = (uint64_t)(uintptr_t)&call->scratch;
}

void call_keep(struct call *call, size_t *used, void *at, size_t size, bool back)
{
        unsigned char *kept = call->kept + *used;

        if (*used + size > sizeof(call->kept))
                return;
        memcpy(back ? at : kept, back ? kept : at, size);
        *used += size;
}

void call_linger(unsigned int ms)
{
        struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

        while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
                ;
}

/* Whether the step's effect has taken the place of the call. */
static bool act_before(struct call *call, const struct step *step)
{
        switch (step->effect) {
        case EFFECT_ANSWER:
                call->ret = step->returns;
                return true;
        case EFFECT_WITH:
                step->change(call);
                return false;
        case EFFECT_KEEP:
                step->keep(call, false);
                return false;
        default:
                return !call_misbehave(call, step) && call_instead(call, step);
        }
}

static void act_after(struct call *call, const struct step *step)
{
        switch (step->effect) {
        case EFFECT_SET:
                /* Results of a refusal are set where the condition asks for one. */
                if (call->ret == DAT_SUCCESS || step->on.late)
                        step->change(call);
                break;
        case EFFECT_KEEP:
                step->keep(call, true);
                break;
        case EFFECT_ALSO:
                step->change(call);
                break;
        case EFFECT_AGAIN:
                if (step->change)
                        step->change(call);
                call_pass_on(call);
                break;
        default:
                call_afterwards(call, step);
                break;
        }
        if (step->has_returns)
                call->ret = step->returns;
}

/* Whether a step has taken the place of the call; `struck` says which want their say after it. */
static bool strike_before(struct call *call, const struct fault *fault, bool *struck)
{
        bool replaced = false;

        for (int i = 0; i < fault->step_count; i++)
                struck[i] = fault_strikes(call, i, false);
        fault_arm(call, false);
        for (int i = 0; i < fault->step_count && !replaced; i++)
                replaced = struck[i] && act_before(call, &fault->steps[i]);
        return replaced;
}

static void strike_after(struct call *call, const struct fault *fault, bool *struck)
{
        for (int i = 0; i < fault->step_count; i++) {
                if (struck[i] || !fault_strikes(call, i, true))
                        continue;
                struck[i] = true;
                call_misbehave(call, &fault->steps[i]);
        }
        fault_arm(call, true);
        for (int i = 0; i < fault->step_count; i++) {
                if (struck[i])
                        act_after(call, &fault->steps[i]);
        }
}

DAT_RETURN call_make(struct call *call)
{
        const struct fault *fault = call->mutant->fault;
        bool struck[STEPS_MAX];

        if (!fault) {
                call_pass_on(call);
                return call->ret;
        }
        fault_facts(call);
        if (strike_before(call, fault, struck))
                return call->ret;
        call_pass_on(call);
        strike_after(call, fault, struck);
        return call->ret;
}
