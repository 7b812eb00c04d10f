// SPDX-License-Identifier: BSD-3-Clause
// apply_settings.c - steps of what a configuration has once
#include "apply/apply_settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "model/model_alarm.h"
#include "table/latency.h"
#include "table/nexthop_count.h"

static int run_settings(const struct step *step, const void *from, const void *to, char *err, size_t n)
{
    const struct model_settings *s = to;

    if (rib_manager_set_journal(s->journal_mib)) {
        snprintf(err, n, "journal: no memory for a journal of %u MiB: give it a smaller size", s->journal_mib);
        return -ENOMEM;
    }
    if (latency_start(s->latency_sample)) {
        snprintf(err, n, "forwarding latency-sample: no memory for histograms of latency");
        return -ENOMEM;
    }
    if (nexthop_count_set(s->count_nexthops)) {
        snprintf(err, n, "counters: no memory for those of next hops");
        return -ENOMEM;
    }
    rib_manager_set_audit_interval(s->audit_interval_s);
    log_set_level((enum log_level)s->log_level);
    thread_manager_set_idle(s->idle);
    rib_manager_set_receive_buffer(s->receive_buffer);
    __atomic_store_n(&plan_ip4_options, s->ip4_options, __ATOMIC_RELAXED);
    for (unsigned c = 0; c < PUNT_CLASS_N; c++)
        punt_policy_set(c, &s->punt[c]);
    icmp_limit_set(&s->icmp);
    alarm_set_limits(s->alarm);
    routing_daemon_set(&s->daemons);
    return 0;
}

static const struct step_kind settings_kind = {"", run_settings}; // what is refused names itself

static bool settings_same(const struct model_settings *a, const struct model_settings *b)
{
    return a->log_level == b->log_level && a->idle == b->idle &&
           a->receive_buffer == b->receive_buffer && a->journal_mib == b->journal_mib &&
           a->audit_interval_s == b->audit_interval_s && a->ip4_options == b->ip4_options &&
           a->latency_sample == b->latency_sample && a->count_nexthops == b->count_nexthops &&
           !memcmp(a->punt, b->punt, sizeof a->punt) && !memcmp(&a->icmp, &b->icmp, sizeof a->icmp) &&
           !memcmp(&a->daemons, &b->daemons, sizeof a->daemons) && model_same_alarms(a, b);
}

void plan_settings(struct plan_steps *p)
{
    if (!settings_same(&p->from->settings, &p->to->settings))
        step_add(p, &settings_kind, "", &p->from->settings, &p->to->settings, 0);
}
