// SPDX-License-Identifier: BSD-3-Clause
// tap_reflect.h - a made-up neighbor behind a TAP, for its self-test
//
// While a TAP is tested, tap_manager gives each frame of the kernel to the reflector first. It
// answers ARP and neighbor solicitations for two unused addresses, and returns packets to them with
// source and destination swapped. A swap changes no checksum, and a TCP socket that meets itself
// opens by a simultaneous open (RFC 9293 3.5) and reads what it writes: enough to test TCP, UDP and
// raw sockets. No state.
#ifndef PORT_TAP_REFLECT_H
#define PORT_TAP_REFLECT_H

#include <stdbool.h>

#include "table/punt.h"

struct rte_mbuf;

#define TAP_REFLECT_IP4 "192.0.0.8" // the IPv4 dummy address (RFC 7600), never a host's
#define TAP_REFLECT_IP6 "fe80::6b61:6d75:6565:7465" // link-local

// True: the frame was for the made-up neighbor and is now its answer, to be punted in *class.
bool tap_reflect(struct rte_mbuf *m, enum punt_class *class);

#endif
