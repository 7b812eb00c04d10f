// SPDX-License-Identifier: BSD-3-Clause
// kept_engine.h - the schedulers of kept.h, each with its best configuration
//
// Ours has guarantees and weights. rte_sched has caps: they are set to the shares, and for the
// delay add up to the port's rate.
#ifndef BENCH_QUEUE_KEPT_ENGINE_H
#define BENCH_QUEUE_KEPT_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "queue/kept.h"

#define KEPT_CLIENTS 8u
#define KEPT_FRAME 1518u

enum kept_case { KEPT_RATE, KEPT_SHARE, KEPT_DELAY };

struct kept_engine {
    const char *name;
    bool own_clock; // it reads the TSC itself
    void (*make)(enum kept_case which, uint64_t rate_bps);
    bool (*put)(unsigned client, uint64_t now); // one frame; false = refused
    unsigned (*take)(unsigned *client, unsigned n, uint64_t now); // clients of the packets
    void (*end)(void);
};
extern const struct kept_engine kept_engine[KEPT_ENGINES];

#endif
