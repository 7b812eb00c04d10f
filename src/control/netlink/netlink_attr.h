// SPDX-License-Identifier: BSD-3-Clause
// netlink_attr.h - attributes of a message whose lengths are not yet checked
#ifndef NETLINK_NETLINK_ATTR_H
#define NETLINK_NETLINK_ATTR_H

#include <libmnl/libmnl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/ip.h"

// Like libmnl's mnl_attr_…, but inline: a full table has five million attributes.
static inline uint16_t attr_type(const struct nlattr *a)
{
    return a->nla_type & NLA_TYPE_MASK;
}

static inline uint16_t attr_len(const struct nlattr *a) // payload bytes; the attribute must fit
{
    return (uint16_t)(a->nla_len - MNL_ATTR_HDRLEN);
}

static inline const void *attr_payload(const struct nlattr *a)
{
    return (const char *)a + MNL_ATTR_HDRLEN;
}

static inline bool attr_fits(const struct nlattr *a, ptrdiff_t left)
{
    return a->nla_len >= sizeof *a && a->nla_len <= left;
}

// Replaces mnl_nlmsg_get_payload_tail(), which rounds up beyond the end of the received data.
static inline const char *message_end(const struct nlmsghdr *h)
{
    return (const char *)h + h->nlmsg_len;
}

// Copies the first n bytes; leaves `to` as it is if there are fewer.
static inline void attr_copy(const struct nlattr *a, void *to, size_t n, bool *bad)
{
    if (attr_len(a) < n)
        *bad = true;
    else
        memcpy(to, attr_payload(a), n);
}

static inline uint32_t attr_u32(const struct nlattr *a, bool *bad)
{
    uint32_t v = 0;

    attr_copy(a, &v, sizeof v, bad);
    return v;
}

static inline uint16_t attr_u16(const struct nlattr *a, bool *bad)
{
    uint16_t v = 0;

    attr_copy(a, &v, sizeof v, bad);
    return v;
}

static inline uint8_t attr_u8(const struct nlattr *a, bool *bad)
{
    uint8_t v = 0;

    attr_copy(a, &v, sizeof v, bad);
    return v;
}

static inline void attr_ip(const struct nlattr *a, uint8_t family, struct ip_addr *addr, bool *bad)
{
    size_t n = family == IP4 ? 4 : 16;

    memset(addr, 0, sizeof *addr);
    if (attr_len(a) < n) {
        *bad = true;
        return;
    }
    addr->family = family;
    memcpy(addr->b, attr_payload(a), n);
}

// Iterates over the attributes in [first, end); sets `bad` if the rest is too short for an
// attribute.
#define attr_each(a, first, end)                                                                   \
    for (a = (const struct nlattr *)(first);                                                       \
         (const char *)(end) - (const char *)a >= (ptrdiff_t)sizeof *a &&                          \
         (attr_fits(a, (const char *)(end) - (const char *)a) || (bad = true, false));             \
         a = (const struct nlattr *)((const char *)a + MNL_ALIGN(a->nla_len)))

#endif
