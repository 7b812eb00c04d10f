// SPDX-License-Identifier: BSD-3-Clause
// api.h - reads from kamueed by RESTCONF over its UNIX socket
//
// A request takes at most API_PATIENCE_MS: an SNMP agent gives up on us after some seconds.
#ifndef SNMP_ROUTER_API_H
#define SNMP_ROUTER_API_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define API_PATIENCE_MS 2500

void api_use(const char *socket_path);
// GET of a path below /restconf/data/. 0 with the value; -ENOENT: there is no such resource;
// another -errno: no answer from kamueed, or not in time. After a timeout, requests fail at once
// for a second, because the agent behind each of them waits too.
int api_get(const char *path, json_t **value);
// Returns a new connection on which events arrive, without waiting for the first event; or -errno.
int api_listen(const char *filter);

// Members of an object; "" and 0 if missing. 64-bit numbers are strings (RFC 7951).
const char *api_text(const json_t *object, const char *key);
uint64_t api_number(const json_t *object, const char *key);
bool api_mac(const json_t *object, const char *key, uint8_t mac[6]);

#endif
