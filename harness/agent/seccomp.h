/* SPDX-License-Identifier: BSD-2-Clause */
/* The system calls that no provider needs. */
#ifndef HARNESS_SECCOMP_H
#define HARNESS_SECCOMP_H

#include <stdbool.h>

/* Refuses them to this process and all that come from it, with EPERM; false with errno. */
bool seccomp_refuse(void);

#endif
