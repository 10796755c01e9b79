/* SPDX-License-Identifier: BSD-2-Clause */
/* The file that a provider is loaded from, as the agent itself sees it. */
#ifndef HARNESS_LIBRARY_H
#define HARNESS_LIBRARY_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "evidence/sha256.h"

#define LIBRARY_TEXT_MAX (PATH_MAX + 256)

struct library {
        char path[PATH_MAX];
        char sha256[SHA256_HEX]; /* empty: it could not be read */
        struct stat seen;
};

/* Looks at the file and takes its digest. */
void library_learn(struct library *library, const char *path);

/*
 * Whether the file is still the same: by its inode, size and times, and where these have changed by
 * its digest, taken anew. Else false, and `text` says what it is now.
 */
bool library_holds(struct library *library, char text[LIBRARY_TEXT_MAX]);

#endif
