// SPDX-License-Identifier: BSD-3-Clause
// fields.c - ?fields=, ?limit= and ?offset=: selects a part of an answer
//
// The expression becomes a tree of names; a value is cut to it member by member. Repeated names are
// merged: "a/b;a/c" is "a(b;c)".
#include "restconf/fields.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "yang/yang.h"

#define DEPTH_MAX 32

struct field {
    char *name;   // without its module; of the root NULL
    bool whole;   // including everything in it
    struct field *child, *next;
};

struct reader {
    const char *at;
    struct text *why;
    bool any;
};

static struct field *get_child(struct field *f, const char *name, size_t n)
{
    struct field **link = &f->child;

    for (; *link; link = &(*link)->next)
        if (strlen((*link)->name) == n && !memcmp((*link)->name, name, n))
            return *link;
    *link = calloc(1, sizeof **link);
    bug_on(!*link);
    (*link)->name = strndup(name, n);
    bug_on(!(*link)->name);
    return *link;
}

void fields_free(struct field *f)
{
    while (f) {
        struct field *next = f->next;

        fields_free(f->child);
        free(f->name);
        free(f);
        f = next;
    }
}

static void add_keys(struct field *f, const struct lysc_node *s)
{
    if (!s || s->nodetype != LYS_LIST)
        return;
    for (const struct lysc_node *k = lysc_node_child(s); k && lysc_is_key(k); k = k->next)
        get_child(f, k->name, strlen(k->name))->whole = true;
}

// Reads a name, and finds its schema node.
static struct field *read_name(struct reader *r, struct field *in, const struct lysc_node **s,
                               bool any)
{
    size_t n = strcspn(r->at, "/;()");
    const char *name = r->at, *colon = memchr(name, ':', n);
    char text[80];

    if (colon) {
        n -= (size_t)(colon + 1 - name);
        name = colon + 1;
    }
    snprintf(text, sizeof text, "%.*s", (int)n, name);
    if (!n) {
        text_printf(r->why, "'fields' lacks a name before '%s'", r->at);
        return NULL;
    }
    if (!any) {
        const struct lysc_node *parent = *s;

        *s = parent && !(parent->nodetype & (LYS_CONTAINER | LYS_LIST))
                 ? NULL
                 : yang_child(parent, text, false);
        if (!*s) {
            text_printf(r->why, "'fields' names '%s', which is not in %s", text,
                        parent ? parent->name : "the datastore");
            return NULL;
        }
    }
    r->at = name + n;
    struct field *f = get_child(in, name, n);
    if (!any)
        add_keys(f, *s);
    return f;
}

static bool read_list(struct reader *r, struct field *in, const struct lysc_node *schema,
                      unsigned depth);

static bool read_path(struct reader *r, struct field *in, const struct lysc_node *schema,
                      unsigned depth)
{
    const struct lysc_node *s = schema;
    struct field *f = in;

    if (depth > DEPTH_MAX) {
        text_printf(r->why, "'fields' is nested deeper than the schema");
        return false;
    }
    do {
        if (f != in)
            r->at++; // the slash
        f = read_name(r, f, &s, r->any);
    } while (f && *r->at == '/');
    if (!f)
        return false;
    if (*r->at != '(') {
        f->whole = true;
        return true;
    }
    r->at++;
    if (!read_list(r, f, s, depth + 1))
        return false;
    if (*r->at++ == ')')
        return true;
    text_printf(r->why, "'fields' lacks a closing ')'");
    return false;
}

static bool read_list(struct reader *r, struct field *in, const struct lysc_node *schema,
                      unsigned depth)
{
    while (read_path(r, in, schema, depth)) {
        if (*r->at != ';')
            return true;
        r->at++;
    }
    return false;
}

struct field *fields_parse(const char *expression, const struct lysc_node *schema, bool any,
                           struct text *why)
{
    struct reader r = {.at = expression, .why = why, .any = any};
    struct field *root = calloc(1, sizeof *root);

    bug_on(!root);
    add_keys(root, any ? NULL : schema);
    if (read_list(&r, root, schema, 0) && !*r.at)
        return root;
    if (!why->n)
        text_printf(why, "'fields' has an unexpected '%s'", r.at);
    fields_free(root);
    return NULL;
}

const struct field *fields_child(const struct field *f, const char *name)
{
    const char *colon = strchr(name, ':');

    name = colon ? colon + 1 : name;
    for (const struct field *c = f->child; c; c = c->next)
        if (!strcmp(c->name, name))
            return c;
    return NULL;
}

void fields_keep(json_t *value, const struct field *f)
{
    const char *name;
    json_t *inner;
    void *next;
    size_t i;

    if (f->whole)
        return;
    if (json_is_array(value)) {
        json_array_foreach(value, i, inner) fields_keep(inner, f);
        return;
    }
    json_object_foreach_safe(value, next, name, inner)
    {
        const struct field *c = fields_child(f, name);

        if (c)
            fields_keep(inner, c);
        else
            json_object_del(value, name);
    }
}

bool page_parse(const char *offset, const char *limit, struct page *p)
{
    *p = (struct page){.limit = UINT64_MAX};
    if (offset && text_parse_u64(offset, 0, UINT32_MAX, &p->offset))
        return false;
    return !limit || !strcmp(limit, "unbounded") ||
           !text_parse_u64(limit, 1, UINT32_MAX, &p->limit);
}

void page_keep(json_t *array, const struct page *p)
{
    json_t *kept = json_array(), *inner;
    size_t i;

    json_array_foreach(array, i, inner)
        if (i >= p->offset && i - p->offset < p->limit)
            json_array_append(kept, inner);
    json_array_clear(array);
    json_array_extend(array, kept);
    json_decref(kept);
}
