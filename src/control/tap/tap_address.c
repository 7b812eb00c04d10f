// SPDX-License-Identifier: BSD-3-Clause
// tap_address.c - see tap.h
//
// Sends each row of the kernel's dump back as a request with another ifindex. Rows keep their
// order, so the primary address stays primary.
#include "tap/tap.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "base/ip.h"
#include "base/log.h"
#include "netlink/rtnetlink.h"

#define FLAGS_CARRIED (IFA_F_NODAD | IFA_F_HOMEADDRESS | IFA_F_NOPREFIXROUTE | IFA_F_MCAUTOJOIN)

struct address_copy {
    struct mnl_socket *to;
    int from_index, to_index;
    unsigned n, left;
};

static void log_address_left(const struct nlattr *address, const struct ifaddrmsg *m,
                             const char *why)
{
    struct prefix p = {.family = ip_family_of_af(m->ifa_family), .len = m->ifa_prefixlen};
    char text[PREFIX_TEXT_MAX];

    if (!address || !p.family)
        return;
    memcpy(p.b, mnl_attr_get_payload(address), p.family == IP4 ? 4 : 16);
    log_notice("tap: address not moved: address=%s why=%s", prefix_format(&p, text),
               LOG_VALUE(why));
}

static int add_address(struct address_copy *c, const struct nlmsghdr *row, uint32_t flags)
{
    char buf[1024] __attribute__((aligned(8)));
    struct ifaddrmsg m = *(const struct ifaddrmsg *)mnl_nlmsg_get_payload(row);
    struct nlattr *a;

    m.ifa_index = (uint32_t)c->to_index;
    m.ifa_flags = (uint8_t)flags;
    struct nlmsghdr *h = rtnetlink_address(buf, RTM_NEWADDR, &m);
    mnl_attr_for_each(a, row, sizeof m) switch (mnl_attr_get_type(a))
    {
    case IFA_ADDRESS:
    case IFA_LOCAL:
    case IFA_BROADCAST:
    case IFA_LABEL:
    case IFA_RT_PRIORITY:
    case IFA_PROTO:
        mnl_attr_put(h, mnl_attr_get_type(a), mnl_attr_get_payload_len(a), mnl_attr_get_payload(a));
        break;
    }
    mnl_attr_put_u32(h, IFA_FLAGS, flags);
    int r = rtnetlink_request(c->to, h, NULL, NULL);
    return r == -EEXIST ? 0 : r; // the kernel generated the link-local address meanwhile
}

static int copy_address(const struct nlmsghdr *row, void *arg)
{
    struct address_copy *c = arg;
    const struct ifaddrmsg *m = mnl_nlmsg_get_payload(row);
    const struct nlattr *a, *address = NULL;
    uint32_t flags = m->ifa_flags;
    bool made_by_kernel = false;

    if (row->nlmsg_type != RTM_NEWADDR || (int)m->ifa_index != c->from_index)
        return MNL_CB_OK;
    mnl_attr_for_each (a, row, sizeof *m)
        switch (mnl_attr_get_type(a)) {
        case IFA_LOCAL: address = a; break;
        case IFA_ADDRESS: address = address ? address : a; break;
        case IFA_FLAGS: flags = mnl_attr_get_u32(a); break;
        case IFA_PROTO: made_by_kernel = mnl_attr_get_u8(a) == RTNETLINK_KERNEL_LL; break;
        }
    if (made_by_kernel)
        return MNL_CB_OK;
    int r = flags & IFA_F_PERMANENT ? add_address(c, row, flags & FLAGS_CARRIED) : -ETIME;
    c->n += !r;
    c->left += r != 0;
    if (r)
        log_address_left(address, m, r == -ETIME ? "it has a lifetime" : strerror(-r));
    return MNL_CB_OK;
}

unsigned tap_addresses_copy(const struct tap *from, const struct tap *to, unsigned *left)
{
    char buf[64] __attribute__((aligned(8)));
    const struct nlmsghdr *all = rtnetlink_address(buf, RTM_GETADDR, &(struct ifaddrmsg){0});
    struct mnl_socket *source = rtnetlink_open_beside(from->sock);
    struct address_copy c = {
        .to = rtnetlink_open_beside(to->sock),
        .from_index = from->ifindex,
        .to_index = to->ifindex};

    if (source && c.to)
        rtnetlink_request(source, all, copy_address, &c);
    else
        log_warning("tap: addresses not moved: name=%s error=\"%m\"", to->name);
    if (source)
        mnl_socket_close(source);
    if (c.to)
        mnl_socket_close(c.to);
    *left = c.left;
    return c.n;
}
