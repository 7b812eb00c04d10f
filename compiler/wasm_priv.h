// SPDX-License-Identifier: BSD-3-Clause
// wasm_priv.h - shared by wasm_read.c, wasm_body.c, wasm_check.c and wasm_write.c
#ifndef COMPILER_WASM_PRIV_H
#define COMPILER_WASM_PRIV_H

#include "compiler/wasm.h"

enum wasm_immediate {
    IMM_UNKNOWN, // not an instruction of ours
    IMM_NONE,
    IMM_BLOCK,
    IMM_LABEL,
    IMM_TABLE,
    IMM_FUNCTION,
    IMM_LOCAL,
    IMM_GLOBAL,
    IMM_MEMORY,
    IMM_I32,
    IMM_I64,
};

enum wasm_immediate wasm_op_immediate(uint8_t code);

#define WASM_OP_UNREACHABLE 0x00
#define WASM_OP_BLOCK 0x02
#define WASM_OP_LOOP 0x03
#define WASM_OP_IF 0x04
#define WASM_OP_ELSE 0x05
#define WASM_OP_END 0x0b
#define WASM_OP_BR 0x0c
#define WASM_OP_BR_IF 0x0d
#define WASM_OP_BR_TABLE 0x0e
#define WASM_OP_RETURN 0x0f
#define WASM_OP_CALL 0x10
#define WASM_OP_I32_CONST 0x41
#define WASM_OP_I64_CONST 0x42

struct wasm_known_import {
    const char *name;
    struct wasm_type type;
    uint32_t cost;
};
extern const struct wasm_known_import wasm_known_import[IMPORTS];

// Reads [at, end); missing bytes or an oversized number set `broken` and read as 0.
struct wasm_reader {
    struct wasm_module *m;
    struct wasm_refusal *why;
    size_t at, end;
    uint32_t data_end;
    bool broken;
};

uint8_t wasm_byte(struct wasm_reader *r);
uint32_t wasm_u32(struct wasm_reader *r);
int64_t wasm_signed(struct wasm_reader *r, unsigned bits); // 32 or 64
int wasm_read_code(struct wasm_reader *r);                 // reads the code section

#endif
