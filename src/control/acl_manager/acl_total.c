// SPDX-License-Identifier: BSD-3-Clause
// acl_total.c - total decisions of a list, by verdict
//
// The total is the sum of all slots' counters, by the action of each slot's rule, plus a base. When
// a slot gets another rule, the old rule's packets move to the base; so does the total of replaced
// content. Clearing subtracts the present total. So the total only grows, except when cleared, and
// nothing is counted twice; acl_hits_add, which moves counters between rules, does not touch it.
//
// Adding up a million rules takes 1.3 ms, or 4 ms if all have matched something, and 2.4 ms more
// per further forwarder (Zen 3, one memory channel). Frequent callers get a recent result, so that
// adding up takes at most a hundredth of acl_manager's time.
#include "acl_manager/acl_build.h"

#include <string.h>

#include "base/clock.h"
#include "table/counter.h"

#define REST 100 // times as long as adding up took

static unsigned verdict_of(const struct acl_content *c, uint32_t at)
{
    uint8_t verb = c->verb[at];

    if (at == c->slots)
        return ACL_DEFAULT;
    return verb & ACL_MORE && c->action[at].extra & ACL_REDIRECT ? ACL_REDIRECTS
                                                                 : (unsigned)verb & ~ACL_MORE;
}

static void hits_sum(struct acl_hits *sum, struct acl_hits n)
{
    sum->packets += n.packets;
    sum->bytes += n.bytes;
}

// Counters of the forwarder for slots from..to.
static void hits_sum_row(const struct acl_content *c, unsigned forwarder, uint32_t from,
                         uint32_t to, struct acl_hits total[ACL_VERDICTS])
{
    const struct acl_hits *row = c->hits[forwarder];

    for (uint32_t at = from; at <= to; at++) {
        struct acl_hits n = {__atomic_load_n(&row[at].packets, __ATOMIC_RELAXED),
                             __atomic_load_n(&row[at].bytes, __ATOMIC_RELAXED)};
        if (n.packets) // in a long list most rules have matched nothing
            hits_sum(&total[verdict_of(c, at)], n);
    }
}

// Skips rows of forwarders that never ran: they are most of the memory.
static void hits_sum_rows(const struct acl_content *c, uint32_t from, uint32_t to,
                          struct acl_hits total[ACL_VERDICTS])
{
    for (unsigned f = 0; f < FORWARDER_MAX; f++)
        if (!f ||
            __atomic_load_n(&counter_of_slot(THREAD_SLOT_FORWARDER + f)->polls, __ATOMIC_RELAXED))
            hits_sum_row(c, f, from, to, total);
}

void acl_build_totals(const struct acl_build *b, struct acl_hits total[ACL_VERDICTS])
{
    for (; b; b = b->before) {
        for (unsigned v = 0; v < ACL_VERDICTS; v++)
            hits_sum(&total[v], b->base[v]);
        hits_sum_rows(b->content, 0, b->content->slots, total);
    }
}

const struct acl_hits *acl_build_totals_lately(struct acl_build *b)
{
    uint64_t now = clock_now_ns();

    if (now < b->lately_until_ns)
        return b->lately;
    memset(b->lately, 0, sizeof b->lately);
    acl_build_totals(b, b->lately);
    b->lately_until_ns = now + REST * (clock_now_ns() - now);
    return b->lately;
}

static void move_to_base(struct acl_build *b, uint32_t slot, bool out)
{
    struct acl_hits n[ACL_VERDICTS] = {{0}};

    hits_sum_rows(b->content, slot, slot, n);
    for (unsigned v = 0; v < ACL_VERDICTS; v++)
        hits_sum(&b->base[v], out ? n[v] : (struct acl_hits){-n[v].packets, -n[v].bytes});
}

void acl_build_retag(struct acl_build *b, uint32_t slot, const struct acl_action *action)
{
    move_to_base(b, slot, true);
    acl_content_set(b->content, slot, action);
    move_to_base(b, slot, false);
}

void acl_build_totals_clear(struct acl_build *b)
{
    struct acl_hits now[ACL_VERDICTS] = {{0}};

    acl_build_totals(b, now);
    for (unsigned v = 0; v < ACL_VERDICTS; v++)
        hits_sum(&b->base[v], (struct acl_hits){-now[v].packets, -now[v].bytes});
    b->lately_until_ns = 0;
}

// --- time of the last hit of each rule ---
// Forwarders only count. acl_manager samples the counters: a counter that changed was hit since the
// last sample. New content takes over the last hits of the content it replaces, together with its
// counters (acl_build.c: counters_absorb); until then nothing is sampled.

uint32_t acl_last_hit_now_s(void)
{
    return (uint32_t)(clock_now_ns() / NS_PER_SECOND) + 1;
}

static void sample_counter(struct acl_build *b, uint32_t slot, uint32_t now_s)
{
    struct acl_last_hit *s = acl_build_last_hit(b, slot);
    uint32_t packets = (uint32_t)acl_hits_read(b->content, slot).packets;

    // 0: the counters were cleared
    if (packets != s->packets)
        *s = (struct acl_last_hit){packets, packets ? now_s : 0};
}

struct acl_last_hit *acl_build_last_hit(struct acl_build *b, uint32_t slot)
{
    return &b->seen[acl_place(b->content, slot)];
}

void acl_build_sample_hits(struct acl_build *b, size_t from, size_t n, uint32_t now_s)
{
    const struct acl_order *o = acl_build_order(b);

    if (b->before)
        return;
    sample_counter(b, ACL_MISS, now_s);
    for (size_t i = from; i < o->n && i - from < n; i++)
        sample_counter(b, (uint32_t)o->item[i], now_s);
}
