// SPDX-License-Identifier: BSD-3-Clause
// object.h - a built tenant program: what its shared object exports as `kamuee_program`
//
// Written by `kamuee-program build` (wasm2c's C and programs/object through the system's compiler),
// loaded by kamueed and by `kamuee-program test`. Each forwarder has an instance of its own: memory
// of the sandbox, which packet() never leaves, and what wasm2c keeps about it. A call may write
// each byte of each slot: what the caller filled in it does not read back, but for what a program
// may change, and that it checks.
#ifndef PROGRAM_OBJECT_H
#define PROGRAM_OBJECT_H

#include <stddef.h>
#include <stdint.h>

#include "program/program.h"

#define PROGRAM_SLOTS 32 // packets of a burst that lie in the sandbox at once

// What an instance may call. `host` is the caller's own; nothing of it is visible to the program.
// The object has checked that so many tables are declared; key, value and number are any.
struct program_host {
    void *host;
    uint64_t (*get)(void *host, uint32_t table, uint64_t key);
    int32_t (*put)(void *host, uint32_t table, uint64_t key, uint64_t value);
    void (*prefetch)(void *host, uint32_t table, uint64_t key);
    void (*log)(void *host, uint32_t number, uint64_t value);
    // Arrays, whose values the object reads itself; `value` NULL: no array, or ask `get`.
    struct program_array {
        const uint64_t *value;
        uint64_t entries;
    } array[KAMUEE_TABLES];
};

struct program_object {
    uint32_t abi;            // KAMUEE_PROGRAM_ABI
    uint32_t instance_bytes; // of an instance, aligned to 64
    uint32_t instructions;   // the most that one call executes; loops counted by the object
    const char *declared;    // the text of KAMUEE_DECLARE, checked by the build
    const char *source_hash; // SHA-256 of the module, hex
    // Makes an instance in `memory` (zeroed, instance_bytes, aligned to a page). 0; or -1.
    int (*start)(void *memory, const struct program_host *host);
    void (*stop)(void *memory);
    // The first of PROGRAM_SLOTS packets, one behind the other.
    struct kamuee_packet *(*slots)(void *memory);
    // KAMUEE_COUNTERS words: what the program has counted since the start.
    uint64_t *(*counters)(void *memory);
    // The verdict about each of the first n, n at most PROGRAM_SLOTS. How many have one: fewer than
    // n after a fault of the next one: a trap, or more instructions than allowed. Before the first
    // verdict the program may prepare for all n; after a fault of that, none has a verdict.
    unsigned (*run)(void *memory, unsigned n, uint32_t *verdict);
};

#endif
