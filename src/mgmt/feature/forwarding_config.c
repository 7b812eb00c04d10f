// SPDX-License-Identifier: BSD-3-Clause
// model_settings.c - what a configuration has once: settings, limits of punted packets and of ICMP
#include "model/model_settings.h"

#include <string.h>

#include "base/log.h"
#include "model/model_acl.h"
#include "model/model_alarm.h"
#include "model/model_leaf.h"
#include "model/model_vr.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

static uint32_t read_limit(const struct lyd_node *first, const char *leaf, uint32_t absent)
{
    return (uint32_t)leaf_number(first, leaf, absent);
}

void model_read_punt(struct model *m, const struct lyd_node *entry)
{
    const struct lyd_node *first = lyd_child(entry);
    int class = leaf_word(first, "class", punt_class_name, PUNT_CLASS_N);

    bug_on(class < 0);
    struct punt_limit *p = &m->settings.punt[class];
    p->per_s = read_limit(first, "rate", p->per_s);
    p->burst = read_limit(first, "burst", p->burst);
    p->queue = read_limit(first, "queue", p->queue);
}

static void read_icmp(struct icmp_limit *l, const struct lyd_node *first)
{
    l->per_s = read_limit(first, "rate", icmp_limit_default.per_s);
    l->burst = read_limit(first, "burst", icmp_limit_default.burst);
    l->total_per_s = read_limit(first, "total-rate", icmp_limit_default.total_per_s);
    l->total_burst = read_limit(first, "total-burst", icmp_limit_default.total_burst);
}

void model_read_settings(struct model *m, const struct lyd_node *tree)
{
    struct model_settings *s = &m->settings;
    static const char *const levels[] = {"error", "warning", "notice", "info", "debug"};
    static const char *const idles[] = {"performance", "balanced", "powersave"};
    static const char *const options[] = {"drop", "ignore", "process"};
    const struct lyd_node *how = leaf_inside(tree, NULL, "forwarding");
    int level = leaf_word(tree, "log-level", levels, 5);
    int idle = leaf_word(how, "idle", idles, 3);
    int option = leaf_word(how, "ipv4-options", options, 3);
    const char *pages = config_value(tree, "huge-pages");

    s->engine = model_read_engine(tree, FIB_POPTRIE);
    s->memory_mib = (unsigned)leaf_number(tree, "memory", 0);
    s->no_huge = pages && !strcmp(pages, "never");
    s->log_level = level < 0 ? LOG_LEVEL_INFO : LOG_LEVEL_ERROR + level;
    s->idle = idle < 0 ? IDLE_BALANCED : (enum idle_mode)idle;
    s->receive_buffer =
        (uint32_t)leaf_number(leaf_inside(tree, NULL, "netlink"), "receive-buffer", 268435456);
    s->journal_mib = (uint32_t)leaf_number(leaf_inside(tree, NULL, "journal"), "size", 64);
    s->audit_interval_s =
        (uint32_t)leaf_number(leaf_inside(tree, NULL, "fib-audit"), "interval", 300);
    s->ip4_options = option < 0 ? IP4_OPTIONS_DROP : (uint8_t)option;
    s->count_nexthops = leaf_true(leaf_inside(tree, NULL, "counters"), "nexthop");
    s->latency_sample = (uint32_t)leaf_number(how, "latency-sample", 0);
    s->flow_hash = model_read_flow_hash(how, flow_hash_default);
    model_default_alarms(s);
    memcpy(s->punt, punt_limit_default, sizeof s->punt);
    read_icmp(&s->icmp, leaf_inside(tree, NULL, "icmp"));
    s->acls = model_read_binding(how, yang_child(NULL, "forwarding", true));
}
