// SPDX-License-Identifier: BSD-3-Clause
// event.h - events, sent at once to all listeners (RFC 8040, 6)
//
// A client listens by GET /restconf/streams/events: server-sent events, each a notification of
// kamuee.yang. No listener delays the router: events that a slow listener misses are counted, and
// it gets their number. Control role.
#ifndef EVENT_EVENT_H
#define EVENT_EVENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define EVENT_LISTENERS_MAX 128
#define EVENT_LISTENERS_PEER 32    // for one user of the socket, or one address
#define EVENT_LISTENERS_RESERVE 16 // of the total, reserved for root

// How a feature produces events, only while there are listeners; each may be NULL.
struct feature_events {
    void (*want)(bool on); // first listener connected, last listener disconnected
    void (*look)(void);    // five times a second, and right after the first one connected
};

// `name` is a notification of kamuee.yang; `body` has its leaves, ownership passes to this
// function. Does nothing without listeners.
void event_publish(const char *name, json_t *body);
void event_publish_missed(uint64_t n); // number of events that were not published; 0 sends nothing
bool event_wanted(void); // there are listeners; ask before an expensive body is built

struct http;
void event_stream(struct http *h); // GET /restconf/streams/events, answered by a stream

#endif
