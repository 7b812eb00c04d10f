// SPDX-License-Identifier: BSD-3-Clause
// acl_log.h - log records of access-list rules, from forwarders to control
//
// A bounded ring; records that do not fit are counted as lost. Forwarders never wait. Control
// drains it periodically and logs.
#ifndef TABLE_ACL_LOG_H
#define TABLE_ACL_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "acl/acl.h"

#define ACL_LOG_SIZE 1024 // packets

struct acl_log_entry { // a multiple of 4 bytes
    uint64_t tsc;
    uint32_t rule;  // number; 0 = no rule matches
    uint16_t list;  // id
    uint16_t iface; // input interface; for an output list: output interface
    uint16_t len;   // bytes of layer 3
    uint8_t family; // enum ip_family
    uint8_t verb;   // enum acl_verb
    uint8_t out;    // true: of an output list
    uint8_t pad[3];
    struct acl_key6 key; // IPv4 addresses: the first four bytes
};

struct rte_ring;
extern struct rte_ring *acl_log_ring;
extern uint64_t acl_log_lost;

int acl_log_init(void);
void acl_log_fini(void);
void acl_log_put(const struct acl_log_entry *e);              // forwarder
unsigned acl_log_take(struct acl_log_entry *e, unsigned n);   // control; returns the number taken

#endif
