// SPDX-License-Identifier: BSD-3-Clause
// ledger_vr.h - the ledger of one virtual router
//
//     rx + inject + entered = tx + punt + left + held + drops            (packets)
//
//   rx       received by its interfaces, those of metalinks and tunnels too, or by a port of its
//            and no interface (dropped)
//   inject   from the kernel, or made here: ICMP errors, fragments, copies of multicast
//   entered  came from another virtual router, by a route (an import, a leaked route), or inside a
//            tunnel, whose outer packets it sends
//   tx       sent by its interfaces but tunnels: a packet that leaves by a tunnel is its own until
//            the outer packet leaves; includes what waits in a port's queue
//   punt     given to the kernel
//   left     went to another virtual router as above; or, an outer packet of a tunnel, has been
//            opened (the tunnel's virtual router, perhaps the same, receives the inner one)
//   held     waits for a neighbor
//   drops    ended by a reason, the sum of counter_sum_vr_drop()
//
// Most is what the interfaces count; `former` has what they counted in another virtual router, or
// before they or the process ended. Exact without traffic. An interface that moves under traffic
// may be one burst off in both, by opposite numbers. Control role.
#ifndef TABLE_LEDGER_VR_H
#define TABLE_LEDGER_VR_H

#include <stdint.h>

struct counter_iface;

enum ledger_vr_side {
    LEDGER_VR_RX,
    LEDGER_VR_INJECT,
    LEDGER_VR_ENTERED,
    LEDGER_VR_TX,
    LEDGER_VR_PUNT,
    LEDGER_VR_LEFT,
    LEDGER_VR_DROPS,
    LEDGER_VR_N
};
extern const char *const ledger_vr_name[LEDGER_VR_N]; // "rx"

struct ledger_vr {
    uint64_t side[LEDGER_VR_N];
    uint64_t held;
    int64_t imbalance;
};
#define LEDGER_VR_TRIES 4 // for a view of perhaps thousands; at rest two passes agree
// As ledger_read().
void ledger_vr_read(uint16_t vr, struct ledger_vr *l, unsigned tries);

// --- for iface.c: before an interface's virtual router, or what its id means, changes ---
void ledger_vr_move(uint16_t iface, uint16_t to);
void ledger_vr_end_iface(uint16_t iface);

// --- for counter.c: at 0; without what an earlier process counted, which is restored below ---
void ledger_vr_begin(uint16_t vr);
void ledger_vr_except_iface(uint16_t iface, const struct counter_iface *c);
void ledger_vr_except_drops(uint16_t vr, uint64_t packets);
void ledger_vr_restore(uint16_t vr, const uint64_t side[LEDGER_VR_N]);

#endif
