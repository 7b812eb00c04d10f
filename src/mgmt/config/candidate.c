// SPDX-License-Identifier: BSD-3-Clause
// candidate.c - sessions and their candidates (candidate.h)
//
// A candidate is the running configuration as it was at its begin, the base, and a tree with the
// edits. If nobody has committed since, a commit takes the tree; otherwise it applies the
// difference of base and tree to the running configuration, and conflicts end it with nothing
// changed. Trees are compared, merged and copied aside, so control's loop goes on. Sessions of a
// virtual router have random numbers, which tell nothing about others, and at most a part of the
// places.
#include "config/candidate.h"

#include <errno.h>
#include <inttypes.h>
#include <libyang/libyang.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/jwrite.h"
#include "base/log.h"
#include "config/config_bound.h"
#include "config/config_confirm.h"
#include "config/config_rebase.h"
#include "config/revision.h"
#include "core/aside.h"
#include "core/thread.h"
#include "yang/config_tree.h"

struct candidate {
    uint64_t id; // 0 = free
    char by[64], vr[16];
    uint64_t opened_ns, touched_ns;
    struct snapshot *base;
    struct snapshot *edited; // the tree alone; NULL: nothing was edited
    unsigned n_changes;
    uint64_t base_version; // version of the running configuration at its begin
};

static struct candidate all[CANDIDATES_MAX];
static uint64_t last_id;

// Numbers start at a random value: a shell that outlives a daemon must not find another session
// under its own number.
static uint64_t next_id(void)
{
    uint32_t begin;

    if (!last_id && getrandom(&begin, sizeof begin, GRND_NONBLOCK) == sizeof begin)
        last_id = begin % 900000;
    return ++last_id;
}

static void begin_anew(struct candidate *c)
{
    snapshot_unref(c->edited);
    snapshot_unref(c->base);
    c->edited = NULL;
    c->n_changes = 0;
    c->base_version = config_version();
    c->base = *c->vr ? config_bound(c->vr) : snapshot_ref(config_snapshot());
}

struct counting {
    const struct lyd_node *old, *new;
    unsigned n;
};

static void count_changes(void *arg)
{
    struct counting *c = arg;
    struct text t = {0};

    config_settle(c->new);
    c->n = config_diff(c->old, c->new, &t);
    text_free(&t);
}

static void set_tree(struct candidate *c, struct lyd_node *tree)
{
    struct counting k = {.old = c->base->tree, .new = tree};

    aside(count_changes, &k);
    snapshot_unref(c->edited);
    c->edited = snapshot_new(tree, NULL, 0);
    c->n_changes = k.n;
}

void candidate_close(struct candidate *c)
{
    thread_must_be(ROLE_CONTROL);
    if (c->id)
        confirm_session_ended(c->id);
    snapshot_unref(c->edited);
    snapshot_unref(c->base);
    memset(c, 0, sizeof *c);
}

void candidates_end(void)
{
    for (unsigned i = 0; i < CANDIDATES_MAX; i++)
        candidate_close(&all[i]);
}

static void end_idle(uint64_t now)
{
    for (unsigned i = 0; i < CANDIDATES_MAX; i++) {
        struct candidate *c = &all[i];

        if (!c->id || now - c->touched_ns < CANDIDATE_IDLE_S * NS_PER_SECOND)
            continue;
        log_notice("config: session ended, idle: session=%" PRIu64 " by=%s lines=%u", c->id,
                   LOG_VALUE(c->by), c->n_changes);
        candidate_close(c);
    }
}

// A random number, which reveals nothing about other sessions.
static uint64_t bound_id(void)
{
    uint32_t id = 0;

    while (!id || id == last_id || candidate_find(id, ""))
        bug_on(getrandom(&id, sizeof id, 0) != sizeof id);
    return id;
}

// May another session of the virtual router take a free place?
static bool may_have_place(const char *vr)
{
    unsigned mine = 0, bound = 0;

    for (unsigned i = 0; i < CANDIDATES_MAX; i++) {
        mine += all[i].id && !strcmp(all[i].vr, vr);
        bound += all[i].id && *all[i].vr;
    }
    return !*vr || (mine < CANDIDATES_BOUND && bound < CANDIDATES_MAX - CANDIDATES_RESERVE);
}

// A free one; otherwise the unchanged one that has been idle longest, for a virtual router only
// among its own.
static struct candidate *find_room(const char *vr)
{
    struct candidate *best = NULL;
    bool free = may_have_place(vr);

    for (unsigned i = 0; i < CANDIDATES_MAX; i++) {
        struct candidate *c = &all[i];

        if (!c->id && free)
            return c;
        if (c->id && !c->n_changes && (!*vr || !strcmp(c->vr, vr)) &&
            (!best || c->touched_ns < best->touched_ns))
            best = c;
    }
    if (best)
        candidate_close(best);
    return best;
}

struct candidate *candidate_open(const char *by, const char *vr, char *err, size_t err_size)
{
    uint64_t now = clock_now_ns();

    thread_must_be(ROLE_CONTROL);
    end_idle(now);
    struct candidate *c = find_room(vr);
    if (!c && *vr) {
        snprintf(err, err_size, "too many sessions with uncommitted changes; close one, or try "
                                "again later");
        return NULL;
    }
    if (!c) {
        snprintf(err, err_size,
                 "%d sessions with uncommitted changes are open; close one ('show configuration "
                 "sessions')",
                 CANDIDATES_MAX);
        return NULL;
    }
    *c = (struct candidate){
        .id = *vr ? bound_id() : next_id(), .opened_ns = now, .touched_ns = now};
    snprintf(c->by, sizeof c->by, "%s", by);
    snprintf(c->vr, sizeof c->vr, "%s", vr);
    begin_anew(c);
    return c;
}

struct candidate *candidate_find(uint64_t id, const char *vr)
{
    thread_must_be(ROLE_CONTROL);
    end_idle(clock_now_ns());
    for (unsigned i = 0; id && i < CANDIDATES_MAX; i++)
        if (all[i].id == id && (!*vr || !strcmp(all[i].vr, vr))) {
            all[i].touched_ns = clock_now_ns();
            return &all[i];
        }
    return NULL;
}

uint64_t candidate_id(const struct candidate *c)
{
    return c->id;
}

bool candidate_at(unsigned i, struct candidate_state *s)
{
    uint64_t now = clock_now_ns();

    for (unsigned k = 0; k < CANDIDATES_MAX; k++) {
        const struct candidate *c = &all[k];

        if (!c->id || i--)
            continue;
        *s = (struct candidate_state){.id = c->id,
                                      .since_ns = now - c->opened_ns,
                                      .idle_ns = now - c->touched_ns,
                                      .n_changes = c->n_changes};
        memcpy(s->by, c->by, sizeof s->by);
        memcpy(s->vr, c->vr, sizeof s->vr);
        return true;
    }
    return false;
}

const struct snapshot *candidate_snapshot(const struct candidate *c)
{
    return c->edited ? c->edited : c->base;
}

int candidate_edit(struct candidate *c, const struct config_edit *how, struct errors *e)
{
    struct lyd_node *tree;
    int r = config_edited(candidate_snapshot(c)->tree, how, &tree, e);

    if (r)
        return r;
    set_tree(c, tree);
    return 0;
}

struct rebasing {
    const struct lyd_node *base, *mine, *theirs;
    struct errors *conflicts;
    struct lyd_node *tree;
};

static void rebase(void *arg)
{
    struct rebasing *r = arg;

    r->tree = config_rebase(r->base, r->mine, r->theirs, r->conflicts);
}

// My changes applied to the running configuration.
static struct lyd_node *rebased(const struct candidate *c, struct errors *conflicts)
{
    struct snapshot *now = *c->vr ? config_bound(c->vr) : snapshot_ref(config_snapshot());
    struct rebasing r = {c->base->tree, c->edited->tree, now->tree, .conflicts = conflicts};

    aside(rebase, &r);
    snapshot_unref(now);
    return r.tree;
}

void candidate_update(struct candidate *c, struct errors *notes)
{
    if (!c->edited) {
        begin_anew(c);
    } else if (c->base_version != config_version()) {
        struct lyd_node *tree = rebased(c, notes);

        begin_anew(c);
        set_tree(c, tree);
    }
}

// The tree to commit; conflicts are added to `e`.
static struct lyd_node *to_commit(const struct candidate *c, struct config_result *result,
                                  struct errors *e)
{
    struct lyd_node *tree = NULL;

    if (!c->edited)
        return config_running_copy();
    if (c->base_version == config_version()) {
        config_edited(c->edited->tree, &(struct config_edit){0}, &tree, e);
        return tree;
    }
    tree = rebased(c, e);
    if (e->n) {
        const struct revision *last = config_revision(0);

        errors_add(e, 0,
                   "nothing was committed: %s has committed since you began; 'update' to merge "
                   "(your values win), then compare, and "
                   "commit",
                   last && !*c->vr ? last->by : "someone else");
        config_drop(tree);
        return NULL;
    }
    errors_add(&result->notes, 0,
               "others have committed since you began; your changes were merged with theirs");
    return tree;
}

static int commit_bound(const struct candidate *c, const struct commit *how,
                        struct config_result *result, struct errors *e)
{
    struct config_result merged = {0};

    if (!c->edited)
        return 0;
    struct lyd_node *tree = to_commit(c, &merged, e);
    struct snapshot *now = config_bound(c->vr);
    int r = e->n ? -EAGAIN
                 : config_bound_commit(&(struct bound_change){c->vr, now->tree, tree}, how, result,
                                       e);
    snapshot_unref(now);
    config_drop(tree);
    config_result_free(&merged);
    return r;
}

int candidate_commit(struct candidate *c, const struct commit *how, struct config_result *result,
                     struct errors *e)
{
    struct commit mine = *how;
    int r;

    mine.session = c->id;
    if (*c->vr) {
        r = commit_bound(c, &mine, result, e);
    } else {
        struct lyd_node *tree = to_commit(c, result, e);

        if (e->n)
            return -EAGAIN;
        r = config_commit(tree, &mine, result, e);
    }
    if (!r && !how->check_only)
        begin_anew(c);
    return r;
}

void candidate_write(const struct candidate_state *s, struct jwrite *j)
{
    jwrite_begin(j, NULL, '{');
    jwrite_int(j, "id", (int64_t)s->id);
    jwrite_string(j, "by", s->by);
    jwrite_int(j, "age", (int64_t)(s->since_ns / NS_PER_SECOND));
    jwrite_int(j, "idle", (int64_t)(s->idle_ns / NS_PER_SECOND));
    jwrite_int(j, "changes", s->n_changes);
    jwrite_end(j, '}');
}
