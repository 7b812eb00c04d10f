// SPDX-License-Identifier: BSD-3-Clause
// nexthop_group.c - ECMP groups: buckets that name members, with as few moves as possible
//
// A flow's hash picks a bucket, the bucket names the member. Each member owns buckets in proportion
// to its weight, give or take one, and at least one. A change only moves buckets from members with
// too many to members with too few; flows in all other buckets stay where they are (resilient
// hashing). With at least 32 buckets per member, equal members' shares are within 1/16. Unequal
// weights get more buckets, until each share is within a tenth of its weight.
//
// A group that outgrows its buckets moves to a larger range in which bucket i starts as bucket i
// mod old size, so flows stay; one 64-bit store changes range and size. Ranges have power-of-two
// sizes, come from a free list per size or from the unused end, and are reused when their grace
// ticket is over.
//
// Routing daemons often replace a group instead of changing it: when a peer goes down, FRR makes
// another group of the remaining members and moves the prefixes to it. So a new group starts with
// the buckets of the one among the last RECENT_MAX that shares most members with it, if that is at
// least half of them: then, too, only flows of the leaving member move, or the flows that a new
// member gets.
#include "table/nexthop_group.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/vec.h"
#include "core/mem.h"
#include "core/thread.h"
#include "table/grace.h"

#define SHARE 32 // buckets per member
#define SIZE_MIN 64u
#define SIZE_LARGEST NEXTHOP_BUCKETS_LARGEST
#define SIZES 7 // 64 << 0..6
#define SHARE_ERROR_MAX 100 // per mille of a member's proportional share
#define TOLERANCE 2         // imbalance of two members, in buckets, that is left as it is
#define TOLERANCE_LEAVING                                                                          \
    4 // when one leaves and none joins: more than that is a change of weights

uint16_t *nexthop_bucket;
#define BUCKETS_BYTES ((NEXTHOP_BUCKET_MAX + 1) * sizeof *nexthop_bucket)

struct range {
    uint64_t ticket;
    uint32_t start;
};
static VEC(struct range) ranges[SIZES]; // free or waiting; tickets in order of freeing
static uint32_t range_end;              // everything beyond is unused

#define RECENT_MAX 64
static struct recent {
    uint32_t id;      // 0: none
    uint64_t members; // bit (member id modulo 64) of each: good enough to choose by
} recent[RECENT_MAX];
static unsigned next_recent;

struct share {
    uint32_t member, weight;
    uint32_t target, have; // buckets
};

int nexthop_group_init(void)
{
    range_end = 0;
    memset(recent, 0, sizeof recent);
    nexthop_bucket = mem_map("next-hop buckets", BUCKETS_BYTES);
    return nexthop_bucket ? 0 : -ENOMEM;
}

void nexthop_group_fini(void)
{
    for (unsigned i = 0; i < SIZES; i++)
        vec_free(&ranges[i]);
    mem_unmap(nexthop_bucket, BUCKETS_BYTES);
    nexthop_bucket = NULL;
}

static unsigned size_class_of(uint32_t size)
{
    unsigned class = 0;

    while (SIZE_MIN << class < size)
        class ++;
    return class;
}

// Returns the first bucket of a range, or NEXTHOP_BUCKET_MAX if there is none. Takes unused buckets
// only below `end`.
static uint32_t range_take(uint32_t size, uint32_t end)
{
    unsigned class = size_class_of(size);

    for (size_t i = 0; i < ranges[class].n; i++)
        if (grace_over(ranges[class].item[i].ticket)) {
            uint32_t start = ranges[class].item[i].start;
            vec_del_swap(&ranges[class], i);
            return start;
        }
    if (range_end + size <= end) {
        range_end += size;
        return range_end - size;
    }
    if (size == SIZE_LARGEST)
        return NEXTHOP_BUCKET_MAX;
    uint32_t start = range_take(size * 2, end); // split a larger one
    if (start != NEXTHOP_BUCKET_MAX)
        *vec_push(&ranges[class]) = (struct range){.start = start + size};
    return start;
}

// Takes a range of *size buckets, or a smaller one, but of more than `least`; leaves half of the
// table to minimum needs of groups.
static uint32_t range_take_spare(uint32_t *size, uint32_t least)
{
    uint32_t start = NEXTHOP_BUCKET_MAX;

    for (; *size > least && start == NEXTHOP_BUCKET_MAX; *size /= 2)
        start = range_take(*size, NEXTHOP_BUCKET_MAX / 2);
    if (start != NEXTHOP_BUCKET_MAX)
        *size *= 2;
    return start;
}

static void range_give(uint32_t start, uint32_t size)
{
    *vec_push(&ranges[size_class_of(size)]) =
        (struct range){.ticket = grace_ticket(), .start = start};
}

static uint32_t group_start(const struct nexthop *nh)
{
    return (uint32_t)nh->group.word;
}

static uint32_t group_size(const struct nexthop *nh)
{
    return (uint32_t)(nh->group.word >> 32) + 1;
}

// Release: the buckets are filled before the group points to them; partner: acquire in
// nexthop_member.
static void group_publish(struct nexthop *nh, uint32_t start, uint32_t size)
{
    __atomic_store_n(&nh->group.word, (uint64_t)(size - 1) << 32 | start, __ATOMIC_RELEASE);
}

static int by_member(const void *a, const void *b)
{
    const struct share *x = a, *y = b;

    return x->member < y->member ? -1 : x->member > y->member;
}

// Makes one share per distinct member, sorted by member; returns their number.
static unsigned shares_collect(struct share *s, const uint32_t *member, const uint32_t *weight,
                               unsigned n)
{
    unsigned k = 0;

    for (unsigned i = 0; i < n; i++)
        s[i] = (struct share){.member = member[i], .weight = weight[i] ? weight[i] : 1};
    qsort(s, n, sizeof *s, by_member);
    for (unsigned i = 0; i < n; i++)
        if (k && s[k - 1].member == s[i].member)
            s[k - 1].weight += s[i].weight;
        else
            s[k++] = s[i];
    return k;
}

// Relative error of a member's share, per mille, if it has `buckets` of `size`.
static uint64_t share_error(const struct share *s, uint32_t buckets, uint32_t size, uint64_t sum)
{
    uint64_t due = (uint64_t)size * s->weight, has = buckets * sum; // both in units of 1/sum

    return 1000 * (has > due ? has - due : due - has) / due;
}

static uint64_t weights_sum(const struct share *s, unsigned n)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < n; i++)
        sum += s[i].weight;
    return sum;
}

static uint64_t largest_error(const struct share *s, unsigned n, uint32_t size, uint64_t sum)
{
    uint64_t largest = 0;

    for (unsigned i = 0; i < n; i++) {
        uint32_t due = (uint32_t)(((uint64_t)size * s[i].weight + sum / 2) / sum);
        uint64_t error = share_error(&s[i], due ? due : 1, size, sum);

        largest = error > largest ? error : largest;
    }
    return largest;
}

static uint32_t size_at_least(unsigned n_members)
{
    uint32_t size = SIZE_MIN;

    while (size < n_members * SHARE && size < SIZE_LARGEST)
        size *= 2;
    return size;
}

// The fewest buckets that allow each share to be within SHARE_ERROR_MAX; else the largest size.
static uint32_t size_for(const struct share *s, unsigned n)
{
    uint64_t sum = weights_sum(s, n);
    uint32_t size = size_at_least(n);

    while (size < SIZE_LARGEST && largest_error(s, n, size, sum) > SHARE_ERROR_MAX)
        size *= 2;
    return size;
}

// A member's buckets above its due (< 0: below), in units of 1/sum.
static int64_t excess_buckets(const struct share *s, uint32_t size, uint64_t sum)
{
    return (int64_t)(s->target * sum) - (int64_t)(size * (uint64_t)s->weight);
}

// The share furthest below its due; shares without buckets come first.
static struct share *neediest_share(struct share *s, unsigned n, uint32_t size, uint64_t sum)
{
    struct share *best = s;

    for (unsigned i = 0; i < n; i++)
        if (s[i].target
                ? best->target && excess_buckets(&s[i], size, sum) < excess_buckets(best, size, sum)
                : best->target != 0)
            best = &s[i];
    return best;
}

// The share furthest above its due with more than one bucket; NULL: none.
static struct share *richest_share(struct share *s, unsigned n, uint32_t size, uint64_t sum)
{
    struct share *best = NULL;

    for (unsigned i = 0; i < n; i++)
        if (s[i].target > 1 &&
            (!best || excess_buckets(&s[i], size, sum) > excess_buckets(best, size, sum)))
            best = &s[i];
    return best;
}

// Off by at least a bucket, and by more than SHARE_ERROR_MAX.
static bool is_wrong(const struct share *s, uint32_t size, uint64_t sum)
{
    return llabs(excess_buckets(s, size, sum)) >= (int64_t)sum &&
           share_error(s, s->target, size, sum) > SHARE_ERROR_MAX;
}

// Gives each member buckets in proportion to its weight, at least one, and as close as possible to
// its present number. When a member leaves, the others share its buckets and lose none. Buckets
// move between members only if two are off by more than TOLERANCE (TOLERANCE_LEAVING if one leaves
// and none joins) or a share is wrong by more than SHARE_ERROR_MAX, and then until no move helps.
static void shares_apportion(struct share *s, unsigned n, uint32_t size)
{
    uint32_t free_buckets = size;
    uint64_t sum = 0;
    bool comes = false;

    for (unsigned i = 0; i < n; i++) {
        sum += s[i].weight;
        s[i].target = s[i].have;
        free_buckets -= s[i].have;
        comes |= !s[i].have;
    }
    int64_t limit = free_buckets && !comes ? TOLERANCE_LEAVING : TOLERANCE;
    for (; free_buckets; free_buckets--)
        neediest_share(s, n, size, sum)->target++;
    for (;; limit = 1) {
        struct share *to = neediest_share(s, n, size, sum), *from = richest_share(s, n, size, sum);
        if (!from)
            break;
        bool wrong = is_wrong(from, size, sum) || is_wrong(to, size, sum);
        if (to->target && excess_buckets(from, size, sum) - excess_buckets(to, size, sum) <=
                              (wrong ? 1 : limit) * (int64_t)sum)
            break;
        to->target++;
        from->target--;
    }
}

static struct share *share_of(struct share *s, unsigned n, uint32_t member)
{
    struct share key = {.member = member};

    return n ? bsearch(&key, s, n, sizeof *s, by_member) : NULL;
}

static void set_bucket(uint32_t index, uint32_t member)
{
    // Relaxed: the store of each member's own `word` has published it.
    __atomic_store_n(&nexthop_bucket[index], (uint16_t)member, __ATOMIC_RELAXED);
}

static void shares_count(uint32_t start, uint32_t size, struct share *s, unsigned n)
{
    for (uint32_t i = start; i < start + size; i++) {
        struct share *owner = share_of(s, n, nexthop_bucket[i]);
        if (owner)
            owner->have++;
    }
}

// Assigns buckets [start, start + size) to the shares with as few moves as possible.
static void buckets_assign(uint32_t start, uint32_t size, struct share *s, unsigned n)
{
    unsigned needy = 0;

    for (unsigned k = 0; k < n; k++) { // from here on, have: to keep; target: to get
        s[k].have = s[k].have < s[k].target ? s[k].have : s[k].target;
        s[k].target -= s[k].have;
    }
    for (uint32_t i = start; i < start + size; i++) {
        struct share *owner = share_of(s, n, nexthop_bucket[i]);
        if (owner && owner->have) {
            owner->have--;
            continue;
        }
        while (needy < n && !s[needy].target)
            needy++;
        if (needy < n)
            s[needy].target--;
        set_bucket(i, needy < n ? s[needy].member : 0);
    }
}

// --- interfaces, for uRPF ---

static bool has_iface(const uint16_t *list, unsigned n, uint16_t iface)
{
    for (unsigned i = 0; i < n; i++)
        if (list[i] == iface)
            return true;
    return false;
}

// The members' interfaces, each once; NEXTHOP_GROUP_IFACES + 1 if there are more than fit.
static unsigned ifaces_collect(const struct share *s, unsigned n,
                               uint16_t iface[NEXTHOP_GROUP_IFACES + 1])
{
    unsigned k = 0;

    for (unsigned i = 0; i < n && k <= NEXTHOP_GROUP_IFACES; i++) {
        uint16_t out = nexthop_table[s[i].member].iface;
        if (out && !has_iface(iface, k, out))
            iface[k++] = out;
    }
    return k;
}

// An interface that stays keeps its place, so that no burst misses it meanwhile.
static void ifaces_set(struct nexthop *nh, const struct share *s, unsigned n)
{
    uint16_t want[NEXTHOP_GROUP_IFACES + 1], *have = nh->group.iface;
    unsigned k = ifaces_collect(s, n, want);

    if (k > NEXTHOP_GROUP_IFACES) {
        __atomic_store_n(&have[0], NEXTHOP_IFACES_MANY, __ATOMIC_RELEASE);
        return;
    }
    for (unsigned i = NEXTHOP_GROUP_IFACES; i-- > 0;)
        if (have[i] && !has_iface(want, k, have[i]) && !(i == 0 && have[0] == NEXTHOP_IFACES_MANY))
            __atomic_store_n(&have[i], 0, __ATOMIC_RELAXED);
    // Its place becomes free only after the others are written.
    bool many = have[0] == NEXTHOP_IFACES_MANY;
    for (unsigned w = 0, i = many; w < k; w++) {
        if (has_iface(have, NEXTHOP_GROUP_IFACES, want[w]))
            continue;
        while (i < NEXTHOP_GROUP_IFACES && have[i])
            i++;
        if (i == NEXTHOP_GROUP_IFACES) { // all but the first place are taken
            __atomic_store_n(&have[0], want[w], __ATOMIC_RELEASE);
            many = false;
        } else {
            __atomic_store_n(&have[i], want[w], __ATOMIC_RELAXED);
        }
    }
    if (many)
        __atomic_store_n(&have[0], 0, __ATOMIC_RELEASE);
}

// --- initial buckets of a new group ---

static uint64_t members_bits(const uint32_t *member, unsigned n)
{
    uint64_t bits = 0;

    for (unsigned i = 0; i < n; i++)
        bits |= 1ull << member[i] % 64;
    return bits;
}

static struct recent *recent_find(uint32_t id)
{
    for (unsigned i = 0; i < RECENT_MAX; i++)
        if (recent[i].id == id)
            return &recent[i];
    return NULL;
}

static void recent_note(uint32_t id, const uint32_t *member, unsigned n)
{
    struct recent *r = recent_find(id);

    r = r ? r : &recent[next_recent++ % RECENT_MAX];
    *r = (struct recent){id, members_bits(member, n)};
}

// Returns the live group that shares most members with a new one; 0: none shares half of them.
static uint32_t recent_like(const uint32_t *member, unsigned n)
{
    uint64_t mine = members_bits(member, n);
    int most = (__builtin_popcountll(mine) + 1) / 2 - 1;
    uint32_t id = 0;

    for (unsigned i = 0; mine && i < RECENT_MAX; i++) {
        int shared = __builtin_popcountll(recent[i].members & mine);
        if (recent[i].id && shared > most) {
            most = shared;
            id = recent[i].id;
        }
    }
    return id;
}

// Members that the new group lacks are removed when its own are set; no forwarder sees it yet.
static void buckets_copy(uint32_t start, uint32_t size, uint32_t like)
{
    const struct nexthop *from = &nexthop_table[like];

    for (uint32_t i = 0; i < size; i++)
        set_bucket(start + i,
                   like ? nexthop_bucket[group_start(from) + (i & (group_size(from) - 1))] : 0);
}

// Logs if the members of a new group cannot have shares in proportion to their weights.
static void tell_error(uint32_t id, const struct share *s, unsigned n)
{
    uint32_t size = group_size(&nexthop_table[id]);
    uint64_t sum = weights_sum(s, n), error = n ? largest_error(s, n, size, sum) : 0;

    if (error > SHARE_ERROR_MAX)
        log_notice("nexthop: a group's shares differ from its weights: group=%u members=%u "
                   "buckets=%u by=%lu%%: use weights that are less unequal",
                   id, n, size, error / 10);
}

static void members_check(const uint32_t *member, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        bug_on(!nexthop_is_live(member[i]) ||
               nexthop_word_kind(nexthop_table[member[i]].word) == NEXTHOP_GROUP ||
               nexthop_word_kind(nexthop_table[member[i]].word) == NEXTHOP_ALIAS);
}

// Distributes the group's buckets to the n shares; there are enough.
static void shares_set(uint32_t id, struct share *s, unsigned n)
{
    struct nexthop *nh = &nexthop_table[id];

    shares_count(group_start(nh), group_size(nh), s, n);
    if (n)
        shares_apportion(s, n, group_size(nh));
    buckets_assign(group_start(nh), group_size(nh), s, n);
    ifaces_set(nh, s, n);
}

static uint32_t group_new(struct share *s, unsigned n, uint32_t like)
{
    uint32_t size = size_for(s, n), least = size_at_least(n);

    if (like && group_size(&nexthop_table[like]) > size)
        size = group_size(&nexthop_table[like]); // or flows of several buckets would merge
    uint32_t start = range_take_spare(&size, least);
    if (start == NEXTHOP_BUCKET_MAX)
        start = range_take(size, NEXTHOP_BUCKET_MAX);
    if (start == NEXTHOP_BUCKET_MAX)
        return 0;
    uint32_t id = nexthop_id_new(NEXTHOP_GROUP, 0);
    if (!id) {
        range_give(start, size);
        return 0;
    }
    buckets_copy(start, size, like);
    group_publish(&nexthop_table[id], start, size);
    shares_set(id, s, n);
    tell_error(id, s, n);
    return id;
}

uint32_t nexthop_group_new(const uint32_t *member, const uint32_t *weight, unsigned n)
{
    struct share *s = n <= NEXTHOP_MEMBER_MAX ? calloc(n + 1, sizeof *s) : NULL;

    thread_must_be(ROLE_RIB_MANAGER);
    if (!s)
        return 0;
    members_check(member, n);
    uint32_t id = group_new(s, shares_collect(s, member, weight, n), recent_like(member, n));
    if (id)
        recent_note(id, member, n);
    free(s);
    return id;
}

// Moves the group to a range of up to `size` buckets, and at least `least`; flows stay with their
// members.
static int group_grow(struct nexthop *nh, uint32_t size, uint32_t least)
{
    uint32_t old_start = group_start(nh), old_size = group_size(nh);
    uint32_t start = range_take_spare(&size, old_size > least ? old_size : least);

    if (start == NEXTHOP_BUCKET_MAX && old_size >= least)
        return 0;
    if (start == NEXTHOP_BUCKET_MAX)
        start = range_take(size, NEXTHOP_BUCKET_MAX);
    if (start == NEXTHOP_BUCKET_MAX)
        return -ENOSPC;
    for (uint32_t i = 0; i < size; i++)
        set_bucket(start + i, nexthop_bucket[old_start + (i & (old_size - 1))]);
    group_publish(nh, start, size);
    range_give(old_start, old_size);
    return 0;
}

int nexthop_group_set(uint32_t id, const uint32_t *member, const uint32_t *weight, unsigned n)
{
    struct nexthop *nh = &nexthop_table[id];
    int r = 0;

    thread_must_be(ROLE_RIB_MANAGER);
    bug_on(!nexthop_is_live(id) || nexthop_word_kind(nh->word) != NEXTHOP_GROUP);
    if (n > NEXTHOP_MEMBER_MAX)
        return -E2BIG;
    members_check(member, n);
    struct share *s = calloc(n + 1, sizeof *s);
    if (!s)
        return -ENOMEM;
    nexthop_keep(id);
    unsigned k = shares_collect(s, member, weight, n);
    uint32_t size = size_for(s, k);
    if (size > group_size(nh))
        r = group_grow(nh, size, size_at_least(k));
    if (!r) {
        shares_set(id, s, k);
        recent_note(id, member, n);
    }
    free(s);
    return r;
}

uint32_t nexthop_group_size(uint32_t id)
{
    return group_size(&nexthop_table[id]);
}

uint32_t nexthop_group_count(uint32_t id, uint32_t member)
{
    const struct nexthop *nh = &nexthop_table[id];
    uint32_t n = 0;

    thread_must_be(ROLE_RIB_MANAGER);
    for (uint32_t i = 0; member && i < group_size(nh); i++)
        n += nexthop_bucket[group_start(nh) + i] == member;
    return n;
}

void nexthop_group_free(uint32_t id)
{
    struct recent *r = recent_find(id);

    if (r)
        *r = (struct recent){0};
    range_give(group_start(&nexthop_table[id]), group_size(&nexthop_table[id]));
}

int nexthop_group_check(uint32_t id, char *why, unsigned n)
{
    const struct nexthop *nh = &nexthop_table[id];

    if (group_start(nh) + group_size(nh) > range_end) {
        snprintf(why, n, "group %u: buckets lie outside of the table", id);
        return -EINVAL;
    }
    for (uint32_t i = 0; i < group_size(nh); i++) {
        uint32_t member = nexthop_bucket[group_start(nh) + i];
        if (!member)
            continue;
        if (!nexthop_is_live(member) ||
            nexthop_word_kind(nexthop_table[member].word) == NEXTHOP_GROUP) {
            snprintf(why, n, "N1: bucket %u of group %u names %u, which is %s", i, id, member,
                     nexthop_is_live(member) ? "a group" : "not live");
            return -EINVAL;
        }
        uint16_t out = nexthop_table[member].iface;
        if (out && !nexthop_leads_out(id, out)) {
            snprintf(why, n, "N4: group %u does not know that member %u leads out by interface %u",
                     id, member, out);
            return -EINVAL;
        }
    }
    return 0;
}
