// SPDX-License-Identifier: BSD-3-Clause
// netns_use.c - what Linux and its programs have in a namespace (netns_use.h)
//
// Asks on its own socket, or reads /proc, while the caller waits: some ten to a few hundred
// microseconds.
#include "netlink/netns_use.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/xfrm.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "netlink/netlink.h"
#include "netlink/netlink_attr.h"
#include "netlink/netns.h"
#include "netlink/rtnetlink.h"

#define BGP_PORT 179
#define ESTABLISHED 1 // enum of linux/tcp.h's states
#define BIT(group) (1u << ((group) - 1))

// --- VRF devices ---

struct search {
    uint32_t table;
    bool found;
};

static int look_at_link(const struct nlmsghdr *h, void *search)
{
    static struct netlink_event e; // too large for the stack; used by control only
    struct search *s = search;

    if (h->nlmsg_type == RTM_NEWLINK && netlink_parse(h, &e) > 0)
        s->found |= e.link.vrf_table == s->table;
    return s->found ? MNL_CB_STOP : MNL_CB_OK;
}

static bool limit_wait(struct mnl_socket *nl)
{
    const struct timeval patience = {.tv_sec = 1};

    return !setsockopt(mnl_socket_get_fd(nl), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

bool netlink_has_vrf(int netns_fd, uint32_t table)
{
    char buf[128] __attribute__((aligned(8)));
    struct nlmsghdr *h = rtnetlink_link(buf, RTM_GETLINK, 0);
    struct search s = {.table = table};
    struct mnl_socket *nl = rtnetlink_open(netns_fd);

    h->nlmsg_flags |= NLM_F_DUMP;
    struct nlattr *info = mnl_attr_nest_start(h, IFLA_LINKINFO);
    mnl_attr_put_strz(h, IFLA_INFO_KIND, "vrf"); // kernels without VRFs send all links
    mnl_attr_nest_end(h, info);
    bool known = nl && limit_wait(nl);
    return rtnetlink_request_once(nl, h, look_at_link, &s) || !known || s.found;
}

// --- IPsec ---

struct policies {
    bool any, forwarded;
};

static int read_counts(const struct nlmsghdr *h, void *there)
{
    const char *p = mnl_nlmsg_get_payload(h);
    const struct nlattr *a;
    struct xfrmu_spdinfo info = {0};
    bool bad = false;

    attr_each(a, p + sizeof(uint32_t), message_end(h)) {
        if (attr_type(a) == XFRMA_SPD_INFO && attr_len(a) >= sizeof info)
            memcpy(&info, attr_payload(a), sizeof info);
    }
    *(struct policies *)there = (struct policies){
        .any = bad || info.incnt || info.outcnt || info.fwdcnt, .forwarded = info.fwdcnt};
    return MNL_CB_STOP;
}

static struct policies ask_policies(struct mnl_socket *nl)
{
    char buf[64] __attribute__((aligned(8))) = {0};
    struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
    struct policies there = {.any = true};

    h->nlmsg_type = XFRM_MSG_GETSPDINFO;
    h->nlmsg_flags = NLM_F_REQUEST;
    mnl_nlmsg_put_extra_header(h, sizeof(uint32_t));
    if (limit_wait(nl) && !mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID))
        rtnetlink_request(nl, h, read_counts, &there);
    return there;
}

bool netlink_has_ipsec(int netns_fd, bool *forwarded)
{
    int back = netns_enter(netns_fd);

    *forwarded = false;
    if (back < 0)
        return true;
    struct mnl_socket *nl = mnl_socket_open2(NETLINK_XFRM, SOCK_CLOEXEC);
    bool none = !nl && errno == EPROTONOSUPPORT; // this kernel has no IPsec
    netns_leave(back);
    struct policies there = nl ? ask_policies(nl) : (struct policies){.any = !none};
    if (nl)
        mnl_socket_close(nl);
    *forwarded = there.forwarded;
    return there.any;
}

// --- BGP sessions ---

static FILE *open_table(int netns_fd, const char *path) // of /proc; NULL with errno
{
    int back = netns_enter(netns_fd);

    if (back < 0) {
        errno = -back;
        return NULL;
    }
    FILE *f = fopen(path, "re");
    int e = errno;
    netns_leave(back);
    errno = e;
    return f;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// The kernel prints each 32-bit word of an address in host byte order.
bool netns_parse_address(const char *hex, struct ip_addr *a)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    unsigned n = 0;

    *a = (struct ip_addr){0};
    for (; n < 32 && hex_digit(hex[n]) >= 0; n++) {
        uint32_t word;
        memcpy(&word, a->b + n / 8 * 4, 4);
        word = word << 4 | (uint32_t)hex_digit(hex[n]);
        memcpy(a->b + n / 8 * 4, &word, 4);
    }
    a->family = n == 8 ? IP4 : n == 32 ? IP6 : IP_NONE;
    if (a->family == IP6 && !memcmp(a->b, mapped, 12)) {
        memcpy(a->b, a->b + 12, 4);
        memset(a->b + 4, 0, 12);
        a->family = IP4;
    }
    return a->family && !hex[n];
}

bool bgp_session_parse(const char *line, struct ip_addr *peer)
{
    char remote[33];
    unsigned local_port, remote_port, status;

    // sl local_address rem_address st …
    return sscanf(line, "%*u: %*32[0-9A-F]:%x %32[0-9A-F]:%x %x", &local_port, remote, &remote_port,
                  &status) == 4 &&
           status == ESTABLISHED && (local_port == BGP_PORT || remote_port == BGP_PORT) &&
           netns_parse_address(remote, peer);
}

int bgp_sessions(int netns_fd, struct ip_addr *peer, unsigned max)
{
    static const char *const path[] = {"/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"};
    unsigned n = 0;

    for (unsigned i = 0; i < 2; i++) {
        FILE *f = open_table(netns_fd, path[i]);
        if (!f && i && errno == ENOENT) // no IPv6
            return (int)n;
        if (!f)
            return -errno;
        for (char line[256]; n < max && fgets(line, sizeof line, f);)
            n += bgp_session_parse(line, &peer[n]);
        fclose(f);
    }
    return (int)n;
}

// --- readers of announcements ---

bool netlink_reader_parse(const char *line, struct netlink_reader *r)
{
    unsigned protocol, groups;

    // sk Eth Pid Groups Rmem Wmem Dump Locks Drops Inode
    return sscanf(line, "%*s %u %" SCNu32 " %x %" SCNu64 " %*u %*s %*u %*u %" SCNu64, &protocol,
                  &r->port, &groups, &r->waiting_bytes, &r->inode) == 5 &&
           protocol == NETLINK_ROUTE &&
           groups & (BIT(RTNLGRP_IPV4_ROUTE) | BIT(RTNLGRP_IPV6_ROUTE));
}

int netlink_readers(int netns_fd, uint32_t own, struct netlink_reader *r, unsigned max)
{
    FILE *f = open_table(netns_fd, "/proc/thread-self/net/netlink");
    int n = 0;

    if (!f)
        return -errno;
    for (char line[256]; n < (int)max && fgets(line, sizeof line, f);)
        if (netlink_reader_parse(line, &r[n]) && r[n].port != own)
            n++;
    fclose(f);
    return n;
}
