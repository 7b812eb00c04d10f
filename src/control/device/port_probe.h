// SPDX-License-Identifier: BSD-3-Clause
// port_probe.h - finds, attaches and removes the device named by devargs
//
// Called by port_device.c and port_link.c; control role.
#ifndef DEVICE_PORT_PROBE_H
#define DEVICE_PORT_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Attaches the device in the current namespace; *id is its port. `said`: the operator's devargs,
// for error messages. Returns 0, or -errno with a message in `err` that gives a likely reason.
int port_probe(const char *devargs, const char *said, uint16_t *id, char *err, size_t err_size);
// Names the privilege that the driver needs and this process lacks, if that explains DPDK's error;
// "" = none (docs/features/rights.md).
void port_probe_explain_rights(const char *devargs, char *why, size_t size);
// True if the PCI device exists and is bound to a kernel driver that DPDK can use.
bool port_probe_is_there(const char *devargs);
bool port_probe_by_vfio(const char *devargs);
void port_probe_remove(uint16_t id); // of a stopped port; closes it and removes the device

// port_socket.c: the Unix sockets that connect memif, vhost and virtio-user devices to other
// programs. PATH as devargs_socket gives it: a file, or '@' and an abstract name of the current
// network namespace.

// True if a program listens there; the program does not notice the check.
bool port_socket_is_taken(const char *path);
// Removes the socket file of a program that was killed (kill -9), so that a device can listen
// there. Returns 0, also while a living program has it, or -errno with a message in `err`.
int port_socket_clear(const char *path, char *err, size_t err_size);

#endif
