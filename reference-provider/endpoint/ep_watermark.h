/* SPDX-License-Identifier: BSD-2-Clause */
/* The watermarks of an EP with an SRQ. */
#ifndef DAPLREF_EP_WATERMARK_H
#define DAPLREF_EP_WATERMARK_H

#include <stdbool.h>

#include "base/daplref.h"

struct ep;
struct work;

DAT_RETURN ref_ep_set_watermark(DAT_EP_HANDLE, DAT_COUNT, DAT_COUNT);
bool ep_has_watermark(const struct ep *ep);
void ep_set_soft_mark(struct ep *ep, DAT_COUNT value);
void ep_set_hard_mark(struct ep *ep, DAT_COUNT value);
void ep_run_soft(struct work *work);

#endif
