/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/shared/bits.h"

#include <inttypes.h>
#include <stdio.h>

#define TEXT_MAX 160

DAT_RETURN bit_expect(struct test *t, const struct check_site *site, uint64_t bit, DAT_RETURN ret,
                      const DAT_RETURN *set, size_t set_len)
{
        char text[TEXT_MAX];
        struct check_site named = *site;

        snprintf(text, sizeof(text), "%s with bit %#" PRIx64, site->text, bit);
        named.text = text;
        return check_expect(t, &named, ret, set, set_len);
}
