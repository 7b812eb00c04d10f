// SPDX-License-Identifier: BSD-3-Clause
// show_acl.c - access lists and address sets in force
#include <stdio.h>
#include <string.h>

#include "acl_manager/acl_ask.h"
#include "base/clock.h"
#include "config/config.h"
#include "feature/acl.h"
#include "restconf/state.h"
#include "table/acl_target.h"
#include "table/iface.h"

static void write_bound(struct jwrite *j, uint16_t id)
{
    jwrite_begin(j, "bound", '[');
    for (const struct iface *i = iface_get(1); i < iface_get(0) + IFACE_MAX; i++) {
        const uint16_t list[] = {i->acl_in, i->acl_out};
        static const char *const direction[] = {"in", "out"};

        for (unsigned d = 0; d < 2 && i->kind != IFACE_NONE; d++) {
            if (list[d] != id)
                continue;
            jwrite_begin(j, NULL, '{');
            jwrite_string(j, "interface", i->name);
            jwrite_string(j, "direction", direction[d]);
            jwrite_end(j, '}');
        }
    }
    jwrite_end(j, ']');
}

static void write_number(struct jwrite *j, const char *key, double v)
{
    char text[32];

    snprintf(text, sizeof text, "%.1f", v);
    jwrite_string(j, key, text);
}

static void write_cost(struct jwrite *j, const struct acl_engine_cost *c)
{
    jwrite_begin(j, "cost", '{');
    jwrite_string(j, "classifier", acl_engine_kind_name(c->kind));
    jwrite_string(j, "reason", c->why);
    jwrite_int(j, "few",
               strcmp(acl_kernel_name(), "scalar") ? c->ours.few
                                                   : 0); // in plain C tuples are asked
    jwrite_int(j, "shelf", c->ours.shelf);
    jwrite_int(j, "tuples", c->ours.tuples);
    jwrite_int(j, "probes-max", c->ours.probes_max);
    write_number(j, "probes-mean", c->ours.probes_mean);
    jwrite_int(j, "block-max", c->ours.block_max);
    jwrite_int(j, "address-only", c->ours.address_only);
    if (c->ours_cycles > 0)
        write_number(j, "cycles-ours", c->ours_cycles);
    if (c->rte_acl_cycles > 0)
        write_number(j, "cycles-rte-acl", c->rte_acl_cycles);
    jwrite_u64(j, "reader-bytes", c->bytes);
    jwrite_int(j, "build-time", (int64_t)(c->build_ns / NS_PER_MS));
    jwrite_end(j, '}');
}

static void write_list(struct jwrite *j, const struct acl_list_row *row)
{
    const struct acl_wanted_list *w = acl_wanted_list_find(model_acls(config_model()), row->name);

    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "name", row->name);
    jwrite_string(j, "default", acl_verb_name[row->otherwise]);
    if (w && w->file[0])
        jwrite_string(j, "file", w->file);
    jwrite_int(j, "rules", row->cost.rules);
    jwrite_u64(j, "matched-packets", row->matched.packets);
    jwrite_u64(j, "matched-bytes", row->matched.bytes);
    jwrite_u64(j, "unmatched-packets", row->unmatched.packets);
    jwrite_u64(j, "unmatched-bytes", row->unmatched.bytes);
    if (row->unmatched_s != ACL_NEVER)
        jwrite_int(j, "unmatched-last-hit", row->unmatched_s);
    jwrite_u64(j, "bytes", row->bytes);
    jwrite_u64(j, "age", (clock_now_ns() - row->changed_ns) / NS_PER_SECOND);
    write_bound(j, row->id);
    write_cost(j, &row->cost);
    jwrite_end(j, '}');
}

static void lists_answered(void *ctx, const struct acl_answer *a)
{
    struct show *s = ctx;

    jwrite_begin(&s->out, s->name, '[');
    vec_foreach (&a->list, row)
        write_list(&s->out, row);
    jwrite_end(&s->out, ']');
    s->done(s, 0);
}

int show_acl(struct show *s)
{
    int r = acl_ask_lists(s->key[0], lists_answered, s);

    if (r)
        s->done(s, r);
    return SHOW_LATER;
}

int show_acl_redirect(struct show *s)
{
    static struct acl_redirect_row row[ACL_REDIRECT_MAX];
    unsigned n = acl_redirect_rows(row);
    struct jwrite *j = &s->out;

    jwrite_begin(j, s->name, '[');
    for (unsigned i = 0; i < n; i++) {
        char to[IP_TEXT_MAX];

        if (s->key[0] && strcmp(s->key[0], ip_format(&row[i].to, to)))
            continue;
        jwrite_begin(j, NULL, '{');
        jwrite_ip(j, "to", &row[i].to);
        jwrite_u64(j, "redirected-packets", row[i].sent);
        jwrite_u64(j, "no-way-packets", row[i].no_way);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
    return SHOW_NOW;
}

static void sets_answered(void *ctx, const struct acl_answer *a)
{
    struct show *s = ctx;
    struct jwrite *j = &s->out;

    jwrite_begin(j, s->name, '[');
    vec_foreach (&a->set, row) {
        const struct acl_wanted_set *w = acl_wanted_set_find(model_acls(config_model()), row->name);

        jwrite_begin(j, NULL, '{');
        jwrite_string(j, "name", row->name);
        if (w && w->file[0])
            jwrite_string(j, "file", w->file);
        jwrite_u64(j, "members-ipv4", row->members[0]);
        jwrite_u64(j, "members-ipv6", row->members[1]);
        jwrite_u64(j, "bytes", row->bytes);
        jwrite_u64(j, "age", (clock_now_ns() - row->changed_ns) / NS_PER_SECOND);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
    s->done(s, 0);
}

int show_address_set(struct show *s)
{
    int r = acl_ask_sets(s->key[0], sets_answered, s);

    if (r)
        s->done(s, r);
    return SHOW_LATER;
}
