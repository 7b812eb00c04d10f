// SPDX-License-Identifier: BSD-3-Clause
// router_queue.h - a queue manager on a port in memory
//
// As port_queue_manager would make it: every virtual router has the same guarantee and weight, and
// eight classes by the upper three bits of the DSCP, the first two strict. The rate is so high that
// it holds nothing back: what is measured is the work.
#ifndef BENCH_LIB_ROUTER_QUEUE_H
#define BENCH_LIB_ROUTER_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "table/plan.h"

// For virtual routers 0 .. vrs - 1; `flows`: of each class, 0 = tail drop. Or the program ends.
struct port_queue *router_queue_new(unsigned vrs, unsigned packets_max, unsigned flows);
// Forwarder `self`, whose plan this is, sends by the port through the queue, which is `owner`'s.
void router_queue_plan(struct plan *plan, struct port_queue *q, uint16_t port, unsigned owner,
                       unsigned self);

#endif
