// SPDX-License-Identifier: BSD-3-Clause
// Stage gpu: see gpu_stage.h
//
//   in     bursts about to be looked up
//   out    the same, with nh[] and `found` set, to path_answered()
//
// Whether the device pays is measured (gpu_split): in each window of 10 ms the first GPU_PROBES
// bursts are sent, whatever the last window said, and one burst in GPU_OWN_EVERY is looked up by
// the CPU and timed. A lookup's cost with the device is what parking, sending and receiving take;
// that a packet's lines may leave the cache meanwhile is not in it.
#include "forwarder/gpu_stage.h"

#include <rte_cycles.h>

#include "forwarder/acl.h"
#include "forwarder/lookup.h"
#include "forwarder/stages.h"
#include "forwarder/forbidden.h"

#define GPU_PROBES 8
#define GPU_OWN_EVERY 32
#define GPU_END_WINDOWS 10 // an ending thread waits so long for a device

static struct gpu_count *counts_mine(const struct forwarder *f)
{
    return &f->gpu_use->count[f->index];
}

static struct gpu_queue *queue_of(const struct forwarder *f)
{
    return f->gpu_use->queue[f->index];
}

static struct gpu_parked_burst *parked_at(struct gpu_parked *p, uint32_t k)
{
    return &p->ring[(p->head + k) % GPU_RING];
}

static uint64_t to_ns(const struct forwarder *f, uint64_t tsc)
{
    return (uint64_t)((double)tsc * f->gpu_use->ns_per_tsc);
}

// --- by the CPU ---

static void look_up(const struct forwarder *f, struct burst *b)
{
    if (!b->found)
        b->family == IP4 ? fwd_lookup(f, b, IP4) : fwd_lookup(f, b, IP6);
    b->found = true;
}

static void answer_by_cpu(struct forwarder *f, struct gpu_parked_burst *e, enum gpu_cause why)
{
    look_up(f, &e->b);
    e->answered = true;
    counts_mine(f)->by_cpu[why] += e->b.n;
}

// A burst that shows what a lookup costs here.
static void look_up_timed(struct forwarder *f, struct burst *b)
{
    uint64_t begun = rte_rdtsc();

    look_up(f, b);
    f->gpu.cpu_cycles += rte_rdtsc() - begun;
    f->gpu.cpu_lookups += b->n;
}

// --- parking ---

// How many of its packets are of virtual routers whose tables are on the device.
static unsigned mirrored(const struct gpu_use *use, const struct burst *b)
{
    const uint16_t *which = use->which[b->family == IP6];
    unsigned n = 0;

    if (!b->mixed)
        return which[b->vr[0]] ? b->n : 0;
    for (unsigned i = 0; i < b->n; i++)
        n += which[b->vr[i]] != 0;
    return n;
}

// Is the burst to be looked up by the CPU, and why? GPU_CAUSES: it is not.
static enum gpu_cause why_cpu(struct forwarder *f)
{
    struct gpu_parked *p = &f->gpu;

    if (gpu_mirror_state(f->gpu_use->mirror) != GPU_ON)
        return GPU_BY_FAILURE;
    if (++p->until_own >= GPU_OWN_EVERY) {
        p->until_own = 0;
        return f->gpu_use->settings.always ? GPU_CAUSES : GPU_BY_SPLIT;
    }
    if (f->gpu_use->settings.always || p->verdict == GPU_SENDS)
        return GPU_CAUSES;
    if (!p->probes)
        return GPU_BY_SPLIT;
    p->probes--;
    return GPU_CAUSES;
}

// The first one goes on.
static void go_on(struct forwarder *f)
{
    struct gpu_parked *p = &f->gpu;
    struct gpu_parked_burst *e = parked_at(p, 0);
    bool crossing = f->crossing;

    p->head = (p->head + 1) % GPU_RING;
    p->n--;
    p->unsent = p->unsent < p->n ? p->unsent : p->n;
    f->counter->held -= e->b.n;
    f->n_redirected = 0;
    f->crossing = true; // what leaves by a metalink goes on when e is not in use any more
    path_answered(f, &e->b);
    f->crossing = crossing;
}

// Room for a burst. Its packets may not overtake those before.
static void make_room(struct forwarder *f)
{
    struct gpu_parked_burst *e = parked_at(&f->gpu, 0);

    if (!e->answered)
        answer_by_cpu(f, e, GPU_BY_FULL);
    go_on(f);
}

static void park_last(struct forwarder *f, const struct burst *b)
{
    struct gpu_parked *p = &f->gpu;
    struct gpu_parked_burst *e;

    if (p->n == GPU_PARKED_MAX)
        make_room(f);
    e = parked_at(p, p->n++);
    p->unsent++;
    e->since = rte_rdtsc();
    e->batch = 0;
    e->answered = b->found;
    burst_copy(&e->b, b);
    f->counter->held += b->n;
}

bool gpu_park(struct forwarder *f, struct burst *b, bool redirects)
{
    struct gpu_parked *p = &f->gpu;
    unsigned n = mirrored(f->gpu_use, b);
    enum gpu_cause why = n == b->n && !b->found && !redirects ? why_cpu(f) : GPU_CAUSES;
    bool own = why != GPU_CAUSES || n < b->n || b->found || redirects;
    uint64_t begun;

    if (!n)
        return false;
    if (why == GPU_BY_SPLIT && !p->until_own)
        look_up_timed(f, b);
    if (why != GPU_CAUSES)
        counts_mine(f)->by_cpu[why] += n;
    if (own && !p->n)
        return false;
    begun = rte_rdtsc();
    if (own)
        look_up(f, b);
    if (redirects) {
        acl_redirect(f, b);
        f->n_redirected = 0;
    }
    park_last(f, b);
    if (!own)
        p->gpu_cycles += rte_rdtsc() - begun;
    b->n = 0;
    return true;
}

// --- sending ---

// The unsent bursts of a family that need an answer, into a batch; how many addresses.
static uint32_t fill(struct forwarder *f, struct gpu_batch *batch, uint8_t family)
{
    struct gpu_parked *p = &f->gpu;
    const uint16_t *which = f->gpu_use->which[family == IP6];
    uint32_t key_bytes = family == IP6 ? 16 : 4;

    for (uint32_t k = p->n - p->unsent; k < p->n; k++) {
        struct gpu_parked_burst *e = parked_at(p, k);
        if (e->answered || e->b.family != family)
            continue;
        e->batch = p->serial;
        e->at = (uint16_t)batch->n;
        memcpy(batch->key + (size_t)batch->n * key_bytes, e->b.dst6, (size_t)e->b.n * key_bytes);
        for (unsigned i = 0; i < e->b.n; i++)
            batch->which[batch->n + i] = (uint16_t)(which[e->b.vr[i]] - 1);
        batch->n += e->b.n;
    }
    return batch->n;
}

static void unsent_by_cpu(struct forwarder *f, uint8_t family, enum gpu_cause why)
{
    struct gpu_parked *p = &f->gpu;

    for (uint32_t k = p->n - p->unsent; k < p->n; k++) {
        struct gpu_parked_burst *e = parked_at(p, k);
        if (!e->answered && e->b.family == family)
            answer_by_cpu(f, e, why);
    }
}

static bool has_unsent(struct gpu_parked *p, uint8_t family)
{
    for (uint32_t k = p->n - p->unsent; k < p->n; k++)
        if (!parked_at(p, k)->answered && parked_at(p, k)->b.family == family)
            return true;
    return false;
}

static void send_family(struct forwarder *f, uint8_t family)
{
    struct gpu_mirror *m = f->gpu_use->mirror;
    struct gpu_batch batch = {.kind = family == IP6 ? GPU_FIND6 : GPU_FIND4};

    if (!has_unsent(&f->gpu, family))
        return;
    if (gpu_mirror_state(m) != GPU_ON) {
        unsent_by_cpu(f, family, GPU_BY_FAILURE);
    } else if (!gpu_mirror_version(m)) {
        unsent_by_cpu(f, family, GPU_BY_CHANGE);
    } else if (!gpu_queue_begin(queue_of(f), &batch)) {
        unsent_by_cpu(f, family, GPU_BY_FULL);
    } else {
        f->gpu.serial++;
        fill(f, &batch, family);
        batch.user = (void *)(uintptr_t)f->gpu.serial;
        gpu_queue_send(queue_of(f), &batch, to_ns(f, rte_rdtsc()));
    }
}

static void send_unsent(struct forwarder *f)
{
    uint64_t begun = rte_rdtsc();

    if (!f->gpu.unsent)
        return;
    send_family(f, IP4);
    send_family(f, IP6);
    f->gpu.unsent = 0;
    f->gpu.gpu_cycles += rte_rdtsc() - begun;
}

// --- answers ---

static void nexthops_set(const struct forwarder *f, struct burst *b, const uint16_t *value)
{
    if (!b->mixed)
        fib_nexthops(fwd_fib(f, b->vr[0], b->family), value, b->nh, b->n);
    for (unsigned i = 0; b->mixed && i < b->n; i++)
        fib_nexthops(fwd_fib(f, b->vr[i], b->family), &value[i], &b->nh[i], 1);
}

static void take_answer(struct forwarder *f, const struct gpu_batch *batch)
{
    struct gpu_parked *p = &f->gpu;
    struct gpu_count *c = counts_mine(f);

    for (uint32_t k = 0; k < p->n; k++) {
        struct gpu_parked_burst *e = parked_at(p, k);
        if (e->answered || e->batch != (uintptr_t)batch->user)
            continue;
        nexthops_set(f, &e->b, batch->value + e->at);
        e->answered = e->b.found = true;
        *(batch->by_cpu ? &c->by_cpu[GPU_BY_FAILURE] : &c->lookups) += e->b.n;
    }
    if (batch->by_cpu)
        return;
    c->batches++;
    c->age[gpu_age_bucket(batch->age_ns)]++;
    p->gpu_lookups += batch->n;
    p->answers++;
    p->late += batch->age_ns > f->gpu_use->settings.max_latency_us * 1000ull;
}

static void receive(struct forwarder *f)
{
    struct gpu_batch batch;
    uint64_t begun = rte_rdtsc();

    if (!gpu_queue_receive(queue_of(f), &batch, to_ns(f, begun)))
        return;
    do
        take_answer(f, &batch);
    while (gpu_queue_receive(queue_of(f), &batch, to_ns(f, begun)));
    f->gpu.gpu_cycles += rte_rdtsc() - begun;
}

// Those that may not wait any longer.
static void give_up_late(struct forwarder *f)
{
    uint64_t now = rte_rdtsc();

    for (uint32_t k = 0; k < f->gpu.n; k++) {
        struct gpu_parked_burst *e = parked_at(&f->gpu, k);
        if ((int64_t)(now - e->since) < (int64_t)f->gpu_use->max_latency_tsc)
            return;
        if (!e->answered)
            answer_by_cpu(f, e, GPU_BY_LATE);
    }
}

// --- the split ---

static void window_end(struct forwarder *f)
{
    struct gpu_parked *p = &f->gpu;
    struct gpu_count *c = counts_mine(f);

    if (p->cpu_lookups && p->answers) {
        c->cpu_cost = (uint32_t)(100 * p->cpu_cycles / p->cpu_lookups);
        c->gpu_cost = (uint32_t)(100 * p->gpu_cycles / (p->gpu_lookups ? p->gpu_lookups : 1));
        p->verdict = gpu_split(c->cpu_cost, c->gpu_cost,
                               (unsigned)(1000 * p->late / p->answers));
        c->measured++;
        p->cpu_lookups = p->cpu_cycles = p->gpu_lookups = p->gpu_cycles = 0;
        p->answers = p->late = 0;
    }
    p->probes = GPU_PROBES;
    c->verdict = f->gpu_use->settings.always ? GPU_SENDS : p->verdict;
    c->sampled = gpu_queue_stats(queue_of(f))->sampled;
    c->wrong = gpu_queue_stats(queue_of(f))->wrong;
}

// --- the poll ---

unsigned gpu_serve(struct forwarder *f)
{
    struct gpu_parked *p = &f->gpu;
    unsigned went = 0;

    if (f->now - p->window >= f->gpu_use->window_tsc) {
        window_end(f);
        p->window = f->now;
    }
    if (!p->n && !gpu_queue_waiting(queue_of(f)))
        return 0;
    send_unsent(f);
    receive(f);
    give_up_late(f);
    while (p->n && parked_at(p, 0)->answered) {
        went += parked_at(p, 0)->b.n;
        go_on(f);
        path_flush(f);
    }
    return went + p->n + gpu_queue_waiting(queue_of(f));
}

void gpu_drain(struct forwarder *f)
{
    struct gpu_parked *p = &f->gpu;

    while (p->n) {
        if (!parked_at(p, 0)->answered)
            answer_by_cpu(f, parked_at(p, 0), GPU_BY_DRAIN);
        go_on(f);
        path_flush(f);
    }
}

void gpu_change(struct forwarder *f, struct gpu_use *use)
{
    if (f->gpu_use)
        gpu_drain(f);
    f->gpu_use = use;
    if (!use)
        return;
    counts_mine(f)->verdict = use->settings.always ? GPU_SENDS : GPU_CPU_IS_FASTER;
    // Never again: a batch of the forwarder before, which nobody wants, may be on the way.
    f->gpu.serial = rte_rdtsc();
    f->gpu.verdict = GPU_CPU_IS_FASTER;
    f->gpu.probes = GPU_PROBES;
    f->gpu.window = f->now;
}

void gpu_end(struct forwarder *f)
{
    uint64_t begun = rte_rdtsc();

    if (!f->gpu_use)
        return;
    gpu_drain(f);
    while (gpu_queue_waiting(queue_of(f))) {
        if (rte_rdtsc() - begun > GPU_END_WINDOWS * f->gpu_use->window_tsc)
            gpu_mirror_fail(f->gpu_use->mirror, GPU_LATE);
        receive(f);
    }
}
