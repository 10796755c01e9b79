/* SPDX-License-Identifier: BSD-2-Clause */
#include "adapter/device.h"
#include "adapter/device_event.h"
#include "adapter/ia_api.h"
#include "adapter/ia_impl.h"
#include "adapter/ia_limits.h"
#include "base/binding.h"
#include "base/daplref.h"
#include "base/event_loop.h"
#include "base/handle.h"
#include "base/ia.h"
#include "base/list.h"
#include "connect/cm_event.h"
#include "connect/cm_timer.h"
#include "connect/keepalive.h"
#include "endpoint/ep_flush.h"
#include "event/async_evd.h"
#include "event/evd.h"
#include "event/evd_cno.h"
#include "memory/lmr.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define DESCRIPTORS_PER_IA 14 /* some of them only during dat_ia_open() */

static int descriptors_in_use(void)
{
        DIR *all = opendir("/proc/self/fd");
        int count = -3; /* the directory's own descriptor, "." and ".." */

        if (!all)
                return errno == EMFILE ? DESCRIPTORS_PLENTY : 0;
        while (readdir(all))
                count++;
        closedir(all);
        return count;
}

/* The number of descriptors that this process may still open, at most DESCRIPTORS_PLENTY. */
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
 * Whether enough of the highest descriptors are unused. Usually they are, and one poll() shows it.
 * Counting all open descriptors reads /proc/self/fd, which is slower.
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
        list_init(&ia->retired);
        list_init(&ia->iwarp_cm.connects);
        ep_flush_init(ia);
        list_init(&ia->listeners);
        for (int kind = 0; kind < REF_KINDS; kind++)
                list_init(&ia->objects[kind]);
        keepalive_init(ia);
        if (lmr_table_init(&ia->lmrs))
                return ia;
        free(ia);
        return NULL;
}

void ia_delete(struct ia *ia)
{
        lmr_table_destroy(&ia->lmrs);
        ep_flush_destroy(ia);
        event_loop_destroy(&ia->loop);
        pthread_mutex_destroy(&ia->cm_turn);
        pthread_mutex_destroy(&ia->cm_lock);
        pthread_mutex_destroy(&ia->lock);
        free(ia);
}

void ia_close_loop(struct ia *ia)
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
        ia_close_loop(ia);
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
        object_unpublish(&ia->obj);
service:
        event_loop_stop(&ia->loop);
        ia_close_loop(ia);
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
        /* The length is used only if a new EVD is made. */
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
