// SPDX-License-Identifier: BSD-3-Clause
// fake_rib.h - a rib_manager that answers on the test's event loop, for unit tests of mgmt
#ifndef CONFIG_FAKE_FAKE_RIB_H
#define CONFIG_FAKE_FAKE_RIB_H

#include <stdbool.h>
#include <stdint.h>

struct event_base;

void fake_rib_start(struct event_base *loop);
extern uint64_t fake_rib_bgp, fake_rib_overruns; // rib_manager's statistics of each virtual router
extern uint64_t fake_rib_routes; // rows of a walk over everything
extern unsigned fake_rib_walks;  // open walks
extern uint64_t fake_rib_rows;   // rows handed over since fake_rib_start
extern int fake_rib_error;       // error of the next query, 0 = answered
extern bool fake_rib_silent;     // queries are accepted, but not answered until fake_rib_answer()
void fake_rib_answer(void);

#endif
