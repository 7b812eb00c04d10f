// SPDX-License-Identifier: BSD-3-Clause
// label_test.c - random changes of two label tables against a naive one, with a concurrent reader
#include "table/label.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "core/thread.h"
#include "tests/unit.h"

enum { VRS = 2, CHANGES = 200000 };
static uint32_t model[VRS][LABEL_MAX];
static bool stop;

static int setup(void **state)
{
    thread_adopt(ROLE_RIB_MANAGER, THREAD_SLOT_RIB_MANAGER);
    memset(model, 0, sizeof model);
    return nexthop_table_init();
}

static int teardown(void **state)
{
    for (uint16_t vr = 0; vr < VRS; vr++)
        label_table_drop(vr);
    rcu_barrier();
    nexthop_table_fini();
    return 0;
}

// Small labels are the most frequent, so that tables grow step by step.
static uint32_t any_label(void)
{
    uint32_t end = LABEL_MAX >> (unsigned)random() % 16;

    return LABEL_FIRST + (uint32_t)random() % (end - LABEL_FIRST);
}

static uint32_t id_of(uint32_t label)
{
    return 1 + label % (NEXTHOP_MAX - 1);
}

// A label of either table never names anything else than 0 or its id.
static void *read_labels(void *arg)
{
    rcu_thread_register();
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        const struct label_table *t = label_table(0);
        for (unsigned i = 0; i < 64; i++) {
            uint32_t l = i * 7919 % LABEL_MAX, id = label_word_id(label_find(t, l));
            bug_on(id && id != id_of(l));
        }
        rcu_quiescent();
    }
    rcu_thread_unregister();
    return NULL;
}

static void compare(void)
{
    for (uint16_t vr = 0; vr < VRS; vr++) {
        uint32_t n = 0;
        for (uint32_t l = 0; l < LABEL_MAX; l++) {
            assert_int_equal(label_word_id(label_find(label_table(vr), l)), model[vr][l]);
            n += model[vr][l] != 0;
        }
        assert_int_equal(label_count(vr), n);
    }
}

unit_test_of(random_changes_match_a_naive_table, setup, teardown)
{
    pthread_t reader;

    stop = false;
    assert_int_equal(pthread_create(&reader, NULL, read_labels, NULL), 0);
    for (unsigned i = 0; i < CHANGES; i++) {
        uint16_t vr = (uint16_t)(random() % VRS);
        uint32_t l = any_label(), id = random() % 3 ? id_of(l) : 0;
        assert_int_equal(label_set(vr, l, id), 0);
        model[vr][l] = id;
        assert_int_equal(label_get(vr, l), id);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(reader, NULL);
    compare();
}

unit_test_of(a_dropped_table_is_empty_and_can_be_filled_again, setup, teardown)
{
    assert_int_equal(label_set(1, LABEL_MAX - 1, 5), 0);
    assert_int_equal(label_set(1, 16, 6), 0);
    label_table_drop(1);
    assert_int_equal(label_count(1), 0);
    assert_int_equal(label_get(1, LABEL_MAX - 1), 0);
    assert_int_equal(label_set(1, 17, 0), 0); // unknown, and stays so
    assert_int_equal(label_set(1, 17, 7), 0);
    assert_int_equal(label_get(1, 17), 7);
    assert_int_equal(label_get(0, 17), 0);
    assert_int_equal(label_find(label_table(1), UINT32_MAX), 0);
}

unit_test_of(a_word_has_what_the_usual_operations_need, setup, teardown)
{
    uint32_t via = nexthop_new(NEXTHOP_HOLD, 0),
             swap = nexthop_encap_new(&(struct nexthop_encap){
                 .via = via, .n = 1, .label_be = {nexthop_label(LABEL_MAX - 1)}}),
             push = nexthop_encap_new(&(struct nexthop_encap){
                 .via = via, .n = 2, .label_be = {nexthop_label(16), nexthop_label(17)}}),
             bare = nexthop_encap_new(&(struct nexthop_encap){.via = via}),
             pop = nexthop_encap_new(
                 &(struct nexthop_encap){.vr = VR_MAX - 1, .flags = NEXTHOP_ENCAP_PIPE}),
             group = nexthop_group_new(&swap, (uint32_t[]){1}, 1);

    const uint32_t id[] = {swap, push, bare, pop, group};
    for (uint32_t i = 0; i < sizeof id / sizeof *id; i++) {
        assert_int_equal(label_set(0, 16 + i, id[i]), 0);
        const uint64_t word = label_find(label_table(0), 16 + i);
        assert_int_equal(label_word_id(word), id[i]);
        assert_int_equal(word & (LABEL_SWAP | LABEL_POP | LABEL_BARE), id[i] == swap   ? LABEL_SWAP
                                                                       : id[i] == pop  ? LABEL_POP
                                                                       : id[i] == bare ? LABEL_BARE
                                                                                       : 0);
        if (id[i] == swap) {
            assert_int_equal(label_word_to(word), via);
            assert_int_equal(nexthop_label_number(label_word_new(word)), LABEL_MAX - 1);
        }
        if (id[i] == bare)
            assert_int_equal(label_word_to(word), via);
        if (id[i] == pop) {
            assert_int_equal(label_word_to(word), VR_MAX - 1);
            assert_int_equal(label_word_new(word), NEXTHOP_ENCAP_PIPE);
        }
    }
}
