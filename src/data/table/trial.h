// SPDX-License-Identifier: BSD-3-Clause
// trial.h - attributes that a commit would give to interfaces, tried on packets before the commit;
// and the routes of an earlier time
//
// explain's forwarder gives its packet these attributes for the checks of the input and of the
// output interface (forwarder/trial.c): it copies them into entries of the tables that belong to
// it. Nothing else reads the entries, so a trial changes nothing for other forwarders, and costs
// them nothing. Written by control before a trial, and constant during it, except for `past`.
//
// Routes of an earlier time are in the journal, which only rib_manager reads. So a packet finds no
// route at first: control gets the answers for trial_past.route, and tries again, until all are
// answered. Next hops of then are copied into entries of their table (nexthop_was).
#ifndef TABLE_TRIAL_H
#define TABLE_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"
#include "table/acl.h"
#include "table/nexthop.h"
#include "table/packet_trace.h"
#include "table/policer.h"
#include "table/port_queue.h"

struct trial_list {              // an access list
    uint16_t id;                 // in force, 0 = none
    struct acl_content *content; // instead: of a list that is not in force
    const char *name;            // of that
};

struct trial_iface {
    bool differs; // from the interface in force; otherwise the rest is not used
    uint16_t vr;
    uint8_t urpf[2];                                  // as in struct iface_policy
    struct trial_list list[2];                        // input, output
    const struct policer *police[POLICER_DIRECTIONS]; // NULL = none
};

struct trial_route { // longest match of an address at that time
    uint16_t vr;
    struct ip_addr dst;
    bool answered, known; // by control, as the rest
    uint32_t leaf;        // next hop that the FIB had, 0 = no route
    struct prefix prefix;
    uint8_t protocol;
};

// Unknown parts of that time: bits of trial_past.lost.
enum { TRIAL_LOST_NEXTHOP = 1, TRIAL_LOST_TUNNEL = 2, TRIAL_LOST_LABEL = 4, TRIAL_LOST_ROUTES = 8 };

#define TRIAL_ROUTES 32
struct trial_past {
    uint64_t at_ns; // CLOCK_MONOTONIC
    bool down;      // the input interface was down
    unsigned n;
    struct trial_route route[TRIAL_ROUTES]; // asked for
    // written by the trial
    unsigned lost;
    uint32_t id[NEXTHOP_TRIALS]; // next hops in the entries
    struct packet_trace_lookup last; // of the last destination
};

struct trial {
    const struct trial_iface *iface;       // [IFACE_MAX]; NULL: all as in force
    const struct class_map *map[PORT_MAX]; // of queues; NULL: as in force
    struct trial_past *past;               // NULL: today's routes
};

#endif
