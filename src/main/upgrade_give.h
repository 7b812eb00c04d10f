// SPDX-License-Identifier: BSD-3-Clause
// upgrade_give.h - the old kamueed's part of an upgrade (upgrade_protocol.h); called by main,
// control
#ifndef MAIN_UPGRADE_GIVE_H
#define MAIN_UPGRADE_GIVE_H

#include <stdbool.h>

struct event_base;

// Lets the operation `upgrade` start another kamueed. `second`: whether we use the second of the
// two DPDK prefixes of this run directory (modules.c).
void upgrade_give_init(struct event_base *loop, bool second);
void upgrade_give_fini(void); // the router stops: a new kamueed that is not ready gives up

#endif
