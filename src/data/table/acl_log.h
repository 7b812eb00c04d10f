// SPDX-License-Identifier: BSD-3-Clause
// acl_log.h - packets that rules of access lists have logged: from forwarders to control
//
// A bounded ring: what does not fit is counted as lost. Forwarders put in and never wait; control
// takes out every so often and logs.
#ifndef TABLE_ACL_LOG_H
#define TABLE_ACL_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "acl/acl.h"

#define ACL_LOG_SIZE 1024 // packets

struct acl_log_entry { // a multiple of 4 bytes
    uint64_t tsc;
    uint32_t rule;  // number; 0 = what no rule matches
    uint16_t list;  // id
    uint16_t iface; // came in by; at an output list: leaves by
    uint16_t len;   // bytes of layer 3
    uint8_t family; // enum ip_family
    uint8_t verb;   // enum acl_verb
    uint8_t out;    // of an output list
    uint8_t pad[3];
    struct acl_key6 key; // IPv4 addresses: the first four bytes
};

struct rte_ring;
extern struct rte_ring *acl_log_ring;
extern uint64_t acl_log_lost;

int acl_log_init(void);
void acl_log_fini(void);
void acl_log_put(const struct acl_log_entry *e);              // forwarder
unsigned acl_log_take(struct acl_log_entry *e, unsigned n);   // control: how many

#endif
