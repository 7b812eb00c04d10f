// SPDX-License-Identifier: BSD-3-Clause
// rib_gap_test.c - a model of the kernel's dump, changed while it runs: each skipped prefix is in a
// gap
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "rib/rib_gap.h"
#include "tests/unit.h"

#define N 400     // possible prefixes
#define ROWS 7    // per datagram at most

static struct prefix universe[N]; // in the order of the walk
static bool there[N], whole_time[N], shown[N];
static uint32_t seed;

static uint32_t roll(void)
{
    return seed = hash_mix32(seed + 1);
}

static struct prefix prefix_of(const char *text)
{
    struct prefix p;

    assert_int_equal(prefix_parse(text, &p, false), 0);
    return p;
}

// A prefix comes after everything below it, smaller addresses first. Implemented independently of
// rib_gap.c: by the last address of the prefix.
static int by_walk(const void *a, const void *b)
{
    const struct prefix *p = a, *q = b;
    uint8_t end[2][16];

    for (unsigned i = 0; i < 128; i++) {
        if (i % 8 == 0)
            end[0][i / 8] = p->b[i / 8], end[1][i / 8] = q->b[i / 8];
        if (i >= p->len)
            end[0][i / 8] |= (uint8_t)(0x80 >> i % 8);
        if (i >= q->len)
            end[1][i / 8] |= (uint8_t)(0x80 >> i % 8);
    }
    int c = memcmp(end[0], end[1], 16);
    return c ? c : q->len - p->len;
}

static void make_universe(void)
{
    for (unsigned i = 0; i < N; i++) {
        struct prefix p = {.family = IP6, .len = (uint8_t)(roll() % 17)};

        p.b[0] = (uint8_t)roll();
        p.b[1] = (uint8_t)roll();
        prefix_canon(&p);
        universe[i] = p;
        there[i] = roll() % 2;
    }
    qsort(universe, N, sizeof *universe, by_walk);
    for (unsigned i = 1; i < N; i++) // some were made twice
        if (prefix_equal(&universe[i - 1], &universe[i]))
            there[i] = false;
}

static void change(struct rib_gaps *g, bool only_add)
{
    unsigned i = roll() % N;

    if (i && prefix_equal(&universe[i - 1], &universe[i]))
        return;
    if (there[i] && only_add)
        return;
    there[i] = !there[i];
    if (!there[i]) {
        whole_time[i] = false;
        rib_gaps_deleted(g, RIB_GAP_ROUTER, &universe[i]);
    }
}

// Like the kernel: after a change, a datagram begins behind as many prefixes as were shown. Returns
// the number of skipped prefixes.
static unsigned dump(struct rib_gaps *g, unsigned changes, bool only_add)
{
    unsigned position = 0, count = 0, skipped = 0;
    uint64_t datagram = 10;
    bool done = false;

    memcpy(whole_time, there, sizeof there);
    memset(shown, 0, sizeof shown);
    rib_gaps_begin(g, IP6);
    while (!done) {
        unsigned rows = 1 + roll() % ROWS;

        for (datagram++; position < N && rows; position++)
            if (there[position]) {
                rib_gaps_row(g, RIB_GAP_ROUTER, datagram, &universe[position]);
                shown[position] = true;
                count++;
                rows--;
            }
        done = position >= N;
        for (unsigned i = 0; changes && !done && i < roll() % (changes + 1); i++) {
            change(g, only_add);
            unsigned skip = count;
            for (position = 0; position < N && skip; position++)
                skip -= there[position];
        }
    }
    rib_gaps_end(g, datagram + roll() % 2);
    for (unsigned i = 0; i < N; i++)
        skipped += whole_time[i] && !shown[i];
    return skipped;
}

unit_test(what_a_dump_skips_is_in_a_gap)
{
    struct rib_gaps g = {0};
    unsigned skipped = 0, apart = 0;

    for (unsigned round = 0; round < 3000; round++) {
        if (round % 10 == 0)
            make_universe();
        skipped += dump(&g, 1 + round % 4, false);
        assert_false(g.unordered);
        for (unsigned i = 0; i < N; i++) {
            if (whole_time[i] && !shown[i])
                assert_true(rib_gaps_have(&g, RIB_GAP_ROUTER, &universe[i]));
            apart += !there[i] && !rib_gaps_have(&g, RIB_GAP_ROUTER, &universe[i]);
        }
    }
    assert_true(skipped > 1000); // otherwise the model does not behave like the kernel
    assert_true(apart > 100000); // absent prefixes are nearly always recognized as absent
    rib_gaps_fini(&g);
}

unit_test(without_deletions_there_is_no_gap)
{
    struct rib_gaps g = {0};

    for (unsigned round = 0; round < 200; round++) {
        make_universe();
        assert_int_equal(dump(&g, 3, true), 0);
        for (unsigned i = 0; i < N; i++)
            assert_false(rib_gaps_have(&g, RIB_GAP_ROUTER, &universe[i]));
    }
    rib_gaps_fini(&g);
}

static void row(struct rib_gaps *g, enum rib_gap_table table, uint64_t datagram, const char *text)
{
    struct prefix p = text ? prefix_of(text) : (struct prefix){0};

    rib_gaps_row(g, table, datagram, text ? &p : NULL);
}

static bool have(const struct rib_gaps *g, enum rib_gap_table table, const char *text)
{
    struct prefix p = prefix_of(text);

    return rib_gaps_have(g, table, &p);
}

unit_test(only_a_deletion_before_it_opens_a_gap)
{
    struct rib_gaps g = {0};
    struct prefix late = prefix_of("2001:db8:9::/48");

    rib_gaps_begin(&g, IP6);
    row(&g, RIB_GAP_ROUTER, 1, "2001:db8:1::/48");
    rib_gaps_deleted(&g, RIB_GAP_ROUTER, &late); // its count does not matter yet
    row(&g, RIB_GAP_ROUTER, 2, "2001:db8:5::/48");
    row(&g, RIB_GAP_ROUTER, 2, "2001:db8:a::/48");
    row(&g, RIB_GAP_ROUTER, 3, NULL); // does not tell where the datagram begins
    row(&g, RIB_GAP_ROUTER, 3, "2001:db8:c::/48");
    rib_gaps_end(&g, 3);
    assert_false(have(&g, RIB_GAP_ROUTER, "2001:db8:3::/48"));
    assert_false(have(&g, RIB_GAP_ROUTER, "2001:db8:6::/48")); // between rows of one datagram
    assert_true(have(&g, RIB_GAP_ROUTER, "2001:db8:b::/48"));
    assert_true(have(&g, RIB_GAP_ROUTER, "2001:db8:a::/48")); // another route of the same prefix
    assert_true(have(&g, RIB_GAP_ROUTER, "2001:db8:a:1::/64") == false); // precedes it
    assert_false(have(&g, RIB_GAP_ROUTER, "2001:db8:c::/48"));
    assert_false(have(&g, RIB_GAP_ROUTER, "::/0")); // the end came in the same datagram
    rib_gaps_fini(&g);
}

// The kernel counts from the root for the rest of its dump, also after later deletions.
unit_test(a_deletion_opens_gaps_however_long_ago_it_was)
{
    struct prefix first = prefix_of("2001:db8:1::/48"), late = prefix_of("2001:db8:f0::/48");
    struct rib_gaps g = {0};
    char text[32];

    rib_gaps_begin(&g, IP6);
    row(&g, RIB_GAP_ROUTER, 1, "2001:db8:1::/48");
    rib_gaps_deleted(&g, RIB_GAP_ROUTER, &first);
    for (unsigned i = 2; i < 9; i++) {
        snprintf(text, sizeof text, "2001:db8:%u::/48", 10 * i);
        row(&g, RIB_GAP_ROUTER, i, text);
        rib_gaps_deleted(&g, RIB_GAP_ROUTER, &late); // behind all rows
        snprintf(text, sizeof text, "2001:db8:%u::/48", 10 * i - 5);
        assert_true(have(&g, RIB_GAP_ROUTER, text));
    }
    rib_gaps_fini(&g);
}

unit_test(the_end_of_a_table_may_be_skipped)
{
    struct rib_gaps g = {0};

    for (unsigned how = 0; how < 4; how++) { // how: next table in the same datagram, in another;
                                             // end in the same datagram, in another
        rib_gaps_begin(&g, IP6);
        rib_gaps_deleted_any(&g);
        row(&g, RIB_GAP_LOCAL, 1, "::1/128");
        if (how < 2) {
            row(&g, RIB_GAP_ROUTER, 1 + how, "2001:db8::/48");
            row(&g, RIB_GAP_ROUTER, 1 + how, "::/0");
            rib_gaps_end(&g, 1 + how);
        } else {
            rib_gaps_end(&g, how - 1);
        }
        assert_int_equal(have(&g, RIB_GAP_LOCAL, "fd00::1/128"), how & 1);
        assert_false(have(&g, RIB_GAP_ROUTER, "2001::/48")); // no gap at a table's beginning
    }
    rib_gaps_fini(&g);
}

unit_test(rows_in_another_order_are_seen)
{
    struct rib_gaps g = {0};

    rib_gaps_begin(&g, IP6);
    row(&g, RIB_GAP_ROUTER, 1, "2001:db8:5::/48");
    row(&g, RIB_GAP_ROUTER, 2, "2001:db8:1::/48"); // shown again, after an addition
    assert_false(have(&g, RIB_GAP_ROUTER, "2001:db8:3::/48"));
    row(&g, RIB_GAP_ROUTER, 2, "2001:db8:1:1::/64"); // a prefix before the one below it
    assert_true(have(&g, RIB_GAP_ROUTER, "2001:db8:3::/48"));
    rib_gaps_fini(&g);
}
