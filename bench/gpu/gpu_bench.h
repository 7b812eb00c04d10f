// SPDX-License-Identifier: BSD-3-Clause
// gpu_bench.h - what the parts of gpu_bench share: a device, batches on their way, a row of figures
#ifndef BENCH_GPU_BENCH_H
#define BENCH_GPU_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/queue.h"

#define BENCH_KEYS (1u << 20) // asked in turn

struct row {
    unsigned batch;
    bool persistent, updates;
    double rate, cpu_cycles, offload_cycles, age_p50_us, age_p99_us, copied_bytes;
};

// What a batch asks: BENCH_KEYS keys, and of addresses which table each.
struct asked {
    struct gpu_batch like; // kind, list, version
    const uint8_t *key;
    const uint16_t *which; // NULL: packets
    void (*change)(void);  // called all the time; NULL: nothing changes
};

extern bool bench_quick;
extern unsigned bench_case_ms;
extern struct gpu_mirror *bench_mirror;

struct gpu_device *bench_device(void); // open; ends the program if there is none
uint64_t bench_now_ns(void);
// Cycles of a key, the CPU alone: `burst` looks 64 keys up, from `at` on.
double bench_cpu(unsigned batch, void (*burst)(unsigned at));
void bench_row(struct row *r, const struct asked *a, const struct gpu_lists *lists);
void bench_row_report(const struct row *r);

void lists_measure(unsigned rules); // lists.c

#endif
