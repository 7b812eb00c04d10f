// SPDX-License-Identifier: BSD-3-Clause
// mib_route.c - IP-FORWARD-MIB (RFC 4292): inetCidrRouteTable of the routes in the FIB
//
// A row is a next hop of a route in the FIB; kamueed reports at most 16 next hops of a route. The
// index of a row is
//
//     type.length.address.prefix-length . 3.0.0.ifIndex . type.length.gateway
//
// The policy in the middle distinguishes next hops without a gateway, as in net-snmp. This is also
// the order of kamueed's table, so a row is found by reading a page of routes from the prefix in
// its name on. PAGES pages are kept: a walk reads each page once, whatever other walks do
// meanwhile, and neither side ever holds more of the table than a page.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/vec.h"
#include "snmp/api.h"
#include "snmp/interfaces.h"
#include "snmp/mib.h"

#define PAGES 32
#define PAGE_ROUTES 2000
#define PAGE_LIFE_NS (5 * NS_PER_SECOND) // maximum age of a row

struct row {
    struct key key;
    uint32_t ifindex, metric;
    uint8_t type, protocol; // inetCidrRouteType, IANAipRouteProtocol
};

struct route_page {
    VEC(struct row) row; // sorted
    char vr[16];
    struct prefix from;  // rows from here on,
    struct prefix last;  // up to this prefix, without it
    bool whole;          // to the end of the family
    uint64_t read_ns;    // 0 = empty
    uint64_t used;       // the page with the lowest value is replaced first
};
static struct route_page pages[PAGES];
static uint64_t uses;

// --- from JSON -----------------------------------------------------------------------------------

// IANAipRouteProtocol
static uint8_t protocol_of(const char *name)
{
    static const struct {
        const char *name;
        uint8_t is;
    } all[] = {{"kernel", 2},     {"boot", 3}, {"static", 3}, {"frr-static", 3}, {"redirect", 4},
               {"bgp", 14},       {"isis", 9}, {"ospf", 13},  {"rip", 8},        {"ripng", 8},
               {"eigrp", 16}};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(all[i].name, name))
            return all[i].is;
    return 1; // other: BIRD does not report its protocol
}

// inetCidrRouteType; 0: not shown.
static uint8_t type_of(const char *name, bool gateway)
{
    enum { REJECT = 2, LOCAL = 3, REMOTE = 4, BLACKHOLE = 5 };

    if (!strcmp(name, "broadcast") || !strcmp(name, "multicast"))
        return 0;
    if (!strcmp(name, "blackhole"))
        return BLACKHOLE;
    if (!strcmp(name, "unreachable") || !strcmp(name, "prohibit") || !strcmp(name, "throw"))
        return REJECT;
    if (!strcmp(name, "local") || !strcmp(name, "connected"))
        return LOCAL;
    return gateway ? REMOTE : LOCAL;
}

static void add_row(struct route_page *p, const json_t *route, const struct prefix *prefix,
                    const json_t *hop)
{
    struct ip_addr base = {.family = prefix->family}, gateway = {0};
    struct row row = {.ifindex = interfaces_number(api_text(hop, "interface")),
                      .metric = (uint32_t)api_number(route, "metric"),
                      .protocol = protocol_of(api_text(route, "protocol"))};
    bool has = !ip_parse(api_text(hop, "gateway"), &gateway);

    row.type = type_of(api_text(route, "type"), has);
    if (!row.type)
        return;
    memcpy(base.b, prefix->b, sizeof base.b);
    key_add_address(&row.key, &base, 0);
    key_add(&row.key, prefix->len);
    key_add(&row.key, 3);
    key_add(&row.key, 0);
    key_add(&row.key, 0);
    key_add(&row.key, row.ifindex);
    if (!has)
        gateway.family = IP_NONE;
    key_add_address(&row.key, &gateway, 0);
    *vec_push(&p->row) = row;
}

static void take_route(struct route_page *p, const json_t *route, const struct prefix *prefix)
{
    const json_t *hops = json_object_get(route, "hop"), *hop;
    size_t at;

    if (!json_is_true(json_object_get(route, "active")))
        return;
    json_array_foreach(hops, at, hop)
        add_row(p, route, prefix, hop);
    if (!json_array_size(hops))
        add_row(p, route, prefix, NULL);
}

// If the page is full, its last prefix may have more routes: that prefix is left for the next page.
static void take_page(struct route_page *p, const json_t *routes, size_t limit)
{
    size_t n = json_array_size(routes);
    struct prefix last = {0}, prefix;

    p->whole = n < limit;
    if (!p->whole)
        prefix_parse(api_text(json_array_get(routes, n - 1), "prefix"), &last, true);
    for (size_t i = 0; i < n; i++) {
        const json_t *route = json_array_get(routes, i);
        if (prefix_parse(api_text(route, "prefix"), &prefix, true))
            continue;
        if (!p->whole && prefix_equal(&prefix, &last))
            break;
        take_route(p, route, &prefix);
    }
    p->last = last;
    rows_sort(p->row.item, &p->row.n, sizeof *p->row.item);
}

// --- pages ---------------------------------------------------------------------------------------

static struct route_page *oldest(void)
{
    struct route_page *p = pages;

    for (unsigned i = 1; i < PAGES; i++)
        if (pages[i].used < p->used)
            p = &pages[i];
    return p;
}

static int read_page(const char *vr, const struct prefix *from, struct route_page **page)
{
    const struct interfaces *all;
    struct route_page *p = oldest();
    char path[200], text[PREFIX_TEXT_MAX];
    int r = interfaces_read(&all);

    p->read_ns = 0;
    for (size_t limit = PAGE_ROUTES; !r; limit *= 8) {
        json_t *answer;
        snprintf(path, sizeof path,
                 "kamuee:state/routes=%s,%s?prefix=%s&match=from&limit=%zu", vr,
                 from->family == IP4 ? "ipv4" : "ipv6", prefix_format(from, text), limit);
        r = api_get(path, &answer);
        if (r)
            break;
        vec_clear(&p->row);
        take_page(p, json_object_get(json_array_get(answer, 0), "route"), limit);
        json_decref(answer);
        if (p->whole || !prefix_equal(&p->last, from)) // otherwise one prefix fills the page
            break;
    }
    if (r)
        return r;
    snprintf(p->vr, sizeof p->vr, "%s", vr);
    p->from = *from;
    p->read_ns = clock_now_ns();
    *page = p;
    return 0;
}

static struct route_page *page_with(const char *vr, const struct prefix *from)
{
    uint64_t now = clock_now_ns();

    for (unsigned i = 0; i < PAGES; i++) {
        struct route_page *p = &pages[i];
        if (p->read_ns && now - p->read_ns < PAGE_LIFE_NS && !strcmp(p->vr, vr) &&
            p->from.family == from->family && prefix_compare(&p->from, from) <= 0 &&
            (p->whole || prefix_compare(from, &p->last) < 0))
            return p;
    }
    return NULL;
}

static int get_page(const char *vr, const struct prefix *from, struct route_page **page)
{
    struct route_page *p = page_with(vr, from);
    int r = p ? 0 : read_page(vr, from, &p);

    if (!r)
        p->used = ++uses;
    *page = p;
    return r;
}

// --- finding -------------------------------------------------------------------------------------

// First prefix that may have a row after `key`; false: the key is after all of them.
static bool prefix_from(const struct key *key, struct prefix *p)
{
    uint32_t type = key->n ? key->id[0] : 0;

    *p = (struct prefix){.family = type <= 1 ? IP4 : IP6};
    if (type > 2)
        return false;
    unsigned bytes = ip_bits(p->family) / 8;
    if (type == 0 || key->n < 2 || key->id[1] < bytes)
        return true;
    if (key->id[1] > bytes) {
        p->family = IP6;
        return type == 1;
    }
    for (unsigned i = 0; i < bytes && 2 + i < key->n; i++) {
        if (key->id[2 + i] > 255) { // after all prefixes that begin with these bytes
            memset(p->b + i, 255, bytes - i);
            p->len = (uint8_t)(bytes * 8);
            return true;
        }
        p->b[i] = (uint8_t)key->id[2 + i];
    }
    uint32_t len = key->n > 2 + bytes ? key->id[2 + bytes] : 0;
    p->len = (uint8_t)(len > bytes * 8 ? bytes * 8 : len);
    while (p->len < bytes * 8) { // a prefix has no bits set after its length
        struct prefix canon = *p;
        prefix_canon(&canon);
        if (prefix_equal(&canon, p))
            break;
        p->len++;
    }
    return true;
}

static int find_route(const char *vr, const struct key *key, bool include, const struct key **row)
{
    struct prefix from;
    struct route_page *p;

    *row = NULL;
    if (!prefix_from(key, &from))
        return 0;
    for (;;) {
        int r = get_page(vr, &from, &p);
        if (r)
            return r == -ENOENT ? 0 : r; // a deleted virtual router has no routes
        *row = rows_behind(p->row.item, p->row.n, sizeof *p->row.item, key, include);
        if (*row)
            return 0;
        if (!p->whole)
            from = p->last;
        else if (from.family == IP4)
            from = (struct prefix){.family = IP6};
        else
            return 0;
    }
}

static void route_value(netsnmp_variable_list *v, const struct key *row, unsigned column)
{
    const struct row *r = (const struct row *)row;

    switch (column) {
    case 7: value_integer(v, r->ifindex); break;
    case 8: value_integer(v, r->type); break;
    case 9: value_integer(v, r->protocol); break;
    case 10: value_unsigned(v, ASN_GAUGE, 0); break; // age: the table has no times
    case 11: value_unsigned(v, ASN_GAUGE, 0); break; // AS of the next hop: not known
    case 12: value_integer(v, r->metric > INT32_MAX ? INT32_MAX : (long)r->metric); break;
    case 17: value_integer(v, 1); break; // active
    default: value_integer(v, -1);       // 13 to 16: unused metrics
    }
}

// --- inetCidrRouteNumber -------------------------------------------------------------------------

static struct {
    char vr[16];
    uint64_t n;
    struct fresh fresh;
} number;

static int find_number(const char *vr, const struct key *key, bool include, const struct key **row)
{
    uint64_t begun = clock_now_ns();
    char path[80];
    json_t *answer, *fib;
    size_t at;

    if (!fresh_is(&number.fresh) || strcmp(number.vr, vr)) {
        snprintf(path, sizeof path, "kamuee:state/vr=%s?fields=fib(routes)", vr);
        int r = api_get(path, &answer);
        if (r)
            return r == -ENOENT ? 0 : r;
        number.n = 0;
        json_array_foreach(json_object_get(json_array_get(answer, 0), "fib"), at, fib)
            number.n += api_number(fib, "routes");
        json_decref(answer);
        snprintf(number.vr, sizeof number.vr, "%s", vr);
        fresh_end(&number.fresh, begun);
    }
    return scalar_find(key, include, row);
}

static void number_value(netsnmp_variable_list *v, const struct key *row, unsigned column)
{
    value_unsigned(v, ASN_GAUGE, number.n);
}

const struct mib_tree mib_route_trees[] = {
    // Older tables are empty: net-snmp's own modules read the kernel's whole table again and again,
    // and with a full table the agent stops answering.
    {.name = "ipRouteTable",
     MIB_ROOT(1, 3, 6, 1, 2, 1, 4, 21, 1, 1),
     .columns = 2,
     .to = 13},
    {.name = "ipForwardNumber",
     MIB_ROOT(1, 3, 6, 1, 2, 1, 4, 24, 1)},
    {.name = "ipForwardTable",
     MIB_ROOT(1, 3, 6, 1, 2, 1, 4, 24, 2),
     .columns = 2},
    {.name = "ipCidrRouteNumber",
     MIB_ROOT(1, 3, 6, 1, 2, 1, 4, 24, 3)},
    {.name = "ipCidrRouteTable",
     MIB_ROOT(1, 3, 6, 1, 2, 1, 4, 24, 4),
     .columns = 2},
    {.name = "inetCidrRouteNumber",
     MIB_ROOT(1, 3, 6, 1, 2, 1, 4, 24, 6),
     .who = EACH_VR,
     .find = find_number,
     .value = number_value},
    {.name = "inetCidrRouteTable",
     MIB_ROOT(1, 3, 6, 1, 2, 1, 4, 24, 7),
     .columns = 0x3ff80, // 7 to 17: columns before are the index, not readable
     .who = EACH_VR,
     .find = find_route,
     .value = route_value},
    {0}};
