// SPDX-License-Identifier: BSD-3-Clause
// configuration.c - the configuration as clients see it: operations that read or change it, editing
// sessions, revisions, and the commit that waits for confirmation
//
// `configure` commits lines, a text, a revision or the file on top of the running configuration, or
// the candidate of a session. `edit` changes a session's candidate. All operations have a turn
// (core/aside.h) and do long work aside.
#include "feature/configuration.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/vec.h"
#include "config/candidate.h"
#include "config/complete.h"
#include "config/config_bound.h"
#include "config/config_confirm.h"
#include "config/config_running.h"
#include "config/revision.h"
#include "core/aside.h"
#include "feature/acl.h"
#include "feature/flow_trial.h"
#include "http/refuse.h"
#include "mgmt/feature.h"
#include "restconf/bound.h"
#include "restconf/metrics.h"
#include "restconf/operation.h"
#include "restconf/state.h"
#include "yang/config_json.h"
#include "yang/config_tree.h"

void configuration_write_lines(struct jwrite *j, const char *key, const struct text *t)
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

// --- input --------------------------------------------------------------------------------------

struct input {
    struct config_edit edit;
    VEC(const char *) lines;
    bool any; // there is something to edit
};

static const char *input_or_null(const struct lyd_node *op, const char *leaf)
{
    const char *v = operation_input(op, leaf);

    return *v ? v : NULL;
}

static void read_edit(const struct lyd_node *op, struct input *in)
{
    *in = (struct input){.edit = {.revision = input_or_null(op, "revision"),
                                  .file = operation_input_is_true(op, "file"),
                                  .replace = operation_input_is_true(op, "replace"),
                                  .text = input_or_null(op, "text"),
                                  .json = !strcmp(operation_input(op, "format"), "json")}};
    for (const struct lyd_node *n = lyd_child(op); n; n = n->next)
        if (!strcmp(n->schema->name, "line"))
            *vec_push(&in->lines) = lyd_get_value(n);
    in->edit.line = in->lines.item;
    in->edit.n_lines = (unsigned)in->lines.n;
    in->any =
        in->edit.revision || in->edit.file || in->edit.replace || in->edit.text || in->lines.n;
}

// Finds the candidate of the session in the input; NULL if there is no session in it. False: the
// request has been refused.
static bool find_session(struct http *h, const struct lyd_node *op, struct candidate **c)
{
    const char *id = input_or_null(op, "session");

    *c = id ? candidate_find(strtoull(id, NULL, 10), http_vr(h)) : NULL;
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
                           .comment = input_or_null(op, "comment"),
                           .check_only = operation_input_is_true(op, "check"),
                           .confirms = operation_input_is_true(op, "confirm"),
                           .confirm_s = (unsigned)operation_input_number(op, "confirm-within", 0)};
}

// Commits for a client that is bound to a virtual router: it changes only the part that it sees.
static int commit_bound(struct http *h, const struct input *in, const struct commit *how,
                        struct config_result *result, struct errors *e)
{
    const struct lyd_node *from = bound_running(h);
    struct lyd_node *tree;
    int r = config_edited(from, &in->edit, &tree, e);

    if (r)
        return r;
    r = config_bound_commit(&(struct bound_change){http_vr(h), from, tree}, how, result, e);
    config_drop(tree);
    return r;
}

static int commit_input(struct http *h, struct candidate *c, const struct input *in,
                        const struct commit *how, struct config_result *result, struct errors *e)
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
    if (bound_is(h))
        return commit_bound(h, in, how, result, e);
    int r = config_edited(config_running(), &in->edit, &tree, e);
    return r ? r : config_commit(tree, how, result, e);
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
    configuration_write_lines(&j, "change", &w->result->change);
    write_notes(&j, &w->result->notes);
    if (w->result->flows.n)
        jwrite_raw(&j, "flows", text_str(&w->result->flows));
    output_end(&j);
}

void configuration_answer(struct http *h, int r, struct config_result *result, struct errors *e)
{
    struct text t = {0};

    if (r) {
        operation_refuse(h, r, e);
    } else {
        aside(write_result, &(struct result_text){result, &t});
        http_reply(h, 200, HTTP_JSON, &t);
    }
    errors_free(e);
    config_result_free(result);
}

static void run_configure(struct http *h, const struct lyd_node *op)
{
    struct config_result result = {0};
    struct errors e = {0};
    struct candidate *c;
    struct input in;

    if (!find_session(h, op, &c))
        return;
    struct commit how = read_commit(h, op);
    struct flow_trial *trial;
    if (!flow_trial_ask(h, op, &trial))
        return;
    how.judge = trial ? flow_trial_judge : NULL;
    how.judge_ctx = trial;
    read_edit(op, &in);
    acl_prepare_aside(trial);
    int r = commit_input(h, c, &in, &how, &result, &e);
    acl_prepare_aside(false);
    flow_trial_free(trial);
    if (in.lines.n == 1) // "line 1: " would be useless
        for (unsigned i = 0; i < e.n; i++)
            e.item[i].line = 0;
    configuration_answer(h, r, &result, &e);
    vec_free(&in.lines);
}

static void run_edit(struct http *h, const struct lyd_node *op)
{
    struct errors e = {0}, notes = {0};
    struct candidate *c;
    struct jwrite j;
    struct input in;
    int r = 0;

    if (!find_session(h, op, &c))
        return;
    read_edit(op, &in);
    if (operation_input_is_true(op, "update"))
        candidate_update(c, &notes);
    if (in.any)
        r = candidate_edit(c, &in.edit, &e);
    if (in.lines.n == 1)
        for (unsigned i = 0; i < e.n; i++)
            e.item[i].line = 0;
    if (r) {
        operation_refuse(h, r, &e);
    } else {
        output_begin(&j, &(struct text){0});
        write_notes(&j, &notes);
        output_send(h, &j);
    }
    vec_free(&in.lines);
    errors_free(&e);
    errors_free(&notes);
}

// Whether the waiting commit belongs to the client, or is the revision in the input.
static bool may_confirm(struct http *h, const struct lyd_node *op)
{
    const char *revision = input_or_null(op, "revision"), *session = input_or_null(op, "session");

    if (revision)
        return strtoull(revision, NULL, 10) == confirm_waiting()->revision;
    return confirm_is_of(session ? strtoull(session, NULL, 10) : 0, http_peer(h));
}

static void run_confirm(struct http *h, const struct lyd_node *op)
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

static void run_session_open(struct http *h, const struct lyd_node *op)
{
    char err[256] = "";
    struct candidate *c = candidate_open(http_peer(h), http_vr(h), err, sizeof err);
    struct candidate_state s;
    struct jwrite j;

    if (!c) {
        http_refuse(h, 409, "resource-denied", "%s", err);
        return;
    }
    output_begin(&j, &(struct text){0});
    jwrite_int(&j, "session", (int64_t)candidate_id(c));
    jwrite_begin(&j, "other", '[');
    for (unsigned i = 0; candidate_at(i, &s); i++)
        if (s.id != candidate_id(c) && (!bound_is(h) || !strcmp(s.vr, http_vr(h))))
            candidate_write(&s, &j);
    jwrite_end(&j, ']');
    output_send(h, &j);
}

static void run_session_close(struct http *h, const struct lyd_node *op)
{
    struct candidate *c;

    if (!find_session(h, op, &c))
        return;
    candidate_close(c);
    http_reply(h, 204, NULL, NULL);
}

// --- reading ------------------------------------------------------------------------------------
//
// Other clients may commit meanwhile, so a reader holds a reference to the snapshot.

static const struct snapshot *snapshot_of(struct http *h, const struct candidate *c)
{
    return c ? candidate_snapshot(c) : bound_snapshot(h);
}

// Returns the revision, the file, or the candidate or running configuration, as the input says; the
// caller owns it. NULL: the request has been refused.
static struct snapshot *read_snapshot(struct http *h, const struct lyd_node *op,
                                      const struct candidate *c)
{
    struct config_edit from = {.revision = input_or_null(op, "revision"),
                               .file = operation_input_is_true(op, "file")};
    struct snapshot *held = snapshot_ref(snapshot_of(h, c)), *read = NULL;
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

static void run_configuration(struct http *h, const struct lyd_node *op)
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
    struct text change = {0}, back = {0};
    struct jwrite j;

    config_diff(r->from, r->tree, &change);
    config_diff(r->tree, r->from, &back);
    output_begin(&j, &r->out);
    configuration_write_lines(&j, "change", &change);
    configuration_write_lines(&j, "back", &back);
    output_end(&j);
    text_free(&change);
    text_free(&back);
}

static void run_compare(struct http *h, const struct lyd_node *op)
{
    struct candidate *c;
    struct snapshot *with;

    if (!find_session(h, op, &c))
        return;
    struct snapshot *s = snapshot_ref(snapshot_of(h, c));
    if ((with = read_snapshot(h, op, NULL))) {
        struct reading r = {.from = with->tree, .tree = s->tree};

        aside(print_difference, &r);
        snapshot_unref(with);
        http_reply(h, 200, HTTP_JSON, &r.out);
    }
    snapshot_unref(s);
}

static void run_save_configuration(struct http *h, const struct lyd_node *op)
{
    struct jwrite j;
    char err[512] = "";

    if (config_save(config_running(), err, sizeof err)) {
        http_refuse(h, 409, "resource-denied", "%s", err);
        return;
    }
    log_notice("config: saved: by=%s file=%s", LOG_VALUE(http_peer(h)), LOG_VALUE(config_file()));
    output_begin(&j, &(struct text){0});
    jwrite_string(&j, "file", config_file());
    output_send(h, &j);
}

static void run_complete(struct http *h, const struct lyd_node *op)
{
    struct candidate *c;
    struct jwrite j;

    if (!find_session(h, op, &c))
        return;
    output_begin(&j, &(struct text){0});
    complete_line(operation_input(op, "line"), snapshot_of(h, c)->tree, !bound_is(h), &j);
    output_send(h, &j);
}

// --- state and metrics ---------------------------------------------------------------------------

static void write_waiting(struct jwrite *j)
{
    const struct confirm *w = confirm_waiting();

    if (!w)
        return;
    jwrite_begin(j, "unconfirmed", '{');
    jwrite_string(j, "by", w->by);
    jwrite_int(j, "id", (int64_t)w->revision);
    if (w->session)
        jwrite_int(j, "session", (int64_t)w->session);
    jwrite_int(j, "seconds", w->seconds);
    jwrite_end(j, '}');
}

static void write_revisions(struct jwrite *j)
{
    const struct revision *r, *running = config_revision(0);
    unsigned back = 0;

    jwrite_begin(j, "revision", '[');
    for (unsigned i = 0; (r = revision_at(i)); i++) {
        jwrite_begin(j, NULL, '{');
        if (r == running)
            jwrite_int(j, "back", 0);
        else if (!config_was_rolled_back(r))
            jwrite_int(j, "back", ++back);
        jwrite_int(j, "id", (int64_t)r->id);
        jwrite_time(j, "time", r->time_ns);
        jwrite_string(j, "by", r->by);
        jwrite_string(j, "comment", r->comment);
        jwrite_int(j, "changes", r->n_changes);
        if (*r->first_change)
            jwrite_string(j, "first-change", r->first_change);
        jwrite_bool(j, "confirmed", r->confirmed);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
}

static void write_configuration(struct jwrite *j)
{
    struct candidate_state c;
    const struct revision *last = revision_confirmed();

    jwrite_string(j, "file", config_file());
    jwrite_bool(j, "file-changed", last && last->file_digest != config_file_digest());
    jwrite_string(j, "directory", revision_dir() ? revision_dir() : "");
    write_waiting(j);
    jwrite_begin(j, "session", '[');
    for (unsigned i = 0; candidate_at(i, &c); i++)
        candidate_write(&c, j);
    jwrite_end(j, ']');
    write_revisions(j);
}

static void write_revision_metrics(struct metrics *m, const void *kept)
{
    const struct revision *r = revision_at(0);

    if (!r)
        return;
    metric_family(m, METRIC_GAUGE, "configuration_revision", "",
                  "Number of the latest configuration revision.");
    metric_u64(m, r->id, NULL);
    metric_family(m, METRIC_GAUGE, "configuration_revision_time_seconds", "seconds",
                  "Time of the latest commit, in seconds since 1970.");
    metric_real(m, (double)r->time_ns / 1e9, NULL);
    metric_family(m, METRIC_GAUGE, "configuration_confirmed", "",
                  "0: the latest commit is undone unless it is confirmed.");
    metric_u64(m, r->confirmed, NULL);
}

const struct feature configuration_feature = {
    "configuration",
    .state = (const struct feature_state[]){{"configuration", .object = write_configuration}, {0}},
    .operations =
        (const struct feature_operation[]){
            {"configure", run_configure, OPERATION_CHANGES},
            {"complete", .run = run_complete},
            {"edit", run_edit, OPERATION_CHANGES},
            {"confirm", run_confirm, OPERATION_CHANGES},
            {"session-open", run_session_open, OPERATION_CHANGES},
            {"session-close", run_session_close, OPERATION_CHANGES},
            {"configuration", run_configuration, OPERATION_READS},
            {"compare", run_compare, OPERATION_READS},
            {"save-configuration", run_save_configuration, OPERATION_CHANGES},
            {0}},
    .metrics = &(const struct feature_metrics){.write = write_revision_metrics},
};
