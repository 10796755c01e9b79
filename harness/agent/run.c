/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/run.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/containment.h"
#include "agent/contradiction.h"
#include "agent/ipc.h"
#include "evidence/api.h"

/* How long a peer may take to end on request, on this host and on the other one. */
#define STOP_LOCAL_MS  2000
#define STOP_REMOTE_MS 5000
/* How often what cannot be killed at once is killed again. */
#define CLEAR_AGAIN_MS 100

/* How often the agent looks at a clock of its own that has something to say. */
#define TICK_MS STALL_LOOK_MS

/*
 * The run's clock, which goes on only as long as the agent gets to look at it: a host that stands
 * still, or an agent that is stopped, takes no time away from anybody.
 */
static uint64_t tick(struct run *run)
{
        uint64_t now = now_ns();
        uint64_t passed = now - run->ticked_ns;

        run->clock_ns += passed < 2 * NS_PER_MS * TICK_MS ? passed : NS_PER_MS * TICK_MS;
        run->ticked_ns = now;
        return run->clock_ns;
}

static uint64_t after_ms(struct run *run, unsigned int ms)
{
        return tick(run) + ms * NS_PER_MS;
}

/* Teardown has as long as two events may take, and a second for all that is no wait. */
static unsigned int teardown_ms(const struct run *run)
{
        return 2 * run->job.settings.event_ms + 1000;
}

static bool begin(struct run *run, enum run_kind kind, int peer, child_body *body, const void *arg)
{
        struct child_files files = {.channel = -1, .peer = peer};

        run->kind = kind;
        run->stage = STAGE_WORKING;
        run->started_ns = now_ns();
        if (!output_open(&run->output)) {
                run->kind = RUN_NONE;
                return false;
        }
        files.output = run->output.write_fd;
        if (!child_start(&run->main, &files, body, arg)) {
                output_close(&run->output);
                run->kind = RUN_NONE;
                return false;
        }
        return true;
}

bool run_probe(struct run *run, const struct probe_job *job, unsigned int deadline_ms)
{
        run->deadline_ms = deadline_ms;
        run->until_ns = after_ms(run, deadline_ms);
        return begin(run, RUN_PROBE, -1, probe_process, job);
}

/* A case whose peer, if it starts one, is on its own host: they speak with nobody between them. */
static bool is_joined(const struct case_job *job)
{
        return job->settings.peer_mode == PEER_MODE_LOCAL && job->ref->entry->peers > 0;
}

static bool has_joined(const struct run *run)
{
        return run->kind == RUN_CASE && is_joined(&run->job);
}

/* A case with the socket that joins it to the peer that it may start. */
static bool begin_joined(struct run *run)
{
        int ends[2];
        bool begun;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
                return false;
        begun = begin(run, RUN_CASE, ends[0], case_process, &run->job);
        close(ends[0]);
        if (begun)
                run->peer_end = ends[1];
        else
                close(ends[1]);
        return begun;
}

bool run_case(struct run *run, unsigned long long seq, const struct case_job *job)
{
        run->seq = seq;
        run->job = *job;
        run->deadline_ms = job->settings.deadline_ms;
        run->peer_job =
            (struct peer_job){.ia = job->settings.probe->ia, .event_ms = job->settings.event_ms};
        if (!(is_joined(job) ? begin_joined(run)
                             : begin(run, RUN_CASE, -1, case_process, &run->job)))
                return false;
        run->until_ns = job->settings.gdb ? 0 : after_ms(run, STALL_LOOK_MS);
        return true;
}

bool run_peer(struct run *run, unsigned long long seq, const struct peer_job *job)
{
        run->seq = seq;
        run->peer_job = *job;
        run->until_ns = 0;
        return begin(run, RUN_PEER, -1, peer_process, &run->peer_job);
}

static void kill_main(struct run *run, enum run_killed why)
{
        if (run->main.pid == 0 || run->killed != KILLED_NOT)
                return;
        run->killed = why;
        containment_kill_group(run->main.pid);
        run->until_ns = 0;
}

/* Whatever the processes left behind goes now. */
static void clear(struct run *run)
{
        run->stage = STAGE_CLEARING;
        run->until_ns = after_ms(run, CLEAR_AGAIN_MS);
        containment_kill();
}

static bool is_remote(const struct run *run)
{
        return run->kind == RUN_CASE && run->job.settings.peer_mode == PEER_MODE_REMOTE;
}

/*
 * Ends what joins a case and its peer, whoever still has a copy of it: a peer takes that for the
 * request to end, and a case looks whether the agent says that its peer did.
 */
static void unjoin(const struct run *run)
{
        shutdown(run->peer_end, SHUT_RDWR);
}

/* The main process is gone: its peer is stopped first, if there is one. */
static void stop_peer(struct run *run)
{
        if (run->peer_state != PEER_ON) {
                clear(run);
                return;
        }
        run->stage = STAGE_STOPPING;
        if (is_remote(run)) {
                run->until_ns = after_ms(run, STOP_REMOTE_MS);
                run->peer_out(run->context, run->seq, "stop", json_object());
        } else {
                run->until_ns = after_ms(run, STOP_LOCAL_MS);
                unjoin(run);
        }
}

static const char *describe_status(int status, char *text, size_t size)
{
        if (WIFSIGNALED(status))
                snprintf(text, size, "ended by %s", signal_name(WTERMSIG(status)));
        else
                snprintf(text, size, "left with status %d", WEXITSTATUS(status));
        return text;
}

/* How a peer's process ended, in words. */
static json_t *describe_end(const struct child *peer)
{
        const char *pending = render_pending(peer->evidence);
        char how[64];
        char reason[128];

        describe_status(peer->status, how, sizeof(how));
        snprintf(reason, sizeof(reason), "%s%s%s", how, pending ? " in " : "",
                 pending ? pending : "");
        return json_pack("{s:i s:s}", "status", peer->status, "reason", reason);
}

static void tell_case(struct run *run, const char *op, json_t *data)
{
        if (run->main.pid)
                lines_put(&run->main.channel, json_pack("{s:s s:o}", "op", op, "data", data));
        else
                json_decref(data);
}

static void peer_ended(struct run *run, json_t *data)
{
        const char *reason = json_string_value(json_object_get(data, "reason"));
        int status = (int)json_integer_value(json_object_get(data, "status"));

        run->peer_state = PEER_ENDED;
        if (reason && run->stage == STAGE_WORKING && WIFSIGNALED(status) &&
            WTERMSIG(status) != SIGKILL)
                snprintf(run->peer_crash, sizeof(run->peer_crash), "%s", reason);
        tell_case(run, "stopped", data);
        if (run->stage == STAGE_STOPPING)
                clear(run);
}

static void start_peer(struct run *run)
{
        const struct child_files files = {
            .output = run->output.write_fd,
            .channel = run->peer_end,
            .peer = -1,
        };

        if (run->peer_state != PEER_OFF || run->stage != STAGE_WORKING)
                return;
        if (!is_remote(run) && !has_joined(run))
                return;
        if (is_remote(run)) {
                run->peer_state = PEER_ON;
                run->peer_out(run->context, run->seq, "start",
                              json_pack("{s:i}", "event_ms", (int)run->peer_job.event_ms));
                return;
        }
        if (child_start(&run->peer, &files, peer_process, &run->peer_job)) {
                run->peer_state = PEER_ON;
                return;
        }
        peer_ended(
            run, json_pack("{s:i s:s+}", "status", 0, "reason", "not started: ", strerror(errno)));
}

static void to_peer(struct run *run, json_t *data)
{
        if (run->peer_state == PEER_ON && is_remote(run))
                run->peer_out(run->context, run->seq, "data", data);
        else
                json_decref(data);
}

/* Only between two hosts is there a network that belongs to nobody else. */
static void disturb(struct run *run, json_t *data)
{
        if (is_remote(run)) {
                run->peer_out(run->context, run->seq, "disturb", data);
                return;
        }
        json_decref(data);
        tell_case(run, "data",
                  json_pack("{s:b s:s}", "ok", 0, "why", "its peer is on the case's own host"));
}

/*
 * One line of a process: an object with `op` and an object `data`. Anything else is a provider's
 * that wrote to descriptors at random: it is counted and dropped.
 */
static json_t *parse(const char *line, const char **op)
{
        json_t *message = json_loads(line, 0, NULL);
        json_t *data = NULL;

        if (message &&
            json_unpack_ex(message, NULL, JSON_STRICT, "{s:s s:O}", "op", op, "data", &data) == 0 &&
            json_is_object(data)) {
                json_decref(data);
                return message;
        }
        json_decref(data);
        json_decref(message);
        return NULL;
}

static void from_case(struct run *run)
{
        char *line;

        lines_read(&run->main.channel);
        while ((line = lines_next(&run->main.channel))) {
                const char *op;
                json_t *message = parse(line, &op);

                if (!message) {
                        run->garbage++;
                        continue;
                }
                if (strcmp(op, "start") == 0)
                        start_peer(run);
                else if (strcmp(op, "data") == 0)
                        to_peer(run, json_incref(json_object_get(message, "data")));
                else if (strcmp(op, "disturb") == 0)
                        disturb(run, json_incref(json_object_get(message, "data")));
                json_decref(message);
        }
}

/* Of a hosted peer to the other host. */
static void from_peer(struct run *run)
{
        char *line;

        lines_read(&run->main.channel);
        while ((line = lines_next(&run->main.channel))) {
                const char *op;
                json_t *message = parse(line, &op);

                if (!message || strcmp(op, "data") != 0)
                        run->garbage++;
                else
                        run->peer_out(run->context, run->seq, "data",
                                      json_incref(json_object_get(message, "data")));
                json_decref(message);
        }
}

/* What the main process says; after its end, what it had said. */
static void hear(struct run *run)
{
        if (run->main.channel.ended)
                return;
        if (run->kind == RUN_PEER)
                from_peer(run);
        else
                from_case(run);
}

/* What a process had said comes before whatever its end leads to. */
static void reaped(struct run *run, pid_t pid, int status)
{
        if (pid == run->main.pid) {
                hear(run);
                run->main.pid = 0;
                run->main.status = status;
                stop_peer(run);
        } else if (pid == run->peer.pid) {
                run->peer.pid = 0;
                run->peer.status = status;
                unjoin(run);
                peer_ended(run, describe_end(&run->peer));
        } else if (run->stage == STAGE_CLEARING && WIFSIGNALED(status)) {
                run->strays++;
        }
}

/* A case that is to be debugged has stopped itself: whoever waits for that is told. */
static void stopped(struct run *run, pid_t pid)
{
        if (pid == run->main.pid && run->kind == RUN_CASE && run->job.settings.gdb)
                run->stop_announced = true;
}

bool run_reap(struct run *run)
{
        for (;;) {
                int status;
                pid_t pid = waitpid(-1, &status, WNOHANG | WUNTRACED);

                if (pid == 0)
                        return false;
                if (pid < 0 && errno == EINTR)
                        continue;
                if (pid < 0)
                        return true;
                if (WIFSTOPPED(status))
                        stopped(run, pid);
                else
                        reaped(run, pid, status);
        }
}

/* The agent disturbs the network itself: its end, unlike the peer's process, is no case's doing. */
static void disturb_for_case(struct run *run, const json_t *wanted)
{
        char why[2 * DISTURBANCE_TEXT];
        json_t *answer;

        if (disturbance_begin(&run->disturbance, run->peer_job.address, wanted, why, sizeof(why))) {
                run->disturbed = true;
                answer = json_pack("{s:b s:s}", "ok", 1, "network", run->disturbance.text);
        } else {
                answer = json_pack("{s:b s:s}", "ok", 0, "why", why);
        }
        run->peer_out(run->context, run->seq, "data", answer);
}

static void calm(struct run *run)
{
        disturbance_end(&run->disturbance, &run->packets, run->not_calmed, sizeof(run->not_calmed));
}

void run_peer_in(struct run *run, const char *op, json_t *data)
{
        if (run->kind == RUN_PEER ? run->stage != STAGE_WORKING : run->peer_state != PEER_ON) {
                json_decref(data);
        } else if (run->kind == RUN_PEER && strcmp(op, "stop") == 0) {
                lines_put(&run->main.channel, json_pack("{s:s}", "op", "stop"));
                run->until_ns = after_ms(run, STOP_LOCAL_MS);
                json_decref(data);
        } else if (run->kind == RUN_PEER && strcmp(op, "disturb") == 0) {
                disturb_for_case(run, data);
                json_decref(data);
        } else if (run->kind == RUN_PEER) {
                lines_put(&run->main.channel, json_pack("{s:s s:o}", "op", "data", "data", data));
        } else if (strcmp(op, "stopped") == 0) {
                run->remote = json_deep_copy(data);
                json_object_del(data, "output");
                peer_ended(run, data);
        } else {
                tell_case(run, "data", data);
        }
}

void run_abort(struct run *run)
{
        kill_main(run, KILLED_ABORT);
}

void run_abandon(struct run *run)
{
        if (is_remote(run) && run->peer_state == PEER_ON) {
                run->peer_out(run->context, run->seq, "stop", json_object());
                peer_ended(run, json_object());
        }
        kill_main(run, KILLED_ABORT);
}

/* Whether what the case does now, its body or its teardown, should have ended. */
static enum run_killed too_long(struct run *run, uint64_t could_run_ns)
{
        if (atomic_load(&run->main.evidence->phase) == PHASE_BODY) {
                run->body_ns += could_run_ns;
                return run->body_ns >= run->deadline_ms * NS_PER_MS ? KILLED_DEADLINE : KILLED_NOT;
        }
        run->teardown_ns += could_run_ns;
        return run->teardown_ns >= teardown_ms(run) * NS_PER_MS ? KILLED_TEARDOWN : KILLED_NOT;
}

/* Before a case that had no end is killed, its threads are asked where they are. */
static void ask_hanging(struct run *run, enum run_killed why)
{
        run->killed = why;
        hang_report_ask(&run->hang_report, &run->main);
        run->until_ns = after_ms(run, HANG_REPORT_LOOK_MS);
}

static void look_at_hanging(struct run *run)
{
        run->until_ns = after_ms(run, HANG_REPORT_LOOK_MS);
        if (!hang_report_look(&run->hang_report, &run->main))
                return;
        containment_kill_group(run->main.pid);
        run->until_ns = 0;
}

/* A case is looked at again and again, to find a call that does not return as early as is fair. */
static void look_at_case(struct run *run)
{
        uint64_t could_run_ns = pace_look(&run->pace, &run->main);
        enum run_killed why = too_long(run, could_run_ns);

        run->until_ns = after_ms(run, STALL_LOOK_MS);
        if (why == KILLED_NOT) {
                run->stalled_ms =
                    stall_look(&run->stall, &run->main, &run->job.settings, could_run_ns);
                if (run->stalled_ms)
                        why = KILLED_STALL;
        }
        if (why != KILLED_NOT)
                ask_hanging(run, why);
}

static void overdue(struct run *run)
{
        switch (run->stage) {
        case STAGE_WORKING:
                if (run->hang_report.asked)
                        look_at_hanging(run);
                else if (run->kind == RUN_CASE)
                        look_at_case(run);
                else
                        kill_main(run, KILLED_DEADLINE);
                break;
        case STAGE_STOPPING:
                run->stop_unanswered = is_remote(run);
                if (run->stop_unanswered)
                        peer_ended(run, json_object());
                else
                        containment_kill_group(run->peer.pid);
                run->until_ns = 0;
                break;
        case STAGE_CLEARING:
                clear(run);
                break;
        case STAGE_DONE:
                break;
        }
}

int run_fds(const struct run *run, struct pollfd *fds)
{
        const struct lines *channel = &run->main.channel;
        short in = channel->ended ? 0 : POLLIN;
        short out = channel->queued ? POLLOUT : 0;
        int count = 0;

        if (run->kind == RUN_NONE)
                return 0;
        fds[count++] = (struct pollfd){.fd = run->output.read_fd, .events = POLLIN};
        if (in || out)
                fds[count++] = (struct pollfd){.fd = channel->in, .events = in | out};
        return count;
}

int run_timeout_ms(struct run *run)
{
        uint64_t now;
        uint64_t left_ms;

        if (run->kind == RUN_NONE || run->until_ns == 0 || run->stage == STAGE_DONE)
                return -1;
        now = tick(run);
        left_ms = now >= run->until_ns ? 0 : (run->until_ns - now) / NS_PER_MS + 1;
        return left_ms < TICK_MS ? (int)left_ms : TICK_MS;
}

/* Whether a poll has found anything at `fd`. */
static bool is_ready(const struct pollfd *fds, int count, int fd)
{
        for (int i = 0; i < count; i++)
                if (fds[i].fd == fd && fds[i].revents)
                        return true;
        return false;
}

void run_step(struct run *run, const struct pollfd *fds, int count)
{
        if (run->kind == RUN_NONE || run->stage == STAGE_DONE)
                return;
        if (is_ready(fds, count, run->output.read_fd))
                output_drain(&run->output);
        if (is_ready(fds, count, run->main.channel.in))
                hear(run);
        lines_write(&run->main.channel);
        if (run->until_ns && tick(run) >= run->until_ns)
                overdue(run);
        if (run_reap(run) && run->stage == STAGE_CLEARING) {
                output_drain(&run->output);
                calm(run);
                run->ipc_left = ipc_clear();
                run->ended_ns = now_ns();
                run->stage = STAGE_DONE;
        }
}

bool run_done(const struct run *run)
{
        return run->kind != RUN_NONE && run->stage == STAGE_DONE;
}

/* A verdict, while it is being found; and what ended the case in its teardown, if something did. */
struct finding {
        enum verdict verdict;
        const char *pending;
        char reason[REASON_MAX];
        const char *ended; /* "crash", "timeout" */
        char saw[64];
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

/* What the agent ended, it explains. */
static void find_killed(const struct run *run, struct finding *finding)
{
        switch (run->killed) {
        case KILLED_DEADLINE:
                find(finding, VERDICT_TIMEOUT, "no end after %u ms", run->deadline_ms);
                break;
        case KILLED_TEARDOWN:
                find(finding, VERDICT_TIMEOUT, "teardown had no end after %u ms", teardown_ms(run));
                break;
        case KILLED_STALL:
                find(finding, VERDICT_TIMEOUT, "no end of %s after %u ms",
                     finding->pending ? finding->pending : "a call", run->stalled_ms);
                break;
        case KILLED_ABORT:
                find(finding, VERDICT_BROKEN, "aborted by the runner");
                break;
        case KILLED_NOT:
                break;
        }
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
                     describe_status(run->main.status, how, sizeof(how)), finding->pending);
        else if (WIFSIGNALED(run->main.status))
                find(finding, VERDICT_CRASH, "%s",
                     describe_status(run->main.status, how, sizeof(how)));
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
                         teardown_ms(run));
        if (run->killed != KILLED_NOT)
                return;
        finding->ended = "crash";
        if (WIFSIGNALED(status))
                snprintf(finding->saw, sizeof(finding->saw), "%s", signal_name(WTERMSIG(status)));
        else
                snprintf(finding->saw, sizeof(finding->saw), "exit status %d", WEXITSTATUS(status));
}

/* Teardown takes no verdict from the clause: its own checks have given it one. */
static void find_verdict(const struct run *run, struct finding *finding)
{
        const struct evidence *evidence = run->main.evidence;
        struct sealed_verdict said;

        if (run->killed != KILLED_ABORT &&
            seal_opens(run->main.secrets, &evidence->end, SEAL_END, SEAL_END, &said)) {
                find(finding, (enum verdict)said.verdict, "%s", said.reason);
                return;
        }
        finding->pending = render_pending(evidence);
        if (run->killed != KILLED_ABORT && atomic_load(&evidence->phase) == PHASE_TEARDOWN &&
            seal_opens(run->main.secrets, &evidence->body, SEAL_BODY, SEAL_AGAIN, &said)) {
                find(finding, (enum verdict)said.verdict, "%s", said.reason);
                find_ended(run, finding);
                return;
        }
        if (run->killed != KILLED_NOT)
                find_killed(run, finding);
        else
                find_crash(run, finding);
}

/* Whoever overwrote the harness's memory may have broken anything else: that is told first. */
static void find_overwritten(struct finding *finding)
{
        static const char what[] = "memory of the harness was overwritten";
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
                find(finding, VERDICT_BROKEN, "no packet met the disturbed network (%s)",
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

/* What was found when the process itself was gone. */
static void find_remains(const struct run *run, struct finding *finding)
{
        find_undisturbed(run, finding);
        tell_peer_crash(run, finding);
        if (run->stop_unanswered && finding->verdict <= VERDICT_NOTE)
                find(finding, VERDICT_BROKEN, "the peer's host did not say that the peer is gone");
        if (!evidence_whole(run->main.evidence, run->main.secrets->canary))
                find_overwritten(finding);
        if (finding->verdict != VERDICT_PASS)
                return;
        if (run->strays && run->killed == KILLED_NOT)
                find(finding, VERDICT_NOTE, "processes that outlived the case: %u", run->strays);
        else if (run->ipc_left)
                find(finding, VERDICT_NOTE, "IPC objects that outlived the case: %u",
                     run->ipc_left);
        else if (run->garbage)
                find(finding, VERDICT_NOTE, "lines written to the suite's own channel: %u",
                     run->garbage);
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
            .ended = run->killed != KILLED_NOT,
            .teardown = teardown,
        };
        char against[REASON_MAX / 2];

        if (!follows_destroyed(run) && contradicts(&said, against, sizeof(against)))
                find(finding, VERDICT_CONTRADICTED,
                     "the record contradicts itself: %s was said, but %s",
                     verdict_name(said.verdict), against);
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
        if (run->killed == KILLED_NOT)
                emit_count(run, "leak", "processes that outlived the case and were killed",
                           run->strays, emit, context);
        emit_count(run, "leak", "IPC objects that outlived the case and were removed",
                   run->ipc_left, emit, context);
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

json_t *run_verdict(const struct run *run)
{
        struct finding finding = {.verdict = VERDICT_NONE};
        json_t *message;
        json_t *teardown;

        find_verdict(run, &finding);
        teardown = teardown_findings(run, &finding);
        find_remains(run, &finding);
        find_contradiction(run, json_array_size(teardown) > 0, &finding);
        message = json_pack("{s:s s:I s:s s:s s:o}", "type", "verdict", "seq", (json_int_t)run->seq,
                            "case", run->job.ref->id, "verdict", verdict_name(finding.verdict),
                            "reason", text_json(finding.reason, strlen(finding.reason)));
        if (finding.pending && !finding.ended)
                json_object_set_new(message, "pending", json_string(finding.pending));
        if (json_array_size(teardown))
                json_object_set(message, "teardown", teardown);
        json_decref(teardown);
        json_object_set_new(message, "us",
                            json_integer((json_int_t)((run->ended_ns - run->started_ns) / 1000)));
        json_object_set_new(message, "output", all_output(run));
        if (json_is_string(json_object_get(run->remote, "unfit")))
                json_object_set(message, "peer_unfit", json_object_get(run->remote, "unfit"));
        return message;
}

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

/* A probe that tells of an IA has opened, asked and closed one, and has come to its end. */
static bool has_met_ia(const struct run *run)
{
        const struct evidence *evidence = run->main.evidence;

        return has_returned(evidence, "dat_ia_openv") && has_returned(evidence, "dat_ia_query") &&
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

void run_probed(const struct run *run, struct probe *probe)
{
        const struct evidence *evidence = run->main.evidence;
        const char *pending = render_pending(evidence);
        struct sealed_verdict end;
        char how[64];

        memcpy(probe, &evidence->probe, sizeof(*probe));
        probe->ia[sizeof(probe->ia) - 1] = '\0';
        probe->reason[sizeof(probe->reason) - 1] = '\0';
        probe->library[sizeof(probe->library) - 1] = '\0';
        if (probe->left_count > PROBE_LEFT_MAX)
                probe->left_count = PROBE_LEFT_MAX;
        for (size_t i = 0; i < PROBE_LEFT_MAX; i++)
                probe->left[i][PROBE_LEFT_TEXT - 1] = '\0';
        if (seal_opens(run->main.secrets, &evidence->end, SEAL_END, SEAL_END, &end)) {
                if (probe->open ? !has_met_ia(run) : !probe->reason[0])
                        refuse_probe(probe);
                return;
        }
        probe->open = false;
        if (!pending)
                pending = "the probe, outside of any call";
        if (run->killed != KILLED_NOT)
                snprintf(probe->reason, sizeof(probe->reason), "no end after %u ms of %s",
                         run->deadline_ms, pending);
        else
                snprintf(probe->reason, sizeof(probe->reason), "%s in %s",
                         describe_status(run->main.status, how, sizeof(how)), pending);
}

json_t *run_stopped(const struct run *run)
{
        json_t *data = describe_end(&run->main);
        json_t *teardown = json_array();

        peer_teardown(&run->main, teardown);
        if (json_array_size(teardown))
                json_object_set(data, "teardown", teardown);
        json_decref(teardown);
        json_object_set_new(data, "output", text_json(run->output.text, run->output.length));
        if (run->disturbed)
                json_object_set_new(data, "disturbed",
                                    json_pack("{s:s s:I}", "network", run->disturbance.text,
                                              "packets", (json_int_t)run->packets));
        return data;
}

void run_forget(struct run *run)
{
        if (run->kind == RUN_NONE)
                return;
        output_close(&run->output);
        child_forget(&run->main);
        if (run->peer.started)
                child_forget(&run->peer);
        if (has_joined(run))
                close(run->peer_end);
        json_decref(run->remote);
        *run = (struct run){
            .kind = RUN_NONE,
            .peer_out = run->peer_out,
            .context = run->context,
        };
}
