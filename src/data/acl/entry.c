// SPDX-License-Identifier: BSD-3-Clause
// entry.c - the writer's half of a rule under a tuple: its key, its filter bits, its entry
// (classifier_build.h)
//
// A key is the tuple's salt, XOR the digests of both prefixes at the tuple's lengths, XOR the
// digest of the destination port if the tuple has one. Kernels compute the same from a packet's
// fields, so a rule is found only if both sides agree. An address set counts as length 0; its
// number takes the place of the address in the entry.
#include "acl/classifier_build.h"

#include <string.h>

#include "acl/rule.h"
#include "base/hash.h"

// --- keys ---

unsigned rule_len(const struct acl_rule *r, enum side_index s)
{
    const struct acl_side *side = rule_side(r, s);

    return side->set == ACL_NO_SET ? side->len : 0;
}

uint32_t rule_digest(const struct classifier *c, enum side_index s, const struct acl_rule *r,
                     unsigned len)
{
    const uint8_t *addr = rule_side(r, s)->addr;

    if (c->family == ACL_IP4) {
        uint32_t a;
        memcpy(&a, addr, sizeof a);
        return digest4(c, s, __builtin_bswap32(a), len);
    }
    uint64_t a[2];
    memcpy(a, addr, sizeof a);
    a[0] = __builtin_bswap64(a[0]);
    a[1] = __builtin_bswap64(a[1]);
    return digest6(c, s, a, len);
}

uint32_t tuple_key(const struct classifier *c, const struct tuple *t, const struct acl_rule *r)
{
    uint32_t key = t->salt ^ rule_digest(c, SIDE_SRC, r, c->len[SIDE_SRC][t->level[SIDE_SRC]]) ^
                   rule_digest(c, SIDE_DST, r, c->len[SIDE_DST][t->level[SIDE_DST]]);

    return t->port ? key ^ digest_port(c, r->proto, r->dport[0]) : key;
}

uint32_t key_salt(const struct classifier *c, unsigned i)
{
    return hash_mix32((uint32_t)(c->secret[1][1] >> 32) + i);
}

void filter_set(const struct classifier *c, uint32_t key)
{
    uint32_t *word = filter_word(c, key);

    __atomic_store_n(word, *word | filter_bits(key), __ATOMIC_RELAXED);
}

// --- entries ---

void entry_write(const struct classifier *c, uint32_t ref, const struct acl_rule *r, uint32_t slot,
                 uint8_t is)
{
    const struct acl_side *side[2] = {rule_side(r, SIDE_SRC), rule_side(r, SIDE_DST)};
    const struct rule_test test = rule_test(r);
    struct entry_l4 *e = entry_l4_at(c, ref, 0);

    *e = (struct entry_l4){.number = r->number, .slot = slot, .is = is};
    entry_l4_put(e, &test);
    e->is |= (r->src.set == ACL_NO_SET ? 0 : ENTRY_SRC_SET) |
             (r->dst.set == ACL_NO_SET ? 0 : ENTRY_DST_SET);
    for (unsigned s = 0; s < 2; s++) {
        bool set = side[s]->set != ACL_NO_SET;

        e->len[s] = set ? 0 : side[s]->len;
        if (c->family == ACL_IP4) {
            uint32_t a;
            memcpy(&a, side[s]->addr, sizeof a);
            ((struct entry4 *)(c->block + (size_t)ref * sizeof(struct entry4)))->addr[s] =
                set ? side[s]->set : __builtin_bswap32(a);
        } else {
            uint64_t *to = ((struct entry6 *)(c->block + (size_t)ref * sizeof(struct entry6)))
                               ->addr[s],
                     a[2];
            memcpy(a, side[s]->addr, sizeof a);
            to[0] = set ? side[s]->set : __builtin_bswap64(a[0]);
            to[1] = set ? 0 : __builtin_bswap64(a[1]);
        }
    }
}

uint32_t block_length(const struct classifier *c, uint32_t ref)
{
    uint32_t n = 0;

    while (ref && !(entry_l4_at(c, ref, n++)->is & ENTRY_LAST))
        ;
    return n;
}
