// SPDX-License-Identifier: BSD-3-Clause
// acl_operation.c - operations on access lists and address sets
//
// Each operation asks acl_manager and replies when the answer arrives; `reload` waits in a turn,
// like a commit.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl_manager/acl_query.h"
#include "base/log.h"
#include "base/text.h"
#include "base/vec.h"
#include "config/config_running.h"
#include "feature/acl.h"
#include "http/refuse.h"
#include "model/model.h"
#include "restconf/column.h"
#include "restconf/operation.h"

// --- rules ---------------------------------------------------------------------------------------

static void write_rule_rows(struct jwrite *j, const struct acl_answer *a)
{
    jwrite_int(j, "rules", (int64_t)a->rules);
    jwrite_begin(j, "rule", '[');
    vec_foreach (&a->rule, r) {
        jwrite_begin(j, NULL, '{');
        jwrite_int(j, "number", r->number);
        jwrite_string(j, "line", r->line);
        jwrite_u64(j, "packets", r->hits.packets);
        jwrite_u64(j, "bytes", r->hits.bytes);
        if (r->last_s != ACL_NEVER)
            jwrite_int(j, "last-hit", r->last_s);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
    if (a->next)
        jwrite_int(j, "next", a->next);
}

// --- lint ----------------------------------------------------------------------------------------

static void write_findings(struct jwrite *j, const struct acl_answer *a)
{
    static const char *const kinds[] = {"shadowed", "contradicting", "redundant"};

    jwrite_int(j, "rules", (int64_t)a->rules);
    jwrite_int(j, "progress", a->progress);
    if (a->progress < 100)
        return;
    jwrite_bool(j, "all-compared", a->complete);
    jwrite_begin(j, "finding", '[');
    vec_foreach (&a->lint, f) {
        jwrite_begin(j, NULL, '{');
        jwrite_int(j, "number", f->rule);
        jwrite_string(j, "kind", f->by ? kinds[f->kind] : "never-hit");
        if (f->by)
            jwrite_int(j, "by", f->by);
        if (f->count > 1) {
            jwrite_int(j, "until", f->until);
            jwrite_int(j, "count", f->count);
        }
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
    if (a->next)
        jwrite_int(j, "next", a->next);
}

// --- files ---------------------------------------------------------------------------------------

static void run_reload(struct http *h, const struct lyd_node *op)
{
    const char *acl = operation_input(op, "acl"), *set = operation_input(op, "address-set");
    bool all = !*acl && !*set;
    struct errors e = {0};

    if (*acl && !acl_desired_list_find(model_acls(config_model()), acl)) {
        http_refuse(h, 404, "invalid-value", "there is no acl '%s'", acl);
    } else if (*set && !acl_desired_set_find(model_acls(config_model()), set)) {
        http_refuse(h, 404, "invalid-value", "there is no address-set '%s'", set);
    } else {
        int r = acl_reload(*set || all ? set : NULL, *acl || all ? acl : NULL, &e);

        if (r)
            http_refuse_all(h, r == -EINVAL ? 400 : 409,
                            r == -EINVAL ? "invalid-value" : "resource-denied", &e);
        else
            http_reply(h, 204, NULL, NULL);
    }
    errors_free(&e);
}

// --- temporary rules -----------------------------------------------------------------------------

static void answer_temporary(struct http *h, const char *list)
{
    struct text t = {0};
    struct jwrite j;

    output_begin(&j, &t);
    jwrite_int(&j, "temporary-rules", acl_manager_temporary(list));
    output_send(h, &j);
}

static void read_peers(const char *list, const struct lyd_node *op)
{
    for (const struct lyd_node *n = lyd_child(op); n; n = n->next)
        if (!strcmp(n->schema->name, "peer"))
            acl_lease_peer(list, operation_input(n, "address"),
                           (unsigned)operation_input_number(n, "limit-used", 0));
}

static void run_change(struct http *h, const struct lyd_node *op)
{
    struct acl_temporary t = {.add = operation_input(op, "add"),
                              .replace = operation_input_is_true(op, "replace")};
    struct errors e = {0};
    int r = 0;

    snprintf(t.list, sizeof t.list, "%s", operation_input(op, "name"));
    for (const struct lyd_node *n = lyd_child(op); n; n = n->next)
        if (!strcmp(n->schema->name, "delete"))
            *vec_push(&t.del) = (uint32_t)strtoul(lyd_get_value(n), NULL, 10);
    if (!acl_desired_list_find(model_acls(config_model()), t.list)) {
        http_refuse(h, 404, "invalid-value", "there is no acl '%s'", t.list);
    } else {
        if (*t.add || t.del.n || t.replace)
            r = acl_temporary_change(&t, &e);
        if (r) {
            http_refuse_all(h, r == -EINVAL ? 400 : 409,
                            r == -EINVAL ? "invalid-value" : "resource-denied", &e);
        } else {
            acl_lease_set(t.list, (uint32_t)operation_input_number(op, "lease", 0));
            read_peers(t.list, op);
            answer_temporary(h, t.list);
        }
    }
    vec_free(&t.del);
    errors_free(&e);
}

// --- members of sets -----------------------------------------------------------------------------

static void write_contains(struct jwrite *j, const struct acl_answer *a)
{
    jwrite_begin(j, "result", '[');
    vec_foreach (&a->found, row) {
        jwrite_begin(j, NULL, '{');
        jwrite_ip(j, "address", &row->address);
        if (row->member.family)
            jwrite_prefix(j, "member", &row->member);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
}

static void write_change(struct jwrite *j, const struct acl_answer *a)
{
    jwrite_int(j, "skipped", (int64_t)a->skipped);
}

// --- queries -------------------------------------------------------------------------------------

// The operations that are one query.
static const struct acl_operation {
    const char *rpc;
    enum acl_query_kind kind;
    const char *what; // the kind of the object with this name
    // Writes the members of the output; NULL: there is none.
    void (*write)(struct jwrite *j, const struct acl_answer *a);
} acl_query_operations[] = {
    {"acl-rules", ACL_QUERY_RULES, "acl", write_rule_rows},
    {"acl-lint", ACL_QUERY_LINT, "acl", write_findings},
    {"clear-acl", ACL_QUERY_CLEAR, "acl", NULL},
    {"address-set-contains", ACL_QUERY_CONTAINS, "address-set", write_contains},
    {"address-set-change", ACL_QUERY_CHANGE, "address-set", write_change}};

struct acl_question { // kept until the answer arrives
    struct http *http;
    const struct acl_operation *operation;
    char name[ACL_NAME_MAX];
};

static void send_answer(void *ctx, const struct acl_answer *a)
{
    struct acl_question *q = ctx;
    const struct acl_operation *o = q->operation;
    struct text t = {0};
    struct jwrite j;

    if (a->result == -ENOENT) {
        http_refuse(q->http, 404, "invalid-value", "there is no %s '%s'", o->what, q->name);
    } else if (a->result) {
        http_refuse(q->http, 409, "resource-denied", "%s %s: %s", o->what, q->name,
                    strerror(-a->result));
    } else if (!o->write) {
        http_reply(q->http, 204, NULL, NULL);
    } else {
        output_begin(&j, &t);
        o->write(&j, a);
        output_send(q->http, &j);
    }
    free(q);
}

static void read_query(const struct lyd_node *op, struct acl_query *ask)
{
    static const struct column input_columns[] = {COLUMN(struct acl_query, name, "name"),
                                                  COLUMN(struct acl_query, from, "from"),
                                                  COLUMN(struct acl_query, max, "limit"),
                                                  {0}};

    columns_read(lyd_child(op), input_columns, ask);
    for (const struct lyd_node *n = lyd_child(op); n; n = n->next) { // checked by libyang
        const char *leaf = n->schema->name, *value = lyd_get_value(n);

        if (!strcmp(leaf, "address"))
            bug_on(ip_parse(value, vec_push(&ask->address)));
        else if (!strcmp(leaf, "add"))
            bug_on(prefix_parse(value, vec_push(&ask->add.item), true));
        else if (!strcmp(leaf, "delete"))
            bug_on(prefix_parse(value, vec_push(&ask->del.item), true));
    }
}

static void run_query(struct http *h, const struct lyd_node *op)
{
    struct acl_question *q = calloc(1, sizeof *q);
    struct acl_query ask = {0};

    bug_on(!q);
    read_query(op, &ask);
    *q = (struct acl_question){.http = h, .operation = acl_query_operations};
    while (strcmp(q->operation->rpc, op->schema->name))
        q->operation++;
    memcpy(q->name, ask.name, sizeof q->name);
    int r = acl_query(q->operation->kind, &ask, send_answer, q);
    if (r) {
        http_refuse_busy(h, "acl_manager", r);
        free(q);
    }
}

const struct feature_operation acl_operations[] = {
    {"acl-rules", .run = run_query},
    {"acl-lint", .run = run_query},
    {"clear-acl", .run = run_query},
    {"reload", run_reload, OPERATION_CHANGES},
    {"acl-change", run_change, OPERATION_CHANGES},
    {"address-set-contains", .run = run_query},
    {"address-set-change", run_query, OPERATION_CHANGES},
    {0}};
