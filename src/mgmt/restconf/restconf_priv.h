// SPDX-License-Identifier: BSD-3-Clause
// restconf_priv.h - shared by the files of the RESTCONF server
//
//     restconf.c            finding the resource, methods
//     restconf_condition.c  ETag and the like
//     reply.c               the query of a read, and cutting to it
//     restconf_config.c     reading the configuration
//     restconf_edit.c       editing it
//     restconf_state.c      reading state; features write it
//     restconf_meta.c       self-description required by the protocol
//     restconf_operation.c  POST /restconf/operations/kamuee:NAME; features run it
//
// restconf.c makes edits, and operations on the configuration, wait for a turn (core/aside.h).
#ifndef RESTCONF_RESTCONF_PRIV_H
#define RESTCONF_RESTCONF_PRIV_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/aside.h"
#include "http/http.h"
#include "restconf/path.h"
#include "restconf/reply.h"
#include "restconf/restconf.h"
#include "restconf/state.h"

struct lysc_node;
struct lyd_node;
struct snapshot;

// --- ETag and the like (RFC 8040, 3.4.1) ---
bool condition_read(struct http *h);
bool condition_edit(struct http *h, bool exists);
void condition_tell(struct http *h); // current ETag and Last-Modified

// A feature and the schema do not match: `name` of one is missing in the other, or occurs twice.
_Noreturn void restconf_unbound(const char *what, const char *name);

// --- resources ---
// A read. Its text is written first, perhaps in several steps, and then cut to the query.
struct data_answer {
    struct show show; // its text
    struct http *http;
    struct query query;
    bool datastore; // the whole of it
    struct http_turn turn;

    // configuration
    struct snapshot *snapshot;    // keeps the nodes while others commit
    const struct lyd_node *first; // this one; of the datastore, or with `only`: all siblings
    const struct lysc_node *only; // the siblings of this list
    void (*written)(void *answer);

    // state
    struct path path;    // the part of the text that the client wants; n = 0: all
    unsigned node, last; // the current writer, the last one to run
    bool whole;          // all children
    char name[80];
    json_t *root; // the text, parsed
    bool found;   // the part was in it
};
struct data_answer *answer_new(struct http *h, struct query *q); // takes the query over
void answer_send(struct data_answer *a, int result); // frees it; -errno: rib_manager is too busy
void answer_aside(struct data_answer *a, void (*run)(void *answer)); // in a turn of ASIDE_READ
// Each may empty the query and the path: it takes over their parts.
void config_get(struct http *h, const struct path *p, struct query *q);
// Writes the nodes into the open object; `done` is called once, perhaps later.
void config_write(struct data_answer *a, void (*done)(void *answer));
void config_not_there(struct http *h, const struct path *p); // 404
void config_edit(struct http *h, const struct path *p, const char *method);
void state_get(struct http *h, struct path *p, struct query *q); // its first segment is `state`
void datastore_get(struct http *h, struct query *q);
bool meta_get(struct http *h, const char *path); // false: not one of its resources
void operation_post(struct http *h, const char *name);
bool operation_turn(const char *name, size_t body_bytes,
                    enum aside_lane *lane); // true: needs a turn, in *lane
void operations_list(struct http *h);
enum access_level
operation_needs(const char *name); // "kamuee:NAME"; any role may learn that an operation is unknown

#endif
