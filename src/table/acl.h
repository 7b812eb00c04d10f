// SPDX-License-Identifier: BSD-3-Clause
// acl.h - access lists as forwarders find them: rules, what to do, and counters
//
// A list is a name and a content; an interface has at most one list for what comes in and one for what leaves, an interface
// without one that of its virtual router (resolved by the writer: forwarders look at the interface alone). The
// content is replaced by one pointer, or changed in place (acl/acl.h). Written by acl_manager; read by forwarders,
// which load the content once a burst. Ids start at 1 and are reused after a grace period.
#ifndef TABLE_ACL_H
#define TABLE_ACL_H

#include <stdbool.h>
#include <stdint.h>

#include "acl/acl.h"
#include "acl/cache.h"
#include "core/rcu.h"
#include "core/thread.h"

#define ACL_LIST_MAX 1024   // id 0 = none
#define ACL_RULES_MAX (1u << 22)

enum acl_verb { ACL_PERMIT, ACL_DENY, ACL_REJECT }; // reject: ICMP admin-prohibited, or TCP RST
enum acl_extra { ACL_LOG = 1, ACL_MIRROR = 2, ACL_POLICE = 4, ACL_REDIRECT = 8 };

struct acl_action {
    uint8_t verb;      // enum acl_verb
    uint8_t extra;     // enum acl_extra; 0 on nearly all rules: one look
    uint16_t mirror;   // watch that takes copies
    uint16_t meter;    // of what is policed; what exceeds it is dropped
    uint16_t log_every; // one packet of so many is logged
    uint32_t nexthop;  // where it goes instead, 0 = where the FIB says
};

struct acl_hits { // of a rule, of one forwarder
    uint64_t packets, bytes;
};

struct acl_engine; // acl_engine.h: ours or rte_acl, chosen when the content is made

struct acl_content {
    struct acl_engine *engine;    // NULL: no rules
    uint32_t slots;               // room in the arrays below
    uint32_t epoch;               // grows with each change, also in place: verdict caches look at it
    struct acl_action otherwise;  // what no rule matches
    struct acl_action *action;    // [slot]
    struct acl_hits *hits[FORWARDER_MAX]; // [slots + 1]; the last entry: no rule matched. Of our own forwarder; others read
};

struct acl_list {
    struct acl_content *content; // rcu; NULL: the id is free
    char name[32];               // writer's own
} __attribute__((aligned(64)));

extern struct acl_list *acl_table; // [ACL_LIST_MAX]

int acl_table_init(void);
void acl_table_fini(void);

static inline const struct acl_content *acl_content_of(uint16_t id)
{
    return rcu_load(&acl_table[id].content);
}

#endif
