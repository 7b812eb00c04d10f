// SPDX-License-Identifier: BSD-3-Clause
// route.c - see route.h
#include "route/route.h"

#include <errno.h>
#include <string.h>

int route_parse_hop(const char *text, struct route_hop *hop)
{
    const char *device = strchr(text, '%');
    char address[IP_TEXT_MAX];

    memset(hop, 0, sizeof(*hop));
    if (!device || (size_t)(device - text) >= sizeof(address) ||
        strlen(device + 1) >= sizeof(hop->device))
        return -EINVAL;
    memcpy(address, text, (size_t)(device - text));
    address[device - text] = 0;
    strcpy(hop->device, device + 1);
    return ip_parse(address, &hop->gateway);
}

struct nlmsghdr *route_message(void *buf, const struct prefix *p, const struct route_hop *hop,
                               uint16_t type, uint16_t flags, uint32_t sequence)
{
    size_t bytes = p->family == IP4 ? 4 : 16;
    struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
    struct rtmsg *r;

    h->nlmsg_type = type;
    h->nlmsg_flags = NLM_F_REQUEST | flags;
    h->nlmsg_seq = sequence;
    r = mnl_nlmsg_put_extra_header(h, sizeof(*r));
    r->rtm_family = (unsigned char)ip_af_of_family(p->family);
    r->rtm_dst_len = p->len;
    r->rtm_table = RT_TABLE_MAIN;
    r->rtm_protocol = ROUTE_PROTOCOL;
    r->rtm_scope = type == RTM_NEWROUTE ? RT_SCOPE_UNIVERSE : RT_SCOPE_NOWHERE;
    r->rtm_type = type == RTM_NEWROUTE ? RTN_UNICAST : RTN_UNSPEC;
    mnl_attr_put(h, RTA_DST, bytes, p->b);
    if (type == RTM_NEWROUTE) {
        mnl_attr_put(h, RTA_GATEWAY, bytes, hop->gateway.b);
        mnl_attr_put_u32(h, RTA_OIF, hop->ifindex);
    }
    return h;
}
