// SPDX-License-Identifier: BSD-3-Clause
// lane_rules_change.c - adds and deletes rules in existing buckets (lane_rules.h)
//
// A rule is added to a copy of each bucket that needs it, which replaces the original by one store;
// the original waits for a grace period. A new prefix starts with a copy of the bucket around it. A
// deletion only marks the rule's lanes dead.
#include "acl/lane_rules_block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acl/pages.h"

uint64_t lane_rules_bytes(const struct lane_rules *s)
{
    return s->bytes;
}

uint64_t lane_rules_writer_bytes(const struct lane_rules *s)
{
    return s->garbage_room * sizeof *s->garbage;
}

void lane_rules_free(struct lane_rules *s)
{
    if (!s)
        return;
    free(s->garbage);
    pages_unmap(s, s->bytes);
}

// --- add ---

static int bucket_retire(struct lane_rules *s, uint32_t place, uint64_t epoch)
{
    if (!place)
        return 0;
    if (s->n_garbage == s->garbage_room && s->garbage_from > s->n_garbage / 2) {
        s->n_garbage -= s->garbage_from;
        memmove(s->garbage, s->garbage + s->garbage_from, s->n_garbage * sizeof *s->garbage);
        s->garbage_from = 0;
    }
    if (s->n_garbage == s->garbage_room) {
        uint32_t room = s->garbage_room ? s->garbage_room * 2 : 64;
        struct bucket_garbage *more = realloc(s->garbage, room * sizeof *more);

        if (!more)
            return -ENOMEM;
        s->garbage = more;
        s->garbage_room = room;
    }
    s->garbage[s->n_garbage++] =
        (struct bucket_garbage){epoch, place_ref(place, 0), bucket_units(s, place & BUCKET_BLOCKS)};
    return 0;
}

// Copies the bucket `from` without its dead lanes and adds the rule. 0: no room.
static uint32_t bucket_with_rule(struct lane_rules *s, uint32_t from, const struct lanes_of_rule *l)
{
    uint32_t place = place_new(s, place_alive(s, from) + l->n), at = 0;
    bool put = false;

    for (uint32_t i = 0; i <= place_lanes(from) && place; i++) {
        bool end = i == place_lanes(from);

        if (!end && lane_is_dead(s, from, i))
            continue;
        if (!put && (end || lane_name(s, from, i) > l->name)) {
            for (unsigned k = 0; k < l->n; k++)
                lane_copy(s, place, at++, l->row, k, l->name);
            put = true;
        }
        if (!end)
            lane_copy(s, place, at++, bucket_rows(s, place_ref(from, i)), i % LANE_COUNT,
                      lane_name(s, from, i));
    }
    return place;
}

static int bucket_add_rule(struct lane_rules *s, uint32_t *place, const struct lanes_of_rule *l,
                           uint64_t epoch)
{
    uint32_t old = *place, new = bucket_with_rule(s, old, l);

    if (!new)
        return -ENOSPC;
    __atomic_store_n(place, new, __ATOMIC_RELEASE); // partner: lane_rules_find.h
    return bucket_retire(s, old, epoch);
}

static bool is_there(const struct nets *t, uint32_t at, const struct net *p)
{
    return at < t->n && t->net[at].addr == p->addr && t->net[at].len == p->len;
}

static uint32_t inside_end(const struct nets *t, uint32_t at, const struct net *p)
{
    while (at < t->n && net_inside(&t->net[at], p->addr, p->len))
        at++;
    return at;
}

static uint32_t *place_at(const struct lane_rules *s, unsigned side, uint32_t at)
{
    return &s->place[side][s->nets[side].net[at].number];
}

static uint32_t rules_met_now(const struct lane_rules *s, unsigned side, const struct net *p)
{
    const struct nets *t = &s->nets[side];
    uint32_t at = nets_at(t, p->addr, p->len),
             own = is_there(t, at, p) ? at : nets_around(t, p->addr, p->len);

    return inside_end(t, at, p) - at + place_alive(s, *place_at(s, side, own));
}

static int bucket_new_prefix(struct lane_rules *s, unsigned side, const struct net *p,
                             const struct lanes_of_rule *l)
{
    struct nets *t = &s->nets[side];
    uint32_t place;

    if (t->n == t->room)
        return -ENOSPC;
    place = bucket_with_rule(s, *place_at(s, side, nets_around(t, p->addr, p->len)), l);
    if (!place)
        return -ENOSPC;
    s->place[side][t->n] = place; // before readers can find its number
    return nets_add(t, p->addr, p->len);
}

int lane_rules_add(struct lane_rules *s, const struct acl_rule *r, uint32_t slot, uint64_t epoch)
{
    unsigned side = !r->src.len;
    struct lanes_of_rule l;
    int rc = 0;

    if (s->whole) { // its rules may be of IPv6
        lanes_make(s, &l, r, slot, side);
        return l.n ? bucket_add_rule(s, s->place[0], &l, epoch) : 0;
    }
    const struct net p[2] = {side_net(r, 0), side_net(r, 1)};
    if (!r->src.len == !r->dst.len)
        side = rules_met_now(s, 1, &p[1]) <= rules_met_now(s, 0, &p[0]);
    lanes_make(s, &l, r, slot, side);
    if (!l.n) // it can never match
        return 0;
    struct nets *t = &s->nets[side];
    uint32_t at = nets_at(t, p[side].addr, p[side].len);
    if (!is_there(t, at, &p[side])) {
        rc = bucket_new_prefix(s, side, &p[side], &l);
        at++; // the new prefix already has the rule
    }
    for (; !rc && at < t->n && net_inside(&t->net[at], p[side].addr, p[side].len); at++)
        rc = bucket_add_rule(s, place_at(s, side, at), &l, epoch);
    return rc;
}

// --- delete ---

static bool bucket_del_rule(const struct lane_rules *s, uint32_t place, uint32_t slot)
{
    bool there = false;

    for (uint32_t i = 0; i < place_lanes(place); i++) {
        if ((uint32_t)lane_name(s, place, i) != slot || lane_is_dead(s, place, i))
            continue;
        __atomic_store_n(&bucket_rows(s, place_ref(place, i))[LANE_L4_MASK][i % LANE_COUNT],
                         LANE_DEAD, __ATOMIC_RELAXED);
        there = true;
    }
    return there;
}

void lane_rules_del(struct lane_rules *s, const struct acl_rule *r, uint32_t slot)
{
    if (s->whole)
        bucket_del_rule(s, s->place[0][0], slot);
    for (unsigned side = 0; side < 2 && !s->whole; side++) {
        const struct net p = side_net(r, side);
        const struct nets *t = &s->nets[side];
        uint32_t at = nets_at(t, p.addr, p.len);

        if (!is_there(t, at, &p) || !bucket_del_rule(s, *place_at(s, side, at), slot))
            continue;
        for (uint32_t end = inside_end(t, at, &p); ++at < end;)
            bucket_del_rule(s, *place_at(s, side, at), slot);
        return;
    }
}

void lane_rules_reclaim(struct lane_rules *s, uint64_t epoch)
{
    for (; s->garbage_from < s->n_garbage && s->garbage[s->garbage_from].epoch <= epoch;
         s->garbage_from++)
        arena_free(&s->arena, s->garbage[s->garbage_from].ref, s->garbage[s->garbage_from].n);
}
