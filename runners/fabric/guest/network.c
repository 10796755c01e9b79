/* SPDX-License-Identifier: BSD-2-Clause */
#include "guest.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <rdma/rdma_netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define NETDEV "eth0"

/* A netlink request under construction, with room for the few attributes sent here. */
struct request {
        struct nlmsghdr header;
        char body[256];
};

static void *append(struct request *req, size_t length)
{
        void *place = (char *)req + NLMSG_ALIGN(req->header.nlmsg_len);

        req->header.nlmsg_len = NLMSG_ALIGN(req->header.nlmsg_len) + (unsigned int)length;
        return place;
}

static void append_attribute(struct request *req, unsigned short type, const void *value,
                             size_t length)
{
        struct nlattr *attr = append(req, NLA_HDRLEN + length);

        attr->nla_type = type;
        attr->nla_len = (unsigned short)(NLA_HDRLEN + length);
        memcpy((char *)attr + NLA_HDRLEN, value, length);
}

static int transact(int protocol, struct request *req)
{
        struct {
                struct nlmsghdr header;
                struct nlmsgerr error;
                char rest[512];
        } reply;
        int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
        ssize_t got = -1;

        if (fd < 0)
                return -1;
        req->header.nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
        if (send(fd, req, req->header.nlmsg_len, 0) >= 0)
                got = recv(fd, &reply, sizeof(reply), 0);
        close(fd);
        if (got < 0)
                return -1;
        if (reply.header.nlmsg_type == NLMSG_ERROR && reply.error.error) {
                errno = -reply.error.error;
                return -1;
        }
        return 0;
}

static int ioctl_netdev(unsigned long request, struct ifreq *req, const char *name)
{
        int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        int rc;

        if (fd < 0)
                return -1;
        strncpy(req->ifr_name, name, IFNAMSIZ - 1);
        rc = ioctl(fd, request, req);
        close(fd);
        return rc;
}

int network_set_mac(const char *mac)
{
        struct ifreq req = {.ifr_hwaddr.sa_family = ARPHRD_ETHER};
        unsigned int octet[6];

        if (sscanf(mac, "%2x:%2x:%2x:%2x:%2x:%2x", &octet[0], &octet[1], &octet[2], &octet[3],
                   &octet[4], &octet[5]) != 6) {
                errno = EINVAL;
                return fail_at("read the MAC address");
        }
        for (int i = 0; i < 6; i++)
                req.ifr_hwaddr.sa_data[i] = (char)octet[i];
        if (ioctl_netdev(SIOCSIFHWADDR, &req, NETDEV) < 0)
                return fail_at("set the MAC address");
        return 0;
}

/* address is in the form 10.77.0.1/24 or fd00::1/64 */
int network_add_address(const char *address)
{
        struct request req = {
            .header = {.nlmsg_len = NLMSG_HDRLEN,
                       .nlmsg_type = RTM_NEWADDR,
                       .nlmsg_flags = NLM_F_CREATE | NLM_F_REPLACE},
        };
        struct ifaddrmsg *message = append(&req, sizeof(*message));
        char text[INET6_ADDRSTRLEN + 4] = {0};
        unsigned char binary[16];
        char *slash;

        strncpy(text, address, sizeof(text) - 1);
        slash = strchr(text, '/');
        if (!slash)
                goto malformed;
        *slash = '\0';
        message->ifa_family = strchr(text, ':') ? AF_INET6 : AF_INET;
        message->ifa_prefixlen = (unsigned char)atoi(slash + 1);
        message->ifa_index = if_nametoindex(NETDEV);
        if (inet_pton(message->ifa_family, text, binary) != 1)
                goto malformed;
        append_attribute(&req, IFA_LOCAL, binary, message->ifa_family == AF_INET ? 4 : 16);
        if (transact(NETLINK_ROUTE, &req) < 0)
                return fail_at("set an address");
        return 0;

malformed:
        errno = EINVAL;
        return fail_at("read an address");
}

static int set_flags(const char *netdev, short flags)
{
        struct ifreq req = {.ifr_flags = flags};

        if (ioctl_netdev(SIOCSIFFLAGS, &req, netdev) < 0)
                return fail_at(netdev);
        return 0;
}

static bool running(const char *netdev)
{
        struct ifreq req = {0};

        return ioctl_netdev(SIOCGIFFLAGS, &req, netdev) == 0 && (req.ifr_flags & IFF_RUNNING);
}

/*
 * The kernel takes up to a second to believe in a new netdev's carrier, and keeps its addresses
 * tentative until then. It believes for good, so one wait before the snapshot spares every clone.
 */
int network_prepare(void)
{
        struct sockaddr_nl links = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
        char event[4096];
        int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

        if (fd < 0 || bind(fd, (struct sockaddr *)&links, sizeof(links)) < 0)
                return fail_at("watch the network");
        /* without duplicate address detection an IPv6 address is usable at once, not a second later
         */
        if (write_file("/proc/sys/net/ipv6/conf/" NETDEV "/accept_dad", "0", false) < 0 ||
            write_file("/proc/sys/net/ipv6/conf/" NETDEV "/accept_ra", "0", false) < 0)
                return -1;
        if (set_flags("lo", IFF_UP) < 0 || set_flags(NETDEV, IFF_UP) < 0)
                return -1;
        while (!running(NETDEV))
                if (recv(fd, event, sizeof(event), 0) < 0 && errno != EINTR)
                        return fail_at("watch the network");
        close(fd);
        return set_flags(NETDEV, 0);
}

int network_up(void)
{
        return set_flags(NETDEV, IFF_UP);
}

static char rdma_type[16];

/* type is as `rdma link add` has it: rxe or siw */
int rdma_set_type(const char *type)
{
        if (!*type || strlen(type) >= sizeof(rdma_type)) {
                errno = EINVAL;
                return fail_at("take an RDMA device");
        }
        strcpy(rdma_type, type);
        return 0;
}

/* What `rdma link add rxe0 type rxe netdev eth0` does, without the cost of starting a program. */
int rdma_add(void)
{
        char name[sizeof(rdma_type) + 1];
        struct request req = {
            .header = {.nlmsg_len = NLMSG_HDRLEN,
                       .nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_NEWLINK)},
        };

        snprintf(name, sizeof(name), "%s0", rdma_type);
        append_attribute(&req, RDMA_NLDEV_ATTR_DEV_NAME, name, strlen(name) + 1);
        append_attribute(&req, RDMA_NLDEV_ATTR_LINK_TYPE, rdma_type, strlen(rdma_type) + 1);
        append_attribute(&req, RDMA_NLDEV_ATTR_NDEV_NAME, NETDEV, sizeof(NETDEV));
        if (transact(NETLINK_RDMA, &req) < 0)
                return fail_at("add an RDMA device on " NETDEV);
        return 0;
}

/* Writes the names of the RDMA devices to names, each with a space before it. */
int rdma_devices(char *names, size_t size)
{
        DIR *devices = opendir("/sys/class/infiniband");
        struct dirent *entry;
        size_t used = 0;

        if (!devices)
                return fail_at("list the RDMA devices");
        names[0] = '\0';
        while ((entry = readdir(devices)) && used < size)
                if (entry->d_name[0] != '.')
                        used += (size_t)snprintf(names + used, size - used, " %s", entry->d_name);
        closedir(devices);
        return 0;
}
