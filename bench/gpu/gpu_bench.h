// SPDX-License-Identifier: BSD-3-Clause
// gpu_bench.h - shared by the parts of gpu_bench: a device, batches in flight, a row of figures
#ifndef BENCH_GPU_BENCH_H
#define BENCH_GPU_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/queue.h"

#define BENCH_KEYS (1u << 20) // used in turn

struct row {
    unsigned batch;
    bool persistent, updates;
    double rate, cpu_cycles, offload_cycles, age_p50_us, age_p99_us, copied_bytes;
};

// Keys of a batch: BENCH_KEYS keys, and for addresses the table of each.
struct asked {
    struct gpu_batch like; // kind, list, version
    const uint8_t *key;
    const uint16_t *which; // NULL = packets
    void (*change)(void);  // called all the time; NULL = no changes
};

extern bool bench_quick;
extern unsigned bench_case_ms;
extern struct gpu_mirror *bench_mirror;

struct gpu_device *bench_device(void); // opens it; ends the program if there is none
uint64_t bench_now_ns(void);
// Cycles per key on the CPU alone: `burst` looks up 64 keys from `at` on.
double bench_cpu(unsigned batch, void (*burst)(unsigned at));
void bench_row(struct row *r, const struct asked *a, const struct gpu_lists *lists);
void bench_row_report(const struct row *r);

void lists_measure(unsigned rules); // lists.c

#endif
