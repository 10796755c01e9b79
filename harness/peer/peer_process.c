/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One thread does everything, since a provider need not be thread-safe: it obeys commands as they
 * come, and between them posts queued sends as completions allow.
 */
#include "peer/peer_conn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "evidence/address.h"
#include "evidence/seal.h"
#include "evidence/trace.h"
#include "peer/peer_process.h"

static json_t *query(struct peer_process *process, DAT_EVD_HANDLE async)
{
        static DAT_PROVIDER_ATTR provider;

        TRY(dat_ia_query, process->ia, &async, DAT_IA_FIELD_ALL, &process->attr,
            DAT_PROVIDER_FIELD_ALL, &provider);
        address_text(process->attr.ia_address_ptr, process->address, sizeof(process->address));
        return NULL;
}

/* Without dat_ia_query the peer knows of no limit to what it needs, and has no RDMA reads. */
static json_t *do_without_query(struct peer_process *process, const struct peer_job *job)
{
        process->attr = (DAT_IA_ATTR){.max_evd_qlen = INT_MAX, .max_dto_per_ep = INT_MAX};
        snprintf(process->address, sizeof(process->address), "%s", job->address);
        if (process->address[0])
                return NULL;
        return peer_by_call(peer_no("dat_ia_query is not called: %s", job->unasked), "dat_ia_query",
                            "no answer to the probe");
}

static json_t *open_ia(struct peer_process *process, const struct peer_job *job)
{
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        json_t *no;

        TRY(dat_ia_open, (DAT_NAME_PTR)job->ia, 64, &async, &process->ia);
        no = job->unasked[0] ? do_without_query(process, job) : query(process, async);
        if (no)
                return no;
        TRY(dat_pz_create, process->ia, &process->pz);
        return NULL;
}

/* Whether the process whose stat this is has stopped, as far as the kernel tells. */
static bool is_stopped(int stat)
{
        char text[256] = "";
        const char *state;

        if (pread(stat, text, sizeof(text) - 1, 0) <= 0)
                return false;
        state = strrchr(text, ')');
        return state && state[1] == ' ' && state[2] == 'T';
}

/* Stops `pid` until something comes on its channel, or the channel ends. */
static _Noreturn void hold(struct peer_process *process, pid_t pid, int stat)
{
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        kill(pid, SIGSTOP);
        while (getppid() == pid && !is_stopped(stat))
                sched_yield();
        peer_reply(process, peer_yes());
        lines_wait_readable(&process->channel, -1);
        kill(pid, SIGCONT);
        _exit(0);
}

/*
 * Another process does it, since one that is stopped can neither answer nor go on by itself. It is
 * given the stat of this one: /proc may know it by another number than this PID namespace does.
 */
static json_t *do_freeze(struct peer_process *process, const json_t *command)
{
        pid_t self = getpid();
        int stat = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
        pid_t holder = fork();
        int status;

        (void)command;
        if (holder == 0)
                hold(process, self, stat);
        close(stat);
        if (holder < 0)
                return peer_no("no process to hold the peer: %s", strerror(errno));
        while (waitpid(holder, &status, 0) < 0 && errno == EINTR)
                ;
        return NULL;
}

static json_t *do_kill(struct peer_process *process, const json_t *command)
{
        (void)command;
        peer_reply(process, peer_yes());
        raise(SIGKILL);
        return NULL;
}

static json_t *obey(struct peer_process *process, const json_t *command)
{
        static const struct {
                const char *name;
                json_t *(*function)(struct peer_process *process, const json_t *command);
                bool of_conn;
        } commands[] = {
            {"listen", peer_do_listen, false},
            {"accept", peer_do_accept, false},
            {"show", peer_do_show, true},
            {"send", peer_do_send, true},
            {"wait_sent", peer_do_wait_sent, true},
            {"post_recv", peer_do_post_recv, true},
            {"wait_recv", peer_do_wait_recv, true},
            {"take_recv", peer_do_take_recv, true},
            {"disconnect", peer_do_disconnect, true},
            {"wait_disconnected", peer_do_wait_disconnected, true},
            {"stop_listening", peer_do_stop_listening, false},
            {"reads", peer_do_reads, false},
            {"take_request", peer_do_take_request, false},
            {"has_request", peer_do_has_request, false},
            {"accept_request", peer_do_accept_request, false},
            {"reject", peer_do_reject, false},
            {"request", peer_do_request, false},
            {"give_up", peer_do_give_up, true},
            {"port", peer_do_port, true},
            {"wait_event", peer_do_wait_event, true},
            {"has_event", peer_do_has_event, true},
            {"wait_connected", peer_do_wait_connected, true},
            {"expose", peer_do_expose, true},
            {"holds", peer_do_holds, true},
            {"read", peer_do_read, true},
            {"write", peer_do_write, true},
            {"freeze", do_freeze, false},
            {"kill", do_kill, false},
        };
        const char *name = json_string_value(json_object_get(command, "do"));

        if (process->broken)
                return json_deep_copy(process->broken);
        for (size_t i = 0; name && i < sizeof(commands) / sizeof(commands[0]); i++) {
                long long ep = peer_number(command, "ep");

                if (strcmp(commands[i].name, name) != 0)
                        continue;
                if (commands[i].of_conn && (ep < 0 || ep >= process->conn_count))
                        return peer_no("there is no connection %lld", ep);
                return commands[i].function(process, command);
        }
        return peer_no("the command \"%s\" is unknown", name ? name : "");
}

/* What it has goes with its IA, in whatever state: an abrupt close is never refused. */
static void close_ia(const struct peer_process *process, struct evidence *evidence)
{
        atomic_store(&evidence->phase, PHASE_TEARDOWN);
        if (process->ia && !dat_is(dat_ia_close(process->ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS))
                atomic_store(&evidence->refused, trace_count());
}

/* Obeys what has come; false if the peer must end. */
static bool take_commands(struct peer_process *process)
{
        char *line;

        lines_read(&process->channel);
        while ((line = lines_next(&process->channel))) {
                json_t *message = json_loads(line, 0, NULL);
                const char *op = json_string_value(json_object_get(message, "op"));
                json_t *command = json_object_get(message, "data");
                bool stop = op && strcmp(op, "stop") == 0;
                json_t *data = NULL;

                /* A provider of the case's that writes to descriptors at random commands nothing.
                 */
                if (!stop && json_is_object(command))
                        data = obey(process, command);
                json_decref(message);
                if (stop)
                        return false;
                if (data)
                        peer_reply(process, data);
        }
        return !process->channel.ended;
}

void peer_process(const void *arg, struct evidence *evidence, int channel)
{
        static struct peer_process process;
        const struct peer_job *job = arg;
        process.event_ms = job->event_ms;
        lines_open(&process.channel, channel, channel);
        process.broken = open_ia(&process, job);
        if (process.broken)
                json_object_set_new(
                    process.broken, "why",
                    json_pack("s+", "open its IA: ",
                              json_string_value(json_object_get(process.broken, "why"))));
        do {
                struct peer_conn *busy = send_engine_advance(&process);

                send_engine_answer(&process);
                if (busy)
                        send_engine_wait(&process, busy);
                else if (!process.awaited)
                        lines_wait_readable(&process.channel, -1);
        } while (take_commands(&process));
        close_ia(&process, evidence);
        verdict_seal(&evidence->end, SEAL_END, VERDICT_PASS, "", NULL);
        atomic_store(&evidence->phase, PHASE_DONE);
}
