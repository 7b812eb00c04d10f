// SPDX-License-Identifier: BSD-3-Clause
// tap_socket.h - a socket for ioctls in a network namespace, shared by all its TAPs
//
// One socket for each of 10,000 TAPs would exceed the limit of open files. Called by tap.c; control
// role, also aside.
#ifndef TAP_TAP_SOCKET_H
#define TAP_TAP_SOCKET_H

int tap_socket_get(void);     // in the current namespace; -1 with errno
void tap_socket_put(int sock); // -1: does nothing

#endif
