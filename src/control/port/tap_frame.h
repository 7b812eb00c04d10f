// SPDX-License-Identifier: BSD-3-Clause
// tap_frame.h - what the kernel has to know of a frame beside its bytes
//
// Frames pass a TAP behind a struct virtio_net_hdr. Upwards it says what the
// port knows of the checksum behind the IP header: that it is right, so that
// the kernel need not compute it again; or that it is not in the packet at
// all, as virtual ports hand over what a neighboring guest sent - without
// this word the kernel would drop such a packet as damaged. Downwards it says
// nothing: offloads are off (tap.c), so frames come with their checksums and in
// their final size. tap_manager's helper; no state.
#ifndef PORT_TAP_FRAME_H
#define PORT_TAP_FRAME_H

#include <linux/virtio_net.h>
#include <rte_mbuf.h>

// Of an untagged Ethernet frame that a port received; headers beyond the first segment are not
// looked for.
struct virtio_net_hdr tap_frame_header(const struct rte_mbuf *m);

#endif
