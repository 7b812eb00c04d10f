// SPDX-License-Identifier: BSD-3-Clause
// nexthop.h - next hops: targets of FIB entries
//
// A FIB leaf is a next-hop id; this table tells what to do, in a cache line each.
// Prefix-independent convergence: a changed MAC, a resolved gateway or a failed group member
// changes an entry here, and no prefix. A group is a next hop of kind GROUP whose buckets name
// others. An alias is a next hop of kind ALIAS: prefixes with attributes of their own name it
// instead of the shared next hop (control/rib/rib_source.c). An encapsulating next hop (ENCAP) adds
// labels, or takes one, and names the adjacency behind them (docs/adr/0030).
//
// Written by rib_manager, read by every forwarder.
//
//     forwarder                              rib_manager
//     nh = nexthop_get(fib leaf)             nexthop_set_adjacency(id, ...)
//     if kind == GROUP: member by hash       nexthop_set_kind(id, NEXTHOP_HOLD)
//     if kind == ADJACENCY: nexthop_rewrite  nexthop_free(id)   --- RCU ---> id reusable
//
// Invariants (nexthop_check):
//   N1  a bucket of a live group names a live next hop that is neither a group nor an alias; a live
//       alias names live next hops that are not aliases;
//   N2  an id is reused only a grace period after no FIB and no group names it;
//   N3  the rewrite that `word` names is complete when `word` says ADJACENCY (release store of
//       `word`, partner: acquire in nexthop_word);
//   N4  a live group knows the interfaces of all its members (a member's interface never changes);
//   N5  a live ENCAP names a live next hop that leads out by its interface and is neither a group,
//       an alias nor ENCAP; its labels can be sent;
//   N6  ids from NEXTHOP_MAX on are ENCAPs which only labels name: they can be as many as labels,
//       while a FIB's leaf and a group's bucket have 16 bits.
#ifndef TABLE_NEXTHOP_H
#define TABLE_NEXTHOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"
#include "table/limits.h"

#define NEXTHOP_REWRITE 24 // bytes of a rewrite: two VLAN tags fit
#define NEXTHOP_GROUP_IFACES 20
#define NEXTHOP_IFACES_MANY 0xffff
#define NEXTHOP_ALIAS_MAX 21
#define NEXTHOP_LABEL_MAX 8
#define NEXTHOP_BUCKETS_LARGEST 4096u // of a group
#define NEXTHOP_TRIALS 48u
#define NEXTHOP_TRIAL (NEXTHOP_MAX - NEXTHOP_TRIALS) // entries for trials (trial.h), from here on

enum nexthop_kind {
    NEXTHOP_NONE,      // id 0: no route
    NEXTHOP_ADJACENCY, // resolved: rewrite and send
    NEXTHOP_GROUP,     // choose a member by flow hash
    NEXTHOP_HOLD,      // gateway not resolved: give the packet to neigh_manager
    NEXTHOP_GLEAN, // destination on the link: give the packet to neigh_manager, which resolves it
    NEXTHOP_LOCAL, // our address: to the TAP
    NEXTHOP_BLACKHOLE,   // drop silently
    NEXTHOP_UNREACHABLE, // ICMP host unreachable
    NEXTHOP_PROHIBIT,    // ICMP administratively prohibited
    NEXTHOP_FAILED,      // neighbor did not answer: ICMP host unreachable, until the next attempt
    NEXTHOP_BROADCAST, // our subnet's broadcast address: to the TAP, or broadcast on its interface
    NEXTHOP_ALIAS,     // stands for another next hop, plus attributes of the prefix: MTU, uRPF
                       // data, counter
    NEXTHOP_NO_ROUTE,  // no route, ignoring shorter prefixes as well: ICMP net unreachable
    NEXTHOP_ENCAP,     // pushes labels, or is the operation of a label
    NEXTHOP_KIND_N
};

struct nexthop_alias { // of a prefix; immutable
    uint32_t target;    // not an alias
    uint16_t counter;   // of table/nexthop_count.h; 0 = not counted
    uint8_t is_default; // the prefix is the default route
    uint8_t n;
    uint16_t mtu;       // of the route, bytes of layer 3; 0 = only the output's MTU counts
    uint16_t other[NEXTHOP_ALIAS_MAX]; // next hops of its routes that are not the best
};

enum nexthop_encap_flag {
    NEXTHOP_ENCAP_UNIFORM = 1, // the TTL passes between packet and label
    NEXTHOP_ENCAP_PIPE = 2,    // it does not; neither: as its virtual router says (struct vr_mpls)
    NEXTHOP_ENCAP_IP4 = 4,     // the packet below the last label; neither: by its first nibble
    NEXTHOP_ENCAP_IP6 = 8,
    NEXTHOP_ENCAP_LABEL = 16, // of a label alone: no FIB, group or alias names it
};

// Of an IP route: pushes n labels. Of a label (table/label.h): n = 0 pops it, n >= 1 swaps it and
// pushes n - 1 more.
struct nexthop_encap { // immutable
    uint32_t via;      // next hop with the new labels; 0: pops into the lookup of `vr`
    uint16_t vr;
    uint8_t n;
    uint8_t flags; // enum nexthop_encap_flag
    uint8_t ttl;   // of labels pushed by PIPE; 0 = the virtual router's
    uint32_t label_be[NEXTHOP_LABEL_MAX]; // as stack entries, outermost first: nexthop_label()
};
static inline uint32_t nexthop_label(uint32_t label)
{
    return __builtin_bswap32(label << 12);
}
static inline uint32_t nexthop_label_number(uint32_t label_be)
{
    return __builtin_bswap32(label_be) >> 12;
}

// All that a forwarder needs to decide is in one word, read once per packet: 0 kind, 1 byte offset
// of the rewrite in use, 2-3 iface, 4-5 mtu, 6 port, 7 head (bytes from the least significant one).
// The separate fields are for reading only one of them.
struct nexthop {
    union {
        uint64_t word;
        struct {
            uint8_t kind, rewrite_at;
            uint16_t iface; // output, 0 = none
            uint16_t mtu;   // bytes of layer 3, 0 = none; ENCAP: before it adds labels
            uint8_t port;
            uint8_t head; // bytes before the IP header: 14 untagged, 18 and 22 with one and two
                          // VLAN tags
        };
    };
    union {
        // dst MAC, src MAC [, outer tag] [, 0x8100, TCI], room for the EtherType: `head` bytes at
        // the end of each
        uint8_t rewrite[2][NEXTHOP_REWRITE];
        struct {
            uint64_t word; // low half: first index in nexthop_bucket[]; high half: number of
                           // buckets - 1 (power of two)
            uint16_t iface[NEXTHOP_GROUP_IFACES]; // output interfaces of its members, 0 = free
                                                  // place; [0] = NEXTHOP_IFACES_MANY: more than fit
        } group;
        struct nexthop_alias alias;
        struct nexthop_encap encap;
    };
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct nexthop) == 64, "one cache line");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && PORT_MAX <= 256, "layout of word");

int nexthop_table_init(void);
void nexthop_table_fini(void);
extern struct nexthop *nexthop_table;    // [NEXTHOP_ALL_MAX]
// [NEXTHOP_BUCKET_MAX + 1]; the last one stays 0, for a trial's group without members
extern uint16_t *nexthop_bucket;
extern struct ip_addr
    *nexthop_address; // [NEXTHOP_MAX] of the neighbor; family 0 = none: for redirects

// --- reader: forwarder, inside a burst ---
static inline const struct nexthop *nexthop_get(uint32_t id)
{
    return &nexthop_table[id];
}
static inline uint64_t nexthop_word(const struct nexthop *nh)
{
    return __atomic_load_n(&nh->word, __ATOMIC_ACQUIRE);
}
static inline enum nexthop_kind nexthop_word_kind(uint64_t word)
{
    return (enum nexthop_kind)(word & 0xff);
}
static inline uint16_t nexthop_word_iface(uint64_t word)
{
    return (uint16_t)(word >> 16);
}
static inline uint16_t nexthop_word_mtu(uint64_t word)
{
    return (uint16_t)(word >> 32);
}
static inline uint64_t nexthop_word_narrowed(uint64_t word, uint16_t mtu) // with that MTU
{
    return (word & ~(0xffffull << 32)) | (uint64_t)mtu << 32;
}
static inline uint8_t nexthop_word_port(uint64_t word)
{
    return (uint8_t)(word >> 48);
}
static inline uint8_t nexthop_word_head(uint64_t word)
{
    return (uint8_t)(word >> 56);
}
// Returns NEXTHOP_REWRITE bytes; the last nexthop_word_head() are the new header.
static inline const uint8_t *nexthop_rewrite(const struct nexthop *nh, uint64_t word)
{
    return (const uint8_t *)nh + (word >> 8 & 0xff);
}
static inline uint32_t nexthop_member(const struct nexthop *group, uint32_t hash)
{
    // One load for bucket and mask: a growing group changes both by one store.
    uint64_t word = __atomic_load_n(&group->group.word, __ATOMIC_ACQUIRE);
    uint32_t bucket = (uint32_t)word, mask = (uint32_t)(word >> 32);

    return __atomic_load_n(&nexthop_bucket[bucket + (hash & mask)], __ATOMIC_RELAXED);
}

// Resolves an alias; other ids stay as they are.
static inline uint32_t nexthop_real(uint32_t id)
{
    const struct nexthop *nh = nexthop_get(id);

    return nexthop_word_kind(nexthop_word(nh)) == NEXTHOP_ALIAS ? nh->alias.target : id;
}
// MTU of the prefix's route, 0 = none; the next hop's may be smaller.
static inline uint16_t nexthop_route_mtu(uint32_t id)
{
    const struct nexthop *nh = nexthop_get(id);

    return nexthop_word_kind(nexthop_word(nh)) == NEXTHOP_ALIAS ? nh->alias.mtu : 0;
}
// Does the next hop (not an alias), or some member of the group, leave by that interface?
bool nexthop_leads_out(uint32_t id, uint16_t iface);

// --- writer: rib_manager ---
uint32_t nexthop_new(enum nexthop_kind kind, uint16_t iface); // id, or 0 when the table is full
void nexthop_set_address(uint32_t id, const struct ip_addr *addr); // once, before anything names it
void nexthop_set_kind(uint32_t id, enum nexthop_kind kind);
// Sets the complete rewrite towards `dst_mac` out of `iface` (source MAC, VLAN, port and MTU from
// the iface table), then kind = ADJACENCY. A second change within a grace period waits for its end
// (rcu_synchronize).
void nexthop_set_adjacency(uint32_t id, uint16_t iface, const uint8_t dst_mac[6]);
// Kind BROADCAST: sets the rewrite to the link's broadcast address.
void nexthop_set_broadcast(uint32_t id, uint16_t iface);
// MTU, MAC or VLAN of the interface changed: rewrites all adjacencies out of it.
void nexthop_refresh_iface(uint16_t iface);
// Creates a group of n members with weights (>= 1); id, or 0 when full. Resilient: a later
// nexthop_group_set moves only the buckets it must. n == 0 is allowed (all buckets 0 =
// DROP_ECMP_EMPTY); n <= NEXTHOP_MEMBER_MAX; a repeated member gets the sum of its weights.
// nexthop_group_set: 0, or -ENOSPC or -E2BIG without a change.
#define NEXTHOP_MEMBER_MAX 1024
uint32_t nexthop_group_new(const uint32_t *member, const uint32_t *weight, unsigned n);
int nexthop_group_set(uint32_t id, const uint32_t *member, const uint32_t *weight, unsigned n);
uint32_t nexthop_alias_new(const struct nexthop_alias *a); // id, or 0 when full
uint32_t nexthop_encap_new(const struct nexthop_encap *e); // id, or 0 when full
// The caller has removed it from every FIB and group; reusable after a grace period.
void nexthop_free(uint32_t id);
unsigned nexthop_used(void);                           // below NEXTHOP_MAX
const char *nexthop_kind_name(enum nexthop_kind kind); // "adjacency", "group", …

// "Used lately" marks of forwarders: one byte per id and thread, written only when it differs, so
// that neigh_manager refreshes neighbors in use. The epoch advances every few seconds.
extern uint8_t *nexthop_used_mark[];     // [forwarder] -> [NEXTHOP_MAX]
extern uint8_t nexthop_used_epoch;       // rib_manager advances it, forwarders read it per burst
bool nexthop_used_since(
    uint32_t id, unsigned epochs); // has any forwarder marked it in the last `epochs` (1..8)?

// Packets per member, counted by forwarders when a group chooses it; next hops used without a group
// are not counted.
extern uint64_t *nexthop_chosen[];       // [forwarder] -> [NEXTHOP_MAX]
uint64_t nexthop_chosen_packets(uint32_t id);

// For show: rib_manager.
uint32_t nexthop_group_size(uint32_t group);                   // number of buckets
uint32_t nexthop_group_count(uint32_t group,
                             uint32_t member); // buckets that name it; 0 for member 0

// --- any thread: a next hop as it was at an earlier time (past.h) ---
struct nexthop_past {
    struct nexthop is;
    struct ip_addr address;
    uint32_t n; // buckets of a group
    uint16_t bucket[NEXTHOP_BUCKETS_LARGEST];
};
bool nexthop_was(uint32_t id, uint64_t at_ns, struct nexthop_past *p); // false: not known

int nexthop_check(char *why, unsigned n); // 0 or -EINVAL with a sentence

#endif
