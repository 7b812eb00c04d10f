// SPDX-License-Identifier: BSD-3-Clause
// object.h - a built program: what its shared object exports as `kamuee_program`
//
// Written by `kamuee-program build` (wasm2c's C and programs/object through the system's compiler),
// loaded by kamueed and by `kamuee-program test`. Each forwarder has its own instance: the
// sandbox's memory, which packet() never leaves, and wasm2c's data about it. A call may write to
// every byte of every slot, so the caller reads back only the fields that a program may change, and
// checks them.
#ifndef PROGRAM_OBJECT_H
#define PROGRAM_OBJECT_H

#include <stddef.h>
#include <stdint.h>

#include "program/program.h"

#define PROGRAM_SLOTS 32 // packets of a burst in the sandbox at once

// Functions that an instance may call. `host` belongs to the caller; the program cannot see it. The
// object has checked the table number against the declaration; key, value and number are arbitrary.
struct program_host {
    void *host;
    uint64_t (*get)(void *host, uint32_t table, uint64_t key);
    int32_t (*put)(void *host, uint32_t table, uint64_t key, uint64_t value);
    void (*prefetch)(void *host, uint32_t table, uint64_t key);
    void (*log)(void *host, uint32_t number, uint64_t value);
    // Arrays, whose values the object reads itself; `value` NULL: not an array, or use `get`.
    struct program_array {
        const uint64_t *value;
        uint64_t entries;
    } array[KAMUEE_TABLES];
};

struct program_object {
    uint32_t abi;            // KAMUEE_PROGRAM_ABI
    uint32_t instance_bytes; // of an instance, aligned to 64
    uint32_t instructions;   // most instructions of one call; the object counts loops
    const char *declared;    // the text of KAMUEE_DECLARE, checked by the build
    const char *source_hash; // SHA-256 of the module, hex
    // Makes an instance in `memory` (zeroed, instance_bytes, aligned to a page). 0; or -1.
    int (*start)(void *memory, const struct program_host *host);
    void (*stop)(void *memory);
    // The first of PROGRAM_SLOTS packets, stored consecutively.
    struct kamuee_packet *(*slots)(void *memory);
    // KAMUEE_COUNTERS words: the program's counts since the start.
    uint64_t *(*counters)(void *memory);
    // Computes the verdict of each of the first n packets, n at most PROGRAM_SLOTS. Returns the
    // number of verdicts: less than n after a fault of the next packet: a trap, or more
    // instructions than allowed. Before the first verdict the program may prepare all n; after a
    // fault of that, no packet has a verdict.
    unsigned (*run)(void *memory, unsigned n, uint32_t *verdict);
};

#endif
