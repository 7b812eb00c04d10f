// SPDX-License-Identifier: BSD-3-Clause
// xdp_pass.h - an XDP program that lets every frame pass, attached to a kernel interface
//
// It is there for what the kernel does beside: while a veth has an XDP program, its peer, in
// whatever namespace, sends no segment that is longer than the link (Linux takes TSO and GSO off
// it). Attached in the driver's mode only.
#ifndef PORT_XDP_PASS_H
#define PORT_XDP_PASS_H

// Attaches it to the interface, of the current namespace. A file descriptor: it is attached as long
// as that is open; or -errno.
int xdp_pass_attach(int ifindex);

#endif
