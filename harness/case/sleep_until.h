/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HARNESS_SLEEP_UNTIL_H
#define HARNESS_SLEEP_UNTIL_H

#include <stdbool.h>
#include <stdint.h>

/* Waits until CLOCK_MONOTONIC says `ns`, by a timer; false where that was already past. */
bool sleep_until(uint64_t ns);

#endif
