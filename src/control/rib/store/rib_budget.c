// SPDX-License-Identifier: BSD-3-Clause
// rib_budget.c - prefixes of a virtual router that wait outside the FIB for its budget of routes
//
// The RIB has all routes of the kernel regardless of the budget, so the missing ones are known. A
// prefix over the budget is waiting: its routes are in the RIB, but not in the FIB. Waiting
// prefixes stand in a queue; rib_budget_work() admits the first as soon as there is room, and none
// overtakes another: while one waits, a new prefix joins the end. So only the order of arrival
// decides which prefixes wait, and evaluating a prefix again, as audits do, changes nothing.
//
// When the limit falls below the installed number, and when a whole table is loaded, the last
// prefixes in prefix order wait: the same ones after each restart.
//
// Some routes are necessary for all others, so they are never charged and never wait, up to
// FREE_MAX of a family: the default route, the routes that the kernel makes for addresses
// (connected, local, broadcast), and hosts, which the budget of neighbors covers. Beyond FREE_MAX
// they are charged: a tenant cannot declare a whole table connected.
//
// rib->n_charged and n_free follow from the contents of the FIB: node->nexthop and node->protocol.
#include <linux/rtnetlink.h>
#include <stdio.h>

#include "base/log.h"
#include "rib/neigh.h"
#include "rib/vr.h"
#include "table/vr_budget.h"

#define FREE_MAX 4096u
#define NAMED 3          // waiting prefixes
#define MEMORY_EVERY 64u // admissions between two measurements of the memory in use

struct waiting {
    uint32_t node, prev, next;
};

static struct waiting *waiting_at(const struct rib *r, uint32_t id)
{
    return rib_pool_at(&r->budget.waiting, id);
}

void rib_budget_init(struct rib *r)
{
    rib_pool_init(&r->budget.waiting, sizeof(struct waiting));
}

void rib_budget_fini(struct rib *r)
{
    rib_pool_fini(&r->budget.waiting);
    rib_map_fini(&r->budget.place);
}

// --- the queue ---

bool rib_budget_waits(const struct rib *r, uint32_t node)
{
    return r->budget.place.n && rib_map_number(&r->budget.place, node);
}

static void warn_first(const struct rib_vr *v, struct rib *r, uint32_t node)
{
    char text[PREFIX_TEXT_MAX];
    struct prefix p = rib_trie_prefix(&r->trie, node);

    log_warning("rib: not followed by forwarding: vr=%u kind=budget what=\"%s\"", v->id,
                prefix_format(&p, text));
}

void rib_budget_wait(const struct rib_vr *v, struct rib *r, uint32_t node)
{
    struct rib_budget *b = &r->budget;
    uint32_t id;

    if (rib_budget_waits(r, node))
        return;
    if (!b->first)
        warn_first(v, r, node);
    id = rib_pool_new(&b->waiting);
    *waiting_at(r, id) = (struct waiting){.node = node, .prev = b->last};
    if (b->last)
        waiting_at(r, b->last)->next = id;
    else
        b->first = id;
    b->last = id;
    rib_map_set_number(&b->place, node, id);
}

uint32_t rib_budget_first(const struct rib *r)
{
    return r->budget.first ? waiting_at(r, r->budget.first)->node : 0;
}

void rib_budget_leave(struct rib *r, uint32_t node)
{
    struct rib_budget *b = &r->budget;
    uint32_t id = rib_map_number(&b->place, node);
    struct waiting w;

    if (!id)
        return;
    w = *waiting_at(r, id);
    *(w.prev ? &waiting_at(r, w.prev)->next : &b->first) = w.next;
    *(w.next ? &waiting_at(r, w.next)->prev : &b->last) = w.prev;
    rib_map_del(&b->place, node);
    rib_pool_free(&b->waiting, id);
}

// --- charging ---

// From the fields that rib_node keeps of an installed prefix; protocol 0 is a host's
// (rib_protocol_of).
static bool is_free(uint8_t len, uint8_t protocol)
{
    return !len || protocol == RTPROT_UNSPEC || protocol == RTPROT_KERNEL;
}

bool rib_budget_charges(const struct rib_node *n)
{
    return n->nexthop && !is_free(n->len, n->protocol);
}

uint8_t rib_protocol_of(const struct rib_route *t)
{
    if (t->flags & RIB_ROUTE_HOST)
        return RTPROT_UNSPEC;
    return t->protocol ? t->protocol : RTPROT_BOOT; // 0 would mark a kernel route as a host
}

void rib_budget_count(struct rib *r, const struct rib_node *n, bool add)
{
    if (!n->nexthop)
        return;
    if (rib_budget_charges(n))
        r->budget.n_charged += add ? 1 : -1u;
    else if (n->protocol != RTPROT_UNSPEC)
        r->budget.n_free += add ? 1 : -1u;
}

uint32_t rib_budget_used(const struct rib *r)
{
    const struct rib_budget *b = &r->budget;

    return b->n_charged + (b->n_free > FREE_MAX ? b->n_free - FREE_MAX : 0);
}

static enum vr_budget_kind kind_of(const struct rib *r)
{
    return r->trie.family == IP6 ? VR_BUDGET_IPV6_ROUTES : VR_BUDGET_IPV4_ROUTES;
}

// Called before each new prefix, so it does not add up the memory every time.
static bool has_memory(struct rib_vr *v)
{
    uint64_t limit = v->limits.of[VR_BUDGET_MEMORY];

    if (limit && v->memory_asked++ % MEMORY_EVERY == 0)
        v->memory_full = rib_memory_charged(v) >= limit;
    return !limit || !v->memory_full;
}

uint64_t rib_budget_limit(const struct rib_vr *v, const struct rib *r)
{
    return v->limits.of[kind_of(r)];
}

static bool has_room_by_number(const struct rib_vr *v, const struct rib *r)
{
    uint64_t limit = rib_budget_limit(v, r);

    return !limit || rib_budget_used(r) < limit;
}

bool rib_budget_has_room(struct rib_vr *v, struct rib *r)
{
    return has_room_by_number(v, r) && has_memory(v);
}

// --- admission ---

static bool is_admitted(struct rib_vr *v, struct rib *r, uint32_t node, uint32_t route)
{
    const struct rib_node *n = rib_trie_at(&r->trie, node);
    const struct rib_route *t = rib_route_at(r, route);

    if (is_free(n->len, rib_protocol_of(t)) &&
        (t->flags & RIB_ROUTE_HOST || n->nexthop || r->budget.n_free < FREE_MAX))
        return true;
    if (rib_budget_waits(r, node))
        return r->budget.admitted == node;
    return rib_budget_charges(n) || (!r->budget.first && rib_budget_has_room(v, r));
}

bool rib_budget_admits(struct rib_vr *v, struct rib *r, uint32_t node, uint32_t route)
{
    if (!is_admitted(v, r, node, route)) {
        rib_budget_wait(v, r, node);
        return false;
    }
    rib_budget_leave(r, node);
    return true;
}

bool rib_budget_is_over(const struct rib_vr *v, const struct rib *r)
{
    uint64_t limit = rib_budget_limit(v, r);

    return limit && rib_budget_used(r) > limit && !r->budget.stuck;
}

void rib_budget_changed(struct rib_vr *v)
{
    for (unsigned k = 0; k < VR_BUDGET_N; k++)
        v->limits.of[k] = vr_budget_limit(v->id, (enum vr_budget_kind)k);
    for (unsigned i = 0; i < 2; i++)
        v->rib[i].budget.stuck = v->rib[i].budget.passing = false;
    v->memory_asked = 0;
}

// --- report ---

const char *rib_budget_short(const struct rib_vr *v, const struct rib *r)
{
    return vr_budget_info[has_room_by_number(v, r) ? VR_BUDGET_MEMORY : kind_of(r)].word;
}

uint32_t rib_budget_waiting(const struct rib *r)
{
    return r->budget.place.n;
}

void rib_budget_text(const struct rib *r, char *text, size_t n)
{
    char buf[PREFIX_TEXT_MAX];
    uint32_t id = r->budget.first;
    size_t at = 0;

    text[0] = 0;
    for (unsigned i = 0; id && i < NAMED && at < n; i++) {
        struct prefix p = rib_trie_prefix(&r->trie, waiting_at(r, id)->node);
        at += (size_t)snprintf(text + at, n - at, "%s%s", i ? ", " : "", prefix_format(&p, buf));
        id = waiting_at(r, id)->next;
    }
    if (id && at < n)
        snprintf(text + at, n - at, " and %u more", rib_budget_waiting(r) - NAMED);
}

// --- memory that a virtual router uses in rib_manager and the FIBs ---
// There are two sums. Used memory is all that was written to: address space costs nothing, and free
// items stay with the router until its end. Charged memory leaves free items out: a routing daemon
// that withdraws routes must get room for others. Both count shared FIB blocks in full, as if other
// virtual routers did not share them, and one copy per memory node.

static uint64_t live_bytes(const struct rib_pool *p)
{
    return (uint64_t)p->n_used * p->size;
}

static uint64_t fixed_bytes(const struct rib *r)
{
    return sizeof *r + (r->sum ? RIB_BLOCKS * sizeof *r->sum : 0);
}

uint64_t rib_memory_bytes(const struct rib *r)
{
    return fixed_bytes(r) + rib_pool_bytes(&r->trie.node) + rib_pool_bytes(&r->neigh.node) +
           rib_pool_bytes(&r->route) + rib_pool_bytes(&r->budget.waiting);
}

uint64_t rib_memory_charged(const struct rib_vr *v)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < 2; i++) {
        const struct rib *r = &v->rib[i];
        struct fib_stats s = {0};

        fib_stats(rib_fib(v, r->trie.family), &s);
        sum += s.bytes_used * (s.copies ? s.copies : 1) + s.control_bytes;
        sum += fixed_bytes(r) + live_bytes(&r->trie.node) + live_bytes(&r->neigh.node) +
               live_bytes(&r->route) + live_bytes(&r->budget.waiting);
    }
    return sum;
}
