/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/preload.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

/* Known to do nothing by being loaded. */
static bool is_harmless(const char *path)
{
        static const char *const libraries[] = {"libibverbs.so.1", "librdmacm.so.1",
                                                "libnl-3.so.200", "libnl-route-3.so.200"};
        const char *slash = strrchr(path, '/');

        for (size_t i = 0; slash && i < sizeof(libraries) / sizeof(libraries[0]); i++)
                if (strcmp(slash + 1, libraries[i]) == 0)
                        return true;
        return false;
}

static int note_library(struct dl_phdr_info *info, size_t size, void *arg)
{
        struct probe *probe = arg;

        (void)size;
        if (!info->dlpi_name || !is_harmless(info->dlpi_name) ||
            strlen(info->dlpi_name) >= PROBE_PATH_MAX || probe->preload_count == PROBE_PRELOAD_MAX)
                return 0;
        snprintf(probe->preload[probe->preload_count++], PROBE_PATH_MAX, "%s", info->dlpi_name);
        return 0;
}

void preload_note(struct probe *probe)
{
        dl_iterate_phdr(note_library, probe);
}

/* The probe's process shared its memory with a provider: what it names is looked at again. */
void preload(const struct probe *probe)
{
        for (uint32_t i = 0; i < probe->preload_count && i < PROBE_PRELOAD_MAX; i++)
                if (memchr(probe->preload[i], '\0', PROBE_PATH_MAX) &&
                    is_harmless(probe->preload[i]))
                        dlopen(probe->preload[i], RTLD_NOW | RTLD_LOCAL);
}
