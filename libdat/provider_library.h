/* SPDX-License-Identifier: BSD-2-Clause */
/* A provider's shared object, and its two entry points. */

#ifndef LIBDAT_PROVIDER_LIBRARY_H
#define LIBDAT_PROVIDER_LIBRARY_H

#include <dat/dat_registry.h>
#include <stdbool.h>

struct provider_library {
        void *handle;
        DAT_PROVIDER_INIT_FUNC init;
        DAT_PROVIDER_FINI_FUNC fini;
};

/*
 * Load the shared object at path and find its entry points; its names stay its own. Without a
 * dat_provider_init it is no provider. On failure, false, and why (of size bytes) says what is
 * wrong with it.
 */
bool provider_library_load(struct provider_library *library, const char *path, char *why,
                           size_t size);

void provider_library_unload(struct provider_library *library);

#endif
