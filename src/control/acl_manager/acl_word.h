// SPDX-License-Identifier: BSD-3-Clause
// acl_word.h - names for numbers in rules of access lists: protocols, ports, ICMP types,
// codepoints, TCP flags, parts of packets
//
// The tables are our own, so that a rule means the same on every machine. Any thread; no state.
#ifndef ACL_MANAGER_ACL_WORD_H
#define ACL_MANAGER_ACL_WORD_H

#include <stdint.h>

struct acl_word {
    const char *name;
    uint16_t number;
    uint8_t families; // enum acl_family that it belongs to; 0 = none
};

// Each ends with {0}: a NULL name.
extern const struct acl_word acl_protocols[], acl_ports[], acl_icmp_types[], acl_icmp6_types[],
    acl_dscps[], acl_tcp_flags[], acl_parts[];

const struct acl_word *acl_word_find(const struct acl_word *table, const char *name); // or NULL
// name of the first match, or NULL
const char *acl_word_name(const struct acl_word *table, uint16_t number);

#endif
