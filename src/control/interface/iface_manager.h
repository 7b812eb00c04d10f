// SPDX-License-Identifier: BSD-3-Clause
// iface_manager.h - interfaces, their TAPs and their virtual router
//
// Writes table/iface.h. A port's own interface comes and goes with the port; a vport is added and
// deleted here. Each has a TAP of the same name, MAC, MTU and carrier in its virtual router's
// namespace; tap_manager moves the packets. Called by port_manager and by the steps of a change;
// control role. An int is 0 or -errno with a message in `err`.
#ifndef INTERFACE_IFACE_MANAGER_H
#define INTERFACE_IFACE_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table/iface.h"

struct vport_tags { // VLAN tags in the frames of a vport
    uint16_t vlan;  // of the only or inner tag
    uint16_t outer; // of the outer tag, 0 = none
    uint16_t tpid;  // type of the outer tag: 0x88a8, 0x8100 or 0x9100; 0 without an outer tag
};

int iface_manager_add_port(const char *name, uint16_t port, const uint8_t mac[6], uint16_t mtu,
                           const char *vr, char *err, size_t err_size);
int iface_manager_add_vport(const char *name, const char *port, struct vport_tags tags,
                            uint16_t mtu /* 0 = the port's */, const char *vr, char *err,
                            size_t err_size);
// Adds both ends, NAME-a in virtual router `a` and NAME-b in `b`, or none.
int iface_manager_add_metalink(const char *name, const char *a, const char *b, uint16_t mtu,
                               char *err, size_t err_size);
int iface_manager_del_metalink(const char *name, char *err, size_t err_size);
int iface_manager_set_metalink_mtu(const char *name, uint16_t mtu, char *err, size_t err_size);
// The state of `end` changed: updates the carrier of the other end, which has carrier while `end`
// is up.
void iface_manager_end_changed(const struct iface *end);
int iface_manager_del(const char *name, char *err, size_t err_size);
// Makes a Linux tunnel of that name give it back (tunnel_linux.h).
void iface_manager_claim(const char *name);
// After all steps of a change: deletes the TAPs of deleted interfaces and saves the list of TAPs.
void iface_manager_end_change(void);

// Moves the TAP to the virtual router's namespace.
int iface_manager_set_vr(const char *name, const char *vr, char *err, size_t err_size);
int iface_manager_set_mtu(const char *name, uint16_t mtu, char *err, size_t err_size);
// Sets the TAP's alias; "": none.
int iface_manager_set_description(const char *name, const char *description, char *err,
                                  size_t err_size);
// The number of the interface in SNMP, sFlow, IPFIX and RFC 8343: its ifindex.
int iface_manager_number(const struct iface *i);
// Wall-clock time at which it last came up, went down or was created. A time known to a former
// process counts only if the interface's state still equals `up`.
uint64_t iface_manager_changed_ns(uint16_t id);
void iface_manager_restore_changed(uint16_t id, bool up, uint64_t changed_ns);
// Description as configured, else the alias that Linux has; "": none.
void iface_manager_description(uint16_t id, char description[256]);
// The link of a port is the carrier of its interfaces, except in a stopped virtual router.
void iface_manager_port_link(uint16_t port, bool up);
// After a restart, a port is presumed up if its TAP was kept with carrier (tap.h), until
// iface_manager_port_link is called for it. iface_manager_end_presumed gives up on a link that does
// not come.
void iface_manager_end_presumed(uint16_t port);
void iface_manager_port_mac(uint16_t port, const uint8_t mac[6]);
// The device of a port got another id; it is in no plan.
void iface_manager_port_moved(uint16_t from, uint16_t to);

// `state_path`: file that lists the TAPs for the next process, or NULL.
int iface_manager_init(const char *state_path);
// The configuration is in force: deletes TAPs of the former process that it no longer names. No TAP
// that was found is deleted earlier, so a failed start leaves everything as it was.
void iface_manager_started(void);
void iface_manager_fini(void); // leaves the TAPs in the kernel, with their addresses

// iface_policy.c: uRPF, redirects, sampling, access lists and policers of an interface.
struct iface_policy;
struct policer;

// Returns NULL with a message in `err` if there is no such interface.
struct iface *iface_manager_find(const char *name, char *err, size_t err_size);
// Call after any change of interfaces, their policy or their virtual router: tells rib_manager
// which sources the FIBs must know for uRPF.
void iface_policy_publish_sources(void);

int iface_manager_set_policy(const char *name, const struct iface_policy *policy, char *err,
                             size_t err_size);
// `in` and `out` are ids of table/acl.h.
int iface_manager_set_acl(const char *name, uint16_t in, uint16_t out, char *err, size_t err_size);
// Sets the policers of received and of sent packets; kind NONE: no policer.
int iface_manager_set_police(const char *name, const struct policer *in, const struct policer *out,
                             char *err, size_t err_size);

// --- for the files that complete iface_manager.c ---
// metalink_ends.c and tunnel_ends.c add interfaces of their kind; iface_follow.c recreates TAPs.

// Adds an interface like `wish`, with its TAP in virtual router `vr` ("" or NULL: the default one);
// packets find it only once it is complete. If `wish` has an ifindex, the interface uses that Linux
// device unchanged instead of a TAP. Returns 0; or -errno with a message in `err` and nothing left
// behind.
int iface_add(const struct iface *wish, enum iface_kind kind, uint16_t mtu_wanted, const char *vr,
              char *err, size_t err_size);
void iface_update_carrier(struct iface *i); // recomputes the carrier after a possible change
void iface_recreate_tap(struct iface *i);   // the TAP was deleted, or moved to another namespace

#endif
