// SPDX-License-Identifier: BSD-3-Clause
// poptrie.h - longest-prefix match for IPv4 and IPv6
//
// A table maps prefixes to 16-bit values and finds the value of the longest prefix that covers an
// address. One thread writes; any number of threads read at the same time, wait-free. Replaced
// memory stays readable until the caller has seen a grace period pass:
//
//     writer                                  reader
//     poptrie_add / del / load                v = poptrie_find4(t, dst)
//     e = poptrie_epoch(t)
//     ... a grace period passes ...           (readers keep nothing between calls)
//     poptrie_reclaim(t, e)
//
// A change is one 32-bit store per directory word it touches: a reader sees the old or the new
// value for the changed prefix, and the right one for all others. poptrie.c describes the layout,
// docs/adr/0004 the reasons.
#ifndef POPTRIE_POPTRIE_H
#define POPTRIE_POPTRIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POPTRIE_NONE 0u // no route; routes carry 1..POPTRIE_VALUE_MAX
#define POPTRIE_VALUE_MAX 65535u
#define POPTRIE_COPIES_MAX 8u
#define POPTRIE_TABLES_MAX 64u
#define POPTRIE_FLOOR_BITS 6u // routes up to this length are never shared between tables

struct poptrie;

struct poptrie_config {
    unsigned key_bits; // 32 (IPv4) or 128 (IPv6)
    size_t max_bytes;  // address space reserved for nodes, at most 512 MiB; 0 = 256 MiB
    // A group of tables in one arena, for lookups in several tables at once: equal parts are stored
    // once (poptrie_dedupe). The first table sets the number of places, 1 (= 0) to
    // POPTRIE_TABLES_MAX, and all other fields; further tables name any table of the group in
    // `beside`, and only their key_bits are used. All tables of a group have one writer and one
    // epoch counter.
    unsigned places;
    struct poptrie *beside;
    // Copies of the readers' memory, 1 (= 0) to POPTRIE_COPIES_MAX: one per memory node of the
    // machine. Every change is stored in all of them; the writer's own memory exists once.
    unsigned copies;
    // Allocates memory of copy number `copy`: zeroed, 64-byte aligned, NULL on failure. NULL = mmap
    // with transparent huge pages, committed page by page as the table grows.
    void *(*map)(void *ctx, const char *name, size_t bytes, unsigned copy);
    void (*unmap)(void *ctx, void *p, size_t bytes);
    void *ctx;
};

struct poptrie_route {
    uint8_t key[16]; // network byte order, left-aligned (IPv4: the first four bytes)
    uint8_t len;     // prefix length in bits; key bits beyond it are ignored
    uint32_t value;  // 1..POPTRIE_VALUE_MAX
};

struct poptrie_stats {
    uint64_t routes; // prefixes stored, the default route included
    uint64_t nodes;  // nodes of readers: leaf blocks, branch blocks, skips
    uint64_t leaves; // leaves in them (runs of equal values)
    // memory that readers may touch (one copy): directory pages that have been written to, nodes in
    // use, and garbage if the table is alone in its arena
    uint64_t bytes_used;
    // part of bytes_used: nodes shared with other tables of the group; each table counts them
    uint64_t shared_bytes;
    // address space reserved for readers (one copy): the group's whole arena
    uint64_t bytes_reserved;
    uint64_t garbage_bytes; // of the group: retired, waiting for poptrie_reclaim
    uint64_t writer_bytes;  // the writer's copy of the routes, and its lists
    uint64_t updates;       // successful add/del since the table was made
};

// NULL with errno: EINVAL (key_bits, max_bytes, copies, places), ENOSPC (no place left in the
// group), ENOMEM.
struct poptrie *poptrie_new(const struct poptrie_config *cfg);
// This table may have no readers left; other tables of its group may. NULL is fine.
void poptrie_free(struct poptrie *t);

// --- writer: one thread at a time ---

// Inserts a prefix, or replaces its value. -EINVAL: len > key_bits; -ERANGE: value not in
// 1..POPTRIE_VALUE_MAX; -ENOSPC (node space full: reclaim, or reserve more) and -ENOMEM: the old
// table stays in force.
int poptrie_add(struct poptrie *t, const uint8_t *key, unsigned len, uint32_t value);
// 0, -EINVAL, -ENOENT; -ENOSPC, -ENOMEM: the old table stays in force.
int poptrie_del(struct poptrie *t, const uint8_t *key, unsigned len);
// Adds, or deletes (value POPTRIE_NONE); *was: the former value.
int poptrie_swap(struct poptrie *t, const uint8_t *key, unsigned len, uint32_t value,
                 uint32_t *was);
// Replaces the whole content by r[0..n), in any order; of equal prefixes the last one wins.
// Meanwhile readers see each route old or new. Errors as poptrie_add.
int poptrie_load(struct poptrie *t, const struct poptrie_route *r, size_t n);
// Shares trees and pages that have changed since the last call and equal another table's in the
// same place. Readers do not notice. Returns true if something was shared: there may be garbage.
// Without memory it shares less.
bool poptrie_dedupe(struct poptrie *t);
// Gives back directory pages that removed routes have left empty.
void poptrie_trim(struct poptrie *t);
// Returns the value of exactly this prefix, or POPTRIE_NONE.
uint32_t poptrie_get(const struct poptrie *t, const uint8_t *key, unsigned len);
// Visits every stored prefix in address order, shorter first; stops at, and returns, the first
// nonzero fn(). key has key_bits/8 bytes.
int poptrie_walk(const struct poptrie *t,
                 int (*fn)(void *ctx, const uint8_t *key, unsigned len, uint32_t value), void *ctx);
// The same, but only prefixes after key/len, which need not be stored: for walks in pieces.
int poptrie_walk_after(const struct poptrie *t, const uint8_t *key, unsigned len,
                       int (*fn)(void *ctx, const uint8_t *key, unsigned len, uint32_t value),
                       void *ctx);

// Closes the group's current garbage epoch and returns its number.
uint64_t poptrie_epoch(struct poptrie *t);
// Reuses memory retired up to `epoch`. Call when every reader of any table of the group has passed
// a grace period since poptrie_epoch() returned it.
void poptrie_reclaim(struct poptrie *t, uint64_t epoch);

// Checks all invariants (P1.. in poptrie.c); 0, or -EINVAL with a sentence in why[0..n).
int poptrie_check(const struct poptrie *t, char *why, size_t n);
void poptrie_usage(const struct poptrie *t, struct poptrie_stats *s);

// --- reader: any thread, wait-free, during any writer call ---

// A pointer for the table's user, in the table's first cache line: close at hand after a lookup.
struct poptrie_front { // start of struct poptrie
    const void *user;
};
static inline const void *poptrie_user(const struct poptrie *t)
{
    return ((const struct poptrie_front *)t)->user;
}
// In one copy; before the table has readers.
void poptrie_set_user(struct poptrie *t, unsigned copy, const void *user);

// One copy of the table, only for the reader functions below; copy 0 is `t` itself.
const struct poptrie *poptrie_copy(const struct poptrie *t, unsigned copy);
// Addresses are in network byte order, as in a packet header. POPTRIE_NONE = no route. find4 is for
// key_bits 32, find6 for 128.
uint32_t poptrie_find4(const struct poptrie *t, uint32_t dst_be);
uint32_t poptrie_find6(const struct poptrie *t, const uint8_t dst[16]);
// n addresses at once, any n; bursts of 16..128 are the fast case.
void poptrie_find4_bulk(const struct poptrie *t, const uint32_t *dst_be, uint32_t *value,
                        unsigned n);
void poptrie_find6_bulk(const struct poptrie *t, const uint8_t (*dst)[16], uint32_t *value,
                        unsigned n);
// Looks up address i in each[i]: for a burst whose packets belong to several routing tables.
void poptrie_find4_each(const struct poptrie *const *each, const uint32_t *dst_be, uint32_t *value,
                        unsigned n);
void poptrie_find6_each(const struct poptrie *const *each, const uint8_t (*dst)[16],
                        uint32_t *value, unsigned n);
// The same, n <= POPTRIE_OF_MAX, in the table that of[which[i]] starts with a pointer to; stores
// that table in each[i]. `of` may be stored into meanwhile. Returns false, without a lookup, if the
// tables are not of one group, or one is poptrie_nothing, or this CPU gains nothing by it.
#define POPTRIE_OF_MAX 64
bool poptrie_find4_of(const void *const *of, const uint16_t *which, const struct poptrie **each,
                      const uint32_t *dst_be, uint32_t *value, unsigned n);
extern struct poptrie poptrie_nothing; // not a table, but a valid pointer target

// For explain: the nodes on the path of a lookup of dst (network order, key_bits/8 bytes). Returns
// their number; fills node[0..min(max, n)) and *value, the answer of poptrie_find.
enum poptrie_node_kind {
    POPTRIE_NODE_DIRECTORY, // indexed by the first bits
    POPTRIE_NODE_OUTSIDE,   // IPv6 addresses outside the directory
    POPTRIE_NODE_LEAF,      // a block of answers
    POPTRIE_NODE_MIXED,     // answers and further nodes
    POPTRIE_NODE_BRANCH,    // further nodes
    POPTRIE_NODE_WIDE,      // answers, for the last eight bits of an IPv4 address
    POPTRIE_NODE_SKIP,      // bits that all routes below share
    POPTRIE_NODE_FLOOR,     // routes of 0..6 bits, if no longer route answers
};
struct poptrie_node {
    enum poptrie_node_kind kind;
    uint8_t depth, bits; // examines `bits` bits of the address from bit `depth` on
};
unsigned poptrie_lookup_trace(const struct poptrie *t, unsigned key_bits, const uint8_t *dst,
                              struct poptrie_node *node, unsigned max, uint32_t *value);
const char *poptrie_node_name(enum poptrie_node_kind kind); // "directory", "leaf" …

// --- kernels: chosen once for the process, before readers start ---

enum poptrie_kernel {
    POPTRIE_KERNEL_AUTO,
    POPTRIE_KERNEL_SCALAR,
    POPTRIE_KERNEL_NEON, // 64-bit ARM
    POPTRIE_KERNEL_AVX2,
    POPTRIE_KERNEL_AVX512,         // AVX-512 F, BW, DQ, VL
    POPTRIE_KERNEL_AVX512_VPOPCNT, // the same plus VPOPCNTDQ
    // the same, with loads instead of gathers: AUTO uses it on CPUs with slow gathers
    POPTRIE_KERNEL_AVX512_LOADS,
    POPTRIE_KERNELS
};

// max_simd_bits limits AUTO's choice and refuses wider kernels (0 = no limit; DPDK's max SIMD bit
// width fits here). -ENOTSUP if this CPU or the limit rules the kernel out. Without a call, the
// first table selects the best kernel of the CPU. AUTO measures for 0.1 ms, once.
int poptrie_set_kernel(enum poptrie_kernel k, unsigned max_simd_bits);
const char *poptrie_kernel_name(void);

#endif
