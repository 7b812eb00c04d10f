// SPDX-License-Identifier: BSD-3-Clause
// classifier_build.c - a core of all rules at once (classifier.h)
#include "acl/classifier_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "acl/entry.h"
#include "acl/linear_match.h"
#include "acl/prefilter.h"
#include "acl/pages.h"
#include "acl/prefix_rules.h"
#include "acl/rule.h"
#include "acl/address_bucket.h"
#include "acl/tuple.h"
#include "base/hash.h"

#define LEAST_RULES 64u
#define FILTER_BITS 10u // for each key, at least

// --- memory ---

struct layout {
    unsigned filter_log, head_log; // of words
    uint32_t units;                // entries that the arena holds
    size_t few, fence, filter, head, gate[2], block, bytes; // few, fence: 0 = none
};

static unsigned log2_up(uint64_t n)
{
    return n <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(n - 1);
}

static size_t line_up(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

static uint32_t room_for(uint32_t rules)
{
    return (rules < LEAST_RULES ? LEAST_RULES : rules) + rules / 8;
}

static struct layout layout_of(uint8_t family, uint32_t rules, uint64_t keys,
                               const uint8_t gate_log[2])
{
    struct layout l = {.filter_log = log2_up(keys * FILTER_BITS / 32),
                       .head_log = log2_up(rules) + 1};
    size_t unit = family == ACL_IP4 ? sizeof(struct entry4) : sizeof(struct entry6);

    // The longest block is rewritten whole; an eighth and some is room for changes before what they
    // leave comes back.
    l.units = rules + rules / 4 + 64;
    l.few = rules <= room_for(FEW_ENTRIES) ? line_up(sizeof(struct core)) : 0;
    l.fence = l.few || family != ACL_IP4 ? 0 : line_up(sizeof(struct core));
    l.filter = l.few     ? line_up(l.few + sizeof(struct few))
               : l.fence ? l.fence + 2 * FENCE_WORDS * sizeof(uint32_t)
                         : line_up(sizeof(struct core));
    l.head = l.filter + (sizeof(uint32_t) << l.filter_log);
    l.gate[0] = line_up(l.head + (sizeof(uint32_t) << l.head_log));
    l.gate[1] = line_up(l.gate[0] + (sizeof(uint32_t) << gate_log[0]));
    l.block = line_up(l.gate[1] + (sizeof(uint32_t) << gate_log[1]));
    l.bytes = l.block + l.units * unit;
    return l;
}

static const uint8_t small_gates[2] = {4, 4};

static size_t tuples_need(uint8_t family, uint32_t rules)
{
    const uint8_t gate =
        (uint8_t)log2_up(rules < 1024       ? 1024
                         : rules < 1u << 16 ? rules
                                            : 1u << 16); // a guess: addresses decide
    const uint8_t gate_log[2] = {gate, gate};

    return layout_of(family, room_for(rules), room_for(rules), gate_log).bytes;
}

static void count_promotable(const struct acl_rule *r, uint8_t family, uint32_t count[2])
{
    unsigned side;

    if (rule_is_promotable(r, family, &side))
        count[side]++;
}

size_t core_need(uint8_t family, const struct acl_rule *r, size_t n)
{
    uint32_t rules = 0, promotable[2] = {0, 0};

    for (size_t i = 0; i < n; i++) {
        rules += (r[i].families & family) != 0;
        count_promotable(&r[i], family, promotable);
    }
    struct promoted_plan plan = promoted_plan(promotable, rules, family, 0);
    return rules ? tuples_need(family, rules - plan.rules[0] - plan.rules[1]) + promoted_need(&plan)
                 : 0;
}

uint64_t core_bytes(const struct core *c)
{
    uint64_t bytes = c->bytes;

    for (unsigned i = 0; i < c->n_promoted; i++)
        bytes += promoted_bytes(c->promoted[i]);
    return bytes + (c->own_shelf ? shelf_bytes(c->own_shelf) : 0);
}

uint64_t core_writer_bytes(const struct core *c)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < c->n_promoted; i++)
        bytes += promoted_writer_bytes(c->promoted[i]);
    return bytes + (c->own_shelf ? shelf_writer_bytes(c->own_shelf) : 0);
}

static void all_promoted_free(struct core *c)
{
    for (unsigned i = 0; i < c->n_promoted; i++)
        promoted_free(c->promoted[i]);
    c->n_promoted = 0;
}

void core_free(const struct acl_config *cfg, struct core *c)
{
    if (!c)
        return;
    all_promoted_free(c);
    shelf_free(cfg, c->own_shelf);
    pages_unmap_for(cfg, c, c->bytes);
}

// A core without filter, heads and blocks, to choose tuples and guards by; heads are counted first.
static void draft(struct core *c, const struct acl_config *cfg, uint8_t family,
                  struct core_shape shape)
{
    *c = (struct core){.family = family,
                       .n_levels = {1, 1},
                       .n_tuples = 1,
                       .least = UINT32_MAX,
                       .set = cfg->set,
                       .shape = shape,
                       .gate = {{.level = CORE_NONE}, {.level = CORE_NONE}}};
    c->tuple[0] = (struct tuple){.set = {CORE_NONE, CORE_NONE},
                                 .guard = {CORE_NONE, CORE_NONE}}; // takes any rule
    if (getrandom(c->secret, sizeof c->secret, 0) != sizeof c->secret)
        for (unsigned i = 0; i < 4; i++)
            c->secret[i / 2][i % 2] = hash_mix64((uintptr_t)c + i);
}

// --- building ---

static unsigned counted(const struct core *c, uint32_t head)
{
    return c->head[head];
}

// The first rules that are by sets alone stand apart.
static void set_apart(struct core *c, const struct core_rules *r, uint8_t *tuple)
{
    for (uint32_t i = 0; i < r->n && c->n_by_sets < CORE_BY_SETS; i++) {
        const struct acl_rule *rule = &r->rule[r->slot[i]];
        const uint16_t set[2] = {rule->src.set, rule->dst.set};
        struct by_sets *b = &c->by_sets[c->n_by_sets];

        if (!(rule->families & c->family) || !rule_is_by_sets(rule))
            continue;
        *b = (struct by_sets){rule->number, r->slot[i], {CORE_NONE, CORE_NONE}};
        for (unsigned s = 0; s < 2; s++)
            if (set[s] != ACL_NO_SET) {
                b->set[s] = (uint8_t)set[s];
                c->apart_sets[s] |= UINT64_C(1) << set[s];
            }
        tuple[r->slot[i]] = CORE_APART;
        c->n_by_sets++;
    }
}

static uint32_t choose_all(struct core *c, const struct core_rules *r, uint8_t *tuple)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < r->n; i++) {
        const struct acl_rule *rule = &r->rule[r->slot[i]];

        if (!is_for_tuples(c, r, i, tuple))
            continue;
        c->least = rule->number < c->least ? rule->number : c->least;
        unsigned t = tuple_choose(c, rule, counted);
        ++*head_of(c, tuple_key(c, &c->tuple[t], rule));
        c->tuple[t].rules++;
        tuple[r->slot[i]] = (uint8_t)t;
        n++;
    }
    return n;
}

// Heads hold how many entries their blocks get; then where these end.
static bool blocks_alloc(struct core *c)
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

static void blocks_fill(struct core *c, const struct core_rules *r, const uint8_t *tuple)
{
    for (uint32_t i = r->n; i-- > 0;) { // backwards: blocks fill from their ends
        const struct acl_rule *rule = &r->rule[r->slot[i]];

        if (!is_for_tuples(c, r, i, tuple))
            continue;
        const struct tuple *t = &c->tuple[tuple[r->slot[i]]];
        uint32_t *head = head_of(c, tuple_key(c, t, rule));
        --*head;
        entry_write(c, *head, rule, r->slot[i], entry_l4_at(c, *head, 0)->is & ENTRY_LAST);
        filter_set(c, tuple_key(c, t, rule));
        gates_add(c, tuple[r->slot[i]], rule);
    }
}

static uint32_t units_of(const struct core *c, uint32_t heads)
{
    uint32_t n = 0;

    for (uint32_t h = 0; h < heads; h++)
        n += c->head[h] ? arena_size(c->head[h]) + (c->head[h] > 1) : 0;
    return (uint32_t)n;
}

void core_few(struct core *c, const struct core_rules *r, const uint8_t *tuple)
{
    if (c->few)
        __atomic_store_n(&c->few_blocks, few_make(c->few, c, r, tuple),
                         __ATOMIC_RELEASE); // partner: classify.c ask
}

// From a draft whose heads count their rules.
static struct core *build(const struct acl_config *cfg, const struct core *d, struct layout l,
                          const struct core_rules *r, const uint8_t *tuple, size_t heads)
{
    struct core *c = pages_map_for(cfg, l.bytes);

    if (!c)
        return NULL;
    *c = *d;
    c->bytes = l.bytes;
    c->few = l.few ? (struct few *)((uint8_t *)c + l.few) : NULL;
    c->filter = (uint32_t *)((uint8_t *)c + l.filter);
    c->head = (uint32_t *)((uint8_t *)c + l.head);
    c->block = (uint8_t *)c + l.block;
    for (unsigned s = 0; s < 2; s++) {
        c->gate[s].tuples = (uint32_t *)((uint8_t *)c + l.gate[s]);
        c->fence[s].bits = l.fence ? (uint32_t *)((uint8_t *)c + l.fence) + s * FENCE_WORDS : NULL;
    }
    c->filter_shift = 32 - l.filter_log;
    memcpy(c->head, d->head, heads * sizeof *c->head);
    arena_init(&c->arena, c->block, (uint32_t)entry_bytes(c), l.units);
    if (!blocks_alloc(c)) {
        pages_unmap_for(cfg, c, c->bytes);
        return NULL;
    }
    blocks_fill(c, r, tuple);
    fence_judge(c);
    core_few(c, r, tuple);
    return c;
}

// Those of a side, of different prefixes; rows of the same prefix but the first are left for
// tuples.
static bool side_promote(struct core *c, const struct core_rules *r, unsigned side,
                         const struct promoted_plan *plan, uint64_t epoch, uint8_t *tuple)
{
    struct promoted_row *row = calloc(plan->rules[side] + 1, sizeof *row);
    uint32_t n = 0, rows = 0;
    bool made = row != NULL;
    unsigned of;

    for (uint32_t i = 0; i < r->n && made; i++)
        if (rule_is_promotable(&r->rule[r->slot[i]], c->family, &of) && of == side)
            promoted_row(&row[n++], &r->rule[r->slot[i]], r->slot[i], side);
    if (made)
        qsort(row, n, sizeof *row, promoted_by_prefix);
    for (uint32_t i = 0; i < n; i++)
        if (!rows || memcmp(row[rows - 1].key, row[i].key, sizeof row->key) ||
            row[rows - 1].len != row[i].len)
            row[rows++] = row[i];
    for (uint32_t t = 0, from = 0; t < plan->tables[side] && made; t++) {
        uint32_t to = (uint32_t)((uint64_t)rows * (t + 1) / plan->tables[side]);
        struct promoted *p = promoted_new(c->family, side, row + from, to - from, epoch);

        made = p != NULL;
        if (!made)
            break;
        for (uint32_t i = from; i < to; i++)
            tuple[(uint32_t)row[i].own] = (uint8_t)(CORE_PROMOTED + c->n_promoted);
        c->promoted[c->n_promoted++] = p;
        c->rules += to - from;
        from = to;
    }
    free(row);
    return made;
}

static void demote(struct core *c, const struct core_rules *r, uint8_t *tuple)
{
    all_promoted_free(c);
    c->rules = 0;
    for (uint32_t i = 0; i < r->n; i++)
        tuple[r->slot[i]] = 0;
}

// As many as pay and as fit.
static void promote(struct core *c, const struct acl_config *cfg, const struct core_rules *r,
                    size_t max_bytes, uint64_t epoch, uint8_t *tuple)
{
    uint32_t promotable[2] = {0, 0}, rules = 0;

    for (uint32_t i = 0; i < r->n; i++) {
        rules += (r->rule[r->slot[i]].families & c->family) != 0;
        count_promotable(&r->rule[r->slot[i]], c->family, promotable);
    }
    struct promoted_plan plan = promoted_plan(promotable, rules, c->family, cfg->promote_from);
    for (unsigned s = 0; s < 2; s++)
        if (plan.tables[s] && !side_promote(c, r, s, &plan, epoch, tuple)) {
            demote(c, r, tuple);
            return;
        }
    uint64_t bytes = core_bytes(c) + core_writer_bytes(c);
    if (c->n_promoted && max_bytes &&
        bytes + tuples_need(c->family, rules - c->rules) * 2 > max_bytes)
        demote(c, r, tuple);
    for (unsigned i = 0; i < c->n_promoted && max_bytes; i++)
        c->promoted[i]->limit = promoted_bytes(c->promoted[i]) +
                                promoted_writer_bytes(c->promoted[i]) +
                                (max_bytes - bytes) / 4 / c->n_promoted;
}

static uint32_t those_left(const struct core_rules *r, const uint8_t *tuple, uint32_t *slot)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < r->n; i++) {
        slot[n] = r->slot[i];
        n += !is_promoted(tuple[r->slot[i]]);
    }
    return n;
}

// rest: the rules that are not promoted.
static struct core *core_of_rest(const struct acl_config *cfg, struct core *d,
                                 const struct core_rules *rest, size_t max_bytes, uint8_t *tuple)
{
    uint32_t room = room_for(rest->n), n;
    size_t heads = (size_t)1 << layout_of(d->family, room, room, small_gates).head_log;
    uint32_t *count = calloc(heads, sizeof *count);
    uint64_t *sketch = calloc(SKETCH_WORDS, sizeof *sketch);
    struct core *c = NULL;
    uint8_t gate_log[2];

    errno = ENOMEM;
    if (count && sketch) {
        uint32_t promoted = d->rules;
        size_t taken = core_bytes(d) + core_writer_bytes(d);

        d->head = count;
        d->head_shift = 32 - layout_of(d->family, room, room, small_gates).head_log;
        set_apart(d, rest, tuple);
        tuples_plan(d, rest, tuple);
        n = choose_all(d, rest, tuple);
        d->rules = d->in_tuples = n;
        gates_choose(d, rest, sketch, gate_log);
        struct layout l = layout_of(d->family, room, room + d->guard_keys, gate_log);
        uint32_t more = units_of(d, (uint32_t)heads) - n; // sizes are rounded up
        l.units += more;
        l.bytes += more * entry_bytes(d);
        d->room = room;
        d->rules += d->n_by_sets + promoted;
        errno = ENOMEM;
        if (max_bytes && l.bytes + taken > max_bytes)
            errno = ENOSPC;
        else
            c = build(cfg, d, l, rest, tuple, heads);
    }
    free(count);
    free(sketch);
    return c;
}

static void shelve(struct core *c, const struct acl_config *cfg, const struct core_rules *r,
                   size_t max_bytes, const uint8_t *tuple)
{
    uint64_t taken = core_bytes(c) + core_writer_bytes(c);

    if (c->few_blocks || (max_bytes && taken >= max_bytes))
        return;
    c->shelf = c->own_shelf = shelf_new(
        cfg, c, r, tuple, max_bytes ? (max_bytes - taken) / 2 : 0); // half: the list may grow
}

struct core *core_new(const struct acl_config *cfg, uint8_t family, const struct core_rules *r,
                      struct core_shape shape, size_t max_bytes, uint64_t epoch, uint8_t *tuple)
{
    uint32_t *slot = calloc(r->n + 1, sizeof *slot);
    struct core_rules rest = {.rule = r->rule, .slot = slot};
    struct core d, *c = NULL;
    bool promoting = true;
    int rc = 0;

    if (!slot)
        return NULL;
    for (bool again = true; again && !c;) {
        draft(&d, cfg, family, shape);
        if (promoting)
            promote(&d, cfg, r, max_bytes, epoch, tuple);
        rest.n = those_left(r, tuple, slot);
        c = core_of_rest(cfg, &d, &rest, max_bytes, tuple);
        again = promoting && d.n_promoted; // it may fit without
        promoting = false;
        if (!c) {
            rc = errno;
            demote(&d, r, tuple);
        }
    }
    if (c)
        shelve(c, cfg, &rest, max_bytes, tuple);
    free(slot);
    errno = c ? errno : rc;
    return c;
}
