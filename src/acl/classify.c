// SPDX-License-Identifier: BSD-3-Clause
// classify.c - bursts: which kernel runs, what all of them begin with, and the one in plain C
#include "acl/classify.h"

#include "acl/list.h"
#include "acl/set.h"

// --- the begin of a burst ---

static void begin(struct burst *b, uint32_t *slot, unsigned n)
{
    b->slot = slot;
    b->n = n;
    b->n_found = 0;
    for (unsigned i = 0; i < n; i++) {
        slot[i] = ACL_MISS;
        b->best[i] = UINT32_MAX;
    }
}

static uint64_t sets_in_use(struct burst *b, const struct core *c, unsigned side)
{
    return b->sets[side] = __atomic_load_n(&c->sets[side], __ATOMIC_RELAXED);
}

void burst_begin4(struct burst *b, const struct core *c, const struct acl_key4 *key, uint32_t *slot, unsigned n)
{
    uint32_t addr[BURST];

    b->key4 = key;
    begin(b, slot, n);
    for (unsigned side = 0; side < 2; side++) {
        uint64_t sets = sets_in_use(b, c, side);

        if (!sets)
            continue;
        for (unsigned i = 0; i < n; i++)
            addr[i] = side == CORE_SRC ? key[i].src_be : key[i].dst_be;
        for (; sets; sets &= sets - 1) {
            unsigned s = (unsigned)__builtin_ctzll(sets);
            b->member[side][s] = c->set[s] ? acl_set_find4(c->set[s], addr, n) : 0;
        }
    }
}

void burst_begin6(struct burst *b, const struct core *c, const struct acl_key6 *key, uint32_t *slot, unsigned n)
{
    uint8_t addr[BURST][16];

    b->key6 = key;
    begin(b, slot, n);
    for (unsigned side = 0; side < 2; side++) {
        uint64_t sets = sets_in_use(b, c, side);

        if (!sets)
            continue;
        for (unsigned i = 0; i < n; i++)
            memcpy(addr[i], side == CORE_SRC ? key[i].src : key[i].dst, sizeof addr[i]);
        for (; sets; sets &= sets - 1) {
            unsigned s = (unsigned)__builtin_ctzll(sets);
            b->member[side][s] = c->set[s] ? acl_set_find6(c->set[s], (const uint8_t(*)[16])addr, n) : 0;
        }
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

static void scalar4(const struct core *c, const struct acl_key4 *key, uint32_t *slot, unsigned n)
{
    unsigned n_tuples = __atomic_load_n(&c->n_tuples, __ATOMIC_ACQUIRE); // partner: tuple_of; levels are read after it
    uint32_t digest[2][CORE_LEVELS];
    struct burst b;

    burst_begin4(&b, c, key, slot, n);
    for (unsigned i = 0; i < n; i++) {
        const uint32_t addr[2] = {__builtin_bswap32(key[i].src_be), __builtin_bswap32(key[i].dst_be)};

        for (unsigned s = 0; s < 2; s++)
            for (unsigned l = 0; l < __atomic_load_n(&c->n_levels[s], __ATOMIC_ACQUIRE); l++)
                digest[s][l] = digest4(c, s, addr[s], c->len[s][l]);
        candidates_of(&b, c, i, digest, digest_port(c, key[i].l4.proto, key[i].l4.dport), n_tuples);
    }
    candidates_search(&b, c);
}

static void scalar6(const struct core *c, const struct acl_key6 *key, uint32_t *slot, unsigned n)
{
    unsigned n_tuples = __atomic_load_n(&c->n_tuples, __ATOMIC_ACQUIRE);
    uint32_t digest[2][CORE_LEVELS];
    struct burst b;

    burst_begin6(&b, c, key, slot, n);
    for (unsigned i = 0; i < n; i++) {
        uint64_t addr[2][2];

        memcpy(addr[0], key[i].src, sizeof addr[0]);
        memcpy(addr[1], key[i].dst, sizeof addr[1]);
        for (unsigned s = 0; s < 2; s++) {
            addr[s][0] = __builtin_bswap64(addr[s][0]);
            addr[s][1] = __builtin_bswap64(addr[s][1]);
            for (unsigned l = 0; l < __atomic_load_n(&c->n_levels[s], __ATOMIC_ACQUIRE); l++)
                digest[s][l] = digest6(c, s, addr[s], c->len[s][l]);
        }
        candidates_of(&b, c, i, digest, digest_port(c, key[i].l4.proto, key[i].l4.dport), n_tuples);
    }
    candidates_search(&b, c);
}

const struct acl_kernel acl_kernel_scalar = {"scalar", scalar4, scalar6};

// --- which kernel ---

static const struct acl_kernel *current; // chosen at first use; any thread finds the same

static const struct acl_kernel *choose(bool simd)
{
    const struct acl_kernel *k = &acl_kernel_scalar;

#ifdef ACL_X86
    if (simd && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2"))
        k = &acl_kernel_avx512;
#endif
    __atomic_store_n(&current, k, __ATOMIC_RELAXED);
    return k;
}

static const struct acl_kernel *kernel(void)
{
    const struct acl_kernel *k = __atomic_load_n(&current, __ATOMIC_RELAXED);

    return k ? k : choose(true);
}

void acl_use_simd(bool on)
{
    choose(on);
}

const char *acl_kernel_name(void)
{
    return kernel()->name;
}

void acl_classify4(const struct acl *a, const struct acl_key4 *key, uint32_t *slot, unsigned n)
{
    const struct core *c = list_core(a, 0);

    for (unsigned i = 0; i < n; i += BURST) {
        unsigned part = n - i < BURST ? n - i : BURST;

        if (c)
            kernel()->classify4(c, key + i, slot + i, part);
        else
            memset(slot + i, 0xff, part * sizeof *slot);
    }
}

void acl_classify6(const struct acl *a, const struct acl_key6 *key, uint32_t *slot, unsigned n)
{
    const struct core *c = list_core(a, 1);

    for (unsigned i = 0; i < n; i += BURST) {
        unsigned part = n - i < BURST ? n - i : BURST;

        if (c)
            kernel()->classify6(c, key + i, slot + i, part);
        else
            memset(slot + i, 0xff, part * sizeof *slot);
    }
}
