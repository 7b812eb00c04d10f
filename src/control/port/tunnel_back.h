// SPDX-License-Identifier: BSD-3-Clause
// tunnel_back.h - what a tunnel of Linux has brought becomes its outer packet again, for the kernel
//
// The device is not ours to write to. So the kernel gets a packet for itself as it came from the
// remote end, by the TAP of an interface that leads there, and takes the outer header off itself.
// tap_manager's helper; no state.
#ifndef PORT_TUNNEL_BACK_H
#define PORT_TUNNEL_BACK_H

#include <linux/virtio_net.h>
#include <rte_mbuf.h>
#include <stdbool.h>
#include <stdint.h>

#include "table/tunnel.h"

struct tunnel_back {
    struct virtio_net_hdr header;
    uint8_t bytes[14 + TUNNEL_HEADER]; // in front of the packet
    uint16_t size;                     // of them
    uint16_t skip;                     // bytes of the frame that they replace
};

// The interface whose TAP gets what is for interface `id`: itself, unless it is a tunnel of Linux;
// 0: there is none.
uint16_t tunnel_back_iface(uint16_t id);
// Of an untagged frame that tunnel t has received, to an interface with that MAC. False: it is no
// packet that the tunnel carries.
bool tunnel_back_make(struct tunnel_back *b, const struct tunnel *t, const struct rte_mbuf *m,
                      const uint8_t mac[6]);

#endif
