/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The service points of a peer: PSPs, or RSPs if the provider makes the EPs of all PSPs itself. An
 * RSP takes one request. When that is answered, another RSP with a new EP takes its place, before
 * the answer to the command; so the next request finds it.
 */
#include "peer/peer_conn.h"

#define CR_QLEN         128
#define CONN_QUAL_FIRST 22000

static DAT_RETURN create(struct peer_process *process, struct point *point)
{
        if (point->conn)
                return dat_rsp_create(process->ia, point->qual, point->conn->ep, process->cr_evd,
                                      &point->handle);
        return dat_psp_create(process->ia, point->qual, process->cr_evd, DAT_PSP_CONSUMER_FLAG,
                              &point->handle);
}

static const char *creating(const struct point *point)
{
        return point->reserved ? "dat_rsp_create" : "dat_psp_create";
}

/* At the first free qualifier from `first` on. */
static json_t *open_point(struct peer_process *process, struct point *point, DAT_CONN_QUAL first)
{
        for (DAT_CONN_QUAL i = 0; i < PEER_CONN_QUALS; i++) {
                DAT_RETURN ret;

                point->qual = CONN_QUAL_FIRST + (first + i) % PEER_CONN_QUALS;
                ret = create(process, point);
                if (dat_is(ret, DAT_SUCCESS)) {
                        process->point_count++;
                        return json_pack("{s:b s:s s:I}", "ok", 1, "address", process->address,
                                         "qual", (json_int_t)point->qual);
                }
                if (!dat_is(ret, DAT_CONN_QUAL_IN_USE) && !dat_is(ret, DAT_CONN_QUAL_UNAVAILABLE))
                        return peer_no_call(creating(point), ret);
        }
        return peer_no("no connection qualifier is free");
}

json_t *peer_do_listen(struct peer_process *process, const json_t *command)
{
        struct point *point = &process->points[process->point_count];
        json_t *refusal;

        if (process->point_count == POINTS_MAX)
                return peer_no("no more than %d qualifiers", POINTS_MAX);
        if (!process->cr_evd)
                TRY(dat_evd_create, process->ia, peer_at_most(process->attr.max_evd_qlen, CR_QLEN),
                    DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &process->cr_evd);
        *point = (struct point){
            .reserved = json_is_true(json_object_get(command, "rsp")),
            .reads = (DAT_COUNT)peer_number(command, "reads"),
        };
        if (point->reserved) {
                point->conn = peer_conn_new(process, point->reads, &refusal);
                if (!point->conn)
                        return refusal;
        }
        return open_point(process, point, (DAT_CONN_QUAL)peer_number(command, "from"));
}

/* An RSP that had its request may be gone already (RSP-1). */
static json_t *close_point(struct point *point)
{
        DAT_HANDLE handle = point->handle;
        DAT_RETURN ret;

        point->handle = DAT_HANDLE_NULL;
        if (!handle)
                return NULL;
        ret = point->reserved ? dat_rsp_free(handle) : dat_psp_free(handle);
        if (dat_is(ret, DAT_SUCCESS) ||
            (point->reserved && !point->conn && dat_is(ret, DAT_INVALID_HANDLE)))
                return NULL;
        return peer_no_call(point->reserved ? "dat_rsp_free" : "dat_psp_free", ret);
}

json_t *peer_do_stop_listening(struct peer_process *process, const json_t *command)
{
        DAT_CONN_QUAL qual = (DAT_CONN_QUAL)peer_number(command, "qual");

        for (int i = 0; i < process->point_count; i++) {
                struct point *point = &process->points[i];
                json_t *refusal;

                if (point->closed || point->qual != qual)
                        continue;
                refusal = close_point(point);
                point->closed = !refusal;
                return refusal ? refusal : peer_yes();
        }
        return peer_no("no qualifier %llu is listened at", (unsigned long long)qual);
}

/* The RSP that waits at this qualifier, or else any; NULL if none waits. */
static struct point *waiting_at(struct peer_process *process, DAT_CONN_QUAL qual)
{
        struct point *any = NULL;

        for (int i = 0; i < process->point_count; i++) {
                struct point *point = &process->points[i];

                if (!point->reserved || !point->conn)
                        continue;
                if (point->qual == qual)
                        return point;
                if (!any && !point->closed)
                        any = point;
        }
        return any;
}

struct peer_request peer_request_of(struct peer_process *process, const DAT_EVENT *event)
{
        const DAT_CR_ARRIVAL_EVENT_DATA *arrival = &event->event_data.cr_arrival_event_data;
        struct peer_request request = {.cr = arrival->cr_handle};
        struct point *point = waiting_at(process, arrival->conn_qual);

        if (point) {
                request.conn = point->conn;
                request.point = point;
                point->conn = NULL;
        }
        return request;
}

static json_t *reopen(struct peer_process *process, struct point *point, DAT_COUNT reads)
{
        json_t *refusal = close_point(point);

        if (refusal)
                return refusal;
        point->reads = reads;
        point->conn = peer_conn_new(process, reads, &refusal);
        if (!point->conn)
                return refusal;
        TRY(create, process, point);
        return NULL;
}

json_t *peer_request_over(struct peer_process *process, const struct peer_request *request)
{
        struct point *point = request->point;

        return point && !point->closed ? reopen(process, point, point->reads) : NULL;
}

json_t *peer_do_reads(struct peer_process *process, const json_t *command)
{
        DAT_COUNT reads = (DAT_COUNT)peer_number(command, "reads");

        for (int i = 0; i < process->point_count; i++) {
                struct point *point = &process->points[i];
                json_t *refusal = NULL;

                if (point->conn && !point->closed && point->reads != reads)
                        refusal = reopen(process, point, reads);
                if (refusal)
                        return refusal;
        }
        return peer_yes();
}
