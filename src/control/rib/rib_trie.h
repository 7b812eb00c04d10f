// SPDX-License-Identifier: BSD-3-Clause
// rib_trie.h - prefixes in order: a path-compressed binary trie
//
// Each node is a prefix; its children are longer prefixes below it. A node without `head` is only a
// fork. The order is that of prefix_compare(): address, a covering prefix first, which is also a
// walk from parent to children. Keys have the family's width, so an IPv4 node takes 24 bytes.
//
// The route store uses it (head = first candidate), and so does the set of neighbors (head =
// neighbor), which is searched below a prefix whenever a route changes. rib_manager only.
#ifndef RIB_RIB_TRIE_H
#define RIB_RIB_TRIE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"
#include "rib/rib_pool.h"

struct rib_node {
    uint32_t child[2]; // node numbers; child[0] is also the pool's free link
    uint32_t parent;
    uint32_t head;    // the owner's data, 0 = a fork
    uint16_t nexthop; // next hop of this prefix in the FIB, 0 = none (route store)
    uint8_t len;      // bits
    uint8_t protocol; // protocol of the route in the FIB (route store)
    uint8_t key[];    // 4 or 16 bytes
};

struct rib_trie {
    struct rib_pool node;
    uint32_t root; // 0 = empty
    uint32_t last; // found or made by the last rib_trie_add, 0 = none: start of the next search
    uint8_t family;
    uint8_t bytes; // of a key
};

static inline struct prefix rib_host(const struct ip_addr *a)
{
    struct prefix p = {.family = a->family, .len = (uint8_t)ip_bits(a->family)};

    memcpy(p.b, a->b, ip_bits(a->family) / 8);
    return p;
}

void rib_trie_init(struct rib_trie *t, uint8_t family);
void rib_trie_fini(struct rib_trie *t);

static inline struct rib_node *rib_trie_at(const struct rib_trie *t, uint32_t id)
{
    return rib_pool_at(&t->node, id);
}

// Exact match, forks included; 0 = absent.
uint32_t rib_trie_find(const struct rib_trie *t, const struct prefix *p);
uint32_t rib_trie_add(struct rib_trie *t, const struct prefix *p); // found or made
// The node has lost its content: unlinks it and the forks that are no longer needed.
void rib_trie_prune(struct rib_trie *t, uint32_t id);

// Longest node with content (or a FIB entry) that covers p; 0 = none.
uint32_t rib_trie_cover(const struct rib_trie *t, const struct prefix *p);
uint32_t rib_trie_parent(const struct rib_trie *t, uint32_t id); // next covering node with content

// In order. first_in: first node at or below p; after: first node behind p, whether p is there or
// not; next: successor of a node; 0 = end. The walk includes forks.
uint32_t rib_trie_first(const struct rib_trie *t);
uint32_t rib_trie_first_in(const struct rib_trie *t, const struct prefix *p);
uint32_t rib_trie_after(const struct rib_trie *t, const struct prefix *p);
uint32_t rib_trie_next(const struct rib_trie *t, uint32_t id);

struct prefix rib_trie_prefix(const struct rib_trie *t, uint32_t id);
bool rib_trie_is_in(const struct rib_trie *t, uint32_t id, const struct prefix *p); // at or below p

#endif
