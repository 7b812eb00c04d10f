// SPDX-License-Identifier: BSD-3-Clause
// port_socket.h - the Unix sockets by which memif, vhost and virtio-user devices meet other
// programs
//
// PATH as devargs_socket says it: a file, or '@' and an abstract name of the current network
// namespace. Any thread.
#ifndef PORT_PORT_SOCKET_H
#define PORT_PORT_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

// Whether some program has it. That program notices nothing.
bool port_socket_is_taken(const char *path);
// Makes way for a device that will listen there: the file of a program that is gone (kill -9) is
// removed. 0, also while a living program has it, or -errno with a sentence.
int port_socket_clear(const char *path, char *err, size_t err_size);

#endif
