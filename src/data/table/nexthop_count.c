// SPDX-License-Identifier: BSD-3-Clause
// nexthop_count.c - see nexthop_count.h
//
// The memory stays once allocated: a forwarder may use its pointer until its next poll.
#include "table/nexthop_count.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "core/mem.h"
#include "core/rcu.h"
#include "table/grace.h"
#include "table/sum.h"

uintptr_t nexthop_counting[FORWARDER_MAX];
// [FORWARDER_MAX][NEXTHOP_ALL_MAX]; set by control before first use.
static struct nexthop_count *counts;

static struct nexthop_count *all_counts(void)
{
    return __atomic_load_n(&counts, __ATOMIC_ACQUIRE); // partner: nexthop_count_set
}

int nexthop_count_set(bool on)
{
    thread_must_be(ROLE_CONTROL);
    if (on && !counts) {
        struct nexthop_count *c =
            mem_map("next hops counted", (size_t)FORWARDER_MAX * NEXTHOP_ALL_MAX * sizeof *c);
        if (!c)
            return -ENOMEM;
        __atomic_store_n(&counts, c, __ATOMIC_RELEASE);
    }
    for (size_t f = 0; f < FORWARDER_MAX; f++)
        if (on) // partner: forwarder_poll
            __atomic_fetch_or(&nexthop_counting[f], (uintptr_t)(counts + f * NEXTHOP_ALL_MAX),
                              __ATOMIC_RELEASE);
        else
            __atomic_fetch_and(&nexthop_counting[f], NEXTHOP_CROSS, __ATOMIC_RELEASE);
    return 0;
}

void nexthop_cross_begin(void)
{
    if (__atomic_load_n(&nexthop_counting[FORWARDER_MAX - 1], __ATOMIC_ACQUIRE) & NEXTHOP_CROSS)
        return;
    for (size_t f = 0; f < FORWARDER_MAX; f++)
        __atomic_fetch_or(&nexthop_counting[f], NEXTHOP_CROSS, __ATOMIC_RELEASE);
    rcu_synchronize();
}

void nexthop_count_fini(void)
{
    memset(nexthop_counting, 0, sizeof nexthop_counting);
    if (counts)
        mem_unmap(counts, (size_t)FORWARDER_MAX * NEXTHOP_ALL_MAX * sizeof *counts);
    counts = NULL;
}

// No forwarder counts on this id: a grace period has passed since it changed its meaning.
void nexthop_count_clear(uint32_t id)
{
    struct nexthop_count *c = all_counts();

    for (size_t f = 0; c && f < FORWARDER_MAX; f++)
        if (c[f * NEXTHOP_ALL_MAX + id].packets) // reading untouched pages commits no memory
            c[f * NEXTHOP_ALL_MAX + id] = (struct nexthop_count){0};
}

bool nexthop_count_is_on(void)
{
    return nexthop_count_row(__atomic_load_n(&nexthop_counting[0], __ATOMIC_RELAXED));
}

struct nexthop_count nexthop_count_sum(uint32_t id)
{
    const struct nexthop_count *c = all_counts();
    struct nexthop_count sum = {0};

    if (c)
        sum_rows(&sum, &c[id], NEXTHOP_ALL_MAX * sizeof *c, FORWARDER_MAX, sizeof sum);
    return sum;
}

// --- selected prefixes ---
//
// A new prefix takes the slot that has been free for longest, so the grace period after its last
// release is usually over and nothing waits. Then nobody writes to the slot, and rib_manager may
// clear it in all rows.

#define ROWS (FORWARDER_MAX + 1)
#define BYTES (ROWS * PREFIX_COUNT_MAX * sizeof(struct prefix_count))

static struct prefix_count *prefix_counts; // [ROWS][PREFIX_COUNT_MAX]
static struct slot {
    uint32_t holders;
    uint64_t ticket; // of the grace period after the last release
} slots[PREFIX_COUNT_MAX];

int prefix_count_init(void)
{
    memset(slots, 0, sizeof slots);
    prefix_counts = mem_map("prefixes counted", BYTES);
    return prefix_counts ? 0 : -ENOMEM;
}

void prefix_count_fini(void)
{
    mem_unmap(prefix_counts, BYTES);
    prefix_counts = NULL;
}

struct prefix_count *prefix_count_row(unsigned forwarder)
{
    return prefix_counts + (size_t)forwarder * PREFIX_COUNT_MAX;
}

// No thread prefix_counts there: a grace period has passed.
static void clear_slot(uint16_t slot)
{
    for (unsigned f = 0; f < ROWS; f++)
        prefix_count_row(f)[slot] = (struct prefix_count){0};
}

uint16_t prefix_count_new(void)
{
    uint16_t oldest = 0; // free slot that has been free for longest

    thread_must_be(ROLE_RIB_MANAGER);
    for (uint16_t i = 1; i < PREFIX_COUNT_MAX; i++)
        if (!slots[i].holders && (!oldest || slots[i].ticket < slots[oldest].ticket))
            oldest = i;
    if (!oldest)
        return 0;
    if (slots[oldest].ticket && !grace_over(slots[oldest].ticket))
        grace_wait();
    clear_slot(oldest);
    slots[oldest].holders = 1;
    return oldest;
}

void prefix_count_hold(uint16_t slot)
{
    if (slot)
        slots[slot].holders++;
}

void prefix_count_put(uint16_t slot)
{
    thread_must_be(ROLE_RIB_MANAGER);
    bug_on(slot && !slots[slot].holders);
    if (slot && !--slots[slot].holders)
        slots[slot].ticket = grace_ticket();
}

struct prefix_count prefix_count_sum(uint16_t slot)
{
    struct prefix_count sum;

    sum_rows(&sum, &prefix_counts[slot], PREFIX_COUNT_MAX * sizeof sum, FORWARDER_MAX, sizeof sum);
    return sum;
}
