// SPDX-License-Identifier: BSD-3-Clause
// harness.c - see harness.h
#include "harness.h"

#include "acl_fixture.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef __has_feature // clang's test
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, n) ((void)(at), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(at, n) ((void)(at), (void)(n))
#endif

#include "core/eal.h"
#include "core/rcu.h"
#include "table/icmp.h"
#include "table/ledger_vr.h"
#include "table/multicast.h"
#include "table/nexthop_count.h"

#define RING_SIZE 1024
#define POOL_SIZE 8191

static struct rte_mempool *pool;
static struct rte_ring *rx_ring[RIG_PORTS][RIG_QUEUES], *tx_ring[RIG_PORTS][RIG_QUEUES];
static uint16_t port_id[RIG_PORTS];
static struct forwarder *forwarder[RIG_FORWARDERS];
static unsigned filler[RIG_PORTS][RIG_QUEUES]; // buffers that fill a transmit ring

static void be_forwarder(unsigned i)
{
    thread_adopt(ROLE_FORWARDER, THREAD_SLOT_FORWARDER + i);
}

// --- once per program ---

__attribute__((weak)) void rig_begin(void)
{
}

static struct rte_ring *ring_new(const char *kind, unsigned port, unsigned queue)
{
    char name[32];

    snprintf(name, sizeof name, "%s-%u-%u", kind, port, queue);
    struct rte_ring *r = rte_ring_create(name, RING_SIZE, SOCKET_ID_ANY, 0);
    assert_non_null(r);
    return r;
}

static void port_new(unsigned p)
{
    char name[32];

    for (unsigned q = 0; q < RIG_QUEUES; q++) {
        rx_ring[p][q] = ring_new("rx", p, q);
        tx_ring[p][q] = ring_new("tx", p, q);
    }
    snprintf(name, sizeof name, "rig%u", p);
    int id = router_port_new(name, rx_ring[p], tx_ring[p], RIG_QUEUES, RING_SIZE, pool);
    assert_true(id >= 0);
    port_id[p] = (uint16_t)id;
}

int unit_begin(void **state)
{
    char name[32], err[256];
    struct eal_config cfg = {.name = name, .memory_mib = 256, .no_huge = true};

    snprintf(name, sizeof name, "path-%d", getpid());
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    rcu_init();
    rcu_thread_register();
    if (eal_init(&cfg, err, sizeof err)) {
        fprintf(stderr, "%s\n", err);
        return -1;
    }
    pool = packet_pool_new("rig", POOL_SIZE, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY, false);
    assert_non_null(pool);
    for (unsigned p = 0; p < RIG_PORTS; p++)
        port_new(p);
    return 0;
}

int unit_end(void **state)
{
    rcu_thread_unregister();
    rcu_fini();
    eal_fini();
    return 0;
}

// --- once per test ---

int rig_setup(void **state)
{
    assert_int_equal(router_tables_init(4095), 0);
    memset(filler, 0, sizeof filler);
    for (unsigned i = 0; i < RIG_FORWARDERS; i++) {
        be_forwarder(i);
        forwarder[i] = forwarder_new(i);
        assert_non_null(forwarder[i]);
    }
    rig_icmp_rate(0, 0);
    struct plan_rx all[RIG_PORTS];
    for (unsigned p = 0; p < RIG_PORTS; p++)
        all[p] = (struct plan_rx){port_id[p], 0};
    rig_plan_set(0, rig_plan_new(0, all, RIG_PORTS));
    rig_begin();
    return 0;
}

static void drain_rest(void)
{
    struct frame f;
    struct rte_mbuf *m;

    for (unsigned c = 0; c < PUNT_CLASS_N; c++)
        while (rig_punted(c, &f, NULL))
            ;
    while ((m = rig_held()))
        rig_release(m);
    for (unsigned p = 0; p < RIG_PORTS; p++) {
        rig_tx_block(p, false);
        rig_discard(p);
        for (unsigned q = 0; q < RIG_QUEUES; q++)
            while (!rte_ring_dequeue(rx_ring[p][q], (void **)&m))
                rte_pktmbuf_free(m);
    }
}

// Checks the ledger of a virtual router when all rings are empty.
static void check_vr(uint16_t vr)
{
    struct ledger_vr l;

    ledger_vr_read(vr, &l, 2);
    if (l.imbalance)
        fail_msg("ledger of %s: rx %lu + inject %lu + entered %lu != tx %lu + punt %lu + left "
                 "%lu + drops %lu + held %lu: %ld",
                 vr_get(vr)->name, l.side[0], l.side[1], l.side[2], l.side[3], l.side[4], l.side[5],
                 l.side[6], l.held, l.imbalance);
}

int rig_teardown(void **state)
{
    rig_poll();
    lists_free();
    drain_rest();
    rig_check_conservation();
    for (uint16_t v = 0; v < VR_MAX; v++)
        if (vr_get(v)->used)
            check_vr(v);
    assert_int_equal(rig_buffers_in_use(), 0);
    char why[256] = "";
    if (nexthop_check(why, sizeof why))
        fail_msg("%s", why);
    for (unsigned i = 0; i < RIG_FORWARDERS; i++) {
        rig_plan_set(i, NULL);
        forwarder_free(forwarder[i]);
    }
    router_role(ROLE_CONTROL);
    rcu_barrier();
    router_tables_fini();
    return 0;
}

unsigned rig_buffers_in_use(void)
{
    return rte_mempool_in_use_count(pool) + rte_mempool_in_use_count(exchange_pool);
}

void rig_check_conservation(void)
{
    struct ledger l;

    ledger_read(&l, 2);
    if (l.imbalance)
        fail_msg("ledger: rx %lu + inject %lu != tx %lu + punt %lu + held %lu + drops %lu", l.rx,
                 l.inject, l.tx, l.punt, l.held, l.drops);
}

// --- tables ---

void rig_icmp_rate(uint32_t per_s, uint32_t burst)
{
    router_role(ROLE_CONTROL);
    icmp_limit_set(
        &(struct icmp_limit){per_s, burst, .total_per_s = 1000000000, .total_burst = 1000000000});
}

uint16_t rig_vr(const char *name)
{
    router_role(ROLE_CONTROL);
    struct vr *v = vr_new(name);
    assert_non_null(v);
    return v->id;
}

uint16_t rig_iface(unsigned port, uint16_t vlan, uint16_t vr)
{
    return rig_iface_pair(port, 0, vlan ? 0x8100 : 0, vlan, vr);
}

uint16_t rig_iface_pair(unsigned port, uint16_t outer, uint16_t tpid, uint16_t vlan, uint16_t vr)
{
    char name[32];

    snprintf(name, sizeof name, outer ? "p%u.%u.%u" : "p%u.%u", port, outer ? outer : vlan, vlan);
    struct iface *i = router_iface_new(
        name, port_id[port], outer, vlan,
        (uint8_t[6]){0x02, 0xaa, 0, (uint8_t)port, (uint8_t)(vlan >> 8), (uint8_t)vlan});
    assert_non_null(i);
    i->tpid_be = rte_cpu_to_be_16(tpid);
    i->vr = vr;
    memcpy(&i->addr4, (uint8_t[4]){10, 255, (uint8_t)port, (uint8_t)vlan}, 4);
    memcpy(i->addr6,
           (uint8_t[16]){0x20, 1, 0xd, 0xb8, 0, 0xff, [13] = (uint8_t)port, [15] = (uint8_t)vlan},
           16);
    struct port *p = port_get(port_id[port]);
    p->used = p->started = true;
    return i->id;
}

uint32_t rig_neighbor(uint16_t iface, unsigned neighbor, const char *address)
{
    struct ip_addr a;
    uint32_t id = rig_adjacency(iface, neighbor);

    assert_int_equal(ip_parse(address, &a), 0);
    nexthop_set_address(id, &a);
    return id;
}

void rig_in_and_out(uint16_t *in, uint16_t *out)
{
    *in = rig_iface(0, 0, VR_DEFAULT);
    *out = rig_iface(1, 0, VR_DEFAULT);
}

void rig_two_sides(uint16_t *in, uint16_t *out)
{
    rig_in_and_out(in, out);
    uint32_t back = rig_adjacency(*in, 1), on = rig_adjacency(*out, 2);
    rig_routes(VR_DEFAULT, "10.0.0.0/8", "2001:db8:a::/48", back);
    rig_routes(VR_DEFAULT, "20.0.0.0/8", "2001:db8:b::/48", on);
}

uint32_t rig_nexthop(enum nexthop_kind kind, uint16_t iface)
{
    router_role(ROLE_RIB_MANAGER);
    uint32_t id = nexthop_new(kind, iface);
    assert_int_not_equal(id, 0);
    return id;
}

uint32_t rig_adjacency(uint16_t iface, unsigned neighbor)
{
    uint32_t id = router_adjacency_new(iface, neighbor_mac(neighbor));

    assert_int_not_equal(id, 0);
    return id;
}

uint32_t rig_group(const uint32_t *member, unsigned n)
{
    uint32_t weight[64];

    for (unsigned i = 0; i < n; i++)
        weight[i] = 1;
    router_role(ROLE_RIB_MANAGER);
    uint32_t id = nexthop_group_new(member, weight, n);
    assert_int_not_equal(id, 0);
    return id;
}

static struct fib *fib_of(uint16_t vr, const char *text, struct prefix *p)
{
    assert_int_equal(prefix_parse(text, p, false), 0);
    router_role(ROLE_RIB_MANAGER);
    return p->family == IP4 ? vr_get(vr)->fib4 : vr_get(vr)->fib6;
}

void rig_route(uint16_t vr, const char *prefix, uint32_t nexthop)
{
    struct prefix p;
    struct fib *f = fib_of(vr, prefix, &p);

    const struct nexthop *nh = nexthop_get(nexthop_real(nexthop));
    if (nexthop_word_kind(nexthop_word(nh)) == NEXTHOP_GROUP)
        nh = nexthop_get(nexthop_member(nh, 0));
    if (iface_get(nh->iface)->vr != vr) // like rib_manager
        nexthop_cross_begin();
    assert_int_equal(fib_set(f, &p, nexthop), 0);
    fib_commit(f);
}

void rig_routes(uint16_t vr, const char *prefix, const char *other, uint32_t nexthop)
{
    rig_route(vr, prefix, nexthop);
    rig_route(vr, other, nexthop);
}

void rig_link_local(uint16_t iface, const char *address)
{
    struct multicast_entry e = {.key = {.family = IP6, .iface = iface}, .flags = MULTICAST_JOIN};

    assert_int_equal(inet_pton(AF_INET6, address, e.key.group), 1);
    router_role(ROLE_RIB_MANAGER);
    assert_int_equal(multicast_set(iface_get(iface)->vr, &e), 0);
}

void rig_unroute(uint16_t vr, const char *prefix)
{
    struct prefix p;
    struct fib *f = fib_of(vr, prefix, &p);

    assert_int_equal(fib_del(f, &p), 0);
    fib_commit(f);
}

struct plan *rig_plan_new(unsigned f, const struct plan_rx *rx, unsigned n)
{
    struct plan *p = calloc(1, sizeof *p);

    assert_non_null(p);
    p->n_rx = (uint16_t)n;
    for (unsigned i = 0; i < n; i++)
        p->rx[i] = rx[i];
    memset(p->tx_owner, PLAN_TX_NONE, sizeof p->tx_owner);
    for (unsigned i = 0; i < RIG_PORTS; i++) {
        p->tx_owner[port_id[i]] = (uint8_t)f;
        p->tx_queue[port_id[i]] = (uint16_t)f;
    }
    return p;
}

void rig_plan_set(unsigned f, struct plan *p)
{
    struct plan *old = forwarder_slot[f].plan;

    rcu_publish(&forwarder_slot[f].plan, p);
    rcu_synchronize();
    free(old);
}

// --- traffic ---

struct forwarder *rig_forwarder(unsigned i)
{
    return forwarder[i];
}

#define POISON_FRONT 80u // headers are put at most so far before the data: of a tunnel, with tags
unsigned rig_reach = 64;

// Nothing may read beyond the data, except that more of the packet is appended to a short first
// segment.
static void poison(struct rte_mbuf *m, bool grows)
{
    uint8_t *buf = m->buf_addr, *data = rte_pktmbuf_mtod(m, uint8_t *), *end = buf + m->buf_len;
    uint8_t *behind = data + RTE_MAX((unsigned)m->data_len, rig_reach);

    ASAN_POISON_MEMORY_REGION(buf, (size_t)(data - buf) - POISON_FRONT);
    if (!grows)
        ASAN_POISON_MEMORY_REGION(behind, (size_t)(end - behind));
}

struct rte_mbuf *rig_mbuf_before(const struct frame *f, unsigned segment, uint8_t behind)
{
    struct rte_mbuf *first = NULL, *last = NULL;
    unsigned at = 0;

    do {
        struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
        unsigned n = f->n - at < segment ? f->n - at : segment;
        assert_non_null(m);
        ASAN_UNPOISON_MEMORY_REGION(m->buf_addr, m->buf_len);
        memcpy(rte_pktmbuf_append(m, (uint16_t)n), f->b + at, n);
        memset(rte_pktmbuf_mtod(m, uint8_t *) + n, behind,
               RTE_MIN((unsigned)rte_pktmbuf_tailroom(m), 256u));
        poison(m, at == 0 && n < f->n);
        at += n;
        if (!first)
            first = m;
        else
            last->next = m, first->nb_segs++, first->pkt_len += n;
        last = m;
    } while (at < f->n);
    return first;
}

// Bytes after the data look like an IPv4 packet to a careless reader.
struct rte_mbuf *rig_mbuf(const struct frame *f, unsigned segment)
{
    return rig_mbuf_before(f, segment, 0x45);
}

void rig_send_mbuf(unsigned port, unsigned queue, struct rte_mbuf *m)
{
    assert_int_equal(rte_ring_enqueue(rx_ring[port][queue], m), 0);
}

void rig_send_queue(unsigned port, unsigned queue, const struct frame *f)
{
    rig_send_mbuf(port, queue, rig_mbuf(f, 2048));
}

void rig_send(unsigned port, const struct frame *f)
{
    rig_send_queue(port, 0, f);
}

void rig_send_n(unsigned port, const struct frame *f, unsigned n)
{
    while (n--)
        rig_send(port, f);
}

void rig_step(unsigned i)
{
    be_forwarder(i);
    forwarder_poll(forwarder[i]);
    forwarder_rest(forwarder[i]);
}

void rig_steps(unsigned i, unsigned n)
{
    while (n--)
        rig_step(i);
}

void rig_poll(void)
{
    unsigned taken;

    do {
        taken = 0;
        for (unsigned i = 0; i < RIG_FORWARDERS; i++) {
            be_forwarder(i);
            taken += forwarder_poll(forwarder[i]);
            forwarder_rest(forwarder[i]);
        }
    } while (taken);
}

static void frame_of(struct frame *f, struct rte_mbuf *m)
{
    assert_true(m->pkt_len <= FRAME_MAX);
    f->n = m->pkt_len;
    const void *p = rte_pktmbuf_read(m, 0, m->pkt_len, f->b);
    assert_non_null(p);
    if (p != f->b)
        memcpy(f->b, p, f->n);
    rte_pktmbuf_free(m);
}

bool rig_passes(unsigned port, const struct frame *f, unsigned to, struct frame *g)
{
    rig_forward(port, f);
    return rig_receive(to, g);
}

bool rig_receive_queue(unsigned port, unsigned queue, struct frame *f)
{
    struct rte_mbuf *m;

    if (rte_ring_dequeue(tx_ring[port][queue], (void **)&m))
        return false;
    frame_of(f, m);
    return true;
}

bool rig_receive(unsigned port, struct frame *f)
{
    for (unsigned q = 0; q < RIG_QUEUES; q++)
        if (rig_receive_queue(port, q, f))
            return true;
    return false;
}

struct rte_mbuf *rig_receive_mbuf(unsigned port)
{
    struct rte_mbuf *m;

    for (unsigned q = 0; q < RIG_QUEUES; q++)
        if (!rte_ring_dequeue(tx_ring[port][q], (void **)&m))
            return m;
    return NULL;
}

void rig_forward(unsigned port, const struct frame *f)
{
    rig_send(port, f);
    rig_poll();
}

unsigned rig_discard(unsigned port)
{
    static struct frame f;
    unsigned n = 0;

    while (rig_receive(port, &f))
        n++;
    return n;
}

unsigned rig_poll_out(unsigned port)
{
    rig_poll();
    return rig_discard(port);
}

void rig_tx_block(unsigned port, bool blocked)
{
    for (unsigned q = 0; q < RIG_QUEUES; q++) {
        struct rte_mbuf *m = NULL;
        struct rte_ring *r = tx_ring[port][q];
        for (; !blocked && filler[port][q]; filler[port][q]--) {
            assert_int_equal(rte_ring_dequeue(r, (void **)&m), 0);
            rte_pktmbuf_free(m);
        }
        while (blocked && rte_ring_free_count(r)) {
            m = rte_pktmbuf_alloc(pool);
            assert_non_null(m);
            assert_int_equal(rte_ring_enqueue(r, m), 0);
            filler[port][q]++;
        }
    }
}

bool rig_punted(enum punt_class c, struct frame *f, uint16_t *iface)
{
    struct rte_mbuf *m;

    if (rte_ring_dequeue(exchange_punt[c], (void **)&m))
        return false;
    router_role(ROLE_TAP_MANAGER);
    counter_mine()->punt++;
    counter_mine()->iface[packet_meta(m)->iface].punt_packets++;
    counter_cross(counter_mine(), packet_meta(m)->owner, iface_get(packet_meta(m)->iface)->vr);
    if (iface)
        *iface = packet_meta(m)->iface;
    frame_of(f, m);
    return true;
}

// Until rig_inject or rig_release the packet is in a private queue of the rib_manager thread.
struct rte_mbuf *rig_held(void)
{
    struct rte_mbuf *m;

    if (rte_ring_dequeue(exchange_hold, (void **)&m))
        return NULL;
    router_role(ROLE_RIB_MANAGER);
    counter_mine()->held++;
    return m;
}

void rig_release(struct rte_mbuf *m)
{
    router_role(ROLE_RIB_MANAGER);
    counter_mine()->held--;
    counter_mine()->drop[DROP_HOLD_GONE]++;
    counter_mine()->vr_drop[packet_meta(m)->owner][DROP_HOLD_GONE]++;
    counter_mine()->vr[packet_meta(m)->owner].resumed++;
    rte_pktmbuf_free(m);
}

int rig_inject(unsigned i, struct rte_mbuf *m)
{
    router_role(ROLE_RIB_MANAGER);
    counter_mine()->held--;
    return rte_ring_enqueue(exchange_inject[i], m);
}

void rig_inject_frame(unsigned i, uint16_t iface, const struct frame *f)
{
    struct rte_mbuf *m = rte_pktmbuf_alloc(exchange_pool);

    assert_non_null(m);
    memcpy(rte_pktmbuf_append(m, (uint16_t)f->n), f->b, f->n);
    *packet_meta(m) = (struct packet_meta){.iface = iface, .kind = INJECT_FRAME};
    router_role(ROLE_TAP_MANAGER);
    counter_mine()->inject++;
    // Some tests use ids without an interface; they count as none.
    counter_mine()->iface[iface < iface_id_end() ? iface : 0].inject_packets++;
    assert_int_equal(rte_ring_enqueue(exchange_inject[i], m), 0);
}

uint64_t rig_drops(enum drop_reason r)
{
    return counter_sum_drop(r);
}

uint64_t rig_drops_all(void)
{
    uint64_t n = 0;

    for (unsigned r = DROP_NONE + 1; r < DROP_N; r++)
        n += counter_sum_drop(r);
    return n;
}

struct counter_iface rig_counted(uint16_t iface)
{
    struct counter_iface c;

    counter_sum_iface(iface, &c);
    return c;
}
