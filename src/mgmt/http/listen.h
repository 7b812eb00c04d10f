// SPDX-License-Identifier: BSD-3-Clause
// listen.h - listeners on loopback that do not authenticate: metrics, the web page
//
// Other hosts cannot reach them, and neither can a page of a browser on this host: a request whose
// Host is no name of loopback is refused (DNS rebinding). Control role.
#ifndef HTTP_LISTEN_H
#define HTTP_LISTEN_H

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

// Who serves a kind of listener, told before the first one opens.
struct http;
struct listen_server {
    int (*start)(
        char *err,
        size_t err_size); // before each listener; NULL: nothing to do. 0 or -errno with a sentence
    void (*stop)(void);                       // once all are closed; or NULL
    void (*answer)(struct http *h); // any request, also those that listen_refused would refuse
};
void listen_serve(enum listen_what what, const struct listen_server *s);
bool listen_refused(struct http *h); // the host is not ours: an answer has been given

int listen_open(const struct listen *l, char *err, size_t err_size); // 0 or -errno with a sentence
void listen_close(const struct listen *l);
void listen_each(void (*fn)(void *ctx, const struct listen *l), void *ctx);
void listen_fini(void); // closes all

bool listen_host_is_ours(const char *host); // a Host header, NULL = none

#endif
