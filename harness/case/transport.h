/* SPDX-License-Identifier: BSD-2-Clause */
/* What the host's kernel says about its RDMA devices, whatever a provider says. */
#ifndef HARNESS_TRANSPORT_H
#define HARNESS_TRANSPORT_H

#include <stdbool.h>

/* Are there RDMA devices here, and all of them iWARP's? */
bool host_is_iwarp(void);

/* Are they all iWARP's in software? Linux has one such driver: siw. */
bool host_is_siw(void);

#endif
