// SPDX-License-Identifier: BSD-3-Clause
// Stage queue, second half: the owner of a port's queue sends packets that may leave
//
//   in     the rings of the port's feeders, the queue manager
//   out    the port's transmit queue 0 (ledger: tx)
//   exits  QUEUE_CODEL, QUEUE_TIME, QUEUE_FLOW, and exits of queue_feed.c
//
// Once per poll, after all receive queues. Packets that the device does not take stay first in line
// (port_queue.kept): a packet is never dropped after its turn has come.
#define ALLOW_EXPERIMENTAL_API // rte_ring_elem
#include <rte_ethdev.h>
#include <rte_ring_elem.h>

#include "forwarder/drop.h"
#include "forwarder/packet.h"
#include "forwarder/queue_stage.h"
#include "forwarder/remark.h"
#include "forwarder/tags.h"
#include "forwarder/tx.h"
#include "forwarder/forbidden.h"

#define SERVE_BURSTS 4u // per poll: 256 packets, as many as a poll of one receive queue may add

// --- settings ------------------------------------------------------------------------------------

// Lowers guarantees before it raises others: their sum never exceeds the port's rate.
static void clients_configure(struct port_queue *q, const struct port_queue_settings *s,
                              uint64_t now, bool falling)
{
    for (unsigned i = 0; i < s->n; i++) {
        const struct queue_client_config *c = &s->client[i];

        if ((c->guarantee_bps < q->current[i].guarantee_bps) != falling ||
            !memcmp(c, &q->current[i], sizeof *c))
            continue;
        if (!queue_configure(q->manager, (uint16_t)i, c, now))
            q->current[i] = *c;
    }
}

__attribute__((noinline, cold)) void
queue_settings_apply(struct port_queue *q, const struct port_queue_settings *s, uint64_t now)
{
    if (s->rate_bps > q->applied_bps)
        queue_set_rate(q->manager, s->rate_bps, now);
    clients_configure(q, s, now, true);
    if (s->rate_bps < q->applied_bps)
        queue_set_rate(q->manager, s->rate_bps, now);
    clients_configure(q, s, now, false);
    queue_set_packets_max(q->manager, s->packets_max);
    q->applied_bps = s->rate_bps;
    q->applied = s->serial;
}

// --- from the rings ------------------------------------------------------------------------------

// Makes feeders drop the client's packets while their ring is half full.
static void client_is_full(struct port_queue *q, uint16_t client)
{
    if (q->full[client] || q->n_full == sizeof q->full_client / sizeof *q->full_client)
        return;
    __atomic_store_n(&q->full[client], 1, __ATOMIC_RELAXED);
    q->full_client[q->n_full++] = client;
}

// Ends when less than half of the client's limit waits.
static void full_review(struct port_queue *q)
{
    struct queue_stats stats;
    unsigned n = 0;

    for (unsigned i = 0; i < q->n_full; i++) {
        uint16_t client = q->full_client[i];

        queue_stats(q->manager, client, &stats);
        if (stats.waiting_bytes > q->current[client].limit_bytes / 2)
            q->full_client[n++] = client;
        else
            __atomic_store_n(&q->full[client], 0, __ATOMIC_RELAXED);
    }
    q->n_full = n;
}

// Their feeder may not have known yet that the class has flow queues. Without the hash, packets of
// one flow would wait in two queues.
static void hashes_complete(const struct port_queue_settings *s, struct queue_packet *p, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (unlikely(!p[i].hash && s->has_flows[p[i].client] >> p[i].class & 1))
            p[i].hash = queue_flow_hash(p[i].packet);
}

unsigned queue_ring_take(struct forwarder *f, struct port_queue *q,
                         const struct port_queue_settings *s, struct rte_ring *ring, uint64_t now)
{
    struct port_queue_element e[BURST_MAX];
    struct queue_packet p[BURST_MAX];
    unsigned n = rte_ring_sc_dequeue_burst_elem(ring, e, sizeof *e, BURST_MAX, NULL);

    for (unsigned i = 0; i < n; i++)
        p[i] = (struct queue_packet){.packet = e[i].packet,
                                     .len = (uint32_t)e[i].len,
                                     .client = (uint16_t)e[i].client,
                                     .class = (uint8_t)e[i].class,
                                     .ecn = (uint8_t)e[i].ecn,
                                     .hash = (uint32_t)e[i].hash};
    hashes_complete(s, p, n);
    if (n && !queue_put_all(f, q, p, n, now))
        for (unsigned i = 0; i < n; i++)
            if (!p[i].packet)
                client_is_full(q, p[i].client);
    return n;
}

// --- to the device -------------------------------------------------------------------------------

static bool kept_send(struct forwarder *f, struct port_queue *q, uint16_t port)
{
    unsigned sent = rte_eth_tx_burst(port, 0, q->kept, (uint16_t)q->n_kept);

    f->counter->tx += sent;
    f->counter->held -= sent;
    q->n_kept -= sent;
    memmove(q->kept, q->kept + sent, q->n_kept * sizeof *q->kept);
    return !q->n_kept;
}

void queue_device_send(struct forwarder *f, struct port_queue *q, uint16_t port,
                       struct rte_mbuf **pkt, unsigned n)
{
    f->counter->held -= n; // packets dropped by tx_prepare are no longer held
    n = tx_prepare(f, port, pkt, n);
    unsigned sent = rte_eth_tx_burst(port, 0, pkt, (uint16_t)n);

    f->counter->tx += sent;
    if (likely(sent == n))
        return;
    f->counter->held += n - sent;
    q->device_refused++;
    q->n_kept = n - sent;
    memcpy(q->kept, pkt + sent, q->n_kept * sizeof *q->kept);
}

// Marks congestion experienced (RFC 3168 5): both bits; adjusts the IPv4 checksum (RFC 1624).
static void mark_ce(struct rte_mbuf *m)
{
    const uint8_t *type_at = tags_skip(m);

    if (!type_at)
        return;
    uint8_t *ip = (uint8_t *)(uintptr_t)type_at + 2;
    if (load16(type_at) == ETHER_TYPE_IP6) {
        ip[1] |= 0x30;
        return;
    }
    uint16_t was = load16(ip);
    ip[1] |= 3;
    store16(ip + 10, remark_checksum(load16(ip + 10), was, load16(ip)));
}

// Applies verdicts; returns the number of packets left to send.
static unsigned verdicts(struct forwarder *f, struct rte_mbuf **pkt, const uint8_t *verdict,
                         unsigned n)
{
    static const enum drop_reason reason[] = {
        [QUEUE_DROP_CODEL] = DROP_QUEUE_CODEL,
        [QUEUE_DROP_OLD] = DROP_QUEUE_TIME,
        [QUEUE_DROP_FLOW] = DROP_QUEUE_FLOW,
    };
    unsigned k = 0;

    for (unsigned i = 0; i < n; i++) {
        struct rte_mbuf *m = pkt[i];

        if (unlikely(verdict[i] > QUEUE_SEND_MARKED)) {
            queue_drop(f, m, reason[verdict[i]]);
            continue;
        }
        if (unlikely(verdict[i] == QUEUE_SEND_MARKED))
            mark_ce(m);
        pkt[k++] = m;
    }
    return k;
}

// Returns the number of packets that left.
static unsigned port_serve(struct forwarder *f, struct port_queue *q, uint16_t port, uint64_t now)
{
    const struct port_queue_settings *s = rcu_load(&q->settings);
    struct rte_mbuf *pkt[BURST_MAX];
    uint8_t verdict[BURST_MAX];
    unsigned n, total = 0;

    if (unlikely(s->serial != q->applied))
        queue_settings_apply(q, s, now);
    for (unsigned g = 0; g < FORWARDER_MAX; g++)
        if (q->ring[g] && !rte_ring_empty(q->ring[g]))
            total += queue_ring_take(f, q, s, q->ring[g], now);
    q->is_fed = total > 0;
    if (unlikely(q->n_full))
        full_review(q);
    if (unlikely(q->n_kept) && !kept_send(f, q, port))
        return total;
    for (unsigned b = 0; b < SERVE_BURSTS && !q->n_kept; b++) {
        n = queue_take(q->manager, now, (void **)pkt, verdict, BURST_MAX);
        total += n;
        if (!n)
            break;
        unsigned k = verdicts(f, pkt, verdict, n);
        if (k)
            queue_device_send(f, q, port, pkt, k);
        if (n < BURST_MAX)
            break;
    }
    return total;
}

unsigned queue_serve(struct forwarder *f)
{
    const struct plan *plan = f->plan;
    uint64_t now = rte_rdtsc(), due = QUEUE_NEVER;
    unsigned total = 0;

    for (unsigned i = 0; i < plan->n_owned; i++) {
        uint16_t port = plan->owned[i];
        struct port_queue *q = plan->queue[port];

        total += port_serve(f, q, port, now);
        uint64_t next = q->n_kept ? now : queue_due(q->manager);
        due = next < due ? next : due;
    }
    if (f->dead.n)
        dead_flush(f);
    f->queue_due = due;
    return total;
}
