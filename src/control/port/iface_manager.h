// SPDX-License-Identifier: BSD-3-Clause
// iface_manager.h - interfaces, their TAPs and their virtual router
//
// Writes table/iface.h. A port's own interface comes and goes with the port;
// a vport is added and deleted here. Each has a TAP of the same name, MAC, MTU
// and carrier in its virtual router's namespace; tap_manager moves the packets.
// All calls: control role.
#ifndef PORT_IFACE_MANAGER_H
#define PORT_IFACE_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int iface_manager_add_port(const char *name, uint16_t port, const uint8_t mac[6], uint16_t mtu,
                           const char *vr, char *err, size_t err_size);
struct vport_tags { // what frames of a vport carry
    uint16_t vlan;  // of the only or inner tag
    uint16_t outer; // of the outer tag, 0 = there is none
    uint16_t tpid;  // type of the outer tag: 0x88a8, 0x8100 or 0x9100; 0 without an outer tag
};
int iface_manager_add_vport(const char *name, const char *port, struct vport_tags tags,
                            uint16_t mtu /* 0 = the port's */, const char *vr, char *err,
                            size_t err_size);
int iface_manager_del(const char *name, char *err, size_t err_size);
void iface_manager_end_change(void); // the end of a change: the TAPs of deleted interfaces leave
                                     // the kernel, the list of TAPs is written
int iface_manager_set_vr(const char *name, const char *vr, char *err,
                         size_t err_size); // moves the TAP to the other namespace
int iface_manager_set_mtu(const char *name, uint16_t mtu, char *err, size_t err_size);
struct iface_policy;
int iface_manager_set_policy(const char *name, const struct iface_policy *policy, char *err,
                             size_t err_size);
int iface_manager_set_description(const char *name, const char *description, char *err,
                                  size_t err_size); // the TAP's alias; "": none
// As configured, else the alias that Linux has; "": none.
void iface_manager_description(uint16_t id, char description[256]);
int iface_manager_set_acl(const char *name, uint16_t in, uint16_t out, char *err,
                          size_t err_size); // ids of table/acl.h
void iface_manager_port_link(uint16_t port,
                             bool up); // carrier of the port and so of its interfaces
void iface_manager_port_mac(uint16_t port, const uint8_t mac[6]);
void iface_manager_port_moved(uint16_t from,
                              uint16_t to); // the device has another id now; it is in no plan

// `state_path`: file in which the TAPs are remembered over the end of the process, or NULL.
int iface_manager_init(const char *state_path);
// The configuration is in force: TAPs of a former process that it does not name any more are
// deleted. Before this call a TAP that was found is never deleted, so that a start that fails
// leaves everything as it was.
void iface_manager_started(void);
void iface_manager_fini(void); // leaves the TAPs in the kernel, with their addresses

#endif
