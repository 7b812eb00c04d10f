// SPDX-License-Identifier: BSD-3-Clause
// wasm.h - a packet program's WebAssembly module: read, checked, and written again
//
// The bytes are hostile. wasm_read takes them apart within fixed bounds and knows only what a
// packet program may have; wasm_check finds the most that a call executes; wasm_write makes a new
// module of what was read. wabt sees only that one: no custom section, no name, no export but
// packet() and prepare(), each number in its shortest form, and a charge at the head of each loop.
// Types on the operand stack are not looked at here: wasm-validate does that with what was written.
// Called by `kamuee-program` and by the fuzzers. No state.
#ifndef PROGRAM_BUILD_WASM_H
#define PROGRAM_BUILD_WASM_H

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
#define WASM_LOCALS_MAX 256 // of a function, with parameters
#define WASM_OPS_MAX 65536  // instructions of the module
#define WASM_TARGETS_MAX 4096
#define WASM_NESTING_MAX 128
#define WASM_CALLS_MAX 16 // functions in each other, packet() included
#define WASM_PAGE 65536
#define WASM_COST_MAX 4096 // that one call may execute

#define WASM_I32 0x7f
#define WASM_I64 0x7e
#define WASM_EMPTY 0x40 // type of a block without a value

enum wasm_import { // in the order in which wasm_write has them
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
    uint8_t n_params, result; // result: WASM_EMPTY or a type of values
};

struct wasm_op {
    uint32_t at; // of the module's bytes
    uint8_t code;
    uint8_t type;   // of a block
    uint16_t align; // of memory
    uint32_t a, b;  // index, or first and number of targets; of memory: offset
    int64_t value;  // of a constant; of a loop: what one round costs
};

struct wasm_function {
    uint8_t type;
    uint16_t n_locals; // without parameters
    uint8_t local[WASM_LOCALS_MAX];
    uint32_t first, n_ops, at;
    uint32_t cost; // wasm_check: without rounds of loops
    uint8_t depth; // calls below it
    bool loops;    // it or what it calls
    uint8_t state; // of the walk over calls
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
    int packet, prepare; // index of the function without imports; -1: none
    bool memory;
    const uint8_t *declared; // the custom section `kamuee`
    uint32_t declared_size;
    size_t names_at, names_end; // in the custom section `name`: of functions, for refusals
    struct wasm_type type[WASM_TYPES_MAX];
    uint8_t import[IMPORTS]; // which one each imported function is
    struct wasm_function function[WASM_FUNCTIONS_MAX];
    struct wasm_global global[WASM_GLOBALS_MAX];
    struct wasm_segment segment[WASM_SEGMENTS_MAX];
    struct wasm_op op[WASM_OPS_MAX];
    uint32_t target[WASM_TARGETS_MAX];
};

struct wasm_refusal {
    char text[320]; // function, instruction with its byte, reason
};

// `data_end`: the first byte of memory that the module must not fill. The module refers to `bytes`.
// 0 or -EINVAL, and why.
int wasm_read(struct wasm_module *m, const uint8_t *bytes, size_t size, uint32_t data_end,
              struct wasm_refusal *why);
int wasm_check(struct wasm_module *m, struct wasm_refusal *why);
// After wasm_check: the most that a packet costs, prepare() in it, loops' rounds not.
uint32_t wasm_cost(const struct wasm_module *m);
// `charged`: as wabt gets it. Otherwise a program as it was before, for tests.
void wasm_write(const struct wasm_module *m, bool charged, struct text *out);

const char *wasm_op_name(uint8_t code);
unsigned wasm_op_cost(uint8_t code);
// Says where: `function` without imports or -1, `op` or NULL. Always -EINVAL.
int wasm_refuse(const struct wasm_module *m, struct wasm_refusal *why, int function,
                const struct wasm_op *op, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

#endif
