// SPDX-License-Identifier: BSD-3-Clause
// Stage gpu: see stage.h
//
//   in     bursts before their lookup
//   out    the same, with nh[] set, to path_answered()
//
// Measurements decide whether the device pays off (gpu_split): in each window of 10 ms the first
// GPU_PROBES bursts are sent, whatever the previous verdict, and the CPU looks up and times one
// burst in GPU_OWN_EVERY. With the device, a lookup costs the time for parking, sending and
// receiving, not counting that a packet's lines may leave the cache meanwhile.
#include "gpu/stage.h"

#include "forwarder/lookup.h"
#include "forwarder/stages.h"
#include "forwarder/forbidden.h"

#define GPU_END_WINDOWS 10 // an ending thread waits this many windows for a device

static struct gpu_parked *parked_of(struct lookaside *l, struct forwarder *f)
{
    struct gpu_use *use = (struct gpu_use *)l;
    struct gpu_parked *p = &use->parked[f->index];

    p->f = f;
    return p;
}

// --- by the CPU ---

static void look_up(struct forwarder *f, struct burst *b)
{
    b->family == IP4 ? fwd_look_up(f, b, IP4) : fwd_look_up(f, b, IP6);
    b->decided.looked_up = true;
}

void gpu_answer_by_cpu(struct gpu_parked *p, struct gpu_parked_burst *e, enum gpu_cause why)
{
    look_up(p->f, &e->b);
    e->answered = true;
    p->count->by_cpu[why] += e->b.n;
}

// Measures the cost of a lookup on the CPU.
static void look_up_timed(struct gpu_parked *p, struct burst *b)
{
    uint64_t begun = rte_rdtsc();

    look_up(p->f, b);
    p->window.cpu_cycles += rte_rdtsc() - begun;
    p->window.cpu_packets += b->n;
}

// --- parking ---

// Number of packets of virtual routers whose tables are on the device.
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

// Returns the reason why the CPU must look this burst up, or GPU_CAUSES for the device.
// GPU_BY_SPLIT with until_own 0: to be timed.
static enum gpu_cause why_cpu(struct gpu_parked *p)
{
    struct gpu_window *w = &p->window;

    if (gpu_mirror_state(p->use->mirror) != GPU_ON)
        return GPU_BY_FAILURE;
    if (++w->until_own >= GPU_OWN_EVERY) {
        w->until_own = 0;
        return p->use->settings.always ? GPU_CAUSES : GPU_BY_SPLIT;
    }
    if (p->use->settings.always || w->verdict == GPU_SENDS)
        return GPU_CAUSES;
    if (!w->probes)
        return GPU_BY_SPLIT;
    w->probes--;
    return GPU_CAUSES;
}

// The first burst continues; nothing is left to wait for.
static void go_on(struct gpu_parked *p)
{
    struct gpu_parked_burst *e = gpu_parked_at(p, 0);
    struct forwarder *f = p->f;
    bool crossing = f->crossing;

    p->head = (p->head + 1) % GPU_RING;
    p->n--;
    p->foreign -= e->foreign;
    f->counter->held -= e->b.n;
    f->crossing = true; // packets to a metalink continue when e is no longer in use
    if (e->b.n)
        path_answered(f, &e->b);
    f->crossing = crossing;
}

// The first burst continues now: the CPU looks it up if the device has not.
static void let_go(struct gpu_parked *p, enum gpu_cause why)
{
    struct gpu_parked_burst *e = gpu_parked_at(p, 0);

    if (!e->answered)
        gpu_answer_by_cpu(p, e, why);
    go_on(p);
}

// Appends b to the ring; the oldest burst continues if the ring is full.
static struct gpu_parked_burst *park_last(struct gpu_parked *p, const struct burst *b)
{
    struct gpu_parked_burst *e;

    if (p->n == GPU_PARKED_MAX) // its packets may not overtake earlier ones
        let_go(p, GPU_BY_FULL);
    e = gpu_parked_at(p, p->n++);
    e->since = rte_rdtsc();
    e->batch = 0;
    burst_copy(&e->b, b);
    p->f->counter->held += b->n;
    return e;
}

// n of its packets are of mirrored virtual routers. Must the CPU look it up?
static bool is_own(struct gpu_parked *p, struct burst *b, unsigned n)
{
    const bool undecided = n == b->n && !b->decided.looked_up && !b->decided.n_redirected;
    enum gpu_cause why = undecided ? why_cpu(p) : GPU_CAUSES;

    if (why == GPU_BY_SPLIT && !p->window.until_own)
        look_up_timed(p, b);
    if (why != GPU_CAUSES)
        p->count->by_cpu[why] += n;
    return why != GPU_CAUSES || !undecided;
}

static bool park(struct lookaside *l, struct forwarder *f, struct burst *b)
{
    struct gpu_parked *p = parked_of(l, f);
    unsigned n = mirrored(p->use, b);
    struct gpu_parked_burst *e;
    uint64_t begun;
    bool own;

    if (!n && !p->foreign)
        return false;
    own = is_own(p, b, n);
    if (own && !p->n)
        return false;
    begun = rte_rdtsc();
    if (own)
        look_up(f, b);
    e = park_last(p, b);
    e->answered = own;
    e->foreign = n < b->n;
    p->foreign += e->foreign;
    if (!own)
        p->window.gpu_cycles += rte_rdtsc() - begun;
    b->n = 0;
    return true;
}

// Answers all bursts that have waited too long.
static void give_up_late(struct gpu_parked *p)
{
    uint64_t now = rte_rdtsc();
    int64_t most = (int64_t)__atomic_load_n(&p->use->max_latency_tsc, __ATOMIC_RELAXED);

    for (uint32_t k = 0; k < p->n; k++) {
        struct gpu_parked_burst *e = gpu_parked_at(p, k);
        if ((int64_t)(now - e->since) < most)
            return;
        if (!e->answered)
            gpu_answer_by_cpu(p, e, GPU_BY_LATE);
    }
}

// --- the split ---

static void window_end(struct gpu_parked *p)
{
    struct gpu_window *w = &p->window;
    struct gpu_cost *c = &p->count->cost;

    if (w->cpu_packets && w->answers) {
        c->cpu = (uint32_t)(100 * w->cpu_cycles / w->cpu_packets);
        c->gpu = (uint32_t)(100 * w->gpu_cycles / (w->gpu_packets ? w->gpu_packets : 1));
        w->verdict = gpu_split(c->cpu, c->gpu, (unsigned)(1000 * w->late / w->answers));
        c->measured++;
        w->cpu_packets = w->cpu_cycles = w->gpu_packets = w->gpu_cycles = 0;
        w->answers = w->late = 0;
    }
    w->probes = GPU_PROBES;
    c->verdict = p->use->settings.always ? GPU_SENDS : w->verdict;
}

// --- the poll ---

static unsigned serve(struct lookaside *l, struct forwarder *f)
{
    struct gpu_parked *p = parked_of(l, f);
    unsigned went = 0;

    if (f->now - p->window_begun >= p->use->window_tsc) {
        window_end(p);
        p->window_begun = f->now;
    }
    if (!p->n && !gpu_queue_waiting(p->queue))
        return 0;
    gpu_send(p);
    gpu_receive(p);
    give_up_late(p);
    while (p->n && gpu_parked_at(p, 0)->answered) {
        went += gpu_parked_at(p, 0)->b.n;
        go_on(p);
        path_flush(f);
    }
    return went + p->n + gpu_queue_waiting(p->queue);
}

static void drain(struct gpu_parked *p)
{
    while (p->n) {
        let_go(p, GPU_BY_DRAIN);
        path_flush(p->f);
    }
}

static bool rest(struct lookaside *l, struct forwarder *f)
{
    struct gpu_parked *p = parked_of(l, f);
    uint64_t now = rte_rdtsc();

    if (p->n && now - p->rested < p->use->rest_tsc)
        return false;
    drain(p);
    p->rested = now;
    return true;
}

static void thread_end(struct lookaside *l, struct forwarder *f)
{
    struct gpu_parked *p = parked_of(l, f);
    uint64_t begun = rte_rdtsc();

    drain(p);
    while (gpu_queue_waiting(p->queue)) {
        if (rte_rdtsc() - begun > GPU_END_WINDOWS * p->use->window_tsc)
            gpu_mirror_fail(p->use->mirror, GPU_LATE);
        gpu_receive(p);
    }
}

const struct lookaside gpu_lookaside = {
    .park = park, .serve = serve, .rest = rest, .end = thread_end};
