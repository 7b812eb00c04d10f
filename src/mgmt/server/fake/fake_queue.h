// SPDX-License-Identifier: BSD-3-Clause
// fake_queue.h - queues of ports that hold what they were told, for unit tests of mgmt
#ifndef CONFIG_FAKE_FAKE_QUEUE_H
#define CONFIG_FAKE_FAKE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "port/port_queue_manager.h"

extern uint64_t fake_queue_takes_bps; // at most, of every device; 0: all

extern unsigned fake_queue_lacks; // percent of every guarantee

// The settings that the port's queue got, with its clients; NULL: it has none.
const struct port_queue_config *fake_queue(const char *port);
const struct port_queue_client *fake_queue_client(const char *port, const char *name);
bool fake_queue_names(const char *name); // a virtual router or sub-interface that is a client
void fake_queue_state(struct text *t);   // a line for each port
void fake_queue_reset(void);
// Gives the port, which must be there, a queue of 1 Gb/s with the clients "default" and `vport`.
void fake_queue_shape(const char *port, const char *vport);

#endif
