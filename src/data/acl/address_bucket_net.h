// SPDX-License-Identifier: BSD-3-Clause
// address_bucket_net.h - the IPv4 prefixes of one side that have buckets: which is the longest
// around an address?
//
// What readers look at is flat: 65,536 words by the first 16 bits of an address, behind them chunks
// of 256 by the next 8, and by the last 8. A word is the number of the prefix, or says which chunk
// goes on. Few lines are read of it (lists have some thousands of prefixes, which cluster), without
// branches and all packets at once: three loads for a host, where a Poptrie, which is much smaller
// for a full table, takes five.
//
// The writer has all prefixes in order besides. None is ever taken away. A new one is written word
// by word, each of which is right by itself: an address finds the prefix that was around it, or the
// new one.
#ifndef ACL_ADDRESS_BUCKET_NET_H
#define ACL_ADDRESS_BUCKET_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NET_FIRST 65536u // words by the first 16 bits
#define NET_CHUNK 256u
#define NET_DEEP 0x8000u // and the number of a chunk
#define NET_MOST 0x7fffu // prefixes; chunks

struct net {
    uint32_t addr; // host order, bits behind len are 0
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

// The words' chunks that these take; net[0..n) in order.
uint32_t nets_chunks(const struct net *net, uint32_t n);
size_t nets_bytes(uint32_t room, uint32_t chunk_room);
// In so many bytes that are 0 and lines; all addresses are there.
void nets_init(struct nets *t, void *memory, uint32_t room, uint32_t chunk_room);
// 0, or -ENOSPC: nothing has changed. Not there yet, its number is t->n.
int nets_add(struct nets *t, uint32_t addr, uint8_t len);
// The first that is not before addr/len, which it is if that is there; t->n: none.
uint32_t nets_at(const struct nets *t, uint32_t addr, uint8_t len);
// The longest around addr/len, itself not.
uint32_t nets_around(const struct nets *t, uint32_t addr, uint8_t len);
bool nets_check(const struct nets *t); // do readers find what the writer has?

static inline uint32_t net_mask(unsigned len)
{
    return (uint32_t)(UINT64_C(0xffffffff00000000) >> len);
}

static inline bool net_inside(const struct net *in, uint32_t addr, unsigned len)
{
    return in->len >= len && !((in->addr ^ addr) & net_mask(len));
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
