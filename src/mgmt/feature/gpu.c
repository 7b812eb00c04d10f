// SPDX-License-Identifier: BSD-3-Clause
// gpu.c - the GPU for lookups: configuration, state, reopening
//
// A change of the device, of its virtual routers or of their engines closes the GPU and opens it
// again; only the latency limit and an emulated fault change while it is open. A missing GPU is an
// error, but not in the first configuration, so that kamueed starts without it.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "alarm/alarm.h"
#include "base/vec.h"
#include "config/config_running.h"
#include "config/feature_config.h"
#include "config/leaf.h"
#include "http/refuse.h"
#include "mgmt/feature.h"
#include "model/model.h"
#include "port/gpu_manager.h"
#include "restconf/metrics.h"
#include "restconf/operation.h"
#include "restconf/state.h"

static const char *const status_name[] = {"on", "failed", "lacking"};

// --- configuration -------------------------------------------------------------------------------

struct model_gpu {
    struct gpu_config config; // name comes first
    enum gpu_fault fault;
    unsigned line;
};

struct model_gpus { // at most one
    VEC(struct model_gpu) gpu;
};

static struct model_gpus *gpus_of(const struct model *m)
{
    return m->part[FEATURE_gpu];
}

static void read_gpu(struct model *m, void *row, const struct lyd_node *entry)
{
    struct model_gpu *g = row;
    struct gpu_config *c = &g->config;
    const struct lyd_node *first = lyd_child(entry);

    leaf_copy(c->name, sizeof c->name, first, "name", "");
    c->device = leaf_word(first, "device", (const char *const[]){"emulated"}, 1) == 0
                    ? GPU_EMULATED
                    : (int)leaf_number(first, "device", 0);
    c->max_latency_us = (uint32_t)leaf_number(first, "max-latency", 50);
    c->timeout_ms = (uint32_t)leaf_number(first, "timeout", 10);
    c->always = leaf_word(first, "offload", (const char *const[]){"always"}, 1) == 0;
    int fault = leaf_word(first, "emulated-fault", gpu_fault_name, GPU_FAULTS);
    g->fault = fault > 0 ? (enum gpu_fault)fault : GPU_FAULT_NONE;
    leaf_foreach (first, entry->schema, "vr", vr)
        if (c->n_vrs < GPU_VRS_MAX)
            snprintf(c->vr[c->n_vrs++], sizeof *c->vr, "%s", lyd_get_value(vr));
}

static uint8_t engine_of(const struct model *m, const char *vr)
{
    const struct model_vr *v = model_find_vr(m, vr);

    return v ? v->set.engine : model_vrs(m)->set.engine;
}

// --- steps ---------------------------------------------------------------------------------------

static bool started; // a configuration has been applied: from now on a missing GPU is an error

static int may_have_fault(const struct model_gpu *g, char *err, size_t n)
{
    if (g->fault == GPU_FAULT_NONE || g->config.device == GPU_EMULATED)
        return 0;
    snprintf(err, n, "'emulated-fault' is for 'device emulated' only: delete it");
    return -EINVAL;
}

// Applies settings that may change while the device is open.
static int run_live(const struct model_gpu *old, const struct model_gpu *new, char *err, size_t n)
{
    int r = may_have_fault(new, err, n);

    if (!r && old->fault != new->fault)
        gpu_manager_fault(new->fault);
    if (!r)
        gpu_manager_max_latency(new->config.max_latency_us);
    return r;
}

static int run_gpu(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    const struct model_gpu *g = to;

    if (from && to)
        return run_live(from, to, err, n);
    if (!to) {
        gpu_manager_stop();
        return 0;
    }
    int r = may_have_fault(g, err, n);
    r = r ? r : gpu_manager_start(&g->config, !started, err, n);
    if (!r && g->fault != GPU_FAULT_NONE)
        gpu_manager_fault(g->fault);
    return r;
}

// Equal except for the settings of run_live.
static bool is_open_alike(const struct gpu_config *a, const struct gpu_config *b)
{
    struct gpu_config like;

    memcpy(&like, a, sizeof like); // with padding, which read_gpu has zeroed
    like.max_latency_us = b->max_latency_us;
    return !memcmp(&like, b, sizeof like);
}

// The device stays open, with the same tables.
static bool stays(const struct change *c, const char *name)
{
    const struct model_gpu *a = model_find_in(&gpus_of(c->from)->gpu, name),
                           *b = model_find_in(&gpus_of(c->to)->gpu, name);
    bool same = a && b && is_open_alike(&a->config, &b->config);

    for (unsigned i = 0; same && i < a->config.n_vrs; i++) {
        const char *vr = a->config.vr[i];
        same = vr_stays(c, vr) && !vr_is_renamed(c, vr) &&
               engine_of(c->from, vr) == engine_of(c->to, vr);
    }
    return same;
}

static void finish_gpus(const struct model *from, const struct model *to, bool ok)
{
    started |= ok;
}

static void each_gpu(name_fn *fn, void *ctx)
{
    vec_foreach (&gpus_of(config_model())->gpu, g)
        fn(ctx, g->config.name, g->config.device == GPU_EMULATED ? "emulated" : "GPU");
}

static const struct feature_config gpu_config = {
    .part_size = sizeof(struct model_gpus),
    .lists = (const struct feature_list[]){{.node = "gpu",
                                            LIST_ROWS(struct model_gpus, gpu),
                                            .read = read_gpu,
                                            LIST_STEP(struct model_gpu, "gpu", run_gpu),
                                            .remove = PHASE_REMOVE_USERS,
                                            .add = PHASE_ADD_USERS,
                                            .stays = stays,
                                            .value_size = offsetof(struct model_gpu, line)},
                                           {0}},
    .finish = finish_gpus,
    .names = (const struct feature_names[]){{"gpu", each_gpu}, {0}},
};

// --- state ---------------------------------------------------------------------------------------

// Number of forwarders whose last verdict is `v`.
static unsigned verdicts(const struct gpu_use *u, enum gpu_verdict v)
{
    unsigned n = 0;

    for (unsigned i = 0; i < FORWARDER_MAX; i++)
        n += u->count[i].cost.measured && u->count[i].cost.verdict == v;
    return n;
}

static void write_costs(struct jwrite *j, const struct gpu_use *u)
{
    jwrite_begin(j, "forwarder", '[');
    for (unsigned i = 0; i < FORWARDER_MAX; i++) {
        const struct gpu_cost *c = &u->count[i].cost;
        if (!c->measured)
            continue;
        jwrite_begin(j, NULL, '{');
        jwrite_int(j, "forwarder", i);
        jwrite_string(j, "verdict", gpu_verdict_name[c->verdict]);
        jwrite_int(j, "cpu-cycles", c->cpu / 100);
        jwrite_int(j, "gpu-cycles", c->gpu / 100);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
}

static void write_by_cpu(struct jwrite *j, const struct gpu_count *sum)
{
    jwrite_begin(j, "by-cpu", '[');
    for (unsigned i = 0; i < GPU_CAUSES; i++) {
        jwrite_begin(j, NULL, '{');
        jwrite_string(j, "cause", gpu_cause_name[i]);
        jwrite_u64(j, "lookups", sum->by_cpu[i]);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
}

static void write_counts(struct jwrite *j, const struct gpu_manager_state *s)
{
    struct gpu_count sum;

    gpu_use_sum(s->use, &sum);
    jwrite_u64(j, "memory", s->memory);
    jwrite_u64(j, "copied", s->copied);
    jwrite_u64(j, "batches", sum.batches);
    jwrite_u64(j, "lookups", sum.answered);
    write_by_cpu(j, &sum);
    jwrite_u64(j, "sampled", sum.sampled);
    jwrite_u64(j, "wrong", sum.wrong);
    jwrite_int(j, "age-p50", (int64_t)gpu_age_quantile(sum.age, 500));
    jwrite_int(j, "age-p99", (int64_t)gpu_age_quantile(sum.age, 990));
    write_costs(j, s->use);
}

// Its present activity, in words.
static const char *activity(const struct gpu_manager_state *s)
{
    if (s->status == GPU_STATUS_LACKING)
        return "not there, the CPU looks up";
    if (s->status == GPU_STATUS_FAILED)
        return "out of use, the CPU looks up";
    if (!s->settings->n_vrs)
        return "idle, it has no virtual router";
    if (s->settings->always || verdicts(s->use, GPU_SENDS))
        return "looks up";
    if (verdicts(s->use, GPU_IS_LATE))
        return "idle, answers come too late";
    return verdicts(s->use, GPU_CPU_IS_FASTER) ? "idle, CPU is faster here"
                                               : "idle, nothing measured yet";
}

static void list_gpus(struct show *s)
{
    struct jwrite *j = &s->out;
    struct gpu_manager_state g;

    if (!gpu_manager_state(&g) || !show_wants(s, g.settings->name))
        return;
    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "name", g.settings->name);
    if (g.settings->device == GPU_EMULATED)
        jwrite_string(j, "device", "emulated");
    else
        jwrite_int(j, "device", g.settings->device);
    jwrite_string(j, "status", status_name[g.status]);
    jwrite_string(j, "activity", activity(&g));
    jwrite_string_any(j, "why", g.why);
    jwrite_begin(j, "vr", '[');
    for (unsigned i = 0; i < g.settings->n_vrs; i++)
        jwrite_string(j, NULL, vr_get(g.settings->vr[i])->name);
    jwrite_end(j, ']');
    jwrite_int(j, "tables", g.use ? 2 * g.settings->n_vrs : 0);
    if (g.use)
        write_counts(j, &g);
    jwrite_end(j, '}');
}

static void observe_gpu(void)
{
    struct gpu_manager_state s;

    if (gpu_manager_state(&s) && s.status != GPU_STATUS_ON)
        alarm_observe(ALARM_GPU, s.settings->name, 1);
}

// A traced packet does not wait: the CPU does its lookup. Writes the GPU's activity for other
// packets.
static void write_lookup(struct jwrite *j, uint16_t vr)
{
    struct gpu_manager_state s;
    bool has = gpu_manager_state(&s);

    for (unsigned i = 0; has && i < s.settings->n_vrs; i++)
        if (s.settings->vr[i] == vr) {
            jwrite_string(j, "gpu", s.settings->name);
            jwrite_string(j, "gpu-activity", activity(&s));
        }
}

// --- operations ----------------------------------------------------------------------------------

static void run_reopen(struct http *h, const struct lyd_node *op)
{
    const char *name = operation_input(op, "name");
    char err[512] = "";
    int r = gpu_manager_reopen(name, err, sizeof err);

    if (!r)
        http_reply(h, 204, NULL, NULL);
    else
        http_refuse(h, r == -ENOENT ? 404 : 409,
                    r == -ENOENT ? "invalid-value" : "resource-denied", "gpu %s: %s", name, err);
}

// --- metrics -------------------------------------------------------------------------------------

static void write_gpu_metrics(struct metrics *m, const void *kept)
{
    struct gpu_manager_state s;
    struct gpu_count sum;

    if (!gpu_manager_state(&s))
        return;
    metric_family(m, METRIC_GAUGE, "gpu_up", "", "1 while the GPU may be used.");
    metric_u64(m, s.status == GPU_STATUS_ON, "gpu", s.settings->name, NULL);
    if (!s.use)
        return;
    gpu_use_sum(s.use, &sum);
    metric_family(m, METRIC_COUNTER, "gpu_lookup_packets", "packets",
                  "Packets whose next hop the GPU looked up.");
    metric_u64(m, sum.answered, "gpu", s.settings->name, NULL);
    metric_family(m, METRIC_COUNTER, "gpu_by_cpu_packets", "packets",
                  "Packets of virtual routers that use the GPU, looked up by the CPU, by cause.");
    for (unsigned i = 0; i < GPU_CAUSES; i++)
        metric_u64(m, sum.by_cpu[i], "gpu", s.settings->name, "cause",
                   gpu_cause_name[i], NULL);
    metric_family(m, METRIC_COUNTER, "gpu_batches", "batches",
                  "Batches that the GPU has answered.");
    metric_u64(m, sum.batches, "gpu", s.settings->name, NULL);
    metric_family(m, METRIC_COUNTER, "gpu_wrong_answers", "answers",
                  "Answers that a sample has found to be wrong.");
    metric_u64(m, sum.wrong, "gpu", s.settings->name, NULL);
}

static void stop_gpu(void)
{
    gpu_manager_stop();
    started = false;
}

const struct feature gpu_feature = {
    "gpu",
    .config = &gpu_config,
    .state = (const struct feature_state[]){{"gpu", .list = list_gpus}, {0}},
    .operations = (const struct feature_operation[]){{"gpu-reopen", run_reopen,
                                                      OPERATION_CHANGES},
                                                     {0}},
    .metrics = &(const struct feature_metrics){.write = write_gpu_metrics},
    .observe = observe_gpu,
    .write_lookup = write_lookup,
    .stop = stop_gpu,
};
