// SPDX-License-Identifier: BSD-3-Clause
// rib_audit_test.c - deliberate faults in RIB and FIB: each is found, named and repaired; churn is
// not a fault
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "rib/test/rib_fixture.h"
#include "rib/vr.h"
#include "table/fib.h"
#include "table/fib_engine.h"
#include "table/vr.h"
#include "tests/unit.h"

static int open_fixture(void **state)
{
    fixture_open();
    fixture_do("ip neigh replace 10.0.1.2 lladdr 02:00:00:00:01:02 dev e1 nud permanent");
    fixture_do("ip neigh replace 10.0.2.2 lladdr 02:00:00:00:02:02 dev e2 nud permanent");
    fixture_do("ip -6 neigh replace fd01::2 lladdr 02:00:00:00:01:02 dev e1 nud permanent");
    fixture_do(
        "ip route add 60.0.0.0/8 via 10.0.1.2; ip route add 60.1.0.0/16 via 10.0.2.2; ip route "
        "add default via 10.0.2.2");
    fixture_do("ip -6 route add 2001:db8:60::/48 via fd01::2");
    fixture_expect("60.1.1.1", "adjacency e2 02:00:00:00:02:02");
    fixture_expect("2001:db8:60::1", "adjacency e1 02:00:00:00:01:02");
    fixture_expect("99.9.9.9", "adjacency e2 02:00:00:00:02:02");
    return 0;
}

static int close_fixture(void **state)
{
    rib_manager_set_audit_interval(0);
    fixture_close();
    return 0;
}

// --- faults, made on rib_manager's thread ---

struct fault {
    const char *prefix, *nexthop_of; // prefix whose next hop is used
};

static struct rib_vr *router(void)
{
    return rib_vr_find(VR_DEFAULT);
}

static struct prefix prefix_of(const char *text)
{
    struct prefix p;

    assert_int_equal(prefix_parse(text, &p, false), 0);
    return p;
}

static void fault_fib_set(void *arg)
{
    struct fault *f = arg;
    struct prefix p = prefix_of(f->prefix), other = prefix_of(f->nexthop_of);
    struct fib *fib = rib_fib(router(), p.family);

    bug_on(fib_set(fib, &p, fib_get(fib, &other)));
    fib_commit(fib);
}

static void fault_fib_del(void *arg)
{
    struct fault *f = arg;
    struct prefix p = prefix_of(f->prefix);
    struct fib *fib = rib_fib(router(), p.family);

    bug_on(fib_del(fib, &p));
    fib_commit(fib);
}

// The RIB loses a route of the kernel, as if an event had never come.
static void fault_rib_del(void *arg)
{
    struct fault *f = arg;
    struct prefix p = prefix_of(f->prefix);
    struct rib *r = rib_of(router(), p.family);
    uint32_t node = rib_trie_find(&r->trie, &p);

    rib_route_del(router(), r, rib_trie_at(&r->trie, node)->head);
    rib_evaluate(router(), r, node);
    rib_commit(router());
}

// A candidate that should be first is not installed, as if it had never been evaluated.
static void fault_not_best(void *arg)
{
    struct fault *f = arg;
    struct prefix p = prefix_of(f->prefix), other = prefix_of(f->nexthop_of);
    struct rib *r = rib_of(router(), p.family);
    uint32_t node = rib_trie_find(&r->trie, &other);

    rib_install(router(), r, rib_trie_find(&r->trie, &p), rib_trie_at(&r->trie, node)->head);
    rib_commit(router());
}

// Corrupts the FIB's floor (its second cache line): the answers, by the first six bits, for
// addresses without a longer route. Poptrie readers look there first.
static void fault_lookup(void *arg)
{
    uint16_t *floor = (uint16_t *)rib_fib(router(), IP4)->trie + 32;

    for (unsigned i = 0; i < 64; i++)
        floor[i] = 0;
}

static void expect_finding(uint64_t n, const char *prefix, const char *what)
{
    struct rib_audit_report r;
    struct prefix p = prefix_of(prefix);

    fixture_audit_report(true, &r);
    assert_int_equal(r.result, 0);
    assert_int_equal(r.diverged, n);
    assert_true(r.n_findings >= 1);
    assert_true(prefix_equal(&r.finding[0].prefix, &p));
    assert_string_equal(r.finding[0].what, what);
    assert_int_equal(fixture_audit(), 0); // repaired
}

#define rib_test(name) unit_test_of(name, open_fixture, close_fixture)

rib_test(faults_of_the_fib_are_found_named_and_repaired)
{
    fixture_in_rib_manager(fault_fib_set, &(struct fault){"77.0.0.0/8", "60.0.0.0/8"});
    fixture_expect("77.1.1.1", "adjacency e1 02:00:00:00:01:02");
    expect_finding(1, "77.0.0.0/8", "in the FIB but not in the RIB");
    fixture_expect("77.1.1.1", "adjacency e2 02:00:00:00:02:02");
    fixture_in_rib_manager(fault_fib_del, &(struct fault){"60.1.0.0/16", NULL});
    fixture_expect("60.1.1.1", "adjacency e1 02:00:00:00:01:02");
    expect_finding(1, "60.1.0.0/16", "missing from the FIB");
    fixture_expect("60.1.1.1", "adjacency e2 02:00:00:00:02:02");
    fixture_in_rib_manager(fault_fib_set, &(struct fault){"60.1.0.0/16", "60.0.0.0/8"});
    expect_finding(1, "60.1.0.0/16", "the FIB had a different next hop");
    fixture_expect("60.1.1.1", "adjacency e2 02:00:00:00:02:02");
    fixture_in_rib_manager(fault_fib_del, &(struct fault){"2001:db8:60::/48", NULL});
    fixture_in_rib_manager(fault_fib_set, &(struct fault){"2001:db8:61::/48", "fd01::/64"});
    expect_finding(2, "2001:db8:61::/48", "in the FIB but not in the RIB");
    fixture_expect("2001:db8:60::1", "adjacency e1 02:00:00:00:01:02");
}

rib_test(faults_of_the_rib_are_found_named_and_repaired)
{
    fixture_in_rib_manager(fault_rib_del, &(struct fault){"60.1.0.0/16", NULL});
    fixture_expect("60.1.1.1", "adjacency e1 02:00:00:00:01:02");
    expect_finding(1, "60.1.0.0/16", "in the kernel but not in the RIB");
    fixture_expect("60.1.1.1", "adjacency e2 02:00:00:00:02:02");
    fixture_in_rib_manager(fault_not_best, &(struct fault){"60.1.0.0/16", "60.0.0.0/8"});
    fixture_expect("60.1.1.1", "adjacency e1 02:00:00:00:01:02");
    expect_finding(1, "60.1.0.0/16", "the installed candidate was not the best");
    fixture_expect("60.1.1.1", "adjacency e2 02:00:00:00:02:02");
}

rib_test(a_structure_that_looks_up_wrongly_is_made_anew)
{
    struct rib_audit_report r;
    unsigned n = 0;

    fixture_in_rib_manager(fault_lookup, NULL);
    assert_string_equal(fixture_fib("99.9.9.9"),
                        "none"); // the lookup misses the default route; FIB and RIB are equal
    fixture_audit_report(true, &r);
    assert_true(r.diverged > 0);
    assert_int_equal(r.blocks, 0);
    for (unsigned i = 0; i < r.n_findings; i++)
        n += !strcmp(r.finding[i].what, "forwarders found a different next hop");
    assert_int_equal(n, r.n_findings);
    fixture_expect("99.9.9.9", "adjacency e2 02:00:00:00:02:02");
    assert_int_equal(fixture_audit(), 0);
}

rib_test(a_periodic_audit_comes_by_itself_and_repairs)
{
    uint64_t before = rib_audit_totals.fib_divergence;
    struct rib_audit_report r;

    fixture_audit_report(false, &r);
    assert_int_equal(r.runs, 0);
    fixture_in_rib_manager(fault_fib_del, &(struct fault){"60.1.0.0/16", NULL});
    rib_manager_set_audit_interval(1);
    fixture_eventually((fixture_audit_report(false, &r), r.runs >= 2));
    assert_int_equal(r.total, 1);
    assert_int_equal(rib_audit_totals.fib_divergence - before, 1);
    fixture_expect("60.1.1.1", "adjacency e2 02:00:00:00:02:02");
    rib_manager_set_audit_interval(0);
    fixture_audit_report(false, &r);
    fixture_run(1500);
    uint64_t runs = r.runs;
    fixture_audit_report(false, &r);
    assert_true(r.runs <= runs + 1); // one may have been running
    assert_true(r.prefixes > 5 && r.ended_ns > 0 && r.took_ns > 0 && r.longest_ns > 0);
}

// --- churn ---

static void churn_batch(unsigned seed, bool six)
{
    char name[] = "/tmp/fixture-audit-XXXXXX";
    int fd = mkstemp(name);
    FILE *f = fdopen(fd, "w");

    for (unsigned i = 0; i < 4000; i++) {
        uint32_t r = hash_mix32(seed * 4000 + i);
        const char *verb = r % 3 ? "replace" : "del";

        if (six)
            fprintf(f, "route %s 2001:db8:%x::/48 %s\n", verb, r >> 8 & 0xfff,
                    r % 3 == 0 ? ""
                    : r & 0x80 ? "via fd01::2"
                               : "via fd01::3");
        else
            fprintf(f, "route %s 70.%u.%u.0/24 %s\n", verb, r >> 8 & 15, r >> 12 & 255,
                    r % 3 == 0 ? "" : r & 0x80 ? "via 10.0.1.2" : "via 10.0.2.2");
    }
    fclose(f);
    fixture_try("ip %s -force -batch %s", six ? "-6" : "-4", name);
    unlink(name);
}

static void print_findings(const struct rib_audit_report *r)
{
    char text[PREFIX_TEXT_MAX];

    for (unsigned i = 0; i < r->n_findings; i++)
        print_error("%s: %s\n", prefix_format(&r->finding[i].prefix, text), r->finding[i].what);
}

static unsigned audits_beside(bool six)
{
    struct rib_audit_report r;
    pid_t pid = fork();
    unsigned n = 0;

    if (!pid) {
        for (unsigned i = 0; i < 12; i++)
            churn_batch(i, six);
        _exit(0);
    }
    while (!waitpid(pid, NULL, WNOHANG)) {
        fixture_audit_report(true, &r);
        assert_int_equal(r.result, 0);
        print_findings(&r);
        assert_int_equal(r.diverged, 0);
        n++;
    }
    return n;
}

rib_test(changes_meanwhile_are_no_divergence)
{
    for (unsigned six = 0; six < 2; six++)
        for (unsigned n = 0; n < 4;) // on a busy machine, few audits fit into one churn
            n += audits_beside(six);
    assert_int_equal(fixture_audit(), 0);
}

// A fault is found while everything around it changes.
rib_test(a_fault_is_found_during_churn)
{
    struct rib_audit_report r;
    uint64_t found = 0;
    pid_t pid = fork();

    if (!pid) {
        for (unsigned i = 0; i < 12; i++)
            churn_batch(100 + i, false);
        _exit(0);
    }
    for (unsigned i = 0; i < 3; i++) {
        fixture_in_rib_manager(fault_fib_del, &(struct fault){"60.1.0.0/16", NULL});
        fixture_audit_report(true, &r);
        if (r.diverged != 1)
            print_findings(&r);
        found += r.diverged;
    }
    waitpid(pid, NULL, 0);
    assert_int_equal(found, 3);
    assert_int_equal(fixture_audit(), 0);
}

rib_test(a_walk_of_the_sums_survives_another_engine)
{
    struct rib_audit_report r;

    for (unsigned i = 0; i < 4; i++)
        churn_batch(200 + i, false);
    rib_manager_set_audit_interval(1);
    for (unsigned i = 0; i < 30; i++) {
        assert_int_equal(rib_manager_vr_engine(VR_DEFAULT, FIB_POPTRIE),
                         0); // the same id, made again
        fixture_run(50);
    }
    fixture_eventually((fixture_audit_report(false, &r), r.runs > 0));
    assert_int_equal(r.total, 0);
}
