// SPDX-License-Identifier: BSD-3-Clause
// multicast.c - multicast routes: the writer's side and the lookup
//
// A hash with chains rather than DPDK's rte_hash, whose lock-free mode leaves freeing of keys to
// the caller anyway, takes its full size from DPDK's memory, and excels only in bulk lookups. Here
// one pointer store adds, removes or replaces an entry. 16384 entries in 8192 buckets give chains
// of two; the seed keeps senders from choosing chains.
#include "table/multicast.h"

#include <errno.h>
#include <rte_cycles.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/log.h"
#include "core/thread.h"

#define SAMPLE_S                                                                                   \
    10 // FRR considers a source silent after 30 seconds without a packet through the kernel
#define TOLD_S 3    // the interval at which Linux reports wrong interfaces

struct multicast_table *multicast_table[VR_MAX][2];
uint8_t multicast_daemon[IFACE_MAX];
uint64_t multicast_sample_cycles, multicast_told_cycles;

static void table_free(struct multicast_table *t)
{
    for (unsigned i = 0; t && i < MULTICAST_BUCKETS; i++)
        for (struct multicast_entry *e = t->bucket[i], *next; e; e = next) {
            next = e->next;
            free(e->counter);
            free(e);
        }
    free(t);
}

int multicast_init(void)
{
    multicast_sample_cycles = rte_get_tsc_hz() * SAMPLE_S;
    multicast_told_cycles = rte_get_tsc_hz() * TOLD_S;
    return 0;
}

void multicast_fini(void)
{
    for (unsigned i = 0; i < VR_MAX; i++)
        for (unsigned six = 0; six < 2; six++) {
            table_free(multicast_table[i][six]);
            multicast_table[i][six] = NULL;
        }
    memset(multicast_daemon, 0, sizeof multicast_daemon);
}

static uint32_t chain_of(const struct multicast_table *t, const struct multicast_key *k)
{
    return (uint32_t)hash_bytes(k, sizeof *k, t->seed) & (MULTICAST_BUCKETS - 1);
}

const struct multicast_entry *multicast_find(const struct multicast_table *t,
                                             const struct multicast_key *k)
{
    const struct multicast_entry *e = rcu_load(&t->bucket[chain_of(t, k)]);

    while (e && memcmp(&e->key, k, sizeof *k))
        e = rcu_load(&e->next);
    return e;
}

static void entry_free(struct rcu_retired *r)
{
    struct multicast_entry *e =
        (struct multicast_entry *)((char *)r - offsetof(struct multicast_entry, retired));

    if (e->last)
        free(e->counter);
    free(e);
}

static struct multicast_table *get_table(uint16_t vr, uint16_t family)
{
    struct multicast_table *t = multicast_table[vr][family == IP6];

    if (t)
        return t;
    t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->seed = hash_mix64(rte_rdtsc() ^ (uintptr_t)t);
    rcu_publish(&multicast_table[vr][family == IP6], t);
    return t;
}

// Returns the link to the key's entry, or to the end of the chain.
static struct multicast_entry **find_link(struct multicast_table *t, const struct multicast_key *k)
{
    struct multicast_entry **at = &t->bucket[chain_of(t, k)];

    while (*at && memcmp(&(*at)->key, k, sizeof *k))
        at = &(*at)->next;
    return at;
}

static struct multicast_counter *counter_new(void)
{
    struct multicast_counter *c = aligned_alloc(64, sizeof *c);

    if (!c)
        return NULL;
    memset(c, 0, sizeof *c);
    c->sampled = rte_rdtsc(); // its first packet has just gone to the kernel
    return c;
}

int multicast_set(uint16_t vr, const struct multicast_entry *from)
{
    struct multicast_table *t = get_table(vr, from->key.family);
    struct multicast_entry **at = t ? find_link(t, &from->key) : NULL, *old = at ? *at : NULL, *e;

    thread_must_be(ROLE_RIB_MANAGER);
    if (t && !old && t->n >= MULTICAST_MAX)
        return -ENOSPC;
    e = t ? malloc(sizeof *e) : NULL;
    if (!e)
        return -ENOMEM;
    *e = *from;
    e->last = false;
    e->next = old ? old->next : NULL;
    e->counter = old ? old->counter : from->flags & MULTICAST_JOIN ? NULL : counter_new();
    if (!e->counter && !(from->flags & MULTICAST_JOIN)) {
        free(e);
        return -ENOMEM;
    }
    rcu_publish(at, e);
    if (old)
        rcu_retire(&old->retired, entry_free);
    else
        t->n++;
    return 0;
}

static void unlink_entry(struct multicast_table *t, struct multicast_entry **at)
{
    struct multicast_entry *e = *at;

    rcu_publish(at, e->next); // readers on `e` continue by its own link
    e->last = true;
    t->n--;
    rcu_retire(&e->retired, entry_free);
}

void multicast_del(uint16_t vr, const struct multicast_key *k)
{
    struct multicast_table *t = multicast_table[vr][k->family == IP6];
    struct multicast_entry **at = t ? find_link(t, k) : NULL;

    thread_must_be(ROLE_RIB_MANAGER);
    if (at && *at)
        unlink_entry(t, at);
}

void multicast_clear(uint16_t vr)
{
    thread_must_be(ROLE_RIB_MANAGER);
    for (unsigned six = 0; six < 2; six++) {
        struct multicast_table *t = multicast_table[vr][six];

        for (unsigned i = 0; t && i < MULTICAST_BUCKETS; i++)
            while (t->bucket[i])
                unlink_entry(t, &t->bucket[i]);
    }
}

void multicast_daemon_set(uint16_t iface, uint8_t family, bool runs)
{
    uint8_t bit = family == IP4 ? 1 : 2, now = multicast_daemon[iface];

    thread_must_be(ROLE_RIB_MANAGER);
    __atomic_store_n(&multicast_daemon[iface], (uint8_t)(runs ? now | bit : now & ~bit),
                     __ATOMIC_RELAXED);
}
