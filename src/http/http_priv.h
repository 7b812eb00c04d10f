// SPDX-License-Identifier: BSD-3-Clause
// http_priv.h - what http.c (requests, answers), http_listen.c (where they come from) and http_page.c share
#ifndef HTTP_HTTP_PRIV_H
#define HTTP_HTTP_PRIV_H

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <openssl/ssl.h>

#include "base/vec.h"
#include "http/http.h"
#include "http/http_listen.h"

#define HTTP_IDLE_S 120 // a connection without a request

struct http_live {
    struct bufferevent *bev; // with a reference of ours
    uint64_t since_ns;       // its last request came, or itself
    bool shut;               // evhttp is about to find out
};

struct http_door {
    void (*handler)(struct http *h);
    struct http_listen at; // of TCP for RESTCONF
    bool local;            // the UNIX socket
    bool tls;
    bool anonymous;        // who does not say who it is may read
    struct evhttp *evhttp;
    struct evconnlistener *listener;
    struct event *rest;            // it accepts nothing until then
    bool closed;                   // and is freed then
    VEC(struct http_live) live;    // of TCP: its connections
};

// --- http.c ---
extern struct event_base *http_base;
// An evhttp for a listener; its requests go to the handler. NULL: no memory.
void http_forget(const struct http_door *door); // requests of it are without a connection from now on
struct evhttp *http_new_server(struct http_door *door, size_t body_max, int idle_s);
bool http_busy(const struct bufferevent *bev); // a request on it has no answer yet

// --- http_listen.c ---
void http_heard(struct http_door *door, const struct bufferevent *bev); // a request came by it

// --- http_page.c ---
void http_page_watch(struct bufferevent *bev); // its error answers become JSON

// --- http_tls.c ---
extern SSL_CTX *http_tls; // NULL while no listener has TLS

#endif
