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
    e->batch = f->gpu.serial;
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

// Sends all unsent bursts from number k on that are of the same family.
static void send_alike(struct forwarder *f, uint32_t k)
{
    struct gpu_parked *p = &f->gpu;
    const uint8_t family = gpu_parked_at(p, k)->b.family;
    struct gpu_batch batch = {.kind = family == IP6 ? GPU_FIND6 : GPU_FIND4};
    enum gpu_cause why = batch_begin(f, &batch);

    if (why == GPU_CAUSES)
        p->serial++;
    for (; k < p->n; k++) {
        struct gpu_parked_burst *e = gpu_parked_at(p, k);
        if (e->answered || e->batch || e->b.family != family)
            continue;
        why == GPU_CAUSES ? fill(f, e, &batch) : gpu_answer_by_cpu(f, e, why);
    }
    if (!batch.n)
        return;
    batch.user = (void *)(uintptr_t)p->serial;
    gpu_queue_send(gpu_queue_of(f), &batch, gpu_to_ns(f, rte_rdtsc()));
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

static void take_lookups(struct forwarder *f, struct gpu_parked_burst *e,
                         const struct gpu_batch *batch)
{
    nexthops_set(f, &e->b, batch->value + e->at);
    e->answered = e->b.found = true;
    *(batch->by_cpu ? &gpu_counts(f)->by_cpu[GPU_BY_FAILURE] : &gpu_counts(f)->answered) +=
        e->b.n;
}

static void take_answer(struct forwarder *f, const struct gpu_batch *batch)
{
    struct gpu_parked *p = &f->gpu;
    uint64_t most_us =
        __atomic_load_n(&f->gpu_use->settings.max_latency_us, __ATOMIC_RELAXED);
    struct gpu_window *w = &p->window;

    for (uint32_t k = 0; k < p->n; k++) {
        struct gpu_parked_burst *e = gpu_parked_at(p, k);
        if (!e->answered && e->batch == (uintptr_t)batch->user)
            take_lookups(f, e, batch);
    }
    if (batch->by_cpu)
        return;
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
