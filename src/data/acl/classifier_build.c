// SPDX-License-Identifier: BSD-3-Clause
// classifier_build.c - builds a classifier from all rules of a family (classifier.h)
//
// list.c calls classifier_new, which decides in this order: prefix rules, set rules, tuples,
// prefilter. Then it allocates all memory at once and fills it. Lanes come later, from the memory
// that both families' classifiers leave.
#include "acl/classifier_build.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "acl/lane_rules.h"
#include "acl/pages.h"
#include "acl/prefix_rules.h"
#include "acl/rule.h"
#include "base/hash.h"

#define LEAST_RULES 64u
#define FILTER_BITS 10u // per key, at least

// --- memory ---

struct layout {
    unsigned filter_log, head_log;                             // of words
    uint32_t units;                                            // entries that the arena holds
    size_t bitmap, filter, head, tuple_index[2], block, bytes; // bitmap: 0 = none
};

static unsigned log2_up(uint64_t n)
{
    return n <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(n - 1);
}

static uint32_t room_for(uint32_t rules)
{
    return (rules < LEAST_RULES ? LEAST_RULES : rules) + rules / 8;
}

static struct layout layout_of(uint8_t family, uint32_t rules, uint64_t keys,
                               const uint8_t index_log[2])
{
    struct layout l = {.filter_log = log2_up(keys * FILTER_BITS / 32),
                       .head_log = log2_up(rules) + 1};
    size_t unit = family == ACL_IP4 ? sizeof(struct entry4) : sizeof(struct entry6);

    // A change rewrites a whole block before the old one is freed, so there is a quarter more, and
    // some.
    l.units = rules + rules / 4 + 64;
    l.filter = line_up(sizeof(struct classifier));
    if (family == ACL_IP4 && rules > room_for(WHOLE_LANES)) {
        l.bitmap = l.filter;
        l.filter += 2 * BITMAP_WORDS * sizeof(uint32_t);
    }
    l.head = l.filter + (sizeof(uint32_t) << l.filter_log);
    l.tuple_index[0] = line_up(l.head + (sizeof(uint32_t) << l.head_log));
    l.tuple_index[1] = line_up(l.tuple_index[0] + (sizeof(uint32_t) << index_log[0]));
    l.block = line_up(l.tuple_index[1] + (sizeof(uint32_t) << index_log[1]));
    l.bytes = l.block + l.units * unit;
    return l;
}

static const uint8_t small_indexes[2] = {4, 4};

static size_t tuples_need(uint8_t family, uint32_t rules)
{
    // a guess: addresses are decisive
    const uint8_t tuple_index = (uint8_t)log2_up(rules < 1024       ? 1024
                                                 : rules < 1u << 16 ? rules
                                                                    : 1u << 16);
    const uint8_t index_log[2] = {tuple_index, tuple_index};

    return layout_of(family, room_for(rules), room_for(rules), index_log).bytes;
}

static void count_rules_by_prefix(const struct acl_rule *r, uint8_t family, uint32_t count[2])
{
    unsigned side;

    if (rule_is_by_prefix(r, family, &side))
        count[side]++;
}

size_t classifier_need(uint8_t family, const struct acl_rule *r, size_t n)
{
    uint32_t rules = 0, by_prefix[2] = {0, 0};

    for (size_t i = 0; i < n; i++) {
        rules += (r[i].families & family) != 0;
        count_rules_by_prefix(&r[i], family, by_prefix);
    }
    struct prefix_rules_plan plan = prefix_rules_plan(by_prefix, rules, family, 0);
    return rules
               ? tuples_need(family, rules - plan.rules[0] - plan.rules[1]) +
                     prefix_rules_need(&plan) + (rules <= WHOLE_LANES ? lane_rules_need(family) : 0)
               : 0;
}

uint64_t classifier_bytes(const struct classifier *c)
{
    uint64_t bytes = c->bytes;

    for (unsigned i = 0; i < c->n_prefix_tables; i++)
        bytes += prefix_rules_bytes(c->prefix_table[i]);
    return bytes + (c->lanes ? c->lanes->bytes : 0);
}

uint64_t classifier_writer_bytes(const struct classifier *c)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < c->n_prefix_tables; i++)
        bytes += prefix_rules_writer_bytes(c->prefix_table[i]);
    return bytes;
}

static void prefix_tables_free(struct classifier *c)
{
    for (unsigned i = 0; i < c->n_prefix_tables; i++)
        prefix_rules_free(c->prefix_table[i]);
    c->n_prefix_tables = 0;
}

void classifier_free(struct classifier *c)
{
    if (!c)
        return;
    prefix_tables_free(c);
    lane_rules_reclaim(&c->lanes, UINT64_MAX);
    lane_rules_reclaim(&c->old_lanes, UINT64_MAX);
    vec_free(&c->garbage);
    pages_unmap(c, c->bytes);
}

// A classifier without filter, heads and blocks, for choosing tuples and side filters; heads count
// rules meanwhile.
static void classifier_draft(struct classifier *c, const struct acl_config *cfg, uint8_t family)
{
    *c = (struct classifier){.family = family,
                             .n_levels = {1, 1},
                             .n_tuples = 1,
                             .least = UINT32_MAX,
                             .lanes_due = true,
                             .set = cfg->set,
                             .tuple_index = {{.level = INDEX_NONE}, {.level = INDEX_NONE}}};
    // takes any rule
    c->tuple[0] =
        (struct tuple){.set = {INDEX_NONE, INDEX_NONE}, .side_filter = {INDEX_NONE, INDEX_NONE}};
    if (getrandom(c->secret, sizeof c->secret, 0) != sizeof c->secret)
        for (unsigned i = 0; i < 4; i++)
            c->secret[i / 2][i % 2] = hash_mix64((uintptr_t)c + i);
}

// --- building ---

static unsigned head_count(const struct classifier *c, uint32_t head)
{
    return c->head[head];
}

// Turns rules that check only address sets into set rules, up to SET_RULES_MAX.
static void set_rules_collect(struct classifier *c, const struct classifier_rules *r,
                              uint8_t *tuple)
{
    for (uint32_t i = 0; i < r->n && c->n_set_rules < SET_RULES_MAX; i++) {
        const struct acl_rule *rule = &r->rule[r->slot[i]];
        const uint16_t set[2] = {rule->src.set, rule->dst.set};
        struct set_rule *b = &c->set_rule[c->n_set_rules];

        if (!(rule->families & c->family) || !rule_is_by_sets(rule))
            continue;
        *b = (struct set_rule){rule->number, r->slot[i], {INDEX_NONE, INDEX_NONE}};
        for (unsigned s = 0; s < 2; s++)
            if (set[s] != ACL_NO_SET) {
                b->set[s] = (uint8_t)set[s];
                c->set_rule_sets[s] |= UINT64_C(1) << set[s];
            }
        tuple[r->slot[i]] = PLACE_SET_RULE;
        c->n_set_rules++;
    }
}

static uint32_t tuples_choose_all(struct classifier *c, const struct classifier_rules *r,
                                  uint8_t *tuple)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < r->n; i++) {
        const struct acl_rule *rule = &r->rule[r->slot[i]];

        if (!is_for_tuples(c, r, i, tuple))
            continue;
        c->least = rule->number < c->least ? rule->number : c->least;
        unsigned t = tuple_choose(c, rule, head_count);
        ++*head_of(c, tuple_key(c, &c->tuple[t], rule));
        c->tuple[t].rules++;
        tuple[r->slot[i]] = (uint8_t)t;
        n++;
    }
    return n;
}

// Heads hold their blocks' lengths before, and the blocks' ends afterwards.
static bool blocks_alloc(struct classifier *c)
{
    uint32_t heads = 1u << (32 - c->head_shift);

    for (uint32_t h = 0; h < heads; h++) {
        uint32_t n = c->head[h];

        if (!n)
            continue;
        uint32_t ref = arena_alloc(&c->arena, n);
        if (!ref)
            return false;
        entry_l4_at(c, ref, n - 1)->is = ENTRY_LAST;
        c->head[h] = ref + n;
    }
    return true;
}

static void blocks_fill(struct classifier *c, const struct classifier_rules *r,
                        const uint8_t *tuple)
{
    for (uint32_t i = r->n; i-- > 0;) { // backwards: blocks are filled from their ends
        const struct acl_rule *rule = &r->rule[r->slot[i]];

        if (!is_for_tuples(c, r, i, tuple))
            continue;
        const struct tuple *t = &c->tuple[tuple[r->slot[i]]];
        uint32_t *head = head_of(c, tuple_key(c, t, rule));
        --*head;
        entry_write(c, *head, rule, r->slot[i], entry_l4_at(c, *head, 0)->is & ENTRY_LAST);
        filter_set(c, tuple_key(c, t, rule));
        prefilter_add_rule(c, tuple[r->slot[i]], rule);
    }
}

static uint32_t units_of(const struct classifier *c, uint32_t heads)
{
    uint32_t n = 0;

    for (uint32_t h = 0; h < heads; h++)
        n += c->head[h] ? arena_size(c->head[h]) + (c->head[h] > 1) : 0;
    return (uint32_t)n;
}

// Builds it from a draft whose heads count their rules.
static struct classifier *classifier_from_draft(const struct classifier *d, struct layout l,
                                                const struct classifier_rules *r,
                                                const uint8_t *tuple, size_t heads)
{
    struct classifier *c = pages_map(l.bytes, l.bytes >= PAGES_HUGE);

    if (!c)
        return NULL;
    *c = *d;
    c->bytes = l.bytes;
    c->filter = (uint32_t *)((uint8_t *)c + l.filter);
    c->head = (uint32_t *)((uint8_t *)c + l.head);
    c->block = (uint8_t *)c + l.block;
    for (unsigned s = 0; s < 2; s++) {
        c->tuple_index[s].tuples = (uint32_t *)((uint8_t *)c + l.tuple_index[s]);
        c->bitmap[s].bits =
            l.bitmap ? (uint32_t *)((uint8_t *)c + l.bitmap) + s * BITMAP_WORDS : NULL;
    }
    c->filter_shift = 32 - l.filter_log;
    memcpy(c->head, d->head, heads * sizeof *c->head);
    arena_init(&c->arena, c->block, (uint32_t)entry_bytes(c), l.units);
    if (!blocks_alloc(c)) {
        pages_unmap(c, c->bytes);
        return NULL;
    }
    blocks_fill(c, r, tuple);
    bitmap_drop_if_useless(c);
    return c;
}

// Builds the prefix tables of one side. The first of several rules with the same prefix goes there;
// the others go under tuples.
static bool prefix_tables_of_side(struct classifier *c, const struct classifier_rules *r,
                                  unsigned side, const struct prefix_rules_plan *plan,
                                  uint64_t epoch, uint8_t *tuple)
{
    struct prefix_rule_row *row = calloc(plan->rules[side] + 1, sizeof *row);
    uint32_t n = 0, rows = 0;
    bool made = row != NULL;
    unsigned of;

    for (uint32_t i = 0; i < r->n && made; i++)
        if (rule_is_by_prefix(&r->rule[r->slot[i]], c->family, &of) && of == side)
            prefix_rule_row(&row[n++], &r->rule[r->slot[i]], r->slot[i], side);
    if (made)
        qsort(row, n, sizeof *row, prefix_rule_row_compare);
    for (uint32_t i = 0; i < n; i++)
        if (!rows || memcmp(row[rows - 1].key, row[i].key, sizeof row->key) ||
            row[rows - 1].len != row[i].len)
            row[rows++] = row[i];
    for (uint32_t t = 0, from = 0; t < plan->tables[side] && made; t++) {
        uint32_t to = (uint32_t)((uint64_t)rows * (t + 1) / plan->tables[side]);
        struct prefix_rules *p = prefix_rules_new(c->family, side, row + from, to - from, epoch);

        made = p != NULL;
        if (!made)
            break;
        for (uint32_t i = from; i < to; i++)
            tuple[(uint32_t)row[i].own] = (uint8_t)(PLACE_PREFIX_TABLE + c->n_prefix_tables);
        c->prefix_table[c->n_prefix_tables++] = p;
        c->rules += to - from;
        from = to;
    }
    free(row);
    return made;
}

static void prefix_tables_drop(struct classifier *c, const struct classifier_rules *r,
                               uint8_t *tuple)
{
    prefix_tables_free(c);
    c->rules = 0;
    for (uint32_t i = 0; i < r->n; i++)
        tuple[r->slot[i]] = 0;
}

// Makes as many prefix tables as pay; none, if memory is short.
static void prefix_tables_make(struct classifier *c, const struct acl_config *cfg,
                               const struct classifier_rules *r, uint64_t epoch, uint8_t *tuple)
{
    uint32_t by_prefix[2] = {0, 0}, rules = 0;

    for (uint32_t i = 0; i < r->n; i++) {
        rules += (r->rule[r->slot[i]].families & c->family) != 0;
        count_rules_by_prefix(&r->rule[r->slot[i]], c->family, by_prefix);
    }
    struct prefix_rules_plan plan =
        prefix_rules_plan(by_prefix, rules, c->family, cfg->prefix_rules_from);
    for (unsigned s = 0; s < 2; s++)
        if (plan.tables[s] && !prefix_tables_of_side(c, r, s, &plan, epoch, tuple)) {
            prefix_tables_drop(c, r, tuple);
            return;
        }
}

static uint32_t rules_without_prefix_tables(const struct classifier_rules *r, const uint8_t *tuple,
                                            uint32_t *slot)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < r->n; i++) {
        slot[n] = r->slot[i];
        n += !is_prefix_rule(tuple[r->slot[i]]);
    }
    return n;
}

// rest: all rules but prefix rules.
static struct classifier *classifier_of_rest(struct classifier *d,
                                             const struct classifier_rules *rest, uint8_t *tuple)
{
    const uint32_t room = room_for(rest->n), prefix_rules = d->rules;
    const unsigned head_log = layout_of(d->family, room, room, small_indexes).head_log;
    uint32_t *count = calloc((size_t)1 << head_log, sizeof *count);
    uint64_t *sketch = calloc(SKETCH_WORDS, sizeof *sketch);
    struct classifier *c = NULL;
    uint8_t index_log[2];

    if (count && sketch) {
        d->head = count;
        d->head_shift = 32 - head_log;
        set_rules_collect(d, rest, tuple);
        tuples_plan(d, rest, tuple);
        d->rules = d->in_tuples = tuples_choose_all(d, rest, tuple);
        prefilter_choose(d, rest, sketch, index_log);
        struct layout l = layout_of(d->family, room, room + d->side_filter_keys, index_log);
        uint32_t more = units_of(d, 1u << head_log) - d->in_tuples; // sizes are rounded up
        l.units += more;
        l.bytes += more * entry_bytes(d);
        d->room = room;
        d->rules += d->n_set_rules + prefix_rules;
        c = classifier_from_draft(d, l, rest, tuple, (size_t)1 << head_log);
    }
    free(count);
    free(sketch);
    return c;
}

struct classifier *classifier_new(const struct acl_config *cfg, uint8_t family,
                                  const struct classifier_rules *r, uint64_t epoch, uint8_t *tuple)
{
    uint32_t *slot = calloc(r->n + 1, sizeof *slot);
    struct classifier_rules rest = {.rule = r->rule, .slot = slot};
    struct classifier d, *c;

    if (!slot)
        return NULL;
    classifier_draft(&d, cfg, family);
    prefix_tables_make(&d, cfg, r, epoch, tuple);
    rest.n = rules_without_prefix_tables(r, tuple, slot);
    c = classifier_of_rest(&d, &rest, tuple);
    if (!c)
        prefix_tables_free(&d);
    free(slot);
    return c;
}
