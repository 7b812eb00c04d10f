// SPDX-License-Identifier: BSD-3-Clause
// port_wait.h - how a port's receive queues wake the forwarder that sleeps (table/plan.h). Control
// role.
#ifndef PORT_PORT_WAIT_H
#define PORT_PORT_WAIT_H

#include "port/port_device.h"

// Of a device that has just been started and is in nobody's plan: fills d->wait[]; interrupts are
// off then.
void port_wait_open(struct port_device *d);
void port_wait_close(struct port_device *d); // before the device stops, once it is in nobody's plan
// PORT_RX_INTERRUPT: every receive queue wakes its forwarder. Else PORT_RX_POLL.
enum port_rx_mode port_wait_mode(const struct port_device *d);

#endif
