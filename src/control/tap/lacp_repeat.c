// SPDX-License-Identifier: BSD-3-Clause
// lacp_repeat.c - the last LACPDU of each port, and when it is due
//
// Control hands a copy to tap_manager's mailbox; from then on only tap_manager's thread touches the
// stored LACPDUs. One is due when the next has not replaced it for its interval and 200 ms more,
// and each further interval, at most ten times. The numbers of repeats flow back through counters
// that control takes to zero.
#include "tap/lag_frame.h"

#include <stdlib.h>

#include "base/clock.h"
#include "core/manager.h"
#include "table/limits.h"

#define LATE_NS (200 * NS_PER_MS) // control runs LACP every LAG_TICK_MS
#define REPEAT_MAX 10

static struct {
    struct lacp_repeat last;
    uint64_t due_ns; // 0: none
    unsigned left;
} stored[LAG_FIRST];             // used by tap_manager only
static unsigned n_kept;          // used by tap_manager only
static uint64_t sent[LAG_FIRST]; // tap_manager adds, control takes

static void set_due(uint16_t port, uint64_t due_ns)
{
    n_kept += !!due_ns - !!stored[port].due_ns;
    stored[port].due_ns = due_ns;
}

static void lacpdu_store(void *arg)
{
    struct lacp_repeat *k = arg;

    stored[k->port].last = *k;
    stored[k->port].left = REPEAT_MAX;
    set_due(k->port, k->every_ns ? clock_now_ns() + k->every_ns + LATE_NS : 0);
    free(k);
}

void lacp_repeat_set(const struct lacp_repeat *k)
{
    manager_ask(ROLE_TAP_MANAGER, lacpdu_store, k, sizeof *k); // else the former ends by itself
}

uint64_t lacp_repeat_sent(uint16_t port)
{
    thread_must_be(ROLE_CONTROL);
    return __atomic_exchange_n(&sent[port], 0, __ATOMIC_RELAXED);
}

void lacp_repeat_round(uint64_t now_ns)
{
    thread_must_be(ROLE_TAP_MANAGER);
    for (uint16_t port = 0; n_kept && port < LAG_FIRST; port++) {
        if (!stored[port].due_ns || now_ns < stored[port].due_ns)
            continue;
        lag_frame_send(port, stored[port].last.iface, stored[port].last.frame,
                       sizeof stored[port].last.frame);
        __atomic_fetch_add(&sent[port], 1, __ATOMIC_RELAXED);
        set_due(port, --stored[port].left ? now_ns + stored[port].last.every_ns : 0);
    }
}
