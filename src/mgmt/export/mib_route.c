// SPDX-License-Identifier: BSD-3-Clause
// mib_route.c - IP-FORWARD-MIB (RFC 4292): inetCidrRouteTable of the routes in the FIB
//
// A row is a next hop of a route that is in the FIB; hops beyond RIB_ROW_HOPS of a prefix are not
// shown. Its index is
//
//     type.length.address.prefix-length . 3.0.0.ifIndex . type.length.gateway
//
// where the policy in the middle tells next hops without a gateway apart, as net-snmp does it. That
// order is the order of the route store, so the row behind a name is found by asking rib_manager
// for a chunk of routes from the name's prefix on. The chunk is kept for CHUNK_LIFE_NS: who walks
// the table asks for its rows one after the other.
#include <string.h>

#include "base/clock.h"
#include "base/vec.h"
#include "core/thread.h"
#include "export/mib.h"
#include "rib/rib_manager.h"
#include "table/iface.h"

#define CHUNK_LIFE_NS (2 * NS_PER_SECOND)
#define KEY_MAX 44

struct row {
    unsigned n;
    uint32_t key[KEY_MAX]; // the index
    uint32_t ifindex, metric;
    uint8_t type, protocol; // enum rib_route_type; rtm_protocol
    bool gateway;
};

static struct chunk {
    VEC(struct row) row; // in order
    uint16_t vr;
    struct prefix from; // rows from here on
    bool whole;         // to the end of the family
    uint64_t read_ns;   // 0 = never
} chunks[2];            // IPv4, IPv6: at the end of one, both are asked

static struct ask { // what rib_manager is asked
    struct rib_walk *walk;
    struct chunk *chunk;
    uint32_t want[KEY_MAX]; // a row behind this, or at it
    unsigned n;
    void (*ready)(void *ctx);
    void *ctx;
} ask;

// --- from rows of rib_manager to ours ------------------------------------------------------------

static void key_add(struct row *r, uint32_t id)
{
    r->key[r->n++] = id;
}

static void key_address(struct row *r, uint8_t family, const uint8_t *b)
{
    unsigned n = family == IP4 ? 4 : family == IP6 ? 16 : 0;

    key_add(r, family == IP4 ? 1 : family == IP6 ? 2 : 0); // InetAddressType
    key_add(r, n);
    for (unsigned i = 0; i < n; i++)
        key_add(r, b[i]);
}

static void add_row(struct chunk *c, const struct rib_row *from, const struct rib_hop *h)
{
    const struct iface *i = h && h->iface[0] ? iface_find_name(h->iface) : NULL;
    struct row r = {.ifindex = i ? i->id : 0,
                    .metric = from->metric,
                    .type = from->type,
                    .protocol = from->protocol};

    r.gateway = h && h->gateway.family;
    key_address(&r, from->prefix.family, from->prefix.b);
    key_add(&r, from->prefix.len);
    key_add(&r, 3);
    key_add(&r, 0);
    key_add(&r, 0);
    key_add(&r, r.ifindex);
    key_address(&r, r.gateway ? h->gateway.family : IP_NONE, r.gateway ? h->gateway.b : NULL);
    // In order among those of the same prefix, each once.
    size_t at = c->row.n;
    for (; at > 0; at--) {
        const struct row *before = &c->row.item[at - 1];
        int d = oid_compare_ids(before->key, before->n, r.key, r.n);
        if (!d)
            return;
        if (d < 0)
            break;
    }
    vec_push(&c->row);
    memmove(c->row.item + at + 1, c->row.item + at, (c->row.n - 1 - at) * sizeof r);
    c->row.item[at] = r;
}

static const struct row *row_behind(const struct chunk *c, const uint32_t *key, unsigned n,
                                    bool include)
{
    size_t lo = 0, hi = c->row.n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        int d = oid_compare_ids(c->row.item[mid].key, c->row.item[mid].n, key, n);
        if (d < 0 || (!d && !include))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < c->row.n ? &c->row.item[lo] : NULL;
}

static bool on_rows(void *ctx, const struct rib_row *row, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (!row[i].active || row[i].type == RIB_BROADCAST || row[i].type == RIB_MULTICAST)
            continue;
        for (unsigned h = 0; h < row[i].n_hops; h++)
            add_row(ask.chunk, &row[i], &row[i].hop[h]);
        if (!row[i].n_hops)
            add_row(ask.chunk, &row[i], NULL);
    }
    if (!row_behind(ask.chunk, ask.want, ask.n, false))
        return true; // more
    rib_walk_close(ask.walk);
    ask.walk = NULL;
    ask.chunk->read_ns = clock_now_ns();
    ask.ready(ask.ctx);
    return false;
}

static void on_done(void *ctx, int result)
{
    ask.walk = NULL;
    ask.chunk->read_ns = clock_now_ns();
    ask.chunk->whole = true;
    if (result) // a virtual router that is gone has no routes
        vec_clear(&ask.chunk->row);
    ask.ready(ask.ctx);
}

// --- inetCidrRouteNumber -----------------------------------------------------------------------

static struct number { // of prefixes in the FIBs
    uint16_t vr;
    uint64_t n;
    uint64_t read_ns;           // 0 = not known
    bool pending;               // rib_manager has not answered yet
    void (*ready)(void *ctx);   // NULL: nobody waits
    void *ctx;
} number;

static void on_stats(void *ctx, const struct rib_stats *s)
{
    number.n = s ? s->family[0].fib_routes + s->family[1].fib_routes : 0;
    number.read_ns = clock_now_ns();
    number.pending = false;
    if (number.ready)
        number.ready(number.ctx);
}

static const struct oid route_table = {9, {1, 3, 6, 1, 2, 1, 4, 24, 7}},
                        route_number = {10, {1, 3, 6, 1, 2, 1, 4, 24, 6, 0}};

enum mib_found mib_route_number(const struct mib_question *q, const struct oid *from, bool include,
                                struct oid *name, struct value *v)
{
    if (mib_scalar(&route_number, from, include, name) == MIB_END)
        return MIB_END;
    if (number.read_ns && number.vr == q->vr && clock_now_ns() - number.read_ns < CHUNK_LIFE_NS) {
        *v = value_unsigned(VALUE_GAUGE32, number.n);
        return MIB_FOUND;
    }
    bool pending = number.pending;
    number = (struct number){.vr = q->vr, .pending = true, .ready = q->ready, .ctx = q->ctx};
    if (!pending && rib_manager_stats(q->vr, on_stats, NULL)) {
        number.pending = false;
        return MIB_END;
    }
    return MIB_LATER;
}

void mib_route_forget(void)
{
    thread_must_be(ROLE_CONTROL);
    if (ask.walk)
        rib_walk_close(ask.walk);
    ask.walk = NULL;
    number.ready = NULL;
    number.read_ns = 0;
    for (unsigned i = 0; i < 2; i++) {
        chunks[i].read_ns = 0;
        vec_free(&chunks[i].row);
    }
}

// --- finding ------------------------------------------------------------------------------------

// The first prefix that may have a row behind `key`; false: behind all of them.
static bool prefix_from(const uint32_t *key, unsigned n, struct prefix *p)
{
    uint32_t type = n ? key[0] : 0;

    *p = (struct prefix){.family = type <= 1 ? IP4 : IP6};
    if (type > 2)
        return false;
    unsigned bytes = ip_bits(p->family) / 8;
    if (type == 0 || n < 2 || key[1] < bytes)
        return true;
    if (key[1] > bytes) {
        p->family = IP6;
        return type == 1;
    }
    for (unsigned i = 0; i < bytes && 2 + i < n; i++) {
        if (key[2 + i] > 255) { // behind all that begins so
            memset(p->b + i, 255, bytes - i);
            p->len = (uint8_t)(bytes * 8);
            return true;
        }
        p->b[i] = (uint8_t)key[2 + i];
    }
    uint32_t len = n > 2 + bytes ? key[2 + bytes] : 0;
    p->len = (uint8_t)(len > bytes * 8 ? bytes * 8 : len);
    while (p->len < bytes * 8) { // a prefix has no bits behind its length
        struct prefix canon = *p;
        prefix_canon(&canon);
        if (prefix_equal(&canon, p))
            break;
        p->len++;
    }
    return true;
}

static struct chunk *chunk_of(uint8_t family)
{
    return &chunks[family == IP6];
}

static bool chunk_serves(const struct chunk *c, uint16_t vr, const struct prefix *from)
{
    return c->read_ns && clock_now_ns() - c->read_ns < CHUNK_LIFE_NS && c->vr == vr &&
           prefix_compare(&c->from, from) <= 0;
}

static enum mib_found read_chunk(const struct mib_question *q, const struct prefix *from,
                                 const uint32_t *key, unsigned n)
{
    struct rib_query query = {.vr = q->vr,
                              .family = from->family,
                              .match = RIB_FROM,
                              .prefix = *from,
                              .protocol = -1,
                              .type = -1};
    struct chunk *c = chunk_of(from->family);

    vec_clear(&c->row);
    c->vr = q->vr;
    c->from = *from;
    c->whole = false;
    c->read_ns = 0;
    ask.chunk = c;
    ask.n = n < KEY_MAX ? n : KEY_MAX;
    memcpy(ask.want, key, ask.n * sizeof *key);
    ask.ready = q->ready;
    ask.ctx = q->ctx;
    ask.walk = rib_walk_open(&query, on_rows, on_done, NULL);
    return ask.walk ? MIB_LATER : MIB_END;
}

// The first row behind the key.
static enum mib_found find_row(const struct mib_question *q, const uint32_t *key, unsigned n,
                               bool include, const struct row **row)
{
    struct prefix from;

    if (!prefix_from(key, n, &from))
        return MIB_END;
    for (;;) {
        const struct chunk *c = chunk_of(from.family);
        if (!chunk_serves(c, q->vr, &from))
            return read_chunk(q, &from, key, n);
        *row = row_behind(c, key, n, include);
        if (*row)
            return MIB_FOUND;
        if (!c->whole)
            return read_chunk(q, &from, key, n);
        if (from.family == IP6)
            return MIB_END;
        from = (struct prefix){.family = IP6};
    }
}

// --- columns ------------------------------------------------------------------------------------

enum { COLUMN_FIRST = 7, COLUMN_LAST = 17 }; // those before are the index, not to be read

// IANAipRouteProtocol
static int32_t protocol_of(const struct row *r)
{
    switch (r->protocol) {
    case 2: return 2;    // kernel: local
    case 3:
    case 4:
    case 196: return 3;  // boot, static, FRR's static: netmgmt
    case 1: return 4;    // redirect: icmp
    case 186: return 14; // BGP
    case 187: return 9;  // IS-IS
    case 188: return 13; // OSPF
    case 189:
    case 190: return 8;  // RIP, RIPng
    case 192: return 16; // EIGRP
    case 12: return 1;   // BIRD does not say which protocol
    }
    return 1; // other
}

// inetCidrRouteType
static int32_t type_of(const struct row *r)
{
    switch (r->type) {
    case RIB_BLACKHOLE: return 5;
    case RIB_UNREACHABLE:
    case RIB_THROW:
    case RIB_PROHIBIT: return 2; // reject
    case RIB_LOCAL:
    case RIB_CONNECTED: return 3; // local
    }
    return r->gateway ? 4 : 3; // remote
}

static struct value column_of(const struct row *r, uint32_t column)
{
    switch (column) {
    case 7: return value_integer((int32_t)r->ifindex);
    case 8: return value_integer(type_of(r));
    case 9: return value_integer(protocol_of(r));
    case 10: return value_unsigned(VALUE_GAUGE32, 0); // age: the route store keeps no time
    case 11: return value_unsigned(VALUE_GAUGE32, 0); // AS of the next hop: not known
    case 12: return value_integer(r->metric > INT32_MAX ? INT32_MAX : (int32_t)r->metric);
    case 17: return value_integer(1); // active
    }
    return value_integer(-1); // metrics that are not used
}

enum mib_found mib_route_table(const struct mib_question *q, const struct oid *from, bool include,
                               struct oid *name, struct value *v)
{
    const struct row *row;
    struct mib_place p;

    if (!mib_place_of(&route_table, from, COLUMN_FIRST, &p))
        return MIB_END;
    for (; p.column <= COLUMN_LAST; p.column++, p.n = 0) {
        enum mib_found found = find_row(q, p.key, p.n, include, &row);
        if (found == MIB_LATER)
            return found;
        if (found == MIB_END)
            continue;
        mib_place_name(&route_table, p.column, row->key, row->n, name);
        *v = column_of(row, p.column);
        return MIB_FOUND;
    }
    return MIB_END;
}
