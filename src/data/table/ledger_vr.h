// SPDX-License-Identifier: BSD-3-Clause
// ledger_vr.h - the ledger of one virtual router
//
//     rx + inject + entered = tx + punt + left + held + drops            (packets)
//
//   rx       received by its interfaces, including metalinks and tunnels, or by one of its ports
//            for no interface (dropped)
//   inject   from the kernel, or made here: ICMP errors, fragments, copies of multicast
//   entered  from another virtual router, by a route (an import, a leaked route), or inside a
//            tunnel whose outer packets this router sends
//   tx       sent by its interfaces except tunnels: a packet that leaves by a tunnel still counts
//            here until the outer packet leaves; includes packets waiting in a port's queue
//   punt     given to the kernel
//   left     to another virtual router as above; or an outer packet of a tunnel, opened here (the
//            tunnel's virtual router, perhaps the same one, receives the inner packet)
//   held     waits for a neighbor
//   drops    ended by a reason, the sum of counter_sum_vr_drop()
//
// Most of it is counted by the interfaces; `former` has their counts from another virtual router,
// or from before they or the process ended. Exact without traffic. An interface that moves under
// traffic may cause an error of one burst in both routers, with opposite signs. Control role.
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
// Like ledger_read().
void ledger_vr_read(uint16_t vr, struct ledger_vr *l, unsigned tries);

// --- for iface.c: before the virtual router of an interface, or the meaning of its id, changes ---
void ledger_vr_move(uint16_t iface, uint16_t to);
void ledger_vr_end_iface(uint16_t iface);

// --- for counter.c: reset to 0; without counts of an earlier process, which are restored below ---
void ledger_vr_begin(uint16_t vr);
void ledger_vr_except_iface(uint16_t iface, const struct counter_iface *c);
void ledger_vr_except_drops(uint16_t vr, uint64_t packets);
void ledger_vr_restore(uint16_t vr, const uint64_t side[LEDGER_VR_N]);

#endif
