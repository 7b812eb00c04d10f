// SPDX-License-Identifier: BSD-3-Clause
// session.h - lost routing sessions and silent routing daemons; for alarm_watch.c; control role
#ifndef ALARM_SESSION_H
#define ALARM_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "rib/rib_manager.h"

void session_reset(void);
// Takes rib_manager's answer for a virtual router.
void session_answered(uint16_t vr, const struct rib_stats *r);
void session_look(uint64_t now_ns); // in a round of alarm.h
// Stops expecting the session of this alarm; "": every lost session. False: there was none.
bool session_forget(const char *subject);

#endif
