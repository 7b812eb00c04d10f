// SPDX-License-Identifier: BSD-3-Clause
// lag_manager.h - LAGs: ports that are made of ports
//
// Writes table/lag.h, and of struct port what makes a member. A LAG has an interface, a TAP and an
// id like a port, and no device; its members are the ports whose configuration names it
// (port_config.member_of), which have no interface. port_manager tells when a member starts, stops,
// or its link changes; LACP's clock is an event of control's loop, which runs while there is a LAG.
// Control role.
#ifndef PORT_LAG_MANAGER_H
#define PORT_LAG_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "port/lacp.h"
#include "port/port_manager.h"
#include "table/limits.h"

struct event_base;
struct managed_port;

bool lag_exists(const char *name);

// As those of port_manager.h, which calls them for ports that are LAGs.
int lag_attach(const struct port_config *cfg, char *err, size_t err_size);
int lag_detach(const char *name, char *err, size_t err_size);
int lag_change(const struct port_config *cfg, char *err, size_t err_size);
void lag_enable(const char *name, bool on);
void lag_set_mac(const char *name, const uint8_t mac[6]);
int lag_port_state(const char *name, struct port_state *s);
void lag_clear(const char *name);
uint64_t lag_link_changes(const char *name);
unsigned lag_list(char (*name)[16], unsigned max);

// A member that is not in use yet, or no longer: before it is in a plan, and before it leaves one.
void lag_member_enter(struct managed_port *p);
void lag_member_leave(struct managed_port *p); // a grace period ends what its frames led to
void lag_member_link(struct managed_port *p);  // its link has changed
void lag_member_opened(struct managed_port *p); // its device, which counts anew
void lag_member_add_statistics(
    struct managed_port *p); // the statistics of its LAG grow by what its own
                             // have grown; also before its device is closed

// A LACPDU or marker, from its Ethernet header on, which a forwarder has checked.
#define LAG_SLOW_FRAME (14 + LACP_PDU)
void lag_receive_slow(uint16_t port, const uint8_t frame[LAG_SLOW_FRAME]);

#define LAG_MISSED_S 5 // LACP with a partner that answers takes less
struct lag_state {
    struct port_config config;
    bool up;
    uint8_t mac[6];
    unsigned n_members, n_active;
    unsigned n_missing; // to be in use or stand by, and not since LAG_MISSED_S; not those that are
                        // stopped
    uint64_t link_changes;
};
int lag_state(const char *name, struct lag_state *s); // 0 or -ENOENT

struct lag_member_state {
    char name[16];
    bool link_up;
    const char *status; // "active": in use; "standby": could be; "inactive"
    const char *reason; // why it is not active; "" = it is
    uint64_t changes;   // times that it came into use or went out of it
    struct lacp_port lacp;
};
unsigned lag_members(const char *name, struct lag_member_state *m, unsigned max);

// Calls fn at each change of a LAG's link, as port_manager_on_link, which sets it.
void lag_on_link(void (*fn)(const char *port, bool up));
// Calls fn each time that a member comes into use or goes out of it, with words as in
// lag_member_state; NULL: nobody.
void lag_on_member(void (*fn)(const char *lag, const char *port, const char *status,
                              const char *reason));

int lag_init(struct event_base *loop);
void lag_fini(void);

#endif
