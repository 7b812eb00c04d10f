// SPDX-License-Identifier: BSD-3-Clause
// state.h - state on its way into an answer, and the writers of its parts
//
// A feature writes children of the container `state` of kamuee.yang, by exactly the names of the
// schema. Control's own state is written at once; another thread's comes by a call on the loop,
// perhaps after the client has gone: so a struct show lives until its last call has come. Control
// role.
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
    void (*done)(struct show *s, int result); // called once by a writer that returned SHOW_LATER;
                                              // -errno: `text` holds a sentence
    struct text text;
    unsigned cursor;            // of a writer that asks more than once
    int (*ask)(struct show *s); // what it asks
};

enum { SHOW_NOW, SHOW_LATER };
// SHOW_LATER; `asked`: what asking another thread returned: -errno, and there will be no answer.
int show_later(struct show *s, int asked);

// A child of `state`. Each of the schema has one, and the other way round.
struct feature_state {
    const char *node;
    // Writes "node": value into s->out. SHOW_NOW, or SHOW_LATER and s->done() will be called.
    int (*write)(struct show *s);
    // Instead: answers a request for this child itself, by a stream. It is left out where all
    // state is read.
    void (*stream)(struct http *h, const struct path *p);
    const char *const *parameters; // of the query, that a stream knows; ended by NULL
};

void state_bind(void); // to the schema, once it is loaded
bool state_is_streamed(const char *node);
bool state_knows_parameter(const char *name);

#endif
