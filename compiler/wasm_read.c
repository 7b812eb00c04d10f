// SPDX-License-Identifier: BSD-3-Clause
// wasm_read.c - reads a module's sections and their entries (wasm.h); wasm_body.c reads
// instructions
//
// Every byte comes from wasm_byte(), which sets `broken` behind the end and returns 0, so no reader
// runs over; a number may not have more bits than its type. Each count has a maximum, and every
// array is of that size. A refusal names the byte, or the function by its number and, if the module
// has one, its name.
#include "compiler/wasm.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "compiler/wasm_priv.h"

uint8_t wasm_byte(struct wasm_reader *r)
{
    if (r->at < r->end)
        return r->m->bytes[r->at++];
    r->broken = true;
    return 0;
}

// LEB128 of at most `bits` bits; a larger number is broken.
static uint64_t leb(struct wasm_reader *r, unsigned bits, bool is_signed)
{
    uint64_t v = 0;
    unsigned shift = 0;
    uint8_t b;

    do {
        b = wasm_byte(r);
        v |= (uint64_t)(b & 0x7f) << shift;
        shift += 7;
    } while (b & 0x80 && shift < bits && !r->broken);
    if (b & 0x80)
        r->broken = true;
    if (shift > bits) { // last byte: excess bits are zero, or copies of the sign
        unsigned used = 7 - (shift - bits);
        uint8_t rest = (uint8_t)((b & 0x7f) >> (is_signed ? used - 1 : used));
        uint8_t ones = (uint8_t)(0x7f >> (used - 1));
        if (rest && !(is_signed && rest == ones))
            r->broken = true;
    }
    if (is_signed && shift < 64 && b & 0x40)
        v |= ~0ull << shift;
    return v;
}

uint32_t wasm_u32(struct wasm_reader *r)
{
    return (uint32_t)leb(r, 32, false);
}

int64_t wasm_signed(struct wasm_reader *r, unsigned bits)
{
    return (int64_t)leb(r, bits, true);
}

// Names are only for refusals, so errors in them are ignored.
static void find_name(const struct wasm_module *m, uint32_t function, char *name, size_t n)
{
    struct wasm_reader r = {.m = (struct wasm_module *)m, .at = m->names_at, .end = m->names_end};

    *name = 0;
    for (uint32_t left = r.at < r.end ? wasm_u32(&r) : 0; left && !r.broken; left--) {
        uint32_t index = wasm_u32(&r), size = wasm_u32(&r);
        if (r.broken || size > r.end - r.at)
            return;
        for (uint32_t i = 0; index == function && i < size && i + 1 < n; i++) {
            uint8_t c = m->bytes[r.at + i];
            name[i] = c > ' ' && c < 0x7f ? (char)c : '?';
            name[i + 1] = 0;
        }
        r.at += size;
    }
}

int wasm_refuse(const struct wasm_module *m, struct wasm_refusal *why, int function,
                const struct wasm_op *op, const char *fmt, ...)
{
    char name[33] = "", place[48] = "";
    va_list args;
    int n = 0;

    if (op)
        snprintf(place, sizeof place, ", byte 0x%x (%s)", op->at, wasm_op_name(op->code));
    if (function >= 0) {
        uint32_t index = m->n_imports + (uint32_t)function;
        find_name(m, index, name, sizeof name);
        n = snprintf(why->text, sizeof why->text, "function %u%s%s%s%s: ", index, *name ? " (" : "",
                     name, *name ? ")" : "", place);
    }
    va_start(args, fmt);
    vsnprintf(why->text + n, sizeof why->text - (size_t)n, fmt, args);
    va_end(args);
    return -EINVAL;
}

static int broken(const struct wasm_reader *r, const char *what)
{
    return wasm_refuse(r->m, r->why, -1, NULL, "byte 0x%zx: %s is not well-formed", r->at, what);
}

static int too_many(const struct wasm_reader *r, const char *what, unsigned max)
{
    return wasm_refuse(r->m, r->why, -1, NULL, "more than %u %s", max, what);
}

// Reads the number of a section's entries.
static int read_count(struct wasm_reader *r, unsigned *n, unsigned max, const char *what)
{
    uint32_t v = wasm_u32(r);

    if (r->broken)
        return broken(r, what);
    if (v > max)
        return too_many(r, what, max);
    *n = v;
    return 0;
}

static bool is_value(uint8_t type)
{
    return type == WASM_I32 || type == WASM_I64;
}

static int read_type(struct wasm_reader *r, struct wasm_type *t)
{
    uint8_t form = wasm_byte(r);
    uint32_t n = wasm_u32(r);

    if (r->broken || form != 0x60)
        return broken(r, "a function type");
    if (n > WASM_PARAMS_MAX)
        return too_many(r, "parameters of a function", WASM_PARAMS_MAX);
    t->n_params = (uint8_t)n;
    for (uint32_t i = 0; i < n; i++) {
        t->param[i] = wasm_byte(r);
        if (!is_value(t->param[i]))
            return wasm_refuse(r->m, r->why, -1, NULL, "byte 0x%zx: a parameter that is no integer",
                               r->at - 1);
    }
    n = wasm_u32(r);
    t->result = n == 1 ? wasm_byte(r) : WASM_EMPTY;
    if (r->broken || n > 1 || (n && !is_value(t->result)))
        return wasm_refuse(r->m, r->why, -1, NULL, "byte 0x%zx: a result that is not one integer",
                           r->at);
    return 0;
}

static int read_types(struct wasm_reader *r)
{
    int e = read_count(r, &r->m->n_types, WASM_TYPES_MAX, "types");

    for (unsigned i = 0; !e && i < r->m->n_types; i++)
        e = read_type(r, &r->m->type[i]);
    return e;
}

const struct wasm_known_import wasm_known_import[IMPORTS] = {
    [IMPORT_COUNT] = {"count", {{WASM_I32, WASM_I64}, 2, WASM_EMPTY}, 4},
    [IMPORT_GET] = {"get", {{WASM_I32, WASM_I64}, 2, WASM_I64}, 64},
    [IMPORT_PUT] = {"put", {{WASM_I32, WASM_I64, WASM_I64}, 3, WASM_I32}, 96},
    [IMPORT_PREFETCH] = {"prefetch", {{WASM_I32, WASM_I64}, 2, WASM_EMPTY}, 16},
    [IMPORT_LOG] = {"log", {{WASM_I32, WASM_I64}, 2, WASM_EMPTY}, 16},
    [IMPORT_CHARGE] = {"", {{WASM_I32}, 1, WASM_EMPTY}, 0},
};

static bool type_is(const struct wasm_type *a, const struct wasm_type *b)
{
    return a->n_params == b->n_params && a->result == b->result &&
           !memcmp(a->param, b->param, a->n_params);
}

struct name {
    const uint8_t *s;
    uint32_t n;
};

static struct name read_name(struct wasm_reader *r)
{
    struct name w = {.n = wasm_u32(r)};

    if (r->broken || w.n > r->end - r->at) {
        r->broken = true;
        return (struct name){0};
    }
    w.s = r->m->bytes + r->at;
    r->at += w.n;
    return w;
}

static bool name_is(const struct name *w, const char *s)
{
    return w->s && w->n == strlen(s) && !memcmp(w->s, s, w->n);
}

static int find_import(struct wasm_reader *r, const struct name *name, uint32_t type,
                       uint8_t *found)
{
    for (uint8_t i = 0; i < IMPORT_CHARGE; i++) {
        if (!name_is(name, wasm_known_import[i].name))
            continue;
        if (type >= r->m->n_types || !type_is(&r->m->type[type], &wasm_known_import[i].type))
            return wasm_refuse(r->m, r->why, -1, NULL, "import kamuee.%s: of another type",
                               wasm_known_import[i].name);
        *found = i;
        return 0;
    }
    return wasm_refuse(r->m, r->why, -1, NULL,
                       "byte 0x%zx: an import that is not kamuee.count, get, put, prefetch or log",
                       r->at);
}

static int read_import(struct wasm_reader *r, uint8_t *found)
{
    struct name module = read_name(r), name = read_name(r);
    uint8_t kind = wasm_byte(r);
    uint32_t type = wasm_u32(r);

    if (r->broken)
        return broken(r, "an import");
    if (kind || !name_is(&module, "kamuee"))
        return wasm_refuse(r->m, r->why, -1, NULL, "import %.*s of %.*s: %s",
                           (int)(name.n < 32 ? name.n : 32), name.s,
                           (int)(module.n < 32 ? module.n : 32), module.s,
                           "only functions of `kamuee` (an undefined function of the source?)");
    return find_import(r, &name, type, found);
}

static int read_imports(struct wasm_reader *r)
{
    struct wasm_module *m = r->m;
    unsigned n = 0;
    int e = read_count(r, &n, IMPORT_CHARGE, "imports");

    for (unsigned i = 0; !e && i < n; i++) {
        e = read_import(r, &m->import[i]);
        for (unsigned j = 0; !e && j < i; j++)
            if (m->import[i] == m->import[j])
                e = wasm_refuse(m, r->why, -1, NULL, "an import twice");
    }
    m->n_imports = e ? 0 : n;
    return e;
}

static int read_functions(struct wasm_reader *r)
{
    struct wasm_module *m = r->m;
    int e = read_count(r, &m->n_functions, WASM_FUNCTIONS_MAX, "functions");

    for (unsigned i = 0; !e && i < m->n_functions; i++) {
        uint32_t type = wasm_u32(r);
        memset(&m->function[i], 0, sizeof m->function[i]);
        m->function[i].type = (uint8_t)type;
        if (r->broken || type >= m->n_types)
            e = broken(r, "a function's type");
    }
    if (e)
        m->n_functions = 0;
    return e;
}

static int read_memory(struct wasm_reader *r)
{
    uint32_t n = wasm_u32(r);
    uint8_t flags = n == 1 ? wasm_byte(r) : 1;
    uint32_t min = n == 1 ? wasm_u32(r) : 0, max = n == 1 && flags == 1 ? wasm_u32(r) : 1;

    if (r->broken)
        return broken(r, "the memory");
    if (n != 1 || flags > 1 || min != 1 || max != 1)
        return wasm_refuse(r->m, r->why, -1, NULL,
                           "memory: exactly one page of 64 KiB (wasm-ld --initial-memory=65536 "
                           "--max-memory=65536)");
    r->m->memory = true;
    return 0;
}

// Reads `i32.const N end`, or i64.
static int read_constant(struct wasm_reader *r, uint8_t type, int64_t *value)
{
    uint8_t op = wasm_byte(r);

    *value = wasm_signed(r, op == WASM_OP_I64_CONST ? 64 : 32);
    if (r->broken || op != (type == WASM_I64 ? WASM_OP_I64_CONST : WASM_OP_I32_CONST) ||
        wasm_byte(r) != WASM_OP_END || r->broken)
        return wasm_refuse(r->m, r->why, -1, NULL,
                           "byte 0x%zx: a first value that is not one constant", r->at);
    return 0;
}

static int read_globals(struct wasm_reader *r)
{
    struct wasm_module *m = r->m;
    int e = read_count(r, &m->n_globals, WASM_GLOBALS_MAX, "globals");

    for (unsigned i = 0; !e && i < m->n_globals; i++) {
        struct wasm_global *g = &m->global[i];
        g->type = wasm_byte(r);
        uint8_t change = wasm_byte(r);
        if (r->broken || !is_value(g->type) || change > 1)
            return wasm_refuse(m, r->why, -1, NULL, "byte 0x%zx: a global that is no integer",
                               r->at);
        g->mutable = change;
        e = read_constant(r, g->type, &g->value);
    }
    return e;
}

static int take_export(struct wasm_reader *r, uint32_t index, uint8_t result, const char *is,
                       int *function)
{
    const struct wasm_type type = {{WASM_I32}, 1, result};
    struct wasm_module *m = r->m;

    if (index < m->n_imports || index - m->n_imports >= m->n_functions ||
        !type_is(&m->type[m->function[index - m->n_imports].type], &type))
        return wasm_refuse(m, r->why, -1, NULL, "export: not %s", is);
    *function = (int)(index - m->n_imports);
    return 0;
}

static int read_exports(struct wasm_reader *r)
{
    unsigned n = 0;
    int e = read_count(r, &n, 1024, "exports");

    for (unsigned i = 0; !e && i < n; i++) {
        struct name name = read_name(r);
        uint8_t kind = wasm_byte(r);
        uint32_t index = wasm_u32(r);
        if (r->broken)
            return broken(r, "an export");
        if (!kind && name_is(&name, "packet"))
            e = take_export(r, index, WASM_I32, "uint32_t packet(struct kamuee_packet *)",
                            &r->m->packet);
        if (!kind && name_is(&name, "prepare"))
            e = take_export(r, index, WASM_EMPTY, "void prepare(const struct kamuee_packet *)",
                            &r->m->prepare);
    }
    return e;
}

static int read_segment(struct wasm_reader *r, struct wasm_segment *s)
{
    uint32_t flags = wasm_u32(r);
    int64_t offset = 0;

    if (r->broken || flags)
        return wasm_refuse(r->m, r->why, -1, NULL, "byte 0x%zx: data that are not active", r->at);
    int e = read_constant(r, WASM_I32, &offset);
    struct name data = e ? (struct name){0} : read_name(r);
    if (!e && r->broken)
        return broken(r, "a data segment");
    s->offset = (uint32_t)offset;
    s->size = data.n;
    s->data = data.s;
    if (!e && (s->offset > r->data_end || s->size > r->data_end - s->offset))
        return wasm_refuse(r->m, r->why, -1, NULL, "data at %u, %u bytes: memory has %u for them",
                           s->offset, s->size, r->data_end);
    return e;
}

static int read_data(struct wasm_reader *r)
{
    struct wasm_module *m = r->m;
    int e = m->memory ? 0 : wasm_refuse(m, r->why, -1, NULL, "data without a memory");

    e = e ? e : read_count(r, &m->n_segments, WASM_SEGMENTS_MAX, "data segments");
    for (unsigned i = 0; !e && i < m->n_segments; i++)
        e = read_segment(r, &m->segment[i]);
    if (e)
        m->n_segments = 0;
    return e;
}

static int read_custom(struct wasm_reader *r)
{
    struct name name = read_name(r);

    if (r->broken)
        return broken(r, "a custom section");
    if (name_is(&name, "kamuee")) {
        if (r->m->declared)
            return wasm_refuse(r->m, r->why, -1, NULL, "declared: KAMUEE_DECLARE only once");
        r->m->declared = r->m->bytes + r->at;
        r->m->declared_size = (uint32_t)(r->end - r->at);
    }
    r->at = r->end;
    return 0;
}

static int read_start(struct wasm_reader *r)
{
    return wasm_refuse(r->m, r->why, -1, NULL,
                       "a start function: a program runs only when a packet comes");
}

// Tables and elements are only for indirect calls, which are refused: skip them.
static int pass_over(struct wasm_reader *r)
{
    r->at = r->end;
    return 0;
}

static const struct section {
    int (*read)(struct wasm_reader *r);
    uint8_t order; // ascending, each once; custom sections anywhere
} sections[] = {
    {read_custom, 0},     {read_types, 1},   {read_imports, 2}, {read_functions, 3}, {pass_over, 4},
    {read_memory, 5},     {read_globals, 6}, {read_exports, 7}, {read_start, 8},     {pass_over, 9},
    {wasm_read_code, 11}, {read_data, 12},   {pass_over, 10},
};

static int read_section(struct wasm_reader *r, uint8_t *last)
{
    uint8_t id = wasm_byte(r);
    uint32_t size = wasm_u32(r);
    size_t end = r->end;

    if (r->broken || size > r->end - r->at || id >= sizeof sections / sizeof *sections)
        return broken(r, "a section");
    if (id && sections[id].order <= *last)
        return wasm_refuse(r->m, r->why, -1, NULL, "byte 0x%zx: a section out of order", r->at);
    if (id)
        *last = sections[id].order;
    r->end = r->at + size;
    int e = sections[id].read(r);
    if (!e && (r->broken || r->at != r->end))
        e = broken(r, "a section's end");
    r->end = end;
    return e;
}

// The name section comes last, but refusals in earlier sections need it.
static void find_names(struct wasm_reader r)
{
    while (r.at < r.end && !r.broken) {
        uint8_t id = wasm_byte(&r);
        uint32_t size = wasm_u32(&r);
        if (r.broken || size > r.end - r.at)
            return;
        struct wasm_reader in = r;
        in.end = r.at + size;
        r.at += size;
        struct name name = id ? (struct name){0} : read_name(&in);
        while (name_is(&name, "name") && in.at < in.end && !in.broken) {
            uint8_t kind = wasm_byte(&in);
            size = wasm_u32(&in);
            if (in.broken || size > in.end - in.at)
                return;
            if (kind == 1) {
                r.m->names_at = in.at;
                r.m->names_end = in.at + size;
            }
            in.at += size;
        }
    }
}

static void begin_module(struct wasm_module *m, const uint8_t *bytes, size_t size)
{
    m->bytes = bytes;
    m->size = size;
    m->n_types = m->n_imports = m->n_functions = m->n_bodies = m->n_globals = 0;
    m->n_segments = m->n_ops = m->n_targets = 0;
    m->packet = m->prepare = -1;
    m->memory = false;
    m->declared = NULL;
    m->declared_size = 0;
    m->names_at = m->names_end = 0;
}

int wasm_read(struct wasm_module *m, const uint8_t *bytes, size_t size, uint32_t data_end,
              struct wasm_refusal *why)
{
    struct wasm_reader r = {m, why, 8, size, data_end, false};
    uint8_t last = 0;
    int e = 0;

    begin_module(m, bytes, size);
    if (size > WASM_BYTES_MAX)
        return wasm_refuse(m, why, -1, NULL, "more than %u bytes", WASM_BYTES_MAX);
    if (size < 8 || memcmp(bytes, "\0asm\1\0\0\0", 8))
        return wasm_refuse(m, why, -1, NULL, "not a WebAssembly module of version 1");
    find_names(r);
    while (!e && r.at < r.end)
        e = read_section(&r, &last);
    if (!e && m->n_bodies != m->n_functions)
        e = wasm_refuse(m, why, -1, NULL, "functions without code");
    if (!e && m->packet < 0)
        e = wasm_refuse(m, why, -1, NULL, "no function packet() is exported");
    if (!e && !m->memory)
        e = wasm_refuse(m, why, -1, NULL, "no memory");
    return e;
}
