// SPDX-License-Identifier: BSD-3-Clause
// snmp_test.c - tables of kamuee-snmp against a naive model, with a fake kamueed
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "snmp/api.h"
#include "snmp/interfaces.h"
#include "snmp/mib.h"
#include "tests/unit.h"

// --- the fake kamueed ----------------------------------------------------------------------------

struct route {
    uint32_t prefix; // host order
    uint8_t len;
    unsigned n_hops;
};
static VEC(struct route) routes; // in kamueed's order
static unsigned asked, limit_max;
static bool silent;

static int by_prefix(const void *a, const void *b)
{
    const struct route *x = a, *y = b;

    return x->prefix != y->prefix ? (x->prefix < y->prefix ? -1 : 1) : x->len - y->len;
}

static json_t *route_json(const struct route *r)
{
    json_t *hops = json_array();

    for (unsigned i = 0; i < r->n_hops; i++)
        json_array_append_new(hops, json_pack("{s:s, s:o}", "interface", "p0", "gateway",
                                              json_sprintf("10.9.%u.%u", i >> 8, i & 255)));
    return json_pack("{s:o, s:s, s:s, s:i, s:b, s:o}", "prefix",
                     json_sprintf("%u.%u.%u.%u/%u", r->prefix >> 24, r->prefix >> 16 & 255,
                                  r->prefix >> 8 & 255, r->prefix & 255, r->len),
                     "type", "unicast", "protocol", "bgp", "metric", 20, "active", 1, "hop", hops);
}

static json_t *routes_json(const char *query)
{
    unsigned b[4], len, limit;
    json_t *all = json_array();

    assert_int_equal(sscanf(query, "prefix=%u.%u.%u.%u/%u&match=from&limit=%u", &b[0], &b[1],
                            &b[2], &b[3], &len, &limit),
                     6);
    struct route from = {b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3], (uint8_t)len, 0};
    limit_max = limit > limit_max ? limit : limit_max;
    vec_foreach (&routes, r)
        if (by_prefix(r, &from) >= 0 && json_array_size(all) < limit)
            json_array_append_new(all, route_json(r));
    return json_pack("[{s:o}]", "route", all);
}

int api_get(const char *path, json_t **value)
{
    const char *query = strchr(path, '?');

    asked++;
    *value = NULL;
    if (silent)
        return -ETIMEDOUT;
    if (!strncmp(path, "kamuee:state/routes=default,ipv4", 32) ||
        !strncmp(path, "kamuee:state/routes=large,ipv4", 30))
        *value = routes_json(query + 1);
    else if (!strncmp(path, "kamuee:state/routes=", 20))
        *value = json_pack("[{s:[]}]", "route");
    else if (!strcmp(path, "kamuee:state/interface"))
        *value = json_pack(
            "[{s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:s, s:{s:s, s:s}}]", "name", "p0", "kind",
            "port", "port", "p0", "vr", "default", "status", "up", "description",
            "K\xc3\xb6ln \xe6\x9d\xb1\xe4\xba\xac", "mtu", 1500, "if-index", 7, "mac",
            "02:00:00:00:00:01", "statistics", "since", "2026-11-29T00:00:00.000Z", "rx-bytes",
            "18446744073709551615");
    else
        return -ENOENT;
    return 0;
}

void links_read(struct interfaces *all)
{
    *vec_push(&all->row) = (struct interface){.key = {1, {7}}, .name = "p0"}; // the TAP
    *vec_push(&all->row) = (struct interface){.key = {1, {2}}, .name = "eth0"};
}

// --- requests ------------------------------------------------------------------------------------

static const struct mib_tree *tree_of(const struct mib_tree *of, const char *name)
{
    while (strcmp(of->name, name))
        of++;
    return of;
}

// Walks the tree by one request per row and counts the rows.
static size_t walk(const struct mib_tree *t, struct key *last)
{
    struct key key = {0};
    const struct key *row;
    size_t n = 0;

    while (!t->find("default", &key, false, &row) && row) {
        assert_true(!n || key_compare(&key, row) < 0);
        key = *row;
        n++;
    }
    *last = key;
    return n;
}

static void add_route(uint32_t prefix, uint8_t len, unsigned n_hops)
{
    *vec_push(&routes) =
        (struct route){len ? prefix & ~0u << (32 - len) : 0, len, n_hops};
}

static void sort_routes(void)
{
    size_t kept = 0;

    qsort(routes.item, routes.n, sizeof *routes.item, by_prefix);
    for (size_t i = 0; i < routes.n; i++)
        if (!kept || by_prefix(&routes.item[kept - 1], &routes.item[i]))
            routes.item[kept++] = routes.item[i];
    routes.n = kept;
}

unit_test(a_walk_finds_each_route_once_in_order)
{
    const struct mib_tree *t = tree_of(mib_route_trees, "inetCidrRouteTable");
    struct key last;
    size_t rows = 0;

    vec_clear(&routes);
    for (unsigned i = 0; i < 9000; i++)
        add_route((uint32_t)rand() << 3, (uint8_t)(rand() % 33), 1 + (unsigned)(rand() % 3));
    sort_routes();
    vec_foreach (&routes, r)
        rows += r->n_hops;
    asked = 0;
    assert_int_equal(walk(t, &last), rows);
    assert_int_equal(walk(t, &last), rows);
    assert_in_range(asked, routes.n / 2000, rows / 100); // requests for pages, not for rows
}

unit_test(a_key_is_found_from_wherever_it_is_asked)
{
    const struct mib_tree *t = tree_of(mib_route_trees, "inetCidrRouteTable");

    for (unsigned i = 0; i < 3000; i++) {
        uint32_t p = (uint32_t)rand() << 3;
        struct route at = {p, (uint8_t)(rand() % 33), 0};
        at.prefix = at.len ? p & ~0u << (32 - at.len) : 0;
        struct key key = {7, {1, 4, at.prefix >> 24, at.prefix >> 16 & 255, at.prefix >> 8 & 255,
                              at.prefix & 255, at.len}};
        const struct route *wanted = NULL;
        const struct key *row;
        vec_foreach (&routes, r)
            if (by_prefix(r, &at) >= 0 && (wanted = r))
                break;
        key.n = i & 1 ? 7 : 2 + (unsigned)(rand() % 6); // a partial key
        assert_int_equal(t->find("default", &key, true, &row), 0);
        assert_true(!row || key_compare(row, &key) >= 0);
        if (key.n < 7)
            continue;
        assert_true(!row == !wanted);
        if (row)
            assert_true(row->id[2] == wanted->prefix >> 24 &&
                        row->id[5] == (wanted->prefix & 255) && row->id[6] == wanted->len);
    }
}

unit_test(keys_beyond_the_table_end_it)
{
    static const struct key beyond[] = {{2, {3, 4}},
                                        {3, {2, 16, 256}},
                                        {2, {2, 17}},
                                        {3, {1, 4, 256}},
                                        {2, {1, 5}},
                                        {3, {1, 4, UINT32_MAX}}};
    const struct mib_tree *t = tree_of(mib_route_trees, "inetCidrRouteTable");
    const struct key *row;

    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        assert_int_equal(t->find("default", &beyond[i], false, &row), 0);
        assert_null(row);
    }
}

// Unless it is read with all its routes, a prefix whose routes fill a page would never end.
unit_test(a_prefix_may_have_more_routes_than_a_page)
{
    const struct mib_tree *t = tree_of(mib_route_trees, "inetCidrRouteTable");
    const struct key *row;
    struct key key = {7, {1, 4, 198, 17, 0, 0, 32}};

    vec_clear(&routes);
    for (unsigned i = 0; i < 5000; i++)
        *vec_push(&routes) = (struct route){0xc6120000, 24, 1};
    add_route(0xc6130000, 24, 1);
    limit_max = 0;
    for (unsigned net = 18; net < 20; net++) {
        assert_int_equal(t->find("large", &key, false, &row), 0);
        assert_true(row && row->id[3] == net);
        key = *row;
    }
    assert_int_equal(t->find("large", &key, false, &row), 0);
    assert_null(row);
    assert_int_equal(limit_max, 16000);
}

unit_test(who_does_not_answer_is_not_empty)
{
    const struct mib_tree *t = tree_of(mib_route_trees, "inetCidrRouteNumber");
    const struct key *row;
    struct key key = {0};

    silent = true;
    assert_int_equal(t->find("blue", &key, false, &row), -ETIMEDOUT);
    silent = false;
}

unit_test(interfaces_are_ours_and_linux_s)
{
    const struct mib_tree *t = tree_of(mib_if_trees, "ifXTable");
    const struct interfaces *all;
    netsnmp_variable_list v = {0};
    const struct key *row;
    struct key key = {0};

    assert_int_equal(interfaces_read_again(&all), 0);
    assert_int_equal(all->row.n, 2);
    assert_true(!all->row.item[0].ours && !strcmp(all->row.item[0].name, "eth0"));
    assert_true(all->row.item[1].ours && all->row.item[1].key.id[0] == 7);
    assert_int_equal(interfaces_number("p0"), 7);
    assert_int_equal(interfaces_number("eth0"), 0);
    key = (struct key){1, {2}};
    assert_int_equal(t->find("default", &key, false, &row), 0);
    t->value(&v, row, 18); // one '?' for each character
    assert_int_equal(v.val_len, 7);
    assert_memory_equal(v.val.string, "K?ln ??", 7);
    t->value(&v, row, 6);
    assert_true(v.type == ASN_COUNTER64 && v.val.counter64->high == UINT32_MAX &&
                v.val.counter64->low == UINT32_MAX);
    // While kamueed does not answer it has no rows, and its TAPs are not shown as Linux's.
    silent = true;
    assert_int_equal(interfaces_read_again(&all), -ETIMEDOUT);
    silent = false;
    assert_int_equal(interfaces_read_again(&all), 0);
    assert_int_equal(all->row.n, 2);
}

int main(void)
{
    srand(7);
    return unit_tests_run(NULL, NULL);
}
