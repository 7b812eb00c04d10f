// SPDX-License-Identifier: BSD-3-Clause
// mib.c - the trees, and finding the next variable over all of them
#include "export/mib.h"

#include <string.h>

#define TREE(...) {sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), {__VA_ARGS__}}

// The trees are cut where net-snmp's own modules cut theirs, or finer, so that ours take their
// places.
const struct mib mib_table[] = {
    {TREE(1, 3, 6, 1, 2, 1, 2, 1, 0), false, mib_if_number},       // ifNumber
    {TREE(1, 3, 6, 1, 2, 1, 2, 2), false, mib_if_table},           // ifTable
    {TREE(1, 3, 6, 1, 2, 1, 4, 24, 6, 0), true, mib_route_number}, // inetCidrRouteNumber
    {TREE(1, 3, 6, 1, 2, 1, 4, 24, 7), true, mib_route_table},     // inetCidrRouteTable
    {TREE(1, 3, 6, 1, 2, 1, 4, 32), true, mib_prefix_table},       // ipAddressPrefixTable
    {TREE(1, 3, 6, 1, 2, 1, 4, 34), true, mib_address_table},      // ipAddressTable
    {TREE(1, 3, 6, 1, 2, 1, 4, 35), true, mib_neighbor_table},     // ipNetToPhysicalTable
    {TREE(1, 3, 6, 1, 2, 1, 31, 1, 1), false, mib_ifx_table},      // ifXTable
    {TREE(1, 3, 6, 1, 2, 1, 31, 1, 2), false, mib_stack_table},    // ifStackTable
    {TREE(1, 3, 6, 1, 2, 1, 31, 1, 5, 0), false, mib_if_changed},  // ifTableLastChange
};
const unsigned mib_n = sizeof mib_table / sizeof *mib_table;

static bool is_asked(const struct mib_question *q, const struct mib *m)
{
    return m->per_vr || q->interfaces;
}

enum mib_found mib_next(const struct mib_question *q, const struct oid *from, bool include,
                        struct oid *name, struct value *v)
{
    for (unsigned i = 0; i < mib_n; i++) {
        const struct mib *m = &mib_table[i];
        if (!is_asked(q, m) || (oid_compare(from, &m->tree) > 0 && !oid_is_in(from, &m->tree)))
            continue;
        enum mib_found found = m->next(q, from, include, name, v);
        if (found != MIB_END)
            return found;
    }
    return MIB_END;
}

bool mib_has_object(const struct mib_question *q, const struct oid *name)
{
    for (unsigned i = 0; i < mib_n; i++)
        if (is_asked(q, &mib_table[i]) && oid_is_in(name, &mib_table[i].tree))
            return true;
    return false;
}

struct value value_integer(int32_t n)
{
    return (struct value){.type = VALUE_INTEGER, .number = (uint32_t)n};
}

struct value value_unsigned(enum value_type type, uint64_t n)
{
    return (struct value){.type = type, .number = n};
}

struct value value_string(const void *s, unsigned n)
{
    struct value v = {.type = VALUE_STRING, .n = n < sizeof v.string ? n : sizeof v.string};

    memcpy(v.string, s, v.n);
    return v;
}

bool mib_place_of(const struct oid *tree, const struct oid *from, uint32_t first,
                  struct mib_place *p)
{
    const uint32_t *id = from->id + tree->n;
    unsigned n = oid_is_in(from, tree) ? from->n - tree->n : 0;
    uint32_t column = n > 1 && id[0] == 1 ? id[1] : 0;

    if (n && id[0] > 1)
        return false;
    *p = (struct mib_place){.column = column < first ? first : column,
                            .key = id + 2,
                            .n = n > 2 && column >= first ? n - 2 : 0};
    return true;
}

void mib_place_name(const struct oid *tree, uint32_t column, const uint32_t *key, unsigned n,
                    struct oid *name)
{
    *name = *tree;
    oid_add(name, 1);
    oid_add(name, column);
    for (unsigned i = 0; i < n; i++)
        oid_add(name, key[i]);
}

enum mib_found mib_scalar(const struct oid *tree, const struct oid *from, bool include,
                          struct oid *name)
{
    int d = oid_compare(from, tree);

    if (d > 0 || (!d && !include))
        return MIB_END;
    *name = *tree;
    return MIB_FOUND;
}
