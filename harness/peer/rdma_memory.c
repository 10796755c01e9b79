/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that RDMA of the case reaches, and RDMA of the peer's own. */
#include "evidence/api.h"
#include "peer/peer_conn.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "peer/peer.h"

#define RDMA_COOKIE UINT64_MAX /* no send has it */

json_t *peer_do_expose(struct peer_process *process, const json_t *command)
{
        size_t length = (size_t)peer_number(command, "length");
        DAT_REGION_DESCRIPTION region;
        unsigned char *memory;
        DAT_LMR_HANDLE lmr;
        DAT_LMR_CONTEXT lmr_context;
        DAT_RMR_CONTEXT rmr_context;
        DAT_VLEN registered_length;
        DAT_VADDR registered_address;

        memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
                return peer_no("no memory for %zu bytes", length);
        message_fill(memory, length, 0);
        region.for_va = memory;
        TRY(dat_lmr_create, process->ia, DAT_MEM_TYPE_VIRTUAL, region, length, process->pz,
            DAT_MEM_PRIV_ALL_FLAG, &lmr, &lmr_context, &rmr_context, &registered_length,
            &registered_address);
        return json_pack("{s:b s:I s:I}", "ok", 1, "context", (json_int_t)rmr_context, "address",
                         (json_int_t)(uintptr_t)memory);
}

json_t *peer_do_holds(struct peer_process *process, const json_t *command)
{
        union {
                uintptr_t number;
                const unsigned char *pointer;
        } memory = {.number = (uintptr_t)peer_number(command, "address")};
        size_t offset = (size_t)peer_number(command, "offset");
        size_t length = (size_t)peer_number(command, "length");
        unsigned char *message = malloc(offset + length + 1);
        bool holds;

        (void)process;
        if (!message)
                return peer_no("no memory for %zu bytes", offset + length);
        message_fill(message, offset + length, (uint64_t)peer_number(command, "sequence"));
        holds = memcmp(memory.pointer + offset, message + offset, length) == 0;
        free(message);
        return json_pack("{s:b s:b}", "ok", 1, "holds", holds);
}

/* Waits for the connection's only RDMA operation. Sends posted before it complete meanwhile. */
static json_t *wait_rdma(struct peer_process *process, struct peer_conn *conn,
                         DAT_DTO_COMPLETION_STATUS *status)
{
        const DAT_DTO_COMPLETION_EVENT_DATA *dto;
        DAT_EVENT event;

        for (;;) {
                json_t *refusal =
                    peer_await(process, conn->request_evd, DAT_DTO_COMPLETION_EVENT, &event);

                if (refusal)
                        return refusal;
                dto = &event.event_data.dto_completion_event_data;
                *status = dto->status;
                if (dto->user_cookie.as_64 == RDMA_COOKIE)
                        return NULL;
                send_engine_reap(process, conn, &event);
                send_engine_post(conn);
        }
}

json_t *peer_do_read(struct peer_process *process, const json_t *command)
{
        struct peer_conn *conn = process->conns[peer_number(command, "ep")];
        size_t length = (size_t)peer_number(command, "length");
        DAT_RMR_TRIPLET from = {
            .rmr_context = (DAT_RMR_CONTEXT)peer_number(command, "context"),
            .target_address = (DAT_VADDR)peer_number(command, "address"),
            .segment_length = length,
        };
        DAT_LMR_TRIPLET to = {.segment_length = length};
        DAT_DTO_COMPLETION_STATUS status;
        unsigned char *memory;
        DAT_LMR_HANDLE lmr;
        json_t *refusal = peer_register(process, length, &memory, &lmr, &to.lmr_context);

        if (refusal)
                return refusal;
        to.virtual_address = (DAT_VADDR)(uintptr_t)memory;
        TRY(dat_ep_post_rdma_read, conn->ep, 1, &to, (DAT_DTO_COOKIE){.as_64 = RDMA_COOKIE}, &from,
            DAT_COMPLETION_DEFAULT_FLAG);
        refusal = wait_rdma(process, conn, &status);
        if (refusal)
                return refusal;
        return json_pack("{s:b s:b}", "ok", 1, "holds",
                         status == DAT_DTO_SUCCESS && message_holds(memory, length, 0));
}

json_t *peer_do_write(struct peer_process *process, const json_t *command)
{
        struct peer_conn *conn = process->conns[peer_number(command, "ep")];
        size_t length = (size_t)peer_number(command, "length");
        DAT_RMR_TRIPLET to = {
            .rmr_context = (DAT_RMR_CONTEXT)peer_number(command, "context"),
            .target_address = (DAT_VADDR)peer_number(command, "address"),
            .segment_length = length,
        };
        DAT_LMR_TRIPLET from = {.segment_length = length};
        DAT_DTO_COMPLETION_STATUS status;
        unsigned char *memory;
        DAT_LMR_HANDLE lmr;
        json_t *refusal = peer_register(process, length, &memory, &lmr, &from.lmr_context);

        if (refusal)
                return refusal;
        message_fill(memory, length, (uint64_t)peer_number(command, "sequence"));
        from.virtual_address = (DAT_VADDR)(uintptr_t)memory;
        TRY(dat_ep_post_rdma_write, conn->ep, 1, &from, (DAT_DTO_COOKIE){.as_64 = RDMA_COOKIE}, &to,
            DAT_COMPLETION_DEFAULT_FLAG);
        refusal = wait_rdma(process, conn, &status);
        if (refusal)
                return refusal;
        return status == DAT_DTO_SUCCESS ? peer_yes()
                                         : peer_by_call(peer_no("an RDMA write completed with: %s",
                                                                api_status_name(status)),
                                                        "dat_ep_post_rdma_write", NULL);
}
