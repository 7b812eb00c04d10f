// SPDX-License-Identifier: BSD-3-Clause
// wasm_check.c - see wasm.h: no recursion, and a bound on the instructions of a call
//
// The cost of a function is the cost of its longest path, from its start to any point in it,
// without loops; calls are included at the cost of the called function. Each loop has its own
// price: the longest path from its head to any point in it, without inner loops. packet() pays its
// own cost, and each pass of a loop head pays the price of the loop. So a call never executes more
// than it has paid, and a limit on the sum bounds both.
#include <string.h>

#include "compiler/wasm_priv.h"

#define COST_MAX (1u << 30) // the sum of two fits

// Longest path to a point: its cost within the innermost loop around the point. Dead: unreachable.
struct way {
    uint32_t cost;
    bool dead;
};

struct frame {
    uint8_t code;
    struct way begin; // `if`: start of the other arm; loop: path to its head, in the loop around it
    struct way end;   // longest path to the label at its end
    uint32_t region;  // frame of the loop around it; 0 = the function
};

struct walk {
    struct wasm_module *m;
    struct wasm_refusal *why;
    int function;
    struct frame frame[WASM_NESTING_MAX + 1];
    uint32_t price[WASM_NESTING_MAX + 1]; // of a loop, by its frame; [0] = the function
    unsigned depth, region;
    struct way now;
};

static uint32_t add_cost(uint32_t a, uint32_t b)
{
    return a + b > COST_MAX ? COST_MAX : a + b;
}

static void longer(struct way *a, struct way b)
{
    if (b.dead)
        return;
    if (a->dead || b.cost > a->cost)
        *a = b;
}

// Leaves loops up to `region`; the path there is as long as it was at the head of the outermost
// loop left.
static struct way leave_to(const struct walk *w, unsigned region)
{
    struct way at = w->now;

    for (unsigned r = w->region; r != region && !at.dead; r = w->frame[r].region)
        at = w->frame[r].begin;
    return at;
}

static void jump(struct walk *w, uint32_t label)
{
    struct frame *f = &w->frame[w->depth - label];

    if (f->code != WASM_OP_LOOP) // a jump back to the head is covered by the loop's price
        longer(&f->end, leave_to(w, f->region));
}

static void pay(struct walk *w, uint32_t cost)
{
    w->now.cost = add_cost(w->now.cost, cost);
    if (!w->now.dead && w->now.cost > w->price[w->region])
        w->price[w->region] = w->now.cost;
}

static void open_block(struct walk *w, uint8_t code)
{
    struct frame *f = &w->frame[++w->depth];

    *f = (struct frame){.code = code, .begin = w->now, .end = {.dead = true}, .region = w->region};
    if (code != WASM_OP_LOOP)
        return;
    w->price[w->depth] = 0;
    w->region = w->depth;
    w->now.cost = 0;
    pay(w, wasm_op_cost(WASM_OP_LOOP));
}

static void close_block(struct walk *w, struct wasm_op *loop)
{
    struct frame *f = &w->frame[w->depth];

    if (f->code == WASM_OP_LOOP) {
        loop->value = w->price[w->depth];
        if (!w->now.dead)
            w->now = f->begin;
        w->region = f->region;
    } else {
        longer(&f->end, w->now);
        if (f->code == WASM_OP_IF) // no else
            longer(&f->end, f->begin);
        w->now = f->end;
    }
    w->depth--;
}

static void open_else(struct walk *w)
{
    struct frame *f = &w->frame[w->depth];

    longer(&f->end, w->now);
    w->now = f->begin;
    f->code = WASM_OP_ELSE;
}

static uint32_t call_cost(const struct wasm_module *m, uint32_t index)
{
    return index < m->n_imports ? wasm_known_import[m->import[index]].cost
                                : m->function[index - m->n_imports].cost;
}

static void jump_all(struct walk *w, const struct wasm_op *op)
{
    for (uint32_t i = 0; i < op->b; i++)
        jump(w, w->m->target[op->a + i]);
}

static void take_op(struct walk *w, struct wasm_op *op, struct wasm_op *loop)
{
    if (op->code != WASM_OP_LOOP)
        pay(w, wasm_op_cost(op->code));
    switch (op->code) {
    case WASM_OP_BLOCK:
    case WASM_OP_LOOP:
    case WASM_OP_IF:
        open_block(w, op->code);
        break;
    case WASM_OP_ELSE:
        open_else(w);
        break;
    case WASM_OP_END:
        close_block(w, loop);
        break;
    case WASM_OP_CALL:
        pay(w, call_cost(w->m, op->a));
        break;
    case WASM_OP_BR_IF:
        jump(w, op->a);
        break;
    case WASM_OP_BR:
        jump(w, op->a);
        w->now.dead = true;
        break;
    case WASM_OP_BR_TABLE:
        jump_all(w, op);
        w->now.dead = true;
        break;
    case WASM_OP_RETURN:
    case WASM_OP_UNREACHABLE:
        w->now.dead = true;
        break;
    default:
        break;
    }
}

static int price_is_payable(struct walk *w, const struct wasm_op *loop)
{
    return loop->value <= WASM_COST_MAX
               ? 0
               : wasm_refuse(w->m, w->why, w->function, loop,
                             "one round of this loop costs %lld; a packet may cost %u",
                             (long long)loop->value, WASM_COST_MAX);
}

// Computes the function's cost and the price of each loop; costs of called functions are known.
static int walk_function(struct wasm_module *m, int function, struct wasm_refusal *why)
{
    struct wasm_function *f = &m->function[function];
    struct walk w = {.m = m, .why = why, .function = function};
    uint32_t opened[WASM_NESTING_MAX + 1] = {0}; // instruction that opened each block
    int e = 0;

    w.frame[0] = (struct frame){.code = WASM_OP_BLOCK, .end = {.dead = true}};
    pay(&w, 2u + f->n_locals + m->type[f->type].n_params);
    for (uint32_t i = f->first; !e && i < f->first + f->n_ops; i++) {
        struct wasm_op *op = &m->op[i], *loop = &m->op[opened[w.depth]];
        if (op->code == WASM_OP_END && !w.depth) // end of the function
            break;
        bool ends_loop = op->code == WASM_OP_END && w.frame[w.depth].code == WASM_OP_LOOP;
        take_op(&w, op, loop);
        if (op->code == WASM_OP_BLOCK || op->code == WASM_OP_LOOP || op->code == WASM_OP_IF)
            opened[w.depth] = i;
        f->loops |= op->code == WASM_OP_LOOP;
        e = ends_loop ? price_is_payable(&w, loop) : 0;
    }
    f->cost = w.price[0];
    return e;
}

enum { UNSEEN, ON_THE_WAY, DONE };

static int visit(struct wasm_module *m, int function, struct wasm_refusal *why);

static int visit_call(struct wasm_module *m, int function, const struct wasm_op *op,
                      struct wasm_refusal *why)
{
    struct wasm_function *f = &m->function[function];
    int called = (int)op->a - (int)m->n_imports;

    if (called < 0)
        return 0;
    struct wasm_function *g = &m->function[called];
    if (g->state == ON_THE_WAY)
        return wasm_refuse(m, why, function, op,
                           "recursion: function %u is running already, and its end would not be "
                           "known",
                           op->a);
    int e = g->state == DONE ? 0 : visit(m, called, why);
    if (!e && g->depth + 1 >= WASM_CALLS_MAX)
        e = wasm_refuse(m, why, function, op, "more than %u functions in each other",
                        WASM_CALLS_MAX);
    if (f->depth < g->depth + 1)
        f->depth = (uint8_t)(g->depth + 1);
    f->loops |= g->loops;
    return e;
}

static int visit(struct wasm_module *m, int function, struct wasm_refusal *why)
{
    struct wasm_function *f = &m->function[function];
    int e = 0;

    f->state = ON_THE_WAY;
    for (uint32_t i = f->first; !e && i < f->first + f->n_ops; i++)
        if (m->op[i].code == WASM_OP_CALL)
            e = visit_call(m, function, &m->op[i], why);
    e = e ? e : walk_function(m, function, why);
    f->state = DONE;
    return e;
}

// prepare() has no loops, so its cost is fixed, and the rest of a packet's instructions is left to
// packet().
static int check_prepare(struct wasm_module *m, struct wasm_refusal *why)
{
    const struct wasm_function *f = &m->function[m->prepare];

    return f->loops ? wasm_refuse(m, why, m->prepare, NULL, "prepare() may not have a loop") : 0;
}

uint32_t wasm_cost(const struct wasm_module *m)
{
    return add_cost(m->function[m->packet].cost, m->prepare < 0 ? 0 : m->function[m->prepare].cost);
}

int wasm_check(struct wasm_module *m, struct wasm_refusal *why)
{
    int e = 0;

    for (unsigned i = 0; !e && i < m->n_functions; i++)
        if (m->function[i].state == UNSEEN)
            e = visit(m, (int)i, why);
    if (!e && m->prepare >= 0)
        e = check_prepare(m, why);
    if (!e && wasm_cost(m) > WASM_COST_MAX)
        e = wasm_refuse(m, why, m->packet, NULL,
                        "its longest way costs %u instructions, loops not counted%s; a packet may "
                        "cost %u",
                        wasm_cost(m), m->prepare < 0 ? "" : ", that of prepare() in it",
                        WASM_COST_MAX);
    return e;
}
