// SPDX-License-Identifier: BSD-3-Clause
// set.c - the handle of an address set: both families changed together, or neither; memory that readers may still look at
#include "acl/set_priv.h"

#include <errno.h>
#include <stdlib.h>

#define BYTES_EACH4 14u // of a member, about: 12 in a blocklist of a million, 20 of hosts at random
#define BYTES_FIXED4 (600u << 10)
#define BYTES_FILTER4 (512u << 10)

// --- life ---

struct acl_set *acl_set_new(size_t max_bytes)
{
    struct acl_set *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->max_bytes = max_bytes;
    s->epoch = 1;
    return s;
}

void acl_set_free(struct acl_set *s)
{
    if (!s)
        return;
    acl_set_reclaim(s, s->epoch);
    set4_free(s->v4);
    poptrie_free(s->v6);
    vec_free(&s->old);
    free(s);
}

uint64_t acl_set_epoch(struct acl_set *s)
{
    if (s->v6)
        poptrie_epoch(s->v6);
    return s->epoch++;
}

void acl_set_reclaim(struct acl_set *s, uint64_t epoch)
{
    size_t kept = 0;

    if (s->v4)
        set4_reclaim(s->v4, epoch);
    if (s->v6 && epoch > s->ahead6)
        poptrie_reclaim(s->v6, epoch - s->ahead6);
    vec_foreach(&s->old, o) {
        if (o->epoch > epoch) {
            s->old.item[kept++] = *o;
            continue;
        }
        set4_free(o->v4);
        poptrie_free(o->v6);
    }
    s->old.n = kept;
}

void acl_set_stats(const struct acl_set *s, struct acl_set_stats *out)
{
    *out = (struct acl_set_stats){.writer_bytes = sizeof *s};
    if (s->v4) {
        out->members[0] = s->v4->members;
        out->bytes = set4_bytes(s->v4);
        out->garbage_bytes = set4_garbage_bytes(s->v4);
        out->writer_bytes += set4_writer_bytes(s->v4);
    }
    set6_stats(s, out);
    vec_foreach(&s->old, o)
        out->garbage_bytes += o->v4 ? set4_bytes(o->v4) : 0;
}

size_t acl_set_bytes(const struct acl_set *s)
{
    struct acl_set_stats st;

    acl_set_stats(s, &st);
    return st.bytes + st.writer_bytes;
}

size_t acl_set_need(size_t n4, size_t n6)
{
    size_t need = sizeof(struct acl_set);

    if (n4)
        need += BYTES_FIXED4 + BYTES_EACH4 * n4 + (n4 > 30000 ? BYTES_FILTER4 : 0);
    return need + set6_need(n6);
}

// --- changes ---

static bool prefix_is_sound(const struct acl_prefix *p)
{
    return (p->family == 4 && p->len <= 32) || (p->family == 6 && p->len <= 128);
}

static bool all_sound(const struct acl_prefix *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!prefix_is_sound(&p[i]))
            return false;
    return true;
}

static uint32_t addr4(const struct acl_prefix *p)
{
    uint32_t be;

    memcpy(&be, p->addr, 4);
    return p->len ? __builtin_bswap32(be) & UINT32_MAX << (32 - p->len) : 0;
}

struct changes4 {
    struct set4_change *c;
    size_t n;
};

static void collect4(struct changes4 *to, const struct acl_prefix *p, size_t n, bool add)
{
    for (size_t i = 0; i < n; i++)
        if (p[i].family == 4)
            to->c[to->n++] = (struct set4_change){addr4(&p[i]), p[i].len, add};
}

// What the IPv4 half may take is what the other half leaves.
static size_t room4(const struct acl_set *s)
{
    struct acl_set_stats st = {0};

    if (!s->max_bytes)
        return 0;
    set6_stats(s, &st);
    size_t six = st.bytes + st.writer_bytes;
    return six < s->max_bytes ? s->max_bytes - six : 1;
}

static int change4(struct acl_set *s, const struct changes4 *all, struct set4 **made)
{
    struct set4 *v4 = s->v4;

    *made = NULL;
    if (!all->n)
        return 0;
    if (!v4) {
        *made = v4 = set4_new(room4(s), all->n);
        if (!v4)
            return -ENOMEM;
    }
    v4->max_bytes = room4(s);
    set4_sort(all->c, all->n);
    int rc = set4_prepare(v4, all->c, all->n);
    if (rc)
        set4_free(*made);
    return rc;
}

int acl_set_change(struct acl_set *s, const struct acl_prefix *del, size_t n_del, const struct acl_prefix *add, size_t n_add, uint64_t *skipped)
{
    struct set4_change few[8];
    struct changes4 all = {.c = few};
    struct set4 *made;
    uint64_t skip = 0;

    if (!all_sound(del, n_del) || !all_sound(add, n_add))
        return -EINVAL;
    if (n_del + n_add > 8 && !(all.c = malloc((n_del + n_add) * sizeof *all.c)))
        return -ENOMEM;
    collect4(&all, del, n_del, false);
    collect4(&all, add, n_add, true);
    int rc = change4(s, &all, &made);
    if (!rc && all.n < n_del + n_add) {
        rc = set6_change(s, del, n_del, add, n_add, &skip);
        if (rc && all.n)
            set4_abandon(made ? made : s->v4);
        if (rc)
            set4_free(made);
    }
    if (!rc && all.n) {
        set4_commit(made ? made : s->v4, all.c, all.n, s->epoch, &skip);
        if (made)
            __atomic_store_n(&s->v4, made, __ATOMIC_RELEASE); // partner: acl_set_find4
    }
    if (!rc && skipped)
        *skipped = skip;
    if (all.c != few)
        free(all.c);
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

// Both halves are built aside before one of them is seen.
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

// --- questions of the writer ---

bool acl_set_has(const struct acl_set *s, const struct acl_prefix *p)
{
    if (!prefix_is_sound(p))
        return false;
    if (p->family == 4)
        return s->v4 && set4_has(s->v4, addr4(p), p->len);
    return s->v6 && poptrie_get(s->v6, p->addr, p->len) != POPTRIE_NONE;
}

struct walker {
    int (*fn)(void *ctx, const struct acl_prefix *p);
    void *ctx;
};

static int walk4(void *ctx, uint32_t addr, unsigned len)
{
    const struct walker *w = ctx;
    struct acl_prefix p = {.family = 4, .len = (uint8_t)len};
    uint32_t be = __builtin_bswap32(addr);

    memcpy(p.addr, &be, 4);
    return w->fn(w->ctx, &p);
}

static int walk6(void *ctx, const uint8_t *key, unsigned len, uint32_t value)
{
    const struct walker *w = ctx;
    struct acl_prefix p = {.family = 6, .len = (uint8_t)len};

    memcpy(p.addr, key, 16);
    return w->fn(w->ctx, &p);
}

int acl_set_walk(const struct acl_set *s, uint8_t family, int (*fn)(void *ctx, const struct acl_prefix *p), void *ctx)
{
    struct walker w = {fn, ctx};

    if (family == 4)
        return s->v4 ? set4_walk(s->v4, walk4, &w) : 0;
    return s->v6 ? poptrie_walk(s->v6, walk6, &w) : 0;
}
