// SPDX-License-Identifier: BSD-3-Clause
// socket_guard.h - limits connections to a UNIX socket to the groups of access.h, or to one user
//
// Uses an access control list; without support in the file system, only the first group. Until
// these are called, only root may connect. Called by http_listen.c.
#ifndef HTTP_SOCKET_GUARD_H
#define HTTP_SOCKET_GUARD_H

#include <sys/types.h>

void socket_guard(const char *path);
void socket_guard_user(const char *path, uid_t uid);

#endif
