/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAPLREF_DEVICE_H
#define DAPLREF_DEVICE_H

#include "base/daplref.h"

struct ia;

DAT_RETURN device_choose(struct ia *ia);
void device_release(struct ia *ia);

#endif
