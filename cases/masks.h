/* SPDX-License-Identifier: BSD-2-Clause */
/* Masks of a query with a bit that is no field's, as rows of a family. */
#ifndef CASES_MASKS_H
#define CASES_MASKS_H

struct undefined_mask {
        const char *id;
        unsigned int bits;
};

/* The rows for fields whose bits are `all_`, from the lowest bit on. */
#define UNDEFINED_MASKS(all_)                                                    \
        {"next_bit", (all_) + 1}, {"next_bit_among_all", (all_) | ((all_) + 1)}, \
            {"middle_bit", 1U << 16}, {"highest_bit", 1U << 31}, {"all_bits", ~0U},

#endif
