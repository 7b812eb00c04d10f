// SPDX-License-Identifier: BSD-3-Clause
// set_change.c - changes both families of an address set together, or neither
//
// IPv4 changes in two steps of which the second cannot fail, IPv6 in one that may fail: so IPv4 is
// prepared, IPv6 changed, and IPv4 committed, or abandoned if IPv6 failed. A load builds a new set
// and replaces both halves.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acl/set6.h"
#include "acl/set_priv.h"

#define CHANGES_INLINE 8u // changes that need no allocation

static bool prefixes_are_sound(const struct acl_prefix *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!acl_prefix_is_sound(&p[i]))
            return false;
    return true;
}

static size_t prefixes6_count(const struct acl_prefix *p, size_t n)
{
    size_t six = 0;

    for (size_t i = 0; i < n; i++)
        six += p[i].family == 6;
    return six;
}

struct changes { // by family; deletions first
    struct set4_change *c4, inline4[CHANGES_INLINE];
    struct set6_change *c6, inline6[CHANGES_INLINE];
    size_t n4, n6, add6;
};

static void changes_append(struct changes *to, const struct acl_prefix *p, size_t n, bool add)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i].family == 4) {
            to->c4[to->n4++] = (struct set4_change){acl_prefix_addr4(&p[i]), p[i].len, add};
            continue;
        }
        struct set6_change *c = &to->c6[to->n6++];
        *c = (struct set6_change){.len = p[i].len, .add = add};
        memcpy(c->addr, p[i].addr, sizeof c->addr);
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

static bool changes_make(struct changes *all, const struct acl_prefix *del, size_t n_del,
                         const struct acl_prefix *add, size_t n_add)
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

static bool fits6(const struct acl_set *s, size_t more)
{
    struct acl_set_stats st;

    if (!s->max_bytes || !more)
        return true;
    acl_set_stats(s, &st);
    return st.bytes + st.writer_bytes + set6_need(s->v6, more) <= s->max_bytes;
}

static int change6(struct acl_set *s, const struct changes *all, uint64_t *skip)
{
    struct poptrie *made;

    if (!all->n6)
        return 0;
    if (!s->v6 && !all->add6) {
        *skip += all->n6;
        return 0;
    }
    if (!fits6(s, all->add6))
        return -ENOSPC;
    int rc = set6_change(s->v6, all->c6, all->n6, &made, skip);
    if (!made)
        return rc;
    if (s->v6)
        *vec_push(&s->old) = (struct acl_set_old){.v6 = s->v6, .epoch = s->epoch};
    s->ahead6 = s->epoch - 1;
    __atomic_store_n(&s->v6, made, __ATOMIC_RELEASE); // partner: acl_set_find6
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

int acl_set_change(struct acl_set *s, const struct acl_prefix *del, size_t n_del,
                   const struct acl_prefix *add, size_t n_add, uint64_t *skipped)
{
    struct changes all;
    uint64_t skip = 0;

    if (!prefixes_are_sound(del, n_del) || !prefixes_are_sound(add, n_add))
        return -EINVAL;
    if (!changes_make(&all, del, n_del, add, n_add))
        return -ENOMEM;
    int rc = set_change_both(s, &all, &skip);
    changes_free(&all);
    if (!rc && skipped)
        *skipped = skip;
    return rc;
}

int acl_set_add(struct acl_set *s, const struct acl_prefix *p)
{
    uint64_t skipped;
    int rc = acl_set_change(s, NULL, 0, p, 1, &skipped);

    return rc ? rc : skipped ? -EEXIST : 0;
}

int acl_set_del(struct acl_set *s, const struct acl_prefix *p)
{
    uint64_t skipped;
    int rc = acl_set_change(s, p, 1, NULL, 0, &skipped);

    return rc ? rc : skipped ? -ENOENT : 0;
}

// Builds both halves aside before readers see either.
int acl_set_load(struct acl_set *s, const struct acl_prefix *p, size_t n)
{
    struct acl_set new = {.max_bytes = s->max_bytes, .epoch = 1};

    int rc = acl_set_change(&new, NULL, 0, p, n, NULL);
    if (rc) {
        set4_free(new.v4);
        poptrie_free(new.v6);
        return rc;
    }
    *vec_push(&s->old) = (struct acl_set_old){s->v4, s->v6, s->epoch};
    __atomic_store_n(&s->v4, new.v4, __ATOMIC_RELEASE); // partners: acl_set_find4, acl_set_find6
    __atomic_store_n(&s->v6, new.v6, __ATOMIC_RELEASE);
    s->ahead6 = s->epoch - 1;
    vec_free(&new.old);
    return 0;
}
