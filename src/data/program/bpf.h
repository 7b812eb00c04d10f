// SPDX-License-Identifier: BSD-3-Clause
// bpf.h - instances of the operator's programs, run by DPDK's BPF with the same calls as tenants'
// programs
//
// The operator's programs are trusted: DPDK checks them when it loads them, but that is no security
// boundary.
#ifndef PROGRAM_BPF_H
#define PROGRAM_BPF_H

#include "program/object.h"

struct rte_bpf;
struct program_instance;

struct program_bpf {                        // memory of an instance
    const struct rte_bpf *packet, *prepare; // prepare: NULL if it has none
    // Their machine code; NULL: no compiler for this CPU.
    uint64_t (*packet_code)(void *packet), (*prepare_code)(void *packet);
    struct program_instance *instance;
    struct program_array array[KAMUEE_TABLES]; // see struct program_host
    uint64_t counter[KAMUEE_COUNTERS];
    struct kamuee_packet slot[PROGRAM_SLOTS] __attribute__((aligned(64)));
};

// Like struct program_object.run; memory is a struct program_bpf.
unsigned program_bpf_run(void *memory, unsigned n, uint32_t *verdict);

// Functions that a program may call, with the signature of DPDK's BPF.
uint64_t program_bpf_count(uint64_t counter, uint64_t add, uint64_t, uint64_t, uint64_t);
uint64_t program_bpf_get(uint64_t table, uint64_t key, uint64_t, uint64_t, uint64_t);
uint64_t program_bpf_put(uint64_t table, uint64_t key, uint64_t value, uint64_t, uint64_t);
uint64_t program_bpf_prefetch(uint64_t table, uint64_t key, uint64_t, uint64_t, uint64_t);
uint64_t program_bpf_log(uint64_t number, uint64_t value, uint64_t, uint64_t, uint64_t);

#endif
