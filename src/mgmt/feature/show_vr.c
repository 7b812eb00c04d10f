// SPDX-License-Identifier: BSD-3-Clause
// show_vr.c - virtual routers and their FIBs
//
// The numbers are rib_manager's: one question for each virtual router, the
// next when the answer has come, so that a show never has more than one call
// in rib_manager's mailbox.
#include <string.h>

#include "base/protocol.h"
#include "rib/rib_manager.h"
#include "restconf/state.h"
#include "table/vr.h"

static void write_protocols(struct jwrite *j, const uint64_t routes[256])
{
    char buf[12];

    jwrite_begin(j, "protocol", '[');
    for (unsigned p = 0; p < 256; p++) {
        if (!routes[p])
            continue;
        jwrite_begin(j, NULL, '{');
        jwrite_string(j, "name", protocol_name(p, buf));
        jwrite_u64(j, "routes", routes[p]);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
}

// Where each memory node has a copy.
static void write_nodes(struct jwrite *j, unsigned copies, uint64_t bytes)
{
    if (!copies)
        return;
    jwrite_begin(j, "memory-node", '[');
    for (unsigned node = 0; node < copies; node++) {
        jwrite_begin(j, NULL, '{');
        jwrite_int(j, "node", (int)node);
        jwrite_u64(j, "bytes", bytes);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
}

static void write_fib4(struct jwrite *j, const struct rib_stats *r)
{
    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "family", "ipv4");
    jwrite_string(j, "engine", fib_engine_name(r->engine4));
    jwrite_u64(j, "engine-faults", r->engine_faults4);
    jwrite_u64(j, "engine-rebuilds", r->engine_rebuilds4);
    jwrite_u64(j, "rib-routes", r->routes4);
    jwrite_u64(j, "routes", r->fib_routes4);
    jwrite_u64(j, "nodes", r->fib_nodes4);
    jwrite_u64(j, "leaves", r->fib_leaves4);
    jwrite_u64(j, "bytes", r->fib_bytes4);
    jwrite_u64(j, "shared-bytes", r->fib_shared_bytes4);
    write_nodes(j, r->fib_copies4, r->fib_bytes4);
    jwrite_u64(j, "control-bytes", r->fib_control_bytes4);
    jwrite_u64(j, "updates", r->updates4);
    write_protocols(j, r->by_protocol4);
    jwrite_end(j, '}');
}

static void write_fib6(struct jwrite *j, const struct rib_stats *r)
{
    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "family", "ipv6");
    jwrite_string(j, "engine", fib_engine_name(r->engine6));
    jwrite_u64(j, "engine-faults", r->engine_faults6);
    jwrite_u64(j, "engine-rebuilds", r->engine_rebuilds6);
    jwrite_u64(j, "rib-routes", r->routes6);
    jwrite_u64(j, "routes", r->fib_routes6);
    jwrite_u64(j, "nodes", r->fib_nodes6);
    jwrite_u64(j, "leaves", r->fib_leaves6);
    jwrite_u64(j, "bytes", r->fib_bytes6);
    jwrite_u64(j, "shared-bytes", r->fib_shared_bytes6);
    write_nodes(j, r->fib_copies6, r->fib_bytes6);
    jwrite_u64(j, "control-bytes", r->fib_control_bytes6);
    jwrite_u64(j, "updates", r->updates6);
    write_protocols(j, r->by_protocol6);
    jwrite_end(j, '}');
}

static void write_vr(struct jwrite *j, const struct vr *v, const struct rib_stats *r)
{
    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "name", v->name);
    jwrite_int(j, "id", v->id);
    if (v->netns[0])
        jwrite_string(j, "namespace", v->netns);
    jwrite_int(j, "table", v->table);
    struct flow_hash hash = vr_flow_hash(v);
    jwrite_string(j, "flow-hash", flow_hash_name(hash.mode));
    jwrite_bool(j, "flow-label", hash.label);
    jwrite_int(j, "flow-hash-seed", hash.seed);
    jwrite_bool(j, "synced", r->synced);
    jwrite_u64(j, "messages", r->messages);
    jwrite_u64(j, "batches", r->batches);
    jwrite_u64(j, "overruns", r->overruns);
    jwrite_u64(j, "resyncs", r->resyncs);
    jwrite_u64(j, "swept", r->swept);
    jwrite_u64(j, "diverged", r->diverged);
    jwrite_u64(j, "rules-ignored", r->ignored_rules);
    jwrite_u64(j, "not-followed", r->unfollowed);
    jwrite_u64(j, "nexthops", r->nexthops);
    jwrite_u64(j, "neighbors", r->neighbors);
    jwrite_u64(j, "held", r->held);
    jwrite_u64(j, "rib-bytes", r->rib_bytes);
    jwrite_begin(j, "fib", '[');
    write_fib4(j, r);
    write_fib6(j, r);
    jwrite_end(j, ']');
    jwrite_end(j, '}');
}

static void answered(void *ctx, const struct rib_stats *r)
{
    struct show *s = ctx;
    const struct vr *v = vr_get((uint16_t)s->vr);

    if (v->used && r) // it may have been deleted meanwhile
        write_vr(&s->out, v, r);
    show_next_vr(s);
}

static int ask(struct show *s)
{
    return rib_manager_stats((uint16_t)s->vr, answered, s);
}

int show_vr(struct show *s)
{
    return show_each_vr(s, ask);
}
