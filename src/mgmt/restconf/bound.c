// SPDX-License-Identifier: BSD-3-Clause
// bound.c - answers to a client that is bound to a virtual router
//
// They are the usual answers without everything that does not belong to the virtual router;
// http_reply() sends no others. Entries of other owners are reported as not found, with the same
// code and words as entries that do not exist.
#include "restconf/bound.h"

#include <jansson.h>
#include <libyang/libyang.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "config/config_bound.h"
#include "http/refuse.h"
#include "restconf/reply.h"
#include "yang/owner.h"
#include "yang/yang.h"

bool bound_is(const struct http *h)
{
    return *http_vr(h);
}

// --- the configuration --------------------------------------------------------------------------

static void drop_snapshot(void *s)
{
    snapshot_unref(s);
}

const struct snapshot *bound_snapshot(struct http *h)
{
    if (!bound_is(h))
        return config_snapshot();
    if (!http_kept(h))
        http_keep(h, config_bound(http_vr(h)), drop_snapshot);
    return http_kept(h);
}

const struct lyd_node *bound_running(struct http *h)
{
    return bound_snapshot(h)->tree;
}

// --- state --------------------------------------------------------------------------------------

bool bound_sees(const struct http *h, const struct lysc_node *s)
{
    return !bound_is(h) || owner_is_marked(s);
}

bool bound_may_read(struct http *h, const char *vr)
{
    if (!bound_is(h) || !strcmp(http_vr(h), vr))
        return true;
    http_refuse(h, 404, "invalid-value", "there is no vr '%s'", vr);
    return false;
}

static void replace(struct text *t, json_t *j)
{
    text_free(t);
    restconf_line(j, t);
}

static json_t *load(const struct text *t)
{
    json_t *j = json_loadb(text_str(t), t->n, 0, NULL);

    bug_on(!j);
    return j;
}

static void keep_children(const char *vr, const struct lysc_node *parent, json_t *object)
{
    const char *name;
    json_t *value;
    void *next;

    json_object_foreach_safe(object, next, name, value)
    {
        const char *colon = strchr(name, ':');
        const struct lysc_node *s = yang_child(parent, colon ? colon + 1 : name, false);

        if (s && !owner_is_marked(s) && json_is_array(value) && !json_array_size(value))
            continue; // the list appears without entries
        if (!s || !owner_keep_json(vr, s, value))
            json_object_del(object, name);
    }
}

// The configuration in an answer with the whole datastore is already the client's.
void bound_keep_state(const char *vr, json_t *root)
{
    const struct lysc_node *state = yang_child(NULL, "state", false);
    json_t *data = json_object_get(root, "ietf-restconf:data"), *in = data ? data : root,
           *whole = json_object_get(in, "kamuee:state");

    if (whole)
        keep_children(vr, state, whole);
    else if (!data)
        keep_children(vr, state, root);
}

void bound_keep_entry(const struct http *h, const struct lysc_node *list, struct text *t)
{
    if (!bound_is(h))
        return;
    json_t *entry = load(t);
    if (!owner_keep_below(http_vr(h), list, entry))
        json_object_clear(entry);
    replace(t, entry);
}

// --- operations ---------------------------------------------------------------------------------

static const struct lysc_node *output_of(const struct lysc_node *rpc)
{
    return &((const struct lysc_node_action *)rpc)->output.node;
}

static bool keep_output(const void *ctx, const char *vr, struct text *body)
{
    json_t *root = load(body), *output = json_object_get(root, "kamuee:output");

    if (json_object_size(root) > 1 || !output)
        json_object_clear(root);
    else if (!owner_keep_json(vr, ctx, output))
        json_object_clear(output);
    replace(body, root);
    return true;
}

void bound_keep_row(const struct http *h, const char *rpc, const char *list, struct text *t)
{
    const struct lysc_node *n = bound_is(h) ? lysc_node_child(output_of(yang_rpc(rpc))) : NULL;

    while (n && strcmp(n->name, list))
        n = n->next;
    bug_on(bound_is(h) && !n);
    bound_keep_entry(h, n, t);
}

bool bound_hides(const struct http *h, const struct lysc_node *rpc)
{
    return bound_is(h) && !owner_is_marked(rpc);
}

bool bound_operation(struct http *h, const struct lysc_node *rpc)
{
    if (bound_hides(h, rpc))
        return false;
    http_filter(h, keep_output, output_of(rpc));
    return true;
}

bool bound_input(struct http *h, struct lyd_node *op)
{
    struct text why = {0};
    bool ok = !bound_is(h) || owner_input(http_vr(h), op, &why);

    if (!ok)
        http_refuse(h, 404, "invalid-value", "%s", text_str(&why));
    text_free(&why);
    return ok;
}

// --- metrics ------------------------------------------------------------------------------------

// Labels that name no object of an owner; a sample with any other label may belong to another
// owner.
static bool is_plain_label(const char *name)
{
    static const char *const plain[] = {"family",   "direction", "class",   "color",
                                        "protocol", "engine",    "status",  "le",
                                        "budget",   "reason",    "rule",    "action",
                                        "verdict",  "side",      "nexthop", "gateway",
                                        "prefix",   "counter"};

    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (!strcmp(name, plain[i]))
            return true;
    return false;
}

// `own`: the label names the virtual router, or an interface, list, set or program of it. False:
// the sample is not for the client.
static bool judge_label(const char *vr, const char *name, const char *value, bool *own)
{
    static const struct {
        const char *label, *list;
    } owned[] = {{"acl", "acl"}, {"set", "address-set"}, {"program", "program"}};

    if (!strcmp(name, "vr"))
        return *own = true, !strcmp(value, vr);
    if (!strcmp(name, "interface"))
        return *own = true, owner_has_interface(vr, value);
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        if (!strcmp(name, owned[i].label))
            return *own = true, owner_has(vr, owned[i].list, value);
    return is_plain_label(name);
}

bool bound_sees_sample(const char *vr, va_list labels)
{
    const char *name;
    bool own = false;

    while ((name = va_arg(labels, const char *)))
        if (!judge_label(vr, name, va_arg(labels, const char *), &own))
            return false;
    return own;
}
