// SPDX-License-Identifier: BSD-3-Clause
// port_upgrade.h - ports in an upgrade, when two kamueeds have them (docs/adr/0020)
//
//     the new one                              the old one
//     port_upgrade_defer   before its ports
//                                              stops receiving, port_upgrade_discard
//     port_upgrade_discard, and forwards
//                                              port_upgrade_close, when nothing waits to be sent
//     port_upgrade_open
//
// A packet socket (net_af_packet) is open in both: each gets all frames, so the new one throws away
// what came before it forwards. Any other device can be open once: the new one has its interface
// and TAP, and opens the device when the old one has closed it. Called by main; control.
#ifndef PORT_PORT_UPGRADE_H
#define PORT_PORT_UPGRADE_H

#include <stdbool.h>
#include <stdint.h>

struct port_config;

struct port_upgrade { // what the new one is told of a port
    char name[16];
    uint8_t mac[6];
    bool up;
};

void port_upgrade_each(void (*fn)(void *ctx, const struct port_upgrade *p), void *ctx);
// From now on devices that can be open once are not opened; fn: what was told, NULL: nothing.
void port_upgrade_defer(const struct port_upgrade *(*fn)(const char *port));
bool port_upgrade_overlaps(const struct port_config *c); // both can have it open
const struct port_upgrade *port_upgrade_deferred(const struct port_config *c); // NULL: open it
// Throws away what was received until now, while no forwarder polls it; fn: how many frames, or
// NULL.
void port_upgrade_discard(void (*fn)(const char *port, uint32_t n));
void port_upgrade_close(void);       // no forwarder runs; tells nobody that the links went
void port_upgrade_open(void);        // what was deferred

#endif
