// SPDX-License-Identifier: BSD-3-Clause
// option.c - the options of any sound IPv4 header, and filling in any of them (PART)
//
// WALK: the end of the list, of each option, and the octet that an ICMP error names. What fills in
// an option is `filled` here (tests/proofs/run puts it there). FILL: any record route or timestamp,
// as an object of exactly its length, which the walk has found to be at least 2.
#include "proof.h"

static unsigned filled(const uint8_t *option);

#include "forwarder/flow_quote.c"
#include "forwarder/ip4_options.c"

static struct iface ifaces[IFACE_MAX];
static struct nexthop nexthops[NEXTHOP_MAX];
static uint16_t buckets[NEXTHOP_BUCKET_MAX];
static struct vr vrs[VR_MAX];

struct iface *iface_table = ifaces;
struct nexthop *nexthop_table = nexthops;
uint16_t *nexthop_bucket = buckets;
struct vr *vr_table = vrs;
uint8_t plan_ip4_options;
const struct fib *vr_near[MEM_NODES_MAX][2][VR_MAX];
struct nexthop nondet_nexthop(void);

void fib_find4_bulk(const struct fib *fib, const uint32_t *dst, uint32_t *id, unsigned n)
{
    *id = nondet_u32();
    assume(*id < NEXTHOP_MAX);
}

uint64_t rte_get_tsc_hz(void)
{
    return 1000000000;
}

void icmp4_error(struct forwarder *f, struct burst *b, unsigned i, uint8_t type, uint8_t code,
                 uint32_t word)
{
    claim(word >> 24 < (b->ip[i][0] & 15) * 4u);
}

static unsigned filled(const uint8_t *option)
{
    unsigned wrong = nondet_u8();

    assume(wrong < option[1]);
    return wrong;
}

static void walk(void)
{
    static struct burst b;
    static struct forwarder *f;
    struct rte_mbuf m;
    unsigned n = any_length(IP4_HDR, BYTES);
    uint8_t *ip = any_packet(&m, n);

    assume((ip[0] & 15) >= 5 && (ip[0] & 15) <= WORDS && (ip[0] & 15) * 4u <= n);
    plan_ip4_options = nondet_u8();
    b.n = 1;
    b.pkt[0] = &m;
    b.ip[0] = ip;
    b.len[0] = (uint16_t)m.pkt_len;
    ip4_options(f, &b, 0);
}

// The output: 0 no route, 1 any next hop, 2 a group of two, 3 an alias.
static void output(void)
{
    static struct burst b;
    static struct forwarder f;
    struct rte_mbuf m;
    unsigned n = any_length(IP4_HDR, BYTES);

    nexthops[1] = nondet_nexthop();
    assume(nexthops[1].kind < NEXTHOP_ALIAS && nexthops[1].kind != NEXTHOP_GROUP);
    assume(nexthops[1].iface < IFACE_MAX);
    nexthops[2].kind = NEXTHOP_GROUP;
    nexthops[2].group.word = 1ull << 32;
    buckets[1] = 1;
    nexthops[3].kind = NEXTHOP_ALIAS;
    nexthops[3].alias.target = nondet_bool() ? 1 : 2;
    b.pkt[0] = &m;
    b.ip[0] = any_packet(&m, n);
    b.len[0] = nondet_u16();
    address_of_output(&f, &b, 0);
}

static void fill(void)
{
    unsigned n = any_length(2, 40);
    uint8_t *o = any_bytes(n);

    assume(o[1] == n);
    claim(fill_option(o, nondet_u32()) < n);
    claim(o[1] == n);
}

void proof(void)
{
    PART();
}
