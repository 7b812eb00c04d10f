// SPDX-License-Identifier: BSD-3-Clause
// acl.h - access lists: finds the first numbered rule that matches a packet
//
// One thread writes a list; any number of threads classify bursts of packets meanwhile, wait-free.
// Data that the writer replaces stays readable until the caller has seen a grace period pass:
//
//     writer                                     reader
//     acl_add / acl_del / acl_load               acl_classify4(a, key, slot, n)
//     e = acl_epoch(a)
//     ... a grace period passes ...
//     acl_reclaim(a, e)
//
// Packets create no state, neither tuples nor megaflows: the rules alone determine how much work a
// packet costs, so no sender can slow a list down (Tuple Space Explosion, CVE-2019-25076).
//
// How a packet is classified
// --------------------------
// A list has one classifier per address family (classifier.h). classify.c takes up to 64 keys of
// one family through these steps (key_burst.h). Each step keeps, for each packet, the lowest rule
// number found so far, so the steps may run in any order.
//
//   1. prefix rules   check one side's prefix and nothing else; one Poptrie lookup finds the first
//                     of them (prefix_rules.h)
//   2. set rules      check address sets and nothing else; the sets tell which packets of the
//                     burst are members (set.h, key_burst.c)
//      Packets that 1 or 2 decide before any other rule skip step 3.
//   3. other rules    by one of two structures, built from the same rules:
//        lanes        compare 16 rules at once: all rules of a list of up to 64, or, for IPv4, the
//                     rules near the packet's source or destination (lane_rules.h)
//        tuples       any number: look up the packet's masked fields in a hash table; also used
//                     while lanes are rebuilt (classifier.h, tuple.c)
//      A prefilter drops most packets that no rule can match before tuples, and lanes of long
//      lists, are searched (prefilter.c).
//
// In front of a list, a forwarder may keep a cache of verdicts by flow (cache.h), and nothing else.
// A question takes three names: acl_cache_classify, acl_classify4, the kernel's classify4.
//
// Where to look: rule.c defines the meaning of a rule, and all tests compare with it. list.c is the
// writer: numbers, slots, grace periods. classifier_build.c, classifier_change.c and
// classifier_check.c build, change and check one family's rules. Readers run classify.c with one of
// the kernels in classify_plain.c and *_simd.c (compiled for AVX2 and AVX-512). lint.c finds rules
// that never decide.
#ifndef ACL_ACL_H
#define ACL_ACL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ACL_MISS UINT32_MAX // no rule matches
#define ACL_NO_SET UINT16_MAX
#define ACL_SETS_MAX 64u // address sets per list

struct acl;
struct acl_set; // set.h

// --- the fields of a packet ---

// The part of a datagram that the packet carries; a rule accepts a mask of them. Later fragments
// carry no ports, flags, type or code.
enum acl_part { ACL_WHOLE = 1, ACL_FIRST = 2, ACL_LATER = 4, ACL_ANY_PART = 7 };

// The fields of a key that both families share, 8 bytes.
struct acl_key_l4 {
    // host order; TCP, UDP, UDP-Lite, SCTP. ICMP, ICMPv6: type and code. 0 = none
    uint16_t sport, dport;
    uint8_t proto;     // IPv6: of the upper layer, behind extension headers
    uint8_t tcp_flags; // 0 unless TCP
    uint8_t dscp;      // 0..63
    uint8_t part;      // one bit of enum acl_part
};
struct acl_key4 { // 16 bytes: one vector register
    uint32_t src_be, dst_be;
    struct acl_key_l4 l4;
};
struct acl_key6 { // 40 bytes
    uint8_t src[16], dst[16];
    struct acl_key_l4 l4;
};

// --- rules ---

enum acl_family { ACL_IP4 = 1, ACL_IP6 = 2, ACL_BOTH = 3 };

struct acl_side {
    uint8_t addr[16]; // network order, left-aligned; bits beyond len are ignored
    uint8_t len;      // prefix length; 0 = any
    // index of one of the list's address sets, instead of addr and len; ACL_NO_SET = none
    uint16_t set;
};

struct acl_rule {
    uint32_t number;  // unique in its list; the lowest number that matches wins
    uint8_t families; // enum acl_family; ACL_BOTH only without prefixes
    // mask of enum acl_part. A rule with ports, flags, type or code never matches ACL_LATER
    uint8_t part;
    uint8_t proto; // if proto_any is false
    bool proto_any;
    struct acl_side src, dst;
    uint16_t sport[2], dport[2]; // from, to, both inclusive; 0..65535 = any. ICMP: type and code
    uint8_t tcp_mask, tcp_value; // (flags & tcp_mask) == tcp_value; 0, 0 = any
    uint8_t tcp_any; // flags & tcp_any must not be 0 ('established': ACK or RST); 0 = any
    uint8_t dscp;    // ACL_DSCP_ANY = any
};
#define ACL_DSCP_ANY 0xff

// Makes a rule that matches everything of the families; the caller narrows it.
void acl_rule_init(struct acl_rule *r, uint32_t number, uint8_t families);
// 0, or -EINVAL with a sentence in why[0..n): from > to, bits without a family, an address length,
// ports without a protocol that has ports…
int acl_rule_check(const struct acl_rule *r, char *why, size_t n);
// Does the rule match? This is the definition; everything else is tested against it. `set`: the
// list's sets.
bool acl_rule_matches4(const struct acl_rule *r, const struct acl_key4 *k,
                       struct acl_set *const *set);
bool acl_rule_matches6(const struct acl_rule *r, const struct acl_key6 *k,
                       struct acl_set *const *set);

// --- lists ---

struct acl_config {
    // from so many rules by one side's prefix, they become prefix rules (prefix_rules.h); 0 = if it
    // pays
    uint32_t prefix_rules_from;
    // from so many rules, they go into buckets by prefix (lane_rules.h); 0 = if it pays,
    // UINT32_MAX = never
    uint32_t buckets_from;
    // not owned; NULL after the last one. Their members may change while the list is read
    struct acl_set *set[ACL_SETS_MAX];
};

struct acl_stats {
    uint32_t rules, slots; // slots in use or freed: the number of counters needed
    uint64_t bytes;        // memory of readers
    uint64_t writer_bytes;
};
// The highest cost of any packet. Names as in YANG.
struct acl_cost {
    uint32_t tuples;     // combinations of prefix lengths and fields under which rules are hashed
    uint32_t probes_max; // filter lookups of the worst packet
    double probes_mean;  // of packets that match a rule chosen at random
    uint32_t block_max;  // most rules that one lookup compares with a packet
    // lanes that every packet is compared with, both families; 0 = not used
    uint32_t few;
    // most rules that buckets by prefix compare with a packet, of the family with more; 0 = not
    // used
    uint32_t shelf;
    // set rules and prefix rules
    uint32_t address_only;
};

// NULL with errno: EINVAL, ENOMEM.
struct acl *acl_new(const struct acl_config *cfg);
void acl_free(struct acl *a); // call when no reader is left; NULL is fine

// Writer. 0; -EEXIST (number), -ENOENT, -EINVAL; -ENOMEM, -ENOSPC (too many rules): the old list
// stays in force. acl_load fills an empty list, else -EBUSY.
int acl_load(struct acl *a, const struct acl_rule *r, size_t n);
int acl_add(struct acl *a, const struct acl_rule *r);
int acl_del(struct acl *a, uint32_t number);
// Estimates the bytes of a list of these rules, within a factor of two, without building it.
// Excludes buckets by prefix.
size_t acl_need(const struct acl_rule *r, size_t n);
uint64_t acl_epoch(struct acl *a);
void acl_reclaim(struct acl *a, uint64_t epoch);
// Writer's thread. NULL: the slot is free.
const struct acl_rule *acl_rule_of(const struct acl *a, uint32_t slot);
uint32_t acl_slot_of(const struct acl *a, uint32_t number); // ACL_MISS: no such rule
uint32_t acl_next_slot(const struct acl *a);                // of the next rule that is added
struct acl_order { // all rules by number: number << 32 | slot
    uint64_t *item;
    size_t n;
};
const struct acl_order *acl_order(const struct acl *a); // until the next change
void acl_stats(const struct acl *a, struct acl_stats *s);
void acl_cost(const struct acl *a, struct acl_cost *c);
// Checks all invariants: 0, or -EINVAL with a sentence.
int acl_check(const struct acl *a, char *why, size_t n);

// Reader: returns the slot of the first rule that matches each packet, or ACL_MISS. Any n; bursts
// of 16..64 are the fast case. A slot is reused only a grace period after its rule was deleted.
void acl_classify4(const struct acl *a, const struct acl_key4 *key, uint32_t *slot, unsigned n);
void acl_classify6(const struct acl *a, const struct acl_key6 *key, uint32_t *slot, unsigned n);

// The same for packets whose addresses are in arrays. Their headers are read only if a rule needs
// other fields: packets that no rule's addresses match, or that set rules decide, are never read.
// n <= 64.
struct acl_late {
    const void *src, *dst; // uint32_t [n] or uint8_t [n][16], network order
    // Headers of whole packets, without options or extension headers, with the bytes that key_l4.h
    // requires.
    uint8_t *const *ip;
    bool ahead; // the caller has other work for begin's true
};
struct acl_search { // between begin and end: classify.c's
    _Alignas(64) uint8_t room[16384];
};
// begin returns true if a lookup waits for memory, and p->ahead: other work costs the least now.
// end fills slot[].
bool acl_late_begin(struct acl_search *s, const struct acl *a, enum acl_family family,
                    const struct acl_late *p, uint32_t *slot, unsigned n);
void acl_late_end(struct acl_search *s);
// Do set rules and prefix rules decide all packets of this family? Then a cache in front would cost
// more than the list.
bool acl_is_by_sets(const struct acl *a, enum acl_family family);

// Selects a kernel for tests and comparisons, before readers start; false: not on this CPU. The
// default is the CPU's best one, chosen at first use.
enum acl_simd { ACL_PLAIN, ACL_AVX2, ACL_AVX512, ACL_SIMDS };
bool acl_use_simd(enum acl_simd s);
const char *acl_kernel_name(void); // "avx512", "avx2", "scalar"

#endif
