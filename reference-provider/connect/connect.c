/* SPDX-License-Identifier: BSD-2-Clause */
#include "connect/connect.h"
#include "base/handle.h"
#include "base/ia.h"
#include "connect/cm_conn.h"
#include "connect/cm_event.h"
#include "connect/cm_wire.h"
#include "connect/sp.h"
#include "endpoint/ep.h"
#include "endpoint/ep_state.h"
#include "endpoint/qp.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

struct target {
        struct sockaddr_storage address;
        DAT_CONN_QUAL qual;
        DAT_TIMEOUT timeout;
        DAT_COUNT size;
        const void *data;
};

static bool start_fragment(struct ia *ia, const struct target *target, uint32_t token)
{
        struct wire_fragment fragment = {.wire = wire_head(WIRE_FRAGMENT, target->size)};
        size_t rest = (size_t)(target->size - MAIN_PART);

        fragment.wire.token = token;
        memcpy(fragment.data, (const uint8_t *)target->data + MAIN_PART, rest);
        return conn_start_aside(ia, &target->address, target->qual, &fragment, sizeof(fragment));
}

static void write_request(struct conn *conn, const struct target *target)
{
        struct wire_request request = {.wire = wire_head(WIRE_REQUEST, target->size)};
        int part = target->size < MAIN_PART ? target->size : MAIN_PART;

        request.wire.fragmented = target->size > part;
        request.wire.keepalive_port = htobe16(conn->ia->keepalive_port);
        request.wire.token = conn_draw_token(conn->ia);
        request.qual = htobe64(target->qual);
        if (part)
                memcpy(request.data, target->data, (size_t)part);
        memcpy(conn->wire, &request, sizeof(request));
        conn->wire_size = sizeof(request);
        conn->token = request.wire.token;
        conn->fragmented = request.wire.fragmented;
}

static DAT_RETURN connect_locked(struct ep *ep, const struct target *target)
{
        struct ia *ia = ep->obj.ia;
        struct conn *conn;
        DAT_RETURN ret;

        if (!ep_allows(ep, EP_CONNECT))
                return ep_state_error(ep);
        ret = ep_make_qp(ep);
        if (ret != DAT_SUCCESS)
                return ret;
        conn = conn_new(ia, CONN_ACTIVE);
        if (!conn) {
                ep_drop_qp(ep);
                return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
        }
        write_request(conn, target);
        conn->qual = target->qual;
        conn_attach_ep(conn, ep);
        ep->initiated = true;
        ep->remote = target->address;
        ep->remote_qual = target->qual;
        ep->remote_port = port_of_qual(target->qual);
        ep->local_port = 0;
        ep->private_data_size = 0;
        ep_must_transition(ep, EP_CONNECT, (DAT_EVENT_NUMBER)0);
        if (target->timeout != DAT_TIMEOUT_INFINITE)
                conn_set_deadline(conn, target->timeout);
        if (conn_resolve(conn, &target->address)) {
                if (conn->id) {
                        conn_end(conn, DAT_CONNECTION_EVENT_UNREACHABLE);
                        return DAT_SUCCESS;
                }
                ep->conn = NULL;
                free(conn);
                ep_drop_qp(ep);
                ep_must_transition(ep, EP_CONNECT_UNSENT, (DAT_EVENT_NUMBER)0);
                return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
        }
        ep->local_port = conn->port;
        if (conn->fragmented && !start_fragment(ia, target, conn->token))
                conn_end(conn, DAT_CONNECTION_EVENT_UNREACHABLE);
        return DAT_SUCCESS;
}

static DAT_RETURN read_address(const struct sockaddr *address, struct sockaddr_storage *out)
{
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
        const struct sockaddr_in *four = (const struct sockaddr_in *)address;
        uint32_t host;

        memset(out, 0, sizeof(*out));
        if (address->sa_family == AF_INET6) {
                if (IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr) ||
                    IN6_IS_ADDR_MULTICAST(&six->sin6_addr))
                        return REF_ERROR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED);
                memcpy(out, six, sizeof(*six));
                return DAT_SUCCESS;
        }
        if (address->sa_family != AF_INET)
                return REF_ERROR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED);
        host = ntohl(four->sin_addr.s_addr);
        if (host == INADDR_ANY || IN_MULTICAST(host) || host == INADDR_BROADCAST)
                return REF_ERROR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED);
        memcpy(out, four, sizeof(*four));
        return DAT_SUCCESS;
}

static DAT_RETURN check_private_data(DAT_COUNT size, const void *data, int argument)
{
        if (size < 0 || size > REF_MAX_PRIVATE_DATA)
                return REF_ERROR(DAT_INVALID_PARAMETER, argument);
        if (size && !data)
                return REF_ERROR(DAT_INVALID_PARAMETER, argument + 1);
        return DAT_SUCCESS;
}

/*
 * dat_ep_connect(3DAT). Makes the queue pair in the call, so that the call returns an error if
 * there is none. Other failures are reported on the connect EVD within the timeout.
 */
DAT_RETURN ref_ep_connect(DAT_EP_HANDLE handle, DAT_IA_ADDRESS_PTR address, DAT_CONN_QUAL qual,
                          DAT_TIMEOUT timeout, DAT_COUNT size, const DAT_PVOID data, DAT_QOS qos,
                          DAT_CONNECT_FLAGS flags)
{
        struct ep *ep = object_get(handle, DAT_HANDLE_TYPE_EP);
        struct target target = {.qual = qual, .timeout = timeout, .size = size, .data = data};
        DAT_RETURN ret;
        bool paused;

        if (!ep)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
        if (!address)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        else if (!timeout)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
        else if ((unsigned int)flags & ~(unsigned int)DAT_CONNECT_MULTIPATH_FLAG)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG8);
        else if (qos != DAT_QOS_BEST_EFFORT || flags != DAT_CONNECT_DEFAULT_FLAG)
                ret = REF_ERROR(DAT_MODEL_NOT_SUPPORTED, 0);
        else
                ret = check_private_data(size, data, DAT_INVALID_ARG5);
        if (ret == DAT_SUCCESS)
                ret = read_address(address, &target.address);
        if (ret == DAT_SUCCESS) {
                paused = cm_call_begin(ep->obj.ia);
                ret = connect_locked(ep, &target);
                cm_call_end(ep->obj.ia, paused, ret);
        }
        object_put(ep);
        return ret;
}

/*
 * dat_ep_dup_connect(3DAT). A passive EP knows only the port of its peer. If no service point
 * listens there, the attempt fails as for any qualifier without one.
 */
DAT_RETURN ref_ep_dup_connect(DAT_EP_HANDLE handle, DAT_EP_HANDLE dup_handle, DAT_TIMEOUT timeout,
                              DAT_COUNT size, const DAT_PVOID data, DAT_QOS qos)
{
        struct ep *ep = object_get(handle, DAT_HANDLE_TYPE_EP);
        struct ep *dup = object_get(dup_handle, DAT_HANDLE_TYPE_EP);
        struct target target = {.timeout = timeout, .size = size, .data = data};
        DAT_RETURN ret;
        bool paused;

        if (!ep || !dup)
                ret = REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
        else if (!timeout)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        else if (qos != DAT_QOS_BEST_EFFORT)
                ret = REF_ERROR(DAT_MODEL_NOT_SUPPORTED, 0);
        else
                ret = check_private_data(size, data, DAT_INVALID_ARG4);
        if (ret == DAT_SUCCESS && dup->obj.ia != ep->obj.ia)
                ret = REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
        if (ret == DAT_SUCCESS) {
                paused = cm_call_begin(ep->obj.ia);
                if (atomic_load(&dup->state) == EP_CONNECTED) {
                        target.address = dup->remote;
                        target.qual = dup->initiated ? dup->remote_qual : dup->remote_port;
                        ret = connect_locked(ep, &target);
                } else {
                        ret = ep_state_error(dup);
                }
                cm_call_end(ep->obj.ia, paused, ret);
        }
        if (dup)
                object_put(dup);
        if (ep)
                object_put(ep);
        return ret;
}

static DAT_RETURN disconnect_locked(struct ep *ep, DAT_CLOSE_FLAGS flags)
{
        enum ep_event leaves =
            flags == DAT_CLOSE_ABRUPT_FLAG ? EP_DISCONNECT_ABRUPT : EP_DISCONNECT_GRACEFUL;

        return ep_transition(ep, leaves, DAT_CONNECTION_EVENT_DISCONNECTED) ? DAT_SUCCESS
                                                                            : ep_state_error(ep);
}

/* dat_ep_disconnect(3DAT) */
DAT_RETURN ref_ep_disconnect(DAT_EP_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
        struct ep *ep = object_get(handle, DAT_HANDLE_TYPE_EP);
        DAT_RETURN ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        bool paused;

        if (!ep)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
        if (flags == DAT_CLOSE_ABRUPT_FLAG || flags == DAT_CLOSE_GRACEFUL_FLAG) {
                paused = cm_call_begin(ep->obj.ia);
                ret = disconnect_locked(ep, flags);
                cm_call_end(ep->obj.ia, paused, ret);
        }
        object_put(ep);
        return ret;
}
