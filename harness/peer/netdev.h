/* SPDX-License-Identifier: BSD-2-Clause */
/* The netdev that has an IA's address, and what the RDMA device on it counts. */
#ifndef HARNESS_NETDEV_H
#define HARNESS_NETDEV_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The index of the netdev that has `address`, an IP address as text, unless nothing that it sends
 * leaves the host: then 0. `name` takes its name, IF_NAMESIZE bytes. -1, with errno, where the
 * host's addresses are not available.
 */
int netdev_of(const char *address, char *name);

/*
 * How many packets have come out of order to the RDMA device on the netdev of this name; `counter`
 * takes the counter's name, "rxe0 out_of_seq_request". False where no device there counts them.
 */
bool netdev_out_of_order(const char *name, unsigned long long *packets, char *counter,
                         size_t counter_size);

#endif
