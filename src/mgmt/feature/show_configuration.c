// SPDX-License-Identifier: BSD-3-Clause
// show_configuration.c - revisions, who edits, what waits to be confirmed
#include "config/candidate.h"
#include "config/config_confirm.h"
#include "config/revision.h"
#include "restconf/state.h"

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

int show_configuration(struct show *s)
{
    struct candidate_state c;
    struct jwrite *j = &s->out;
    const struct revision *last = revision_confirmed();

    jwrite_begin(j, s->name, '{');
    jwrite_string(j, "file", config_file());
    jwrite_bool(j, "file-changed", last && last->file_digest != config_file_digest());
    jwrite_string(j, "directory", revision_dir() ? revision_dir() : "");
    write_waiting(j);
    jwrite_begin(j, "session", '[');
    for (unsigned i = 0; candidate_at(i, &c); i++)
        candidate_write(&c, j);
    jwrite_end(j, ']');
    write_revisions(j);
    jwrite_end(j, '}');
    return SHOW_NOW;
}
