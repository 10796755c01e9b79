/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAPLREF_IA_LIMITS_H
#define DAPLREF_IA_LIMITS_H

#include <stdbool.h>

struct ia;

#define DESCRIPTORS_PLENTY 8192 /* enough for two IAs with as many EVDs as they may have */

bool limits_fill(struct ia *ia);

#endif
