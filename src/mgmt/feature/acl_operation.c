// SPDX-License-Identifier: BSD-3-Clause
// acl_operation.c - operations on access lists and address sets
//
// Each operation asks acl_manager and replies when the answer arrives; `reload` waits in a turn,
// like a commit.
#include <errno.h>
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

struct acl_question { // kept until the answer arrives
    struct http *http;
    const char *what; // "acl", "address-set"
    // Adds the members of the output; NULL: there is none.
    void (*write)(struct jwrite *j, const struct acl_question *q, const struct acl_answer *a);
    char name[ACL_NAME_MAX];
    uint32_t from, limit;
    VEC(struct ip_addr) address;
};

static struct acl_question *question_new(struct http *h, const struct lyd_node *op,
                                         const char *what,
                                         void (*write)(struct jwrite *j,
                                                       const struct acl_question *q,
                                                       const struct acl_answer *a))
{
    static const struct column input_columns[] = {
        COLUMN(struct acl_question, name, "name"),
        COLUMN(struct acl_question, from, "from"),
        COLUMN(struct acl_question, limit, "limit"),
        {0}};
    struct acl_question *q = calloc(1, sizeof *q);

    bug_on(!q);
    *q = (struct acl_question){.http = h, .what = what, .write = write};
    columns_read(lyd_child(op), input_columns, q);
    return q;
}

static void question_free(struct acl_question *q)
{
    vec_free(&q->address);
    free(q);
}

// Refuses the request if acl_manager could not be asked: `r` is not 0.
static void refuse_unsent(struct acl_question *q, int r)
{
    if (!r)
        return;
    http_refuse_busy(q->http, "acl_manager", r);
    question_free(q);
}

static void send_answer(void *ctx, const struct acl_answer *a)
{
    struct acl_question *q = ctx;
    struct jwrite j;

    if (a->result == -ENOENT) {
        http_refuse(q->http, 404, "invalid-value", "there is no %s '%s'", q->what, q->name);
    } else if (a->result) {
        http_refuse(q->http, 409, "resource-denied", "%s %s: %s", q->what, q->name,
                    strerror(-a->result));
    } else if (!q->write) {
        http_reply(q->http, 204, NULL, NULL);
    } else {
        output_begin(&j, &(struct text){0});
        q->write(&j, q, a);
        output_send(q->http, &j);
    }
    question_free(q);
}

// --- rules ---------------------------------------------------------------------------------------

static void write_rule_rows(struct jwrite *j, const struct acl_question *q,
                            const struct acl_answer *a)
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

static void run_acl_rules(struct http *h, const struct lyd_node *op)
{
    struct acl_question *q = question_new(h, op, "acl", write_rule_rows);

    refuse_unsent(q, acl_query_rules(q->name, q->from, q->limit, send_answer, q));
}

// --- lint ----------------------------------------------------------------------------------------

static void write_findings(struct jwrite *j, const struct acl_question *q,
                           const struct acl_answer *a)
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

static void run_acl_lint(struct http *h, const struct lyd_node *op)
{
    struct acl_question *q = question_new(h, op, "acl", write_findings);

    refuse_unsent(q, acl_query_lint(q->name, q->from, q->limit, send_answer, q));
}

// --- counters ------------------------------------------------------------------------------------

static void run_clear_acl(struct http *h, const struct lyd_node *op)
{
    struct acl_question *q = question_new(h, op, "acl", NULL);

    refuse_unsent(q, acl_query_clear(q->name, send_answer, q));
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

// --- members of sets -----------------------------------------------------------------------------

static void write_contains(struct jwrite *j, const struct acl_question *q,
                           const struct acl_answer *a)
{
    jwrite_begin(j, "result", '[');
    for (size_t i = 0; i < a->found.n; i++) {
        jwrite_begin(j, NULL, '{');
        jwrite_ip(j, "address", &q->address.item[i]);
        if (a->found.item[i].family)
            jwrite_prefix(j, "member", &a->found.item[i]);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
}

static void run_set_contains(struct http *h, const struct lyd_node *op)
{
    struct acl_question *q = question_new(h, op, "address-set", write_contains);

    for (const struct lyd_node *n = lyd_child(op); n; n = n->next)
        if (!strcmp(n->schema->name, "address"))
            bug_on(ip_parse(lyd_get_value(n), vec_push(&q->address))); // checked by libyang

    refuse_unsent(q, acl_query_contains(q->name, q->address.item, q->address.n, send_answer, q));
}

static void write_change(struct jwrite *j, const struct acl_question *q, const struct acl_answer *a)
{
    jwrite_int(j, "skipped", (int64_t)a->skipped);
}

static void run_set_change(struct http *h, const struct lyd_node *op)
{
    struct acl_question *q = question_new(h, op, "address-set", write_change);
    struct acl_members add = {0}, del = {0};

    for (const struct lyd_node *n = lyd_child(op); n; n = n->next) {
        struct acl_members *m = !strcmp(n->schema->name, "add")      ? &add
                                : !strcmp(n->schema->name, "delete") ? &del
                                                                     : NULL;
        if (m)
            bug_on(acl_member_parse(lyd_get_value(n), vec_push(&m->item)));
    }

    refuse_unsent(q, acl_query_change(q->name, &del, &add, send_answer, q));
}

const struct feature_operation acl_operations[] = {
    {"acl-rules", .run = run_acl_rules},
    {"acl-lint", .run = run_acl_lint},
    {"clear-acl", .run = run_clear_acl},
    {"reload", run_reload, OPERATION_CHANGES},
    {"address-set-contains", .run = run_set_contains},
    {"address-set-change", run_set_change, OPERATION_CHANGES},
    {0}};
