// SPDX-License-Identifier: BSD-3-Clause
// rib_tunnel.h - the path to the remote end of each tunnel
#ifndef RIB_RIB_TUNNEL_H
#define RIB_RIB_TUNNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "table/tunnel.h"

// Control, before its loop runs: `fn` is called on that loop when the state or the path MTU of the
// tunnel with that VLAN has changed (table/tunnel.h).
void rib_tunnel_set_event(void (*fn)(uint16_t vlan));
// Any manager: an ICMP error says that an outer packet of the tunnel with these ends was too big
// for a link on the way; key known or not (RFC 1191, RFC 8201). Believed for TUNNEL_TOLD_NS if such
// a tunnel is there, and down to what every link takes.
#define TUNNEL_TOLD_NS 600000000000ull // RFC 1191 6.3, RFC 8201 4: ten minutes
void rib_tunnel_too_big(const struct tunnel_key *k, bool has_key, uint16_t mtu);
void rib_tunnel_tick(uint64_t now_ns); // rib_manager, a few times a second: forgets what is too old
// rib_manager: FIBs have changed, or interfaces; before next hops are freed.
void rib_tunnel_refresh(void);

#endif
