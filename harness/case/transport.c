/* SPDX-License-Identifier: BSD-2-Clause */
#include "case/transport.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
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

/* What has no hardware is no other device's child. */
static bool is_virtual(const char *device)
{
        char path[512];

        (void)snprintf(path, sizeof(path), DEVICES "/%s/device", device);
        return access(path, F_OK) != 0;
}

static bool is_siw(const char *device)
{
        return is_rnic(device) && is_virtual(device);
}

static bool is_rxe(const char *device)
{
        return !is_rnic(device) && is_virtual(device);
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
        return all_devices(is_siw);
}

bool release_reaches(const char *release, unsigned int major, unsigned int minor)
{
        unsigned int has_major;
        unsigned int has_minor;

        if (sscanf(release, "%u.%u", &has_major, &has_minor) != 2)
                return false;
        return has_major > major || (has_major == major && has_minor >= minor);
}

bool host_drops_taken(void)
{
        struct utsname host;

        return uname(&host) == 0 && release_reaches(host.release, 6, 4) && all_devices(is_rxe);
}
