// SPDX-License-Identifier: BSD-3-Clause
// reply.h - the query of a read, and values cut to it; control role
#ifndef RESTCONF_REPLY_H
#define RESTCONF_REPLY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "http/http.h"
#include "restconf/fields.h"

struct path;

struct query {
    bool config, state;   // ?content=
    uint32_t defaults;    // ?with-defaults=, as libyang's option for printing
    unsigned depth;       // 0: all
    struct field *fields; // NULL: all
    struct page page;
};
// Reads and checks the query for the resource `p`; NULL: its schema is unknown. False: already
// answered.
bool query_read(struct http *h, const struct path *p, struct query *q);
void query_free(struct query *q);
bool query_is_cut(const struct query *q); // it wants a part of the answer
void query_cut(const struct query *q, json_t *body); // its only member is the target

void restconf_line(json_t *body, struct text *t); // as one line; takes over the body
void restconf_json(struct http *h, json_t *body); // cut to the query; takes over the body

#endif
