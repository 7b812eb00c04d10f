// SPDX-License-Identifier: BSD-3-Clause
// Stage gpu: see gpu_stage.h
//
//   in     bursts before their lookup
//   out    the same, with nh[] and `found` set, to path_answered()
//
// Measurements decide whether the device pays off (gpu_split): in each window of 10 ms the first
// GPU_PROBES bursts are sent, whatever the previous verdict, and the CPU looks up and times one
// burst in GPU_OWN_EVERY. With the device, a lookup costs the time for parking, sending and
// receiving, not counting that a packet's lines may leave the cache meanwhile.
#include "forwarder/acl.h"
#include "forwarder/gpu_priv.h"
#include "forwarder/lookup.h"
#include "forwarder/stages.h"
#include "forwarder/forbidden.h"

#define GPU_END_WINDOWS 10 // an ending thread waits this many windows for a device

// --- by the CPU ---

void gpu_look_up(const struct forwarder *f, struct burst *b)
{
    if (!b->found)
        b->family == IP4 ? fwd_lookup(f, b, IP4) : fwd_lookup(f, b, IP6);
    b->found = true;
}

void gpu_answer_by_cpu(struct forwarder *f, struct gpu_parked_burst *e, enum gpu_cause why)
{
    gpu_look_up(f, &e->b);
    e->answered = true;
    gpu_counts(f)->by_cpu[why] += e->b.n;
}

// Measures the cost of a lookup on the CPU.
static void look_up_timed(struct forwarder *f, struct burst *b)
{
    uint64_t begun = rte_rdtsc();

    gpu_look_up(f, b);
    f->gpu.window.cpu_cycles += rte_rdtsc() - begun;
    f->gpu.window.cpu_packets += b->n;
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
static enum gpu_cause why_cpu(struct forwarder *f)
{
    struct gpu_window *w = &f->gpu.window;

    if (gpu_mirror_state(f->gpu_use->mirror) != GPU_ON)
        return GPU_BY_FAILURE;
    if (++w->until_own >= GPU_OWN_EVERY) {
        w->until_own = 0;
        return f->gpu_use->settings.always ? GPU_CAUSES : GPU_BY_SPLIT;
    }
    if (f->gpu_use->settings.always || w->verdict == GPU_SENDS)
        return GPU_CAUSES;
    if (!w->probes)
        return GPU_BY_SPLIT;
    w->probes--;
    return GPU_CAUSES;
}

// The first burst continues; nothing is left to wait for.
static void go_on(struct forwarder *f)
{
    struct gpu_parked *p = &f->gpu;
    struct gpu_parked_burst *e = gpu_parked_at(p, 0);
    bool crossing = f->crossing;

    p->head = (p->head + 1) % GPU_RING;
    p->n--;
    p->foreign -= e->foreign;
    f->counter->held -= e->b.n;
    f->n_redirected = 0;
    f->crossing = true; // packets to a metalink continue when e is no longer in use
    if (e->b.n)
        path_answered(f, &e->b);
    f->crossing = crossing;
}

// The first burst continues now: the CPU looks it up if the device has not.
static void let_go(struct forwarder *f, enum gpu_cause why)
{
    struct gpu_parked_burst *e = gpu_parked_at(&f->gpu, 0);

    if (!e->answered)
        gpu_answer_by_cpu(f, e, why);
    go_on(f);
}

// Appends b to the ring; the oldest burst continues if the ring is full.
static struct gpu_parked_burst *park_last(struct forwarder *f, const struct burst *b)
{
    struct gpu_parked *p = &f->gpu;
    struct gpu_parked_burst *e;

    if (p->n == GPU_PARKED_MAX) // its packets may not overtake earlier ones
        let_go(f, GPU_BY_FULL);
    e = gpu_parked_at(p, p->n++);
    e->since = rte_rdtsc();
    e->batch = 0;
    burst_copy(&e->b, b);
    f->counter->held += b->n;
    return e;
}

// n of its packets are of mirrored virtual routers. Must the CPU look it up?
static bool is_own(struct forwarder *f, struct burst *b, unsigned n, bool redirects)
{
    enum gpu_cause why = n == b->n && !b->found && !redirects ? why_cpu(f) : GPU_CAUSES;

    if (why == GPU_BY_SPLIT && !f->gpu.window.until_own)
        look_up_timed(f, b);
    if (why != GPU_CAUSES)
        gpu_counts(f)->by_cpu[why] += n;
    return why != GPU_CAUSES || n < b->n || b->found || redirects;
}

static void look_up_own(struct forwarder *f, struct burst *b, bool redirects)
{
    gpu_look_up(f, b);
    if (redirects)
        acl_redirect(f, b);
    f->n_redirected = 0;
}

bool gpu_park(struct forwarder *f, struct burst *b, bool redirects)
{
    struct gpu_parked *p = &f->gpu;
    unsigned n = mirrored(f->gpu_use, b);
    struct gpu_parked_burst *e;
    uint64_t begun;
    bool own;

    if (!n && !p->foreign)
        return false;
    own = is_own(f, b, n, redirects);
    if (own && !p->n)
        return false;
    begun = rte_rdtsc();
    if (own)
        look_up_own(f, b, redirects);
    e = park_last(f, b);
    e->answered = own;
    e->foreign = n < b->n;
    p->foreign += e->foreign;
    if (!own)
        p->window.gpu_cycles += rte_rdtsc() - begun;
    b->n = 0;
    return true;
}

// Answers all bursts that have waited too long.
static void give_up_late(struct forwarder *f)
{
    uint64_t now = rte_rdtsc();
    int64_t most = (int64_t)__atomic_load_n(&f->gpu_use->max_latency_tsc, __ATOMIC_RELAXED);

    for (uint32_t k = 0; k < f->gpu.n; k++) {
        struct gpu_parked_burst *e = gpu_parked_at(&f->gpu, k);
        if ((int64_t)(now - e->since) < most)
            return;
        if (!e->answered)
            gpu_answer_by_cpu(f, e, GPU_BY_LATE);
    }
}

// --- the split ---

static void window_end(struct forwarder *f)
{
    struct gpu_window *w = &f->gpu.window;
    struct gpu_cost *c = &gpu_counts(f)->cost;

    if (w->cpu_packets && w->answers) {
        c->cpu = (uint32_t)(100 * w->cpu_cycles / w->cpu_packets);
        c->gpu = (uint32_t)(100 * w->gpu_cycles / (w->gpu_packets ? w->gpu_packets : 1));
        w->verdict = gpu_split(c->cpu, c->gpu, (unsigned)(1000 * w->late / w->answers));
        c->measured++;
        w->cpu_packets = w->cpu_cycles = w->gpu_packets = w->gpu_cycles = 0;
        w->answers = w->late = 0;
    }
    w->probes = GPU_PROBES;
    c->verdict = f->gpu_use->settings.always ? GPU_SENDS : w->verdict;
}

// --- the poll ---

unsigned gpu_serve(struct forwarder *f)
{
    struct gpu_parked *p = &f->gpu;
    unsigned went = 0;

    if (f->now - p->window_begun >= f->gpu_use->window_tsc) {
        window_end(f);
        p->window_begun = f->now;
    }
    if (!p->n && !gpu_queue_waiting(gpu_queue_of(f)))
        return 0;
    gpu_send(f);
    gpu_receive(f);
    give_up_late(f);
    while (p->n && gpu_parked_at(p, 0)->answered) {
        went += gpu_parked_at(p, 0)->b.n;
        go_on(f);
        path_flush(f);
    }
    return went + p->n + gpu_queue_waiting(gpu_queue_of(f));
}

void gpu_drain(struct forwarder *f)
{
    struct gpu_parked *p = &f->gpu;

    while (p->n) {
        let_go(f, GPU_BY_DRAIN);
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
    gpu_counts(f)->cost.verdict = use->settings.always ? GPU_SENDS : GPU_CPU_IS_FASTER;
    f->gpu.window.verdict = GPU_CPU_IS_FASTER;
    f->gpu.window.probes = GPU_PROBES;
    // Unique: an unwanted batch of the previous forwarder may still be in flight.
    f->gpu.serial = rte_rdtsc();
    f->gpu.window_begun = f->now;
}

void gpu_end(struct forwarder *f)
{
    uint64_t begun = rte_rdtsc();

    if (!f->gpu_use)
        return;
    gpu_drain(f);
    while (gpu_queue_waiting(gpu_queue_of(f))) {
        if (rte_rdtsc() - begun > GPU_END_WINDOWS * f->gpu_use->window_tsc)
            gpu_mirror_fail(f->gpu_use->mirror, GPU_LATE);
        gpu_receive(f);
    }
}
