/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a host is still fit for cases: a case, or whatever it started, may have taken away the
 * RDMA device or the network of the IA, and the next one is not to pay for it.
 */
#ifndef HARNESS_HOST_HEALTH_H
#define HARNESS_HOST_HEALTH_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

#define HOST_HEALTH_PORTS_MAX 8
#define HOST_HEALTH_PATH_MAX  128
#define HOST_HEALTH_TEXT_MAX  256

struct host_health {
        char netdev[IF_NAMESIZE]; /* that has the IA's address; "" where none has */
        int index;
        short flags;
        struct in_addr address; /* its first of IPv4 */
        size_t ports;           /* of RDMA devices, active, on that netdev if there is one */
        char port[HOST_HEALTH_PORTS_MAX][HOST_HEALTH_PATH_MAX];
};

/* Notes what the host has now, of what the IA with this address, an IP address as text, needs. */
void host_health_note(struct host_health *health, const char *address);

/* Looks again. Returns false, and says in words what is no more, where something is not. */
bool host_health_holds(const struct host_health *health, char text[HOST_HEALTH_TEXT_MAX]);

#endif
