// SPDX-License-Identifier: BSD-3-Clause
// restconf_priv.h - shared by the files of the RESTCONF server
//
//     restconf.c            finding the resource, methods
//     restconf_condition.c  ETag and the like
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
#include "restconf/restconf.h"

// --- ETag and the like (RFC 8040, 3.4.1) ---
bool condition_read(struct http *h);
bool condition_edit(struct http *h, bool exists);
void condition_tell(struct http *h); // current ETag and Last-Modified

// A feature and the schema do not match: `name` of one is missing in the other, or occurs twice.
_Noreturn void restconf_unbound(const char *what, const char *name);

// --- resources ---
struct content {
    bool config, state;
    const char *defaults; // with-defaults, or NULL
    unsigned depth;       // 0 = all
};
void config_get(struct http *h, const struct path *p, const struct content *c);
// Writes the members of the whole configuration into the open object; `done` is called once,
// perhaps later.
struct jwrite;
void config_read_all(struct http *h, const struct content *c, struct jwrite *out,
                     void (*done)(void *ctx), void *ctx);
void config_not_there(struct http *h, const struct path *p); // 404
void config_edit(struct http *h, const struct path *p, const char *method);
void state_get(struct http *h, const struct path *p); // first segment is the container state
void datastore_get(struct http *h, const struct content *c);
bool meta_get(struct http *h, const char *path); // false: not one of its resources
void operation_post(struct http *h, const char *name);
bool operation_turn(const char *name, size_t body_bytes,
                    enum aside_lane *lane); // true: needs a turn, in *lane
void operations_list(struct http *h);
enum access_level
operation_needs(const char *name); // "kamuee:NAME"; any role may learn that an operation is unknown

#endif
