// SPDX-License-Identifier: BSD-3-Clause
// set6.c - the IPv6 half of an address set (set6.h)
//
// A Poptrie takes one change at a time, each completely or not at all. A batch is applied in place
// if the worst case fits; else to a copy, which then replaces the table.
#include "acl/set6.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RESERVED ((size_t)512 << 20)  // of address space
#define WORST_BYTES 2048u             // worst case of one change
#define BYTES_EACH 150u               // per member, estimate, writer's memory included
#define BYTES_FIXED ((size_t)9 << 20) // the directory

static struct poptrie *table_new(void)
{
    return poptrie_new(&(struct poptrie_config){.key_bits = 128, .max_bytes = RESERVED});
}

size_t set6_need(const struct poptrie *t, size_t n)
{
    return n ? (t ? 0 : BYTES_FIXED) + BYTES_EACH * n : 0;
}

static int table_remove(struct poptrie *t, const struct set6_change *c, uint64_t *skipped)
{
    int rc = poptrie_del(t, c->addr, c->len);

    *skipped += rc == -ENOENT;
    return rc == -ENOENT ? 0 : rc;
}

static int table_insert(struct poptrie *t, const struct set6_change *c, uint64_t *skipped)
{
    bool there = poptrie_get(t, c->addr, c->len) != POPTRIE_NONE;

    *skipped += there;
    return there ? 0 : poptrie_add(t, c->addr, c->len, 1);
}

static int table_apply(struct poptrie *t, const struct set6_change *c, size_t n, uint64_t *skipped)
{
    int rc = 0;

    for (size_t i = 0; i < n && !rc; i++)
        rc = c[i].add ? table_insert(t, &c[i], skipped) : table_remove(t, &c[i], skipped);
    return rc;
}

struct rows {
    struct poptrie_route *r;
    size_t n;
};

static int row_take(void *ctx, const uint8_t *key, unsigned len, uint32_t value)
{
    struct rows *rows = ctx;

    rows->r[rows->n] = (struct poptrie_route){.len = (uint8_t)len, .value = value};
    memcpy(rows->r[rows->n++].key, key, 16);
    return 0;
}

// A table with the same members, or NULL.
static struct poptrie *table_copy(const struct poptrie *t, uint64_t members)
{
    struct rows rows = {malloc((members + 1) * sizeof *rows.r), 0};
    struct poptrie *new = rows.r ? table_new() : NULL;

    if (new) {
        poptrie_walk(t, row_take, &rows);
        if (poptrie_load(new, rows.r, rows.n)) {
            poptrie_free(new);
            new = NULL;
        }
    }
    free(rows.r);
    return new;
}

int set6_change(struct poptrie *t, const struct set6_change *c, size_t n, struct poptrie **made,
                uint64_t *skipped)
{
    struct poptrie_stats st = {0};

    *made = NULL;
    if (t)
        poptrie_usage(t, &st);
    if (t && (n == 1 || st.bytes_used + n * WORST_BYTES <= RESERVED))
        return table_apply(t, c, n, skipped);
    struct poptrie *aside = t ? table_copy(t, st.routes) : table_new();
    int rc = aside ? table_apply(aside, c, n, skipped) : -ENOMEM;
    if (!rc)
        *made = aside;
    else
        poptrie_free(aside);
    return rc;
}
