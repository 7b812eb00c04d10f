// SPDX-License-Identifier: BSD-3-Clause
// acl.c - access lists and address sets in force: state, metrics, and packets logged by rules
//
// The first rules of the configuration, and then temporary ones, have a metric each. Rules of files
// do not, because a million rules would make a million series; the counters of their list include
// them.
#include "feature/acl.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl_manager/acl_line.h"
#include "acl_manager/acl_manager.h"
#include "acl_manager/acl_query.h"
#include "base/clock.h"
#include "base/ip.h"
#include "base/log.h"
#include "base/vec.h"
#include "config/config_running.h"
#include "config/feature_config.h"
#include "event/event.h"
#include "mgmt/feature.h"
#include "model/model.h"
#include "restconf/column.h"
#include "restconf/metrics.h"
#include "restconf/state.h"
#include "table/acl.h"
#include "table/acl_log.h"
#include "table/acl_target.h"
#include "table/iface.h"

// --- state ---------------------------------------------------------------------------------------

static void write_bound_interfaces(struct jwrite *j, uint16_t id)
{
    jwrite_begin(j, "bound", '[');
    iface_each (i)
        for (unsigned out = 0; out < 2; out++) {
            if ((out ? i->acl_out : i->acl_in) != id)
                continue;
            jwrite_begin(j, NULL, '{');
            jwrite_string(j, "interface", i->name);
            jwrite_string(j, "direction", out ? "out" : "in");
            jwrite_end(j, '}');
        }
    jwrite_end(j, ']');
}

static void write_list_cost(struct jwrite *j, const struct acl_list_row *row)
{
    const struct acl_cost *c = &row->cost;
    char mean[32];

    snprintf(mean, sizeof mean, "%.1f", c->probes_mean);
    jwrite_begin(j, "cost", '{');
    jwrite_int(j, "few",
               strcmp(acl_kernel_name(), "scalar") ? c->few : 0); // plain C uses tuples instead
    jwrite_int(j, "shelf", c->shelf);
    jwrite_int(j, "tuples", c->tuples);
    jwrite_int(j, "probes-max", c->probes_max);
    jwrite_string(j, "probes-mean", mean);
    jwrite_int(j, "block-max", c->block_max);
    jwrite_int(j, "address-only", c->address_only);
    jwrite_u64(j, "reader-bytes", row->reader_bytes);
    jwrite_int(j, "build-time", (int64_t)(row->build_ns / NS_PER_MS));
    jwrite_end(j, '}');
}

static const struct column size_columns[] = {
    GAUGE(struct acl_list_row, rules, "rules", "",
          "Rules in the access list, including those from its file."),
    GAUGE(struct acl_list_row, bytes, NULL, "bytes", "Memory used by the access list.",
          .family = "memory_bytes"),
    {0}};
static const struct column hit_columns[] = {
    COLUMN(struct acl_list_row, temporary, "temporary-rules"),
    COLUMN(struct acl_list_row, matched.packets, "matched-packets"),
    COLUMN(struct acl_list_row, matched.bytes, "matched-bytes"),
    COUNTER(struct acl_list_row, unmatched.packets, "unmatched-packets", "packets",
            "Packets that no rule matched."),
    COUNTER(struct acl_list_row, unmatched.bytes, "unmatched-bytes", "bytes",
            "Bytes of those IP packets."),
    {0}};

static void write_list_state(struct jwrite *j, const struct acl_list_row *row)
{
    const struct acl_desired_list *w = acl_desired_list_find(model_acls(config_model()), row->name);

    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "name", row->name);
    jwrite_string(j, "default", acl_verb_name[row->otherwise]);
    if (w && w->file[0])
        jwrite_string(j, "file", w->file);
    columns_write(j, size_columns, row);
    columns_write(j, hit_columns, row);
    if (row->unmatched_s != ACL_NEVER)
        jwrite_int(j, "unmatched-last-hit", row->unmatched_s);
    jwrite_u64(j, "bytes", row->bytes);
    jwrite_u64(j, "age", (clock_now_ns() - row->changed_ns) / NS_PER_SECOND);
    write_bound_interfaces(j, row->id);
    write_list_cost(j, row);
    jwrite_end(j, '}');
}

static void write_list_states(void *ctx, const struct acl_answer *a)
{
    struct show *s = ctx;

    vec_foreach (&a->list, row)
        write_list_state(&s->out, row);
    s->done(s, 0);
}

static int ask_rows(struct show *s, enum acl_query_kind kind, acl_query_done done)
{
    struct acl_query q = {0};

    snprintf(q.name, sizeof q.name, "%s", s->key[0] ? s->key[0] : "");
    return acl_query(kind, &q, done, s);
}

static int ask_acl(struct show *s)
{
    return ask_rows(s, ACL_QUERY_LISTS, write_list_states);
}

static const struct column redirect_columns[] = {
    COLUMN(struct acl_redirect_row, to, "to"),
    COUNTER(struct acl_redirect_row, sent, "redirected-packets", "packets",
            "Packets redirected to the address by rules."),
    COUNTER(struct acl_redirect_row, no_way, "no-way-packets", "packets",
            "Packets to be redirected that followed their own route instead, because the address "
            "had no route.",
            .family = "redirect_no_way_packets"),
    {0}};

static void list_acl_redirects(struct show *s)
{
    static struct acl_redirect_row row[ACL_REDIRECT_MAX];
    unsigned n = acl_redirect_rows(row);
    char to[IP_TEXT_MAX];

    for (unsigned i = 0; i < n; i++)
        if (show_wants(s, ip_format(&row[i].to, to)))
            columns_object(&s->out, NULL, redirect_columns, &row[i]);
}

static void write_set_states(void *ctx, const struct acl_answer *a)
{
    struct show *s = ctx;
    struct jwrite *j = &s->out;

    vec_foreach (&a->set, row) {
        const struct acl_desired_set *w =
            acl_desired_set_find(model_acls(config_model()), row->name);

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
    s->done(s, 0);
}

static int ask_address_set(struct show *s)
{
    return ask_rows(s, ACL_QUERY_SETS, write_set_states);
}

// --- metrics -------------------------------------------------------------------------------------

static const struct column verdict_columns[] = {
    COUNTER(struct acl_hits, packets, "packets", "packets",
            "Packets decided by the access list, including by rules from its file."),
    COUNTER(struct acl_hits, bytes, "bytes", "bytes", "Bytes of those IP packets."),
    {0}};
static const struct column rule_columns[] = {
    COUNTER(struct acl_hits, packets, "packets", "packets",
            "Packets matched by the rule: of the configuration, or a temporary one."),
    COUNTER(struct acl_hits, bytes, "bytes", "bytes", "Bytes of those IP packets."),
    {0}};

static void write_rule_families(struct metrics *m, const struct acl_answer *a)
{
    for (const struct column *c = rule_columns; (c = column_family(m, "acl_rule", c)); c++)
        vec_foreach (&a->counter, row) {
            char number[12];

            snprintf(number, sizeof number, "%u", row->number);
            column_metric(m, c, &row->hits, "acl", a->list.item[row->list].name, "rule", number,
                          "action", acl_verb_name[row->verb], NULL);
        }
    metric_family(m, METRIC_GAUGE, "acl_rules_left_out", "",
                  "Configured and temporary rules that are not exported because there are too "
                  "many.");
    metric_u64(m, a->counter.n == ACL_COUNTED_MAX ? a->rules - ACL_COUNTED_MAX : 0, NULL);
}

static void write_list_families(struct metrics *m, const struct acl_answer *a)
{
    for (const struct column *c = verdict_columns; (c = column_family(m, "acl", c)); c++)
        vec_foreach (&a->list, row)
            for (unsigned v = 0; v < ACL_VERDICTS; v++)
                column_metric(m, c, &row->total[v], "acl", row->name, "verdict",
                              acl_verdict_name[v], NULL);
    for (const struct column *c = size_columns; (c = column_family(m, "acl", c)); c++)
        vec_foreach (&a->list, row)
            column_metric(m, c, row, "acl", row->name, NULL);
    for (const struct column *c = hit_columns; (c = column_family(m, "acl", c)); c++)
        vec_foreach (&a->list, row)
            column_metric(m, c, row, "acl", row->name, "action", acl_verb_name[row->otherwise],
                          NULL);
}

static void write_set_families(struct metrics *m, const struct acl_answer *a)
{
    metric_family(m, METRIC_GAUGE, "address_set_members", "", "Prefixes in the address set.");
    vec_foreach (&a->set, row) {
        metric_u64(m, row->members[0], "set", row->name, "family", "ipv4", NULL);
        metric_u64(m, row->members[1], "set", row->name, "family", "ipv6", NULL);
    }
    metric_family(m, METRIC_GAUGE, "address_set_memory_bytes", "bytes",
                  "Memory used by the address set.");
    vec_foreach (&a->set, row)
        metric_u64(m, row->bytes, "set", row->name, NULL);
}

static void write_redirect_families(struct metrics *m)
{
    static struct acl_redirect_row row[ACL_REDIRECT_MAX];
    unsigned n = acl_redirect_rows(row);
    char to[IP_TEXT_MAX];

    if (!n)
        return;
    for (const struct column *c = redirect_columns; (c = column_family(m, "acl", c)); c++)
        for (unsigned i = 0; i < n; i++)
            column_metric(m, c, &row[i], "to", ip_format(&row[i].to, to), NULL);
}

static void write_acl_metrics(struct metrics *m, const void *kept)
{
    const struct acl_answer *a = kept; // NULL: not known now

    write_redirect_families(m);
    metric_family(m, METRIC_GAUGE, "acl_building", "",
                  "1: access lists or address sets are being built; their other metrics are "
                  "missing meanwhile.");
    metric_u64(m, !a, NULL);
    if (!a)
        return;
    if (a->list.n) {
        write_list_families(m, a);
        write_rule_families(m, a);
    }
    if (a->set.n)
        write_set_families(m, a);
}

// Copies a vector's rows to *at, so that they share one allocation with the kept answer.
static void *copy_rows(char **at, const void *row, size_t bytes)
{
    void *copy = *at;

    if (bytes)
        memcpy(copy, row, bytes);
    *at += (bytes + 7) & ~(size_t)7;
    return copy;
}

#define ROW_BYTES(v) ((v)->n * sizeof *(v)->item)

static void keep_counters(void *ctx, const struct acl_answer *a)
{
    struct acl_answer *mine = malloc(sizeof *mine + ROW_BYTES(&a->list) + ROW_BYTES(&a->set) +
                                     ROW_BYTES(&a->counter) + 3 * 8);
    char *at = (char *)(mine + 1);
    struct scrape *s = ctx;

    bug_on(!mine);
    *mine = *a;
    mine->list.item = copy_rows(&at, a->list.item, ROW_BYTES(&a->list));
    mine->set.item = copy_rows(&at, a->set.item, ROW_BYTES(&a->set));
    mine->counter.item = copy_rows(&at, a->counter.item, ROW_BYTES(&a->counter));
    s->kept[FEATURE_acl] = mine;
    scrape_collected(s);
}

// Skipped while acl_manager builds, which can take minutes.
static void collect_acl_counters(struct scrape *s)
{
    if (acl_manager_is_building())
        scrape_collected(s);
    else
        scrape_asked(s, "acl_manager",
                     acl_query(ACL_QUERY_COUNTERS, &(struct acl_query){0}, keep_counters, s));
}

// --- packets that rules log: log lines and events (table/acl_log.h) ------------------------------

// Runs five times a second and takes at most LOG_LINES_A_LOOK packets; the rest stays in the ring.
// If the ring is full, entries are dropped and their number is logged. A deleted list keeps its
// name here until another list takes its id.

#define LOG_LOOK_US 200000
#define LOG_LINES_A_LOOK 32u

static struct event *log_timer;
static uint64_t reported_lost;

static void report_match(const struct acl_log_entry *e)
{
    const char *acl = acl_table[e->list].name, *iface = iface_get(e->iface)->name,
               *way = e->out ? "out" : "in";
    struct ip_addr src = {.family = e->family}, dst = {.family = e->family};
    char from[IP_TEXT_MAX], to[IP_TEXT_MAX];

    memcpy(src.b, e->key.src, 16);
    memcpy(dst.b, e->key.dst, 16);
    ip_format(&src, from);
    ip_format(&dst, to);
    log_notice("acl: match: acl=%s rule=%u action=%s direction=%s interface=%s protocol=%u "
               "source=%s source-port=%u destination=%s "
               "destination-port=%u length=%u",
               acl, e->rule, acl_verb_name[e->verb], way, iface, e->key.l4.proto, from,
               e->key.l4.sport, to, e->key.l4.dport, e->len);
    if (event_wanted())
        event_publish("acl-match",
                      json_pack("{s:s, s:i, s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:i}", "acl",
                                acl, "rule", (int)e->rule, "action", acl_verb_name[e->verb],
                                "direction", way, "interface", iface, "source", from, "destination",
                                to, "protocol", e->key.l4.proto, "source-port", e->key.l4.sport,
                                "destination-port", e->key.l4.dport, "length", e->len));
}

void acl_log_report(void)
{
    struct acl_log_entry e[LOG_LINES_A_LOOK];
    unsigned n = acl_log_take(e, LOG_LINES_A_LOOK);
    uint64_t lost = __atomic_load_n(&acl_log_lost, __ATOMIC_RELAXED);

    for (unsigned i = 0; i < n; i++)
        report_match(&e[i]);
    if (lost == reported_lost)
        return;
    log_warning("acl: more matches than can be logged: lost=%" PRIu64
                "; make the rules log less ('log every N': one packet in N)",
                lost - reported_lost);
    reported_lost = lost;
}

static void on_log_timer(evutil_socket_t fd, short what, void *arg)
{
    acl_log_report();
}

static void start_acl_log(struct event_base *loop)
{
    const struct timeval every = {.tv_usec = LOG_LOOK_US};

    log_timer = event_new(loop, -1, EV_PERSIST, on_log_timer, NULL);
    bug_on(!log_timer || event_add(log_timer, &every));
}

static void stop_acl_log(void)
{
    if (log_timer)
        event_free(log_timer);
    log_timer = NULL;
    acl_lease_stop();
}

extern const struct feature_config acl_config;
const struct feature acl_feature = {
    "acl",
    .config = &acl_config,
    .state = (const struct feature_state[]){{"acl", .ask = ask_acl},
                                            {"acl-redirect", .list = list_acl_redirects},
                                            {"address-set", .ask = ask_address_set},
                                            {0}},
    .operations = acl_operations,
    .observe = acl_lease_look,
    .metrics = &(const struct feature_metrics){collect_acl_counters, write_acl_metrics},
    .start = start_acl_log,
    .stop = stop_acl_log,
};
