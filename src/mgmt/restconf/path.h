// SPDX-License-Identifier: BSD-3-Clause
// path.h - "kamuee:port=p0/mtu" as schema nodes and keys (RFC 8040, 3.5.3)
#ifndef RESTCONF_PATH_H
#define RESTCONF_PATH_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

struct lysc_node;
struct lyd_node;

#define PATH_SEGMENTS 16
#define PATH_KEYS 4
struct path_segment {
    const struct lysc_node *schema;
    const char *key[PATH_KEYS]; // of a list entry, or the value of a leaf-list
    unsigned n_keys;            // 0: the whole list
};
struct path {
    struct path_segment segment[PATH_SEGMENTS];
    unsigned n;
    char *buffer;
};
// Parses the text after /restconf/data/. 0; -ENOENT (no such name) or -EINVAL (keys) with a
// sentence.
int path_parse(const char *text, struct path *p, struct text *why);
void path_free(struct path *p);
const struct path_segment *path_last(const struct path *p);
// The node of the path in a tree, or NULL.
struct lyd_node *path_find(const struct path *p, unsigned n_segments, const struct lyd_node *tree);
// Decodes %XX in place; false if malformed or if it contains a NUL.
bool percent_decode(char *s);
// Value of a key in the JSON type of its leaf (RFC 7951).
json_t *path_key_json(const struct lysc_node *leaf, const char *value);
bool path_key_is(const json_t *v, const struct lysc_node *leaf, const char *key);

#endif
