// SPDX-License-Identifier: BSD-3-Clause
// use.c - opens and closes a GPU for lookups: device, copies of the FIBs, one queue for each
// forwarder
//
// It opens in two steps, because only the second needs the FIBs: gpu_use_mirror() copies them while
// no Poptrie can change (fib_with_tries). Later rib_manager copies the changes (lookaside's
// `work`). Faults can be set only on an emulated device, for tests.
//
// Each forwarder counts in a row of its own; readers add the rows without stopping it. Ages of
// batches are a histogram with four buckets for each power of two, so a quantile is exact to a
// quarter.
#include "gpu/use.h"

#include <errno.h>
#include <rte_cycles.h>
#include <stdio.h>
#include <string.h>

#include "core/mem.h"
#include "gpu/stage.h"
#include "table/counter.h"
#include "table/fib.h"
#include "table/vr.h"

#define BATCH (GPU_PARKED_MAX * BURST_MAX)
#define PARKED_BYTES (FORWARDER_MAX * sizeof(struct gpu_parked))
#define WINDOW_PER_S 100 // windows of the split
#define REST_PER_S 1000  // grace periods wait 1/1000 s for a forwarder with waiting bursts

const char *const gpu_fault_name[GPU_FAULTS] = {"none", "lost", "silent", "wrong"};
const char *const gpu_cause_name[GPU_CAUSES] = {"split", "table-change", "full",
                                                "late",  "drain",        "failure"};
const char *const gpu_verdict_name[GPU_VERDICTS] = {"cpu-is-faster", "sends", "too-late"};

static int device_open(struct gpu_use *u, char *err, size_t n)
{
    const struct gpu_emulated_settings sound = {0};

    u->device = u->settings.device == GPU_EMULATED
                    ? gpu_emulated_open(&sound)
                    : gpu_open((unsigned)u->settings.device, err, n);
    if (u->device)
        return 0;
    if (u->settings.device == GPU_EMULATED)
        snprintf(err, n, "no thread for an emulated device");
    return -ENODEV;
}

static int queues_new(struct gpu_use *u)
{
    const struct gpu_queue_settings s = {.batch = BATCH,
                                         .timeout_ns = (uint64_t)u->settings.timeout_ms * 1000000};

    for (unsigned i = 0; i < FORWARDER_MAX; i++) {
        struct gpu_parked *p = &u->parked[i];

        p->use = u;
        p->count = &u->count[i];
        p->queue = gpu_queue_new(u->mirror, &s);
        if (!p->queue)
            return -errno;
    }
    return 0;
}

static int mirror_fib(struct gpu_use *u, uint16_t vr, const struct fib *f, bool six)
{
    int number = fib_trie(f) ? gpu_mirror_add(u->mirror, fib_trie(f)) : -ENOTSUP;

    if (number < 0)
        return number;
    u->which[six][vr] = (uint16_t)(number + 1);
    return 0;
}

static int mirror_begin(void *arg)
{
    struct gpu_use *u = arg;
    int err = 0;

    for (unsigned i = 0; i < u->settings.n_vrs && !err; i++) {
        const struct vr *v = vr_get(u->settings.vr[i]);

        err = mirror_fib(u, v->id, v->fib4, false);
        err = err ? err : mirror_fib(u, v->id, v->fib6, true);
    }
    if (!err)
        gpu_mirror_work(u->mirror);
    if (!err && gpu_mirror_state(u->mirror) != GPU_ON)
        err = gpu_mirror_state(u->mirror) == GPU_FULL ? -ENOMEM : -ENODEV;
    return err;
}

static int mirror_end(void *arg)
{
    gpu_mirror_unwatch(arg);
    return 0;
}

static int mirror_work(void *arg)
{
    return gpu_mirror_work(arg);
}

static bool work(struct lookaside *l)
{
    struct gpu_mirror *m = ((struct gpu_use *)l)->mirror;

    return gpu_mirror_version(m) == 0 && fib_with_tries(mirror_work, m);
}

static void explain_error(const struct gpu_use *u, int e, char *err, size_t n)
{
    if (e == -ENOTSUP)
        snprintf(err, n, "only Poptries can be sent to a GPU: set fib-engine poptrie, or take the "
                         "virtual router from the GPU");
    else if (e == -ENODEV)
        snprintf(err, n, "the device fails: %s", gpu_mirror_why(u->mirror));
    else if (e == -ENOMEM)
        snprintf(err, n, "the tables of %u virtual routers have no room in the device's memory: "
                         "name fewer virtual routers, or end other programs that use the device",
                 u->settings.n_vrs);
    else
        snprintf(err, n, "the device cannot be used: %s", strerror(-e));
}

int gpu_use_mirror(struct gpu_use *u, char *err, size_t n)
{
    int e = fib_with_tries(mirror_begin, u);

    if (e)
        explain_error(u, e, err, n);
    return e;
}

int gpu_use_open(struct gpu_use **to, const struct gpu_settings *s, char *err, size_t n)
{
    struct gpu_use *u = mem_map("gpu", sizeof *u);
    int e = u ? 0 : -ENOMEM;

    if (e) {
        snprintf(err, n, "no memory");
        return e;
    }
    u->lookaside = gpu_lookaside;
    u->lookaside.work = work;
    u->settings = *s;
    u->ns_per_tsc = 1e9 / (double)rte_get_tsc_hz();
    gpu_use_max_latency(u, s->max_latency_us);
    u->window_tsc = rte_get_tsc_hz() / WINDOW_PER_S;
    u->rest_tsc = rte_get_tsc_hz() / REST_PER_S;
    e = device_open(u, err, n);
    if (!e) {
        u->mirror = gpu_mirror_new(u->device);
        u->parked = mem_map("gpu bursts", PARKED_BYTES);
        e = u->mirror && u->parked ? queues_new(u) : -ENOMEM;
        if (e)
            explain_error(u, e, err, n);
    }
    if (e)
        gpu_use_close(u);
    else
        *to = u;
    return e;
}

void gpu_use_close(struct gpu_use *u)
{
    if (!u)
        return;
    fib_with_tries(mirror_end, u->mirror);
    for (unsigned i = 0; u->parked && i < FORWARDER_MAX; i++)
        gpu_queue_free(u->parked[i].queue);
    gpu_mirror_free(u->mirror);
    if (u->device)
        u->device->ops->close(u->device);
    mem_unmap(u->parked, PARKED_BYTES);
    mem_unmap(u, sizeof *u);
}

void gpu_use_max_latency(struct gpu_use *u, uint32_t us)
{
    __atomic_store_n(&u->settings.max_latency_us, us, __ATOMIC_RELAXED);
    __atomic_store_n(&u->max_latency_tsc, us * rte_get_tsc_hz() / 1000000, __ATOMIC_RELAXED);
}

void gpu_use_fault(struct gpu_use *u, enum gpu_fault fault)
{
    const struct gpu_emulated_settings how = {.wrong_every = fault == GPU_FAULT_WRONG ? 3 : 0};

    if (u->settings.device != GPU_EMULATED)
        return;
    u->fault = fault;
    gpu_emulated_set(u->device, &how);
    gpu_emulated_hold(u->device, fault == GPU_FAULT_SILENT);
    if (fault == GPU_FAULT_LOST)
        gpu_emulated_lose(u->device);
}

// --- counters ---

void gpu_use_sum(const struct gpu_use *u, struct gpu_count *sum)
{
    memset(sum, 0, sizeof *sum);
    for (unsigned i = 0; i < FORWARDER_MAX; i++)
        counter_add_words(sum, &u->count[i], offsetof(struct gpu_count, cost));
}

uint64_t gpu_age_quantile(const uint64_t age[GPU_AGES], unsigned per_mille)
{
    uint64_t all = 0, below = 0;

    for (unsigned i = 0; i < GPU_AGES; i++)
        all += age[i];
    for (unsigned i = 0; i < GPU_AGES && all; i++) {
        below += age[i];
        if (below * 1000 >= all * per_mille) // end of the bucket
            return (uint64_t)(i % 4 + 5) << (GPU_AGE_MIN_BITS - 2 + i / 4);
    }
    return 0;
}
