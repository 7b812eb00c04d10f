// SPDX-License-Identifier: BSD-3-Clause
// lag_port.h - the LAGs and their members, for the files of LAGs; control role
#ifndef LAG_LAG_PORT_H
#define LAG_LAG_PORT_H

#include <string.h>

#include "lag/lacp.h"
#include "lag/lag_manager.h"
#include "port/managed_port.h"

#define LAG_TICK_MS 100

struct lag_member { // of a managed port, also while it is in no LAG
    struct lacp_port lacp;
    bool active, changed; // in use; changed by this lag_update
    bool kept;            // lag_frame.h holds its last LACPDU
    uint64_t changes, changed_ns;
};

extern struct lag_port lag_ports[LAG_MAX];

#define for_each_lag(l)                                                                            \
    for (struct lag_port *l = lag_ports; l < lag_ports + LAG_MAX; l++)                             \
        if (l->used)
#define for_each_member(l, p)                                                                      \
    vec_foreach (&managed.port, p##_at)                                                            \
        for (struct managed_port *p = *p##_at; p && !strcmp(p->wish.member_of, (l)->wish.name);    \
             p = NULL)

struct lag_port *lag_port_find(const char *name);

static inline uint16_t lag_port_id(const struct lag_port *l)
{
    return (uint16_t)(LAG_FIRST + (l - lag_ports));
}

// lag_active.c
void lag_update(struct lag_port *l); // decides which members are in use
void lag_tick(int fd, short what, void *arg); // event of every LAG_TICK_MS: LACP's timers
void lag_receive_lacpdu(struct lag_port *l, struct managed_port *p, const uint8_t pdu[LACP_PDU]);
struct lacp_side lag_actor(const struct lag_port *l, const struct managed_port *p);
const char *lag_status(const struct lag_port *l, const struct managed_port *p); // lag_member_state
const char *lag_reason(const struct lag_port *l, const struct managed_port *p);

// lag_state.c
void lag_member_opened(struct managed_port *p); // takes its device's counters as the starting point
// Adds the packets that the member counted since the last call to the LAG's statistics; also called
// before its device is closed.
void lag_member_add_statistics(struct managed_port *p);
// For port_lags.
int lag_port_state(struct lag_port *l, struct port_state *s);

// lag_send.c: frames that control sends through a member of a LAG: LACPDUs, markers,
// announcements.
void lag_send_slow(const struct lag_port *l, const struct managed_port *p,
                   const uint8_t pdu[LACP_PDU]);
// Also passes it to lag_frame.h, until lag_send_stop.
void lag_send_lacpdu(const struct lag_port *l, struct managed_port *p, const uint8_t pdu[LACP_PDU]);
void lag_send_stop(struct managed_port *p);
// Announces the MACs of the LAG's interfaces through a new active member.
void lag_announce(struct lag_port *l, const struct managed_port *p);

#endif
