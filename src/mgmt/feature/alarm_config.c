// SPDX-License-Identifier: BSD-3-Clause
// model_alarm.c - the limits of alarms of a configuration: read, and judged by what the schema
// cannot say
#include "model/model_alarm.h"

#include "base/log.h"
#include "model/model_leaf.h"

void model_default_alarms(struct model_settings *s)
{
    for (unsigned n = 0; n < ALARM_N; n++)
        s->alarm[n] = alarm_kind[n].limit;
}

void model_read_alarm(struct model *m, const struct lyd_node *entry)
{
    const struct lyd_node *first = lyd_child(entry);
    const char *name[ALARM_N];

    for (unsigned n = 0; n < ALARM_N; n++)
        name[n] = alarm_kind[n].name;
    int n = leaf_word(first, "name", name, ALARM_N);
    bug_on(n < 0);
    struct alarm_limit *l = &m->settings.alarm[n];
    l->enabled = leaf_true(first, "enabled");
    l->raise = (uint32_t)leaf_number(first, "raise", l->raise);
    l->clear = (uint32_t)leaf_number(first, "clear", l->clear < l->raise ? l->clear : l->raise - 1);
    m->settings.alarm_line[n] = leaf_line(entry, "clear");
}

void model_read_daemon(struct model *m, const struct lyd_node *entry)
{
    const struct lyd_node *first = lyd_child(entry);
    struct routing_daemons *all = &m->settings.daemons;

    if (all->n == ROUTING_DAEMON_MAX)
        return; // the schema has refused it
    struct routing_daemon *d = &all->item[all->n++];

    leaf_copy(d->vr, sizeof d->vr, first, "vr", "");
    leaf_copy(d->protocol, sizeof d->protocol, first, "protocol", "");
    d->minimum_routes = (uint32_t)leaf_number(first, "minimum-routes", 1);
}

void model_check_alarms(const struct model *m, struct errors *e)
{
    for (unsigned n = 0; n < ALARM_N; n++) {
        const struct alarm_limit *l = &m->settings.alarm[n];

        if (l->clear >= l->raise)
            errors_add(e, m->settings.alarm_line[n],
                       "alarm %s: 'clear' is %u, expected less than 'raise', which is %u",
                       alarm_kind[n].name, l->clear, l->raise);
    }
}

bool model_same_alarms(const struct model_settings *a, const struct model_settings *b)
{
    bool same = true;

    for (unsigned n = 0; n < ALARM_N; n++) {
        const struct alarm_limit *x = &a->alarm[n], *y = &b->alarm[n];
        same &= x->enabled == y->enabled && x->raise == y->raise && x->clear == y->clear;
    }
    return same;
}
