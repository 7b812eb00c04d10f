// SPDX-License-Identifier: BSD-3-Clause
// set_change.c - changes both families of an address set together, or neither
//
// IPv4 changes in two steps of which the second cannot fail, IPv6 in one that may fail: so IPv4 is
// prepared, IPv6 changed, and IPv4 committed, or abandoned if IPv6 failed. A Poptrie takes one
// change at a time, so a batch begins only if its worst case fits.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acl/set_priv.h"

#define CHANGES_INLINE 8u // changes that need no allocation
#define RESERVED6 ((size_t)512 << 20)  // of address space
#define WORST_BYTES6 2048u             // worst case of one change
#define EACH_BYTES6 150u               // per member, estimate, writer's memory included
#define FIXED_BYTES6 ((size_t)9 << 20) // the directory

static size_t prefixes6_count(const struct prefix *p, size_t n)
{
    size_t six = 0;

    for (size_t i = 0; i < n; i++)
        six += p[i].family == 6;
    return six;
}

struct set6_change {
    uint8_t addr[16]; // network order, left-aligned
    uint8_t len;
    bool add;
};

struct changes { // by family; deletions first
    struct set4_change *c4, inline4[CHANGES_INLINE];
    struct set6_change *c6, inline6[CHANGES_INLINE];
    size_t n4, n6, add6;
};

static void changes_append(struct changes *to, const struct prefix *p, size_t n, bool add)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i].family == 4) {
            to->c4[to->n4++] = (struct set4_change){acl_prefix_addr4(&p[i]), p[i].len, add};
            continue;
        }
        struct set6_change *c = &to->c6[to->n6++];
        *c = (struct set6_change){.len = p[i].len, .add = add};
        memcpy(c->addr, p[i].b, sizeof c->addr);
        to->add6 += add;
    }
}

static void changes_free(struct changes *all)
{
    if (all->c4 != all->inline4)
        free(all->c4);
    if (all->c6 != all->inline6)
        free(all->c6);
}

static bool changes_make(struct changes *all, const struct prefix *del, size_t n_del,
                         const struct prefix *add, size_t n_add)
{
    all->c4 = all->inline4;
    all->c6 = all->inline6;
    all->n4 = all->n6 = all->add6 = 0;
    if (n_del + n_add > CHANGES_INLINE) {
        size_t six = prefixes6_count(del, n_del) + prefixes6_count(add, n_add),
               four = n_del + n_add - six;
        all->c4 = malloc(four * sizeof *all->c4 + 1);
        all->c6 = malloc(six * sizeof *all->c6 + 1);
    }
    if (!all->c4 || !all->c6) {
        changes_free(all);
        return false;
    }
    changes_append(all, del, n_del, false);
    changes_append(all, add, n_add, true);
    return true;
}

// The IPv4 half may use the room that the other half leaves.
static size_t room4(const struct acl_set *s)
{
    struct poptrie_stats st;

    if (!s->max_bytes || !s->v6)
        return s->max_bytes;
    poptrie_usage(s->v6, &st);
    size_t six = st.bytes_used + st.writer_bytes;
    return six < s->max_bytes ? s->max_bytes - six : 1;
}

static int change4(struct acl_set *s, const struct changes *all, struct set4 **made)
{
    struct set4 *v4 = s->v4;

    *made = NULL;
    if (!all->n4)
        return 0;
    if (!v4) {
        *made = v4 = set4_new(room4(s), all->n4);
        if (!v4)
            return -ENOMEM;
    }
    v4->max_bytes = room4(s);
    set4_sort(all->c4, all->n4);
    int rc = set4_prepare(v4, all->c4, all->n4);
    if (rc)
        set4_free(*made);
    return rc;
}

size_t set6_need(const struct poptrie *t, size_t n)
{
    return n ? (t ? 0 : FIXED_BYTES6) + EACH_BYTES6 * n : 0;
}

static bool fits6(const struct acl_set *s, const struct changes *all)
{
    struct poptrie_stats six = {0};
    struct acl_set_stats st;

    if (s->v6)
        poptrie_usage(s->v6, &six);
    if (s->v6 && all->n6 > 1 && six.bytes_used + all->n6 * WORST_BYTES6 > RESERVED6)
        return false;
    if (!s->max_bytes || !all->add6)
        return true;
    acl_set_stats(s, &st);
    return st.bytes + st.writer_bytes + set6_need(s->v6, all->add6) <= s->max_bytes;
}

static int change6_one(struct poptrie *t, const struct set6_change *c, uint64_t *skip)
{
    bool there = poptrie_get(t, c->addr, c->len) != POPTRIE_NONE;

    *skip += there == c->add;
    return there == c->add ? 0
           : c->add        ? poptrie_add(t, c->addr, c->len, 1)
                           : poptrie_del(t, c->addr, c->len);
}

static int change6(struct acl_set *s, const struct changes *all, uint64_t *skip)
{
    struct poptrie *t = s->v6;
    int rc = 0;

    if (!t && !all->add6) {
        *skip += all->n6;
        return 0;
    }
    if (!fits6(s, all))
        return -ENOSPC;
    if (!t)
        t = poptrie_new(&(struct poptrie_config){.key_bits = 128, .max_bytes = RESERVED6});
    if (!t)
        return -ENOMEM;
    for (size_t i = 0; i < all->n6 && !rc; i++)
        rc = change6_one(t, &all->c6[i], skip);
    if (s->v6)
        return rc;
    if (rc) {
        poptrie_free(t);
        return rc;
    }
    s->ahead6 = s->epoch - 1;
    __atomic_store_n(&s->v6, t, __ATOMIC_RELEASE); // partner: acl_set_find6
    return 0;
}

// Prepares IPv4, changes IPv6, commits IPv4: the commit cannot fail.
static int set_change_both(struct acl_set *s, struct changes *all, uint64_t *skip)
{
    struct set4 *made;
    int rc = change4(s, all, &made);

    if (rc)
        return rc;
    rc = change6(s, all, skip);
    if (rc) {
        if (all->n4)
            set4_abandon(made ? made : s->v4);
        set4_free(made);
        return rc;
    }
    if (all->n4)
        set4_commit(made ? made : s->v4, all->c4, all->n4, s->epoch, skip);
    // partner: acl_set_find4
    if (made)
        __atomic_store_n(&s->v4, made, __ATOMIC_RELEASE);
    return 0;
}

int acl_set_change(struct acl_set *s, const struct prefix *del, size_t n_del,
                   const struct prefix *add, size_t n_add, uint64_t *skipped)
{
    struct changes all;
    uint64_t skip = 0;

    if (!changes_make(&all, del, n_del, add, n_add))
        return -ENOMEM;
    int rc = set_change_both(s, &all, &skip);
    changes_free(&all);
    if (!rc && skipped)
        *skipped = skip;
    return rc;
}
