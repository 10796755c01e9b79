/* SPDX-License-Identifier: BSD-2-Clause */
/* One record for each dat.conf entry that the registry has passed to this library. */
#ifndef DAPLREF_BINDING_H
#define DAPLREF_BINDING_H

#include <stdbool.h>

#include "base/daplref.h"

struct binding {
        DAT_PROVIDER table;
        DAT_PROVIDER_INFO info;
        char instance[256];
        bool registered;
        struct binding *next;
};

const struct binding *binding_find(const char *name, DAT_BOOLEAN is_thread_safe);
struct binding *binding_of_entry(const DAT_PROVIDER_INFO *info);
struct binding *binding_update(const DAT_PROVIDER_INFO *info, const char *instance,
                               const DAT_PROVIDER *table);

#endif
