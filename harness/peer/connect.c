/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands that connect, accept, reject and disconnect. */
#include "peer/peer_conn.h"

#include <string.h>

#include "evidence/address.h"
#include "peer/hex.h"
#include "peer/peer.h"

static struct peer_conn *new_conn(struct peer_process *process, const json_t *command,
                                  json_t **refusal)
{
        return peer_conn_new(process, (DAT_COUNT)peer_number(command, "reads"), refusal);
}

/* The private data that the case gave with the command, and its size. */
static DAT_COUNT parse_private_data(const json_t *command, unsigned char bytes[PEER_PRIVATE_MAX])
{
        const char *text = json_string_value(json_object_get(command, "private"));

        return text ? (DAT_COUNT)hex_parse(text, bytes, PEER_PRIVATE_MAX) : 0;
}

/* Private data that came, as the case reads it. */
static json_t *private_data_json(const void *bytes, DAT_COUNT size)
{
        return hex_json(bytes,
                        bytes && size > 0 ? (size_t)peer_at_most(PEER_PRIVATE_MAX, size) : 0);
}

json_t *peer_do_request(struct peer_process *process, const json_t *command)
{
        const char *text = json_string_value(json_object_get(command, "address"));
        unsigned char bytes[PEER_PRIVATE_MAX];
        DAT_COUNT size = parse_private_data(command, bytes);
        struct sockaddr_storage address;
        json_t *refusal;
        struct peer_conn *conn = new_conn(process, command, &refusal);

        if (!conn)
                return refusal;
        if (!text || !address_parse(text, &address))
                return peer_no("the case's IA has no usable address");
        TRY(dat_ep_connect, conn->ep, (DAT_IA_ADDRESS_PTR)&address,
            (DAT_CONN_QUAL)peer_number(command, "qual"),
            (DAT_TIMEOUT)peer_number(command, "timeout"), size, size ? bytes : NULL,
            DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
        return json_pack("{s:b s:i}", "ok", 1, "ep", conn->number);
}

json_t *peer_do_give_up(struct peer_process *process, const json_t *command)
{
        TRY(dat_ep_disconnect, process->conns[peer_number(command, "ep")]->ep,
            DAT_CLOSE_ABRUPT_FLAG);
        return peer_yes();
}

json_t *peer_do_port(struct peer_process *process, const json_t *command)
{
        DAT_EP_PARAM param = {.local_port_qual = 0};

        TRY(dat_ep_query, process->conns[peer_number(command, "ep")]->ep,
            DAT_EP_FIELD_LOCAL_PORT_QUAL, &param);
        return json_pack("{s:b s:I}", "ok", 1, "port", (json_int_t)param.local_port_qual);
}

json_t *peer_do_wait_event(struct peer_process *process, const json_t *command)
{
        struct peer_conn *conn = process->conns[peer_number(command, "ep")];
        const DAT_CONNECTION_EVENT_DATA *data;
        DAT_EVENT event;
        DAT_COUNT more;
        DAT_RETURN ret =
            dat_evd_wait(conn->connect_evd, process->event_ms * US_PER_MS, 1, &event, &more);

        if (dat_is(ret, DAT_TIMEOUT_EXPIRED))
                return peer_yes();
        if (!dat_is(ret, DAT_SUCCESS))
                return peer_no_call("dat_evd_wait", ret);
        data = &event.event_data.connect_event_data;
        return json_pack("{s:b s:s s:I s:i s:i s:o}", "ok", 1, "event", peer_event_name(&event),
                         "number", (json_int_t)event.event_number, "after_ms",
                         (int)((now_ns() - conn->made_ns) / 1000000), "size",
                         (int)data->private_data_size, "private",
                         private_data_json(data->private_data, data->private_data_size));
}

json_t *peer_do_has_event(struct peer_process *process, const json_t *command)
{
        struct peer_conn *conn = process->conns[peer_number(command, "ep")];
        DAT_EVENT event;
        DAT_RETURN ret = dat_evd_dequeue(conn->connect_evd, &event);

        if (!dat_is(ret, DAT_SUCCESS) && !dat_is(ret, DAT_QUEUE_EMPTY))
                return peer_no_call("dat_evd_dequeue", ret);
        return json_pack("{s:b s:b}", "ok", 1, "there", dat_is(ret, DAT_SUCCESS));
}

/* The next request, be it that a look has found it already. */
static json_t *next_request(struct peer_process *process, DAT_EVENT *event)
{
        if (!process->cr_evd)
                return peer_no("the peer listens nowhere");
        if (!process->has_pending)
                return peer_await(process, process->cr_evd, DAT_CONNECTION_REQUEST_EVENT, event);
        *event = process->pending;
        process->has_pending = false;
        return NULL;
}

json_t *peer_do_has_request(struct peer_process *process, const json_t *command)
{
        DAT_RETURN ret;

        (void)command;
        if (process->cr_evd && !process->has_pending) {
                ret = dat_evd_dequeue(process->cr_evd, &process->pending);
                if (!dat_is(ret, DAT_SUCCESS) && !dat_is(ret, DAT_QUEUE_EMPTY))
                        return peer_no_call("dat_evd_dequeue", ret);
                process->has_pending = dat_is(ret, DAT_SUCCESS);
        }
        return json_pack("{s:b s:b}", "ok", 1, "there", process->has_pending);
}

json_t *peer_do_take_request(struct peer_process *process, const json_t *command)
{
        const DAT_CR_ARRIVAL_EVENT_DATA *arrival;
        DAT_CR_PARAM param;
        char address[64];
        DAT_EVENT event = {.evd_handle = DAT_HANDLE_NULL};
        json_t *refusal;

        (void)command;
        if (process->request_count == REQUESTS_MAX)
                return peer_no("no more than %d requests", REQUESTS_MAX);
        refusal = next_request(process, &event);
        if (refusal)
                return refusal;
        arrival = &event.event_data.cr_arrival_event_data;
        TRY(dat_cr_query, arrival->cr_handle, DAT_CR_FIELD_ALL, &param);
        process->requests[process->request_count++] = peer_request_of(process, &event);
        address_text(param.remote_ia_address_ptr, address, sizeof(address));
        return json_pack("{s:b s:i s:I s:s s:I s:i s:o}", "ok", 1, "cr", process->request_count - 1,
                         "qual", (json_int_t)arrival->conn_qual, "address", address, "port",
                         (json_int_t)param.remote_port_qual, "size", (int)param.private_data_size,
                         "private", private_data_json(param.private_data, param.private_data_size));
}

/* The request that the command names, which it is to answer; without one also the refusal. */
static struct peer_request answered(struct peer_process *process, const json_t *command,
                                    json_t **refusal)
{
        long long at = peer_number(command, "cr");
        struct peer_request request = {.cr = DAT_HANDLE_NULL};

        *refusal = NULL;
        if (at >= 0 && at < process->request_count) {
                request = process->requests[at];
                process->requests[at].cr = DAT_HANDLE_NULL;
        }
        if (!request.cr)
                *refusal = peer_no("there is no request %lld to be answered", at);
        return request;
}

/* The accept names no EP if the request is an RSP's: it has that one's. */
static DAT_RETURN accept_by(const struct peer_request *request, struct peer_conn *conn,
                            DAT_COUNT size, DAT_PVOID data)
{
        conn->made_ns = now_ns();
        return dat_cr_accept(request->cr, request->conn ? DAT_HANDLE_NULL : conn->ep, size, data);
}

json_t *peer_do_accept_request(struct peer_process *process, const json_t *command)
{
        unsigned char bytes[PEER_PRIVATE_MAX];
        DAT_COUNT size = parse_private_data(command, bytes);
        json_t *refusal;
        struct peer_request request = answered(process, command, &refusal);
        struct peer_conn *conn = request.conn;
        DAT_RETURN ret;

        if (!request.cr)
                return refusal;
        if (!conn)
                conn = new_conn(process, command, &refusal);
        if (!conn)
                return refusal;
        ret = accept_by(&request, conn, size, size ? bytes : NULL);
        if (!dat_is(ret, DAT_SUCCESS))
                return peer_no_call("dat_cr_accept", ret);
        refusal = peer_request_over(process, &request);
        return refusal ? refusal : json_pack("{s:b s:i}", "ok", 1, "ep", conn->number);
}

static json_t *reject(struct peer_process *process, const struct peer_request *request)
{
        TRY(dat_cr_reject, request->cr);
        return peer_request_over(process, request);
}

json_t *peer_do_reject(struct peer_process *process, const json_t *command)
{
        json_t *refusal;
        struct peer_request request = answered(process, command, &refusal);

        if (request.cr)
                refusal = reject(process, &request);
        return refusal ? refusal : peer_yes();
}

json_t *peer_do_wait_connected(struct peer_process *process, const json_t *command)
{
        struct peer_conn *conn = process->conns[peer_number(command, "ep")];
        DAT_EVENT event;
        json_t *refusal =
            peer_await(process, conn->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, &event);

        return refusal ? refusal : peer_yes();
}

/*
 * Whether a request carries the token that the command names. Where the provider does not say what
 * it carries, that is for another clause's case to find.
 */
static bool is_the_cases(const json_t *command, DAT_CR_HANDLE request)
{
        const char *text = json_string_value(json_object_get(command, "token"));
        unsigned char token[PEER_TOKEN];
        DAT_CR_PARAM param;

        if (!text || hex_parse(text, token, sizeof(token)) != sizeof(token))
                return true;
        if (!dat_is(dat_cr_query(request, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS))
                return true;
        return param.private_data && param.private_data_size >= PEER_TOKEN &&
               memcmp(param.private_data, token, sizeof(token)) == 0;
}

/* The next request of the case; `strangers` counts those of others, which are rejected. */
static json_t *next_of_the_case(struct peer_process *process, const json_t *command,
                                struct peer_request *request, int *strangers)
{
        DAT_EVENT event = {.evd_handle = DAT_HANDLE_NULL};

        for (*strangers = 0; *strangers < REQUESTS_MAX; ++*strangers) {
                json_t *refusal = next_request(process, &event);

                if (refusal && *strangers)
                        json_object_set_new(
                            refusal, "why",
                            json_pack("s+",
                                      "no request with the token of the case; one without "
                                      "it, of a stranger, was rejected: ",
                                      json_string_value(json_object_get(refusal, "why"))));
                if (refusal)
                        return refusal;
                *request = peer_request_of(process, &event);
                if (is_the_cases(command, request->cr))
                        return NULL;
                refusal = reject(process, request);
                if (refusal)
                        return refusal;
        }
        return peer_no("strangers have asked at the peer's port %d times", *strangers);
}

/* The answer that the call did nothing, where the EP is in the state from before; or NULL. */
static json_t *in_vain(const char *call, const struct peer_conn *conn)
{
        DAT_BOOLEAN recv_idle;
        DAT_BOOLEAN request_idle;
        DAT_EP_STATE state;

        if (!dat_is(dat_ep_get_status(conn->ep, &state, &recv_idle, &request_idle), DAT_SUCCESS) ||
            state != DAT_EP_STATE_UNCONNECTED)
                return NULL;
        return peer_by_call(
            peer_no("%s returned DAT_SUCCESS, and its EP is still Unconnected", call), call,
            "DAT_SUCCESS, without its effect");
}

json_t *peer_do_show(struct peer_process *process, const json_t *command)
{
        const char *call = json_string_value(json_object_get(command, "call"));
        json_t *refusal = in_vain(call ? call : "", process->conns[peer_number(command, "ep")]);

        return refusal ? refusal : peer_yes();
}

/* The connection is accepted and Connected, or the answer says why it is not. */
static json_t *accept_next(struct peer_process *process, const json_t *command,
                           const struct peer_request *request, struct peer_conn *conn)
{
        DAT_RETURN ret = accept_by(request, conn, 0, NULL);
        DAT_EVENT event;
        json_t *refusal;
        json_t *better;

        if (!dat_is(ret, DAT_SUCCESS))
                return peer_no_call("dat_cr_accept", ret);
        refusal = peer_await(process, conn->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
        if (!refusal)
                return peer_request_over(process, request);
        if (!json_is_true(json_object_get(command, "look")))
                return refusal;
        better = in_vain("dat_cr_accept", conn);
        if (better)
                json_decref(refusal);
        return better ? better : refusal;
}

/* An RSP's request has its connection; for another one it is made before the request comes. */
json_t *peer_do_accept(struct peer_process *process, const json_t *command)
{
        struct peer_request request = {.cr = DAT_HANDLE_NULL};
        struct peer_conn *conn = NULL;
        json_t *refusal = NULL;
        int strangers;

        if (!json_is_true(json_object_get(command, "rsp")))
                conn = new_conn(process, command, &refusal);
        if (!refusal)
                refusal = next_of_the_case(process, command, &request, &strangers);
        if (refusal)
                return refusal;
        if (!conn)
                conn = request.conn;
        if (!conn)
                return peer_no("a request has come, and no RSP waits for one");
        refusal = accept_next(process, command, &request, conn);
        if (refusal)
                return refusal;
        return json_pack("{s:b s:i s:i}", "ok", 1, "ep", conn->number, "strangers", strangers);
}

json_t *peer_do_disconnect(struct peer_process *process, const json_t *command)
{
        struct peer_conn *conn = process->conns[peer_number(command, "ep")];
        json_t *refusal;
        DAT_EVENT event;

        TRY(dat_ep_disconnect, conn->ep, (DAT_CLOSE_FLAGS)peer_number(command, "flags"));
        refusal = peer_await(process, conn->connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
        return refusal ? refusal : peer_yes();
}

json_t *peer_do_wait_disconnected(struct peer_process *process, const json_t *command)
{
        struct peer_conn *conn = process->conns[peer_number(command, "ep")];
        DAT_EVENT event;
        json_t *refusal =
            peer_await_any(process, conn->connect_evd, &event, DAT_CONNECTION_EVENT_DISCONNECTED,
                           "end of the connection");

        if (refusal)
                return refusal;
        if (event.event_number != DAT_CONNECTION_EVENT_DISCONNECTED &&
            event.event_number != DAT_CONNECTION_EVENT_BROKEN)
                return peer_no("%s came instead of the end of the connection",
                               peer_event_name(&event));
        return peer_yes();
}
