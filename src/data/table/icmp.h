// SPDX-License-Identifier: BSD-3-Clause
// icmp.h - how many ICMP errors the router sends
//
// Two token buckets for each error (RFC 4443 2.4f): one of the interface by which the packet came,
// so that one link's flood does not silence the others, and one of the whole router. Control writes
// the limit; forwarders share the buckets.
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

// --- forwarder: may an error be sent about a packet of `iface`, at TSC `now`? ---
bool icmp_may_send(uint16_t iface, uint64_t now);
// The same, but no token is taken.
bool icmp_could_send(uint16_t iface, uint64_t now);
// May a redirect be sent? As many as errors, from their own bucket. `dry`: no token is taken.
bool icmp_may_redirect(uint16_t iface, uint64_t now, bool dry);

#endif
