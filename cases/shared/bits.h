/* SPDX-License-Identifier: BSD-2-Clause */
/* Flags and privileges that are not defined: each bit alone. */
#ifndef CASES_BITS_H
#define CASES_BITS_H

#include "case.h"

/* The body is done for each of 32 bits that is not among `defined_`. */
#define EACH_UNDEFINED_BIT(bit_, defined_)                        \
        for (unsigned int bit_ = 1; (bit_); (bit_) = (bit_) << 1) \
                if (!((bit_) & (unsigned int)(defined_)))

/* expect_bit(bit, call, returns...): expect(), where the message names the bit. */
#define expect_bit(bit_, call_, ...)                                                        \
        bit_expect(t, CHECK_SITE_(#call_), (bit_), EXPECTED_(call_), DAT_SET_(__VA_ARGS__), \
                   DAT_SET_LEN_(__VA_ARGS__))
DAT_RETURN bit_expect(struct test *t, const struct check_site *site, uint64_t bit, DAT_RETURN ret,
                      const DAT_RETURN *set, size_t set_len);

#endif
