// SPDX-License-Identifier: BSD-3-Clause
// packet_trace_json.c - a packet's path through the router, as JSON
//
// Asks rib_manager for the active route of each lookup, one by one, and then once for the neighbors
// if a next hop is one. Answers that do not arrive in time are left out; the steps themselves are
// in the trace.
#include "packet/packet_trace_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acl_manager/acl_line.h"
#include "base/log.h"
#include "base/protocol.h"
#include "mgmt/feature.h"
#include "program/set.h"
#include "rib/rib_manager.h"
#include "table/acl.h"
#include "table/iface.h"
#include "table/nexthop.h"
#include "table/policer.h"
#include "table/port.h"
#include "table/vr.h"

struct telling {
    const struct packet_trace *p;
    struct jwrite *j;
    void (*done)(void *ctx);
    void *ctx;
    unsigned i; // step whose route is being asked for
    struct rib_row row[TRACED_STEPS];     // family 0 = not found
    struct rib_row waiting[TRACED_STEPS]; // longest match, if it waits for the vr's budget
    struct neigh_row neigh[TRACED_STEPS]; // likewise
};

// --- names ---

static const char *const end_name[] = {
    [TRACED_ON] = "on",         [TRACED_TO_LOCAL] = "local", [TRACED_SENT] = "sent",
    [TRACED_PUNTED] = "punted", [TRACED_HELD] = "held",      [TRACED_DROPPED] = "dropped"};
static const char *const kind_name[] = {
    [TRACED_PLAIN] = "plain", [TRACED_ODD] = "odd", [TRACED_LOCAL] = "local"};
static const char *const icmp_name[] = {[TRACED_ICMP_SENT] = "sent",
                                        [TRACED_RESET_SENT] = "reset",
                                        [TRACED_ICMP_LIMITED] = "limited",
                                        [TRACED_ICMP_FORBIDDEN] = "forbidden"};

static void write_bytes(struct jwrite *j, const char *key, const uint8_t *b, unsigned n)
{
    static const char digit[] = "0123456789abcdef";
    char *text = malloc(2 * (size_t)n + 1);

    bug_on(!text);
    for (unsigned i = 0; i < n; i++) {
        text[2 * i] = digit[b[i] >> 4];
        text[2 * i + 1] = digit[b[i] & 15];
    }
    text[2 * n] = 0;
    jwrite_string(j, key, text);
    free(text);
}

static void write_iface(struct jwrite *j, const char *key, uint16_t id)
{
    if (id && iface_get(id)->name[0])
        jwrite_string(j, key, iface_get(id)->name);
}

// --- parts of a step ---

static void write_queue(struct jwrite *j, const struct packet_trace_frame *f)
{
    const struct packet_trace_queue *q = &f->queue;

    jwrite_begin(j, "queue", '{');
    if (q->own)
        write_iface(j, "vport", f->iface);
    else
        jwrite_string(j, "vr", vr_get(q->vr)->name);
    jwrite_int(j, "class", q->class);
    jwrite_u64(j, "waiting-packets", q->waiting_packets);
    jwrite_u64(j, "waiting-bytes", q->waiting_bytes);
    jwrite_u64(j, "all-classes-bytes", q->client_bytes);
    jwrite_bool(j, "full", q->refusal != 0);
    jwrite_end(j, '}');
}

static void write_frame(struct jwrite *j, const char *key, const struct packet_trace *p,
                        const struct packet_trace_frame *f)
{
    jwrite_begin(j, key, '{');
    if (f->port < PORT_MAX && port_get(f->port)->name[0])
        jwrite_string(j, "port", port_get(f->port)->name);
    write_iface(j, "interface", f->iface);
    jwrite_int(j, "length", f->len);
    write_bytes(j, "octets", p->bytes + f->at, f->kept);
    if (f->queue.has)
        write_queue(j, f);
    jwrite_end(j, '}');
}

static void write_route(struct jwrite *j, const struct rib_row *row)
{
    char buf[PROTOCOL_NAME_SIZE];

    jwrite_prefix(j, "prefix", &row->prefix);
    jwrite_string(j, "type", rib_route_type_name(row->type));
    jwrite_string(j, "protocol", protocol_name(row->protocol, buf));
    jwrite_int(j, "metric", row->metric);
    if (row->imported)
        jwrite_string(j, "imported-from", vr_get(row->source_vr)->name);
}

// Writes why a route of Linux is not followed here.
static void write_foreign(struct jwrite *j, const struct rib_row *row)
{
    if (row->prefix.family && row->n_hops && row->hop[0].foreign)
        jwrite_string(j, "foreign", row->hop[0].iface);
}

static void write_neigh(struct jwrite *j, const struct neigh_row *n)
{
    static const uint8_t none[6];

    jwrite_ip(j, "neighbor", &n->addr);
    jwrite_string(j, "neighbor-status", n->state);
    if (memcmp(n->mac, none, 6))
        jwrite_mac(j, "neighbor-mac", n->mac);
}

static void write_nodes(struct jwrite *j, const struct packet_trace_lookup *l)
{
    jwrite_begin(j, "node", '[');
    for (unsigned i = 0; i < l->n_nodes; i++) {
        jwrite_begin(j, NULL, '{');
        jwrite_string(j, "kind", l->node[i].kind);
        jwrite_int(j, "depth", l->node[i].depth);
        jwrite_int(j, "bits", l->node[i].bits);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
}

static void write_lookup(const struct telling *t, unsigned i)
{
    const struct packet_trace_lookup *l = &t->p->step[i].lookup;
    struct jwrite *j = t->j;
    struct label_stack labels = {0};

    jwrite_begin(j, "lookup", '{');
    jwrite_ip(j, "destination", &l->dst);
    if (l->prefix.family) {
        char buf[PROTOCOL_NAME_SIZE];
        jwrite_prefix(j, "prefix", &l->prefix);
        jwrite_string(j, "protocol", protocol_name(l->protocol, buf));
    }
    if (t->row[i].prefix.family)
        write_route(j, &t->row[i]);
    if (t->waiting[i].prefix.family) {
        jwrite_prefix(j, "waiting-prefix", &t->waiting[i].prefix);
        jwrite_string(j, "waiting-for", t->waiting[i].waits_for);
    }
    write_nodes(j, l);
    for (unsigned f = 0; f < FEATURE_N; f++)
        if (features[f]->write_lookup)
            features[f]->write_lookup(j, t->p->step[i].vr);
    if (l->leaf_kind == NEXTHOP_GROUP) {
        jwrite_int(j, "group", l->leaf);
        jwrite_int(j, "hash", l->hash);
        jwrite_int(j, "bucket", l->bucket);
        jwrite_int(j, "buckets", l->n_buckets);
    }
    jwrite_int(j, "nexthop", l->nexthop);
    jwrite_string(j, "kind", nexthop_kind_name(l->kind));
    labels.n = l->n_labels;
    memcpy(labels.label, l->label, sizeof labels.label);
    jwrite_labels(j, "labels", &labels);
    write_iface(j, "interface", l->iface);
    if (l->mtu)
        jwrite_int(j, "mtu", l->mtu);
    if (l->route_mtu)
        jwrite_int(j, "route-mtu", l->route_mtu);
    if (l->kind == NEXTHOP_UNREACHABLE)
        write_foreign(j, &t->row[i]);
    if (t->neigh[i].addr.family)
        write_neigh(j, &t->neigh[i]);
    if (l->neighbor.family)
        write_neigh(j, &(struct neigh_row){.addr = l->neighbor,
                                           .mac = {l->mac[0], l->mac[1], l->mac[2], l->mac[3],
                                                   l->mac[4], l->mac[5]},
                                           .state = l->kind == NEXTHOP_ADJACENCY
                                                        ? "resolved"
                                                        : nexthop_kind_name(l->kind)});
    jwrite_end(j, '}');
}

static void write_acl_key(struct jwrite *j, const struct packet_trace_step *s)
{
    const struct acl_key_l4 *l4 = &s->acl.key.l4;
    struct ip_addr src = {.family = s->family}, dst = {.family = s->family};

    memcpy(src.b, s->acl.key.src, 16);
    memcpy(dst.b, s->acl.key.dst, 16);
    jwrite_begin(j, "key", '{');
    jwrite_ip(j, "source", &src);
    jwrite_ip(j, "destination", &dst);
    jwrite_int(j, "protocol", l4->proto);
    if (l4->part != ACL_LATER) {
        jwrite_int(j, "source-port", l4->sport);
        jwrite_int(j, "destination-port", l4->dport);
        jwrite_int(j, "tcp-flags", l4->tcp_flags);
    }
    jwrite_int(j, "dscp", l4->dscp);
    jwrite_string(j, "part",
                  l4->part == ACL_WHOLE   ? "whole"
                  : l4->part == ACL_FIRST ? "first-fragment"
                                          : "later-fragment");
    jwrite_end(j, '}');
}

static void write_acl(struct jwrite *j, const struct packet_trace_step *s)
{
    static const char *const extra[] = {"log", "mirror", "police",
                                        "redirect"}; // by bit of enum acl_extra
    const struct packet_trace_acl *a = &s->acl;

    jwrite_begin(j, "acl", '{');
    jwrite_string(j, "name", acl_table[a->list].name);
    jwrite_string(j, "direction", a->out ? "out" : "in");
    write_iface(j, "interface", a->iface);
    jwrite_int(j, "rule", a->rule);
    jwrite_string(j, "action", acl_verb_name[a->verb]);
    if (a->spared)
        jwrite_bool(j, "neighbor-discovery", true);
    jwrite_begin(j, "also", '[');
    for (unsigned i = 0; i < 4; i++)
        if (a->extra & 1u << i)
            jwrite_string(j, NULL, extra[i]);
    jwrite_end(j, ']');
    if (a->extra & ACL_CLASS)
        jwrite_int(j, "class", a->class);
    if (a->extra & ACL_REMARK)
        jwrite_int(j, "remark-dscp", a->dscp);
    if (a->nexthop && a->nexthop < NEXTHOP_TRIAL) // not of an earlier time
        jwrite_int(j, "nexthop", a->nexthop);
    if (a->rules)
        write_acl_key(j, s);
    jwrite_end(j, '}');
}

static void write_police(struct jwrite *j, const struct packet_trace_police *p)
{
    static const char *const action[] = {"pass", "drop", "remark"};
    const struct policer *of = policer_of(p->iface, p->out ? POLICER_OUT : POLICER_IN);

    jwrite_begin(j, "police", '{');
    if (of)
        jwrite_string(j, "policer", of->name);
    write_iface(j, "interface", p->iface);
    jwrite_string(j, "direction", p->out ? "out" : "in");
    jwrite_string(j, "color", policer_color_name[p->color]);
    jwrite_string(j, "action", action[p->action]);
    if (p->action == POLICER_REMARK)
        jwrite_int(j, "remark-dscp", p->dscp);
    jwrite_end(j, '}');
}

static void write_program(struct jwrite *j, const struct packet_trace_program *p)
{
    static const char *const action[KAMUEE_ACTIONS] = {"continue", "drop", "class", "next-hop",
                                                       "redirect", "punt", "mirror"};

    jwrite_begin(j, "program", '{');
    jwrite_string(j, "name", p->name);
    jwrite_string(j, "hook", program_hook_name[p->hook]);
    if (p->fault) {
        jwrite_string(j, "fault", program_fault_name[p->fault]);
    } else {
        jwrite_string(j, "verdict", action[p->action]);
        if (p->action == KAMUEE_DROP || p->action == KAMUEE_CLASS || p->action == KAMUEE_NEXT_HOP ||
            p->action == KAMUEE_REDIRECT)
            jwrite_int(j, "argument", p->argument);
    }
    jwrite_end(j, '}');
}

static void write_icmp(struct jwrite *j, const struct packet_trace_step *s)
{
    jwrite_begin(j, "icmp-error", '{');
    jwrite_string(j, "result", icmp_name[s->icmp]);
    if (s->icmp == TRACED_ICMP_SENT) {
        jwrite_int(j, "type", s->icmp_type);
        jwrite_int(j, "code", s->icmp_code);
        jwrite_int(j, "word", s->icmp_word);
    }
    jwrite_end(j, '}');
}

static void write_step_end(struct jwrite *j, const struct packet_trace_step *s)
{
    jwrite_string(j, "result", end_name[s->end]);
    if (s->end == TRACED_DROPPED) {
        jwrite_string(j, "reason", drop_info[s->drop].name);
        jwrite_string(j, "sentence", drop_info[s->drop].sentence);
        jwrite_string(j, "source", drop_info[s->drop].source);
    } else if (s->end == TRACED_PUNTED) {
        jwrite_string(j, "class", punt_class_name[s->punt_class]);
    }
}

static void write_packet(struct jwrite *j, const struct packet_trace_step *s)
{
    write_iface(j, "interface", s->iface);
    if (vr_get(s->vr)->used)
        jwrite_string(j, "vr", vr_get(s->vr)->name);
    if (!s->family)
        return;
    jwrite_string(j, "family", s->family == IP4 ? "ipv4" : "ipv6");
    jwrite_int(j, "length", s->len);
    jwrite_int(j, "ttl", s->ttl);
}

static void write_step(const struct telling *t, unsigned i)
{
    const struct packet_trace_step *s = &t->p->step[i];
    struct jwrite *j = t->j;

    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "stage", s->stage);
    jwrite_string(j, "of", s->of == TRACED_ERROR ? "icmp-error" : "packet");
    write_packet(j, s);
    if (s->kind)
        jwrite_string(j, "kind", kind_name[s->kind]);
    if (s->lookup.asked)
        write_lookup(t, i);
    if (s->acl.list)
        write_acl(j, s);
    if (s->police.iface)
        write_police(j, &s->police);
    if (s->program.name[0])
        write_program(j, &s->program);
    if (s->icmp)
        write_icmp(j, s);
    write_step_end(j, s);
    jwrite_begin(j, "frame", '[');
    for (unsigned k = 0; k < s->n_frames; k++)
        write_frame(j, NULL, t->p, &t->p->frame[s->frame + k]);
    jwrite_end(j, ']');
    jwrite_end(j, '}');
}

static void write_steps(struct telling *t)
{
    const struct packet_trace *p = t->p;

    write_frame(t->j, "in", p, &p->in);
    jwrite_bool(t->j, "polled", p->polled);
    jwrite_begin(t->j, "step", '[');
    for (unsigned i = 0; i < p->n_steps; i++)
        write_step(t, i);
    jwrite_end(t->j, ']');
    if (t->done)
        t->done(t->ctx);
    free(t);
}

// --- rib_manager's answers ---

static bool is_neighbor(const struct packet_trace_lookup *l)
{
    return l->asked &&
           (l->kind == NEXTHOP_ADJACENCY || l->kind == NEXTHOP_HOLD ||
            l->kind == NEXTHOP_FAILED || l->kind == NEXTHOP_ENCAP);
}

// Next hop of the neighbor, behind the labels.
static uint32_t neighbor_of(const struct packet_trace_lookup *l)
{
    const struct nexthop *nh = nexthop_get(l->nexthop);

    return nexthop_word_kind(nexthop_word(nh)) == NEXTHOP_ENCAP ? nh->encap.via : l->nexthop;
}

static void on_neighbors(void *ctx, const struct neigh_row *row, unsigned n)
{
    struct telling *t = ctx;

    for (unsigned i = 0; i < t->p->n_steps; i++)
        for (unsigned k = 0; k < n && is_neighbor(&t->p->step[i].lookup); k++)
            if (row[k].nexthop == neighbor_of(&t->p->step[i].lookup))
                t->neigh[i] = row[k];
    write_steps(t);
}

static bool keep_routes(void *ctx, const struct rib_row *row, unsigned n)
{
    struct telling *t = ctx;

    for (unsigned i = 0; i < n; i++)
        if (row[i].active && !t->row[t->i].prefix.family)
            t->row[t->i] = row[i];
        else if (row[i].waits && !t->waiting[t->i].prefix.family)
            t->waiting[t->i] = row[i];
    return true;
}

static void ask_next_route(struct telling *t);

static void route_answered(void *ctx, int result)
{
    struct telling *t = ctx;

    t->i++;
    ask_next_route(t);
}

static void ask_neighbors(struct telling *t)
{
    bool any = false;

    for (unsigned i = 0; i < t->p->n_steps; i++)
        any |= is_neighbor(&t->p->step[i].lookup);
    if (!any || rib_manager_neigh(on_neighbors, t))
        write_steps(t);
}

static void ask_next_route(struct telling *t)
{
    if (t->p->past) { // the trace has all
        write_steps(t);
        return;
    }
    while (t->i < t->p->n_steps && !t->p->step[t->i].lookup.asked)
        t->i++;
    if (t->i == t->p->n_steps) {
        ask_neighbors(t);
        return;
    }
    const struct packet_trace_step *s = &t->p->step[t->i];
    struct rib_query q = {
        .vr = s->vr, .family = s->family, .match = RIB_LONGEST_MATCH, .protocol = -1, .type = -1,
        .all_waiting = true};
    q.prefix = (struct prefix){.family = s->family, .len = (uint8_t)ip_bits(s->family)};
    memcpy(q.prefix.b, s->lookup.dst.b, sizeof q.prefix.b);
    if (!rib_walk_open(&q, keep_routes, route_answered, t))
        route_answered(t, -errno);
}

void packet_trace_json(const struct packet_trace *p, struct jwrite *j, void (*done)(void *ctx),
                       void *ctx)
{
    struct telling *t = calloc(1, sizeof *t);

    bug_on(!t);
    *t = (struct telling){.p = p, .j = j, .done = done, .ctx = ctx};
    ask_next_route(t);
}
