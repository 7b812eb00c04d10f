// SPDX-License-Identifier: BSD-3-Clause
// metric.c - writing metrics as OpenMetrics 1.0 or as Prometheus' text format 0.0.4
//
// The two differ in little: OpenMetrics names a counter's family without its "_total", includes
// units and ends in "# EOF".
#include "restconf/metric.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/plain.h"
#include "restconf/bound.h"

static const char *type_name(const struct metrics *m)
{
    switch (m->type) {
    case METRIC_COUNTER: return "counter";
    case METRIC_HISTOGRAM: return "histogram";
    case METRIC_INFO: return m->openmetrics ? "info" : "gauge";
    case METRIC_GAUGE: break;
    }
    return "gauge";
}

static const char *suffix_of(enum metric_type type)
{
    return type == METRIC_COUNTER ? "_total" : type == METRIC_INFO ? "_info" : "";
}

void metric_family(struct metrics *m, enum metric_type type, const char *name, const char *unit,
                   const char *help)
{
    snprintf(m->family, sizeof m->family, "%s", name);
    m->type = type;
    const char *suffix = m->openmetrics ? "" : suffix_of(type);
    struct text *t = m->vr ? &m->head : &m->text;
    text_clear(&m->head);
    text_printf(t, "# TYPE kamuee_%s%s %s\n", name, suffix, type_name(m));
    if (m->openmetrics && *unit)
        text_printf(t, "# UNIT kamuee_%s %s\n", name, unit);
    text_printf(t, "# HELP kamuee_%s%s %s\n", name, suffix, help);
}

// False: the client must not see it.
static bool write_sample(struct metrics *m, const char *suffix, va_list labels)
{
    char before = '{';
    const char *name;
    va_list same;

    va_copy(same, labels);
    bool seen = !m->vr || bound_sees_sample(m->vr, same);
    va_end(same);
    if (!seen)
        return false;
    text_append(&m->text, text_str(&m->head), m->head.n);
    text_clear(&m->head);
    text_printf(&m->text, "kamuee_%s%s", m->family, suffix);
    while ((name = va_arg(labels, const char *))) {
        text_printf(&m->text, "%c%s=\"", before, name);
        plain_append_quoted(&m->text, va_arg(labels, const char *), false);
        text_append(&m->text, "\"", 1);
        before = ',';
    }
    if (before == ',')
        text_append(&m->text, "}", 1);
    return true;
}

static void write_number(struct text *t, double value)
{
    if (isnan(value))
        text_printf(t, " NaN\n");
    else if (isinf(value))
        text_printf(t, value > 0 ? " +Inf\n" : " -Inf\n");
    else
        text_printf(t, " %.15g\n", value);
}

void metric_u64_of(struct metrics *m, uint64_t value, va_list labels)
{
    if (write_sample(m, suffix_of(m->type), labels))
        text_printf(&m->text, " %" PRIu64 "\n", value);
}

void metric_real_of(struct metrics *m, double value, va_list labels)
{
    if (write_sample(m, suffix_of(m->type), labels))
        write_number(&m->text, value);
}

void metric_u64(struct metrics *m, uint64_t value, ...)
{
    va_list labels;

    va_start(labels, value);
    metric_u64_of(m, value, labels);
    va_end(labels);
}

void metric_real(struct metrics *m, double value, ...)
{
    va_list labels;

    va_start(labels, value);
    metric_real_of(m, value, labels);
    va_end(labels);
}

void metric_part(struct metrics *m, const char *suffix, double value, ...)
{
    va_list labels;

    va_start(labels, value);
    if (write_sample(m, suffix, labels))
        write_number(&m->text, value);
    va_end(labels);
}

void metric_end(struct metrics *m)
{
    text_free(&m->head);
    if (m->openmetrics)
        text_printf(&m->text, "# EOF\n");
}

uint64_t metric_field(const void *base, size_t at)
{
    uint64_t value;

    memcpy(&value, (const char *)base + at, sizeof value);
    return value;
}
