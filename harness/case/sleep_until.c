/* SPDX-License-Identifier: BSD-2-Clause */
#include "case/sleep_until.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "evidence/evidence.h"

bool sleep_until(uint64_t ns)
{
        struct itimerspec when = {
            .it_value = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)},
        };
        uint64_t expirations;
        int timer;

        if (now_ns() >= ns)
                return false;
        timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
        if (timer < 0 || timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL) < 0)
                return false;
        while (read(timer, &expirations, sizeof(expirations)) < 0 && errno == EINTR)
                ;
        close(timer);
        return true;
}
