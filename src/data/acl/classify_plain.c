// SPDX-License-Identifier: BSD-3-Clause
// classify_plain.c - finds the candidates among the rules under tuples, in plain C (classifier.h)
//
// For each packet it hashes both addresses once per prefix length, excludes tuples by bitmaps, side
// filters, tuple indexes and sets, and collects the keys that also pass the filter.
// candidates_search() then compares the entries behind these keys. The vector kernels do the same
// for many packets at once. The writer may change rules meanwhile, so each shared word is loaded
// atomically.
#include "acl/search.h"

static void candidates_add(struct key_burst *b, const struct classifier *c, unsigned i,
                           uint32_t digest[2][LEVELS_MAX], uint32_t port, unsigned n_tuples)
{
    uint32_t shut = 0; // bit = side filter that excludes the packet
    uint32_t open = (uint32_t)((UINT64_C(1) << n_tuples) - 1);

    for (unsigned g = 0; g < c->n_side_filters; g++)
        if (!filter_has(c, digest[c->side_filter[g].side][c->side_filter[g].level] ^
                               c->side_filter[g].salt))
            shut |= 1u << g;
    for (unsigned s = 0; s < 2; s++)
        if (c->tuple_index[s].level != INDEX_NONE)
            open &= __atomic_load_n(
                        tuple_index_word(&c->tuple_index[s], digest[s][c->tuple_index[s].level]),
                        __ATOMIC_RELAXED) |
                    __atomic_load_n(&c->tuple_index[s].always, __ATOMIC_RELAXED);
    for (; open; open &= open - 1) {
        const struct tuple *p = &c->tuple[__builtin_ctz(open)];
        uint32_t key =
            digest[0][p->level[0]] ^ digest[1][p->level[1]] ^ p->salt ^ (p->port ? port : 0);
        bool out = !__atomic_load_n(&p->rules, __ATOMIC_RELAXED);

        for (unsigned s = 0; s < 2; s++)
            out |= (p->side_filter[s] != INDEX_NONE && shut >> p->side_filter[s] & 1) ||
                   (p->set[s] != INDEX_NONE && !(b->member[s][p->set[s]] >> i & 1));
        if (out || !filter_has(c, key))
            continue;
        b->key[b->n_candidates] = key;
        b->packet[b->n_candidates++] = i;
    }
    if (b->n_candidates >= CANDIDATES_MAX)
        candidates_search(b, c);
}

static uint32_t digest_of(const struct classifier *c, const struct key_burst *b, unsigned side,
                          unsigned i, unsigned len)
{
    uint64_t a[2];

    if (c->family == ACL_IP4)
        return digest4(c, side, __builtin_bswap32(b->addr4[side][i]), len);
    memcpy(a, b->addr6[side][i], sizeof a);
    a[0] = __builtin_bswap64(a[0]);
    a[1] = __builtin_bswap64(a[1]);
    return digest6(c, side, a, len);
}

static uint64_t bitmap_side_plain(const uint32_t *bits, const uint32_t *addr_be, unsigned n)
{
    uint64_t in = 0;

    for (unsigned i = 0; i < n; i++) {
        uint32_t net = __builtin_bswap32(addr_be[i]) >> BITMAP_LEN;
        in |= (uint64_t)(__atomic_load_n(&bits[net / 32], __ATOMIC_RELAXED) >> net % 32 & 1) << i;
    }
    return in;
}

static void classify_plain(const struct classifier *c, struct key_burst *b)
{
    uint32_t digest[2][LEVELS_MAX];

    key_burst_walk(b);
    b->left &= bitmap_match(c, b, tuples_in_use(c, b->n_tuples), bitmap_side_plain);
    if (!b->left)
        return;
    if (b->lanes) {
        lane_rules_near_plain(c, b);
        return;
    }
    key_burst_read_l4(b, b->left);
    for (uint64_t left = b->left; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);

        for (unsigned s = 0; s < 2; s++)
            for (unsigned l = 0; l < __atomic_load_n(&c->n_levels[s], __ATOMIC_ACQUIRE); l++)
                digest[s][l] = digest_of(c, b, s, i, c->len[s][l]);
        candidates_add(b, c, i, digest, digest_port(c, b->l4[i].proto, b->l4[i].dport),
                       b->n_tuples);
    }
    candidates_search(b, c);
}

static void keys_split4(const struct acl_key4 *key, unsigned n, uint32_t src[KEY_BURST],
                        uint32_t dst[KEY_BURST], struct acl_key_l4 *l4)
{
    for (unsigned i = 0; i < n; i++) {
        src[i] = key[i].src_be;
        dst[i] = key[i].dst_be;
        if (l4)
            l4[i] = key[i].l4;
    }
}

const struct acl_kernel acl_kernel_scalar = {"scalar",       keys_split4, classify_plain,
                                             classify_plain, NULL,        lane_rules_near_plain};
