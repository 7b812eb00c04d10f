// SPDX-License-Identifier: BSD-3-Clause
// tap_manager.h - the thread between the TAPs and the forwarders
//
// Writes punted packets, best class first, to the TAP of their interface, and passes frames from
// the kernel to the forwarder of the port. iface_tap.c creates and deletes the TAPs.
#ifndef TAP_TAP_MANAGER_H
#define TAP_TAP_MANAGER_H

#include <stdbool.h>
#include <stdint.h>

#include "tap/lag_frame.h"

int tap_manager_start(void); // control; starts the thread
void tap_manager_stop(void);
// Calls fn on control with each LACPDU or marker that port `port` received.
void tap_manager_on_slow_frame(void (*fn)(uint16_t port, const uint8_t frame[LAG_SLOW_FRAME]));

// --- control; each waits for the thread's answer, but for _reflect and _read ---
// tap_manager reads and writes the fd until tap_manager_del. Without `read`, frames from the kernel
// wait in the TAP.
int tap_manager_add(uint16_t iface, int fd, bool read);
void tap_manager_read(uint16_t iface);            // frames no longer wait
int tap_manager_del(uint16_t iface); // 0: it no longer uses the fd
int tap_manager_reflect(uint16_t iface, bool on); // show its frames to tap_reflect.h first
// Writes the frames of watch `watch` to `fd`, which tap_manager owns from now on; -1: stop.
int tap_manager_mirror(unsigned watch, int fd);
int tap_manager_sync(void); // all earlier calls are in force

#endif
