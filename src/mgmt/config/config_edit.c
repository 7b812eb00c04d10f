// SPDX-License-Identifier: BSD-3-Clause
// config_edit.c - edits of a candidate
//
// An edit starts from a copy of the candidate, a revision, the configuration file or nothing, and
// adds lines or JSON. It runs aside (core/aside.h). The resulting tree is not checked; after an
// error there is none. Numbers of revisions count backwards from the running one, without revisions
// that were rolled back.
#include "config/config_edit.h"

#include <errno.h>
#include <libyang/libyang.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "config/config_file.h"
#include "config/config_running.h"
#include "config/revision.h"
#include "core/aside.h"
#include "yang/config_json.h"
#include "yang/config_tree.h"

bool config_was_rolled_back(const struct revision *r)
{
    return !r->confirmed && r->id != config_snapshot()->revision;
}

const struct revision *config_revision(unsigned back)
{
    const struct revision *r;

    for (unsigned i = 0; (r = revision_at(i)); i++) {
        bool runs = r->id == config_snapshot()->revision;

        if (!back && runs)
            return r;
        if (!runs && back && !config_was_rolled_back(r) && !--back)
            return r;
    }
    return NULL;
}

// Largest number that config_revision() accepts.
static unsigned last_back(void)
{
    unsigned back = 0;

    while (config_revision(back + 1))
        back++;
    return back;
}

// Revision of the number `back`; -ENOENT with a sentence. NULL: the running one.
static int find_revision(const char *back, const struct revision **r, struct errors *e)
{
    uint64_t n = 0;
    bool is_number = !text_parse_u64(back, 0, UINT32_MAX, &n);

    *r = NULL;
    if (is_number && !n)
        return 0;
    *r = is_number ? config_revision((unsigned)n) : NULL;
    if (*r)
        return 0;
    errors_add(e, 0, "there is no revision %s, expected 0 to %u ('show configuration revisions')",
               back, last_back());
    return -ENOENT;
}

static int read_revision(const struct revision *r, const char *back, struct lyd_node **tree,
                         struct errors *e)
{
    struct text t = {0};
    char err[600], path[REVISION_PATH_MAX];
    int result = revision_read(r, &t, err, sizeof err);

    if (result)
        errors_add(e, 0, "%s", err);
    else
        config_read_kept(tree, text_str(&t), revision_path(r, path), e);
    if (!result && e->n) // the schema has changed since
        errors_add(e, 0,
                   "revision %s is from an earlier kamueed and has lines that this version does "
                   "not know: copy %s, correct these lines "
                   "in the copy, then 'load replace' it",
                   back, revision_path(r, path));
    text_free(&t);
    return result ? result : e->n ? -EINVAL : 0;
}

struct editing {
    const struct config_edit *how;
    const struct lyd_node *from;
    const struct revision *revision; // revision to read, or NULL
    struct lyd_node *tree;
    struct errors *e;
    int result;
};

static int begin_tree(struct editing *d)
{
    if (d->revision)
        return read_revision(d->revision, d->how->revision, &d->tree, d->e);
    if (!d->how->revision && d->how->file)
        return config_read_file(false, false, &d->tree, d->e);
    if (d->how->revision || !d->how->replace)
        d->tree = config_dup(d->from);
    return 0;
}

static void edit(void *arg)
{
    struct editing *d = arg;
    const struct config_edit *how = d->how;
    int r = begin_tree(d);

    if (!r && how->text && how->json)
        config_read_json(&d->tree, how->text, d->e);
    else if (!r && how->text)
        config_read_text(&d->tree, how->text, d->e);
    if (!r)
        config_read_lines(&d->tree, how->line, how->n_lines, d->e);
    if (!r && d->e->n)
        r = -EINVAL;
    if (r) {
        lyd_free_all(d->tree);
        d->tree = NULL;
    }
    d->result = r;
}

int config_edited(const struct lyd_node *from, const struct config_edit *how,
                  struct lyd_node **tree, struct errors *e)
{
    struct editing d = {.how = how, .from = from, .e = e};
    const struct revision *revision = NULL;
    struct revision copy; // others may come and go meanwhile
    int r = how->revision ? find_revision(how->revision, &revision, e) : 0;

    *tree = NULL;
    if (r)
        return r;
    if (revision) {
        copy = *revision;
        d.revision = &copy;
    } else if (how->revision) {
        d.from = config_running();
    }
    aside(edit, &d);
    *tree = d.tree;
    return d.result;
}
