// SPDX-License-Identifier: BSD-3-Clause
// rib_fixture.h - for tests: a real kernel in a fresh namespace, rib_manager on it
//
// The namespace has two veth pairs that stand in for TAPs: e1 (10.0.1.1/24, fd01::1/64) and e2
// (10.0.2.1/24, fd02::1/64) are our interfaces; their peers p1 and p2 live in a second namespace.
// fixture_do() runs a command in the first, fixture_peer() in the second. Without the right to make
// namespaces the test program ends with 77, which meson calls "skipped".
#ifndef RIB_TEST_RIB_FIXTURE_H
#define RIB_TEST_RIB_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "rib/rib_manager.h"

// For the group of tests (tests/unit.h): namespace rights, tables, control's loop.
int unit_begin(void **state);
int unit_end(void **state);
void fixture_open(void);  // per test: namespaces, links, rib_manager, first sync
void fixture_close(void); // also checks the tables' invariants
void fixture_open_with(size_t receive_bytes);

void fixture_do(const char *fmt, ...) __attribute__((format(printf, 1, 2)));   // must succeed
int fixture_try(const char *fmt, ...)
    __attribute__((format(printf, 1, 2))); // may fail: exit status
void fixture_peer(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void fixture_stall(void); // rib_manager does nothing from now on
void fixture_go_on(void); // rib_manager continues
int fixture_peer_pid(void); // of a process in the second namespace
void fixture_run(unsigned ms); // lets control's loop run
extern uint16_t fixture_iface[3]; // ids of e1 and e2 at [1] and [2]
extern unsigned fixture_reports, fixture_gone; // link events reported to control
extern bool fixture_has_vrf;               // from the last of them

// FIB entry of an address: "none", "glean e1", "hold e1", "failed e1", "adjacency e1
// 02:00:00:00:00:01", "group e1 e2", "local", "blackhole" ...; static buffer.
const char *fixture_fib(const char *addr);
void fixture_expect(const char *addr,
                const char *what); // soon, or the test fails; `what` is not fixture_fib()'s buffer

// Runs control's loop until the condition holds. The limit is for slow machines; no test waits
// longer than needed. Only time spent in the loop counts, so a machine that stood still has not
// used it up.
#define FIXTURE_PATIENCE_MS 60000
#define fixture_eventually(condition)                                                              \
    do {                                                                                           \
        for (unsigned ms_ = 0; !(condition) && ms_ < FIXTURE_PATIENCE_MS; ms_ += 5)                \
            fixture_run(5);                                                                        \
        assert_true(condition);                                                                    \
    } while (0)

struct vr;
// The same with a second virtual router, red: table 77 of the namespace, and the router that
// queries use.
void fixture_open_both(void);
void fixture_close_both(void);
extern struct vr *fixture_red;
void fixture_select(
    struct vr *vr); // sets the router that queries use; fixture_open selects the default one

void fixture_stats(struct rib_stats *s);
// Runs an audit; returns the number of differences between kernel, RIB and FIB.
uint64_t fixture_audit(void);
void fixture_audit_report(bool now,
                          struct rib_audit_report *r); // of a new audit, or of the last one
void fixture_in_rib_manager(void (*fn)(void *arg), void *arg);   // runs fn there and waits
// After a silent change: waits for the verifying dump, which must find no change that we had not
// derived.
void fixture_expect_derived(const struct rib_stats *before);
// Rows of a query, at most max; returns the number of all.
unsigned fixture_rows(const struct rib_query *q, struct rib_row *row, unsigned max);
// All candidates of a prefix as text: "10.0.1.2@e1 m0 active; 10.0.2.2@e2 m5; "
const char *fixture_routes(const char *prefix);
unsigned fixture_neighbors(struct neigh_row *row, unsigned max);

#endif
