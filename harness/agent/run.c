/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/containment.h"
#include "agent/contradiction.h"
#include "agent/ipc.h"
#include "agent/scratch.h"

/* How long a peer may take to end on request, on this host and on the other one. */
#define STOP_LOCAL_MS  2000
#define STOP_REMOTE_MS 5000
/* How often what cannot be killed at once is killed again. */
#define CLEAR_AGAIN_MS 100

/*
 * By how many of its deadlines a case may exceed its limits, if it makes progress. The runner waits
 * for as long (EXTENSION in runners/campaign/session/session.py).
 */
#define EXTENSION 3

/* What an event of a probe may take, by which its calls are limited: a third, if local. */
#define PROBE_EVENT_MS 15000

/* How often the agent looks at a clock of its own that has something to say. */
#define TICK_MS STALL_LOOK_MS

/*
 * The run's clock, which advances only as long as the agent gets to look at it: a host that stands
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
unsigned int run_teardown_ms(const struct run *run)
{
        return 2 * run->job.settings.event_ms + 1000;
}

unsigned int run_extension_ms(const struct run *run)
{
        return EXTENSION * run->deadline_ms;
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
        run->until_ns = after_ms(run, STALL_LOOK_MS);
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
        run->peer_job = (struct peer_job){.ia = job->settings.probe->ia,
                                          .address = job->settings.probe->address,
                                          .unasked = job->settings.probe->unasked[UNASKED_IA_QUERY],
                                          .event_ms = job->settings.event_ms};
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

/*
 * The case's process asks for what the suite's own code never asks for in such a case: the
 * provider in that process does it.
 */
static void refuse(struct run *run, const char *what)
{
        if (!run->overreach)
                run->overreach = what;
}

/* How long the network of the peer's host may be disturbed: until the case's teardown has ended. */
static unsigned int disturbed_ms(const struct run *run)
{
        unsigned int wanted = run->deadline_ms + run_extension_ms(run) + run_teardown_ms(run);

        return run->job.settings.gdb || wanted > DISTURBED_MAX_MS ? DISTURBED_MAX_MS : wanted;
}

static void start_peer(struct run *run)
{
        const struct child_files files = {
            .output = run->output.write_fd,
            .channel = run->peer_end,
            .peer = -1,
        };

        if (run->job.ref->entry->peers == 0) {
                refuse(run, "to start a peer, which it does not have");
                return;
        }
        if (run->peer_state != PEER_OFF || run->stage != STAGE_WORKING)
                return;
        if (!is_remote(run) && !has_joined(run))
                return;
        if (is_remote(run)) {
                run->peer_state = PEER_ON;
                run->peer_out(run->context, run->seq, "start",
                              json_pack("{s:i s:s s:i}", "event_ms", (int)run->peer_job.event_ms,
                                        "case", run->job.ref->id, "disturbed_ms",
                                        (int)disturbed_ms(run)));
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

/*
 * Only between two hosts is there a network without other users, and only a case of
 * check = "network" disturbs it.
 */
static void disturb(struct run *run, json_t *data)
{
        const char *why = "its peer is on the case's own host";

        if (!run->job.ref->entry->network)
                refuse(run, why = "to disturb the network, and it has not check = \"network\"");
        else if (!disturbance_permits(data))
                refuse(run, why = "to disturb the network more than any case does");
        else if (is_remote(run)) {
                if (run->peer_state == PEER_ON)
                        run->peer_out(run->context, run->seq, "disturb", json_incref(data));
                json_decref(data);
                return;
        }
        json_decref(data);
        tell_case(run, "data", json_pack("{s:b s:s}", "ok", 0, "why", why));
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
                else
                        run->garbage++;
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

                if (message && (strcmp(op, "start") == 0 || strcmp(op, "disturb") == 0))
                        refuse(run, "for what a case alone asks for, and it is a peer");
                else if (!message || strcmp(op, "data") != 0)
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

/* Whether a case came to its end, and the agent let it go there. */
static bool is_own_end(const struct run *run, int status)
{
        return run->seen && run->killed == KILLED_NOT && WIFSIGNALED(status) &&
               WTERMSIG(status) == SIGKILL;
}

/* What a process had said comes before whatever its end leads to. */
static void reaped(struct run *run, pid_t pid, int status)
{
        if (pid == run->main.pid) {
                hear(run);
                run->main.pid = 0;
                run->main.status = is_own_end(run, status) ? 0 : status;
                stop_peer(run);
        } else if (pid == run->peer.pid) {
                run->peer.pid = 0;
                run->peer.status = status;
                unjoin(run);
                peer_ended(run, child_end_json(&run->peer));
        } else if (run->stage == STAGE_CLEARING && WIFSIGNALED(status)) {
                run->strays++;
        }
}

/* Looks at the code of a case's process, once, at the end that it says it has come to. */
static void look_at_end(struct run *run)
{
        if (run->kind != RUN_CASE || run->seen || run->main.pid == 0 ||
            atomic_load(&run->main.evidence->phase) != PHASE_DONE)
                return;
        run->seen = true;
        run->code = code_of(run->main.pid, run->code_text, sizeof(run->code_text));
}

/*
 * A case that is to be debugged has stopped itself: whoever waits for that is told. Any other one
 * has come to its end, and makes no more steps.
 */
static void stopped(struct run *run, pid_t pid)
{
        if (pid != run->main.pid || run->kind != RUN_CASE)
                return;
        if (run->job.settings.gdb) {
                run->stop_announced = true;
                return;
        }
        look_at_end(run);
        if (run->seen)
                kill(pid, END_SIGNAL);
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

        if (!run->peer_job.may_disturb || run->disturbed) {
                answer = json_pack(
                    "{s:b s:s}", "ok", 0, "why",
                    run->disturbed ? "the case has disturbed the network before"
                                   : "no case that has check = \"network\" has started the peer");
        } else if (disturbance_begin(&run->disturbance, run->peer_job.address, wanted, why,
                                     sizeof(why))) {
                run->disturbed = true;
                run->until_ns = after_ms(run, run->peer_job.disturbed_ms);
                answer = json_pack("{s:b s:s}", "ok", 1, "network", run->disturbance.text);
        } else {
                answer = json_pack("{s:b s:s}", "ok", 0, "why", why);
        }
        run->peer_out(run->context, run->seq, "data", answer);
}

/* Ends what the run asked of the network, where it has not ended yet. */
static void calm(struct run *run)
{
        if (!run->disturbance.netdev)
                return;
        disturbance_end(&run->disturbance, &run->packets, run->not_calmed, sizeof(run->not_calmed));
}

void run_peer_in(struct run *run, const char *op, json_t *data)
{
        if (run->kind == RUN_PEER ? run->stage != STAGE_WORKING : run->peer_state != PEER_ON) {
                json_decref(data);
        } else if (run->kind == RUN_PEER && strcmp(op, "stop") == 0) {
                lines_put(&run->main.channel, json_pack("{s:s}", "op", "stop"));
                run->until_ns = after_ms(run, STOP_LOCAL_MS);
                run->told_to_stop = true;
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
                run->messages++;
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

/* How much of `ns` the case may take beyond its limits. What it returns counts as taken. */
static uint64_t extend(struct run *run, uint64_t ns)
{
        uint64_t left = run_extension_ms(run) * NS_PER_MS - run->extended_ns;
        uint64_t granted = ns < left ? ns : left;

        run->extended_ns += granted;
        return granted;
}

/* What an event may take a case, of the time that the case has. */
static uint64_t patience_ns(const struct run *run)
{
        unsigned int ms = run->deadline_ms / EXTENSION;

        if (ms > run->job.settings.event_ms)
                ms = run->job.settings.event_ms;
        return ms * NS_PER_MS;
}

/* Whether the case or its peer has made progress as recently as an event may take it. */
static bool progresses(struct run *run, uint64_t could_run_ns)
{
        uint64_t progress = run->messages + progress_of(run->main.evidence);

        if (run->peer.started)
                progress += progress_of(run->peer.evidence);
        run->quiet_ns = progress > run->progress ? 0 : run->quiet_ns + could_run_ns;
        if (progress > run->progress)
                run->progress = progress;
        return run->quiet_ns < patience_ns(run);
}

/*
 * Whether what the case does now, its body or its teardown, should have ended: a case that is slow
 * makes progress, and one that hangs makes none.
 */
static enum run_killed too_long(struct run *run, uint64_t could_run_ns)
{
        bool body = atomic_load(&run->main.evidence->phase) == PHASE_BODY;
        uint64_t *spent_ns = body ? &run->body_ns : &run->teardown_ns;
        uint64_t limit_ns = (body ? run->deadline_ms : run_teardown_ms(run)) * NS_PER_MS;
        bool slow = progresses(run, could_run_ns);

        *spent_ns += could_run_ns;
        if (*spent_ns >= limit_ns && slow)
                *spent_ns -= extend(run, could_run_ns);
        if (*spent_ns < limit_ns)
                return KILLED_NOT;
        return body ? KILLED_DEADLINE : KILLED_TEARDOWN;
}

/* Whether the call that a case is in began so lately that it is not what has no end. */
static bool is_young(const struct run *run)
{
        const struct call_record *call = render_pending_call(run->main.evidence);

        return call && now_ns() - call->began_ns < patience_ns(run);
}

/* Before a case that had no end is killed, its threads are asked where they are. */
static void ask_hanging(struct run *run, enum run_killed why)
{
        run->killed = why;
        run->goes_on = why == KILLED_DEADLINE && is_young(run);
        hang_report_ask(&run->hang_report, &run->main);
        run->until_ns = after_ms(run, HANG_REPORT_LOOK_MS);
}

static void look_at_hanging(struct run *run)
{
        run->until_ns = after_ms(run, HANG_REPORT_LOOK_MS);
        if (!hang_report_look(&run->hang_report, &run->main))
                return;
        look_at_end(run);
        containment_kill_group(run->main.pid);
        run->until_ns = 0;
}

/* A case is looked at again and again, to find a call that does not return as early as is fair. */
static void look_at_case(struct run *run)
{
        struct pace_span span = pace_look(&run->pace, &run->main);
        enum run_killed why;

        span.kernel_ns = extend(run, span.kernel_ns);
        span.could_run_ns -= span.kernel_ns;
        why = too_long(run, span.could_run_ns);
        run->until_ns = after_ms(run, STALL_LOOK_MS);
        if (why == KILLED_NOT) {
                run->stalled_ms = stall_look(&run->stall, &run->main, &run->job.settings, &span);
                if (run->stalled_ms)
                        why = KILLED_STALL;
        }
        if (why != KILLED_NOT)
                ask_hanging(run, why);
}

/*
 * A probe has its time in all. A local call of it that could have run for a third of that and has
 * not returned hangs: a case gives it less. Opening the IA may take all of the time.
 */
static void look_at_probe(struct run *run)
{
        static const struct settings limits = {.event_ms = PROBE_EVENT_MS};
        struct pace_span span = pace_look(&run->pace, &run->main);

        run->until_ns = after_ms(run, STALL_LOOK_MS);
        run->body_ns += STALL_LOOK_MS * NS_PER_MS;
        span.could_run_ns -= span.kernel_ns;
        run->stalled_ms = stall_look(&run->stall, &run->main, &limits, &span);
        if (run->stalled_ms)
                kill_main(run, KILLED_STALL);
        else if (run->body_ns >= run->deadline_ms * NS_PER_MS)
                kill_main(run, KILLED_DEADLINE);
}

/* Ends the disturbance, though the case has not ended. */
static void disturbed_too_long(struct run *run)
{
        run->until_ns = 0;
        calm(run);
        disturbance_note_limit(&run->disturbance, run->peer_job.disturbed_ms);
}

static void overdue(struct run *run)
{
        switch (run->stage) {
        case STAGE_WORKING:
                if (run->hang_report.asked)
                        look_at_hanging(run);
                else if (run->kind == RUN_CASE)
                        look_at_case(run);
                else if (run->kind == RUN_PROBE)
                        look_at_probe(run);
                else if (run->told_to_stop)
                        kill_main(run, KILLED_DEADLINE);
                else
                        disturbed_too_long(run);
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
                run->files_left = scratch_clear();
                run->ended_ns = now_ns();
                run->stage = STAGE_DONE;
        }
}

bool run_done(const struct run *run)
{
        return run->kind != RUN_NONE && run->stage == STAGE_DONE;
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
