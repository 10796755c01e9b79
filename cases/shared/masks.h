/* SPDX-License-Identifier: BSD-2-Clause */
/* Masks of a query with a bit that is no field's, as rows of a family. */
#ifndef CASES_MASKS_H
#define CASES_MASKS_H

#include <stdbool.h>

struct undefined_mask {
        const char *id;
        unsigned int bits; /* the one mask of the row; or 0, for each bit alone that is not among */
        unsigned int fields; /* these */
};

/* The rows for fields whose bits are `all_`, from the lowest bit on. */
#define UNDEFINED_MASKS(all_)                                                                   \
        {"next_bit", (all_) + 1, 0}, {"next_bit_among_all", (all_) | ((all_) + 1), 0},          \
            {"middle_bit", 1U << 16, 0}, {"highest_bit", 1U << 31, 0}, {"each_bit", 0, (all_)}, \
            {"all_bits", ~0U, 0},

/* The mask of the row that comes after `*mask`, which begins as 0; false where there is none. */
static inline bool undefined_mask_next(const struct undefined_mask *row, unsigned int *mask)
{
        if (row->bits) {
                if (*mask)
                        return false;
                *mask = row->bits;
                return true;
        }
        do {
                if (*mask == 1U << 31)
                        return false;
                *mask = *mask ? *mask << 1 : 1;
        } while (*mask & row->fields);
        return true;
}

#endif
