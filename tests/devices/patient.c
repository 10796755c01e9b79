/* SPDX-License-Identifier: BSD-2-Clause */
#include "front.h"

/* No other device: a provider that leaves the RNR timer as librdmacm sets it. */
const struct device_profile device_profile = {
    .name = "patient",
    .slow_rnr = true, /* rdma-core librdmacm/cma.c: its attributes have no RNR timer, which is 0 */
};
