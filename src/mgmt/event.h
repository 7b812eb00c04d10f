// SPDX-License-Identifier: BSD-3-Clause
// event.h - what happens, told at once to whoever listens (RFC 8040, 6)
//
// A client listens by GET /restconf/streams/events: server-sent events, each a notification of
// kamuee.yang. Nobody waits for a listener: what a slow one has no room for is counted, and it is
// told how many it missed. Control role.
#ifndef MGMT_EVENT_H
#define MGMT_EVENT_H

#include <jansson.h>
#include <stdbool.h>

#define EVENT_LISTENERS_MAX 64

// `name`: a notification of kamuee.yang; `body`: its leaves, taken over. Without listeners nothing happens.
void event_publish(const char *name, json_t *body);
bool event_wanted(void); // anyone listens: for who would have to make the body with much work

#endif
