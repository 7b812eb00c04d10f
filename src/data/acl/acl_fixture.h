// SPDX-License-Identifier: BSD-3-Clause
// acl_fixture.h - for tests: random rules that overlap much, packets near them, and the linear
// oracle
#ifndef ACL_FIXTURE_H
#define ACL_FIXTURE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "acl/acl.h"
#include "acl/set.h"

#define KIT_SETS 3u

struct kit_key { // a packet of either family
    bool v6;
    struct acl_key4 k4;
    struct acl_key6 k6;
};

static uint64_t kit_seed = 0x9e3779b97f4a7c15u;
static struct acl_config kit_config = {
    .buckets_from = UINT32_MAX}; // with its sets; rules under tuples, if nothing else is asked for

static inline uint32_t kit_random(uint32_t below)
{
    kit_seed = kit_seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((kit_seed >> 33) % below);
}

// Addresses from few networks, so that prefixes nest and overlap.
static inline void kit_address(uint8_t a[16], bool v6)
{
    static const uint8_t net[4] = {10, 10, 172, 203};

    memset(a, 0, 16);
    a[0] = v6 ? 0x20 : net[kit_random(4)];
    for (unsigned i = 1; i < (v6 ? 16u : 4u); i++)
        a[i] = (uint8_t)(kit_random(3) ? kit_random(3) : kit_random(256));
}

static inline void kit_side(struct acl_side *s, bool v6, uint8_t families)
{
    static const uint8_t len4[8] = {0, 0, 8, 16, 24, 28, 32, 32},
                         len6[8] = {0, 0, 32, 48, 56, 64, 128, 128};

    if (!kit_random(8))
        s->set = (uint16_t)kit_random(KIT_SETS);
    if (families == ACL_BOTH)
        return;
    kit_address(s->addr, v6);
    s->len = kit_random(4) ? (v6 ? len6 : len4)[kit_random(8)] : (uint8_t)kit_random(v6 ? 129 : 33);
}

static inline void kit_ports(uint16_t range[2], uint32_t most)
{
    uint16_t from =
        (uint16_t)kit_random(5 < most ? 5 + kit_random(most - 5) / (1 + 99 * kit_random(2)) : most);

    if (kit_random(2))
        return;
    range[0] = from;
    range[1] = kit_random(2) ? from : (uint16_t)(from + kit_random(most - from));
}

// A rule that checks only one side's prefix.
static inline struct acl_rule kit_address_rule(uint32_t number)
{
    static const uint8_t len4[6] = {8, 16, 24, 28, 32, 32}, len6[6] = {32, 48, 56, 64, 128, 128};
    bool v6 = kit_random(2);
    struct acl_rule r;

    acl_rule_init(&r, number, v6 ? ACL_IP6 : ACL_IP4);
    struct acl_side *s = kit_random(3) ? &r.src : &r.dst;
    kit_address(s->addr, v6);
    s->len = kit_random(3) ? (v6 ? len6 : len4)[kit_random(6)]
                           : (uint8_t)(1 + kit_random(v6 ? 128 : 32));
    return r;
}

// If prefix tables are on, many rules check one prefix only.
static inline struct acl_rule kit_rule(uint32_t number)
{
    static const uint8_t proto[4] = {6, 17, 1, 132};
    bool v6 = kit_random(2);
    struct acl_rule r;

    if (kit_config.prefix_rules_from && kit_random(2))
        return kit_address_rule(number);
    acl_rule_init(&r, number, kit_random(8) ? (v6 ? ACL_IP6 : ACL_IP4) : ACL_BOTH);
    kit_side(&r.src, v6, r.families);
    kit_side(&r.dst, v6, r.families);
    if (kit_random(5)) {
        r.proto_any = false;
        r.proto = proto[kit_random(4)];
        kit_ports(r.sport, r.proto == 1 ? 256 : 65536);
        kit_ports(r.dport, r.proto == 1 ? 256 : 65536);
    }
    if (!kit_random(8))
        r.dscp = (uint8_t)kit_random(3);
    if (!r.proto_any && r.proto == 6 && !kit_random(3)) {
        r.tcp_mask = (uint8_t)kit_random(256);
        r.tcp_value = r.tcp_mask & (uint8_t)kit_random(256);
        r.tcp_any = kit_random(2) ? 0x14 : 0;
    }
    // not later fragments alone: ports would contradict them
    if (!kit_random(6))
        r.part = (uint8_t)(1 + kit_random(3));
    return r;
}

// usually into the prefix
static inline void kit_blend(uint8_t a[16], const struct acl_side *s)
{
    for (unsigned bit = 0; bit < s->len && s->set == ACL_NO_SET; bit++)
        a[bit / 8] =
            (uint8_t)((a[bit / 8] & ~(0x80 >> bit % 8)) | (s->addr[bit / 8] & (0x80 >> bit % 8)));
}

// The same without address sets.
static inline struct acl_rule kit_rule_without_sets(uint32_t number)
{
    struct acl_rule r;

    do
        r = kit_rule(number);
    while (r.src.set != ACL_NO_SET || r.dst.set != ACL_NO_SET);
    return r;
}

// A packet that the rule probably matches.
static inline struct kit_key kit_key(const struct acl_rule *r)
{
    static const uint8_t proto[4] = {6, 17, 1, 132};
    bool v6 = r->families == ACL_BOTH ? kit_random(2) : r->families == ACL_IP6;
    struct acl_key_l4 l4 = {.proto = r->proto_any ? proto[kit_random(4)] : r->proto,
                            .part = (uint8_t)(1 << kit_random(3))};
    struct kit_key k = {.v6 = v6};
    uint8_t src[16], dst[16];

    kit_address(src, v6);
    kit_address(dst, v6);
    if (kit_random(8))
        kit_blend(src, &r->src);
    if (kit_random(8))
        kit_blend(dst, &r->dst);
    if (kit_random(2))
        l4.part = ACL_WHOLE;
    if (l4.part != ACL_LATER) {
        l4.sport = (uint16_t)(r->sport[0] +
                              kit_random((uint32_t)r->sport[1] - r->sport[0] + 1 + kit_random(2)));
        l4.dport = (uint16_t)(r->dport[0] +
                              kit_random((uint32_t)r->dport[1] - r->dport[0] + 1 + kit_random(2)));
        if (l4.proto == 1) { // type and code
            l4.sport &= UINT8_MAX;
            l4.dport &= UINT8_MAX;
        }
        if (l4.proto == 6)
            l4.tcp_flags = (uint8_t)(r->tcp_value | kit_random(256));
    }
    l4.dscp = (uint8_t)(r->dscp != ACL_DSCP_ANY && kit_random(4) ? r->dscp : kit_random(4));
    memcpy(&k.k4.src_be, src, 4);
    memcpy(&k.k4.dst_be, dst, 4);
    memcpy(k.k6.src, src, 16);
    memcpy(k.k6.dst, dst, 16);
    k.k4.l4 = k.k6.l4 = l4;
    return k;
}

static inline void kit_sets_new(void)
{
    for (uint16_t s = 0; s < KIT_SETS; s++) {
        kit_config.set[s] = acl_set_new(0);
        assert_non_null(kit_config.set[s]);
        for (unsigned i = 0; i < 30; i++) {
            struct prefix p = {.family = i % 2 ? 6 : 4};

            kit_address(p.b, i % 2);
            p.len = (uint8_t)(8 + 8 * kit_random(i % 2 ? 8 : 4));
            acl_set_change(kit_config.set[s], NULL, 0, &p, 1, NULL); // it may be a member already
        }
    }
}

static inline void kit_sets_free(void)
{
    for (unsigned s = 0; s < KIT_SETS; s++)
        acl_set_free(kit_config.set[s]);
}

// For cmocka's groups.
static inline int sets_new(void **state)
{
    kit_sets_new();
    return 0;
}

static inline int sets_free(void **state)
{
    kit_sets_free();
    return 0;
}

// --- the oracle ---

static inline bool kit_matches(const struct acl_rule *r, const struct kit_key *k)
{
    return k->v6 ? acl_rule_matches6(r, &k->k6, kit_config.set)
                 : acl_rule_matches4(r, &k->k4, kit_config.set);
}

// The number of the first matching rule (in any order, families 0: none); UINT32_MAX: none matches.
static inline uint32_t kit_first(const struct acl_rule *r, uint32_t n, const struct kit_key *k)
{
    uint32_t best = UINT32_MAX;

    for (uint32_t i = 0; i < n; i++)
        if (r[i].families && r[i].number < best && kit_matches(&r[i], k))
            best = r[i].number;
    return best;
}

#define KIT_BURST 100u

// --- packets whose fields are read late ---

static inline bool kit_is_late(const struct kit_key *k)
{
    return k->k4.l4.part == ACL_WHOLE;
}

// Writes the header of a whole packet.
static inline void kit_packet(uint8_t ip[64], bool v6, const struct acl_key_l4 *l4)
{
    uint8_t *at = ip + (v6 ? 40 : 20);

    ip[0] = v6 ? (uint8_t)(0x60 | l4->dscp >> 2) : 0x45;
    ip[1] = (uint8_t)(l4->dscp << (v6 ? 6 : 2));
    ip[v6 ? 6 : 9] = l4->proto;
    at[0] = l4->proto == 1 ? (uint8_t)l4->sport : (uint8_t)(l4->sport >> 8);
    at[1] = l4->proto == 1 ? (uint8_t)l4->dport : (uint8_t)l4->sport;
    at[2] = (uint8_t)(l4->dport >> 8);
    at[3] = (uint8_t)l4->dport;
    at[13] = l4->tcp_flags;
}

// Packets whose sets decide are not read: they have no header.
static inline void kit_late_classify(const struct acl *a, bool v6, const struct acl_key4 *k4,
                                     const struct acl_key6 *k6, uint32_t *slot, unsigned n)
{
    enum acl_family family = v6 ? ACL_IP6 : ACL_IP4;

    for (unsigned at = 0; at < n; at += 64) {
        uint8_t src[64][16], dst[64][16], packet[64][64], *ip[64];
        struct acl_late p = {src, dst, ip, kit_random(2)};
        unsigned some = n - at < 64 ? n - at : 64;
        struct acl_search s;

        for (unsigned i = 0; i < some; i++) {
            kit_packet(packet[i], v6, v6 ? &k6[at + i].l4 : &k4[at + i].l4);
            ip[i] = acl_is_by_sets(a, family) ? NULL : packet[i];
            memcpy(v6 ? (uint8_t *)src[i] : (uint8_t *)src + 4 * i,
                   v6 ? k6[at + i].src : (const uint8_t *)&k4[at + i].src_be, v6 ? 16 : 4);
            memcpy(v6 ? (uint8_t *)dst[i] : (uint8_t *)dst + 4 * i,
                   v6 ? k6[at + i].dst : (const uint8_t *)&k4[at + i].dst_be, v6 ? 16 : 4);
        }
        memset(&s, 0xa5, sizeof s); // fields that were not requested must not be used
        (void)acl_late_begin(&s, a, family, &p, slot + at, some);
        acl_late_end(&s);
    }
}

// Classifies packets of both families in bursts of any size and compares the results with the
// oracle.
static inline void kit_compare(const struct acl *a, const struct acl_rule *r, uint32_t n,
                               const struct kit_key *key, unsigned keys)
{
    struct acl_key4 k4[KIT_BURST];
    struct acl_key6 k6[KIT_BURST];
    uint32_t slot[KIT_BURST];
    const struct kit_key *of[KIT_BURST];

    for (unsigned at = 0, f = 0; at < keys; at += f, f = 0) {
        unsigned most = 1 + kit_random(KIT_BURST), got = 0;
        bool v6 = kit_random(2), late = kit_random(2);

        for (; at + f < keys && got < most; f++)
            if (key[at + f].v6 == v6 && (!late || kit_is_late(&key[at + f]))) {
                of[got] = &key[at + f];
                k4[got] = key[at + f].k4;
                k6[got++] = key[at + f].k6;
            }
        if (late)
            kit_late_classify(a, v6, k4, k6, slot, got);
        else if (v6)
            acl_classify6(a, k6, slot, got);
        else
            acl_classify4(a, k4, slot, got);
        for (unsigned i = 0; i < got; i++) {
            const struct acl_rule *found = slot[i] == ACL_MISS ? NULL : acl_rule_of(a, slot[i]);
            uint32_t number = found ? found->number : UINT32_MAX, want = kit_first(r, n, of[i]);

            if (number != want || (slot[i] != ACL_MISS && !found))
                fail_msg("%s, %s: packet %u of %u: rule %u (slot %u) instead of %u",
                         acl_kernel_name(), v6 ? "IPv6" : "IPv4", i, got, number, slot[i], want);
        }
    }
}

static inline void kit_must_be_sound(const struct acl *a)
{
    char why[200] = "";

    if (acl_check(a, why, sizeof why))
        fail_msg("%s", why);
}

#endif
