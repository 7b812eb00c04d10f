// SPDX-License-Identifier: BSD-3-Clause
// explain.c - predicts what happens to a packet: runs the real stages, dry
//
// The packet passes the real stage functions in path.c's order, on a forwarder with its own
// counters, marks and arrays; instead of being flushed, everything returns to the pool. The only
// state outside a forwarder that stages share is token buckets, and a dry forwarder takes no
// tokens. So nothing that is counted, limited or sent changes. Runs on control's thread; this file
// may allocate.
#include <errno.h>
#include <string.h>

#include "core/mem.h"
#include "core/rcu.h"
#include "core/thread.h"
#include "forwarder/crossing.h"
#include "forwarder/packet.h"
#include "forwarder/record.h"
#include "forwarder/stages.h"
#include "forwarder/tx.h"
#include "table/trial.h"

// The verdict of a trial may not depend on the state of a token bucket: so late, all are full.
#define DAYS_TSC (1ull << 50)

static struct dry {
    struct counter_block counter;
    struct plan plan; // no port has a transmit queue, so nothing can be sent by mistake
    struct forwarder f;
    uint8_t used_mark[NEXTHOP_MAX];
    uint64_t chosen[NEXTHOP_MAX];
} *dry; // control's
static struct port_queue *const no_queues[PORT_MAX];

// The plan of the forwarder that polls the port; NULL: none.
static const struct plan *plan_of(uint16_t port)
{
    for (unsigned i = 0; i < FORWARDER_MAX; i++) {
        const struct plan *p = rcu_load(&forwarder_slot[i].plan);
        for (unsigned k = 0; p && k < p->n_rx; k++)
            if (p->rx[k].port == port)
                return p;
    }
    return NULL;
}

// Makes a chain of buffers with the frame.
static struct rte_mbuf *mbuf_of(const uint8_t *frame, uint32_t n)
{
    struct rte_mbuf *first = NULL, **end = &first;

    for (uint32_t at = 0; at < n; end = &(*end)->next) {
        struct rte_mbuf *m = *end = rte_pktmbuf_alloc(exchange_pool);
        if (!m) {
            rte_pktmbuf_free(first);
            return NULL;
        }
        m->data_len = (uint16_t)RTE_MIN(n - at, (uint32_t)rte_pktmbuf_tailroom(m));
        memcpy(rte_pktmbuf_mtod(m, void *), frame + at, m->data_len);
        at += m->data_len;
        first->pkt_len = at;
        first->nb_segs = (uint16_t)(first->nb_segs + (m != first));
    }
    return first;
}

static void collect_free(struct collect *c)
{
    rte_pktmbuf_free_bulk(c->pkt, c->n);
    c->n = 0;
}

// Replaces path_flush: records refusals of tx, and frees everything.
static void flush_dry(struct forwarder *f, const struct plan *real)
{
    bool no_queue = false;

    for (uint64_t ports = f->tx_ports; ports; ports &= ports - 1) {
        const uint16_t port = (uint16_t)__builtin_ctzll(ports);
        const unsigned n = tx_word_n(f->tx_word[port]);
        if (crossing_is_port(port)) {
            crossing_put(f, port, f->tx_pkt[port], n);
        } else {
            no_queue |= !real || real->tx_owner[port] == PLAN_TX_NONE;
            rte_pktmbuf_free_bulk(f->tx_pkt[port], n);
        }
        f->tx_word[port] = 0;
    }
    if (no_queue)
        record_refused(f, DROP_TX_NO_QUEUE);
    f->tx_ports = 0;
    f->tx_queued = f->punt_n = 0;
    for (unsigned c = 0; c < PUNT_CLASS_N; c++)
        collect_free(&f->punt[c]);
    collect_free(&f->hold);
    collect_free(&f->dead);
}

// Receives the packet at the other end of each metalink that it leaves by, and passes it through
// tunnels.
static void cross_dry(struct forwarder *f, const struct plan *real)
{
    for (unsigned k = 0; k < METALINK_BURSTS_MAX && crossing_take_recorded(f); k++)
        flush_dry(f, real);
    crossing_end(f);
    record_end(f);
    collect_free(&f->dead);
}

static int dry_make(void)
{
    if (dry)
        return 0;
    dry = mem_map("explain", sizeof *dry);
    if (!dry)
        return -errno;
    forwarder_init(&dry->f, FORWARDER_MAX, &dry->counter, dry->used_mark, dry->chosen);
    memset(dry->plan.tx_owner, PLAN_TX_NONE, sizeof dry->plan.tx_owner);
    dry->f.plan = &dry->plan;
    dry->f.dry = true;
    return 0;
}

int forwarder_explain(uint16_t port, const void *frame, uint32_t n, const struct trial *t,
                      struct packet_trace *p)
{
    struct plan_rx_stats nowhere = {0};
    int r;

    thread_must_be(ROLE_CONTROL);
    if (!n || n > EXPLAIN_FRAME_MAX || port >= PORT_MAX)
        return -EINVAL;
    r = dry_make();
    struct rte_mbuf *m = r ? NULL : mbuf_of(frame, n);
    if (!m)
        return r ? r : -ENOBUFS;
    struct forwarder *f = &dry->f;
    const struct plan *real = plan_of(port);
    f->trial = t;
    f->now = rte_rdtsc() + (t ? DAYS_TSC : 0);
    f->used_epoch = __atomic_load_n(&nexthop_used_epoch, __ATOMIC_RELAXED);
    f->rx.n = 1;
    f->rx.pkt[0] = m;
    f->rx.frame[0] = rte_pktmbuf_mtod(m, uint8_t *);
    p->polled = real != NULL;
    memcpy(dry->plan.queue, real ? real->queue : no_queues, sizeof dry->plan.queue);
    p->past = t && t->past;
    record_begin(f, p, port, m);
    if (p->past && t->past->down) {
        f->record.left = 1 << TRACED_PACKET;
        record_refused(f, DROP_IFACE_DOWN);
        f->dead.pkt[f->dead.n++] = m;
    } else {
        path_recorded(f, port_get(port), &nowhere);
    }
    flush_dry(f, real);
    cross_dry(f, real);
    if (t)
        trial_end();
    return 0;
}

void forwarder_explain_fini(void)
{
    mem_unmap(dry, dry ? sizeof *dry : 0);
    dry = NULL;
}
