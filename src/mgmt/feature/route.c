// SPDX-License-Identifier: BSD-3-Clause
// route.c - streams the routing table, and looks up a destination in the FIB
//
//     GET
//     /restconf/data/kamuee:state/routes=default,ipv4?prefix=10.0.0.0/8&match=longer&protocol=bgp
//
// A full table is 180 MB of JSON. rib_manager hands over rows in chunks; they are written into a
// block of text, the block is sent, and the walk pauses until the client has read it. So neither
// loop is blocked and memory does not grow, however slow the reader is.
#include "feature/route.h"

#include <errno.h>
#include <libyang/libyang.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/protocol.h"
#include "core/rcu.h"
#include "feature/vr.h"
#include "http/http.h"
#include "http/refuse.h"
#include "mgmt/feature.h"
#include "restconf/bound.h"
#include "restconf/column.h"
#include "restconf/fields.h"
#include "restconf/operation.h"
#include "restconf/path.h"
#include "restconf/state.h"
#include "rib/rib_manager.h"
#include "table/nexthop.h"
#include "table/vr.h"
#include "yang/owner.h"
#include "yang/yang.h"

#define BLOCK_BYTES (48u << 10)

// --- names --------------------------------------------------------------------------------------

static int route_type_number(const char *name)
{
    for (enum rib_route_type i = 0; i < RIB_ROUTE_TYPES; i++)
        if (!strcmp(rib_route_type_name(i), name))
            return (int)i;
    return -1;
}

// --- rows ---------------------------------------------------------------------------------------

const struct column route_hop_columns[] = {
    COLUMN(struct rib_hop, iface, "interface", .any = true),
    COLUMN(struct rib_hop, gateway, "gateway", .any = true),
    COLUMN(struct rib_hop, labels, "labels"),
    COLUMN(struct rib_hop, weight, "weight"),
    COLUMN(struct rib_hop, resolved, "resolved"),
    COLUMN(struct rib_hop, alive, "alive"),
    {0}};
static const struct column foreign_columns[] = {
    COLUMN(struct rib_hop, foreign, "foreign", .any = true), {0}};

static void write_hops(struct jwrite *j, const struct rib_row *r, bool foreign)
{
    jwrite_begin(j, "hop", '[');
    for (unsigned i = 0; i < r->n_hops; i++) {
        jwrite_begin(j, NULL, '{');
        columns_write(j, route_hop_columns, &r->hop[i]);
        if (foreign)
            columns_write(j, foreign_columns, &r->hop[i]);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
}

static void write_route(struct jwrite *j, const struct rib_row *r)
{
    char buf[PROTOCOL_NAME_SIZE];

    jwrite_begin(j, NULL, '{');
    jwrite_prefix(j, "prefix", &r->prefix);
    jwrite_string(j, "type", rib_route_type_name(r->type));
    jwrite_string(j, "protocol", protocol_name(r->protocol, buf));
    jwrite_int(j, "metric", r->metric);
    if (r->mtu)
        jwrite_int(j, "mtu", r->mtu);
    jwrite_bool(j, "active", r->active);
    if (r->waits)
        jwrite_bool(j, "over-budget", true);
    if (r->imported)
        jwrite_string(j, "imported-from", vr_get(r->source_vr)->name);
    jwrite_int(j, "nexthop", r->nexthop);
    if (r->nexthop_kind)
        jwrite_string(j, "kind", r->nexthop_kind);
    write_hops(j, r, true);
    jwrite_end(j, '}');
}

// --- the stream ---------------------------------------------------------------------------------

struct route_stream {
    const struct route_dialect *dialect;
    struct http *http;
    struct rib_walk *walk;
    struct text block;
    struct jwrite out;
    struct field *fields;      // fields in the query, or NULL
    const struct field *wanted; // fields of a row; NULL: rows are empty
    struct page page;          // rows still to skip, and to send
};

static void stream_free(struct route_stream *s)
{
    text_free(&s->block);
    fields_free(s->fields);
    free(s);
}

static void end_stream(void *ctx, int result);

static const struct lysc_node *row_schema(void)
{
    return yang_child(yang_child(yang_child(NULL, "state", false), "routes", false), "route",
                      false);
}

// Writes only the fields in the query that the client may see.
static void write_part(struct route_stream *s, const struct rib_row *r)
{
    struct text t = {0};
    struct jwrite j = {.t = &t};

    s->dialect->write(&j, r);
    json_t *row = json_loadb(t.s, t.n, 0, NULL);
    if (s->wanted)
        fields_keep(row, s->wanted);
    if (bound_is(s->http))
        owner_keep_below(http_vr(s->http), row_schema(), row);
    char *kept = json_dumps(row, JSON_COMPACT);
    bug_on(!kept);
    jwrite_raw(&s->out, NULL, kept);
    free(kept);
    json_decref(row);
    text_free(&t);
}

static bool write_rows(void *ctx, const struct rib_row *row, unsigned n)
{
    struct route_stream *s = ctx;

    for (unsigned i = 0; i < n && s->page.limit; i++) {
        if (s->page.offset) {
            s->page.offset--;
            continue;
        }
        s->page.limit--;
        if (!s->fields && !bound_is(s->http))
            s->dialect->write(&s->out, &row[i]);
        else if (!s->fields || s->wanted)
            write_part(s, &row[i]);
    }
    if (!s->page.limit) { // skip the rest
        rib_walk_close(s->walk);
        end_stream(s, 0);
        return false;
    }
    return s->block.n < BLOCK_BYTES || http_stream_write(s->http, &s->block);
}

static void end_stream(void *ctx, int result)
{
    struct route_stream *s = ctx;

    // The status has been sent already, so the reader learns of an incomplete answer by its
    // malformed JSON.
    if (!result)
        text_printf(&s->block, "%s", s->dialect->tail);
    else
        log_warning("restconf: route table not complete: error=%d", result);
    if (s->block.n)
        http_stream_write(s->http, &s->block);
    http_stream_end(s->http);
    stream_free(s);
}

static void on_room(void *ctx)
{
    struct route_stream *s = ctx;

    rib_walk_more(s->walk);
}

static void on_gone(void *ctx)
{
    struct route_stream *s = ctx;

    rib_walk_close(s->walk);
    stream_free(s);
}

static const struct route_dialect own_dialect = {"{\"kamuee:routes\":[", "]}]}\n", write_route};

// Reads the query's filters; false: the request has been refused.
static bool read_route_query(struct http *h, struct rib_query *q)
{
    const char *prefix = http_query(h, "prefix"), *match = http_query(h, "match"),
               *protocol = http_query(h, "protocol"), *type = http_query(h, "type");

    q->protocol = protocol ? protocol_number(protocol) : -1;
    q->type = type ? route_type_number(type) : -1;
    q->match = !prefix                             ? RIB_ALL
               : !match || !strcmp(match, "exact") ? RIB_EXACT
               : !strcmp(match, "longest")         ? RIB_LONGEST_MATCH
               : !strcmp(match, "from")            ? RIB_FROM
                                                   : RIB_LONGER;
    if (prefix && (prefix_parse(prefix, &q->prefix, false) || q->prefix.family != q->family))
        http_refuse(h, 400, "invalid-value",
                    "'prefix' is '%s', expected an %s prefix without host bits, such as %s", prefix,
                    q->family == IP4 ? "IPv4" : "IPv6",
                    q->family == IP4 ? "192.0.2.0/24" : "2001:db8::/32");
    else if (match && (!prefix || (q->match == RIB_LONGER && strcmp(match, "longer"))))
        http_refuse(h, 400, "invalid-value",
                    "'match' is '%s', expected exact, longest, longer or from, together with "
                    "'prefix'",
                    match);
    else if (q->match == RIB_LONGEST_MATCH && q->prefix.len != ip_bits(q->family))
        http_refuse(h, 400, "invalid-value",
                    "'prefix' is '%s', expected one address for match=longest", prefix);
    else if (protocol && q->protocol < 0)
        http_refuse(h, 400, "invalid-value", "'protocol' is '%s', expected %s or a number 0..255",
                    protocol, protocol_names());
    else if (type && q->type < 0)
        http_refuse(h, 400, "invalid-value",
                    "'type' is '%s', expected unicast, local, broadcast, connected, blackhole, "
                    "unreachable, prohibit, multicast or throw",
                    type);
    else
        return true;
    return false;
}

void route_stream_as(struct http *h, const char *vr, const char *family,
                     const struct route_dialect *dialect)
{
    const struct vr *v = vr_find(vr);
    struct rib_query q = {.family = strcmp(family, "ipv6") ? IP4 : IP6};
    struct route_stream *s;
    struct text why = {0};

    if (!v) {
        http_refuse(h, 404, "invalid-value", "there is no vr '%s'", vr);
        return;
    }
    q.vr = v->id;
    if (!read_route_query(h, &q))
        return;
    if (!strcmp(http_method(h), "HEAD")) { // no body to stream
        http_reply(h, 200, HTTP_JSON, NULL);
        return;
    }
    s = calloc(1, sizeof *s);
    bug_on(!s);
    s->http = h;
    s->dialect = dialect;
    s->out.t = &s->block;
    bug_on(
        !page_parse(http_query(h, "offset"), http_query(h, "limit"), &s->page)); // checked before
    if (http_query(h, "fields"))
        s->fields = fields_parse(http_query(h, "fields"), NULL, true, &why);
    s->wanted = s->fields ? fields_child(s->fields, "route") : NULL;
    s->walk = rib_walk_open(&q, write_rows, end_stream, s);
    if (!s->walk) {
        int error = -errno;
        stream_free(s);
        http_refuse_busy(h, "rib_manager", error);
        return;
    }
    http_for_anyone(h); // write_rows filters for a bound client
    http_stream_begin(h, HTTP_JSON, on_room, on_gone, s);
    text_printf(&s->block, "%s", dialect->head);
    if (dialect == &own_dialect)
        text_printf(&s->block, "{\"vr\":\"%s\",\"family\":\"%s\",\"route\":[", v->name, family);
}

static void stream_routes(struct http *h, const struct path *p)
{
    const struct path_segment *g = &p->segment[1];

    if (g->n_keys != 2 || p->n > 2)
        http_refuse(h, 400, "invalid-value",
                    "expected only a virtual router and a family, as in routes=default,ipv4");
    else if (bound_may_read(h, g->key[0]))
        route_stream_as(h, g->key[0], g->key[1], &own_dialect);
}

// --- lookup --------------------------------------------------------------------------------------

// The next hop is read from the FIB itself, exactly as a forwarder does; prefix and hops come from
// rib_manager's active route, one address at a time. If the two disagree, the answer shows it: a
// next hop without a prefix, or a prefix with next hop 0.

struct lookup {
    struct http *http;
    struct text text;
    struct jwrite out;
    uint16_t vr;
    struct ip_addr *address;
    unsigned n, i;
    struct rib_row row; // active route of address[i]; family 0 = not found
};

static void lookup_free(struct lookup *l)
{
    text_free(&l->text);
    free(l->address);
    free(l);
}

static uint32_t find_in_fib(uint16_t vr, const struct ip_addr *a)
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

static void write_lookup_result(struct lookup *l)
{
    const struct ip_addr *a = &l->address[l->i];
    const struct rib_row *row = &l->row;
    uint32_t id = nexthop_real(find_in_fib(l->vr, a));
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
    write_hops(j, row, false);
    jwrite_end(j, '}');
}

static bool keep_active_route(void *ctx, const struct rib_row *row, unsigned n)
{
    struct lookup *l = ctx;

    for (unsigned i = 0; i < n; i++)
        if (row[i].active && !l->row.prefix.family)
            l->row = row[i];
    return true;
}

static void look_up_next(struct lookup *l);

static void address_looked_up(void *ctx, int result)
{
    struct lookup *l = ctx;

    if (result) {
        if (result == -ENOENT)
            http_refuse(l->http, 404, "invalid-value",
                        "the virtual router has been removed meanwhile");
        else
            http_refuse_busy(l->http, "rib_manager", result);
        lookup_free(l);
        return;
    }
    write_lookup_result(l);
    l->i++;
    look_up_next(l);
}

static void send_lookup(struct lookup *l)
{
    jwrite_end(&l->out, ']');
    output_send(l->http, &l->out);
    lookup_free(l);
}

static void look_up_next(struct lookup *l)
{
    struct rib_query q = {.vr = l->vr, .match = RIB_LONGEST_MATCH, .protocol = -1, .type = -1};

    if (l->i == l->n || http_gone(l->http)) {
        send_lookup(l);
        return;
    }
    l->row = (struct rib_row){0};
    q.family = l->address[l->i].family;
    q.prefix = (struct prefix){.family = q.family, .len = (uint8_t)ip_bits(q.family)};
    memcpy(q.prefix.b, l->address[l->i].b, sizeof q.prefix.b);
    if (!rib_walk_open(&q, keep_active_route, address_looked_up, l))
        address_looked_up(l, -errno);
}

static void run_lookup(struct http *h, const struct lyd_node *op)
{
    const struct vr *v = vr_of_input(h, op);
    unsigned n = 0;

    if (!v)
        return;
    for (const struct lyd_node *i = lyd_child(op); i; i = i->next)
        n++;
    struct lookup *l = calloc(1, sizeof *l);
    bug_on(!l);
    l->address = calloc(n + 1, sizeof *l->address);
    bug_on(!l->address);
    l->http = h;
    l->vr = v->id;
    for (const struct lyd_node *i = lyd_child(op); i; i = i->next)
        if (!strcmp(i->schema->name, "address") && !ip_parse(lyd_get_value(i), &l->address[l->n]))
            l->n++; // an address with a zone ("fe80::1%p0") has no FIB entry
    output_begin(&l->out, &l->text);
    jwrite_begin(&l->out, "result", '[');
    look_up_next(l);
}

static const char *const route_parameters[] = {"prefix", "match", "protocol", "type", NULL};

const struct feature route_feature = {
    "route",
    .state =
        (const struct feature_state[]){
            {"routes", .stream = stream_routes, .parameters = route_parameters}, {0}},
    .operations = (const struct feature_operation[]){{"lookup", .run = run_lookup}, {0}},
};
