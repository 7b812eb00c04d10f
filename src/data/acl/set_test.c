// SPDX-License-Identifier: BSD-3-Clause
// set_test.c - address sets against a list of prefixes with linear search
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "acl/set4_find.h"
#include "acl/set_priv.h"
#include "poptrie/reference_lpm.h"
#include "tests/unit.h"

#define PROBES 64u

static uint64_t seed = 20261122;

static unsigned pick(unsigned n)
{
    return (unsigned)(lpm_random(&seed) >> 33) % n;
}

// --- the model ---

struct list {
    struct prefix p[4096];
    size_t n;
};

static bool same(const struct prefix *a, const struct prefix *b)
{
    return a->family == b->family && a->len == b->len && lpm_covers(a->b, a->len, b->b);
}

static struct prefix *list_find(struct list *l, const struct prefix *p)
{
    for (size_t i = 0; i < l->n; i++)
        if (same(&l->p[i], p))
            return &l->p[i];
    return NULL;
}

static bool list_change(struct list *l, const struct prefix *p, bool add)
{
    struct prefix *at = list_find(l, p);

    if (!!at == add)
        return false;
    if (add)
        l->p[l->n++] = *p;
    else
        *at = l->p[--l->n];
    return true;
}

static bool list_covers(const struct list *l, uint8_t family, const uint8_t *addr)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->p[i].family == family && lpm_covers(l->p[i].b, l->p[i].len, addr))
            return true;
    return false;
}

// Clustered prefixes: a few /16s with all lengths in them; one in eight anywhere.
static struct prefix random_prefix(uint8_t family)
{
    unsigned bits = family == 4 ? 32 : 128;
    struct prefix p = {.family = family, .len = (uint8_t)lpm_random_len(&seed, bits)};

    lpm_random_key(&seed, bits, p.b);
    if (family == 4 && pick(8)) {
        const uint8_t in[] = {10, 1, (uint8_t)(pick(3) * 100), (uint8_t)pick(256)};
        memcpy(p.b, in, 4);
        p.len = (uint8_t)(pick(4) ? 32 - pick(10) : pick(33));
    }
    if (family == 4)
        memset(p.b + 4, 0, 12);
    return p;
}

static struct prefix random_member(const struct list *l, uint8_t family)
{
    return l->n && pick(3) ? l->p[pick((unsigned)l->n)] : random_prefix(family);
}

// Any address, the first or last address of a member, or one beside it.
static void random_address(const struct list *l, uint8_t family, uint8_t addr[16])
{
    unsigned bytes = family == 4 ? 4 : 16;
    struct prefix near = random_member(l, family);
    bool last = pick(2);

    memset(addr, 0, 16);
    if (!pick(4)) {
        lpm_random_key(&seed, 8 * bytes, addr);
        return;
    }
    lpm_mask(near.b, near.len);
    for (unsigned i = 0; i < bytes; i++) {
        uint8_t rest = near.len >= 8 * (i + 1) ? 0
                       : near.len <= 8 * i     ? 0xff
                                               : 0xff >> (near.len - 8 * i);
        addr[i] = near.b[i] | (last ? rest : 0);
    }
    if (!pick(3))
        addr[bytes - 1] ^= 1;
}

static uint64_t walk_by(const struct acl_set *s, const uint32_t *addr_be, unsigned n,
                        set4_step *step)
{
    struct set4_walk w;

    acl_set_walk4(s, &w, addr_be, n);
    while (w.set)
        set4_walk_by(&w, step);
    return w.found;
}

static uint64_t walk_find(const struct acl_set *s, const uint32_t *addr_be, unsigned n)
{
    struct set4_walk w;

    acl_set_walk4(s, &w, addr_be, n);
    while (w.set)
        set4_walk_on(&w);
    return w.found;
}

static void must_agree(struct acl_set *s, const struct list *l)
{
    uint8_t addr6[PROBES][16];
    uint32_t addr4[PROBES];
    unsigned n = 1 + pick(PROBES);
    uint64_t want4 = 0, want6 = 0;

    for (unsigned i = 0; i < n; i++) {
        uint8_t four[16];
        random_address(l, 4, four);
        random_address(l, 6, addr6[i]);
        memcpy(&addr4[i], four, 4);
        want4 |= (uint64_t)list_covers(l, 4, four) << i;
        want6 |= (uint64_t)list_covers(l, 6, addr6[i]) << i;
    }
    assert_int_equal(acl_set_find4(s, addr4, n), want4);
    assert_int_equal(walk_find(s, addr4, n), want4);
    for (int k = SET4_SCALAR; s->v4 && k <= SET4_VPOPCNT; k++)
        if (set4_find_of((enum set4_kernel)k)) {
            assert_int_equal(set4_find_of((enum set4_kernel)k)(s->v4, s->v4->filter, addr4, n),
                             want4);
            assert_int_equal(walk_by(s, addr4, n, set4_step_of((enum set4_kernel)k)), want4);
        }
    assert_int_equal(acl_set_find6(s, (const uint8_t(*)[16])addr6, n), want6);
}

static int must_be_member(void *ctx, const struct prefix *p)
{
    struct list *left = ctx;

    assert_true(list_change(left, p, false)); // once only
    return 0;
}

static void must_hold(const struct acl_set *s, const struct list *l)
{
    static struct list left;
    struct acl_set_stats st;
    uint64_t n[2] = {0, 0};

    left = *l;
    for (size_t i = 0; i < l->n; i++) {
        n[l->p[i].family == 6]++;
        assert_true(acl_set_has(s, &l->p[i]));
    }
    acl_set_stats(s, &st);
    assert_int_equal(st.members[0], n[0]);
    assert_int_equal(st.members[1], n[1]);
    assert_int_equal(acl_set_walk(s, must_be_member, &left), 0);
    assert_int_equal(left.n, 0);
    assert_true(!s->v4 || pool_is_sound(&s->v4->pool));
}

static void flush(struct acl_set *s)
{
    acl_set_reclaim(s, acl_set_epoch(s));
}

// --- the tests ---

unit_test(random_single_changes_agree_with_the_list)
{
    struct acl_set *s = acl_set_new(0);
    static struct list l;

    l.n = 0;
    for (unsigned i = 0; i < 5000; i++) {
        struct prefix p = random_member(&l, pick(3) ? 4 : 6);
        bool add = pick(l.n > 700 ? 10 : 100) > (l.n > 700 ? 6 : 40),
             changed = list_change(&l, &p, add);
        uint64_t skipped;
        assert_int_equal(acl_set_change(s, &p, !add, &p, add, &skipped), 0);
        assert_int_equal(skipped, !changed);
        assert_true(acl_set_has(s, &p) == add);
        must_agree(s, &l);
        if (i % 16 == 0)
            flush(s);
        if (i % 1000 == 0)
            must_hold(s, &l);
    }
    must_hold(s, &l);
    while (l.n) { // and empty again
        struct prefix p = l.p[0];
        list_change(&l, &p, false);
        assert_int_equal(acl_set_change(s, &p, 1, NULL, 0, NULL), 0);
    }
    flush(s);
    must_hold(s, &l);
    must_agree(s, &l);
    assert_int_equal(s->v4->pool.blocks, 0);
    acl_set_free(s);
}

unit_test(batches_are_all_deletions_then_all_additions)
{
    struct acl_set *s = acl_set_new(0);
    static struct list l;
    struct prefix del[100], add[100];

    l.n = 0;
    for (unsigned round = 0; round < 150; round++) {
        size_t n_del = pick(l.n > 800 ? 100 : 40), n_add = pick(60);
        uint64_t skipped = 99, want = 0;
        for (size_t i = 0; i < n_del; i++) {
            del[i] = random_member(&l, pick(4) ? 4 : 6);
            want += !list_change(&l, &del[i], false);
        }
        for (size_t i = 0; i < n_add; i++) {
            add[i] =
                n_del && !pick(4) ? del[pick((unsigned)n_del)] : random_member(&l, pick(4) ? 4 : 6);
            want += !list_change(&l, &add[i], true);
        }
        assert_int_equal(acl_set_change(s, del, n_del, add, n_add, &skipped), 0);
        if (n_del + n_add)
            assert_int_equal(skipped, want);
        must_agree(s, &l);
        must_agree(s, &l);
        if (round % 8 == 0)
            flush(s);
        if (round % 50 == 0)
            must_hold(s, &l);
    }
    must_hold(s, &l);
    acl_set_free(s);
}

unit_test(a_new_set_takes_everything_at_once)
{
    static struct list l;

    for (unsigned round = 0; round < 8; round++) {
        struct acl_set *s = acl_set_new(0);
        l.n = 0;
        for (unsigned i = 0, n = pick(1500); i < n; i++) {
            struct prefix p = random_prefix(pick(4) ? 4 : 6);
            list_change(&l, &p, true);
        }
        assert_int_equal(acl_set_change(s, NULL, 0, l.p, l.n, NULL), 0);
        must_hold(s, &l);
        for (unsigned i = 0; i < 50; i++)
            must_agree(s, &l);
        acl_set_free(s);
    }
}

static struct prefix host4(uint32_t addr)
{
    struct prefix p = {.family = 4, .len = 32};
    uint32_t be = __builtin_bswap32(addr);

    memcpy(p.b, &be, 4);
    return p;
}

// Through all three sizes of the filter: added one by one, in batches, and loaded; then most of
// them deleted.
unit_test(many_hosts_are_found_through_every_filter)
{
    enum { N = 40000 };
    struct prefix *p = malloc(N * sizeof *p);
    uint32_t *addr = malloc(N * sizeof *addr);
    struct acl_set *s = acl_set_new(0);
    uint64_t skipped;

    for (unsigned i = 0; i < N; i++) {
        addr[i] = i * 2654435761u;
        p[i] = host4(addr[i]);
    }
    for (unsigned i = 0; i < 3000; i++)
        assert_int_equal(acl_set_change(s, NULL, 0, &p[i], 1, NULL), 0);
    flush(s);
    assert_int_equal(acl_set_change(s, NULL, 0, p + 3000, N - 3000, &skipped), 0);
    assert_int_equal(skipped, 0);
    flush(s);
    assert_int_equal(s->v4->filter->shift, 15);
    for (int pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < N; i += 32) {
            uint32_t be[64];
            // odd ones are beside members
            for (unsigned k = 0; k < 64; k++)
                be[k] = __builtin_bswap32(addr[i + k / 2] + (k % 2));
            uint64_t want = pass && i < N / 2 ? 0 : 0x5555555555555555u;
            assert_int_equal(acl_set_find4(s, be, 64), want);
            assert_int_equal(walk_find(s, be, 64), want);
        }
        if (!pass)
            assert_int_equal(acl_set_change(s, p, N / 2, NULL, 0, &skipped), 0);
    }
    assert_int_equal(acl_set_change(s, NULL, 0, p, N, &skipped), 0);
    assert_int_equal(skipped, N / 2);
    assert_int_equal(s->v4->members, N);
    acl_set_free(s);
    free(addr);
    free(p);
}

// So many /24s that the filter's words are /19s: every other /17.
unit_test(networks_in_every_other_17_are_found)
{
    enum { N = 4000 };
    struct prefix *p = malloc(N * sizeof *p), host;
    struct acl_set *s = acl_set_new(0);
    uint64_t skipped;

    for (uint32_t i = 0; i < N; i++) {
        p[i] = host4(i << 16 | 1u << 15);
        p[i].len = 17;
    }
    assert_int_equal(acl_set_change(s, NULL, 0, p, N, &skipped), 0);
    assert_int_equal(s->v4->filter->shift, 13);
    assert_int_equal(s->v4->used, N * 128);
    host = host4(0x00010003);
    assert_int_equal(acl_set_change(s, NULL, 0, &host, 1, NULL), 0);
    for (uint32_t i = 0; i < N; i++) {
        uint32_t be[64];
        for (uint32_t k = 0; k < 64; k++)
            be[k] = __builtin_bswap32(i << 16 | k << 10 | 3);
        uint64_t want = i == 1 ? 0xffffffff00000001u : 0xffffffff00000000u;
        assert_int_equal(acl_set_find4(s, be, 64), want);
        assert_int_equal(walk_find(s, be, 64), want);
    }
    host.len = 16;
    assert_int_equal(acl_set_change(s, NULL, 0, &host, 1, NULL), 0);
    assert_int_equal(s->v4->used, (N - 1) * 128);
    assert_int_equal(acl_set_change(s, p, N, &host, 1, &skipped), 0);
    assert_int_equal(s->v4->used, 0);
    acl_set_free(s);
    free(p);
}

unit_test(what_does_not_fit_changes_nothing)
{
    enum { N = 60000 };
    struct prefix *p = malloc(N * sizeof *p), six = {.family = 6, .len = 64, .b = {0x20, 1}};
    struct acl_set *s = acl_set_new(1 << 20);
    struct acl_set_stats before, after;
    uint64_t skipped = 7;
    uint32_t be = __builtin_bswap32(0x01020304);

    for (unsigned i = 0; i < N; i++)
        p[i] = host4(i * 2654435761u);
    struct prefix one = host4(0x01020304);
    assert_int_equal(acl_set_change(s, NULL, 0, &one, 1, NULL), 0);
    acl_set_stats(s, &before);
    assert_int_equal(acl_set_change(s, &one, 1, p, N, &skipped), -ENOSPC);
    assert_int_equal(acl_set_change(s, NULL, 0, p, N, NULL), -ENOSPC);
    assert_int_equal(acl_set_change(s, NULL, 0, &six, 1, NULL), -ENOSPC);
    acl_set_stats(s, &after);
    assert_int_equal(after.members[0], 1);
    assert_int_equal(after.bytes, before.bytes);
    assert_int_equal(acl_set_find4(s, &be, 1), 1);
    assert_int_equal(skipped, 7);
    acl_set_free(s);

    size_t need = acl_set_need(N, 0);
    s = acl_set_new(0);
    assert_int_equal(acl_set_change(s, NULL, 0, p, N, NULL), 0);
    acl_set_stats(s, &after);
    assert_in_range(after.bytes + after.writer_bytes, need / 2, need * 2);
    acl_set_free(s);
    free(p);
}

unit_test(everything_is_one_prefix)
{
    struct acl_set *s = acl_set_new(0);
    struct prefix all = {.family = 4}, ten = {.family = 4, .len = 8, .b = {10}},
                  host = host4(0x0a010203);
    uint32_t be[2] = {__builtin_bswap32(0x0a010203), 0xffffffff};

    assert_int_equal(acl_set_change(s, NULL, 0, &all, 1, NULL), 0);
    assert_int_equal(acl_set_change(s, NULL, 0, &ten, 1, NULL), 0);
    assert_int_equal(acl_set_change(s, NULL, 0, &host, 1, NULL), 0);
    assert_int_equal(acl_set_find4(s, be, 2), 3);
    assert_int_equal(acl_set_change(s, &all, 1, NULL, 0, NULL), 0);
    assert_int_equal(acl_set_find4(s, be, 2), 1);
    assert_int_equal(acl_set_change(s, &ten, 1, NULL, 0, NULL), 0);
    assert_int_equal(acl_set_find4(s, be, 2), 1);
    assert_int_equal(acl_set_change(s, &host, 1, NULL, 0, NULL), 0);
    assert_int_equal(acl_set_find4(s, be, 2), 0);
    acl_set_free(s);
}

// --- readers beside the writer: stable members are always found, stable non-members never ---

#define STABLE 256u
#define COVERED 0x0b010203u // always in the set, as a host or by a network

static struct acl_set *shared;
static _Atomic bool stop;
static _Atomic uint64_t bursts, wrong;

static void *read_all(void *arg)
{
    uint64_t own = 5;

    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        uint32_t be[64];
        uint8_t six[64][16] = {{0}};
        for (unsigned i = 0; i < 64; i++) { // 10.x.y.128 are stable members, 10.x.y.129 never
            unsigned k = (unsigned)(lpm_random(&own) >> 40) % STABLE;
            be[i] = __builtin_bswap32(0x0a000080 + (k << 12) + i % 2);
            memcpy(six[i], (uint8_t[4]){0x20, 1, 0xd, 0xb8}, 4);
            six[i][5] = (uint8_t)k;
            six[i][15] = (uint8_t)(128 + i % 2);
        }
        be[0] = __builtin_bswap32(COVERED);
        uint64_t four = acl_set_find4(shared, be, 64),
                 sixes = acl_set_find6(shared, (const uint8_t(*)[16])six, 64);
        if (four != 0x5555555555555555u || sixes != 0x5555555555555555u)
            atomic_fetch_add(&wrong, 1);
        atomic_fetch_add_explicit(&bursts, 1, memory_order_release); // partner: wait_for_readers
    }
    return NULL;
}

static struct prefix stable_prefix(unsigned i, uint8_t family, unsigned host)
{
    struct prefix p = host4(0x0a000000 + (i << 12) + host);

    if (family == 6) {
        p = (struct prefix){.family = 6, .len = 128, .b = {0x20, 1, 0xd, 0xb8}};
        p.b[5] = (uint8_t)i;
        p.b[15] = (uint8_t)host;
    }
    return p;
}

static void wait_for_readers(void)
{
    atomic_thread_fence(memory_order_seq_cst);
    uint64_t seen = atomic_load(&bursts);
    while (atomic_load_explicit(&bursts, memory_order_acquire) < seen + 2)
        sched_yield();
}

unit_test(readers_see_each_address_old_or_new)
{
    struct prefix base[2 * STABLE + 1], more[512];
    pthread_t reader;
    uint64_t skipped;

    struct prefix host = host4(COVERED), network = host;

    network.len = 12;
    base[2 * STABLE] = host;
    shared = acl_set_new(0);
    for (unsigned i = 0; i < STABLE; i++) {
        base[2 * i] = stable_prefix(i, 4, 128);
        base[2 * i + 1] = stable_prefix(i, 6, 128);
    }
    assert_int_equal(acl_set_change(shared, NULL, 0, base, 2 * STABLE + 1, NULL), 0);
    assert_int_equal(pthread_create(&reader, NULL, read_all, NULL), 0);
    for (unsigned round = 0; round < 150; round++) {
        unsigned n = 1 + pick(512);
        for (unsigned i = 0; i < n;
             i++) // neighbors of the stable ones, in the same leaves and nodes; /25s beside them
            more[i] = stable_prefix(pick(STABLE), pick(4) ? 4 : 6, pick(100));
        for (unsigned i = 0; i < n; i += 7)
            if (more[i].family == 4)
                more[i].len = (uint8_t)(25 + pick(7)), more[i].b[3] = 0;
        assert_int_equal(acl_set_change(shared, NULL, 0, more, n, &skipped), 0);
        assert_int_equal(acl_set_change(shared, more, n, NULL, 0, &skipped), 0);
        assert_int_equal(acl_set_change(shared, &host, 1, &network, 1, &skipped), 0);
        assert_int_equal(acl_set_change(shared, &network, 1, &host, 1, &skipped), 0);
        uint64_t epoch = acl_set_epoch(shared);
        wait_for_readers();
        acl_set_reclaim(shared, epoch);
    }
    atomic_store(&stop, true);
    pthread_join(reader, NULL);
    assert_int_equal(atomic_load(&wrong), 0);
    acl_set_free(shared);
}
