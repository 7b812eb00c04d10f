// SPDX-License-Identifier: BSD-3-Clause
// xdp_pass.h - attaches an XDP program that passes every frame
//
// While a veth has an XDP program, Linux takes TSO and GSO off its peer, in whatever namespace, so
// the peer sends no segment longer than the link. kernel_link.c's helper.
#ifndef PORT_XDP_PASS_H
#define PORT_XDP_PASS_H

// In the driver's mode, to an interface of the current namespace. A file descriptor, which keeps it
// attached while it is open, or -errno.
int xdp_pass_attach(int ifindex);

#endif
