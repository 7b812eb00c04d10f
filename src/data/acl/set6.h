// SPDX-License-Identifier: BSD-3-Clause
// set6.h - the IPv6 half of an address set: a Poptrie in which every member has the value 1
//
// For the set's writer. A batch is made in place if its worst case fits into the table's memory,
// otherwise in a copy, which the caller publishes.
#ifndef ACL_SET6_H
#define ACL_SET6_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "poptrie/poptrie.h"

struct set6_change {
    uint8_t addr[16]; // network order, left-aligned
    uint8_t len;
    bool add;
};

// Makes all changes in this order, or none. 0; -ENOMEM, -ENOSPC. t NULL: there was no member yet.
// *made: the table to use instead of t, which is unchanged; NULL: t was changed in place. *skipped
// grows by additions of members and deletions of non-members.
int set6_change(struct poptrie *t, const struct set6_change *c, size_t n, struct poptrie **made,
                uint64_t *skipped);
// Estimate of the bytes for so many more members.
size_t set6_need(const struct poptrie *t, size_t n);

#endif
