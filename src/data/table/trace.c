// SPDX-License-Identifier: BSD-3-Clause
// trace.c - see trace.h
#include "table/trace.h"

#include <errno.h>
#include <rte_cycles.h>
#include <stddef.h>

#include "core/mem.h"
#include "core/rcu.h"
#include "core/thread.h"
#include "table/grace.h"
#include "table/port.h"

struct slot {
    uint32_t written; // release: `packet` before it
    struct packet_trace packet;
    // TRACE_ROOM bytes
} __attribute__((aligned(64)));

struct trace {
    unsigned watch; // index
    uint32_t count;
    uint32_t taken __attribute__((aligned(64))); // forwarders; more than count: all
};

#define SLOT_BYTES ((sizeof(struct slot) + TRACE_ROOM + 63) & ~(size_t)63)

static struct trace *now; // published

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
    if (now)
        return -EBUSY;
    struct trace *t = mem_map("trace", bytes_for(count));
    if (!t)
        return -errno;
    t->watch = watch;
    t->count = count;
    rcu_publish(&now, t);
    return 0;
}

void trace_end(void)
{
    struct trace *t = now;

    thread_must_be(ROLE_CONTROL);
    if (!t)
        return;
    rcu_publish(&now, NULL);
    grace_wait();
    mem_unmap(t, bytes_for(t->count));
}

const struct packet_trace *trace_at(unsigned i)
{
    struct slot *s = now && i < now->count ? slot_at(now, i) : NULL;

    return s && __atomic_load_n(&s->written, __ATOMIC_ACQUIRE) ? &s->packet : NULL;
}

struct packet_trace *trace_take(uint16_t port, struct rte_mbuf *m, uint16_t iface)
{
    struct trace *t = rcu_load(&now);
    struct watch_tag tag = {.port = port, .iface = iface};

    if (!t || __atomic_load_n(&t->taken, __ATOMIC_RELAXED) >= t->count ||
        !(watch_bits(&port_get(port)->watch_rx) >> t->watch & 1) ||
        !watch_wants(&watch_table[t->watch], m, &tag))
        return NULL;
    uint32_t i = __atomic_fetch_add(&t->taken, 1, __ATOMIC_RELAXED);
    if (i >= t->count)
        return NULL;
    struct packet_trace *p = &slot_at(t, i)->packet;
    packet_trace_init(p, TRACE_ROOM, TRACE_SNAP);
    p->polled = true;
    p->tsc = rte_rdtsc();
    return p;
}

void trace_done(struct packet_trace *p)
{
    struct slot *s = (struct slot *)((char *)p - offsetof(struct slot, packet));

    __atomic_store_n(&s->written, 1, __ATOMIC_RELEASE); // partner: trace_at
}
