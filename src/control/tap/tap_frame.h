// SPDX-License-Identifier: BSD-3-Clause
// tap_frame.h - the struct virtio_net_hdr before a frame that goes up to a TAP
//
// It tells the kernel the port's knowledge of the TCP or UDP checksum: either the checksum is
// correct, so the kernel need not verify it again; or it is still missing, as in packets that a
// virtual port takes from a neighboring guest, and without the header the kernel would drop the
// packet as damaged. In the other direction the header is empty, because offloads are off (tap.c).
// Used by tap_manager.c; no state.
#ifndef TAP_TAP_FRAME_H
#define TAP_TAP_FRAME_H

#include <linux/virtio_net.h>
#include <rte_mbuf.h>

// For an untagged Ethernet frame that a port received, with its headers in the first segment.
struct virtio_net_hdr tap_frame_header(const struct rte_mbuf *m);

#endif
