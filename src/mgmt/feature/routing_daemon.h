// SPDX-License-Identifier: BSD-3-Clause
// routing_daemon.h - which routing daemons are expected, and with how many routes; control role
#ifndef ALARM_ROUTING_DAEMON_H
#define ALARM_ROUTING_DAEMON_H

#include <stdint.h>

#define ROUTING_DAEMON_MAX 64

struct routing_daemon {
    char vr[32];             // as struct vr has it
    char protocol[12];       // "bgp"
    uint32_t minimum_routes; // of both families together
};

struct routing_daemons {
    unsigned n;
    struct routing_daemon item[ROUTING_DAEMON_MAX]; // all zero behind them
};

void routing_daemon_set(const struct routing_daemons *d);
const struct routing_daemons *routing_daemon_get(void);

#endif
