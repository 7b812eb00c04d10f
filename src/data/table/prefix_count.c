// SPDX-License-Identifier: BSD-3-Clause
// prefix_count.c - allocates the counters of prefixes (prefix_count.h)
//
// A new prefix takes the slot that has been free for longest, so the grace period after its last
// release is usually over and nothing waits. Then nobody writes to the slot, and rib_manager may
// clear it in all rows.
#include "table/prefix_count.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "core/mem.h"
#include "table/grace.h"
#include "table/sum.h"

#define ROWS (FORWARDER_MAX + 1)
#define BYTES (ROWS * PREFIX_COUNT_MAX * sizeof(struct prefix_count))

static struct prefix_count *counts; // [ROWS][PREFIX_COUNT_MAX]
static struct slot {
    uint32_t holders;
    uint64_t ticket; // of the grace period after the last release
} slots[PREFIX_COUNT_MAX];

int prefix_count_init(void)
{
    memset(slots, 0, sizeof slots);
    counts = mem_map("prefixes counted", BYTES);
    return counts ? 0 : -ENOMEM;
}

void prefix_count_fini(void)
{
    mem_unmap(counts, BYTES);
    counts = NULL;
}

struct prefix_count *prefix_count_row(unsigned forwarder)
{
    return counts + (size_t)forwarder * PREFIX_COUNT_MAX;
}

// No thread counts there: a grace period has passed.
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

    sum_rows(&sum, &counts[slot], PREFIX_COUNT_MAX * sizeof sum, FORWARDER_MAX, sizeof sum);
    return sum;
}
