// SPDX-License-Identifier: BSD-3-Clause
// rib_model.h - for tests: a naive kernel that changes routes while it dumps them
//
// It keeps routes as Linux does: IPv4 in leaves, one for each address, with the routes of all
// lengths and of both tables in one list; IPv6 in a tree for each table, multipath legs under one
// route. A change and its announcement are separate steps, in Linux's order (an IPv4 deletion is
// announced before it is made, everything else after), and a dump is filled datagram by datagram,
// between any two steps. At the start of a datagram the dump finds its place by counting, as Linux
// does: in the leaf (IPv4), or from the root of a changed tree (IPv6). Its messages are real
// netlink messages.
//
// Next-hop objects and groups are as in net/ipv4/nexthop.c: replacing one moves all its routes and,
// with net.ipv4.nexthop_compat_mode, announces each of them; deleting one deletes its IPv4 routes
// without an event, its IPv6 routes with one only in that mode, and shrinks its groups. Half of the
// models have the mode.
#ifndef RIB_TEST_RIB_MODEL_H
#define RIB_TEST_RIB_MODEL_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"

#define MODEL_PLACES 20 // a place: a prefix in a table
#define MODEL_LIST 10

struct model_route {
    uint8_t legs; // gateways, as bits
    uint8_t nhid; // or a next-hop object
    uint8_t metric, protocol;
};

struct model_place {
    struct prefix prefix;
    bool local; // of the local table
    unsigned n;
    struct model_route route[MODEL_LIST];
};

#define MODEL_SINGLES 4 // next-hop objects; then groups of them
#define MODEL_OBJECTS 7
#define MODEL_MEMBERS 3

struct model_object {
    bool there, resilient;
    uint8_t way; // gateway: IPv4, then IPv6, then two blackholes
    unsigned n;  // of a group
    struct {
        uint8_t object;
        uint16_t weight;
    } member[MODEL_MEMBERS];
};

extern struct model_object model_object[MODEL_OBJECTS];
extern struct model_place model_place[MODEL_PLACES]; // in the order of a walk
extern unsigned model_dumps;                          // route dumps answered so far

unsigned model_pick(unsigned n); // random, below n
void model_seed(unsigned seed);
void model_make(uint32_t portid);
void model_change(void);  // begins a random change, after finishing any earlier one
bool model_step(void);    // runs the next step of the change; false: none is in progress
void model_dump(uint16_t type, uint8_t family, uint32_t seq); // a dump is requested
bool model_fill(void);    // fills the next datagram of the dump; false: none runs
// The oldest datagram, or NULL; valid until the next call. Taking one makes a running dump
// continue.
const struct nlmsghdr *model_take(unsigned *len);
bool model_is_drained(void); // nothing is queued
bool model_is_busy(void);    // something is queued, or in progress
void model_lose(void);    // loses all queued messages
uint32_t model_object_id(unsigned i);
const struct nlmsghdr *model_object_message(unsigned i); // its announcement
// Announcement of a route.
const struct nlmsghdr *model_message(const struct model_place *p, const struct model_route *t);

#endif
