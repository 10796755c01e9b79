/* SPDX-License-Identifier: BSD-2-Clause */

#include "provider_library.h"

#include <dlfcn.h>
#include <stdio.h>

bool provider_library_load(struct provider_library *library, const char *path, char *why,
                           size_t size)
{
        void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

        if (!handle) {
                snprintf(why, size, "%s", dlerror());
                return false;
        }
        library->init = (DAT_PROVIDER_INIT_FUNC)dlsym(handle, DAT_PROVIDER_INIT_FUNC_STR);
        library->fini = (DAT_PROVIDER_FINI_FUNC)dlsym(handle, DAT_PROVIDER_FINI_FUNC_STR);
        if (!library->init) {
                snprintf(why, size,
                         "%s exports no " DAT_PROVIDER_INIT_FUNC_STR ", so it is no "
                         "DAT provider",
                         path);
                dlclose(handle);
                return false;
        }
        library->handle = handle;
        return true;
}

void provider_library_unload(struct provider_library *library)
{
        dlclose(library->handle);
        library->handle = NULL;
}
