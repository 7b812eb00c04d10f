// SPDX-License-Identifier: BSD-3-Clause
// interfaces.h - all interfaces that IF-MIB shows: kamueed's, and the others that Linux has in our
// network namespace
//
// ifIndex is Linux's ifindex; kamueed sees to it that its own are unique over namespaces. Read
// together, and kept for as long as struct fresh says.
#ifndef SNMP_INTERFACES_H
#define SNMP_INTERFACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ip.h"
#include "snmp/mib.h"

struct since { // a point of time, in sysUpTime
    char text[32]; // as kamueed tells it; "" = before sysUpTime began
    uint32_t ticks, epoch;
};

struct interface {
    struct key key; // ifIndex
    char name[16], vr[16], port[16], kind[12], alias[256];
    bool ours; // kamueed's
    uint32_t type, mtu, speed_mbps;
    uint8_t mac[8];
    unsigned n_mac;
    bool promiscuous;
    long admin, oper; // ifAdminStatus, ifOperStatus
    struct since changed, began;
    uint64_t rx_bytes, rx_packets, tx_bytes, tx_packets, rx_drops, tx_drops;
};

struct interface_address { // of one of kamueed's
    char vr[16];
    uint32_t ifindex;
    struct ip_addr ip;
    uint8_t len;
    bool usable;
};

struct interfaces {
    struct interface *item; // by ifIndex
    size_t n;
    struct interface_address *address;
    size_t n_addresses;
    uint64_t version; // another one with each reading
};

// 0, or -errno: kamueed does not answer. What it said last is not told then, for it may restart and
// its counters go on; after GONE_S without it, only Linux's are left.
#define GONE_S 60
int interfaces_read(const struct interfaces **all);
int interfaces_read_again(const struct interfaces **all); // whatever is kept
uint32_t interfaces_number(const char *name);     // of kamueed's, as read last; 0 = unknown
uint32_t interfaces_changed_ticks(void);          // ifTableLastChange
void interfaces_new_epoch(void);                  // sysUpTime has begun anew

// links.c: those that Linux has, appended to *item
void links_read(struct interface **item, size_t *n);

#endif
