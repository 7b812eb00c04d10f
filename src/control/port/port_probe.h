// SPDX-License-Identifier: BSD-3-Clause
// port_probe.h - finding the device that devargs name; for port_device.c and port_link.c
#ifndef PORT_PORT_PROBE_H
#define PORT_PORT_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Attaches the device (current namespace); *id is its port. `said`: its arguments as the operator
// gave them, for the answer. 0 or -errno with a sentence that says why it may have failed.
int port_probe(const char *devargs, const char *said, uint16_t *id, char *err, size_t err_size);
bool port_probe_is_there(
    const char *devargs); // a PCI device that is there, with a kernel driver that DPDK can use
bool port_probe_by_vfio(const char *devargs);
void port_probe_remove(uint16_t id); // stopped; closes the port and removes the device

#endif
