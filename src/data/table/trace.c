// SPDX-License-Identifier: BSD-3-Clause
// trace.c - traces and their places (trace.h)
//
// A forwarder takes a place by one atomic increment, so places are never shared. `written` is
// stored last, with release: control reads only complete records. A packet that several traces want
// is recorded once, in the first place, and copied to the others at the end.
#include "table/trace.h"

#include <errno.h>
#include <rte_cycles.h>
#include <stddef.h>
#include <string.h>

#include "core/mem.h"
#include "core/rcu.h"
#include "core/thread.h"
#include "table/grace.h"
#include "table/port.h"

struct slot {
    uint32_t written; // release; stored after `packet`
    struct packet_trace packet;
    // TRACE_ROOM bytes
} __attribute__((aligned(64)));

struct trace {
    uint32_t count;
    uint32_t taken __attribute__((aligned(64))); // forwarders; > count: all places are taken
};

#define SLOT_BYTES ((sizeof(struct slot) + TRACE_ROOM + 63) & ~(size_t)63)

static struct trace *traces[WATCH_MAX]; // by watch, published

static struct slot *slot_at(const struct trace *t, unsigned i)
{
    return (struct slot *)((char *)(uintptr_t)t + sizeof *t + i * SLOT_BYTES);
}

static size_t bytes_for(unsigned count)
{
    return sizeof(struct trace) + count * SLOT_BYTES;
}

int trace_begin(unsigned watch, unsigned count)
{
    thread_must_be(ROLE_CONTROL);
    if (traces[watch])
        return -EBUSY;
    struct trace *t = mem_map("trace", bytes_for(count));
    if (!t)
        return -errno;
    t->count = count;
    rcu_publish(&traces[watch], t);
    return 0;
}

void trace_end(unsigned watch)
{
    struct trace *t = traces[watch];

    thread_must_be(ROLE_CONTROL);
    if (!t)
        return;
    rcu_publish(&traces[watch], NULL);
    grace_wait();
    mem_unmap(t, bytes_for(t->count));
}

const struct packet_trace *trace_at(unsigned watch, unsigned i)
{
    const struct trace *t = traces[watch];
    struct slot *s = t && i < t->count ? slot_at(t, i) : NULL;

    return s && __atomic_load_n(&s->written, __ATOMIC_ACQUIRE) ? &s->packet : NULL;
}

// Returns NULL if the trace does not want the packet, or is full.
static struct packet_trace *take_place(unsigned watch, struct rte_mbuf *m,
                                       const struct watch_tag *tag)
{
    struct trace *t = rcu_load(&traces[watch]);

    if (!t || __atomic_load_n(&t->taken, __ATOMIC_RELAXED) >= t->count ||
        !watch_wants(&watch_table[watch], m, tag))
        return NULL;
    uint32_t i = __atomic_fetch_add(&t->taken, 1, __ATOMIC_RELAXED);
    return i < t->count ? &slot_at(t, i)->packet : NULL;
}

bool trace_take(uint16_t port, struct rte_mbuf *m, uint16_t iface, struct trace_places *places)
{
    struct watch_tag tag = {.port = port, .iface = iface};
    uint32_t bits = watch_bits(&port_get(port)->watch_rx) & WATCH_ALL;

    places->n = 0;
    for (; bits; bits &= bits - 1) {
        struct packet_trace *p = take_place((unsigned)__builtin_ctz(bits), m, &tag);
        if (p)
            places->of[places->n++] = p;
    }
    if (!places->n)
        return false;
    packet_trace_init(places->of[0], TRACE_ROOM, TRACE_SNAP);
    places->of[0]->polled = true;
    places->of[0]->tsc = rte_rdtsc();
    return true;
}

void trace_done(const struct trace_places *places)
{
    for (unsigned i = 1; i < places->n; i++)
        memcpy(places->of[i], places->of[0], sizeof *places->of[0] + TRACE_ROOM);
    for (unsigned i = 0; i < places->n; i++) {
        struct slot *s = (struct slot *)((char *)places->of[i] - offsetof(struct slot, packet));
        __atomic_store_n(&s->written, 1, __ATOMIC_RELEASE); // partner: trace_at
    }
}
