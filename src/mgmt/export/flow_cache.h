// SPDX-License-Identifier: BSD-3-Clause
// flow_cache.h - active flows, bounded in number
//
// A flow ends after the inactive timeout without a packet. At the active timeout it is reported and
// continues. If the cache is full, the flow idle for longest ends. Times are milliseconds of any
// clock that does not go back. Control role.
#ifndef EXPORT_FLOW_CACHE_H
#define EXPORT_FLOW_CACHE_H

#include <stdint.h>
#include <sys/queue.h>

#include "base/ip.h"
#include "export/sample_packet.h"

enum flow_end {
    FLOW_END_INACTIVE = 1,
    FLOW_END_ACTIVE = 2,
    FLOW_END_FORCED = 4,
    FLOW_END_NO_ROOM = 5
}; // flowEndReason of RFC 5102

struct flow_key { // compared with memcmp: zero the memory first
    struct ip_addr src, dst;
    uint16_t sport, dport;
    uint8_t proto, tos;
    struct sample_stack labels;
    uint32_t in, out; // interface numbers, 0 = none
    uint16_t vr;
};

struct flow {
    struct flow_key key;
    struct ip_addr gateway;
    uint8_t tcp_flags; // OR of all packets
    uint64_t packets, bytes, first_ms, last_ms;
    uint64_t packets_before, bytes_before; // of the report at the active timeout before first_ms
    // Private to the cache.
    LIST_ENTRY(flow) in_row; // or among the free ones
    TAILQ_ENTRY(flow) by_age;
};

struct flow_cache;
typedef void flow_tell(const struct flow *f, enum flow_end why);

// NULL: no memory. `tell` may be NULL.
struct flow_cache *flow_cache_new(uint32_t flows_max, flow_tell *tell);
void flow_cache_free(struct flow_cache *c);                             // reports nothing
// Adds a packet; a flow of age `active_ms` is reported.
struct flow_packet {
    struct ip_addr gateway;
    uint32_t packets; // that it stands for
    uint64_t bytes;   // of all of them
    uint8_t tcp_flags;
};
void flow_cache_add(struct flow_cache *c, const struct flow_key *key, const struct flow_packet *p,
                    uint64_t now_ms, uint64_t active_ms);
// Ends at most `max` flows that had no packet since `before_ms`, with that reason. Returns their
// number.
unsigned flow_cache_end(struct flow_cache *c, uint64_t before_ms, unsigned max, enum flow_end why);
uint32_t flow_cache_used(const struct flow_cache *c);
void flow_cache_each(const struct flow_cache *c, void (*fn)(void *ctx, const struct flow *f),
                     void *ctx);

#endif
