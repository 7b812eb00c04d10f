// SPDX-License-Identifier: BSD-3-Clause
// label.c - labels: one store per change; a longer table is a copy (label.h)
#include "table/label.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "core/thread.h"

#define FEWEST 1024u

static struct label_table none;
static uint32_t n_used[VR_MAX];

struct label_table *label_root[VR_MAX] = {[0 ... VR_MAX - 1] = &none};

static void table_free(struct rcu_retired *r)
{
    free(r); // its first member
}

static void publish(uint16_t vr, struct label_table *t)
{
    struct label_table *old = label_root[vr];

    rcu_publish(&label_root[vr], t);
    if (old != &none)
        rcu_retire(&old->retired, table_free);
}

// Memory of labels that are not in use is not touched, and so is not committed.
static int grow(uint16_t vr, uint32_t label)
{
    const struct label_table *old = label_root[vr];
    uint32_t n = FEWEST;

    while (n <= label)
        n *= 2;
    struct label_table *t = calloc(1, sizeof *t + n * sizeof *t->word);
    if (!t)
        return -ENOMEM;
    t->n = n;
    memcpy(t->word, old->word, old->n * sizeof *t->word);
    publish(vr, t);
    return 0;
}

int label_set(uint16_t vr, uint32_t label, uint32_t nexthop)
{
    thread_must_be(ROLE_RIB_MANAGER);
    bug_on(label < LABEL_FIRST || label >= LABEL_MAX);
    if (label >= label_root[vr]->n) {
        if (!nexthop)
            return 0;
        if (grow(vr, label))
            return -ENOMEM;
    }
    uint64_t *at = &label_root[vr]->word[label];
    n_used[vr] += (uint32_t)((nexthop != 0) - (*at != 0));
    // Release: the next hop is complete; partner: acquire in label_find.
    __atomic_store_n(at, nexthop ? label_word_of(nexthop) : 0, __ATOMIC_RELEASE);
    return 0;
}

uint32_t label_get(uint16_t vr, uint32_t label)
{
    return label_word_id(label_find(label_root[vr], label));
}

uint32_t label_count(uint16_t vr)
{
    return n_used[vr];
}

void label_table_drop(uint16_t vr)
{
    thread_must_be(ROLE_RIB_MANAGER);
    publish(vr, &none);
    n_used[vr] = 0;
}
