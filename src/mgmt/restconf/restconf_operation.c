// SPDX-License-Identifier: BSD-3-Clause
// restconf_operation.c - POST /restconf/operations/kamuee:NAME
//
// libyang checks the input against the schema, so that features can rely on it.
#include <errno.h>
#include <libyang/libyang.h>
#include <stdlib.h>
#include <string.h>

#include "base/jwrite.h"
#include "base/log.h"
#include "base/plain.h"
#include "base/vec.h"
#include "config/change.h"
#include "core/aside.h"
#include "http/refuse.h"
#include "mgmt/feature.h"
#include "restconf/bound.h"
#include "restconf/operation.h"
#include "restconf/reply.h"
#include "restconf/restconf.h"
#include "restconf/restconf_priv.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

#define BODY_SHORT (64u << 10) // bytes of input that are parsed at once

// --- input and output of an operation -----------------------------------------------------------

const char *operation_input(const struct lyd_node *op, const char *leaf)
{
    const char *v = config_value(lyd_child(op), leaf);

    return v ? v : "";
}

uint64_t operation_input_number(const struct lyd_node *op, const char *leaf, uint64_t otherwise)
{
    const char *v = operation_input(op, leaf);

    return *v ? strtoull(v, NULL, 10) : otherwise;
}

bool operation_input_is_true(const struct lyd_node *op, const char *leaf)
{
    return !strcmp(operation_input(op, leaf), "true");
}

void output_begin(struct jwrite *j, struct text *t)
{
    *j = (struct jwrite){.t = t};
    jwrite_begin(j, NULL, '{');
    jwrite_begin(j, "kamuee:output", '{');
}

void output_end(struct jwrite *j)
{
    jwrite_end(j, '}');
    jwrite_end(j, '}');
    text_printf(j->t, "\n");
}

void output_send(struct http *h, struct jwrite *j)
{
    output_end(j);
    http_reply(h, 200, HTTP_JSON, j->t);
}

void operation_refuse(struct http *h, int r, struct errors *e)
{
    if (r == -EPERM)
        http_refuse_all(h, 403, "access-denied", e);
    else if (r == -EINVAL || r == -ENOENT)
        http_refuse_all(h, r == -EINVAL ? 400 : 404, "invalid-value", e);
    else
        http_refuse_all(h, 409, r == -EBUSY || r == -EAGAIN ? "in-use" : "resource-denied", e);
}

// --- functions of operations --------------------------------------------------------------------

static VEC(const struct feature_operation *) operations; // the RPCs, in the schema's order

static const struct feature_operation *runner_of(const char *rpc)
{
    for (unsigned f = 0; f < FEATURE_N; f++)
        for (const struct feature_operation *o = features[f]->operations; o && o->rpc; o++)
            if (!strcmp(o->rpc, rpc))
                return o;
    restconf_unbound("operations", rpc);
}

static const struct feature_operation *operation_find(const char *rpc) // or NULL
{
    vec_foreach (&operations, o)
        if (!strcmp((*o)->rpc, rpc))
            return *o;
    return NULL;
}

// "kamuee:NAME"
static const struct feature_operation *operation_of_path(const char *path)
{
    return strncmp(path, "kamuee:", 7) ? NULL : operation_find(path + 7);
}

void operation_bind(void)
{
    vec_free(&operations);
    for (const struct lysc_node *n = NULL; (n = yang_next_rpc(n));)
        *vec_push(&operations) = runner_of(n->name);
    for (unsigned f = 0; f < FEATURE_N; f++)
        for (const struct feature_operation *o = features[f]->operations; o && o->rpc; o++)
            if (operation_find(o->rpc) != o)
                restconf_unbound("operations", o->rpc);
}

// --- dispatch -----------------------------------------------------------------------------------

// {"kamuee:input": {…}} or nothing, as the tree that libyang makes of {"kamuee:NAME": {…}}.
struct input {
    const char *name, *body;
    size_t n;
    struct lyd_node *tree; // NULL: invalid
    const char *tag;
    struct text why;
};

// Configuration lines are text of several lines. Types of single-line values exclude line ends.
static bool is_plain(const char *s)
{
    while (*s) {
        size_t n = strcspn(s, "\n\r\t");
        if (!plain_text(s, n))
            return false;
        s += n + strspn(s + n, "\n\r\t");
    }
    return true;
}

static const struct lyd_node *find_odd_value(const struct lyd_node *op)
{
    struct lyd_node *n;

    LYD_TREE_DFS_BEGIN(op, n)
    {
        if (n->schema->nodetype & LYD_NODE_TERM && !is_plain(lyd_get_value(n)))
            return n;
        LYD_TREE_DFS_END(op, n);
    }
    return NULL;
}

static void refuse_tree(struct input *i)
{
    i->tag = "invalid-value";
    lyd_free_all(i->tree);
    i->tree = NULL;
}

static void parse_wrapped(struct input *i, const char *s)
{
    const struct lyd_node *odd;
    struct lyd_node *op = NULL;
    struct ly_in *in = NULL;

    bug_on(!s || ly_in_new_memory(s, &in));
    if (lyd_parse_op(yang_ctx, NULL, in, LYD_JSON, LYD_TYPE_RPC_YANG, &i->tree, &op) ||
        lyd_validate_op(i->tree, NULL, LYD_TYPE_RPC_YANG, NULL)) {
        yang_say_error(&i->why);
        refuse_tree(i);
    } else if ((odd = find_odd_value(i->tree))) {
        text_printf(&i->why, "'%s' is '%s', expected text without control characters",
                    odd->schema->name, lyd_get_value(odd));
        refuse_tree(i);
    }
    ly_in_free(in, 0);
}

static void parse_input(void *arg)
{
    struct input *i = arg;
    json_t *root = i->n ? json_loadb(i->body, i->n, JSON_REJECT_DUPLICATES, NULL) : json_object();
    json_t *input =
        root && json_object_size(root) == 1 ? json_object_get(root, "kamuee:input") : NULL;

    if (!json_is_object(root) || (json_object_size(root) && !json_is_object(input))) {
        i->tag = "malformed-message";
        text_printf(&i->why, "expected {\"kamuee:input\": {…}} in the body");
    } else {
        json_t *wrapped = json_object();
        char key[80];

        snprintf(key, sizeof key, "kamuee:%s", i->name);
        json_object_set_new(wrapped, key, input ? json_incref(input) : json_object());
        char *s = json_dumps(wrapped, JSON_COMPACT);
        parse_wrapped(i, s);
        free(s);
        json_decref(wrapped);
    }
    json_decref(root);
}

// Required role by the schema; admin if it names none.
static enum access_level access_of(const char *name)
{
    const struct lysc_node *rpc = yang_rpc(name);
    const char *role = rpc ? yang_extension(rpc, "access") : NULL;
    int access = role ? access_of_name(role) : -1;

    return access < ACCESS_READ ? ACCESS_ADMIN : (enum access_level)access;
}

enum access_level operation_needs(const char *name)
{
    const struct feature_operation *o = operation_of_path(name);

    return o ? access_of(o->rpc) : ACCESS_READ;
}

bool operation_turn(const char *name, size_t body_bytes, enum aside_lane *lane)
{
    const struct feature_operation *o = operation_of_path(name);

    if (!o)
        return false;
    *lane = o->turn == OPERATION_CHANGES ? ASIDE_CHANGE : ASIDE_READ;
    return o->turn != OPERATION_AT_ONCE || body_bytes > BODY_SHORT;
}

static const char *nearest_operation(const struct http *h, const char *name)
{
    const char *best = NULL;
    unsigned best_distance = 4;

    vec_foreach (&operations, o) {
        unsigned d = yang_distance(name, (*o)->rpc);

        if (!bound_hides(h, yang_rpc((*o)->rpc)) && d < best_distance) {
            best = (*o)->rpc;
            best_distance = d;
        }
    }
    return best;
}

static void run_operation(struct http *h, const struct feature_operation *o)
{
    struct input input = {.name = o->rpc};

    input.body = http_body(h, &input.n);
    aside(parse_input, &input);
    if (http_gone(h))
        http_reply(h, 503, NULL, NULL);
    else if (!input.tree)
        http_refuse(h, 400, input.tag, "%s", text_str(&input.why));
    else if (bound_input(h, input.tree))
        o->run(h, input.tree);
    text_free(&input.why);
    lyd_free_all(input.tree);
}

void operation_post(struct http *h, const char *path)
{
    const char *name = strncmp(path, "kamuee:", 7) ? path : path + 7, *near;
    const struct feature_operation *o = operation_of_path(path);

    if (o && bound_operation(h, yang_rpc(o->rpc))) {
        if (http_may(h, access_of(o->rpc)))
            run_operation(h, o);
        return;
    }
    near = nearest_operation(h, name);
    http_refuse(h, 404, "invalid-value", "there is no operation '%s'%s%s%s", path,
                near ? ", did you mean 'kamuee:" : "", near ? near : "", near ? "'?" : "");
}

void operations_list(struct http *h)
{
    char key[80];

    json_t *all = json_object();

    vec_foreach (&operations, o) {
        if (bound_hides(h, yang_rpc((*o)->rpc)))
            continue;
        snprintf(key, sizeof key, "kamuee:%s", (*o)->rpc);
        json_object_set_new(all, key, json_pack("[n]"));
    }
    http_for_anyone(h);
    restconf_json(h, json_pack("{s:o}", "ietf-restconf:operations", all));
}
