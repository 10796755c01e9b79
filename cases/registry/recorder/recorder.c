/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A provider's library that has nothing but its entry points: what happens to it is told to the
 * program that it is loaded into, which does the rest (../recording.h). So it is the same for each
 * version of DAT, and for each registry.
 */
#include "cases/registry/shared/recording.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT void dat_provider_init(const void *info, const char *instance_data);
EXPORT void dat_provider_fini(const void *info);

/* Where this very copy of the library is. */
static const char here;

__attribute__((constructor)) static void loaded(void)
{
        recording_loaded(&here);
}

__attribute__((destructor)) static void unloaded(void)
{
        recording_unloaded(&here);
}

EXPORT void dat_provider_init(const void *info, const char *instance_data)
{
        recording_init(&here, info, instance_data);
}

EXPORT void dat_provider_fini(const void *info)
{
        recording_fini(&here, info);
}
