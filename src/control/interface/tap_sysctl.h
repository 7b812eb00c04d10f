// SPDX-License-Identifier: BSD-3-Clause
// tap_sysctl.h - the kernel's settings of a TAP that make it a router's interface
//
// iface_tap.c sets them when a TAP is created or found again. A timer and kernel announcements
// check them; settings changed by another program are restored with a log line. Control role.
#ifndef INTERFACE_TAP_SYSCTL_H
#define INTERFACE_TAP_SYSCTL_H

#include <stdint.h>

#include "tap/tap.h"

struct event_base;
struct iface;

int tap_sysctl_init(struct event_base *loop);
void tap_sysctl_fini(void); // leaves the settings

void tap_sysctl_set(const struct tap *t, int netns); // call before its carrier is on
void tap_sysctl_give_back(const struct tap *t, int netns); // a Linux device's forwarding, as if new
// The kernel announced a change on this device of the virtual router (ifindex <= 0: on all
// devices), or on the device named `upper` stacked on it ("" = none). of: its interface, NULL =
// none.
void tap_sysctl_changed(uint16_t vr, int ifindex, const struct iface *of, const char *upper);

#endif
