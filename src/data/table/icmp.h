// SPDX-License-Identifier: BSD-3-Clause
// icmp.h - rate limits of ICMP errors
//
// Each error takes a token from three buckets (RFC 4443 2.4f): that of the sender it goes to, so
// that one host does not use up its neighbors' errors; that of the input interface, so that a flood
// on one link does not silence the others; and that of the whole router. Packet too big, which path
// MTU discovery needs, has its own buckets. Senders share ICMP_SENDERS buckets by a hash of their
// address. Control writes the limit; forwarders share the buckets.
#ifndef TABLE_ICMP_H
#define TABLE_ICMP_H

#include <stdbool.h>
#include <stdint.h>

struct icmp_limit { // errors; a rate or burst of 0 = none are sent
    uint32_t per_s, burst;             // for packets of one interface
    uint32_t total_per_s, total_burst; // of the router
};
extern const struct icmp_limit icmp_limit_default;

void icmp_limit_init(void);                        // default limits, all buckets full
void icmp_limit_set(const struct icmp_limit *to);  // control; refills all buckets
struct icmp_limit icmp_limit_now(void);

enum icmp_kind {
    ICMP_ERROR,
    ICMP_TOO_BIG,  // IPv4: fragmentation needed
    ICMP_REDIRECT, // limited by interface only
    ICMP_KINDS
};
#define ICMP_SENDERS 4096u // a power of two

// --- forwarder: may an error for a packet of `iface` be sent at TSC `now`? ---
// `sender`: hash of the destination of the error. `dry`: takes no token.
bool icmp_may_send(enum icmp_kind kind, uint16_t iface, uint64_t sender, uint64_t now, bool dry);

#endif
