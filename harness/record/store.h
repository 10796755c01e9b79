/* SPDX-License-Identifier: BSD-2-Clause */
/* The file of this process, and the entries in it (layout.h). */
#ifndef HARNESS_RECORD_STORE_H
#define HARNESS_RECORD_STORE_H

#include "record/layout.h"

/*
 * Makes the file in the folder that the environment names, and maps it; NULL if that cannot be,
 * which is said on standard error once.
 */
struct record_header *store_open(void);

/* Where an entry is being written, which cannot be given to another one meanwhile. */
struct store_room {
        struct record_segment *segment;
        uint64_t turn;
};

/*
 * Room for an entry of `size` bytes, a multiple of RECORD_ALIGN; NULL if there is none, which
 * counts it as lost. The caller fills all but commit and size, and commits.
 */
struct record_entry *store_reserve(struct record_header *store, uint32_t size,
                                   struct store_room *room);
void store_commit(struct record_entry *entry, const struct store_room *room);

#endif
