// SPDX-License-Identifier: BSD-3-Clause
// http_listen.h - where requests come from: the UNIX socket, and TCP with or without TLS; control
// role
#ifndef HTTP_HTTP_LISTEN_H
#define HTTP_HTTP_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ip.h"

#define HTTP_LISTEN_MAX 8

struct http_listen { // a TCP listener
    struct ip_addr address; // need not exist yet
    uint16_t port;
    bool tls;
};

struct http;
struct http_door;

// The UNIX socket: for members of access.h's groups. 0 or -errno with a sentence.
int http_start(const char *path, void (*handler)(struct http *h), char *err, size_t err_size);
void http_stop(void);

// TCP for who can say who it is: opens those that are new, closes those that are not named any
// more. 0, or -errno with a sentence and nothing changed.
int http_listen(const struct http_listen *at, unsigned n, void (*handler)(struct http *h),
                char *err, size_t err_size);

// TCP for who may read without being asked who it is. NULL with a sentence.
struct http_door *http_door_open(const char *address, uint16_t port,
                                 void (*handler)(struct http *h), char *err, size_t err_size);
void http_door_close(struct http_door *d); // NULL does nothing

// In an upgrade, two kamueeds have the same listening sockets (docs/adr/0020). The new one is
// offered the old one's, before its configuration is applied, and holds its own until the old one
// ends.
void http_give(void (*fn)(int fd)); // each of ours
void http_offer(int fd);            // of the former kamueed; it is ours from now on
void http_hold(bool on);            // clients wait; off: and what nobody has taken is closed

void http_guard_socket(void); // the groups that may use it have changed

void http_listen_start(void);
void http_listen_stop(void); // of all but doors

#endif
