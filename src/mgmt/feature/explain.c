// SPDX-License-Identifier: BSD-3-Clause
// explain.c - the operation explain: shows how a packet would be forwarded
//
// The packet is a frame given byte by byte, or built from the input's fields. The forwarder's dry
// run takes microseconds and runs here, on control's thread; the answer waits for rib_manager.
#include "feature/explain.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "core/rcu.h"
#include "http/refuse.h"
#include "mgmt/feature.h"
#include "packet/explain_frame.h"
#include "packet/packet_trace_json.h"
#include "restconf/column.h"
#include "restconf/operation.h"
#include "table/iface.h"
#include "table/metalink.h"

#define BYTES_ROOM 65536u

static packet_trace_explain *dry_run; // the forwarder's; NULL = not available

void explain_set_dry_run(packet_trace_explain *fn)
{
    dry_run = fn;
}

packet_trace_explain *explain_dry_run(void)
{
    return dry_run;
}

struct explain_question {
    struct http *http;
    struct text text;
    struct jwrite out;
    struct packet_trace *p;
};

// --- the packet ---

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0'
                                : (c | 32) - 'a' + 10; // the schema allows nothing else
}

uint32_t explain_frame_of_hex(const char *text, uint8_t *frame)
{
    uint32_t n = 0;

    for (; text[0] && n < EXPLAIN_FRAME_ROOM; text += 2)
        frame[n++] = (uint8_t)(hex_digit(text[0]) << 4 | hex_digit(text[1]));
    return text[0] ? 0 : n;
}

static const struct column packet_columns[] = {
    COLUMN(struct packet_spec, src, "source"),
    COLUMN(struct packet_spec, dst, "destination"),
    COLUMN(struct packet_spec, src_mac, "source-mac"),
    COLUMN(struct packet_spec, dst_mac, "destination-mac"),
    COLUMN(struct packet_spec, vlan, "vlan"),
    COLUMN(struct packet_spec, outer_vlan, "outer-vlan"),
    COLUMN(struct packet_spec, ttl, "ttl"),
    COLUMN(struct packet_spec, tos, "tos"),
    COLUMN(struct packet_spec, sport, "source-port"),
    COLUMN(struct packet_spec, dport, "destination-port"),
    COLUMN(struct packet_spec, icmp_type, "icmp-type"),
    COLUMN(struct packet_spec, offset, "fragment-offset"),
    COLUMN(struct packet_spec, size, "size"),
    COLUMN(struct packet_spec, label, "flow-label"),
    COLUMN(struct packet_spec, df, "df"),
    COLUMN(struct packet_spec, more, "more-fragments"),
    {0}};

struct packet_spec explain_default_packet(const struct iface *i)
{
    struct packet_spec s = {
        .src_mac = {2, 0, 0, 0, 0, 1},
        .vlan = i->kind == IFACE_METALINK ? metalink_vlan_peer(i->vlan) : i->vlan,
        .outer_vlan = i->outer_vlan,
        .outer_tpid = i->outer_vlan ? ntohs(i->tpid_be) : 0x88a8,
        .ttl = 64,
        .sport = 49152,
        .dport = 33434,
    };

    memcpy(s.dst_mac, i->mac, 6);
    return s;
}

bool explain_read_packet(struct http *h, const struct lyd_node *op, const struct iface *iface,
                         struct packet_spec *s)
{
    const char *protocol = operation_input(op, "protocol");

    *s = explain_default_packet(iface);
    columns_read(lyd_child(op), packet_columns, s);
    if (!s->src.family || s->src.family != s->dst.family) {
        http_refuse(h, 400, "invalid-value",
                    "expected a source and a destination address of the same family, or a frame");
        return false;
    }
    if (!*operation_input(op, "icmp-type"))
        s->icmp_type = s->src.family == IP4 ? 8 : 128;
    int number = explain_protocol(*protocol ? protocol : "udp", s->src.family);
    if (number < 0) {
        http_refuse(h, 400, "invalid-value",
                    "unknown protocol '%s': expected tcp, udp, icmp, … or a number up to 255",
                    protocol);
        return false;
    }
    s->proto = (uint8_t)number;
    return true;
}

// --- the answer ---

static void question_free(struct explain_question *q)
{
    text_free(&q->text);
    free(q->p);
    free(q);
}

static void send_explanation(void *ctx)
{
    struct explain_question *q = ctx;

    output_send(q->http, &q->out);
    question_free(q);
}

static int run_stages(const struct iface *iface, const uint8_t *frame, uint32_t n,
                      struct packet_trace *p)
{
    packet_trace_init(p, BYTES_ROOM, BYTES_ROOM);
    rcu_online(); // control is offline while it waits in its loop
    int r = dry_run(iface->port, frame, n, NULL, p);
    rcu_offline();
    return r;
}

static void explain_packet(struct http *h, const struct iface *iface, const uint8_t *frame,
                           uint32_t n)
{
    struct explain_question *q = calloc(1, sizeof *q);

    bug_on(!q);
    q->http = h;
    q->p = calloc(1, sizeof *q->p + BYTES_ROOM);
    bug_on(!q->p);
    int r = run_stages(iface, frame, n, q->p);
    if (r) {
        http_refuse(h, 409, "resource-denied", "the stages could not be run: %s; try again",
                    strerror(-r));
        question_free(q);
        return;
    }
    output_begin(&q->out, &q->text);
    packet_trace_json(q->p, &q->out, send_explanation, q);
}

static void run_explain(struct http *h, const struct lyd_node *op)
{
    const char *name = operation_input(op, "interface"), *bytes = operation_input(op, "frame");
    const struct iface *iface = iface_find_name(name);
    struct packet_spec spec;

    if (!iface || !dry_run) {
        http_refuse(h, 404, "invalid-value",
                    "there is no interface '%s'; 'show interface' lists them", name);
        return;
    }
    uint8_t *frame = malloc(EXPLAIN_FRAME_ROOM);
    bug_on(!frame);
    uint32_t n = 0;
    if (*bytes) {
        n = explain_frame_of_hex(bytes, frame);
        if (!n)
            http_refuse(h, 400, "invalid-value", "the frame is longer than %u bytes",
                        EXPLAIN_FRAME_ROOM);
    } else if (explain_read_packet(h, op, iface, &spec)) {
        n = explain_frame(&spec, frame);
    }
    if (n)
        explain_packet(h, iface, frame, n);
    free(frame);
}

const struct feature explain_feature = {
    "explain",
    .operations =
        (const struct feature_operation[]){{"explain", .run = run_explain},
                                           {"explain-at", explain_at_run, OPERATION_CHANGES},
                                           {0}},
};
