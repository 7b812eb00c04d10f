// SPDX-License-Identifier: BSD-3-Clause
// vr.c - virtual routers and their FIBs
//
// The numbers come from rib_manager: one question per virtual router, the next after the answer, so
// that a client never has more than one call in rib_manager's mailbox. Other features that ask for
// each virtual router use the same functions.
#include "feature/vr.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/protocol.h"
#include "base/vec.h"
#include "config/config_running.h"
#include "feature/configuration.h"
#include "feature/drop.h"
#include "http/http.h"
#include "http/refuse.h"
#include "http/token.h"
#include "interface/vr_manager.h"
#include "mgmt/feature.h"
#include "model/model.h"
#include "model/vr_budget.h"
#include "netlink/netns_own.h"
#include "netlink/netns_use.h"
#include "restconf/bound.h"
#include "restconf/column.h"
#include "restconf/metrics.h"
#include "restconf/operation.h"
#include "rib/rib_manager.h"
#include "table/ledger_vr.h"
#include "table/limits.h"
#include "table/vr.h"
#include "yang/config_tree.h"
#include "yang/owner.h"
#include "yang/yang.h"

// --- virtual routers in requests -----------------------------------------------------------------

const struct vr *vr_of_input(struct http *h, const struct lyd_node *op)
{
    const char *name = operation_input(op, "vr");
    const struct vr *v = vr_find(name);

    if (!v)
        http_refuse(h, 404, "invalid-value", "there is no vr '%s'", name);
    return v;
}

bool vr_of_input_or_all(struct http *h, const struct lyd_node *op, const struct vr **v)
{
    *v = NULL;
    return !*operation_input(op, "vr") || (*v = vr_of_input(h, op));
}

static void ask_from_cursor(struct show *s)
{
    for (; s->cursor < VR_MAX; s->cursor++) {
        const struct vr *v = vr_get((uint16_t)s->cursor);

        if (v->used && show_wants(s, v->name))
            break;
    }
    if (s->cursor == VR_MAX) {
        s->done(s, 0);
        return;
    }
    int r = s->ask(s);
    if (r)
        s->done(s, r);
}

void vr_show_next(struct show *s)
{
    s->cursor++;
    ask_from_cursor(s);
}

int vr_show_each(struct show *s, int (*ask)(struct show *s))
{
    s->cursor = 0;
    s->ask = ask;
    ask_from_cursor(s);
    return 0;
}

// --- state ---------------------------------------------------------------------------------------

static void write_protocol_states(struct jwrite *j, const uint64_t routes[256])
{
    char buf[12];

    jwrite_begin(j, "protocol", '[');
    for (unsigned p = 0; p < 256; p++) {
        if (!routes[p])
            continue;
        jwrite_begin(j, NULL, '{');
        jwrite_string(j, "name", protocol_name(p, buf));
        jwrite_u64(j, "routes", routes[p]);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
}

// Memory nodes that have a copy.
static void write_memory_nodes(struct jwrite *j, unsigned copies, uint64_t bytes)
{
    if (!copies)
        return;
    jwrite_begin(j, "memory-node", '[');
    for (unsigned node = 0; node < copies; node++) {
        jwrite_begin(j, NULL, '{');
        jwrite_int(j, "node", (int)node);
        jwrite_u64(j, "bytes", bytes);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
}

static const struct column fib_columns[] = {
    COUNTER(struct rib_family_stats, fib.engine_faults, "engine-faults", "faults",
            "Changes the FIB engine refused; each was repaired.", .family = "fib_engine_faults"),
    COLUMN(struct rib_family_stats, fib.engine_rebuilds, "engine-rebuilds"),
    GAUGE(struct rib_family_stats, routes, "rib-routes", "routes",
          "Routes in the RIB, including inactive ones."),
    GAUGE(struct rib_family_stats, fib_routes, "routes", "routes", "Prefixes in the FIB.",
          .family = "fib_routes"),
    GAUGE(struct rib_family_stats, fib.nodes, "nodes", "nodes", "Internal nodes of the FIB.",
          .family = "fib_nodes"),
    GAUGE(struct rib_family_stats, fib.leaves, "leaves", "leaves", "Leaves of the FIB.",
          .family = "fib_leaves"),
    GAUGE(struct rib_family_stats, fib.bytes_used, "bytes", "bytes",
          "FIB memory that forwarders read.", .family = "fib_bytes"),
    GAUGE(struct rib_family_stats, fib.bytes_shared, "shared-bytes", "bytes",
          "Part of fib_bytes shared with FIBs of other virtual routers; each counts it.",
          .family = "fib_shared_bytes"),
    GAUGE(struct rib_family_stats, fib.control_bytes, "control-bytes", "bytes",
          "FIB memory that only rib_manager reads.", .family = "fib_control_bytes"),
    COUNTER(struct rib_family_stats, updates, "updates", "updates", "Changes to the FIB.",
            .family = "fib_updates"),
    {0}};

static void write_fib_state(struct jwrite *j, const char *family, const struct rib_family_stats *r)
{
    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "family", family);
    jwrite_string(j, "engine", fib_engine_name(r->fib.engine));
    columns_write(j, fib_columns, r);
    write_memory_nodes(j, r->fib.copies, r->fib.bytes_used);
    write_protocol_states(j, r->by_protocol);
    jwrite_end(j, '}');
}

#define READERS_MAX 64

static bool is_read(const struct vr *v, const struct rib_stats *r)
{
    struct netlink_reader reader[READERS_MAX];

    return netlink_readers(vr_manager_netns(v->id), r->netlink_port, reader, READERS_MAX) > 0;
}

static void write_object_state(struct jwrite *j, const struct vr *v, const struct rib_stats *r)
{
    const struct model_vr *c = model_find_vr(config_model(), v->name);

    jwrite_string_any(j, "description", c ? c->description : "");
    jwrite_bool(j, "enabled", !v->stopped);
    jwrite_string_any(j, "namespace", v->netns);
    jwrite_bool(j, "own-namespace", v->netns[0] && netns_own_is_marked(v->netns));
    jwrite_int(j, "table", v->table);
    if (!c || c->daemon == VR_DAEMON_NONE)
        return;
    jwrite_string(j, "routing-daemon", vr_daemon_names[c->daemon]);
    jwrite_bool(j, "routing-daemon-runs", is_read(v, r));
}

static void write_ledger(struct jwrite *j, uint16_t vr)
{
    struct ledger_vr l;

    ledger_vr_read(vr, &l, LEDGER_VR_TRIES);
    jwrite_begin(j, "ledger", '{');
    for (unsigned i = 0; i < LEDGER_VR_N; i++)
        jwrite_u64(j, ledger_vr_name[i], l.side[i]);
    jwrite_u64(j, "held", l.held);
    jwrite_i64(j, "imbalance", l.imbalance);
    jwrite_end(j, '}');
}

static const struct column stats_columns[] = {
    GAUGE(struct rib_stats, synced, "synced", "", "1: the kernel's tables have been read.",
          .family = "vr_synced"),
    COUNTER(struct rib_stats, messages, "messages", "messages",
            "Netlink notifications received from the kernel.", .family = "netlink_messages"),
    COUNTER(struct rib_stats, batches, "batches", "batches",
            "Batches of netlink notifications, each ending in one FIB commit.",
            .family = "netlink_batches"),
    COUNTER(struct rib_stats, overruns, "overruns", "overruns",
            "Netlink socket overruns (ENOBUFS): the kernel dropped notifications.",
            .family = "netlink_overruns"),
    COUNTER(struct rib_stats, resyncs, "resyncs", "resyncs",
            "Dumps of the kernel's tables after an overrun or for verification.",
            .family = "netlink_resyncs"),
    COLUMN(struct rib_stats, swept, "swept"),
    COUNTER(struct rib_stats, diverged, "diverged", "prefixes",
            "Prefixes that a dump showed to differ from the RIB.",
            .family = "rib_diverged_prefixes"),
    COLUMN(struct rib_stats, ignored_rules, "rules-ignored"),
    COLUMN(struct rib_stats, unfollowed, "not-followed"),
    COLUMN(struct rib_stats, nexthops, "nexthops"),
    GAUGE(struct rib_stats, neighbors, "neighbors", "", "Neighbors in the table (ARP and ND)."),
    GAUGE(struct rib_stats, labels, "mpls-labels", "labels", "MPLS labels that forwarders know.",
          .family = "mpls_labels"),
    COUNTER(struct rib_stats, label_updates, "label-updates", "updates",
            "Changes to the next hops of MPLS labels.", .family = "mpls_label_updates"),
    GAUGE(struct rib_stats, held, "held", "packets",
          "Packets held until their neighbor is resolved.", .family = "neighbor_held_packets"),
    GAUGE(struct rib_stats, rib_bytes, "rib-bytes", "bytes", "Memory used by the RIB."),
    {0}};

static void write_vr_state(struct jwrite *j, const struct vr *v, const struct rib_stats *r)
{
    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "name", v->name);
    jwrite_int(j, "id", v->id);
    write_object_state(j, v, r);
    jwrite_int(j, "cpu-weight", v->cpu_weight ? v->cpu_weight : 1);
    struct flow_hash hash = vr_flow_hash(v);
    jwrite_string(j, "flow-hash", flow_hash_name(hash.mode));
    jwrite_bool(j, "flow-label", hash.label);
    jwrite_int(j, "flow-hash-seed", hash.seed);
    columns_write(j, stats_columns, r);
    vr_budget_write(j, v->id, r);
    drop_write_vr(j, v->id);
    write_ledger(j, v->id);
    jwrite_begin(j, "fib", '[');
    write_fib_state(j, "ipv4", &r->family[0]);
    write_fib_state(j, "ipv6", &r->family[1]);
    jwrite_end(j, ']');
    jwrite_end(j, '}');
}

static void write_vr_answered(void *ctx, const struct rib_stats *r)
{
    struct show *s = ctx;
    const struct vr *v = vr_get((uint16_t)s->cursor);

    if (v->used && r) // it may have been deleted meanwhile
        write_vr_state(&s->out, v, r);
    vr_show_next(s);
}

static int ask_vr_stats(struct show *s)
{
    return rib_manager_stats((uint16_t)s->cursor, write_vr_answered, s);
}

static int ask_vr(struct show *s)
{
    return vr_show_each(s, ask_vr_stats);
}

// --- metrics -------------------------------------------------------------------------------------

struct kept_vr { // rib_manager's answer for one virtual router
    char name[16];
    uint16_t id;
    struct rib_stats stats;
    struct vr_limits used;
};

struct kept_vrs {
    unsigned vr; // next to ask about
    unsigned n;
    struct kept_vr row[];
};

static void write_vr_families(struct metrics *m, const struct kept_vr *vr, unsigned n)
{
    for (const struct column *c = stats_columns; (c = column_family(m, "", c)); c++)
        for (unsigned i = 0; i < n; i++)
            column_metric(m, c, &vr[i].stats, "vr", vr[i].name, NULL);
    for (const struct column *c = fib_columns; (c = column_family(m, "", c)); c++)
        for (unsigned i = 0; i < n; i++) {
            column_metric(m, c, &vr[i].stats.family[0], "vr", vr[i].name, "family", "ipv4", NULL);
            column_metric(m, c, &vr[i].stats.family[1], "vr", vr[i].name, "family", "ipv6", NULL);
        }
}

static void write_protocol_counters(struct metrics *m, const char *vr, const char *family,
                                    const uint64_t routes[256])
{
    char buf[PROTOCOL_NAME_SIZE];

    for (unsigned p = 0; p < 256; p++)
        if (routes[p])
            metric_u64(m, routes[p], "vr", vr, "family", family, "protocol", protocol_name(p, buf),
                       NULL);
}

static void write_budgets(struct metrics *m, const struct kept_vr *vr, unsigned n)
{
    metric_family(m, METRIC_GAUGE, "vr_budget", "",
                  "What the virtual router may use; absent: no limit but the router's own.");
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < VR_BUDGET_N; k++)
            if (vr_budget_limit(vr[i].id, k))
                metric_u64(m, vr_budget_limit(vr[i].id, k), "vr", vr[i].name, "budget",
                           vr_budget_info[k].word, NULL);
    metric_family(m, METRIC_GAUGE, "vr_budget_used", "",
                  "Use of each resource that a budget can limit.");
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < VR_BUDGET_N; k++)
            metric_u64(m, vr[i].used.of[k], "vr", vr[i].name, "budget", vr_budget_info[k].word,
                       NULL);
    metric_family(m, METRIC_GAUGE, "vr_budget_waiting_routes", "routes",
                  "Prefixes outside the FIB because the virtual router's budget is used up.");
    for (unsigned i = 0; i < n; i++) {
        metric_u64(m, vr[i].stats.budget.waiting[0], "vr", vr[i].name, "family", "ipv4", NULL);
        metric_u64(m, vr[i].stats.budget.waiting[1], "vr", vr[i].name, "family", "ipv6", NULL);
    }
}

static void write_vr_metrics(struct metrics *m, const void *kept)
{
    const struct kept_vrs *k = kept;
    const struct kept_vr *vr = k->row;
    unsigned n = k->n;

    write_vr_families(m, vr, n);
    write_budgets(m, vr, n);
    metric_family(m, METRIC_GAUGE, "rib_protocol_routes", "routes",
                  "Routes in the RIB, by protocol.");
    for (unsigned i = 0; i < n; i++) {
        write_protocol_counters(m, vr[i].name, "ipv4", vr[i].stats.family[0].by_protocol);
        write_protocol_counters(m, vr[i].name, "ipv6", vr[i].stats.family[1].by_protocol);
    }
}

static void ask_next_vr(struct scrape *s);

static void keep_vr(void *ctx, const struct rib_stats *r)
{
    struct scrape *s = ctx;
    struct kept_vrs *k = s->kept[FEATURE_vr];
    const struct vr *v = vr_get((uint16_t)k->vr++);

    if (v->used && r) { // it may have been deleted meanwhile
        s->kept[FEATURE_vr] = k = realloc(k, sizeof *k + (k->n + 1) * sizeof *k->row);
        bug_on(!k);
        k->row[k->n].stats = *r;
        k->row[k->n].id = v->id;
        k->row[k->n].used = vr_budget_used(v->id, r);
        memcpy(k->row[k->n++].name, v->name, sizeof k->row->name);
    }
    ask_next_vr(s);
}

static void ask_next_vr(struct scrape *s)
{
    struct kept_vrs *k = s->kept[FEATURE_vr];

    while (k->vr < VR_MAX && !vr_get((uint16_t)k->vr)->used)
        k->vr++;
    if (k->vr == VR_MAX || http_gone(s->http))
        scrape_collected(s);
    else
        scrape_asked(s, "rib_manager", rib_manager_stats((uint16_t)k->vr, keep_vr, s));
}

static void collect_vrs(struct scrape *s)
{
    s->kept[FEATURE_vr] = calloc(1, sizeof(struct kept_vrs));
    bug_on(!s->kept[FEATURE_vr]);
    ask_next_vr(s);
}

// --- operations ---------------------------------------------------------------------------------

// The virtual router's entry as the client sees it; NULL: the request has been refused.
static const struct lyd_node *find_entry(struct http *h, const char *name)
{
    const struct lyd_node *entry =
        config_find(bound_running(h), yang_child(NULL, "vr", true), (const char *[]){name});

    if (!entry)
        http_refuse(h, 404, "invalid-value", "there is no vr '%s'", name);
    return entry;
}

static int commit_renamed(const char *from, const char *to, const struct commit *how,
                          struct config_result *result, struct errors *e)
{
    struct lyd_node *tree = config_running_copy();

    if (config_rename(tree, yang_child(NULL, "vr", true), from, to) &&
        owner_rename(tree, from, to))
        return config_commit(tree, how, result, e);
    config_drop(tree);
    errors_add(e, 0,
               "vr %s cannot be renamed to '%s': it is no name, or makes that of an access list, "
               "address set or policer of it ('%s:…') longer than 31 characters",
               from, to, to);
    return -EINVAL;
}

// A token would outlive its virtual router and see nothing.
static bool refuse_for_token(struct http *h, const char *from, const char *to)
{
    const struct token *t = token_of(from);

    if (t)
        http_refuse(h, 409, "in-use",
                    "token '%s' is bound to vr %s and would see nothing: write 'vr %s' in the file "
                    "of tokens (set api tokens) first; it takes effect at once",
                    t->name, from, to);
    return t;
}

static void run_vr_rename(struct http *h, const struct lyd_node *op)
{
    const char *from = operation_input(op, "name"), *to = operation_input(op, "new-name");
    struct config_result result = {0};
    struct errors e = {0};

    if (!find_entry(h, from))
        return;
    if (model_find_vr(config_model(), to)) {
        http_refuse(h, 409, "in-use", "there is a vr %s already", to);
        return;
    }
    if (refuse_for_token(h, from, to))
        return;
    struct commit how = {.by = http_peer(h)};
    vr_rename_begin(from, to);
    int r = commit_renamed(from, to, &how, &result, &e);
    vr_rename_end();
    configuration_answer(h, r, &result, &e);
}

static void print_use(const struct lyd_node *node, struct text *lines, struct text *uses)
{
    config_print_node(node, lines);
    text_printf(uses, "delete ");
    config_path(node, uses);
    text_printf(uses, "\n");
}

// Prints what refers to the virtual router: the whole list entry of the leaf ("interface p1", "port
// p0 queue vr red"), because the entry would mean something else without the leaf: a client that is
// bound to nothing may do everything. The vport of an interface is included.
static void add_referrer(const struct lyd_node *tree, const struct lyd_node *leaf,
                         struct text *lines, struct text *uses)
{
    const struct lyd_node *entry = lyd_parent(leaf), *vport = NULL;
    const struct lyd_node *what = entry && entry->schema->nodetype == LYS_LIST ? entry : leaf;
    bool is_interface = entry && !strcmp(entry->schema->name, "interface") && !lyd_parent(entry);

    if (is_interface)
        vport = config_find(tree, yang_child(NULL, "vport", true),
                            (const char *[]){lyd_get_value(lyd_child(entry))});
    if (vport)
        print_use(vport, lines, uses);
    print_use(what, lines, uses);
}

static void run_vr_lines(struct http *h, const struct lyd_node *op)
{
    const char *name = operation_input(op, "name");
    const struct lyd_node *entry = find_entry(h, name);
    struct text lines = {0}, uses = {0};
    struct lyd_nodes v = {0};
    struct jwrite j;

    if (!entry)
        return;
    config_print_node(entry, &lines);
    config_referrers(bound_running(h), entry->schema, name, &v);
    for (size_t i = 0; i < v.n; i++)
        add_referrer(bound_running(h), v.item[i], &lines, &uses);
    output_begin(&j, &(struct text){0});
    configuration_write_lines(&j, "line", &lines);
    configuration_write_lines(&j, "use", &uses);
    output_send(h, &j);
    vec_free(&v);
    text_free(&lines);
    text_free(&uses);
}

extern const struct feature_config vr_config;
const struct feature vr_feature = {
    "vr",
    .config = &vr_config,
    .state = (const struct feature_state[]){{"vr", .ask = ask_vr}, {0}},
    .operations =
        (const struct feature_operation[]){{"vr-rename", run_vr_rename, OPERATION_CHANGES},
                                           {"vr-lines", run_vr_lines, OPERATION_READS},
                                           {0}},
    .metrics = &(const struct feature_metrics){collect_vrs, write_vr_metrics},
};
