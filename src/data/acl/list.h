// SPDX-License-Identifier: BSD-3-Clause
// list.h - a list, as its writer and its readers see it
#ifndef ACL_LIST_H
#define ACL_LIST_H

#include "acl/classifier.h"

#define GARBAGE_SLOT 2u

struct acl_garbage { // waits for a grace period
    uint64_t epoch;
    uint32_t serial, ref, n; // of the core; the block, the slot, or an index
    uint8_t what;            // 0, 1: a block of IPv4 or IPv6; GARBAGE_SLOT
    uint8_t prefix_table;    // not a block, but an index of this Poptrie; CORE_NONE
};

struct acl {
    // readers
    struct classifier *classifier[2]; // IPv4, IPv6; NULL: no rules
    struct acl_config cfg;
    // writer
    struct acl_rule *rule; // [slot]; families 0: free
    uint8_t *tuple[2];     // [slot]: where each core has it
    uint32_t rules, slots, room;
    uint32_t *index, index_size; // by number: slot + 1; open addressing
    uint32_t *free_slot, n_free;
    struct acl_garbage *garbage; // [garbage_from, n_garbage), by epoch
    uint32_t garbage_from, n_garbage, garbage_room;
    uint64_t epoch;
    uint32_t serial[2]; // of the core
    struct classifier *retired;
};

static inline const struct classifier *list_classifier(const struct acl *a, unsigned f)
{
    return __atomic_load_n(&a->classifier[f], __ATOMIC_ACQUIRE); // partner: classifier_swap
}

#endif
