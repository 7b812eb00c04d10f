// SPDX-License-Identifier: BSD-3-Clause
// config_edit.c - what can be done to a candidate
#include "config/config_edit.h"

#include <errno.h>
#include <libyang/libyang.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "config/config_file.h"
#include "config/config_running.h"
#include "config/revision.h"
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

// The largest number that config_revision() knows.
static unsigned last_back(void)
{
    unsigned back = 0;

    while (config_revision(back + 1))
        back++;
    return back;
}

int config_read_revision(const char *back, struct lyd_node **tree, struct errors *e)
{
    uint64_t n = 0;
    struct text t = {0};
    char err[600];

    *tree = NULL;
    if (!text_parse_u64(back, 0, 0, &n)) {
        *tree = config_running_copy();
        return 0;
    }
    const struct revision *r = text_parse_u64(back, 0, UINT32_MAX, &n) ? NULL : config_revision((unsigned)n);
    if (!r) {
        errors_add(e, 0, "there is no revision %s, expected 0 to %u ('show configuration revisions')", back, last_back());
        return -ENOENT;
    }
    int result = revision_read(r, &t, err, sizeof err);
    if (result)
        errors_add(e, 0, "%s", err);
    else
        config_read_text(tree, text_str(&t), e);
    if (!result && e->n) // the schema has changed since
        errors_add(e, 0, "revision %s is of an earlier kamueed and says what this one does not know: copy %s, mend these lines in the copy, "
                         "then 'load replace' it", back, revision_path(r, err, sizeof err));
    text_free(&t);
    return result ? result : e->n ? -EINVAL : 0;
}

bool config_edit_words(const struct config_edit *how, struct text *t)
{
    text_printf(t, "%s %d %d", how->revision ? how->revision : "-", how->replace, how->json);
    for (unsigned i = 0; i < how->n_lines; i++)
        text_printf(t, "\n%s", how->line[i]);
    if (how->text) {
        text_append(t, "\n\n", 2);
        text_append(t, how->text, strlen(how->text));
    }
    return !how->file;
}

int config_edited(const struct lyd_node *from, const struct config_edit *how, struct lyd_node **tree, struct errors *e)
{
    int r = 0;

    *tree = NULL;
    if (how->revision)
        r = config_read_revision(how->revision, tree, e);
    else if (how->file)
        r = config_read_file(false, tree, e);
    else if (!how->replace)
        *tree = from == config_running() ? config_running_copy() : config_dup(from);
    if (!r && how->text && how->json)
        config_read_json(tree, how->text, e);
    else if (!r && how->text)
        config_read_text(tree, how->text, e);
    if (!r)
        config_read_lines(tree, how->line, how->n_lines, true, e);
    if (!r && e->n)
        r = -EINVAL;
    if (r) {
        lyd_free_all(*tree);
        *tree = NULL;
    }
    return r;
}
