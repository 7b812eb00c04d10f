// SPDX-License-Identifier: BSD-3-Clause
// port_history.h - what each port counted during the last hour
//
// The counters of every port, noted every ten seconds and kept for an hour, so that a graph has a
// past as soon as somebody looks. At most 17 KiB a port. Written and read by the control role.
#ifndef PORT_PORT_HISTORY_H
#define PORT_PORT_HISTORY_H

#include <stdint.h>

#define PORT_HISTORY_EVERY_S 10
#define PORT_HISTORY_POINTS 361 // an hour has a point at either end

struct event_base;

struct port_point {
    uint64_t wall_ns; // since 1970
    uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes,
        rx_missed; // since the device was opened: a smaller one than before is a new start
};

// Calls fn for each point of the port, the oldest first; never for a port that has none.
void port_history_each(const char *port, void (*fn)(void *ctx, const struct port_point *p),
                       void *ctx);

// Notes one point of a port. The oldest goes when there are PORT_HISTORY_POINTS.
void port_history_add(const char *port, const struct port_point *p);
// Notes what all ports count now, and forgets ports that are no longer there.
void port_history_sample(void);

int port_history_init(struct event_base *loop); // NULL: nobody looks by the clock
void port_history_fini(void);

#endif
