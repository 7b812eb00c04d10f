// SPDX-License-Identifier: BSD-3-Clause
// neigh_feed.c - ring of resolved, failed and removed neighbors (rib_manager.h)
//
// rib_manager writes, control reads, and nobody waits: a change without room is only counted. Each
// neighbor remembers the last state that was reported, so a repeated event of the kernel is no
// change. While nobody wants the feed, rib_manager keeps these states up to date and writes
// nothing.
#include "rib/rib_manager.h"

#include <stdatomic.h>
#include <string.h>

#include "core/thread.h"
#include "rib/neigh.h"
#include "rib/vr.h"
#include "table/iface.h"
#include "table/nexthop.h"

static struct neigh_news ring[NEIGH_FEED_ROOM];
static _Atomic uint32_t head, tail; // written, read; writer releases, other side acquires
static _Atomic bool wanted;
static _Atomic uint64_t missed;

static void put_news(const struct neigh *n, enum neigh_change change)
{
    uint32_t at = atomic_load_explicit(&head, memory_order_relaxed);

    if (at - atomic_load_explicit(&tail, memory_order_acquire) == NEIGH_FEED_ROOM) {
        atomic_fetch_add_explicit(&missed, 1, memory_order_relaxed);
        return;
    }
    struct neigh_news *row = &ring[at % NEIGH_FEED_ROOM];
    *row = (struct neigh_news){.vr = n->vr->id, .change = change, .addr = n->addr};
    memcpy(row->mac, n->mac, sizeof row->mac);
    memcpy(row->iface, iface_get(n->iface)->name, sizeof row->iface);
    atomic_store_explicit(&head, at + 1, memory_order_release);
}

// 0: nothing to report.
static uint8_t status_of(const struct neigh *n)
{
    if (neigh_is_resolved(n))
        return NEIGH_RESOLVED;
    if (n->kind == NEXTHOP_FAILED)
        return NEIGH_FAILED;
    return n->told && !n->in_kernel && !n->kept_until_ns ? NEIGH_GONE : 0;
}

void neigh_feed_look(struct neigh *n)
{
    uint8_t now = status_of(n);
    bool other_mac = now == NEIGH_RESOLVED && memcmp(n->told_mac, n->mac, sizeof n->mac);

    thread_must_be(ROLE_RIB_MANAGER);
    if (!now || (now == n->told && !other_mac) || !n->iface)
        return;
    n->told = now;
    memcpy(n->told_mac, n->mac, sizeof n->mac);
    if (atomic_load_explicit(&wanted, memory_order_relaxed))
        put_news(n, now);
}

void neigh_feed_gone(struct neigh *n)
{
    if (n->told && n->told != NEIGH_GONE && atomic_load_explicit(&wanted, memory_order_relaxed))
        put_news(n, NEIGH_GONE);
    n->told = 0;
}

void neigh_feed_want(bool on)
{
    thread_must_be(ROLE_CONTROL);
    atomic_store_explicit(&tail, atomic_load_explicit(&head, memory_order_acquire),
                          memory_order_release);
    atomic_store_explicit(&missed, 0, memory_order_relaxed);
    atomic_store_explicit(&wanted, on, memory_order_relaxed);
}

bool neigh_feed_take(struct neigh_news *row)
{
    uint32_t at = atomic_load_explicit(&tail, memory_order_relaxed);

    if (at == atomic_load_explicit(&head, memory_order_acquire))
        return false;
    *row = ring[at % NEIGH_FEED_ROOM];
    atomic_store_explicit(&tail, at + 1, memory_order_release);
    return true;
}

uint64_t neigh_feed_missed(void)
{
    return atomic_exchange_explicit(&missed, 0, memory_order_relaxed);
}
