// SPDX-License-Identifier: BSD-3-Clause
// show_alarm.c - alarms that are raised, and those that were
#include <string.h>

#include "alarm/alarm.h"
#include "base/text.h"
#include "restconf/state.h"

static void write_alarm(void *ctx, const struct alarm *a)
{
    struct show *s = ctx;
    struct jwrite *j = &s->out;
    const struct alarm_silence *silence = alarm_silenced(a);
    struct text t = {0};

    if ((s->key[0] && strcmp(s->key[0], alarm_kind[a->name].name)) ||
        (s->key[1] && strcmp(s->key[1], a->subject)))
        return;
    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "name", alarm_kind[a->name].name);
    jwrite_string(j, "subject", a->subject);
    jwrite_string(j, "severity", alarm_kind[a->name].severity);
    jwrite_time(j, "since", a->raised_wall_ns);
    if (a->cleared_wall_ns)
        jwrite_time(j, "until", a->cleared_wall_ns);
    jwrite_u64(j, "value", a->value);
    jwrite_u64(j, "peak", a->peak);
    jwrite_int(j, "count", a->count);
    if (silence && !a->cleared_wall_ns) {
        jwrite_time(j, "silenced-until", silence->until_wall_ns);
        jwrite_string(j, "silenced-by", silence->by);
    }
    alarm_message(a, &t);
    jwrite_string(j, "message", text_str(&t));
    text_free(&t);
    jwrite_end(j, '}');
}

int show_alarm(struct show *s)
{
    jwrite_begin(&s->out, s->name, '[');
    alarm_each(write_alarm, s);
    jwrite_end(&s->out, ']');
    return SHOW_NOW;
}

int show_alarm_history(struct show *s)
{
    jwrite_begin(&s->out, s->name, '[');
    alarm_each_past(write_alarm, s);
    jwrite_end(&s->out, ']');
    return SHOW_NOW;
}
