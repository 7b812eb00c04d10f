// SPDX-License-Identifier: BSD-3-Clause
// address_bucket_change.c - shelves are changed in place (address_bucket.h)
#include "acl/address_bucket_block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acl/pages.h"

uint64_t shelf_bytes(const struct shelf *s)
{
    return s->bytes;
}

uint64_t shelf_writer_bytes(const struct shelf *s)
{
    return s->garbage_room * sizeof *s->garbage;
}

void shelf_free(const struct acl_config *cfg, struct shelf *s)
{
    if (!s)
        return;
    free(s->garbage);
    pages_unmap_for(cfg, s, s->bytes);
}

// --- a rule more ---

static int retire(struct shelf *s, uint32_t place, uint64_t epoch)
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
        struct shelf_garbage *more = realloc(s->garbage, room * sizeof *more);

        if (!more)
            return -ENOMEM;
        s->garbage = more;
        s->garbage_room = room;
    }
    s->garbage[s->n_garbage++] =
        (struct shelf_garbage){epoch, place_ref(place, 0), place & SHELF_BLOCKS};
    return 0;
}

// What is alive at `from`, and the rule. 0: no room.
static uint32_t with_rule(struct shelf *s, uint32_t from, const struct lanes *l)
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
            lane_copy(s, place, at++, shelf_rows(s, place_ref(from, i)), i % LANE_COUNT,
                      lane_name(s, from, i));
    }
    return place;
}

static int rule_into(struct shelf *s, uint32_t *place, const struct lanes *l, uint64_t epoch)
{
    uint32_t old = *place, new = with_rule(s, old, l);

    if (!new)
        return -ENOSPC;
    __atomic_store_n(place, new, __ATOMIC_RELEASE); // partner: address_bucket_find.h
    return retire(s, old, epoch);
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

static uint32_t *place_at(const struct shelf *s, unsigned side, uint32_t at)
{
    return &s->place[side][s->nets[side].net[at].number];
}

static uint32_t met_now(const struct shelf *s, unsigned side, const struct net *p)
{
    const struct nets *t = &s->nets[side];
    uint32_t at = nets_at(t, p->addr, p->len),
             own = is_there(t, at, p) ? at : nets_around(t, p->addr, p->len);

    return inside_end(t, at, p) - at + place_alive(s, *place_at(s, side, own));
}

static int new_prefix(struct shelf *s, unsigned side, const struct net *p, const struct lanes *l)
{
    struct nets *t = &s->nets[side];
    uint32_t place;

    if (t->n == t->room)
        return -ENOSPC;
    place = with_rule(s, *place_at(s, side, nets_around(t, p->addr, p->len)), l);
    if (!place)
        return -ENOSPC;
    s->place[side][t->n] = place; // before readers find its number
    return nets_add(t, p->addr, p->len);
}

int shelf_add(struct shelf *s, const struct acl_rule *r, uint32_t slot, uint64_t epoch)
{
    const struct net p[2] = {shelf_prefix(r, 0), shelf_prefix(r, 1)};
    unsigned side = !r->src.len;
    struct lanes l;
    int rc = 0;

    if (!r->src.len == !r->dst.len)
        side = met_now(s, 1, &p[1]) <= met_now(s, 0, &p[0]);
    lanes_make(&l, r, slot, side);
    if (!l.n) // nothing ever matches it
        return 0;
    struct nets *t = &s->nets[side];
    uint32_t at = nets_at(t, p[side].addr, p[side].len);
    if (!is_there(t, at, &p[side])) {
        rc = new_prefix(s, side, &p[side], &l);
        at++; // behind it
    }
    for (; !rc && at < t->n && net_inside(&t->net[at], p[side].addr, p[side].len); at++)
        rc = rule_into(s, place_at(s, side, at), &l, epoch);
    return rc;
}

// --- a rule less ---

static bool rule_out_of(const struct shelf *s, uint32_t place, uint32_t slot)
{
    bool there = false;

    for (uint32_t i = 0; i < place_lanes(place); i++) {
        if ((uint32_t)lane_name(s, place, i) != slot || lane_is_dead(s, place, i))
            continue;
        __atomic_store_n(&shelf_rows(s, place_ref(place, i))[LANE_L4_MASK][i % LANE_COUNT],
                         LANE_DEAD, __ATOMIC_RELAXED);
        there = true;
    }
    return there;
}

void shelf_del(struct shelf *s, const struct acl_rule *r, uint32_t slot)
{
    for (unsigned side = 0; side < 2; side++) {
        const struct net p = shelf_prefix(r, side);
        const struct nets *t = &s->nets[side];
        uint32_t at = nets_at(t, p.addr, p.len);

        if (!is_there(t, at, &p) || !rule_out_of(s, *place_at(s, side, at), slot))
            continue;
        for (uint32_t end = inside_end(t, at, &p); ++at < end;)
            rule_out_of(s, *place_at(s, side, at), slot);
        return;
    }
}

void shelf_reclaim(struct shelf *s, uint64_t epoch)
{
    for (; s->garbage_from < s->n_garbage && s->garbage[s->garbage_from].epoch <= epoch;
         s->garbage_from++)
        arena_free(&s->arena, s->garbage[s->garbage_from].ref, s->garbage[s->garbage_from].n);
}
