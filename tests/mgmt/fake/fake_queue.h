// SPDX-License-Identifier: BSD-3-Clause
// fake_queue.h - queues of ports that hold their settings, for unit tests of mgmt
#ifndef CONFIG_FAKE_FAKE_QUEUE_H
#define CONFIG_FAKE_FAKE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "port_queue/port_queue_manager.h"

extern uint64_t fake_queue_takes_bps; // limit of every device; 0: none

extern unsigned fake_queue_lacks; // missing percent of every guarantee

// Settings of the port's queue, with its clients; NULL: no queue.
const struct port_queue_config *fake_queue(const char *port);
const struct port_queue_client *fake_queue_client(const char *port, const char *name);
bool fake_queue_names(const char *name); // a virtual router or sub-interface that is a client
void fake_queue_state(struct text *t);   // a line for each port
void fake_queue_reset(void);
// Gives the port, which must exist, a queue of 1 Gb/s with the clients "default" and `vport`.
void fake_queue_shape(const char *port, const char *vport);

#endif
