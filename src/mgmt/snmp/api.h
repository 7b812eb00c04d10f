// SPDX-License-Identifier: BSD-3-Clause
// api.h - reads from kamueed by RESTCONF on its UNIX socket
//
// One connection is kept for requests. A request has API_PATIENCE_MS in all: an SNMP agent that
// waits for us forgets us after some seconds.
#ifndef SNMP_ROUTER_API_H
#define SNMP_ROUTER_API_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define API_PATIENCE_MS 2500

void api_use(const char *socket_path);
// After a request without an answer, others fail at once for a second: their askers wait, too.
// GET of a path below /restconf/data/. 0 with the value, -ENOENT: there is no such thing, or
// another -errno: kamueed does not answer, or not in time.
int api_get(const char *path, json_t **value);
// A new connection on which events arrive, without waiting for the first; or -errno.
int api_listen(const char *filter);

// Of an object; "" and 0 when it is not there. Numbers of 64 bits are strings (RFC 7951).
const char *api_text(const json_t *object, const char *key);
uint64_t api_number(const json_t *object, const char *key);
bool api_mac(const json_t *object, const char *key, uint8_t mac[6]);

#endif
