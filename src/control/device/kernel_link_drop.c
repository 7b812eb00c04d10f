// SPDX-License-Identifier: BSD-3-Clause
// kernel_link_drop.c - Linux drops all frames that it receives on a port's kernel interface
//
// The port's sockets get each frame before that. Behind them, Linux would copy the frame's head and
// look for a route, for a packet that it must not forward: with a veth, at the expense of the
// sender. An empty nftables chain at the ingress of the interface drops them by its policy. Its
// table belongs to a socket (NFT_TABLE_F_OWNER): nobody else can change it, and Linux removes it
// when the socket closes, also after a crash. Two kamueeds may have a table each, for an upgrade.
#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "device/kernel_link.h"

#define CHAIN "ingress"

static struct nlmsghdr *put_message(void *at, uint16_t type, uint16_t flags, uint8_t family,
                                    uint16_t resource)
{
    struct nlmsghdr *h = mnl_nlmsg_put_header(at);
    struct nfgenmsg *m = mnl_nlmsg_put_extra_header(h, sizeof *m);

    h->nlmsg_type = type;
    h->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
    m->nfgen_family = family;
    m->version = NFNETLINK_V0;
    m->res_id = htons(resource);
    return h;
}

static struct nlmsghdr *put_change(void *at, uint16_t type, uint16_t flags)
{
    return put_message(at, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type),
                       (uint16_t)(NLM_F_CREATE | flags), NFPROTO_NETDEV, 0);
}

// Writes the transaction: a table, and its chain. Returns its end.
static char *put_table(char *at, const char *table, const char *interface)
{
    struct nlmsghdr *h = put_message(at, NFNL_MSG_BATCH_BEGIN, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);

    h = put_change(mnl_nlmsg_get_payload_tail(h), NFT_MSG_NEWTABLE, 0);
    mnl_attr_put_strz(h, NFTA_TABLE_NAME, table);
    mnl_attr_put_u32(h, NFTA_TABLE_FLAGS, htonl(NFT_TABLE_F_OWNER));

    h = put_change(mnl_nlmsg_get_payload_tail(h), NFT_MSG_NEWCHAIN, NLM_F_ACK);
    mnl_attr_put_strz(h, NFTA_CHAIN_TABLE, table);
    mnl_attr_put_strz(h, NFTA_CHAIN_NAME, CHAIN);
    struct nlattr *hook = mnl_attr_nest_start(h, NFTA_CHAIN_HOOK);
    mnl_attr_put_u32(h, NFTA_HOOK_HOOKNUM, htonl(NF_NETDEV_INGRESS));
    mnl_attr_put_u32(h, NFTA_HOOK_PRIORITY, 0);
    mnl_attr_put_strz(h, NFTA_HOOK_DEV, interface);
    mnl_attr_nest_end(h, hook);
    mnl_attr_put_u32(h, NFTA_CHAIN_POLICY, htonl(NF_DROP));
    mnl_attr_put_strz(h, NFTA_CHAIN_TYPE, "filter");

    h = put_message(mnl_nlmsg_get_payload_tail(h), NFNL_MSG_BATCH_END, 0, AF_UNSPEC,
                    NFNL_SUBSYS_NFTABLES);
    return mnl_nlmsg_get_payload_tail(h);
}

int kernel_link_drop(const char *interface)
{
    char buffer[1024] __attribute__((aligned(NLMSG_ALIGNTO))), table[48];
    int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
    const struct nlmsghdr *answer = (const struct nlmsghdr *)buffer;

    if (s < 0)
        return -errno;
    snprintf(table, sizeof table, "kamueed-%d-%s", getpid(), interface);
    size_t n = (size_t)(put_table(buffer, table, interface) - buffer);
    // Linux has answered when send() returns.
    ssize_t got = send(s, buffer, n, 0) < 0 ? -1 : recv(s, buffer, sizeof buffer, MSG_DONTWAIT);
    int r = got < 0 ? -errno : -EBADMSG;
    if (got >= (ssize_t)mnl_nlmsg_size(sizeof(struct nlmsgerr)) &&
        answer->nlmsg_type == NLMSG_ERROR)
        r = ((const struct nlmsgerr *)mnl_nlmsg_get_payload(answer))->error;
    if (!r)
        return s;
    close(s);
    return r;
}
