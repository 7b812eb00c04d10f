// SPDX-License-Identifier: BSD-3-Clause
// shelf.c - make and change shelves (shelf.h)
#include "acl/shelf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/rule.h"
#include "poptrie/poptrie.h"

#define RULES_LEAST 1025u // fewer are rte_acl's: it is faster, where it is wanted
#define RULES_MOST 8192u  // more do not stay near the core: what few packets match costs twice as much as under tuples
#define BYTES_MAX ((size_t)32 << 20)
#define GATES_FROM 2100u // rules: from here on Poptries do not stay near the core, and gates cost less than what they spare
#define MEAN_BLOCKS 4u // on the shelves of rules, at most: more take longer than tuples
#define RESERVED_LEAST ((size_t)4 << 20)
#define RESERVED4 64u // bytes of address space for each prefix
#define RESERVED6 192u

struct prefix {
    uint8_t key[16], len;
};

static struct prefix prefix_of(const struct acl_rule *r, unsigned side)
{
    const struct acl_side *from = side ? &r->dst : &r->src;
    struct prefix p = {.len = from->len};

    memcpy(p.key, from->addr, (from->len + 7) / 8);
    if (from->len % 8)
        p.key[from->len / 8] &= (uint8_t)~(0xff >> from->len % 8);
    return p;
}

static bool inside(const uint8_t *key, const struct prefix *net)
{
    return !memcmp(key, net->key, net->len / 8) &&
           (net->len % 8 == 0 || !((key[net->len / 8] ^ net->key[net->len / 8]) & (uint8_t)~(0xff >> net->len % 8)));
}

// --- blocks ---

static unsigned words(const struct shelf *s)
{
    return LANE_WORDS(s->family);
}

static uint64_t *names(const struct shelf *s, uint32_t ref)
{
    return (uint64_t *)(shelf_rows(s, ref) + LANE_ROWS(words(s)));
}

static bool is_dead(const struct shelf *s, uint32_t ref, unsigned lane)
{
    return shelf_rows(s, ref)[LANE_L4_MASK][lane] == LANE_DEAD;
}

static uint32_t first_block(uint32_t place)
{
    return place >> SHELF_BLOCKS_BITS;
}

static uint32_t lanes_of(uint32_t place)
{
    return (place & SHELF_BLOCKS) * LANE_COUNT;
}

static uint32_t alive(const struct shelf *s, uint32_t place)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < lanes_of(place); i++)
        n += !is_dead(s, first_block(place) + i / LANE_COUNT, i % LANE_COUNT);
    return n;
}

// A place for so many lanes, all dead. 0: no room.
static uint32_t place_new(struct shelf *s, uint32_t lanes)
{
    uint32_t n = (lanes + LANE_COUNT - 1) / LANE_COUNT, ref = n && n <= SHELF_BLOCKS ? arena_alloc(&s->arena, n) : 0;

    for (uint32_t i = 0; i < n && ref; i++) {
        lane_row *row = shelf_rows(s, ref + i);

        memset(row, 0, SHELF_UNIT(s->family));
        for (unsigned lane = 0; lane < LANE_COUNT; lane++)
            row[LANE_L4_MASK][lane] = LANE_DEAD;
        memset(names(s, ref + i), 0xff, SHELF_NAMES);
    }
    return ref ? ref << SHELF_BLOCKS_BITS | n : 0;
}

struct lanes { // of one rule
    lane_row row[LANE_ROWS(LANE_WORDS(ACL_IP6))];
    uint64_t name;
    unsigned n;
};

static void lanes_make(const struct shelf *s, struct lanes *l, const struct acl_rule *r, uint32_t slot, unsigned side)
{
    const struct lane_sides other = {{side ? &r->src : &r->dst}, 1};
    uint8_t flag[8];

    l->n = lane_flags(r, flag);
    l->name = (uint64_t)r->number << 32 | slot;
    for (unsigned i = 0; i < l->n; i++)
        lane_put(l->row, i, r, flag[i], &other, words(s));
}

static void lane_copy(const struct shelf *s, uint32_t place, uint32_t at, const lane_row *row, unsigned lane, uint64_t name)
{
    uint32_t ref = first_block(place) + at / LANE_COUNT;
    lane_row *to = shelf_rows(s, ref);

    for (unsigned r = 0; r < LANE_ROWS(words(s)); r++)
        to[r][at % LANE_COUNT] = row[r][lane];
    names(s, ref)[at % LANE_COUNT] = name;
}

// --- memory ---

uint64_t shelf_bytes(const struct shelf *s)
{
    struct poptrie_stats st;
    uint64_t bytes = s->bytes;

    for (unsigned side = 0; side < 2; side++) {
        poptrie_usage(s->table[side], &st);
        bytes += st.bytes_used;
    }
    return bytes;
}

uint64_t shelf_writer_bytes(const struct shelf *s)
{
    struct poptrie_stats st;
    uint64_t bytes = s->garbage_room * sizeof *s->garbage;

    for (unsigned side = 0; side < 2; side++) {
        poptrie_usage(s->table[side], &st);
        bytes += st.writer_bytes;
    }
    return bytes;
}

void shelf_free(const struct acl_config *cfg, struct shelf *s)
{
    if (!s)
        return;
    for (unsigned side = 0; side < 2; side++)
        poptrie_free(s->table[side]);
    free(s->garbage);
    core_unmap(cfg, s, s->bytes);
}

static size_t line_up(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

static struct shelf *empty_new(const struct acl_config *cfg, uint8_t family, const uint32_t prefixes[2], uint32_t blocks, bool behind_gates, size_t max_bytes,
                               uint64_t epoch)
{
    uint32_t room[2] = {prefixes[0] + prefixes[0] / 4 + 64, prefixes[1] + prefixes[1] / 4 + 64}, units = blocks + blocks / 2 + 64;
    size_t place = line_up(sizeof(struct shelf)), block = line_up(place + (room[0] + room[1]) * sizeof(uint32_t));
    size_t bytes = block + units * SHELF_UNIT(family);

    if (bytes > BYTES_MAX || (max_bytes && bytes > max_bytes) || room[0] > POPTRIE_VALUE_MAX || room[1] > POPTRIE_VALUE_MAX)
        return NULL;
    struct shelf *s = core_map(cfg, bytes);
    if (!s)
        return NULL;
    *s = (struct shelf){.family = family, .behind_gates = behind_gates, .bytes = bytes, .room = {room[0], room[1]}};
    s->ahead = (int64_t)epoch - 1; // a Poptrie's first is 1
    s->place[0] = (uint32_t *)((uint8_t *)s + place);
    s->place[1] = s->place[0] + room[0];
    s->block = (uint8_t *)s + block;
    arena_init(&s->arena, s->block, SHELF_UNIT(family), units);
    for (unsigned side = 0; side < 2; side++)
        s->table[side] = poptrie_new(&(struct poptrie_config){
            .key_bits = family == ACL_IP4 ? 32 : 128, .max_bytes = RESERVED_LEAST + room[side] * (size_t)(family == ACL_IP4 ? RESERVED4 : RESERVED6)});
    if (!s->table[0] || !s->table[1] || (max_bytes && shelf_bytes(s) + shelf_writer_bytes(s) > max_bytes)) {
        shelf_free(cfg, s);
        return NULL;
    }
    return s;
}

// --- made at once: where each rule is put down ---

struct spot { // a prefix
    struct prefix p;
    uint32_t around, end; // the next one around it; behind the last one inside it
    uint32_t own, lanes;  // of its rules; with those around it
};

struct sorted {
    struct spot *spot; // by address, shorter first; [0]: all addresses
    uint32_t n;
};

static int by_prefix(const void *x, const void *y)
{
    const struct spot *a = x, *b = y;
    int key = memcmp(a->p.key, b->p.key, sizeof a->p.key);

    return key ? key : a->p.len - b->p.len;
}

static void nest(struct sorted *t)
{
    uint32_t in = 0;

    for (uint32_t i = 0; i < t->n; i++) {
        while (in && !inside(t->spot[i].p.key, &t->spot[in].p)) {
            t->spot[in].end = i;
            in = t->spot[in].around;
        }
        t->spot[i].around = in;
        in = i;
    }
    for (; in; in = t->spot[in].around)
        t->spot[in].end = t->n;
    t->spot[0].end = t->n;
}

static bool is_shelved(const struct core *c, const struct core_rules *r, uint32_t i, const uint8_t *tuple)
{
    return (r->rule[r->slot[i]].families & c->family) && is_under_tuple(tuple[r->slot[i]]);
}

static bool all_prefixes(struct sorted *t, const struct core *c, const struct core_rules *r, const uint8_t *tuple, unsigned side)
{
    uint32_t n = 1;

    t->spot = calloc(c->in_tuples + 1, sizeof *t->spot);
    if (!t->spot)
        return false;
    for (uint32_t i = 0; i < r->n; i++)
        if (is_shelved(c, r, i, tuple))
            t->spot[n++].p = prefix_of(&r->rule[r->slot[i]], side);
    qsort(t->spot, n, sizeof *t->spot, by_prefix);
    t->n = 1;
    for (uint32_t i = 1; i < n; i++)
        if (by_prefix(&t->spot[t->n - 1], &t->spot[i]))
            t->spot[t->n++] = t->spot[i];
    nest(t);
    return true;
}

static struct spot *spot_of(const struct sorted *t, const struct acl_rule *r, unsigned side)
{
    const struct spot key = {.p = prefix_of(r, side)};

    return bsearch(&key, t->spot, t->n, sizeof key, by_prefix);
}

// What a rule meets here: rules of its prefix and around it, and shelves that it would have to be on.
static uint32_t met(const struct sorted *t, const struct spot *spot)
{
    uint32_t n = spot->end - (uint32_t)(spot - t->spot) + spot->own;

    for (uint32_t i = (uint32_t)(spot - t->spot); i; i = t->spot[i].around)
        n += t->spot[t->spot[i].around].own;
    return n;
}

// side[i] of each rule. Those that have one prefix come first: the others are put where fewer of these are.
static void sides_choose(struct sorted t[2], const struct core *c, const struct core_rules *r, const uint8_t *tuple, uint8_t *side)
{
    for (unsigned two = 0; two < 2; two++)
        for (uint32_t i = 0; i < r->n; i++) {
            const struct acl_rule *rule = &r->rule[r->slot[i]];
            bool one = !rule->src.len != !rule->dst.len;
            uint8_t flag[8];

            if (!is_shelved(c, r, i, tuple) || one == two)
                continue;
            struct spot *spot[2] = {spot_of(&t[0], rule, 0), spot_of(&t[1], rule, 1)};
            side[i] = one ? !rule->src.len : met(&t[1], spot[1]) <= met(&t[0], spot[0]);
            spot[side[i]]->own += lane_flags(rule, flag);
        }
}

// Prefixes that no rule is put down by need no shelf. The number of blocks; 0: too many.
static uint32_t lay_out(struct sorted *t, uint64_t *on_shelves)
{
    uint32_t n = 1;
    uint64_t blocks = 0;

    for (uint32_t i = 1; i < t->n; i++)
        if (t->spot[i].own)
            t->spot[n++] = t->spot[i];
    t->n = n;
    nest(t);
    for (uint32_t i = 0; i < n; i++) {
        struct spot *spot = &t->spot[i];
        uint32_t of_it;

        spot->lanes = spot->own + (i ? t->spot[spot->around].lanes : 0);
        of_it = (spot->lanes + LANE_COUNT - 1) / LANE_COUNT;
        if (of_it > SHELF_BLOCKS)
            return 0;
        blocks += of_it > 8 ? arena_size(of_it) : of_it;
        *on_shelves += (uint64_t)of_it * spot->own;
    }
    return blocks < UINT32_MAX / 2 ? (uint32_t)blocks + 1 : 0;
}

// --- made at once: the shelves ---

static bool fill(struct shelf *s, const struct sorted t[2], const struct core *c, const struct core_rules *r, const uint8_t *tuple, const uint8_t *side)
{
    struct lanes l;

    for (unsigned sd = 0; sd < 2; sd++)
        for (uint32_t i = 0; i < t[sd].n; i++) {
            if (t[sd].spot[i].lanes && !(s->place[sd][i] = place_new(s, t[sd].spot[i].lanes)))
                return false;
            t[sd].spot[i].lanes = 0; // filled so far
        }
    for (uint32_t i = 0; i < r->n; i++) {
        const struct acl_rule *rule = &r->rule[r->slot[i]];
        const struct sorted *of = &t[side[i]];

        if (!is_shelved(c, r, i, tuple))
            continue;
        lanes_make(s, &l, rule, r->slot[i], side[i]);
        uint32_t from = l.n ? (uint32_t)(spot_of(of, rule, side[i]) - of->spot) : 0, to = l.n ? of->spot[from].end : 0;
        for (; from < to; from++)
            for (unsigned k = 0; k < l.n; k++)
                lane_copy(s, s->place[side[i]][from], of->spot[from].lanes++, l.row, k, l.name);
    }
    return true;
}

static bool tables_load(struct shelf *s, const struct sorted t[2])
{
    bool loaded = true;

    for (unsigned side = 0; side < 2 && loaded; side++) {
        struct poptrie_route *route = calloc(t[side].n, sizeof *route);

        for (uint32_t i = 1; i < t[side].n && route; i++) {
            route[i].len = t[side].spot[i].p.len;
            route[i].value = i;
            memcpy(route[i].key, t[side].spot[i].p.key, sizeof route[i].key);
            s->length[side][route[i].len]++;
        }
        s->indexes[side] = t[side].n;
        loaded = route && !poptrie_load(s->table[side], route + 1, t[side].n - 1);
        free(route);
    }
    return loaded;
}

// IPv6 only when asked for: its Poptries take longer than gates and tuples where little matches.
static bool is_wanted(const struct acl_config *cfg, const struct core *c)
{
    if (cfg->shelve_from)
        return c->in_tuples >= cfg->shelve_from;
    return c->family == ACL_IP4 && c->in_tuples >= RULES_LEAST && c->in_tuples <= RULES_MOST;
}

struct shelf *shelf_new(const struct acl_config *cfg, const struct core *c, const struct core_rules *r, const uint8_t *tuple, size_t max_bytes, uint64_t epoch)
{
    struct sorted t[2] = {{0}};
    uint8_t *side = calloc(r->n + 1, 1);
    struct shelf *s = NULL;
    uint64_t on_shelves = 0;

    if (!is_wanted(cfg, c) || c->sets[0] || c->sets[1])
        goto out;
    if (!side || !all_prefixes(&t[0], c, r, tuple, 0) || !all_prefixes(&t[1], c, r, tuple, 1))
        goto out;
    sides_choose(t, c, r, tuple, side);
    uint32_t blocks[2] = {lay_out(&t[0], &on_shelves), lay_out(&t[1], &on_shelves)};
    if (!blocks[0] || !blocks[1] || on_shelves > (uint64_t)MEAN_BLOCKS * c->in_tuples)
        goto out;
    s = empty_new(cfg, c->family, (uint32_t[]){t[0].n, t[1].n}, blocks[0] + blocks[1], c->in_tuples >= GATES_FROM, max_bytes,
                  epoch);
    if (s && (!fill(s, t, c, r, tuple, side) || !tables_load(s, t))) {
        shelf_free(cfg, s);
        s = NULL;
    }
out:
    free(t[0].spot);
    free(t[1].spot);
    free(side);
    return s;
}

// --- changes ---

// Of exactly this prefix; POPTRIE_VALUE_MAX + 1: it has no shelf.
#define NO_INDEX (POPTRIE_VALUE_MAX + 1)
static uint32_t index_of(const struct shelf *s, unsigned side, const struct prefix *p)
{
    uint32_t index = p->len ? poptrie_get(s->table[side], p->key, p->len) : 0;

    return index || !p->len ? index : NO_INDEX;
}

static uint32_t index_around(const struct shelf *s, unsigned side, const struct prefix *p)
{
    uint32_t index = 0;

    for (unsigned len = p->len; len-- > 1 && !index;)
        if (s->length[side][len])
            index = poptrie_get(s->table[side], p->key, len);
    return index;
}

static int retire(struct shelf *s, uint32_t place, uint64_t epoch)
{
    if (!place)
        return 0;
    if (s->n_garbage == s->garbage_room && s->garbage_from > s->n_garbage / 2) {
        s->n_garbage -= s->garbage_from;
        memmove(s->garbage, s->garbage + s->garbage_from, s->n_garbage * sizeof *s->garbage);
        s->garbage_from = 0;
    }
    if (s->n_garbage == s->garbage_room) {
        uint32_t room = s->garbage_room ? s->garbage_room * 2 : 64;
        struct shelf_garbage *more = realloc(s->garbage, room * sizeof *more);

        if (!more)
            return -ENOMEM;
        s->garbage = more;
        s->garbage_room = room;
    }
    s->garbage[s->n_garbage++] = (struct shelf_garbage){epoch, first_block(place), place & SHELF_BLOCKS};
    return 0;
}

// What is alive at `from`, and the rule. 0: no room.
static uint32_t with_rule(struct shelf *s, uint32_t from, const struct lanes *l)
{
    uint32_t place = place_new(s, alive(s, from) + l->n), at = 0;
    bool put = false;

    for (uint32_t i = 0; i <= lanes_of(from) && place; i++) {
        uint32_t ref = first_block(from) + i / LANE_COUNT;
        bool end = i == lanes_of(from);

        if (!end && is_dead(s, ref, i % LANE_COUNT))
            continue;
        if (!put && (end || names(s, ref)[i % LANE_COUNT] > l->name)) {
            for (unsigned k = 0; k < l->n; k++)
                lane_copy(s, place, at++, l->row, k, l->name);
            put = true;
        }
        if (!end)
            lane_copy(s, place, at++, shelf_rows(s, ref), i % LANE_COUNT, names(s, ref)[i % LANE_COUNT]);
    }
    return place;
}

struct adding {
    struct shelf *s;
    const struct prefix *p;
    const struct lanes *l;
    uint64_t epoch;
    unsigned side;
    uint32_t inside; // counted
};

static int rule_into(struct adding *a, uint32_t index)
{
    uint32_t *place = &a->s->place[a->side][index], old = *place, new = with_rule(a->s, old, a->l);

    if (!new)
        return -ENOSPC;
    __atomic_store_n(place, new, __ATOMIC_RELEASE); // partner: shelf_find.h
    return retire(a->s, old, a->epoch);
}

static int one_inside(void *ctx, const uint8_t *key, unsigned len, uint32_t index)
{
    struct adding *a = ctx;

    return inside(key, a->p) ? rule_into(a, index) : 1;
}

static int count_inside(void *ctx, const uint8_t *key, unsigned len, uint32_t index)
{
    struct adding *a = ctx;

    a->inside++;
    return !inside(key, a->p);
}

static uint32_t met_now(struct shelf *s, unsigned side, const struct prefix *p)
{
    struct adding a = {.s = s, .p = p};
    uint32_t index = index_of(s, side, p);

    poptrie_walk_after(s->table[side], p->key, p->len, count_inside, &a);
    return a.inside + alive(s, s->place[side][index == NO_INDEX ? index_around(s, side, p) : index]);
}

static int new_prefix(struct adding *a)
{
    struct shelf *s = a->s;
    uint32_t index = s->indexes[a->side], place;
    int rc;

    if (index >= s->room[a->side])
        return -ENOSPC;
    place = with_rule(s, s->place[a->side][index_around(s, a->side, a->p)], a->l);
    if (!place)
        return -ENOSPC;
    s->place[a->side][index] = place; // before the Poptrie answers with it
    if ((rc = poptrie_add(s->table[a->side], a->p->key, a->p->len, index)))
        return rc;
    s->indexes[a->side]++;
    s->length[a->side][a->p->len]++;
    return 0;
}

int shelf_add(struct shelf *s, const struct acl_rule *r, uint32_t slot, uint64_t epoch)
{
    struct prefix p[2] = {prefix_of(r, 0), prefix_of(r, 1)};
    unsigned side = !r->src.len;
    struct lanes l;
    int rc;

    if (!r->src.len == !r->dst.len)
        side = met_now(s, 1, &p[1]) <= met_now(s, 0, &p[0]);
    lanes_make(s, &l, r, slot, side);
    struct adding a = {s, &p[side], &l, epoch, side, 0};
    if (!l.n) // nothing ever matches it
        return 0;
    uint32_t index = index_of(s, side, &p[side]);
    rc = index == NO_INDEX ? new_prefix(&a) : rule_into(&a, index);
    if (!rc)
        rc = poptrie_walk_after(s->table[side], p[side].key, p[side].len, one_inside, &a);
    return rc < 0 ? rc : 0;
}

struct deleting {
    struct shelf *s;
    const struct prefix *p;
    uint32_t slot;
    unsigned side;
};

static bool rule_out_of(const struct deleting *d, uint32_t index)
{
    uint32_t place = d->s->place[d->side][index];
    bool there = false;

    for (uint32_t i = 0; i < lanes_of(place); i++) {
        uint32_t ref = first_block(place) + i / LANE_COUNT, lane = i % LANE_COUNT;

        if ((uint32_t)names(d->s, ref)[lane] != d->slot || is_dead(d->s, ref, lane))
            continue;
        __atomic_store_n(&shelf_rows(d->s, ref)[LANE_L4_MASK][lane], LANE_DEAD, __ATOMIC_RELAXED);
        there = true;
    }
    return there;
}

static int one_outside(void *ctx, const uint8_t *key, unsigned len, uint32_t index)
{
    struct deleting *d = ctx;

    if (!inside(key, d->p))
        return 1;
    rule_out_of(d, index);
    return 0;
}

void shelf_del(struct shelf *s, const struct acl_rule *r, uint32_t slot)
{
    for (unsigned side = 0; side < 2; side++) {
        struct prefix p = prefix_of(r, side);
        struct deleting d = {s, &p, slot, side};
        uint32_t index = index_of(s, side, &p);

        if (index == NO_INDEX || !rule_out_of(&d, index))
            continue;
        poptrie_walk_after(s->table[side], p.key, p.len, one_outside, &d);
        return;
    }
}

void shelf_epoch(struct shelf *s)
{
    for (unsigned side = 0; side < 2; side++)
        poptrie_epoch(s->table[side]);
}

void shelf_reclaim(struct shelf *s, uint64_t epoch)
{
    for (; s->garbage_from < s->n_garbage && s->garbage[s->garbage_from].epoch <= epoch; s->garbage_from++)
        arena_free(&s->arena, s->garbage[s->garbage_from].ref, s->garbage[s->garbage_from].n);
    for (unsigned side = 0; side < 2 && (int64_t)epoch > s->ahead; side++)
        poptrie_reclaim(s->table[side], (uint64_t)((int64_t)epoch - s->ahead));
}

// --- what a packet can cost; is it sound? ---

struct walk {
    const struct shelf *s;
    const struct core_rules *r;
    const struct core *c;
    const uint8_t *tuple;
    uint32_t longest, side;
    uint64_t lanes;
    const char *wrong;
    const struct prefix *p; // of the rule that is looked for
    uint64_t name, copies;
};

static int one_longest(void *ctx, const uint8_t *key, unsigned len, uint32_t index)
{
    struct walk *w = ctx;
    uint32_t n = alive(w->s, w->s->place[w->side][index]);

    w->longest = n > w->longest ? n : w->longest;
    return 0;
}

uint32_t shelf_longest(const struct shelf *s)
{
    struct walk w = {.s = s};
    uint32_t both = 0;

    for (w.side = 0; w.side < 2; w.side++, w.longest = 0) {
        one_longest(&w, NULL, 0, 0);
        poptrie_walk(s->table[w.side], one_longest, &w);
        both += w.longest;
    }
    return both;
}

static uint32_t lanes_named(const struct walk *w, uint32_t index)
{
    uint32_t place = w->s->place[w->side][index], n = 0;

    for (uint32_t i = 0; i < lanes_of(place); i++)
        n += names(w->s, first_block(place) + i / LANE_COUNT)[i % LANE_COUNT] == w->name &&
             !is_dead(w->s, first_block(place) + i / LANE_COUNT, i % LANE_COUNT);
    return n;
}

static int one_sorted(void *ctx, const uint8_t *key, unsigned len, uint32_t index)
{
    struct walk *w = ctx;
    uint32_t place = w->s->place[w->side][index];
    uint64_t last = 0;

    for (uint32_t i = 0; i < lanes_of(place); i++) {
        uint32_t ref = first_block(place) + i / LANE_COUNT;

        if (is_dead(w->s, ref, i % LANE_COUNT))
            continue;
        if (names(w->s, ref)[i % LANE_COUNT] < last)
            w->wrong = "a shelf is not sorted";
        last = names(w->s, ref)[i % LANE_COUNT];
        w->lanes++;
    }
    return w->wrong != NULL;
}

static int one_has(void *ctx, const uint8_t *key, unsigned len, uint32_t index)
{
    struct walk *w = ctx;
    uint32_t n;

    if (!inside(key, w->p))
        return 1;
    n = lanes_named(w, index);
    if (!n)
        w->wrong = "a rule is not on all shelves inside its prefix";
    w->copies += n;
    return 0;
}

static void rule_walk(struct walk *w, const struct acl_rule *r, uint32_t slot)
{
    uint8_t flag[8];

    if (!lane_flags(r, flag))
        return;
    w->name = (uint64_t)r->number << 32 | slot;
    for (w->side = 0; w->side < 2; w->side++) {
        struct prefix p = prefix_of(r, w->side);
        uint32_t index = index_of(w->s, w->side, &p), n;

        w->p = &p;
        if (index == NO_INDEX || !(n = lanes_named(w, index)))
            continue;
        if (n != lane_flags(r, flag))
            w->wrong = "a rule has lanes too many or too few";
        w->copies += n;
        poptrie_walk_after(w->s->table[w->side], p.key, p.len, one_has, w);
        return;
    }
    w->wrong = "a rule is on no shelf";
}

int shelf_check(const struct shelf *s, const struct core *c, const struct core_rules *r, const uint8_t *tuple, char *why, size_t n)
{
    struct walk w = {.s = s};
    int rc = 0;

    for (w.side = 0; w.side < 2 && !w.wrong && !rc; w.side++) {
        one_sorted(&w, NULL, 0, 0);
        poptrie_walk(s->table[w.side], one_sorted, &w);
        rc = poptrie_check(s->table[w.side], why, n);
    }
    for (uint32_t i = 0; i < r->n && !w.wrong && !rc; i++)
        if (is_shelved(c, r, i, tuple))
            rule_walk(&w, &r->rule[r->slot[i]], r->slot[i]);
    if (!w.wrong && w.copies != w.lanes)
        w.wrong = "shelves have lanes of rules that are not there";
    if (rc || !w.wrong)
        return rc;
    snprintf(why, n, "%s", w.wrong);
    return -EINVAL;
}
