/* SPDX-License-Identifier: BSD-2-Clause */
/* What the commands of a peer share: answers, waits for events, registered memory, EPs. */
#include "peer/peer_conn.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "case/ep_attr.h"
#include "case/step.h"
#include "evidence/api.h"

#define CONNECT_QLEN 8
#define RECV_QLEN    256
#define REQUEST_QLEN 64
#define RECV_DTOS    256
#define READS        4

json_t *peer_yes(void)
{
        return json_pack("{s:b}", "ok", 1);
}

json_t *peer_no(const char *format, ...) __attribute__((format(printf, 1, 2)));
json_t *peer_no(const char *format, ...)
{
        char why[256];
        va_list args;

        va_start(args, format);
        vsnprintf(why, sizeof(why), format, args);
        va_end(args);
        return json_pack("{s:b s:s}", "ok", 0, "why", why);
}

json_t *peer_by_call(json_t *refusal, const char *call, const char *seen)
{
        json_object_set_new(refusal, "call", json_string(call));
        if (seen)
                json_object_set_new(refusal, "ret", json_string(seen));
        return refusal;
}

json_t *peer_no_call(const char *call, DAT_RETURN ret)
{
        char type[API_NAME_SPACE];
        char subtype[API_NAME_SPACE];
        const char *name = api_return_name(ret, type);

        return peer_by_call(
            peer_no("%s returned %s, %s", call, name, api_subtype_name(ret, subtype)), call, name);
}

void peer_reply(struct peer_process *process, json_t *data)
{
        lines_put(&process->channel, json_pack("{s:s s:o}", "op", "data", "data", data));
        lines_wait_written(&process->channel, (int)process->event_ms);
}

const char *peer_event_name(const DAT_EVENT *event)
{
        const char *name =
            api_member_name(api_enum_named("DAT_EVENT_NUMBER"), (uint64_t)event->event_number);

        return name ? name : "an unknown event";
}

json_t *peer_await_any(const struct peer_process *process, DAT_EVD_HANDLE evd, DAT_EVENT *event,
                       DAT_EVENT_NUMBER number, const char *what)
{
        DAT_COUNT more;
        DAT_RETURN ret = dat_evd_wait(evd, process->event_ms * US_PER_MS, 1, event, &more);

        if (dat_is(ret, DAT_TIMEOUT_EXPIRED))
                return peer_by_call(peer_no("no %s within %u ms", what, process->event_ms),
                                    step_of_event(number), NULL);
        return dat_is(ret, DAT_SUCCESS) ? NULL : peer_no_call("dat_evd_wait", ret);
}

json_t *peer_await(const struct peer_process *process, DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number,
                   DAT_EVENT *event)
{
        const char *wanted = api_member_name(api_enum_named("DAT_EVENT_NUMBER"), (uint64_t)number);
        json_t *refusal = peer_await_any(process, evd, event, number, wanted);

        if (refusal)
                return refusal;
        return event->event_number == number
                   ? NULL
                   : peer_by_call(peer_no("%s came instead of %s", peer_event_name(event), wanted),
                                  step_of_event(number), peer_event_name(event));
}

long long peer_number(const json_t *command, const char *key)
{
        return json_integer_value(json_object_get(command, key));
}

DAT_COUNT peer_at_most(DAT_COUNT limit, DAT_COUNT wanted)
{
        return wanted < limit ? wanted : limit;
}

/* Memory of `length` bytes, registered. */
json_t *peer_register(const struct peer_process *process, size_t length, unsigned char **memory,
                      DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context)
{
        DAT_REGION_DESCRIPTION region;
        DAT_RMR_CONTEXT rmr_context;
        DAT_VLEN registered_length;
        DAT_VADDR registered_address;

        *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (*memory == MAP_FAILED)
                return peer_no("no memory for %zu bytes", length);
        region.for_va = *memory;
        TRY(dat_lmr_create, process->ia, DAT_MEM_TYPE_VIRTUAL, region, length, process->pz,
            DAT_MEM_PRIV_ALL_FLAG, lmr, context, &rmr_context, &registered_length,
            &registered_address);
        return NULL;
}

/*
 * Any EP of the case may read from the peer. The peer's own EPs may read only if the command says
 * so: a connection may be refused if one end reads more than the other end allows.
 */
static json_t *make_ep(struct peer_process *process, struct peer_conn *conn, DAT_COUNT reads_out)
{
        DAT_EP_ATTR attr = ep_attr_modest(&process->attr);

        attr.max_recv_dtos = peer_at_most(process->attr.max_dto_per_ep, RECV_DTOS);
        attr.max_rdma_read_in = peer_at_most(process->attr.max_rdma_read_per_ep_in, READS);
        attr.max_rdma_read_out = peer_at_most(process->attr.max_rdma_read_per_ep_out, reads_out);
        attr.max_rdma_read_iov = attr.max_rdma_read_out ? 1 : 0;
        TRY(dat_evd_create, process->ia, peer_at_most(process->attr.max_evd_qlen, RECV_QLEN),
            DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &conn->recv_evd);
        TRY(dat_evd_create, process->ia, REQUEST_QLEN, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
            &conn->request_evd);
        TRY(dat_evd_create, process->ia, CONNECT_QLEN, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
            &conn->connect_evd);
        TRY(dat_ep_create, process->ia, process->pz, conn->recv_evd, conn->request_evd,
            conn->connect_evd, &attr, &conn->ep);
        return NULL;
}

struct peer_conn *peer_conn_new(struct peer_process *process, DAT_COUNT reads, json_t **refusal)
{
        struct peer_conn *conn = NULL;

        if (process->conn_count < CONNS_MAX)
                conn = calloc(1, sizeof(*conn));
        if (!conn) {
                *refusal = peer_no("no more than %d connections", CONNS_MAX);
                return NULL;
        }
        conn->number = process->conn_count;
        process->conns[process->conn_count++] = conn;
        *refusal = make_ep(process, conn, reads);
        conn->made_ns = now_ns();
        return *refusal ? NULL : conn;
}
