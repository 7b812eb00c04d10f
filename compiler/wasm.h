// SPDX-License-Identifier: BSD-3-Clause
// wasm.h - reads, checks and rewrites a packet program's WebAssembly module
//
// The bytes are hostile. wasm_read parses them within fixed bounds and accepts only constructs that
// a packet program may have; wasm_check finds the most instructions that a call executes;
// wasm_write makes a new module from the result. wabt sees only the new module: without custom
// sections, names, or exports other than packet() and prepare(), with each number in its shortest
// form and a charge at the head of each loop. Operand types are not checked here: wasm-validate
// checks the new module. Called by `kamuee-program` and by the fuzzers. No state.
#ifndef COMPILER_WASM_H
#define COMPILER_WASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

#define WASM_BYTES_MAX (256u << 10)
#define WASM_TYPES_MAX 64
#define WASM_PARAMS_MAX 8
#define WASM_FUNCTIONS_MAX 1024 // without imports
#define WASM_GLOBALS_MAX 64
#define WASM_SEGMENTS_MAX 256
#define WASM_LOCALS_MAX 256 // per function, with parameters
#define WASM_OPS_MAX 65536  // instructions of the module
#define WASM_TARGETS_MAX 4096
#define WASM_NESTING_MAX 128
#define WASM_CALLS_MAX 16 // call depth, with packet()
#define WASM_PAGE 65536
#define WASM_COST_MAX 4096 // instructions of one call

#define WASM_I32 0x7f
#define WASM_I64 0x7e
#define WASM_EMPTY 0x40 // type of a block without a value

enum wasm_import { // in the order of wasm_write
    IMPORT_COUNT,
    IMPORT_GET,
    IMPORT_PUT,
    IMPORT_PREFETCH,
    IMPORT_LOG,
    IMPORT_CHARGE, // ours: no program may name it
    IMPORTS
};

struct wasm_type {
    uint8_t param[WASM_PARAMS_MAX];
    uint8_t n_params, result; // result: WASM_EMPTY or a value type
};

struct wasm_op {
    uint32_t at; // offset in the module
    uint8_t code;
    uint8_t type;   // of a block
    uint16_t align; // of a memory access
    uint32_t a, b;  // index, or first and number of targets; memory: offset
    int64_t value;  // of a constant; of a loop: cost of one round
};

struct wasm_function {
    uint8_t type;
    uint16_t n_locals; // without parameters
    uint8_t local[WASM_LOCALS_MAX];
    uint32_t first, n_ops, at;
    uint32_t cost; // wasm_check: without rounds of loops
    uint8_t depth; // levels of calls below it
    bool loops;    // it or a function it calls has a loop
    uint8_t state; // of the call graph walk
};

struct wasm_global {
    uint8_t type;
    bool mutable;
    int64_t value;
};

struct wasm_segment {
    uint32_t offset, size;
    const uint8_t *data;
};

struct wasm_module {
    const uint8_t *bytes;
    size_t size;
    unsigned n_types, n_imports, n_functions, n_bodies, n_globals, n_segments, n_ops, n_targets;
    int packet, prepare; // function index without imports; -1 = none
    bool memory;
    const uint8_t *declared; // the custom section `kamuee`
    uint32_t declared_size;
    size_t names_at, names_end; // function names in the custom section `name`, for refusals
    struct wasm_type type[WASM_TYPES_MAX];
    uint8_t import[IMPORTS]; // meaning of each imported function
    struct wasm_function function[WASM_FUNCTIONS_MAX];
    struct wasm_global global[WASM_GLOBALS_MAX];
    struct wasm_segment segment[WASM_SEGMENTS_MAX];
    struct wasm_op op[WASM_OPS_MAX];
    uint32_t target[WASM_TARGETS_MAX];
};

struct wasm_refusal {
    char text[320]; // function, instruction with its byte, reason
};

// `data_end`: first byte of memory that the module must not initialize. The module keeps pointers
// into `bytes`. 0, or -EINVAL and `why`.
int wasm_read(struct wasm_module *m, const uint8_t *bytes, size_t size, uint32_t data_end,
              struct wasm_refusal *why);
int wasm_check(struct wasm_module *m, struct wasm_refusal *why);
// After wasm_check: most instructions of a packet, with prepare() and without rounds of loops.
uint32_t wasm_cost(const struct wasm_module *m);
// `charged`: the module for wabt. Otherwise without charges, for tests.
void wasm_write(const struct wasm_module *m, bool charged, struct text *out);

const char *wasm_op_name(uint8_t code);
unsigned wasm_op_cost(uint8_t code);
// Fills in the refusal with its place: `function` without imports or -1, `op` or NULL. Returns
// -EINVAL.
int wasm_refuse(const struct wasm_module *m, struct wasm_refusal *why, int function,
                const struct wasm_op *op, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

#endif
