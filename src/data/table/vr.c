// SPDX-License-Identifier: BSD-3-Clause
// vr.c - the table of virtual routers
//
// Each virtual router has two empty FIBs from the start: an unknown destination has no route rather
// than no table. The ECMP seed differs between routers and between runs, so that two routers in a
// row do not choose alike (polarization).
#include "table/vr.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "core/mem.h"
#include "core/rcu.h"
#include "core/thread.h"
#include "table/counter.h"

struct vr *vr_table;
uint16_t vr_count;
const struct fib *vr_near[MEM_NODES_MAX][2][VR_MAX];
const struct flow_hash flow_hash_default = {.mode = FLOW_HASH_L4, .label = true};

int vr_table_init(void)
{
    for (unsigned i = 0; i < MEM_NODES_MAX * VR_MAX; i++) {
        vr_near[i / VR_MAX][0][i % VR_MAX] = fib_none(IP4);
        vr_near[i / VR_MAX][1][i % VR_MAX] = fib_none(IP6);
    }
    vr_table = mem_map("virtual routers", VR_MAX * sizeof *vr_table);
    return vr_table ? 0 : -errno;
}

void vr_table_fini(void)
{
    for (unsigned i = 0; vr_table && i < VR_MAX; i++)
        if (vr_table[i].used)
            vr_free(&vr_table[i]);
    mem_unmap(vr_table, VR_MAX * sizeof *vr_table);
    vr_table = NULL;
}

struct vr *vr_find(const char *name)
{
    for (unsigned i = 0; i < VR_MAX; i++)
        if (vr_table[i].used && !strcmp(vr_table[i].name, name))
            return &vr_table[i];
    return NULL;
}

const char *flow_hash_name(unsigned mode)
{
    static const char *const names[FLOW_HASH_MODES] = {
        [FLOW_HASH_L3] = "l3", [FLOW_HASH_L4] = "l4", [FLOW_HASH_SYMMETRIC] = "symmetric"};

    return mode < FLOW_HASH_MODES ? names[mode] : NULL;
}

void vr_set_flow_hash(struct vr *v, struct flow_hash h)
{
    thread_must_be(ROLE_CONTROL);
    if (!h.seed)
        h.seed = v->random_seed;
    __atomic_store(&v->flow_hash, &h, __ATOMIC_RELAXED);
}

void vr_set_mpls(uint16_t id, struct vr_mpls m)
{
    thread_must_be(ROLE_RIB_MANAGER);
    __atomic_store(&vr_get(id)->mpls, &m, __ATOMIC_RELAXED);
}

void vr_publish(struct vr *v, uint8_t family, struct fib *f)
{
    for (unsigned node = 0; node < MEM_NODES_MAX; node++)
        rcu_publish(&vr_near[node][family == IP6][v->id], f ? fib_near(f, node) : fib_none(family));
    rcu_publish(family == IP4 ? &v->fib4 : &v->fib6, f);
}

struct vr *vr_new(const char *name)
{
    unsigned id = 0;

    thread_must_be(ROLE_CONTROL);
    while (id < VR_MAX && vr_table[id].used)
        id++;
    if (id == VR_MAX) {
        errno = ENOSPC;
        return NULL;
    }
    struct fib *fib4 = fib_new(IP4, FIB_POPTRIE);
    struct fib *fib6 = fib4 ? fib_new(IP6, FIB_POPTRIE) : NULL;
    if (!fib6) {
        int e = errno;
        fib_free(fib4);
        errno = e;
        return NULL;
    }
    struct vr *v = &vr_table[id];
    counter_begin_vr((uint16_t)id);
    memset(v, 0, sizeof *v);
    v->id = (uint16_t)id;
    v->table = 254;
    v->mpls = (struct vr_mpls){.ttl_propagate = true, .default_ttl = 255}; // as in Linux
    v->random_seed = (uint32_t)hash_mix64(clock_now_ns() ^ ((uint64_t)getpid() << 32) ^ id);
    vr_set_flow_hash(v, flow_hash_default);
    snprintf(v->name, sizeof v->name, "%s", name);
    vr_publish(v, IP4, fib4);
    vr_publish(v, IP6, fib6);
    v->used = true;
    __atomic_store_n(&vr_count, vr_count + 1, __ATOMIC_RELAXED);
    return v;
}

void vr_free(struct vr *v)
{
    struct fib *fib4 = v->fib4, *fib6 = v->fib6;

    thread_must_be(ROLE_CONTROL);
    v->used = false;
    __atomic_store_n(&vr_count, vr_count - 1, __ATOMIC_RELAXED);
    vr_publish(v, IP4, NULL);
    vr_publish(v, IP6, NULL);
    rcu_synchronize(); // no burst holds one of its FIBs any more
    fib_free(fib4);
    fib_free(fib6);
}
