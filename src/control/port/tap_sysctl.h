// SPDX-License-Identifier: BSD-3-Clause
// tap_sysctl.h - the kernel's settings of a TAP that make it a router's interface
//
// Set when a TAP is made or found again, looked at by the clock and whenever the
// kernel says that one was changed, and restored with a log line. Control role.
#ifndef PORT_TAP_SYSCTL_H
#define PORT_TAP_SYSCTL_H

#include <stdint.h>

#include "port/tap.h"

struct event_base;

int tap_sysctl_init(struct event_base *loop);
void tap_sysctl_fini(void); // the settings stay, as long as the TAPs do

void tap_sysctl_set(const struct tap *t, int netns); // before its carrier is on
// The kernel has told of a change on this device of the virtual router; 0 and less: on all of them.
// `upper`: on the one of this name that stands on it, "" = none.
void tap_sysctl_changed(uint16_t vr, int ifindex, const char *upper);

#endif
