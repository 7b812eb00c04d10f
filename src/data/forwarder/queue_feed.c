// SPDX-License-Identifier: BSD-3-Clause
// Stage queue, first half: into a port's queue, or into the ring to its owner
//
//   in     finished frames of one port, from tx_flush
//   out    queue_put(), or port_queue.ring[our index]
//   exits  QUEUE_FULL, QUEUE_SHARE, QUEUE_PORT_FULL, QUEUE_RING_FULL
//
// The client is the frame's interface, if it has its own queue, or else its virtual router. The
// class comes from the access list, or else from the DSCP, or from the top label's class. Headers
// are in the cache: ether_out has just written them.
#define ALLOW_EXPERIMENTAL_API // rte_ring_elem
#include <rte_ring_elem.h>

#include "forwarder/flow_hash.h"
#include "forwarder/packet.h"
#include "forwarder/queue_stage.h"
#include "forwarder/tags.h"
#include "forwarder/tx.h"
#include "table/packet_class.h"
#include "forwarder/forbidden.h"

#define ECN_MASK 3u
#define FLOW_SEED 0x51f10e5u // different from the hash that chooses next hops
#define RING_BUSY (PORT_QUEUE_RING_SIZE / 2) // from here on only for clients that are not full

// Of a label, its class as precedence; -1: neither IP nor labels.
static int tos_of(const uint8_t *type_at, const uint8_t **ip)
{
    uint16_t type = load16(type_at);

    *ip = type_at + 2;
    if (type == ETHER_TYPE_IP4)
        return type_at[3];
    if (type == ETHER_TYPE_IP6)
        return (uint8_t)(load16_host(type_at + 2) >> 4);
    *ip = NULL;
    return type == ETHER_TYPE_MPLS ? (type_at[4] & 0x0e) << 4 : -1;
}

static inline __attribute__((always_inline)) struct queue_place
place_of(const struct port_queue_settings *s, const struct class_map *map, uint16_t id,
         const struct rte_mbuf *m)
{
    const struct iface *iface = iface_get(id);
    struct queue_place p = {.iface = id, .class = map->other};
    const uint8_t *type_at = tags_skip(m);
    int given = packet_class_get(m);

    if (type_at && tags_begin(m))
        p.tag = (uint8_t *)(uintptr_t)type_at - 2;
    int tos = likely(type_at != NULL) ? tos_of(type_at, &p.ip) : -1;
    if (unlikely(p.ip && packet_readable(m, p.ip) < IP4_HDR)) // the kernel may send anything
        p.ip = NULL, tos = -1;
    if (tos >= 0)
        p.class = map->of_dscp[tos >> 2];
    if (given >= 0)
        p.class = (uint8_t)given;
    p.client = s->client_of_iface[id];
    if (!p.client)
        p.client = iface->vr;
    // A mark is written into the frame, which must not be shared.
    if (likely(RTE_MBUF_DIRECT(m) && rte_mbuf_refcnt_read(m) == 1))
        p.ecn = tos < 0 ? 0 : tos & ECN_MASK;
    else
        p.tag = NULL;
    return p;
}

struct queue_place queue_place_of(const struct port_queue_settings *s, const struct class_map *map,
                                  uint16_t iface, const struct rte_mbuf *m)
{
    return place_of(s, map, iface, m);
}

// 28 bits, the room in a ring element.
static uint32_t flow_hash_of(const struct rte_mbuf *m, const uint8_t *ip)
{
    const struct flow_hash how = {.seed = FLOW_SEED, .mode = FLOW_HASH_L4};
    uint32_t hash = 0;

    if (!ip)
        return 0;
    uint32_t readable = packet_readable(m, ip), len = m->pkt_len - packet_l2_len(m, ip);
    if (ip[0] >> 4 == 4 && readable >= IP4_HDR)
        hash = flow_hash4(ip, readable, len, how);
    else if (ip[0] >> 4 == 6 && readable >= IP6_HDR)
        hash = flow_hash6(ip, readable, len, how);
    return hash >> 4;
}

uint32_t queue_flow_hash(const struct rte_mbuf *m)
{
    const uint8_t *type_at = tags_skip(m), *ip = NULL;

    if (type_at)
        (void)tos_of(type_at, &ip);
    return flow_hash_of(m, ip);
}

// Collects the queue manager's inputs for the frames, whose interface is beside them from now on.
static void places_fill(const struct port_queue_settings *s, uint16_t port, struct rte_mbuf **pkt,
                        unsigned n, struct queue_packet *out)
{
    const uint16_t own = tx_iface_own(port);

    for (unsigned i = 0; i < n; i++) {
        struct rte_mbuf *m = pkt[i];
        struct queue_place p = place_of(s, &s->map, tags_begin(m) ? m->vlan_tci : own, m);

        m->vlan_tci = p.iface;
        out[i] = (struct queue_packet){.packet = m,
                                       .len = m->pkt_len + s->overhead,
                                       .client = p.client,
                                       .class = p.class,
                                       .ecn = p.ecn};
        if (s->has_flows[p.client] >> p.class & 1)
            out[i].hash = flow_hash_of(m, p.ip);
        if (s->map.remarks_pcp && p.tag)
            p.tag[0] = (uint8_t)((p.tag[0] & 0x1f) | s->map.pcp_of_class[p.class] << 5);
    }
}

static enum drop_reason reason_of(uint8_t refusal)
{
    static const enum drop_reason reason[] = {
        [QUEUE_CLASS_FULL] = DROP_QUEUE_FULL,
        [QUEUE_CLIENT_FULL] = DROP_QUEUE_FULL,
        [QUEUE_SHARE_FULL] = DROP_QUEUE_SHARE,
        [QUEUE_PORT_FULL] = DROP_QUEUE_PORT_FULL,
    };

    return reason[refusal];
}

void queue_drop(struct forwarder *f, struct rte_mbuf *m, enum drop_reason reason)
{
    f->counter->held--;
    tx_drop(f, m, m->vlan_tci, reason);
}

bool queue_put_all(struct forwarder *f, struct port_queue *q, struct queue_packet *p, unsigned n,
                   uint64_t now)
{
    uint8_t refusal[BURST_MAX];
    unsigned taken = queue_put(q->manager, p, n, now, refusal);

    if (likely(taken == n))
        return true;
    for (unsigned i = 0; i < n; i++)
        if (refusal[i]) {
            queue_drop(f, p[i].packet, reason_of(refusal[i]));
            p[i].packet = NULL;
        }
    return false;
}

// Packets of a full client do not take ring space that others may need.
static void ring_feed(struct forwarder *f, struct port_queue *q, unsigned owner,
                      const struct queue_packet *p, unsigned n)
{
    struct rte_ring *ring = q->ring[f->index];
    struct port_queue_element e[BURST_MAX];
    unsigned free_n = ring ? rte_ring_free_count(ring) : 0, k = 0, sent;
    bool busy = free_n < PORT_QUEUE_RING_SIZE - RING_BUSY;

    for (unsigned i = 0; i < n; i++) {
        if (unlikely(!ring || (busy && __atomic_load_n(&q->full[p[i].client], __ATOMIC_RELAXED)))) {
            q->refused_ring[f->index]++;
            queue_drop(f, p[i].packet, ring ? DROP_QUEUE_FULL : DROP_QUEUE_RING_FULL);
            continue;
        }
        e[k++] = (struct port_queue_element){.packet = p[i].packet,
                                             .len = p[i].len,
                                             .client = p[i].client,
                                             .class = p[i].class,
                                             .ecn = p[i].ecn,
                                             .hash = p[i].hash};
    }
    sent = ring ? rte_ring_sp_enqueue_burst_elem(ring, e, sizeof *e, k, NULL) : 0;
    for (unsigned i = sent; i < k; i++) {
        q->refused_ring[f->index]++;
        queue_drop(f, e[i].packet, DROP_QUEUE_RING_FULL);
    }
    if (owner < FORWARDER_MAX)
        f->handed |= 1u << owner;
}

// First takes packets that we put into our ring while another forwarder, or none, owned the queue.
static void own_feed(struct forwarder *f, struct port_queue *q, uint16_t port,
                     const struct port_queue_settings *s, struct rte_mbuf **pkt,
                     struct queue_packet *p, unsigned n)
{
    struct rte_ring *ring = q->ring[f->index];

    if (unlikely(s->serial != q->applied))
        queue_settings_apply(q, s, f->now);
    while (unlikely(ring && !rte_ring_empty(ring)))
        queue_ring_take(f, q, s, ring, f->now);
    unsigned passed = q->n_kept || q->is_fed ? 0 : queue_pass(q->manager, p, n, f->now);
    if (passed)
        queue_device_send(f, q, port, pkt, passed);
    if (passed < n)
        queue_put_all(f, q, p + passed, n - passed, f->now);
}

void queue_feed(struct forwarder *f, uint16_t port, struct rte_mbuf **pkt, unsigned n)
{
    struct port_queue *q = f->plan->queue[port];
    unsigned owner = f->plan->queue_owner[port];
    const struct port_queue_settings *s = rcu_load(&q->settings);
    struct queue_packet p[BURST_MAX];

    f->counter->held += n;
    for (unsigned at = 0, k; at < n; at += k) {
        k = RTE_MIN(n - at, (unsigned)BURST_MAX);
        places_fill(s, port, pkt + at, k, p);
        if (owner == f->index)
            own_feed(f, q, port, s, pkt + at, p, k);
        else
            ring_feed(f, q, owner, p, k);
    }
}
