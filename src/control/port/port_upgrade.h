// SPDX-License-Identifier: BSD-3-Clause
// port_upgrade.h - ports during an upgrade, while two kamueeds have them (docs/adr/0020)
//
//     new kamueed                              old kamueed
//     port_manager_defer   before its ports
//                                              stops receiving, port_upgrade_discard
//     port_upgrade_discard, and forwards
//                                              port_upgrade_close, when nothing waits to be sent
//     port_upgrade_open
//
// A packet socket (net_af_packet) is open in both: each gets all frames, so the new kamueed
// discards the frames that came before it forwards. Any other device can be open only once: the new
// kamueed has its interface and TAP, and opens the device after the old one has closed it. Called
// by main; control role.
#ifndef PORT_PORT_UPGRADE_H
#define PORT_PORT_UPGRADE_H

#include <stdbool.h>
#include <stdint.h>

struct port_upgrade { // state of a port that the old kamueed reports to the new one
    char name[16];
    uint8_t mac[6];
    bool up;
};

void port_upgrade_each(void (*fn)(void *ctx, const struct port_upgrade *p), void *ctx);
// Discards the frames received so far, while no forwarder polls; fn gets their number and may be
// NULL.
void port_upgrade_discard(void (*fn)(const char *port, uint32_t n));
void port_upgrade_close(void);       // no forwarder runs; does not announce links down
void port_upgrade_open(void);        // opens the deferred devices

#endif
