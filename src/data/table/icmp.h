// SPDX-License-Identifier: BSD-3-Clause
// icmp.h - how many ICMP errors the router sends
//
// Three token buckets for each error (RFC 4443 2.4f): one of the sender that it is for, so that one
// host does not use up its neighbors' errors; one of the interface by which the packet came, so
// that one link's flood does not silence the others; and one of the whole router. Packet too big,
// on which path MTU discovery depends, has buckets of its own. Senders share ICMP_SENDERS buckets
// by a hash of their address. Control writes the limit; forwarders share the buckets.
#ifndef TABLE_ICMP_H
#define TABLE_ICMP_H

#include <stdbool.h>
#include <stdint.h>

struct icmp_limit { // errors; a rate or burst of 0 = none is sent
    uint32_t per_s, burst;             // about packets of one interface
    uint32_t total_per_s, total_burst; // of the router
};
extern const struct icmp_limit icmp_limit_default;

void icmp_limit_init(void);                        // the default, all buckets full
void icmp_limit_set(const struct icmp_limit *to);  // control; all buckets full again
struct icmp_limit icmp_limit_now(void);

enum icmp_kind {
    ICMP_ERROR,
    ICMP_TOO_BIG,  // IPv4: fragmentation needed
    ICMP_REDIRECT, // limited by interface alone
    ICMP_KINDS
};
#define ICMP_SENDERS 4096u // a power of two

// --- forwarder: may it be sent about a packet of `iface`, at TSC `now`? ---
// `sender`: a hash of whom it is for. `dry`: no token is taken.
bool icmp_may_send(enum icmp_kind kind, uint16_t iface, uint64_t sender, uint64_t now, bool dry);

#endif
