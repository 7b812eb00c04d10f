// SPDX-License-Identifier: BSD-3-Clause
// build.h - builds an object from a source or a module; the same bytes give the same object
//
// C -> clang -> WebAssembly -> our reader, checks and writer (wasm.h) -> wasm-validate -> wasm2c ->
// the system's compiler -> shared object with struct program_object. Compilers run as children
// (compiler.h). Called by main.c.
#ifndef COMPILER_BUILD_H
#define COMPILER_BUILD_H

#include "base/text.h"
#include "program/declared.h"

#define BUILD_SOURCE_MAX (1u << 20) // in bytes

struct build {
    bool sanitize;      // for tests: the object under AddressSanitizer
    const char *name;   // of the source: x.c or x.wasm, for messages
    struct text source; // input
    struct text module; // WebAssembly
    struct text object; // output
    struct text said;   // output of the compiler that refuses it
    unsigned cost;      // most instructions of a call
    bool loops;         // loops are charged at run time
    bool prepares;      // has a prepare()
    struct program_declared declared;
    char declared_text[DECLARED_TEXT_MAX + 1];
    char hash[65]; // SHA-256 of the module
};

// Each returns 0, or -errno and `why`.
int build_check(struct build *b, char *why, size_t n);  // up to and with our checks
int build_object(struct build *b, char *why, size_t n); // after build_check
void build_free(struct build *b);

#endif
