// SPDX-License-Identifier: BSD-3-Clause
// nexthop_test.c - adjacencies are never torn, groups are resilient, ids are not reused too early
#include "table/nexthop.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/rcu.h"
#include "core/thread.h"
#include "table/counter.h"
#include "table/iface.h"
#include "tests/unit.h"

static struct iface *plain, *tagged;

static int open_tables(void **state)
{
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    if (counter_init() || iface_table_init() || nexthop_table_init())
        return -1;
    plain = iface_new("p0");
    tagged = iface_new("p1.7");
    memcpy(plain->mac, "\2\0\0\0\0\1", 6);
    memcpy(tagged->mac, "\2\0\0\0\0\2", 6);
    plain->port = 3;
    tagged->port = 4;
    tagged->vlan = 0x123;
    plain->mtu = tagged->mtu = 1500;
    thread_adopt(ROLE_RIB_MANAGER, THREAD_SLOT_RIB_MANAGER);
    return 0;
}

static int close_tables(void **state)
{
    rcu_barrier();
    nexthop_table_fini();
    iface_table_fini();
    counter_fini();
    return 0;
}

static void check(void)
{
    char why[120] = "";

    if (nexthop_check(why, sizeof why))
        fail_msg("%s", why);
}

static enum nexthop_kind kind_of(uint32_t id)
{
    return nexthop_word_kind(nexthop_word(nexthop_get(id)));
}

static const uint8_t *header_of(const struct nexthop *nh)
{
    uint64_t word = nexthop_word(nh);

    return nexthop_rewrite(nh, word) + NEXTHOP_REWRITE - nexthop_word_head(word);
}

#define table_test(name) unit_test_of(name, open_tables, close_tables)

table_test(adjacency_holds_the_complete_rewrite)
{
    uint32_t id = nexthop_new(NEXTHOP_HOLD, plain->id);
    const struct nexthop *nh = nexthop_get(id);

    assert_int_equal(nh->port, 3);
    nexthop_set_adjacency(id, plain->id, (const uint8_t *)"\6\6\6\6\6\6");
    assert_int_equal(kind_of(id), NEXTHOP_ADJACENCY);
    assert_int_equal(nh->head, 14);
    assert_memory_equal(header_of(nh), "\6\6\6\6\6\6\2\0\0\0\0\1", 12);
    assert_int_equal(nh->mtu, 1500);
    nexthop_set_adjacency(id, tagged->id, (const uint8_t *)"\7\7\7\7\7\7");
    assert_int_equal(nh->head, 18);
    assert_memory_equal(header_of(nh),
                        "\7\7\7\7\7\7\2\0\0\0\0\2\x81\0\1\x23", 16);
    assert_int_equal(nh->port, 4);
    check();
}

table_test(refresh_follows_mac_and_mtu_of_the_interface)
{
    uint32_t id = nexthop_new(NEXTHOP_HOLD, plain->id),
             glean = nexthop_new(NEXTHOP_GLEAN, plain->id);
    const struct nexthop *nh = nexthop_get(id);

    nexthop_set_adjacency(id, plain->id, (const uint8_t *)"\6\6\6\6\6\6");
    memcpy(plain->mac, "\2\0\0\0\0\x9", 6);
    plain->mtu = 9000;
    nexthop_refresh_iface(plain->id);
    assert_memory_equal(header_of(nh), "\6\6\6\6\6\6\2\0\0\0\0\x9", 12);
    assert_int_equal(nh->mtu, 9000);
    assert_int_equal(nexthop_get(glean)->mtu, 9000);
    check();
}

enum { FLOWS = 4096 };

static void place_flows(uint32_t group, uint32_t *member)
{
    for (uint32_t f = 0; f < FLOWS; f++)
        member[f] = nexthop_member(nexthop_get(group), f * 2654435761u >> 8);
}

static unsigned n_moved(const uint32_t *before, const uint32_t *after, uint32_t from)
{
    unsigned n = 0;

    for (unsigned f = 0; f < FLOWS; f++)
        n += before[f] != after[f] && (!from || before[f] == from);
    return n;
}

table_test(losing_a_member_moves_only_its_own_flows)
{
    uint32_t m[4], w[4] = {1, 1, 1, 1}, before[FLOWS], after[FLOWS];

    for (unsigned i = 0; i < 4; i++)
        m[i] = nexthop_new(NEXTHOP_HOLD, plain->id);
    uint32_t g = nexthop_group_new(m, w, 4);
    place_flows(g, before);
    assert_int_equal(nexthop_group_set(g, (uint32_t[]){m[0], m[1], m[3]}, w, 3), 0);
    place_flows(g, after);
    assert_true(n_moved(before, after, m[2]) > FLOWS / 5);
    assert_int_equal(n_moved(before, after, 0), n_moved(before, after, m[2]));
    check();
    // When it comes back, only about a quarter moves: its fair share.
    memcpy(before, after, sizeof before);
    assert_int_equal(nexthop_group_set(g, m, w, 4), 0);
    place_flows(g, after);
    assert_in_range(n_moved(before, after, 0), FLOWS / 5, FLOWS * 3 / 10);
    check();
}

// As FRR does when a peer goes and comes: makes another group, and moves the prefixes to it.
table_test(a_new_group_without_a_member_of_another_moves_only_its_flows)
{
    uint32_t m[4], w[4] = {1, 1, 1, 1}, before[FLOWS], after[FLOWS];

    for (unsigned i = 0; i < 4; i++)
        m[i] = nexthop_new(NEXTHOP_HOLD, plain->id);
    place_flows(nexthop_group_new(m, w, 4), before);
    place_flows(nexthop_group_new((uint32_t[]){m[3], m[0], m[1]}, w, 3), after);
    assert_true(n_moved(before, after, m[2]) > FLOWS / 5);
    assert_int_equal(n_moved(before, after, 0), n_moved(before, after, m[2]));
    check();
    memcpy(before, after, sizeof before);
    uint32_t other = nexthop_new(NEXTHOP_HOLD, plain->id); // returns as another next hop
    place_flows(nexthop_group_new((uint32_t[]){m[0], m[1], other, m[3]}, w, 4), after);
    assert_in_range(n_moved(before, after, 0), FLOWS / 5, FLOWS * 3 / 10);
    for (unsigned f = 0; f < FLOWS; f++)
        assert_true(before[f] == after[f] || after[f] == other);
    check();
}

table_test(growing_group_keeps_flows_of_members_that_stay)
{
    uint32_t m[64], w[64], before[FLOWS], after[FLOWS];

    for (unsigned i = 0; i < 64; i++) {
        m[i] = nexthop_new(NEXTHOP_HOLD, plain->id);
        w[i] = 1;
    }
    uint32_t g = nexthop_group_new(m, w, 2);
    place_flows(g, before);
    assert_int_equal(nexthop_group_set(g, m, w, 64), 0);
    place_flows(g, after);
    unsigned stayed = FLOWS - n_moved(before, after, 0);
    assert_in_range(stayed, FLOWS / 64, FLOWS / 16); // shares of two of 64 members
    check();
}

table_test(shares_follow_the_weights)
{
    uint32_t m[3], w[3] = {1, 2, 5}, placed[FLOWS];
    unsigned n[3] = {0};

    for (unsigned i = 0; i < 3; i++)
        m[i] = nexthop_new(NEXTHOP_HOLD, plain->id);
    uint32_t g = nexthop_group_new(m, w, 3);
    place_flows(g, placed);
    for (unsigned f = 0; f < FLOWS; f++)
        for (unsigned i = 0; i < 3; i++)
            n[i] += placed[f] == m[i];
    for (unsigned i = 0; i < 3; i++) {
        unsigned due = FLOWS * w[i] / 8;
        assert_in_range(n[i], due * 9 / 10, due * 11 / 10);
    }
    check();
}

table_test(tiny_weight_still_gets_a_bucket)
{
    uint32_t m[2], w[2] = {1, 1000000}, placed[FLOWS];
    unsigned n = 0;

    for (unsigned i = 0; i < 2; i++)
        m[i] = nexthop_new(NEXTHOP_HOLD, plain->id);
    place_flows(nexthop_group_new(m, w, 2), placed);
    for (unsigned f = 0; f < FLOWS; f++)
        n += placed[f] == m[0];
    assert_in_range(n, 1, FLOWS / 32);
    check();
}

table_test(empty_group_has_no_member)
{
    uint32_t m = nexthop_new(NEXTHOP_HOLD, plain->id), w = 1, g = nexthop_group_new(&m, &w, 1);

    assert_int_equal(nexthop_member(nexthop_get(g), 12345), m);
    assert_int_equal(nexthop_group_set(g, NULL, NULL, 0), 0);
    for (uint32_t h = 0; h < 1000; h++)
        assert_int_equal(nexthop_member(nexthop_get(g), h), 0);
    check();
    assert_int_equal(nexthop_group_set(g, &m, &w, NEXTHOP_MEMBER_MAX + 1), -E2BIG);
}

static _Atomic bool stop, hold_now, held_long;

static void hold_grace(void *arg)
{
    rcu_online();
    held_long = true;
    while (hold_now)
        usleep(100);
    rcu_offline();
}

table_test(id_is_not_reused_before_a_grace_period)
{
    struct thread *reader;
    uint32_t id = nexthop_new(NEXTHOP_HOLD, plain->id);

    hold_now = true;
    held_long = false;
    assert_int_equal(thread_start(&reader, ROLE_TAP_MANAGER, 2, "reader", -1, hold_grace, NULL), 0);
    while (!held_long)
        usleep(100);
    nexthop_free(id);
    usleep(50000);
    for (unsigned i = 0; i < 100; i++)
        assert_int_not_equal(nexthop_new(NEXTHOP_HOLD, plain->id), id);
    hold_now = false;
    thread_join(reader);
    rcu_barrier();
    assert_int_equal(nexthop_new(NEXTHOP_HOLD, plain->id), id);
    check();
}

table_test(full_table_refuses_and_recovers)
{
    uint32_t id, last = 0, n = 0;

    while ((id = nexthop_new(NEXTHOP_LOCAL, 0))) {
        last = id;
        n++;
    }
    assert_int_equal(n, NEXTHOP_TRIAL - 1);
    assert_int_equal(nexthop_used(), n);
    nexthop_free(last);
    rcu_barrier();
    assert_int_equal(nexthop_new(NEXTHOP_LOCAL, 0), last);
}

table_test(labels_have_ids_beyond_those_of_a_fib)
{
    struct nexthop_encap e = {
        .via = nexthop_new(NEXTHOP_HOLD, plain->id), .n = 1, .flags = NEXTHOP_ENCAP_LABEL};
    unsigned used = nexthop_used();
    uint32_t id, last = 0, n = 0;

    for (e.label_be[0] = nexthop_label(16); (id = nexthop_encap_new(&e)); n++) {
        assert_true(id >= NEXTHOP_MAX);
        last = id;
    }
    assert_int_equal(n, NEXTHOP_ALL_MAX - NEXTHOP_MAX);
    assert_int_equal(nexthop_used(), used);
    assert_true(nexthop_leads_out(last, plain->id));
    assert_false(nexthop_used_since(last, 8));
    plain->mtu = 9000;
    nexthop_refresh_iface(plain->id);
    assert_int_equal(nexthop_get(last)->mtu, 8996);
    check();
    nexthop_free(last);
    rcu_barrier();
    assert_int_equal(nexthop_encap_new(&e), last);
    check();
}

table_test(marks_of_forwarders_say_what_is_in_use)
{
    uint32_t id = nexthop_new(NEXTHOP_HOLD, plain->id);

    assert_false(nexthop_used_since(id, 8));
    nexthop_used_mark[2][id] = nexthop_used_epoch;
    assert_true(nexthop_used_since(id, 1));
    nexthop_used_epoch += 3;
    assert_false(nexthop_used_since(id, 3));
    assert_true(nexthop_used_since(id, 4));
    nexthop_free(id);
    rcu_barrier();
    assert_int_equal(nexthop_new(NEXTHOP_HOLD, plain->id), id);
    assert_false(nexthop_used_since(id, 8));
}

// Random operations; the invariants hold after each.
enum { IDS = 300, GROUPS = 40, STEPS = 6000 };

static uint32_t leaf[IDS], group[GROUPS];
static uint32_t members[GROUPS][8];
static unsigned n_members[GROUPS];

static bool leaf_is_used(uint32_t id)
{
    for (unsigned g = 0; g < GROUPS; g++)
        for (unsigned i = 0; group[g] && i < n_members[g]; i++)
            if (members[g][i] == id)
                return true;
    return false;
}

static void change_group(unsigned g)
{
    uint32_t w[8];

    n_members[g] = 0;
    for (unsigned i = 0; i < (unsigned)random() % 9; i++) {
        uint32_t id = leaf[random() % IDS];
        if (id) {
            w[n_members[g]] = 1 + (uint32_t)random() % 5;
            members[g][n_members[g]++] = id;
        }
    }
    if (group[g])
        assert_int_equal(nexthop_group_set(group[g], members[g], w, n_members[g]), 0);
    else
        group[g] = nexthop_group_new(members[g], w, n_members[g]);
    assert_int_not_equal(group[g], 0);
}

static void change_leaf(unsigned i)
{
    uint8_t mac[6] = {2, (uint8_t)random()};

    if (!leaf[i])
        leaf[i] = nexthop_new(random() % 2 ? NEXTHOP_HOLD : NEXTHOP_GLEAN,
                              random() % 2 ? plain->id : tagged->id);
    else if (random() % 3)
        nexthop_set_kind(leaf[i], random() % 2 ? NEXTHOP_HOLD : NEXTHOP_FAILED);
    else
        nexthop_set_adjacency(leaf[i], nexthop_get(leaf[i])->iface, mac);
}

table_test(random_operations_keep_the_invariants)
{
    srandom(1);
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned i = (unsigned)random() % IDS, g = (unsigned)random() % GROUPS;
        switch (random() % 8) {
        case 0:
            if (leaf[i] && !leaf_is_used(leaf[i])) {
                nexthop_free(leaf[i]);
                leaf[i] = 0;
            }
            break;
        case 1:
            if (group[g]) {
                nexthop_free(group[g]);
                group[g] = 0;
            }
            break;
        case 2:
        case 3:
            change_group(g);
            break;
        default:
            change_leaf(i);
        }
        check();
    }
}

table_test(an_encap_leads_out_by_its_neighbor_and_joins_groups_and_aliases)
{
    uint32_t via = nexthop_new(NEXTHOP_HOLD, plain->id);
    struct nexthop_encap e = {
        .via = via, .n = 2, .label_be = {nexthop_label(16), nexthop_label(1048575)}};
    uint32_t id = nexthop_encap_new(&e), other = nexthop_new(NEXTHOP_HOLD, tagged->id);

    assert_int_equal(kind_of(id), NEXTHOP_ENCAP);
    assert_string_equal(nexthop_kind_name(NEXTHOP_ENCAP), "encap");
    assert_true(nexthop_leads_out(id, plain->id));
    assert_int_equal(nexthop_get(id)->mtu, 1492);
    uint32_t g = nexthop_group_new((uint32_t[]){id, other}, (uint32_t[]){1, 1}, 2);
    assert_true(nexthop_leads_out(g, plain->id));
    struct nexthop_alias a = {.target = id};
    assert_int_equal(nexthop_real(nexthop_alias_new(&a)), id);
    assert_int_equal(nexthop_label_number(nexthop_get(id)->encap.label_be[1]), 1048575);
    plain->mtu = 9000;
    nexthop_refresh_iface(plain->id);
    assert_int_equal(nexthop_get(id)->mtu, 8992);
    assert_true(nexthop_encap_new(&(struct nexthop_encap){.vr = 3})); // pops into a lookup
    check();
    nexthop_free(via); // while `id` names it
    char why[120];
    assert_int_equal(nexthop_check(why, sizeof why), -EINVAL);
    assert_non_null(strstr(why, "N5"));
}

static uint32_t torn_id;
static _Atomic unsigned n_torn, n_read;

static void read_rewrites(void *arg)
{
    const struct nexthop *nh = nexthop_get(torn_id);

    rcu_online();
    while (!stop) {
        const uint8_t *r = header_of(nh);
        for (unsigned k = 1; k < 6; k++) // the writer's MACs have six equal bytes
            n_torn += __atomic_load_n(&r[k], __ATOMIC_RELAXED) !=
                      __atomic_load_n(&r[0], __ATOMIC_RELAXED);
        n_read++;
        rcu_quiescent();
    }
    rcu_offline();
}

table_test(rewrite_is_never_seen_half_changed)
{
    struct thread *reader;
    uint8_t mac[6];

    torn_id = nexthop_new(NEXTHOP_HOLD, plain->id);
    memset(mac, 1, sizeof mac);
    nexthop_set_adjacency(torn_id, plain->id, mac);
    stop = false;
    assert_int_equal(thread_start(&reader, ROLE_TAP_MANAGER, 2, "reader", -1, read_rewrites, NULL),
                     0);
    for (unsigned i = 0; i < 2000 || n_read < 1000; i++) {
        memset(mac, (int)(i & 0x7f), sizeof mac);
        nexthop_set_adjacency(torn_id, plain->id, mac);
    }
    stop = true;
    thread_join(reader);
    assert_int_equal(n_torn, 0);
    check();
}
