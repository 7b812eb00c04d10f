// SPDX-License-Identifier: BSD-3-Clause
// acl_rte.h - a list compiled by DPDK's rte_acl: fast for few rules on addresses, protocol and
// ports
//
// Immutable once made. It cannot tell later fragments, whose ports read 0, from other packets.
#ifndef TABLE_ACL_RTE_H
#define TABLE_ACL_RTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl/acl.h"

struct acl_rte;

// Can rte_acl express the rule?
bool acl_rte_can(const struct acl_rule *r);
// Rules are sorted by number; slot[i] belongs to rule i. NULL with errno: no memory, or more than
// max_bytes.
struct acl_rte *acl_rte_new(const struct acl_rule *const *rule, const uint32_t *slot, uint32_t n,
                            size_t max_bytes);
void acl_rte_free(struct acl_rte *t); // NULL is fine
size_t acl_rte_bytes(const struct acl_rte *t);

// Selects one of rte_acl's vector variants, before there are readers; the fastest one depends on
// the CPU's gather instructions. Returns false if this CPU does not support it.
#define ACL_RTE_VARIANTS 4u
bool acl_rte_use(struct acl_rte *t, unsigned variant);

// Like acl_classify4 and acl_classify6, n <= 64. Returns false, and sets no slot, if there is a
// later fragment.
bool acl_rte_classify4(const struct acl_rte *t, const struct acl_key4 *key, uint32_t *slot,
                       unsigned n);
bool acl_rte_classify6(const struct acl_rte *t, const struct acl_key6 *key, uint32_t *slot,
                       unsigned n);

#endif
