// SPDX-License-Identifier: BSD-3-Clause
// wasm_write.c - writes the module for wabt, with a charge at each loop's head (wasm.h)
//
// It writes from the structures that wasm_read() has filled, never from the bytes, so nothing
// unread can pass. All known imports come first, in a fixed order, and functions are numbered
// behind them; calls are renumbered accordingly. The charge is a call of an import with the cost of
// one round.
#include <string.h>

#include "compiler/wasm_priv.h"

static void put_byte(struct text *t, uint8_t b)
{
    text_append(t, &b, 1);
}

static void put_u32(struct text *t, uint32_t v)
{
    do {
        put_byte(t, (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0)));
        v >>= 7;
    } while (v);
}

static void put_signed(struct text *t, int64_t v)
{
    bool more = true;

    while (more) {
        uint8_t b = (uint8_t)(v & 0x7f);
        v >>= 7;
        more = !((v == 0 && !(b & 0x40)) || (v == -1 && b & 0x40));
        put_byte(t, (uint8_t)(b | (more ? 0x80 : 0)));
    }
}

static void put_name(struct text *t, const char *s)
{
    put_u32(t, (uint32_t)strlen(s));
    text_append(t, s, strlen(s));
}

static void put_section(struct text *out, uint8_t id, struct text *body)
{
    put_byte(out, id);
    put_u32(out, (uint32_t)body->n);
    text_append(out, body->s ? body->s : "", body->n);
    text_free(body);
}

static void put_type(struct text *t, const struct wasm_type *type)
{
    put_byte(t, 0x60);
    put_u32(t, type->n_params);
    text_append(t, type->param, type->n_params);
    put_u32(t, type->result != WASM_EMPTY);
    if (type->result != WASM_EMPTY)
        put_byte(t, type->result);
}

// Writes the program's types, then the types of the imports in import order.
static void put_types_and_imports(const struct wasm_module *m, unsigned imports, struct text *out)
{
    struct text t = {0};

    put_u32(&t, m->n_types + imports);
    for (unsigned i = 0; i < m->n_types; i++)
        put_type(&t, &m->type[i]);
    for (unsigned i = 0; i < imports; i++)
        put_type(&t, &wasm_known_import[i].type);
    put_section(out, 1, &t);
    put_u32(&t, imports);
    for (unsigned i = 0; i < imports; i++) {
        put_name(&t, "kamuee");
        put_name(&t, i == IMPORT_CHARGE ? "charge" : wasm_known_import[i].name);
        put_byte(&t, 0);
        put_u32(&t, m->n_types + i);
    }
    put_section(out, 2, &t);
}

static void put_functions_and_memory(const struct wasm_module *m, struct text *out)
{
    static const uint8_t one_page[] = {1, 1, 1, 1};
    struct text t = {0};

    put_u32(&t, m->n_functions);
    for (unsigned i = 0; i < m->n_functions; i++)
        put_u32(&t, m->function[i].type);
    put_section(out, 3, &t);
    text_append(&t, one_page, sizeof one_page);
    put_section(out, 5, &t);
}

static void put_constant(struct text *t, uint8_t type, int64_t value)
{
    put_byte(t, type == WASM_I64 ? WASM_OP_I64_CONST : WASM_OP_I32_CONST);
    put_signed(t, value);
}

static void put_globals(const struct wasm_module *m, struct text *out)
{
    struct text t = {0};

    put_u32(&t, m->n_globals);
    for (unsigned i = 0; i < m->n_globals; i++) {
        const struct wasm_global *g = &m->global[i];
        put_byte(&t, g->type);
        put_byte(&t, g->mutable);
        put_constant(&t, g->type, g->value);
        put_byte(&t, WASM_OP_END);
    }
    put_section(out, 6, &t);
}

static void put_export(struct text *t, const char *name, uint32_t function)
{
    put_name(t, name);
    put_byte(t, 0);
    put_u32(t, function);
}

static void put_exports(const struct wasm_module *m, unsigned imports, struct text *out)
{
    struct text t = {0};

    put_u32(&t, m->prepare < 0 ? 1 : 2);
    put_export(&t, "packet", imports + (uint32_t)m->packet);
    if (m->prepare >= 0)
        put_export(&t, "prepare", imports + (uint32_t)m->prepare);
    put_section(out, 7, &t);
}

static uint32_t moved(const struct wasm_module *m, unsigned imports, uint32_t function)
{
    return function < m->n_imports ? m->import[function] : function - m->n_imports + imports;
}

static void put_charge(struct text *t, int64_t price)
{
    put_constant(t, WASM_I32, price);
    put_byte(t, WASM_OP_CALL);
    put_u32(t, IMPORT_CHARGE);
}

static void put_op(const struct wasm_module *m, unsigned imports, const struct wasm_op *op,
                   struct text *t)
{
    put_byte(t, op->code);
    switch (wasm_op_immediate(op->code)) {
    case IMM_BLOCK:
        put_byte(t, op->type);
        break;
    case IMM_TABLE:
        put_u32(t, op->b - 1);
        for (uint32_t i = 0; i < op->b; i++)
            put_u32(t, m->target[op->a + i]);
        break;
    case IMM_FUNCTION:
        put_u32(t, moved(m, imports, op->a));
        break;
    case IMM_LABEL:
    case IMM_LOCAL:
    case IMM_GLOBAL:
        put_u32(t, op->a);
        break;
    case IMM_MEMORY:
        put_u32(t, op->align);
        put_u32(t, op->a);
        break;
    case IMM_I32:
    case IMM_I64:
        put_signed(t, op->value);
        break;
    case IMM_NONE:
    case IMM_UNKNOWN:
        break;
    }
    if (op->code == WASM_OP_LOOP && imports > IMPORT_CHARGE)
        put_charge(t, op->value);
}

static void put_body(const struct wasm_module *m, unsigned imports, const struct wasm_function *f,
                     struct text *out)
{
    struct text t = {0};

    put_u32(&t, f->n_locals);
    for (unsigned i = 0; i < f->n_locals; i++) {
        put_u32(&t, 1);
        put_byte(&t, f->local[i]);
    }
    for (uint32_t i = f->first; i < f->first + f->n_ops; i++)
        put_op(m, imports, &m->op[i], &t);
    put_u32(out, (uint32_t)t.n);
    text_append(out, t.s, t.n);
    text_free(&t);
}

static void put_code(const struct wasm_module *m, unsigned imports, struct text *out)
{
    struct text t = {0};

    put_u32(&t, m->n_functions);
    for (unsigned i = 0; i < m->n_functions; i++)
        put_body(m, imports, &m->function[i], &t);
    put_section(out, 10, &t);
}

static void put_data(const struct wasm_module *m, struct text *out)
{
    struct text t = {0};

    put_u32(&t, m->n_segments);
    for (unsigned i = 0; i < m->n_segments; i++) {
        const struct wasm_segment *s = &m->segment[i];
        put_u32(&t, 0);
        put_constant(&t, WASM_I32, (int32_t)s->offset);
        put_byte(&t, WASM_OP_END);
        put_u32(&t, s->size);
        text_append(&t, s->data, s->size);
    }
    put_section(out, 11, &t);
}

void wasm_write(const struct wasm_module *m, bool charged, struct text *out)
{
    static const uint8_t head[] = "\0asm\1\0\0";

    unsigned imports = charged ? IMPORTS : IMPORT_CHARGE;

    text_append(out, head, 8);
    put_types_and_imports(m, imports, out);
    put_functions_and_memory(m, out);
    put_globals(m, out);
    put_exports(m, imports, out);
    put_code(m, imports, out);
    put_data(m, out);
}
