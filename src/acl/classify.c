// SPDX-License-Identifier: BSD-3-Clause
// classify.c - bursts: which kernel runs, what all of them begin with, and the one in plain C
#include "acl/classify.h"

#include "acl/list.h"
#include "acl/set.h"
#include "acl/shelf.h"
#include "poptrie/poptrie.h"

// --- the begin of a burst: what address sets decide ---

static uint64_t all_of(unsigned n)
{
    return n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
}

static void sets_find(struct burst *b, const struct core *c, unsigned side)
{
    b->sets[side] = __atomic_load_n(&c->sets[side], __ATOMIC_RELAXED) | c->apart_sets[side];
    for (uint64_t sets = b->sets[side]; sets; sets &= sets - 1) {
        unsigned s = (unsigned)__builtin_ctzll(sets);
        if (b->walks && b->walk_side == side && b->walk_set == s)
            continue;
        b->member[side][s] = !c->set[s] ? 0 : c->family == ACL_IP4 ? acl_set_find4(c->set[s], b->addr4[side], b->n)
                                                                   : acl_set_find6(c->set[s], b->addr6[side], b->n);
    }
}

// Rules that stand apart, the first one first. Whom they decide before all others is not among b->left.
static void apart_decide(struct burst *b, const struct core *c)
{
    uint32_t least = __atomic_load_n(&c->least, __ATOMIC_RELAXED);
    uint64_t open = all_of(b->n);

    for (unsigned r = 0; r < c->n_by_sets && open; r++) {
        const struct by_sets *p = &c->by_sets[r];
        uint32_t number = __atomic_load_n(&p->number, __ATOMIC_RELAXED); // partner: apart_del
        uint64_t hit = number == UINT32_MAX ? 0 : open;

        for (unsigned s = 0; s < 2; s++)
            if (p->set[s] != CORE_NONE)
                hit &= b->member[s][p->set[s]];
        open &= ~hit;
        if (number < least)
            b->left &= ~hit;
        for (; hit; hit &= hit - 1) {
            unsigned i = (unsigned)__builtin_ctzll(hit);
            if (number < b->best[i]) {
                b->slot[i] = p->slot;
                b->best[i] = number;
            }
        }
    }
}

static void promoted_ask(struct burst *b, const struct core *c, const struct promoted *p)
{
    uint32_t index[BURST];

    if (c->family == ACL_IP4)
        poptrie_find4_bulk(p->table, b->addr4[p->side], index, b->n);
    else
        poptrie_find6_bulk(p->table, b->addr6[p->side], index, b->n);
    for (unsigned i = 0; i < b->n; i++) {
        uint64_t first = __atomic_load_n(&p->first[index[i]], __ATOMIC_ACQUIRE); // partner: first_set
        uint32_t number = (uint32_t)(first >> 32), slot = (uint32_t)first;
        bool before = number < b->best[i];

        b->best[i] = before ? number : b->best[i];
        b->slot[i] = before ? slot : b->slot[i];
    }
}

// Whom a promoted rule decides before all rules under tuples is not among b->left.
static void promoted_decide(struct burst *b, const struct core *c)
{
    uint32_t least = __atomic_load_n(&c->least, __ATOMIC_RELAXED);
    uint64_t later = 0;

    for (unsigned t = 0; t < c->n_promoted; t++)
        promoted_ask(b, c, c->promoted[t]);
    for (unsigned i = 0; i < b->n && b->tuples; i++)
        later |= (uint64_t)(b->best[i] > least) << i;
    if (b->tuples)
        b->left &= later;
}

// The set of one rule that stands apart may be looked for while tuples are, or while the caller does something else: none that a rule under a
// tuple names, as these ask at once. The filter is asked here.
static void walk_begin(struct burst *b, const struct core *c)
{
    b->walks = false;
    b->meanwhile = b->late && b->late->meanwhile;
    if (c->family != ACL_IP4 || !(b->tuples || b->meanwhile))
        return;
    for (uint8_t side = 0; side < 2 && !b->walks; side++) {
        uint64_t sets = c->apart_sets[side] & ~__atomic_load_n(&c->sets[side], __ATOMIC_RELAXED);
        if (!sets)
            continue;
        b->walk_side = side;
        b->walk_set = (uint8_t)__builtin_ctzll(sets);
        if (!c->set[b->walk_set])
            continue;
        b->walks = true;
        b->member[side][b->walk_set] = 0; // to a rule that is put under a tuple just now
        acl_set_walk4(c->set[b->walk_set], &b->walk, b->addr4[side], b->n);
        burst_walk(b);
    }
}

// Are many addresses in the set, or may be? That is worth knowing before tuples are asked, and before anything is done for packets that may end here.
static bool walk_is_wide(const struct burst *b)
{
    return (b->walk.set ? b->walk.n : 0) + (unsigned)__builtin_popcountll(b->walk.found) > b->n / 4;
}

static void walk_end(struct burst *b)
{
    while (b->walk.set)
        burst_walk(b);
    b->member[b->walk_side][b->walk_set] = b->walk.found;
    b->walks = false;
}

void burst_walk(struct burst *b)
{
    if (!b->walks || !b->walk.set)
        return;
    set4_walk_on(&b->walk);
    if (b->walk.step != 2 || !b->walk.set || !b->meanwhile)
        return;
    b->meanwhile = false; // nodes were asked for: the longest of all waits
    b->late->meanwhile(b->late->ctx);
}

static void ask(const struct core *c, const struct acl_kernel *k, struct burst *b)
{
    unsigned blocks = k->few ? __atomic_load_n(&c->few_blocks, __ATOMIC_ACQUIRE) : 0; // partner: core_few

    b->shelf = __atomic_load_n(&c->shelf, __ATOMIC_ACQUIRE); // partner: shelf_take
    if (blocks)
        k->few(c, b, blocks);
    else if (b->shelf && !b->shelf->behind_gates)
        k->shelf(c, b);
    else
        (c->family == ACL_IP4 ? k->classify4 : k->classify6)(c, b);
}

// b: addresses, tuples, and l4 if there are any.
static void classify(const struct core *c, const struct acl_kernel *k, struct burst *b, uint32_t *slot, unsigned n)
{
    b->slot = slot;
    b->n = n;
    b->n_found = 0;
    b->n_tuples = __atomic_load_n(&c->n_tuples, __ATOMIC_ACQUIRE); // partner: tuple_of; sets and levels are read after it
    b->left = all_of(n);
    memset(slot, 0xff, n * sizeof *slot); // ACL_MISS
    memset(b->best, 0xff, n * sizeof *b->best);
    walk_begin(b, c);
    if (c->n_promoted)
        promoted_decide(b, c);
    sets_find(b, c, CORE_SRC);
    sets_find(b, c, CORE_DST);
    if (b->walks && walk_is_wide(b)) {
        b->meanwhile = false;
        walk_end(b);
    }
    if (!b->walks)
        apart_decide(b, c);
    if (b->left && b->tuples)
        ask(c, k, b);
    if (b->walks) {
        walk_end(b);
        apart_decide(b, c);
    }
}

// --- in plain C ---

static bool filter_has(const struct core *c, uint32_t key)
{
    uint32_t bits = filter_bits(key);

    return (__atomic_load_n(filter_word(c, key), __ATOMIC_RELAXED) & bits) == bits;
}

static void candidates_of(struct burst *b, const struct core *c, unsigned i, uint32_t digest[2][CORE_LEVELS], uint32_t port, unsigned n_tuples)
{
    uint32_t guarded = 0; // tuples that are out: bit = guard
    uint32_t open = (uint32_t)((UINT64_C(1) << n_tuples) - 1);

    for (unsigned g = 0; g < c->n_guards; g++)
        if (!filter_has(c, digest[c->guard[g].side][c->guard[g].level] ^ c->guard[g].salt))
            guarded |= 1u << g;
    for (unsigned s = 0; s < 2; s++)
        if (c->gate[s].level != CORE_NONE)
            open &= __atomic_load_n(gate_word(&c->gate[s], digest[s][c->gate[s].level]), __ATOMIC_RELAXED) |
                    __atomic_load_n(&c->gate[s].always, __ATOMIC_RELAXED);
    for (; open; open &= open - 1) {
        const struct tuple *p = &c->tuple[__builtin_ctz(open)];
        uint32_t key = digest[0][p->level[0]] ^ digest[1][p->level[1]] ^ p->salt ^ (p->port ? port : 0);
        bool out = !__atomic_load_n(&p->rules, __ATOMIC_RELAXED);

        for (unsigned s = 0; s < 2; s++)
            out |= (p->guard[s] != CORE_NONE && guarded >> p->guard[s] & 1) || (p->set[s] != CORE_NONE && !(b->member[s][p->set[s]] >> i & 1));
        if (out || !filter_has(c, key))
            continue;
        b->key[b->n_found] = key;
        b->packet[b->n_found++] = i;
    }
    if (b->n_found >= FOUND_MAX)
        candidates_search(b, c);
}

static uint32_t digest_of(const struct core *c, const struct burst *b, unsigned side, unsigned i, unsigned len)
{
    uint64_t a[2];

    if (c->family == ACL_IP4)
        return digest4(c, side, __builtin_bswap32(b->addr4[side][i]), len);
    memcpy(a, b->addr6[side][i], sizeof a);
    a[0] = __builtin_bswap64(a[0]);
    a[1] = __builtin_bswap64(a[1]);
    return digest6(c, side, a, len);
}

static uint64_t fence_plain(const uint32_t *bits, const uint32_t *addr_be, unsigned n)
{
    uint64_t in = 0;

    for (unsigned i = 0; i < n; i++) {
        uint32_t net = __builtin_bswap32(addr_be[i]) >> FENCE_LEN;
        in |= (uint64_t)(__atomic_load_n(&bits[net / 32], __ATOMIC_RELAXED) >> net % 32 & 1) << i;
    }
    return in;
}

static void scalar(const struct core *c, struct burst *b)
{
    uint32_t digest[2][CORE_LEVELS];

    burst_walk(b);
    b->left &= fence_ask(c, b, tuples_in_use(c, b->n_tuples), fence_plain);
    if (!b->left)
        return;
    if (b->shelf) {
        shelf_plain(c, b);
        return;
    }
    l4_read(b, b->left);
    for (uint64_t left = b->left; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);

        for (unsigned s = 0; s < 2; s++)
            for (unsigned l = 0; l < __atomic_load_n(&c->n_levels[s], __ATOMIC_ACQUIRE); l++)
                digest[s][l] = digest_of(c, b, s, i, c->len[s][l]);
        candidates_of(b, c, i, digest, digest_port(c, b->l4[i].proto, b->l4[i].dport), b->n_tuples);
    }
    candidates_search(b, c);
}

static void part4(const struct acl_key4 *key, unsigned n, uint32_t src[BURST], uint32_t dst[BURST], struct acl_key_l4 *l4)
{
    for (unsigned i = 0; i < n; i++) {
        src[i] = key[i].src_be;
        dst[i] = key[i].dst_be;
        if (l4)
            l4[i] = key[i].l4;
    }
}

const struct acl_kernel acl_kernel_scalar = {"scalar", part4, scalar, scalar, NULL, shelf_plain};

// --- which kernel ---

static const struct acl_kernel *current; // chosen at first use; any thread finds the same

static const struct acl_kernel *kernel_of(enum acl_simd s) // NULL: not on this CPU
{
#ifdef ACL_X86
    if (s == ACL_AVX2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") ? &acl_kernel_avx2 : NULL;
    if (s == ACL_AVX512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2")
                   ? &acl_kernel_avx512
                   : NULL;
#endif
    return s == ACL_PLAIN ? &acl_kernel_scalar : NULL;
}

bool acl_use_simd(enum acl_simd s)
{
    const struct acl_kernel *k = kernel_of(s);

    if (k)
        __atomic_store_n(&current, k, __ATOMIC_RELAXED);
    return k;
}

static const struct acl_kernel *kernel(void)
{
    const struct acl_kernel *k = __atomic_load_n(&current, __ATOMIC_RELAXED);

    if (__builtin_expect(!k, 0)) {
        for (int s = ACL_SIMDS; !acl_use_simd((enum acl_simd)(s - 1));)
            s--;
        k = __atomic_load_n(&current, __ATOMIC_RELAXED);
    }
    return k;
}

const char *acl_kernel_name(void)
{
    return kernel()->name;
}

// --- bursts ---

static bool has_tuples(const struct core *c)
{
    return __atomic_load_n(&c->in_tuples, __ATOMIC_RELAXED);
}

void acl_classify4(const struct acl *a, const struct acl_key4 *key, uint32_t *slot, unsigned n)
{
    const struct core *c = list_core(a, 0);
    uint32_t addr[2][BURST];
    struct burst b;

    for (unsigned i = 0; i < n; i += BURST) {
        unsigned part = n - i < BURST ? n - i : BURST;

        if (!c) {
            memset(slot + i, 0xff, part * sizeof *slot);
            continue;
        }
        b.tuples = has_tuples(c);
        kernel()->part4(key + i, part, addr[0], addr[1], b.tuples ? b.l4 : NULL);
        b.addr4[0] = addr[0];
        b.addr4[1] = addr[1];
        b.late = NULL;
        classify(c, kernel(), &b, slot + i, part);
    }
}

void acl_classify6(const struct acl *a, const struct acl_key6 *key, uint32_t *slot, unsigned n)
{
    const struct core *c = list_core(a, 1);
    uint8_t addr[2][BURST][16];
    struct burst b;

    for (unsigned i = 0; i < n; i += BURST) {
        unsigned part = n - i < BURST ? n - i : BURST;

        if (!c) {
            memset(slot + i, 0xff, part * sizeof *slot);
            continue;
        }
        for (unsigned j = 0; j < part; j++) {
            memcpy(addr[0][j], key[i + j].src, sizeof addr[0][j]);
            memcpy(addr[1][j], key[i + j].dst, sizeof addr[1][j]);
            b.l4[j] = key[i + j].l4;
        }
        b.tuples = has_tuples(c);
        b.addr6[0] = (const uint8_t(*)[16])addr[0];
        b.addr6[1] = (const uint8_t(*)[16])addr[1];
        b.late = NULL;
        classify(c, kernel(), &b, slot + i, part);
    }
}

void acl_classify_late(const struct acl *a, enum acl_family family, const struct acl_late *p, uint32_t *slot, unsigned n)
{
    const struct core *c = list_core(a, family == ACL_IP6);
    struct burst b;

    if (!c) {
        memset(slot, 0xff, n * sizeof *slot);
        return;
    }
    if (family == ACL_IP4) {
        b.addr4[0] = p->src;
        b.addr4[1] = p->dst;
    } else {
        b.addr6[0] = p->src;
        b.addr6[1] = p->dst;
    }
    b.tuples = has_tuples(c);
    b.late = p;
    classify(c, kernel(), &b, slot, n);
}

bool acl_is_by_sets(const struct acl *a, enum acl_family family)
{
    const struct core *c = list_core(a, family == ACL_IP6);

    return !c || !has_tuples(c);
}
