// SPDX-License-Identifier: BSD-3-Clause
// rib_tunnel.h - the path to the remote end of each tunnel
#ifndef RIB_RIB_TUNNEL_H
#define RIB_RIB_TUNNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "table/tunnel.h"

// Control, before its loop runs: `fn` is called on that loop when the state or the path MTU of the
// tunnel with that number changed (table/tunnel.h).
void rib_tunnel_set_event(void (*fn)(uint16_t number));
// Any manager: an ICMP error reported that an outer packet of the tunnel with these ends was too
// big for a link on the path; key known or not (RFC 1191, RFC 8201). Accepted for TUNNEL_TOLD_NS if
// such a tunnel exists, and not below the MTU that every link supports.
#define TUNNEL_TOLD_NS 600000000000ull // RFC 1191 6.3, RFC 8201 4: ten minutes
void rib_tunnel_too_big(const struct tunnel_key *k, bool has_key, uint16_t mtu);
// --- rib_manager ---
void rib_tunnel_tick(uint64_t now_ns); // a few times a second: refreshes, forgets outdated reports
void rib_tunnel_note(uint16_t vr, const struct prefix *p); // prefix changed in a FIB; NULL: all
void rib_tunnel_commit(void);  // FIBs have changed; call before next hops are freed
void rib_tunnel_iface_changed(uint16_t iface); // its MTU changed
void rib_tunnel_changed(void); // tunnels came or went

#endif
