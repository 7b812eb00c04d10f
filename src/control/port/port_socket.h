// SPDX-License-Identifier: BSD-3-Clause
// port_socket.h - the Unix sockets by which memif, vhost and virtio-user devices meet other
// programs
//
// PATH as devargs_socket gives it: a file, or '@' and an abstract name of the current network
// namespace. Called by port_probe.c and port_device.c; any thread.
#ifndef PORT_PORT_SOCKET_H
#define PORT_PORT_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

// Does a program listen there? It does not notice the question.
bool port_socket_is_taken(const char *path);
// Removes the socket file of a program that is gone (kill -9), so that a device can listen there.
// 0, also while a living program has it, or -errno with a sentence.
int port_socket_clear(const char *path, char *err, size_t err_size);

#endif
