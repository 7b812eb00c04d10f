// SPDX-License-Identifier: BSD-3-Clause
// multicast.c - static multicast routes, and all multicast routes in force
//
// rib_manager keeps the routes. A route is identified by its virtual router, source and group; a
// change of anything else replaces it in place.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/vec.h"
#include "config/feature_config.h"
#include "config/leaf.h"
#include "mgmt/feature.h"
#include "model/model.h"
#include "restconf/state.h"
#include "rib/rib_manager.h"
#include "table/vr.h"
#include "yang/config_tree.h"

// --- configuration -------------------------------------------------------------------------------

struct model_multicast { // a multicast route
    char vr[16];
    struct multicast_static route;
    unsigned line;
};

struct model_routes {
    VEC(struct model_multicast) route; // in configuration order
    struct model_multicast **by_key;
};

static struct model_routes *routes_of(const struct model *m)
{
    return m->part[FEATURE_multicast];
}

// --- reading -------------------------------------------------------------------------------------

// Reads an address, which the schema's type has checked.
static uint8_t read_address(uint8_t b[16], const char *text)
{
    struct ip_addr a = {0};

    if (text && strcmp(text, "any"))
        bug_on(ip_parse(text, &a));
    memcpy(b, a.b, a.family == IP4 ? 4 : 16);
    return a.family;
}

static void read_route(struct model *m, void *row, const struct lyd_node *entry)
{
    struct model_multicast *r = row;
    const struct lyd_node *first = lyd_child(entry);
    struct multicast_static *s = &r->route;
    const char *source = config_value(first, "source");

    leaf_copy(r->vr, sizeof r->vr, first, "vr", "");
    leaf_copy(s->in, sizeof s->in, first, "input", "");
    s->key.family = read_address(s->key.group, config_value(first, "group"));
    if (read_address(s->key.source, source) != s->key.family && strcmp(source, "any"))
        s->key.iface = 1; // another family: check_route reports it
    leaf_foreach (first, entry->schema, "output", output)
        if (s->n_out < MULTICAST_OUT_MAX) {
            leaf_copy(s->out[s->n_out].iface, sizeof s->out->iface, lyd_child(output), "interface",
                      "");
            s->out[s->n_out++].ttl = (uint8_t)leaf_number(lyd_child(output), "ttl", 1);
        }
}

static int compare_keys(const void *pa, const void *pb)
{
    const struct model_multicast *a = *(struct model_multicast *const *)pa,
                                 *b = *(struct model_multicast *const *)pb;
    int d = memcmp(&a->route.key, &b->route.key, sizeof a->route.key);

    return d ? d : strcmp(a->vr, b->vr);
}

static void sort_routes(struct model *m)
{
    routes_of(m)->by_key = model_sorted_in(&routes_of(m)->route, compare_keys);
}

static void free_routes(struct model *m)
{
    free(routes_of(m)->by_key);
}

// --- rules ---------------------------------------------------------------------------------------

static void describe(const struct model_multicast *r, char *buf, size_t n)
{
    struct ip_addr group = {.family = (uint8_t)r->route.key.family};
    char text[IP_TEXT_MAX];

    memcpy(group.b, r->route.key.group, 16);
    snprintf(buf, n, "multicast route %s %s", r->vr, ip_format(&group, text));
}

static void check_interface(const struct model *m, const struct model_multicast *r,
                            const char *leaf, const char *name, const char *what, struct errors *e)
{
    const struct model_interface *i = model_find_interface(m, name);
    const struct model_port *p = model_find_port(m, name);

    if (p && p->config.member_of[0])
        errors_add(e, r->line, "multicast route: interface '%s' is a member of %s, expected '%s'",
                   name, p->config.member_of, p->config.member_of);
    else if (!i)
        errors_add(e, r->line,
                   "%s: '%s' refers to '%s', which does not exist; expected the name of a port or "
                   "vport",
                   what, leaf, name);
    else if (strcmp(i->vr, r->vr))
        errors_add(e, r->line,
                   "%s: '%s' is '%s', expected an interface of virtual router '%s', not of '%s'",
                   what, leaf, name, r->vr, i->vr);
}

// Groups of 224.0.0/24, and IPv6 groups of a scope below site-local, never leave their link.
static bool is_forwardable(const struct multicast_key *k)
{
    const uint8_t *g = k->group;

    return k->family == IP4 ? (g[0] & 0xf0) == 0xe0 && (g[0] != 224 || g[1] || g[2])
                            : g[0] == 0xff && (g[1] & 15) > 2;
}

static bool is_source(const struct multicast_key *k)
{
    const uint8_t *s = k->source;

    return k->family == IP4 ? s[0] < 224 && s[0] != 127 && !(s[0] == 169 && s[1] == 254)
                            : s[0] != 0xff && !(s[0] == 0xfe && (s[1] & 0xc0) == 0x80);
}

static void check_route(const struct model *m, const void *row, struct errors *e)
{
    const struct model_multicast *r = row;
    const struct multicast_static *s = &r->route;
    char what[80];

    describe(r, what, sizeof what);
    if (!is_forwardable(&s->key))
        errors_add(e, r->line,
                   "%s: the group has link-local scope, expected a multicast address with more, "
                   "such as 239.1.1.1 or ff3e::1",
                   what);
    if (s->key.iface)
        errors_add(e, r->line, "%s: the source is of another address family, expected %s", what,
                   s->key.family == IP4 ? "an IPv4 address" : "an IPv6 address");
    else if (!is_source(&s->key))
        errors_add(
            e, r->line,
            "%s: the source cannot be a host beyond the link, expected a unicast address, or 'any'",
            what);
    if (s->in[0]) // otherwise already reported
        check_interface(m, r, "input", s->in, what, e);
    for (unsigned i = 0; i < s->n_out; i++) {
        check_interface(m, r, "output", s->out[i].iface, what, e);
        if (!strcmp(s->out[i].iface, s->in))
            errors_add(e, r->line,
                       "%s: 'output' is '%s', which is the input, expected another interface", what,
                       s->in);
    }
}

// --- steps ---------------------------------------------------------------------------------------

static const void *find_route(const struct change *c, const struct model *other, const void *row)
{
    const struct model_multicast *r = row;
    const struct model_routes *all = routes_of(other);
    struct model_multicast **found =
        bsearch(&r, all->by_key, all->route.n, sizeof *all->by_key, compare_keys);

    return found && vr_stays(c, r->vr) ? *found : NULL;
}

static int run_route(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    const struct model_multicast *old = from, *new = to;
    int e = new ? rib_manager_multicast_set(new->vr, &new->route)
                : rib_manager_multicast_del(old->vr, &old->route.key);

    if (e == -ENOSPC)
        snprintf(err, n, "a virtual router can have at most %u multicast routes and joined groups",
                 MULTICAST_MAX);
    else if (e)
        snprintf(err, n, "%s", strerror(-e));
    return e;
}

// Routes refer to interfaces by name, and interfaces may come and go.
static const struct feature_config multicast_config = {
    .part_size = sizeof(struct model_routes),
    .lists =
        (const struct feature_list[]){
            {.inside = "multicast",
             .node = "route",
             LIST_ROWS(struct model_routes, route),
             .read = read_route,
             .check = check_route,
             LIST_STEP(struct model_multicast, "multicast route", run_route),
             .unnamed = true,
             .remove = PHASE_REMOVE_USERS,
             .add = PHASE_ADD_USERS,
             .find = find_route,
             LIST_VALUE(struct model_multicast, route)},
            {0}},
    .resolve = sort_routes,
    .free = free_routes,
};

// --- state ---------------------------------------------------------------------------------------

static void write_multicast_route(struct jwrite *j, const struct multicast_row *r)
{
    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "vr", vr_get(r->vr)->name);
    jwrite_ip(j, "group", &r->group);
    if (r->source.family)
        jwrite_ip(j, "source", &r->source);
    else
        jwrite_string(j, "source", "any");
    jwrite_string(j, "family", r->family == IP4 ? "ipv4" : "ipv6");
    jwrite_string(j, "origin", r->is_static ? "static" : "kernel");
    jwrite_string_any(j, "input", r->in);
    jwrite_bool(j, "by-kernel", r->by_kernel);
    jwrite_begin(j, "output", '[');
    for (unsigned i = 0; i < r->n_out; i++) {
        jwrite_begin(j, NULL, '{');
        jwrite_string(j, "interface", r->out[i].iface);
        jwrite_int(j, "ttl", r->out[i].ttl);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
    jwrite_u64(j, "packets", r->packets);
    jwrite_u64(j, "bytes", r->bytes);
    jwrite_u64(j, "wrong-interface", r->wrong);
    jwrite_end(j, '}');
}

static void write_multicast_state(void *ctx, const struct multicast_row *row, unsigned n,
                                  const struct multicast_join_row *join, unsigned n_join)
{
    struct show *s = ctx;
    struct jwrite *j = &s->out;

    jwrite_begin(j, "route", '[');
    for (unsigned i = 0; i < n; i++)
        write_multicast_route(j, &row[i]);
    jwrite_end(j, ']');
    jwrite_begin(j, "join", '[');
    for (unsigned i = 0; i < n_join; i++) {
        jwrite_begin(j, NULL, '{');
        jwrite_string(j, "vr", vr_get(join[i].vr)->name);
        jwrite_string(j, "interface", join[i].iface);
        jwrite_ip(j, "group", &join[i].group);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
    s->done(s, 0);
}

static int ask_multicast(struct show *s)
{
    return rib_manager_multicast(write_multicast_state, s);
}

const struct feature multicast_feature = {
    "multicast",
    .config = &multicast_config,
    .state = (const struct feature_state[]){{"multicast", .ask = ask_multicast}, {0}},
};
