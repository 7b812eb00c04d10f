// SPDX-License-Identifier: BSD-3-Clause
// rib_journal_test.c - the journal's answers about earlier times, against a model that recorded
// them
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "rib/journal.h"
#include "rib/test/rib_fixture.h"
#include "table/nexthop.h"
#include "table/vr.h"
#include "tests/unit.h"

static int open_fixture(void **state)
{
    fixture_open();
    assert_int_equal(rib_manager_set_journal(1), 0);
    return 0;
}

static int close_fixture(void **state)
{
    fixture_close();
    return 0;
}

// --- queries ---

static struct journal_answer answer; // its vectors are copies
static bool there;

static void got(void *ctx, struct journal_answer *a)
{
    free(answer.row.item);
    free(answer.nexthop.item);
    answer = *a;
    answer.row.item = malloc(a->row.n * sizeof *a->row.item + 1);
    answer.nexthop.item = malloc(a->nexthop.n * sizeof *a->nexthop.item + 1);
    if (a->row.n)
        memcpy(answer.row.item, a->row.item, a->row.n * sizeof *a->row.item);
    if (a->nexthop.n)
        memcpy(answer.nexthop.item, a->nexthop.item, a->nexthop.n * sizeof *a->nexthop.item);
    there = true;
}

static const char *nexthop_text(uint32_t way)
{
    static char text[200];
    const struct journal_nexthop *w = way ? &answer.nexthop.item[way - 1] : NULL;
    char addr[IP_TEXT_MAX];

    snprintf(text, sizeof text, "%s", w ? nexthop_kind_name(w->kind) : "none");
    for (unsigned i = 0; w && i < w->n_legs; i++) {
        size_t n = strlen(text);

        snprintf(text + n, sizeof text - n, " %s@%s",
                 w->leg[i].gateway.family ? ip_format(&w->leg[i].gateway, addr) : "",
                 w->leg[i].iface);
    }
    return text;
}

// "PREFIX kind gateway@iface …" of the route used by packets at that time.
static const char *was(const char *prefix, uint64_t at_ns)
{
    static char text[300];
    struct journal_query q = {.vr = VR_DEFAULT,
                              .match = strchr(prefix, '/') ? JOURNAL_EXACT : JOURNAL_COVERING,
                              .from_ns = at_ns};
    char p[PREFIX_TEXT_MAX];

    assert_int_equal(prefix_parse(prefix, &q.prefix, false), 0);
    q.family = q.prefix.family;
    there = false;
    assert_int_equal(journal_at(&q, got, NULL), 0);
    fixture_eventually(there);
    if (answer.result)
        snprintf(text, sizeof text, "%s", strerror(-answer.result));
    else if (!answer.reached)
        snprintf(text, sizeof text, "too early");
    else if (!answer.found)
        snprintf(text, sizeof text, "none");
    else
        snprintf(text, sizeof text, "%s %s", prefix_format(&answer.prefix, p),
                 nexthop_text(answer.is));
    return text;
}

static void changes(const char *prefix, int match, uint64_t from_ns, unsigned limit)
{
    struct journal_query q = {.vr = VR_DEFAULT, .match = match, .from_ns = from_ns, .limit = limit};

    if (prefix) {
        assert_int_equal(prefix_parse(prefix, &q.prefix, false), 0);
        q.family = q.prefix.family;
    }
    there = false;
    assert_int_equal(journal_changes(&q, got, NULL), 0);
    fixture_eventually(there);
}

// --- changes ---

static uint64_t updates(void)
{
    struct rib_stats s;

    fixture_stats(&s);
    return s.family[0].updates + s.family[1].updates;
}

// Runs a command that changes one route of the FIB; returns the time after the change.
static uint64_t change(const char *command)
{
    uint64_t before = updates();

    fixture_do("%s", command);
    fixture_eventually(updates() > before);
    fixture_run(2); // so that no two changes share a moment
    return clock_now_ns();
}

static void fixed_neighbors(void)
{
    fixture_do("ip neigh replace 10.0.1.2 lladdr 02:00:00:00:01:02 dev e1 nud permanent");
    fixture_do("ip neigh replace 10.0.2.2 lladdr 02:00:00:00:02:02 dev e2 nud permanent");
    fixture_do("ip -6 neigh replace fd01::2 lladdr 02:00:00:00:01:02 dev e1 nud permanent");
    fixture_expect("10.0.2.2", "adjacency e2 02:00:00:00:02:02");
    fixture_expect("fd01::2", "adjacency e1 02:00:00:00:01:02");
}

#define rib_test(name) unit_test_of(name, open_fixture, close_fixture)

rib_test(longest_match_as_it_was_then)
{
    uint64_t t0, t1, t2, t3, t4;

    fixed_neighbors();
    fixture_run(5);
    t0 = clock_now_ns();
    fixture_run(5);
    t1 = change("ip route add 20.0.0.0/8 via 10.0.1.2 proto bgp");
    t2 = change("ip route add 20.1.0.0/16 via 10.0.2.2 proto static");
    t3 = change("ip route del 20.0.0.0/8");
    t4 = change("ip route replace blackhole 20.1.0.0/16");
    assert_string_equal(was("20.1.2.3", t0), "none");
    assert_string_equal(was("20.1.2.3", t1), "20.0.0.0/8 adjacency 10.0.1.2@e1");
    assert_int_equal(answer.protocol, 186);
    assert_string_equal(was("20.1.2.3", t2), "20.1.0.0/16 adjacency 10.0.2.2@e2");
    assert_int_equal(answer.protocol, 4);
    assert_string_equal(was("20.2.2.3", t2), "20.0.0.0/8 adjacency 10.0.1.2@e1");
    assert_string_equal(was("20.2.2.3", t3), "none");
    assert_string_equal(was("20.0.0.0/8", t2), "20.0.0.0/8 adjacency 10.0.1.2@e1");
    assert_string_equal(was("20.0.0.0/8", t3), "none");
    assert_string_equal(was("20.1.0.0/16", t3), "20.1.0.0/16 adjacency 10.0.2.2@e2");
    assert_string_equal(was("20.1.2.3", t4), "20.1.0.0/16 blackhole");
    assert_string_equal(was("20.1.2.3", 1), "too early");
    changes("20.0.0.0/8", JOURNAL_LONGER, t0, 100);
    assert_true(answer.reached && !answer.cut);
    assert_int_equal(answer.row.n, 4);
    for (unsigned i = 0; i < 4; i++) { // newest first
        assert_int_equal(answer.row.item[i].cause, JOURNAL_KERNEL);
        assert_true(i == 0 || answer.row.item[i].wall_ns <= answer.row.item[i - 1].wall_ns);
    }
    assert_string_equal(nexthop_text(answer.row.item[0].was), "adjacency 10.0.2.2@e2");
    assert_string_equal(nexthop_text(answer.row.item[0].is), "blackhole");
    assert_int_equal(answer.row.item[1].is, 0);
    changes("20.0.0.0/8", JOURNAL_EXACT, t0, 100);
    assert_int_equal(answer.row.n, 2);
    changes("20.0.0.0/8", JOURNAL_LONGER, t0, 3);
    assert_true(answer.cut);
    assert_int_equal(answer.row.n, 3);
    changes("20.0.0.0/8", JOURNAL_LONGER, t4, 100);
    assert_int_equal(answer.row.n, 0);
}

rib_test(ipv6_and_legs_of_groups_are_told_too)
{
    uint64_t t1, t2, before;

    fixed_neighbors();
    t1 = change("ip -6 route add 2001:db8::/32 via fd01::2");
    change("ip -6 route del 2001:db8::/32");
    assert_string_equal(was("2001:db8::7", t1), "2001:db8::/32 adjacency fd01::2@e1");
    t1 = change("ip route add 21.0.0.0/8 nexthop via 10.0.1.2 dev e1 nexthop via 10.0.2.2 dev e2");
    assert_string_equal(was("21.1.1.1", t1), "21.0.0.0/8 group 10.0.1.2@e1 10.0.2.2@e2");
    before = clock_now_ns();
    fixture_run(5);
    fixture_peer(
        "ip link set p2 down"); // e2 loses its carrier: the group shrinks, and no prefix changes
    fixture_expect("21.1.1.1", "group e1");
    fixture_run(5);
    t2 = clock_now_ns();
    assert_string_equal(was("21.1.1.1", before), "21.0.0.0/8 group 10.0.1.2@e1 10.0.2.2@e2");
    assert_string_equal(was("21.1.1.1", t2), "21.0.0.0/8 group 10.0.1.2@e1");
    changes(NULL, JOURNAL_ALL, before, 1000);
    unsigned of_nexthops = 0;
    vec_foreach (&answer.row, r)
        if (!r->prefix.family) {
            of_nexthops++;
            assert_int_equal(r->cause, JOURNAL_LINK);
        }
    assert_int_equal(of_nexthops, 1);
    change("ip route del 21.0.0.0/8");
    assert_string_equal(was("21.1.1.1", t2), "21.0.0.0/8 group 10.0.1.2@e1");
    assert_string_equal(was("21.1.1.1", before), "21.0.0.0/8 group 10.0.1.2@e1 10.0.2.2@e2");
    fixture_peer("ip link set p2 up");
}

// Random changes of nested prefixes; afterwards every earlier moment is queried.
#define PREFIXES 12
#define MOMENTS 60

rib_test(random_histories_are_told_as_they_were)
{
    static const char *const way[] = {NULL, "via 10.0.1.2", "via 10.0.2.2", "blackhole",
                                      "prohibit"};
    static const char *const said[] = {"none", "adjacency 10.0.1.2@e1", "adjacency 10.0.2.2@e2",
                                       "blackhole", "prohibit"};
    static unsigned now[PREFIXES], then[MOMENTS][PREFIXES];
    static uint64_t at[MOMENTS];
    unsigned seed = 20261121;
    char command[200], want[100];

    fixed_neighbors();
    memset(now, 0, sizeof now);
    for (unsigned m = 0; m < MOMENTS; m++) {
        unsigned p = (unsigned)rand_r(&seed) % PREFIXES, w = (unsigned)rand_r(&seed) % 5;

        if (w == now[p])
            w = now[p] ? 0 : 1;
        // 40.0.0.0/8, 40.0.0.0/9, … each within the previous one; Linux accepts "replace blackhole
        // P" and "replace P via G".
        snprintf(command, sizeof command, "ip route %s %s 40.0.0.0/%u %s", w ? "replace" : "del",
                 w > 2 ? way[w] : "", 8 + p, w == 1 || w == 2 ? way[w] : "");
        now[p] = w;
        at[m] = change(command);
        memcpy(then[m], now, sizeof now);
    }
    for (unsigned m = 0; m < MOMENTS; m++) {
        int p = PREFIXES - 1;

        while (p >= 0 && !then[m][p])
            p--;
        if (p < 0)
            snprintf(want, sizeof want, "none");
        else
            snprintf(want, sizeof want, "40.0.0.0/%d %s", 8 + p, said[then[m][p]]);
        assert_string_equal(was("40.0.0.1", at[m]), want);
    }
}

static void stats_got(void *ctx, const struct journal_stats *s)
{
    *(struct journal_stats *)ctx = *s;
    there = true;
}

static struct journal_stats stats(void)
{
    struct journal_stats s;

    there = false;
    assert_int_equal(journal_ask_stats(stats_got, &s), 0);
    fixture_eventually(there);
    return s;
}

// Each route has its own gateway: these ways are kept apart, and freed.
rib_test(many_ways_are_told_apart)
{
    char name[] = "/tmp/fixture-journal-XXXXXX", want[80], prefix[32];
    int fd = mkstemp(name);
    FILE *f = fdopen(fd, "w");
    uint64_t then;

    assert_non_null(f);
    for (unsigned i = 0; i < 240; i++)
        fprintf(f, "route add 51.0.%u.0/24 via 10.0.1.%u\n", i, 10 + i);
    fclose(f);
    fixture_do("ip -batch %s", name);
    fixture_eventually(strcmp(fixture_fib("51.0.239.1"), "none"));
    fixture_run(2);
    then = clock_now_ns();
    fixture_run(2);
    fixture_do("sed -i 's/route add/route del/' %s; ip -batch %s", name, name);
    unlink(name);
    fixture_eventually(!strcmp(fixture_fib("51.0.239.1"), "none"));
    for (unsigned i = 0; i < 240; i++) {
        snprintf(prefix, sizeof prefix, "51.0.%u.0/24", i);
        snprintf(want, sizeof want, "%s adjacency 10.0.1.%u@e1", prefix, 10 + i);
        assert_string_equal(was(prefix, then), want);
    }
    assert_true(stats().nexthops > 240);
    assert_int_equal(rib_manager_set_journal(0), 0);
    assert_true(stats().nexthops < 40); // no record holds them any more
}

// More changes than the ring can hold: the oldest are dropped, the rest stays right, and the
// journal reports since when.
rib_test(a_full_journal_forgets_the_oldest)
{
    char name[] = "/tmp/fixture-journal-XXXXXX";
    struct journal_stats s = stats();
    uint64_t begin = clock_now_ns(), end;
    int fd = mkstemp(name);
    FILE *f = fdopen(fd, "w");

    assert_non_null(f);
    assert_int_equal(s.room, 19362);
    for (unsigned i = 0; i < 15000; i++)
        fprintf(f, "route add blackhole 50.%u.%u.0/24\n", i / 256, i % 256);
    for (unsigned i = 0; i < 15000; i++)
        fprintf(f, "route del blackhole 50.%u.%u.0/24\n", i / 256, i % 256);
    fclose(f);
    fixture_do("ip -batch %s", name);
    unlink(name);
    fixture_eventually((s = stats(), s.changes >= 30000));
    assert_int_equal(s.records, s.room);
    fixture_run(2);
    end = clock_now_ns();
    assert_string_equal(was("50.0.0.1", begin), "too early");
    assert_string_equal(was("50.0.0.1", end), "none");
    changes("50.0.0.0/8", JOURNAL_LONGER, begin, 1000000);
    assert_false(answer.reached);
    assert_true(answer.row.n > 19000 && answer.row.n <= s.room);
    assert_int_equal(rib_manager_set_journal(2), 0); // the records stay
    assert_int_equal(stats().records, s.records);
    changes("50.58.151.0/24", JOURNAL_EXACT, answer.since_ns ? 0 : 0, 10);
    assert_int_equal(answer.row.n, 2);
    assert_int_equal(rib_manager_set_journal(0), 0);
    assert_int_equal(stats().records, 0);
    assert_string_equal(was("50.0.0.1", end), strerror(ENODATA));
    assert_int_equal(rib_manager_set_journal(1), 0);
    assert_string_equal(was("50.0.0.1", end), "too early");
    assert_string_equal(was("50.0.0.1", clock_now_ns()), "none");
    s = stats();
    assert_true(s.nexthops < 100); // only the next hops in use: no record holds one
}
