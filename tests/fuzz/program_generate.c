// SPDX-License-Identifier: BSD-3-Clause
// program_generate.c - see program_generate.h
//
// An expression of a type makes a value of that type, and a statement leaves nothing on the stack,
// so types are right by construction. Each function has a budget for the total cost of its
// instructions, which is above the cost of its longest path.
#include "program_generate.h"

#include <stddef.h>
#include <string.h>

#include "program/program.h"

#define LABELS_MAX 12
#define LOCALS 8 // of a function: 2 parameters at most, then i32 and i64 in turn
#define COST_OF_ONE 1200

struct making {
    struct wasm_module *m;
    uint64_t random;
    uint8_t local[LOCALS];
    unsigned n_locals, function, n_labels;
    uint8_t label[LABELS_MAX]; // type of a block's value; a loop's: WASM_EMPTY
    uint8_t result;
    int budget;
    bool calls; // it may call another function
};

static uint32_t random_below(struct making *g, uint32_t n)
{
    g->random = g->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((g->random >> 33) % n);
}

static struct wasm_op *emit(struct making *g, uint8_t code)
{
    struct wasm_op *op = &g->m->op[g->m->n_ops];

    *op = (struct wasm_op){.code = code};
    if (g->m->n_ops < WASM_OPS_MAX - 1)
        g->m->n_ops++;
    g->budget -= (int)wasm_op_cost(code);
    return op;
}

static void emit_index(struct making *g, uint8_t code, uint32_t index)
{
    emit(g, code)->a = index;
}

static int64_t odd_number(struct making *g, uint8_t type)
{
    static const int64_t odd[] = {0,         1,         -1,        2,         7,         32,
                                  255,       65535,     65536,     65528,     60416,     -8,
                                  INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, UINT32_MAX};
    int64_t v =
        random_below(g, 3)
            ? odd[random_below(g, sizeof odd / sizeof *odd)]
            : (int64_t)((uint64_t)random_below(g, UINT32_MAX) << 17 ^ random_below(g, UINT32_MAX));

    return type == WASM_I32 ? (int32_t)v : v;
}

static void emit_constant(struct making *g, uint8_t type, int64_t value)
{
    emit(g, type == WASM_I32 ? 0x41 : 0x42)->value = value;
}

static void make_value(struct making *g, uint8_t type, unsigned depth);
static void make_statement(struct making *g, unsigned depth);

// A local of the type, at random; a program always has some.
static uint32_t some_local(struct making *g, uint8_t type)
{
    uint32_t i = random_below(g, g->n_locals);

    while (g->local[i] != type)
        i = (i + 1) % g->n_locals;
    return i;
}

static void make_leaf(struct making *g, uint8_t type)
{
    if (random_below(g, 2))
        emit_constant(g, type, odd_number(g, type));
    else if (random_below(g, 4))
        emit_index(g, 0x20, some_local(g, type));
    else
        emit_index(g, 0x23, type == WASM_I32 ? 0 : 1);
}

static void open_block(struct making *g, uint8_t code, uint8_t type)
{
    emit(g, code)->type = type;
    g->label[g->n_labels++] = code == 0x03 ? WASM_EMPTY : type;
}

static void close_block(struct making *g)
{
    emit(g, 0x0b);
    g->n_labels--;
}

static void make_address(struct making *g, unsigned depth)
{
    if (random_below(g, 3)) {
        emit_index(g, 0x20, 0);
        if (g->local[0] != WASM_I32)
            emit(g, 0xa7);
    } else {
        make_value(g, WASM_I32, depth + 1);
    }
}

static void set_place(struct making *g, struct wasm_op *op)
{
    op->a = random_below(g, 4) ? random_below(g, 160) : (uint32_t)odd_number(g, WASM_I32);
    op->align = 0;
}

static void make_load(struct making *g, uint8_t type, unsigned depth)
{
    static const uint8_t small[] = {0x28, 0x2c, 0x2d, 0x2e, 0x2f};
    static const uint8_t wide[] = {0x29, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35};

    make_address(g, depth);
    set_place(g, emit(g, type == WASM_I32 ? small[random_below(g, sizeof small)]
                                          : wide[random_below(g, sizeof wide)]));
}

static void make_store(struct making *g, unsigned depth)
{
    static const uint8_t codes[] = {0x36, 0x3a, 0x3b, 0x37, 0x3c, 0x3d, 0x3e};
    uint8_t code = codes[random_below(g, sizeof codes)];

    make_address(g, depth);
    make_value(g, code == 0x36 || code == 0x3a || code == 0x3b ? WASM_I32 : WASM_I64, depth + 1);
    set_place(g, emit(g, code));
}

// Divisors are mostly not 0.
static void make_operation(struct making *g, uint8_t type, unsigned depth)
{
    uint32_t which = random_below(g, 15);

    make_value(g, type, depth + 1);
    make_value(g, type, depth + 1);
    if (which >= 3 && which <= 6 && random_below(g, 16)) {
        emit_constant(g, type, 1 << random_below(g, 4));
        emit(g, type == WASM_I32 ? 0x72 : 0x84);
    }
    emit(g, (uint8_t)((type == WASM_I32 ? 0x6a : 0x7c) + which));
}

static void make_one_operand(struct making *g, uint8_t type, unsigned depth)
{
    static const uint8_t small[] = {0x67, 0x68, 0x69, 0xc0, 0xc1};
    static const uint8_t wide[] = {0x79, 0x7a, 0x7b, 0xc2, 0xc3, 0xc4};

    make_value(g, type, depth + 1);
    emit(g, type == WASM_I32 ? small[random_below(g, 5)] : wide[random_below(g, 6)]);
}

static void make_converted(struct making *g, uint8_t type, unsigned depth)
{
    make_value(g, type == WASM_I32 ? WASM_I64 : WASM_I32, depth + 1);
    emit(g, type == WASM_I32 ? 0xa7 : (uint8_t)(0xac + random_below(g, 2)));
}

// An i32 of a comparison; as i64 it is converted.
static void make_compared(struct making *g, uint8_t type, unsigned depth)
{
    uint8_t of = random_below(g, 2) ? WASM_I32 : WASM_I64;

    make_value(g, of, depth + 1);
    if (random_below(g, 4)) {
        make_value(g, of, depth + 1);
        emit(g, (uint8_t)((of == WASM_I32 ? 0x46 : 0x51) + random_below(g, 10)));
    } else {
        emit(g, of == WASM_I32 ? 0x45 : 0x50);
    }
    if (type == WASM_I64)
        emit(g, 0xad);
}

static void make_selected(struct making *g, uint8_t type, unsigned depth)
{
    make_value(g, type, depth + 1);
    make_value(g, type, depth + 1);
    make_value(g, WASM_I32, depth + 1);
    emit(g, 0x1b);
}

// The number of a counter or table, sometimes an undeclared one.
static void make_number(struct making *g, uint32_t n)
{
    uint32_t kind = random_below(g, 16);
    int64_t v = kind > 1 ? random_below(g, n) : kind ? n : odd_number(g, WASM_I32);

    emit_constant(g, WASM_I32, v);
}

static void make_call(struct making *g, uint8_t type, unsigned depth)
{
    if (g->calls && random_below(g, 3) == 0) { // one call, of a function without calls
        g->calls = false;
        make_value(g, WASM_I32, depth + 1);
        emit_index(g, 0x10, g->m->n_imports + 2 * random_below(g, (g->function + 1) / 2));
        if (type == WASM_I64)
            emit(g, 0xac);
        return;
    }
    make_number(g, GENERATE_TABLES);
    make_value(g, WASM_I64, depth + 1);
    if (type == WASM_I32)
        make_value(g, WASM_I64, depth + 1);
    emit_index(g, 0x10, type == WASM_I64 ? IMPORT_GET : IMPORT_PUT);
    g->budget -= 100;
}

static void make_nested(struct making *g, uint8_t type, unsigned depth)
{
    if (random_below(g, 2)) {
        open_block(g, 0x02, type);
        if (random_below(g, 2))
            make_statement(g, depth + 1);
        make_value(g, type, depth + 1);
        if (random_below(g, 2)) {
            make_value(g, WASM_I32, depth + 1);
            emit_index(g, 0x0d, 0);
        }
        close_block(g);
        return;
    }
    make_value(g, WASM_I32, depth + 1);
    open_block(g, 0x04, type);
    make_value(g, type, depth + 1);
    emit(g, 0x05);
    make_value(g, type, depth + 1);
    close_block(g);
}

static void make_value(struct making *g, uint8_t type, unsigned depth)
{
    if (depth > 5 || g->budget < 300) {
        make_leaf(g, type);
        return;
    }
    switch (random_below(g, 12)) {
    case 0:
    case 1:
        make_load(g, type, depth);
        break;
    case 2:
    case 3:
    case 4:
        make_operation(g, type, depth);
        break;
    case 5:
        make_one_operand(g, type, depth);
        break;
    case 6:
        make_converted(g, type, depth);
        break;
    case 7:
        make_compared(g, type, depth);
        break;
    case 8:
        make_selected(g, type, depth);
        break;
    case 9:
        make_call(g, type, depth);
        break;
    case 10:
        if (g->n_labels < LABELS_MAX - 2) {
            make_nested(g, type, depth);
            break;
        }
        // fall through
    default:
        make_leaf(g, type);
        break;
    }
}

static void set_local(struct making *g, unsigned depth)
{
    uint32_t i = random_below(g, g->n_locals);

    make_value(g, g->local[i], depth + 1);
    emit_index(g, 0x21, i);
}

// A jump to any block around, with the value that it takes.
static void make_jump(struct making *g, unsigned depth, bool perhaps)
{
    uint32_t to = random_below(g, g->n_labels);
    uint8_t type = g->label[g->n_labels - 1 - to];

    if (type != WASM_EMPTY)
        make_value(g, type, depth + 1);
    if (perhaps)
        make_value(g, WASM_I32, depth + 1);
    emit_index(g, perhaps ? 0x0d : 0x0c, to);
    if (perhaps && type != WASM_EMPTY)
        emit(g, 0x1a);
}

static void make_table_jump(struct making *g, unsigned depth)
{
    unsigned n = 2 + random_below(g, 4);

    for (unsigned i = 0; i < 3; i++)
        open_block(g, 0x02, WASM_EMPTY);
    make_value(g, WASM_I32, depth + 1);
    struct wasm_op *op = emit(g, 0x0e);
    op->a = g->m->n_targets;
    op->b = n;
    for (unsigned i = 0; i < n && g->m->n_targets < WASM_TARGETS_MAX; i++)
        g->m->target[g->m->n_targets++] = random_below(g, 3);
    for (unsigned i = 0; i < 3; i++) {
        close_block(g);
        make_statement(g, depth + 1);
    }
}

static void make_loop(struct making *g, unsigned depth)
{
    uint32_t count = some_local(g, WASM_I32);

    open_block(g, 0x03, WASM_EMPTY);
    make_statement(g, depth + 1);
    if (random_below(g, 24)) { // with an end, unless the statement changes the count
        emit_index(g, 0x20, count);
        emit_constant(g, WASM_I32, 2 + random_below(g, 14));
        emit(g, 0x76);
        emit_index(g, 0x22, count);
    } else {
        make_value(g, WASM_I32, depth + 1);
    }
    emit_index(g, 0x0d, 0);
    close_block(g);
}

static void make_if(struct making *g, unsigned depth)
{
    make_value(g, WASM_I32, depth + 1);
    open_block(g, 0x04, WASM_EMPTY);
    make_statement(g, depth + 1);
    if (random_below(g, 2)) {
        emit(g, 0x05);
        make_statement(g, depth + 1);
    }
    close_block(g);
}

static void make_count(struct making *g, unsigned depth)
{
    bool log = !random_below(g, 4);

    make_number(g, GENERATE_COUNTERS);
    make_value(g, WASM_I64, depth + 1);
    emit_index(g, 0x10, log ? IMPORT_LOG : IMPORT_COUNT);
    g->budget -= 20;
}

static void set_global(struct making *g, unsigned depth)
{
    uint32_t i = random_below(g, 2);

    make_value(g, i ? WASM_I64 : WASM_I32, depth + 1);
    emit_index(g, 0x24, i);
}

static void make_rare(struct making *g, unsigned depth)
{
    switch (random_below(g, 6)) {
    case 0:
        emit(g, 0x00);
        break;
    case 1:
        make_value(g, g->result, depth + 1);
        emit(g, 0x0f);
        break;
    case 2:
        emit(g, 0x01);
        break;
    default:
        make_jump(g, depth, false);
        break;
    }
}

static void make_statement(struct making *g, unsigned depth)
{
    bool nests = depth < 6 && g->budget > 300 && g->n_labels < LABELS_MAX - 4;

    switch (random_below(g, nests ? 11 : 5)) {
    case 0:
    case 1:
        set_local(g, depth);
        break;
    case 2:
        make_store(g, depth);
        break;
    case 3:
        make_count(g, depth);
        break;
    case 4:
        set_global(g, depth);
        break;
    case 5:
        make_loop(g, depth);
        break;
    case 6:
        make_if(g, depth);
        break;
    case 7:
        make_table_jump(g, depth);
        break;
    case 8:
        make_jump(g, depth, true);
        break;
    case 9:
        if (!random_below(g, 4)) {
            make_rare(g, depth);
            break;
        }
        // fall through
    default:
        make_value(g, WASM_I32, depth + 1);
        emit(g, 0x1a);
        break;
    }
}

static struct wasm_function *begin_function(struct making *g)
{
    struct wasm_function *f = &g->m->function[g->function];

    memset(f, 0, sizeof *f);
    f->first = g->m->n_ops;
    f->n_locals = LOCALS - 1;
    g->n_locals = LOCALS;
    g->local[0] = WASM_I32;
    for (unsigned i = 0; i < f->n_locals; i++)
        g->local[i + 1] = f->local[i] = i % 2 ? WASM_I32 : WASM_I64;
    g->label[0] = g->result = WASM_I32;
    g->n_labels = 1;
    return f;
}

static void end_function(struct making *g, struct wasm_function *f)
{
    emit(g, 0x0b);
    f->n_ops = g->m->n_ops - f->first;
    g->m->n_functions = ++g->function;
}

static void make_function(struct making *g, bool calls)
{
    struct wasm_function *f = begin_function(g);

    g->budget = COST_OF_ONE;
    g->calls = calls;
    for (unsigned n = 1 + random_below(g, 6); n && g->budget > 200; n--)
        make_statement(g, 0);
    make_value(g, WASM_I32, 3);
    end_function(g, f);
}

// Calls function `from` to `from + n - 1`, by the low bits of local 3.
static void make_choice(struct making *g, unsigned from, unsigned n)
{
    if (n == 1) {
        emit_index(g, 0x20, 0);
        emit_index(g, 0x10, g->m->n_imports + from);
        return;
    }
    emit_index(g, 0x20, 2);
    emit_constant(g, WASM_I32, n / 2);
    emit(g, 0x71);
    emit(g, 0x04)->type = WASM_I32;
    make_choice(g, from + n / 2, n / 2);
    emit(g, 0x05);
    make_choice(g, from, n / 2);
    emit(g, 0x0b);
}

static void make_chooser(struct making *g, unsigned n)
{
    struct wasm_function *f = begin_function(g);

    emit_index(g, 0x20, 0);
    emit(g, 0x28)->a = offsetof(struct kamuee_packet, interface);
    emit_index(g, 0x21, 2);
    make_choice(g, 0, n);
    end_function(g, f);
}

// A function without result that calls and writes; without loops.
static void make_prepare(struct making *g)
{
    struct wasm_function *f = begin_function(g);

    f->type = 1;
    g->label[0] = g->result = WASM_EMPTY;
    g->calls = false;
    make_store(g, 5); // so deep that it has neither jumps nor loops in it
    emit_constant(g, WASM_I32, random_below(g, 256) ? random_below(g, GENERATE_TABLES) : 2);
    emit_index(g, 0x20, some_local(g, WASM_I64));
    emit_index(g, 0x10, IMPORT_PREFETCH);
    g->m->prepare = (int)g->function;
    end_function(g, f);
}

void program_generate(struct wasm_module *m, uint64_t seed, unsigned functions)
{
    struct making g = {.m = m, .random = seed * 0x9e3779b97f4a7c15u + 1};

    m->n_types = 2;
    m->type[1] = (struct wasm_type){.param = {WASM_I32}, .n_params = 1, .result = WASM_EMPTY};
    m->prepare = -1;
    m->type[0] = (struct wasm_type){.param = {WASM_I32}, .n_params = 1, .result = WASM_I32};
    m->n_imports = IMPORT_CHARGE;
    for (uint8_t i = 0; i < IMPORT_CHARGE; i++)
        m->import[i] = i;
    m->n_functions = m->n_ops = m->n_targets = 0;
    m->n_globals = 2;
    m->global[0] = (struct wasm_global){WASM_I32, true, 4096};
    m->global[1] = (struct wasm_global){WASM_I64, true, -5};
    m->n_segments = 1;
    m->segment[0] = (struct wasm_segment){60000, 7, (const uint8_t *)"kamuee"};
    m->memory = true;
    for (unsigned i = 0; i < (functions ? functions : 1 + random_below(&g, 3)); i++)
        make_function(&g, i % 2 == 1);
    if (random_below(&g, 2))
        make_prepare(&g);
    if (functions)
        make_chooser(&g, functions);
    m->packet = (int)m->n_functions - 1;
    if (m->packet == m->prepare) // packet() is the one before
        m->packet--;
}
