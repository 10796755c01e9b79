/* SPDX-License-Identifier: BSD-2-Clause */
#include "front.h"

#include <errno.h>

/*
 * Nobody's: it has not room for what it publishes, so that no SRQ has a reserve, and what exceeds
 * its first size rests in the provider.
 */
const struct device_profile device_profile = {
    .name = "tight",
    .srq_wr = 255,
    .srq_resize = EINVAL,
    .cq_resize = EOPNOTSUPP,
    .destroy_cleans = true,
};
