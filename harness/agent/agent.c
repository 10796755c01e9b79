/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/agent.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "agent/build_id.h"
#include "agent/host_health.h"
#include "agent/library.h"
#include "agent/preload.h"
#include "agent/privilege.h"
#include "agent/probe_result.h"
#include "agent/run.h"
#include "agent/trials.h"
#include "agent/verdict.h"
#include "case/needs.h"
#include "evidence/api.h"

#define PROTOCOL          1
#define PROBE_DEADLINE_MS 15000
#define BEAT_MS           1000
#define SEQ_MAX           ((json_int_t)1 << 53)
#define DEADLINE_MAX_MS   3600000
#define EVENT_MAX_MS      600000
#define EVENT_DEFAULT_MS  3000
#define QUIET_MAX_MS      60000

struct agent {
        struct lines lines;
        const char *named; /* the IA; NULL: the registry's first */
        struct run run;
        struct probe probe;
        struct host_health health; /* of the host, as the probe left it */
        struct library library;    /* of the IA */
        struct probe threadsafe;   /* of the IA's threadsafe entry */
        struct probe_job asked;    /* of the probe under way */
        const struct assumptions *assumptions;
        struct trials trials;              /* of what no attribute tells of */
        bool trying;                       /* the run under way is a trial */
        json_t *ia;                        /* what hello says of it */
        char case_ia[DAT_NAME_MAX_LENGTH]; /* of the run under way */
        char libdat_fault[DAT_NAME_MAX_LENGTH];
        char program[PROGRAM_MAX];
        uint64_t beat_ns; /* when the next heartbeat of a run is due */
        int signals;
        bool greeted;
        bool debugger_told;
        bool leaving;
        int status;
};

static void say(struct agent *agent, json_t *message)
{
        lines_put(&agent->lines, message);
}

static void say_error(struct agent *agent, json_int_t seq, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void say_error(struct agent *agent, json_int_t seq, const char *format, ...)
{
        json_t *message = json_pack("{s:s}", "type", "error");
        char reason[1024];
        va_list args;

        va_start(args, format);
        vsnprintf(reason, sizeof(reason), format, args);
        va_end(args);
        if (seq)
                json_object_set_new(message, "seq", json_integer(seq));
        json_object_set_new(message, "reason", text_json(reason, strlen(reason)));
        say(agent, message);
}

static void leave(struct agent *agent, int status)
{
        agent->leaving = true;
        agent->status = status;
        if (agent->run.kind != RUN_NONE)
                run_abandon(&agent->run);
}

static void emit(void *context, const char *event, size_t length)
{
        struct agent *agent = context;

        lines_put_text(&agent->lines, event, length);
}

/* What this host says about a peer: as the case's side, or as the one that hosts it. */
static void say_peer(void *context, unsigned long long seq, const char *op, json_t *data)
{
        struct agent *agent = context;
        const char *from = agent->run.kind == RUN_PEER ? "peer" : "case";

        say(agent, json_pack("{s:s s:I s:s s:s s:o}", "type", "peer", "seq", (json_int_t)seq,
                             "from", from, "op", op, "data", data));
}

static pid_t own_pid(void)
{
        char text[32];
        ssize_t length = readlink("/proc/self", text, sizeof(text) - 1);

        text[length < 0 ? 0 : length] = '\0';
        return (pid_t)strtol(text, NULL, 10);
}

static json_t *describe_ia(struct agent *agent)
{
        const struct probe *probe = &agent->probe;
        json_t *ia = json_object();

        json_object_set_new(ia, "name", text_json(probe->ia, strlen(probe->ia)));
        json_object_set_new(ia, "open", json_boolean(probe->open));
        if (probe->open) {
                if (probe->library[0])
                        json_object_set_new(ia, "library",
                                            text_json(probe->library, strlen(probe->library)));
                if (probe->build_id[0])
                        json_object_set_new(ia, "build_id", json_string(probe->build_id));
                if (agent->library.sha256[0])
                        json_object_set_new(ia, "sha256", json_string(agent->library.sha256));
                json_object_set_new(ia, "attributes", render_attributes(probe));
        } else {
                json_object_set_new(ia, "reason", text_json(probe->reason, strlen(probe->reason)));
        }
        json_object_set_new(ia, "output",
                            text_json(agent->run.output.text, agent->run.output.length));
        return ia;
}

/* What became of calls in probes, so that fixtures do without them. */
static void describe_unasked(struct agent *agent)
{
        json_t *unlooked = json_object();

        for (enum unasked i = 0; i < UNASKED_COUNT; i++) {
                const char *why = agent->probe.unasked[i];

                if (why[0] && i == UNASKED_IA_QUERY)
                        json_object_set_new(agent->ia, "unasked", text_json(why, strlen(why)));
                else if (why[0])
                        json_object_set_new(unlooked, unasked_call(i), text_json(why, strlen(why)));
        }
        if (json_object_size(unlooked))
                json_object_set(agent->ia, "unlooked", unlooked);
        json_decref(unlooked);
}

/* The file that this process has its registry from: whoever chose it can see that it was taken. */
static const char *libdat_path(void)
{
        void *function = dlsym(RTLD_DEFAULT, "dat_strerror");
        Dl_info info;

        return function && dladdr(function, &info) && info.dli_fname ? info.dli_fname : "";
}

static void answer_hello(struct agent *agent)
{
        char id[BUILD_ID_MAX];
        char digest[REGISTRY_DIGEST_MAX];

        build_id(id, sizeof(id));
        registry_digest(digest);
        json_t *found = trials_json(&agent->trials);

        if (agent->probe.open) {
                describe_unasked(agent);
                json_object_set_new(
                    agent->ia, "needs",
                    needs_declared_json(&agent->probe, &agent->threadsafe, &agent->trials.found));
        }
        if (found)
                json_object_set_new(agent->ia, "found", found);
        say(agent,
            json_pack("{s:s s:i s:s s:i s:s s:s s:i s:s s:s s:o s:o}", "type", "hello", "protocol",
                      PROTOCOL, "suite", UDAPL_CTS_VERSION, "pid", (int)own_pid(), "build", id,
                      "catalogue", digest, "cases", (int)registry_count(), "api", UDAPL_CTS_API,
                      "libdat", libdat_path(), "kept", privilege_kept_json(), "ia", agent->ia));
        agent->ia = NULL;
        agent->greeted = true;
        disturbance_forget(agent->probe.address);
        host_health_note(&agent->health, agent->probe.address);
        preload(&agent->probe);
}

/* No case is to meet what another one has asked of the network. */
static void give_up(struct agent *agent, const char *why)
{
        say_error(agent, 0, "%s", why);
        leave(agent, 1);
}

/* A command that cannot be taken ends the session. */
static bool refuse(struct agent *agent, const char *what)
{
        say_error(agent, 0, "line %zu: %s", agent->lines.number, what);
        leave(agent, 1);
        return false;
}

static void await_beat(struct agent *agent)
{
        agent->beat_ns = now_ns() + BEAT_MS * NS_PER_MS;
}

/* The next trial of a feature that no attribute tells of; hello is answered after the last one. */
static void try_next(struct agent *agent)
{
        agent->trying = !agent->leaving && trials_next(&agent->trials, &agent->run);
        if (!agent->trying)
                answer_hello(agent);
}

static bool probe_again(struct agent *agent)
{
        return run_probe(&agent->run, &agent->asked, PROBE_DEADLINE_MS) ||
               refuse(agent, "the host has not the means for a process");
}

/*
 * Whether another probe follows one that has learned all that it can: where the IA opens, one looks
 * at an EP, and then its threadsafe entry is asked. What the one gave no answer to the other is not
 * asked.
 */
static bool has_next_probe(struct agent *agent)
{
        if (!agent->probe.open || agent->asked.threadsafe)
                return false;
        agent->asked.threadsafe = agent->asked.looks;
        agent->asked.looks = !agent->asked.looks;
        return true;
}

static void take_probe(struct agent *agent)
{
        bool first = !agent->ia;
        bool more = run_probed(&agent->run, &agent->asked,
                               agent->asked.threadsafe ? &agent->threadsafe : &agent->probe);

        agent->asked.ia = agent->probe.ia;
        if (first && !more) {
                library_learn(&agent->library, agent->probe.library);
                agent->ia = describe_ia(agent);
        }
        run_forget(&agent->run);
        await_beat(agent);
        if (more || has_next_probe(agent)) {
                probe_again(agent);
                return;
        }
        trials_begin(&agent->trials, agent->assumptions, &agent->probe, &agent->threadsafe);
        try_next(agent);
}

/* Nobody can say which of two libraries a process had: it has told of neither. */
static void take_back(json_t *told, const char *why)
{
        if (json_object_get(told, "verdict")) {
                json_object_set_new(told, "verdict", json_string("ERROR"));
                json_object_set_new(told, "reason", text_json(why, strlen(why)));
        }
        json_object_set_new(told, "unfit", text_json(why, strlen(why)));
}

/* What a run has told, and whether the host is what it was before. */
static json_t *with_health(struct agent *agent, json_t *told)
{
        char text[HOST_HEALTH_TEXT_MAX];
        char other[LIBRARY_TEXT_MAX];

        if (!library_holds(&agent->library, other))
                take_back(told, other);
        else if (!host_health_holds(&agent->health, text))
                json_object_set_new(told, "unfit", json_string(text));
        return told;
}

static void finish_run(struct agent *agent)
{
        struct run *run = &agent->run;

        if (agent->trying) {
                trials_take(&agent->trials, run);
                run_forget(run);
                try_next(agent);
                return;
        }
        switch (run->kind) {
        case RUN_PROBE:
                take_probe(agent);
                return;
        case RUN_CASE:
                run_events(run, emit, agent);
                say(agent, with_health(agent, run_verdict(run)));
                break;
        case RUN_PEER:
                run_events(run, emit, agent);
                say_peer(agent, run->seq, "stopped", with_health(agent, run_stopped(run)));
                if (run->not_calmed[0])
                        give_up(agent, run->not_calmed);
                break;
        case RUN_NONE:
                break;
        }
        run_forget(run);
}

static bool take_hello(struct agent *agent, json_t *message)
{
        int protocol;

        if (json_unpack_ex(message, NULL, JSON_STRICT, "{s:s s:i}", "type", &(char *){NULL},
                           "protocol", &protocol) != 0)
                return refuse(agent, "hello has a member that is missing, unknown or wrong");
        if (protocol != PROTOCOL) {
                say_error(agent, 0, "protocol %d is asked for, this agent speaks %d", protocol,
                          PROTOCOL);
                leave(agent, 1);
                return false;
        }
        if (agent->greeted || agent->run.kind != RUN_NONE)
                return refuse(agent, "hello is said twice");
        agent->asked = (struct probe_job){.ia = agent->named};
        return probe_again(agent);
}

static bool parse_mode(const char *text, enum peer_mode *mode)
{
        static const char *const names[] = {"none", "local", "remote"};

        for (int i = 0; i < 3; i++)
                if (strcmp(text, names[i]) == 0) {
                        *mode = (enum peer_mode)i;
                        return true;
                }
        return false;
}

static bool within(json_int_t value, json_int_t least, json_int_t most)
{
        return value >= least && value <= most;
}

static void no_such_case(struct agent *agent, json_int_t seq, const char *id)
{
        char *text = registry_no_such(id);

        say_error(agent, seq, "%s", text);
        free(text);
}

/* A run for which the host has not the means has its verdict at once. */
static void say_no_means(struct agent *agent, json_int_t seq, const struct case_ref *ref)
{
        say(agent, json_pack("{s:s s:I s:s s:s s:s+ s:i s:s}", "type", "verdict", "seq", seq,
                             "case", ref->id, "verdict", "RESOURCE", "reason",
                             "the case's process was not started: ", strerror(errno), "us", 0,
                             "output", ""));
}

/* The calls of a `run` that are hurried; false where there are too many, or one is no call. */
static bool parse_hurried(json_t *names, struct hurried *hurried)
{
        size_t index;
        json_t *name;

        if (names && (!json_is_array(names) || json_array_size(names) > HURRIED_MAX))
                return false;
        json_array_foreach(names, index, name)
        {
                const char *wanted = json_string_value(name);
                size_t function = 0;

                while (wanted && function < api_function_count &&
                       strcmp(api_functions[function].name, wanted) != 0)
                        function++;
                if (!wanted || function == api_function_count)
                        return false;
                hurried->functions[hurried->count++] = (uint16_t)function;
        }
        return true;
}

static bool take_run(struct agent *agent, json_t *message)
{
        json_int_t seq, deadline_ms, event_ms, quiet_ms;
        const char *id, *mode;
        const char *ia = agent->probe.ia;
        const char *libdat_fault = "";
        const char *program = "";
        int gdb;
        int undeclared = 0;
        int thorough = 0;
        json_int_t seed = 0;
        json_t *hurried = NULL;
        struct case_job job = {.settings = {.ia = agent->case_ia,
                                            .libdat_fault = agent->libdat_fault,
                                            .program = agent->program}};

        if (json_unpack_ex(message, NULL, JSON_STRICT,
                           "{s:s s:I s:s s:s s:I s:I s:I s:b s?s s?s s?b s?b s?I s?o s?s}", "type",
                           &(char *){NULL}, "seq", &seq, "case", &id, "peer", &mode, "deadline_ms",
                           &deadline_ms, "event_ms", &event_ms, "quiet_ms", &quiet_ms, "gdb", &gdb,
                           "ia", &ia, "libdat_fault", &libdat_fault, "undeclared", &undeclared,
                           "thorough", &thorough, "seed", &seed, "hurried", &hurried, "program",
                           &program) != 0 ||
            strlen(ia) >= sizeof(agent->case_ia) ||
            strlen(libdat_fault) >= sizeof(agent->libdat_fault) ||
            strlen(program) >= sizeof(agent->program) || !within(seq, 1, SEQ_MAX) || seed < 0 ||
            !within(deadline_ms, 1, DEADLINE_MAX_MS) || !within(event_ms, 1, EVENT_MAX_MS) ||
            !within(quiet_ms, 0, QUIET_MAX_MS) || !parse_mode(mode, &job.settings.peer_mode) ||
            !parse_hurried(hurried, &job.settings.hurried))
                return refuse(agent, "run has a member that is missing, unknown or wrong");
        if (agent->run.kind != RUN_NONE) {
                say_error(agent, seq, "run %llu is still under way", agent->run.seq);
                return true;
        }
        job.ref = registry_find(id);
        if (!job.ref) {
                no_such_case(agent, seq, id);
                return true;
        }
        memcpy(agent->case_ia, ia, strlen(ia) + 1);
        memcpy(agent->libdat_fault, libdat_fault, strlen(libdat_fault) + 1);
        memcpy(agent->program, program, strlen(program) + 1);
        job.settings.probe = case_probe(job.ref, &agent->probe, &agent->threadsafe);
        job.settings.found = agent->trials.found;
        job.settings.deadline_ms = (unsigned int)deadline_ms;
        job.settings.event_ms = (unsigned int)event_ms;
        job.settings.quiet_ms = (unsigned int)quiet_ms;
        job.settings.gdb = gdb;
        job.settings.undeclared = undeclared;
        job.settings.thorough = thorough;
        job.settings.seed = (uint64_t)seed;
        agent->debugger_told = false;
        await_beat(agent);
        if (!run_case(&agent->run, (unsigned long long)seq, &job))
                say_no_means(agent, seq, job.ref);
        return true;
}

/* Whether the case that starts a peer may have this host's network disturbed, and how long. */
static void permit_disturbance(struct peer_job *job, const json_t *data)
{
        const char *id = json_string_value(json_object_get(data, "case"));
        const struct case_ref *ref = id ? registry_find(id) : NULL;
        json_int_t ms = json_integer_value(json_object_get(data, "disturbed_ms"));

        job->may_disturb = ref && ref->entry->network && within(ms, 1, DISTURBED_MAX_MS);
        job->disturbed_ms = job->may_disturb ? (unsigned int)ms : 0;
}

/* Another host's case asks for a peer; what prevents it is said as the peer's end. */
static void host_peer(struct agent *agent, json_int_t seq, const json_t *data)
{
        const json_t *said = json_object_get(data, "event_ms");
        json_int_t event_ms = said ? json_integer_value(said) : EVENT_DEFAULT_MS;
        struct peer_job job = {.ia = agent->probe.ia,
                               .address = agent->probe.address,
                               .unasked = agent->probe.unasked[UNASKED_IA_QUERY],
                               .event_ms = (unsigned int)event_ms};
        const char *why = "the peer's host is busy with another run";

        permit_disturbance(&job, data);
        if (agent->run.kind == RUN_NONE && within(event_ms, 1, EVENT_MAX_MS)) {
                await_beat(agent);
                if (run_peer(&agent->run, (unsigned long long)seq, &job))
                        return;
                why = strerror(errno);
        }
        say(agent, json_pack("{s:s s:I s:s s:s s:{s:i s:s}}", "type", "peer", "seq", seq, "from",
                             "peer", "op", "stopped", "data", "status", 0, "reason", why));
}

static bool is_one_of(const char *text, const char *const *list)
{
        for (; *list; list++)
                if (strcmp(text, *list) == 0)
                        return true;
        return false;
}

static bool take_peer(struct agent *agent, json_t *message)
{
        static const char *const to_host[] = {"start", "data", "disturb", "stop", NULL};
        static const char *const to_case[] = {"data", "stopped", NULL};
        enum run_kind wanted;
        json_int_t seq;
        const char *from, *op;
        json_t *data;

        if (json_unpack_ex(message, NULL, JSON_STRICT, "{s:s s:I s:s s:s s:o}", "type",
                           &(char *){NULL}, "seq", &seq, "from", &from, "op", &op, "data",
                           &data) != 0 ||
            !within(seq, 1, SEQ_MAX) || !json_is_object(data))
                return refuse(agent, "peer has a member that is missing, unknown or wrong");
        if (strcmp(from, "case") == 0 && is_one_of(op, to_host))
                wanted = RUN_PEER;
        else if (strcmp(from, "peer") == 0 && is_one_of(op, to_case))
                wanted = RUN_CASE;
        else
                return refuse(agent, "peer has an unknown \"from\" or \"op\"");
        if (wanted == RUN_PEER && strcmp(op, "start") == 0)
                host_peer(agent, seq, data);
        else if (agent->run.kind == wanted && agent->run.seq == (unsigned long long)seq)
                run_peer_in(&agent->run, op, json_incref(data));
        return true;
}

static bool take_abort(struct agent *agent, json_t *message)
{
        json_int_t seq;

        if (json_unpack_ex(message, NULL, JSON_STRICT, "{s:s s:I}", "type", &(char *){NULL}, "seq",
                           &seq) != 0)
                return refuse(agent, "abort has a member that is missing, unknown or wrong");
        if (agent->run.kind == RUN_CASE && agent->run.seq == (unsigned long long)seq)
                run_abort(&agent->run);
        return true;
}

static bool take_bye(struct agent *agent, json_t *message)
{
        if (json_object_size(message) != 1)
                return refuse(agent, "bye has a member that is unknown");
        leave(agent, 0);
        return false;
}

/* Obeys one line; false when no more lines are to be taken. */
static bool take_line(struct agent *agent, const char *line)
{
        static const struct {
                const char *type;
                bool (*take)(struct agent *agent, json_t *message);
                bool needs_hello;
        } commands[] = {
            {"hello", take_hello, false}, {"run", take_run, true},  {"peer", take_peer, true},
            {"abort", take_abort, true},  {"bye", take_bye, false},
        };
        json_t *message = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        const char *type = json_string_value(json_object_get(message, "type"));
        bool more = false;
        size_t i = 0;
        size_t count = sizeof(commands) / sizeof(commands[0]);

        if (!message) {
                say_error(agent, 0, "line %zu is not JSON", agent->lines.number);
                leave(agent, 1);
                return false;
        }
        while (i < count && (!type || strcmp(commands[i].type, type) != 0))
                i++;
        if (i == count)
                refuse(agent, "its type is missing or unknown");
        else if (commands[i].needs_hello && !agent->greeted)
                refuse(agent, "the session has not been opened by hello");
        else
                more = commands[i].take(agent, message);
        json_decref(message);
        return more;
}

/* What comes before hello is answered has to wait for that. */
static bool listens(const struct agent *agent)
{
        return !agent->leaving && agent->run.kind != RUN_PROBE && !agent->trying;
}

/* Obeys what has come; after the run that it had to wait for, what came in the meantime too. */
static void take_lines(struct agent *agent, bool more)
{
        char *line;

        if (!listens(agent))
                return;
        if (more)
                lines_read(&agent->lines);
        while (listens(agent) && (line = lines_next(&agent->lines)))
                if (!take_line(agent, line))
                        return;
        if (!listens(agent))
                return;
        if (agent->lines.overlong)
                refuse(agent, "it is longer than 1 MiB");
        else if (agent->lines.ended)
                leave(agent, 0);
}

static void tell_debugger(struct agent *agent)
{
        const struct run *run = &agent->run;
        char text[96];
        int pid;

        if (!run->stop_announced || agent->debugger_told)
                return;
        agent->debugger_told = true;
        pid = atomic_load(&run->main.evidence->pid);
        snprintf(text, sizeof(text), "process %d waits for a debugger: gdb -p %d", pid, pid);
        say(agent, json_pack("{s:s s:I s:s s:s}", "type", "event", "seq", (json_int_t)run->seq,
                             "kind", "record", "text", text));
}

static bool beats(const struct agent *agent)
{
        return agent->run.kind == RUN_CASE || agent->run.kind == RUN_PEER ||
               (agent->run.kind == RUN_PROBE &&
                (agent->asked.looks || agent->asked.asks != PROBE_ASKS_ALL));
}

/* How long to sleep: until the run wants its turn or a heartbeat is due; -1 without an end. */
static int sleep_ms(struct agent *agent)
{
        int wanted = run_timeout_ms(&agent->run);
        uint64_t now = now_ns();
        int left;

        if (!beats(agent))
                return wanted;
        left = now >= agent->beat_ns ? 0 : (int)((agent->beat_ns - now) / NS_PER_MS) + 1;
        return wanted >= 0 && wanted < left ? wanted : left;
}

/* Tells the runner each second of a run, of trials, and of more probes that this host lives. */
static void beat(struct agent *agent)
{
        json_t *message;

        if (!beats(agent) || now_ns() < agent->beat_ns)
                return;
        await_beat(agent);
        message = json_pack("{s:s}", "type", "heartbeat");
        if (!agent->trying && agent->run.kind != RUN_PROBE)
                json_object_set_new(message, "seq", json_integer((json_int_t)agent->run.seq));
        say(agent, message);
}

static void step(struct agent *agent)
{
        struct pollfd fds[RUN_FDS_MAX + 3];
        struct signalfd_siginfo signal;
        int count = run_fds(&agent->run, fds);
        struct pollfd *signals = &fds[count++];
        struct pollfd *in = &fds[count++];

        *signals = (struct pollfd){.fd = agent->signals, .events = POLLIN};
        *in = (struct pollfd){.fd = listens(agent) ? agent->lines.in : -1, .events = POLLIN};
        if (agent->lines.queued)
                fds[count++] = (struct pollfd){.fd = agent->lines.out, .events = POLLOUT};
        poll(fds, (nfds_t)count, sleep_ms(agent));
        while (signals->revents && read(agent->signals, &signal, sizeof(signal)) > 0)
                ;
        lines_write(&agent->lines);
        take_lines(agent, in->revents != 0);
        run_step(&agent->run, fds, count);
        tell_debugger(agent);
        beat(agent);
        if (run_done(&agent->run)) {
                finish_run(agent);
                take_lines(agent, false);
        }
        if (agent->lines.lost && !agent->leaving)
                leave(agent, 1);
}

int agent_serve(const char *ia, const struct assumptions *assumptions, int in, int out)
{
        static struct agent agent;
        sigset_t child;

        signal(SIGPIPE, SIG_IGN);
        sigemptyset(&child);
        sigaddset(&child, SIGCHLD);
        sigprocmask(SIG_BLOCK, &child, NULL);
        agent.signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
        agent.named = ia;
        agent.assumptions = assumptions;
        agent.run = (struct run){.peer_out = say_peer, .context = &agent};
        lines_open(&agent.lines, in, out);
        while (!agent.leaving || agent.run.kind != RUN_NONE)
                step(&agent);
        lines_wait_written(&agent.lines, 2000);
        lines_close(&agent.lines);
        return agent.status;
}
