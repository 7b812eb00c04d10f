// SPDX-License-Identifier: BSD-3-Clause
// column.c - writes and reads the members of a struct by a table
//
// Each function walks the table once and treats each column by its kind. A number of any size
// passes through uint64_t; a negative one through its two's complement.
#include "restconf/column.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "config/leaf.h"
#include "yang/config_tree.h"

static const void *member_of(const struct column *c, const void *row)
{
    return (const char *)row + c->at;
}

static bool is_number(const struct column *c)
{
    return c->kind <= COLUMN_I64;
}

static uint64_t member_number(const struct column *c, const void *row)
{
    const void *at = member_of(c, row);

    if (c->kind == COLUMN_INT)
        return (uint64_t)(int64_t)__atomic_load_n((const int *)at, __ATOMIC_RELAXED);
    switch (c->size) {
    case 1: return __atomic_load_n((const uint8_t *)at, __ATOMIC_RELAXED);
    case 2: return __atomic_load_n((const uint16_t *)at, __ATOMIC_RELAXED);
    case 4: return __atomic_load_n((const uint32_t *)at, __ATOMIC_RELAXED);
    default: return __atomic_load_n((const uint64_t *)at, __ATOMIC_RELAXED);
    }
}

static uint64_t number_of(const struct column *c, const void *row)
{
    uint64_t v = member_number(c, row);

    return c->bit ? (v & c->bit) != 0 : v;
}

static const char *string_of(const struct column *c, const void *row)
{
    const void *at = member_of(c, row);

    return c->kind == COLUMN_CHARS ? at : *(const char *const *)at;
}

// --- JSON ----------------------------------------------------------------------------------------

static void write_number(struct jwrite *j, const struct column *c, uint64_t v)
{
    if (c->any && !v)
        return;
    if (c->words)
        jwrite_string(j, c->name, c->words[v]);
    else if (c->time)
        jwrite_time(j, c->name, v);
    else if (c->kind == COLUMN_BOOL || c->bit)
        jwrite_bool(j, c->name, v);
    else if (c->kind == COLUMN_I64)
        jwrite_i64(j, c->name, (int64_t)v);
    else if (c->wide || (c->kind == COLUMN_U64 && !c->narrow))
        jwrite_u64(j, c->name, v);
    else
        jwrite_int(j, c->name, (int64_t)v);
}

static void write_other(struct jwrite *j, const struct column *c, const void *row)
{
    switch ((enum column_kind)c->kind) {
    case COLUMN_MAC: jwrite_mac(j, c->name, member_of(c, row)); break;
    case COLUMN_IP: (c->any ? jwrite_ip_any : jwrite_ip)(j, c->name, member_of(c, row)); break;
    case COLUMN_LABELS: jwrite_labels(j, c->name, member_of(c, row)); break;
    case COLUMN_PREFIX: jwrite_prefix(j, c->name, member_of(c, row)); break;
    default: (c->any ? jwrite_string_any : jwrite_string)(j, c->name, string_of(c, row));
    }
}

void columns_write(struct jwrite *j, const struct column *c, const void *row)
{
    for (; c->name || c->help; c++) {
        if (!c->name)
            continue;
        if (is_number(c))
            write_number(j, c, number_of(c, row));
        else
            write_other(j, c, row);
    }
}

void columns_object(struct jwrite *j, const char *key, const struct column *c, const void *row)
{
    jwrite_begin(j, key, '{');
    columns_write(j, c, row);
    jwrite_end(j, '}');
}

void columns_list(struct jwrite *j, const char *key, const struct column *c, const void *rows,
                  size_t n, size_t size)
{
    jwrite_begin(j, key, '[');
    for (size_t i = 0; i < n; i++)
        columns_object(j, NULL, c, (const char *)rows + i * size);
    jwrite_end(j, ']');
}

// --- configuration -------------------------------------------------------------------------------

static uint64_t parse_number(const struct column *c, const char *value, uint64_t was)
{
    if (c->bit)
        return !strcmp(value, "true") ? was | c->bit : was & ~(uint64_t)c->bit;
    if (c->scaled)
        return leaf_scaled(value, c->scaled);
    for (unsigned i = 0; i < c->n_words; i++)
        if (!strcmp(c->words[i], value))
            return i;
    bug_on(c->words); // the schema allows only these
    return c->kind == COLUMN_BOOL ? !strcmp(value, "true") : strtoull(value, NULL, 10);
}

// A scaled number may be larger than a member of 32 bits.
static void set_number(const struct column *c, void *at, uint64_t v)
{
    switch (c->size) {
    case 1: *(uint8_t *)at = (uint8_t)v; break;
    case 2: *(uint16_t *)at = (uint16_t)v; break;
    case 4: *(uint32_t *)at = v < UINT32_MAX ? (uint32_t)v : UINT32_MAX; break;
    default: *(uint64_t *)at = v;
    }
}

// Leaves padding alone: rows are compared bytewise.
static void set_ip(struct ip_addr *a, const char *value)
{
    struct ip_addr parsed;

    bug_on(ip_parse(value, &parsed)); // the schema allows only addresses
    a->family = parsed.family;
    memcpy(a->b, parsed.b, sizeof a->b);
}

void columns_read(const struct lyd_node *first, const struct column *c, void *row)
{
    for (; c->name; c++) {
        const char *value = config_value(first, c->name);
        char *at = (char *)row + c->at;

        if (!value)
            continue;
        if (is_number(c))
            set_number(c, at, parse_number(c, value, member_number(c, row)));
        else if (c->kind == COLUMN_CHARS)
            snprintf(at, c->size, "%s", value);
        else if (c->kind == COLUMN_MAC)
            bug_on(text_parse_mac(value, (uint8_t *)at)); // checked by the schema
        else if (c->kind == COLUMN_PREFIX)
            bug_on(prefix_parse(value, (void *)at, false)); // the schema zeroes the host bits
        else
            set_ip((struct ip_addr *)(void *)at, value);
    }
}

// --- state kept over a stop ----------------------------------------------------------------------

static const char *saved_key_of(const struct column *c)
{
    return c->saved ? c->saved : c->name;
}

static json_t *save_text(const struct column *c, const void *row)
{
    char text[PREFIX_TEXT_MAX] = "";
    const struct ip_addr *ip = member_of(c, row);
    const struct prefix *prefix = member_of(c, row);

    switch ((enum column_kind)c->kind) {
    case COLUMN_IP: return json_string(ip->family ? ip_format(ip, text) : "");
    case COLUMN_PREFIX: return json_string(prefix->family ? prefix_format(prefix, text) : "");
    case COLUMN_MAC: bug_on(true); // no state has one
    default: return json_string(string_of(c, row));
    }
}

static json_t *save_column(const struct column *c, const void *row)
{
    if (!is_number(c))
        return save_text(c, row);
    if (c->words)
        return json_string(c->words[number_of(c, row)]);
    return json_integer((json_int_t)(number_of(c, row) & INT64_MAX));
}

json_t *columns_save(const struct column *c, const void *row)
{
    json_t *o = json_object();

    for (; c->name; c++)
        json_object_set_new(o, saved_key_of(c), save_column(c, row));
    return o;
}

static bool restore_text(const struct column *c, void *at, const char *text)
{
    if (c->kind == COLUMN_IP)
        return !*text || !ip_parse(text, at);
    if (c->kind == COLUMN_PREFIX)
        return !*text || !prefix_parse_any(text, at);
    bug_on(c->kind != COLUMN_CHARS);
    return snprintf(at, c->size, "%s", text) < (int)c->size;
}

static bool restore_number(const struct column *c, void *at, const json_t *saved)
{
    json_int_t v = json_is_integer(saved) ? json_integer_value(saved)
                   : !saved && c->later   ? 0
                                          : -1;

    for (unsigned i = 0; c->words && i < c->n_words; i++)
        if (json_is_string(saved) && !strcmp(c->words[i], json_string_value(saved)))
            v = i;
    if (v < 0 || (c->size < 8 && v >> 8 * c->size) || (c->n_words && v >= c->n_words))
        return false;
    set_number(c, at, (uint64_t)v);
    return true;
}

bool columns_restore(const json_t *saved, const struct column *c, void *row)
{
    for (; c->name; c++) {
        const json_t *of = json_object_get(saved, saved_key_of(c));
        void *at = (char *)row + c->at;

        if (is_number(c) ? !restore_number(c, at, of)
                         : !json_is_string(of) || !restore_text(c, at, json_string_value(of)))
            return false;
    }
    return true;
}

// --- metrics -------------------------------------------------------------------------------------

static bool ends_with_word(const char *name, const char *word)
{
    size_t n = strlen(name), w = strlen(word);

    return n >= w && !strcmp(name + n - w, word) && (n == w || name[n - w - 1] == '-');
}

static void name_family(char *name, size_t size, const char *prefix, const struct column *c)
{
    const char *leaf = c->family ? c->family : c->name;
    const char *unit = c->family || ends_with_word(leaf, c->unit) ? "" : c->unit;

    snprintf(name, size, "%s%s%s%s%s", prefix, *prefix ? "_" : "", leaf, *unit ? "_" : "", unit);
    for (char *p = name; *p; p++)
        *p = *p == '-' ? '_' : *p;
}

const struct column *column_family(struct metrics *m, const char *prefix, const struct column *c)
{
    char name[METRIC_NAME_MAX];

    for (; !c->help; c++)
        if (!c->name)
            return NULL;
    name_family(name, sizeof name, prefix, c);
    metric_family(m, c->type, name, c->unit, c->help);
    return c;
}

void column_metric(struct metrics *m, const struct column *c, const void *row, ...)
{
    uint64_t v = number_of(c, row);
    va_list labels;

    if (c->any && !v)
        return;
    va_start(labels, row);
    if (c->kind == COLUMN_INT || c->kind == COLUMN_I64)
        metric_real_of(m, (double)(int64_t)v, labels);
    else if (c->per_unit > 0)
        metric_real_of(m, (double)v / c->per_unit, labels);
    else
        metric_u64_of(m, v, labels);
    va_end(labels);
}
