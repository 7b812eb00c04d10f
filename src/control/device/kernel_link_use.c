// SPDX-License-Identifier: BSD-3-Clause
// kernel_link_use.c - how the host itself uses a kernel interface
//
// Everything is read in the namespace of the interface: its addresses, the default routes through
// it, and the sockets in /proc/net that are bound to its addresses or connected from them. A
// connection between two of its own addresses does not count.
#include "device/kernel_link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/ip.h"
#include "base/plain.h"
#include "base/vec.h"
#include "core/thread.h"
#include "netlink/netns.h"
#include "netlink/netns_use.h"
#include "netlink/rtnetlink.h"

struct own_addresses {
    VEC(struct ip_addr) item;
};

static unsigned prefix_length(const uint8_t *mask, unsigned n)
{
    unsigned bits = 0;

    for (unsigned i = 0; i < n; i++)
        bits += (unsigned)__builtin_popcount(mask[i]);
    return bits;
}

static void append_address(struct kernel_link_use *u, struct own_addresses *own,
                           const struct ifaddrs *a)
{
    const struct sockaddr_in *a4 = (void *)a->ifa_addr, *m4 = (void *)a->ifa_netmask;
    const struct sockaddr_in6 *a6 = (void *)a->ifa_addr, *m6 = (void *)a->ifa_netmask;
    bool four = a->ifa_addr->sa_family == AF_INET;
    struct ip_addr address = {.family = four ? IP4 : IP6};
    char text[IP_TEXT_MAX];
    size_t n = strlen(u->address);

    if (!four && (a->ifa_addr->sa_family != AF_INET6 || IN6_IS_ADDR_LINKLOCAL(&a6->sin6_addr)))
        return;
    memcpy(address.b, four ? (const void *)&a4->sin_addr : &a6->sin6_addr, four ? 4 : 16);
    snprintf(u->address + n, sizeof u->address - n, "%s%s/%u", n ? ", " : "",
             ip_format(&address, text),
             four ? prefix_length((const uint8_t *)&m4->sin_addr, 4)
                  : prefix_length(m6->sin6_addr.s6_addr, 16));
    *vec_push(&own->item) = address;
}

static void read_addresses(const char *name, struct kernel_link_use *u, struct own_addresses *own)
{
    struct ifaddrs *all;

    if (getifaddrs(&all))
        return;
    for (const struct ifaddrs *a = all; a; a = a->ifa_next)
        if (a->ifa_addr && a->ifa_netmask && !strcmp(a->ifa_name, name))
            append_address(u, own, a);
    freeifaddrs(all);
}

static void read_default_route4(const char *name, struct kernel_link_use *u)
{
    char line[256], iface[16];
    unsigned dst, gateway, flags, mask;
    FILE *f = fopen("/proc/thread-self/net/route", "re");

    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "%15s %x %x %x %*d %*d %*d %x", iface, &dst, &gateway, &flags, &mask) ==
                5 &&
            !dst && !mask && flags & 1 && !strcmp(iface, name))
            inet_ntop(AF_INET, &gateway, u->gateway, sizeof u->gateway);
    if (f)
        fclose(f);
}

static void read_default_route6(const char *name, struct kernel_link_use *u)
{
    char line[256], dst[33], via[33], iface[16];
    struct in6_addr gateway;
    unsigned len;
    FILE *f = fopen("/proc/thread-self/net/ipv6_route", "re");

    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "%32s %x %*s %*s %32s %*s %*s %*s %*s %15s", dst, &len, via, iface) != 4 ||
            len || strcmp(iface, name))
            continue;
        for (unsigned i = 0; i < 16; i++)
            sscanf(via + 2 * i, "%2hhx", &gateway.s6_addr[i]);
        inet_ntop(AF_INET6, &gateway, u->gateway, sizeof u->gateway);
    }
    if (f)
        fclose(f);
}

static bool is_own_address(const struct own_addresses *own, const struct ip_addr *a)
{
    vec_foreach (&own->item, o)
        if (ip_equal(o, a))
            return true;
    return false;
}

#define TCP_ESTABLISHED 1
#define TCP_LISTEN 10
#define PORT_DHCP 68 // a client, which obtained the address
#define PORT_DHCP6 546

static void read_sockets(const char *path, bool tcp, const struct own_addresses *own,
                         struct kernel_link_use *u)
{
    char line[256], local[33], remote[33], text[IP_TEXT_MAX];
    struct ip_addr here, there;
    unsigned state, port;
    FILE *f = fopen(path, "re");

    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, " %*d: %32[0-9A-F]:%x %32[0-9A-F]:%*x %x", local, &port, remote,
                   &state) != 4 ||
            !netns_parse_address(local, &here) || !netns_parse_address(remote, &there))
            continue;
        if (!is_own_address(own, &here) || is_own_address(own, &there))
            continue;
        if (tcp && state == TCP_ESTABLISHED)
            snprintf(u->session, sizeof u->session, "%s", ip_format(&there, text));
        else if (tcp ? state == TCP_LISTEN : port != PORT_DHCP && port != PORT_DHCP6)
            snprintf(u->server, sizeof u->server, "%s port %u", tcp ? "TCP" : "UDP", port);
    }
    if (f)
        fclose(f);
}

static int note_link(const struct nlmsghdr *h, void *ctx)
{
    const struct ifinfomsg *i = mnl_nlmsg_get_payload(h);
    struct kernel_link_use *u = ctx;
    const struct nlattr *a;

    u->no_ethernet = i->ifi_type != ARPHRD_ETHER;
    u->type = i->ifi_type;
    mnl_attr_for_each(a, h, sizeof *i)
        if (mnl_attr_get_type(a) == IFLA_MASTER && !if_indextoname(mnl_attr_get_u32(a), u->master))
            snprintf(u->master, sizeof u->master, "?"); // in another namespace
    return MNL_CB_OK;
}

static void read_link(unsigned ifindex, struct kernel_link_use *u)
{
    char buf[256] __attribute__((aligned(8)));

    rtnetlink_request_once(rtnetlink_open(NETNS_OWN),
                           rtnetlink_link(buf, RTM_GETLINK, (int)ifindex), note_link, u);
}

int kernel_link_explain_missing(const char *name, const char *netns, char *err, size_t err_size)
{
    struct if_nameindex *all = if_nameindex();
    char names[160] = "";
    size_t n = 0;

    for (const struct if_nameindex *i = all; i && i->if_index && n < sizeof names; i++)
        if (strcmp(i->if_name, "lo") && plain_name(i->if_name))
            n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : " (there is ",
                                  i->if_name);
    if (n)
        strcpy(names + (n < sizeof names - 2 ? n : sizeof names - 3), ")");
    if (all)
        if_freenameindex(all);
    snprintf(err, err_size, "there is no kernel interface %s in %s%s%s", name,
             netns[0] ? "namespace " : "kamueed's namespace", netns, names);
    return -ENODEV;
}

static int read_use_in_netns(const char *name, const char *netns, struct kernel_link_use *u,
                             char *err, size_t err_size)
{
    struct own_addresses own = {0};

    unsigned ifindex = if_nametoindex(name);

    if (!ifindex)
        return kernel_link_explain_missing(name, netns, err, err_size);
    read_link(ifindex, u);
    read_addresses(name, u, &own);
    read_default_route4(name, u);
    read_default_route6(name, u);
    read_sockets("/proc/thread-self/net/tcp", true, &own, u);
    read_sockets("/proc/thread-self/net/tcp6", true, &own, u);
    read_sockets("/proc/thread-self/net/udp", false, &own, u);
    read_sockets("/proc/thread-self/net/udp6", false, &own, u);
    vec_free(&own.item);
    return 0;
}

int kernel_link_use_read(const char *name, const char *netns, struct kernel_link_use *u, char *err,
                         size_t err_size)
{
    int fd, r;

    thread_must_be(ROLE_CONTROL);
    memset(u, 0, sizeof *u);
    if ((r = netns_open(netns, &fd, err, err_size)))
        return r;
    int back = netns_enter(fd);
    if (back < 0) {
        r = back;
        snprintf(err, err_size, "cannot enter network namespace %s: %s", netns, strerror(-r));
    } else {
        r = read_use_in_netns(name, netns, u, err, err_size);
        netns_leave(back);
    }
    netns_close(fd);
    return r;
}
