// SPDX-License-Identifier: BSD-3-Clause
// use.h - a GPU that does lookups for some virtual routers
//
// A GPU in use has copies of its virtual routers' FIBs (mirror.h) and a queue for each
// forwarder. The set of FIBs is fixed: a different set makes a different GPU in use.
//
//     control                                  forwarder (stage.h)
//     gpu_use_open, gpu_use_mirror
//     lookaside_publish(&u->lookaside)         uses it from its next poll on
//     lookaside_publish(NULL)                  stops using it within a grace period
//     gpu_use_close
#ifndef GPU_USE_H
#define GPU_USE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/thread.h"
#include "gpu/device.h"
#include "gpu/mirror.h"
#include "gpu/queue.h"
#include "table/limits.h"
#include "table/lookaside.h"

#define GPU_EMULATED (-1)
#define GPU_VRS_MAX (GPU_TABLES_MAX / 2) // IPv4 and IPv6 tables of each
#define GPU_PARKED_MAX 16u               // bursts per forwarder that may wait for answers

// Simulated faults of an emulated device, for trials and tests.
enum gpu_fault { GPU_FAULT_NONE, GPU_FAULT_LOST, GPU_FAULT_SILENT, GPU_FAULT_WRONG, GPU_FAULTS };
extern const char *const gpu_fault_name[GPU_FAULTS]; // "lost"

// Reason why the CPU looked up instead of the device.
enum gpu_cause {
    GPU_BY_SPLIT,   // the CPU is faster, or is being measured
    GPU_BY_CHANGE,  // the device does not have the current tables yet
    GPU_BY_FULL,    // too many bursts or batches wait already
    GPU_BY_LATE,    // waited for max-latency
    GPU_BY_DRAIN,   // a grace period or a shutdown must not wait
    GPU_BY_FAILURE, // device out of use
    GPU_CAUSES
};
extern const char *const gpu_cause_name[GPU_CAUSES]; // "split"

enum gpu_verdict { GPU_CPU_IS_FASTER, GPU_SENDS, GPU_IS_LATE, GPU_VERDICTS };
extern const char *const gpu_verdict_name[GPU_VERDICTS]; // "sends"

// Ages of batches: four buckets for each power of two of nanoseconds, from GPU_AGE_MIN on.
#define GPU_AGE_MIN_BITS 8
#define GPU_AGES 80

struct gpu_cost { // per packet, at the last measurement
    uint32_t cpu, gpu; // hundredths of a cycle
    uint32_t verdict;  // enum gpu_verdict
    uint32_t measured; // windows with something to measure
};

struct gpu_count { // of one forwarder, its only writer; other threads read single words
    uint64_t batches;            // answered by the device
    uint64_t answered;           // packets that used its answer
    uint64_t by_cpu[GPU_CAUSES]; // packets
    uint64_t age[GPU_AGES];      // batches, from sending to receiving
    uint64_t sampled, wrong;     // answers verified, and found wrong
    struct gpu_cost cost;
} __attribute__((aligned(128)));

struct gpu_settings {
    char name[16];
    int device;               // its number, or GPU_EMULATED
    uint32_t max_latency_us;  // limit of a packet's wait; atomic
    uint32_t timeout_ms;      // a device without an answer for so long is out of use
    bool always;              // use it even if it is slower
    uint16_t n_vrs, vr[GPU_VRS_MAX];
};

struct gpu_use {
    struct lookaside lookaside; // first
    struct gpu_settings settings;
    struct gpu_device *device;
    struct gpu_mirror *mirror;
    uint16_t which[2][VR_MAX]; // by family: table number on the device + 1; 0: none
    uint64_t max_latency_tsc; // atomic
    uint64_t window_tsc, rest_tsc;
    double ns_per_tsc;
    enum gpu_fault fault;
    struct gpu_count count[FORWARDER_MAX];
    struct gpu_parked *parked; // [FORWARDER_MAX], stage.h
};

// --- control ---

// Opens the device. 0, or -errno with a sentence that tells the remedy.
int gpu_use_open(struct gpu_use **u, const struct gpu_settings *s, char *err, size_t n);
// Mirrors the FIBs of its virtual routers, which must be Poptries. rib_manager. Returns like
// gpu_use_open.
int gpu_use_mirror(struct gpu_use *u, char *err, size_t n);
void gpu_use_close(struct gpu_use *u); // no forwarder may use it any more
// While in use.
void gpu_use_max_latency(struct gpu_use *u, uint32_t us);
// Emulated device only.
void gpu_use_fault(struct gpu_use *u, enum gpu_fault fault);

// Sum over all forwarders.
void gpu_use_sum(const struct gpu_use *u, struct gpu_count *sum);
// The age in nanoseconds that `per_mille` of the batches do not exceed; 0: no batches.
uint64_t gpu_age_quantile(const uint64_t age[GPU_AGES], unsigned per_mille);

// --- forwarders ---

static inline unsigned gpu_age_bucket(uint64_t ns)
{
    unsigned bits, at;

    if (ns < 1u << GPU_AGE_MIN_BITS)
        return 0;
    bits = 63 - (unsigned)__builtin_clzll(ns);
    at = (bits - GPU_AGE_MIN_BITS) * 4 + (unsigned)(ns >> (bits - 2) & 3);
    return at < GPU_AGES ? at : GPU_AGES - 1;
}

// Decides the split, by the cost of a lookup on the CPU and on the device, and the per-mille of
// batches that were too old.
static inline enum gpu_verdict gpu_split(uint32_t cpu_cost, uint32_t gpu_cost, unsigned late)
{
    return late > 10 ? GPU_IS_LATE : gpu_cost >= cpu_cost ? GPU_CPU_IS_FASTER : GPU_SENDS;
}

#endif
