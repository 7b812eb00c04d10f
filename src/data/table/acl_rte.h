// SPDX-License-Identifier: BSD-3-Clause
// acl_rte.h - a list compiled by DPDK's rte_acl: fast for few rules, by addresses, protocol and
// ports
//
// Made once, never changed. It cannot tell later fragments, whose ports read 0, from other packets.
#ifndef TABLE_ACL_RTE_H
#define TABLE_ACL_RTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl/acl.h"

struct acl_rte;

// Does rte_acl have what the rule asks for?
bool acl_rte_can(const struct acl_rule *r);
// Of rules sorted by number; slot[i]: of rule i. NULL with errno: no memory, or more than
// max_bytes.
struct acl_rte *acl_rte_new(const struct acl_rule *const *rule, const uint32_t *slot, uint32_t n,
                            size_t max_bytes);
void acl_rte_free(struct acl_rte *t); // NULL is fine
size_t acl_rte_bytes(const struct acl_rte *t);

// Chooses among rte_acl's vector extensions, before there are readers; the quickest depends on the
// CPU's gathers. False: this CPU does not have that one.
#define ACL_RTE_VARIANTS 4u
bool acl_rte_use(struct acl_rte *t, unsigned variant);

// As acl_classify4 and 6, n <= 64. False, and no slot set: a later fragment is among them.
bool acl_rte_classify4(const struct acl_rte *t, const struct acl_key4 *key, uint32_t *slot,
                       unsigned n);
bool acl_rte_classify6(const struct acl_rte *t, const struct acl_key6 *key, uint32_t *slot,
                       unsigned n);

#endif
