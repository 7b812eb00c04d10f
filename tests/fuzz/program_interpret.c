// SPDX-License-Identifier: BSD-3-Clause
// program_interpret.c - see program_interpret.h
//
// Values are 64 bits, an i32 with zeroes above. Each frame has its part of one stack. A module of
// wrong types (from bytes at random) may take more than is there: that ends it as a fault.
#include "program_interpret.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define STACK 512

struct block {
    uint32_t at;   // the instruction that opened it
    uint32_t base; // of the stack
    uint8_t type;
    bool loop;
};

struct activation {
    struct interpreter *t;
    const struct wasm_function *f;
    uint64_t local[WASM_LOCALS_MAX + WASM_PARAMS_MAX];
    struct block block[WASM_NESTING_MAX + 1];
    unsigned n_blocks;
    uint64_t stack[STACK];
    unsigned n;
    bool fault;
};

static uint64_t pop(struct activation *a)
{
    if (a->n)
        return a->stack[--a->n];
    a->fault = true;
    return 0;
}

static void push(struct activation *a, uint64_t v)
{
    if (a->n == STACK)
        a->fault = true;
    else
        a->stack[a->n++] = v;
}

static uint8_t *place(struct activation *a, const struct wasm_op *op, uint64_t address)
{
    return &a->t->memory[(address + op->a) & (WASM_PAGE - 1)];
}

static void load(struct activation *a, const struct wasm_op *op, size_t size, bool sign, bool wide)
{
    uint64_t v = 0, top = 1ull << (8 * size - 1);

    memcpy(&v, place(a, op, pop(a)), size);
    if (sign && v & top)
        v |= ~(top - 1);
    push(a, wide ? v : (uint32_t)v);
}

static void store(struct activation *a, const struct wasm_op *op, size_t size)
{
    uint64_t v = pop(a);

    memcpy(place(a, op, pop(a)), &v, size);
}

static void access_memory(struct activation *a, const struct wasm_op *op)
{
    static const struct {
        uint8_t size;
        bool sign, wide;
    } loads[] = {{4, 0, 0}, {8, 0, 1}, {0, 0, 0}, {0, 0, 0}, {1, 1, 0}, {1, 0, 0}, {2, 1, 0},
                 {2, 0, 0}, {1, 1, 1}, {1, 0, 1}, {2, 1, 1}, {2, 0, 1}, {4, 1, 1}, {4, 0, 1}};
    static const uint8_t stores[] = {4, 8, 0, 0, 1, 2, 1, 2, 4};

    if (op->code < 0x36)
        load(a, op, loads[op->code - 0x28].size, loads[op->code - 0x28].sign,
             loads[op->code - 0x28].wide);
    else
        store(a, op, stores[op->code - 0x36]);
}

static uint64_t compare(uint8_t op, uint64_t x, uint64_t y, int64_t sx, int64_t sy)
{
    switch (op) {
    case 0:
        return x == y;
    case 1:
        return x != y;
    case 2:
        return sx < sy;
    case 3:
        return x < y;
    case 4:
        return sx > sy;
    case 5:
        return x > y;
    case 6:
        return sx <= sy;
    case 7:
        return x <= y;
    case 8:
        return sx >= sy;
    default:
        return x >= y;
    }
}

static uint64_t divide(struct activation *a, uint8_t op, uint64_t x, uint64_t y, unsigned bits)
{
    int64_t sx = bits == 32 ? (int32_t)x : (int64_t)x, sy = bits == 32 ? (int32_t)y : (int64_t)y;
    int64_t least = bits == 32 ? INT32_MIN : INT64_MIN;

    if (bits == 32) {
        x = (uint32_t)x;
        y = (uint32_t)y;
    }
    if (!y || (op == 0 && sx == least && sy == -1)) {
        a->fault = true;
        return 0;
    }
    switch (op) {
    case 0:
        return (uint64_t)(sx / sy);
    case 1:
        return x / y;
    case 2:
        return sy == -1 ? 0 : (uint64_t)(sx % sy);
    default:
        return x % y;
    }
}

static uint64_t turn(uint64_t x, unsigned by, unsigned bits)
{
    uint64_t mask = bits == 64 ? ~0ull : UINT32_MAX;

    by &= bits - 1;
    return by ? ((x << by) | ((x & mask) >> (bits - by))) & mask : x;
}

static uint64_t calculate(struct activation *a, uint8_t op, uint64_t x, uint64_t y, unsigned bits)
{
    unsigned by = (unsigned)y & (bits - 1);

    switch (op) {
    case 0:
        return x + y;
    case 1:
        return x - y;
    case 2:
        return x * y;
    case 3:
    case 4:
    case 5:
    case 6:
        return divide(a, op - 3, x, y, bits);
    case 7:
        return x & y;
    case 8:
        return x | y;
    case 9:
        return x ^ y;
    case 10:
        return x << by;
    case 11:
        return bits == 32 ? (uint64_t)((int32_t)x >> by) : (uint64_t)((int64_t)x >> by);
    case 12:
        return x >> by;
    case 13:
        return turn(x, by, bits);
    default:
        return turn(x, bits - by, bits);
    }
}

static uint64_t count_bits(uint8_t op, uint64_t x, unsigned bits)
{
    unsigned n = 0;

    if (op == 2) {
        for (; x; x &= x - 1)
            n++;
        return n;
    }
    while (n < bits && !(x >> (op ? n : bits - 1 - n) & 1))
        n++;
    return n;
}

static uint64_t extend(uint8_t code, uint64_t x)
{
    switch (code) {
    case 0xc0:
        return (uint32_t)(int32_t)(int8_t)x;
    case 0xc1:
        return (uint32_t)(int32_t)(int16_t)x;
    case 0xc2:
        return (uint64_t)(int64_t)(int8_t)x;
    case 0xc3:
        return (uint64_t)(int64_t)(int16_t)x;
    case 0xac:
    case 0xc4:
        return (uint64_t)(int64_t)(int32_t)x;
    default:
        return (uint32_t)x; // 0xa7, 0xad
    }
}

static void operate(struct activation *a, uint8_t code)
{
    bool wide = (code >= 0x50 && code <= 0x5a) || (code >= 0x79 && code <= 0x8a);
    uint64_t y = pop(a);

    if (code == 0x45 || code == 0x50) {
        push(a, !y);
    } else if (code <= 0x5a) {
        uint64_t x = pop(a);
        push(a, compare((uint8_t)(code - (wide ? 0x51 : 0x46)), x, y,
                        wide ? (int64_t)x : (int32_t)x, wide ? (int64_t)y : (int32_t)y));
    } else if (code <= 0x69 || (code >= 0x79 && code <= 0x7b)) {
        push(a, count_bits((uint8_t)(code - (wide ? 0x79 : 0x67)), y, wide ? 64 : 32));
    } else if (code <= 0x8a) {
        uint64_t x = pop(a);
        uint64_t v = calculate(a, (uint8_t)(code - (wide ? 0x7c : 0x6a)), x, y, wide ? 64 : 32);
        push(a, wide ? v : (uint32_t)v);
    } else {
        push(a, extend(code, y));
    }
}

static bool call_function(struct interpreter *t, uint32_t function, const uint64_t *argument,
                          uint64_t *result);

static uint64_t get_value(const struct program_host *h, uint32_t table, uint64_t key)
{
    const struct program_array *a = &h->array[table];

    if (!a->value)
        return h->get(h->host, table, key);
    return key < a->entries ? a->value[key] : UINT64_MAX;
}

static void call_import(struct activation *a, uint8_t import)
{
    const struct program_host *h = a->t->host;
    uint64_t value = import == IMPORT_PUT ? pop(a) : 0, key = pop(a);
    uint32_t n = (uint32_t)pop(a);
    static const int cost[] = {4, 64, 96, 16, 16};

    a->t->executed += cost[import];
    if (import != IMPORT_LOG && n >= (import == IMPORT_COUNT ? a->t->n_counters : a->t->n_tables))
        a->fault = true;
    else if (import == IMPORT_COUNT)
        a->t->counter[n] += key;
    else if (import == IMPORT_GET)
        push(a, get_value(h, n, key));
    else if (import == IMPORT_PUT)
        push(a, (uint32_t)h->put(h->host, n, key, value));
    else if (import == IMPORT_PREFETCH)
        h->prefetch(h->host, n, key);
    else
        h->log(h->host, n, key);
}

static void call(struct activation *a, uint32_t index)
{
    const struct wasm_module *m = a->t->m;
    uint64_t argument[WASM_PARAMS_MAX] = {0}, result = 0;

    if (index < m->n_imports) {
        call_import(a, m->import[index]);
        return;
    }
    const struct wasm_type *type = &m->type[m->function[index - m->n_imports].type];
    for (unsigned i = type->n_params; i--;)
        argument[i] = pop(a);
    if (a->fault || !call_function(a->t, index - m->n_imports, argument, &result))
        a->fault = true;
    else if (type->result != WASM_EMPTY)
        push(a, result);
}

static void enter_block(struct activation *a, uint32_t at)
{
    const struct wasm_op *op = &a->t->m->op[at];

    a->block[a->n_blocks++] = (struct block){at, a->n, op->type, op->code == 0x03};
    if (op->code != 0x03)
        return;
    a->t->paid += op->value;
    a->fault = a->t->paid > WASM_COST_MAX;
}

// To a block around; where to go on. Of the function: its end.
static uint32_t branch(struct activation *a, uint32_t label)
{
    if (label + 1 > a->n_blocks) {
        a->fault = true;
        return 0;
    }
    struct block *b = &a->block[a->n_blocks - 1 - label];
    uint64_t v = !b->loop && b->type != WASM_EMPTY ? pop(a) : 0;

    a->n = b->base;
    if (b->loop) {
        a->n_blocks -= label + 1;
        return b->at; // enters it again, and pays
    }
    if (b->type != WASM_EMPTY)
        push(a, v);
    a->n_blocks -= label + 1;
    if (!a->n_blocks)
        return a->f->first + a->f->n_ops;
    uint32_t end = a->t->partner[b->at];
    if (a->t->m->op[end].code == 0x05)
        end = a->t->partner[end];
    return end + 1;
}

static uint32_t branch_by_table(struct activation *a, const struct wasm_op *op)
{
    uint32_t i = (uint32_t)pop(a);

    return branch(a, a->t->m->target[op->a + (i < op->b - 1 ? i : op->b - 1)]);
}

static uint32_t open_if(struct activation *a, uint32_t at)
{
    uint32_t other = a->t->partner[at];

    if ((uint32_t)pop(a)) {
        enter_block(a, at);
        return at + 1;
    }
    if (a->t->m->op[other].code == 0x0b)
        return other + 1;
    enter_block(a, at);
    return other + 1;
}

static uint32_t run_control(struct activation *a, uint32_t at)
{
    const struct wasm_op *op = &a->t->m->op[at];

    switch (op->code) {
    case 0x00:
        a->fault = true;
        return at;
    case 0x02:
    case 0x03:
        enter_block(a, at);
        return at + 1;
    case 0x04:
        return open_if(a, at);
    case 0x05: // the end of the first arm
        a->n_blocks--;
        return a->t->partner[at] + 1;
    case 0x0b:
        a->n_blocks--;
        return at + 1;
    case 0x0c:
        return branch(a, op->a);
    case 0x0d:
        return (uint32_t)pop(a) ? branch(a, op->a) : at + 1;
    case 0x0e:
        return branch_by_table(a, op);
    case 0x0f:
        return branch(a, a->n_blocks - 1);
    case 0x10:
        call(a, op->a);
        return at + 1;
    default:
        return at + 1;
    }
}

static void run_variable(struct activation *a, const struct wasm_op *op)
{
    uint64_t v, w;

    switch (op->code) {
    case 0x1a:
        pop(a);
        break;
    case 0x1b:
        v = pop(a);
        w = pop(a);
        if (!(uint32_t)v && a->n)
            a->stack[a->n - 1] = w;
        break;
    case 0x20:
        push(a, a->local[op->a]);
        break;
    case 0x21:
        a->local[op->a] = pop(a);
        break;
    case 0x22:
        a->local[op->a] = pop(a);
        push(a, a->local[op->a]);
        break;
    case 0x23:
        push(a, a->t->global[op->a]);
        break;
    case 0x24:
        a->t->global[op->a] = pop(a);
        break;
    case 0x41:
        push(a, (uint32_t)op->value);
        break;
    default:
        push(a, (uint64_t)op->value);
        break;
    }
}

static uint32_t run_one(struct activation *a, uint32_t at)
{
    const struct wasm_op *op = &a->t->m->op[at];
    uint8_t c = op->code;

    a->t->executed += wasm_op_cost(c);
    if (c <= 0x10)
        return run_control(a, at);
    if (c <= 0x24 || c == 0x41 || c == 0x42)
        run_variable(a, op);
    else if (c <= 0x3e)
        access_memory(a, op);
    else
        operate(a, c);
    return at + 1;
}

static bool call_function(struct interpreter *t, uint32_t function, const uint64_t *argument,
                          uint64_t *result)
{
    const struct wasm_function *f = &t->m->function[function];
    const struct wasm_type *type = &t->m->type[f->type];
    struct activation *a = calloc(1, sizeof *a);

    bug_on(!a);
    a->t = t;
    a->f = f;
    a->n_blocks = 1;
    a->block[0] = (struct block){f->first, 0, type->result, false};
    memcpy(a->local, argument, type->n_params * sizeof *argument);
    t->executed += 2 + f->n_locals + type->n_params;
    for (uint32_t at = f->first; !a->fault && at < f->first + f->n_ops;)
        at = run_one(a, at);
    *result = !a->fault && type->result != WASM_EMPTY ? pop(a) : 0;
    bool fine = !a->fault;
    free(a);
    return fine;
}

static void find_partners(struct interpreter *t)
{
    uint32_t open[WASM_NESTING_MAX + 1];
    unsigned n = 0;

    for (uint32_t i = 0; i < t->m->n_ops; i++) {
        uint8_t c = t->m->op[i].code;
        if (c == 0x02 || c == 0x03 || c == 0x04) {
            open[n++] = i;
        } else if (c == 0x05) {
            t->partner[open[n - 1]] = i;
            open[n - 1] = i;
        } else if (c == 0x0b && n) {
            t->partner[open[--n]] = i;
        }
    }
}

bool interpret_begin(struct interpreter *t, const struct wasm_module *m,
                     const struct program_host *host, unsigned n_counters, unsigned n_tables)
{
    memset(t, 0, sizeof *t);
    t->m = m;
    t->host = host;
    t->n_counters = n_counters;
    t->n_tables = n_tables;
    t->partner = calloc(m->n_ops + 1, sizeof *t->partner);
    if (!t->partner)
        return false;
    find_partners(t);
    for (unsigned i = 0; i < m->n_globals; i++)
        t->global[i] = m->global[i].type == WASM_I32 ? (uint32_t)m->global[i].value
                                                     : (uint64_t)m->global[i].value;
    for (unsigned i = 0; i < m->n_segments; i++)
        memcpy(t->memory + m->segment[i].offset, m->segment[i].data, m->segment[i].size);
    return true;
}

void interpret_end(struct interpreter *t)
{
    free(t->partner);
}

bool interpret_packet(struct interpreter *t, uint32_t p, uint32_t *verdict)
{
    uint64_t argument = p, result = 0;

    t->executed = 0;
    t->paid = wasm_cost(t->m);
    bool fine = t->m->prepare < 0 || call_function(t, (uint32_t)t->m->prepare, &argument, &result);
    argument = p;
    fine = fine && call_function(t, (uint32_t)t->m->packet, &argument, &result);
    bug_on(t->executed > t->paid);
    bug_on(fine && t->paid > WASM_COST_MAX);
    *verdict = (uint32_t)result;
    return fine;
}
