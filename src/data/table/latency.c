// SPDX-License-Identifier: BSD-3-Clause
// latency.c - see latency.h
//
// A block has LATENCY_PAIRS histograms, assigned to pairs of ports on first use; place[in][out] is
// the index, 0 = none yet. A reader between the two stores of a new pair sees an empty histogram.
#include "table/latency.h"

#include <errno.h>
#include <string.h>

#include "core/mem.h"
#include "table/sum.h"

struct latency_block {
    uint16_t place[PORT_MAX][PORT_MAX]; // 1 + index in pair[]
    uint32_t n;
    struct latency_pair pair[LATENCY_PAIRS];
} __attribute__((aligned(128)));

uint32_t latency_every;
// [FORWARDER_MAX]; set before latency_every, and constant after that.
static struct latency_block *blocks;

void latency_add(unsigned forwarder, uint16_t in, uint16_t out, uint64_t cycles, unsigned n)
{
    struct latency_block *b = &blocks[forwarder];
    uint16_t place = b->place[in][out];

    if (!place) {
        if (b->n == LATENCY_PAIRS)
            return;
        place = (uint16_t)++b->n;
        __atomic_store_n(&b->place[in][out], place, __ATOMIC_RELEASE);
    }
    struct latency_pair *p = &b->pair[place - 1];
    p->packets += n;
    p->cycles += n * cycles;
    p->max = cycles > p->max ? cycles : p->max;
    p->bucket[latency_bucket(cycles)] += n;
}

int latency_start(uint32_t bursts)
{
    thread_must_be(ROLE_CONTROL);
    if (bursts && !blocks && !(blocks = mem_map("latency", FORWARDER_MAX * sizeof *blocks)))
        return -ENOMEM;
    uint32_t every = (bursts + LATENCY_TIMED - 1) / LATENCY_TIMED;
    __atomic_store_n(
        &latency_every, every,
        __ATOMIC_RELEASE); // partner: the forwarder's acquire, before it uses the blocks
    return 0;
}

void latency_fini(void)
{
    latency_every = 0;
    if (blocks)
        mem_unmap(blocks, FORWARDER_MAX * sizeof *blocks);
    blocks = NULL;
}

static void add_pair(struct latency_pair *sum, const struct latency_pair *p)
{
    uint64_t max = __atomic_load_n(&p->max, __ATOMIC_RELAXED);

    sum_add(sum, p, offsetof(struct latency_pair, max));
    sum->max = max > sum->max ? max : sum->max;
    sum_add(sum->bucket, p->bucket, sizeof sum->bucket);
}

void latency_each(void (*fn)(void *ctx, uint16_t in, uint16_t out, const struct latency_pair *sum),
                  void *ctx)
{
    for (unsigned in = 0; blocks && in < PORT_MAX; in++) {
        for (unsigned out = 0; out < PORT_MAX; out++) {
            struct latency_pair sum = {0};

            for (unsigned f = 0; f < FORWARDER_MAX; f++) {
                uint16_t place = __atomic_load_n(&blocks[f].place[in][out], __ATOMIC_ACQUIRE);
                if (place)
                    add_pair(&sum, &blocks[f].pair[place - 1]);
            }
            if (sum.packets)
                fn(ctx, (uint16_t)in, (uint16_t)out, &sum);
        }
    }
}

uint64_t latency_quantile(const struct latency_pair *p, double part)
{
    uint64_t below = 0, wanted = (uint64_t)((double)p->packets * part + 0.5);

    for (unsigned i = 0; i < LATENCY_BUCKETS; i++) {
        below += p->bucket[i];
        if (below && below >= wanted)
            return i + 1 < LATENCY_BUCKETS && latency_floor(i + 1) - 1 < p->max
                       ? latency_floor(i + 1) - 1
                       : p->max;
    }
    return p->max;
}
