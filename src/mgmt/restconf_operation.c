// SPDX-License-Identifier: BSD-3-Clause
// operation.c - POST /restconf/operations/kamuee:NAME
//
// The input is checked against the schema by libyang, so that a handler finds
// what it needs.
#include "operation/operation.h"

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
#include "http/refuse.h"
#include "mgmt/restconf_priv.h"
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

static const struct {
    const char *name;
    void (*run)(struct http *h, const struct lyd_node *op);
} operations[] = {
    {"configure", operation_configure},
    {"complete", operation_complete},
    {"edit", operation_edit},
    {"confirm", operation_confirm},
    {"session-open", operation_session_open},
    {"session-close", operation_session_close},
    {"configuration", operation_configuration},
    {"compare", operation_compare},
    {"save-configuration", operation_save_configuration},
    {"port-attach", operation_port_attach},
    {"port-detach", operation_port_detach},
    {"port-start", operation_port_start},
    {"port-stop", operation_port_stop},
    {"lookup", lookup},
    {"explain", operation_explain},
    {"trace", operation_trace},
    {"audit", operation_audit},
    {"route-changes", operation_route_changes},
    {"route-at", operation_route_at},
    {"test-tap", operation_test_tap},
    {"capture", operation_capture},
    {"web-address", operation_web_address},
    {"acl-rules", operation_acl_rules},
    {"acl-lint", operation_acl_lint},
    {"clear-counters", operation_clear_counters},
    {"clear-acl", operation_clear_acl},
    {"clear-neighbor", operation_clear_neighbor},
    {"silence-alarm", operation_silence_alarm},
    {"reload", operation_reload},
    {"address-set-contains", operation_address_set_contains},
    {"address-set-change", operation_address_set_change},
    {"shutdown", shut_down},
};

// {"kamuee:input": {…}} or nothing, as the tree libyang makes of {"kamuee:NAME": {…}}; NULL: an
// answer has been given.
static struct lyd_node *parse_input(struct http *h, const char *name)
{
    size_t n;
    const char *body = http_body(h, &n);
    json_t *root = n ? json_loadb(body, n, JSON_REJECT_DUPLICATES, NULL) : json_object();
    json_t *input =
        root && json_object_size(root) == 1 ? json_object_get(root, "kamuee:input") : NULL;
    struct lyd_node *tree = NULL, *op = NULL;
    struct ly_in *in = NULL;
    struct text t = {0};

    if (!json_is_object(root) || (json_object_size(root) && !json_is_object(input))) {
        http_refuse(h, 400, "malformed-message", "expected {\"kamuee:input\": {…}} in the body");
        json_decref(root);
        return NULL;
    }
    json_t *wrapped = json_pack("{s:o}", "", input ? json_incref(input) : json_object());
    char key[80];
    snprintf(key, sizeof key, "kamuee:%s", name);
    json_object_set(wrapped, key, json_object_get(wrapped, ""));
    json_object_del(wrapped, "");
    char *s = json_dumps(wrapped, JSON_COMPACT);
    bug_on(!s || ly_in_new_memory(s, &in));
    if (lyd_parse_op(yang_ctx, NULL, in, LYD_JSON, LYD_TYPE_RPC_YANG, &tree, &op) ||
        lyd_validate_op(tree, NULL, LYD_TYPE_RPC_YANG, NULL)) {
        yang_say_error(&t);
        http_refuse(h, 400, "invalid-value", "%s", text_str(&t));
        lyd_free_all(tree);
        tree = NULL;
    }
    ly_in_free(in, 0);
    text_free(&t);
    free(s);
    json_decref(wrapped);
    json_decref(root);
    return tree;
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
        struct lyd_node *op = parse_input(h, name);
        if (op)
            operations[i].run(h, op);
        lyd_free_all(op);
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
