// SPDX-License-Identifier: BSD-3-Clause
// set6.c - the IPv6 half of an address set: a Poptrie in which every member has the value 1
//
// A Poptrie takes one change at a time, each whole or not at all. A batch is made in place where there is room for
// the worst that it can need; a batch for which there may not be is made in a copy, which then takes the table's place.
#include "acl/set_priv.h"

#include <errno.h>
#include <stdlib.h>

#define RESERVED ((size_t)512 << 20) // of address space
#define WORST_BYTES 2048u            // that one change can need
#define BYTES_EACH 150u              // of a member, about, the writer's included
#define BYTES_FIXED ((size_t)9 << 20) // the directory

static struct poptrie *table_new(void)
{
    return poptrie_new(&(struct poptrie_config){.key_bits = 128, .max_bytes = RESERVED});
}

size_t set6_need(size_t n)
{
    return n ? BYTES_FIXED + BYTES_EACH * n : 0;
}

void set6_stats(const struct acl_set *s, struct acl_set_stats *out)
{
    struct poptrie_stats st;

    if (!s->v6)
        return;
    poptrie_usage(s->v6, &st);
    out->members[1] = st.routes;
    out->bytes += st.bytes_used;
    out->writer_bytes += st.writer_bytes;
    out->garbage_bytes += st.garbage_bytes;
}

static size_t count6(const struct acl_prefix *p, size_t n)
{
    size_t six = 0;

    for (size_t i = 0; i < n; i++)
        six += p[i].family == 6;
    return six;
}

static int remove6(struct poptrie *t, const struct acl_prefix *p, uint64_t *skipped)
{
    int rc = poptrie_del(t, p->addr, p->len);

    *skipped += rc == -ENOENT;
    return rc == -ENOENT ? 0 : rc;
}

static int insert6(struct poptrie *t, const struct acl_prefix *p, uint64_t *skipped)
{
    bool there = poptrie_get(t, p->addr, p->len) != POPTRIE_NONE;

    *skipped += there;
    return there ? 0 : poptrie_add(t, p->addr, p->len, 1);
}

static int apply6(struct poptrie *t, const struct acl_prefix *del, size_t n_del, const struct acl_prefix *add, size_t n_add, uint64_t *skipped)
{
    int rc = 0;

    for (size_t i = 0; i < n_del && !rc; i++)
        if (del[i].family == 6)
            rc = remove6(t, &del[i], skipped);
    for (size_t i = 0; i < n_add && !rc; i++)
        if (add[i].family == 6)
            rc = insert6(t, &add[i], skipped);
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
static struct poptrie *copy6(const struct poptrie *t, uint64_t members)
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

int set6_change(struct acl_set *s, const struct acl_prefix *del, size_t n_del, const struct acl_prefix *add, size_t n_add, uint64_t *skipped)
{
    size_t more = count6(add, n_add), all = more + count6(del, n_del);
    struct acl_set_stats st = {0};
    struct poptrie *t = s->v6;

    if (!more && !t) {
        *skipped += all;
        return 0;
    }
    set6_stats(s, &st);
    if (s->max_bytes && more && acl_set_bytes(s) + BYTES_EACH * more + (t ? 0 : BYTES_FIXED) > s->max_bytes)
        return -ENOSPC;
    bool aside = !t || (all > 1 && st.bytes + all * WORST_BYTES > RESERVED);
    if (aside && !(t = t ? copy6(t, st.members[1]) : table_new()))
        return -ENOMEM;
    int rc = apply6(t, del, n_del, add, n_add, skipped);
    if (!aside)
        return rc;
    if (rc) {
        poptrie_free(t);
        return rc;
    }
    if (s->v6)
        *vec_push(&s->old) = (struct acl_set_old){.v6 = s->v6, .epoch = s->epoch};
    s->ahead6 = s->epoch - 1;
    __atomic_store_n(&s->v6, t, __ATOMIC_RELEASE); // partner: acl_set_find6
    return 0;
}
