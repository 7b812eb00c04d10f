// SPDX-License-Identifier: BSD-3-Clause
// fair.h - a queue in which those who have had least are served first
//
// Work waits in order of arrival, each piece for a share: a user, a token, a virtual router. The
// next piece is the oldest one of the share that has used least. So nobody waits behind all that
// somebody else wants. Idleness is no credit: a share that begins to wait has used as much as the
// one that was served last, or, if nobody waits, as the one that has used most. Work without a
// share is the router's own and comes first.
#ifndef BASE_FAIR_H
#define BASE_FAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fair_share { // of one queue; zeroed at the beginning
    uint64_t used_ns;
};

struct fair_item { // within what waits
    struct fair_item *next;
    struct fair_share *share; // or NULL
};

struct fair_queue { // zeroed at the beginning
    struct fair_item *first;
    uint64_t least_ns; // used by the share that was served last, when it was
    uint64_t most_ns;  // used by any
    unsigned n;
};

void fair_put(struct fair_queue *q, struct fair_item *i, struct fair_share *share);
// The next one, which waits no longer; NULL: none does. `may`: only one for which it is true (NULL:
// any).
struct fair_item *fair_take(struct fair_queue *q, bool (*may)(const struct fair_item *i));
void fair_used(struct fair_queue *q, struct fair_share *s, uint64_t ns); // NULL: nobody's

#endif
