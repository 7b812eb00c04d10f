// SPDX-License-Identifier: BSD-3-Clause
// ip.h - addresses and prefixes, in network byte order everywhere
//
// `ip4_t` is a 32-bit scalar in network order. `struct ip_addr` and `struct prefix` carry their
// family, so one function serves IPv4 and IPv6. An IPv4 address is in the first four bytes of `b`:
// a prefix is left-aligned in `b`, and unused bits are zero (prefix_canon). Any thread; no state.
#ifndef BASE_IP_H
#define BASE_IP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// IP_LABEL: a `struct prefix` that stands for an MPLS label, where prefixes are keys and texts.
enum ip_family { IP_NONE = 0, IP4 = 4, IP6 = 6, IP_LABEL = 20 };

typedef uint32_t ip4_t; // network byte order

struct ip_addr {
    uint8_t family; // enum ip_family
    union {
        ip4_t ip4;
        uint8_t b[16];
    };
};

struct prefix {
    uint8_t family;
    uint8_t len; // bits
    union {
        ip4_t ip4;
        uint8_t b[16];
    };
};

#define IP_TEXT_MAX 46     // longest address text with its NUL
#define PREFIX_TEXT_MAX 50 // longest prefix text with its NUL
#define IP6_MTU_MIN 1280   // bytes that every IPv6 link carries (RFC 8200 §5)

// Address length in bits: 32 or 128.
static inline unsigned ip_bits(uint8_t family)
{
    return family == IP4 ? 32 : 128;
}

// Maps to and from AF_INET / AF_INET6; 0 if unknown.
uint8_t ip_family_of_af(int af);
int ip_af_of_family(uint8_t family);

// Text forms of RFC 5952 / dotted quad. `buf` holds IP_TEXT_MAX / PREFIX_TEXT_MAX; returns buf.
const char *ip_format(const struct ip_addr *a, char *buf);
const char *prefix_format(const struct prefix *p, char *buf);

// The label as a prefix of family IP_LABEL, and back; its text is "label 100".
struct prefix prefix_of_label(uint32_t label);
uint32_t prefix_label(const struct prefix *p);

// 0 or -EINVAL. A prefix without "/len" is a host prefix. Host bits are an error unless `lenient`.
int ip_parse(const char *text, struct ip_addr *a);
int prefix_parse(const char *text, struct prefix *p, bool lenient);

// Parses what prefix_format() writes, also of a label.
int prefix_parse_any(const char *text, struct prefix *p);

void prefix_canon(struct prefix *p); // zeroes the bits beyond len
bool prefix_has(const struct prefix *p, const struct ip_addr *a);
bool prefix_covers(const struct prefix *outer, const struct prefix *inner);

static inline bool ip_equal(const struct ip_addr *a, const struct ip_addr *b)
{
    return a->family == b->family && !memcmp(a->b, b->b, a->family == IP4 ? 4 : 16);
}

static inline bool prefix_equal(const struct prefix *a, const struct prefix *b)
{
    return a->family == b->family && a->len == b->len && !memcmp(a->b, b->b, 16);
}

// Order: family, address bits, then length (a covering prefix first).
int prefix_compare(const struct prefix *a, const struct prefix *b);

#endif
