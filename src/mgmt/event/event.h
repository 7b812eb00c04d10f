// SPDX-License-Identifier: BSD-3-Clause
// event.h - events, sent at once to all listeners (RFC 8040, 6)
//
// A client listens by GET /restconf/streams/events: server-sent events, each a notification of
// kamuee.yang. No listener delays the router: events that a slow one misses are counted, and it
// gets the number. Control role.
#ifndef EVENT_EVENT_H
#define EVENT_EVENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define EVENT_LISTENERS_MAX 128
#define EVENT_LISTENERS_PEER 32    // of one user of the socket, or one address
#define EVENT_LISTENERS_RESERVE 16 // of all, root's

// What a feature does to make events, only while somebody listens; each may be NULL.
struct feature_events {
    void (*start)(void); // the first listener has come
    void (*stop)(void);  // the last one has gone
    void (*look)(void);  // five times a second, and at once after start
};

// `name`: a notification of kamuee.yang; `body`: its leaves, taken over. Without listeners nothing
// happens.
void event_publish(const char *name, json_t *body);
void event_publish_missed(uint64_t n); // so many could not be told; none of 0
bool event_wanted(void); // anyone listens: for who would have to make the body with much work

struct http;
void event_stream(struct http *h); // GET /restconf/streams/events: answers by a stream

#endif
