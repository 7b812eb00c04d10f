// SPDX-License-Identifier: BSD-3-Clause
// tap_manager.h - the thread between the TAPs and the forwarders
//
// Takes punted packets from the rings in class order and writes them to the
// TAP of their interface; reads what the kernel sends and gives it to the
// forwarder of the port. Everything else about a TAP (its making, MAC, MTU,
// carrier) is iface_manager's.
#ifndef PORT_TAP_MANAGER_H
#define PORT_TAP_MANAGER_H

#include <stdbool.h>
#include <stdint.h>

int tap_manager_start(void); // control; starts the thread
void tap_manager_stop(void);

// --- control: hands over or takes back a TAP; waits for the thread's answer ---
int tap_manager_add(uint16_t iface, int fd); // the fd is tap_manager's from now on
int tap_manager_del(uint16_t iface);         // closes the fd
int tap_manager_reflect(uint16_t iface,
                        bool on); // show its frames to tap_reflect.h first; does not wait
// Writes the frames of watch `watch` to `fd`, which is tap_manager's from now on; -1: no more.
// Waits for the thread's answer.
int tap_manager_mirror(unsigned watch, int fd);
int tap_manager_sync(void); // waits until what was said before this is in force

#endif
