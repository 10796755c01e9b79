/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CASES_EP_SEGMENT_H
#define CASES_EP_SEGMENT_H

#include "dat_api.h"

/* The least length that 32 bits do not hold; by DAT 2.0, whose lengths have no more, half of it. */
#define SEGMENT_LONG (sizeof(((DAT_LMR_TRIPLET *)0)->segment_length) > 4 ? 1ULL << 32 : 1ULL << 31)

#endif
