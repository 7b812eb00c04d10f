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

#include "base/plain.h"
#include "base/vec.h"
#include "core/thread.h"
#include "netlink/netns.h"
#include "netlink/rtnetlink.h"

struct own_addresses {
    VEC(struct in6_addr) item; // IPv4 addresses are mapped
};

static struct in6_addr map_ip4(uint32_t be)
{
    struct in6_addr a = {.s6_addr[10] = 0xff, .s6_addr[11] = 0xff};

    memcpy(a.s6_addr + 12, &be, sizeof be);
    return a;
}

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
    char text[INET6_ADDRSTRLEN];
    size_t n = strlen(u->address);

    if (!four && (a->ifa_addr->sa_family != AF_INET6 || IN6_IS_ADDR_LINKLOCAL(&a6->sin6_addr)))
        return;
    inet_ntop(a->ifa_addr->sa_family, four ? (const void *)&a4->sin_addr : &a6->sin6_addr, text,
              sizeof text);
    snprintf(u->address + n, sizeof u->address - n, "%s%s/%u", n ? ", " : "", text,
             four ? prefix_length((const uint8_t *)&m4->sin_addr, 4)
                  : prefix_length(m6->sin6_addr.s6_addr, 16));
    *vec_push(&own->item) = four ? map_ip4(a4->sin_addr.s_addr) : a6->sin6_addr;
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

// Parses an address of /proc/net/tcp: 32-bit words in host byte order.
static struct in6_addr parse_proc_address(const char *hex)
{
    unsigned word[4];
    struct in6_addr a;

    if (strlen(hex) == 8 && sscanf(hex, "%8x", &word[0]) == 1)
        return map_ip4(word[0]);
    for (unsigned i = 0; i < 4; i++)
        sscanf(hex + 8 * i, "%8x", &word[i]);
    memcpy(&a, word, sizeof a);
    return a;
}

static bool is_own_address(const struct own_addresses *own, const struct in6_addr *a)
{
    vec_foreach (&own->item, o)
        if (!memcmp(o, a, sizeof *a))
            return true;
    return false;
}

#define TCP_ESTABLISHED 1
#define TCP_LISTEN 10
#define PORT_DHCP 68 // a client, which obtained the address
#define PORT_DHCP6 546

static void note_session(struct kernel_link_use *u, const struct in6_addr *there)
{
    bool four = IN6_IS_ADDR_V4MAPPED(there);

    inet_ntop(four ? AF_INET : AF_INET6, four ? there->s6_addr + 12 : there->s6_addr, u->session,
              sizeof u->session);
}

static void read_sockets(const char *path, bool tcp, const struct own_addresses *own,
                         struct kernel_link_use *u)
{
    char line[256], local[33], remote[33];
    unsigned state, port;
    FILE *f = fopen(path, "re");

    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, " %*d: %32[0-9A-F]:%x %32[0-9A-F]:%*x %x", local, &port, remote,
                   &state) != 4)
            continue;
        struct in6_addr here = parse_proc_address(local), there = parse_proc_address(remote);
        if (!is_own_address(own, &here) || is_own_address(own, &there))
            continue;
        if (tcp && state == TCP_ESTABLISHED)
            note_session(u, &there);
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
    char buf[256];
    struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
    struct mnl_socket *nl = rtnetlink_open(NETNS_OWN);

    if (!nl)
        return;
    h->nlmsg_type = RTM_GETLINK;
    h->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    struct ifinfomsg *i = mnl_nlmsg_put_extra_header(h, sizeof *i);
    i->ifi_index = (int)ifindex;
    rtnetlink_request(nl, h, note_link, u);
    mnl_socket_close(nl);
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
