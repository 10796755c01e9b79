/* SPDX-License-Identifier: BSD-2-Clause */
#include "case/transport.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define DEVICES "/sys/class/infiniband"

static bool is_rnic(const char *device)
{
        char path[512];
        char type[32] = "";
        FILE *file;

        (void)snprintf(path, sizeof(path), DEVICES "/%s/node_type", device);
        file = fopen(path, "re");
        if (!file)
                return false;
        if (!fgets(type, sizeof(type), file))
                type[0] = '\0';
        (void)fclose(file);
        return strstr(type, "RNIC") != NULL;
}

bool host_is_iwarp(void)
{
        DIR *devices = opendir(DEVICES);
        bool any = false;
        bool all = true;

        if (!devices)
                return false;
        for (struct dirent *entry; (entry = readdir(devices)) != NULL;) {
                if (entry->d_name[0] == '.')
                        continue;
                any = true;
                all = all && is_rnic(entry->d_name);
        }
        closedir(devices);
        return any && all;
}
