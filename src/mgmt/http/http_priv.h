// SPDX-License-Identifier: BSD-3-Clause
// http_priv.h - what http.c (requests, answers), http_listen.c (where they come from) and
// http_page.c share
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
#define HTTP_BODY_OTHERS (2u << 20)       // bytes, of who is not an administrator on the socket
#define HTTP_BODY_ANONYMOUS (64u << 10)   // of who does not say who it is

struct http_verdict { // what the gate found out of a request
    int code;            // it is refused so, for the reason `why`; 0: it may go on
    const char *tag;
    char why[320];
    bool stranger;       // refused because nobody knows who it is
    bool last;           // the connection ends with the answer
    struct who who;
    enum http_via via;
    uint64_t body_bytes; // taken of its peer's
};

struct http_gate { // what a connection's evhttp may read (http_gate.c)
    struct evbuffer *held; // what it may not yet
    size_t seen, fed;      // of `held`, of a header and of a body: looked at
    struct http_body body;
    bool pending;          // a request has passed that on_request was not called for
    bool discard;          // its body is dropped
    bool dead;             // all that comes is
    bool inside;           // the gate itself changes the buffer
    struct http_verdict verdict; // of the request that has passed
};

struct http_live { // a connection
    struct bufferevent *bev; // with a reference of ours
    struct http_door *door;
    struct http_peer *peer;  // NULL: accepted just now; of the proxy: no header has come
    struct http_gate gate;
    uint64_t since_ns;       // its last request came, or itself
    bool trusted;            // of the proxy's user
    bool shut;               // evhttp is about to find out
};

struct http_door {
    bool local; // the socket of this host's users, not the proxy's
    uid_t proxy; // the one user whom the other serves
    struct evhttp *evhttp;
    struct evconnlistener *listener;
    struct event *rest;             // it accepts nothing until then
    struct event *arrived;          // looks at who has just come
    bool closed;                    // and is freed then
    VEC(struct http_live *) live;   // its connections
};

// --- http.c ---
extern struct event_base *http_base;
// An evhttp for a listener; its requests go to the handler. NULL: no memory.
void http_forget(
    const struct http_door *door); // requests of it are without a connection from now on
struct evhttp *http_new_server(struct http_door *door, int idle_s);
bool http_busy(const struct bufferevent *bev); // a request on it has no answer yet

// --- http_listen.c ---
struct http_live *http_live_of(struct http_door *door, const struct bufferevent *bev);
// Finds its peer, and whether that may have another connection; `address`: of the proxy's client.
void http_identify(struct http_live *c, const struct ip_addr *address);
uint64_t http_unread(const struct http_peer *
                         p); // bytes of answers that wait for the peer to read; NULL: for all peers

// --- http_gate.c ---
void http_gate_begin(struct http_live *c);
// Who the sender of a request is now; counts no guesses.
void http_who_now(const struct http_live *c, enum http_via via, const struct http_claim *claim,
                  struct who *w);
void http_gate_next(struct http_live *c); // its request has been taken over, the next one may come
bool http_gate_is_inside(const struct http_live *c); // a body is coming that was allowed
void http_gate_end(struct http_live *c);

// --- http_page.c ---
void http_page_watch(struct bufferevent *bev); // its error answers become JSON

#endif
