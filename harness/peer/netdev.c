/* SPDX-License-Identifier: BSD-2-Clause */
#include "peer/netdev.h"

#include <glob.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "evidence/address.h"

#define DEVICES "/sys/class/infiniband/"

int netdev_of(const char *address, char *name)
{
        struct ifaddrs *all = NULL;
        char text[64];
        int index = 0;

        if (getifaddrs(&all) < 0)
                return -1;
        for (const struct ifaddrs *one = all; one && !index; one = one->ifa_next) {
                if (!one->ifa_addr || (one->ifa_flags & IFF_LOOPBACK))
                        continue;
                address_text(one->ifa_addr, text, sizeof(text));
                if (strcmp(text, address) != 0)
                        continue;
                snprintf(name, IF_NAMESIZE, "%s", one->ifa_name);
                index = (int)if_nametoindex(name);
        }
        freeifaddrs(all);
        return index;
}

/* The first word of a file. */
static bool read_word(const char *path, char *word, size_t size)
{
        FILE *file = fopen(path, "re");
        bool is_there;

        if (!file)
                return false;
        is_there = fgets(word, (int)size, file) != NULL;
        fclose(file);
        if (is_there)
                word[strcspn(word, " \n")] = '\0';
        return is_there;
}

/* The counter of a device's port, by the name that its driver gives it: rxe, mlx5. */
static bool read_counter(const char *port, unsigned long long *packets, char *counter,
                         size_t counter_size)
{
        static const char *const names[] = {"out_of_seq_request", "out_of_sequence"};
        const char *device = port + strlen(DEVICES);

        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
                char path[PATH_MAX];
                char number[32];

                snprintf(path, sizeof(path), "%s/hw_counters/%s", port, names[i]);
                if (!read_word(path, number, sizeof(number)) ||
                    sscanf(number, "%llu", packets) != 1)
                        continue;
                snprintf(counter, counter_size, "%.*s %s", (int)strcspn(device, "/"), device,
                         names[i]);
                return true;
        }
        return false;
}

bool netdev_out_of_order(const char *name, unsigned long long *packets, char *counter,
                         size_t counter_size)
{
        static const char netdevs[] = "/gid_attrs/ndevs/";
        bool is_there = false;
        glob_t found;

        if (glob(DEVICES "*/ports/*/gid_attrs/ndevs/*", 0, NULL, &found) != 0)
                return false;
        for (size_t i = 0; i < found.gl_pathc && !is_there; i++) {
                char *path = found.gl_pathv[i];
                char on[IF_NAMESIZE + 1];

                if (!read_word(path, on, sizeof(on)) || strcmp(on, name) != 0)
                        continue;
                *strstr(path, netdevs) = '\0';
                is_there = read_counter(path, packets, counter, counter_size);
        }
        globfree(&found);
        return is_there;
}
