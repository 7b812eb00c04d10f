// SPDX-License-Identifier: BSD-3-Clause
// tap_frame.h - the struct virtio_net_hdr before a frame that goes up to a TAP
//
// It tells the kernel what the port knows of the TCP or UDP checksum: that it is right, so the
// kernel need not compute it again; or that the packet does not have it yet, as virtual ports pass
// on what a neighboring guest sent: without the header the kernel would drop it as damaged.
// Downwards the header is empty, because offloads are off (tap.c). tap_manager.c's helper; no
// state.
#ifndef PORT_TAP_FRAME_H
#define PORT_TAP_FRAME_H

#include <linux/virtio_net.h>
#include <rte_mbuf.h>

// Of an untagged Ethernet frame that a port received; headers must be in the first segment.
struct virtio_net_hdr tap_frame_header(const struct rte_mbuf *m);

#endif
