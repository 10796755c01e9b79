/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the instance data of a dat.conf entry. */
#ifndef DAPLREF_CONFIG_H
#define DAPLREF_CONFIG_H

#include <infiniband/verbs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>

struct ia;

#define BLANKS " \t"

/* The instance data: the name of a device, of a network interface, or an IP address. */
struct config {
        const char *ia_name;
        char device[IBV_SYSFS_NAME_MAX];
        int port; /* 0 means any port */
        char netdev[IF_NAMESIZE];
        struct sockaddr_storage address;
        bool one_domain;
};

void config_complain(const struct config *config, const char *what, const char *about,
                     const char *advice);
void config_read_device(const char *instance, struct config *config);
bool config_read_settings(struct ia *ia, struct config *config, char *rest);
bool config_find_address(const char *instance, struct config *config);
bool config_port_netdev(const char *device, int port, char *netdev);
bool config_netdev_ipv4(const char *netdev, struct sockaddr_storage *address);
bool config_netdev_address(const char *netdev, struct sockaddr_storage *address);
bool config_device_connects(const struct ibv_device *device);

#endif
