// SPDX-License-Identifier: BSD-3-Clause
// acl.h - access lists as forwarders see them: rules, actions, counters
//
// A list is an id and a content. An interface has at most one list for each direction
// (iface_bind_acl). An interface without a list of its own uses that of its virtual router; the
// writer resolves this, so forwarders look only at the interface. acl_manager writes: it replaces
// the content by one pointer, or changes its rules in place (acl/acl.h). Forwarders load the
// content once per burst. Ids start at 1 and are reused after a grace period.
//
// A rule's index is its slot in `rules`; the place behind the last slot is the default. Each
// forwarder keeps its own counters. A counter reads as the sum that forwarders have counted since
// the content was made, plus an amount that the writer adds: so counters survive a new content, and
// can be cleared without a write to forwarders' memory.
//
// Changing a list                                 readers
//     c = acl_content_new(rules, slots)
//     acl_content_set(c, slot, action) for each   acl_content_of(id), verdicts, hits
//     old = acl_publish(id, c)                    (grace period)
//     acl_hits_add(c, slot, acl_hits_read(old, ...)) for rules that stay; acl_content_free(old)
// or, in place
//     acl_content_set(c, slot, action) before there is a rule in that slot;
//     acl_add/acl_del; acl_changed(id)
#ifndef TABLE_ACL_H
#define TABLE_ACL_H

#include <stdbool.h>
#include <stdint.h>

#include "acl/acl.h"
#include "core/rcu.h"
#include "core/thread.h"

#define ACL_LIST_MAX 1024   // id 0 = none
#define ACL_TRIAL ACL_LIST_MAX // two more entries, for trials (trial.h)
#define ACL_RULES_MAX (1u << 22)
#define ACL_NAME_SIZE 32
#define ACL_CLASS_MAX 7u // packet_class.h

enum acl_verb {
    ACL_PERMIT,
    ACL_DENY,
    ACL_REJECT
}; // reject: TCP RST; ICMP admin-prohibited for other protocols
enum acl_extra {
    ACL_LOG = 1,
    ACL_MIRROR = 2,
    ACL_POLICE = 4,
    ACL_REDIRECT = 8,
    ACL_CLASS = 16,
    ACL_REMARK = 32,
    ACL_TEMPORARY = 64 // no action: the rule is neither in the configuration nor in a file
};

struct acl_action {
    uint8_t verb;      // enum acl_verb
    uint8_t extra;     // enum acl_extra; 0 on nearly all rules
    uint16_t mirror;   // id of the session that takes copies (acl_target.h)
    uint16_t meter;    // acl_meter.h: packets that exceed it are dropped
    uint16_t log_every; // log about one packet in so many
    // Id of an address that replaces the next hop while it is reachable (acl_target.h).
    uint16_t redirect;
    uint8_t class;     // of the output queue (packet_class.h)
    uint8_t dscp;      // new codepoint
    uint32_t number;   // of the rule, 0 = no rule matches
};

struct acl_hits {
    uint64_t packets, bytes; // bytes of layer 3
};

struct acl_cache;

#define ACL_MORE 0x80 // in acl_content.verb: the action has extras

struct acl_content {
    struct acl *rules; // NULL: no rules. Not owned
    // Number of slots; arrays have one entry more, for packets that match no rule.
    uint32_t slots;
    // Of the list's id; grows with each change, also in place. Verdict caches compare it.
    uint32_t epoch;
    bool cached;               // verdicts go through the cache
    uint8_t *verb;             // [slots + 1] enum acl_verb | ACL_MORE: enough for most packets
    struct acl_action *action; // [slots + 1]
    struct acl_hits *hits[FORWARDER_MAX]; // [slots + 1] of each forwarder; other threads only read
    // writer only
    struct acl_hits *added;    // [slots + 1]
    uint64_t bytes[4];         // of verb, action, hits, added
};

struct acl_list {
    struct acl_content *content; // rcu; NULL: the list does not exist and decides nothing
    char name[ACL_NAME_SIZE];    // constant while the list exists
    // writer only
    uint32_t epoch;
    uint8_t state;
    uint64_t ticket;
} __attribute__((aligned(64)));

extern struct acl_list *acl_table; // [ACL_LIST_MAX + 2]
extern uint8_t acl_secret[16];     // random for each process; for verdict caches
extern struct acl_cache
    *acl_caches[FORWARDER_MAX]; // acl/cache.h, for show: control, which starts and joins forwarders

int acl_table_init(void);
void acl_table_fini(void); // acl_manager must have freed contents and rules

// --- writer: acl_manager ---
uint16_t acl_list_new(const char *name); // a free id without content; 0 = table full
// The list has no content (acl_publish(id, NULL)) and is bound nowhere.
void acl_list_free(uint16_t id);
// Without rules: `rules` NULL, `slots` 0. All actions permit, with number 0, until set. NULL with
// errno.
struct acl_content *acl_content_new(struct acl *rules, uint32_t slots);
void acl_content_free(struct acl_content *c); // no reader may be left; NULL is fine
// Slot ACL_MISS: packets that match no rule.
void acl_content_set(struct acl_content *c, uint32_t slot, const struct acl_action *a);
// Publishes `c`, NULL = none. Waits for a grace period, then returns the previous content, which
// has no readers left.
struct acl_content *acl_publish(uint16_t id, struct acl_content *c);
void acl_changed(uint16_t id); // after a change in place of the rules or of a set that they use
void acl_hits_add(struct acl_content *c, uint32_t slot, struct acl_hits more);
void acl_hits_clear(struct acl_content *c, uint32_t slot);

// --- any thread that holds the content: sum of all forwarders; ACL_MISS: the default
struct acl_hits acl_hits_read(const struct acl_content *c, uint32_t slot);

// --- reader: forwarder, inside a burst ---
static inline const struct acl_content *acl_content_of(uint16_t id)
{
    return rcu_load(&acl_table[id].content);
}

// Index of a slot in the content's arrays.
static inline uint32_t acl_place(const struct acl_content *c, uint32_t slot)
{
    return slot < c->slots ? slot : c->slots;
}

#endif
