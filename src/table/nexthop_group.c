// SPDX-License-Identifier: BSD-3-Clause
// nexthop_group.c - groups: buckets that name members, moved as little as possible
//
// A flow's hash picks a bucket, the bucket names the member. Each member owns
// as many buckets as its weight entitles it to (largest remainder, at least
// one). A change takes away only the buckets of members that have too many
// and gives them to those that have too few: flows in all other buckets stay where
// they are (resilient hashing). With at least 32 buckets per member the
// shares are within 1/32 of the weights.
//
// When a group outgrows its buckets it moves to a larger range in which bucket
// i starts as bucket i mod old size, so flows stay; range and size change by one 64-bit
// store. Ranges have power-of-two sizes, come from a free list per size
// or from the untouched end, and are reused when their grace ticket is over.
#include "table/nexthop_group.h"

#include <errno.h>
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
#define SIZE_LARGEST 4096u
#define SIZES 7 // 64 << 0..6

uint16_t *nexthop_bucket;

struct range {
    uint64_t ticket;
    uint32_t start;
};
static VEC(struct range) ranges[SIZES]; // free or waiting; tickets in order of freeing
static uint32_t range_end;              // all beyond is untouched

struct share {
    uint32_t member, weight;
    uint32_t target, have; // buckets
};

int nexthop_group_init(void)
{
    range_end = 0;
    nexthop_bucket = mem_map("next-hop buckets", NEXTHOP_BUCKET_MAX * sizeof *nexthop_bucket);
    return nexthop_bucket ? 0 : -ENOMEM;
}

void nexthop_group_fini(void)
{
    for (unsigned i = 0; i < SIZES; i++)
        vec_free(&ranges[i]);
    mem_unmap(nexthop_bucket, NEXTHOP_BUCKET_MAX * sizeof *nexthop_bucket);
    nexthop_bucket = NULL;
}

static uint32_t size_for(unsigned n_members)
{
    uint32_t size = SIZE_MIN;

    while (size < n_members * SHARE && size < SIZE_LARGEST)
        size *= 2;
    return size;
}

static unsigned class_of(uint32_t size)
{
    unsigned class = 0;

    while (SIZE_MIN << class < size)
        class ++;
    return class;
}

// Index of the first bucket of a range, or NEXTHOP_BUCKET_MAX when there is none.
static uint32_t range_take(uint32_t size)
{
    unsigned class = class_of(size);

    for (size_t i = 0; i < ranges[class].n; i++)
        if (grace_over(ranges[class].item[i].ticket)) {
            uint32_t start = ranges[class].item[i].start;
            vec_del_swap(&ranges[class], i);
            return start;
        }
    if (range_end + size <= NEXTHOP_BUCKET_MAX) {
        range_end += size;
        return range_end - size;
    }
    if (size == SIZE_LARGEST)
        return NEXTHOP_BUCKET_MAX;
    uint32_t start = range_take(size * 2); // split a larger one
    if (start != NEXTHOP_BUCKET_MAX)
        *vec_push(&ranges[class]) = (struct range){.start = start + size};
    return start;
}

static void range_give(uint32_t start, uint32_t size)
{
    *vec_push(&ranges[class_of(size)]) = (struct range){.ticket = grace_ticket(), .start = start};
}

static uint32_t group_start(const struct nexthop *nh)
{
    return (uint32_t)nh->group.word;
}

static uint32_t group_size(const struct nexthop *nh)
{
    return (uint32_t)(nh->group.word >> 32) + 1;
}

// Release: the buckets are filled before the group leads to them; partner: acquire in nexthop_member.
static void group_publish(struct nexthop *nh, uint32_t start, uint32_t size)
{
    __atomic_store_n(&nh->group.word, (uint64_t)(size - 1) << 32 | start, __ATOMIC_RELEASE);
}

static int by_member(const void *a, const void *b)
{
    const struct share *x = a, *y = b;

    return x->member < y->member ? -1 : x->member > y->member;
}

// One share per distinct member, in order of member; returns their number.
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

// Largest remainder method, but nobody gets less than one bucket.
static void shares_apportion(struct share *s, unsigned n, uint32_t size)
{
    uint64_t sum = 0;
    uint32_t given = 0;

    for (unsigned i = 0; i < n; i++)
        sum += s[i].weight;
    for (unsigned i = 0; i < n; i++) {
        s[i].target = (uint32_t)(size * (uint64_t)s[i].weight / sum);
        s[i].target += !s[i].target;
        given += s[i].target;
    }
    while (given != size) { // at most n steps of +1, or of -1 when the minimum of one overshot
        unsigned best = 0;
        int64_t best_lack = INT64_MIN;
        for (unsigned i = 0; i < n; i++) {
            int64_t lack = (int64_t)(size * (uint64_t)s[i].weight) - (int64_t)(s[i].target * sum);
            lack = given < size ? lack : s[i].target > 1 ? -lack : INT64_MIN;
            if (lack > best_lack) {
                best_lack = lack;
                best = i;
            }
        }
        s[best].target += given < size ? 1 : (uint32_t)-1;
        given += given < size ? 1 : (uint32_t)-1;
    }
}

static struct share *share_of(struct share *s, unsigned n, uint32_t member)
{
    struct share key = {.member = member};

    return n ? bsearch(&key, s, n, sizeof *s, by_member) : NULL;
}

static void bucket_set(uint32_t index, uint32_t member)
{
    // Relaxed: members were published by the store of their own `word`.
    __atomic_store_n(&nexthop_bucket[index], (uint16_t)member, __ATOMIC_RELAXED);
}

// Gives buckets [start, start + size) to the shares, moving as few as possible.
static void buckets_assign(uint32_t start, uint32_t size, struct share *s, unsigned n)
{
    unsigned needy = 0;

    for (uint32_t i = start; i < start + size; i++) {
        struct share *owner = share_of(s, n, nexthop_bucket[i]);
        if (owner && owner->have < owner->target)
            owner->have++;
    }
    for (unsigned k = 0; k < n; k++) // from here on: buckets still to keep; target: still to get
        s[k].target -= s[k].have;
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
        bucket_set(i, needy < n ? s[needy].member : 0);
    }
}

uint32_t nexthop_group_new(const uint32_t *member, const uint32_t *weight, unsigned n)
{
    uint32_t size = size_for(n);

    thread_must_be(ROLE_RIB_MANAGER);
    uint32_t start = n <= NEXTHOP_MEMBER_MAX ? range_take(size) : NEXTHOP_BUCKET_MAX;
    if (start == NEXTHOP_BUCKET_MAX)
        return 0;
    uint32_t id = nexthop_id_new(NEXTHOP_GROUP, 0);
    if (!id) {
        range_give(start, size);
        return 0;
    }
    memset(nexthop_bucket + start, 0, size * sizeof *nexthop_bucket);
    group_publish(&nexthop_table[id], start, size);
    if (!nexthop_group_set(id, member, weight, n))
        return id;
    nexthop_free(id);
    return 0;
}

// Moves the group to a larger range; flows stay with their members.
static int group_grow(struct nexthop *nh, uint32_t size)
{
    uint32_t old_start = group_start(nh), old_size = group_size(nh);
    uint32_t start = range_take(size);

    if (start == NEXTHOP_BUCKET_MAX)
        return -ENOSPC;
    for (uint32_t i = 0; i < size; i++)
        bucket_set(start + i, nexthop_bucket[old_start + (i & (old_size - 1))]);
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
    for (unsigned i = 0; i < n; i++)
        bug_on(!nexthop_is_live(member[i]) ||
               nexthop_word_kind(nexthop_table[member[i]].word) == NEXTHOP_GROUP);
    struct share *s = calloc(n + 1, sizeof *s);
    if (!s)
        return -ENOMEM;
    n = shares_collect(s, member, weight, n);
    if (size_for(n) > group_size(nh))
        r = group_grow(nh, size_for(n));
    if (!r) {
        if (n)
            shares_apportion(s, n, group_size(nh));
        buckets_assign(group_start(nh), group_size(nh), s, n);
    }
    free(s);
    return r;
}

void nexthop_group_free(uint32_t id)
{
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
    }
    return 0;
}
