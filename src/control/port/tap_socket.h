// SPDX-License-Identifier: BSD-3-Clause
// tap_socket.h - a socket for ioctls in a network namespace, which all TAPs there share
//
// With one for each of 10,000 TAPs, limits of open files would be in the way. Called by tap.c;
// control role, also aside.
#ifndef PORT_TAP_SOCKET_H
#define PORT_TAP_SOCKET_H

int tap_socket_get(void);     // in the current namespace; -1 with errno
void tap_socket_put(int sock); // -1: nothing

#endif
