// SPDX-License-Identifier: BSD-3-Clause
// plan_compute_test.c - every queue has one poller, every forwarder a way out, and moves never
// overlap
#include "thread/plan_compute.h"
#include "tests/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct plan_output out, next, mid;
static char err[200];

static struct plan_input input(const struct plan_port *p, unsigned n_ports, const int *core,
                               unsigned n_cores)
{
    struct plan_input in = {.port = p, .n_ports = n_ports, .core = core, .n_cores = n_cores};

    for (unsigned i = 0; i < FORWARDER_MAX; i++)
        in.slot_core[i] = -1;
    return in;
}

static int poller(const struct plan_output *o, uint16_t port, uint16_t queue)
{
    int found = -1;

    for (int f = 0; f < FORWARDER_MAX; f++)
        for (unsigned i = 0; i < o->plan[f].n_rx; i++)
            if (o->plan[f].rx[i].port == port && o->plan[f].rx[i].queue == queue) {
                assert_int_equal(found, -1); // only one poller
                found = f;
            }
    return found;
}

static unsigned n_forwarders(const struct plan_output *o)
{
    unsigned n = 0;

    for (int f = 0; f < FORWARDER_MAX; f++)
        n += o->core[f] >= 0;
    return n;
}

// Each forwarder sends on its own queue, or hands over to a forwarder that does; no queue has two
// users.
static void check_transmit(const struct plan_output *o, const struct plan_port *p)
{
    bool used[QUEUE_MAX] = {false};

    for (int f = 0; f < FORWARDER_MAX; f++) {
        if (o->core[f] < 0)
            continue;
        uint8_t owner = o->plan[f].tx_owner[p->id];
        assert_in_range(owner, 0, FORWARDER_MAX - 1);
        assert_int_equal(o->plan[owner].tx_owner[p->id], owner);
        if (owner != f)
            continue;
        uint16_t q = o->plan[f].tx_queue[p->id];
        assert_in_range(q, 0, p->n_tx - 1);
        assert_false(used[q]);
        used[q] = true;
    }
}

static const struct plan_port two[] = {{.id = 0, .name = "p0", .n_rx = 1, .n_tx = 1},
                                       {.id = 1, .name = "p1", .n_rx = 1, .n_tx = 1}};
static const struct plan_port wide[] = {{.id = 3, .name = "w0", .n_rx = 4, .n_tx = 4},
                                        {.id = 5, .name = "w1", .n_rx = 2, .n_tx = 1}};

unit_test(two_cores_have_one_forwarder_that_polls_everything)
{
    struct plan_input in = input(two, 2, (int[]){1}, 1);

    assert_int_equal(plan_compute(&in, &out, err, sizeof err), 0);
    assert_int_equal(n_forwarders(&out), 1);
    assert_int_equal(out.core[0], 1);
    assert_int_equal(poller(&out, 0, 0), 0);
    assert_int_equal(poller(&out, 1, 0), 0);
    check_transmit(&out, &two[0]);
    check_transmit(&out, &two[1]);
}

unit_test(queues_are_dealt_out_over_the_cores)
{
    struct plan_input in = input(wide, 2, (int[]){1, 2, 3}, 3);

    assert_int_equal(plan_compute(&in, &out, err, sizeof err), 0);
    assert_int_equal(n_forwarders(&out), 3);
    for (uint16_t q = 0; q < 4; q++)
        assert_int_equal(out.core[poller(&out, 3, q)], 1 + q % 3);
    assert_int_equal(out.core[poller(&out, 5, 0)], 2);
    check_transmit(&out, &wide[0]);
    check_transmit(&out, &wide[1]);
}

unit_test(no_ports_need_no_forwarder)
{
    struct plan_input in = input(NULL, 0, (int[]){1, 2}, 2);

    assert_int_equal(plan_compute(&in, &out, err, sizeof err), 0);
    assert_int_equal(n_forwarders(&out), 0);
}

unit_test(assigned_queues_go_to_their_cores_and_none_is_deaf)
{
    const struct thread_assignment a[] = {
        {7, "w0", 0}, {7, "w0", 1}, {9, "w1", 1}, {9, "not-there-yet", 0}};
    struct plan_input in = input(wide, 2, (int[]){1}, 1);

    in.assignment = a;
    in.n_assignments = 4;
    assert_int_equal(plan_compute(&in, &out, err, sizeof err), 0);
    assert_int_equal(n_forwarders(&out), 2);
    assert_int_equal(out.core[poller(&out, 3, 0)], 7);
    assert_int_equal(out.core[poller(&out, 3, 1)], 7);
    assert_int_equal(out.core[poller(&out, 5, 1)], 9);
    for (uint16_t q = 0; q < 4; q++)
        assert_true(poller(&out, 3, q) >= 0);
    assert_true(poller(&out, 5, 0) >= 0);
}

unit_test(wrong_assignments_are_explained)
{
    const struct thread_assignment twice[] = {{1, "w0", 0}, {2, "w0", 0}};
    const struct thread_assignment none[] = {{1, "w1", 2}};
    struct plan_input in = input(wide, 2, (int[]){1}, 1);

    in.assignment = twice;
    in.n_assignments = 2;
    assert_int_equal(plan_compute(&in, &out, err, sizeof err), -EINVAL);
    assert_string_equal(err, "rx-queue 0 of port w0 is assigned to both core 1 and core 2");
    in.assignment = none;
    in.n_assignments = 1;
    assert_int_equal(plan_compute(&in, &out, err, sizeof err), -EINVAL);
    assert_string_equal(err, "port w1 has no rx-queue 2: it has 2 (set port w1 rx-queues 3)");
}

unit_test(running_forwarder_keeps_its_slot)
{
    struct plan_input in = input(two, 2, (int[]){4, 6}, 2);

    in.slot_core[5] = 6;
    assert_int_equal(plan_compute(&in, &out, err, sizeof err), 0);
    assert_int_equal(out.core[5], 6);
    assert_int_equal(out.core[0], 4);
}

unit_test(pollers_of_a_port_own_its_few_transmit_queues)
{
    const struct plan_port p[] = {{.id = 0, .name = "a", .n_rx = 1, .n_tx = 1},
                                  {.id = 1, .name = "b", .n_rx = 1, .n_tx = 1}};
    struct plan_input in = input(p, 2, (int[]){1, 2}, 2);

    assert_int_equal(plan_compute(&in, &out, err, sizeof err), 0);
    int fa = poller(&out, 0, 0), fb = poller(&out, 1, 0);
    assert_int_not_equal(fa, fb);
    assert_int_equal(out.plan[fb].tx_owner[0], fa);
    assert_int_equal(out.plan[fa].tx_owner[1], fb);
}

unit_test(same_plans_need_no_step_between)
{
    struct plan_input in = input(wide, 2, (int[]){1, 2}, 2);
    struct plan *old[FORWARDER_MAX];

    assert_int_equal(plan_compute(&in, &out, err, sizeof err), 0);
    for (unsigned f = 0; f < FORWARDER_MAX; f++)
        old[f] = &out.plan[f];
    assert_false(plan_between(old, &out, &mid));
    memset(old, 0, sizeof old); // without old plans nothing changes hands
    assert_false(plan_between(old, &out, &mid));
}

static bool owns(const struct plan *p, uint16_t port)
{
    for (unsigned i = 0; i < p->n_owned; i++)
        if (p->owned[i] == port)
            return true;
    return false;
}

// The transmit queue that forwarder f may use; -1: none.
static int transmits_by(const struct plan *p, unsigned f, uint16_t port)
{
    return p->tx_owner[port] == f ? p->tx_queue[port] : owns(p, port) ? 0 : -1;
}

// Each forwarder feeds the port's queue; one of them owns it.
static void check_queue(const struct plan_output *o, const struct plan_port *p)
{
    unsigned n_owners = 0;

    for (unsigned f = 0; f < FORWARDER_MAX; f++) {
        const struct plan *plan = &o->plan[f];

        if (o->core[f] < 0)
            continue;
        assert_int_equal(plan->tx_owner[p->id], PLAN_TX_QUEUE);
        assert_ptr_equal(plan->queue[p->id], p->queue);
        assert_true(o->core[plan->queue_owner[p->id]] >= 0);
        assert_int_equal(owns(plan, p->id), plan->queue_owner[p->id] == f);
        n_owners += owns(plan, p->id);
    }
    assert_int_equal(n_owners, 1);
}

static struct port_queue *const a_queue = (struct port_queue *)(void *)err; // never dereferenced

unit_test(a_queue_is_owned_by_who_has_least_to_do)
{
    struct plan_port p[] = {
        {.id = 0, .name = "p0", .n_rx = 1, .n_tx = 2},
        {.id = 1, .name = "p1", .n_rx = 1, .n_tx = 1, .queue = a_queue, .queue_core = -1},
    };
    struct plan_input in = input(p, 2, (int[]){1, 2}, 2);

    assert_int_equal(plan_compute(&in, &out, err, sizeof err), 0);
    check_queue(&out, &p[1]);
    assert_true(owns(&out.plan[poller(&out, 0, 0)], 1));
}

unit_test(a_queue_may_have_a_core_that_polls_nothing)
{
    struct plan_port p = {
        .id = 1, .name = "p1", .n_rx = 1, .n_tx = 1, .queue = a_queue, .queue_core = 5};
    struct plan_input in = input(&p, 1, (int[]){1}, 1);

    assert_int_equal(plan_compute(&in, &out, err, sizeof err), 0);
    check_queue(&out, &p);
    int f = poller(&out, 1, 0);
    assert_int_equal(out.core[f], 1);
    assert_int_equal(out.core[out.plan[f].queue_owner[1]], 5);
    assert_int_equal(out.plan[out.plan[f].queue_owner[1]].n_rx, 0);
}

// For random changes: neither old and mid nor mid and next give one queue to two forwarders.
static void check_disjoint(const struct plan_output *a, const struct plan_output *b)
{
    for (unsigned f = 0; f < FORWARDER_MAX; f++)
        for (unsigned g = 0; g < FORWARDER_MAX; g++) {
            if (f == g)
                continue;
            const struct plan *x = &a->plan[f], *y = &b->plan[g];
            for (unsigned i = 0; i < x->n_rx; i++)
                for (unsigned k = 0; k < y->n_rx; k++)
                    assert_false(x->rx[i].port == y->rx[k].port &&
                                 x->rx[i].queue == y->rx[k].queue);
            for (uint16_t p = 0; p < PORT_MAX; p++) {
                int first = transmits_by(x, f, p), second = transmits_by(y, g, p);
                assert_false(first >= 0 && first == second);
            }
        }
}

static void random_plan(struct plan_output *o)
{
    struct plan_port p[4];
    struct thread_assignment a[8];
    int core[6] = {1, 2, 3, 4, 5, 6};
    unsigned n_ports = (unsigned)random() % 4 + 1, n_a = 0;

    for (unsigned i = 0; i < n_ports; i++) {
        p[i] = (struct plan_port){.id = (uint16_t)i,
                                  .n_rx = (uint16_t)(random() % 4 + 1),
                                  .n_tx = (uint16_t)(random() % 4 + 1),
                                  .queue = random() % 3 ? NULL : a_queue,
                                  .queue_core = random() % 2 ? -1 : (int)(random() % 6 + 1)};
        snprintf(p[i].name, sizeof p[i].name, "p%u", i);
    }
    for (unsigned i = 0; i < n_ports && random() % 2; i++, n_a++) {
        a[n_a] = (struct thread_assignment){.core = (int)(random() % 6 + 1), .queue = 0};
        snprintf(a[n_a].port, sizeof a[n_a].port, "p%u", i);
    }
    struct plan_input in = input(p, n_ports, core, (unsigned)random() % 6 + 1);
    in.assignment = a;
    in.n_assignments = n_a;
    assert_int_equal(plan_compute(&in, o, err, sizeof err), 0);
    for (unsigned i = 0; i < n_ports; i++) {
        for (uint16_t q = 0; q < p[i].n_rx; q++)
            assert_true(poller(o, p[i].id, q) >= 0);
        p[i].queue ? check_queue(o, &p[i]) : check_transmit(o, &p[i]);
    }
}

unit_test(no_queue_ever_has_two_users_while_plans_change)
{
    struct plan *old[FORWARDER_MAX];

    srandom(2);
    for (unsigned i = 0; i < FORWARDER_MAX; i++)
        old[i] = &out.plan[i];
    for (unsigned step = 0; step < 2000; step++) {
        random_plan(&out);
        random_plan(&next);
        if (plan_between(old, &next, &mid)) {
            check_disjoint(&out, &mid);
            check_disjoint(&mid, &next);
        } else {
            check_disjoint(&out, &next);
        }
    }
}
