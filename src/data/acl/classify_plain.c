// SPDX-License-Identifier: BSD-3-Clause
// classify_plain.c - bursts in plain C (classifier.h says what is done)
#include "acl/search.h"

static bool filter_has(const struct core *c, uint32_t key)
{
    uint32_t bits = filter_bits(key);

    return (__atomic_load_n(filter_word(c, key), __ATOMIC_RELAXED) & bits) == bits;
}

static void candidates_of(struct burst *b, const struct core *c, unsigned i,
                          uint32_t digest[2][CORE_LEVELS], uint32_t port, unsigned n_tuples)
{
    uint32_t guarded = 0; // tuples that are out: bit = guard
    uint32_t open = (uint32_t)((UINT64_C(1) << n_tuples) - 1);

    for (unsigned g = 0; g < c->n_guards; g++)
        if (!filter_has(c, digest[c->guard[g].side][c->guard[g].level] ^ c->guard[g].salt))
            guarded |= 1u << g;
    for (unsigned s = 0; s < 2; s++)
        if (c->gate[s].level != CORE_NONE)
            open &= __atomic_load_n(gate_word(&c->gate[s], digest[s][c->gate[s].level]),
                                    __ATOMIC_RELAXED) |
                    __atomic_load_n(&c->gate[s].always, __ATOMIC_RELAXED);
    for (; open; open &= open - 1) {
        const struct tuple *p = &c->tuple[__builtin_ctz(open)];
        uint32_t key =
            digest[0][p->level[0]] ^ digest[1][p->level[1]] ^ p->salt ^ (p->port ? port : 0);
        bool out = !__atomic_load_n(&p->rules, __ATOMIC_RELAXED);

        for (unsigned s = 0; s < 2; s++)
            out |= (p->guard[s] != CORE_NONE && guarded >> p->guard[s] & 1) ||
                   (p->set[s] != CORE_NONE && !(b->member[s][p->set[s]] >> i & 1));
        if (out || !filter_has(c, key))
            continue;
        b->key[b->n_found] = key;
        b->packet[b->n_found++] = i;
    }
    if (b->n_found >= FOUND_MAX)
        candidates_search(b, c);
}

static uint32_t digest_of(const struct core *c, const struct burst *b, unsigned side, unsigned i,
                          unsigned len)
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

static void part4(const struct acl_key4 *key, unsigned n, uint32_t src[BURST], uint32_t dst[BURST],
                  struct acl_key_l4 *l4)
{
    for (unsigned i = 0; i < n; i++) {
        src[i] = key[i].src_be;
        dst[i] = key[i].dst_be;
        if (l4)
            l4[i] = key[i].l4;
    }
}

const struct acl_kernel acl_kernel_scalar = {"scalar", part4, scalar, scalar, NULL, shelf_plain};
