// SPDX-License-Identifier: BSD-3-Clause
// port_wait.h - how a port's receive queues wake a sleeping forwarder (table/plan.h)
//
// Used by port_device.c; control role.
#ifndef DEVICE_PORT_WAIT_H
#define DEVICE_PORT_WAIT_H

#include "device/port_device.h"

// Fills d->wait[] of a device that was just started and is in no plan; leaves interrupts off.
void port_wait_open(struct port_device *d);
void port_wait_close(struct port_device *d); // before the device stops, once it is in no plan
// PORT_RX_INTERRUPT if every receive queue wakes its forwarder, else PORT_RX_POLL.
enum port_rx_mode port_wait_mode(const struct port_device *d);

#endif
