// SPDX-License-Identifier: BSD-3-Clause
// operation_config.c - operations that read or change the configuration
//
// `configure` commits: lines, a text, a revision or the file on top of what runs, or what a session
// has edited. `edit` changes a session's candidate. All of them have a turn (core/aside.h): what is
// long is done aside.
#include <errno.h>
#include <libyang/libyang.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/vec.h"
#include "config/candidate.h"
#include "config/complete.h"
#include "config/config_confirm.h"
#include "core/aside.h"
#include "http/refuse.h"
#include "restconf/operation.h"
#include "yang/config_json.h"
#include "yang/config_tree.h"

void operation_refuse(struct http *h, int r, struct errors *e)
{
    if (r == -EINPROGRESS)
        operation_again(h);
    else if (r == -EINVAL || r == -ENOENT)
        http_refuse_all(h, r == -EINVAL ? 400 : 404, "invalid-value", e);
    else
        http_refuse_all(h, 409, r == -EBUSY || r == -EAGAIN ? "in-use" : "resource-denied", e);
}

static void write_lines(struct jwrite *j, const char *key, const struct text *t)
{
    char *copy = strdup(text_str(t)), *next = copy;

    bug_on(!copy);
    jwrite_begin(j, key, '[');
    for (char *line; (line = strsep(&next, "\n"));)
        if (*line)
            jwrite_string(j, NULL, line);
    jwrite_end(j, ']');
    free(copy);
}

static void write_notes(struct jwrite *j, const struct errors *notes)
{
    if (!notes->n)
        return;
    jwrite_begin(j, "note", '[');
    for (unsigned i = 0; i < notes->n; i++)
        jwrite_string(j, NULL, notes->item[i].sentence);
    jwrite_end(j, ']');
}

static bool is_true(const struct lyd_node *op, const char *leaf)
{
    return !strcmp(operation_input(op, leaf), "true");
}

// --- input --------------------------------------------------------------------------------------

struct input {
    struct config_edit edit;
    VEC(const char *) lines;
    bool any; // there is something to edit
};

static const char *given(const struct lyd_node *op, const char *leaf)
{
    const char *v = operation_input(op, leaf);

    return *v ? v : NULL;
}

static void read_edit(const struct lyd_node *op, struct input *in)
{
    *in = (struct input){.edit = {.revision = given(op, "revision"),
                                  .file = is_true(op, "file"),
                                  .replace = is_true(op, "replace"),
                                  .text = given(op, "text"),
                                  .json = !strcmp(operation_input(op, "format"), "json")}};
    for (const struct lyd_node *n = lyd_child(op); n; n = n->next)
        if (!strcmp(n->schema->name, "line"))
            *vec_push(&in->lines) = lyd_get_value(n);
    in->edit.line = in->lines.item;
    in->edit.n_lines = (unsigned)in->lines.n;
    in->any =
        in->edit.revision || in->edit.file || in->edit.replace || in->edit.text || in->lines.n;
}

// The candidate of the session that the input names. False: an answer has been given. NULL: it
// names none.
static bool find_session(struct http *h, const struct lyd_node *op, struct candidate **c)
{
    const char *id = given(op, "session");

    *c = id ? candidate_find(strtoull(id, NULL, 10)) : NULL;
    if (*c || !id)
        return true;
    http_refuse(h, 404, "invalid-value",
                "there is no session %s: it has ended, or kamueed was restarted", id);
    return false;
}

// --- configure and edit -------------------------------------------------------------------------

static struct commit read_commit(struct http *h, const struct lyd_node *op)
{
    return (struct commit){.by = http_peer(h),
                           .comment = given(op, "comment"),
                           .check_only = is_true(op, "check"),
                           .confirms = is_true(op, "confirm"),
                           .confirm_s =
                               (unsigned)strtoul(operation_input(op, "confirm-within"), NULL, 10)};
}

static int commit(struct candidate *c, const struct input *in, const struct commit *how,
                  struct config_result *result, struct errors *e)
{
    struct lyd_node *tree;

    if (c && in->any) {
        errors_add(e, 0,
                   "'configure' with a session takes no changes: use 'edit' to change the "
                   "session's candidate");
        return -EINVAL;
    }
    if (c)
        return candidate_commit(c, how, result, e);
    struct text words = {0};
    struct commit mine = *how;
    if (config_edit_words(&in->edit, &words))
        mine.made_from = text_str(&words);
    int r = 0;
    if (!config_commit_again(&mine, result, e, &r)) {
        r = config_edited(config_running(), &in->edit, &tree, e);
        r = r ? r : config_commit(tree, &mine, result, e);
    }
    text_free(&words);
    return r;
}

struct result_text {
    const struct config_result *result;
    struct text *t;
};

static void write_result(void *arg)
{
    const struct result_text *w = arg;
    struct jwrite j;

    output_begin(&j, w->t);
    write_lines(&j, "change", &w->result->change);
    write_notes(&j, &w->result->notes);
    output_end(&j);
}

void operation_configure(struct http *h, const struct lyd_node *op)
{
    struct config_result result = {0};
    struct errors e = {0};
    struct text t = {0};
    struct candidate *c;
    struct input in;

    if (!find_session(h, op, &c))
        return;
    struct commit how = read_commit(h, op);
    read_edit(op, &in);
    int r = commit(c, &in, &how, &result, &e);
    if (in.lines.n == 1) // "line 1: " tells nothing then
        for (unsigned i = 0; i < e.n; i++)
            e.item[i].line = 0;
    if (r) {
        operation_refuse(h, r, &e);
    } else {
        aside(write_result, &(struct result_text){&result, &t});
        http_reply(h, 200, HTTP_JSON, &t);
    }
    vec_free(&in.lines);
    errors_free(&e);
    config_result_free(&result);
}

void operation_edit(struct http *h, const struct lyd_node *op)
{
    struct errors e = {0}, notes = {0};
    struct text t = {0};
    struct candidate *c;
    struct jwrite j;
    struct input in;
    int r = 0;

    if (!find_session(h, op, &c))
        return;
    read_edit(op, &in);
    if (is_true(op, "update"))
        candidate_update(c, &notes);
    if (in.any)
        r = candidate_edit(c, &in.edit, &e);
    if (in.lines.n == 1)
        for (unsigned i = 0; i < e.n; i++)
            e.item[i].line = 0;
    if (r) {
        operation_refuse(h, r, &e);
    } else {
        output_begin(&j, &t);
        write_notes(&j, &notes);
        output_send(h, &j);
    }
    vec_free(&in.lines);
    errors_free(&e);
    errors_free(&notes);
}

// Whether the commit that waits is the client's, or the one that it names.
static bool may_confirm(struct http *h, const struct lyd_node *op)
{
    const char *revision = given(op, "revision"), *session = given(op, "session");

    if (revision)
        return strtoull(revision, NULL, 10) == confirm_waiting()->revision;
    return confirm_is_of(session ? strtoull(session, NULL, 10) : 0, http_peer(h));
}

void operation_confirm(struct http *h, const struct lyd_node *op)
{
    char err[600] = "";
    struct text t = {0};

    if (!confirm_waiting()) {
        http_refuse(h, 409, "invalid-value", "no commit is waiting for confirmation");
    } else if (!may_confirm(h, op)) {
        confirm_say(&t);
        http_refuse(h, 409, "in-use", "nothing was confirmed: %s", text_str(&t));
        text_free(&t);
    } else if (confirm_now(http_peer(h), err, sizeof err)) {
        http_refuse(h, 409, "resource-denied", "%s", err);
    } else {
        http_reply(h, 204, NULL, NULL);
    }
}

// --- sessions -----------------------------------------------------------------------------------

void operation_session_open(struct http *h, const struct lyd_node *op)
{
    char err[256] = "";
    struct candidate *c = candidate_open(http_peer(h), err, sizeof err);
    struct candidate_state s;
    struct text t = {0};
    struct jwrite j;

    if (!c) {
        http_refuse(h, 409, "resource-denied", "%s", err);
        return;
    }
    output_begin(&j, &t);
    jwrite_int(&j, "session", (int64_t)candidate_id(c));
    jwrite_begin(&j, "other", '[');
    for (unsigned i = 0; candidate_at(i, &s); i++)
        if (s.id != candidate_id(c))
            candidate_write(&s, &j);
    jwrite_end(&j, ']');
    output_send(h, &j);
}

void operation_session_close(struct http *h, const struct lyd_node *op)
{
    struct candidate *c;

    if (!find_session(h, op, &c))
        return;
    candidate_close(c);
    http_reply(h, 204, NULL, NULL);
}

// --- reading ------------------------------------------------------------------------------------
//
// Others may commit meanwhile: what is read is held.

static const struct snapshot *snapshot_of(const struct candidate *c)
{
    return c ? candidate_snapshot(c) : config_snapshot();
}

// What the input names: a revision, the file, or what the candidate says or runs; the caller's.
// NULL: an answer has been given.
static struct snapshot *read_snapshot(struct http *h, const struct lyd_node *op,
                                      const struct candidate *c)
{
    struct config_edit from = {.revision = given(op, "revision"), .file = is_true(op, "file")};
    struct snapshot *held = snapshot_ref(snapshot_of(c)), *read = NULL;
    struct lyd_node *tree;
    struct errors e = {0};

    if (!from.revision && !from.file)
        return held;
    int r = config_edited(held->tree, &from, &tree, &e);
    if (r)
        operation_refuse(h, r, &e);
    else
        read = snapshot_new(tree, NULL, 0);
    errors_free(&e);
    snapshot_unref(held);
    return read;
}

struct reading {
    const struct lyd_node *from, *tree;
    bool json;
    struct text out;
};

static void print_tree(void *arg)
{
    struct reading *r = arg;
    struct text config = {0};
    struct jwrite j;
    char *json = r->json ? config_json_text(r->tree) : NULL;

    if (!json)
        config_print(r->tree, &config);
    output_begin(&j, &r->out);
    jwrite_string(&j, "text", json ? json : text_str(&config));
    output_end(&j);
    text_free(&config);
    free(json);
}

void operation_configuration(struct http *h, const struct lyd_node *op)
{
    struct candidate *c;
    struct snapshot *s;

    if (!find_session(h, op, &c) || !(s = read_snapshot(h, op, c)))
        return;
    struct reading r = {.tree = s->tree, .json = !strcmp(operation_input(op, "format"), "json")};
    aside(print_tree, &r);
    snapshot_unref(s);
    http_reply(h, 200, HTTP_JSON, &r.out);
}

static void print_difference(void *arg)
{
    struct reading *r = arg;
    struct text change = {0};
    struct jwrite j;

    config_diff(r->from, r->tree, &change);
    output_begin(&j, &r->out);
    write_lines(&j, "change", &change);
    output_end(&j);
    text_free(&change);
}

void operation_compare(struct http *h, const struct lyd_node *op)
{
    struct candidate *c;
    struct snapshot *with;

    if (!find_session(h, op, &c))
        return;
    struct snapshot *s = snapshot_ref(snapshot_of(c));
    if ((with = read_snapshot(h, op, NULL))) {
        struct reading r = {.from = with->tree, .tree = s->tree};

        aside(print_difference, &r);
        snapshot_unref(with);
        http_reply(h, 200, HTTP_JSON, &r.out);
    }
    snapshot_unref(s);
}

void operation_save_configuration(struct http *h, const struct lyd_node *op)
{
    struct text t = {0};
    struct jwrite j;
    char err[512] = "";

    if (config_save(config_running(), err, sizeof err)) {
        http_refuse(h, 409, "resource-denied", "%s", err);
        return;
    }
    log_notice("config: saved: by=%s file=%s", LOG_VALUE(http_peer(h)), LOG_VALUE(config_file()));
    output_begin(&j, &t);
    jwrite_string(&j, "file", config_file());
    output_send(h, &j);
}

void operation_complete(struct http *h, const struct lyd_node *op)
{
    struct text t = {0};
    struct candidate *c;
    struct jwrite j;

    if (!find_session(h, op, &c))
        return;
    output_begin(&j, &t);
    complete_line(operation_input(op, "line"), snapshot_of(c)->tree, &j);
    output_send(h, &j);
}
