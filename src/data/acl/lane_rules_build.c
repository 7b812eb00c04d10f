// SPDX-License-Identifier: BSD-3-Clause
// lane_rules_build.c - builds the buckets of all rules at once (lane_rules.h)
//
// Few rules have one bucket. For others, it collects the prefixes of each side, chooses the side of
// each rule, and computes the length of every bucket. If a bucket is too long, or buckets would
// compare more than MEAN_BLOCKS blocks on average, tuples are better and nothing is built.
// Otherwise all memory is allocated at once and filled in the order of rule numbers.
#include "acl/lane_rules.h"

#include <stdlib.h>
#include <string.h>

#include "acl/classifier_build.h"
#include "acl/lane_rules_find.h"
#include "acl/pages.h"
#include "acl/rule.h"

#define WHOLE_UNITS (1 + WHOLE_BLOCKS + 1) // unused, the bucket, the name of no rule
#define RULES_LEAST 17u                    // of more lanes than a whole bucket has
#define RULES_MOST 16384u                  // more have not been measured
#define BYTES_MAX ((size_t)32 << 20)
// number of rules from which the tables exceed the caches near the core, and the prefilter costs
// less than it saves
#define PREFILTER_FROM 2100u
#define MEAN_BLOCKS 4u // mean number of blocks to compare; with more, tuples are faster

// --- each rule's side ---

struct net {
    uint32_t addr; // host order, bits beyond len are 0
    uint8_t len;
};

struct spot {                 // a prefix
    uint32_t around, end;     // index of the next prefix around it; end of the prefixes inside it
    uint32_t own, rule_lanes; // lanes of its rules; with those around it
};

struct sorted {
    struct net *net;   // by address, shorter first; [0]: all addresses
    struct spot *spot; // of each prefix
    uint32_t n;
};

struct draft {
    struct sorted t[2];
    uint8_t *side; // [rule] of the prefix that it is filed under
    bool whole;    // one bucket; the prefix of all addresses is the only one
};

static struct net side_net(const struct acl_rule *r, unsigned side)
{
    const struct acl_side *from = side ? &r->dst : &r->src;
    uint32_t be;

    memcpy(&be, from->addr, sizeof be);
    return (struct net){.addr = __builtin_bswap32(be) & mask4(from->len), .len = from->len};
}

static bool net_inside(const struct net *in, const struct net *out)
{
    return in->len >= out->len && !((in->addr ^ out->addr) & mask4(out->len));
}

static int by_prefix(const void *x, const void *y)
{
    const struct net *a = x, *b = y;

    return a->addr != b->addr ? (a->addr > b->addr) - (a->addr < b->addr) : a->len - b->len;
}

static void prefixes_nest(struct sorted *t)
{
    uint32_t in = 0;

    for (uint32_t i = 0; i < t->n; i++) {
        while (in && !net_inside(&t->net[i], &t->net[in])) {
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

static bool prefixes_collect(struct draft *d, const struct classifier_rules *r, unsigned side)
{
    struct sorted *t = &d->t[side];
    uint32_t n = 1;

    t->net = calloc(r->n + 1, sizeof *t->net);
    t->spot = calloc(r->n + 1, sizeof *t->spot);
    if (!t->net || !t->spot)
        return false;
    for (uint32_t i = 0; i < r->n && !d->whole; i++)
        t->net[n++] = side_net(&r->rule[r->slot[i]], side);
    qsort(t->net, n, sizeof *t->net, by_prefix);
    t->n = 1;
    for (uint32_t i = 1; i < n; i++)
        if (by_prefix(&t->net[t->n - 1], &t->net[i]))
            t->net[t->n++] = t->net[i];
    prefixes_nest(t);
    return true;
}

static uint32_t spot_of(const struct sorted *t, const struct acl_rule *r, unsigned side)
{
    if (t->n == 1) // of a whole bucket, whose rules may be of IPv6
        return 0;
    const struct net key = side_net(r, side);

    return (uint32_t)((struct net *)bsearch(&key, t->net, t->n, sizeof key, by_prefix) - t->net);
}

// Number of rules and buckets that a rule filed here would touch.
static uint32_t rules_met(const struct sorted *t, uint32_t at)
{
    uint32_t n = t->spot[at].end - at + t->spot[at].own;

    for (uint32_t i = at; i; i = t->spot[i].around)
        n += t->spot[t->spot[i].around].own;
    return n;
}

static uint32_t lanes_needed(const struct classifier_rules *r)
{
    uint32_t n = 0;
    uint8_t flag[8];

    for (uint32_t i = 0; i < r->n; i++)
        n += lane_flags(&r->rule[r->slot[i]], flag);
    return n;
}

// Sets side[i] of each rule: first for rules with one prefix; the others go where fewer of these
// are.
static void sides_choose(struct draft *d, const struct classifier_rules *r)
{
    struct sorted *t = d->t;
    uint8_t *side = d->side;

    for (unsigned two = 0; two < 2; two++)
        for (uint32_t i = 0; i < r->n; i++) {
            const struct acl_rule *rule = &r->rule[r->slot[i]];
            bool one = !rule->src.len != !rule->dst.len;
            uint8_t flag[8];

            if (one == two)
                continue;
            uint32_t spot[2] = {spot_of(&t[0], rule, 0), spot_of(&t[1], rule, 1)};
            side[i] = one ? !rule->src.len : rules_met(&t[1], spot[1]) <= rules_met(&t[0], spot[0]);
            t[side[i]].spot[spot[side[i]]].own += lane_flags(rule, flag);
        }
}

// Drops prefixes without rules. Returns the number of blocks; 0: too many.
static uint32_t buckets_lay_out(struct sorted *t, uint64_t *in_buckets)
{
    uint32_t n = 1;
    uint64_t blocks = 0;

    for (uint32_t i = 1; i < t->n; i++)
        if (t->spot[i].own) {
            t->net[n] = t->net[i];
            t->spot[n++] = t->spot[i];
        }
    t->n = n;
    prefixes_nest(t);
    for (uint32_t i = 0; i < n; i++) {
        struct spot *spot = &t->spot[i];
        uint32_t of_it;

        spot->rule_lanes = spot->own + (i ? t->spot[spot->around].rule_lanes : 0);
        of_it = (spot->rule_lanes + LANE_COUNT - 1) / LANE_COUNT;
        if (of_it > BUCKET_BLOCKS)
            return 0;
        blocks += of_it;
        *in_buckets += (uint64_t)of_it * spot->own;
    }
    return blocks < UINT32_MAX / 4 ? (uint32_t)blocks + 1 : 0;
}

// --- the buckets ---

// Chunks that the prefixes need.
static uint32_t nets_chunks(const struct sorted *t)
{
    uint32_t chunks = 0, last16 = UINT32_MAX, last24 = UINT32_MAX;

    for (uint32_t i = 0; i < t->n; i++) {
        const struct net *net = &t->net[i];

        chunks += net->len > 16 && net->addr >> 16 != last16;
        last16 = net->len > 16 ? net->addr >> 16 : last16;
        chunks += net->len > 24 && net->addr >> 8 != last24;
        last24 = net->len > 24 ? net->addr >> 8 : last24;
    }
    return chunks;
}

// Gives the prefixes' addresses their numbers, outer prefixes first.
static void nets_fill(uint16_t *words, const struct sorted *t)
{
    uint32_t chunks = 0;

    for (uint32_t i = 1; i < t->n; i++) {
        const struct net *net = &t->net[i];
        uint16_t *word = words + (net->addr >> 16);
        unsigned end = 16; // number of bits that lead to the word

        for (; end < net->len; end += 8) {
            const uint16_t inherited = *word;

            if (!(inherited & NET_DEEP))
                *word = (uint16_t)(NET_DEEP | chunks++);
            uint16_t *chunk = words + NET_FIRST + (*word & (NET_DEEP - 1)) * NET_CHUNK;
            for (unsigned k = 0; k < NET_CHUNK && !(inherited & NET_DEEP); k++)
                chunk[k] = inherited;
            word = chunk + (net->addr >> (24 - end) & (NET_CHUNK - 1));
        }
        for (uint32_t n = 1u << (end - net->len); n-- > 0;)
            *word++ = (uint16_t)i;
    }
}

size_t lane_rules_need(uint8_t family)
{
    return line_up(line_up(sizeof(struct lane_rules)) + 2 * sizeof(uint32_t)) +
           WHOLE_UNITS * (WHOLE_UNIT(family) + BUCKET_NAMES);
}

// NULL: too large, or no memory.
static struct lane_rules *lane_rules_new_empty(const struct draft *d, uint8_t family,
                                               uint32_t units)
{
    const uint32_t n[2] = {d->t[0].n, d->t[1].n},
                   chunks[2] = {nets_chunks(&d->t[0]), nets_chunks(&d->t[1])};
    const size_t unit = d->whole ? WHOLE_UNIT(family) : BUCKET_UNIT;
    size_t at = line_up(sizeof(struct lane_rules)), net[2];

    if (n[0] > NET_MOST || n[1] > NET_MOST || chunks[0] > NET_MOST || chunks[1] > NET_MOST)
        return NULL;
    at = line_up(at + (n[0] + n[1]) * sizeof(uint32_t));
    for (unsigned side = 0; side < 2; side++) {
        net[side] = at;
        at += d->whole ? 0 : line_up((NET_FIRST + chunks[side] * NET_CHUNK) * sizeof(uint16_t));
    }
    size_t names = at + units * unit, bytes = names + (d->whole ? units * BUCKET_NAMES : 0);
    if (bytes > BYTES_MAX)
        return NULL;
    struct lane_rules *s = pages_map(bytes, bytes >= PAGES_HUGE);
    if (!s)
        return NULL;
    *s = (struct lane_rules){.bytes = bytes,
                             .block = (uint8_t *)s + at,
                             .name = (uint64_t *)((uint8_t *)s + names),
                             .whole = d->whole,
                             .words = d->whole ? WHOLE_WORDS(family) : BUCKET_WORDS,
                             .unit = (uint32_t)unit,
                             .n = {n[0], n[1]},
                             .next_unit = 1};
    s->place[0] = (uint32_t *)((uint8_t *)s + line_up(sizeof *s));
    s->place[1] = s->place[0] + n[0];
    for (unsigned side = 0; side < 2 && !d->whole; side++) {
        s->net[side] = (uint16_t *)((uint8_t *)s + net[side]);
        nets_fill((uint16_t *)((uint8_t *)s + net[side]), &d->t[side]);
    }
    return s;
}

void lane_rules_reclaim(struct lane_rules **old, uint64_t epoch)
{
    while (*old && (*old)->epoch <= epoch) {
        struct lane_rules *s = *old;

        *old = s->next;
        pages_unmap(s, s->bytes);
    }
}

// --- lanes ---
// Addresses are stored with their masks applied. A lane can only demand that all of its flags are
// set, so a rule that accepts any of several TCP flags takes one lane for each. A flag that the
// rule also demands to be clear gets no lane, because no packet could match it.

static uint32_t word_at(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

static void side_put(lane_row *row, unsigned lane, const struct acl_side *s, unsigned words)
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

unsigned lane_flags(const struct acl_rule *r, uint8_t flag[8])
{
    const struct rule_test t = rule_test(r);
    const uint8_t clear = (uint8_t)((t.mask & ~t.value) >> TEST_FLAGS); // must not be set
    unsigned n = 0;

    if (!t.any)
        flag[n++] = 0;
    for (unsigned flags = t.any; flags; flags &= flags - 1) {
        uint8_t one = (uint8_t)(flags & -flags);
        if (!(clear & one))
            flag[n++] = one;
    }
    return n;
}

// A bucket with so many lanes, all dead: LANE_DEAD matches no packet, and a name with all bits set
// means no rule. A whole bucket without lanes has a block, too, and all names behind it, so that
// readers find the name of no rule.
static uint32_t place_new(struct lane_rules *s, uint32_t rule_lanes)
{
    uint32_t n = (rule_lanes + s->whole * !rule_lanes + LANE_COUNT - 1) / LANE_COUNT,
             place = s->next_unit << BUCKET_BLOCKS_BITS | n,
             lanes = (s->whole ? WHOLE_BLOCKS + 1 : n) * LANE_COUNT;

    for (uint32_t i = 0; i < lanes; i++) {
        bucket_rows(s, place, i)[LANE_L4_MASK][i % LANE_COUNT] = LANE_DEAD;
        *lane_name(s, place, i) = UINT64_MAX;
    }
    s->next_unit += lanes / LANE_COUNT;
    return n ? place : 0;
}

// Writes the rule's lanes into the bucket, from lane `at` on. `side` has the bucket; the rows hold
// the other address, or both if the bucket is whole.
static void lanes_put(const struct lane_rules *s, uint32_t place, uint32_t at,
                      const struct acl_rule *r, uint32_t slot, unsigned side)
{
    const struct acl_side *in_rows[2] = {s->whole || side ? &r->src : &r->dst, &r->dst};
    const unsigned sides = s->whole ? 2 : 1, words = s->words / sides;
    const struct rule_test t = rule_test(r);
    uint8_t flag[8];

    for (unsigned k = 0, n = lane_flags(r, flag); k < n; k++, at++) {
        const uint32_t set = (uint32_t)flag[k] << TEST_FLAGS;
        const unsigned lane = at % LANE_COUNT;
        lane_row *row = bucket_rows(s, place, at);

        row[LANE_L4][lane] = t.value | set;
        row[LANE_L4_MASK][lane] = t.mask | set;
        row[LANE_PORT][lane] = t.port;
        row[LANE_SPAN][lane] = t.span;
        for (unsigned in = 0; in < sides; in++)
            side_put(row + LANE_ROWS(in * words), lane, in_rows[in], words);
        *lane_name(s, place, at) = (uint64_t)r->number << 32 | slot;
    }
}

static void buckets_fill(struct lane_rules *s, const struct draft *d,
                         const struct classifier_rules *r)
{
    for (unsigned side = 0; side < 2; side++)
        for (uint32_t i = 0; i < d->t[side].n; i++) {
            struct spot *spot = &d->t[side].spot[i];

            if (spot->rule_lanes || (s->whole && side == 0))
                s->place[side][i] = place_new(s, spot->rule_lanes);
            spot->rule_lanes = 0; // now counts the lanes filled
        }
    for (uint32_t i = 0; i < r->n; i++) {
        const struct acl_rule *rule = &r->rule[r->slot[i]];
        const unsigned side = d->side[i];
        const struct sorted *of = &d->t[side];
        uint8_t flag[8];
        const unsigned n = lane_flags(rule, flag);
        const uint32_t from = n ? spot_of(of, rule, side) : 0, to = n ? of->spot[from].end : 0;

        for (uint32_t at = from; at < to; at++) {
            lanes_put(s, s->place[side][at], of->spot[at].rule_lanes, rule, r->slot[i], side);
            of->spot[at].rule_lanes += n;
        }
    }
}

static bool buckets_pay(const struct acl_config *cfg, const struct classifier *c)
{
    uint32_t least = cfg->buckets_from ? cfg->buckets_from : RULES_LEAST,
             most = cfg->buckets_from ? UINT32_MAX : RULES_MOST;

    return c->family == ACL_IP4 && c->in_tuples >= least && c->in_tuples <= most;
}

static bool draft_make(struct draft *d, const struct classifier_rules *r)
{
    d->side = calloc(r->n + 1, 1);
    if (!d->side || !prefixes_collect(d, r, 0) || !prefixes_collect(d, r, 1))
        return false;
    if (d->whole)
        d->t[0].spot[0].own = lanes_needed(r);
    else
        sides_choose(d, r);
    return true;
}

static void draft_free(struct draft *d)
{
    for (unsigned side = 0; side < 2; side++) {
        free(d->t[side].net);
        free(d->t[side].spot);
    }
    free(d->side);
}

// Builds the buckets of a draft. NULL: they do not pay, or do not fit.
static struct lane_rules *draft_build(struct draft *d, uint8_t family,
                                      const struct classifier_rules *r)
{
    uint64_t in_buckets = 0;
    uint32_t blocks[2] = {buckets_lay_out(&d->t[0], &in_buckets),
                          buckets_lay_out(&d->t[1], &in_buckets)},
             units = d->whole ? WHOLE_UNITS : blocks[0] + blocks[1];

    if (!d->whole && (!blocks[0] || !blocks[1] || in_buckets > (uint64_t)MEAN_BLOCKS * r->n))
        return NULL;
    struct lane_rules *s = lane_rules_new_empty(d, family, units);
    if (s) {
        buckets_fill(s, d, r);
        s->behind_prefilter = r->n >= PREFILTER_FROM;
    }
    return s;
}

struct lane_rules *lane_rules_new(const struct acl_config *cfg, const struct classifier *c,
                                  const struct acl_rule *rule, const struct acl_order *order,
                                  const uint8_t *tuple)
{
    const bool pay = buckets_pay(cfg, c);

    if (!c->in_tuples || c->sets[0] || c->sets[1] || (c->in_tuples > WHOLE_LANES && !pay))
        return NULL;
    uint32_t *slot = malloc((c->in_tuples + 1) * sizeof *slot);
    struct classifier_rules r = {.rule = rule, .slot = slot};
    struct lane_rules *s = NULL;

    if (!slot)
        return NULL;
    vec_foreach (order, place) {
        slot[r.n] = (uint32_t)*place;
        r.n += is_for_tuples(c, &r, r.n, tuple);
    }
    struct draft d = {.whole = lanes_needed(&r) <= WHOLE_LANES && r.n <= WHOLE_LANES};
    if ((d.whole || pay) && draft_make(&d, &r))
        s = draft_build(&d, c->family, &r);
    draft_free(&d);
    free(slot);
    return s;
}
