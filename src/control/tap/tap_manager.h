// SPDX-License-Identifier: BSD-3-Clause
// tap_manager.h - the thread between the TAPs and the forwarders
//
// Writes punted packets, best class first, to the TAP of their interface, and passes frames from
// the kernel to the forwarder of the port. iface_tap.c creates and deletes the TAPs.
#ifndef TAP_TAP_MANAGER_H
#define TAP_TAP_MANAGER_H

#include <stdbool.h>
#include <stdint.h>

#include "table/punt.h"
#include "tap/lag_frame.h"

int tap_manager_start(void); // control; starts the thread
void tap_manager_stop(void);
// Calls fn on control with each LACPDU or marker that port `port` received.
void tap_manager_on_slow_frame(void (*fn)(uint16_t port, const uint8_t frame[LAG_SLOW_FRAME]));

// --- control; each waits for the thread's answer, but for _reflect and _read ---
// tap_manager reads and writes the fd until another replaces it; -1: none. 0: it no longer uses the
// former. Without `read`, frames from the kernel wait in the TAP.
int tap_manager_set(uint16_t iface, int fd, bool read);
void tap_manager_read(uint16_t iface);            // frames no longer wait
int tap_manager_reflect(uint16_t iface, bool on); // show its frames to tap_reflect first
// Writes the frames of watch `watch` to `fd`, which tap_manager owns from now on; -1: stop.
int tap_manager_mirror(unsigned watch, int fd);
int tap_manager_sync(void); // all earlier calls are in force

// tap_reflect.c: a simulated neighbor behind a TAP, for its self-test. While a TAP is tested,
// tap_manager passes each frame from the kernel to the reflector first. It answers ARP and
// neighbor solicitations for two unused addresses, and returns packets to them with source and
// destination swapped. Swapping changes no checksum, and a TCP socket connected to itself opens by
// a simultaneous open (RFC 9293 3.5) and reads its own output: enough to test TCP, UDP and raw
// sockets.
struct rte_mbuf;

#define TAP_REFLECT_IP4 "192.0.0.8" // the IPv4 dummy address (RFC 7600), never a host's
#define TAP_REFLECT_IP6 "fe80::6b61:6d75:6565:7465" // link-local

// Returns true if the frame was for the simulated neighbor; it is now the answer, to be punted in
// *class.
bool tap_reflect(struct rte_mbuf *m, enum punt_class *class);

#endif
