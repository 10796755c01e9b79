/* SPDX-License-Identifier: BSD-2-Clause */
/* Cookies that a completion returns as they were posted, as rows of families. */
#ifndef CASES_COOKIES_H
#define CASES_COOKIES_H

#include <stdint.h>

#define EVERY_BYTE UINT64_C(0x0123456789abcdef) /* eight different bytes */

static const struct cookie {
        const char *id;
        uint64_t value;
} cookies[] = {
    {"null", 0},
    {"all_ones", UINT64_MAX},
    {"lowest_bit", 1},
    {"highest_bit", UINT64_C(1) << 63},
    {"low_half", UINT32_MAX},
    {"high_half", (uint64_t)UINT32_MAX << 32},
    {"every_byte", EVERY_BYTE},
};

#endif
