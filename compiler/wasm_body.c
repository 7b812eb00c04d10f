// SPDX-License-Identifier: BSD-3-Clause
// wasm_body.c - see wasm.h: reads the instructions of functions
//
// After it, blocks are properly nested and every index refers to something that exists.
#include <stdio.h>
#include <string.h>

#include "compiler/wasm_priv.h"

static const struct {
    const char *name;
    uint8_t immediate, cost;
} kinds[256] = {
#define OP(code, name, immediate, cost) [code] = {name, immediate, cost},
#include "compiler/wasm_op.def"
#undef OP
};

const char *wasm_op_name(uint8_t code)
{
    return kinds[code].name ? kinds[code].name : "?";
}

unsigned wasm_op_cost(uint8_t code)
{
    return kinds[code].cost;
}

enum wasm_immediate wasm_op_immediate(uint8_t code)
{
    return (enum wasm_immediate)kinds[code].immediate;
}

struct body {
    struct wasm_reader *r;
    int function;
    unsigned n_locals, depth;
    uint8_t open[WASM_NESTING_MAX]; // instruction that opened each block; [0] the function
};

static const char *reason_of(uint8_t code)
{
    static const struct {
        uint8_t from, to;
        const char *why;
    } refused[] = {
        {0x06, 0x0a, "exceptions are not there"},
        {0x11, 0x11, "indirect calls are not there: call functions by their names"},
        {0x12, 0x15, "tail calls are not there"},
        {0x18, 0x19, "exceptions are not there"},
        {0x1c, 0x1c, "reference types are not there"},
        {0x25, 0x26, "tables of functions are not there"},
        {0x2a, 0x2b, "floating-point numbers are not there"},
        {0x38, 0x39, "floating-point numbers are not there"},
        {0x3f, 0x40, "memory is one page and does not grow"},
        {0x43, 0x44, "floating-point numbers are not there"},
        {0x5b, 0x66, "floating-point numbers are not there"},
        {0x8b, 0xa6, "floating-point numbers are not there"},
        {0xa8, 0xab, "floating-point numbers are not there"},
        {0xae, 0xbf, "floating-point numbers are not there"},
        {0xd0, 0xd2, "reference types are not there"},
        {0xfc, 0xfc, "operations on whole memory are not there: copy in a loop"},
        {0xfd, 0xfd, "vectors are not there"},
        {0xfe, 0xfe, "threads are not there"},
    };

    for (unsigned i = 0; i < sizeof refused / sizeof *refused; i++)
        if (code >= refused[i].from && code <= refused[i].to)
            return refused[i].why;
    return "no instruction of WebAssembly 1.0";
}

static int refuse(const struct body *b, const struct wasm_op *op, const char *why)
{
    return wasm_refuse(b->r->m, b->r->why, b->function, op, "%s", why);
}

static int read_targets(struct body *b, struct wasm_op *op)
{
    struct wasm_module *m = b->r->m;
    uint32_t n = wasm_u32(b->r);

    if (b->r->broken || n >= WASM_TARGETS_MAX - m->n_targets)
        return refuse(b, op, "too many targets");
    op->a = m->n_targets;
    op->b = n + 1;
    for (uint32_t i = 0; i <= n; i++) {
        uint32_t label = wasm_u32(b->r);
        if (b->r->broken || label > b->depth)
            return refuse(b, op, "a target that is not there");
        m->target[m->n_targets++] = label;
    }
    return 0;
}

static int read_memory_immediate(struct body *b, struct wasm_op *op)
{
    uint32_t align = wasm_u32(b->r);

    op->a = wasm_u32(b->r);
    op->align = (uint16_t)align;
    return align > 3 ? refuse(b, op, "an alignment above 8") : 0;
}

static int read_index(struct body *b, struct wasm_op *op, uint32_t n, const char *what)
{
    op->a = wasm_u32(b->r);
    return op->a >= n ? refuse(b, op, what) : 0;
}

static int read_immediate(struct body *b, struct wasm_op *op)
{
    struct wasm_module *m = b->r->m;

    switch (wasm_op_immediate(op->code)) {
    case IMM_BLOCK:
        op->type = wasm_byte(b->r);
        return op->type == WASM_EMPTY || op->type == WASM_I32 || op->type == WASM_I64
                   ? 0
                   : refuse(b, op, "a block's value that is no integer, or more than one");
    case IMM_LABEL:
        return read_index(b, op, b->depth + 1, "a target that is not there");
    case IMM_TABLE:
        return read_targets(b, op);
    case IMM_FUNCTION:
        return read_index(b, op, m->n_imports + m->n_functions, "no such function");
    case IMM_LOCAL:
        return read_index(b, op, b->n_locals, "no such local variable");
    case IMM_GLOBAL:
        return read_index(b, op, m->n_globals, "no such global variable");
    case IMM_MEMORY:
        return read_memory_immediate(b, op);
    case IMM_I32:
        op->value = wasm_signed(b->r, 32);
        return 0;
    case IMM_I64:
        op->value = wasm_signed(b->r, 64);
        return 0;
    case IMM_NONE:
        return 0;
    case IMM_UNKNOWN:
        break;
    }
    return wasm_refuse(m, b->r->why, b->function, NULL, "byte 0x%x, instruction 0x%02x: %s", op->at,
                       op->code, reason_of(op->code));
}

// Opens and closes blocks; sets *end at the function's own `end`.
static int nest(struct body *b, const struct wasm_op *op, bool *end)
{
    switch (op->code) {
    case WASM_OP_BLOCK:
    case WASM_OP_LOOP:
    case WASM_OP_IF:
        if (b->depth + 1 == WASM_NESTING_MAX)
            return refuse(b, op, "more than 127 blocks in each other");
        b->open[++b->depth] = op->code;
        return 0;
    case WASM_OP_ELSE:
        if (b->open[b->depth] != WASM_OP_IF)
            return refuse(b, op, "an else without if");
        b->open[b->depth] = WASM_OP_ELSE;
        return 0;
    case WASM_OP_END:
        *end = !b->depth;
        b->depth -= !*end;
        return 0;
    default:
        return 0;
    }
}

static int read_op(struct body *b, bool *end)
{
    struct wasm_module *m = b->r->m;
    struct wasm_op *op = &m->op[m->n_ops];

    if (m->n_ops == WASM_OPS_MAX)
        return wasm_refuse(m, b->r->why, b->function, NULL, "more than %u instructions",
                           WASM_OPS_MAX);
    *op = (struct wasm_op){.at = (uint32_t)b->r->at};
    op->code = wasm_byte(b->r);
    int e = b->r->broken ? 0 : read_immediate(b, op);
    if (!e && b->r->broken)
        e = wasm_refuse(m, b->r->why, b->function, NULL, "byte 0x%x: its code ends in the middle",
                        op->at);
    m->n_ops += !e;
    return e ? e : nest(b, op, end);
}

static int read_locals(struct body *b)
{
    struct wasm_function *f = &b->r->m->function[b->function];
    unsigned params = b->r->m->type[f->type].n_params;

    b->n_locals = params;
    for (uint32_t groups = wasm_u32(b->r); groups && !b->r->broken; groups--) {
        uint32_t n = wasm_u32(b->r);
        uint8_t type = wasm_byte(b->r);
        if (b->r->broken || (type != WASM_I32 && type != WASM_I64))
            return refuse(b, NULL, "a local variable that is no integer");
        if (n > WASM_LOCALS_MAX - b->n_locals)
            return refuse(b, NULL, "more than 256 local variables");
        memset(f->local + f->n_locals, type, n);
        f->n_locals = (uint16_t)(f->n_locals + n);
        b->n_locals += n;
    }
    return 0;
}

static int read_body(struct wasm_reader *r, int function)
{
    struct wasm_function *f = &r->m->function[function];
    uint32_t size = wasm_u32(r);
    size_t section_end = r->end;
    struct body b = {.r = r, .function = function};
    bool end = false;

    if (r->broken || size > r->end - r->at)
        return refuse(&b, NULL, "its code is longer than the section");
    r->end = r->at + size;
    f->at = (uint32_t)r->at;
    f->first = r->m->n_ops;
    int e = read_locals(&b);
    while (!e && !end)
        e = read_op(&b, &end);
    f->n_ops = r->m->n_ops - f->first;
    if (!e && r->at != r->end)
        e = refuse(&b, NULL, "bytes behind its end");
    r->end = section_end;
    return e;
}

int wasm_read_code(struct wasm_reader *r)
{
    uint32_t n = wasm_u32(r);
    int e = 0;

    if (r->broken || n != r->m->n_functions)
        return wasm_refuse(r->m, r->why, -1, NULL, "functions without code");
    for (uint32_t i = 0; !e && i < n; i++)
        e = read_body(r, (int)i);
    r->m->n_bodies = e ? 0 : n;
    return e;
}
