/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/library.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool digest_of(int fd, char hex[SHA256_HEX])
{
        unsigned char block[1 << 16];
        unsigned char digest[SHA256_SIZE];
        struct sha256 hash;
        ssize_t got;

        sha256_begin(&hash);
        while ((got = read(fd, block, sizeof(block))) > 0)
                sha256_add(&hash, block, (size_t)got);
        sha256_end(&hash, digest);
        for (size_t i = 0; i < SHA256_SIZE; i++)
                snprintf(hex + 2 * i, 3, "%02x", digest[i]);
        return got == 0;
}

void library_learn(struct library *library, const char *path)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

        *library = (struct library){.sha256 = ""};
        snprintf(library->path, sizeof(library->path), "%s", path);
        if (fd < 0)
                return;
        if (fstat(fd, &library->seen) < 0 || !S_ISREG(library->seen.st_mode) ||
            !digest_of(fd, library->sha256))
                library->sha256[0] = '\0';
        close(fd);
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
        return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool is_unchanged(const struct stat *a, const struct stat *b)
{
        return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
               same_time(&a->st_mtim, &b->st_mtim) && same_time(&a->st_ctim, &b->st_ctim);
}

bool library_holds(struct library *library, char text[LIBRARY_TEXT_MAX])
{
        struct library now;
        struct stat status;

        if (!library->sha256[0] ||
            (stat(library->path, &status) == 0 && is_unchanged(&status, &library->seen)))
                return true;
        library_learn(&now, library->path);
        if (strcmp(now.sha256, library->sha256) == 0) {
                *library = now;
                return true;
        }
        snprintf(text, LIBRARY_TEXT_MAX, "its provider %s has SHA-256 %.16s..., and had %.16s...",
                 library->path, now.sha256[0] ? now.sha256 : "none that can be read",
                 library->sha256);
        return false;
}
