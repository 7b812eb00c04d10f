// SPDX-License-Identifier: BSD-3-Clause
// exchange.c - the rings that carry packets between forwarders and managers
//
// Each ring has many producers and one consumer. Producers use DPDK's relaxed tail sync (RTS): in
// the plain multi-producer mode, a producer that the kernel preempts in the middle of an enqueue
// blocks all others, which happens on machines with two cores.
#include "table/exchange.h"

#include <errno.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf_dyn.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_memzone.h>
#include <stdio.h>

#include "table/icmp.h"
#include "table/metalink.h"
#include "table/packet_class.h"

struct rte_ring *exchange_punt[PUNT_CLASS_N];
struct waker exchange_punt_waker = {.fd = -1}, exchange_hold_waker = {.fd = -1};
struct rte_ring *exchange_hold;
struct rte_ring *exchange_inject[FORWARDER_MAX];
struct rte_mempool *exchange_pool;
bool exchange_mixed;
uint64_t packet_class_flag, metalink_flag;

static struct rte_ring *ring_new(const char *kind, unsigned index, unsigned size, unsigned flags)
{
    char name[RTE_RING_NAMESIZE];

    snprintf(name, sizeof name, "%s-%u", kind, index);
    return rte_ring_create(name, size, SOCKET_ID_ANY, RING_F_MP_RTS_ENQ | RING_F_SC_DEQ | flags);
}

static void zone_free(struct rte_mempool_memhdr *chunk, void *zone)
{
    (void)chunk;
    rte_memzone_free(zone);
}

// Packs buffers densely. RTE_MEMPOOL_F_NO_IOVA_CONTIG alone is not enough: DPDK also takes it to
// mean that no device sees the buffers, and rte_mempool_populate_default() would give them no IOVA.
// Their IOVA is the virtual address, which DPDK has mapped for vfio with the rest of its memory.
// Memory may be in pieces; each zone is as large as possible.
static int populate_packed(struct rte_mempool *pool)
{
    size_t most = SIZE_MAX, least, align;
    char name[RTE_MEMZONE_NAMESIZE];

    // Before the pool's ready event, on which drivers map it.
    pool->flags &= ~RTE_MEMPOOL_F_NON_IO;
    for (unsigned i = 0; pool->populated_size < pool->size; i++) {
        ssize_t bytes = rte_mempool_op_calc_mem_size_default(
            pool, pool->size - pool->populated_size, 0, &least, &align);
        const struct rte_memzone *zone;
        if (bytes < 0)
            return (int)bytes;
        snprintf(name, sizeof name, RTE_MEMPOOL_MZ_FORMAT "_%u", pool->name, i);
        least =
            RTE_MIN((size_t)pool->header_size + pool->elt_size + pool->trailer_size, (size_t)bytes);
        for (;;) {
            most = RTE_MIN(most, (size_t)bytes);
            zone = rte_memzone_reserve_aligned(name, most, pool->socket_id, 0, (unsigned)align);
            if (zone || rte_errno != ENOMEM || most / 2 < least)
                break;
            most /= 2;
        }
        if (!zone)
            return -rte_errno;
        int r = rte_mempool_populate_iova(pool, zone->addr, (rte_iova_t)(uintptr_t)zone->addr,
                                          zone->len, zone_free, (void *)(uintptr_t)zone);
        if (r <= 0) {
            rte_memzone_free(zone);
            return r ? r : -ENOBUFS;
        }
    }
    return 0;
}

static int pool_fill(struct rte_mempool *pool, uint16_t data_room, bool packed)
{
    struct rte_pktmbuf_pool_private room = {.mbuf_data_room_size = data_room,
                                            .mbuf_priv_size = sizeof(struct packet_meta)};
    int r = rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), NULL);

    if (r)
        return r;
    rte_pktmbuf_pool_init(pool, &room);
    r = packed ? populate_packed(pool) : rte_mempool_populate_default(pool);
    if (r < 0)
        return r;
    rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
    return 0;
}

// Like rte_pktmbuf_pool_create(), with one more choice. Without huge pages, DPDK gives each buffer
// its own 4 KiB pages, so that a device can reach it by physical addresses. That takes nearly twice
// the memory, and all buffers start at the same page offset, that is, in the same few L1 cache
// sets, so that a burst no longer fits. Devices with virtual addresses do not need that, so buffers
// are packed.
struct rte_mempool *packet_pool_new(const char *name, unsigned n, unsigned cache,
                                    uint16_t data_room, int socket, bool within_pages)
{
    unsigned bytes = (unsigned)(sizeof(struct rte_mbuf) + sizeof(struct packet_meta)) + data_room +
                     PACKET_BEHIND;
    bool packed = !within_pages && rte_eal_iova_mode() == RTE_IOVA_VA;
    struct rte_mempool *pool =
        rte_mempool_create_empty(name, n, bytes, cache, sizeof(struct rte_pktmbuf_pool_private),
                                 socket, packed ? RTE_MEMPOOL_F_NO_IOVA_CONTIG : 0);
    int r = pool ? pool_fill(pool, data_room, packed) : 0;

    if (!r)
        return pool;
    rte_mempool_free(pool);
    rte_errno = -r;
    return NULL;
}

struct rte_mbuf *packet_new(struct rte_mempool *pool, uint32_t bytes)
{
    struct rte_mbuf *first = rte_pktmbuf_alloc(pool), *last = first;

    while (last) {
        uint32_t n = RTE_MIN(bytes, (uint32_t)rte_pktmbuf_tailroom(last));
        last->data_len = (uint16_t)n;
        first->pkt_len += n;
        bytes -= n;
        if (!bytes)
            return first;
        last->next = rte_pktmbuf_alloc(pool);
        last = last->next;
        if (last)
            last->data_off = 0;
        first->nb_segs += last != NULL;
    }
    rte_pktmbuf_free(first);
    return NULL;
}

// Registers a bit of ol_flags that no driver uses; may be repeated.
static bool flag_register(const char *name, uint64_t *flag)
{
    struct rte_mbuf_dynflag wanted = {0};

    snprintf(wanted.name, sizeof wanted.name, "%s", name);
    int bit = rte_mbuf_dynflag_register(&wanted);
    *flag = bit < 0 ? 0 : 1ull << bit;
    return bit >= 0;
}

int exchange_init(unsigned n_mbufs, unsigned data_room)
{
    bool ok = !waker_init(&exchange_punt_waker) && !waker_init(&exchange_hold_waker);

    punt_policy_init();
    icmp_limit_init();
    ok = ok && flag_register("kamuee_packet_class", &packet_class_flag) &&
         flag_register("kamuee_metalink", &metalink_flag);
    for (unsigned i = 0; i < PUNT_CLASS_N; i++)
        ok = ok && (exchange_punt[i] = ring_new("punt", i, PUNT_QUEUE_MAX, RING_F_EXACT_SZ));
    for (unsigned i = 0; i < FORWARDER_MAX; i++)
        ok = ok && (exchange_inject[i] = ring_new("inject", i, EXCHANGE_INJECT_SIZE, 0));
    ok = ok && (exchange_hold = ring_new("hold", 0, EXCHANGE_HOLD_SIZE, 0));
    ok = ok && (exchange_pool = packet_pool_new("exchange", n_mbufs, EXCHANGE_CACHE,
                                                (uint16_t)data_room, SOCKET_ID_ANY, false));
    if (ok)
        return 0;
    int e = rte_errno ? rte_errno : ENOMEM;
    exchange_fini();
    return -e;
}

static void ring_free(struct rte_ring **r)
{
    void *m;

    if (!*r)
        return;
    while (!rte_ring_dequeue(*r, &m))
        rte_pktmbuf_free(m);
    rte_ring_free(*r);
    *r = NULL;
}

void exchange_fini(void)
{
    for (unsigned i = 0; i < PUNT_CLASS_N; i++)
        ring_free(&exchange_punt[i]);
    for (unsigned i = 0; i < FORWARDER_MAX; i++)
        ring_free(&exchange_inject[i]);
    ring_free(&exchange_hold);
    rte_mempool_free(exchange_pool);
    exchange_pool = NULL;
    exchange_mixed = false;
    waker_fini(&exchange_punt_waker);
    waker_fini(&exchange_hold_waker);
}

static uint64_t ring_count(const struct rte_ring *r)
{
    return r ? rte_ring_count(r) : 0;
}

uint64_t exchange_punted(void)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < PUNT_CLASS_N; i++)
        n += ring_count(exchange_punt[i]);
    return n;
}

uint64_t exchange_held(void)
{
    uint64_t n = ring_count(exchange_hold) + exchange_punted();

    for (unsigned i = 0; i < FORWARDER_MAX; i++)
        n += ring_count(exchange_inject[i]);
    return n;
}
