// SPDX-License-Identifier: BSD-3-Clause
// netlink_multicast.c - the kernel's multicast routes and memberships (see netlink_parse.c)
//
// A multicast route (the kernel's multicast forwarding cache, families IPMR and IP6MR) has its
// input in RTA_IIF and its outputs in RTA_MULTIPATH, with the TTL threshold in place of the weight.
// A route without input is unresolved: packets of the group arrived and the daemon has not answered
// yet.
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include "netlink/netlink.h"
#include "netlink/netlink_attr.h"

static void parse_outs(const struct nlattr *mp, struct netlink_mroute *r, bool *bad)
{
    const char *p = attr_payload(mp), *end = p + attr_len(mp);

    while (end - p >= (int)sizeof(struct rtnexthop)) {
        const struct rtnexthop *nh = (const void *)p;

        if (nh->rtnh_len < sizeof *nh || nh->rtnh_len > end - p) {
            *bad = true;
            return;
        }
        if (r->n_out < NETLINK_OUTS) {
            r->out[r->n_out].ifindex = nh->rtnh_ifindex;
            r->out[r->n_out++].ttl = nh->rtnh_hops;
        }
        p += RTNH_ALIGN(nh->rtnh_len);
    }
}

int netlink_parse_mroute(const struct nlmsghdr *h, struct netlink_mroute *r)
{
    const struct rtmsg *m = mnl_nlmsg_get_payload(h);
    struct ip_addr source = {0}, group = {0};
    const struct nlattr *a;
    bool bad = false;

    memset(r, 0, sizeof *r);
    r->family = m->rtm_family == RTNL_FAMILY_IPMR ? IP4 : IP6;
    r->table = m->rtm_table;
    attr_each(a, (const char *)m + NLMSG_ALIGN(sizeof *m), message_end(h)) {
        switch (attr_type(a)) {
        case RTA_SRC: attr_ip(a, r->family, &source, &bad); break;
        case RTA_DST: attr_ip(a, r->family, &group, &bad); break;
        case RTA_TABLE: r->table = attr_u32(a, &bad); break;
        case RTA_IIF: r->in = (int)attr_u32(a, &bad); break;
        case RTA_MULTIPATH: parse_outs(a, r, &bad); break;
        }
    }
    r->resolved = !(m->rtm_flags & RTNH_F_UNRESOLVED);
    memcpy(r->source, source.b, 16);
    memcpy(r->group, group.b, 16);
    return bad ? -EBADMSG : 1;
}

int netlink_parse_group(const struct nlmsghdr *h, struct netlink_group *g)
{
    const struct ifaddrmsg *m = mnl_nlmsg_get_payload(h);
    const struct nlattr *a;
    uint8_t family;
    bool bad = false;

    family = ip_family_of_af(m->ifa_family);
    if (!family)
        return 0;
    memset(g, 0, sizeof *g);
    g->ifindex = (int)m->ifa_index;
    attr_each(a, (const char *)m + NLMSG_ALIGN(sizeof *m), message_end(h))
        if (attr_type(a) == IFA_MULTICAST)
            attr_ip(a, family, &g->addr, &bad);
    return bad || !g->addr.family ? -EBADMSG : 1;
}
