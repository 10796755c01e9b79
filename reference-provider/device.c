/* SPDX-License-Identifier: BSD-2-Clause */
#include "device.h"
#include "binding.h"
#include "daplref.h"
#include "ia.h"
#include "ia_limits.h"
#include "linger.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define BLANKS " \t"

/* siw's receives never wake who waits for solicited ones (siw_rqe_complete() of Linux 6.1). */
#define VENDOR_OF_SIW 0x626d74
/* soft-RoCE neither tells of a queue pair's last receive nor keeps the number of a packet secret.
 */
#define VENDOR_OF_SOFT_ROCE 0xffffff

/* What the instance data of a dat.conf entry names: a device, a network interface, an address. */
struct choice {
        const char *ia_name;
        char device[IBV_SYSFS_NAME_MAX];
        int port; /* 0 is any */
        char netdev[IF_NAMESIZE];
        struct sockaddr_storage address;
        bool one_domain;
};

static void complain(const struct choice *choice, const char *what, const char *about,
                     const char *advice)
{
        (void)fprintf(stderr, "daplref: IA %s: %s %s; %s\n", choice->ia_name, what, about, advice);
}

static size_t size_of(const struct sockaddr *address)
{
        return address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                              : sizeof(struct sockaddr_in);
}

static bool link_local(const struct sockaddr *address)
{
        return address->sa_family == AF_INET6 &&
               IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

/* The first IPv4 address of the interface, else the first IPv6 address that is not link-local. */
static bool address_of_netdev(const char *netdev, struct sockaddr_storage *address)
{
        static const int families[] = {AF_INET, AF_INET6};
        struct ifaddrs *all;
        bool found = false;

        if (getifaddrs(&all))
                return false;
        for (int i = 0; i < 2 && !found; i++) {
                for (struct ifaddrs *at = all; at && !found; at = at->ifa_next) {
                        if (strcmp(at->ifa_name, netdev) != 0 || !at->ifa_addr ||
                            at->ifa_addr->sa_family != families[i] || link_local(at->ifa_addr))
                                continue;
                        memcpy(address, at->ifa_addr, size_of(at->ifa_addr));
                        found = true;
                }
        }
        freeifaddrs(all);
        return found;
}

/* The same address, if it is an IPv4 one, of an interface that there is. */
static bool ipv4_of_netdev(const char *netdev, struct sockaddr_storage *address)
{
        struct ifreq request = {0};
        int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        bool found;

        if (fd < 0)
                return false;
        (void)snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", netdev);
        found = !ioctl(fd, SIOCGIFADDR, &request);
        (void)close(fd);
        if (found)
                memcpy(address, &request.ifr_addr, sizeof(struct sockaddr_in));
        return found;
}

static bool netdev_of_port(const char *device, int port, char *netdev)
{
        char path[256];
        ssize_t length;
        int fd;

        (void)snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/%d/gid_attrs/ndevs/0",
                       device, port);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return false;
        length = read(fd, netdev, IF_NAMESIZE - 1);
        (void)close(fd);
        if (length <= 0)
                return false;
        netdev[length] = '\0';
        netdev[strcspn(netdev, "\n")] = '\0';
        return true;
}

static bool leads_to(const struct sockaddr *address, const char *device, int port)
{
        struct sockaddr_storage copy = {0};
        struct rdma_cm_id *id;
        bool yes;

        if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP))
                return false;
        memcpy(&copy, address, size_of(address));
        yes = !rdma_bind_addr(id, (struct sockaddr *)&copy) && id->verbs && id->port_num == port &&
              !strcmp(ibv_get_device_name(id->verbs->device), device);
        rdma_destroy_id(id);
        return yes;
}

/*
 * The GIDs of iWARP and InfiniBand tell of no network interface. Then it is the one whose address
 * librdmacm takes to be the port's; an interface of several has the same port for all of them.
 */
static bool netdev_by_address(const char *device, int port, char *netdev)
{
        struct ifaddrs *all;
        bool found = false;

        if (getifaddrs(&all))
                return false;
        for (struct ifaddrs *at = all; at && !found; at = at->ifa_next) {
                if (!at->ifa_addr || at->ifa_flags & IFF_LOOPBACK ||
                    (at->ifa_addr->sa_family != AF_INET && at->ifa_addr->sa_family != AF_INET6) ||
                    link_local(at->ifa_addr) || !leads_to(at->ifa_addr, device, port))
                        continue;
                (void)snprintf(netdev, IF_NAMESIZE, "%s", at->ifa_name);
                found = true;
        }
        freeifaddrs(all);
        return found;
}

static bool port_is_active(struct ibv_context *verbs, int port)
{
        struct ibv_port_attr attr;

        return !ibv_query_port(verbs, (uint8_t)port, &attr) && attr.state == IBV_PORT_ACTIVE;
}

/* Finds an address to bind to on the device: on the port asked for, or on the first that serves. */
static bool address_of_device(struct ibv_device *device, struct choice *choice, bool must_be_active)
{
        struct ibv_context *verbs = ibv_open_device(device);
        const char *name = ibv_get_device_name(device);
        struct ibv_device_attr attr;
        bool found = false;
        int first = choice->port ? choice->port : 1;
        int last = choice->port;

        if (!verbs)
                return false;
        if (!last && !ibv_query_device(verbs, &attr))
                last = attr.phys_port_cnt;
        for (int port = first; port <= last && !found; port++) {
                if (must_be_active && !port_is_active(verbs, port))
                        continue;
                found = (netdev_of_port(name, port, choice->netdev) ||
                         netdev_by_address(name, port, choice->netdev)) &&
                        address_of_netdev(choice->netdev, &choice->address);
        }
        ibv_close_device(verbs);
        return found;
}

static void read_instance(const char *instance, struct choice *choice)
{
        const char *colon = strchr(instance, ':');
        size_t length = colon ? (size_t)(colon - instance) : strlen(instance);

        if (length >= sizeof(choice->device))
                length = sizeof(choice->device) - 1;
        memcpy(choice->device, instance, length);
        choice->port = colon ? atoi(colon + 1) : 0;
}

static bool read_address(const char *instance, struct sockaddr_storage *address)
{
        struct sockaddr_in *four = (struct sockaddr_in *)address;
        struct sockaddr_in6 *six = (struct sockaddr_in6 *)address;

        if (inet_pton(AF_INET, instance, &four->sin_addr) == 1) {
                address->ss_family = AF_INET;
                return true;
        }
        if (inet_pton(AF_INET6, instance, &six->sin6_addr) == 1) {
                address->ss_family = AF_INET6;
                return true;
        }
        return false;
}

/* The words after the device. */
static bool read_settings(struct ia *ia, struct choice *choice, char *rest)
{
        for (char *word; (word = strtok_r(NULL, BLANKS, &rest)) != NULL;) {
                if (strcmp(word, "lenient") == 0) {
                        ia->lenient = true;
                } else if (strcmp(word, "one-domain") == 0) {
                        choice->one_domain = true;
                } else {
                        complain(choice, "no setting is called", word, "see its dat.conf entry");
                        return false;
                }
        }
        return true;
}

/* Datagrams, reliable or not, make no EP. */
static bool makes_connections(const struct ibv_device *device)
{
        return device->transport_type == IBV_TRANSPORT_IB ||
               device->transport_type == IBV_TRANSPORT_IWARP;
}

static bool find_address(const char *instance, struct choice *choice)
{
        const char *without = NULL; /* connections */
        struct ibv_device **devices;
        bool found = false;
        int count = 0;

        if (read_address(instance, &choice->address))
                return true;
        devices = ibv_get_device_list(&count);
        if (!devices || !count) {
                complain(choice, "no RDMA device on this host", "",
                         "is the driver loaded, as by 'rdma link add rxe0 type rxe netdev eth0'?");
                goto out;
        }
        read_instance(instance, choice);
        for (int i = 0; i < count && !found; i++) {
                if (*instance && strcmp(ibv_get_device_name(devices[i]), choice->device) != 0)
                        continue;
                if (makes_connections(devices[i]))
                        found = address_of_device(devices[i], choice, !*instance);
                else
                        without = ibv_get_device_name(devices[i]);
        }
        if (!found && *instance)
                found = address_of_netdev(instance, &choice->address);
        if (!found && without)
                complain(choice, "no reliable connections (RC) are to be had of the device",
                         without, "DAT cannot do without, so name another device");
        else if (!found)
                complain(choice, "no RDMA device or network interface with an IP address is named",
                         *instance ? instance : "(any)", "see 'rdma link' and 'ip address'");
out:
        if (devices)
                ibv_free_device_list(devices);
        return found;
}

static bool make_anchor(struct ia *ia)
{
        if (!ia->cm)
                ia->cm = rdma_create_event_channel();
        return ia->cm && !rdma_create_id(ia->cm, &ia->anchor, NULL, RDMA_PS_TCP);
}

static bool serves(struct rdma_cm_id *id, const struct choice *choice)
{
        struct sockaddr_storage address = choice->address;

        return !rdma_bind_addr(id, (struct sockaddr *)&address) && id->verbs;
}

/*
 * A device by its name, the usual entry, without a look at all devices: what sysfs says of its
 * first port, or of the one asked for, is right if what is bound to turns out to be that port. If
 * not, find_address() finds the device, or why there is none.
 */
static bool bind_by_name(struct ia *ia, const char *instance, struct choice *choice)
{
        struct choice guess = *choice;
        const struct rdma_cm_id *id;
        int port;

        read_instance(instance, &guess);
        port = guess.port ? guess.port : 1;
        if (!netdev_of_port(guess.device, port, guess.netdev) ||
            !(ipv4_of_netdev(guess.netdev, &guess.address) ||
              address_of_netdev(guess.netdev, &guess.address)) ||
            !make_anchor(ia))
                return false;
        id = ia->anchor;
        if (serves(ia->anchor, &guess) && id->port_num == port &&
            !strcmp(ibv_get_device_name(id->verbs->device), guess.device) &&
            makes_connections(id->verbs->device)) {
                *choice = guess;
                return true;
        }
        rdma_destroy_id(ia->anchor);
        ia->anchor = NULL;
        return false;
}

static bool bind_anchor(struct ia *ia, const struct choice *choice)
{
        const struct sockaddr_storage *address = &choice->address;
        char text[INET6_ADDRSTRLEN] = "?";

        if (!make_anchor(ia))
                return false;
        if (serves(ia->anchor, choice))
                return true;
        if (address->ss_family == AF_INET6)
                inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)address)->sin6_addr, text,
                          sizeof(text));
        else
                inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, text,
                          sizeof(text));
        complain(choice, "no RDMA device serves the address", text,
                 "see 'rdma link' for the interfaces that have one");
        return false;
}

/*
 * Listens on the anchor's port, where a peer asks whether this IA is still open. Without it peers
 * can ask the host only.
 */
static void show_presence(struct ia *ia)
{
        if (!rdma_listen(ia->anchor, 0))
                ia->presence = ntohs(rdma_get_src_port(ia->anchor));
}

/* An unsigned number of 32 bits comes as a negative one. */
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
        /* Drivers of InfiniBand's early days left it out: a read is then as a write. */
        if (!attr->max_sge_rd)
                attr->max_sge_rd = attr->max_sge;
}

/* What no attribute tells. */
static void know_vendor(struct ia *ia)
{
        uint32_t vendor = ia->device.vendor_id;

        ia->solicits = vendor != VENDOR_OF_SIW;
        ia->splits_short = vendor == VENDOR_OF_SIW;
        ia->raises_sigpipe = vendor == VENDOR_OF_SIW;
        ia->numbers_move = vendor == VENDOR_OF_SOFT_ROCE;
        ia->ends.awaits_last = vendor != VENDOR_OF_SOFT_ROCE && vendor != VENDOR_OF_SIW;
}

/*
 * Finds the device that the instance data of the dat.conf entry means, binds to its address and
 * opens it. On failure everything is released and the reason is on stderr.
 */
DAT_RETURN device_choose(struct ia *ia)
{
        struct choice choice = {.ia_name = ia->binding->info.ia_name};
        char instance[sizeof(ia->binding->instance)];
        const char *name;
        char *rest;

        memcpy(instance, ia->binding->instance, sizeof(instance));
        name = strtok_r(instance, BLANKS, &rest);
        if (!name)
                name = "";
        if (!read_settings(ia, &choice, rest))
                goto failed;
        if (!bind_by_name(ia, name, &choice) &&
            (!find_address(name, &choice) || !bind_anchor(ia, &choice)))
                goto failed;
        ia->address = choice.address;
        ia->port = ia->anchor->port_num;
        /* A context of our own keeps the asynchronous events of several IAs apart. */
        ia->verbs = ibv_open_device(ia->anchor->verbs->device);
        if (!ia->verbs || ibv_query_device(ia->verbs, &ia->device) ||
            ibv_query_port(ia->verbs, ia->port, &ia->port_attr))
                goto failed;
        ia->iwarp = ia->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
        know_vendor(ia);
        if (ia->iwarp && !linger_start(ia))
                goto failed;
        make_positive(&ia->device);
        if (!limits_fill(ia))
                goto failed;
        if (choice.one_domain) {
                ia->domain = ibv_alloc_pd(ia->verbs);
                if (!ia->domain)
                        goto failed;
        }
        show_presence(ia);
        return DAT_SUCCESS;
failed:
        device_release(ia);
        return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
}

void device_release(struct ia *ia)
{
        if (ia->anchor)
                rdma_destroy_id(ia->anchor);
        if (ia->domain)
                linger_dealloc_pd(ia, ia->domain);
        if (ia->verbs)
                linger_close_device(ia, ia->verbs);
        linger_leave(ia);
        ia->anchor = NULL;
        ia->domain = NULL;
        ia->verbs = NULL;
}
