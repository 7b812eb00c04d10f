// SPDX-License-Identifier: BSD-3-Clause
// few.c - see few.h
#include "acl/few.h"

#include <string.h>

#include "acl/rule.h"

static uint32_t word_at(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

static void side_put(uint32_t row[][FEW_LANES], unsigned lane, const struct acl_side *s, unsigned words)
{
    uint8_t mask[16] = {0}, addr[16];

    for (unsigned bit = 0; bit < s->len; bit++)
        mask[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
    for (unsigned i = 0; i < sizeof addr; i++)
        addr[i] = s->addr[i] & mask[i];
    for (unsigned w = 0; w < words; w++) {
        row[2 * w][lane] = word_at(addr + 4 * w);
        row[2 * w + 1][lane] = word_at(mask + 4 * w);
    }
}

// The last four bytes of acl_key_l4.
static uint32_t l4_word(uint8_t proto, uint8_t flags, uint8_t dscp, uint8_t part)
{
    return proto | (uint32_t)flags << 8 | (uint32_t)dscp << 16 | (uint32_t)part << 24;
}

// `flag`, if any, must be set, too.
static void entry_put(struct few *f, unsigned at, const struct core *c, const struct acl_rule *r, uint32_t slot, uint8_t flag)
{
    uint32_t(*row)[FEW_LANES] = f->row[at / FEW_LANES];
    unsigned lane = at % FEW_LANES, words = FEW_WORDS(c->family) / 2;
    uint8_t not_part = (uint8_t)(ACL_ANY_PART & ~r->part) | (rule_needs_header(r) ? ACL_LATER : 0);
    bool any_dscp = r->dscp == ACL_DSCP_ANY;

    row[FEW_L4][lane] = l4_word(r->proto_any ? 0 : r->proto, r->tcp_value | flag, any_dscp ? 0 : r->dscp, 0);
    row[FEW_L4_MASK][lane] = l4_word(r->proto_any ? 0 : 0xff, r->tcp_mask | flag, any_dscp ? 0 : 0xff, not_part);
    row[FEW_PORT][lane] = r->sport[0] | (uint32_t)r->dport[0] << 16;
    row[FEW_SPAN][lane] = (uint32_t)(r->sport[1] - r->sport[0]) | (uint32_t)(r->dport[1] - r->dport[0]) << 16;
    side_put(row + FEW_ADDR, lane, &r->src, words);
    side_put(row + FEW_ADDR + 2 * words, lane, &r->dst, words);
    f->number[at] = r->number;
    f->slot[at] = slot;
}

// Entries of a rule, appended; false: no more fit.
static bool rule_put(struct few *f, unsigned *n, const struct core *c, const struct acl_rule *r, uint32_t slot)
{
    for (unsigned flags = r->tcp_any ? r->tcp_any : 0x100; flags; flags &= flags - 1) {
        uint8_t flag = (uint8_t)(flags & -flags);

        if (r->tcp_mask & flag & ~r->tcp_value) // must not be set
            continue;
        if (*n == FEW_ENTRIES)
            return false;
        entry_put(f, (*n)++, c, r, slot, flag);
    }
    return true;
}

unsigned few_make(struct few *f, const struct core *c, const struct core_rules *r, const uint8_t *tuple)
{
    unsigned n = 0;

    if (!c->in_tuples || c->in_tuples > FEW_ENTRIES || c->sets[0] || c->sets[1])
        return 0;
    memset(f, 0, sizeof *f);
    memset(f->number, 0xff, sizeof f->number);
    memset(f->slot, 0xff, sizeof f->slot);
    for (uint32_t i = 0; i < r->n; i++) {
        const struct acl_rule *rule = &r->rule[r->slot[i]];

        if ((rule->families & c->family) && is_under_tuple(tuple[r->slot[i]]) && !rule_put(f, &n, c, rule, r->slot[i]))
            return 0;
    }
    unsigned blocks = (n + FEW_LANES - 1) / FEW_LANES;
    for (unsigned at = n; at < blocks * FEW_LANES; at++) // no packet is of no part
        f->row[at / FEW_LANES][FEW_L4_MASK][at % FEW_LANES] = l4_word(0, 0, 0, 0xff);
    return blocks;
}
