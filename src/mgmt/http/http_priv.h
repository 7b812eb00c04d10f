// SPDX-License-Identifier: BSD-3-Clause
// http_priv.h - shared by http.c (requests, answers), http_live.c (connections), http_listen.c
// (listeners) and http_gate.c
#ifndef HTTP_HTTP_PRIV_H
#define HTTP_HTTP_PRIV_H

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>

#include "base/vec.h"
#include "http/access.h"
#include "http/http.h"
#include "http/http_frame.h"
#include "http/http_listen.h"
#include "http/http_peer.h"

#define HTTP_IDLE_S 120 // a connection without a request
#define HTTP_BODY_OTHERS (2u << 20)       // bytes, except for an administrator on the socket
#define HTTP_BODY_ANONYMOUS (64u << 10)   // for unidentified clients

struct http_verdict { // the gate's findings about a request
    char method[16];
    int code;            // refuse with this code, for the reason `why`; 0: accepted
    const char *tag;
    char why[320];
    bool stranger;       // refused because the client is unknown
    bool last;           // the connection ends with the answer
    struct who who;
    enum http_via via;
    uint64_t body_bytes; // charged to its peer
};

struct http_gate { // limits the input of a connection's evhttp (http_gate.c)
    struct evbuffer *held; // bytes that must not pass yet
    size_t seen, fed;      // of `held`, of a header and of a body: already parsed
    struct http_body body;
    bool pending;          // a request has passed, but on_request was not called yet
    bool discard;          // its body is dropped
    bool dead;             // all further bytes are dropped
    bool inside;           // the gate itself changes the buffer
    struct http_verdict verdict; // of the request that has passed
};

struct http_live { // a connection
    struct bufferevent *bev; // with a reference of ours
    struct http_door *door;
    struct http_peer *peer;  // NULL: just accepted; proxy: no header has come
    struct http_gate gate;
    uint64_t since_ns;       // time of its last request, or of its start
    bool trusted;            // from the proxy's user
    bool busy;               // its request has no answer yet
    bool shut;               // evhttp is about to notice
};

struct http_door {
    bool local; // the socket of this host's users, not the proxy's
    uid_t proxy; // the proxy's user, for the other socket
    struct evhttp *evhttp;
    struct evconnlistener *listener;
    struct event *rest;             // accepts nothing until then
    struct event *arrived;          // examines new connections
    bool closed;                    // and is freed by `rest`
    VEC(struct http_live *) live;   // its connections
};
extern struct http_doors {
    VEC(struct http_door *);
} http_doors; // all open listeners

// --- http.c ---
extern struct event_base *http_base;
int http_requests_start(void); // 0 or -ENOMEM
void http_requests_stop(void); // after the listeners
void http_forget(
    const struct http_door *door); // its requests have no connection any more
// Makes an evhttp for a listener; its requests go to the handler. NULL: no memory.
struct evhttp *http_new_server(struct http_door *door, int idle_s);

// --- http_live.c ---
struct http_live *http_live_of(struct http_door *door, const struct bufferevent *bev);
// Sets its peer and checks the peer's number of connections; `address`: of the proxy's client.
void http_identify(struct http_live *c, const struct ip_addr *address);
uint64_t http_unread(const struct http_peer *
                         p); // bytes of answers that the peer has not read; NULL: of all peers
bool http_live_is_full(const struct http_door *door);  // it accepts nothing
void http_live_sweep(struct http_door *door);          // frees connections that are gone
void http_live_free(struct http_live *c);
void http_live_shut(struct http_live *c);              // evhttp reads its end, and frees it
void http_live_shut_silent(struct http_door *door);    // if the door is full
void http_live_shut_spare(void);  // an accept failed: closes silent ones, of any door
void http_live_spare_again(void); // the same, until the spare descriptors are there again

// --- socket_guard.c ---
// Limit connections to a UNIX socket to the groups of access.h, or to one user, by an access
// control list; without support in the file system, to the first group. Until then, only root may
// connect.
void socket_guard(const char *path);
void socket_guard_user(const char *path, uid_t uid);

// --- http_gate.c ---
void http_gate_begin(struct http_live *c);
// Identifies the sender of a request with the current rights; counts no guesses.
void http_who_now(const struct http_live *c, enum http_via via, const struct http_claim *claim,
                  struct who *w);
void http_gate_next(struct http_live *c); // its request was taken over, the next one may come
bool http_gate_is_inside(const struct http_live *c); // an accepted body is arriving
void http_gate_end(struct http_live *c);

#endif
