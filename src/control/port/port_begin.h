// SPDX-License-Identifier: BSD-3-Clause
// port_begin.h - at the start, ports forward only once there are routes
//
// The first packet should find a complete FIB: without routes it would be answered with an ICMP
// error. So until the configuration is in force, no forwarder polls a port and no TAP is read.
// Until the kernel's tables are read, forwarders pass control packets and keep the others
// (plan_begin in plan.h). In an upgrade all packets wait in their queues. Control role.
#ifndef PORT_PORT_BEGIN_H
#define PORT_PORT_BEGIN_H

#include <stdbool.h>

struct event_base;

int port_begin_init(struct event_base *loop); // holds all ports; call before the first one
void port_begin(void);                        // the configuration is in force
// In an upgrade, calls `fn` once the tables are read or after a minute; ports then forward only
// after port_begin_now.
void port_begin_instead(void (*fn)(bool all_read));
void port_begin_now(void);
void port_begin_fini(void);

#endif
