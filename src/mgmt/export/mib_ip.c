// SPDX-License-Identifier: BSD-3-Clause
// mib_ip.c - IP-MIB (RFC 4293): addresses of our interfaces, their prefixes, and the neighbors on
// their links
//
//     ipAddressPrefixTable   TREE.1.column . ifIndex . type.length.prefix . prefix-length
//     ipAddressTable         TREE.1.column . type.length.address
//     ipNetToPhysicalTable   TREE.1.column . ifIndex . type.length.address
//
// rib_manager has them all. A virtual router's table is asked for as a whole, sorted, and kept for
// LIFE_NS, since a walk asks for its rows one after the other. Addresses of a link (fe80::/10) have
// its ifIndex behind them (ipv6z, RFC 4001), since two links may have the same ones.
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/vec.h"
#include "core/thread.h"
#include "export/mib.h"
#include "rib/rib_manager.h"

#define LIFE_NS (2 * NS_PER_SECOND)
#define KEY_MAX 24

enum table { PREFIXES, ADDRESSES, NEIGHBORS, TABLES };

struct row {
    unsigned n;
    uint32_t key[KEY_MAX]; // the index
    uint16_t iface;
    bool usable;           // of an address
    uint8_t family, len;   // likewise: bits of its prefix
    uint8_t address[16];
    const char *state;     // of a neighbor, as rib_manager names it
    uint8_t mac[6];        // all 0: not known
};

static struct rows {
    VEC(struct row) row; // in order
    uint16_t vr;
    uint64_t read_ns;           // 0 = not known
    uint32_t question;          // whose answer is to come, 0 = none
    void (*ready)(void *ctx);
    void *ctx;
} tables[TABLES];
static uint32_t questions;

// --- indexes -------------------------------------------------------------------------------------

static void key_add(struct row *r, uint32_t id)
{
    r->key[r->n++] = id;
}

static void key_address(struct row *r, uint8_t family, const uint8_t *b, uint32_t zone)
{
    enum { IPV4 = 1, IPV6 = 2, IPV6Z = 4 }; // InetAddressType
    unsigned n = ip_bits(family) / 8;

    key_add(r, zone ? IPV6Z : family == IP4 ? IPV4 : IPV6);
    key_add(r, zone ? n + 4 : n);
    for (unsigned i = 0; i < n; i++)
        key_add(r, b[i]);
    for (unsigned i = 0; zone && i < 4; i++)
        key_add(r, zone >> (24 - 8 * i) & 0xff);
}

static uint32_t zone_of(const struct ip_addr *a, uint16_t iface)
{
    return a->family == IP6 && a->b[0] == 0xfe && (a->b[1] & 0xc0) == 0x80 ? iface : 0;
}

static int in_order(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    return oid_compare_ids(x->key, x->n, y->key, y->n);
}

// --- what rib_manager says -----------------------------------------------------------------------

static void sort_rows(struct rows *t)
{
    size_t kept = 0;

    if (t->row.n)
        qsort(t->row.item, t->row.n, sizeof *t->row.item, in_order);
    for (size_t i = 0; i < t->row.n; i++) // two addresses may have one prefix
        if (!kept || in_order(&t->row.item[kept - 1], &t->row.item[i]))
            t->row.item[kept++] = t->row.item[i];
    t->row.n = kept;
    t->read_ns = clock_now_ns();
    t->question = 0;
    if (t->ready)
        t->ready(t->ctx);
}

static void *question_of(enum table which)
{
    return (void *)((uintptr_t)tables[which].question * TABLES + which);
}

// The table that the answer is for; NULL: nobody waits for it any more.
static struct rows *answer_for(void *ctx)
{
    struct rows *t = &tables[(uintptr_t)ctx % TABLES];

    return t->question == (uintptr_t)ctx / TABLES ? t : NULL;
}

static void on_addresses(void *ctx, const struct address_row *row, unsigned n)
{
    struct rows *t = answer_for(ctx);

    for (unsigned i = 0; t && i < n; i++) {
        struct row *r = vec_push(&t->row);
        struct prefix net = {.family = row[i].addr.family, .len = row[i].len};
        *r = (struct row){.iface = row[i].iface,
                          .usable = row[i].usable,
                          .family = row[i].addr.family,
                          .len = row[i].len};
        memcpy(r->address, row[i].addr.b, 16);
        memcpy(net.b, row[i].addr.b, sizeof net.b);
        prefix_canon(&net);
        if (t == &tables[ADDRESSES]) {
            key_address(r, row[i].addr.family, row[i].addr.b, zone_of(&row[i].addr, row[i].iface));
        } else {
            key_add(r, row[i].iface);
            key_address(r, net.family, net.b, 0);
            key_add(r, net.len);
        }
    }
    if (t)
        sort_rows(t);
}

static void on_neighbors(void *ctx, const struct neigh_row *row, unsigned n)
{
    struct rows *t = answer_for(ctx);

    for (unsigned i = 0; t && i < n; i++) {
        uint16_t iface = row[i].iface_id;
        if (!iface)
            continue;
        struct row *r = vec_push(&t->row);
        *r = (struct row){.iface = iface, .state = row[i].state};
        memcpy(r->mac, row[i].mac, 6);
        key_add(r, iface);
        key_address(r, row[i].addr.family, row[i].addr.b, zone_of(&row[i].addr, iface));
    }
    if (t)
        sort_rows(t);
}

static enum mib_found ask_table(enum table which, const struct mib_question *q)
{
    struct rows *t = &tables[which];

    vec_clear(&t->row);
    t->vr = q->vr;
    t->read_ns = 0;
    t->question = ++questions ? questions : ++questions;
    t->ready = q->ready;
    t->ctx = q->ctx;
    int r = which == NEIGHBORS ? rib_manager_neigh(q->vr, on_neighbors, question_of(which))
                               : rib_manager_addresses(q->vr, on_addresses, question_of(which));
    if (!r)
        return MIB_LATER;
    t->question = 0;
    return MIB_END;
}

void mib_ip_forget(void)
{
    thread_must_be(ROLE_CONTROL);
    for (unsigned i = 0; i < TABLES; i++) {
        vec_free(&tables[i].row);
        tables[i].read_ns = 0;
        tables[i].question = 0;
    }
}

// --- columns -------------------------------------------------------------------------------------

enum {
    TRUTH_TRUE = 1,
    TRUTH_FALSE = 2,
    ROW_ACTIVE = 1,
    STORAGE_VOLATILE = 2,
    ORIGIN_OTHER = 1,
    ORIGIN_LINK_LAYER = 5
};

static bool is_link_local(const struct row *r)
{
    return r->family == IP6 && r->address[0] == 0xfe && (r->address[1] & 0xc0) == 0x80;
}

// ipAddressPrefixEntry
static struct value prefix_column(const struct row *r, uint32_t column)
{
    switch (column) {
    case 5: return value_integer(ORIGIN_OTHER); // the kernel does not say
    case 6: return value_integer(TRUTH_TRUE); // on link
    case 7: return value_integer(TRUTH_FALSE); // autonomous
    }
    return value_unsigned(VALUE_GAUGE32, UINT32_MAX); // 8, 9: lives for ever
}

// The row of ipAddressPrefixTable: its first readable column.
static struct value prefix_pointer(const struct row *r)
{
    struct value v = {.type = VALUE_OID, .oid = {11, {1, 3, 6, 1, 2, 1, 4, 32, 1, 5, r->iface}}};
    struct prefix net = {.family = r->family, .len = r->len};
    struct row key = {0};

    memcpy(net.b, r->address, sizeof net.b);
    prefix_canon(&net);
    key_address(&key, net.family, net.b, 0);
    key_add(&key, net.len);
    for (unsigned i = 0; i < key.n; i++)
        oid_add(&v.oid, key.key[i]);
    return v;
}

// ipAddressEntry
static struct value address_column(const struct row *r, uint32_t column)
{
    enum { UNICAST = 1, PREFERRED = 1, TENTATIVE = 6 };

    switch (column) {
    case 3: return value_integer(r->iface);
    case 4: return value_integer(UNICAST);
    case 5: return prefix_pointer(r);
    case 6: return value_integer(is_link_local(r) ? ORIGIN_LINK_LAYER : ORIGIN_OTHER);
    case 7: return value_integer(r->usable ? PREFERRED : TENTATIVE);
    case 10: return value_integer(ROW_ACTIVE);
    case 11: return value_integer(STORAGE_VOLATILE);
    }
    return value_unsigned(VALUE_TIME_TICKS, 0); // 8, 9: created and changed before kamueed knew
}

static int32_t neighbor_state(const char *name)
{
    static const struct {
        const char *name;
        int32_t state; // ipNetToPhysicalState
    } states[] = {{"reachable", 1}, {"permanent", 1}, {"noarp", 1},  {"stale", 2},
                  {"delay", 3},     {"probe", 4},     {"failed", 5}, {"incomplete", 7}};

    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (!strcmp(states[i].name, name))
            return states[i].state;
    return 6; // unknown
}

// ipNetToPhysicalEntry
static struct value neighbor_column(const struct row *r, uint32_t column)
{
    static const uint8_t unknown[6];
    enum { DYNAMIC = 3, STATIC = 4 };

    switch (column) {
    case 4: return value_string(r->mac, memcmp(r->mac, unknown, 6) ? 6 : 0);
    case 5: return value_unsigned(VALUE_TIME_TICKS, 0); // not known
    case 6: return value_integer(strcmp(r->state, "permanent") ? DYNAMIC : STATIC);
    case 7: return value_integer(neighbor_state(r->state));
    }
    return value_integer(ROW_ACTIVE); // 8
}

static const struct {
    struct oid tree;
    uint32_t first, last; // columns that can be read
    struct value (*column)(const struct row *r, uint32_t column);
} shape[TABLES] = {
    [PREFIXES] = {{8, {1, 3, 6, 1, 2, 1, 4, 32}}, 5, 9, prefix_column},
    [ADDRESSES] = {{8, {1, 3, 6, 1, 2, 1, 4, 34}}, 3, 11, address_column},
    [NEIGHBORS] = {{8, {1, 3, 6, 1, 2, 1, 4, 35}}, 4, 8, neighbor_column},
};

// --- finding -------------------------------------------------------------------------------------

static const struct row *row_behind(const struct rows *t, const uint32_t *key, unsigned n,
                                    bool include)
{
    size_t lo = 0, hi = t->row.n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        int d = oid_compare_ids(t->row.item[mid].key, t->row.item[mid].n, key, n);
        if (d < 0 || (!d && !include))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < t->row.n ? &t->row.item[lo] : NULL;
}

static enum mib_found next_value(enum table which, const struct mib_question *q,
                                 const struct oid *from, bool include, struct oid *name,
                                 struct value *v)
{
    const struct rows *t = &tables[which];
    struct mib_place p;

    if (!mib_place_of(&shape[which].tree, from, shape[which].first, &p))
        return MIB_END;
    if (!t->read_ns || t->vr != q->vr || clock_now_ns() - t->read_ns >= LIFE_NS)
        return ask_table(which, q);
    for (; p.column <= shape[which].last; p.column++, p.n = 0) {
        const struct row *r = row_behind(t, p.key, p.n, include);
        if (!r)
            continue;
        mib_place_name(&shape[which].tree, p.column, r->key, r->n, name);
        *v = shape[which].column(r, p.column);
        return MIB_FOUND;
    }
    return MIB_END;
}

enum mib_found mib_prefix_table(const struct mib_question *q, const struct oid *from, bool include,
                                struct oid *name, struct value *v)
{
    return next_value(PREFIXES, q, from, include, name, v);
}

enum mib_found mib_address_table(const struct mib_question *q, const struct oid *from, bool include,
                                 struct oid *name, struct value *v)
{
    return next_value(ADDRESSES, q, from, include, name, v);
}

enum mib_found mib_neighbor_table(const struct mib_question *q, const struct oid *from,
                                  bool include, struct oid *name, struct value *v)
{
    return next_value(NEIGHBORS, q, from, include, name, v);
}
