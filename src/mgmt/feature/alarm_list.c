// SPDX-License-Identifier: BSD-3-Clause
// alarm_list.c - current problems: thresholds with hysteresis, and a history of cleared alarms
//
// Few alarms are raised at a time, so they are a list. A cleared alarm moves to the history, a
// ring. If an alarm of the history is raised again, its count continues.
#include "feature/alarm.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "base/vec.h"
#include "core/thread.h"
#include "event/event.h"
#include "feature/saved_state.h"
#include "mgmt/feature.h"
#include "restconf/column.h"

const struct alarm_kind alarm_kind[ALARM_N] = {
    [ALARM_LEDGER] = {"ledger",
                      "critical",
                      "packets",
                      "packets appeared or disappeared without being counted: a bug in kamueed; "
                      "please report it",
                      {true, 1, 0}},
    [ALARM_FIB_DIVERGENCE] =
        {"fib-divergence",
         "major",
         "prefixes in an hour",
         "audits found and repaired differences between kernel and FIB: see show audit",
         {true, 1, 0}},
    [ALARM_TABLE] = {"table",
                     "major",
                     "percent",
                     "a table is nearly full; entries that do not fit are rejected and logged",
                     {true, 80, 70}},
    [ALARM_BUFFERS] =
        {"buffers",
         "major",
         "percent",
         "almost all packet buffers are in use; increase memory, or use fewer descriptors",
         {true, 95, 90}},
    [ALARM_PUNT_DROPS] = {"punt-drops",
                          "major",
                          "packets in a minute",
                          "packets for the control plane are being dropped: see show punt",
                          {true, 1000, 0}},
    [ALARM_PORT_DOWN] = {"port-down",
                         "major",
                         "seconds",
                         "the port is configured, and has no carrier: check the link and the other "
                         "end; a port that is not in use should be stopped ('port stop')",
                         {true, 5, 0}},
    [ALARM_LINK_FLAPPING] = {"link-flapping",
                             "major",
                             "changes in a minute",
                             "the port's link is flapping",
                             {true, 5, 0}},
    [ALARM_LAG_DEGRADED] = {"lag-degraded",
                            "major",
                            "members out of use",
                            "the LAG has fewer members in use than configured: show lag shows why; "
                            "check the link, and LACP at the other end",
                            {true, 1, 0}},
    [ALARM_QUEUE_RATE] = {"queue-rate",
                          "major",
                          "percent",
                          "the port's device is slower than the queue's rate, so guarantees may "
                          "not hold: lower the rate ('set port PORT queue rate'), or find out why "
                          "the device is slow",
                          {true, 1, 0}},
    [ALARM_QUEUE_GUARANTEE] = {"queue-guarantee",
                               "major",
                               "percent",
                               "the queue sends less than it guarantees although packets wait: "
                               "keep the core that sends for the port to itself (see show queue, "
                               "'set port PORT queue core'), or lower the guarantee",
                               {true, 10, 5}},
    [ALARM_OFFLOAD_CUT] = {"offload-cut",
                           "major",
                           "segments in a minute",
                           "segments longer than the link MTU are being dropped: on the sender run "
                           "ethtool -K DEV tso off gso off",
                           {true, 1, 0}},
    [ALARM_TEMPERATURE] = {"temperature",
                           "critical",
                           "degrees Celsius",
                           "the port's device or optical module is too hot",
                           {true, 90, 80}},
    [ALARM_STALL] = {"stall", "critical", "seconds", "the thread is stuck", {true, 5, 1}},
    [ALARM_NETLINK_OVERRUN] = {"netlink-overrun",
                               "minor",
                               "overruns in ten minutes",
                               "the kernel lost netlink messages and tables were dumped again; "
                               "increase netlink receive-buffer",
                               {true, 1, 0}},
    [ALARM_SESSION_DOWN] = {"session-down",
                            "major",
                            "seconds",
                            "the routing session, or the protocol's last route, is gone: ask the "
                            "routing daemon; if it was removed on purpose: 'clear alarm "
                            "session-down'",
                            {true, 10, 0}},
    [ALARM_ROUTING_DAEMON] = {"routing-daemon",
                              "major",
                              "seconds",
                              "the routing daemon has fewer routes than expected, or no longer "
                              "reads the kernel's route messages; packets "
                              "follow the kernel's routes",
                              {true, 30, 0}},
    [ALARM_KERNEL_STATE] = {"kernel-state",
                            "major",
                            "attribute",
                            "kamueed does not follow a setting of Linux that affects forwarding; "
                            "audit and the log show it and the remedy",
                            {true, 1, 0}},
    [ALARM_VR_BUDGET] = {"vr-budget",
                         "minor",
                         "percent",
                         "the virtual router has nearly used up its budget: see show vr; raise it "
                         "by 'set vr NAME budget'",
                         {true, 90, 85}},
    [ALARM_VR_BUDGET_FULL] = {"vr-budget-full",
                              "major",
                              "percent",
                              "the virtual router has used up its budget, and requests beyond it "
                              "are refused: see show vr; raise it by 'set vr NAME budget'",
                              {true, 100, 99}},
    [ALARM_CRASH] = {"crash",
                     "critical",
                     "crashes in a day",
                     "kamueed has crashed and was started again: report it with the archive that "
                     "'kamuee show tech-support' writes",
                     {true, 1, 0}},
    [ALARM_PROGRAM_FAULT] = {"program-fault",
                             "major",
                             "threads",
                             "a packet program is off after a fault, and its packets are dropped "
                             "or pass as configured: see show program; 'program replace' starts "
                             "it",
                             {true, 1, 0}},
    [ALARM_GPU] = {"gpu",
                   "major",
                   "devices",
                   "a configured GPU is not used, and the CPU looks up: see show gpu; 'gpu reopen' "
                   "opens it again",
                   {true, 1, 0}},
    [ALARM_PROCESS] = {"process",
                       "major",
                       "processes",
                       "a process beside kamueed does not answer, or does not end although it was "
                       "killed: the log says why",
                       {true, 1, 0}},
    [ALARM_ROUTE_NOT_FOLLOWED] = {"route-not-followed",
                                  "major",
                                  "rules and routes",
                                  "forwarding does not follow them, but Linux does: see show audit",
                                  {true, 1, 0}},
};

static struct {
    struct alarm_limit limit[ALARM_N];
    uint64_t raised_total[ALARM_N];
    VEC(struct alarm) active;
    VEC(struct alarm_silence) silence;
    struct alarm past[ALARM_HISTORY]; // ring; newest at (n_past - 1) % ALARM_HISTORY
    uint64_t n_past;
    uint64_t round, now_ns, wall_ns; // time of the last round
} state;

void alarm_init(void)
{
    thread_must_be(ROLE_CONTROL);
    alarm_fini();
    for (unsigned n = 0; n < ALARM_N; n++)
        state.limit[n] = alarm_kind[n].limit;
}

void alarm_fini(void)
{
    vec_free(&state.active);
    vec_free(&state.silence);
    memset(&state, 0, sizeof state);
}

void alarm_set_limits(const struct alarm_limit limit[ALARM_N])
{
    thread_must_be(ROLE_CONTROL);
    memcpy(state.limit, limit, sizeof state.limit);
}

void alarm_message(const struct alarm *a, struct text *t)
{
    const struct alarm_kind *k = &alarm_kind[a->name];

    text_printf(t, "%s%s%" PRIu64 " %s: %s", a->subject, a->subject[0] ? ": " : "", a->value,
                k->unit, k->sentence);
}

const struct alarm_silence *alarm_silenced(const struct alarm *a)
{
    vec_foreach (&state.silence, s)
        if (s->name == a->name && (!s->subject[0] || !strcmp(s->subject, a->subject)) &&
            s->until_ns > state.now_ns)
            return s;
    return NULL;
}

uint64_t alarm_silence_until_wall(const struct alarm_silence *s)
{
    return state.wall_ns + (s->until_ns - state.now_ns);
}

int alarm_silence(enum alarm_name name, const char *subject, uint32_t seconds, const char *by)
{
    struct alarm_silence *mine = NULL;
    size_t n = 0;

    thread_must_be(ROLE_CONTROL);
    for (size_t i = 0; i < state.silence.n;
         i++) { // removes expired silences and the one to be replaced
        struct alarm_silence *s = &state.silence.item[i];
        if (s->until_ns > state.now_ns && (s->name != name || strcmp(s->subject, subject)))
            state.silence.item[n++] = *s;
    }
    state.silence.n = n;
    if (!seconds)
        return 0;
    if (n == ALARM_SILENCES)
        return -ENOSPC;
    mine = vec_push(&state.silence);
    *mine = (struct alarm_silence){.name = name,
                                   .until_ns = state.now_ns + seconds * NS_PER_SECOND};
    snprintf(mine->subject, sizeof mine->subject, "%s", subject);
    snprintf(mine->by, sizeof mine->by, "%s", by);
    return 0;
}

static void report_alarm(const struct alarm *a, bool raised)
{
    const struct alarm_kind *k = &alarm_kind[a->name];
    const char *status = raised ? "raised" : "cleared";
    struct text t = {0};

    alarm_message(a, &t);
    if (raised)
        log_warning("alarm: raised: name=%s subject=\"%s\" severity=%s message=\"%s\"", k->name,
                    a->subject, k->severity, text_str(&t));
    else
        log_notice("alarm: cleared: name=%s subject=\"%s\" peak=%" PRIu64, k->name, a->subject,
                   a->peak);
    event_publish("alarm-change",
                  json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", k->name, "subject", a->subject,
                            "status", status, "severity", k->severity, "message", text_str(&t)));
    text_free(&t);
}

static void report_unless_silenced(struct alarm *a)
{
    a->told = !alarm_silenced(a);
    if (a->told)
        report_alarm(a, true);
}

static uint32_t raised_before(enum alarm_name name, const char *subject)
{
    for (uint64_t i = state.n_past; i && i + ALARM_HISTORY > state.n_past; i--) {
        const struct alarm *a = &state.past[(i - 1) % ALARM_HISTORY];
        if (a->name == name && !strcmp(a->subject, subject))
            return a->count;
    }
    return 0;
}

static void raise_alarm(enum alarm_name name, const char *subject, uint64_t value)
{
    struct alarm *a = vec_push(&state.active);

    *a = (struct alarm){.name = name,
                        .value = value,
                        .peak = value,
                        .raised_wall_ns = state.wall_ns,
                        .round = state.round,
                        .count = raised_before(name, subject) + 1};
    snprintf(a->subject, sizeof a->subject, "%s", subject);
    state.raised_total[name]++;
    report_unless_silenced(a);
}

// Moves active[i] to the history; the others keep their order.
static void end_alarm(size_t i)
{
    struct alarm *a = &state.past[state.n_past++ % ALARM_HISTORY];

    *a = state.active.item[i];
    a->cleared_wall_ns = state.wall_ns;
    memmove(&state.active.item[i], &state.active.item[i + 1],
            (state.active.n - i - 1) * sizeof *state.active.item);
    state.active.n--;
    if (a->told)
        report_alarm(a, false);
}

void alarm_round_begin(uint64_t now_ns, uint64_t wall_ns)
{
    thread_must_be(ROLE_CONTROL);
    state.round++;
    state.now_ns = now_ns;
    state.wall_ns = wall_ns;
}

void alarm_observe(enum alarm_name name, const char *subject, uint64_t value)
{
    const struct alarm_limit *l = &state.limit[name];

    for (size_t i = 0; i < state.active.n; i++) {
        struct alarm *a = &state.active.item[i];

        if (a->name != name || strcmp(a->subject, subject))
            continue;
        a->value = value;
        a->peak = value > a->peak ? value : a->peak;
        a->round = state.round;
        if (value <= l->clear || !l->enabled)
            end_alarm(i);
        return;
    }
    if (l->enabled && value >= l->raise)
        raise_alarm(name, subject, value);
}

void alarm_round_end(void)
{
    for (size_t i = state.active.n; i; i--)
        if (state.active.item[i - 1].round != state.round)
            end_alarm(i - 1);
    vec_foreach (&state.active, a)
        if (!a->told)
            report_unless_silenced(a);
}

void alarm_each(void (*fn)(void *ctx, const struct alarm *a), void *ctx)
{
    vec_foreach (&state.active, a)
        fn(ctx, a);
}

void alarm_each_past(void (*fn)(void *ctx, const struct alarm *a), void *ctx)
{
    for (uint64_t i = state.n_past; i && i + ALARM_HISTORY > state.n_past; i--)
        fn(ctx, &state.past[(i - 1) % ALARM_HISTORY]);
}

unsigned alarm_active(enum alarm_name name)
{
    unsigned n = 0;

    vec_foreach (&state.active, a)
        n += a->name == name && !alarm_silenced(a);
    return n;
}

uint64_t alarm_raised_total(enum alarm_name name)
{
    return state.raised_total[name];
}

// --- state kept over a stop: the history ---------------------------------------------------------

static const struct column saved_columns[] = {
    COLUMN(struct alarm, value, "value"),
    COLUMN(struct alarm, peak, "peak"),
    COLUMN(struct alarm, raised_wall_ns, "raised"),
    COLUMN(struct alarm, cleared_wall_ns, "cleared"),
    COLUMN(struct alarm, count, "count"),
    {0}};

static json_t *save_alarm(const struct alarm *a)
{
    json_t *o = columns_save(saved_columns, a);

    json_object_set_new(o, "name", json_string(alarm_kind[a->name].name));
    json_object_set_new(o, "subject", json_string(a->subject));
    return o;
}

// Oldest first. Raised alarms end with this process.
static json_t *save_alarms(void)
{
    json_t *history = json_array();
    uint64_t first = state.n_past > ALARM_HISTORY ? state.n_past - ALARM_HISTORY : 0;

    for (uint64_t i = first; i < state.n_past; i++) {
        const struct alarm *a = &state.past[i % ALARM_HISTORY];
        json_array_append_new(history, save_alarm(a));
    }
    vec_foreach (&state.active, a) {
        struct alarm ended = *a;

        ended.cleared_wall_ns = clock_wall_ns();
        json_array_append_new(history, save_alarm(&ended));
    }
    return json_pack("{s:o}", "history", history);
}

static bool read_saved_alarm(const json_t *o, struct alarm *a)
{
    const char *name = json_string_value(json_object_get(o, "name")),
               *subject = json_string_value(json_object_get(o, "subject"));
    unsigned n = 0;

    *a = (struct alarm){0};
    while (name && n < ALARM_N && strcmp(alarm_kind[n].name, name))
        n++;
    if (!name || n == ALARM_N || !subject || strlen(subject) >= ALARM_SUBJECT ||
        !columns_restore(o, saved_columns, a))
        return false;
    a->name = (enum alarm_name)n;
    snprintf(a->subject, sizeof a->subject, "%s", subject);
    return true;
}

static const char *restore_alarms(const json_t *part, bool apply)
{
    const json_t *history = json_object_get(part, "history");
    struct alarm a;

    if (!json_is_array(history) || json_array_size(history) > 64 * ALARM_HISTORY)
        return "the history is not one";
    for (size_t i = 0; i < json_array_size(history); i++) {
        if (!read_saved_alarm(json_array_get(history, i), &a))
            return "the history has an unknown alarm";
        if (apply)
            state.past[state.n_past++ % ALARM_HISTORY] = a;
    }
    return NULL;
}

const struct feature_saved alarm_saved = {save_alarms, restore_alarms};
