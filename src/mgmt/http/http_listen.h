// SPDX-License-Identifier: BSD-3-Clause
// http_listen.h - listeners: the UNIX sockets of this host's users and of the proxy; control role
#ifndef HTTP_HTTP_LISTEN_H
#define HTTP_HTTP_LISTEN_H

#include <stdbool.h>
#include <stddef.h>

#define HTTP_SOCKET "kamuee.sock" // in the run directory
#define HTTP_PROXY_SOCKET "proxy.sock"

// The socket for members of access.h's groups. 0 or -errno with a sentence.
int http_start(char *err, size_t err_size);
void http_stop(void);

// The socket for the one user of the proxy process (docs/adr/0025), which is trusted to name its
// clients; "" = no socket. 0, or -errno with a sentence and nothing changed.
int http_proxy(const char *user, char *err, size_t err_size);
bool http_has_proxy(void);

// In an upgrade, two kamueeds share the listening sockets (docs/adr/0020). The new one is offered
// the old one's sockets before its configuration is applied, and accepts nothing until the old one
// ends.
void http_give(void (*fn)(int fd)); // calls fn for each of our sockets
void http_offer(int fd);            // of the former kamueed; now ours
void http_hold(bool on);            // on: clients wait; off: closes unused offered sockets

void http_guard_socket(void); // the allowed groups have changed

#endif
