# SPDX-License-Identifier: BSD-2-Clause
"""A clock that jumps, or goes at another rate: a library that is loaded before the C library."""

import os
import struct
from pathlib import Path

from tests.runners.fake_checkout import compile_library

FILE = "clock"
SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NS 1000000000LL

static const struct { volatile double offset_s, rate; } *knobs;
static int64_t loaded_ns;

static int64_t real_ns(clockid_t id)
{
        struct timespec now = {0, 0};

        syscall(SYS_clock_gettime, id, &now);
        return now.tv_sec * NS + now.tv_nsec;
}

__attribute__((constructor)) static void load(void)
{
        const char *path = getenv("CLOCK_FILE");
        int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        void *at = fd < 0 ? MAP_FAILED : mmap(NULL, 16, PROT_READ, MAP_SHARED, fd, 0);

        if (fd >= 0)
                close(fd);
        loaded_ns = real_ns(CLOCK_MONOTONIC);
        knobs = at == MAP_FAILED ? NULL : at;
}

static int64_t shown_ns(clockid_t id)
{
        int64_t now = real_ns(id);

        if (knobs && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
                return now + (int64_t)(knobs->offset_s * NS);
        if (knobs && (id == CLOCK_MONOTONIC || id == CLOCK_BOOTTIME || id == CLOCK_MONOTONIC_RAW))
                return loaded_ns + (int64_t)((double)(now - loaded_ns) * knobs->rate);
        return now;
}

int clock_gettime(clockid_t id, struct timespec *to)
{
        int64_t now = shown_ns(id);

        *to = (struct timespec){now / NS, now % NS};
        return 0;
}

int gettimeofday(struct timeval *restrict to, void *restrict zone)
{
        int64_t now = shown_ns(CLOCK_REALTIME);

        (void)zone;
        *to = (struct timeval){now / NS, now % NS / 1000};
        return 0;
}

time_t time(time_t *to)
{
        time_t now = shown_ns(CLOCK_REALTIME) / NS;

        if (to)
                *to = now;
        return now;
}
"""


class Clock:
    """The clock of the processes that have `env` in their environment."""

    def __init__(self, folder: Path) -> None:
        file = folder / FILE
        file.touch()
        set_clock(folder)
        library = compile_library(folder / "libclock.so", SOURCE, "-O1")
        # A sanitizer wants to be loaded first, and needs not.
        options = f"{os.environ.get('ASAN_OPTIONS', '')}:verify_asan_link_order=0"
        self.env = {"LD_PRELOAD": str(library), "CLOCK_FILE": str(file), "ASAN_OPTIONS": options}


def set_clock(folder: Path, offset_s: float = 0.0, rate: float = 1.0) -> None:
    """Shift the time of day of that clock by so much, and let the other one go at this rate."""
    # Processes have the file mapped, so it stays the same file.
    with (folder / FILE).open("r+b") as file:
        file.write(struct.pack("dd", offset_s, rate))
