// SPDX-License-Identifier: BSD-3-Clause
// program_interpret.h - runs a checked module one instruction after the other, and counts them
//
// What the built object must do, by another way: the same verdicts, memory, counters and calls, the
// same fault at the same packet. Aborts when more has been executed than the check has found or
// than was paid. For program_fuzz.c and program_storm.c.
#ifndef FUZZ_PROGRAM_INTERPRET_H
#define FUZZ_PROGRAM_INTERPRET_H

#include "program/object.h"
#include "compiler/wasm.h"

#define INTERPRET_MEMORY (WASM_PAGE + 64)

struct interpreter {
    const struct wasm_module *m;
    const struct program_host *host;
    uint32_t *partner; // of each block, loop, if, else: its else or end
    uint64_t global[WASM_GLOBALS_MAX], counter[KAMUEE_COUNTERS];
    unsigned n_counters, n_tables;
    int64_t executed, paid;
    uint8_t memory[INTERPRET_MEMORY];
};

// Of a module that wasm_check has passed. wasm-validate has not seen it: types are checked here.
bool interpret_begin(struct interpreter *t, const struct wasm_module *m,
                     const struct program_host *host, unsigned n_counters, unsigned n_tables);
void interpret_end(struct interpreter *t);
// prepare(p), if there is one, and packet(p). False: a fault.
bool interpret_packet(struct interpreter *t, uint32_t p, uint32_t *verdict);

#endif
