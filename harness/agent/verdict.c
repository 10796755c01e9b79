/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/verdict.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "agent/blame.h"
#include "agent/contradiction.h"
#include "case/registry.h"
#include "evidence/api.h"

/* A verdict, while it is being found; and what ended the case in its teardown, if something did. */
struct finding {
        enum verdict verdict;
        const char *pending;
        char reason[REASON_MAX];
        const char *ended; /* "crash", "timeout" */
        char saw[64];
        struct blocked blocked;
};

static void find(struct finding *finding, enum verdict verdict, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void find(struct finding *finding, enum verdict verdict, const char *format, ...)
{
        va_list args;

        finding->verdict = verdict;
        va_start(args, format);
        vsnprintf(finding->reason, sizeof(finding->reason), format, args);
        va_end(args);
}

/* Adds to a reason by how much the limits were extended before the agent ended the case. */
static void tell_extension(const struct run *run, struct finding *finding)
{
        size_t length = strlen(finding->reason);

        if (run->extended_ns >= NS_PER_MS)
                snprintf(finding->reason + length, sizeof(finding->reason) - length,
                         ", and %llu ms more (of at most %u) in which it made progress",
                         (unsigned long long)(run->extended_ns / NS_PER_MS), run_extension_ms(run));
}

/* What the agent ended, it explains. */
static void find_killed(const struct run *run, struct finding *finding)
{
        switch (run->killed) {
        case KILLED_DEADLINE:
                find(finding, VERDICT_TIMEOUT, "no end after %u ms", run->deadline_ms);
                break;
        case KILLED_TEARDOWN:
                find(finding, VERDICT_TIMEOUT, "teardown had no end after %u ms",
                     run_teardown_ms(run));
                break;
        case KILLED_STALL:
                find(finding, VERDICT_TIMEOUT, "no end of %s after %u ms",
                     finding->pending ? finding->pending : "a call", run->stalled_ms);
                break;
        case KILLED_ABORT:
                find(finding, VERDICT_ERROR, "aborted by the runner");
                return;
        case KILLED_NOT:
                return;
        }
        tell_extension(run, finding);
}

/*
 * Whether the process faulted in a call that libdat2 dispatches by the handle of a destroyed
 * object: libdat2 reads what is there before any provider sees the call. Our libdat does not.
 */
static bool follows_destroyed(const struct run *run)
{
        const struct call_record *call;
        uint64_t handle;

        if (!REGISTRY_FOLLOWS_HANDLES || !WIFSIGNALED(run->main.status))
                return false;
        call = render_pending_call(run->main.evidence);
        handle = atomic_load(&run->main.evidence->destroyed);
        return call && handle && call->args[0] == handle;
}

/* The process has ended by itself, but not at its end. */
static void find_crash(const struct run *run, struct finding *finding)
{
        char how[64];

        if (follows_destroyed(run))
                find(finding, VERDICT_NOTE, "%s in %s, by a destroyed handle (GEN-1)",
                     child_describe_status(run->main.status, how, sizeof(how)), finding->pending);
        else if (WIFSIGNALED(run->main.status))
                find(finding, VERDICT_CRASH, "%s",
                     child_describe_status(run->main.status, how, sizeof(how)));
        else
                find(finding, VERDICT_CRASH, "left without a verdict: exit status %d",
                     WEXITSTATUS(run->main.status));
}

/* What ended a process whose clause had its verdict already is a finding of its own. */
static void find_ended(const struct run *run, struct finding *finding)
{
        int status = run->main.status;

        finding->ended = "timeout";
        if (run->killed == KILLED_STALL)
                snprintf(finding->saw, sizeof(finding->saw), "no end after %u ms", run->stalled_ms);
        else if (run->killed != KILLED_NOT)
                snprintf(finding->saw, sizeof(finding->saw), "no end after %u ms",
                         run_teardown_ms(run));
        if (run->killed != KILLED_NOT)
                return;
        finding->ended = "crash";
        if (WIFSIGNALED(status))
                snprintf(finding->saw, sizeof(finding->saw), "%s", signal_name(WTERMSIG(status)));
        else
                snprintf(finding->saw, sizeof(finding->saw), "exit status %d", WEXITSTATUS(status));
}

/* A crash or a hang of a step's call, which another clause promises, blocks the case. */
static void find_step_ended(const struct run *run, struct finding *finding)
{
        const struct evidence *evidence = run->main.evidence;
        bool stalled = run->killed == KILLED_STALL;
        const struct call_record *call =
            stalled ? stall_call(&run->stall, evidence) : render_pending_call(evidence);
        char reason[REASON_MAX];

        if ((finding->verdict != VERDICT_CRASH && !stalled) ||
            !blames_call(run->job.ref->entry, evidence, call, finding->reason, &finding->blocked))
                return;
        snprintf(reason, sizeof(reason), "%s", finding->reason);
        find(finding, VERDICT_BLOCKED, "%.900s%s%s", reason, stalled ? "" : " in ",
             stalled ? "" : finding->blocked.call);
}

/* Teardown takes no verdict from the clause: its own checks have given it one. */
static void find_verdict(const struct run *run, struct finding *finding)
{
        const struct evidence *evidence = run->main.evidence;
        struct sealed_verdict said;

        if (run->killed != KILLED_ABORT &&
            seal_opens(run->main.secrets, &evidence->end, SEAL_END, SEAL_END, &said)) {
                find(finding, (enum verdict)said.verdict, "%s", said.reason);
                finding->blocked = said.blocked;
                return;
        }
        finding->pending = run->goes_on ? NULL : render_pending(evidence);
        if (run->killed != KILLED_ABORT && atomic_load(&evidence->phase) == PHASE_TEARDOWN &&
            seal_opens(run->main.secrets, &evidence->body, SEAL_BODY, SEAL_AGAIN, &said)) {
                find(finding, (enum verdict)said.verdict, "%s", said.reason);
                finding->blocked = said.blocked;
                find_ended(run, finding);
                return;
        }
        if (run->killed != KILLED_NOT)
                find_killed(run, finding);
        else
                find_crash(run, finding);
        find_step_ended(run, finding);
}

/* What the host of a remote peer says of its process: a member of "found". */
static const json_t *found_there(const struct run *run, const char *name)
{
        return json_object_get(json_object_get(run->remote, "found"), name);
}

/* How many of something both hosts found. */
static unsigned int with_remote(const struct run *run, const char *name, unsigned int count)
{
        json_int_t there = json_integer_value(found_there(run, name));

        return count + (there > 0 && there < UINT16_MAX ? (unsigned int)there : 0);
}

static bool peer_whole(const struct run *run)
{
        if (run->peer.started && !evidence_whole(run->peer.evidence, run->peer.secrets->canary))
                return false;
        return !json_is_true(found_there(run, "overwritten"));
}

/* What overwrote the harness's memory may have broken anything else: that is told first. */
static void find_overwritten(struct finding *finding, const char *what)
{
        char then[REASON_MAX];

        snprintf(then, sizeof(then), "%s", finding->reason);
        if (finding->verdict <= VERDICT_NOTE)
                find(finding, VERDICT_FAIL, "%s", what);
        else
                find(finding, finding->verdict, "%s; then: %.900s", what, then);
}

/* What an adapter sends past its netdev has not been disturbed, and has shown nothing. */
static void find_undisturbed(const struct run *run, struct finding *finding)
{
        const json_t *disturbed = json_object_get(run->remote, "disturbed");
        bool shows_nothing =
            finding->verdict <= VERDICT_NOTE || finding->verdict == VERDICT_UNSUPPORTED;

        if (disturbed && shows_nothing &&
            json_integer_value(json_object_get(disturbed, "packets")) == 0)
                find(finding, VERDICT_ERROR, "no packet met the disturbed network (%s)",
                     json_string_value(json_object_get(disturbed, "network")));
}

/* What the case missed may be what its peer could no longer do, whether or not the case asked it.
 */
static void tell_peer_crash(const struct run *run, struct finding *finding)
{
        size_t length = strlen(finding->reason);

        if (!run->peer_crash[0] || finding->verdict <= VERDICT_NOTE ||
            finding->verdict == VERDICT_UNSUPPORTED || strstr(finding->reason, run->peer_crash))
                return;
        snprintf(finding->reason + length, sizeof(finding->reason) - length,
                 "; the peer had ended (%s)", run->peer_crash);
}

/* A case that left something behind, on its host or on its peer's, is noted. */
static void note_left(const struct run *run, struct finding *finding)
{
        unsigned int strays =
            with_remote(run, "strays", run->killed == KILLED_NOT ? run->strays : 0);
        unsigned int ipc = with_remote(run, "ipc", run->ipc_left);
        unsigned int garbage = with_remote(run, "garbage", run->garbage);

        if (finding->verdict != VERDICT_PASS)
                return;
        if (strays)
                find(finding, VERDICT_NOTE, "processes that outlived the case: %u", strays);
        else if (ipc)
                find(finding, VERDICT_NOTE, "IPC objects that outlived the case: %u", ipc);
        else if (garbage)
                find(finding, VERDICT_NOTE, "lines written to the suite's own channel: %u",
                     garbage);
}

/* What was found when the process itself was gone. */
static void find_remains(const struct run *run, struct finding *finding)
{
        find_undisturbed(run, finding);
        tell_peer_crash(run, finding);
        if (run->stop_unanswered && finding->verdict <= VERDICT_NOTE)
                find(finding, VERDICT_ERROR, "the peer's host did not say that the peer is gone");
        if (!evidence_whole(run->main.evidence, run->main.secrets->canary))
                find_overwritten(finding, "memory of the harness was overwritten");
        else if (!peer_whole(run))
                find_overwritten(finding, "memory of the peer's harness was overwritten");
        note_left(run, finding);
}

/* Whether the process of a case came to its end, and was gone before the agent could look at it. */
static bool left_unseen(const struct run *run)
{
        return !run->seen && !run->job.settings.gdb &&
               atomic_load(&run->main.evidence->phase) == PHASE_DONE;
}

/*
 * A provider that leaps over its case leaves other evidence than a case does. What follows a
 * destroyed handle crashes, and that is no lie.
 */
static void find_contradiction(const struct run *run, bool teardown, struct finding *finding)
{
        const struct statement said = {
            .verdict = finding->verdict,
            .child = &run->main,
            .has_ia = !run->job.ref->entry->without_ia,
            .ended = run->killed != KILLED_NOT,
            .unseen = left_unseen(run),
            .changed = run->seen && run->code == CODE_CHANGED ? run->code_text : NULL,
            .teardown = teardown,
        };
        char against[REASON_MAX / 2];

        if (!follows_destroyed(run) && contradicts(&said, against, sizeof(against)))
                find(finding, VERDICT_CONTRADICTED,
                     "the record contradicts itself: %s was said, but %s",
                     verdict_name(said.verdict), against);
}

/* A case that was seen to fail stays so; no other verdict is one of a case that overreaches. */
static void find_overreach(const struct run *run, struct finding *finding)
{
        const char *there = json_string_value(found_there(run, "overreach"));
        const char *what = run->overreach ? run->overreach : there;

        if (what && finding->verdict != VERDICT_FAIL && finding->verdict != VERDICT_CRASH &&
            finding->verdict != VERDICT_TIMEOUT)
                find(finding, VERDICT_CONTRADICTED,
                     "the record contradicts itself: the %s's process asked the agent %.200s",
                     run->overreach ? "case" : "peer", what);
}

static void emit_overreach(const struct run *run, render_emit *emit, void *context)
{
        if (run->overreach)
                render_tree(
                    emit, context,
                    json_pack("{s:s s:I s:s s:s++}", "type", "event", "seq", (json_int_t)run->seq,
                              "kind", "record", "text",
                              run->kind == RUN_PEER ? "refused: the peer" : "refused: the case",
                              "'s process asked the agent ", run->overreach));
}

/* Where the agent may not read the memory of a case, the record says so. */
static void emit_unseen(const struct run *run, render_emit *emit, void *context)
{
        if (run->seen && run->code == CODE_UNSEEN)
                render_tree(emit, context,
                            json_pack("{s:s s:I s:s s:s++}", "type", "event", "seq",
                                      (json_int_t)run->seq, "kind", "record", "text",
                                      "the code of the process was not compared: ", run->code_text,
                                      ""));
}

/* What a disturbed network did, as the host says that disturbed it. */
static void emit_disturbed(const struct run *run, render_emit *emit, void *context)
{
        const json_t *disturbed = json_object_get(run->remote, "disturbed");
        const char *network = json_string_value(json_object_get(disturbed, "network"));
        char text[2 * DISTURBANCE_TEXT];

        if (!network)
                return;
        snprintf(text, sizeof(text), "the network is as before; %lld packets met %s",
                 (long long)json_integer_value(json_object_get(disturbed, "packets")), network);
        render_tree(emit, context,
                    json_pack("{s:s s:I s:s s:s}", "type", "event", "seq", (json_int_t)run->seq,
                              "kind", "record", "text", text));
}

/* A case that took longer than its limits, for it made progress. */
static void emit_extension(const struct run *run, render_emit *emit, void *context)
{
        uint64_t took_ms = (run->ended_ns - run->started_ns) / NS_PER_MS;
        char text[160];

        if (run->kind != RUN_CASE || took_ms <= run->deadline_ms || run->extended_ns < NS_PER_MS)
                return;
        snprintf(text, sizeof(text),
                 "progress extended the time limits by %llu ms, of at most %u ms",
                 (unsigned long long)(run->extended_ns / NS_PER_MS), run_extension_ms(run));
        render_tree(emit, context,
                    json_pack("{s:s s:I s:s s:s}", "type", "event", "seq", (json_int_t)run->seq,
                              "kind", "record", "text", text));
}

static void emit_count(const struct run *run, const char *kind, const char *what,
                       unsigned int count, render_emit *emit, void *context)
{
        char text[96];

        if (count == 0)
                return;
        snprintf(text, sizeof(text), "%s: %u", what, count);
        render_tree(emit, context,
                    json_pack("{s:s s:I s:s s:s}", "type", "event", "seq", (json_int_t)run->seq,
                              "kind", kind, "text", text));
}

void run_events(const struct run *run, render_emit *emit, void *context)
{
        render_evidence(run->main.evidence, run->seq, run->kind == RUN_PEER ? "peer" : "case", emit,
                        context);
        hang_report_events(&run->hang_report, run->main.evidence, run->seq, emit, context);
        if (run->peer.started)
                render_evidence(run->peer.evidence, run->seq, "peer", emit, context);
        emit_disturbed(run, emit, context);
        emit_overreach(run, emit, context);
        emit_unseen(run, emit, context);
        emit_extension(run, emit, context);
        if (run->killed == KILLED_NOT)
                emit_count(run, "leak", "processes that outlived the case and were killed",
                           run->strays, emit, context);
        emit_count(run, "leak", "IPC objects that outlived the case and were removed",
                   run->ipc_left, emit, context);
        emit_count(run, "leak", "files that outlived the case and were removed", run->files_left,
                   emit, context);
        emit_count(run, "record", "lines written to the suite's own channel", run->garbage, emit,
                   context);
}

/* What this host's processes wrote, and behind it what a remote peer did. */
static json_t *all_output(const struct run *run)
{
        const json_t *remote = json_object_get(run->remote, "output");
        char text[OUTPUT_KEPT];
        size_t length = run->output.length;
        size_t more = json_string_length(remote);

        memcpy(text, run->output.text, length);
        if (more > sizeof(text) - length)
                more = sizeof(text) - length;
        if (more)
                memcpy(text + length, json_string_value(remote), more);
        return text_json(text, length + more);
}

/*
 * What broke when a peer closed its IA, appended to `list`. That it was ended, for it took too long
 * or because its case asked for it, is no crash of its own.
 */
static void peer_teardown(const struct child *peer, json_t *list)
{
        const struct evidence *evidence = peer->evidence;
        const char *pending = render_pending(evidence);
        json_t *broken = render_refused(evidence);

        if (!broken && atomic_load(&evidence->phase) == PHASE_TEARDOWN &&
            WIFSIGNALED(peer->status) && WTERMSIG(peer->status) != SIGKILL)
                broken = json_pack("{s:s s:s s:s}", "call", pending ? pending : "", "what", "crash",
                                   "saw", signal_name(WTERMSIG(peer->status)));
        if (!broken)
                return;
        json_object_set_new(broken, "who", json_string("peer"));
        json_array_append_new(list, broken);
}

static json_t *describe_ended(const struct run *run, const struct finding *finding)
{
        json_t *broken =
            json_pack("{s:s s:s s:s}", "call", finding->pending ? finding->pending : "", "what",
                      finding->ended, "saw", finding->saw);

        if (run->killed == KILLED_STALL && run->stall.hurried)
                json_object_set_new(broken, "hurried", json_true());
        return broken;
}

/*
 * What broke in teardown, whatever the clause's verdict is. A free that was refused after a check
 * did not hold is none: what the case has left behind then, nobody but the case knows of.
 */
static json_t *teardown_findings(const struct run *run, const struct finding *finding)
{
        json_t *list = json_array();
        json_t *refused = render_refused(run->main.evidence);

        if (refused && finding->verdict <= VERDICT_NOTE)
                json_array_append(list, refused);
        json_decref(refused);
        if (finding->ended)
                json_array_append_new(list, describe_ended(run, finding));
        if (run->peer.started)
                peer_teardown(&run->peer, list);
        json_array_extend(list, json_object_get(run->remote, "teardown"));
        return list;
}

static json_t *text_of(const char *text)
{
        return text_json(text, strlen(text));
}

/* The step that blocked a case, with the clause that promises its call. */
static json_t *describe_blocked(const struct blocked *blocked)
{
        json_t *site =
            json_pack("{s:o s:i s:o}", "file", text_of(blocked->file), "line",
                      blocked->line > 0 ? (int)blocked->line : 0, "text", text_of(blocked->text));

        return json_pack("{s:o s:s s:o s:o}", "call", text_of(blocked->call), "clause",
                         registry_promise(blocked->call), "ret", text_of(blocked->ret), "site",
                         site);
}

/* The calls that the case did without, and what became of them in a probe. */
static json_t *unasked_calls(const struct run *run)
{
        const struct probe *probe = run->job.settings.probe;
        uint32_t without = atomic_load(&run->main.evidence->unasked);
        json_t *list = json_array();

        for (enum unasked i = 0; i < UNASKED_COUNT; i++)
                if ((without & UINT32_C(1) << i) && probe->unasked[i][0])
                        json_array_append_new(list, json_pack("{s:s s:o}", "call", unasked_call(i),
                                                              "saw", text_of(probe->unasked[i])));
        return list;
}

json_t *run_verdict(const struct run *run)
{
        struct finding finding = {.verdict = VERDICT_NONE};
        json_t *unasked = unasked_calls(run);
        json_t *message;
        json_t *teardown;

        find_verdict(run, &finding);
        teardown = teardown_findings(run, &finding);
        find_remains(run, &finding);
        find_contradiction(run, json_array_size(teardown) > 0, &finding);
        find_overreach(run, &finding);
        message = json_pack("{s:s s:I s:s s:s s:o}", "type", "verdict", "seq", (json_int_t)run->seq,
                            "case", run->job.ref->id, "verdict", verdict_name(finding.verdict),
                            "reason", text_json(finding.reason, strlen(finding.reason)));
        if (finding.pending && !finding.ended)
                json_object_set_new(message, "pending", json_string(finding.pending));
        if (finding.verdict == VERDICT_BLOCKED)
                json_object_set_new(message, "blocked", describe_blocked(&finding.blocked));
        if (json_array_size(teardown))
                json_object_set(message, "teardown", teardown);
        json_decref(teardown);
        if (json_array_size(unasked))
                json_object_set(message, "unasked", unasked);
        json_decref(unasked);
        json_object_set_new(message, "us",
                            json_integer((json_int_t)((run->ended_ns - run->started_ns) / 1000)));
        json_object_set_new(message, "output", all_output(run));
        if (json_is_string(json_object_get(run->remote, "unfit")))
                json_object_set(message, "peer_unfit", json_object_get(run->remote, "unfit"));
        return message;
}

/* What the verdict of the case on the other host has to know of the peer's process. */
static json_t *found_here(const struct run *run)
{
        json_t *found =
            json_pack("{s:i s:i s:i}", "strays", run->killed == KILLED_NOT ? (int)run->strays : 0,
                      "ipc", (int)run->ipc_left, "garbage", (int)run->garbage);

        if (!evidence_whole(run->main.evidence, run->main.secrets->canary))
                json_object_set_new(found, "overwritten", json_true());
        if (run->overreach)
                json_object_set_new(found, "overreach", json_string(run->overreach));
        return found;
}

json_t *run_stopped(const struct run *run)
{
        json_t *data = child_end_json(&run->main);
        json_t *teardown = json_array();

        peer_teardown(&run->main, teardown);
        if (json_array_size(teardown))
                json_object_set(data, "teardown", teardown);
        json_decref(teardown);
        json_object_set_new(data, "output", text_json(run->output.text, run->output.length));
        json_object_set_new(data, "found", found_here(run));
        if (run->disturbed)
                json_object_set_new(data, "disturbed",
                                    json_pack("{s:s s:I}", "network", run->disturbance.text,
                                              "packets", (json_int_t)run->packets));
        return data;
}
