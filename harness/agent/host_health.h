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

#define FITNESS_PORTS_MAX 8
#define FITNESS_PATH_MAX  128
#define FITNESS_TEXT_MAX  256

struct fitness {
        char netdev[IF_NAMESIZE]; /* that has the IA's address; "" where none has */
        int index;
        short flags;
        struct in_addr address; /* its first of IPv4 */
        size_t ports;           /* of RDMA devices, active, on that netdev if there is one */
        char port[FITNESS_PORTS_MAX][FITNESS_PATH_MAX];
};

/* Notes what the host has now, of what the IA with this address, an IP address as text, needs. */
void fitness_note(struct fitness *fitness, const char *address);

/* Looks again. Returns false, and says in words what is no more, where something is not. */
bool fitness_holds(const struct fitness *fitness, char text[FITNESS_TEXT_MAX]);

#endif
