// SPDX-License-Identifier: BSD-3-Clause
// lag_manager.h - LAGs: ports made of ports
//
// Writes table/port.h and the fields of struct port that concern members. A LAG has an interface, a
// TAP and an id like a port, but no device. Its members are the ports whose configuration names it
// (port_config.member_of); they have no interface. port_manager calls it for ports that are LAGs
// (port_lags), and events tell it when a member starts, stops or changes its link. A timer of
// control's loop runs LACP while there is a LAG. Control role.
#ifndef LAG_LAG_MANAGER_H
#define LAG_LAG_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lag/lacp.h"
#include "port/port_state.h"
#include "table/limits.h"

struct event_base;

unsigned lag_list(char (*name)[16], unsigned max);

#define LAG_MISSED_S 5 // LACP with an answering partner takes less
struct lag_state {
    struct port_config config;
    bool up;
    uint8_t mac[6];
    unsigned n_members, n_active;
    unsigned n_missing; // started members that have been inactive for LAG_MISSED_S
    uint64_t link_changes;
};
int lag_state(const char *name, struct lag_state *s); // 0 or -ENOENT

struct lag_member_state {
    char name[16];
    bool link_up;
    const char *status; // "active", "standby" or "inactive"
    const char *reason; // why it is not active; "" = it is
    uint64_t changes;   // times that it became active or inactive
    struct lacp_port lacp;
};
unsigned lag_members(const char *name, struct lag_member_state *m, unsigned max);

// fn is called when a member becomes active or inactive, with the strings of lag_member_state;
// NULL: no callback.
void lag_on_member(void (*fn)(const char *lag, const char *port, const char *status,
                              const char *reason));

int lag_init(struct event_base *loop);
void lag_fini(void);

#endif
