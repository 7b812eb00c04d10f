// SPDX-License-Identifier: BSD-3-Clause
// state.h - writers of state for answers
//
// A feature writes children of the container `state` of kamuee.yang, with exactly the names of the
// schema. Control's own state is written at once; state of another thread arrives in a call on the
// loop, perhaps after the client has gone: so a struct show lives until its last call has come.
// Control role.
#ifndef RESTCONF_STATE_H
#define RESTCONF_STATE_H

#include <stdbool.h>

#include "base/jwrite.h"
#include "base/text.h"

struct http;
struct path;

#define SHOW_KEYS 4

struct show {
    struct jwrite out;
    const char *name;                         // member to write: "port" or "kamuee:port"
    const char *key[SHOW_KEYS];               // write this list entry only; NULL: all
    void (*done)(struct show *s, int result); // called once after an `ask`; -errno: no answer
    struct text text;
    unsigned cursor;            // of a writer with several queries
    int (*ask)(struct show *s); // sends the query
};

bool show_wants(const struct show *s, const char *name); // the entry with that first key

// A child of `state`. Each child in the schema has exactly one, and vice versa. One of these
// functions writes the entries of a list or the leaves of a container into s->out.
struct feature_state {
    const char *node;
    void (*list)(struct show *s);
    void (*object)(struct jwrite *j);
    // Asks another thread, whose answer is written and followed by s->done(). -errno: no answer
    // will come.
    int (*ask)(struct show *s);
    // Alternative: answers a request for this child itself, by a stream. The child is left out when
    // all state is read.
    void (*stream)(struct http *h, const struct path *p);
    const char *const *parameters; // query parameters supported by the stream; ended by NULL
};

void state_bind(void); // to the schema, after loading it
bool state_is_streamed(const char *node);
bool state_knows_parameter(const char *name);

#endif
