// SPDX-License-Identifier: BSD-3-Clause
// router_queue.h - a queue manager on a port in memory
//
// As created by port_queue_manager: every virtual router has the same guarantee and weight, and
// eight classes by the upper three bits of the DSCP, the first two strict. The rate is too high to
// delay anything: the benchmark measures the work.
#ifndef BENCH_LIB_ROUTER_QUEUE_H
#define BENCH_LIB_ROUTER_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "table/plan.h"

// For virtual routers 0 .. vrs - 1; `flows`: per class, 0 = tail drop. Ends the program on failure.
struct port_queue *router_queue_new(unsigned vrs, unsigned packets_max, unsigned flows);
// Forwarder `self`, which has this plan, sends by the port through the queue of forwarder `owner`.
void router_queue_plan(struct plan *plan, struct port_queue *q, uint16_t port, unsigned owner,
                       unsigned self);

#endif
