// SPDX-License-Identifier: BSD-3-Clause
// alarm_daemon.h - looks whether routing daemons are silent; for alarm_watch.c
#ifndef ALARM_ALARM_DAEMON_H
#define ALARM_ALARM_DAEMON_H

#include <stdint.h>

#include "rib/rib_manager.h"

void alarm_daemon_reset(void);
void alarm_daemon_answered(uint16_t vr,
                           const struct rib_stats *r); // what rib_manager said of a virtual router
void alarm_daemon_look(uint64_t now_ns);                             // within a round of alarm.h

#endif
