/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sends of a peer. A command queues a job; its messages are posted between commands, as the
 * completions of earlier ones free slots of the job's memory.
 */
#include "peer/peer_conn.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "case/ep_attr.h"
#include "evidence/api.h"
#include "peer/peer.h"

/* How long completions are waited for while commands may come. */
#define BETWEEN_COMMANDS_US 2000

/* A job is what the command says; there is no memory for it yet. */
static struct job parse_job(const json_t *command)
{
        struct job job = {
            .count = (int)peer_number(command, "count"),
            .length = (size_t)peer_number(command, "length"),
            .step = (size_t)peer_number(command, "step"),
            .first = (uint64_t)peer_number(command, "first"),
            .flags = (DAT_COMPLETION_FLAGS)peer_number(command, "flags"),
            .due_ns = now_ns() + (uint64_t)peer_number(command, "late") * 1000000,
        };

        job.window = job.count < EP_ATTR_DTOS ? job.count : EP_ATTR_DTOS;
        job.slot = job.length + job.step * (size_t)(job.count - 1);
        if (!job.slot)
                job.slot = 1; /* no memory of no bytes can be registered */
        return job;
}

json_t *peer_do_send(struct peer_process *process, const json_t *command)
{
        struct peer_conn *conn = process->conns[peer_number(command, "ep")];
        struct job job = parse_job(command);
        struct job **last = &conn->jobs;
        json_t *refusal;

        if (job.count < 1)
                return peer_no("there is nothing to send");
        if (job.flags & DAT_COMPLETION_SUPPRESS_FLAG)
                return peer_no("sends without completions cannot be counted");
        refusal = peer_register(process, job.slot * (size_t)job.window, &job.memory, &job.lmr,
                                &job.context);
        if (refusal)
                return refusal;
        while (*last)
                last = &(*last)->next;
        *last = malloc(sizeof(job));
        if (!*last)
                return peer_no("no memory");
        **last = job;
        process->progress_ns = now_ns();
        return peer_yes();
}

static void end_job(struct peer_conn *conn)
{
        struct job *job = conn->jobs;

        dat_lmr_free(job->lmr);
        munmap(job->memory, job->slot * (size_t)job->window);
        conn->jobs = job->next;
        free(job);
}

static void fail_sends(struct peer_conn *conn, const char *what, const char *how)
{
        snprintf(conn->failure, sizeof(conn->failure), "%s: %s", what, how);
        while (conn->jobs)
                end_job(conn);
}

void send_engine_post(struct peer_conn *conn)
{
        struct job *job = conn->jobs;

        if (job && now_ns() < job->due_ns)
                return;
        while (job && job->posted < job->count && job->posted - job->completed < job->window) {
                size_t slot = (size_t)(job->posted % job->window);
                size_t length = job->length + job->step * (size_t)job->posted;
                unsigned char *at = job->memory + slot * job->slot;
                DAT_LMR_TRIPLET segment = {
                    .lmr_context = job->context,
                    .virtual_address = (DAT_VADDR)(uintptr_t)at,
                    .segment_length = length,
                };
                DAT_DTO_COOKIE cookie = {.as_64 = (DAT_UINT64)job->posted};
                char space[API_NAME_SPACE];
                DAT_RETURN ret;

                message_fill(at, length, job->first + (uint64_t)job->posted);
                ret = dat_ep_post_send(conn->ep, length ? 1 : 0, length ? &segment : NULL, cookie,
                                       job->flags);
                if (!dat_is(ret, DAT_SUCCESS)) {
                        fail_sends(conn, "dat_ep_post_send", api_return_name(ret, space));
                        return;
                }
                job->posted++;
        }
}

void send_engine_reap(struct peer_process *process, struct peer_conn *conn, const DAT_EVENT *event)
{
        DAT_DTO_COMPLETION_STATUS status = event->event_data.dto_completion_event_data.status;
        struct job *job = conn->jobs;

        process->progress_ns = now_ns();
        if (!job)
                return;
        if (event->event_number != DAT_DTO_COMPLETION_EVENT || status != DAT_DTO_SUCCESS) {
                fail_sends(conn, "a send completed with", api_status_name(status));
                return;
        }
        if (++job->completed == job->count)
                end_job(conn);
}

/* Posts and reaps for all connections. */
struct peer_conn *send_engine_advance(struct peer_process *process)
{
        struct peer_conn *busy = NULL;

        for (int i = 0; i < process->conn_count; i++) {
                struct peer_conn *conn = process->conns[i];
                DAT_EVENT event;

                send_engine_post(conn);
                while (conn->jobs &&
                       dat_is(dat_evd_dequeue(conn->request_evd, &event), DAT_SUCCESS)) {
                        send_engine_reap(process, conn, &event);
                        send_engine_post(conn);
                }
                if (conn->jobs)
                        busy = conn;
        }
        return busy;
}

void send_engine_wait(struct peer_process *process, struct peer_conn *conn)
{
        DAT_EVENT event;
        DAT_COUNT more;
        DAT_RETURN ret = dat_evd_wait(conn->request_evd, BETWEEN_COMMANDS_US, 1, &event, &more);

        if (dat_is(ret, DAT_SUCCESS)) {
                send_engine_reap(process, conn, &event);
        } else if (!dat_is(ret, DAT_TIMEOUT_EXPIRED)) {
                char space[API_NAME_SPACE];

                fail_sends(conn, "dat_evd_wait", api_return_name(ret, space));
        }
}

/* Answers wait_sent as soon as there is an answer. */
void send_engine_answer(struct peer_process *process)
{
        struct peer_conn *conn = process->awaited;
        json_t *data = NULL;

        if (!conn)
                return;
        if (conn->failure[0]) {
                data = peer_by_call(peer_no("%s", conn->failure), "dat_ep_post_send", NULL);
                conn->failure[0] = '\0';
        } else if (!conn->jobs) {
                data = peer_yes();
        } else if (now_ns() - process->progress_ns > (uint64_t)process->event_ms * 1000000) {
                data = peer_by_call(
                    peer_no("%d of %d sends have completed, and no more within %u ms",
                            conn->jobs->completed, conn->jobs->count, process->event_ms),
                    "dat_ep_post_send", NULL);
        }
        if (!data)
                return;
        process->awaited = NULL;
        peer_reply(process, data);
}

json_t *peer_do_wait_sent(struct peer_process *process, const json_t *command)
{
        process->awaited = process->conns[peer_number(command, "ep")];
        process->progress_ns = now_ns();
        return NULL;
}
