// SPDX-License-Identifier: BSD-3-Clause
// routing_daemon.h - silent routing daemons; for alarm_watch.c; control role
#ifndef ALARM_ROUTING_DAEMON_H
#define ALARM_ROUTING_DAEMON_H

#include <stdint.h>

#include "rib/rib_manager.h"

void routing_daemon_reset(void);
// Takes rib_manager's answer for a virtual router.
void routing_daemon_answered(uint16_t vr, const struct rib_stats *r);
void routing_daemon_look(uint64_t now_ns); // in a round of alarm.h

#endif
