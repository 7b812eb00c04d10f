// SPDX-License-Identifier: BSD-3-Clause
// plan_compute.c - which forwarder polls what
// Receive: an assigned queue goes to the forwarder of its core. The others go round robin to the
// worker cores or, if there are assignments, to the cores named there: no queue of a started port
// stays unpolled.
// Transmit: every forwarder may send through every port. If a port has too few transmit queues, the
// forwarders that poll it own them first, and the others pass their packets to an owner.
// Queue: goes to the forwarder of the requested core, which may poll nothing; otherwise to the
// forwarder that owns the fewest so far, preferably one that does not poll the port and so has less
// to do for it.
#include "thread/plan_compute.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

// Forwarder of a core: the running one, or a free slot. -1: no slot left.
static int forwarder_of_core(const struct plan_input *in, struct plan_output *out, int core)
{
    int free_slot = -1;

    for (int i = 0; i < FORWARDER_MAX; i++)
        if (out->core[i] == core)
            return i;
    for (int i = 0; i < FORWARDER_MAX; i++)
        if (in->slot_core[i] == core) {
            out->core[i] = core;
            return i;
        }
    for (int i = FORWARDER_MAX - 1; i >= 0; i--)
        if (out->core[i] < 0 && in->slot_core[i] < 0)
            free_slot = i;
    if (free_slot >= 0)
        out->core[free_slot] = core;
    return free_slot;
}

static int add_queue(const struct plan_input *in, struct plan_output *out, int core,
                     const struct plan_port *p, uint16_t queue, char *err, size_t err_size)
{
    int f = forwarder_of_core(in, out, core);

    if (f < 0) {
        snprintf(err, err_size,
                 "core %d would be forwarder number %d, but at most %d are supported", core,
                 FORWARDER_MAX + 1, FORWARDER_MAX);
        return -E2BIG;
    }
    struct plan *plan = &out->plan[f];
    if (plan->n_rx == PLAN_RX_MAX) {
        snprintf(err, err_size,
                 "core %d would poll more than %d queues: assign some to another core", core,
                 PLAN_RX_MAX);
        return -E2BIG;
    }
    plan->rx[plan->n_rx++] = (struct plan_rx){.port = p->id, .queue = queue};
    return 0;
}

static int assigned_core(const struct plan_input *in, const struct plan_port *p, uint16_t queue)
{
    for (unsigned i = 0; i < in->n_assignments; i++)
        if (in->assignment[i].queue == queue && !strcmp(in->assignment[i].port, p->name))
            return in->assignment[i].core;
    return -1;
}

// Lists the distinct cores of the assignments in order; returns their number.
static unsigned list_assigned_cores(const struct plan_input *in, int *core)
{
    unsigned n = 0;

    for (unsigned i = 0; i < in->n_assignments && n < FORWARDER_MAX; i++) {
        unsigned k = 0;
        while (k < n && core[k] != in->assignment[i].core)
            k++;
        if (k == n)
            core[n++] = in->assignment[i].core;
    }
    return n;
}

static int check_assignments(const struct plan_input *in, char *err, size_t err_size)
{
    for (unsigned i = 0; i < in->n_assignments; i++) {
        const struct thread_assignment *a = &in->assignment[i];
        for (unsigned k = 0; k < i; k++)
            if (a->queue == in->assignment[k].queue && !strcmp(a->port, in->assignment[k].port)) {
                snprintf(err, err_size,
                         "rx-queue %u of port %s is assigned to both core %d and core %d", a->queue,
                         a->port, in->assignment[k].core, a->core);
                return -EINVAL;
            }
        for (unsigned p = 0; p < in->n_ports; p++)
            if (!strcmp(a->port, in->port[p].name) && a->queue >= in->port[p].n_rx) {
                snprintf(err, err_size,
                         "port %s has no rx-queue %u: it has %u (set port %s rx-queues %u)",
                         a->port, a->queue, in->port[p].n_rx, a->port, a->queue + 1);
                return -EINVAL;
            }
    }
    return 0;
}

static int plan_receive(const struct plan_input *in, struct plan_output *out, char *err,
                        size_t err_size)
{
    int named[FORWARDER_MAX];
    unsigned n_named = list_assigned_cores(in, named), n = n_named ? n_named : in->n_cores,
             next = 0;
    const int *core = n_named ? named : in->core;

    for (unsigned p = 0; p < in->n_ports; p++)
        for (uint16_t q = 0; q < in->port[p].n_rx; q++) {
            int c = assigned_core(in, &in->port[p], q);
            if (c >= 0) {
                int r = add_queue(in, out, c, &in->port[p], q, err, err_size);
                if (r)
                    return r;
            } else if (add_queue(in, out, core[next++ % n], &in->port[p], q, err, err_size)) {
                out->n_unpolled++; // the caller logs it; all other queues work
            }
        }
    return 0;
}

static bool polls_port(const struct plan *plan, uint16_t port)
{
    for (unsigned i = 0; i < plan->n_rx; i++)
        if (plan->rx[i].port == port)
            return true;
    return false;
}

static void plan_transmit_port(struct plan_output *out, const struct plan_port *p)
{
    int order[FORWARDER_MAX];
    unsigned n = 0;

    for (int first = 1; first >= 0; first--) // forwarders that poll the port, then the others
        for (int f = 0; f < FORWARDER_MAX; f++)
            if (out->core[f] >= 0 && polls_port(&out->plan[f], p->id) == first)
                order[n++] = f;
    for (unsigned i = 0; i < n; i++) {
        struct plan *plan = &out->plan[order[i]];
        if (!p->n_tx)
            continue;
        plan->tx_owner[p->id] = (uint8_t)order[i % p->n_tx];
        plan->tx_queue[p->id] = (uint16_t)(i % p->n_tx);
    }
}

// Forwarder that owns the port's queue; -1: no forwarder runs.
static int queue_owner(const struct plan_input *in, struct plan_output *out,
                       const struct plan_port *p)
{
    int best = p->queue_core >= 0 ? forwarder_of_core(in, out, p->queue_core) : -1;

    for (int first = 0; best < 0 && first <= 1; first++)
        for (int f = 0; f < FORWARDER_MAX; f++)
            if (out->core[f] >= 0 && polls_port(&out->plan[f], p->id) == first &&
                (best < 0 || out->plan[f].n_owned < out->plan[best].n_owned))
                best = f;
    return best;
}

static void plan_queue(const struct plan_input *in, struct plan_output *out,
                       const struct plan_port *p)
{
    int owner = queue_owner(in, out, p);

    if (owner < 0)
        return;
    out->plan[owner].owned[out->plan[owner].n_owned++] = (uint8_t)p->id;
    for (int f = 0; f < FORWARDER_MAX; f++) {
        out->plan[f].tx_owner[p->id] = PLAN_TX_QUEUE;
        out->plan[f].queue[p->id] = p->queue;
        out->plan[f].queue_owner[p->id] = (uint8_t)owner;
    }
}

int plan_compute(const struct plan_input *in, struct plan_output *out, char *err, size_t err_size)
{
    memset(out, 0, sizeof *out);
    for (unsigned f = 0; f < FORWARDER_MAX; f++) {
        out->core[f] = -1;
        memset(out->plan[f].tx_owner, PLAN_TX_NONE, sizeof out->plan[f].tx_owner);
        memset(out->plan[f].queue_owner, PLAN_TX_NONE, sizeof out->plan[f].queue_owner);
    }
    int r = check_assignments(in, err, err_size);
    if (!r)
        r = plan_receive(in, out, err, err_size);
    for (unsigned p = 0; !r && p < in->n_ports; p++)
        if (in->port[p].queue && in->port[p].n_tx)
            plan_queue(in, out, &in->port[p]);
    for (unsigned p = 0; !r && p < in->n_ports; p++) // for all existing forwarders
        if (!in->port[p].queue)
            plan_transmit_port(out, &in->port[p]);
    return r;
}

// --- from old plans to new ones ---

static bool owns_queue(const struct plan *plan, unsigned f, uint16_t port)
{
    return plan->tx_owner[port] == PLAN_TX_QUEUE && plan->queue_owner[port] == f;
}

// Transmit queue of the port that forwarder f may use by its plan, -1: none. A port with a queue
// manager sends on its first transmit queue.
static int tx_of(const struct plan *plan, unsigned f, uint16_t port)
{
    if (!plan)
        return -1;
    return plan->tx_owner[port] == f ? plan->tx_queue[port] : owns_queue(plan, f, port) ? 0 : -1;
}

// True if the transmit queue in forwarder f's next plan still belongs to another forwarder.
static bool tx_comes_from_another(struct plan *const old[FORWARDER_MAX], const struct plan *next,
                                  unsigned f, uint16_t port)
{
    int queue = tx_of(next, f, port);

    for (unsigned g = 0; queue >= 0 && g < FORWARDER_MAX; g++)
        if (g != f && tx_of(old[g], g, port) == queue)
            return true;
    return false;
}

// No forwarder sends through the port: packets for its queue wait in the rings, others are not
// expected.
static void remove_moving_tx(struct plan_output *mid, unsigned f, uint16_t port)
{
    struct plan *plan = &mid->plan[f];
    unsigned n = 0;

    if (plan->tx_owner[port] != PLAN_TX_QUEUE) {
        plan->tx_owner[port] = PLAN_TX_NONE;
        return;
    }
    for (unsigned i = 0; i < plan->n_owned; i++)
        if (plan->owned[i] != port)
            plan->owned[n++] = plan->owned[i];
    plan->n_owned = (uint16_t)n;
    for (unsigned g = 0; g < FORWARDER_MAX; g++)
        mid->plan[g].queue_owner[port] = PLAN_TX_NONE;
}

static bool rx_comes_from_another(struct plan *const old[FORWARDER_MAX], unsigned f,
                                  struct plan_rx rx)
{
    for (unsigned g = 0; g < FORWARDER_MAX; g++)
        if (g != f && plan_polls(old[g], rx))
            return true;
    return false;
}

// Removes queues that change hands from mid's receive list; true if there are any.
static bool remove_moving_rx(struct plan *const old[FORWARDER_MAX], unsigned f, struct plan *mid)
{
    unsigned n = 0, before = mid->n_rx;

    for (unsigned i = 0; i < before; i++)
        if (!rx_comes_from_another(old, f, mid->rx[i]))
            mid->rx[n++] = mid->rx[i];
    mid->n_rx = (uint16_t)n;
    return n != before;
}

bool plan_between(struct plan *const old[FORWARDER_MAX], const struct plan_output *next,
                  struct plan_output *mid)
{
    bool rx_moves = false, tx_moves = false;

    memcpy(mid, next, sizeof *mid);
    for (unsigned f = 0; f < FORWARDER_MAX; f++) {
        rx_moves |= remove_moving_rx(old, f, &mid->plan[f]);
        for (uint16_t p = 0; p < PORT_MAX; p++)
            if (tx_comes_from_another(old, &next->plan[f], f, p)) {
                remove_moving_tx(mid, f, p);
                tx_moves = true;
            }
    }
    for (unsigned f = 0; tx_moves && f < FORWARDER_MAX; f++)
        mid->plan[f].n_rx = 0;
    return rx_moves || tx_moves;
}
