// SPDX-License-Identifier: BSD-3-Clause
// drr.c - see drr.h
//
// Queues are lists of entries in one array. Virtual routers with packets form a circle; `last` is
// known, so its next is the first.
#include "queue/drr.h"

#include <stdlib.h>

#include "lib/bench.h"

struct entry {
    void *packet;
    uint32_t len, next;
};

struct vr {
    uint32_t head[DRR_CLASSES], tail[DRR_CLASSES];
    uint32_t next, deficit, quantum;
    uint8_t waiting; // one bit per class with packets
};

struct drr {
    struct vr *vr;
    struct entry *entry;
    uint32_t quantum, free, last, active; // `free`: head of the free list
};

struct drr *drr_make(unsigned vrs, unsigned packets_max, uint32_t quantum)
{
    struct drr *d = calloc(1, sizeof *d);

    bench_check(d, "no memory for a round robin");
    d->vr = memory_huge(vrs * sizeof *d->vr);
    d->entry = memory_huge(packets_max * sizeof *d->entry);
    for (unsigned i = 0; i < packets_max; i++)
        d->entry[i].next = i + 1;
    d->quantum = quantum;
    for (unsigned i = 0; i < vrs; i++)
        drr_weight(d, i, 1);
    return d;
}

void drr_weight(struct drr *d, unsigned vr, unsigned weight)
{
    d->vr[vr].quantum = weight * d->quantum;
}

void drr_free(struct drr *d)
{
    free(d); // the rest stays mapped until the program ends
}

static void vr_append(struct drr *d, uint32_t i)
{
    d->vr[i].next = d->active ? d->vr[d->last].next : i;
    if (d->active)
        d->vr[d->last].next = i;
    d->last = i;
    d->active++;
}

void drr_put(struct drr *d, void *packet, uint32_t len, unsigned vr, unsigned class)
{
    uint32_t i = d->free;
    struct vr *v = &d->vr[vr];

    d->free = d->entry[i].next;
    d->entry[i].packet = packet;
    d->entry[i].len = len;
    if (v->waiting >> class & 1)
        d->entry[v->tail[class]].next = i;
    else
        v->head[class] = i;
    v->tail[class] = i;
    if (!v->waiting) {
        v->deficit = v->quantum;
        vr_append(d, vr);
    }
    v->waiting |= (uint8_t)(1u << class);
}

// Ends the first one's turn: moves it to the end, or out of the circle.
static void turn_end(struct drr *d, struct vr *v)
{
    if (v->waiting) {
        v->deficit += v->quantum;
        d->last = d->vr[d->last].next;
    } else {
        d->vr[d->last].next = v->next;
        d->active--;
    }
}

unsigned drr_take(struct drr *d, void **packet, unsigned n)
{
    unsigned taken = 0;

    while (taken < n && d->active) {
        struct vr *v = &d->vr[d->vr[d->last].next];
        unsigned class = (unsigned)__builtin_ctz(v->waiting);
        uint32_t i = v->head[class];
        struct entry *e = &d->entry[i];

        if (e->len > v->deficit) {
            turn_end(d, v);
            continue;
        }
        v->deficit -= e->len;
        packet[taken++] = e->packet;
        if (i == v->tail[class])
            v->waiting &= (uint8_t)~(1u << class);
        v->head[class] = e->next;
        e->next = d->free;
        d->free = i;
        if (!v->waiting)
            turn_end(d, v);
    }
    return taken;
}
