// SPDX-License-Identifier: BSD-3-Clause
// socket_guard.h - who may connect to a UNIX socket: the groups of access.h, or one user
//
// By an access control list; where the file system has none, by the first group alone. Until it has
// been called only root may connect. Called by http_listen.c.
#ifndef HTTP_SOCKET_GUARD_H
#define HTTP_SOCKET_GUARD_H

#include <sys/types.h>

void socket_guard(const char *path);
void socket_guard_user(const char *path, uid_t uid);

#endif
