// SPDX-License-Identifier: BSD-3-Clause
// metrics_alarm.c - alarms that are raised, and how often they were
#include "alarm/alarm.h"
#include "restconf/metric.h"
#include "restconf/metrics.h"

static void write_active(void *metrics, const struct alarm *a)
{
    metric_u64(metrics, a->value, "name", alarm_kind[a->name].name, "subject", a->subject, NULL);
}

void metrics_alarm(struct metrics *m)
{
    metric_family(m, METRIC_GAUGE, "alarms", "", "Active alarms.");
    for (unsigned n = 0; n < ALARM_N; n++)
        metric_u64(m, alarm_active(n), "name", alarm_kind[n].name, "severity",
                   alarm_kind[n].severity, NULL);
    metric_family(m, METRIC_GAUGE, "alarm_value", "",
                  "Value that raised the alarm; only for active alarms.");
    alarm_each(write_active, m);
    metric_family(m, METRIC_COUNTER, "alarms_raised", "", "Number of times the alarm was raised.");
    for (unsigned n = 0; n < ALARM_N; n++)
        metric_u64(m, alarm_raised_total(n), "name", alarm_kind[n].name, NULL);
}
