// SPDX-License-Identifier: BSD-3-Clause
// netlink_attr.h - attributes of a message whose lengths are not yet checked
#ifndef NETLINK_NETLINK_ATTR_H
#define NETLINK_NETLINK_ATTR_H

#include <libmnl/libmnl.h>
#include <stdbool.h>
#include <string.h>

#include "base/ip.h"

// Not mnl_nlmsg_get_payload_tail(): it rounds up, behind the end of what was received.
static inline const char *message_end(const struct nlmsghdr *h)
{
    return (const char *)h + h->nlmsg_len;
}

static inline uint32_t attr_u32(const struct nlattr *a, bool *bad)
{
    uint32_t v = 0;

    if (mnl_attr_get_payload_len(a) < sizeof v)
        *bad = true;
    else
        memcpy(&v, mnl_attr_get_payload(a), sizeof v);
    return v;
}

static inline uint16_t attr_u16(const struct nlattr *a, bool *bad)
{
    uint16_t v = 0;

    if (mnl_attr_get_payload_len(a) < sizeof v)
        *bad = true;
    else
        memcpy(&v, mnl_attr_get_payload(a), sizeof v);
    return v;
}

static inline void attr_ip(const struct nlattr *a, uint8_t family, struct ip_addr *addr, bool *bad)
{
    size_t n = family == IP4 ? 4 : 16;

    memset(addr, 0, sizeof *addr);
    if (mnl_attr_get_payload_len(a) < n) {
        *bad = true;
        return;
    }
    addr->family = family;
    memcpy(addr->b, mnl_attr_get_payload(a), n);
}

// Iterates attributes of [first, end) and notices a tail that is no attribute.
#define attr_each(a, first, end)                                                                   \
    for (a = (const struct nlattr *)(first);                                                       \
         (const char *)(end) - (const char *)a >= (int)sizeof *a &&                                \
         (mnl_attr_ok(a, (int)((const char *)(end) - (const char *)a)) || (bad = true, false));    \
         a = mnl_attr_next(a))

#endif
