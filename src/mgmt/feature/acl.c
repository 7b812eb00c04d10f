// SPDX-License-Identifier: BSD-3-Clause
// metrics_acl.c - access lists, address sets, and mirrors
//
// Rules of the configuration have counters of their own; rules of files do not: a million of them
// would make a million series. They are in what their list decided in all.
#include <stddef.h>
#include <stdio.h>

#include "base/text.h"
#include "restconf/metric.h"
#include "restconf/metrics.h"
#include "port/mirror_manager.h"
#include "table/acl_target.h"
#include "table/watch.h"

static void each_rule(struct metrics *m, const struct acl_answer *a, bool bytes)
{
    vec_foreach (&a->counter, row) {
        char number[12];

        snprintf(number, sizeof number, "%u", row->number);
        metric_u64(m, bytes ? row->hits.bytes : row->hits.packets, "acl",
                   a->list.item[row->list].name, "rule", number, "action", acl_verb_name[row->verb],
                   NULL);
    }
}

static void write_rules(struct metrics *m, const struct acl_answer *a)
{
    metric_family(m, METRIC_COUNTER, "acl_rule_packets", "packets",
                  "Packets matched by the rule, for rules in the configuration.");
    each_rule(m, a, false);
    metric_family(m, METRIC_COUNTER, "acl_rule_bytes", "bytes", "Bytes of those IP packets.");
    each_rule(m, a, true);
    metric_family(m, METRIC_GAUGE, "acl_rules_left_out", "",
                  "Rules in the configuration that are not exported because there are too many.");
    metric_u64(m, a->counter.n == ACL_COUNTED_MAX ? a->rules - ACL_COUNTED_MAX : 0, NULL);
}

static void each_verdict(struct metrics *m, const struct acl_answer *a, bool bytes)
{
    vec_foreach (&a->list, row)
        for (unsigned v = 0; v < ACL_VERDICTS; v++)
            metric_u64(m, bytes ? row->total[v].bytes : row->total[v].packets, "acl", row->name,
                       "verdict", acl_verdict_name[v], NULL);
}

static void write_lists(struct metrics *m, const struct acl_answer *a)
{
    metric_family(m, METRIC_COUNTER, "acl_packets", "packets",
                  "Packets decided by the access list, including by rules from its file.");
    each_verdict(m, a, false);
    metric_family(m, METRIC_COUNTER, "acl_bytes", "bytes", "Bytes of those IP packets.");
    each_verdict(m, a, true);
    metric_family(m, METRIC_GAUGE, "acl_rules", "",
                  "Rules in the access list, including those from its file.");
    vec_foreach (&a->list, row)
        metric_u64(m, row->cost.rules, "acl", row->name, NULL);
    metric_family(m, METRIC_GAUGE, "acl_memory_bytes", "bytes", "Memory used by the access list.");
    vec_foreach (&a->list, row)
        metric_u64(m, row->bytes, "acl", row->name, NULL);
    metric_family(m, METRIC_COUNTER, "acl_unmatched_packets", "packets",
                  "Packets that no rule matched.");
    vec_foreach (&a->list, row)
        metric_u64(m, row->unmatched.packets, "acl", row->name, "action",
                   acl_verb_name[row->otherwise], NULL);
    metric_family(m, METRIC_COUNTER, "acl_unmatched_bytes", "bytes", "Bytes of those IP packets.");
    vec_foreach (&a->list, row)
        metric_u64(m, row->unmatched.bytes, "acl", row->name, "action",
                   acl_verb_name[row->otherwise], NULL);
}

static void write_sets(struct metrics *m, const struct acl_answer *a)
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

static void each_redirect(struct metrics *m, const struct acl_redirect_row *row, unsigned n,
                          size_t at)
{
    for (unsigned i = 0; i < n; i++) {
        char to[IP_TEXT_MAX];
        uint64_t value;

        __builtin_memcpy(&value, (const char *)&row[i] + at, sizeof value);
        metric_u64(m, value, "to", ip_format(&row[i].to, to), NULL);
    }
}

static void write_redirects(struct metrics *m)
{
    static struct acl_redirect_row row[ACL_REDIRECT_MAX];
    unsigned n = acl_redirect_rows(row);

    if (!n)
        return;
    metric_family(m, METRIC_COUNTER, "acl_redirected_packets", "packets",
                  "Packets redirected to the address by rules.");
    each_redirect(m, row, n, offsetof(struct acl_redirect_row, sent));
    metric_family(m, METRIC_COUNTER, "acl_redirect_no_way_packets", "packets",
                  "Packets to be redirected that followed their own route instead, because the "
                  "address had no route.");
    each_redirect(m, row, n, offsetof(struct acl_redirect_row, no_way));
}

void metrics_acl(struct metrics *m, const struct acl_answer *a)
{
    write_redirects(m);
    metric_family(m, METRIC_GAUGE, "acl_building", "",
                  "1: access lists or address sets are being built; their other metrics are "
                  "missing meanwhile.");
    metric_u64(m, !a, NULL);
    if (!a)
        return;
    if (a->list.n) {
        write_lists(m, a);
        write_rules(m, a);
    }
    if (a->set.n)
        write_sets(m, a);
}

// --- mirrors ---

static const struct {
    const char *name, *unit, *help;
    size_t at;
} number[] = {
    {"mirror_sent_packets", "packets",
     "Packets mirrored, by port or, for access-list rules, by mirror session.",
     offsetof(struct watch_count, taken)},
    {"mirror_sent_bytes", "bytes", "Bytes of those frames.", offsetof(struct watch_count, bytes)},
    {"mirror_missed_packets", "packets", "Packets the mirror missed because its queue was full.",
     offsetof(struct watch_count, missed)},
};

static void write_mirror(struct metrics *m, const struct mirror *mirror, uint64_t n)
{
    bool rx = mirror->points >> WATCH_RX & 1, tx = mirror->points >> WATCH_TX & 1;

    if (mirror->session[0])
        metric_u64(m, n, "session", mirror->session, NULL);
    else
        metric_u64(m, n, "port", mirror->port, "direction",
                   rx && tx ? "both"
                   : rx     ? "rx"
                            : "tx",
                   NULL);
}

void metrics_mirror(struct metrics *m)
{
    struct watch_count n;
    struct mirror mirror;

    for (unsigned f = 0; f < sizeof number / sizeof *number && mirror_manager_at(0, &mirror, &n);
         f++) {
        metric_family(m, METRIC_COUNTER, number[f].name, number[f].unit, number[f].help);
        for (unsigned i = 0; mirror_manager_at(i, &mirror, &n); i++) {
            uint64_t value;
            __builtin_memcpy(&value, (const char *)&n + number[f].at, sizeof value);
            write_mirror(m, &mirror, value);
        }
    }
}
