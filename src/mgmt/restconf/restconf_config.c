// SPDX-License-Identifier: BSD-3-Clause
// restconf_config.c - reading the configuration by RESTCONF
//
// A large configuration is written in slices (config_write.c), between which the loop serves other
// requests; it is read from the snapshot that was in force when the request came.
#include <event2/event.h>
#include <libyang/libyang.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "http/refuse.h"
#include "restconf/bound.h"
#include "restconf/config_write.h"
#include "restconf/fields.h"
#include "restconf/path.h"
#include "restconf/restconf_priv.h"

// --- in slices ----------------------------------------------------------------------------------

struct reading {
    struct snapshot *snapshot; // keeps the tree while others commit
    struct config_writer *writer;
    struct field *fields;
    struct http *http;
    struct http_turn turn;
    void (*done)(void *ctx);
    void *ctx;
};

static void reading_free(struct reading *r)
{
    snapshot_unref(r->snapshot);
    config_writer_free(r->writer);
    fields_free(r->fields);
    free(r);
}

static void go_on(void *arg)
{
    uint64_t until_ns = clock_now_ns() + HTTP_SLICE_NS;
    struct reading *r = arg;

    while (!http_left(r->http) && config_writer_step(r->writer)) {
        if (clock_now_ns() < until_ns)
            continue;
        http_turn(r->http, &r->turn, go_on, r);
        return;
    }
    void (*done)(void *ctx) = r->done;
    void *ctx = r->ctx;
    reading_free(r);
    done(ctx);
}

static struct field *wanted_fields(const struct http *h, const struct lysc_node *s)
{
    const char *expression = http_query(h, "fields");
    struct text why = {0};
    struct field *f = expression ? fields_parse(expression, s, false, &why) : NULL;

    text_free(&why);
    return f;
}

static void read_part(struct http *h, struct config_part *p, struct field *f, struct jwrite *out,
                      void (*done)(void *ctx), void *ctx)
{
    struct reading *r = calloc(1, sizeof *r);

    bug_on(!r);
    p->fields = f;
    *r = (struct reading){.http = h,
                          .snapshot = snapshot_ref(bound_snapshot(h)),
                          .writer = config_writer_new(p, out),
                          .fields = f,
                          .done = done,
                          .ctx = ctx};
    go_on(r);
}

void config_read_all(struct http *h, const struct content *c, struct jwrite *out,
                     void (*done)(void *ctx), void *ctx)
{
    struct config_part p = {.first = c->depth == 1 ? NULL : bound_running(h),
                            .defaults = c->defaults,
                            .fields_of_parent = true,
                            .levels = c->depth ? c->depth - 2 : CONFIG_ALL_LEVELS,
                            .page.limit = UINT64_MAX};

    read_part(h, &p, wanted_fields(h, NULL), out, done, ctx);
}

// --- one resource -------------------------------------------------------------------------------

struct answer {
    struct http *http;
    struct text text;
    struct jwrite out;
    char defaults[16];
};

static void send_config(void *ctx)
{
    struct answer *a = ctx;

    jwrite_end(&a->out, '}');
    text_printf(&a->text, "\n");
    http_reply(a->http, 200, HTTP_JSON, &a->text);
    free(a);
}

static void read_resource(struct http *h, struct config_part *p, const struct lysc_node *s,
                          const struct content *c)
{
    struct answer *a = calloc(1, sizeof *a);

    bug_on(!a);
    a->http = h;
    a->out.t = &a->text;
    snprintf(a->defaults, sizeof a->defaults, "%s", c->defaults ? c->defaults : "explicit");
    p->defaults = a->defaults;
    p->levels = c->depth ? c->depth - 1 : CONFIG_ALL_LEVELS;
    page_parse(http_query(h, "offset"), http_query(h, "limit"), &p->page);
    jwrite_begin(&a->out, NULL, '{');
    http_for_anyone(h); // already the client's part
    read_part(h, p, wanted_fields(h, s), &a->out, send_config, a);
}

void config_not_there(struct http *h, const struct path *p)
{
    const struct path_segment *g = path_last(p);

    if (g->n_keys)
        http_refuse(h, 404, "invalid-value", "there is no %s '%s'", g->schema->name, g->key[0]);
    else
        http_refuse(h, 404, "invalid-value", "'%s' is not configured", g->schema->name);
}

void config_get(struct http *h, const struct path *p, const struct content *c)
{
    const struct path_segment *g = path_last(p);
    const struct lyd_node *parent = path_find(p, p->n - 1, bound_running(h));
    const struct lyd_node *node = path_find(p, p->n, bound_running(h));
    bool many = g->schema->nodetype & (LYS_LIST | LYS_LEAFLIST);

    if (p->n > 1 && !parent)
        config_not_there(h, p);
    else if (many && !g->n_keys)
        read_resource(h,
                      &(struct config_part){.first = parent ? lyd_child(parent) : bound_running(h),
                                            .only = g->schema},
                      g->schema, c);
    else if (!node || (g->schema->nodetype == LYS_LEAF && (node->flags & LYD_DEFAULT) &&
                       (!c->defaults || strcmp(c->defaults, "report-all"))))
        config_not_there(h, p);
    else
        read_resource(h, &(struct config_part){.first = node, .one = true}, g->schema, c);
}
