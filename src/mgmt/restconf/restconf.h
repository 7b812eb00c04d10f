// SPDX-License-Identifier: BSD-3-Clause
// restconf.h - the router's management interface: RFC 8040; control role
#ifndef RESTCONF_RESTCONF_H
#define RESTCONF_RESTCONF_H

#include <stdbool.h>
#include <stddef.h>

#include "http/role.h"

struct http;

int restconf_start(char *err, size_t err_size); // on the UNIX socket
void restconf_stop(void);
void restconf_answer(struct http *h); // a request by VIA_API
// Of a read whose schema is not known; false: an answer has been given.
bool restconf_query_ok(struct http *h);
enum access_level restconf_needs(const char *method,
                                 const char *path); // the least role whose body is worth reading

#endif
