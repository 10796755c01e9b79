/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAPLREF_OS_H
#define DAPLREF_OS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

uint64_t now_us(void);
bool thread_spawn(pthread_t *thread, void *(*run)(void *), void *argument);

#endif
