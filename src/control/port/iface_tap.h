// SPDX-License-Identifier: BSD-3-Clause
// iface_tap.h - each interface's TAP: made or found, served, started, listed for the next process
//
// Below iface_manager.c, which says when. A tunnel of Linux has its device in place of a TAP
// (tap.h's `foreign`). Control role.
#ifndef PORT_IFACE_TAP_H
#define PORT_IFACE_TAP_H

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
bool iface_tap_is_starting(void); // not yet
void iface_tap_fini(void);        // when all are detached

// The number of the interface for SNMP, sFlow, IPFIX and RFC 8343: its ifindex.
int iface_tap_number(const struct iface *i);
struct tap *iface_tap(const struct iface *i);

// Makes or finds the TAP in virtual router `vr` and hands it to tap_manager; it is to be started.
// 0; or -errno with a sentence.
int iface_tap_attach(struct iface *i, uint16_t vr, struct tap *tap, char *err, size_t err_size);
void iface_tap_detach(struct iface *i, struct tap *tap, bool delete);
int iface_tap_serve(const struct iface *i, const struct tap *tap); // by tap_manager
void iface_tap_take_back(const struct iface *i, struct tap *tap);  // from it

// Sets the carrier, and a new TAP up: now; or with all that wait for the end of the change, since
// there may be thousands.
void iface_tap_start(const struct iface *i, uint16_t vr, struct tap *tap);
void iface_tap_start_later(const struct iface *i);
bool iface_tap_is_unstarted(const struct iface *i); // not yet: it is down
void iface_tap_start_waiting(void (*before)(const struct iface *i)); // first, for each of them

// Until it ends, what the kernel sends waits in the TAPs: in all; or in those of metalinks and
// tunnels, behind which a FIB decides. In a TAP whose port is presumed up, it waits anyway.
enum iface_hold { IFACE_HOLD_NONE, IFACE_HOLD_ROUTED, IFACE_HOLD_ALL };
void iface_tap_hold(enum iface_hold hold);
void iface_tap_read(const struct iface *i); // unless it has to wait

void iface_tap_each(void (*fn)(int fd)); // its descriptor
void iface_tap_keep_again(void);         // copies of all TAPs: the former keeper is gone

// The list for the next process.
void iface_tap_list_changed(void);
void iface_tap_list_save(void); // if it has changed

#endif
