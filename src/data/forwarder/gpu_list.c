// SPDX-License-Identifier: BSD-3-Clause
// Stage gpu, access lists: see gpu_stage.h
//
//   in     received bursts before their input lists, and again with the rules found
//   out    survivors, as of acl_in; none if the burst is parked
//   exits  as acl_in
//
// The device finds the rule of each packet. acl_decide applies it: counters, log and actions do not
// depend on who found the rule. Output lists are not sent to the device: packets would wait a third
// time.
#include "forwarder/acl.h"
#include "forwarder/acl_key.h"
#include "forwarder/gpu_priv.h"
#include "forwarder/forbidden.h"

static bool is_wanted(const struct forwarder *f, uint16_t list)
{
    return list && gpu_list_is_wanted(f->gpu_use->lists, list);
}

// Returns the number of packets whose list is meant for the GPU; *list: the common list, or 0.
static unsigned wanted(const struct forwarder *f, const struct burst *b, uint16_t *list)
{
    uint16_t own = acl_list_in(b, 0);
    bool is = is_wanted(f, own);
    unsigned n = is;

    *list = own;
    for (unsigned i = 1; i < b->n; i++) {
        if (b->iface[i] != b->iface[i - 1]) {
            own = acl_list_in(b, i);
            is = is_wanted(f, own);
            *list = own == *list ? own : 0;
        }
        n += is;
    }
    return n;
}

// Returns the list's epoch if the device has its current state, else 0.
static uint32_t epoch_on_device(const struct forwarder *f, uint16_t list)
{
    const struct acl_content *c = acl_content_of(list);
    uint32_t epoch = c ? __atomic_load_n(&c->epoch, __ATOMIC_ACQUIRE) : 0;

    return c && gpu_list_version(f->gpu_use->lists, list) == epoch ? epoch : 0;
}

static void acl_in_timed(struct forwarder *f, struct burst *b)
{
    uint64_t begun = rte_rdtsc();
    unsigned n = b->n;

    acl_in(f, b);
    f->gpu.of[GPU_LIST].cpu_cycles += rte_rdtsc() - begun;
    f->gpu.of[GPU_LIST].cpu_packets += n;
}

static struct gpu_parked_burst *park(struct forwarder *f, struct burst *b)
{
    struct redirected kept[BURST_MAX]; // if the ring is full, another burst goes first
    unsigned n = f->n_redirected < BURST_MAX ? f->n_redirected : BURST_MAX;
    struct gpu_parked_burst *e;

    memcpy(kept, f->redirected, n * sizeof *kept);
    e = gpu_park_last(f, b, GPU_LIST);
    memcpy(e->redirected, kept, n * sizeof *kept);
    e->n_redirected = n;
    f->n_redirected = 0;
    b->n = 0;
    return e;
}

void gpu_acl_in(struct forwarder *f, struct burst *b)
{
    const bool may_wait = f->gpu_use->lists && b->kind == BURST_TRANSIT && !f->record.on;
    uint16_t list = 0;
    unsigned n = may_wait ? wanted(f, b, &list) : 0;
    uint32_t epoch = n && list ? epoch_on_device(f, list) : 0;
    enum gpu_cause why;
    uint64_t begun;
    bool timed;

    if (!n && !(may_wait && f->gpu.foreign)) {
        acl_in(f, b);
        return;
    }
    begun = rte_rdtsc();
    why = !n      ? GPU_CAUSES
          : !list ? GPU_BY_UNSUITABLE
          : epoch ? gpu_why_cpu(f, GPU_LIST)
                  : GPU_BY_CHANGE;
    timed = why == GPU_BY_SPLIT && !f->gpu.of[GPU_LIST].until_own;
    if (why != GPU_CAUSES)
        gpu_counts(f)->by_cpu[GPU_LIST][why] += n;
    if ((why != GPU_CAUSES || !n) && !f->gpu.n) {
        timed ? acl_in_timed(f, b) : acl_in(f, b);
        return;
    }
    const bool foreign = n < b->n;
    struct gpu_parked_burst *e = park(f, b);
    e->foreign = foreign;
    f->gpu.foreign += foreign;
    e->answered = why != GPU_CAUSES || !n;
    e->timed = timed;
    e->list = list;
    e->epoch = epoch;
    if (!e->answered)
        f->gpu.of[GPU_LIST].gpu_cycles += rte_rdtsc() - begun;
}

bool gpu_list_keys(const struct gpu_parked_burst *e, uint8_t *key)
{
    return !(e->b.family == IP4 ? acl_keys4(&e->b, (struct acl_key4 *)key)
                                : acl_keys6(&e->b, (struct acl_key6 *)key));
}

void gpu_decide(struct forwarder *f, struct gpu_parked_burst *e)
{
    unsigned n = e->b.n;
    uint64_t begun = rte_rdtsc();

    memcpy(f->redirected, e->redirected, e->n_redirected * sizeof *e->redirected);
    f->n_redirected = e->n_redirected;
    if (!e->has_rules) {
        e->timed ? acl_in_timed(f, &e->b) : acl_in(f, &e->b);
        return;
    }
    if (!acl_in_answered(f, &e->b, e->list, e->epoch, e->rule)) {
        gpu_counts(f)->by_cpu[GPU_LIST][GPU_BY_CHANGE] += n;
        return;
    }
    gpu_counts(f)->answered[GPU_LIST] += n;
    f->gpu.of[GPU_LIST].gpu_cycles += rte_rdtsc() - begun;
}
