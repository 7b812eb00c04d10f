// SPDX-License-Identifier: BSD-3-Clause
// poptrie.c - Poptrie equals longest-prefix match after every sequence of a few updates
//
// Routes differ in eight bits of the address, from bit `at` on: 511 prefixes, 256 addresses. Of
// these prefixes a run takes a set, with two values, and visits every state that up to `most`
// updates can reach: add, replace, delete, also of what is not there. In each state all 256
// addresses are looked up, each with the smallest and largest bits behind, and compared with a
// search of the list of routes.
//
// A state is the list of routes and what the table holds, whatever the addresses of its blocks: the
// writer's tree, directory words and blocks, values of the floor. Two sequences that lead to the
// same state have the same answers and the same future, so the state is compared and followed once.
// All states of the same number of updates are visited before the others.
//
//     poptrie BITS AT PREFIXES MOST VALUE VALUE
//
// PREFIXES: `all`, or the numbers of those of the eight bits that may be set, as `0,3,7`: 15
// prefixes, which end behind one of these bits, or before the first.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/hash.h"
#include "poptrie/poptrie_priv.h"
#include "poptrie/walk.h"

#define PREFIXES_MAX 511
#define UPDATES_MAX 6

struct prefix {
    uint8_t bits, len; // of the eight
};

struct update {
    uint16_t prefix;
    uint8_t value; // 0 = delete, 1, 2
};

struct state {
    uint8_t n;
    struct update way[UPDATES_MAX];
};

struct digest {
    uint64_t a, b;
};

static struct poptrie *table;
static unsigned key_bits, at;
static uint32_t value_of[3];
static struct prefix prefix[PREFIXES_MAX];
static unsigned n_prefixes;
static uint8_t held[PREFIXES_MAX]; // the model: value of each prefix, 0 = no route
static struct update way[UPDATES_MAX + 1];
static unsigned n_way;
static uint64_t held_sum; // of a hash per route of the model
static uint64_t n_updates, n_lookups;

// Lookups are those of kernel_scalar.c.
bool cpu_runs(enum cpu_simd set)
{
    return set == CPU_SCALAR;
}

bool gather_is_slow(void)
{
    return false;
}

void log_bug(const char *file, int line, const char *cond)
{
    printf("poptrie: %s:%d: %s\n", file, line, cond);
    exit(1);
}

static void fail(const char *what)
{
    printf("poptrie: %s, after", what);
    for (unsigned i = 0; i < n_way; i++)
        printf(" %s %02x/%u=%u", way[i].value ? "add" : "delete", prefix[way[i].prefix].bits,
               prefix[way[i].prefix].len, value_of[way[i].value]);
    printf("\n");
    exit(1);
}

// --- addresses ---

// The window's byte in a fixed prefix: 11.5.129.66..., or 2a45:8142:...; `fill`: bits behind.
static void address(uint8_t key[16], uint8_t byte, uint8_t fill)
{
    static const uint8_t base4[16] = {11, 5, 129, 66},
                         base6[16] = {0x2a, 0x45, 0x81, 0x42, 0x13, 0x57, 0x9b, 0xdf,
                                      0x02, 0x46, 0x8a, 0xce, 0x11, 0x35, 0x79, 0xbd};
    const uint8_t *base = key_bits == 32 ? base4 : base6;

    for (unsigned i = 0; i < key_bits; i++) {
        unsigned bit = i < at       ? base[i / 8] >> (7 - i % 8) & 1
                       : i < at + 8 ? byte >> (7 - (i - at)) & 1
                                    : fill & 1u;
        key[i / 8] = (uint8_t)((i % 8 ? key[i / 8] : 0) | bit << (7 - i % 8));
    }
}

static uint8_t keys[PREFIXES_MAX][16];
static uint32_t dst4[512];
static uint8_t dst6[512][16];

static void addresses_make(void)
{
    for (unsigned i = 0; i < 512; i++) {
        address(dst6[i], (uint8_t)i, i >> 8 ? 0xff : 0);
        memcpy(&dst4[i], dst6[i], 4);
    }
    for (unsigned i = 0; i < n_prefixes; i++)
        address(keys[i], prefix[i].bits, 0);
}

// --- the model ---

static void answers(uint32_t answer[256])
{
    unsigned by_length[9][UPDATES_MAX], n[9] = {0};

    memset(answer, 0, 256 * sizeof *answer);
    for (unsigned i = 0; i < n_way; i++) { // only prefixes of the way can be routes
        const unsigned p = way[i].prefix, len = prefix[p].len;
        if (held[p])
            by_length[len][n[len]++] = p;
    }
    for (unsigned len = 0; len <= 8; len++)
        for (unsigned i = 0; i < n[len]; i++) {
            const struct prefix *p = &prefix[by_length[len][i]];
            for (unsigned k = 0; k < 256u >> len; k++)
                answer[p->bits + k] = value_of[held[by_length[len][i]]];
        }
}

static void compare(void)
{
    uint32_t want[256], got[512];

    answers(want);
    if (key_bits == 32)
        poptrie_find4_bulk(table, dst4, got, 512);
    else
        poptrie_find6_bulk(table, dst6, got, 512);
    n_lookups += 512;
    for (unsigned i = 0; i < 512; i++)
        if (got[i] != want[i & 0xff])
            fail("a lookup differs");
}

static uint64_t route_hash(unsigned p)
{
    return held[p] ? hash_mix64(p << 2 | held[p]) : 0;
}

static void hold(unsigned p, uint8_t value)
{
    held_sum -= route_hash(p);
    held[p] = value;
    held_sum += route_hash(p);
}

// Applies an update to table and model.
static void apply(struct update u)
{
    const unsigned len = at + prefix[u.prefix].len;
    int r;

    way[n_way++] = u;
    if (u.value)
        r = poptrie_add(table, keys[u.prefix], len, value_of[u.value]);
    else
        r = poptrie_del(table, keys[u.prefix], len);
    if (r != (u.value || held[u.prefix] ? 0 : -ENOENT))
        fail("an update gives a wrong result");
    hold(u.prefix, u.value);
    n_updates++;
}

// --- the state ---

static void mix(struct digest *d, uint64_t v)
{
    d->a = hash_mix64(d->a ^ v);
    d->b = hash_mix64(d->b + v * 0x9e3779b97f4a7c15u) ^ d->a >> 7;
}

static void mix_word(struct digest *d, uint32_t w);

// A child that does not begin a run equals the one before it.
static void mix_block(struct digest *d, uint32_t w)
{
    const uint8_t *block = block_at(table->arena, w);

    if (word_code(w) == CODE_SKIP) {
        const struct skip *s = (const void *)block;
        mix(d, s->key), mix(d, s->out), mix(d, s->bits);
        mix_word(d, s->in);
        return;
    }
    const unsigned bits = word_code(w) == CODE_WIDE ? 32 : 64; // of a run vector
    for (unsigned c = 0; c < (bits == 32 ? 256 : 64); c += bits) {
        uint64_t runs;
        memcpy(&runs, block + c / bits * 8, sizeof runs);
        mix(d, runs);
        for (runs &= UINT64_MAX >> (64 - bits); runs; runs &= runs - 1) {
            const unsigned k = c + (unsigned)__builtin_ctzll(runs);
            const uint32_t *slot =
                word_code(w) < CODE_MIXED || bits == 32 ? NULL : block_slot(table->arena, w, k);
            if (slot)
                mix_word(d, *slot);
            else
                mix(d, bits == 32 ? wide_leaf(table->arena, w, k) : block_leaf(table->arena, w, k));
        }
    }
}

static void mix_word(struct digest *d, uint32_t w)
{
    if (!word_is_ref(w)) {
        mix(d, w);
        return;
    }
    mix(d, WORD_REF | word_code(w));
    mix_block(d, w);
}

static void mix_tree(struct digest *d, struct kid k)
{
    const struct node *n = node_at(&table->nodes, k.node);

    mix(d, k.node & KID_DIRTY), mix(d, n->key[0]), mix(d, n->key[1]);
    mix(d, n->routes[0]), mix(d, n->routes[1]), mix(d, n->kids), mix(d, n->depth);
    for (unsigned i = 0; i < n->n_values; i++)
        mix(d, node_values(n)[i]);
    for (unsigned i = 0; i < n->n_kids; i++)
        mix_tree(d, node_kids(n)[i]);
}

static uint32_t slot[512]; // the first and last one under each of the 256 addresses
static unsigned n_slots;

static void slots_make(void)
{
    for (unsigned i = 0; i < 512; i++) {
        uint64_t key[2];
        key_load(table, dst6[i / 2 | (i & 1) << 8], key_bits, key);
        if (key_has_slot(table, key) && (!n_slots || slot[n_slots - 1] != key_slot(table, key)))
            slot[n_slots++] = key_slot(table, key);
    }
}

static struct digest state_now(void)
{
    struct digest d = {1, held_sum};
    uint64_t floor[sizeof table->floor / 8];

    for (unsigned i = 0; i < n_slots; i++)
        mix_word(&d, table->dir[slot[i]]);
    mix_word(&d, table->outside);
    memcpy(floor, table->floor, sizeof floor);
    for (unsigned i = 0; i < sizeof floor / 8; i++)
        mix(&d, floor[i]);
    mix(&d, table->default_value), mix(&d, table->routes);
    mix_tree(&d, table->root);
    return d;
}

// --- states visited ---

static struct digest *seen; // a hash table; {0, 0} = free
static size_t n_seen, cap_seen;

static size_t place_of(struct digest d)
{
    size_t i = d.a & (cap_seen - 1);

    while ((seen[i].a | seen[i].b) && (seen[i].a != d.a || seen[i].b != d.b))
        i = (i + 1) & (cap_seen - 1);
    return i;
}

static bool is_new(struct digest d)
{
    size_t i;

    if (2 * n_seen >= cap_seen) {
        struct digest *old = seen;
        const size_t cap_old = cap_seen;
        cap_seen = cap_seen ? 2 * cap_seen : 1 << 16;
        seen = calloc(cap_seen, sizeof *seen);
        if (!seen)
            abort();
        for (size_t k = 0; k < cap_old; k++)
            if (old[k].a | old[k].b)
                seen[place_of(old[k])] = old[k];
        free(old);
    }
    i = place_of(d);
    if (seen[i].a | seen[i].b)
        return false;
    seen[i] = d;
    n_seen++;
    return true;
}

// --- the search ---

static VEC(struct state) now, next;

static void collect(void)
{
    poptrie_reclaim(table, poptrie_epoch(table));
}

static void empty(void)
{
    for (; n_way; n_way--)
        if (held[way[n_way - 1].prefix]) {
            const unsigned p = way[n_way - 1].prefix;
            if (poptrie_del(table, keys[p], at + prefix[p].len))
                fail("a route cannot be deleted");
            hold(p, 0);
        }
    collect();
}

static void reach(const struct state *s)
{
    empty();
    for (unsigned i = 0; i < s->n; i++)
        apply(s->way[i]);
}

// Every update in state s, each undone by its opposite.
static void follow(const struct state *s, unsigned most)
{
    reach(s);
    const struct digest here = state_now();
    for (unsigned p = 0; p < n_prefixes; p++)
        for (uint8_t v = 0; v < 3; v++) {
            const uint8_t was = held[p];
            apply((struct update){(uint16_t)p, v});
            if (is_new(state_now())) {
                compare();
                if (n_way < most) {
                    struct state *to = vec_push(&next);
                    to->n = (uint8_t)n_way;
                    memcpy(to->way, way, sizeof to->way);
                }
            }
            if (was != v)
                apply((struct update){(uint16_t)p, was});
            n_way = s->n;
            const struct digest back = state_now();
            if (back.a != here.a || back.b != here.b)
                reach(s);
        }
}

static void prefixes_all(void)
{
    for (unsigned len = 0; len <= 8; len++)
        for (unsigned b = 0; b < 1u << len; b++)
            prefix[n_prefixes++] = (struct prefix){(uint8_t)(b << (8 - len)), (uint8_t)len};
}

// bit[0..n): numbers of bits, rising.
static void prefixes_of_bits(const unsigned *bit, unsigned n)
{
    for (unsigned k = 0; k <= n; k++)
        for (unsigned b = 0; b < 1u << k; b++) {
            struct prefix p = {.len = (uint8_t)(k ? bit[k - 1] + 1 : bit[0])};
            for (unsigned i = 0; i < k; i++)
                p.bits |= (uint8_t)((b >> (k - 1 - i) & 1) << (7 - bit[i]));
            prefix[n_prefixes++] = p;
        }
}

static void prefixes_read(char *text)
{
    unsigned bit[8], n = 0;

    if (!strcmp(text, "all")) {
        prefixes_all();
        return;
    }
    for (char *word = strtok(text, ","); word && n < 8; word = strtok(NULL, ","))
        bit[n++] = (unsigned)atoi(word);
    prefixes_of_bits(bit, n);
}

int main(int argc, char **argv)
{
    char why[200];

    if (argc != 7)
        return 2;
    key_bits = (unsigned)atoi(argv[1]);
    at = (unsigned)atoi(argv[2]);
    prefixes_read(argv[3]);
    const unsigned most = (unsigned)atoi(argv[4]);
    value_of[1] = (uint32_t)atoi(argv[5]);
    value_of[2] = (uint32_t)atoi(argv[6]);
    if (most > UPDATES_MAX)
        return 2;
    poptrie_set_kernel(POPTRIE_KERNEL_SCALAR, 0);
    table = poptrie_new(&(struct poptrie_config){.key_bits = key_bits, .max_bytes = 1 << 24});
    if (!table)
        return 2;
    addresses_make();
    slots_make();
    is_new(state_now());
    *vec_push(&next) = (struct state){0};
    for (unsigned done = 0; done < most; done++) {
        __typeof__(now) full = next;
        next = now;
        now = full;
        vec_clear(&next);
        vec_foreach (&now, s)
            follow(s, most);
    }
    empty();
    if (poptrie_check(table, why, sizeof why))
        fail(why);
    printf("%u prefixes, %u updates: %zu states, %llu updates, %llu lookups\n", n_prefixes, most,
           n_seen, (unsigned long long)n_updates, (unsigned long long)n_lookups);
    poptrie_free(table);
    return 0;
}
