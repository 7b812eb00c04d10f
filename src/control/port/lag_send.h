// SPDX-License-Identifier: BSD-3-Clause
// lag_send.h - frames that a manager sends by a member of a LAG: LACPDUs, markers, announcements
//
// The frames go through the inject ring of the member's forwarder. Called by lag_active.c,
// lag_manager.c and lacp_repeat.c.
#ifndef PORT_LAG_SEND_H
#define PORT_LAG_SEND_H

#include "port/lag_port.h"

// --- control ---
void lag_send_slow(const struct lag_port *l, const struct managed_port *p,
                   const uint8_t pdu[LACP_PDU]);
// Also hands it to lacp_repeat.h, until lag_send_stop.
void lag_send_lacpdu(const struct lag_port *l, struct managed_port *p, const uint8_t pdu[LACP_PDU]);
void lag_send_stop(struct managed_port *p);
// Announces the MACs of the LAG's interfaces by a new active member.
void lag_announce(struct lag_port *l, const struct managed_port *p);

// --- any manager: by port `port`, as a frame of interface `iface` ---
void lag_send_frame(uint16_t port, uint16_t iface, const uint8_t *frame, uint16_t n);

#endif
