// SPDX-License-Identifier: BSD-3-Clause
// alarm.h - current problems: thresholds with hysteresis, and a history of cleared alarms
//
//     alarm_watch.c looks once a second         alarm_list.c
//     alarm_round_begin()
//     alarm_observe(ALARM_BUFFERS, "pool", 97)  97 >= raise: raised, reported once
//     alarm_observe(ALARM_BUFFERS, "pool", 92)  between the two: unchanged
//     alarm_observe(ALARM_BUFFERS, "pool", 80)  <= clear: cleared
//     alarm_round_end()                         alarms without an observation are cleared
//
// When it is raised and when it is cleared, an alarm is logged, published as an event and kept in
// the history. A silenced alarm is kept, but reported and counted by alarm_active() only if it
// outlasts the silence. Control role.
#ifndef ALARM_ALARM_H
#define ALARM_ALARM_H

#include <stdbool.h>
#include <stdint.h>

enum alarm_name {
#define ALARM(name, ...) ALARM_##name,
#include "alarm/alarm.def"
#undef ALARM
    ALARM_N
};

struct alarm_limit {
    bool enabled;
    uint32_t raise, clear; // clear < raise
};

extern const char *const alarm_word[ALARM_N]; // "punt-drops"
struct alarm_kind {
    const char *severity; // "critical", "major", "minor"
    const char *unit;     // of value and limits
    const char *sentence; // the meaning
};
extern const struct alarm_kind alarm_kind[ALARM_N];
extern const struct alarm_limit alarm_limit_default[ALARM_N];

#define ALARM_SUBJECT 80
#define ALARM_HISTORY 256

struct alarm { // a raised or cleared alarm
    enum alarm_name name;
    char subject[ALARM_SUBJECT]; // port, table, or "", depending on the kind
    uint64_t value, peak;        // now (the last value once cleared), and the highest
    uint64_t raised_wall_ns, cleared_wall_ns; // since 1970; cleared 0: still raised
    uint32_t count;              // times raised so far
    // Private to alarm_list.c.
    uint64_t round;
    bool told;
};

void alarm_set_limits(const struct alarm_limit limit[ALARM_N]);
void alarm_init(void); // no alarms, default limits
void alarm_fini(void);

// Shown times are of the wall clock, which may jump; silences end by the monotonic clock.
void alarm_round_begin(uint64_t now_ns, uint64_t wall_ns);
void alarm_observe(enum alarm_name name, const char *subject, uint64_t value);
void alarm_round_end(void);

#define ALARM_SILENCES 64
struct alarm_silence {
    enum alarm_name name;
    char subject[ALARM_SUBJECT]; // "" = any subject
    uint64_t until_ns; // monotonic
    char by[64];
};
// Silences an alarm for `seconds` from now; 0 ends the silence. -ENOSPC: too many silences.
int alarm_silence(enum alarm_name name, const char *subject, uint32_t seconds, const char *by);
const struct alarm_silence *alarm_silenced(const struct alarm *a); // or NULL
uint64_t alarm_silence_until_wall(const struct alarm_silence *s);  // by the present wall clock

// Raised alarms, oldest first; cleared alarms, newest first.
void alarm_each(void (*fn)(void *ctx, const struct alarm *a), void *ctx);
void alarm_each_past(void (*fn)(void *ctx, const struct alarm *a), void *ctx);
unsigned alarm_active(enum alarm_name name);       // raised now, not silenced
uint64_t alarm_raised_total(enum alarm_name name); // since the start
struct text;
void alarm_message(const struct alarm *a, struct text *t); // "3 link changes in a minute of p0 …"

extern const struct feature_saved alarm_saved; // the history

#endif
