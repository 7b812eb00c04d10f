// SPDX-License-Identifier: BSD-3-Clause
// reply.h - values in answers; control role
#ifndef RESTCONF_REPLY_H
#define RESTCONF_REPLY_H

#include <jansson.h>
#include <stdbool.h>

#include "http/http.h"

void restconf_json(struct http *h, int code,
                   json_t *body); // takes over the body; obeys ?fields=, ?depth=, …
bool restconf_is_cut(const struct http *h);                 // the query wants a part of the answer
void restconf_prune(json_t *v, unsigned depth);             // empties what lies deeper
unsigned restconf_depth(const struct http *h, bool *ok); // ?depth=, 0 = all; *ok false: no number

#endif
