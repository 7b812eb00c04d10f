// SPDX-License-Identifier: BSD-3-Clause
// neighbor.c - neighbors: rib_manager's table, clear-neighbor, and change events
//
// rib_manager answers for the table, and the kernel deletes neighbors. While there are event
// listeners, rib_manager puts changes into a ring, which this file reads.
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "event/event.h"
#include "feature/vr.h"
#include "http/refuse.h"
#include "mgmt/feature.h"
#include "restconf/operation.h"
#include "restconf/state.h"
#include "rib/rib_manager.h"
#include "table/iface.h"
#include "table/vr.h"

static bool has_mac(const struct neigh_row *n)
{
    static const uint8_t zero[6];

    return memcmp(n->mac, zero, sizeof zero);
}

static void write_neighbor_states(void *ctx, const struct neigh_row *row, unsigned n)
{
    struct show *s = ctx;
    struct jwrite *j = &s->out;

    for (unsigned i = 0; i < n; i++) {
        if (!show_wants(s, vr_get(row[i].vr)->name) ||
            (s->key[1] && strcmp(s->key[1], row[i].iface)))
            continue;
        jwrite_begin(j, NULL, '{');
        jwrite_string(j, "vr", vr_get(row[i].vr)->name);
        jwrite_string(j, "interface", row[i].iface);
        jwrite_ip(j, "address", &row[i].addr);
        if (has_mac(&row[i]))
            jwrite_mac(j, "mac", row[i].mac);
        jwrite_string(j, "status", row[i].state);
        jwrite_int(j, "nexthop", row[i].nexthop);
        jwrite_int(j, "held", row[i].held);
        jwrite_bool(j, "gateway", row[i].gateway);
        jwrite_bool(j, "in-use", row[i].in_use);
        jwrite_end(j, '}');
    }
    s->done(s, 0);
}

static int ask_neighbor(struct show *s)
{
    return rib_manager_neigh(write_neighbor_states, s);
}

// --- clear-neighbor ------------------------------------------------------------------------------

static void send_cleared(void *ctx, unsigned n, int error)
{
    struct http *h = ctx;
    struct jwrite j;

    if (error && !n) {
        http_refuse(h, 409, "resource-denied", "the kernel cannot delete neighbors: %s",
                    strerror(-error));
        return;
    }
    output_begin(&j, &(struct text){0});
    jwrite_int(&j, "count", n);
    output_send(h, &j);
}

static void run_clear_neighbor(struct http *h, const struct lyd_node *op)
{
    const char *vr = operation_input(op, "vr"), *name = operation_input(op, "interface"),
               *address = operation_input(op, "address");
    struct ip_addr addr = {0};
    const struct vr *v;

    if (!vr_of_input_or_all(h, op, &v))
        return;
    if (*name && !iface_find_name(name))
        http_refuse(h, 404, "invalid-value", "there is no interface '%s'", name);
    else if (*address && ip_parse(address, &addr))
        http_refuse(h, 400, "invalid-value", "'%s' is not an address", address);
    else { // the kernel announces the deleted neighbors
        log_notice("operation: neighbors cleared: vr=\"%s\" interface=\"%s\" address=\"%s\" by=%s",
                   vr, name, address, LOG_VALUE(http_peer(h)));
        int r = rib_manager_neigh_clear(v ? v->id : -1, name, &addr, send_cleared, h);
        if (r)
            http_refuse_busy(h, "rib_manager", r);
    }
}

// --- events: the ring that rib_manager fills while there are listeners ---------------------------

static void publish_neighbor(const struct neigh_news *n)
{
    static const char *const status[] = {
        [NEIGH_RESOLVED] = "resolved", [NEIGH_FAILED] = "failed", [NEIGH_GONE] = "gone"};
    struct text t = {0};
    struct jwrite j = {.t = &t};

    jwrite_begin(&j, NULL, '{');
    jwrite_string(&j, "vr", vr_get(n->vr)->name);
    jwrite_string(&j, "interface", n->iface);
    jwrite_ip(&j, "address", &n->addr);
    jwrite_string(&j, "status", status[n->change]);
    if (n->change == NEIGH_RESOLVED)
        jwrite_mac(&j, "mac", n->mac);
    jwrite_end(&j, '}');
    json_t *body = json_loadb(t.s, t.n, 0, NULL);
    bug_on(!body);
    event_publish("neighbor-change", body);
    text_free(&t);
}

static void look_for_neighbors(void)
{
    struct neigh_news n;

    while (neigh_feed_take(&n))
        publish_neighbor(&n);
    event_publish_missed(neigh_feed_missed());
}

const struct feature neighbor_feature = {
    "neighbor",
    .state = (const struct feature_state[]){{"neighbor", .ask = ask_neighbor}, {0}},
    .operations =
        (const struct feature_operation[]){{"clear-neighbor", .run = run_clear_neighbor}, {0}},
    .events = &(const struct feature_events){neigh_feed_want, look_for_neighbors},
};
