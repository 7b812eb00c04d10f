// SPDX-License-Identifier: BSD-3-Clause
// build.h - from a source or a module to an object, the same bits from the same bytes
//
// C -> clang -> WebAssembly -> our reader, checks and writer (wasm.h) -> wasm-validate -> wasm2c ->
// the system's compiler -> shared object with struct program_object. Compilers run as children
// (child.h). Called by main.c.
#ifndef PROGRAM_BUILD_BUILD_H
#define PROGRAM_BUILD_BUILD_H

#include "base/text.h"
#include "program/declared.h"

#define BUILD_SOURCE_MAX (1u << 20) // bytes

struct build {
    bool sanitize;      // for tests: the object under AddressSanitizer
    const char *name;   // of the source: x.c or x.wasm, for messages
    struct text source; // in
    struct text module; // WebAssembly
    struct text object; // out
    struct text said;   // by a compiler that refuses it
    unsigned cost;      // instructions that a call executes at most
    bool loops;         // counted while it runs
    bool prepares;      // it has a prepare()
    struct program_declared declared;
    char declared_text[DECLARED_TEXT_MAX + 1];
    char hash[65]; // SHA-256 of the module
};

// Each: 0 or -errno, and `why`.
int build_check(struct build *b, char *why, size_t n);  // up to our checks
int build_tenant(struct build *b, char *why, size_t n); // after build_check
int build_operator(struct build *b, char *why, size_t n);
void build_free(struct build *b);

#endif
