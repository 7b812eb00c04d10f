// SPDX-License-Identifier: BSD-3-Clause
// acl_engine.c - picks our classifier or rte_acl: compiles both, measures them on traffic derived
// from the rules, and keeps the faster one
//
// Ours always exists: it takes changes in place, knows every field, and answers for later
// fragments, which rte_acl would take for packets with port 0. rte_acl is tried for lists of up to
// RTE_RULES rules that it can express and hold in RTE_BYTES. It has to be faster by MARGIN, because
// it costs megabytes, and a compilation for each change.
#include "table/acl_engine.h"

#include <errno.h>
#include <rte_cycles.h>
#include <rte_lcore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/rcu.h"
#include "table/acl_rte.h"

#define RTE_RULES 8192u
#define RTE_BYTES ((size_t)64 << 20)
#define RTE_SHARE 4u // divisor of the list's memory limit
#define TRIAL 64u  // rules compiled first; doubled each time
#define GROWTH 4.0 // assumed memory growth when rules double, until two trials have measured it
#define MARGIN 0.97
#define SAMPLE 16384u // packets: too many for a branch predictor to learn
#define ROUNDS 9
#define BURST 64u
#define NEVER 1e9
#define STRAYS_FEW 1u // of 16 packets: some of the other kind in each kind of traffic
#define STRAYS_MOST 15u

struct rte_serving { // one compilation
    struct acl_rte *table;
    struct rte_serving *next; // retired ones
    uint64_t epoch;
};

struct acl_engine {
    struct acl *ours;
    struct rte_serving *rte; // RCU; NULL: our classifier answers
    // writer only
    struct rte_serving *retired;
    bool ours_only;
    size_t rte_bytes; // memory limit of rte_acl
    uint64_t build_ns;
    double ours_cycles, rte_cycles;
    char why[160];
};

// --- traffic to measure with ---

struct sample {
    struct acl_key4 key4[SAMPLE];
    struct acl_key6 key6[SAMPLE];
    uint32_t slot[SAMPLE];
    uint64_t random;
};

static uint64_t
draw_number(struct sample *s) // deterministic, so that the choice can be repeated
{
    s->random = s->random * 6364136223846793005u + 1442695040888963407u;
    return s->random >> 16;
}

static void draw_address(struct sample *s, const struct acl_side *side, uint8_t *addr,
                         unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        unsigned own = side->len >= 8 * (i + 1) ? 8 : side->len > 8 * i ? side->len - 8 * i : 0;
        uint8_t mask = (uint8_t)(0xff00 >> own);

        addr[i] = (uint8_t)((side->addr[i] & mask) | (draw_number(s) & ~mask));
    }
}

static uint16_t draw_port(struct sample *s, const uint16_t range[2])
{
    return (uint16_t)(range[0] + draw_number(s) % (range[1] - range[0] + 1u));
}

// `strays` of 16 packets have random addresses; the others match their rule, or one before it.
static void draw_packets(struct sample *s, const struct acl_rule *const *rule, uint32_t n,
                         unsigned strays)
{
    static const struct acl_side any;

    s->random = n;
    for (unsigned i = 0; i < SAMPLE; i++) {
        const struct acl_rule *r = rule[draw_number(s) % n];
        bool stray = draw_number(s) % 16 < strays;
        struct acl_key_l4 l4 = {draw_port(s, r->sport),
                                draw_port(s, r->dport),
                                r->proto_any ? 6 : r->proto,
                                0,
                                0,
                                ACL_WHOLE};

        draw_address(s, stray ? &any : &r->src, (uint8_t *)&s->key4[i].src_be, 4);
        draw_address(s, stray ? &any : &r->dst, (uint8_t *)&s->key4[i].dst_be, 4);
        draw_address(s, stray ? &any : &r->src, s->key6[i].src, 16);
        draw_address(s, stray ? &any : &r->dst, s->key6[i].dst, 16);
        s->key4[i].l4 = s->key6[i].l4 = l4;
    }
}

// --- measuring ---

static double measure_cycles(const struct acl *ours, const struct acl_rte *rte, struct sample *s,
                        bool v6)
{
    uint64_t start = rte_rdtsc();

    for (unsigned i = 0; i < SAMPLE; i += BURST) {
        if (rte && v6)
            acl_rte_classify6(rte, s->key6 + i, s->slot + i, BURST);
        else if (rte)
            acl_rte_classify4(rte, s->key4 + i, s->slot + i, BURST);
        else if (v6)
            acl_classify6(ours, s->key6 + i, s->slot + i, BURST);
        else
            acl_classify4(ours, s->key4 + i, s->slot + i, BURST);
    }
    return (double)(rte_rdtsc() - start) / SAMPLE;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

struct cycles { // a packet
    double ours, rte[ACL_RTE_VARIANTS];
};

// Best of several alternating rounds: other load of the machine spoils single ones.
static struct cycles measure_variants(const struct acl_engine *e, struct acl_rte *rte,
                                      struct sample *s, bool v6)
{
    struct cycles c = {.ours = NEVER};

    for (unsigned v = 0; v < ACL_RTE_VARIANTS; v++)
        c.rte[v] = NEVER;
    for (unsigned i = 0; i < ROUNDS; i++) {
        c.ours = smaller(c.ours, measure_cycles(e->ours, NULL, s, v6));
        for (unsigned v = 0; v < ACL_RTE_VARIANTS; v++)
            if (acl_rte_use(rte, v))
                c.rte[v] = smaller(c.rte[v], measure_cycles(e->ours, rte, s, v6));
    }
    return c;
}

// Returns the variant with the smallest total for both kinds of traffic.
static unsigned fastest_variant(const struct cycles *matching, const struct cycles *strange)
{
    unsigned at = 0;

    for (unsigned v = 1; v < ACL_RTE_VARIANTS; v++)
        if (matching->rte[v] + strange->rte[v] < matching->rte[at] + strange->rte[at])
            at = v;
    return at;
}

// --- choosing ---

struct in_order {
    const struct acl_rule *rule[RTE_RULES];
    uint32_t slot[RTE_RULES];
    uint32_t n;
};

static int compare_by_number(const void *x, const void *y)
{
    const struct acl_rule *const *a = x, *const *b = y;

    return ((*a)->number > (*b)->number) - ((*a)->number < (*b)->number);
}

// Returns NULL, or the reason why rte_acl cannot serve the list.
static const char *collect_rules(const struct acl *a, struct in_order *o)
{
    struct acl_stats s;

    acl_stats(a, &s);
    o->n = 0;
    if (!s.rules)
        return "the list has no rules";
    if (s.rules > RTE_RULES)
        return "rte_acl is not compared for more than 8192 rules";
    for (uint32_t slot = 0; slot < s.slots; slot++) {
        const struct acl_rule *r = acl_rule_of(a, slot);

        if (r && !acl_rte_can(r))
            return "rte_acl cannot match what some rules use: address sets, TCP flags, DSCP or "
                   "fragments";
        if (r)
            o->rule[o->n++] = r;
    }
    qsort(o->rule, o->n, sizeof *o->rule, compare_by_number);
    for (uint32_t i = 0; i < o->n; i++)
        o->slot[i] = acl_slot_of(a, o->rule[i]->number);
    return NULL;
}

static void replace_serving(struct acl_engine *e, struct rte_serving *new)
{
    struct rte_serving *old = e->rte;

    rcu_publish(&e->rte, new);
    if (!old)
        return;
    old->epoch = UINT64_MAX; // until acl_engine_epoch closes it
    old->next = e->retired;
    e->retired = old;
}

// Picks n random rules, in order.
static void draw_rules(struct sample *s, const struct in_order *o, uint32_t n, struct in_order *to)
{
    to->n = 0;
    for (uint32_t i = 0; to->n < n; i++) {
        if (draw_number(s) % (o->n - i) >= n - to->n)
            continue;
        to->rule[to->n] = o->rule[i];
        to->slot[to->n++] = o->slot[i];
    }
}

// For rules that do not fit, rte_acl splits nodes again and again, which takes minutes and
// gigabytes and cannot be stopped. So this compiles a few rules first, then twice as many, as long
// as the measured growth says that the next step fits.
static bool fits_rte(const struct in_order *o, struct sample *s, size_t max_bytes)
{
    struct in_order *some = malloc(sizeof *some);
    double growth = GROWTH, bytes = 0;
    bool fits = some;

    s->random = o->n;
    for (uint32_t n = TRIAL; fits && n < o->n; n *= 2) {
        draw_rules(s, o, n, some);
        struct acl_rte *t = acl_rte_new(some->rule, some->slot, n, max_bytes);
        double before = bytes;
        bytes = t ? (double)acl_rte_bytes(t) : 0;
        if (before > 0)
            growth = bytes / before;
        fits = t && bytes * growth <= (double)max_bytes;
        acl_rte_free(t);
    }
    free(some);
    return fits;
}

static struct rte_serving *serving_new(const struct in_order *o, size_t max_bytes)
{
    struct rte_serving *new = calloc(1, sizeof *new);

    if (new && !(new->table = acl_rte_new(o->rule, o->slot, o->n, max_bytes))) {
        free(new);
        return NULL;
    }
    return new;
}

static void serving_free(struct rte_serving *s)
{
    if (s)
        acl_rte_free(s->table);
    free(s);
}

static void compare_with_rte(struct acl_engine *e, const struct in_order *o, struct sample *s)
{
    struct rte_serving *new = fits_rte(o, s, e->rte_bytes) ? serving_new(o, e->rte_bytes) : NULL;

    if (!new) {
        snprintf(e->why, sizeof e->why, "rte_acl would need more than %zu MiB for these rules",
                 e->rte_bytes >> 20);
        replace_serving(e, NULL);
        return;
    }
    bool v6 = o->rule[0]->families == ACL_IP6;
    draw_packets(s, o->rule, o->n, STRAYS_FEW);
    struct cycles matching = measure_variants(e, new->table, s, v6);
    draw_packets(s, o->rule, o->n, STRAYS_MOST);
    struct cycles strange = measure_variants(e, new->table, s, v6);
    unsigned variant = fastest_variant(&matching, &strange);
    e->ours_cycles = matching.ours;
    e->rte_cycles = matching.rte[variant];
    // One kind is enough: most traffic is of one kind, and an attack of the other.
    bool faster =
        e->rte_cycles < MARGIN * e->ours_cycles || strange.rte[variant] < MARGIN * strange.ours;
    snprintf(e->why, sizeof e->why,
             "measured with packets that match: Kamuee %.0f cycles per packet, rte_acl %.0f; with "
             "others: %.0f, %.0f",
             e->ours_cycles, e->rte_cycles, strange.ours, strange.rte[variant]);
    acl_rte_use(new->table, variant);
    replace_serving(e, faster ? new : NULL);
    if (!faster)
        serving_free(new);
}

void acl_engine_choose(struct acl_engine *e)
{
    struct in_order *o = malloc(sizeof *o);
    struct sample *s = malloc(sizeof *s);
    const char *no = !o || !s       ? "no memory for the comparison"
                     : e->ours_only ? "no comparison requested"
                                    : collect_rules(e->ours, o);

    if (!no && !rte_lcore_count())
        no = "DPDK is not running";
    e->ours_cycles = e->rte_cycles = 0;
    if (no) {
        snprintf(e->why, sizeof e->why, "%s", no);
        replace_serving(e, NULL);
    } else {
        compare_with_rte(e, o, s);
    }
    free(o);
    free(s);
}

// --- writer ---

struct acl_engine *acl_engine_new(const struct acl_engine_config *cfg, const struct acl_rule *r,
                                  size_t n)
{
    struct acl_engine *e = calloc(1, sizeof *e);
    uint64_t start = clock_now_ns();
    int rc;

    if (!e)
        return NULL;
    e->ours_only = cfg->ours_only;
    e->rte_bytes = cfg->acl.max_bytes && cfg->acl.max_bytes / RTE_SHARE < RTE_BYTES
                       ? cfg->acl.max_bytes / RTE_SHARE
                       : RTE_BYTES;
    e->ours = acl_new(&cfg->acl);
    rc = e->ours ? acl_load(e->ours, r, n) : -errno;
    if (rc) {
        acl_engine_free(e);
        errno = -rc;
        return NULL;
    }
    acl_engine_choose(e);
    e->build_ns = clock_now_ns() - start;
    return e;
}

static void drop_retired(struct acl_engine *e, uint64_t epoch)
{
    struct rte_serving **at = &e->retired;

    while (*at) {
        struct rte_serving *s = *at;

        if (s->epoch > epoch) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        serving_free(s);
    }
}

void acl_engine_free(struct acl_engine *e)
{
    if (!e)
        return;
    drop_retired(e, UINT64_MAX);
    serving_free(e->rte);
    acl_free(e->ours);
    free(e);
}

static int engine_changed(struct acl_engine *e, int rc)
{
    if (!rc && e->rte) {
        replace_serving(e, NULL);
        snprintf(e->why, sizeof e->why, "a rule changed since rte_acl was compiled");
    }
    return rc;
}

int acl_engine_add(struct acl_engine *e, const struct acl_rule *r)
{
    return engine_changed(e, acl_add(e->ours, r));
}

int acl_engine_del(struct acl_engine *e, uint32_t number)
{
    return engine_changed(e, acl_del(e->ours, number));
}

const struct acl *acl_engine_list(const struct acl_engine *e)
{
    return e->ours;
}

uint64_t acl_engine_epoch(struct acl_engine *e)
{
    uint64_t epoch = acl_epoch(e->ours);

    for (struct rte_serving *s = e->retired; s; s = s->next)
        if (s->epoch == UINT64_MAX)
            s->epoch = epoch;
    return epoch;
}

void acl_engine_reclaim(struct acl_engine *e, uint64_t epoch)
{
    drop_retired(e, epoch);
    acl_reclaim(e->ours, epoch);
}

size_t acl_engine_bytes(const struct acl_engine *e)
{
    struct acl_stats s;

    acl_stats(e->ours, &s);
    return s.bytes + s.writer_bytes + (e->rte ? acl_rte_bytes(e->rte->table) : 0);
}

void acl_engine_cost(const struct acl_engine *e, struct acl_engine_cost *c)
{
    struct acl_stats s;

    acl_stats(e->ours, &s);
    *c = (struct acl_engine_cost){
        .kind = e->rte ? ACL_ENGINE_RTE_ACL : ACL_ENGINE_OURS,
        .ours_cycles = e->ours_cycles,
        .rte_acl_cycles = e->rte_cycles,
        .bytes = s.bytes + (e->rte ? acl_rte_bytes(e->rte->table) : 0),
        .writer_bytes = s.writer_bytes,
        .build_ns = e->build_ns,
        .rules = s.rules,
        .slots = s.slots,
    };
    memcpy(c->why, e->why, sizeof c->why);
    acl_cost(e->ours, &c->ours);
}

const char *acl_engine_kind_name(enum acl_engine_kind k)
{
    return k == ACL_ENGINE_OURS ? "ours" : "rte_acl";
}

// --- reader ---

static unsigned chunk_size(unsigned i, unsigned n)
{
    return n - i < BURST ? n - i : BURST;
}

const struct acl *acl_engine_ours(const struct acl_engine *e)
{
    return rcu_load(&e->rte) ? NULL : e->ours;
}

void acl_engine_classify4(const struct acl_engine *e, const struct acl_key4 *key, uint32_t *slot,
                          unsigned n)
{
    const struct rte_serving *s = rcu_load(&e->rte);

    if (!s)
        acl_classify4(e->ours, key, slot, n);
    for (unsigned i = 0; s && i < n; i += BURST)
        if (!acl_rte_classify4(s->table, key + i, slot + i, chunk_size(i, n)))
            acl_classify4(e->ours, key + i, slot + i, chunk_size(i, n));
}

void acl_engine_classify6(const struct acl_engine *e, const struct acl_key6 *key, uint32_t *slot,
                          unsigned n)
{
    const struct rte_serving *s = rcu_load(&e->rte);

    if (!s)
        acl_classify6(e->ours, key, slot, n);
    for (unsigned i = 0; s && i < n; i += BURST)
        if (!acl_rte_classify6(s->table, key + i, slot + i, chunk_size(i, n)))
            acl_classify6(e->ours, key + i, slot + i, chunk_size(i, n));
}
