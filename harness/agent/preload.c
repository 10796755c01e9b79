/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/preload.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#define VERBS "libibverbs.so.1"

static const char *name_of(const char *path)
{
        const char *slash = strrchr(path, '/');

        return slash ? slash + 1 : "";
}

static bool is_verbs(const char *path)
{
        return strcmp(name_of(path), VERBS) == 0;
}

/* A driver, which only makes itself known to libibverbs by being loaded. */
static bool is_driver(const char *path)
{
        const char *name = name_of(path);
        const char *abi = strstr(name, "-rdmav");

        return strncmp(name, "lib", 3) == 0 && abi && strstr(abi, ".so");
}

/* Known to do nothing by being loaded. */
static bool is_harmless(const char *path)
{
        static const char *const libraries[] = {VERBS, "librdmacm.so.1", "libnl-3.so.200",
                                                "libnl-route-3.so.200"};

        for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
                if (strcmp(name_of(path), libraries[i]) == 0)
                        return true;
        return is_driver(path);
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

/*
 * The probe's process shared its memory with a provider: what it names is looked at again. A driver
 * follows the libibverbs that it is for. Without that, it would load another one.
 */
void preload(const struct probe *probe)
{
        bool verbs = false;

        for (uint32_t i = 0; i < probe->preload_count && i < PROBE_PRELOAD_MAX; i++) {
                const char *path = probe->preload[i];

                if (!memchr(path, '\0', PROBE_PATH_MAX) || !is_harmless(path))
                        continue;
                if (is_driver(path) && !verbs)
                        continue;
                if (dlopen(path, RTLD_NOW | RTLD_LOCAL) && is_verbs(path))
                        verbs = true;
        }
}
