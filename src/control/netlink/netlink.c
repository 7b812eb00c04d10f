// SPDX-License-Identifier: BSD-3-Clause
// netlink.c - sockets: opening them in a namespace, dumping, reading, asking for neighbors
//
// A socket stays in the namespace in which it was opened, so setns() surrounds only socket(), on
// the manager's own thread. recvmmsg() reads batches: an event is a datagram of some 100 bytes, a
// datagram of a dump holds about 32 KiB of rows (the kernel adapts it to our buffer). A whole batch
// is read before any of it is processed, because programs that change routes wait for the socket's
// lock meanwhile. The rest of a large dump is read ahead (netlink_ahead.h).
#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/filter.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netlink/netlink.h"
#include "netlink/netlink_ahead.h"
#include "netlink/netns.h"

static const int group[] = {
    RTNLGRP_LINK,        RTNLGRP_NEIGH,      RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR,
    RTNLGRP_IPV4_ROUTE,  RTNLGRP_IPV6_ROUTE, RTNLGRP_IPV4_RULE,   RTNLGRP_IPV6_RULE,
    RTNLGRP_IPV4_NETCONF, RTNLGRP_IPV6_NETCONF, RTNLGRP_IPV4_MROUTE, RTNLGRP_IPV6_MROUTE,
    RTNLGRP_MPLS_ROUTE,   RTNLGRP_MPLS_NETCONF, RTNLGRP_NEXTHOP,      RTNLGRP_IPV4_MCADDR,
    RTNLGRP_IPV6_MCADDR,
};

static int socket_in_netns(int netns_fd)
{
    int back = netns_enter(netns_fd), fd, err;

    if (back < 0 && netns_fd >= 0)
        return back;
    fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    err = errno;
    netns_leave(back);
    return fd < 0 ? -err : fd;
}

int netlink_set_receive_buffer(struct netlink *n, size_t bytes)
{
    int v = bytes > 0x3fffffff ? 0x3fffffff : (int)bytes;

    if (!setsockopt(n->fd, SOL_SOCKET, SO_RCVBUFFORCE, &v, sizeof v))
        return 0;
    // Without CAP_NET_ADMIN in the initial user namespace, net.core.rmem_max is the limit.
    return setsockopt(n->fd, SOL_SOCKET, SO_RCVBUF, &v, sizeof v) ? -errno : 0;
}

bool netlink_has_more(const struct netlink *n)
{
    struct pollfd p = {.fd = n->fd, .events = POLLIN};

    return n->ahead || poll(&p, 1, 0) > 0;
}

bool netlink_would_wait(const struct netlink *n)
{
    return n->ahead && !netlink_ahead_is_done(n->ahead);
}

int netlink_open(struct netlink *n, int netns_fd, size_t receive_bytes, bool events)
{
    struct sockaddr_nl a = {.nl_family = AF_NETLINK};
    socklen_t len = sizeof a;
    int one = 1, err;

    *n = (struct netlink){.fd = socket_in_netns(netns_fd)};
    if (n->fd < 0)
        return n->fd;
    err = receive_bytes ? netlink_set_receive_buffer(n, receive_bytes) : 0;
    if (err)
        goto fail;
    if (bind(n->fd, (void *)&a, sizeof a) || getsockname(n->fd, (void *)&a, &len))
        goto fail_errno;
    n->portid = a.nl_pid;
    setsockopt(n->fd, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof one);
    // Kernels before 5.3 have no next-hop objects; kernels before 6.14 do not announce multicast
    // joins.
    for (size_t i = 0; events && i < sizeof group / sizeof *group; i++)
        if (setsockopt(n->fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group[i], sizeof group[i]) &&
            group[i] < RTNLGRP_NEXTHOP)
            goto fail_errno;
    return 0;
fail_errno:
    err = -errno;
fail:
    netlink_close(n);
    return err;
}

// Drops route announcements of all tables except this one and the local one before the kernel
// queues them. Rows of a dump pass, because one message holds several.
int netlink_filter_table(struct netlink *n, uint32_t table)
{
    enum { FLAGS = 6, TYPE = 4, FAMILY = 16, TABLE = 20, ATTRIBUTES = 28 };
    // BPF loads are big-endian; netlink uses host byte order.
    const uint32_t narrow = table < 256 ? table : RT_TABLE_COMPAT;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, TYPE),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_NEWROUTE), 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_DELROUTE), 0, 14),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, FLAGS),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, htons(NLM_F_MULTI), 12, 0),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, FAMILY), // neither multicast nor MPLS
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 9),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, TABLE),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RT_TABLE_LOCAL, 7, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, narrow, 0, 7),
        BPF_STMT(BPF_LD | BPF_IMM, ATTRIBUTES),
        BPF_STMT(BPF_LDX | BPF_IMM, RTA_TABLE),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_NLATTR)),
        BPF_STMT(BPF_MISC | BPF_TAX, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_IND, NLA_HDRLEN),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(table), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    const struct sock_fprog program = {sizeof code / sizeof *code, code};

    return setsockopt(n->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) ? -errno : 0;
}

void netlink_close(struct netlink *n)
{
    netlink_ahead_end(&n->ahead);
    if (n->fd >= 0)
        close(n->fd);
    n->fd = -1;
}

static int send_message(struct netlink *n, struct nlmsghdr *h)
{
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};

    return sendto(n->fd, h, h->nlmsg_len, 0, (void *)&kernel, sizeof kernel) < 0 ? -errno : 0;
}

union dump_request {
    struct nlmsghdr h;
    char space[128];
};

// With the whole header of the type, because some kernels validate it.
static void fill_dump(union dump_request *m, struct netlink *n, uint16_t type, int family)
{
    size_t head = type == RTM_GETLINK      ? sizeof(struct ifinfomsg)
                  : type == RTM_GETROUTE   ? sizeof(struct rtmsg)
                  : type == RTM_GETNEIGH   ? sizeof(struct ndmsg)
                  : type == RTM_GETNEIGHTBL ? sizeof(struct ndtmsg)
                                           : 8; // ifaddrmsg, nhmsg; rtgenmsg with padding

    *m = (union dump_request){0};
    mnl_nlmsg_put_header(m);
    m->h.nlmsg_type = type;
    m->h.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    m->h.nlmsg_seq = ++n->seq;
    *(uint8_t *)mnl_nlmsg_put_extra_header(&m->h, head) = (uint8_t)family;
}

int netlink_dump(struct netlink *n, uint16_t type, int family)
{
    union dump_request m;

    fill_dump(&m, n, type, family);
    return send_message(n, &m.h);
}

// Only a strictly checked request may name a table. The kernel reads the socket's strict option
// when it receives the request, so other requests on the socket are not affected.
int netlink_dump_table(struct netlink *n, int family, uint32_t table)
{
    union dump_request m;
    int on = 1, off = 0;

    fill_dump(&m, n, RTM_GETROUTE, family);
    mnl_attr_put_u32(&m.h, RTA_TABLE, table);
    if (setsockopt(n->fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof on))
        return -errno;
    int err = send_message(n, &m.h);
    setsockopt(n->fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &off, sizeof off);
    return err;
}

// Returns false if a datagram was cut.
static bool batch_walk(struct netlink *n, const struct netlink_batch *b,
                       void (*fn)(void *ctx, const struct nlmsghdr *h), void *ctx)
{
    bool whole = true;

    for (int i = 0; i < b->got; i++) {
        if (b->from[i].nl_pid != 0) // ignore other senders than the kernel
            continue;
        n->datagrams++;
        if (b->m[i].msg_hdr.msg_flags & MSG_TRUNC)
            whole = false;
        else if (!netlink_walk(b->io[i].iov_base, b->m[i].msg_len, fn, ctx))
            whole = false;
    }
    return whole;
}

int netlink_receive(struct netlink *n, void (*fn)(void *ctx, const struct nlmsghdr *h), void *ctx)
{
    static struct netlink_batch own = {.room = NETLINK_BATCH}; // used by one manager thread only
    struct netlink_batch *b = n->ahead ? netlink_ahead_take(n->ahead) : &own;
    bool more;

    n->ahead_batches += n->ahead && b->got;
    if (b == &own || !b->got) { // the read-ahead may have been too early
        b = &own;
        netlink_batch_read(b, n->fd, n->batch ? n->batch : NETLINK_BATCH);
    }
    more = n->batch && b->got == (int)n->batch;
    if (more)
        netlink_ahead_begin(&n->ahead, n->fd, n->batch);
    bool whole = batch_walk(n, b, fn, ctx);
    int got = b->got;
    if (!more)
        netlink_ahead_end(&n->ahead);
    return whole ? got : -ENOBUFS;
}

union neigh_request {
    struct nlmsghdr h;
    char space[NLMSG_HDRLEN + 64];
};

static struct ndmsg *fill_neigh(union neigh_request *m, uint16_t type, int ifindex,
                                const struct ip_addr *addr, enum netlink_neigh_want want)
{
    struct ndmsg *nd;

    *m = (union neigh_request){0};
    mnl_nlmsg_put_header(m);
    m->h.nlmsg_type = type;
    m->h.nlmsg_flags = NLM_F_REQUEST | (type == RTM_NEWNEIGH ? NLM_F_CREATE : 0);
    m->h.nlmsg_seq = want;
    nd = mnl_nlmsg_put_extra_header(&m->h, sizeof *nd);
    nd->ndm_family = (uint8_t)ip_af_of_family(addr->family);
    nd->ndm_ifindex = ifindex;
    mnl_attr_put(&m->h, NDA_DST, ip_bits(addr->family) / 8, addr->b);
    return nd;
}

int netlink_neigh_request(struct netlink *n, int ifindex, const struct ip_addr *addr,
                          enum netlink_neigh_want want)
{
    union neigh_request m;
    struct ndmsg *nd = fill_neigh(&m, RTM_NEWNEIGH, ifindex, addr, want);

    // A multicast MAC is derived from the group address.
    nd->ndm_state = want == NETLINK_NEIGH_GROUP ? NUD_NOARP : NUD_NONE;
    // A gateway is exempt from the kernel's garbage collection (NTF_EXT_LEARNED): otherwise an ARP
    // flood that fills the table would evict it, and it could not be added again. NTF_USE alone
    // clears both flags.
    nd->ndm_flags = want == NETLINK_NEIGH_USE ? NTF_USE : NTF_EXT_LEARNED;
    if (want == NETLINK_NEIGH_MANAGED)
        mnl_attr_put_u32(&m.h, NDA_FLAGS_EXT, NTF_EXT_MANAGED);
    return send_message(n, &m.h);
}

int netlink_neigh_delete(struct netlink *n, int ifindex, const struct ip_addr *addr)
{
    union neigh_request m;

    fill_neigh(&m, RTM_DELNEIGH, ifindex, addr, NETLINK_NEIGH_DELETE);
    return send_message(n, &m.h);
}
