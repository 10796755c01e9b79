/* SPDX-License-Identifier: BSD-2-Clause */
/* What the host's kernel says about its RDMA devices, whatever a provider says. */
#ifndef HARNESS_TRANSPORT_H
#define HARNESS_TRANSPORT_H

#include <stdbool.h>

/* Are there RDMA devices here, and all of them iWARP's? */
bool host_is_iwarp(void);

/* Are they all iWARP's in software? Linux has one such driver: siw. */
bool host_is_siw(void);

/*
 * Are they all soft-RoCE's, of a kernel that drops the receive which a queue pair in error had
 * taken from its SRQ? Linux does from 6.4 on.
 */
bool host_drops_taken(void);

/* Whether a kernel's release, as uname has it, is `major`.`minor` or a later one. */
bool release_reaches(const char *release, unsigned int major, unsigned int minor);

#endif
