/* SPDX-License-Identifier: BSD-2-Clause */
/* The descriptors that this process has open, to see what is left of a provider's. */
#ifndef HARNESS_DESCRIPTORS_H
#define HARNESS_DESCRIPTORS_H

#include <stddef.h>

#define DESCRIPTORS_MAX 1024
#define DESCRIPTOR_TEXT 64

struct descriptor {
        int fd;
        char target[DESCRIPTOR_TEXT]; /* what it is; numbers of sockets and pipes are left out */
};

struct descriptors {
        size_t count;
        struct descriptor at[DESCRIPTORS_MAX];
};

/* All that are open now, in the order of their numbers; not what they are. */
void descriptors_list(struct descriptors *list);

/* Leaves in `after` only what `before` does not have and is open yet, and finds out what it is. */
void descriptors_new(struct descriptors *after, const struct descriptors *before);

#endif
