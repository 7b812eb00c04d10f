// SPDX-License-Identifier: BSD-3-Clause
// restconf_priv.h - what the files of the RESTCONF server share
//
//     restconf.c          which resource is meant, methods
//     restconf_fields.c   parts of an answer; restconf_condition.c: ETag and the like
//     restconf_reply.c    answers; restconf_body.c: their text
//     restconf_path.c     "kamuee:port=p0/mtu" to schema nodes and keys
//     restconf_config.c   reading the configuration
//     restconf_edit.c     editing it
//     restconf_state.c    reading state; show_*.c write it
//     restconf_meta.c     what the protocol wants to be told about itself
//     event.c             GET /restconf/streams/events
//     operation.c         POST /restconf/operations/kamuee:NAME
#ifndef MGMT_RESTCONF_PRIV_H
#define MGMT_RESTCONF_PRIV_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "mgmt/errors.h"
#include "mgmt/http.h"

struct lysc_node;
struct lyd_node;

// --- paths ---
#define PATH_SEGMENTS 16
#define PATH_KEYS 4
struct segment {
    const struct lysc_node *schema;
    const char *key[PATH_KEYS]; // of a list entry, or the value of a leaf-list
    unsigned n_keys;            // 0: the whole list
};
struct path {
    struct segment segment[PATH_SEGMENTS];
    unsigned n;
    char *buffer;
};
// Reads what follows /restconf/data/. 0; -ENOENT (no such name) or -EINVAL (keys) with a sentence.
int path_parse(const char *text, struct path *p, struct text *why);
void path_free(struct path *p);
const struct segment *path_last(const struct path *p);
// The node the path names in a tree, or NULL.
struct lyd_node *path_find(const struct path *p, unsigned n_segments, const struct lyd_node *tree);
// "%-decodes" in place; false when malformed or with a NUL in it.
bool percent_decode(char *s);
// "kamuee:port", or "port" inside another node of the module; returns buf.
const char *path_member_name(const struct lysc_node *s, bool with_module, char *buf, size_t n);
// Value of a key as the JSON type RFC 7951 wants for its leaf.
json_t *path_key_json(const struct lysc_node *leaf, const char *value);

// --- answers ---
void restconf_error(struct http *h, int code, const char *tag, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void restconf_errors(struct http *h, int code, const char *tag, const struct errors *e);
void restconf_json(struct http *h, int code, json_t *body); // takes over the body; obeys ?fields=, ?depth=, …
void restconf_not_allowed(struct http *h, const char *allow);
bool restconf_may(struct http *h, enum access needed); // false: an answer has been given
bool restconf_is_cut(const struct http *h); // the query wants a part of the answer
// A whole positive number, or 0 for "unbounded", absent or wrong (*ok tells).
unsigned restconf_depth(const struct http *h, bool *ok);

// --- restconf_condition.c: ETag, If-Match and the like; false: an answer has been given ---
bool condition_read(struct http *h);
bool condition_edit(struct http *h, bool exists);
void condition_tell(struct http *h); // ETag and Last-Modified of what is now

bool restconf_query_ok(struct http *h); // of a read whose schema is not known; false: an answer has been given

// --- resources ---
struct content {
    bool config, state;
    const char *defaults; // with-defaults, or NULL
    unsigned depth;       // 0 = all
};
void config_get(struct http *h, const struct path *p, const struct content *c);
void config_not_there(struct http *h, const struct path *p); // 404
void config_edit(struct http *h, const struct path *p, const char *method);
json_t *config_json(const struct lyd_node *node, const char *defaults,
                    bool siblings);                   // {"kamuee:x": …}
void state_get(struct http *h, const struct path *p); // first segment is the container state
void datastore_get(struct http *h, const struct content *c);
void restconf_answer(struct http *h); // any request
void restconf_again(struct http *h);  // the same request from the beginning, when access lists are ready (acl_gate.h)
bool meta_get(struct http *h, const char *path); // false: not one of its resources
void event_stream(struct http *h); // event.c: answers by a stream
void operation_post(struct http *h, const char *name);
void operations_list(struct http *h);

#endif
