/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAPLREF_PROVIDER_H
#define DAPLREF_PROVIDER_H

#include "base/daplref.h"

void abi_complete_table(DAT_PROVIDER *table);

#endif
