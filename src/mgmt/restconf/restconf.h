// SPDX-License-Identifier: BSD-3-Clause
// restconf.h - the router's management interface: RFC 8040; control role
#ifndef RESTCONF_RESTCONF_H
#define RESTCONF_RESTCONF_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "http/access.h"

struct http;

// State in a model other than kamuee.yang, read-only.
struct feature_view {
    // Answers a request below /restconf/data; false: the path is not one of its resources.
    bool (*get)(struct http *h, const char *path);
    json_t *(*modules)(void); // its entries in the YANG library: a new array
};

int restconf_start(char *err, size_t err_size); // on the UNIX socket
void restconf_stop(void);
void restconf_answer(struct http *h); // a request by VIA_API
// Checks the query of a read without a known schema; false: already answered.
bool restconf_query_ok(struct http *h);
enum access_level restconf_needs(const char *method,
                                 const char *path); // lowest role whose request body is accepted

#endif
