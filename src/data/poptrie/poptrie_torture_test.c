// SPDX-License-Identifier: BSD-3-Clause
// poptrie_torture_test.c - readers check every answer while the writer runs at full speed
//
// Some routes are stable, the others are added, changed and removed. A value identifies its route,
// so a reader can check any answer without the writer: the route must cover the address, and must
// not be shorter than the longest stable route that does. Anything else is a wrong next hop for a
// prefix that was not being changed, or memory that was reused too early (debug builds poison it).
//
// Grace periods in user space: a reader counts its bursts; garbage is reclaimed when every reader's
// count has advanced since the epoch was closed. KAMUEE_TORTURE_SECONDS sets a longer run.
#include "poptrie/reference_lpm.h"
#include "tests/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#define ROUTES 1000
#define STABLE 200 // the first routes
#define PROBES 4096
#define READERS 2
#define VARIANTS 8 // values of a route: route + ROUTES * variant; mixed blocks hold them all

static struct poptrie *table;
static struct poptrie_route route[ROUTES];
static unsigned key_bits;
static uint8_t probe[PROBES][16];
static int stable_len[PROBES]; // longest stable route that covers the probe, -1 = none
static _Atomic bool stop;
static _Atomic uint64_t bursts[READERS], wrong;
static char first_wrong[200];

static void judge(unsigned at, uint32_t value)
{
    const struct poptrie_route *r = &route[(value - 1) % ROUTES];
    bool ok = value == POPTRIE_NONE ? stable_len[at] < 0
                                    : value <= ROUTES * VARIANTS && r->len >= stable_len[at] &&
                                          lpm_covers(r->key, r->len, probe[at]);

    if (!ok && atomic_fetch_add(&wrong, 1) == 0)
        snprintf(first_wrong, sizeof(first_wrong),
                 "probe %u (%u.%u.%u.%u...) got %u, a route of length %u; stable length %d", at,
                 probe[at][0], probe[at][1], probe[at][2], probe[at][3], value, r->len,
                 stable_len[at]);
}

static void *read_all(void *arg)
{
    unsigned me = (uintptr_t)arg;
    uint64_t seed = 77 + me;
    uint32_t dst[128], got[128];

    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        unsigned from = lpm_random(&seed) % PROBES, n = 1 + lpm_random(&seed) % 128;

        n = from + n > PROBES ? PROBES - from : n;
        if (key_bits == 32) {
            for (unsigned i = 0; i < n; i++)
                memcpy(&dst[i], probe[from + i], 4);
            poptrie_find4_bulk(table, dst, got, n);
        } else {
            poptrie_find6_bulk(table, (const uint8_t(*)[16])probe + from, got, n);
        }
        for (unsigned i = 0; i < n; i++)
            judge(from + i, got[i]);
        judge(from,
              key_bits == 32 ? poptrie_find4(table, dst[0]) : poptrie_find6(table, probe[from]));
        // partner: grace_passed(); all reads above are complete
        atomic_fetch_add_explicit(&bursts[me], 1, memory_order_release);
    }
    return NULL;
}

static void grace_begin(uint64_t *seen)
{
    atomic_thread_fence(memory_order_seq_cst); // stores become visible before the counts are read
    for (unsigned i = 0; i < READERS; i++)
        seen[i] = atomic_load_explicit(&bursts[i], memory_order_acquire);
}

static bool grace_passed(const uint64_t *seen)
{
    for (unsigned i = 0; i < READERS; i++)
        if (atomic_load_explicit(&bursts[i], memory_order_acquire) < seen[i] + 2)
            return false;
    return true;
}

static void make_routes(uint64_t *seed)
{
    for (unsigned i = 0; i < ROUTES; i++) {
        struct poptrie_route *r = &route[i];
        bool fresh;

        do {
            memset(r, 0, sizeof(*r));
            lpm_random_key(seed, key_bits, r->key);
            r->len = lpm_random_len(seed, key_bits);
            lpm_mask(r->key, r->len);
            fresh = true;
            for (unsigned j = 0; j < i; j++)
                fresh &= route[j].len != r->len || memcmp(route[j].key, r->key, 16) != 0;
        } while (!fresh);
        r->value = i + 1;
    }
    for (unsigned i = 0; i < PROBES; i++) {
        const struct poptrie_route *r = &route[lpm_random(seed) % ROUTES];
        uint8_t net[16];

        lpm_random_key(seed, key_bits, probe[i]);
        memset(net, 0xff, 16);
        lpm_mask(net, r->len);
        for (unsigned j = 0; j < 16; j++)
            probe[i][j] = r->key[j] | (probe[i][j] & ~net[j]);
        stable_len[i] = -1;
        for (unsigned j = 0; j < STABLE; j++)
            if (route[j].len > stable_len[i] && lpm_covers(route[j].key, route[j].len, probe[i]))
                stable_len[i] = route[j].len;
    }
}

static double seconds(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec + ts.tv_nsec * 1e-9;
}

static void write_for(double duration, uint64_t *seed)
{
    double end = seconds() + duration;
    uint64_t seen[READERS], epoch = 0, updates = 0;
    bool waiting = false;

    while (seconds() < end) {
        for (unsigned i = 0; i < 50; i++, updates++) {
            uint64_t r = lpm_random(seed) >> 8;
            unsigned at = STABLE + r % (ROUTES - STABLE);
            uint32_t value = at + 1 + ROUTES * ((r >> 20) % VARIANTS);

            if ((r >> 40) % 3 == 0)
                poptrie_del(table, route[at].key, route[at].len);
            else
                assert_int_equal(poptrie_add(table, route[at].key, route[at].len, value), 0);
        }
        if (waiting && grace_passed(seen)) {
            poptrie_reclaim(table, epoch);
            waiting = false;
        }
        if (!waiting) {
            epoch = poptrie_epoch(table);
            grace_begin(seen);
            waiting = true;
        }
        if (updates % 20000 == 0) // occasionally reloads the stable routes
            assert_int_equal(poptrie_load(table, route, STABLE), 0);
    }
    print_message("%lu updates\n", (unsigned long)updates);
}

static void torture(unsigned bits)
{
    const char *longer = getenv("KAMUEE_TORTURE_SECONDS");
    uint64_t seed = 4711 + bits;
    pthread_t thread[READERS];
    char why[200] = "";

    key_bits = bits;
    atomic_store(&stop, false);
    atomic_store(&wrong, 0);
    make_routes(&seed);
    table = poptrie_new(&(struct poptrie_config){.key_bits = bits});
    assert_non_null(table);
    assert_int_equal(poptrie_load(table, route, STABLE), 0);
    for (uintptr_t i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, read_all, (void *)i), 0);
    write_for(longer != NULL ? atof(longer) : 1.0, &seed);
    atomic_store(&stop, true);
    for (unsigned i = 0; i < READERS; i++) {
        pthread_join(thread[i], NULL);
        assert_true(atomic_load(&bursts[i]) > 0);
    }
    if (atomic_load(&wrong) != 0)
        fail_msg("%lu wrong answers; the first: %s", (unsigned long)atomic_load(&wrong),
                 first_wrong);
    poptrie_reclaim(table, poptrie_epoch(table));
    if (poptrie_check(table, why, sizeof(why)) != 0)
        fail_msg("%s", why);
    poptrie_free(table);
}

unit_test(ip4_readers_never_see_a_wrong_next_hop)
{
    for (int k = POPTRIE_KERNEL_SCALAR; k < POPTRIE_KERNELS; k++)
        if (poptrie_set_kernel(k, 0) == 0)
            torture(32);
}

unit_test(ip6_readers_never_see_a_wrong_next_hop)
{
    for (int k = POPTRIE_KERNEL_SCALAR; k < POPTRIE_KERNELS; k++)
        if (poptrie_set_kernel(k, 0) == 0)
            torture(128);
}
