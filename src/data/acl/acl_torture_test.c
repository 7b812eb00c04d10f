// SPDX-License-Identifier: BSD-3-Clause
// acl_torture_test.c - readers check every answer while the writer runs at full speed
//
// The first rules stay, the others come and go. A result is correct if the rule that owns the slot
// matches the packet and is not behind the first stable rule that matches. A reader may see a new
// rule's slot before the writer has published its owner: then it waits for that.
#include "acl/acl_fixture.h"
#include "tests/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#define RULES 1200u
#define PACKETS 2048u
#define READERS 2
#define PATIENCE 20000000u // reads of a slot's owner
#define LOOKS 1024u        // then the writer, which may have no CPU, gets a millisecond

static uint32_t n_rules, n_stable; // of a list
static struct acl *list;
static struct acl_rule rule[RULES];
static bool in[RULES];
static struct kit_key packet[PACKETS];
static struct acl_key4 packet4[PACKETS];
static struct acl_key6 packet6[PACKETS];
static uint32_t stable[PACKETS];          // number of the first stable rule that matches
static _Atomic uint32_t owner[4 * RULES]; // of a slot: rule + 1
static _Atomic bool stop;
static _Atomic uint64_t bursts[READERS], wrong;

static bool right(unsigned at, uint32_t slot)
{
    if (slot == ACL_MISS)
        return stable[at] == UINT32_MAX;
    for (unsigned i = 0; slot < 4 * RULES && i < PATIENCE; i++) {
        uint32_t r = atomic_load_explicit(&owner[slot], memory_order_acquire);

        if (r && rule[r - 1].number <= stable[at] && kit_matches(&rule[r - 1], &packet[at]))
            return true;
        if (i % LOOKS == LOOKS - 1)
            usleep(1000);
    }
    return false;
}

static void *read_all(void *arg)
{
    unsigned me = (unsigned)(uintptr_t)arg, at = me * 77;
    uint32_t slot[64];

    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        unsigned from = at % (PACKETS - 64), n = 1 + at % 64;

        if (packet[from].v6)
            acl_classify6(list, packet6 + from, slot, n);
        else
            acl_classify4(list, packet4 + from, slot, n);
        for (unsigned i = 0; i < n; i++)
            if (packet[from + i].v6 == packet[from].v6 && !right(from + i, slot[i]))
                atomic_fetch_add(&wrong, 1);
        at = at * 5 + 64;
        atomic_fetch_add_explicit(&bursts[me], 1, memory_order_release); // partner: grace_passed
    }
    return NULL;
}

static void grace_begin(uint64_t *seen)
{
    atomic_thread_fence(memory_order_seq_cst); // the stores are visible before the counts are read
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

static void make_rules(void)
{
    for (uint32_t i = 0; i < n_rules; i++)
        rule[i] = (n_rules < RULES ? kit_rule_without_sets : kit_rule)(i * 7 % n_rules);
    for (unsigned i = 0; i < PACKETS; i++) {
        do
            packet[i] = kit_key(&rule[kit_random(n_rules)]);
        while (packet[i].v6 != (i >= PACKETS / 2));
        packet4[i] = packet[i].k4;
        packet6[i] = packet[i].k6;
        stable[i] = kit_first(rule, n_stable, &packet[i]);
    }
}

static void own(uint32_t i)
{
    atomic_store_explicit(&owner[acl_slot_of(list, rule[i].number)], i + 1, memory_order_release);
}

static void change(uint32_t i)
{
    if (in[i]) {
        assert_int_equal(acl_del(list, rule[i].number), 0);
    } else {
        assert_int_equal(acl_add(list, &rule[i]), 0);
        own(i);
    }
    in[i] = !in[i];
}

static double seconds(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec + ts.tv_nsec * 1e-9;
}

static void write_for(double duration)
{
    double end = seconds() + duration;
    uint64_t seen[READERS], epoch = 0, changes = 0;
    bool waiting = false;

    while (seconds() < end) {
        for (unsigned i = 0; i < 20; i++, changes++)
            change(n_stable + kit_random(n_rules - n_stable));
        if (waiting && grace_passed(seen)) {
            acl_reclaim(list, epoch);
            waiting = false;
        }
        if (!waiting) {
            epoch = acl_epoch(list);
            grace_begin(seen);
            waiting = true;
        }
        while (changes % 1000 == 0 && !grace_passed(seen)) // else slots run out
            ;
    }
    print_message("%lu changes\n", (unsigned long)changes);
}

static void torture(uint32_t rules, uint32_t those_that_stay)
{
    const char *longer = getenv("KAMUEE_TORTURE_SECONDS");
    pthread_t thread[READERS];

    n_rules = rules;
    n_stable = those_that_stay;
    atomic_store(&stop, false);
    atomic_store(&wrong, 0);
    memset(in, 0, sizeof in);
    memset(owner, 0, sizeof owner);
    make_rules();
    list = acl_new(&kit_config);
    assert_non_null(list);
    assert_int_equal(acl_load(list, rule, n_stable), 0);
    for (uint32_t i = 0; i < n_stable; i++)
        own(i);
    for (uintptr_t i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, read_all, (void *)i), 0);
    write_for(longer != NULL ? atof(longer) : 1.0);
    atomic_store(&stop, true);
    for (unsigned i = 0; i < READERS; i++) {
        pthread_join(thread[i], NULL);
        assert_true(atomic_load(&bursts[i]) > 0);
    }
    assert_int_equal(atomic_load(&wrong), 0);
    kit_must_be_sound(list);
    acl_free(list);
}

unit_test(readers_in_plain_c_never_see_a_wrong_rule)
{
    acl_use_simd(ACL_PLAIN);
    torture(RULES, 200);
}

static void use_the_best(void)
{
    for (unsigned s = ACL_SIMDS; !acl_use_simd(s - 1);)
        s--;
}

unit_test(readers_with_vectors_never_see_a_wrong_rule)
{
    use_the_best();
    torture(RULES, 200);
}

// Linear matching, rebuilt in place again and again.
unit_test(readers_of_few_rules_never_see_a_wrong_one)
{
    use_the_best();
    torture(60, 20);
}

unit_test(readers_of_buckets_never_see_a_wrong_rule)
{
    kit_config.buckets_from = 1;
    for (unsigned s = 0; s < ACL_SIMDS; s++)
        if (acl_use_simd(s))
            torture(RULES - 1, 200);
    kit_config.buckets_from = UINT32_MAX;
}

unit_test(readers_of_prefix_rules_never_see_a_wrong_one)
{
    kit_config.prefix_rules_from = 1;
    use_the_best();
    torture(RULES, 200);
    kit_config.prefix_rules_from = 0;
}

int main(void)
{
    return unit_tests_run(sets_new, sets_free);
}
