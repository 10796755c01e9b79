/* SPDX-License-Identifier: BSD-2-Clause */
/* What the registry is told of, once for each entry. */
#ifndef DAPLREF_PROVIDER_H
#define DAPLREF_PROVIDER_H

#include <stdbool.h>

#include "daplref.h"

struct binding {
        DAT_PROVIDER table;
        DAT_PROVIDER_INFO info;
        char instance[256];
        bool registered;
        struct binding *next;
};

void abi_complete_table(DAT_PROVIDER *table);
const struct binding *binding_find(const char *name, DAT_BOOLEAN is_thread_safe);

#endif
