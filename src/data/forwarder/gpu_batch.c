// SPDX-License-Identifier: BSD-3-Clause
// gpu_batch.c - batches of parked bursts, to the device and back (gpu_stage.h)
//
// A batch is of one family. A burst is never split between batches.
#include "forwarder/gpu_priv.h"
#include "forwarder/lookup.h"
#include "forwarder/forbidden.h"

// --- sending ---

static void fill(const struct forwarder *f, struct gpu_parked_burst *e, struct gpu_batch *batch)
{
    const uint16_t *which = f->gpu_use->which[e->b.family == IP6];
    size_t bytes = gpu_key_bytes(batch->kind);

    memcpy(batch->key + batch->n * bytes, e->b.dst6, e->b.n * bytes);
    for (unsigned i = 0; i < e->b.n; i++)
        batch->which[batch->n + i] = (uint16_t)(which[e->b.vr[i]] - 1);
    e->at = (uint16_t)batch->n;
    batch->n += e->b.n;
}

// Returns the reason why no batch can begin, or GPU_CAUSES if it has begun.
static enum gpu_cause batch_begin(const struct forwarder *f, struct gpu_batch *batch)
{
    const struct gpu_use *use = f->gpu_use;

    if (gpu_mirror_state(use->mirror) != GPU_ON)
        return GPU_BY_FAILURE;
    if (!gpu_mirror_version(use->mirror))
        return GPU_BY_CHANGE;
    return gpu_queue_begin(gpu_queue_of(f), batch) ? GPU_CAUSES : GPU_BY_FULL;
}

// The CPU looks up the bursts of the batch with that serial.
static void give_up(struct forwarder *f, uint64_t serial, enum gpu_cause why)
{
    struct gpu_parked *p = &f->gpu;

    for (uint32_t k = 0; k < p->n; k++) {
        struct gpu_parked_burst *e = gpu_parked_at(p, k);
        if (!e->answered && e->batch == serial)
            gpu_answer_by_cpu(f, e, why);
    }
}

// Sends all unsent bursts from number k on that are of the same family.
static void send_alike(struct forwarder *f, uint32_t k)
{
    struct gpu_parked *p = &f->gpu;
    const uint8_t family = gpu_parked_at(p, k)->b.family;
    struct gpu_batch batch = {.kind = family == IP6 ? GPU_FIND6 : GPU_FIND4};
    enum gpu_cause why = batch_begin(f, &batch);

    p->serial++;
    for (; k < p->n; k++) {
        struct gpu_parked_burst *e = gpu_parked_at(p, k);
        if (e->answered || e->batch || e->b.family != family)
            continue;
        e->batch = p->serial;
        if (why == GPU_CAUSES)
            fill(f, e, &batch);
    }
    batch.user = (void *)(uintptr_t)p->serial;
    if (why == GPU_CAUSES &&
        !gpu_queue_send(gpu_queue_of(f), &batch, gpu_to_ns(f, rte_rdtsc())))
        why = GPU_BY_CHANGE;
    if (why != GPU_CAUSES)
        give_up(f, p->serial, why);
}

void gpu_send(struct forwarder *f)
{
    struct gpu_parked *p = &f->gpu;

    for (uint32_t k = 0; k < p->n; k++) {
        const struct gpu_parked_burst *e = gpu_parked_at(p, k);
        uint64_t begun = rte_rdtsc();
        if (e->answered || e->batch)
            continue;
        send_alike(f, k);
        p->window.gpu_cycles += rte_rdtsc() - begun;
    }
}

// --- answers ---

static void nexthops_set(const struct forwarder *f, struct burst *b, const uint16_t *value)
{
    if (!b->mixed)
        fib_nexthops(fwd_fib(f, b->vr[0], b->family), value, b->nh, b->n);
    for (unsigned i = 0; b->mixed && i < b->n; i++)
        fib_nexthops(fwd_fib(f, b->vr[i], b->family), &value[i], &b->nh[i], 1);
}

// Looks each GPU_SAMPLE-th packet of all batches up. Returns the number of differences.
static unsigned differences(struct forwarder *f, const struct burst *b)
{
    uint32_t *at = &f->gpu.until_sample;
    unsigned n = 0;

    for (; *at < b->n; *at += GPU_SAMPLE) {
        const struct fib *fib = fwd_fib(f, b->vr[*at], b->family);
        uint32_t nexthop;

        if (b->family == IP4)
            fib_find4_bulk(fib, &b->dst4[*at], &nexthop, 1);
        else
            fib_find6_bulk(fib, &b->dst6[*at], &nexthop, 1);
        n += nexthop != b->nh[*at];
        gpu_counts(f)->sampled++;
    }
    *at -= b->n;
    return n;
}

// Sets the next hops of the batch's bursts. Returns false if a sample is wrong: a difference counts
// only if the tables have not changed since the batch was sent.
static bool take_values(struct forwarder *f, const struct gpu_batch *batch)
{
    struct gpu_parked *p = &f->gpu;
    unsigned wrong = 0;

    for (uint32_t k = 0; k < p->n; k++) {
        struct gpu_parked_burst *e = gpu_parked_at(p, k);
        if (e->answered || e->batch != (uintptr_t)batch->user)
            continue;
        nexthops_set(f, &e->b, batch->value + e->at);
        wrong += differences(f, &e->b);
    }
    if (!wrong || !gpu_mirror_version_is(f->gpu_use->mirror, batch->version))
        return true;
    gpu_counts(f)->wrong += wrong;
    return false;
}

static void take_answer(struct forwarder *f, const struct gpu_batch *batch)
{
    struct gpu_parked *p = &f->gpu;
    struct gpu_window *w = &p->window;
    uint64_t most_us =
        __atomic_load_n(&f->gpu_use->settings.max_latency_us, __ATOMIC_RELAXED);

    if (batch->value && !take_values(f, batch))
        gpu_mirror_fail(f->gpu_use->mirror, GPU_WRONG);
    if (gpu_mirror_state(f->gpu_use->mirror) != GPU_ON) {
        give_up(f, (uintptr_t)batch->user, GPU_BY_FAILURE);
        return;
    }
    for (uint32_t k = 0; k < p->n; k++) {
        struct gpu_parked_burst *e = gpu_parked_at(p, k);
        if (e->answered || e->batch != (uintptr_t)batch->user)
            continue;
        e->answered = e->b.found = true;
        gpu_counts(f)->answered += e->b.n;
    }
    gpu_counts(f)->batches++;
    gpu_counts(f)->age[gpu_age_bucket(batch->age_ns)]++;
    w->gpu_packets += batch->n;
    w->answers++;
    w->late += batch->age_ns > most_us * 1000;
}

void gpu_receive(struct forwarder *f)
{
    uint64_t begun = rte_rdtsc(), taken;
    struct gpu_batch batch;

    while (gpu_queue_receive(gpu_queue_of(f), &batch, gpu_to_ns(f, begun))) {
        take_answer(f, &batch);
        taken = rte_rdtsc();
        f->gpu.window.gpu_cycles += taken - begun;
        begun = taken;
    }
}
