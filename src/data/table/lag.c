// SPDX-License-Identifier: BSD-3-Clause
// lag.c - divides a LAG's buckets among its active members (lag.h)
//
// All members get the same number of buckets, or one more. Two passes move as few as possible:
// first each bucket stays where it is, as long as its member is active and has no more than its
// share; then the others go to the member with the fewest. A byte store moves a bucket, so
// forwarders need no lock.
#include "table/lag.h"

#include <string.h>

#include "core/thread.h"

struct lag lag_table[LAG_MAX];

static void set_bucket(struct lag *lag, unsigned b, uint8_t member)
{
    __atomic_store_n(&lag->bucket[b], member, __ATOMIC_RELAXED);
}

// Returns the member with the fewest buckets.
static uint8_t neediest_member(const uint8_t *member, unsigned n, const unsigned *has)
{
    uint8_t least = member[0];

    for (unsigned i = 1; i < n; i++)
        if (has[member[i]] < has[least])
            least = member[i];
    return least;
}

void lag_share(struct lag *lag, const uint8_t *member, unsigned n)
{
    // `more` members have one more than the others.
    unsigned has[256] = {0}, base = n ? LAG_BUCKETS / n : 0, more = n ? LAG_BUCKETS % n : 0;
    bool in[256] = {false}, left[LAG_BUCKETS];

    thread_must_be(ROLE_CONTROL);
    for (unsigned i = 0; i < n; i++)
        in[member[i]] = true;
    for (unsigned b = 0; b < LAG_BUCKETS; b++) {
        uint8_t m = lag->bucket[b];
        bool one_more = in[m] && has[m] == base && more;
        bool keeps = in[m] && (has[m] < base || one_more);
        left[b] = !keeps;
        has[m] += keeps;
        more -= one_more;
    }
    for (unsigned b = 0; b < LAG_BUCKETS; b++) {
        if (!left[b])
            continue;
        uint8_t m = n ? neediest_member(member, n, has) : LAG_NO_MEMBER;
        has[m]++;
        set_bucket(lag, b, m);
    }
}
