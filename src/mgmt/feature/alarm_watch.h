// SPDX-License-Identifier: BSD-3-Clause
// alarm_watch.h - observes the alarm conditions once a second; control role
#ifndef FEATURE_ALARM_WATCH_H
#define FEATURE_ALARM_WATCH_H

#include <stdint.h>

struct event_base;

void alarm_watch_start(struct event_base *loop); // without any alarm
void alarm_watch_stop(void);
void alarm_watch_look(
    uint64_t now_ns, uint64_t wall_ns); // body of the timer; for tests with their own clock

#endif
