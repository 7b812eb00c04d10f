// SPDX-License-Identifier: BSD-3-Clause
// event.h - what happens, told at once to whoever listens (RFC 8040, 6)
//
// A client listens by GET /restconf/streams/events: server-sent events, each a notification of
// kamuee.yang. Nobody waits for a listener: what a slow one has no room for is counted, and it is
// told how many it missed. Control role.
#ifndef EVENT_EVENT_H
#define EVENT_EVENT_H

#include <jansson.h>
#include <stdbool.h>

#define EVENT_LISTENERS_MAX 128
#define EVENT_LISTENERS_PEER 32    // of one user of the socket, or one address
#define EVENT_LISTENERS_RESERVE 16 // of all, root's

// `name`: a notification of kamuee.yang; `body`: its leaves, taken over. Without listeners nothing
// happens. Those that make events only while somebody listens: told before the first listener.
struct event_sources {
    void (*start)(void); // somebody listens
    void (*stop)(void);  // nobody does any more
};
void event_init(const struct event_sources *s);

void event_publish(const char *name, json_t *body);
bool event_wanted(void); // anyone listens: for who would have to make the body with much work

struct http;
void event_stream(struct http *h); // GET /restconf/streams/events: answers by a stream

#endif
