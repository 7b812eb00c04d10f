// SPDX-License-Identifier: BSD-3-Clause
// export.h - what others are told: SNMP managers, collectors of sFlow and of IPFIX
//
//     snmp.c    an AgentX session with an SNMP agent: its questions are answered from the tables (mib.h), links are announced
//     sflow.c   sampled packets and interface counters as sFlow version 5
//     ipfix.c   flows, made of sampled packets, as IPFIX
//
// All of it runs on control's event loop and waits for nobody: sockets do not block, rib_manager answers by calls. What cannot be
// sent is counted. Control role.
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ip.h"

struct event_base;

// --- configuration ---

#define EXPORT_COLLECTORS 4
#define EXPORT_MASTER_MAX 108

struct export_collector {
    struct ip_addr addr;
    uint16_t port;
};

// In memory that was all zero before they were filled: compared as bytes.
struct snmp_config {
    char master[EXPORT_MASTER_MAX]; // path of a UNIX socket, or tcp:ADDRESS:PORT; "" = off
    bool notifications;             // linkUp, linkDown
};

int export_start(struct event_base *loop); // nothing is exported yet. 0 or -errno
void export_stop(void);
// From now on. 0, or -errno with a sentence: the old configuration stays.
int snmp_set(const struct snmp_config *c, char *err, size_t err_size);

// --- what is going on ---

struct snmp_state {
    const char *status; // "off", "connecting", "up"
    const char *master;
    uint32_t session;
    char error[96];     // why there is no session, or why the last one ended
    unsigned trees;     // registered
    uint64_t sessions;  // opened so far
    uint64_t gets, get_nexts, get_bulks, sets, variables, errors;
    uint64_t notifications, notifications_lost; // lost: there was no session
};
void snmp_state(struct snmp_state *s);

#endif
