// SPDX-License-Identifier: BSD-3-Clause
// alarm_config.c - the limits of alarms, by the configuration
#include "alarm/alarm.h"

#include "base/log.h"
#include "config/feature_config.h"
#include "config/leaf.h"

struct model_alarm {
    struct alarm_limit limit[ALARM_N];
    unsigned line[ALARM_N];
};

static void read_alarm(struct model *m, const struct lyd_node *entry)
{
    struct model_alarm *a = m->part[FEATURE_alarm];
    const struct lyd_node *first = lyd_child(entry);
    const char *name[ALARM_N];

    for (unsigned n = 0; n < ALARM_N; n++)
        name[n] = alarm_kind[n].name;
    int n = leaf_word(first, "name", name, ALARM_N);
    bug_on(n < 0);
    struct alarm_limit *l = &a->limit[n];
    l->enabled = leaf_true(first, "enabled");
    l->raise = (uint32_t)leaf_number(first, "raise", l->raise);
    l->clear = (uint32_t)leaf_number(first, "clear", l->clear < l->raise ? l->clear : l->raise - 1);
    a->line[n] = leaf_line(entry, "clear");
}

static void read_alarms(struct model *m, const struct lyd_node *tree, const struct model *known,
                        struct errors *e)
{
    struct model_alarm *a = m->part[FEATURE_alarm];

    for (unsigned n = 0; n < ALARM_N; n++)
        a->limit[n] = alarm_kind[n].limit;
    model_read_list(m, tree, NULL, "alarm", read_alarm);
}

static void check_limits(const struct model *m, struct errors *e)
{
    const struct model_alarm *a = m->part[FEATURE_alarm];

    for (unsigned n = 0; n < ALARM_N; n++)
        if (a->limit[n].clear >= a->limit[n].raise)
            errors_add(e, a->line[n],
                       "alarm %s: 'clear' is %u, expected less than 'raise', which is %u",
                       alarm_kind[n].name, a->limit[n].clear, a->limit[n].raise);
}

static int set_limits(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    alarm_set_limits(((const struct model_alarm *)to)->limit);
    return 0;
}

static void plan_alarms(struct change *c)
{
    static const struct step_kind limits = {"", set_limits};
    const struct model_alarm *from = c->from->part[FEATURE_alarm], *to = c->to->part[FEATURE_alarm];
    bool same = true;

    for (unsigned n = 0; n < ALARM_N; n++) {
        const struct alarm_limit *a = &from->limit[n], *b = &to->limit[n];
        same &= a->enabled == b->enabled && a->raise == b->raise && a->clear == b->clear;
    }
    if (!same)
        step_add(c, &limits, "", from, to, 0);
}

const struct feature_config alarm_config = {
    .part_size = sizeof(struct model_alarm),
    .read = read_alarms,
    .check = check_limits,
    .phases = (const struct feature_phase[]){{PHASE_SETTINGS, plan_alarms}, {0}},
};
