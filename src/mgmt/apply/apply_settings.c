// SPDX-License-Identifier: BSD-3-Clause
// apply_settings.c - steps of what a configuration has once
//
// Each setting is a step of its own: a step that fails has changed nothing, and those before it are
// undone.
#include "apply/apply_settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "model/model_alarm.h"
#include "table/latency.h"
#include "table/nexthop_count.h"

struct setting {
    struct step_kind kind; // first: a step finds its setting by it
    size_t at, size;       // in struct model_settings
    int (*set)(const struct model_settings *s, char *err, size_t n);
    bool (*same)(const struct model_settings *a,
                 const struct model_settings *b); // NULL = compare the bytes
};

static int set_journal(const struct model_settings *s, char *err, size_t n)
{
    if (!rib_manager_set_journal(s->journal_mib))
        return 0;
    snprintf(err, n, "journal: no memory for %u MiB: set a smaller journal size", s->journal_mib);
    return -ENOMEM;
}

static int set_latency_sample(const struct model_settings *s, char *err, size_t n)
{
    if (!latency_start(s->latency_sample))
        return 0;
    snprintf(err, n, "forwarding latency-sample: no memory for latency histograms");
    return -ENOMEM;
}

static int set_count_nexthops(const struct model_settings *s, char *err, size_t n)
{
    if (!nexthop_count_set(s->count_nexthops))
        return 0;
    snprintf(err, n, "counters nexthop: no memory for the counters of next hops");
    return -ENOMEM;
}

static int set_audit_interval(const struct model_settings *s, char *err, size_t n)
{
    rib_manager_set_audit_interval(s->audit_interval_s);
    return 0;
}

static int set_log_level(const struct model_settings *s, char *err, size_t n)
{
    log_set_level((enum log_level)s->log_level);
    return 0;
}

static int set_idle(const struct model_settings *s, char *err, size_t n)
{
    thread_manager_set_idle(s->idle);
    return 0;
}

static int set_receive_buffer(const struct model_settings *s, char *err, size_t n)
{
    rib_manager_set_receive_buffer(s->receive_buffer);
    return 0;
}

static int set_ip4_options(const struct model_settings *s, char *err, size_t n)
{
    __atomic_store_n(&plan_ip4_options, s->ip4_options, __ATOMIC_RELAXED);
    return 0;
}

static int set_punt(const struct model_settings *s, char *err, size_t n)
{
    for (unsigned c = 0; c < PUNT_CLASS_N; c++)
        punt_policy_set(c, &s->punt[c]);
    return 0;
}

static int set_icmp(const struct model_settings *s, char *err, size_t n)
{
    icmp_limit_set(&s->icmp);
    return 0;
}

static int set_alarms(const struct model_settings *s, char *err, size_t n)
{
    alarm_set_limits(s->alarm);
    return 0;
}

static int set_daemons(const struct model_settings *s, char *err, size_t n)
{
    routing_daemon_set(&s->daemons);
    return 0;
}

static int run_setting(const struct step *step, const void *from, const void *to, char *err,
                       size_t n)
{
    return ((const struct setting *)step->kind)->set(to, err, n);
}

// What is refused names itself, so `what` is empty.
#define SETTING(member, set, same)                                                                 \
    {                                                                                              \
        {"", run_setting}, offsetof(struct model_settings, member),                                \
            sizeof(((struct model_settings *)0)->member), set, same                                \
    }
static const struct setting settings[] = {
    SETTING(journal_mib, set_journal, NULL),
    SETTING(latency_sample, set_latency_sample, NULL),
    SETTING(count_nexthops, set_count_nexthops, NULL),
    SETTING(audit_interval_s, set_audit_interval, NULL),
    SETTING(log_level, set_log_level, NULL),
    SETTING(idle, set_idle, NULL),
    SETTING(receive_buffer, set_receive_buffer, NULL),
    SETTING(ip4_options, set_ip4_options, NULL),
    SETTING(punt, set_punt, NULL),
    SETTING(icmp, set_icmp, NULL),
    SETTING(alarm, set_alarms, model_same_alarms),
    SETTING(daemons, set_daemons, NULL),
};

static bool same(const struct setting *s, const struct model_settings *a,
                 const struct model_settings *b)
{
    return s->same ? s->same(a, b)
                   : !memcmp((const char *)a + s->at, (const char *)b + s->at, s->size);
}

void plan_settings(struct plan_steps *p)
{
    const struct model_settings *from = &p->from->settings, *to = &p->to->settings;

    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (!same(&settings[i], from, to))
            step_add(p, &settings[i].kind, "", from, to, 0);
}
