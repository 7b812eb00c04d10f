// SPDX-License-Identifier: BSD-3-Clause
// port_socket.h - the Unix sockets that connect memif, vhost and virtio-user devices to other
// programs
//
// PATH as devargs_socket gives it: a file, or '@' and an abstract name of the current network
// namespace. Called by port_probe.c and port_device.c; any thread.
#ifndef DEVICE_PORT_SOCKET_H
#define DEVICE_PORT_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

// True if a program listens there; the program does not notice the check.
bool port_socket_is_taken(const char *path);
// Removes the socket file of a program that was killed (kill -9), so that a device can listen
// there. Returns 0, also while a living program has it, or -errno with a message in `err`.
int port_socket_clear(const char *path, char *err, size_t err_size);

#endif
