// SPDX-License-Identifier: BSD-3-Clause
// fib.h - forwarding tables of virtual routers
//
// One FIB per virtual router and family, a Poptrie unless configured otherwise (fib-engine).
// Written by rib_manager, read by every forwarder. Leaves are next-hop ids (table/nexthop.h), 0 =
// no route.
//
//     rib_manager                        forwarder
//     fib_set(fib, prefix, nh) x N       fib_find4_bulk(fib, dst, nh, n)   once per burst and vr
//     fib_commit(fib)                    sees old or new for each changed prefix, nothing else
//
// Invariants (fib_check; unit tests call it after every step):
//   F1  a leaf holds the id of a live next hop, or 0;
//   F2  an id is released only after no prefix names it and a grace period has passed;
//   F3  memory unlinked by a change is reused only a grace period after fib_commit;
//   F4  a leaf's value (fib_poptrie.c) means the same id as long as a forwarder may have read it.
#ifndef TABLE_FIB_H
#define TABLE_FIB_H

#include <stddef.h>
#include <stdint.h>

#include "base/ip.h"

struct fib;
struct poptrie;

enum fib_engine {
    FIB_POPTRIE,
    FIB_DIR24_8,
    FIB_LPM,
    FIB_ENGINES
}; // src/data/poptrie; DPDK's librte_fib, librte_lpm

struct fib_stats {
    enum fib_engine engine;
    uint64_t routes, nodes, leaves;
    uint64_t bytes_used, bytes_reserved, garbage_bytes; // of memory that forwarders read
    uint64_t bytes_shared; // part of bytes_used shared with other FIBs; each of them counts it
    unsigned copies;       // copies of bytes_used, one per memory node; 0: a single one
    uint64_t control_bytes;                             // memory that only the writer reads
    uint64_t updates, commits;
    uint64_t engine_faults; // changes that DPDK's structure refused or answered wrongly: repaired
                            // and logged
    uint64_t engine_rebuilds; // tables rebuilt, to repair or to grow
};

// --- any thread ---
// The FIB for readers on a memory node: poptrie keeps a copy on each node, other engines one for
// all nodes.
const struct fib *fib_near(const struct fib *f, unsigned node);
const struct fib *fib_none(uint8_t family); // always empty
const char *fib_engine_name(enum fib_engine e); // as in the configuration
enum fib_engine fib_engine_of(const struct fib *f);
// Approximate DPDK memory; 0 = none.
unsigned fib_engine_mib(enum fib_engine e, uint8_t family, size_t routes);

// --- control or rib_manager ---
// NULL with errno; ENOMEM: not enough DPDK memory (fib_engine_mib).
struct fib *fib_new(uint8_t family, enum fib_engine e);
void fib_free(struct fib *f); // after a grace period in which no forwarder can find it

// --- writer: rib_manager ---
// Inserts or replaces. 0 or -errno, with the old state kept.
int fib_set(struct fib *f, const struct prefix *p, uint32_t nexthop);
int fib_del(struct fib *f, const struct prefix *p);                   // 0 or -ENOENT
uint32_t fib_get(const struct fib *f, const struct prefix *p);        // exact prefix, 0 = absent
// Visits prefixes after `after` (NULL: all) in the order of prefix_compare, until fn returns
// nonzero; returns that. fn must change nothing.
int fib_walk(const struct fib *f, const struct prefix *after,
             int (*fn)(void *ctx, const struct prefix *p, uint32_t nexthop), void *ctx);
struct fib_route {
    struct prefix prefix;
    uint32_t nexthop;
};
int fib_load(struct fib *f, const struct fib_route *r, size_t n); // empty FIB only: bulk build
void fib_commit(struct fib *f); // end of a batch: retires unlinked memory
// Gives back memory that removed routes have left; costs a walk over that memory.
void fib_trim(struct fib *f);
void fib_stats(const struct fib *f, struct fib_stats *s);
int fib_check(const struct fib *f, char *why, size_t n);

// --- for a copy of Poptries elsewhere (poptrie/image.h) ---
struct poptrie *fib_trie(const struct fib *f); // NULL: another engine
// Any thread: runs fn while no Poptrie changes, comes or goes. Returns its result.
int fib_with_tries(int (*fn)(void *arg), void *arg);
// Forwarder: translates values from f's Poptrie to next hops.
void fib_nexthops(const struct fib *f, const uint16_t *value, uint32_t *nexthop, unsigned n);

// --- any thread ---
const char *fib_kernel_name(void); // lookup code chosen for this CPU: "scalar", "avx2", …

// --- reader: forwarder inside a burst; or any thread that is an online RCU reader ---
uint32_t fib_find(const struct fib *f, const struct ip_addr *dst);
// For explain: lists the nodes that the lookup of dst reads. Returns their number and writes the
// first `max`; 0: not supported by the engine.
struct fib_node {
    const char *kind;    // "directory", "leaf" … (poptrie_node_name)
    uint8_t depth, bits; // examines these bits of the address
};
unsigned fib_path(const struct fib *f, const struct ip_addr *dst, struct fib_node *node,
                  unsigned max);
void fib_find4_bulk(const struct fib *f, const ip4_t *dst, uint32_t *nexthop, unsigned n);
void fib_find6_bulk(const struct fib *f, const uint8_t (*dst)[16], uint32_t *nexthop, unsigned n);
// Looks up destination i in of[which[i]]; n <= FIB_EACH_MAX. `of` may be published into meanwhile
// (core/rcu.h).
#define FIB_EACH_MAX 64
void fib_find4_each(const struct fib *const *of, const uint16_t *which, const ip4_t *dst,
                    uint32_t *nexthop, unsigned n);
void fib_find6_each(const struct fib *const *of, const uint16_t *which, const uint8_t (*dst)[16],
                    uint32_t *nexthop, unsigned n);

#endif
