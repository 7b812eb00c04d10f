// SPDX-License-Identifier: BSD-3-Clause
// list.h - struct acl: a list as used by its writer (list.c) and its readers (classify.c)
//
// Readers load one classifier per burst and look at nothing else of the writer's. The writer keeps
// the rules by slot and by number, and frees memory that readers may still use after a grace period
// (garbage, retired).
#ifndef ACL_LIST_H
#define ACL_LIST_H

#include "acl/classifier.h"

#define GARBAGE_SLOT 2u

struct acl_garbage { // waits for a grace period
    uint64_t epoch;
    uint32_t serial, ref, n; // serial of the classifier; block, slot or index; entries
    uint8_t what;            // 0, 1: a block of IPv4, IPv6; GARBAGE_SLOT
    uint8_t prefix_table;    // if not INDEX_NONE: an index of this prefix table, not a block
};

struct acl {
    // readers
    struct classifier *classifier[2]; // IPv4, IPv6; NULL: no rules
    struct acl_config cfg;
    // writer
    struct acl_rule *rule; // [slot]; families 0: free
    uint8_t *tuple[2];     // [slot]: the rule's place in each classifier
    uint32_t rules, slots, room;
    uint32_t *index, index_size; // by number: slot + 1; open addressing
    uint32_t *free_slot, n_free;
    struct acl_garbage *garbage; // [garbage_from, n_garbage), by epoch
    uint32_t garbage_from, n_garbage, garbage_room;
    uint64_t epoch;
    uint32_t serial[2]; // of the classifiers
    struct classifier *retired;
};

static inline const struct classifier *list_classifier(const struct acl *a, unsigned f)
{
    return __atomic_load_n(&a->classifier[f], __ATOMIC_ACQUIRE); // partner: classifier_swap
}

#endif
