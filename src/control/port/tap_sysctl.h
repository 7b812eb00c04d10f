// SPDX-License-Identifier: BSD-3-Clause
// tap_sysctl.h - the kernel's settings of a TAP that make it a router's interface
//
// iface_tap.c sets them when a TAP is made or found again; a timer and the kernel's
// announcements check them, and what another program changed is restored with a log line. Control
// role.
#ifndef PORT_TAP_SYSCTL_H
#define PORT_TAP_SYSCTL_H

#include <stdint.h>

#include "port/tap.h"

struct event_base;
struct iface;

int tap_sysctl_init(struct event_base *loop);
void tap_sysctl_fini(void); // leaves the settings

void tap_sysctl_set(const struct tap *t, int netns); // before its carrier is on
void tap_sysctl_give_back(const struct tap *t, int netns); // of a device of Linux: as of a new one
// The kernel announced a change on this device of the virtual router (0 and less: on all of them),
// or on the device named `upper` that stands on it ("" = none). of: its interface, NULL = none.
void tap_sysctl_changed(uint16_t vr, int ifindex, const struct iface *of, const char *upper);

#endif
