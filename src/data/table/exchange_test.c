// SPDX-License-Identifier: BSD-3-Clause
// exchange_test.c - packets in rings count as held, are refused when full, and freed at the end;
// starts DPDK without huge pages
#include "table/exchange.h"

#include <stdio.h>
#include <unistd.h>
#include <rte_eal.h>

#include "core/eal.h"
#include "core/rcu.h"
#include "table/counter.h"
#include "tests/unit.h"

#define BUFFERS 8191

unit_test(packets_in_rings_are_held_in_the_ledger)
{
    struct ledger l;
    void *m = NULL;

    assert_int_equal(exchange_held(), 0);
    for (unsigned i = 0; i < 10; i++) {
        struct rte_mbuf *p = rte_pktmbuf_alloc(exchange_pool);
        packet_meta(p)->iface = (uint16_t)i;
        assert_int_equal(
            rte_ring_enqueue(i % 2 ? exchange_punt[PUNT_NEIGH] : exchange_inject[5], p), 0);
    }
    assert_int_equal(exchange_held(), 10);
    ledger_read(&l, 3);
    assert_int_equal(l.held, 10);
    assert_int_equal(l.imbalance, -10); // never received
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(rte_ring_dequeue(exchange_punt[PUNT_NEIGH], &m), 0);
        // In order, with an untouched private area.
        assert_int_equal(packet_meta(m)->iface, 2 * i + 1);
        rte_pktmbuf_free(m);
    }
    assert_int_equal(exchange_held(), 5);
}

unit_test(full_ring_takes_what_fits_and_refuses_the_rest)
{
    struct rte_mbuf *p[64];
    unsigned sent = 0, n = 64;

    while (n == 64) {
        assert_int_equal(rte_pktmbuf_alloc_bulk(exchange_pool, p, 64), 0);
        n = rte_ring_enqueue_burst(exchange_punt[PUNT_OTHER], (void **)p, 64, NULL);
        rte_pktmbuf_free_bulk(p + n, 64 - n);
        sent += n;
    }
    assert_int_equal(sent, PUNT_QUEUE_MAX);
}

static void look_behind(struct rte_mempool *pool, void *wrong, void *buffer, unsigned i)
{
    const struct rte_mbuf *m = buffer;
    const char *end = (const char *)m->buf_addr + m->buf_len;

    *(unsigned *)wrong += end + PACKET_BEHIND > (const char *)buffer + pool->elt_size;
}

// Forwarders may load so far (forwarder/lanes.c).
unit_test(each_buffer_has_readable_bytes_behind)
{
    unsigned wrong = 0;

    assert_int_equal(rte_mempool_obj_iter(exchange_pool, look_behind, &wrong), BUFFERS);
    assert_int_equal(wrong, 0);
}

static void look_where(struct rte_mempool *pool, void *wrong, void *buffer, unsigned i)
{
    const struct rte_mbuf *m = buffer;

    *(unsigned *)wrong += rte_mbuf_iova_get(m) == RTE_BAD_IOVA ||
                          rte_mbuf_iova_get(m) != (rte_iova_t)(uintptr_t)m->buf_addr ||
                          rte_mempool_virt2iova(m) != (rte_iova_t)(uintptr_t)m;
}

// A NIC writes to the buffer's IOVA; under vfio that is the virtual address.
unit_test(a_card_finds_each_buffer_where_it_is)
{
    unsigned wrong = 0;

    assert_int_equal(rte_eal_iova_mode(), RTE_IOVA_VA);
    assert_int_equal(rte_mempool_obj_iter(exchange_pool, look_where, &wrong), BUFFERS);
    assert_int_equal(wrong, 0);
    // Drivers that map memory themselves skip pools with this flag.
    assert_false(exchange_pool->flags & RTE_MEMPOOL_F_NON_IO);
}

unit_test(fini_frees_what_is_left)
{
    void *all[8] = {0};

    exchange_fini(); // succeeds if a second start finds names and memory free again
    assert_int_equal(exchange_init(BUFFERS, 2176), 0);
    assert_int_equal(exchange_held(), 0);
    assert_int_equal(rte_mempool_avail_count(exchange_pool), BUFFERS);
    assert_int_equal(rte_mempool_get_bulk(exchange_pool, all, 8), 0);
    rte_mempool_put_bulk(exchange_pool, all, 8);
}

int main(void)
{
    char err[300], name[32];

    snprintf(name, sizeof name, "exchange-test-%d", (int)getpid());
    rcu_init();
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    if (eal_init(&(struct eal_config){.name = name, .memory_mib = 128, .no_huge = true}, err,
                 sizeof err)) {
        fprintf(stderr, "%s\n", err);
        return 1;
    }
    if (counter_init() || exchange_init(BUFFERS, 2176))
        return 1;
    int r = unit_tests_run(NULL, NULL);
    exchange_fini();
    counter_fini();
    eal_fini();
    rcu_fini();
    return r;
}
