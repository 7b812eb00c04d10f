// SPDX-License-Identifier: BSD-3-Clause
// tunnel_back.h - rebuilds the outer packet of a frame from a Linux tunnel, for the kernel
//
// The device belongs to Linux, so kamueed does not write to it. Instead the kernel gets a packet
// for itself in the form in which it came from the remote end, through the TAP of an interface that
// leads there, and removes the outer header itself. Used by tap_manager; no state.
#ifndef TAP_TUNNEL_BACK_H
#define TAP_TUNNEL_BACK_H

#include <linux/virtio_net.h>
#include <rte_mbuf.h>
#include <stdbool.h>
#include <stdint.h>

#include "table/tunnel.h"

struct tunnel_back {
    struct virtio_net_hdr header;
    uint8_t bytes[14 + TUNNEL_HEADER]; // in front of the packet
    uint16_t size;                     // bytes in use
    uint16_t skip;                     // bytes of the frame that they replace
};

// Returns the interface whose TAP gets the packets for interface `id`: itself, unless it is a Linux
// tunnel; 0: there is none.
uint16_t tunnel_back_iface(uint16_t id);
// Rebuilds the outer packet of an untagged frame that tunnel t received, for an interface with that
// MAC. Returns false if the tunnel does not carry such packets.
bool tunnel_back_make(struct tunnel_back *b, const struct tunnel *t, const struct rte_mbuf *m,
                      const uint8_t mac[6]);

// tunnel_icmp.c: ICMP errors about the outer packets of tunnels.

// Takes a punted, untagged frame of `n` readable bytes that virtual router `vr` received: if it
// reports that a tunnel's packet was too big, informs rib_manager. Called by tap_manager.
void tunnel_icmp(const uint8_t *frame, uint32_t n, uint16_t vr);

// tap_frame.c: the struct virtio_net_hdr before a frame that goes up to a TAP. It tells the kernel
// the port's knowledge of the TCP or UDP checksum: either the checksum is correct, so the kernel
// need not verify it again; or it is still missing, as in packets that a virtual port takes from a
// neighboring guest, and without the header the kernel would drop the packet as damaged. In the
// other direction the header is empty, because offloads are off (tap.c).

// For an untagged Ethernet frame that a port received, with its headers in the first segment.
struct virtio_net_hdr tap_frame_header(const struct rte_mbuf *m);

#endif
