/* SPDX-License-Identifier: BSD-2-Clause */
#include "adapter/config.h"
#include "base/ia.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

void config_complain(const struct config *config, const char *what, const char *about,
                     const char *advice)
{
        (void)fprintf(stderr, "daplref: IA %s: %s %s; %s\n", config->ia_name, what, about, advice);
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

/*
 * Finds the first IPv4 address of the interface, else its first IPv6 address that is not
 * link-local.
 */
bool config_netdev_address(const char *netdev, struct sockaddr_storage *address)
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

/*
 * Finds the IPv4 address of an existing interface. One ioctl is cheaper than a list of all
 * addresses.
 */
bool config_netdev_ipv4(const char *netdev, struct sockaddr_storage *address)
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

bool config_port_netdev(const char *device, int port, char *netdev)
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
 * Finds the interface by its address, because the GIDs of iWARP and InfiniBand name no interface.
 * It is the one whose address librdmacm assigns to the port.
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

/* Finds an address to bind to, on the requested port or on the first port with an address. */
static bool address_of_device(struct ibv_device *device, struct config *config, bool must_be_active)
{
        struct ibv_context *verbs = ibv_open_device(device);
        const char *name = ibv_get_device_name(device);
        struct ibv_device_attr attr;
        bool found = false;
        int first = config->port ? config->port : 1;
        int last = config->port;

        if (!verbs)
                return false;
        if (!last && !ibv_query_device(verbs, &attr))
                last = attr.phys_port_cnt;
        for (int port = first; port <= last && !found; port++) {
                if (must_be_active && !port_is_active(verbs, port))
                        continue;
                found = (config_port_netdev(name, port, config->netdev) ||
                         netdev_by_address(name, port, config->netdev)) &&
                        config_netdev_address(config->netdev, &config->address);
        }
        ibv_close_device(verbs);
        return found;
}

void config_read_device(const char *instance, struct config *config)
{
        const char *colon = strchr(instance, ':');
        size_t length = colon ? (size_t)(colon - instance) : strlen(instance);

        if (length >= sizeof(config->device))
                length = sizeof(config->device) - 1;
        memcpy(config->device, instance, length);
        config->port = colon ? atoi(colon + 1) : 0;
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

/* Reads the settings that follow the device name. */
bool config_read_settings(struct ia *ia, struct config *config, char *rest)
{
        for (char *word; (word = strtok_r(NULL, BLANKS, &rest)) != NULL;) {
                if (strcmp(word, "lenient") == 0) {
                        ia->lenient = true;
                } else if (strcmp(word, "one-domain") == 0) {
                        config->one_domain = true;
                } else {
                        config_complain(config, "no setting is called", word,
                                        "see its dat.conf entry");
                        return false;
                }
        }
        return true;
}

/* An EP needs a transport with reliable connections. */
bool config_device_connects(const struct ibv_device *device)
{
        return device->transport_type == IBV_TRANSPORT_IB ||
               device->transport_type == IBV_TRANSPORT_IWARP;
}

bool config_find_address(const char *instance, struct config *config)
{
        const char *without = NULL; /* has no reliable connections */
        struct ibv_device **devices;
        bool found = false;
        int count = 0;

        if (read_address(instance, &config->address))
                return true;
        devices = ibv_get_device_list(&count);
        if (!devices || !count) {
                config_complain(
                    config, "no RDMA device on this host", "",
                    "is the driver loaded, as by 'rdma link add rxe0 type rxe netdev eth0'?");
                goto out;
        }
        config_read_device(instance, config);
        for (int i = 0; i < count && !found; i++) {
                if (*instance && strcmp(ibv_get_device_name(devices[i]), config->device) != 0)
                        continue;
                if (config_device_connects(devices[i]))
                        found = address_of_device(devices[i], config, !*instance);
                else
                        without = ibv_get_device_name(devices[i]);
        }
        if (!found && *instance)
                found = config_netdev_address(instance, &config->address);
        if (!found && without)
                config_complain(config, "no reliable connections (RC) are to be had of the device",
                                without, "DAT cannot do without, so name another device");
        else if (!found)
                config_complain(config,
                                "no RDMA device or network interface with an IP address is named",
                                *instance ? instance : "(any)", "see 'rdma link' and 'ip address'");
out:
        if (devices)
                ibv_free_device_list(devices);
        return found;
}
