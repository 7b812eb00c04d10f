// SPDX-License-Identifier: BSD-3-Clause
// batch.c - batches of parked bursts, to the device and back (stage.h)
//
// A batch is of one family. A burst is never split between batches.
#include "gpu/stage.h"

#include "forwarder/lookup.h"
#include "forwarder/forbidden.h"

static uint64_t to_ns(const struct gpu_parked *p, uint64_t tsc)
{
    return (uint64_t)((double)tsc * p->use->ns_per_tsc);
}

// --- sending ---

static void fill(const struct gpu_parked *p, struct gpu_parked_burst *e, struct gpu_batch *batch)
{
    const uint16_t *which = p->use->which[e->b.family == IP6];
    size_t bytes = gpu_key_bytes(batch->kind);

    memcpy(batch->key + batch->n * bytes, e->b.dst6, e->b.n * bytes);
    for (unsigned i = 0; i < e->b.n; i++)
        batch->which[batch->n + i] = (uint16_t)(which[e->b.vr[i]] - 1);
    e->at = (uint16_t)batch->n;
    batch->n += e->b.n;
}

// Returns the reason why no batch can begin, or GPU_CAUSES if it has begun.
static enum gpu_cause batch_begin(const struct gpu_parked *p, struct gpu_batch *batch)
{
    if (gpu_mirror_state(p->use->mirror) != GPU_ON)
        return GPU_BY_FAILURE;
    if (!gpu_mirror_version(p->use->mirror))
        return GPU_BY_CHANGE;
    return gpu_queue_begin(p->queue, batch) ? GPU_CAUSES : GPU_BY_FULL;
}

// The CPU looks up the bursts of the batch with that serial.
static void give_up(struct gpu_parked *p, uint64_t serial, enum gpu_cause why)
{
    for (uint32_t k = 0; k < p->n; k++) {
        struct gpu_parked_burst *e = gpu_parked_at(p, k);
        if (!e->answered && e->batch == serial)
            gpu_answer_by_cpu(p, e, why);
    }
}

// Sends all unsent bursts from number k on that are of the same family.
static void send_alike(struct gpu_parked *p, uint32_t k)
{
    const uint8_t family = gpu_parked_at(p, k)->b.family;
    struct gpu_batch batch = {.kind = family == IP6 ? GPU_FIND6 : GPU_FIND4};
    enum gpu_cause why = batch_begin(p, &batch);

    p->serial++;
    for (; k < p->n; k++) {
        struct gpu_parked_burst *e = gpu_parked_at(p, k);
        if (e->answered || e->batch || e->b.family != family)
            continue;
        e->batch = p->serial;
        if (why == GPU_CAUSES)
            fill(p, e, &batch);
    }
    batch.user = (void *)(uintptr_t)p->serial;
    if (why == GPU_CAUSES && !gpu_queue_send(p->queue, &batch, to_ns(p, rte_rdtsc())))
        why = GPU_BY_CHANGE;
    if (why != GPU_CAUSES)
        give_up(p, p->serial, why);
}

void gpu_send(struct gpu_parked *p)
{
    for (uint32_t k = 0; k < p->n; k++) {
        const struct gpu_parked_burst *e = gpu_parked_at(p, k);
        uint64_t begun = rte_rdtsc();
        if (e->answered || e->batch)
            continue;
        send_alike(p, k);
        p->window.gpu_cycles += rte_rdtsc() - begun;
    }
}

// --- answers ---

static void nexthops_set(const struct gpu_parked *p, struct burst *b, const uint16_t *value)
{
    if (!b->mixed)
        fib_nexthops(fwd_fib(p->f, b->vr[0], b->family), value, b->nh, b->n);
    for (unsigned i = 0; b->mixed && i < b->n; i++)
        fib_nexthops(fwd_fib(p->f, b->vr[i], b->family), &value[i], &b->nh[i], 1);
}

// Looks each GPU_SAMPLE-th packet of all batches up. Returns the number of differences.
static unsigned differences(struct gpu_parked *p, const struct burst *b)
{
    uint32_t *at = &p->until_sample;
    unsigned n = 0;

    for (; *at < b->n; *at += GPU_SAMPLE) {
        const struct fib *fib = fwd_fib(p->f, b->vr[*at], b->family);
        uint32_t nexthop;

        if (b->family == IP4)
            fib_find4_bulk(fib, &b->dst4[*at], &nexthop, 1);
        else
            fib_find6_bulk(fib, &b->dst6[*at], &nexthop, 1);
        n += nexthop != b->nh[*at];
        p->count->sampled++;
    }
    *at -= b->n;
    return n;
}

// Sets the next hops of the batch's bursts. Returns false if a sample is wrong: a difference counts
// only if the tables have not changed since the batch was sent.
static bool take_values(struct gpu_parked *p, const struct gpu_batch *batch)
{
    unsigned wrong = 0;

    for (uint32_t k = 0; k < p->n; k++) {
        struct gpu_parked_burst *e = gpu_parked_at(p, k);
        if (e->answered || e->batch != (uintptr_t)batch->user)
            continue;
        nexthops_set(p, &e->b, batch->value + e->at);
        wrong += differences(p, &e->b);
    }
    if (!wrong || !gpu_mirror_version_is(p->use->mirror, batch->version))
        return true;
    p->count->wrong += wrong;
    return false;
}

static void take_answer(struct gpu_parked *p, const struct gpu_batch *batch)
{
    struct gpu_window *w = &p->window;
    uint64_t most_us = __atomic_load_n(&p->use->settings.max_latency_us, __ATOMIC_RELAXED);

    if (batch->value && !take_values(p, batch))
        gpu_mirror_fail(p->use->mirror, GPU_WRONG);
    if (gpu_mirror_state(p->use->mirror) != GPU_ON) {
        give_up(p, (uintptr_t)batch->user, GPU_BY_FAILURE);
        return;
    }
    for (uint32_t k = 0; k < p->n; k++) {
        struct gpu_parked_burst *e = gpu_parked_at(p, k);
        if (e->answered || e->batch != (uintptr_t)batch->user)
            continue;
        e->answered = e->b.decided.looked_up = true;
        p->count->answered += e->b.n;
    }
    p->count->batches++;
    p->count->age[gpu_age_bucket(batch->age_ns)]++;
    w->gpu_packets += batch->n;
    w->answers++;
    w->late += batch->age_ns > most_us * 1000;
}

void gpu_receive(struct gpu_parked *p)
{
    uint64_t begun = rte_rdtsc(), taken;
    struct gpu_batch batch;

    while (gpu_queue_receive(p->queue, &batch, to_ns(p, begun))) {
        take_answer(p, &batch);
        taken = rte_rdtsc();
        p->window.gpu_cycles += taken - begun;
        begun = taken;
    }
}
