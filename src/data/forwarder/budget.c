// SPDX-License-Identifier: BSD-3-Clause
// Stage budget, after ether_in while the core is overloaded: see budget.h
//
//   in     f->in4, in6, labels, odd4, odd6
//   out    the same, without packets over their virtual router's budget
//   exits  VR_CPU_BUDGET
//
// All packets are charged alike, by their average cost. A packet dropped here has cost about an
// eighth of a forwarded one (docs/performance.md).
#include <rte_cycles.h>

#include "forwarder/budget.h"
#include "forwarder/drop.h"
#include "table/iface.h"
#include "table/vr.h"
#include "forwarder/forbidden.h"

#define WINDOWS_PER_S 1000u
#define ON_WINDOWS 100u // limits last this long after the last full window
#define PROBE 64u
#define CLEARLY_PERCENT 125u // of its share, plus CLEARLY_PACKETS: above this is clearly more
#define CLEARLY_PACKETS 64u
#define FULL_PERCENT 90u // of a window's bursts: the core cannot keep up
#define BURSTS_MIN 8u    // fewer in a window are not significant
#define FORGOTTEN_PART 32u // part of the capacity forgotten in each full window
#define DROPPED_COST 8u  // a dropped packet costs this part of a forwarded one
#define USED_PERCENT 98u // of the capacity is assigned, so that receive queues shrink

// --- a burst -------------------------------------------------------------------------------------

static void spend(struct forwarder *f, struct burst *b)
{
    struct budget *budget = &f->budget;
    uint64_t gone = 0;

    for (unsigned i = 0; i < b->n; i++) {
        uint16_t vr = iface_get(b->iface[i])->vr;

        if (!budget->offered[vr])
            budget->active[budget->n_active++] = vr;
        if (likely(budget->offered[vr]++ < budget->limit[vr]))
            continue;
        gone |= 1ull << i;
        budget->dropped++;
        packet_drop_of(f, b, i, DROP_VR_CPU_BUDGET);
    }
    if (gone)
        burst_remove(b, gone);
}

void budget_spend(struct forwarder *f)
{
    spend(f, &f->in4);
    spend(f, &f->in6);
    spend(f, &f->labels);
    spend(f, &f->odd4);
    spend(f, &f->odd6);
}

// --- a window ------------------------------------------------------------------------------------

static uint32_t weight_of(uint16_t vr)
{
    uint8_t weight = __atomic_load_n(&vr_get(vr)->cpu_weight, __ATOMIC_RELAXED);

    return weight ? weight : 1;
}

static void limits_forget(struct budget *b)
{
    for (unsigned i = 0; i < VR_MAX; i++)
        b->limit[i] = UINT32_MAX;
}

// Does some virtual router clearly exceed its share?
static bool somebody_floods(const struct budget *b, uint32_t capacity)
{
    uint64_t weights = 0;

    for (unsigned i = 0; i < b->n_active; i++)
        weights += weight_of(b->active[i]);
    for (unsigned i = 0; i < b->n_active; i++) {
        uint16_t vr = b->active[i];
        uint64_t share = (uint64_t)capacity * weight_of(vr) / weights;

        if (b->offered[vr] > share * CLEARLY_PERCENT / 100 + CLEARLY_PACKETS)
            return true;
    }
    return false;
}

// Divides the capacity: a virtual router that needs less than its weighted share gets all it needs,
// and the others divide the rest.
static void shares_set(struct budget *b, uint32_t capacity)
{
    uint64_t left = capacity, weights = 0;
    unsigned n = b->n_active;

    limits_forget(b);
    for (unsigned i = 0; i < n; i++)
        weights += weight_of(b->active[i]);
    for (unsigned i = 0; i < n;) {
        uint16_t vr = b->active[i];

        if (b->offered[vr] * weights > left * weight_of(vr)) {
            i++;
            continue;
        }
        left -= b->offered[vr]; // it may grow: judged again in the next window
        weights -= weight_of(vr);
        b->active[i] = b->active[--n];
        b->active[n] = vr; // all active ones stay in the list
        i = 0;
    }
    for (unsigned i = 0; i < n; i++)
        b->limit[b->active[i]] = (uint32_t)(left * weight_of(b->active[i]) / weights);
}

static void offered_forget(struct budget *b)
{
    for (unsigned i = 0; i < b->n_active; i++)
        b->offered[b->active[i]] = 0;
    b->n_active = 0;
}

// Did the receive queues always have more than one burst could take?
static bool is_full(const struct forwarder *f)
{
    const struct counter_block *c = f->counter;
    const struct budget *b = &f->budget;
    uint64_t bursts = c->bursts - b->bursts, full = c->burst_size[BURST_SIZE_N - 1] - b->full;

    return bursts >= BURSTS_MIN && c->polls_idle == b->idle && full * 100 >= bursts * FULL_PERCENT;
}

static void window_begin(struct forwarder *f, uint64_t length)
{
    const struct counter_block *c = f->counter;
    struct budget *b = &f->budget;

    b->ends = f->now + length;
    b->bursts = c->bursts;
    b->full = c->burst_size[BURST_SIZE_N - 1];
    b->idle = c->polls_idle;
    b->rx = c->rx;
    b->dropped = 0;
}

// Decides whether packets are counted in the next window.
static void counting_decide(struct budget *b, bool full)
{
    bool probe = full && vr_several() && !b->probe;

    if (full)
        b->probe = (uint8_t)(b->probe ? b->probe - 1u : PROBE - 1);
    if (probe && !b->on)
        limits_forget(b);
    b->on = b->limits || probe;
}

void budget_window(struct forwarder *f)
{
    struct budget *b = &f->budget;
    uint64_t length = rte_get_tsc_hz() / WINDOWS_PER_S, rx = f->counter->rx - b->rx;
    uint64_t late = f->now - b->ends; // excess length of the window
    bool full = is_full(f);

    if (full) {
        uint64_t forwarded = rx - b->dropped + b->dropped / DROPPED_COST;
        uint32_t capacity = (uint32_t)(forwarded * length / (length + late));

        // A window in which the thread was preempted is not representative.
        b->capacity -= b->capacity / FORGOTTEN_PART;
        b->capacity = RTE_MAX(b->capacity, capacity);
    }
    // The window would be full without the limits.
    if (full || (b->limits && rx > b->capacity))
        b->off_at = f->now + ON_WINDOWS * length;
    if (b->on && b->n_active > 1 && f->now < b->off_at && somebody_floods(b, b->capacity)) {
        shares_set(b, (uint32_t)((uint64_t)b->capacity * USED_PERCENT / 100));
        b->limits = true;
    } else if (b->on) {
        limits_forget(b);
        b->limits = false;
    }
    counting_decide(b, full);
    offered_forget(b);
    window_begin(f, length);
}
