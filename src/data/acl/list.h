// SPDX-License-Identifier: BSD-3-Clause
// list.h - struct acl: a list as used by its writer (list.c) and its readers (classify.c)
//
// Readers load one classifier per burst and look at nothing else of the writer's. The writer keeps
// the rules by slot and by number, and frees memory that readers may still use after a grace period
// (garbage, retired).
#ifndef ACL_LIST_H
#define ACL_LIST_H

#include "acl/classifier.h"

struct slot_garbage { // waits for a grace period
    uint64_t epoch;
    uint32_t slot;
};

struct acl {
    // readers
    struct classifier *classifier[2]; // IPv4, IPv6; NULL: no rules
    struct acl_config cfg;
    // writer
    struct acl_rule *rule; // [slot]; families 0: free
    uint8_t *tuple[2];     // [slot]: the rule's place in each classifier
    uint32_t slots, room;
    struct acl_order order;
    uint32_t *free_slot, n_free;
    VEC(struct slot_garbage) garbage;
    uint64_t epoch;
    struct classifier *retired;
};

static inline const struct classifier *list_classifier(const struct acl *a, unsigned f)
{
    return __atomic_load_n(&a->classifier[f], __ATOMIC_ACQUIRE); // partner: classifier_swap
}

#endif
