// SPDX-License-Identifier: BSD-3-Clause
// lag_send.h - frames that control sends through a member of a LAG: LACPDUs, markers, announcements
//
// Called by lag_active.c and lag_manager.c.
#ifndef LAG_LAG_SEND_H
#define LAG_LAG_SEND_H

#include "lag/lag_port.h"

// --- control ---
void lag_send_slow(const struct lag_port *l, const struct managed_port *p,
                   const uint8_t pdu[LACP_PDU]);
// Also passes it to lacp_repeat.h, until lag_send_stop.
void lag_send_lacpdu(const struct lag_port *l, struct managed_port *p, const uint8_t pdu[LACP_PDU]);
void lag_send_stop(struct managed_port *p);
// Announces the MACs of the LAG's interfaces through a new active member.
void lag_announce(struct lag_port *l, const struct managed_port *p);

#endif
