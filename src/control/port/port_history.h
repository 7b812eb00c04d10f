// SPDX-License-Identifier: BSD-3-Clause
// port_history.h - each port's counters during the last hour
//
// Records one point every ten seconds, always, so that a new graph has a past. At most 17 KiB per
// port. port_manager starts it; `show port-history` reads it. Control role.
#ifndef PORT_PORT_HISTORY_H
#define PORT_PORT_HISTORY_H

#include <stdint.h>

#define PORT_HISTORY_EVERY_S 10
#define PORT_HISTORY_POINTS 361 // an hour has a point at either end

struct event_base;

struct port_point {
    uint64_t wall_ns; // since 1970
    // Since the device was opened: a smaller value than before means that it was reopened.
    uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes, rx_missed;
};

// Calls fn for each point of the port, the oldest first; never for a port without points.
void port_history_each(const char *port, void (*fn)(void *ctx, const struct port_point *p),
                       void *ctx);

// Adds one point; the oldest of PORT_HISTORY_POINTS goes.
void port_history_add(const char *port, const struct port_point *p);
// Adds a point of every port, and forgets ports that were detached.
void port_history_sample(void);

int port_history_init(struct event_base *loop); // NULL: no timer
void port_history_fini(void);

#endif
