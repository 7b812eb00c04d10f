// SPDX-License-Identifier: BSD-3-Clause
// lane_rules_net.h - the IPv4 prefixes of one side that have buckets: finds the longest around
// an address
//
// Readers use a flat table: 65,536 words by the first 16 bits of an address, then chunks of 256
// words by the next 8 and the last 8. A word is a prefix's number or leads to a chunk. Lists have
// some thousand prefixes, which cluster, so few lines are read. It takes three loads without
// branches for a host; a Poptrie, far smaller for a full table, needs five.
//
// The writer also keeps all prefixes in order. Prefixes are never removed. A new one is written
// word by word, and each word is correct by itself: an address finds the prefix that was around it
// before, or the new one.
#ifndef ACL_LANE_RULES_NET_H
#define ACL_LANE_RULES_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl/rule.h"

#define NET_FIRST 65536u // words by the first 16 bits
#define NET_CHUNK 256u
#define NET_DEEP 0x8000u // plus the number of a chunk
#define NET_MOST 0x7fffu // prefixes; chunks

struct net {
    uint32_t addr; // host order, bits beyond len are 0
    uint16_t number;
    uint8_t len;
};

struct nets {
    uint16_t *word; // [NET_FIRST], then chunks
    // writer
    struct net *net; // [n] by address, shorter first; [0]: all addresses, number 0
    uint8_t *length; // [number]
    uint32_t n, room, chunks, chunk_room;
};

// Number of chunks that these prefixes need; net[0..n) in order.
uint32_t nets_chunks(const struct net *net, uint32_t n);
size_t nets_bytes(uint32_t room, uint32_t chunk_room);
// In that many zeroed, line-aligned bytes. Initially holds the prefix of all addresses.
void nets_init(struct nets *t, void *memory, uint32_t room, uint32_t chunk_room);
// Adds a new prefix, whose number is t->n. 0, or -ENOSPC with nothing changed.
int nets_add(struct nets *t, uint32_t addr, uint8_t len);
// Index of addr/len, or of the next prefix after it; t->n: none.
uint32_t nets_at(const struct nets *t, uint32_t addr, uint8_t len);
// Index of the longest prefix around addr/len, itself excluded.
uint32_t nets_around(const struct nets *t, uint32_t addr, uint8_t len);
bool nets_check(const struct nets *t); // do readers find the writer's prefixes?

static inline bool net_inside(const struct net *in, uint32_t addr, unsigned len)
{
    return in->len >= len && !((in->addr ^ addr) & mask4(len));
}

static inline uint32_t nets_word(const uint16_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE); // partner: word_set
}

static inline const uint16_t *nets_chunk(const uint16_t *words, uint32_t word) // NET_DEEP is set
{
    return words + NET_FIRST + (word & (NET_DEEP - 1)) * NET_CHUNK;
}

#endif
