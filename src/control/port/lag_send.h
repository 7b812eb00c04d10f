// SPDX-License-Identifier: BSD-3-Clause
// lag_send.h - frames that a manager sends by a member of a LAG: LACPDUs, markers, announcements
#ifndef PORT_LAG_SEND_H
#define PORT_LAG_SEND_H

#include "port/lag_port.h"

// --- control ---
void lag_send_slow(const struct lag_port *l, const struct managed_port *p,
                   const uint8_t pdu[LACP_PDU]);
void lag_send_lacpdu(
    const struct lag_port *l, struct managed_port *p,
    const uint8_t pdu[LACP_PDU]);           // and again while control is busy (lacp_repeat.h)
void lag_send_stop(struct managed_port *p); // no more of them
void lag_announce(
    struct lag_port *l,
    const struct managed_port *p); // the MACs of the LAG's interfaces, by a new active member

// --- any manager: by port `port`, as a frame of interface `iface` ---
void lag_send_frame(uint16_t port, uint16_t iface, const uint8_t *frame, uint16_t n);

#endif
