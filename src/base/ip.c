// SPDX-License-Identifier: BSD-3-Clause
// ip.c - parsing, printing and comparing addresses and prefixes
//
// Comparisons read an address as two halves of 64 bits, so one function serves both families
// without a loop. Unused bytes and host bits of a parsed prefix are zero; comparisons rely on it.
#include "base/ip.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

uint8_t ip_family_of_af(int af)
{
    return af == AF_INET ? IP4 : af == AF_INET6 ? IP6 : IP_NONE;
}

int ip_af_of_family(uint8_t family)
{
    return family == IP4 ? AF_INET : family == IP6 ? AF_INET6 : AF_UNSPEC;
}

const char *ip_format(const struct ip_addr *a, char *buf)
{
    if (!inet_ntop(ip_af_of_family(a->family), a->b, buf, IP_TEXT_MAX))
        snprintf(buf, IP_TEXT_MAX, "-");
    return buf;
}

const char *prefix_format(const struct prefix *p, char *buf)
{
    struct ip_addr a = {.family = p->family};
    char text[IP_TEXT_MAX];

    if (p->family == IP_LABEL) {
        snprintf(buf, PREFIX_TEXT_MAX, "label %u", prefix_label(p));
        return buf;
    }
    memcpy(a.b, p->b, 16);
    snprintf(buf, PREFIX_TEXT_MAX, "%s/%u", ip_format(&a, text), p->len);
    return buf;
}

struct prefix prefix_of_label(uint32_t label)
{
    return (struct prefix){.family = IP_LABEL, .len = 20, .ip4 = htonl(label << 12)};
}

uint32_t prefix_label(const struct prefix *p)
{
    return ntohl(p->ip4) >> 12;
}

int ip_parse(const char *text, struct ip_addr *a)
{
    memset(a, 0, sizeof *a);
    if (inet_pton(AF_INET, text, a->b) == 1)
        a->family = IP4;
    else if (inet_pton(AF_INET6, text, a->b) == 1)
        a->family = IP6;
    else
        return -EINVAL;
    return 0;
}

int prefix_parse(const char *text, struct prefix *p, bool lenient)
{
    char addr[PREFIX_TEXT_MAX];
    const char *slash = strchr(text, '/');
    size_t n = slash ? (size_t)(slash - text) : strlen(text);
    struct ip_addr a;

    if (n >= sizeof addr)
        return -EINVAL;
    memcpy(addr, text, n);
    addr[n] = 0;
    if (ip_parse(addr, &a))
        return -EINVAL;
    unsigned long len = ip_bits(a.family);
    if (slash) {
        char *end;
        if (slash[1] < '0' || slash[1] > '9')
            return -EINVAL;
        len = strtoul(slash + 1, &end, 10);
        if (*end || len > ip_bits(a.family))
            return -EINVAL;
    }
    memset(p, 0, sizeof *p);
    p->family = a.family;
    p->len = (uint8_t)len;
    memcpy(p->b, a.b, 16);
    prefix_canon(p);
    return lenient || !memcmp(p->b, a.b, 16) ? 0 : -EINVAL;
}

int prefix_parse_any(const char *text, struct prefix *p)
{
    unsigned label;
    char rest;

    if (sscanf(text, "label %u%c", &label, &rest) != 1)
        return prefix_parse(text, p, false);
    *p = prefix_of_label(label & 0xfffff);
    return 0;
}

// Mask of the first `len` bits of one half of an address, host order.
static inline uint64_t bits_first(unsigned len)
{
    return len ? UINT64_MAX << (64 - (len < 64 ? len : 64)) : 0;
}

// Half 0 or 1 of the 16 bytes, host order.
static inline uint64_t half_of(const uint8_t *b, unsigned half)
{
    uint64_t v;

    memcpy(&v, b + 8 * half, sizeof v);
    return be64toh(v);
}

void prefix_canon(struct prefix *p)
{
    for (unsigned half = 0; half < 2; half++) {
        unsigned len = p->len > 64 * half ? p->len - 64 * half : 0;
        uint64_t v = htobe64(half_of(p->b, half) & bits_first(len));

        memcpy(p->b + 8 * half, &v, sizeof v);
    }
}

static bool bits_equal(const uint8_t *a, const uint8_t *b, unsigned len)
{
    if (((half_of(a, 0) ^ half_of(b, 0)) & bits_first(len)) != 0)
        return false;
    return len <= 64 || ((half_of(a, 1) ^ half_of(b, 1)) & bits_first(len - 64)) == 0;
}

bool prefix_has(const struct prefix *p, const struct ip_addr *a)
{
    return p->family == a->family && bits_equal(p->b, a->b, p->len);
}

bool prefix_covers(const struct prefix *outer, const struct prefix *inner)
{
    return outer->family == inner->family && outer->len <= inner->len &&
           bits_equal(outer->b, inner->b, outer->len);
}

int prefix_compare(const struct prefix *a, const struct prefix *b)
{
    if (a->family != b->family)
        return a->family < b->family ? -1 : 1;
    int c = memcmp(a->b, b->b, 16);
    return c ? c : (int)a->len - (int)b->len;
}
