// SPDX-License-Identifier: BSD-3-Clause
// mib_ip.c - IP-MIB (RFC 4293) in the contexts of virtual routers: interface addresses, their
// prefixes, and neighbors
//
//     ipAddressPrefixTable   TREE.1.column . ifIndex . type.length.prefix . prefix-length
//     ipAddressTable         TREE.1.column . type.length.address
//     ipNetToPhysicalTable   TREE.1.column . ifIndex . type.length.address
//
// In the default context, net-snmp's own modules serve these tables for all of Linux's interfaces
// in its namespace, with the same ifIndex. Link-local addresses (fe80::/10) end with their ifIndex
// (ipv6z, RFC 4001), since two links may have the same address.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/vec.h"
#include "snmp/api.h"
#include "snmp/interfaces.h"
#include "snmp/mib.h"

enum {
    TRUTH_TRUE = 1,
    TRUTH_FALSE = 2,
    ROW_ACTIVE = 1,
    STORAGE_VOLATILE = 2,
    ORIGIN_OTHER = 1,
    ORIGIN_LINK_LAYER = 5
};

static bool is_link_local(const struct ip_addr *a)
{
    return a->family == IP6 && a->b[0] == 0xfe && (a->b[1] & 0xc0) == 0x80;
}

static uint32_t zone_of(const struct ip_addr *a, uint32_t ifindex)
{
    return is_link_local(a) ? ifindex : 0;
}

// --- addresses and prefixes, of one virtual router at a time -------------------------------------

struct ip_row {
    struct key key;
    struct interface_address is;
};

typedef VEC(struct ip_row) ip_rows;
static struct {
    char vr[16];
    uint64_t version; // version of the interfaces they were built from
    ip_rows addresses, prefixes;
} kept;

static void add_prefix_key(struct key *key, const struct interface_address *a)
{
    struct prefix net = {.family = a->ip.family, .len = a->len};
    struct ip_addr base = {.family = a->ip.family};

    memcpy(net.b, a->ip.b, sizeof net.b);
    prefix_canon(&net);
    memcpy(base.b, net.b, sizeof base.b);
    key_add(key, a->ifindex);
    key_add_address(key, &base, 0);
    key_add(key, a->len);
}

static void keep(const struct interfaces *all, const char *vr)
{
    snprintf(kept.vr, sizeof kept.vr, "%s", vr);
    kept.version = all->version;
    vec_clear(&kept.addresses);
    vec_clear(&kept.prefixes);
    vec_foreach (&all->address, a) {
        struct ip_row row = {.is = *a};
        if (strcmp(row.is.vr, vr))
            continue;
        key_add_address(&row.key, &row.is.ip, zone_of(&row.is.ip, row.is.ifindex));
        *vec_push(&kept.addresses) = row;
        row.key.n = 0;
        add_prefix_key(&row.key, &row.is);
        *vec_push(&kept.prefixes) = row;
    }
    rows_sort(kept.addresses.item, &kept.addresses.n, sizeof *kept.addresses.item);
    rows_sort(kept.prefixes.item, &kept.prefixes.n, sizeof *kept.prefixes.item);
}

static int find_kept(const char *vr, const ip_rows *rows, const struct key *key, bool include,
                     const struct key **row)
{
    const struct interfaces *all;
    int r = interfaces_read(&all);

    if (!r && (kept.version != all->version || strcmp(kept.vr, vr)))
        keep(all, vr);
    *row = r ? NULL : rows_behind(rows->item, rows->n, sizeof *rows->item, key, include);
    return r;
}

static int find_address(const char *vr, const struct key *key, bool include, const struct key **row)
{
    return find_kept(vr, &kept.addresses, key, include, row);
}

static int find_prefix(const char *vr, const struct key *key, bool include, const struct key **row)
{
    return find_kept(vr, &kept.prefixes, key, include, row);
}

// ipAddressPrefixEntry
static void prefix_value(netsnmp_variable_list *v, const struct key *row, unsigned column)
{
    switch (column) {
    case 5: value_integer(v, ORIGIN_OTHER); break; // the kernel does not report it
    case 6: value_integer(v, TRUTH_TRUE); break;   // on link
    case 7: value_integer(v, TRUTH_FALSE); break;  // autonomous
    default: value_unsigned(v, ASN_GAUGE, UINT32_MAX); // 8, 9: infinite lifetimes
    }
}

// Points to the row of ipAddressPrefixTable by its first readable column.
static void put_prefix_pointer(netsnmp_variable_list *v, const struct interface_address *a)
{
    oid name[11 + KEY_MAX] = {1, 3, 6, 1, 2, 1, 4, 32, 1, 5};
    struct key key = {0};

    add_prefix_key(&key, a);
    for (unsigned i = 0; i < key.n; i++)
        name[10 + i] = key.id[i];
    snmp_set_var_typed_value(v, ASN_OBJECT_ID, name, (10 + key.n) * sizeof *name);
}

// ipAddressEntry
static void address_value(netsnmp_variable_list *v, const struct key *row, unsigned column)
{
    enum { UNICAST = 1, PREFERRED = 1, TENTATIVE = 6 };
    const struct interface_address *a = &((const struct ip_row *)row)->is;

    switch (column) {
    case 3: value_integer(v, a->ifindex); break;
    case 4: value_integer(v, UNICAST); break;
    case 5: put_prefix_pointer(v, a); break;
    case 6: value_integer(v, is_link_local(&a->ip) ? ORIGIN_LINK_LAYER : ORIGIN_OTHER); break;
    case 7: value_integer(v, a->usable ? PREFERRED : TENTATIVE); break;
    case 10: value_integer(v, ROW_ACTIVE); break;
    case 11: value_integer(v, STORAGE_VOLATILE); break;
    default: value_unsigned(v, ASN_TIMETICKS, 0); // 8, 9: kamueed does not report the time
    }
}

// --- neighbors, of one virtual router at a time -------------------------------------------------

struct neighbor_row {
    struct key key;
    uint8_t mac[6];
    bool known, permanent;
    uint8_t state; // ipNetToPhysicalState
};
static VEC(struct neighbor_row) neighbors;
static struct fresh neighbors_fresh;
static char neighbors_vr[16];

static uint8_t state_of(const char *name)
{
    static const struct {
        const char *name;
        uint8_t state;
    } states[] = {{"reachable", 1}, {"permanent", 1}, {"noarp", 1},  {"stale", 2},
                  {"delay", 3},     {"probe", 4},     {"failed", 5}, {"incomplete", 7}};

    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (!strcmp(states[i].name, name))
            return states[i].state;
    return 6; // unknown
}

static void take_neighbor(const json_t *o, const char *vr)
{
    uint32_t ifindex = interfaces_number(api_text(o, "interface"));
    struct neighbor_row row = {.state = state_of(api_text(o, "status")),
                               .permanent = !strcmp(api_text(o, "status"), "permanent")};
    struct ip_addr ip;

    if (strcmp(api_text(o, "vr"), vr) || !ifindex || ip_parse(api_text(o, "address"), &ip))
        return;
    row.known = api_mac(o, "mac", row.mac);
    key_add(&row.key, ifindex);
    key_add_address(&row.key, &ip, zone_of(&ip, ifindex));
    *vec_push(&neighbors) = row;
}

static int read_neighbors(const char *vr)
{
    const struct interfaces *all;
    uint64_t begun = clock_now_ns();
    json_t *list, *o;
    size_t at;
    int r = interfaces_read(&all);

    r = r ? r : api_get("kamuee:state/neighbor", &list);
    if (r && r != -ENOENT)
        return r;
    vec_clear(&neighbors);
    if (!r)
        json_array_foreach(list, at, o)
            take_neighbor(o, vr);
    if (!r)
        json_decref(list);
    rows_sort(neighbors.item, &neighbors.n, sizeof *neighbors.item);
    snprintf(neighbors_vr, sizeof neighbors_vr, "%s", vr);
    fresh_end(&neighbors_fresh, begun);
    return 0;
}

static int find_neighbor(const char *vr, const struct key *key, bool include,
                         const struct key **row)
{
    int r = fresh_is(&neighbors_fresh) && !strcmp(neighbors_vr, vr) ? 0 : read_neighbors(vr);

    *row = r ? NULL
             : rows_behind(neighbors.item, neighbors.n, sizeof *neighbors.item, key, include);
    return r;
}

// ipNetToPhysicalEntry
static void neighbor_value(netsnmp_variable_list *v, const struct key *row, unsigned column)
{
    enum { DYNAMIC = 3, STATIC = 4 };
    const struct neighbor_row *n = (const struct neighbor_row *)row;

    switch (column) {
    case 4: value_bytes(v, n->mac, n->known ? sizeof n->mac : 0); break;
    case 5: value_unsigned(v, ASN_TIMETICKS, 0); break; // kamueed does not report the time
    case 6: value_integer(v, n->permanent ? STATIC : DYNAMIC); break;
    case 7: value_integer(v, n->state); break;
    default: value_integer(v, ROW_ACTIVE); // 8
    }
}

#define C(n) (1u << (n))
const struct mib_tree mib_ip_trees[] = {
    {.name = "ipAddressPrefixTable",
     MIB_ROOT(1, 3, 6, 1, 2, 1, 4, 32),
     .columns = C(5) | C(6) | C(7) | C(8) | C(9),
     .who = OTHER_VRS,
     .find = find_prefix,
     .value = prefix_value},
    {.name = "ipAddressTable",
     MIB_ROOT(1, 3, 6, 1, 2, 1, 4, 34),
     .columns = C(3) | C(4) | C(5) | C(6) | C(7) | C(8) | C(9) | C(10) | C(11),
     .who = OTHER_VRS,
     .find = find_address,
     .value = address_value},
    {.name = "ipNetToPhysicalTable",
     MIB_ROOT(1, 3, 6, 1, 2, 1, 4, 35),
     .columns = C(4) | C(5) | C(6) | C(7) | C(8),
     .who = OTHER_VRS,
     .find = find_neighbor,
     .value = neighbor_value},
    {0}};
