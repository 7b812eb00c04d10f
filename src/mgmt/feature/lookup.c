// SPDX-License-Identifier: BSD-3-Clause
// lookup.c - what the FIB does with a destination
//
// The next hop is read from the FIB itself, exactly as a forwarder does it;
// the prefix and the hops come from the RIB's active route (rib_manager), one
// address after the other. Where the two disagree the answer shows it: a next
// hop without a prefix, or a prefix with next hop 0.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "core/rcu.h"
#include "http/refuse.h"
#include "restconf/operation.h"
#include "rib/rib_manager.h"
#include "table/nexthop.h"
#include "table/vr.h"

struct lookup {
    struct http *http;
    struct text text;
    struct jwrite out;
    uint16_t vr;
    struct ip_addr *address;
    unsigned n, i;
    struct rib_row row; // active route of address[i]; family 0 = none seen
};

static void lookup_free(struct lookup *l)
{
    text_free(&l->text);
    free(l->address);
    free(l);
}

static uint32_t ask_fib(uint16_t vr, const struct ip_addr *a)
{
    uint32_t id = 0;

    rcu_online(); // control is offline while it waits in its loop
    const struct fib *f =
        a->family == IP4 ? rcu_load(&vr_get(vr)->fib4) : rcu_load(&vr_get(vr)->fib6);
    if (f)
        id = fib_find(f, a);
    rcu_offline();
    return id;
}

static void write_hops(struct jwrite *j, const struct rib_row *row)
{
    jwrite_begin(j, "hop", '[');
    for (unsigned i = 0; i < row->n_hops; i++) {
        jwrite_begin(j, NULL, '{');
        if (row->hop[i].iface[0])
            jwrite_string(j, "interface", row->hop[i].iface);
        if (row->hop[i].gateway.family)
            jwrite_ip(j, "gateway", &row->hop[i].gateway);
        jwrite_int(j, "weight", row->hop[i].weight);
        jwrite_bool(j, "resolved", row->hop[i].resolved);
        jwrite_bool(j, "alive", row->hop[i].alive);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
}

static void write_result(struct lookup *l)
{
    const struct ip_addr *a = &l->address[l->i];
    const struct rib_row *row = &l->row;
    uint32_t id = nexthop_real(ask_fib(l->vr, a));
    struct jwrite *j = &l->out;

    jwrite_begin(j, NULL, '{');
    jwrite_ip(j, "address", a);
    if (row->prefix.family)
        jwrite_prefix(j, "prefix", &row->prefix);
    jwrite_int(j, "nexthop", id);
    jwrite_string(j, "kind", nexthop_kind_name(nexthop_word_kind(nexthop_word(nexthop_get(id)))));
    if (row->prefix.family && row->n_hops == 1 && row->hop[0].iface[0])
        jwrite_string(j, "interface", row->hop[0].iface);
    if (row->prefix.family && row->n_hops == 1 && row->hop[0].gateway.family)
        jwrite_ip(j, "gateway", &row->hop[0].gateway);
    write_hops(j, row);
    jwrite_end(j, '}');
}

static bool on_rows(void *ctx, const struct rib_row *row, unsigned n)
{
    struct lookup *l = ctx;

    for (unsigned i = 0; i < n; i++)
        if (row[i].active && !l->row.prefix.family)
            l->row = row[i];
    return true;
}

static void ask_next(struct lookup *l);

static void on_done(void *ctx, int result)
{
    struct lookup *l = ctx;

    if (result && !http_gone(l->http)) {
        if (result == -ENOENT)
            http_refuse(l->http, 404, "invalid-value",
                        "the virtual router has been removed meanwhile");
        else
            http_refuse_busy(l->http, "rib_manager", result);
        lookup_free(l);
        return;
    }
    write_result(l);
    l->i++;
    ask_next(l);
}

static void finish(struct lookup *l)
{
    jwrite_end(&l->out, ']');
    output_send(l->http, &l->out);
    lookup_free(l);
}

static void ask_next(struct lookup *l)
{
    struct rib_query q = {.vr = l->vr, .match = RIB_LONGEST_MATCH, .protocol = -1, .type = -1};

    if (l->i == l->n || http_gone(l->http)) {
        finish(l);
        return;
    }
    l->row = (struct rib_row){0};
    q.family = l->address[l->i].family;
    q.prefix = (struct prefix){.family = q.family, .len = (uint8_t)ip_bits(q.family)};
    memcpy(q.prefix.b, l->address[l->i].b, sizeof q.prefix.b);
    if (!rib_walk_open(&q, on_rows, on_done, l))
        on_done(l, -errno);
}

void lookup_addresses(struct http *h, uint16_t vr, const char *const *address, unsigned n)
{
    struct lookup *l = calloc(1, sizeof *l);

    bug_on(!l);
    l->address = calloc(n + 1, sizeof *l->address);
    bug_on(!l->address);
    l->http = h;
    l->vr = vr;
    for (unsigned i = 0; i < n; i++)
        if (!ip_parse(address[i],
                      &l->address[l->n])) // one with a zone ("fe80::1%p0") has no FIB entry
            l->n++;
    output_begin(&l->out, &l->text);
    jwrite_begin(&l->out, "result", '[');
    ask_next(l);
}
