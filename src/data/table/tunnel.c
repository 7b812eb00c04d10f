// SPDX-License-Identifier: BSD-3-Clause
// tunnel.c - see tunnel.h
//
// The index is two open hash tables of numbers: by key, and by end (kind, virtual router, local
// address), which finds packets for a tunnel's end that no tunnel accepts. A new index is built
// once per commit, and published as a whole. Until then, kind NONE marks a hidden tunnel.
#include "table/tunnel.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>

#include "base/checksum.h"
#include "base/hash.h"
#include "core/mem.h"
#include "core/rcu.h"
#include "core/thread.h"
#include "table/grace.h"
#include "table/iface.h"
#include "table/nexthop.h"
#include "table/nexthop_count.h"

#define SLOTS 32768u // more than two per tunnel
#define BUCKETS 8192u

_Static_assert(SLOTS >= 2 * TUNNEL_MAX && (SLOTS & (SLOTS - 1)) == 0, "the hash tables");

struct tunnel_index {
    uint16_t by_key[SLOTS], by_end[SLOTS]; // numbers, 0 = free
};

struct tunnel *tunnel_table;
uint16_t tunnel_end = 1;
const struct tunnel_index *tunnel_index;
uint32_t tunnel_n_hidden = 1;

static struct { // control only
    bool used;
    uint16_t next;   // in its bucket
    uint64_t vacant; // grace ticket
} own[TUNNEL_NUMBERS];
static uint16_t bucket[BUCKETS]; // numbers in use, by key
static uint16_t lowest = 1;      // no number below is free
static struct tunnel_index *built[2]; // one is published
static uint64_t unused_since;         // grace ticket of the other one
static bool stale;                    // is the published one stale?
static unsigned n_published;
static uint32_t n_made; // since the start

static const struct {
    const char *name;
    uint8_t proto;  // of the outer packet; for IPIP it depends on the inner packet
    uint8_t behind; // bytes after the outer IP header, without GRE's key
    uint16_t port;  // UDP
} kinds[TUNNEL_KIND_N] = {
    [TUNNEL_NONE] = {"none", 0, 0, 0},
    [TUNNEL_IPIP] = {"ipip", 0, 0, 0},
    [TUNNEL_GRE] = {"gre", 47, 4, 0},
    [TUNNEL_GRE_UDP] = {"gre-udp", 17, 12, TUNNEL_PORT_GRE},
    [TUNNEL_VXLAN] = {"vxlan", 17, 16, TUNNEL_PORT_VXLAN},
};

const char *tunnel_kind_name(uint8_t kind)
{
    return kinds[kind].name;
}

static unsigned header_size(uint8_t kind, uint8_t family, bool keyed)
{
    return (family == IP4 ? 20u : 40u) + kinds[kind].behind + (keyed ? 4u : 0);
}

unsigned tunnel_overhead(uint8_t kind, uint8_t family, bool keyed)
{
    return header_size(kind, family, keyed) + (tunnel_is_ethernet(kind) ? 14u : 0);
}

// --- the outer header ---

static void put16(uint8_t *p, uint16_t host)
{
    p[0] = (uint8_t)(host >> 8);
    p[1] = (uint8_t)host;
}

static void put32(uint8_t *p, uint32_t host)
{
    put16(p, (uint16_t)(host >> 16));
    put16(p + 2, (uint16_t)host);
}

// Fields that vary per packet are 0 here: lengths, DSCP and ECN, protocol of IPIP, type of GRE,
// entropy.
static void write_ip(uint8_t *ip, const struct tunnel_settings *s)
{
    uint8_t proto = kinds[s->id.kind].proto;

    if (s->id.family == IP4) {
        ip[0] = 0x45;
        ip[6] = 0x40; // DF, so that any identification is fine (RFC 6864 4.1)
        ip[8] = s->ttl;
        ip[9] = proto;
        memcpy(ip + 12, s->id.local, 4);
        memcpy(ip + 16, s->id.remote, 4);
    } else {
        ip[0] = 0x60;
        ip[6] = proto;
        ip[7] = s->ttl;
        memcpy(ip + 8, s->id.local, 16);
        memcpy(ip + 24, s->id.remote, 16);
    }
}

static void write_header(struct tunnel *t, const struct tunnel_settings *s)
{
    uint8_t *ip = t->header + TUNNEL_HEADER - t->size, *at = ip + (s->id.family == IP4 ? 20 : 40);

    memset(t->header, 0, sizeof t->header);
    write_ip(ip, s);
    t->sum = s->id.family == IP4 ? checksum_add(0, ip, 20) : 0;
    if (tunnel_is_udp(s->id.kind)) {
        put16(at + 2, kinds[s->id.kind].port);
        at += 8;
    }
    if (s->id.kind == TUNNEL_VXLAN) {
        at[0] = 0x08; // I: has a VNI
        put32(at + 4, s->id.key << 8);
    } else if (s->id.kind != TUNNEL_IPIP && s->keyed) {
        at[0] = 0x20; // K
        put32(at + 4, s->id.key);
    }
}

// --- the index ---

static uint32_t hash_key(const struct tunnel_key *k)
{
    uint64_t w[5], h = 0;

    memcpy(w, k, sizeof w);
    for (unsigned i = 0; i < 5; i++)
        h = hash_mix64(h ^ w[i]);
    return (uint32_t)(h >> 32);
}

static uint32_t hash_end(const struct tunnel_key *k)
{
    uint64_t w[2];

    memcpy(w, k->local, sizeof w);
    return (uint32_t)(hash_mix64(hash_mix64(w[0] ^ k->kind ^ (uint64_t)k->vr << 16) ^ w[1]) >> 32);
}

static bool is_end(const struct tunnel *t, const struct tunnel_key *k)
{
    return t->id.kind == k->kind && t->id.vr == k->vr && t->id.family == k->family &&
           !memcmp(t->id.local, k->local, sizeof k->local);
}

// A hidden tunnel may still be in the index; an entry with a kind is complete.
static bool is_live(const struct tunnel *t)
{
    return __atomic_load_n(&t->kind, __ATOMIC_ACQUIRE) != TUNNEL_NONE; // partner: tunnel_publish
}

uint16_t tunnel_find(const struct tunnel_index *x, const struct tunnel_key *k)
{
    uint16_t number;

    for (uint32_t at = hash_key(k); (number = x->by_key[at % SLOTS]); at++)
        if (is_live(tunnel_get(number)) && !memcmp(&tunnel_get(number)->id, k, sizeof *k))
            return number;
    return 0;
}

bool tunnel_ends(const struct tunnel_index *x, const struct tunnel_key *k)
{
    uint16_t number;

    for (uint32_t at = hash_end(k); (number = x->by_end[at % SLOTS]); at++)
        if (is_live(tunnel_get(number)) && is_end(tunnel_get(number), k))
            return true;
    return false;
}

static void index_put(uint16_t *slot, uint32_t at, uint16_t number)
{
    while (slot[at % SLOTS])
        at++;
    slot[at % SLOTS] = number;
}

static void index_add(struct tunnel_index *x, uint16_t number)
{
    const struct tunnel_key *k = &tunnel_get(number)->id;

    index_put(x->by_key, hash_key(k), number);
    if (!tunnel_get(number)->by_linux && !tunnel_ends(x, k))
        index_put(x->by_end, hash_end(k), number);
}

static void index_build(struct tunnel_index *x)
{
    memset(x, 0, sizeof *x);
    for (uint16_t number = 1; number < tunnel_end; number++)
        if (is_live(tunnel_get(number)))
            index_add(x, number);
}

bool tunnel_index_update(void)
{
    struct tunnel_index *next = built[tunnel_index == built[0]];

    thread_must_be(ROLE_CONTROL);
    if (!stale)
        return false;
    if (!grace_over(unused_since))
        grace_wait();
    index_build(next);
    rcu_publish(&tunnel_index, n_published ? next : NULL);
    unused_since = grace_ticket();
    stale = false;
    return true;
}

// --- control ---

// Allocates the tables; the index has two. False: no memory.
static bool memory_take(void)
{
    if (!tunnel_table)
        tunnel_table = mem_map("tunnels", TUNNEL_NUMBERS * sizeof *tunnel_table);
    for (unsigned i = 0; i < 2; i++)
        if (!built[i])
            built[i] = mem_map("tunnel index", sizeof *built[i]);
    return tunnel_table && built[0] && built[1];
}

static bool may_be_used(uint16_t number)
{
    uint16_t vlan = tunnel_vlan(number);

    return vlan >= 1 && vlan <= 4094 && !own[number].used;
}

static uint16_t number_take(void)
{
    for (int again = 0; again < 2; again++) {
        for (uint16_t n = lowest; n < TUNNEL_NUMBERS; n++)
            if (may_be_used(n) && (!own[n].vacant || grace_over(own[n].vacant)))
                return n;
        grace_wait();
    }
    return 0;
}

static uint16_t *bucket_of(const struct tunnel_key *k)
{
    return &bucket[hash_key(k) % BUCKETS];
}

static uint16_t number_of_key(const struct tunnel_key *k)
{
    uint16_t number = *bucket_of(k);

    while (number && memcmp(&tunnel_get(number)->id, k, sizeof *k))
        number = own[number].next;
    return number;
}

static void own_add(uint16_t number)
{
    uint16_t *first = bucket_of(&tunnel_get(number)->id);

    own[number].used = true;
    own[number].next = *first;
    *first = number;
    while (lowest < TUNNEL_NUMBERS && !may_be_used(lowest))
        lowest++;
    if (number >= tunnel_end)
        __atomic_store_n(&tunnel_end, number + 1, __ATOMIC_RELEASE);
}

static void own_remove(uint16_t number)
{
    uint16_t *at = bucket_of(&tunnel_get(number)->id);

    while (*at != number)
        at = &own[*at].next;
    *at = own[number].next;
    own[number].used = false;
    own[number].vacant = grace_ticket();
    if (number < lowest)
        lowest = number;
}

uint16_t tunnel_new(const struct tunnel_settings *s, uint16_t *taken)
{
    thread_must_be(ROLE_CONTROL);
    *taken = 0;
    if (!memory_take() || (*taken = number_of_key(&s->id)))
        return 0;
    uint16_t number = number_take();
    if (!number)
        return 0;
    struct tunnel *t = tunnel_get(number);
    memset(t, 0, sizeof *t);
    t->made = ++n_made;
    t->id = s->id;
    t->keyed = s->keyed;
    t->zero_checksum = s->zero_checksum || s->id.family == IP4;
    t->ttl = s->ttl;
    t->dscp_mode = s->dscp_mode;
    t->dscp = s->dscp;
    t->by_linux = s->by_linux;
    t->refuses_be = s->only == IP4 ? htobe16(0x86dd) : s->only == IP6 ? htobe16(0x0800) : 0;
    t->state = TUNNEL_NO_ROUTE;
    t->path_mtu = TUNNEL_PATH_ANY;
    t->size = (uint8_t)header_size(s->id.kind, s->id.family, s->keyed);
    write_header(t, s);
    own_add(number);
    return number;
}

void tunnel_publish(uint16_t number, uint16_t iface, const uint8_t mac[6])
{
    struct tunnel *t = tunnel_get(number);

    thread_must_be(ROLE_CONTROL);
    if (t->id.vr != iface_get(iface)->vr)
        nexthop_cross_begin();
    t->iface = iface;
    memcpy(t->mac, mac, sizeof t->mac);
    __atomic_store_n(&t->kind, t->id.kind, __ATOMIC_RELEASE);
    n_published++;
    stale = true;
}

void tunnel_hide(uint16_t number)
{
    thread_must_be(ROLE_CONTROL);
    if (!is_live(tunnel_get(number)))
        return;
    __atomic_store_n(&tunnel_get(number)->kind, TUNNEL_NONE, __ATOMIC_RELEASE);
    __atomic_store_n(&tunnel_n_hidden, tunnel_n_hidden + 1, __ATOMIC_RELEASE);
    n_published--;
    stale = true;
}

void tunnel_free(uint16_t number)
{
    thread_must_be(ROLE_CONTROL);
    own_remove(number);
}

void tunnel_table_fini(void)
{
    mem_unmap(tunnel_table, TUNNEL_NUMBERS * sizeof *tunnel_table);
    tunnel_table = NULL;
    tunnel_index = NULL;
    for (unsigned i = 0; i < 2; i++) {
        mem_unmap(built[i], sizeof *built[i]);
        built[i] = NULL;
    }
    memset(own, 0, sizeof own);
    memset(bucket, 0, sizeof bucket);
    n_published = 0;
    tunnel_end = lowest = 1;
    tunnel_n_hidden++;
    stale = false;
}

// --- rib_manager ---

void tunnel_set_out(struct tunnel *t, uint16_t iface)
{
    __atomic_store_n(&t->out, iface, __ATOMIC_RELAXED);
}

void tunnel_set_path(struct tunnel *t, uint32_t nexthop, uint8_t state, uint16_t mtu)
{
    __atomic_store_n(&t->path_mtu, mtu, __ATOMIC_RELAXED);
    __atomic_store_n(&t->state, state, __ATOMIC_RELAXED);
    __atomic_store_n(&t->nexthop, nexthop, __ATOMIC_RELEASE);
}
