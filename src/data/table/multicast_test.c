// SPDX-License-Identifier: BSD-3-Clause
// multicast_test.c - random changes of the multicast table against a naive list, with a concurrent
// reader
#include <stdlib.h>

#include <errno.h>
#include <pthread.h>

#include "core/thread.h"
#include "table/multicast.h"
#include "tests/unit.h"

#define KEYS 300

static struct {
    bool there;
    struct multicast_entry e;
} model[KEYS];

static int setup(void **state)
{
    thread_adopt(ROLE_RIB_MANAGER, THREAD_SLOT_RIB_MANAGER);
    memset(model, 0, sizeof model);
    return multicast_init();
}

static int teardown(void **state)
{
    rcu_barrier();
    multicast_fini();
    return 0;
}

// Few distinct bytes, so that sources, groups, joins and families differ in only one part.
static struct multicast_key key_of(unsigned i)
{
    struct multicast_key k = {.family = i % 2 ? IP4 : IP6};

    k.group[0] = k.family == IP4 ? 239 : 0xff;
    k.group[3] = (uint8_t)(i / 2 % 10);
    if (i / 20 % 3 == 1)
        k.source[0] = (uint8_t)(1 + i / 60);
    else if (i / 20 % 3 == 2)
        k.iface = (uint16_t)(1 + i / 60);
    else
        k.group[2] = (uint8_t)(i / 60);
    return k;
}

static struct multicast_entry entry_of(unsigned i)
{
    struct multicast_entry e = {.key = key_of(i), .in = (uint16_t)(random() % 100)};

    e.flags = e.key.iface ? MULTICAST_JOIN : random() % 8;
    e.n_out = (uint8_t)(random() % (MULTICAST_OUT_MAX + 1));
    for (unsigned k = 0; k < e.n_out; k++)
        e.out[k] = (struct multicast_out){(uint16_t)(random() % 100), (uint8_t)random()};
    return e;
}

static void assert_same_as_model(uint16_t vr, unsigned i)
{
    struct multicast_key k = key_of(i);
    const struct multicast_table *t = multicast_table[vr][k.family == IP6];
    const struct multicast_entry *e = t ? multicast_find(t, &k) : NULL, *m = &model[i].e;

    assert_int_equal(e != NULL, model[i].there);
    if (!e)
        return;
    assert_int_equal(e->in, m->in);
    assert_int_equal(e->flags, m->flags);
    assert_int_equal(e->n_out, m->n_out);
    assert_memory_equal(e->out, m->out, e->n_out * sizeof *e->out);
    assert_int_equal(e->counter == NULL, k.iface != 0);
    if (e->counter)
        assert_int_equal(e->counter->packets, i);
}

#define multicast_test(name) unit_test_of(name, setup, teardown)

multicast_test(random_changes_agree_with_a_list)
{
    srandom(7);
    for (unsigned n = 0; n < 60000; n++) {
        unsigned i = (unsigned)random() % KEYS;
        struct multicast_key k = key_of(i);
        if (random() % 3) {
            bool had = model[i].there;
            struct multicast_entry e = entry_of(i);
            assert_int_equal(multicast_set(3, &e), 0);
            model[i].there = true;
            model[i].e = e;
            if (!had && !k.iface) // counts stay with the key
                multicast_find(multicast_table[3][k.family == IP6], &k)->counter->packets = i;
        } else {
            multicast_del(3, &k);
            model[i].there = false;
        }
        assert_same_as_model(3, (unsigned)random() % KEYS);
    }
    for (unsigned i = 0; i < KEYS; i++)
        assert_same_as_model(3, i);
    multicast_clear(3);
    memset(model, 0, sizeof model);
    for (unsigned i = 0; i < KEYS; i++)
        assert_same_as_model(3, i);
}

multicast_test(virtual_routers_have_tables_of_their_own)
{
    struct multicast_entry e = entry_of(1);

    assert_int_equal(multicast_set(3, &e), 0);
    assert_null(multicast_table[4][0]);
    multicast_clear(4);
    assert_non_null(multicast_find(multicast_table[3][0], &e.key));
}

multicast_test(a_full_table_refuses_and_still_replaces)
{
    struct multicast_entry e = {.key = {.family = IP4, .group = {239}}};

    for (uint32_t i = 0; i < MULTICAST_MAX; i++) {
        memcpy(e.key.source, &i, 4);
        assert_int_equal(multicast_set(0, &e), 0);
    }
    e.in = 9;
    assert_int_equal(multicast_set(0, &e), 0);
    uint32_t more = MULTICAST_MAX;
    struct multicast_key last = e.key;
    memcpy(e.key.source, &more, 4);
    assert_int_equal(multicast_set(0, &e), -ENOSPC);
    assert_null(multicast_find(multicast_table[0][0], &e.key));
    multicast_del(0, &last);
    assert_int_equal(multicast_set(0, &e), 0);
}

static bool stop;

// A reader finds only entries that were set: all their outputs carry the number of `in`.
static void *reader(void *arg)
{
    uint64_t *torn = arg;
    struct multicast_key k = key_of(1), other = key_of(61);

    rcu_thread_register();
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        const struct multicast_table *t = rcu_load(&multicast_table[0][0]);
        for (unsigned n = 0; t && n < 2; n++) {
            const struct multicast_entry *e = multicast_find(t, n ? &other : &k);
            for (unsigned i = 0; e && i < e->n_out; i++)
                *torn += e->out[i].iface != e->in;
            if (e)
                __atomic_fetch_add(&e->counter->packets, 1, __ATOMIC_RELAXED);
        }
        rcu_quiescent();
    }
    rcu_thread_unregister();
    return NULL;
}

multicast_test(a_reader_beside_the_writer_sees_whole_entries)
{
    pthread_t t;
    uint64_t torn = 0;

    stop = false;
    assert_int_equal(pthread_create(&t, NULL, reader, &torn), 0);
    for (unsigned n = 0; n < 30000; n++) {
        struct multicast_entry e = {
            .key = key_of(n % 2 ? 1 : 61), .in = (uint16_t)n, .n_out = MULTICAST_OUT_MAX};
        for (unsigned i = 0; i < MULTICAST_OUT_MAX; i++)
            e.out[i].iface = (uint16_t)n;
        if (n % 7)
            assert_int_equal(multicast_set(0, &e), 0);
        else
            multicast_del(0, &e.key);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(t, NULL);
    assert_int_equal(torn, 0);
}

multicast_test(a_daemon_is_known_by_interface_and_family)
{
    multicast_daemon_set(5, IP4, true);
    multicast_daemon_set(5, IP6, true);
    multicast_daemon_set(5, IP4, false);
    assert_int_equal(multicast_daemon[5], 2);
    assert_int_equal(multicast_daemon[4], 0);
}
