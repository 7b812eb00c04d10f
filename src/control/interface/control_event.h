// SPDX-License-Identifier: BSD-3-Clause
// control_event.h - what happens to virtual routers, interfaces and ports, for files above
//
// A file calls the files below it directly. Files above it register functions for events at the
// start (src/main/modules.c); the event calls them at once, in the order in which they registered,
// and goes on when they have returned. Control role.
#ifndef INTERFACE_CONTROL_EVENT_H
#define INTERFACE_CONTROL_EVENT_H

#include <stdint.h>

enum control_event_kind {
    // vr_manager: with `vr`
    EVENT_VR_ADDED,
    EVENT_VR_SWITCHED, // stopped or started
    EVENT_VR_BUDGET,   // it has another budget
    EVENT_VR_LEAVES,   // it is about to be deleted
    // iface_manager
    EVENT_IFACE_WANTED, // the configuration needs the name or the ends of `iface`
    EVENT_ROOM_WANTED,  // the configuration needs room in a full table
    EVENT_IFACE_ADDED,  // other than a tunnel
    EVENT_IFACE_STARTS, // the new TAP of `iface` comes up next
    EVENT_CHANGE_ENDS,  // all steps of a change have been made
    EVENT_CHANGE_ENDED, // and their TAPs are up or gone
    // port_manager: with `port`
    EVENT_PORT_OPENED,  // it has a device
    EVENT_PORT_CLOSES,  // its device is about to be closed
    EVENT_PORT_STARTS,  // it is about to enter plans
    EVENT_PORT_STOPS,   // it is about to leave them
    EVENT_PORT_STOPPED, // it is in none, and a grace period has passed
    EVENT_PORT_LINK,    // its link came or went
    CONTROL_EVENTS
};

struct control_event {
    enum control_event_kind kind;
    uint16_t vr;
    const struct iface *iface;
    struct managed_port *port; // port/managed_port.h
};

void control_event_listen(enum control_event_kind kind, void (*fn)(const struct control_event *e));
void control_event_pass(const struct control_event *e);
// control_event_tell(EVENT_VR_ADDED, .vr = 1);
#define control_event_tell(what, ...)                                                              \
    control_event_pass(&(struct control_event){.kind = (what), __VA_ARGS__})

#endif
