// SPDX-License-Identifier: BSD-3-Clause
// tap_reflect.h - a simulated neighbor behind a TAP, for its self-test
//
// While a TAP is tested, tap_manager passes each frame from the kernel to the reflector first. It
// answers ARP and neighbor solicitations for two unused addresses, and returns packets to them with
// source and destination swapped. Swapping changes no checksum, and a TCP socket connected to
// itself opens by a simultaneous open (RFC 9293 3.5) and reads its own output: enough to test TCP,
// UDP and raw sockets. No state.
#ifndef TAP_TAP_REFLECT_H
#define TAP_TAP_REFLECT_H

#include <stdbool.h>

#include "table/punt.h"

struct rte_mbuf;

#define TAP_REFLECT_IP4 "192.0.0.8" // the IPv4 dummy address (RFC 7600), never a host's
#define TAP_REFLECT_IP6 "fe80::6b61:6d75:6565:7465" // link-local

// Returns true if the frame was for the simulated neighbor; it is now the answer, to be punted in
// *class.
bool tap_reflect(struct rte_mbuf *m, enum punt_class *class);

#endif
