// SPDX-License-Identifier: BSD-3-Clause
// show_audit.c - the last audit of each virtual router, by rib_manager's answer
#include "base/clock.h"
#include "rib/rib_manager.h"
#include "restconf/state.h"
#include "table/limits.h"
#include "table/vr.h"

static const struct {
    const char *word, *sentence;
} unfollowed_kinds[UNFOLLOWED_KIND_N] = {
#define UNFOLLOWED(name, word, counts, sentence) {word, sentence},
#include "rib/unfollowed.def"
#undef UNFOLLOWED
};

static void write_unfollowed(struct jwrite *j, const struct rib_unfollowed *u)
{
    jwrite_u64(j, "not-followed", u->n);
    jwrite_begin(j, "unfollowed", '[');
    for (unsigned k = 0; k < UNFOLLOWED_KIND_N; k++) {
        if (!u->of[k].n)
            continue;
        jwrite_begin(j, NULL, '{');
        jwrite_string(j, "kind", unfollowed_kinds[k].word);
        jwrite_u64(j, "routes", u->of[k].n);
        jwrite_string(j, "example", u->of[k].example);
        jwrite_string(j, "effect", unfollowed_kinds[k].sentence);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
}

void audit_write(struct jwrite *j, const struct rib_audit_report *r)
{
    jwrite_u64(j, "checked", r->checked);
    jwrite_u64(j, "prefixes", r->prefixes);
    jwrite_u64(j, "lookups", r->lookups);
    jwrite_u64(j, "blocks", r->blocks);
    jwrite_u64(j, "diverged", r->diverged);
    jwrite_int(j, "took", (int64_t)(r->took_ns / NS_PER_MS));
    jwrite_int(j, "longest-pause", (int64_t)(r->longest_ns / NS_PER_US));
    jwrite_begin(j, "finding", '[');
    for (unsigned i = 0; i < r->n_findings; i++) {
        jwrite_begin(j, NULL, '{');
        jwrite_prefix(j, "prefix", &r->finding[i].prefix);
        jwrite_string(j, "what", r->finding[i].what);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
    write_unfollowed(j, &r->unfollowed);
}

static void answered(void *ctx, const struct rib_audit_report *r)
{
    struct show *s = ctx;
    struct jwrite *j = &s->out;
    const struct vr *v = vr_get((uint16_t)s->vr);

    if (v->used && !r->result) { // it may have been deleted meanwhile
        jwrite_begin(j, NULL, '{');
        jwrite_string(j, "vr", v->name);
        jwrite_u64(j, "audits", r->runs);
        if (r->ended_ns)
            jwrite_u64(j, "ended", (clock_now_ns() - r->ended_ns) / NS_PER_SECOND);
        audit_write(j, r);
        jwrite_u64(j, "fib-divergence", r->total);
        jwrite_end(j, '}');
    }
    show_next_vr(s);
}

static int ask(struct show *s)
{
    return rib_manager_audit_report((uint16_t)s->vr, answered, s);
}

int show_audit(struct show *s)
{
    return show_each_vr(s, ask);
}
