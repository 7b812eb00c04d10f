// SPDX-License-Identifier: BSD-3-Clause
// gpu_manager.c - see gpu_manager.h
//
// A failed device stays open, so that its state can be shown, until an operator reopens or removes
// it: nothing comes back by itself.
#include "port/gpu_manager.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "core/manager.h"
#include "core/thread.h"
#include "table/vr.h"

static struct {
    bool configured;
    struct gpu_settings settings;
    struct gpu_use *use;
    enum gpu_fault fault;
    char why[256];
} gpu;

struct mirror_call {
    struct gpu_use *use;
    char *err;
    size_t n;
};

static int mirror_tables(void *arg)
{
    const struct mirror_call *c = arg;

    return gpu_use_mirror(c->use, c->err, c->n);
}

// Opens the device with its tables and gives it to the forwarders.
static int open_it(char *err, size_t n)
{
    struct gpu_use *u;
    int r = gpu_use_open(&u, &gpu.settings, err, n);

    if (r)
        return r;
    r = manager_call(ROLE_RIB_MANAGER, mirror_tables, &(struct mirror_call){u, err, n},
                     sizeof(struct mirror_call));
    if (r == -ENOTCONN || r == -ETIMEDOUT)
        snprintf(err, n, "rib_manager does not answer");
    if (r && r != -ETIMEDOUT) // after a timeout rib_manager may still use it
        gpu_use_close(u);
    if (r)
        return r;
    gpu.use = u;
    lookaside_publish(&u->lookaside);
    gpu_use_fault(u, gpu.fault);
    log_notice("gpu: in use: name=%s device=%s virtual-routers=%u", gpu.settings.name,
               u->device->ops->name, gpu.settings.n_vrs);
    return 0;
}

static void close_it(void)
{
    if (!gpu.use)
        return;
    lookaside_publish(NULL);
    gpu_use_close(gpu.use);
    gpu.use = NULL;
}

static int settings_of(const struct gpu_config *c, struct gpu_settings *s, char *err, size_t n)
{
    *s = (struct gpu_settings){.device = c->device,
                               .max_latency_us = c->max_latency_us,
                               .timeout_ms = c->timeout_ms,
                               .always = c->always,
                               .n_vrs = c->n_vrs};
    snprintf(s->name, sizeof s->name, "%s", c->name);
    for (unsigned i = 0; i < c->n_vrs; i++) {
        const struct vr *v = vr_find(c->vr[i]);
        if (!v) {
            snprintf(err, n, "there is no virtual router '%s'", c->vr[i]);
            return -ENOENT;
        }
        s->vr[i] = v->id;
    }
    return 0;
}

int gpu_manager_start(const struct gpu_config *c, bool may_lack, char *err, size_t n)
{
    int r = settings_of(c, &gpu.settings, err, n);

    thread_must_be(ROLE_CONTROL);
    gpu.fault = GPU_FAULT_NONE;
    r = r ? r : open_it(err, n);
    if (r && !may_lack)
        return r;
    if (r)
        log_error("gpu: not used, the CPU looks up: name=%s reason=\"%s\"", c->name, err);
    snprintf(gpu.why, sizeof gpu.why, "%s", r ? err : "");
    gpu.configured = true;
    return 0;
}

void gpu_manager_stop(void)
{
    thread_must_be(ROLE_CONTROL);
    close_it();
    gpu.configured = false;
}

int gpu_manager_reopen(const char *name, char *err, size_t n)
{
    thread_must_be(ROLE_CONTROL);
    if (!gpu.configured || strcmp(gpu.settings.name, name)) {
        snprintf(err, n, "there is no GPU '%s' in the configuration", name);
        return -ENOENT;
    }
    close_it();
    int r = open_it(err, n);
    snprintf(gpu.why, sizeof gpu.why, "%s", r ? err : "");
    return r;
}

void gpu_manager_fault(enum gpu_fault fault)
{
    thread_must_be(ROLE_CONTROL);
    gpu.fault = fault;
    if (gpu.use)
        gpu_use_fault(gpu.use, fault);
}

void gpu_manager_max_latency(uint32_t us)
{
    thread_must_be(ROLE_CONTROL);
    gpu.settings.max_latency_us = us;
    if (gpu.use)
        gpu_use_max_latency(gpu.use, us);
}

bool gpu_manager_state(struct gpu_manager_state *s)
{
    bool on = gpu.use && gpu_mirror_state(gpu.use->mirror) == GPU_ON;

    *s = (struct gpu_manager_state){.settings = &gpu.settings,
                                    .status = on        ? GPU_STATUS_ON
                                              : gpu.use ? GPU_STATUS_FAILED
                                                        : GPU_STATUS_LACKING,
                                    .why = gpu.use ? gpu_mirror_why(gpu.use->mirror) : gpu.why,
                                    .use = gpu.use};
    if (gpu.use) {
        s->memory = gpu_mirror_bytes(gpu.use->mirror);
        s->copied = gpu_mirror_copied_bytes(gpu.use->mirror);
    }
    return gpu.configured;
}
