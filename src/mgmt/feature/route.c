// SPDX-License-Identifier: BSD-3-Clause
// show_route.c - the routing table, streamed
//
//     GET
//     /restconf/data/kamuee:state/routes=default,ipv4?prefix=10.0.0.0/8&match=longer&protocol=bgp
//
// A full table is 180 MB of JSON. rib_manager hands rows over in chunks; they
// are written into one block of text, the block goes out, and the walk pauses
// until the client has read it: neither loop is held up and memory does not
// grow, however slow the reader is.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/protocol.h"
#include "http/http.h"
#include "http/refuse.h"
#include "restconf/fields.h"
#include "rib/rib_manager.h"
#include "restconf/state.h"
#include "table/vr.h"

#define BLOCK_BYTES (48u << 10)

// --- names --------------------------------------------------------------------------------------

static const char *const route_types[] = {
    [RIB_UNICAST] = "unicast",     [RIB_LOCAL] = "local",         [RIB_BROADCAST] = "broadcast",
    [RIB_CONNECTED] = "connected", [RIB_BLACKHOLE] = "blackhole", [RIB_UNREACHABLE] = "unreachable",
    [RIB_PROHIBIT] = "prohibit",   [RIB_MULTICAST] = "multicast",
    [RIB_THROW] = "throw"};

const char *route_type_name(unsigned type)
{
    return type < sizeof route_types / sizeof *route_types ? route_types[type] : "unicast";
}

int route_type_number(const char *name)
{
    for (size_t i = 0; i < sizeof route_types / sizeof *route_types; i++)
        if (!strcmp(route_types[i], name))
            return (int)i;
    return -1;
}

// --- rows ---------------------------------------------------------------------------------------

static void write_hop(struct jwrite *j, const struct rib_hop *h)
{
    jwrite_begin(j, NULL, '{');
    if (h->iface[0])
        jwrite_string(j, "interface", h->iface);
    if (h->gateway.family)
        jwrite_ip(j, "gateway", &h->gateway);
    jwrite_int(j, "weight", h->weight);
    jwrite_bool(j, "resolved", h->resolved);
    jwrite_bool(j, "alive", h->alive);
    if (h->foreign)
        jwrite_bool(j, "foreign", true);
    jwrite_end(j, '}');
}

static void write_row(struct jwrite *j, const struct rib_row *r)
{
    char buf[PROTOCOL_NAME_SIZE];

    jwrite_begin(j, NULL, '{');
    jwrite_prefix(j, "prefix", &r->prefix);
    jwrite_string(j, "type", route_type_name(r->type));
    jwrite_string(j, "protocol", protocol_name(r->protocol, buf));
    jwrite_int(j, "metric", r->metric);
    if (r->mtu)
        jwrite_int(j, "mtu", r->mtu);
    jwrite_bool(j, "active", r->active);
    jwrite_int(j, "nexthop", r->nexthop);
    if (r->nexthop_kind)
        jwrite_string(j, "kind", r->nexthop_kind);
    jwrite_begin(j, "hop", '[');
    for (unsigned i = 0; i < r->n_hops; i++)
        write_hop(j, &r->hop[i]);
    jwrite_end(j, ']');
    jwrite_end(j, '}');
}

// --- the stream ---------------------------------------------------------------------------------

struct route_stream {
    const struct route_dialect *dialect;
    struct http *http;
    struct rib_walk *walk;
    struct text block;
    struct jwrite out;
    struct field *fields;      // of the query, or NULL
    const struct field *wanted; // of a row; NULL: rows have nothing
    struct page page;          // rows still to be left out, to be told
};

static void stream_free(struct route_stream *s)
{
    text_free(&s->block);
    fields_free(s->fields);
    free(s);
}

static void on_done(void *ctx, int result);

// Only what the query wants of it.
static void write_fields(struct route_stream *s, const struct rib_row *r)
{
    struct text t = {0};
    struct jwrite j = {.t = &t};

    s->dialect->write(&j, r);
    json_t *row = json_loadb(t.s, t.n, 0, NULL);
    fields_keep(row, s->wanted);
    char *kept = json_dumps(row, JSON_COMPACT);
    bug_on(!kept);
    jwrite_raw(&s->out, NULL, kept);
    free(kept);
    json_decref(row);
    text_free(&t);
}

static bool on_rows(void *ctx, const struct rib_row *row, unsigned n)
{
    struct route_stream *s = ctx;

    for (unsigned i = 0; i < n && s->page.limit; i++) {
        if (s->page.offset) {
            s->page.offset--;
            continue;
        }
        s->page.limit--;
        if (!s->fields)
            s->dialect->write(&s->out, &row[i]);
        else if (s->wanted)
            write_fields(s, &row[i]);
    }
    if (!s->page.limit) { // the rest is not looked at
        rib_walk_close(s->walk);
        on_done(s, 0);
        return false;
    }
    return s->block.n < BLOCK_BYTES || http_stream_write(s->http, &s->block);
}

static void on_done(void *ctx, int result)
{
    struct route_stream *s = ctx;

    // An answer that breaks off is not well-formed, which is how the reader learns of it: its
    // status has been sent.
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

static const struct route_dialect own = {"{\"kamuee:routes\":[", "]}]}\n", write_row};

// The query's filters; false: an answer has been given.
static bool read_query(struct http *h, struct rib_query *q)
{
    const char *prefix = http_query(h, "prefix"), *match = http_query(h, "match"),
               *protocol = http_query(h, "protocol"), *type = http_query(h, "type");

    q->protocol = protocol ? protocol_number(protocol) : -1;
    q->type = type ? route_type_number(type) : -1;
    q->match = !prefix                             ? RIB_ALL
               : !match || !strcmp(match, "exact") ? RIB_EXACT
               : !strcmp(match, "longest")         ? RIB_LONGEST_MATCH
                                                   : RIB_LONGER;
    if (prefix && (prefix_parse(prefix, &q->prefix, false) || q->prefix.family != q->family))
        http_refuse(h, 400, "invalid-value",
                    "'prefix' is '%s', expected an %s prefix without host bits, such as %s", prefix,
                    q->family == IP4 ? "IPv4" : "IPv6",
                    q->family == IP4 ? "192.0.2.0/24" : "2001:db8::/32");
    else if (match && (!prefix || (q->match == RIB_LONGER && strcmp(match, "longer"))))
        http_refuse(h, 400, "invalid-value",
                    "'match' is '%s', expected exact, longest or longer, together with 'prefix'",
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
    if (!read_query(h, &q))
        return;
    if (!strcmp(http_method(h), "HEAD")) { // there is no body to stream
        http_reply(h, 200, HTTP_JSON, NULL);
        return;
    }
    s = calloc(1, sizeof *s);
    bug_on(!s);
    s->http = h;
    s->dialect = dialect;
    s->out.t = &s->block;
    bug_on(
        !page_parse(http_query(h, "offset"), http_query(h, "limit"), &s->page)); // looked at before
    if (http_query(h, "fields"))
        s->fields = fields_parse(http_query(h, "fields"), NULL, true, &why);
    s->wanted = s->fields ? fields_child(s->fields, "route") : NULL;
    s->walk = rib_walk_open(&q, on_rows, on_done, s);
    if (!s->walk) {
        int error = -errno;
        stream_free(s);
        http_refuse_busy(h, "rib_manager", error);
        return;
    }
    http_stream_begin(h, HTTP_JSON, on_room, on_gone, s);
    text_printf(&s->block, "%s", dialect->head);
    if (dialect == &own)
        text_printf(&s->block, "{\"vr\":\"%s\",\"family\":\"%s\",\"route\":[", v->name, family);
}

void route_stream(struct http *h, const char *vr, const char *family)
{
    route_stream_as(h, vr, family, &own);
}
