// SPDX-License-Identifier: BSD-3-Clause
// operation.c - POST /restconf/operations/kamuee:NAME
//
// The input is checked against the schema by libyang, so that a handler finds
// what it needs.
#include "restconf/operation.h"

#include <errno.h>
#include <libyang/libyang.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/jwrite.h"
#include "base/log.h"
#include "base/vec.h"
#include "config/complete.h"
#include "config/config.h"
#include "core/aside.h"
#include "http/refuse.h"
#include "restconf/restconf_priv.h"
#include "restconf/reply.h"
#include "table/vr.h"
#include "yang/yang.h"

// --- lookup and shutdown ------------------------------------------------------------------------

static void lookup(struct http *h, const struct lyd_node *op)
{
    const struct vr *v = vr_find(operation_input(op, "vr"));
    VEC(const char *) a = {0};

    if (!v) {
        http_refuse(h, 404, "invalid-value", "there is no vr '%s'", operation_input(op, "vr"));
        return;
    }
    for (const struct lyd_node *n = lyd_child(op); n; n = n->next)
        if (!strcmp(n->schema->name, "address"))
            *vec_push(&a) = lyd_get_value(n);
    lookup_addresses(h, v->id, a.item, (unsigned)a.n);
    vec_free(&a);
}

static void stop_now(void)
{
    kill(getpid(), SIGTERM); // the same way as systemd's
}

static void shut_down(struct http *h, const struct lyd_node *op)
{
    log_notice("main: shutdown: by=%s", LOG_VALUE(http_peer(h)));
    http_reply(h, 204, NULL, NULL);
    http_after(100, stop_now);
}

// --- dispatch -----------------------------------------------------------------------------------

#define BODY_SHORT (64u << 10) // bytes of input that are read at once

static const struct {
    const char *name;
    void (*run)(struct http *h, const struct lyd_node *op);
    enum {
        AT_ONCE,
        READS,
        CHANGES
    } when; // has no turn, or one in the lane of those that read or change the configuration
} operations[] = {
    {"configure", operation_configure, CHANGES},
    {"complete", operation_complete, AT_ONCE},
    {"edit", operation_edit, CHANGES},
    {"confirm", operation_confirm, CHANGES},
    {"session-open", operation_session_open, CHANGES},
    {"session-close", operation_session_close, CHANGES},
    {"configuration", operation_configuration, READS},
    {"compare", operation_compare, READS},
    {"save-configuration", operation_save_configuration, CHANGES},
    {"port-attach", operation_port_attach, CHANGES},
    {"port-detach", operation_port_detach, CHANGES},
    {"port-start", operation_port_start, CHANGES},
    {"port-stop", operation_port_stop, CHANGES},
    {"lookup", lookup, AT_ONCE},
    {"explain", operation_explain, AT_ONCE},
    {"trace", operation_trace, AT_ONCE},
    {"audit", operation_audit, AT_ONCE},
    {"route-changes", operation_route_changes, AT_ONCE},
    {"route-at", operation_route_at, AT_ONCE},
    {"test-tap", operation_test_tap, AT_ONCE},
    {"capture", operation_capture, AT_ONCE},
    {"web-address", operation_web_address, AT_ONCE},
    {"acl-rules", operation_acl_rules, AT_ONCE},
    {"acl-lint", operation_acl_lint, AT_ONCE},
    {"clear-counters", operation_clear_counters, AT_ONCE},
    {"clear-acl", operation_clear_acl, AT_ONCE},
    {"clear-neighbor", operation_clear_neighbor, AT_ONCE},
    {"silence-alarm", operation_silence_alarm, AT_ONCE},
    {"reload", operation_reload, CHANGES},
    {"address-set-contains", operation_address_set_contains, AT_ONCE},
    {"address-set-change", operation_address_set_change, CHANGES},
    {"shutdown", shut_down, AT_ONCE},
};

// {"kamuee:input": {…}} or nothing, as the tree libyang makes of {"kamuee:NAME": {…}}.
struct input {
    const char *name, *body;
    size_t n;
    struct lyd_node *tree; // NULL: it is wrong
    const char *tag;
    struct text why;
};

static void parse_wrapped(struct input *i, const char *s)
{
    struct lyd_node *op = NULL;
    struct ly_in *in = NULL;

    bug_on(!s || ly_in_new_memory(s, &in));
    if (lyd_parse_op(yang_ctx, NULL, in, LYD_JSON, LYD_TYPE_RPC_YANG, &i->tree, &op) ||
        lyd_validate_op(i->tree, NULL, LYD_TYPE_RPC_YANG, NULL)) {
        i->tag = "invalid-value";
        yang_say_error(&i->why);
        lyd_free_all(i->tree);
        i->tree = NULL;
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

// Who may run it: the schema says so, and what it does not say is for admins.
static enum access access_of(const char *name)
{
    const struct lysc_node *rpc = yang_rpc(name);
    const char *role = rpc ? yang_extension(rpc, "access") : NULL;
    int access = role ? access_of_name(role) : -1;

    return access < ACCESS_READ ? ACCESS_ADMIN : (enum access)access;
}

enum access operation_needs(const char *name)
{
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (!strncmp(name, "kamuee:", 7) && !strcmp(name + 7, operations[i].name))
            return access_of(operations[i].name);
    return ACCESS_READ;
}

bool operation_turn(const char *name, size_t body_bytes, enum aside_lane *lane)
{
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (strncmp(name, "kamuee:", 7) || strcmp(name + 7, operations[i].name))
            continue;
        *lane = operations[i].when == CHANGES ? ASIDE_CHANGE : ASIDE_READ;
        return operations[i].when != AT_ONCE || body_bytes > BODY_SHORT;
    }
    return false;
}

static const char *nearest_operation(const char *name)
{
    const char *best = NULL;
    unsigned best_distance = 4;

    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        unsigned d = yang_distance(name, operations[i].name);

        if (d < best_distance) {
            best = operations[i].name;
            best_distance = d;
        }
    }
    return best;
}

void operation_post(struct http *h, const char *path)
{
    const char *name = strncmp(path, "kamuee:", 7) ? path : path + 7, *near;

    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (name == path || strcmp(name, operations[i].name))
            continue;
        if (!http_may(h, access_of(name)))
            return;
        struct input input = {.name = name};
        input.body = http_body(h, &input.n);
        aside(parse_input, &input);
        if (http_gone(h))
            http_reply(h, 503, NULL, NULL);
        else if (input.tree)
            operations[i].run(h, input.tree);
        else
            http_refuse(h, 400, input.tag, "%s", text_str(&input.why));
        text_free(&input.why);
        lyd_free_all(input.tree);
        return;
    }
    near = nearest_operation(name);
    http_refuse(h, 404, "invalid-value", "there is no operation '%s'%s%s%s", path,
                near ? ", did you mean 'kamuee:" : "", near ? near : "", near ? "'?" : "");
}

void operations_list(struct http *h)
{
    json_t *all = json_object();
    char key[80];

    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        snprintf(key, sizeof key, "kamuee:%s", operations[i].name);
        json_object_set_new(all, key, json_pack("[n]"));
    }
    restconf_json(h, 200, json_pack("{s:o}", "ietf-restconf:operations", all));
}
