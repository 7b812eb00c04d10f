// SPDX-License-Identifier: BSD-3-Clause
// acl_bench.h - shared by the parts of acl_bench: rule sets, traffic, engines
#ifndef BENCH_ACL_BENCH_H
#define BENCH_ACL_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl/acl.h"
#include "acl/set.h"
#include "lib/bench.h"
#include "lib/stat.h"

#define BURST 64u
#define PACKETS (1u << 20)     // pre-generated, read in order
// Packets of hot flows, which stay in the caches: a forwarder has just read its packets.
#define PACKETS_HOT (1u << 17)

// --- rules.c: realistic rules; the same seed gives the same rules on every machine --- ---------

enum shape { SHAPE_ONE, SHAPE_ACL, SHAPE_FW, SHAPE_IPC, SHAPE_BLOCKLIST, SHAPE_HOSTS, N_SHAPES };
extern const char *const shape_name[N_SHAPES];

struct rules {
    enum shape shape;
    unsigned family; // 4 or 6
    size_t n;
    struct acl_rule *rule;   // sorted by number, 1..n
    struct prefix *prefix;   // of blocklists and hosts, in the form of address sets; otherwise NULL
};
// Fewer than n rules if the shape has no more.
void rules_make(struct rules *r, enum shape shape, unsigned family, size_t n, uint64_t seed);
void rules_free(struct rules *r);
// Number of the first rule that matches packet i, 0 = none, by linear search.
uint32_t rules_search(const struct rules *r, const void *key);

// --- traffic.c ---

enum pattern_of {
    TRAFFIC_HOT,      // 16,384 flows, all equally frequent
    TRAFFIC_SCATTER,  // no flow twice, each matches a rule
    TRAFFIC_UNLISTED, // no flow twice, 19 of 20 random
    TRAFFIC_HOSTILE,  // no flow twice; source, destination and ports of different rules:
                      // many fields agree, few rules match
    N_TRAFFIC
};
extern const char *const traffic_name[N_TRAFFIC];

struct rte_key { // in rte_acl's layout
    uint8_t proto, pad[3];
    uint32_t src_be, dst_be;
    uint16_t sport_be, dport_be;
};
struct rte_key6 {
    uint8_t proto, pad[3];
    uint8_t src[16], dst[16];
    uint16_t sport_be, dport_be;
};
struct packets {
    unsigned family;
    uint32_t n; // number of packets; a trace starts over
    void *key;           // struct acl_key4 or acl_key6 [PACKETS]
    void *rte;           // struct rte_key or rte_key6 [PACKETS]
    const uint8_t **ptr; // to each packet
    void *src;           // uint32_t (network order) or uint8_t[16] [PACKETS]
};
void packets_init(struct packets *p, unsigned family); // once per family
void packets_make(struct packets *p, const struct rules *r, enum pattern_of t);

static inline const void *packet_key(const struct packets *p, uint32_t i)
{
    return p->family == 4 ? (const void *)((const struct acl_key4 *)p->key + i)
                          : (const void *)((const struct acl_key6 *)p->key + i);
}

// --- engine.c ---

struct engine {
    const char *name;
    int (*build)(struct engine *e, const struct rules *r); // 0 or -errno
    void (*free)(struct engine *e);
    void (*run)(const struct engine *e, const struct packets *p, uint32_t from,
                uint32_t n); // in bursts; the answers of the last one stay
    uint32_t (*answer)(const struct engine *e,
                       unsigned i); // number of the rule, 0 = none; of a blocklist 1 = listed
    bool (*wanted)(const struct rules *r);
    const char *kernel;
    void *state;
    char note[96]; // reason why it is missing
    bool built;
    uint64_t bytes, writer_bytes;
    double build_ms;
    double cycles[N_TRAFFIC][ROUNDS_MAX];
};
enum { ENGINE_SET, ENGINE_LIST, ENGINE_CACHE, ENGINE_PEER, N_ENGINES };
extern struct engine engines[N_ENGINES];
extern struct engine *const peer; // rte_acl
void engines_init(size_t memory_mib); // memory limit for one build of rte_acl
void engine_cache_fresh(void);
void peer_choose(const struct packets *p); // fastest variant for these packets
struct acl_set *engine_set(void);   // of the built blocklist, or NULL
struct acl *engine_list(void);

// --- change.c: changes per second while another thread does lookups --- ---
struct changes {
    double single_per_s, batched_per_s; // batches of 1,000; 0 = not measured
};
void changes_measure(struct changes *c, const struct rules *r, const struct packets *p,
                     double seconds);

#endif
