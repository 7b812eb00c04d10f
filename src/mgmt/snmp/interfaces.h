// SPDX-License-Identifier: BSD-3-Clause
// interfaces.h - all interfaces in IF-MIB: kamueed's, and the other Linux interfaces of our network
// namespace
//
// ifIndex is Linux's ifindex; kamueed makes its own unique across namespaces. All are read together
// and kept as long as struct fresh allows.
#ifndef SNMP_INTERFACES_H
#define SNMP_INTERFACES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"
#include "base/vec.h"
#include "snmp/mib.h"

struct since { // a time, in sysUpTime
    char text[32]; // as in kamueed's answer; "" = before sysUpTime began
    uint32_t ticks, epoch;
};

struct interface {
    struct key key; // ifIndex
    char name[16], vr[16], port[16], kind[12], alias[256];
    bool ours; // an interface of kamueed
    uint32_t type, mtu, speed_mbps;
    uint8_t mac[8];
    unsigned n_mac;
    bool promiscuous;
    long admin, oper; // ifAdminStatus, ifOperStatus
    struct since changed, began;
    uint64_t rx_bytes, rx_packets, tx_bytes, tx_packets, rx_drops, tx_drops;
};

struct interface_address { // address of an interface of kamueed
    char vr[16];
    uint32_t ifindex;
    struct ip_addr ip;
    uint8_t len;
    bool usable;
};

struct interfaces {
    VEC(struct interface) row; // sorted by ifIndex
    VEC(struct interface_address) address;
    uint64_t version; // changes with each reading
};

// 0, or -errno if kamueed does not answer: its last rows are not shown then, since it may be
// restarting and will continue its counters. After GONE_S without an answer, only Linux's
// interfaces are left.
#define GONE_S 60
int interfaces_read(const struct interfaces **all);
int interfaces_read_again(const struct interfaces **all); // ignores kept rows
uint32_t interfaces_number(const char *name);     // as last read, of kamueed's; 0 = unknown
uint32_t interfaces_changed_ticks(void);          // ifTableLastChange
void interfaces_new_epoch(void);                  // sysUpTime starts again

// links.c: appends Linux's interfaces.
void links_read(struct interfaces *all);

#endif
