// SPDX-License-Identifier: BSD-3-Clause
// port_begin.h - at the start, ports forward last
//
// The first packet is to find a complete FIB: without routes it would be answered by ICMP errors.
// So until the configuration is in force, no forwarder polls a port and no TAP is read; and until
// the kernel's tables are read, forwarders let control packets pass and keep the others (plan.h's
// plan_begin). In an upgrade all packets wait in their queues. Control.
#ifndef PORT_PORT_BEGIN_H
#define PORT_PORT_BEGIN_H

#include <stdbool.h>

struct event_base;

int port_begin_init(struct event_base *loop); // before the first port; holds them
void port_begin(void);                        // the configuration is in force
// In an upgrade: when the tables are read, or after a minute, `fn` is called, and ports forward
// when port_begin_now is.
void port_begin_instead(void (*fn)(bool all_read));
void port_begin_now(void);
void port_begin_fini(void);

#endif
