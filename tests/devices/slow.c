/* SPDX-License-Identifier: BSD-2-Clause */
#include "front.h"

/* No real device: soft-RoCE on a host whose CM has much to do, and whose clocks are coarse. */
const struct device_profile device_profile = {
    .name = "slow",
    .slow_cm = 300000000,
    .coarse = true,
};
