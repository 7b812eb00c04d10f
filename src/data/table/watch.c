// SPDX-License-Identifier: BSD-3-Clause
// watch.c - copying frames for watches
//
// Slots and both rings lie in one region of mem_map(), so a capture takes no packet buffers from
// the ports, and unused slots take no memory. The frames of a burst are selected first and then
// take their slots together; rings are in RTS mode, for the reason given in exchange.c.
//
// A port may have stripped the VLAN tag of a frame. Filters and copies see it in its place: rte_bpf
// reads frames by segments, so such a frame is presented as two, the first with addresses and tag
// (struct tagged).
#include "table/watch.h"

#include <errno.h>
#include <rte_bpf.h>
#include <rte_byteorder.h>
#include <rte_cycles.h>
#include <string.h>

#include "core/mem.h"
#include "table/iface.h"
#include "table/port.h"
#include "table/sum.h"

const char *const watch_point_name[WATCH_POINT_N] = {"rx", "tx", "drop", "punt"};
struct watch watch_table[WATCH_MAX];
struct watch_count watch_count[THREAD_SLOT_MAX][WATCH_MAX];
uint32_t watch_drop, watch_punt, watch_sampling;

// --- control ---

static size_t slot_bytes(uint32_t snap)
{
    return RTE_ALIGN_CEIL(sizeof(struct watch_slot) + snap, 64);
}

static int slots_new(struct watch *w, unsigned n)
{
    size_t ring = RTE_ALIGN_CEIL((size_t)rte_ring_get_memsize(rte_align32pow2(n + 1)), 64);

    w->bytes = 2 * ring + n * slot_bytes(w->snap);
    w->memory = mem_map(w->flows ? "flow sample" : "watch", w->bytes);
    if (!w->memory)
        return -errno;
    w->empty = w->memory;
    w->full = (struct rte_ring *)((char *)w->memory + ring);
    rte_ring_init(w->empty, "watch-empty", n, RING_F_SP_ENQ | RING_F_MC_RTS_DEQ | RING_F_EXACT_SZ);
    rte_ring_init(w->full, "watch-full", n, RING_F_MP_RTS_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
    for (unsigned i = 0; i < n; i++)
        rte_ring_enqueue(w->empty, (char *)w->memory + 2 * ring + i * slot_bytes(w->snap));
    return 0;
}

int watch_new(const struct watch *from, unsigned n_slots)
{
    unsigned index = from->flows ? WATCH_FLOWS : 0, end = from->flows ? WATCH_MAX : WATCH_FLOWS;

    thread_must_be(ROLE_CONTROL);
    while (index < end && watch_table[index].to != WATCH_TO_NOBODY)
        index++;
    if (index == end)
        return -EBUSY;
    struct watch w = *from;
    int r = n_slots ? slots_new(&w, n_slots) : 0;
    if (r)
        return r;
    for (unsigned i = 0; i < THREAD_SLOT_MAX; i++)
        watch_count[i][index] = (struct watch_count){0};
    watch_table[index] = w;
    watch_bit_set(&watch_sampling, index, w.every);
    return (int)index;
}

void watch_set_every(unsigned index, uint32_t every)
{
    thread_must_be(ROLE_CONTROL);
    __atomic_store_n(&watch_table[index].every, every, __ATOMIC_RELAXED);
    __atomic_add_fetch(&watch_table[index].seed, 1, __ATOMIC_RELEASE); // forwarders begin again
}

void watch_free(unsigned index)
{
    struct watch *w = &watch_table[index];

    thread_must_be(ROLE_CONTROL);
    if (w->memory)
        mem_unmap(w->memory, w->bytes);
    watch_bit_set(&watch_sampling, index, false);
    *w = (struct watch){0};
}

struct watch_count watch_sum(unsigned index)
{
    struct watch_count sum;

    sum_rows(&sum, &watch_count[0][index], sizeof *watch_count, THREAD_SLOT_MAX, sizeof sum);
    return sum;
}

// --- the reader ---

unsigned watch_take(unsigned index, struct watch_slot **slot, unsigned n)
{
    return rte_ring_dequeue_burst(watch_table[index].full, (void **)slot, n, NULL);
}

void watch_give_back(unsigned index, struct watch_slot **slot, unsigned n)
{
    // There is room for all slots.
    rte_ring_enqueue_burst(watch_table[index].empty, (void **)slot, n, NULL);
}

// --- forwarders and managers ---

struct tagged {
    struct rte_mbuf head, rest;
    uint8_t front[16]; // both addresses, tag
};

// Returns the frame as on the wire: `m`, or, with its tag restored, t->head.
static struct rte_mbuf *on_wire(struct rte_mbuf *m, struct tagged *t)
{
    uint16_t tag[2] = {RTE_BE16(0x8100), rte_cpu_to_be_16(m->vlan_tci)};

    if (!(m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) || m->data_len < 12)
        return m;
    memcpy(t->front, rte_pktmbuf_mtod(m, void *), 12);
    memcpy(t->front + 12, tag, 4);
    memset(&t->head, 0, sizeof t->head);
    t->head.buf_addr = t->front;
    t->head.data_len = sizeof t->front;
    t->head.pkt_len = m->pkt_len + 4;
    t->head.nb_segs = (uint16_t)(m->nb_segs + 1);
    t->head.next = &t->rest;
    t->rest = *m;
    t->rest.data_off = (uint16_t)(m->data_off + 12);
    t->rest.data_len = (uint16_t)(m->data_len - 12);
    return &t->head;
}

static bool passes_filter(const struct watch *w, struct rte_mbuf *m)
{
    if (!w->filter)
        return true;
    return (w->filter_code ? w->filter_code(m) : rte_bpf_exec(w->filter, m)) != 0;
}

// A frame of a member also belongs to its LAG.
static bool is_of_port(const struct watch *w, uint16_t port)
{
    uint8_t lag = port < PORT_MAX ? __atomic_load_n(&port_get(port)->lag, __ATOMIC_RELAXED) : 0;

    return w->port == port || (lag && w->port == lag);
}

bool watch_wants(const struct watch *w, struct rte_mbuf *m, const struct watch_tag *tag)
{
    struct tagged t;

    if (w->vr && (!tag->iface || iface_get(tag->iface)->vr + 1 != w->vr))
        return false;
    if ((w->iface && w->iface != tag->iface) || (w->port != PORT_NONE && !is_of_port(w, tag->port)))
        return false;
    return passes_filter(w, on_wire(m, &t));
}

static void copy_frame(struct watch_slot *s, uint32_t snap, struct rte_mbuf *m)
{
    struct tagged t;
    uint32_t at = 0;

    m = on_wire(m, &t);
    s->len = m->pkt_len;
    s->kept = RTE_MIN(m->pkt_len, snap);
    for (; m && at < s->kept; m = m->next) {
        uint32_t n = RTE_MIN((uint32_t)m->data_len, s->kept - at);
        memcpy(s->data + at, rte_pktmbuf_mtod(m, void *), n);
        at += n;
    }
    s->kept = at;
}

unsigned watch_copy(unsigned index, enum watch_point point, struct rte_mbuf *const *pkt,
                    const struct watch_tag *tag, unsigned n)
{
    const struct watch *w = &watch_table[index];
    struct watch_count *c = &watch_count[thread_slot()][index];
    struct watch_slot *slot[BURST_MAX];
    uint8_t chosen[BURST_MAX];
    uint64_t tsc = rte_rdtsc();
    unsigned k = 0;

    for (unsigned i = 0; i < n; i++)
        if (watch_wants(w, pkt[i], &tag[i]))
            chosen[k++] = (uint8_t)i;
    if (!k)
        return 0;
    unsigned room = rte_ring_dequeue_burst(w->empty, (void **)slot, k, NULL);
    for (unsigned i = 0; i < room; i++) {
        struct watch_slot *s = slot[i];
        s->tsc = tsc;
        s->tag = tag[chosen[i]];
        s->point = (uint8_t)point;
        copy_frame(s, w->snap, pkt[chosen[i]]);
        c->bytes += s->len;
    }
    rte_ring_enqueue_burst(w->full, (void **)slot, room, NULL); // there is room for all slots
    c->taken += room;
    c->missed += k - room;
    return room;
}
