/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/probe_result.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "evidence/api.h"

static bool has_returned(const struct evidence *evidence, const char *name)
{
        size_t used = evidence_calls(evidence);

        for (size_t i = 0; i < used; i++) {
                const struct call_record *call = &evidence->calls[i];

                if (atomic_load(&call->state) == CALL_DONE && call->function < api_function_count &&
                    dat_is(call->ret, DAT_SUCCESS) &&
                    strcmp(api_functions[call->function].name, name) == 0)
                        return true;
        }
        return false;
}

/*
 * A probe that tells of an IA has opened and closed one, has asked it if it was to, and has come to
 * its end.
 */
static bool has_met_ia(const struct run *run, const struct probe_job *job)
{
        const struct evidence *evidence = run->main.evidence;

        return has_returned(evidence, "dat_ia_openv") &&
               (job->asks != PROBE_ASKS_ALL || has_returned(evidence, "dat_ia_query")) &&
               has_returned(evidence, "dat_ia_close") &&
               evidence_whole(evidence, run->main.secrets->canary) &&
               atomic_load(&evidence->phase) == PHASE_DONE && WIFEXITED(run->main.status) &&
               WEXITSTATUS(run->main.status) == 0;
}

/* What an IA answers that is none: its library was loaded, and no call has come back from it. */
static void refuse_probe(struct probe *probe)
{
        probe->open = false;
        snprintf(probe->reason, sizeof(probe->reason),
                 "the probe of \"%s\" got no answer from the table of a provider: dat_ia_open, "
                 "dat_ia_query and dat_ia_close of it did not each return DAT_SUCCESS",
                 probe->ia);
}

static void take(const struct run *run, const struct probe_job *job, struct probe *probe)
{
        const struct evidence *evidence = run->main.evidence;
        const char *pending = render_pending(evidence);
        struct sealed_verdict end;
        char how[64];

        memcpy(probe, &evidence->probe, sizeof(*probe));
        probe->ia[sizeof(probe->ia) - 1] = '\0';
        probe->reason[sizeof(probe->reason) - 1] = '\0';
        probe->library[sizeof(probe->library) - 1] = '\0';
        probe->address[sizeof(probe->address) - 1] = '\0';
        if (probe->left_count > PROBE_LEFT_MAX)
                probe->left_count = PROBE_LEFT_MAX;
        for (size_t i = 0; i < PROBE_LEFT_MAX; i++)
                probe->left[i][PROBE_LEFT_TEXT - 1] = '\0';
        if (seal_opens(run->main.secrets, &evidence->end, SEAL_END, SEAL_END, &end)) {
                if (probe->open ? !has_met_ia(run, job) : !probe->reason[0])
                        refuse_probe(probe);
                return;
        }
        probe->open = false;
        if (!pending)
                pending = "the probe, outside of any call";
        if (run->killed != KILLED_NOT)
                snprintf(probe->reason, sizeof(probe->reason), "no end after %u ms of %s",
                         run->killed == KILLED_STALL ? run->stalled_ms : run->deadline_ms, pending);
        else
                snprintf(probe->reason, sizeof(probe->reason), "%s in %s",
                         child_describe_status(run->main.status, how, sizeof(how)), pending);
}

/* All that a provider can declare is unwritten. */
static void forget_attributes(struct probe *probe)
{
        memset(&probe->ia_attr, 0, sizeof(probe->ia_attr));
        memset((void *)&probe->provider_attr, 0, sizeof(probe->provider_attr));
        memset(probe->ia_unwritten, true, sizeof(probe->ia_unwritten));
        memset(probe->provider_unwritten, true, sizeof(probe->provider_unwritten));
}

/*
 * Of a probe that looks only this is kept: the call that did not return. Another one follows, which
 * makes the other calls.
 */
static bool has_looked(const struct run *run, struct probe_job *job, struct probe *probe)
{
        static struct probe seen;
        uint32_t asking;

        take(run, job, &seen);
        asking = seen.asking;
        if (seen.open || asking == 0 || asking > UNASKED_COUNT || job->unasked[asking - 1][0])
                return false;
        snprintf(job->unasked[asking - 1], REASON_MAX, "%s", seen.reason);
        snprintf(probe->unasked[asking - 1], REASON_MAX, "%s", seen.reason);
        return true;
}

bool run_probed(const struct run *run, struct probe_job *job, struct probe *probe)
{
        if (job->looks)
                return has_looked(run, job, probe);
        take(run, job, probe);
        memset(probe->unasked, 0, sizeof(probe->unasked));
        if (probe->open)
                memcpy(probe->unasked, job->unasked, sizeof(probe->unasked));
        if (job->asks == PROBE_ASKS_ALL) {
                if (probe->open || !probe->asking)
                        return false;
                snprintf(job->unasked[UNASKED_IA_QUERY], REASON_MAX, "%s", probe->reason);
        } else if (probe->open) {
                forget_attributes(probe);
                return false;
        } else if (job->asks == PROBE_ASKS_NOTHING || !probe->listed) {
                return false;
        }
        job->asks++;
        return true;
}
