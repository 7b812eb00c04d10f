// SPDX-License-Identifier: BSD-3-Clause
// alarm_list.c - current problems: thresholds with hysteresis, and a history of cleared alarms
//
// Few alarms are raised at a time, so they are a list. A cleared alarm moves to the history, a
// ring. If an alarm of the history is raised again, its count continues.
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "alarm/alarm.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "base/vec.h"
#include "core/thread.h"
#include "event/event.h"
#include "restconf/column.h"
#include "saved/saved_state.h"

const char *const alarm_word[ALARM_N] = {
#define ALARM(name, word, ...) word,
#include "alarm/alarm.def"
#undef ALARM
};
const struct alarm_kind alarm_kind[ALARM_N] = {
#define ALARM(name, word, severity, unit, sentence, raise, clear) {severity, unit, sentence},
#include "alarm/alarm.def"
#undef ALARM
};
const struct alarm_limit alarm_limit_default[ALARM_N] = {
#define ALARM(name, word, severity, unit, sentence, raise, clear) {true, raise, clear},
#include "alarm/alarm.def"
#undef ALARM
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
    alarm_set_limits(alarm_limit_default);
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
    const char *word = alarm_word[a->name], *status = raised ? "raised" : "cleared";
    struct text t = {0};

    alarm_message(a, &t);
    if (raised)
        log_warning("alarm: raised: name=%s subject=\"%s\" severity=%s message=\"%s\"", word,
                    a->subject, k->severity, text_str(&t));
    else
        log_notice("alarm: cleared: name=%s subject=\"%s\" peak=%" PRIu64, word, a->subject,
                   a->peak);
    event_publish("alarm-change",
                  json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", word, "subject", a->subject,
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
    COLUMN_WORD(struct alarm, name, "name", alarm_word),
    COLUMN(struct alarm, subject, "subject"),
    {0}};

// Oldest first. Raised alarms end with this process.
static json_t *save_alarms(void)
{
    json_t *history = json_array();
    uint64_t first = state.n_past > ALARM_HISTORY ? state.n_past - ALARM_HISTORY : 0;

    for (uint64_t i = first; i < state.n_past; i++)
        json_array_append_new(history,
                              columns_save(saved_columns, &state.past[i % ALARM_HISTORY]));
    vec_foreach (&state.active, a) {
        struct alarm ended = *a;

        ended.cleared_wall_ns = clock_wall_ns();
        json_array_append_new(history, columns_save(saved_columns, &ended));
    }
    return json_pack("{s:o}", "history", history);
}

static const char *restore_alarms(const json_t *part, bool apply)
{
    const json_t *history = json_object_get(part, "history");

    if (!json_is_array(history) || json_array_size(history) > 64 * ALARM_HISTORY)
        return "the history is not one";
    for (size_t i = 0; i < json_array_size(history); i++) {
        struct alarm a = {0};

        if (!columns_restore(json_array_get(history, i), saved_columns, &a))
            return "the history has an unknown alarm";
        if (apply)
            state.past[state.n_past++ % ALARM_HISTORY] = a;
    }
    return NULL;
}

const struct feature_saved alarm_saved = {save_alarms, restore_alarms};
