// SPDX-License-Identifier: BSD-3-Clause
// rib_tunnel.h - the path to the remote end of each tunnel
#ifndef RIB_RIB_TUNNEL_H
#define RIB_RIB_TUNNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "table/tunnel.h"

// Control, before its loop runs: `fn` is called on that loop when the state or the path MTU of the
// tunnel with that number has changed (table/tunnel.h).
void rib_tunnel_set_event(void (*fn)(uint16_t number));
// Any manager: an ICMP error says that an outer packet of the tunnel with these ends was too big
// for a link on the way; key known or not (RFC 1191, RFC 8201). Believed for TUNNEL_TOLD_NS if such
// a tunnel is there, and down to what every link takes.
#define TUNNEL_TOLD_NS 600000000000ull // RFC 1191 6.3, RFC 8201 4: ten minutes
void rib_tunnel_too_big(const struct tunnel_key *k, bool has_key, uint16_t mtu);
// --- rib_manager ---
void rib_tunnel_tick(uint64_t now_ns); // a few times a second: refreshes, forgets what is too old
void rib_tunnel_note(uint16_t vr, const struct prefix *p); // it has changed in a FIB; NULL: all may
void rib_tunnel_commit(void);  // FIBs have changed; before next hops are freed
void rib_tunnel_iface_changed(uint16_t iface); // its MTU
void rib_tunnel_changed(void); // tunnels have come or gone

#endif
