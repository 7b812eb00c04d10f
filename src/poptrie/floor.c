// SPDX-License-Identifier: BSD-3-Clause
// floor.c - routes of up to 12 bits, the default route included
//
// A leaf of 0 says that no route longer than 12 bits covers the address; then the floor answers:
// one value for each first 12 bits.  If such routes were pushed into leaves like all others, a /1
// would rebuild half of all blocks; here it stores 2,048 values.
#include "poptrie/poptrie_priv.h"

// The 64 entries of the addresses that begin with these six bits.
static void refresh_six(struct poptrie *t, const struct node *root, unsigned c)
{
    uint16_t inherited = node_longest(root, 64 | c, t->default_value), v[64];
    const struct node *n = NULL;

    if (node_has_kid(root, c))
        n = node_at(&t->nodes, node_kid(root, c)->node);
    if (n != NULL && n->depth == 6)
        block_paint(n, inherited, v);
    for (unsigned i = 0; i < 64; i++) {
        uint16_t *entry = &t->floor[64 * c + i], is = n != NULL && n->depth == 6 ? v[i] : inherited;

        if (*entry != is)
            __atomic_store_n(entry, is, __ATOMIC_RELEASE); // partner: leaf_answer, and gathers
    }
}

void floor_refresh(struct poptrie *t, const uint64_t key[2], unsigned len)
{
    const struct node *root = node_at(&t->nodes, t->root.node);
    unsigned from = key_window(key, 0), n = len < 6 ? 64u >> len : 1;

    for (unsigned c = from; c < from + n; c++)
        refresh_six(t, root, c);
}
