// SPDX-License-Identifier: BSD-3-Clause
// http_listen.h - where requests come from: the UNIX sockets of this host's users and of the proxy;
// control role
#ifndef HTTP_HTTP_LISTEN_H
#define HTTP_HTTP_LISTEN_H

#include <stdbool.h>
#include <stddef.h>

#define HTTP_SOCKET "kamuee.sock" // in the run directory
#define HTTP_PROXY_SOCKET "proxy.sock"

// The socket for members of access.h's groups. 0 or -errno with a sentence.
int http_start(char *err, size_t err_size);
void http_stop(void);

// The socket for the one user as whom the proxy runs (docs/adr/0025), whose word is taken for who
// its clients are; "" = no socket. 0, or -errno with a sentence and nothing changed.
int http_proxy(const char *user, char *err, size_t err_size);
bool http_has_proxy(void);

// In an upgrade, two kamueeds have the same listening sockets (docs/adr/0020). The new one is
// offered the old one's, before its configuration is applied, and holds its own until the old one
// ends.
void http_give(void (*fn)(int fd)); // each of ours
void http_offer(int fd);            // of the former kamueed; it is ours from now on
void http_hold(bool on);            // clients wait; off: and what nobody has taken is closed

void http_guard_socket(void); // the groups that may use it have changed

void http_listen_start(const char *run_dir);
void http_listen_stop(void); // the proxy's

#endif
