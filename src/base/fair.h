// SPDX-License-Identifier: BSD-3-Clause
// fair.h - a queue that serves the least-served share first
//
// Items wait in order of arrival; each belongs to a share: a user, a token, a virtual router. The
// next item is the oldest one of the share that has used least, so a share with much work does not
// delay the others. Idle shares collect no credit: a share that starts to wait is raised to the
// usage of the share that was served last or, in an empty queue, of the share that has used most.
// Items without a share are the router's own and come first.
#ifndef BASE_FAIR_H
#define BASE_FAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fair_share { // of one queue; initially zeroed
    uint64_t used_ns;
};

struct fair_item { // embedded in the work that waits
    struct fair_item *next;
    struct fair_share *share; // or NULL
};

struct fair_queue { // initially zeroed
    struct fair_item *first;
    uint64_t least_ns; // usage of the share that was served last, at that time
    uint64_t most_ns;  // highest usage of any share
    unsigned n;
};

void fair_put(struct fair_queue *q, struct fair_item *i, struct fair_share *share);
// Removes and returns the next item; NULL if none waits. `may` skips items for which it returns
// false (NULL: skip none).
struct fair_item *fair_take(struct fair_queue *q, bool (*may)(const struct fair_item *i));
void fair_used(struct fair_queue *q, struct fair_share *s, uint64_t ns); // NULL: ignored

#endif
