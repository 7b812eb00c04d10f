// SPDX-License-Identifier: BSD-3-Clause
// program_check.h - one input of the fuzzers of packet programs, read, checked and interpreted
//
// For program_fuzz.c and program_storm.c.
#ifndef FUZZ_PROGRAM_CHECK_H
#define FUZZ_PROGRAM_CHECK_H

#include "program/object.h"
#include "compiler/wasm.h"

#define PROGRAM_SLOTS_AT (WASM_PAGE - PROGRAM_SLOTS * (uint32_t)sizeof(struct kamuee_packet))

// A host whose answers hang on the question alone; *calls becomes a sum of all questions.
struct program_host program_check_host(uint64_t *calls);
// Of any bytes: refused, or read the same way again when written, and then `packets` of them
// interpreted within their cost. True: accepted.
bool program_check(const uint8_t *bytes, size_t size, uint64_t seed, unsigned packets);
void program_check_fill(struct kamuee_packet *p, uint64_t *random);

#endif
