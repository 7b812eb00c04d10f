// SPDX-License-Identifier: BSD-3-Clause
// xdp_pass.h - attaches an XDP program that passes every frame
//
// While a veth has an XDP program, Linux switches TSO and GSO off at its peer, in any namespace, so
// the peer sends no segment longer than the link allows. Used by kernel_link.c.
#ifndef DEVICE_XDP_PASS_H
#define DEVICE_XDP_PASS_H

// Attaches it in driver mode to an interface of the current namespace. Returns a descriptor, which
// keeps it attached while open, or -errno.
int xdp_pass_attach(int ifindex);

#endif
