// SPDX-License-Identifier: BSD-3-Clause
// nexthop_object.c - the kernel's next-hop objects and groups (`ip nexthop`)
//
// FRR installs its routes by object: a route names a number, and the number stands for a gateway or
// a group of numbers. An object owns one hop set and so one id of the next-hop table; replacing a
// group's members changes that entry and no prefix. We repeat the kernel's silent changes:
//   - deleting an object removes it from its groups, deletes groups that become empty, and deletes
//     the routes that name it (it announces only the IPv6 ones, and these only with the sysctl
//     nexthop_compat_mode);
//   - a link that goes down or loses its carrier deletes the objects on it.
// A number may be named before it is announced (a dump reads routes after objects, but an event may
// overtake it); such an object is empty and unusable.
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "rib/vr.h"

#define VERIFY_DELAY_NS (100 * NS_PER_MS)

struct nexthop_object *nexthop_object_get(struct rib_vr *v, uint32_t id)
{
    struct nexthop_object *o = rib_map_find(&v->object, id);

    if (o)
        return o;
    o = calloc(1, sizeof *o);
    bug_on(!o);
    o->id = id;
    rib_map_set(&v->object, id, o);
    hop_set_fill(v, &o->set, NULL, 0, false);
    return o;
}

static void object_free(struct rib_vr *v, struct nexthop_object *o)
{
    rib_map_del(&v->object, o->id);
    hop_set_clear(v, &o->set);
    vec_free(&o->member);
    vec_free(&o->path);
    free(o);
}

static void paths_dirty(struct rib_vr *v, struct nexthop_object *o)
{
    vec_foreach (&o->path, id)
        rib_path_dirty(v, rib_path_at(v, *id));
}

static bool has_member(const struct nexthop_object *o, uint32_t id)
{
    vec_foreach (&o->member, m)
        if (m->id == id)
            return true;
    return false;
}

// Fills the object's hop set from the kernel's announcement of the object and its members.
static void refill_object(struct rib_vr *v, struct nexthop_object *o)
{
    struct netlink_hop hop[NETLINK_HOPS];
    unsigned n = 0;

    o->set.family = o->hop.gateway.family == IP6 ? IP6 : IP4;
    o->set.fixed = o->blackhole ? NEXTHOP_BLACKHOLE : o->unusable ? NEXTHOP_UNREACHABLE : 0;
    if (!o->group && o->announced) {
        hop[n++] = o->hop;
    } else {
        vec_foreach (&o->member, m) {
            const struct nexthop_object *single = rib_map_find(&v->object, m->id);

            if (!single || !single->announced || n == NETLINK_HOPS)
                continue;
            if (single->blackhole) // the kernel allows a blackhole only as single member
                o->set.fixed = NEXTHOP_BLACKHOLE;
            if (single->blackhole || single->unusable)
                continue;
            hop[n] = single->hop;
            hop[n++].weight = m->weight;
        }
    }
    if (hop_set_fill(v, &o->set, hop, o->set.fixed ? 0 : n, o->group && !o->set.fixed))
        paths_dirty(v, o);
}

static void refill_groups_of(struct rib_vr *v, uint32_t id)
{
    struct nexthop_object *o;

    rib_map_each (&v->object, o)
        if (o->group && has_member(o, id))
            refill_object(v, o);
}

void nexthop_object_set(struct rib_vr *v, const struct netlink_nexthop *m)
{
    struct nexthop_object *o = nexthop_object_get(v, m->id);
    bool same = o->announced && o->group == m->group && o->blackhole == m->blackhole &&
                o->unusable == (m->encap || m->fdb) && o->encap == m->encap &&
                o->member.n == m->n_members && !hop_compare(&o->hop, &m->hop) &&
                o->hop.onlink == m->hop.onlink;

    for (size_t i = 0; same && i < o->member.n; i++)
        same = o->member.item[i].id == m->member[i].id &&
               o->member.item[i].weight == m->member[i].weight;
    o->gen = v->gen;
    if (same)
        return;
    o->announced = true;
    o->group = m->group;
    o->blackhole = m->blackhole;
    o->unusable = m->encap || m->fdb;
    o->encap = m->encap;
    o->hop = m->hop;
    vec_clear(&o->member);
    for (unsigned i = 0; i < m->n_members; i++)
        *vec_push(&o->member) = (struct nexthop_member){m->member[i].id, m->member[i].weight};
    refill_object(v, o);
    if (!o->group)
        refill_groups_of(v, o->id);
}

// Removes the object from its groups; true when one of them is now empty.
static bool leave_groups(struct rib_vr *v, uint32_t id)
{
    struct nexthop_object *o;
    bool emptied = false;

    rib_map_each (&v->object, o) {
        if (!o->group || !has_member(o, id))
            continue;
        for (size_t i = 0; i < o->member.n; i++)
            if (o->member.item[i].id == id) {
                memmove(&o->member.item[i], &o->member.item[i + 1],
                        (o->member.n - i - 1) * sizeof *o->member.item);
                o->member.n--;
                break;
            }
        refill_object(v, o);
        emptied |= !o->member.n;
    }
    return emptied;
}

static uint32_t find_empty_group(struct rib_vr *v)
{
    struct nexthop_object *o;

    rib_map_each (&v->object, o)
        if (o->announced && o->group && !o->member.n)
            return o->id;
    return 0;
}

static void delete_one(struct rib_vr *v, struct nexthop_object *o)
{
    o->announced = false;
    o->blackhole = o->unusable = false;
    vec_clear(&o->member);
    refill_object(v, o);
    vec_foreach (&o->path, id) {
        struct rib_path *p = rib_path_at(v, *id);

        rib_path_condemn(v, p);
        if (p->family == IP6) // the callers verify IPv4
            rib_sync_want(v, RIB_STAGES_ROUTES6, VERIFY_DELAY_NS);
    }
    if (!o->path.n)
        object_free(v, o);
}

void nexthop_object_del(struct rib_vr *v, uint32_t id)
{
    struct nexthop_object *o = rib_map_find(&v->object, id);

    if (!o || !o->announced)
        return;
    if (!o->group && leave_groups(v, id)) {
        uint32_t empty;

        while ((empty = find_empty_group(v)))
            delete_one(v, rib_map_find(&v->object, empty));
    }
    delete_one(v, o);
}

void nexthop_object_links_lost(struct rib_vr *v, uint32_t id)
{
    const struct nexthop_object *o = rib_map_find(&v->object, id);

    for (unsigned i = 0; o && i < o->set.n; i++)
        rib_sync_link_lost(v, o->set.hop[i].key.ifindex);
}

void nexthop_object_link_lost(struct rib_vr *v, int ifindex)
{
    struct nexthop_object *o;

    rib_map_each (&v->object, o)
        if (o->announced && !o->group && o->hop.ifindex == ifindex)
            nexthop_object_del(v, o->id);
}

void nexthop_object_resolve(struct rib_vr *v, int ifindex)
{
    struct nexthop_object *o;

    rib_map_each (&v->object, o)
        if ((!ifindex || hop_set_uses(&o->set, ifindex)) && hop_set_resolve(v, &o->set))
            paths_dirty(v, o);
}

void nexthop_object_sweep(struct rib_vr *v, uint8_t gen)
{
    struct nexthop_object *o;

    rib_map_each (&v->object, o)
        if (o->announced && o->gen != gen) {
            nexthop_object_del(v, o->id);
            v->swept++;
        }
}

void nexthop_object_put_path(struct rib_vr *v, struct nexthop_object *o, uint32_t path)
{
    for (size_t i = 0; i < o->path.n; i++)
        if (o->path.item[i] == path) {
            vec_del_swap(&o->path, i);
            break;
        }
    if (!o->path.n && !o->announced)
        object_free(v, o);
}

void nexthop_object_fini(struct rib_vr *v)
{
    struct nexthop_object *o;

    rib_map_each (&v->object, o)
        object_free(v, o);
    rib_map_fini(&v->object);
}
