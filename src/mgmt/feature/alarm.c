// SPDX-License-Identifier: BSD-3-Clause
// alarm.c - alarms for clients: limits, expected routing daemons, state, metrics, and operations
//
// alarm_list.c keeps the alarms, and alarm_watch.c looks for them once a second.
#include "alarm/alarm.h"

#include "alarm/session.h"
#include "base/log.h"
#include "config/feature_config.h"
#include "config/leaf.h"
#include "feature/alarm_watch.h"
#include "http/refuse.h"
#include "mgmt/feature.h"
#include "model/model.h"
#include "restconf/column.h"
#include "restconf/metrics.h"
#include "restconf/operation.h"
#include "restconf/state.h"
#include "yang/config_tree.h"

// --- configuration -------------------------------------------------------------------------------

struct model_alarm {
    struct alarm_limit limit[ALARM_N];
    unsigned line[ALARM_N];
};

static const struct column limit_columns[] = {
    COLUMN(struct alarm_limit, enabled, "enabled"),
    COLUMN(struct alarm_limit, raise, "raise"),
    COLUMN(struct alarm_limit, clear, "clear"),
    {0}};

static void read_alarm(struct model *m, void *part, const struct lyd_node *entry)
{
    struct model_alarm *a = part;
    const struct lyd_node *first = lyd_child(entry);
    int n = leaf_word(first, "name", alarm_word, ALARM_N);

    bug_on(n < 0);
    struct alarm_limit *l = &a->limit[n];
    columns_read(first, limit_columns, l);
    if (!config_value(first, "clear") && l->clear >= l->raise)
        l->clear = l->raise - 1;
    a->line[n] = leaf_line(entry, "clear");
}

static void check_limits(const struct model *m, struct errors *e)
{
    const struct model_alarm *a = m->part[FEATURE_alarm];

    for (unsigned n = 0; n < ALARM_N; n++)
        if (a->limit[n].clear >= a->limit[n].raise)
            errors_add(e, a->line[n],
                       "alarm %s: 'clear' is %u, expected less than 'raise', which is %u",
                       alarm_word[n], a->limit[n].clear, a->limit[n].raise);
}

static int set_limits(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    alarm_set_limits(to);
    return 0;
}

static const struct feature_config alarm_config = {
    .part_size = sizeof(struct model_alarm),
    .lists = (const struct feature_list[]){{.node = "alarm", .read = read_alarm}, {0}},
    .values = (const struct feature_value[]){{PHASE_SETTINGS, {"", set_limits},
                                              PART_VALUE(struct model_alarm, limit),
                                              .initial = alarm_limit_default},
                                             {0}},
    .check = check_limits,
};

// --- state, metrics, operation silence-alarm -----------------------------------------------------

static const struct column whom_columns[] = {
    COLUMN_WORD(struct alarm, name, "name", alarm_word),
    COLUMN(struct alarm, subject, "subject"),
    {0}};
static const struct column value_columns[] = {
    COLUMN(struct alarm, raised_wall_ns, "since", .time = true),
    COLUMN(struct alarm, cleared_wall_ns, "until", .time = true, .any = true),
    COLUMN(struct alarm, value, "value"),
    COLUMN(struct alarm, peak, "peak"),
    COLUMN(struct alarm, count, "count"),
    {0}};

static void write_alarm_state(void *ctx, const struct alarm *a)
{
    struct show *s = ctx;
    struct jwrite *j = &s->out;
    const struct alarm_silence *silence = alarm_silenced(a);
    struct text t = {0};

    if (!show_wants(s, alarm_word[a->name]))
        return;
    jwrite_begin(j, NULL, '{');
    columns_write(j, whom_columns, a);
    jwrite_string(j, "severity", alarm_kind[a->name].severity);
    columns_write(j, value_columns, a);
    if (silence && !a->cleared_wall_ns) {
        jwrite_time(j, "silenced-until", alarm_silence_until_wall(silence));
        jwrite_string(j, "silenced-by", silence->by);
    }
    alarm_message(a, &t);
    jwrite_string(j, "message", text_str(&t));
    text_free(&t);
    jwrite_end(j, '}');
}

static void list_alarms(struct show *s)
{
    alarm_each(write_alarm_state, s);
}

static void list_past_alarms(struct show *s)
{
    alarm_each_past(write_alarm_state, s);
}

static void run_silence_alarm(struct http *h, const struct lyd_node *op)
{
    const char *name = operation_input(op, "name"), *subject = operation_input(op, "subject");
    uint32_t seconds = (uint32_t)operation_input_number(op, "seconds", 0);
    enum alarm_name of = (enum alarm_name)leaf_word(lyd_child(op), "name", alarm_word, ALARM_N);

    if (alarm_silence(of, subject, seconds, http_peer(h))) {
        http_refuse(h, 409, "resource-denied",
                    "too many silenced alarms: at most %d; end one with 'silence alarm NAME "
                    "SUBJECT for 0s'",
                    ALARM_SILENCES);
        return;
    }
    log_notice("alarm: silenced: name=%s subject=%s seconds=%u by=%s", name, LOG_VALUE(subject),
               seconds, LOG_VALUE(http_peer(h)));
    http_reply(h, 204, NULL, NULL);
}

static void run_clear_alarm(struct http *h, const struct lyd_node *op)
{
    const char *name = operation_input(op, "name"), *subject = operation_input(op, "subject");

    if (!session_forget(subject)) {
        http_refuse(h, 404, "invalid-value", "no alarm '%s'%s%s: see show alarm", name,
                    *subject ? " about " : "", subject);
        return;
    }
    log_notice("alarm: cleared on request: name=%s subject=%s by=%s", name, LOG_VALUE(subject),
               LOG_VALUE(http_peer(h)));
    http_reply(h, 204, NULL, NULL);
}

static void write_alarm_value(void *metrics, const struct alarm *a)
{
    metric_u64(metrics, a->value, "name", alarm_word[a->name], "subject", a->subject, NULL);
}

static void write_alarm_metrics(struct metrics *m, const void *kept)
{
    metric_family(m, METRIC_GAUGE, "alarms", "", "Active alarms.");
    for (unsigned n = 0; n < ALARM_N; n++)
        metric_u64(m, alarm_active(n), "name", alarm_word[n], "severity",
                   alarm_kind[n].severity, NULL);
    metric_family(m, METRIC_GAUGE, "alarm_value", "",
                  "Value that raised the alarm; only for active alarms.");
    alarm_each(write_alarm_value, m);
    metric_family(m, METRIC_COUNTER, "alarms_raised", "", "Number of times the alarm was raised.");
    for (unsigned n = 0; n < ALARM_N; n++)
        metric_u64(m, alarm_raised_total(n), "name", alarm_word[n], NULL);
}

const struct feature alarm_feature = {
    "alarm",
    .config = &alarm_config,
    .saved = &alarm_saved,
    .state = (const struct feature_state[]){{"alarm", .list = list_alarms},
                                            {"alarm-history", .list = list_past_alarms},
                                            {0}},
    .operations =
        (const struct feature_operation[]){{"silence-alarm", .run = run_silence_alarm},
                                           {"clear-alarm", .run = run_clear_alarm},
                                           {0}},
    .metrics = &(const struct feature_metrics){.write = write_alarm_metrics},
    .start = alarm_watch_start,
    .stop = alarm_watch_stop,
};

// --- configured routing daemons, whose silence is an alarm (alarm/session.h) ---------------------

static const struct column daemon_columns[] = {
    COLUMN(struct model_routing_daemon, vr, "vr"),
    COLUMN(struct model_routing_daemon, protocol, "protocol"),
    COLUMN(struct model_routing_daemon, minimum_routes, "minimum-routes"),
    {0}};

static void read_daemon(struct model *m, void *row, const struct lyd_node *entry)
{
    columns_read(lyd_child(entry), daemon_columns, row);
}

static const struct feature_config routing_daemon_config = {
    .part_size = sizeof(struct model_routing_daemons),
    .lists =
        (const struct feature_list[]){{.node = "routing-daemon",
                                       LIST_ROWS(struct model_routing_daemons, expected),
                                       .read = read_daemon},
                                      {0}},
};

const struct feature routing_daemon_feature = {"routing_daemon", .config = &routing_daemon_config};
