/* SPDX-License-Identifier: BSD-2-Clause */
#include "front.h"

const struct device_profile device_profile = {
    .name = "efa",
    /* kernel efa_verbs.c, efa_qp_validate_attr(): UD, and a kind of its own */
    .no_connections = true,
};
