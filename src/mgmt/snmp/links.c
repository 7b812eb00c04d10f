// SPDX-License-Identifier: BSD-3-Clause
// links.c - reads the Linux interfaces of our network namespace by rtnetlink
//
// One dump gives all rows but the speed, which is in sysfs. Operational states are mapped to those
// of RFC 2863; a driver that reports none counts as up if its flags say so.
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/vec.h"
#include "snmp/interfaces.h"

enum { IF_OTHER = 1, IF_ETHERNET = 6, IF_PPP = 23, IF_LOOPBACK = 24, IF_TUNNEL = 131 };

static uint32_t type_of(unsigned arp)
{
    switch (arp) {
    case ARPHRD_ETHER: return IF_ETHERNET;
    case ARPHRD_LOOPBACK: return IF_LOOPBACK;
    case ARPHRD_PPP: return IF_PPP;
    case ARPHRD_TUNNEL:
    case ARPHRD_TUNNEL6:
    case ARPHRD_SIT:
    case ARPHRD_IPGRE: return IF_TUNNEL;
    }
    return IF_OTHER;
}

// RFC 2863 status from Linux's operational state; from the flags if the driver reports none.
static long oper_of(uint8_t state, unsigned flags)
{
    switch (state) {
    case 1: return 6; // not present
    case 2: return 2; // down
    case 3: return 7; // lower layer down
    case 4: return 3; // testing
    case 5: return 5; // dormant
    case 6: return 1; // up
    }
    return flags & IFF_UP && flags & IFF_RUNNING ? 1 : 2;
}

static uint32_t speed_of(const char *name)
{
    char path[64], text[16] = "";

    snprintf(path, sizeof path, "/sys/class/net/%s/speed", name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    long v = n > 0 ? atol(text) : 0;
    return v > 0 ? (uint32_t)v : 0;
}

static void take_statistics(struct interface *i, const struct nlattr *a)
{
    struct rtnl_link_stats64 s = {0};
    size_t n = mnl_attr_get_payload_len(a);

    memcpy(&s, mnl_attr_get_payload(a), n < sizeof s ? n : sizeof s);
    i->rx_bytes = s.rx_bytes;
    i->rx_packets = s.rx_packets;
    i->tx_bytes = s.tx_bytes;
    i->tx_packets = s.tx_packets;
    i->rx_drops = s.rx_dropped;
    i->tx_drops = s.tx_dropped;
}

static int on_link(const struct nlmsghdr *h, void *ctx)
{
    const struct ifinfomsg *m = mnl_nlmsg_get_payload(h);
    struct interfaces *all = ctx;
    const struct nlattr *a;
    uint8_t state = 0;

    if (h->nlmsg_type != RTM_NEWLINK)
        return MNL_CB_OK;
    struct interface *i = vec_push(&all->row);
    *i = (struct interface){.key = {1, {(uint32_t)m->ifi_index}}, .type = type_of(m->ifi_type)};
    mnl_attr_for_each(a, h, sizeof *m)
    {
        size_t n = mnl_attr_get_payload_len(a);
        switch (mnl_attr_get_type(a)) {
        case IFLA_IFNAME: snprintf(i->name, sizeof i->name, "%s", mnl_attr_get_str(a)); break;
        case IFLA_IFALIAS: snprintf(i->alias, sizeof i->alias, "%s", mnl_attr_get_str(a)); break;
        case IFLA_MTU: i->mtu = mnl_attr_get_u32(a); break;
        case IFLA_OPERSTATE: state = mnl_attr_get_u8(a); break;
        case IFLA_ADDRESS:
            i->n_mac = (unsigned)(n < sizeof i->mac ? n : sizeof i->mac);
            memcpy(i->mac, mnl_attr_get_payload(a), i->n_mac);
            break;
        case IFLA_STATS64: take_statistics(i, a); break;
        }
    }
    i->admin = m->ifi_flags & IFF_UP ? 1 : 2;
    i->oper = oper_of(state, m->ifi_flags);
    i->promiscuous = m->ifi_flags & IFF_PROMISC;
    i->speed_mbps = speed_of(i->name);
    return MNL_CB_OK;
}

static void dump(struct mnl_socket *nl, struct interfaces *all)
{
    char *buf = malloc(65536);
    struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
    ssize_t n;
    int more = MNL_CB_OK;

    h->nlmsg_type = RTM_GETLINK;
    h->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    mnl_nlmsg_put_extra_header(h, sizeof(struct ifinfomsg));
    if (mnl_socket_sendto(nl, h, h->nlmsg_len) >= 0)
        while (more > MNL_CB_STOP && (n = mnl_socket_recvfrom(nl, buf, 65536)) > 0)
            more = mnl_cb_run(buf, (size_t)n, 0, 0, on_link, all);
    free(buf);
}

void links_read(struct interfaces *all)
{
    struct mnl_socket *nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);

    if (nl && !mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID))
        dump(nl, all);
    else
        log_warning("snmp: Linux's interfaces are not read: error=\"%m\"");
    if (nl)
        mnl_socket_close(nl);
}
