// SPDX-License-Identifier: BSD-3-Clause
// session.h - routing sessions that were up and are gone; for alarm_watch.c; control role
#ifndef FEATURE_SESSION_H
#define FEATURE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "rib/rib_manager.h"

void session_reset(void);
// What rib_manager said of a virtual router.
void session_answered(uint16_t vr, const struct rib_stats *r);
void session_look(uint64_t now_ns); // within a round of alarm.h
// The one that an alarm is about is not expected any more; "": none of those that are gone. False:
// none was.
bool session_forget(const char *subject);

#endif
