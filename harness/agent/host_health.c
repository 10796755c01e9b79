/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/host_health.h"

#include <fcntl.h>
#include <glob.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "evidence/address.h"

#define DEVICES "/sys/class/infiniband/"
/* What has to stay as it was. */
#define FLAGS (IFF_UP | IFF_RUNNING)

static bool read_text(const char *path, char *text, size_t size)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t length = -1;

        if (fd >= 0) {
                length = read(fd, text, size - 1);
                close(fd);
        }
        text[length < 0 ? 0 : length] = '\0';
        text[strcspn(text, "\n")] = '\0';
        return length > 0;
}

static bool is_active(const char *port)
{
        char path[HOST_HEALTH_PATH_MAX + 16];
        char state[32];

        snprintf(path, sizeof(path), "%s/state", port);
        return read_text(path, state, sizeof(state)) && strncmp(state, "4:", 2) == 0;
}

/* Whether a port of an RDMA device is on the netdev, or on any where there is no name. */
static bool is_on(const char *port, const char *netdev)
{
        char path[HOST_HEALTH_PATH_MAX + 32];
        char name[IF_NAMESIZE + 1];

        if (!netdev[0])
                return true;
        snprintf(path, sizeof(path), "%s/gid_attrs/ndevs/0", port);
        return read_text(path, name, sizeof(name)) && strcmp(name, netdev) == 0;
}

static void find_netdev(struct host_health *health, const char *address)
{
        struct ifaddrs *all = NULL;
        char text[64];

        if (getifaddrs(&all) < 0)
                return;
        for (const struct ifaddrs *one = all; one && !health->netdev[0]; one = one->ifa_next) {
                if (!one->ifa_addr)
                        continue;
                address_text(one->ifa_addr, text, sizeof(text));
                if (strcmp(text, address) == 0)
                        snprintf(health->netdev, sizeof(health->netdev), "%s", one->ifa_name);
        }
        freeifaddrs(all);
}

/* What a netdev is like now: where there is none of the name, index 0. */
static void look_at_netdev(const char *name, struct host_health *now)
{
        /* To make one for each case costs more than all that is asked by it. */
        static int fd = -1;
        struct ifreq request = {.ifr_ifindex = 0};

        if (fd < 0)
                fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        *now = (struct host_health){.index = 0};
        if (fd < 0)
                return;
        snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
        if (ioctl(fd, SIOCGIFINDEX, &request) == 0)
                now->index = request.ifr_ifindex;
        if (ioctl(fd, SIOCGIFFLAGS, &request) == 0)
                now->flags = request.ifr_flags & FLAGS;
        if (ioctl(fd, SIOCGIFADDR, &request) == 0) {
                struct sockaddr_in first;

                memcpy(&first, &request.ifr_addr, sizeof(first));
                now->address = first.sin_addr;
        }
}

static void find_ports(struct host_health *health)
{
        glob_t found;

        if (glob(DEVICES "*/ports/*", 0, NULL, &found) != 0)
                return;
        for (size_t i = 0; i < found.gl_pathc && health->ports < HOST_HEALTH_PORTS_MAX; i++) {
                const char *port = found.gl_pathv[i];

                if (strlen(port) < HOST_HEALTH_PATH_MAX && is_active(port) &&
                    is_on(port, health->netdev))
                        memcpy(health->port[health->ports++], port, strlen(port) + 1);
        }
        globfree(&found);
}

void host_health_note(struct host_health *health, const char *address)
{
        char netdev[IF_NAMESIZE];

        *health = (struct host_health){.index = 0};
        find_netdev(health, address);
        memcpy(netdev, health->netdev, sizeof(netdev));
        if (netdev[0])
                look_at_netdev(netdev, health);
        memcpy(health->netdev, netdev, sizeof(netdev));
        find_ports(health);
}

static bool netdev_holds(const struct host_health *health, char text[HOST_HEALTH_TEXT_MAX])
{
        struct host_health now;
        const char *what = NULL;

        look_at_netdev(health->netdev, &now);
        if (now.index != health->index)
                what = "is gone";
        else if (now.flags != health->flags)
                what = now.flags & IFF_UP ? "has no carrier as before" : "is down";
        else if (now.address.s_addr != health->address.s_addr)
                what = "has lost its address";
        if (what)
                snprintf(text, HOST_HEALTH_TEXT_MAX, "its netdev %s %s", health->netdev, what);
        return !what;
}

bool host_health_holds(const struct host_health *health, char text[HOST_HEALTH_TEXT_MAX])
{
        if (health->netdev[0] && !netdev_holds(health, text))
                return false;
        for (size_t i = 0; i < health->ports; i++) {
                const char *port = health->port[i];

                if (is_active(port))
                        continue;
                snprintf(text, HOST_HEALTH_TEXT_MAX, "its RDMA device's %s is %s",
                         port + strlen(DEVICES),
                         access(port, F_OK) == 0 ? "not active any more" : "gone");
                return false;
        }
        return true;
}
