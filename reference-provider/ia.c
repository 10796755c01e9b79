/* SPDX-License-Identifier: BSD-2-Clause */
#include "ia_api.h"
#include "async_evd.h"
#include "binding.h"
#include "cm_event.h"
#include "cm_timer.h"
#include "cno.h"
#include "cr.h"
#include "daplref.h"
#include "dat_abi.h"
#include "device.h"
#include "device_event.h"
#include "ends.h"
#include "ep.h"
#include "ep_state.h"
#include "evd.h"
#include "evd_cno.h"
#include "event_loop.h"
#include "handle.h"
#include "ia.h"
#include "ia_limits.h"
#include "iwarp.h"
#include "list.h"
#include "lmr.h"
#include "probe.h"
#include "pz.h"
#include "qp.h"
#include "rmr.h"
#include "sp.h"
#include "srq.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MIN_ASYNC_QLEN     16
#define DESCRIPTORS_PER_IA 14 /* some of them only while it opens */

static int descriptors_in_use(void)
{
        DIR *all = opendir("/proc/self/fd");
        int count = -3; /* itself, and the two names that every directory has */

        if (!all)
                return errno == EMFILE ? DESCRIPTORS_PLENTY : 0;
        while (readdir(all))
                count++;
        closedir(all);
        return count;
}

/* How many descriptors this process may still open; of very many it does not matter how many. */
static int descriptors_left(void)
{
        struct rlimit limit;
        int used;

        if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > DESCRIPTORS_PLENTY)
                return DESCRIPTORS_PLENTY;
        used = descriptors_in_use();
        return used < (int)limit.rlim_cur ? (int)limit.rlim_cur - used : 0;
}

/*
 * Of the highest that a process may have, are there as many free as an IA takes? As a rule there
 * are, and one call tells, where to count takes a look at a folder that the kernel has to make.
 */
static bool has_highest_descriptors(void)
{
        struct pollfd highest[2 * DESCRIPTORS_PER_IA];
        const int count = sizeof(highest) / sizeof(highest[0]);
        struct rlimit limit;
        int unused = 0;

        if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < (rlim_t)count ||
            limit.rlim_cur > INT_MAX)
                return false;
        for (int i = 0; i < count; i++)
                highest[i] = (struct pollfd){.fd = (int)limit.rlim_cur - 1 - i};
        if (poll(highest, (nfds_t)count, 0) < 0)
                return false;
        for (int i = 0; i < count; i++)
                unused += (highest[i].revents & POLLNVAL) != 0;
        return unused >= DESCRIPTORS_PER_IA;
}

static bool has_descriptors(const struct binding *binding)
{
        int left = has_highest_descriptors() ? DESCRIPTORS_PER_IA : descriptors_left();

        if (left < DESCRIPTORS_PER_IA)
                (void)fprintf(stderr,
                              "daplref: IA %s: it takes %d descriptors, and %d are left; see "
                              "'ulimit -n'\n",
                              binding->info.ia_name, DESCRIPTORS_PER_IA, left);
        return left >= DESCRIPTORS_PER_IA;
}

static struct ia *ia_new(const struct binding *binding)
{
        struct ia *ia = calloc(1, sizeof(*ia));

        if (!ia)
                return NULL;
        ia->binding = binding;
        ia->cm_fd = -1;
        event_loop_init(&ia->loop);
        pthread_mutex_init(&ia->lock, NULL);
        pthread_mutex_init(&ia->cm_turn, NULL);
        pthread_mutex_init(&ia->cm_lock, NULL);
        list_init(&ia->conns);
        list_init(&ia->doomed);
        list_init(&ia->iwarp_cm.attempted);
        ends_init(ia);
        list_init(&ia->listeners);
        for (int kind = 0; kind < REF_KINDS; kind++)
                list_init(&ia->objects[kind]);
        probe_init(ia);
        if (lmr_table_init(&ia->lmrs))
                return ia;
        free(ia);
        return NULL;
}

static void ia_delete(struct ia *ia)
{
        lmr_table_destroy(&ia->lmrs);
        ends_destroy(ia);
        event_loop_destroy(&ia->loop);
        pthread_mutex_destroy(&ia->cm_turn);
        pthread_mutex_destroy(&ia->cm_lock);
        pthread_mutex_destroy(&ia->lock);
        free(ia);
}

static void close_loop(struct ia *ia)
{
        cm_close_fd(ia);
        event_loop_close(&ia->loop);
}

/* Starts the service thread. On failure all descriptors of the loop are closed. */
static DAT_RETURN start_loop(struct ia *ia)
{
        ia->loop.tick = cm_tick;
        ia->loop.evd_ready = evd_object_ready;
        if (event_loop_open(&ia->loop) && cm_listen(ia) && device_event_listen(ia) &&
            event_loop_start(&ia->loop))
                return DAT_SUCCESS;
        close_loop(ia);
        return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_ERROR_HANDLER);
}

static DAT_RETURN open_parts(struct ia *ia, DAT_COUNT qlen, DAT_EVD_HANDLE async_evd)
{
        DAT_RETURN ret = evd_new(ia, 1, DAT_EVD_DTO_FLAG, &ia->sink);

        if (ret != DAT_SUCCESS)
                return ret;
        ia->sink->discards = true;
        ret = start_loop(ia);
        if (ret != DAT_SUCCESS)
                goto sink;
        ret = object_publish(ia, &ia->obj, DAT_HANDLE_TYPE_IA);
        if (ret != DAT_SUCCESS)
                goto service;
        ret = async_evd_open(ia, qlen, async_evd);
        if (ret == DAT_SUCCESS)
                return ret;
        object_kill(&ia->obj);
        object_bury(&ia->obj);
service:
        event_loop_stop(&ia->loop);
        close_loop(ia);
sink:
        evd_destroy(ia->sink);
        return ret;
}

static DAT_RETURN ia_open(const struct binding *binding, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
                          DAT_IA_HANDLE *ia_handle)
{
        struct ia *ia;
        DAT_RETURN ret;

        if (!binding)
                return REF_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
        if (!async_evd)
                return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        /* The length is for the EVD that is to be made, if one is. */
        if (*async_evd == DAT_HANDLE_NULL && (qlen < 0 || qlen > REF_MAX_EVD_QLEN))
                return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        if (!ia_handle)
                return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
        if (!has_descriptors(binding))
                return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
        ia = ia_new(binding);
        if (!ia)
                return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
        ret = device_choose(ia);
        if (ret != DAT_SUCCESS)
                goto delete;
        ret = open_parts(ia, qlen, *async_evd);
        if (ret != DAT_SUCCESS)
                goto release;
        if (ia->async_out_of_scope)
                *async_evd = (DAT_EVD_HANDLE)DAT_EVD_OUT_OF_SCOPE;
        else if (ia->owns_async_evd)
                *async_evd = object_handle(&ia->async_evd->obj);
        *ia_handle = object_handle(&ia->obj);
        return ret;
release:
        device_release(ia);
        delete : ia_delete(ia);
        return ret;
}

/* dat_ia_open(3DAT) for an entry that does not promise thread safety. */
DAT_RETURN ref_ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
                       DAT_IA_HANDLE *ia_handle)
{
        return ia_open(binding_find(name, DAT_FALSE), qlen, async_evd, ia_handle);
}

/* dat_ia_open(3DAT) for an entry that does. Both give the same IA. */
DAT_RETURN ref_ia_open_threadsafe(const DAT_NAME_PTR name, DAT_COUNT qlen,
                                  DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia_handle)
{
        return ia_open(binding_find(name, DAT_TRUE), qlen, async_evd, ia_handle);
}

static void read_version(const char *text, DAT_UINT32 *major, DAT_UINT32 *minor)
{
        char *rest;

        *major = (DAT_UINT32)strtoul(text, &rest, 10);
        *minor = *rest == '.' ? (DAT_UINT32)strtoul(rest + 1, NULL, 10) : 0;
}

static void describe_ia(struct ia *ia, DAT_IA_ATTR *attr)
{
        memset(attr, 0, sizeof(*attr));
        (void)snprintf(attr->adapter_name, sizeof(attr->adapter_name), "%s",
                       ia->binding->info.ia_name);
        (void)snprintf(attr->vendor_name, sizeof(attr->vendor_name), "0x%06x",
                       ia->device.vendor_id);
        attr->hardware_version_major = ia->device.hw_ver;
        read_version(ia->device.fw_ver, &attr->firmware_version_major,
                     &attr->firmware_version_minor);
        attr->ia_address_ptr = (DAT_IA_ADDRESS_PTR)&ia->address;
        attr->max_eps = ia->limits.objects[DAT_HANDLE_TYPE_EP];
        attr->max_dto_per_ep = ia->limits.dtos;
        attr->max_rdma_read_per_ep_in = ia->limits.reads;
        attr->max_rdma_read_per_ep_out = ia->limits.reads;
        attr->max_evds = ia->limits.objects[DAT_HANDLE_TYPE_EVD];
        attr->max_evd_qlen = REF_MAX_EVD_QLEN;
        attr->max_iov_segments_per_dto = ia->limits.iov;
        attr->max_lmrs = ia->limits.objects[DAT_HANDLE_TYPE_LMR];
        attr->max_lmr_block_size = abi_length(ia->limits.lmr_length);
        attr->max_lmr_virtual_address = UINTPTR_MAX;
        attr->max_pzs = ia->limits.objects[DAT_HANDLE_TYPE_PZ];
        attr->max_message_size = ia->port_attr.max_msg_sz;
        attr->max_rdma_size = ia->port_attr.max_msg_sz;
        attr->max_rmrs = ia->limits.objects[DAT_HANDLE_TYPE_RMR];
        attr->max_rmr_target_address = UINTPTR_MAX;
        attr->max_srqs = ia->limits.objects[DAT_HANDLE_TYPE_SRQ];
        attr->max_ep_per_srq = ia->limits.objects[DAT_HANDLE_TYPE_EP];
        attr->max_recv_per_srq = ia->limits.srq_dtos;
        attr->max_iov_segments_per_rdma_read = ia->limits.read_iov;
        attr->max_iov_segments_per_rdma_write = ia->limits.iov;
        attr->max_rdma_read_in = ia->device.max_res_rd_atom;
        attr->max_rdma_read_out = ia->device.max_res_rd_atom;
        attr->max_rdma_read_per_ep_in_guaranteed = DAT_TRUE;
        attr->max_rdma_read_per_ep_out_guaranteed = DAT_TRUE;
}

/* Member by member: evd_stream_merging_supported is const, so the structure cannot be assigned. */
static void describe_provider(const struct ia *ia, DAT_PROVIDER_ATTR *attr)
{
        DAT_BOOLEAN merging[6][6];

        for (int i = 0; i < 6; i++) {
                for (int j = 0; j < 6; j++)
                        merging[i][j] = DAT_TRUE;
        }
        memset(attr, 0, sizeof(*attr));
        memcpy((void *)attr->evd_stream_merging_supported, merging, sizeof(merging));
        (void)snprintf(attr->provider_name, sizeof(attr->provider_name), "daplref");
        attr->provider_version_major = 1;
        attr->provider_version_minor = 0;
        attr->dapl_version_major = ia->binding->info.dapl_version_major;
        attr->dapl_version_minor = ia->binding->info.dapl_version_minor;
        attr->lmr_mem_types_supported =
            (DAT_MEM_TYPE)(DAT_MEM_TYPE_VIRTUAL | DAT_MEM_TYPE_LMR | DAT_MEM_TYPE_SHARED_VIRTUAL);
        attr->iov_ownership_on_return = DAT_IOV_CONSUMER;
        attr->dat_qos_supported = DAT_QOS_BEST_EFFORT;
        attr->completion_flags_supported =
            (DAT_COMPLETION_FLAGS)((ia->solicits ? DAT_COMPLETION_SOLICITED_WAIT_FLAG : 0) |
                                   DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG |
                                   DAT_COMPLETION_BARRIER_FENCE_FLAG |
                                   DAT_COMPLETION_EVD_THRESHOLD_FLAG);
        attr->is_thread_safe = ia->binding->info.is_thread_safe;
        attr->max_private_data_size = REF_MAX_PRIVATE_DATA;
        attr->supports_multipath = DAT_FALSE;
        attr->ep_creator = DAT_PSP_CREATES_EP_IFASKED;
        attr->pz_support = DAT_PZ_UNIQUE;
        attr->optimal_buffer_alignment = DAT_OPTIMAL_ALIGNMENT;
        attr->srq_supported = ia->device.max_srq ? DAT_TRUE : DAT_FALSE;
        attr->srq_watermarks_supported = attr->srq_supported;
        attr->srq_ep_pz_difference_supported = ia->domain ? DAT_TRUE : DAT_FALSE;
        attr->srq_info_supported = attr->srq_supported;
        attr->ep_recv_info_supported = DAT_TRUE;
        attr->lmr_sync_req = DAT_FALSE;
        attr->dto_async_return_guaranteed = DAT_FALSE;
        attr->rdma_write_for_rdma_read_req = DAT_FALSE;
        abi_describe_provider(attr);
}

static DAT_EVD_HANDLE async_handle(struct ia *ia)
{
        struct evd *evd = async_evd_get(ia);
        DAT_EVD_HANDLE handle = (DAT_EVD_HANDLE)DAT_EVD_OUT_OF_SCOPE;

        if (evd) {
                handle = object_handle(&evd->obj);
                object_put(evd);
        }
        return handle;
}

/* dat_ia_query(3DAT): every attribute, whichever the masks ask for. */
DAT_RETURN ref_ia_query(DAT_IA_HANDLE handle, DAT_EVD_HANDLE *async_evd, DAT_IA_ATTR_MASK ia_mask,
                        DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK provider_mask,
                        DAT_PROVIDER_ATTR *provider_attr)
{
        struct ia *ia = object_get(handle, DAT_HANDLE_TYPE_IA);
        DAT_RETURN ret = DAT_SUCCESS;

        if (!ia)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
        if ((uint64_t)ia_mask & ~(uint64_t)DAT_IA_FIELD_ALL)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        else if (ia_mask && !ia_attr)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
        else if ((uint64_t)provider_mask & ~(uint64_t)DAT_PROVIDER_FIELD_ALL)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
        else if (provider_mask && !provider_attr)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
        if (ret == DAT_SUCCESS) {
                if (async_evd)
                        *async_evd = async_handle(ia);
                if (ia_mask)
                        describe_ia(ia, ia_attr);
                if (provider_mask)
                        describe_provider(ia, provider_attr);
        }
        object_put(ia);
        return ret;
}

/* EPs that the Provider has given with requests that nobody has answered. */
static int count_given_eps(const struct ia *ia)
{
        const struct link *head = &ia->objects[DAT_HANDLE_TYPE_CR];
        int count = 0;

        for (struct link *at = head->next; at != head; at = at->next) {
                struct cr *cr = container_of(container_of(at, struct object, link), struct cr, obj);

                count += cr->ep && cr->ep_is_ours;
        }
        return count;
}

/* Has the Consumer made anything that is still there? */
static bool has_objects(struct ia *ia)
{
        int count = ia->owns_async_evd ? -1 : 0;

        pthread_mutex_lock(&ia->cm_lock);
        pthread_mutex_lock(&ia->lock);
        for (int kind = 0; kind < REF_KINDS; kind++) {
                if (kind != DAT_HANDLE_TYPE_IA && kind != DAT_HANDLE_TYPE_CR)
                        count += ia->counts[kind];
        }
        count -= count_given_eps(ia);
        pthread_mutex_unlock(&ia->lock);
        pthread_mutex_unlock(&ia->cm_lock);
        return count > 0;
}

static struct object *first_of(struct ia *ia, DAT_HANDLE_TYPE kind)
{
        struct object *object = NULL;

        pthread_mutex_lock(&ia->lock);
        if (!list_empty(&ia->objects[kind]))
                object = container_of(ia->objects[kind].next, struct object, link);
        pthread_mutex_unlock(&ia->lock);
        return object;
}

/* Makes every handle of the IA invalid; there will be no others. */
static void kill_all(struct ia *ia)
{
        pthread_mutex_lock(&ia->lock);
        ia->closing = true;
        for (int kind = 0; kind < REF_KINDS; kind++) {
                struct link *head = &ia->objects[kind];

                for (struct link *at = head->next; at != head; at = at->next)
                        object_kill(container_of(at, struct object, link));
        }
        pthread_mutex_unlock(&ia->lock);
}

static void release_waiters(struct ia *ia)
{
        struct link *evds = &ia->objects[DAT_HANDLE_TYPE_EVD];
        struct link *cnos = &ia->objects[DAT_HANDLE_TYPE_CNO];

        pthread_mutex_lock(&ia->lock);
        for (struct link *at = evds->next; at != evds; at = at->next)
                evd_close(container_of(container_of(at, struct object, link), struct evd, obj));
        for (struct link *at = cnos->next; at != cnos; at = at->next)
                cno_close(container_of(container_of(at, struct object, link), struct cno, obj));
        pthread_mutex_unlock(&ia->lock);
}

static void dismiss_agents(struct ia *ia)
{
        struct link *head = &ia->objects[DAT_HANDLE_TYPE_CNO];

        for (struct link *at = head->next; at != head; at = at->next)
                cno_dismiss_agent(
                    container_of(container_of(at, struct object, link), struct cno, obj));
}

static void end_connections(struct ia *ia)
{
        struct link *head = &ia->objects[DAT_HANDLE_TYPE_EP];

        pthread_mutex_lock(&ia->cm_lock);
        for (struct link *at = head->next; at != head; at = at->next) {
                struct ep *ep = container_of(container_of(at, struct object, link), struct ep, obj);

                ep_must(ep, EP_IS_DROPPED, (DAT_EVENT_NUMBER)0);
        }
        ends_await_all(ia);
        pthread_mutex_unlock(&ia->cm_lock);
}

static void destroy(struct object *object, DAT_HANDLE_TYPE kind)
{
        switch (kind) {
        case DAT_HANDLE_TYPE_CR:
                cr_destroy(container_of(object, struct cr, obj));
                break;
        case DAT_HANDLE_TYPE_PSP:
        case DAT_HANDLE_TYPE_RSP:
                point_destroy(container_of(object, struct service_point, obj));
                break;
        case DAT_HANDLE_TYPE_EP:
                ep_destroy(container_of(object, struct ep, obj));
                break;
        case DAT_HANDLE_TYPE_RMR:
                rmr_destroy(container_of(object, struct rmr, obj));
                break;
        case DAT_HANDLE_TYPE_LMR:
                lmr_destroy(container_of(object, struct lmr, obj));
                break;
        case DAT_HANDLE_TYPE_SRQ:
                srq_destroy(container_of(object, struct srq, obj));
                break;
        case DAT_HANDLE_TYPE_EVD:
                evd_destroy(container_of(object, struct evd, obj));
                break;
        case DAT_HANDLE_TYPE_CNO:
                cno_destroy(container_of(object, struct cno, obj));
                break;
        case DAT_HANDLE_TYPE_PZ:
                pz_destroy(container_of(object, struct pz, obj));
                break;
        default:
                break;
        }
}

static void destroy_all(struct ia *ia)
{
        static const DAT_HANDLE_TYPE order[] = {
            DAT_HANDLE_TYPE_CR,  DAT_HANDLE_TYPE_PSP, DAT_HANDLE_TYPE_RSP, DAT_HANDLE_TYPE_EP,
            DAT_HANDLE_TYPE_RMR, DAT_HANDLE_TYPE_LMR, DAT_HANDLE_TYPE_SRQ, DAT_HANDLE_TYPE_EVD,
            DAT_HANDLE_TYPE_CNO, DAT_HANDLE_TYPE_PZ,
        };
        struct object *object;

        for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
                while ((object = first_of(ia, order[i])) != NULL)
                        destroy(object, order[i]);
        }
}

/*
 * dat_ia_close(3DAT). Abrupt: every object goes, in the order in which they depend on each other,
 * and every waiter is released. DAT_INVALID_STATE for a close from within a CNO's agent.
 */
DAT_RETURN ref_ia_close(DAT_IA_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
        struct ia *ia = object_get(handle, DAT_HANDLE_TYPE_IA);
        DAT_RETURN ret = DAT_SUCCESS;

        if (!ia)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
        if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        else if ((flags == DAT_CLOSE_GRACEFUL_FLAG && has_objects(ia)) ||
                 pthread_equal(pthread_self(), ia->loop.thread))
                ret = REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
        else if (!object_kill(&ia->obj))
                ret = REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
        if (ret != DAT_SUCCESS) {
                object_put(ia);
                return ret;
        }
        object_await_last(&ia->obj, 1);
        kill_all(ia);
        async_evd_leave(ia);
        release_waiters(ia);
        object_await_all(ia);
        event_loop_stop(&ia->loop);
        iwarp_confirm_last(ia);
        dismiss_agents(ia);
        end_connections(ia);
        ends_stop(ia);
        destroy_all(ia);
        cm_close(ia);
        evd_destroy(ia->sink);
        close_loop(ia);
        object_bury(&ia->obj);
        device_release(ia);
        ia_delete(ia);
        return ret;
}
