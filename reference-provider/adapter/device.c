/* SPDX-License-Identifier: BSD-2-Clause */
#include "adapter/device.h"
#include "adapter/config.h"
#include "adapter/ia_limits.h"
#include "base/binding.h"
#include "base/daplref.h"
#include "base/destroy_async.h"
#include "base/ia.h"

#include <arpa/inet.h>
#include <limits.h>
#include <string.h>

/* A siw receive never wakes a solicited wait (siw_rqe_complete() of Linux 6.1). */
#define VENDOR_OF_SIW 0x626d74

/* soft-RoCE does not report the last receive of a queue pair. It reports the packet number. */
#define VENDOR_OF_SOFT_ROCE 0xffffff

static bool make_listen_id(struct ia *ia)
{
        if (!ia->cm)
                ia->cm = rdma_create_event_channel();
        return ia->cm && !rdma_create_id(ia->cm, &ia->listen_id, NULL, RDMA_PS_TCP);
}

static bool serves(struct rdma_cm_id *id, const struct config *config)
{
        struct sockaddr_storage address = config->address;

        return !rdma_bind_addr(id, (struct sockaddr *)&address) && id->verbs;
}

/*
 * Binds to a device by its name without listing all devices. sysfs names the interface of the port.
 * The guess holds if librdmacm binds its address to that port. If it does not,
 * config_find_address() finds the device or the reason.
 */
static bool bind_by_name(struct ia *ia, const char *instance, struct config *config)
{
        struct config guess = *config;
        const struct rdma_cm_id *id;
        int port;

        config_read_device(instance, &guess);
        port = guess.port ? guess.port : 1;
        if (!config_port_netdev(guess.device, port, guess.netdev) ||
            !(config_netdev_ipv4(guess.netdev, &guess.address) ||
              config_netdev_address(guess.netdev, &guess.address)) ||
            !make_listen_id(ia))
                return false;
        id = ia->listen_id;
        if (serves(ia->listen_id, &guess) && id->port_num == port &&
            !strcmp(ibv_get_device_name(id->verbs->device), guess.device) &&
            config_device_connects(id->verbs->device)) {
                *config = guess;
                return true;
        }
        rdma_destroy_id(ia->listen_id);
        ia->listen_id = NULL;
        return false;
}

static bool bind_listen_id(struct ia *ia, const struct config *config)
{
        const struct sockaddr_storage *address = &config->address;
        char text[INET6_ADDRSTRLEN] = "?";

        if (!make_listen_id(ia))
                return false;
        if (serves(ia->listen_id, config))
                return true;
        if (address->ss_family == AF_INET6)
                inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)address)->sin6_addr, text,
                          sizeof(text));
        else
                inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, text,
                          sizeof(text));
        config_complain(config, "no RDMA device serves the address", text,
                        "see 'rdma link' for the interfaces that have one");
        return false;
}

/*
 * Listens on the port of listen_id for the keepalives of peers. If that fails, peers can only ask
 * the host.
 */
static void listen_for_keepalive(struct ia *ia)
{
        if (!rdma_listen(ia->listen_id, 0))
                ia->keepalive_port = ntohs(rdma_get_src_port(ia->listen_id));
}

/* A 32-bit unsigned attribute appears as a negative int. */
static void make_positive(struct ibv_device_attr *attr)
{
        int *limits[] = {&attr->max_qp,
                         &attr->max_qp_wr,
                         &attr->max_sge,
                         &attr->max_sge_rd,
                         &attr->max_cq,
                         &attr->max_cqe,
                         &attr->max_mr,
                         &attr->max_pd,
                         &attr->max_qp_rd_atom,
                         &attr->max_res_rd_atom,
                         &attr->max_qp_init_rd_atom,
                         &attr->max_srq,
                         &attr->max_srq_wr,
                         &attr->max_srq_sge};

        for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
                if (*limits[i] < 0)
                        *limits[i] = INT_MAX;
        }
        /*
         * Early InfiniBand drivers leave max_sge_rd at 0; then a read may have as many segments as
         * a write.
         */
        if (!attr->max_sge_rd)
                attr->max_sge_rd = attr->max_sge;
}

/* Sets the properties that no verbs attribute reports, by the vendor id. */
static void set_device_traits(struct ia *ia)
{
        uint32_t vendor = ia->device.vendor_id;

        ia->solicits = vendor != VENDOR_OF_SIW;
        ia->splits_short = vendor == VENDOR_OF_SIW;
        ia->raises_sigpipe = vendor == VENDOR_OF_SIW;
        ia->fence_deadlocks = vendor == VENDOR_OF_SOFT_ROCE;
        ia->numbers_move = vendor == VENDOR_OF_SOFT_ROCE;
        ia->flush.awaits_last_wqe = vendor != VENDOR_OF_SOFT_ROCE && vendor != VENDOR_OF_SIW;
}

/*
 * Finds the device of the dat.conf entry, binds to its address and opens it. On failure everything
 * is released and stderr has the reason.
 */
DAT_RETURN device_choose(struct ia *ia)
{
        struct config config = {.ia_name = ia->binding->info.ia_name};
        char instance[sizeof(ia->binding->instance)];
        const char *name;
        char *rest;

        memcpy(instance, ia->binding->instance, sizeof(instance));
        name = strtok_r(instance, BLANKS, &rest);
        if (!name)
                name = "";
        if (!config_read_settings(ia, &config, rest))
                goto failed;
        if (!bind_by_name(ia, name, &config) &&
            (!config_find_address(name, &config) || !bind_listen_id(ia, &config)))
                goto failed;
        ia->address = config.address;
        ia->port = ia->listen_id->port_num;
        /* A verbs context for each IA separates the asynchronous events of the IAs. */
        ia->verbs = ibv_open_device(ia->listen_id->verbs->device);
        if (!ia->verbs || ibv_query_device(ia->verbs, &ia->device) ||
            ibv_query_port(ia->verbs, ia->port, &ia->port_attr))
                goto failed;
        ia->iwarp = ia->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
        set_device_traits(ia);
        if (ia->iwarp && !destroy_async_start(ia))
                goto failed;
        make_positive(&ia->device);
        if (!limits_fill(ia))
                goto failed;
        if (config.one_domain) {
                ia->domain = ibv_alloc_pd(ia->verbs);
                if (!ia->domain)
                        goto failed;
        }
        listen_for_keepalive(ia);
        return DAT_SUCCESS;
failed:
        device_release(ia);
        return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
}

void device_release(struct ia *ia)
{
        if (ia->listen_id)
                rdma_destroy_id(ia->listen_id);
        if (ia->domain)
                destroy_async_pd(ia, ia->domain);
        if (ia->verbs)
                destroy_async_device(ia, ia->verbs);
        destroy_async_stop(ia);
        ia->listen_id = NULL;
        ia->domain = NULL;
        ia->verbs = NULL;
}
