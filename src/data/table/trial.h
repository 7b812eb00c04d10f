// SPDX-License-Identifier: BSD-3-Clause
// trial.h - attributes that a commit would give to interfaces, tried on packets before the commit
//
// explain's forwarder gives its packet these attributes for the checks of the input and of the
// output interface (forwarder/trial.c): it copies them into entries of the tables that belong to
// it. Nothing else reads the entries, so a trial changes nothing for other forwarders, and costs
// them nothing. Written by control before a trial, and constant during it.
#ifndef TABLE_TRIAL_H
#define TABLE_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "table/acl.h"
#include "table/policer.h"
#include "table/port_queue.h"

struct trial_list {              // an access list
    uint16_t id;                 // in force, 0 = none
    struct acl_content *content; // instead: of a list that is not in force
};

struct trial_iface {
    bool differs; // from the interface in force; otherwise the rest is not used
    uint16_t vr;
    uint8_t urpf[2];                                  // as in struct iface_policy
    struct trial_list list[2];                        // input, output
    const struct policer *police[POLICER_DIRECTIONS]; // NULL = none
};

struct trial {
    const struct trial_iface *iface;       // [IFACE_MAX]; NULL: all as in force
    const struct class_map *map[PORT_MAX]; // of queues; NULL: as in force
};

#endif
