// SPDX-License-Identifier: BSD-3-Clause
// restconf_edit.c - editing the configuration by RESTCONF
//
// Every edit is a transaction on a copy of the running configuration: the body is wrapped into the
// containers and entries of its path, which gives one JSON tree from the root, whatever the depth
// of the resource; that tree is merged (PATCH, POST) or replaces the old content (PUT), and the
// copy is committed like any other candidate (config.c).
#include <libyang/libyang.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "config/config.h"
#include "config/config_bound.h"
#include "core/aside.h"
#include "http/refuse.h"
#include "restconf/bound.h"
#include "restconf/operation.h"
#include "restconf/path.h"
#include "restconf/restconf_priv.h"
#include "yang/config_json.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

// --- the body of an edit ------------------------------------------------------------------------

// The single member of the body: its name without module, and its value.
static json_t *only_member(json_t *body, const char **name)
{
    void *i = json_object_iter(body);

    if (json_object_size(body) != 1)
        return NULL;
    const char *key = json_object_iter_key(i), *colon = strchr(key, ':');
    *name = colon ? colon + 1 : key;
    return json_object_iter_value(i);
}

// Does the entry in the body have the keys of the path? Missing keys are filled in, and keys come
// first: errors in later members name the entry by them.
static bool match_keys(const struct path_segment *g, json_t *entry, struct errors *e)
{
    const struct lysc_node *k = lysc_node_child(g->schema);
    json_t *rest = json_copy(entry);
    bool ok = true;

    json_object_clear(entry);
    for (unsigned i = 0; ok && i < g->n_keys; i++, k = k->next) {
        json_t *given = json_object_get(rest, k->name);

        ok = !given || path_key_is(given, k, g->key[i]);
        if (ok)
            json_object_set_new(entry, k->name, path_key_json(k, g->key[i]));
        else
            errors_add(e, 0, "'%s' in the body differs from '%s' in the path", k->name, g->key[i]);
    }
    json_object_update_missing(entry, rest);
    json_decref(rest);
    return ok;
}

// Value of the target in the form for its name in the tree: one entry in an array for a list.
static json_t *target_value(const struct path_segment *g, json_t *value, struct errors *e)
{
    bool many = g->schema->nodetype & (LYS_LIST | LYS_LEAFLIST);

    if (!many || !g->n_keys)
        return json_incref(value);
    json_t *entry =
        json_is_array(value) && json_array_size(value) == 1 ? json_array_get(value, 0) : value;
    if (json_is_array(entry) || (g->schema->nodetype == LYS_LIST) != json_is_object(entry)) {
        errors_add(e, 0, "expected one entry of '%s' in the body", g->schema->name);
        return NULL;
    }
    if (g->schema->nodetype == LYS_LIST && !match_keys(g, entry, e))
        return NULL;
    if (g->schema->nodetype == LYS_LEAFLIST && !path_key_is(entry, g->schema, g->key[0])) {
        errors_add(e, 0, "the value in the body differs from '%s' in the path", g->key[0]);
        return NULL;
    }
    return json_pack("[O]", entry);
}

// Wraps the value of segment n-1 into its ancestors: one object from the root.
static json_t *wrap(const struct path *p, unsigned n, json_t *value)
{
    while (n--) {
        json_t *object = json_object();
        char name[80];

        snprintf(name, sizeof name, "%s%s", n ? "" : "kamuee:", p->segment[n].schema->name);
        json_object_set_new(object, name, value);
        if (!n)
            return object;
        const struct path_segment *g = &p->segment[n - 1];
        const struct lysc_node *k = lysc_node_child(g->schema);
        for (unsigned i = 0; i < g->n_keys; i++, k = k->next)
            json_object_set_new(object, k->name, path_key_json(k, g->key[i]));
        value = g->schema->nodetype == LYS_LIST ? json_pack("[o]", object) : object;
    }
    return value;
}

static struct lyd_node *parse_tree(json_t *root, struct errors *e)
{
    struct lyd_node *tree = NULL;

    config_read_value(&tree, root, e);
    return tree;
}

static json_t *load_body(const char *s, size_t n, struct errors *e)
{
    json_error_t why;
    json_t *body = json_loadb(s, n, JSON_REJECT_DUPLICATES, &why);

    if (!body)
        errors_add(e, 0, "the body is not JSON: %s in line %d", why.text, why.line);
    else if (!json_is_object(body)) {
        errors_add(e, 0, "the body is not a JSON object");
        json_decref(body);
        body = NULL;
    }
    return body;
}

// --- edits --------------------------------------------------------------------------------------

static void set_location(struct http *h, const struct path *p)
{
    struct text t = {0};

    text_printf(&t, "/restconf/data");
    for (unsigned i = 0; i < p->n; i++) {
        text_printf(&t, "/%s%s", i ? "" : "kamuee:", p->segment[i].schema->name);
        for (unsigned k = 0; k < p->segment[i].n_keys; k++) {
            text_printf(&t, "%s", k ? "," : "=");
            for (const char *c = p->segment[i].key[k]; *c; c++)
                text_printf(&t, strchr("/,%?# ", *c) ? "%%%02X" : "%c", (unsigned char)*c);
        }
    }
    http_set_header(h, "Location", text_str(&t));
    text_free(&t);
}

static int commit_candidate(struct http *h, struct lyd_node *candidate,
                            struct config_result *result, struct errors *e)
{
    const struct commit how = {.by = http_peer(h)};

    if (!bound_is(h))
        return config_commit(candidate, &how, result, e);
    int r = config_bound_commit(
        &(struct bound_change){http_vr(h), bound_running(h), candidate}, &how, result, e);
    config_drop(candidate);
    http_keep(h, NULL, NULL); // the ETag then shows its changes
    return r;
}

// `created`: path of the new resource, or NULL.
static void send_edited(struct http *h, struct lyd_node *candidate, int code,
                        const struct path *created)
{
    struct config_result result = {0};
    struct errors e = {0};
    int r = commit_candidate(h, candidate, &result, &e);

    if (r)
        operation_refuse(h, r, &e);
    else {
        if (created)
            set_location(h, created);
        condition_tell(h);
        http_reply(h, code, NULL, NULL);
    }
    errors_free(&e);
    config_result_free(&result);
}

static void refuse_edit(struct http *h, struct errors *e)
{
    http_refuse_all(h, 400, "invalid-value", e);
    errors_free(e);
}

// --- the candidate, made aside -------------------------------------------------------------------

struct editing {
    const struct path *path; // of the resource; `post`: first of its parent
    bool replace;            // the resource goes first
    bool has_body;           // false: deletes the target
    bool post;               // the body names a new child of the path
    const char *body;
    size_t n;
    const struct lyd_node *running;
    struct lyd_node *candidate;
    struct errors e;
    struct path child;    // of `post`
    char *key[PATH_KEYS]; // texts of its keys
    bool exists;
};

// Converts the body to a tree from the root.
static struct lyd_node *resource_tree(const struct path *p, json_t *body, struct errors *e)
{
    struct lyd_node *tree = NULL;
    json_t *value, *inner, *root;
    const char *name = "";

    value = only_member(body, &name);
    if (!value || strcmp(name, path_last(p)->schema->name)) {
        errors_add(e, 0, "expected one member in the body, 'kamuee:%s'",
                   path_last(p)->schema->name);
    } else if ((inner = target_value(path_last(p), value, e))) {
        root = wrap(p, p->n, inner);
        tree = parse_tree(root, e);
        json_decref(root);
    }
    return tree;
}

// The datastore itself: {"ietf-restconf:data": { … }}.
static struct lyd_node *datastore_tree(json_t *body, struct errors *e)
{
    json_t *data = json_object_get(body, "ietf-restconf:data");

    if (json_is_object(data))
        return parse_tree(data, e);
    errors_add(e, 0, "expected one member in the body, 'ietf-restconf:data'");
    return NULL;
}

static void remove_target(struct lyd_node **tree, const struct path *p)
{
    struct lyd_node *n = path_find(p, p->n, *tree);

    if (n)
        config_delete_node(tree, n);
}

static char *key_text(const json_t *v)
{
    char *s = json_is_string(v) ? strdup(json_string_value(v)) : json_dumps(v, JSON_ENCODE_ANY);

    bug_on(!s);
    return s;
}

static void add_key(struct editing *d, const json_t *v)
{
    struct path_segment *g = &d->child.segment[d->child.n - 1];

    g->key[g->n_keys] = d->key[g->n_keys] = key_text(v);
    g->n_keys++;
}

// The only member of the body is a new child of the path; its keys complete the path.
static void name_child(struct editing *d, json_t *body)
{
    const struct path *p = d->path;
    const char *name = "";
    json_t *value = only_member(body, &name);
    const struct lysc_node *s =
        value ? yang_child(p->n ? path_last(p)->schema : NULL, name, true) : NULL;

    if (!s || p->n == PATH_SEGMENTS) {
        errors_add(&d->e, 0,
                   value ? "unknown member '%s' in the body" : "expected one member in the body%s",
                   name);
        return;
    }
    d->child = *p;
    d->child.segment[d->child.n++] = (struct path_segment){.schema = s};
    d->path = &d->child;
    json_t *entry = json_is_array(value) ? json_array_get(value, 0) : value;
    if (s->nodetype == LYS_LEAFLIST)
        add_key(d, entry);
    for (const struct lysc_node *k = lysc_node_child(s);
         s->nodetype == LYS_LIST && k && lysc_is_key(k); k = k->next) {
        if (!json_object_get(entry, k->name)) {
            errors_add(&d->e, 0, "%s: '%s' is required in the body", s->name, k->name);
            return;
        }
        add_key(d, json_object_get(entry, k->name));
    }
    const struct lyd_node *old = path_find(d->path, d->path->n, d->running);
    d->exists = old && config_is_explicit(old);
}

static void make_candidate(void *arg)
{
    struct editing *d = arg;
    json_t *body = d->has_body ? load_body(d->body, d->n, &d->e) : NULL;
    struct lyd_node *tree = NULL;

    if (body && d->post)
        name_child(d, body);
    if (body && !d->e.n && !d->exists)
        tree = d->path->n ? resource_tree(d->path, body, &d->e) : datastore_tree(body, &d->e);
    json_decref(body);
    if (d->e.n || d->exists) {
        lyd_free_all(tree);
    } else if (d->replace && !d->path->n) {
        d->candidate = tree;
    } else {
        d->candidate = config_dup(d->running);
        if (d->replace)
            remove_target(&d->candidate, d->path);
        config_merge(&d->candidate, tree);
    }
}

// Commits the configuration edited by the body, or without the target.
static void edit(struct http *h, struct editing d, int code, bool created)
{
    d.running = bound_running(h);
    d.body = http_body(h, &d.n);
    aside(make_candidate, &d);
    if (d.e.n)
        refuse_edit(h, &d.e);
    else if (d.exists)
        http_refuse(h, 409, "data-exists", "'%s' already exists; use PUT or PATCH to change it",
                    path_last(d.path)->schema->name);
    else
        send_edited(h, d.candidate, code, created ? d.path : NULL);
    for (unsigned i = 0; i < PATH_KEYS; i++)
        free(d.key[i]);
}

// --- methods -------------------------------------------------------------------------------------

static bool parent_missing(struct http *h, const struct path *p)
{
    if (p->n < 2 || path_find(p, p->n - 1, bound_running(h)))
        return false;
    http_refuse(h, 409, "data-missing", "the parent of '%s' is not configured",
                path_last(p)->schema->name);
    return true;
}

static void put_or_patch(struct http *h, const struct path *p, bool replace)
{
    const struct lyd_node *old = path_find(p, p->n, bound_running(h));
    bool existed = old && config_is_explicit(old);

    if (parent_missing(h, p))
        return;
    if (!replace && !existed && path_last(p)->n_keys)
        config_not_there(h, p);
    else
        edit(h, (struct editing){.path = p, .replace = replace, .has_body = true},
             replace && !existed ? 201 : 204, replace && !existed);
}

static void post(struct http *h, const struct path *p)
{
    if (p->n && !path_find(p, p->n, bound_running(h)))
        config_not_there(h, p);
    else
        edit(h, (struct editing){.path = p, .has_body = true, .post = true}, 201, true);
}

static void delete_target(struct http *h, const struct path *p)
{
    const struct lyd_node *old = path_find(p, p->n, bound_running(h));

    if (!old || !config_is_explicit(old))
        config_not_there(h, p);
    else
        edit(h, (struct editing){.path = p, .replace = true}, 204, false);
}

static bool is_whole_list(const struct path *p)
{
    return p->n && path_last(p)->schema->nodetype & (LYS_LIST | LYS_LEAFLIST) &&
           !path_last(p)->n_keys;
}

// Keys of an entry are immutable (RFC 8040, 4.5 to 4.7).
static bool is_key(const struct path *p)
{
    return p->n && lysc_is_key(path_last(p)->schema);
}

void config_edit(struct http *h, const struct path *p, const char *method)
{
    bool put = !strcmp(method, "PUT"), patch = !strcmp(method, "PATCH");

    if (is_whole_list(p))
        http_refuse(h, 400, "invalid-value", "'%s' is a list: name an entry, as in %s=KEY",
                    path_last(p)->schema->name, path_last(p)->schema->name);
    else if (is_key(p))
        http_refuse(h, 400, "invalid-value",
                    "'%s' is the key of its entry; delete the entry and create another",
                    path_last(p)->schema->name);
    else if ((put || patch) && !p->n)
        edit(h, (struct editing){.path = p, .replace = put, .has_body = true}, 204, false);
    else if (put || patch)
        put_or_patch(h, p, put);
    else if (!strcmp(method, "POST"))
        post(h, p);
    else if (p->n)
        delete_target(h, p);
    else
        http_refuse_method(h, "GET, HEAD, OPTIONS, POST, PUT, PATCH");
}
