// SPDX-License-Identifier: BSD-3-Clause
// policer.c - meters of interfaces; see policer.h
//
// Memory is mapped when the first policer is bound: most routers have none. A meter stays in place
// when its policer is removed, because a forwarder inside a burst may still read it. Its words
// change one by one; a mixture of old and new is a valid policer for a burst.
#include "table/policer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/mem.h"
#include "table/sum.h"

const char *const policer_color_name[POLICER_COLORS] = {"green", "yellow", "red"};
struct policer_meter (*policer_meters)[POLICER_DIRECTIONS];
struct policer_count (*policer_counts)[IFACE_MAX][POLICER_DIRECTIONS];

static struct bound { // writer only
    struct policer policer; // kind NONE: none
    struct policer_count before; // counts from before it was bound
} (*bounds)[POLICER_DIRECTIONS]; // [IFACE_MAX]

#define METERS_BYTES (IFACE_MAX * sizeof *policer_meters)
#define COUNTS_BYTES (FORWARDER_MAX * sizeof *policer_counts)
#define BOUNDS_BYTES (IFACE_MAX * sizeof *bounds)

static int map_tables(void)
{
    if (policer_meters)
        return 0;
    bounds = mem_map("policers bound", BOUNDS_BYTES);
    policer_counts = mem_map("policer counters", COUNTS_BYTES);
    policer_meters = mem_map("policers", METERS_BYTES);
    if (bounds && policer_counts && policer_meters)
        return 0;
    policer_fini();
    return -ENOMEM;
}

void policer_fini(void)
{
    mem_unmap(bounds, BOUNDS_BYTES);
    mem_unmap(policer_counts, COUNTS_BYTES);
    mem_unmap(policer_meters, METERS_BYTES);
    bounds = NULL;
    policer_counts = NULL;
    policer_meters = NULL;
}

static struct policer_bucket bucket_of(uint64_t bit_per_s, uint64_t bytes)
{
    double per_byte = bit_per_s ? (double)token_bucket_hz() * 8 / (double)bit_per_s : 0;

    return (struct policer_bucket){(uint64_t)(per_byte * (1u << POLICER_SHIFT)),
                                   (uint64_t)(per_byte * (double)bytes)};
}

static void set_bucket(struct policer_bucket *b, struct policer_bucket to)
{
    __atomic_store_n(&b->per_byte, to.per_byte, __ATOMIC_RELAXED);
    __atomic_store_n(&b->depth, to.depth, __ATOMIC_RELAXED);
}

static void set_meter(struct policer_meter *m, const struct policer *p)
{
    bool two = p->kind == POLICER_TRTCM;

    set_bucket(&m->c, bucket_of(p->cir, p->cbs));
    set_bucket(&m->s, two ? bucket_of(p->pir, p->ebs) : bucket_of(p->cir, p->cbs + p->ebs));
    __atomic_store_n(&m->kind, p->kind, __ATOMIC_RELAXED);
    __atomic_store_n(&m->color_aware, p->color_aware, __ATOMIC_RELAXED);
    for (unsigned k = 0; k < POLICER_COLORS; k++) {
        __atomic_store_n(&m->action[k], p->action[k], __ATOMIC_RELAXED);
        __atomic_store_n(&m->dscp[k], p->dscp[k], __ATOMIC_RELAXED);
    }
    token_bucket_fill(&m->c_full_at);
    token_bucket_fill(&m->s_full_at);
}

static struct policer_count sum_all(uint16_t iface, enum policer_direction d)
{
    struct policer_count sum;

    sum_rows(&sum, &policer_counts[0][iface][d], sizeof *policer_counts, FORWARDER_MAX, sizeof sum);
    return sum;
}

int policer_try(uint16_t iface, enum policer_direction d, const struct policer *p)
{
    thread_must_be(ROLE_CONTROL);
    if (map_tables())
        return -ENOMEM;
    set_meter(policer_meter_of(iface, d), p);
    return 0;
}

int policer_bind(uint16_t iface, enum policer_direction d, const struct policer *p)
{
    uint8_t bit = d == POLICER_IN ? IFACE_POLICE_IN : IFACE_POLICE_OUT;
    struct iface *i = iface_get(iface);

    thread_must_be(ROLE_CONTROL);
    if (!p) {
        if (bounds)
            bounds[iface][d].policer.kind = POLICER_NONE;
        iface_bind_police(i, (uint8_t)(i->police & ~bit));
        return 0;
    }
    if (map_tables())
        return -ENOMEM;
    struct bound *b = &bounds[iface][d];
    if (!(i->police & bit) || strcmp(b->policer.name, p->name))
        b->before = sum_all(iface, d);
    b->policer = *p;
    set_meter(policer_meter_of(iface, d), p);
    iface_bind_police(i, i->police | bit);
    return 0;
}

const struct policer *policer_of(uint16_t iface, enum policer_direction d)
{
    uint8_t bit = d == POLICER_IN ? IFACE_POLICE_IN : IFACE_POLICE_OUT;

    return iface_get(iface)->police & bit ? &bounds[iface][d].policer : NULL;
}

struct policer_count policer_sum(uint16_t iface, enum policer_direction d)
{
    struct policer_count sum = sum_all(iface, d);
    const struct policer_count *before = &bounds[iface][d].before;

    for (unsigned k = 0; k < POLICER_COLORS; k++) {
        sum.packets[k] -= before->packets[k];
        sum.bytes[k] -= before->bytes[k];
    }
    return sum;
}
