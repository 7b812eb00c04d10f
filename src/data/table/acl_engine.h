// SPDX-License-Identifier: BSD-3-Clause
// acl_engine.h - the classifier of a list: ours (acl/acl.h) or DPDK's rte_acl, whichever is faster
//
// Written by acl_manager, read by forwarders. An engine is built separately for a list's content
// and published with it. Readers use one pointer, which changes when acl_engine_choose has built a
// better classifier.
#ifndef TABLE_ACL_ENGINE_H
#define TABLE_ACL_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl/acl.h"

enum acl_engine_kind { ACL_ENGINE_OURS, ACL_ENGINE_RTE_ACL };

struct acl_engine;

struct acl_engine_config {
    struct acl_config acl; // max_bytes, address sets, memory
    bool ours_only;        // no comparison: for rules that change all the time, and for tests
};

struct acl_engine_cost { // for `show acl NAME cost`
    enum acl_engine_kind kind;
    char why[160];        // reason of the choice, a sentence
    struct acl_cost ours;
    double ours_cycles, rte_acl_cycles; // per packet, at the choice; 0 = not measured
    uint64_t bytes;        // memory that forwarders read
    uint64_t writer_bytes;
    uint64_t build_ns;
    uint32_t rules, slots;
};

// --- writer: acl_manager ---

// NULL with errno: EINVAL, EEXIST (number), ENOMEM, ENOSPC (over max_bytes; acl_need tells the
// need).
struct acl_engine *acl_engine_new(const struct acl_engine_config *cfg, const struct acl_rule *r,
                                  size_t n);
void acl_engine_free(struct acl_engine *e); // no reader may be left; NULL is fine
// In place, while readers continue. Returns as acl_add and acl_del. An rte_acl engine switches to
// ours at once.
int acl_engine_add(struct acl_engine *e, const struct acl_rule *r);
int acl_engine_del(struct acl_engine *e, uint32_t number);
// After changes: measures again and switches to the faster classifier, while readers continue.
void acl_engine_choose(struct acl_engine *e);
// The list itself, for acl_rule_of, acl_slot_of, acl_walk…; never NULL.
const struct acl *acl_engine_list(const struct acl_engine *e);
uint64_t acl_engine_epoch(struct acl_engine *e);
void acl_engine_reclaim(struct acl_engine *e, uint64_t epoch);
size_t acl_engine_bytes(const struct acl_engine *e); // of readers and writer; fast, while
                                                     // acl_engine_cost walks everything
void acl_engine_cost(const struct acl_engine *e, struct acl_engine_cost *c);
const char *acl_engine_kind_name(enum acl_engine_kind k); // "ours", "rte_acl"

// --- reader: forwarder, inside a burst ---

// Our classifier if it serves the list, so that fields may be read late (acl_classify_late); NULL:
// rte_acl serves it.
const struct acl *acl_engine_ours(const struct acl_engine *e);
// Like acl_classify4 and acl_classify6.
void acl_engine_classify4(const struct acl_engine *e, const struct acl_key4 *key, uint32_t *slot,
                          unsigned n);
void acl_engine_classify6(const struct acl_engine *e, const struct acl_key6 *key, uint32_t *slot,
                          unsigned n);

#endif
