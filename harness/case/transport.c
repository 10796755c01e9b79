/* SPDX-License-Identifier: BSD-2-Clause */
#include "case/transport.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* What stands on no hardware is no other device's child. */
static bool is_virtual_rnic(const char *device)
{
        char path[512];

        (void)snprintf(path, sizeof(path), DEVICES "/%s/device", device);
        return is_rnic(device) && access(path, F_OK) != 0;
}

static bool all_devices(bool (*are)(const char *device))
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
                all = all && are(entry->d_name);
        }
        closedir(devices);
        return any && all;
}

bool host_is_iwarp(void)
{
        return all_devices(is_rnic);
}

bool host_is_siw(void)
{
        return all_devices(is_virtual_rnic);
}
