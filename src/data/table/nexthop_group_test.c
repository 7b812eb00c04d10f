// SPDX-License-Identifier: BSD-3-Clause
// nexthop_group_test.c - groups against a model that counts buckets: moves and fairness
#include <stdlib.h>
#include <string.h>

#include "core/rcu.h"
#include "core/thread.h"
#include "table/counter.h"
#include "table/iface.h"
#include "table/nexthop.h"
#include "tests/unit.h"

enum {
    MEMBERS = 200,
    BUCKETS = 4096
}; // the largest group there is: a hash below 4096 names one bucket of any group

static uint32_t member[MEMBERS];

static int open_tables(void **state)
{
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    if (counter_init() || iface_table_init() || nexthop_table_init())
        return -1;
    struct iface *i = iface_new("p0");
    thread_adopt(ROLE_RIB_MANAGER, THREAD_SLOT_RIB_MANAGER);
    for (unsigned k = 0; k < MEMBERS; k++)
        member[k] = nexthop_new(NEXTHOP_HOLD, i->id);
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

// The owner of each of 4096 hashes in a group: smaller groups repeat, so counts are in units of
// 1/4096.
struct picture {
    uint32_t owner[BUCKETS];
    unsigned count[MEMBERS]; // by index into member[]
};

static unsigned index_of(uint32_t id)
{
    for (unsigned k = 0; k < MEMBERS; k++)
        if (member[k] == id)
            return k;
    fail_msg("bucket names %u, which is no member", id);
    return 0;
}

static void look(uint32_t group, struct picture *p)
{
    memset(p, 0, sizeof *p);
    for (uint32_t h = 0; h < BUCKETS; h++) {
        p->owner[h] = nexthop_member(nexthop_get(group), h);
        p->count[index_of(p->owner[h])]++;
    }
}

static unsigned moved(const struct picture *before, const struct picture *after)
{
    unsigned n = 0;

    for (uint32_t h = 0; h < BUCKETS; h++)
        n += before->owner[h] != after->owner[h];
    return n;
}

// The least possible number of moves: the sum of all losses.
static unsigned moves_due(const struct picture *before, const struct picture *after)
{
    unsigned n = 0;

    for (unsigned k = 0; k < MEMBERS; k++)
        n += before->count[k] > after->count[k] ? before->count[k] - after->count[k] : 0;
    return n;
}

struct set { // weights by index; 0 = not a member
    uint32_t weight[MEMBERS];
    unsigned n;
};

static void apply(uint32_t *group, const struct set *s)
{
    uint32_t id[MEMBERS], w[MEMBERS];
    unsigned n = 0;
    char why[120] = "";

    for (unsigned k = 0; k < MEMBERS; k++)
        if (s->weight[k]) {
            id[n] = member[k];
            w[n++] = s->weight[k];
        }
    if (*group)
        assert_int_equal(nexthop_group_set(*group, id, w, n), 0);
    else
        *group = nexthop_group_new(id, w, n);
    assert_int_not_equal(*group, 0);
    if (nexthop_check(why, sizeof why))
        fail_msg("%s", why);
}

static unsigned size_of(uint32_t group)
{
    return (unsigned)(nexthop_get(group)->group.word >> 32) + 1;
}

// Each member is within three buckets of its due, except where tiny weights, with at least one
// bucket each, take from the others.
static void is_fair(uint32_t group, const struct set *s, const struct picture *p)
{
    unsigned unit = BUCKETS / size_of(group);
    double sum = 0, forced = 0;

    for (unsigned k = 0; k < MEMBERS; k++)
        sum += s->weight[k];
    for (unsigned k = 0; k < MEMBERS; k++) {
        double due = size_of(group) * (s->weight[k] / sum);
        forced += s->weight[k] && due < 1 ? 1 - due : 0;
    }
    for (unsigned k = 0; k < MEMBERS; k++) {
        double due = size_of(group) * (s->weight[k] / sum), has = (double)p->count[k] / unit;
        assert_true(!s->weight[k] == !p->count[k]);
        if (s->weight[k] && (has < due - 3 - forced || has > due + 3))
            fail_msg("member %u of weight %u has %.2f of %u buckets, due %.2f", k, s->weight[k],
                     has, size_of(group), due);
    }
}

static unsigned some(const struct set *s, bool in)
{
    unsigned k;

    do
        k = (unsigned)random() % MEMBERS;
    while (!s->weight[k] == in);
    return k;
}

static uint32_t some_weight(void)
{
    static const uint32_t w[] = {1, 1, 1, 1, 2, 3, 10, 100, 255};

    return w[random() % 9];
}

#define group_test(name) unit_test_of(name, open_tables, close_tables)

// Members join, leave and change their weights at random. Whatever the history:
//   one leaves  exactly its own buckets move
//   one joins   every bucket that moves becomes its own, and only as many as it gets
//   any change  as few buckets move as the new shares allow
group_test(random_changes_move_exactly_what_they_must)
{
    struct picture *before = malloc(sizeof *before), *after = malloc(sizeof *after);
    unsigned left = 0, joined = 0, most = 0;

    srandom(7);
    for (unsigned run = 0; run < 40; run++) {
        struct set s = {0};
        uint32_t group = 0;
        unsigned limit = run % 4 ? 16 : 120, equal = run % 2;
        for (; s.n < (run % 3 ? 2 : limit / 2); s.n++)
            s.weight[some(&s, false)] = 1;
        apply(&group, &s);
        look(group, before);
        for (unsigned step = 0; step < 150; step++) {
            int what = (int)(random() % 5);
            unsigned k = some(&s, what > 1 || s.n == limit);
            bool joins = !s.weight[k], leaves = !joins && what < 4 && s.n > 1;
            s.weight[k] = leaves ? 0 : equal ? 1 : some_weight();
            s.n += (unsigned)joins - (unsigned)leaves;
            apply(&group, &s);
            look(group, after);
            is_fair(group, &s, after);
            assert_int_equal(moved(before, after), moves_due(before, after));
            if (leaves && moved(before, after) != before->count[k])
                fail_msg("run %u step %u: leaves n=%u size=%u moved %u had %u", run, step, s.n,
                         size_of(group), moved(before, after), before->count[k]);
            if (joins && equal && moved(before, after) != after->count[k])
                fail_msg("run %u step %u: joins n=%u size=%u moved %u has %u", run, step, s.n,
                         size_of(group), moved(before, after), after->count[k]);
            left += leaves;
            joined += joins;
            most = s.n > most ? s.n : most;
            memcpy(before, after, sizeof *before);
        }
        nexthop_free(group);
        rcu_barrier();
    }
    assert_true(left > 1000 && joined > 1000 && most > 60);
    free(before);
    free(after);
}

// A group made with n members and one grown to them one by one have the same shares, within two
// buckets.
group_test(a_group_that_grew_is_as_fair_as_a_new_one)
{
    struct picture *grown = malloc(sizeof *grown), *made = malloc(sizeof *made);
    struct set s = {0};
    uint32_t g = 0, fresh = 0;

    for (unsigned k = 0; k < MEMBERS; k++) {
        s.weight[k] = 1 + k % 3;
        apply(&g, &s);
    }
    apply(&fresh, &s);
    look(g, grown);
    look(fresh, made);
    for (unsigned k = 0; k < MEMBERS; k++)
        assert_in_range(grown->count[k] + 2, made->count[k], made->count[k] + 4);
    free(grown);
    free(made);
}

group_test(an_emptied_group_fills_again)
{
    struct picture *p = malloc(sizeof *p);
    struct set s = {.weight = {[3] = 1, [5] = 1}}, none = {0};
    uint32_t g = 0;

    apply(&g, &s);
    apply(&g, &none);
    for (uint32_t h = 0; h < BUCKETS; h++)
        assert_int_equal(nexthop_member(nexthop_get(g), h), 0);
    apply(&g, &s);
    look(g, p);
    assert_int_equal(p->count[3], BUCKETS / 2);
    assert_int_equal(p->count[5], BUCKETS / 2);
    free(p);
}

// Shares of unequal weights; the last set exceeds what the largest group can represent.
group_test(shares_are_within_a_tenth_of_their_weights)
{
    static const struct {
        uint32_t weight[4];
        bool exact;
    } row[] = {{{255, 1}, true},        {{100, 1}, true},     {{10, 1}, true},
               {{1, 1}, true},          {{1, 2, 3, 4}, true}, {{3000, 1000, 1}, true},
               {{7, 5, 300, 11}, true}, {{65535, 9}, false}};
    struct picture *p = malloc(sizeof *p);

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct set s = {0};
        uint32_t g = 0, sum = 0;
        for (unsigned k = 0; k < 4; k++)
            sum += s.weight[k] = row[i].weight[k];
        apply(&g, &s);
        look(g, p);
        for (unsigned k = 0; row[i].exact && k < 4; k++) {
            double due = (double)BUCKETS * s.weight[k] / sum;
            if (p->count[k] < due * 0.9 || p->count[k] > due * 1.1)
                fail_msg("row %zu: weight %u has %u of 4096, due %.2f", i, s.weight[k],
                         p->count[k], due);
        }
        assert_int_equal(p->count[1] != 0, true);
        nexthop_free(g);
    }
    free(p);
}

// A group whose weights become unequal grows; equal ones stay small, even if the table is in use.
group_test(a_group_grows_for_unequal_weights_only)
{
    struct picture *p = malloc(sizeof *p);
    struct set s = {.weight = {[3] = 1, [5] = 1}};
    uint32_t g = 0;

    apply(&g, &s);
    assert_int_equal(size_of(g), 64);
    s.weight[3] = 255;
    apply(&g, &s);
    look(g, p);
    assert_int_equal(p->count[5], BUCKETS / 256);
    s.weight[3] = 0; // leaves and rejoins
    apply(&g, &s);
    s.weight[3] = 255;
    apply(&g, &s);
    look(g, p);
    assert_int_equal(p->count[5], BUCKETS / 256);
    free(p);
}

// Half of the table is reserved for minimum needs of groups: unequal weights cannot use it up.
group_test(unequal_groups_leave_room_for_others)
{
    uint32_t w[2] = {3999, 1}, n_large = 0, small = 0;

    for (unsigned i = 0; i < 400; i++) {
        uint32_t g = nexthop_group_new((uint32_t[2]){member[i % 100], member[100 + i % 90]}, w, 2);
        assert_int_not_equal(g, 0);
        n_large += size_of(g) == BUCKETS;
        small += size_of(g) == 64;
    }
    assert_int_equal(n_large, NEXTHOP_BUCKET_MAX / 2 / BUCKETS);
    assert_int_equal(n_large + small, 400);
}
