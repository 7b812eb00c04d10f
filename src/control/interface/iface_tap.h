// SPDX-License-Identifier: BSD-3-Clause
// iface_tap.h - the TAP of each interface: created or found, served, started, listed
//
// Used by iface_manager.c. A Linux tunnel keeps its device in place of a TAP (`foreign` in tap.h).
// Control role.
#ifndef INTERFACE_IFACE_TAP_H
#define INTERFACE_IFACE_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tap/tap.h"

struct event_base;
struct iface;
struct tap;

// `path`: file that lists the TAPs for the next process, or NULL.
int iface_tap_init(const char *path);
int iface_tap_start_loop(struct event_base *loop);
// The configuration is in force: deletes TAPs of the former process that it no longer names.
void iface_tap_started(void);
bool iface_tap_is_starting(void); // before that
void iface_tap_fini(void);        // all TAPs must be detached

struct tap *iface_tap(const struct iface *i);

// Creates or finds the TAP in virtual router `vr` and hands it to tap_manager; the caller starts it
// later. Returns 0, or -errno with a message in `err`.
int iface_tap_attach(struct iface *i, uint16_t vr, struct tap *tap, char *err, size_t err_size);
void iface_tap_detach(struct iface *i, struct tap *tap, bool delete);
int iface_tap_serve(const struct iface *i, const struct tap *tap); // hands it to tap_manager
void iface_tap_take_back(const struct iface *i, struct tap *tap);  // takes it back

// Sets the carrier and brings a new TAP up: at once, or at the end of the change together with all
// others, since there may be thousands.
void iface_tap_start(const struct iface *i, uint16_t vr, struct tap *tap);
void iface_tap_start_later(const struct iface *i);
bool iface_tap_is_unstarted(const struct iface *i); // it is still down
void iface_tap_start_waiting(void); // tells EVENT_IFACE_STARTS first

// While held, frames from the kernel wait in the TAPs: in all of them, or only in TAPs of metalinks
// and tunnels, whose packets are forwarded by a FIB. In a TAP whose port is presumed up, they wait
// anyway.
enum iface_hold { IFACE_HOLD_NONE, IFACE_HOLD_ROUTED, IFACE_HOLD_ALL };
void iface_tap_hold(enum iface_hold hold);
void iface_tap_read(const struct iface *i); // lets tap_manager read it, unless held

void iface_tap_each(void (*fn)(int fd)); // calls fn with each descriptor
void iface_tap_keep_again(void);         // after the former keeper is gone

// The list for the next process.
void iface_tap_list_changed(void);
void iface_tap_list_save(void); // if it has changed

// iface_link.c: the links of ports and the resulting carrier of interfaces. Used
// by iface_manager.c, which reports the links of ports and sets the carrier of TAPs.

// Returns the other end of a metalink; NULL while there is none.
struct iface *iface_manager_peer(const struct iface *end);
// Returns the carrier that the interface should have: that of its port, or of a metalink's other
// end.
bool iface_link_carrier(const struct iface *i);
void iface_link_update_up(struct iface *i); // updates the flag that forwarders read

void iface_link_forget(uint16_t id); // the interface is deleted

void iface_link_new_port(uint16_t port);
void iface_link_set_port(uint16_t port, bool up); // as reported by the device
void iface_link_port_moved(uint16_t from, uint16_t to);

// If the TAP of a former process still has carrier, so has the interface until its port reports.
void iface_link_presume(struct iface *i, const struct tap *tap);
bool iface_link_is_presumed(uint16_t port);

// tap_sysctl.c: the kernel's settings of a TAP that make it a router's interface. iface_tap.c sets
// them when a TAP is created or found again. A timer and kernel announcements check them; settings
// changed by another program are restored with a log line.
int tap_sysctl_init(struct event_base *loop);
void tap_sysctl_fini(void); // leaves the settings

void tap_sysctl_set(const struct tap *t, int netns); // call before its carrier is on
void tap_sysctl_give_back(const struct tap *t, int netns); // a Linux device's forwarding, as if new
// The kernel announced a change on this device of the virtual router (ifindex <= 0: on all
// devices), or on the device named `upper` stacked on it ("" = none). of: its interface, NULL =
// none.
void tap_sysctl_changed(uint16_t vr, int ifindex, const struct iface *of, const char *upper);

#endif
