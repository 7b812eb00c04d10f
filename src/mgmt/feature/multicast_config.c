// SPDX-License-Identifier: BSD-3-Clause
// model_multicast.c - the multicast routes of a configuration: read, and judged by what the schema
// cannot say
#include "model/model_multicast.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_leaf.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

// An address of the schema's type is one.
static uint8_t read_address(uint8_t b[16], const char *text)
{
    struct ip_addr a = {0};

    if (text && strcmp(text, "any"))
        bug_on(ip_parse(text, &a));
    memcpy(b, a.b, a.family == IP4 ? 4 : 16);
    return a.family;
}

void model_read_multicast(struct model *m, const struct lyd_node *entry)
{
    struct model_multicast *r = vec_push(&m->multicast);
    const struct lyd_node *first = lyd_child(entry);
    struct multicast_static *s = &r->route;
    const char *source = config_value(first, "source");
    struct lyd_nodes v = {0};

    memset(r, 0, sizeof *r);
    leaf_copy(r->vr, sizeof r->vr, first, "vr", "");
    leaf_copy(s->in, sizeof s->in, first, "input", "");
    s->key.family = read_address(s->key.group, config_value(first, "group"));
    if (read_address(s->key.source, source) != s->key.family && strcmp(source, "any"))
        s->key.iface = 1; // of another family: model_check_multicast says so
    config_children(first, yang_child(entry->schema, "output", true), &v);
    for (size_t i = 0; i < v.n && i < MULTICAST_OUT_MAX; i++) {
        const struct lyd_node *output = lyd_child(v.item[i]);

        leaf_copy(s->out[i].iface, sizeof s->out[i].iface, output, "interface", "");
        s->out[i].ttl = (uint8_t)leaf_number(output, "ttl", 1);
        s->n_out++;
    }
    r->line = leaf_line(entry, NULL);
    free(v.item);
}

static void describe(const struct model_multicast *r, char *buf, size_t n)
{
    struct ip_addr group = {.family = (uint8_t)r->route.key.family};
    char text[IP_TEXT_MAX];

    memcpy(group.b, r->route.key.group, 16);
    snprintf(buf, n, "multicast route %s %s", r->vr, ip_format(&group, text));
}

// Virtual router of an interface; NULL: there is none of that name.
static const char *vr_of(const struct model *m, const char *name)
{
    const struct model_port *p = model_find_port(m, name);
    const struct model_vport *v = model_find_vport(m, name);

    return p ? p->vr : v ? v->vr : NULL;
}

static void check_interface(const struct model *m, const struct model_multicast *r,
                            const char *leaf, const char *name, const char *what, struct errors *e)
{
    const char *vr = vr_of(m, name);

    if (!vr)
        errors_add(
            e, r->line,
            "%s: '%s' refers to '%s', which does not exist; expected the name of a port or vport",
            what, leaf, name);
    else if (strcmp(vr, r->vr))
        errors_add(e, r->line,
                   "%s: '%s' is '%s', expected an interface of virtual router '%s', not of '%s'",
                   what, leaf, name, r->vr, vr);
}

// 224.0.0/24 and groups of narrower scope than a site never leave their link.
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

static void check_route(const struct model *m, const struct model_multicast *r, struct errors *e)
{
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
    if (s->in[0]) // else that has been said
        check_interface(m, r, "input", s->in, what, e);
    for (unsigned i = 0; i < s->n_out; i++) {
        check_interface(m, r, "output", s->out[i].iface, what, e);
        if (!strcmp(s->out[i].iface, s->in))
            errors_add(e, r->line,
                       "%s: 'output' is '%s', which is the input, expected another interface", what,
                       s->in);
    }
}

void model_check_multicast(const struct model *m, struct errors *e)
{
    vec_foreach (&m->multicast, r)
        check_route(m, r, e);
}
