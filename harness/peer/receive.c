/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands that post receives and wait for them. */
#include "evidence/api.h"
#include "peer/peer_conn.h"

#include "peer/peer.h"
json_t *peer_do_post_recv(struct peer_process *process, const json_t *command)
{
        struct peer_conn *conn = process->conns[peer_number(command, "ep")];
        int count = (int)peer_number(command, "count");
        size_t length = (size_t)peer_number(command, "length");
        unsigned char *memory;
        DAT_LMR_CONTEXT context;
        DAT_LMR_HANDLE lmr;
        json_t *refusal;

        if (count > RECVS_MAX - conn->recv_count)
                return peer_no("no more than %d receives", RECVS_MAX);
        refusal = peer_register(process, (size_t)count * length, &memory, &lmr, &context);
        if (refusal)
                return refusal;
        for (int i = 0; i < count; i++) {
                unsigned char *at = memory + (size_t)i * length;
                DAT_LMR_TRIPLET segment = {
                    .lmr_context = context,
                    .virtual_address = (DAT_VADDR)(uintptr_t)at,
                    .segment_length = length,
                };
                DAT_DTO_COOKIE cookie = {.as_64 = (DAT_UINT64)conn->recv_count};

                conn->recvs[conn->recv_count++] = (struct posted_recv){at, length};
                TRY(dat_ep_post_recv, conn->ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG);
        }
        return peer_yes();
}

json_t *peer_do_wait_recv(struct peer_process *process, const json_t *command)
{
        struct peer_conn *conn = process->conns[peer_number(command, "ep")];
        uint64_t sequence = (uint64_t)peer_number(command, "sequence");
        size_t length = (size_t)peer_number(command, "length");
        const DAT_DTO_COMPLETION_EVENT_DATA *dto;
        DAT_EVENT event;
        json_t *refusal = peer_await(process, conn->recv_evd, DAT_DTO_COMPLETION_EVENT, &event);

        if (refusal)
                return refusal;
        dto = &event.event_data.dto_completion_event_data;
        if (dto->status != DAT_DTO_SUCCESS)
                return peer_by_call(
                    peer_no("a receive completed with: %s", api_status_name(dto->status)),
                    "dat_ep_post_recv", NULL);
        if (dto->transfered_length != length)
                return peer_by_call(peer_no("%zu bytes were received, not %zu",
                                            (size_t)dto->transfered_length, length),
                                    "dat_ep_post_recv", NULL);
        if (dto->user_cookie.as_64 >= (DAT_UINT64)conn->recv_count)
                return peer_by_call(
                    peer_no("a receive completed with a cookie that no receive has"),
                    "dat_ep_post_recv", NULL);
        if (!message_holds(conn->recvs[dto->user_cookie.as_64].at, length, sequence))
                return peer_by_call(
                    peer_no("what was received is not message %llu", (unsigned long long)sequence),
                    "dat_ep_post_recv", NULL);
        return peer_yes();
}

json_t *peer_do_take_recv(struct peer_process *process, const json_t *command)
{
        struct peer_conn *conn = process->conns[peer_number(command, "ep")];
        const DAT_DTO_COMPLETION_EVENT_DATA *dto;
        DAT_EVENT event;
        json_t *none = peer_await(process, conn->recv_evd, DAT_DTO_COMPLETION_EVENT, &event);
        bool holds;

        if (none) {
                json_decref(none);
                return json_pack("{s:b s:b}", "ok", 1, "came", 0);
        }
        dto = &event.event_data.dto_completion_event_data;
        if (dto->user_cookie.as_64 >= (DAT_UINT64)conn->recv_count)
                return peer_by_call(
                    peer_no("a receive completed with a cookie that no receive has"),
                    "dat_ep_post_recv", NULL);
        holds = dto->transfered_length <= conn->recvs[dto->user_cookie.as_64].length &&
                message_holds(conn->recvs[dto->user_cookie.as_64].at, dto->transfered_length,
                              (uint64_t)peer_number(command, "sequence"));
        return json_pack("{s:b s:b s:i s:I s:b}", "ok", 1, "came", 1, "status", (int)dto->status,
                         "length", (json_int_t)dto->transfered_length, "holds", holds);
}
