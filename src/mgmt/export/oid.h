// SPDX-License-Identifier: BSD-3-Clause
// oid.h - object identifiers: sequences of numbers, in lexicographic order
//
// Any thread; no state.
#ifndef EXPORT_OID_H
#define EXPORT_OID_H

#include <stdbool.h>
#include <stdint.h>

#define OID_MAX 128

struct oid {
    unsigned n;
    uint32_t id[OID_MAX];
};

static inline int oid_compare_ids(const uint32_t *a, unsigned an, const uint32_t *b, unsigned bn)
{
    for (unsigned i = 0; i < an && i < bn; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return an < bn ? -1 : an > bn;
}

static inline int oid_compare(const struct oid *a, const struct oid *b)
{
    return oid_compare_ids(a->id, a->n, b->id, b->n);
}

static inline bool oid_is_in(const struct oid *o,
                             const struct oid *tree) // the tree's own name included
{
    return o->n >= tree->n && !oid_compare_ids(o->id, tree->n, tree->id, tree->n);
}

static inline void oid_add(struct oid *o, uint32_t id) // what is too long stays as it is
{
    if (o->n < OID_MAX)
        o->id[o->n++] = id;
}

#endif
