/* SPDX-License-Identifier: BSD-2-Clause */
/* The attributes of an EP. */
#ifndef DAPLREF_EP_ATTR_H
#define DAPLREF_EP_ATTR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/daplref.h"

struct ia;

DAT_EP_ATTR ep_attr_default(const struct ia *ia);
void ep_attr_fill_zeros(const struct ia *ia, DAT_EP_ATTR *attr);
bool ep_attr_valid(const struct ia *ia, const DAT_EP_ATTR *attr, bool with_srq);
void ep_attr_merge(DAT_EP_ATTR *attr, uint64_t mask, const DAT_EP_ATTR *wanted);
DAT_COUNT ep_attr_soft_mark(const DAT_EP_ATTR *attr);

#endif
