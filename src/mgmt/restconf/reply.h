// SPDX-License-Identifier: BSD-3-Clause
// reply.h - values in answers; control role
#ifndef RESTCONF_REPLY_H
#define RESTCONF_REPLY_H

#include <jansson.h>
#include <stdbool.h>

#include "http/http.h"
#include "restconf/fields.h"

void restconf_json(struct http *h, int code,
                   json_t *body); // takes over the body; obeys ?fields=, ?depth=, …

// Part of an answer selected by the query, read at once: cutting may then run aside.
struct cut {
    struct page page;
    struct field *fields; // NULL: all
    unsigned depth;       // 0: all
};
struct cut restconf_cut(const struct http *h); // the query has been checked
void restconf_cut_free(struct cut *c);
void restconf_shorten(const struct cut *c, json_t *body); // its only member is the target
bool restconf_is_cut(const struct http *h);                 // the query wants a part of the answer
void restconf_prune(json_t *v, unsigned depth);             // empties deeper nodes
unsigned restconf_depth(const struct http *h, bool *ok); // ?depth=, 0 = all; *ok false: invalid

#endif
