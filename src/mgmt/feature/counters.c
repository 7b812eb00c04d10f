// SPDX-License-Identifier: BSD-3-Clause
// counters.c - counters of next hops and prefixes, and clearing of counters
//
// Clearing restarts interface and port counters only in the output for people (table/counter.h).
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/vec.h"
#include "config/feature_config.h"
#include "http/refuse.h"
#include "mgmt/feature.h"
#include "model/model.h"
#include "port/port_manager.h"
#include "restconf/column.h"
#include "restconf/metrics.h"
#include "restconf/operation.h"
#include "restconf/state.h"
#include "rib/rib_manager.h"
#include "table/counter.h"
#include "table/iface.h"
#include "table/nexthop_count.h"
#include "table/vr.h"
#include "yang/config_tree.h"

// --- configuration -------------------------------------------------------------------------------

struct model_counted { // a prefix with a packet counter
    char vr[16];
    struct prefix prefix;
    unsigned line;
};

struct model_counters {
    bool nexthop;
    VEC(struct model_counted) prefix; // in the order of the configuration
};

static const struct column nexthop_columns[] = {COLUMN_ITSELF(bool, "nexthop"), {0}};

static const struct column counted_columns[] = {
    COLUMN(struct model_counted, vr, "vr"),
    COLUMN(struct model_counted, prefix, "prefix"),
    {0}};

static void read_prefix(struct model *m, void *row, const struct lyd_node *entry)
{
    columns_read(lyd_child(entry), counted_columns, row);
}

// --- steps ---------------------------------------------------------------------------------------

static int set_nexthop(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    if (!nexthop_count_set(*(const bool *)to))
        return 0;
    snprintf(err, n, "counters nexthop: no memory for the counters of next hops");
    return -ENOMEM;
}

static int run_prefix(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    const struct model_counted *c = to ? to : from;
    int e = to ? rib_manager_counted_add(c->vr, &c->prefix)
               : rib_manager_counted_del(c->vr, &c->prefix);

    if (e == -ENOSPC)
        snprintf(err, n, "at most %u prefixes can be counted", PREFIX_COUNT_MAX - 1);
    else if (e)
        snprintf(err, n, "%s", strerror(-e));
    return e;
}

static const struct feature_config counters_config = {
    .part_size = sizeof(struct model_counters),
    .values = (const struct feature_value[]){{PHASE_SETTINGS,
                                              {"", set_nexthop},
                                              PART_VALUE(struct model_counters, nexthop),
                                              .read = columns_read,
                                              .inside = "counters",
                                              .columns = nexthop_columns},
                                             {0}},
    .lists = (const struct feature_list[]){{.inside = "counters",
                                            .node = "prefix",
                                            LIST_ROWS(struct model_counters, prefix),
                                            .read = read_prefix,
                                            LIST_STEP(struct model_counted, "counters prefix",
                                                      run_prefix),
                                            .unnamed = true,
                                            .remove = PHASE_REMOVE_USERS,
                                            .add = PHASE_ADD_USERS,
                                            .stays = vr_stays,
                                            .key_size = offsetof(struct model_counted, line)},
                                           {0}},
};

// --- state ---------------------------------------------------------------------------------------

static const struct column count_columns[] = {
    COLUMN(struct counted_row, prefix, "prefix"),
    COLUMN(struct counted_row, active, "active"),
    COLUMN(struct counted_row, nexthop, "nexthop", .any = true),
    COUNTER(struct counted_row, packets, "packets", "packets",
            "Packets whose longest match was this prefix, for prefixes with counters enabled."),
    COUNTER(struct counted_row, bytes, "bytes", "bytes", "Bytes of those IP packets."),
    {0}};

static void write_prefix_state(struct jwrite *j, const struct counted_row *r)
{
    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "vr", vr_get(r->vr)->name);
    columns_write(j, count_columns, r);
    jwrite_end(j, '}');
}

static void write_prefix_states(void *ctx, const struct counted_row *row, unsigned n)
{
    struct show *s = ctx;

    for (unsigned i = 0; i < n; i++)
        if (show_wants(s, vr_get(row[i].vr)->name))
            write_prefix_state(&s->out, &row[i]);
    s->done(s, 0);
}

static int ask_counted_prefixes(struct show *s)
{
    return rib_manager_counted(write_prefix_states, s);
}

static void keep_prefixes(void *ctx, const struct counted_row *row, unsigned n)
{
    scrape_keep(ctx, row, n, sizeof *row);
}

static void collect_prefixes(struct scrape *s)
{
    scrape_asked(s, "rib_manager", rib_manager_counted(keep_prefixes, s));
}

static void write_prefix_metrics(struct metrics *m, const void *kept)
{
    const struct scrape_rows *rows = kept;
    const struct counted_row *row = (const void *)rows->row;
    char prefix[PREFIX_TEXT_MAX];

    if (!rows->n)
        return;
    for (const struct column *c = count_columns; (c = column_family(m, "prefix", c)); c++)
        for (size_t i = 0; i < rows->n; i++)
            if (vr_get(row[i].vr)->used)
                column_metric(m, c, &row[i], "vr", vr_get(row[i].vr)->name, "prefix",
                              prefix_format(&row[i].prefix, prefix), NULL);
}

// Each returns the number of objects of that name; "" = all.
static unsigned clear_interface_counters(const char *name)
{
    unsigned n = 0;

    iface_each (i)
        if (!*name || !strcmp(i->name, name)) {
            counter_clear_iface(i->id);
            n++;
        }
    return n;
}

static unsigned clear_port_counters(const char *wanted)
{
    char name[PORT_MAX][16];
    unsigned n = 0, listed = port_manager_list(name, PORT_MAX);

    for (unsigned i = 0; i < listed; i++)
        if (!*wanted || !strcmp(name[i], wanted))
            n += !port_manager_clear(name[i]);
    return n;
}

static void run_clear_counters(struct http *h, const struct lyd_node *op)
{
    const char *of = operation_input(op, "of"), *name = operation_input(op, "name");
    unsigned n = 0;

    if (strcmp(of, "port"))
        n += clear_interface_counters(name);
    if (strcmp(of, "interface"))
        n += clear_port_counters(name);
    if (*name && !n) {
        http_refuse(h, 404, "invalid-value", "there is no %s '%s'", *of ? of : "interface or port",
                    name);
        return;
    }
    log_notice("operation: counters cleared: of=\"%s\" name=\"%s\" by=%s", *of ? of : "all", name,
               LOG_VALUE(http_peer(h)));
    http_reply(h, 204, NULL, NULL);
}

const struct feature counters_feature = {
    "counters",
    .config = &counters_config,
    .state = (const struct feature_state[]){{"counted-prefix", .ask = ask_counted_prefixes}, {0}},
    .operations =
        (const struct feature_operation[]){{"clear-counters", .run = run_clear_counters}, {0}},
    .metrics = &(const struct feature_metrics){collect_prefixes, write_prefix_metrics},
};
