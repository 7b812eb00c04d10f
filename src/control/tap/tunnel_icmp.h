// SPDX-License-Identifier: BSD-3-Clause
// tunnel_icmp.h - ICMP errors about the outer packets of tunnels
#ifndef TAP_TUNNEL_ICMP_H
#define TAP_TUNNEL_ICMP_H

#include <stdint.h>

// Takes a punted, untagged frame of `n` readable bytes that virtual router `vr` received: if it
// reports that a tunnel's packet was too big, informs rib_manager. Called by tap_manager.
void tunnel_icmp(const uint8_t *frame, uint32_t n, uint16_t vr);

#endif
