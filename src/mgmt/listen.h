// SPDX-License-Identifier: BSD-3-Clause
// listen.h - listeners on loopback that answer without asking who it is: metrics, the web page
//
// Nobody beyond this host reaches them, and a page of a browser on this host does not either: a request whose Host is no name of
// loopback is refused (DNS rebinding). Control role.
#ifndef MGMT_LISTEN_H
#define MGMT_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum listen_what { LISTEN_METRICS, LISTEN_WEB, LISTEN_N };
extern const char *const listen_name[LISTEN_N]; // "metrics", "web"

struct listen {
    enum listen_what what;
    uint16_t port;
    char address[16];
};

int listen_open(const struct listen *l, char *err, size_t err_size); // 0 or -errno with a sentence
void listen_close(const struct listen *l);
void listen_each(void (*fn)(void *ctx, const struct listen *l), void *ctx);
void listen_fini(void); // closes all

bool listen_host_is_ours(const char *host); // a Host header, NULL = none

#endif
