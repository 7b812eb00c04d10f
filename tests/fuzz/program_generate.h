// SPDX-License-Identifier: BSD-3-Clause
// program_generate.h - modules of packet programs at random, of right types, as hostile as may be
//
// Every instruction that a program may have, addresses and divisors at their ends, loops with and
// without an end. The same seed gives the same module. For program_fuzz.c and program_storm.c.
#ifndef FUZZ_PROGRAM_GENERATE_H
#define FUZZ_PROGRAM_GENERATE_H

#include "compiler/wasm.h"

#define GENERATE_COUNTERS 2
#define GENERATE_TABLES 2

// packet() calls one of `functions` functions (a power of two, up to 512), selected by the packet's
// field `interface`; 0: packet() is the only function.
void program_generate(struct wasm_module *m, uint64_t seed, unsigned functions);

#endif
