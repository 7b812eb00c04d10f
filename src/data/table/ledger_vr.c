// SPDX-License-Identifier: BSD-3-Clause
// ledger_vr.c - see ledger_vr.h
//
// Sums wrap around: counts that `former` lacks, because they were made elsewhere, are negative in
// it.
#include "table/ledger_vr.h"

#include <string.h>

#include "core/thread.h"
#include "table/counter.h"
#include "table/iface.h"
#include "table/tunnel.h"

const char *const ledger_vr_name[LEDGER_VR_N] = {
    [LEDGER_VR_RX] = "rx",       [LEDGER_VR_INJECT] = "inject", [LEDGER_VR_ENTERED] = "entered",
    [LEDGER_VR_TX] = "tx",       [LEDGER_VR_PUNT] = "punt",     [LEDGER_VR_LEFT] = "left",
    [LEDGER_VR_DROPS] = "drops",
};

static uint64_t former[VR_MAX][LEDGER_VR_N];

// `times`: 1 or -1.
static void add_iface(uint64_t side[LEDGER_VR_N], uint16_t iface, const struct counter_iface *c,
                      int times)
{
    const uint64_t sign = (uint64_t)(int64_t)times;

    side[LEDGER_VR_RX] += sign * c->rx_packets;
    side[LEDGER_VR_INJECT] += sign * c->inject_packets;
    side[LEDGER_VR_TX] += tunnel_is_port(iface_get(iface)->port) ? 0 : sign * c->tx_packets;
    side[LEDGER_VR_PUNT] += sign * c->punt_packets;
}

static void add_iface_now(uint64_t side[LEDGER_VR_N], uint16_t iface, int times)
{
    struct counter_iface c;

    counter_sum_iface(iface, &c);
    add_iface(side, iface, &c, times);
}

// Removed interfaces keep their counts until the id is reused.
static void add_ifaces(uint64_t side[LEDGER_VR_N], uint16_t vr, int times)
{
    for (unsigned id = 0, n = iface_id_end(); id < n; id++)
        if (iface_get((uint16_t)id)->vr == vr)
            add_iface_now(side, (uint16_t)id, times);
}

static void pass(uint16_t vr, struct ledger_vr *l)
{
    uint64_t *s = l->side;
    struct counter_vr c;

    memset(l, 0, sizeof *l);
    memcpy(s, former[vr], sizeof former[vr]);
    add_ifaces(s, vr, 1);
    counter_sum_vr(vr, &c);
    s[LEDGER_VR_RX] += c.no_iface;
    s[LEDGER_VR_INJECT] += c.copies;
    s[LEDGER_VR_ENTERED] += c.entered;
    s[LEDGER_VR_LEFT] += c.left + c.opened;
    l->held = c.held - c.resumed;
    for (enum drop_reason r = DROP_NONE + 1; r < DROP_N; r++)
        s[LEDGER_VR_DROPS] += counter_sum_vr_drop(vr, r);
    l->imbalance = (int64_t)(s[LEDGER_VR_RX] + s[LEDGER_VR_INJECT] + s[LEDGER_VR_ENTERED] -
                             s[LEDGER_VR_TX] - s[LEDGER_VR_PUNT] - s[LEDGER_VR_LEFT] -
                             s[LEDGER_VR_DROPS] - l->held);
}

void ledger_vr_read(uint16_t vr, struct ledger_vr *l, unsigned tries)
{
    struct ledger_vr again;
    bool same = false;

    pass(vr, l);
    for (unsigned i = 0; i < tries && !same; i++) {
        pass(vr, &again);
        same = !memcmp(l, &again, sizeof again);
        *l = again;
    }
    if ((int64_t)l->held < 0) // under traffic: the return was counted first
        l->held = 0;
}

void ledger_vr_begin(uint16_t vr)
{
    thread_must_be(ROLE_CONTROL);
    memset(former[vr], 0, sizeof former[vr]);
    add_ifaces(former[vr], vr, -1);
}

void ledger_vr_move(uint16_t iface, uint16_t to)
{
    struct counter_iface c;

    thread_must_be(ROLE_CONTROL);
    counter_sum_iface(iface, &c);
    add_iface(former[iface_get(iface)->vr], iface, &c, 1);
    add_iface(former[to], iface, &c, -1);
}

void ledger_vr_end_iface(uint16_t iface)
{
    thread_must_be(ROLE_CONTROL);
    add_iface_now(former[iface_get(iface)->vr], iface, 1);
}

void ledger_vr_except_iface(uint16_t iface, const struct counter_iface *c)
{
    add_iface(former[iface_get(iface)->vr], iface, c, -1);
}

void ledger_vr_except_drops(uint16_t vr, uint64_t packets)
{
    former[vr][LEDGER_VR_DROPS] -= packets;
}

void ledger_vr_restore(uint16_t vr, const uint64_t side[LEDGER_VR_N])
{
    thread_must_be(ROLE_CONTROL);
    for (unsigned i = 0; i < LEDGER_VR_N; i++)
        former[vr][i] += side[i];
}
