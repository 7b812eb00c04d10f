// SPDX-License-Identifier: BSD-3-Clause
// config.c - transactions: changes of the running configuration
//
//     candidate --check--> model --> revision aside --> apply --> revision counts --> running
//                   |                      |              |             |
//                errors                nothing done    undone        undone
//
// The revision is written before any change, since writing may fail for lack of space or
// permission; one rename makes it valid. A crash at any point leaves the previous revision or the
// new one.
//
// Checking, comparing, printing and writing run aside; control asks and changes the managers
// (core/aside.h).
#include "config/config.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <libyang/libyang.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/progress.h"
#include "config/change.h"
#include "config/config_confirm.h"
#include "config/feature_config.h"
#include "config/host.h"
#include "config/revision.h"
#include "core/aside.h"
#include "core/thread.h"
#include "event/event.h"
#include "yang/config_tree.h"

void config_init(const char *file, const char *state_dir)
{
    thread_must_be(ROLE_CONTROL);
    config_file_init(file);
    config_running_init();
    revision_open(state_dir);
}

void config_fini(void)
{
    confirm_fini();
    config_running_fini();
    revision_close();
    config_file_fini();
}

void config_result_free(struct config_result *r)
{
    text_free(&r->change);
    text_free(&r->flows);
    errors_free(&r->notes);
    memset(r, 0, sizeof *r);
}

// --- start --------------------------------------------------------------------------------------

// The newest valid revision, unless the file was changed since its commit.
static const struct revision *last_word(void)
{
    const struct revision *r = revision_confirmed();
    uint64_t digest = config_file_digest();

    return r && (r->file_digest == digest || !digest) ? r : NULL;
}

int config_read_start(bool may_be_missing, bool file_only, struct lyd_node **candidate,
                      struct errors *e, struct text *source)
{
    const struct revision *r = file_only ? NULL : last_word(), *any = revision_confirmed();
    struct text t = {0};
    char path[REVISION_PATH_MAX], err[600];

    *candidate = NULL;
    if (r && !revision_read(r, &t, err, sizeof err)) {
        text_printf(source, "%s", revision_path(r, path));
        if (!may_be_missing && !config_file_digest())
            log_notice("config: no such file, using the last commit: file=%s revision=%" PRIu64,
                       config_file(), r->id);
        config_read_kept(candidate, t.s, text_str(source), e);
        text_free(&t);
        return e->n ? -EINVAL : 0;
    }
    text_free(&t);
    text_printf(source, "%s", config_file());
    if (any)
        log_notice("config: the file is newer than the last commit: file=%s revision=%" PRIu64,
                   LOG_VALUE(config_file()), any->id);
    return config_read_file(may_be_missing, false, candidate, e);
}

// Is the revision (NULL: none) equal to this text?
static bool revision_says(const struct revision *r, const struct text *config)
{
    struct text t = {0};
    char err[600];
    bool same = false;

    if (r && !revision_read(r, &t, err, sizeof err)) {
        const char *at = revision_config(&t);

        same = at && !strncmp(at, text_str(config), config->n) &&
               !strncmp(at + config->n, "# end ", 6);
    }
    text_free(&t);
    return same;
}

int config_start(struct lyd_node *candidate, struct model *m, struct errors *e)
{
    const struct revision *last = revision_confirmed();
    struct snapshot *s = snapshot_new(candidate, m, last ? last->id : 0);
    struct revision new = {
        .confirmed = true, .comment = "at the start", .file_digest = config_file_digest()};
    struct text t = {0};
    char err[600] = "";
    struct progress w;

    progress_begin(&w, 0, "config: applying"); // long operations in it report their own progress
    int r = config_running_apply(s, e);
    progress_end(&w, "config: applied: errors=%zu", (size_t)e->n);
    if (r) {
        snapshot_unref(s);
        return r;
    }
    config_print(candidate, &t);
    snprintf(new.by, sizeof new.by, "%s", config_file());
    if (!last || last->file_digest != new.file_digest || !revision_says(last, &t)) {
        r = revision_prepare(&new, &t, err, sizeof err);
        if (r || revision_keep(&new, err, sizeof err))
            log_error("config: %s", err);
        else
            s->revision = new.id;
    }
    text_free(&t);
    config_running_take(s);
    return 0;
}

// --- transactions -------------------------------------------------------------------------------

// A pending commit blocks all others except a `commit` of the same session.
static int look_at_waiting(const struct commit *how, struct errors *e)
{
    const struct confirm *w = confirm_waiting();
    struct text t = {0};

    if (!w || how->check_only || (how->confirms && confirm_is_of(how->session, how->by)))
        return 0;
    confirm_say(&t);
    errors_add(e, 0,
               "nothing was committed: %s; commit again once that one is confirmed or rolled back",
               text_str(&t));
    text_free(&t);
    return -EBUSY;
}

struct file_look {
    struct revision last;
    bool changed;
};

// Does the file differ in content from this revision? After `save` it does not.
static void look_at_file(void *arg)
{
    struct file_look *l = arg;
    uint64_t digest = config_file_digest();
    struct lyd_node *tree = NULL;
    struct errors e = {0};
    struct text t = {0};

    if (!digest || digest == l->last.file_digest)
        return;
    l->changed = true;
    if (!config_read_file(true, true, &tree, &e)) {
        config_print(tree, &t);
        l->changed = !revision_says(&l->last, &t);
    }
    text_free(&t);
    errors_free(&e);
    lyd_free_all(tree);
}

static void note_file_changed(struct errors *notes)
{
    const struct revision *last = revision_confirmed();
    struct file_look l = {0};

    if (!last)
        return;
    l.last = *last;
    aside(look_at_file, &l);
    if (l.changed)
        errors_add(notes, 0,
                   "%s was changed since it was last read; kamueed will start with this commit, "
                   "which is newer ('compare file' "
                   "shows the difference)",
                   config_file());
}

// The model may have the lines of an entry, which is faster than printing it.
static bool print_entry(void *ctx, const struct lyd_node *entry, struct text *t)
{
    for (unsigned i = 0; i < FEATURE_N; i++)
        if (features[i]->config && features[i]->config->print &&
            features[i]->config->print(ctx, entry, t))
            return true;
    return false;
}

struct writing {
    struct revision *new;
    const struct snapshot *s;
    char *err;
    size_t err_size;
    int result;
};

static void write_revision(void *arg)
{
    struct writing *w = arg;
    struct text t = {0};

    w->new->file_digest = config_file_digest();
    config_print_with(w->s->tree, &(struct config_lines){print_entry, w->s->model}, &t);
    w->result = revision_prepare(w->new, &t, w->err, w->err_size);
    text_free(&t);
}

// Makes `s` the running configuration, with a revision, or changes nothing.
static int make_it_run(struct snapshot *s, const struct commit *how,
                       const struct config_result *result, struct errors *e)
{
    const char *change = text_str(&result->change);
    struct revision new = {.n_changes = result->n_changes, .confirmed = !how->confirm_s};
    char err[600] = "";
    struct writing w = {.new = &new, .s = s, .err = err, .err_size = sizeof err};

    snprintf(new.by, sizeof new.by, "%s", how->by);
    snprintf(new.comment, sizeof new.comment, "%s", how->comment ? how->comment : "");
    snprintf(new.first_change, sizeof new.first_change, "%.*s", (int)strcspn(change, "\n"), change);
    aside(write_revision, &w);
    if (w.result) {
        errors_add(e, 0, "nothing was changed: %s", err);
        return w.result;
    }
    int r = config_running_apply(s, e);
    if (r) {
        revision_drop(&new);
        return r;
    }
    r = revision_keep(&new, err, sizeof err);
    if (r) {
        errors_add(e, 0, "nothing was changed: %s", err);
        config_running_return(s);
        return r;
    }
    s->revision = new.id;
    struct snapshot *old = snapshot_ref(config_snapshot());
    config_running_take(snapshot_ref(s));
    if (how->confirm_s)
        confirm_wait(old, how->by, how->session, how->confirm_s);
    else
        confirm_superseded(how->by);
    snapshot_unref(old);
    return 0;
}

#define CHANGE_LINES 100 // reported in an event

static void tell_change(const struct config_result *result, const struct commit *how,
                        const struct snapshot *s)
{
    const char *line = text_str(&result->change), *comment = how->comment ? how->comment : "";
    json_t *lines = json_array();

    log_notice("config: changed: by=%s lines=%u revision=%" PRIu64 " confirm=%u comment=%s",
               LOG_VALUE(how->by), result->n_changes, s->revision, how->confirm_s,
               LOG_VALUE(comment));
    for (unsigned i = 0; *line && i < CHANGE_LINES; i++) {
        size_t n = strcspn(line, "\n");

        json_array_append_new(lines, json_stringn(line, n));
        line += n + (line[n] == '\n');
    }
    event_publish("configuration-change",
                  json_pack("{s:s, s:i, s:s, s:o}", "by", how->by, "lines", result->n_changes,
                            "comment", comment, "change", lines));
}

static void check_host(const struct model *from, const struct model *to, struct errors *e)
{
    for (unsigned i = 0; i < FEATURE_N; i++)
        if (features[i]->config && features[i]->config->check_host)
            features[i]->config->check_host(from, to, e);
}

static void note_change(const struct model *from, const struct model *to, struct errors *notes)
{
    for (unsigned i = 0; i < FEATURE_N; i++)
        if (features[i]->config && features[i]->config->note)
            features[i]->config->note(from, to, notes);
}

// A commit without changes confirms the pending commit.
static int confirm_by_commit(const struct commit *how, struct config_result *result,
                             struct errors *e)
{
    char err[600] = "";

    if (!confirm_waiting())
        return 0;
    int r = confirm_now(how->by, err, sizeof err);
    if (r)
        errors_add(e, 0, "%s", err);
    else
        errors_add(&result->notes, 0, "the pending commit is confirmed");
    return r;
}

// Checks that depend on the host and on other sessions, whose results may change a moment later.
static int is_possible(const struct snapshot *s, const struct commit *how, struct errors *e)
{
    if (!e->n && host_is_known())
        check_host(config_model(), s->model, e);
    return e->n ? -EINVAL : look_at_waiting(how, e);
}

// The candidate is valid and compared.
static int finish_commit(struct snapshot *s, const struct commit *how, struct config_result *result,
                         struct errors *e)
{
    int r = commit_prepare(config_model(), s->model, e);

    if (!r && how->judge)
        r = how->judge(how->judge_ctx, config_model(), s->model, result, e);
    if (!r && !how->check_only && !result->n_changes)
        r = confirm_by_commit(how, result, e);
    if (!r && !how->check_only && result->n_changes) {
        note_file_changed(&result->notes);
        r = make_it_run(s, how, result, e);
        if (!r)
            tell_change(result, how, s);
    }
    commit_abandon(); // no effect after success
    return r;
}

struct comparing {
    const struct lyd_node *old, *new;
    struct config_result *result;
};

static void compare_trees(void *arg)
{
    struct comparing *c = arg;

    c->result->n_changes =
        config_diff_with_effects(c->old, c->new, &c->result->change, &c->result->notes);
}

int config_commit(struct lyd_node *candidate, const struct commit *how,
                  struct config_result *result, struct errors *e)
{
    thread_must_be(ROLE_CONTROL);
    struct model *m = config_model_of(&candidate, e);
    struct snapshot *s = snapshot_new(candidate, m, 0);
    int r = is_possible(s, how, e);

    if (!r) {
        aside(compare_trees, &(struct comparing){config_running(), candidate, result});
        note_change(config_model(), s->model, &result->notes);
        r = finish_commit(s, how, result, e);
    }
    snapshot_unref(s);
    return r;
}
