/* SPDX-License-Identifier: BSD-2-Clause */
#include "stall.h"

#include <string.h>

#include "api.h"

#define US_PER_MS 1000
#define UNLIMITED UINT32_MAX
/* Without a peer there is nothing on the network to wait for: so much of an event's time is left.
 */
#define LOCAL_PART 3

static const struct api_function *function_of(const struct call_record *call)
{
        return call->function < api_function_count ? &api_functions[call->function] : NULL;
}

/* How long a wait was asked to last. */
static unsigned int asked_ms(const struct call_record *call, const struct api_function *function)
{
        for (size_t i = 0; i < function->count && i < CALL_ARGS_MAX; i++)
                if (strcmp(function->params[i].name, "timeout") == 0)
                        return call->args[i] == DAT_TIMEOUT_INFINITE
                                   ? UNLIMITED
                                   : (unsigned int)(call->args[i] / US_PER_MS);
        return 0;
}

static unsigned int limit_ms(const struct call_record *call, const struct api_function *function,
                             const struct settings *settings)
{
        bool opens = strcmp(function->name, "dat_ia_openv") == 0;
        bool waits = strcmp(function->name, "dat_evd_wait") == 0 ||
                     strcmp(function->name, "dat_cno_wait") == 0;
        unsigned int asked = waits ? asked_ms(call, function) : 0;

        if (asked == UNLIMITED)
                return UNLIMITED;
        if (waits || opens || settings->peer_mode != PEER_MODE_NONE)
                return asked + settings->event_ms;
        return settings->event_ms / LOCAL_PART;
}

unsigned int stall_look(struct stall *stall, const struct evidence *evidence,
                        const struct settings *settings)
{
        uint64_t count = atomic_load(&evidence->call_count);
        const struct call_record *call = &evidence->calls[log_slot(count ? count - 1 : 0)];
        const struct api_function *function = function_of(call);
        unsigned int limit;

        if (!function || count == 0 || atomic_load(&call->state) != CALL_BEGUN) {
                *stall = (struct stall){.call = 0};
                return 0;
        }
        if (stall->call != count) {
                *stall = (struct stall){.call = count};
                return 0;
        }
        limit = limit_ms(call, function, settings);
        return ++stall->looks * STALL_LOOK_MS >= limit ? limit : 0;
}
