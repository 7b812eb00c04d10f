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

#endif
