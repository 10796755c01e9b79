/* SPDX-License-Identifier: BSD-2-Clause */
#include "peer/disturbance.h"

#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/route/qdisc.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "peer/netdev.h"

/* By this handle an agent knows its own queueing discipline again. */
#define OWN_HANDLE      (0xda70U << 16)
#define QUEUE_PACKETS   10000
#define NS_PER_MS       1000000
#define BYTES_PER_KBIT  125
#define PERCENT_MAX     100
#define REORDER_MAX     10
#define MS_MAX          200
#define KBIT_PER_S_MIN  1000
#define KBIT_PER_S_MAX  1000000
#define LIKELY_PER_CENT (UINT32_MAX / PERCENT_MAX)

struct wanted {
        int delay_ms;
        int reorder_percent;
        int loss_percent;
        int kbit_per_s;
};

static bool say(char *why, size_t why_size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool say(char *why, size_t why_size, const char *format, ...)
{
        va_list args;

        va_start(args, format);
        vsnprintf(why, why_size, format, args);
        va_end(args);
        return false;
}

static struct nl_sock *route_socket(char *why, size_t why_size)
{
        struct nl_sock *sock = nl_socket_alloc();
        int err = sock ? nl_connect(sock, NETLINK_ROUTE) : -NLE_NOMEM;

        if (!err)
                return sock;
        nl_socket_free(sock);
        say(why, why_size, "no netlink socket: %s", nl_geterror(err));
        return NULL;
}

static bool parse(const json_t *wanted, struct wanted *parsed)
{
        *parsed = (struct wanted){0};
        if (json_unpack((json_t *)wanted, "{s:i s:i s:i s:i}", "delay_ms", &parsed->delay_ms,
                        "reorder_percent", &parsed->reorder_percent, "loss_percent",
                        &parsed->loss_percent, "kbit_per_s", &parsed->kbit_per_s) != 0)
                return false;
        return parsed->delay_ms >= 0 && parsed->delay_ms <= MS_MAX &&
               parsed->reorder_percent >= 0 && parsed->reorder_percent <= REORDER_MAX &&
               parsed->loss_percent >= 0 && parsed->loss_percent <= PERCENT_MAX &&
               (parsed->kbit_per_s == 0 ||
                (parsed->kbit_per_s >= KBIT_PER_S_MIN && parsed->kbit_per_s <= KBIT_PER_S_MAX)) &&
               (parsed->delay_ms || parsed->loss_percent || parsed->kbit_per_s) &&
               (parsed->delay_ms || !parsed->reorder_percent);
}

/* Where the kernel's structure has no room for a value, an attribute of its own has it. */
static bool put_options(struct nl_msg *msg, const struct wanted *wanted)
{
        struct tc_netem_qopt options = {
            .limit = QUEUE_PACKETS,
            .loss = (uint32_t)wanted->loss_percent * LIKELY_PER_CENT,
            .gap = wanted->reorder_percent ? 1 : 0,
        };
        struct tc_netem_reorder reorder = {
            .probability = (uint32_t)wanted->reorder_percent * LIKELY_PER_CENT,
        };
        struct tc_netem_rate rate = {
            .rate = (uint32_t)wanted->kbit_per_s * BYTES_PER_KBIT,
        };
        int64_t delay_ns = (int64_t)wanted->delay_ms * NS_PER_MS;
        struct nlattr *nest = nla_nest_start(msg, TCA_OPTIONS);

        if (!nest || nlmsg_append(msg, &options, sizeof(options), NLMSG_ALIGNTO) < 0 ||
            nla_put(msg, TCA_NETEM_LATENCY64, sizeof(delay_ns), &delay_ns) < 0)
                return false;
        if (wanted->reorder_percent && nla_put(msg, TCA_NETEM_REORDER, sizeof(reorder), &reorder))
                return false;
        if (wanted->kbit_per_s && nla_put(msg, TCA_NETEM_RATE, sizeof(rate), &rate) < 0)
                return false;
        return nla_nest_end(msg, nest) == 0;
}

/* Without NLM_F_REPLACE the kernel refuses if the netdev has a configuration. */
static int add_netem(struct nl_sock *sock, int netdev, const struct wanted *wanted)
{
        struct nl_msg *msg = nlmsg_alloc_simple(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL);
        struct tcmsg tc = {
            .tcm_family = AF_UNSPEC,
            .tcm_ifindex = netdev,
            .tcm_handle = OWN_HANDLE,
            .tcm_parent = TC_H_ROOT,
        };

        if (!msg)
                return -NLE_NOMEM;
        if (nlmsg_append(msg, &tc, sizeof(tc), NLMSG_ALIGNTO) < 0 ||
            nla_put_string(msg, TCA_KIND, "netem") < 0 || !put_options(msg, wanted)) {
                nlmsg_free(msg);
                return -NLE_NOMEM;
        }
        return nl_send_sync(sock, msg);
}

/* Takes the queueing discipline of an agent away; its packets are those that it sent on or lost. */
static int remove_netem(struct nl_sock *sock, int netdev, unsigned long long *packets)
{
        struct nl_cache *all;
        struct rtnl_qdisc *own;
        int err = rtnl_qdisc_alloc_cache(sock, &all);

        if (err < 0)
                return err;
        own = rtnl_qdisc_get(all, netdev, OWN_HANDLE);
        nl_cache_free(all);
        if (!own)
                return -NLE_OBJ_NOTFOUND;
        *packets = rtnl_tc_get_stat(TC_CAST(own), RTNL_TC_PACKETS) +
                   rtnl_tc_get_stat(TC_CAST(own), RTNL_TC_DROPS);
        err = rtnl_qdisc_delete(sock, own);
        rtnl_qdisc_put(own);
        return err;
}

/* Appends what there is of it; its length. */
static size_t tell(char *text, size_t size, const char *format, int value)
    __attribute__((format(printf, 3, 0)));
static size_t tell(char *text, size_t size, const char *format, int value)
{
        return value ? (size_t)snprintf(text, size, format, value) : 0;
}

static void describe(struct disturbance *disturbance, const char *netdev,
                     const struct wanted *wanted)
{
        char *text = disturbance->text;
        size_t size = sizeof(disturbance->text);
        size_t used = (size_t)snprintf(text, size, "netem on %s", netdev);

        used += tell(text + used, size - used, ", %d ms late", wanted->delay_ms);
        used +=
            tell(text + used, size - used, ", %d%% of packets in front", wanted->reorder_percent);
        used += tell(text + used, size - used, ", %d%% lost", wanted->loss_percent);
        tell(text + used, size - used, ", %d kbit/s", wanted->kbit_per_s);
}

bool disturbance_permits(const json_t *wanted)
{
        struct wanted parsed;

        return parse(wanted, &parsed);
}

bool disturbance_begin(struct disturbance *disturbance, const char *address, const json_t *wanted,
                       char *why, size_t why_size)
{
        char name[IF_NAMESIZE] = "";
        struct wanted parsed;
        struct nl_sock *sock;
        int netdev;
        int err;

        if (disturbance->netdev)
                return say(why, why_size, "the network is disturbed already");
        if (!parse(wanted, &parsed))
                return say(why, why_size, "this is no disturbance that netem knows");
        netdev = netdev_of(address, name);
        if (netdev < 0)
                return say(why, why_size, "the host's addresses: %s", strerror(errno));
        if (netdev == 0)
                return say(why, why_size, "no netdev to another host has the IA's address %s",
                           address);
        sock = route_socket(why, why_size);
        if (!sock)
                return false;
        err = add_netem(sock, netdev, &parsed);
        nl_socket_free(sock);
        if (err)
                return say(why, why_size, "netem on %s: %s", name, nl_geterror(err));
        disturbance->netdev = netdev;
        describe(disturbance, name, &parsed);
        return true;
}

bool disturbance_end(struct disturbance *disturbance, unsigned long long *packets, char *why,
                     size_t why_size)
{
        struct nl_sock *sock;
        int err;

        *packets = 0;
        if (!disturbance->netdev)
                return true;
        sock = route_socket(why, why_size);
        if (!sock)
                return false;
        err = remove_netem(sock, disturbance->netdev, packets);
        nl_socket_free(sock);
        if (err)
                return say(why, why_size, "%s is not removed: %s", disturbance->text,
                           nl_geterror(err));
        disturbance->netdev = 0;
        return true;
}

void disturbance_note_limit(struct disturbance *disturbance, unsigned int ms)
{
        size_t used = strlen(disturbance->text);

        snprintf(disturbance->text + used, sizeof(disturbance->text) - used, ", undone after %u ms",
                 ms);
}

void disturbance_forget(const char *address)
{
        struct disturbance left = {.netdev = 0};
        char name[IF_NAMESIZE];
        char why[DISTURBANCE_TEXT];
        unsigned long long packets;

        left.netdev = netdev_of(address, name);
        if (left.netdev < 0)
                return;
        disturbance_end(&left, &packets, why, sizeof(why));
}
