// SPDX-License-Identifier: BSD-3-Clause
// path.c - parses "kamuee:port=p0/mtu" to schema nodes and keys (RFC 8040, 3.5.3)
//
// Names are separated by '/', the keys of a list entry stand behind '=' with commas between them,
// all of it percent-encoded. For a name that is not in the schema, the error suggests the nearest
// one.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "restconf/path.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

bool percent_decode(char *s)
{
    char *to = s;

    for (; *s; s++) {
        if (*s != '%') {
            *to++ = *s;
            continue;
        }
        int hi = text_hex_digit(s[1]), lo = hi < 0 ? -1 : text_hex_digit(s[2]);
        if (lo < 0 || (!hi && !lo))
            return false;
        *to++ = (char)(hi << 4 | lo);
        s += 2;
    }
    *to = 0;
    return true;
}

static unsigned key_count(const struct lysc_node *s)
{
    unsigned n = 0;

    if (s->nodetype == LYS_LEAFLIST)
        return 1;
    for (const struct lysc_node *k = lysc_node_child(s);
         s->nodetype == LYS_LIST && k && lysc_is_key(k); k = k->next)
        n++;
    return n;
}

static const struct lysc_node *key_leaf(const struct lysc_node *s, unsigned i)
{
    const struct lysc_node *k = s;

    if (s->nodetype == LYS_LEAFLIST)
        return s;
    for (k = lysc_node_child(s); i; i--)
        k = k->next;
    return k;
}

static int parse_keys(struct path_segment *g, char *keys, struct text *why)
{
    const struct lysc_node *s = g->schema;

    for (char *key; (key = strsep(&keys, ","));) {
        if (g->n_keys == PATH_KEYS || !percent_decode(key)) {
            text_printf(why, "the keys of '%s' are not well-formed", s->name);
            return -EINVAL;
        }
        g->key[g->n_keys++] = key;
    }
    if (g->n_keys != key_count(s)) {
        text_printf(why, "'%s' has %u key%s, not %u", s->name, key_count(s),
                    key_count(s) == 1 ? "" : "s", g->n_keys);
        return -EINVAL;
    }
    for (unsigned i = 0; i < g->n_keys; i++) {
        const struct lysc_node *leaf = key_leaf(s, i);

        if (yang_value_ok(leaf, g->key[i]))
            continue;
        text_printf(why, "%s: '%s' is '%s', expected ", s->name, leaf->name, g->key[i]);
        yang_expected(leaf, why);
        return -EINVAL;
    }
    return 0;
}

static int unknown_name(const struct lysc_node *parent, const char *name, struct text *why)
{
    const struct config_retired *r = config_retired_find(parent, name);
    const char *near = yang_nearest(parent, name, false);

    text_printf(why, "there is no '%s'%s%s", name, parent ? " in " : "",
                parent ? parent->name : "");
    if (r)
        text_printf(why, ": %s", r->instead);
    else if (near)
        text_printf(why, ", did you mean '%s'?", near);
    return -ENOENT;
}

static int parse_segment(struct path *p, char *name, struct text *why)
{
    const struct lysc_node *parent = p->n ? p->segment[p->n - 1].schema : NULL;
    struct path_segment *g = &p->segment[p->n];
    char *keys = strchr(name, '='), *colon;

    if (keys)
        *keys++ = 0;
    if (!percent_decode(name)) {
        text_printf(why, "the path is not well-formed");
        return -EINVAL;
    }
    colon = strchr(name, ':');
    if (colon ? colon - name != 6 || strncmp(name, "kamuee", 6) : !parent) {
        text_printf(why,
                    "there is no '%s': top-level names start with 'kamuee:', as in kamuee:port",
                    name);
        return -ENOENT;
    }
    name = colon ? colon + 1 : name;
    if (parent && p->n && parent->nodetype == LYS_LIST && !p->segment[p->n - 1].n_keys &&
        key_count(parent)) {
        text_printf(why, "'%s' is a list: name an entry, as in %s=KEY/%s", parent->name,
                    parent->name, name);
        return -EINVAL;
    }
    memset(g, 0, sizeof *g);
    g->schema = parent && !(parent->nodetype & (LYS_CONTAINER | LYS_LIST))
                    ? NULL
                    : yang_child(parent, name, false);
    if (!g->schema)
        return unknown_name(parent, name, why);
    if (keys && !key_count(g->schema)) {
        text_printf(why, "'%s' is not a list and takes no key", name);
        return -EINVAL;
    }
    p->n++;
    return keys ? parse_keys(g, keys, why) : 0;
}

int path_parse(const char *text, struct path *p, struct text *why)
{
    char *next;
    int r = 0;

    memset(p, 0, sizeof *p);
    p->buffer = next = strdup(text);
    bug_on(!next);
    for (char *name; !r && (name = strsep(&next, "/"));) {
        if (!*name && !next)
            break; // a slash at the end
        if (p->n == PATH_SEGMENTS) {
            text_printf(why, "the path is deeper than the schema");
            r = -ENOENT;
        } else {
            r = parse_segment(p, name, why);
        }
    }
    return r;
}

void path_free(struct path *p)
{
    free(p->buffer);
    p->buffer = NULL;
}

const struct path_segment *path_last(const struct path *p)
{
    return &p->segment[p->n - 1];
}

struct lyd_node *path_find(const struct path *p, unsigned n_segments, const struct lyd_node *tree)
{
    struct lyd_node *n = NULL;

    for (unsigned i = 0; i < n_segments; i++) {
        const struct path_segment *g = &p->segment[i];

        n = config_find(i ? lyd_child(n) : tree, g->schema, g->key);
        if (!n)
            return NULL;
    }
    return n;
}

json_t *path_key_json(const struct lysc_node *leaf, const char *value)
{
    switch (yang_type(leaf)->basetype) {
    case LY_TYPE_INT8:
    case LY_TYPE_INT16:
    case LY_TYPE_INT32:
    case LY_TYPE_UINT8:
    case LY_TYPE_UINT16:
    case LY_TYPE_UINT32:
        return json_integer(strtoll(value, NULL, 10));
    case LY_TYPE_BOOL:
        return json_boolean(!strcmp(value, "true"));
    default:
        return json_string(value);
    }
}

bool path_key_is(const json_t *v, const struct lysc_node *leaf, const char *key)
{
    json_t *want = path_key_json(leaf, key);
    bool same = v && json_equal(v, want);

    json_decref(want);
    return same;
}
