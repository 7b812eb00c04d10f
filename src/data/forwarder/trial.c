// SPDX-License-Identifier: BSD-3-Clause
// trial.c - gives explain's packet the attributes that a commit would give (table/trial.h)
//
// An entry of the interface table is filled with a copy of the real interface, whose id it keeps,
// and with the attributes of the trial: one entry for the input, one for the output. Runs on
// control's thread, for explain only: bursts have one packet. Next hops of an earlier time are
// copied into entries, too: eight for the destination, the same for a redirect, all others for the
// source.
#include "forwarder/checks.h"
#include "forwarder/lookup.h"
#include "forwarder/stages.h"
#include "program/set.h"
#include "table/trial.h"
#include "forwarder/forbidden.h"

static const unsigned tried_flags =
    IFACE_ACL_IN | IFACE_ACL_OUT | IFACE_URPF4 | IFACE_URPF6 | IFACE_POLICE | IFACE_PROGRAM;

static uint16_t list_of(const struct trial_list *l, unsigned entry)
{
    if (!l->content)
        return l->id;
    rcu_publish(&acl_table[ACL_TRIAL + entry].content, l->content);
    return (uint16_t)(ACL_TRIAL + entry);
}

static uint8_t police_of(const struct trial_iface *t, uint16_t entry)
{
    uint8_t police = 0;

    for (enum policer_direction d = 0; d < POLICER_DIRECTIONS; d++)
        if (t->police[d] && !policer_try(entry, d, t->police[d]))
            police |= d == POLICER_IN ? IFACE_POLICE_IN : IFACE_POLICE_OUT;
    return police;
}

// Returns the entry with the attributes of interface `id`, or `id` if they are those in force.
static uint16_t lay(const struct forwarder *f, uint16_t id, unsigned way)
{
    const struct trial_iface *t = f->trial->iface ? &f->trial->iface[id] : NULL;
    const uint16_t entry = (uint16_t)(IFACE_TRIAL + way);
    struct iface *i = iface_get(entry);

    if (!t || !t->differs)
        return id;
    *i = *iface_get(id);
    i->kind = IFACE_NONE; // the entry is no interface for others
    i->vr = t->vr & (VR_MAX - 1);
    memcpy(i->policy.urpf, t->urpf, sizeof i->policy.urpf);
    if (t->list[way].name)
        memcpy(acl_table[ACL_TRIAL + way].name, t->list[way].name, ACL_NAME_SIZE);
    i->acl_in = list_of(&t->list[0], 0);
    i->acl_out = list_of(&t->list[1], 1);
    i->police = (uint8_t)((i->police & IFACE_PCP_CLASS) | police_of(t, entry));
    iface_put_flags(
        i, tried_flags,
        (i->acl_in ? IFACE_ACL_IN : 0) | IFACE_ACL_OUT |
            (t->urpf[0] & URPF_MODE ? IFACE_URPF4 : 0) |
            (t->urpf[1] & URPF_MODE ? IFACE_URPF6 : 0) |
            (i->police & (IFACE_POLICE_IN | IFACE_PCP_CLASS) ? IFACE_POLICE : 0) |
            (program_set_of(t->vr, PROGRAM_ETHER) || program_set_of(t->vr, PROGRAM_INPUT)
                 ? IFACE_PROGRAM
                 : 0));
    return entry;
}

void trial_in(struct forwarder *f, struct burst *b)
{
    if (!b->n)
        return;
    b->iface[0] = lay(f, b->iface[0], 0);
    b->features = 0;
    burst_set_iface(b, 0, iface_get(b->iface[0]));
    b->features |= IFACE_ACL_OUT;
}

void trial_in_over(struct burst *b)
{
    if (b->n)
        b->iface[0] = iface_get(b->iface[0])->id;
}

uint16_t trial_out(struct forwarder *f, uint16_t id)
{
    return lay(f, id, 1);
}

void trial_checks_out(struct forwarder *f, struct burst *b)
{
    if (!checks_out_one(f, b, 0, nexthop_word_iface(b->word[0])))
        burst_remove(b, 1);
}

// --- routes of an earlier time -------------------------------------------------------------------

enum { DESTINATION, REDIRECT = 8, SOURCE = 16, TARGET = 1, VIA = 2, OTHERS = 3 };

static const struct trial_route *find_route(struct trial_past *p, uint16_t vr, uint8_t family,
                                            const uint8_t *address)
{
    struct ip_addr dst = {.family = family};
    unsigned i = 0;

    memcpy(dst.b, address, family == IP4 ? 4 : 16);
    while (i < p->n && (p->route[i].vr != vr || !ip_equal(&p->route[i].dst, &dst)))
        i++;
    if (i == TRIAL_ROUTES) {
        p->lost |= TRIAL_LOST_ROUTES;
        i = 0;
    } else if (i == p->n) {
        p->route[p->n++] = (struct trial_route){.vr = vr, .dst = dst};
    }
    return &p->route[i];
}

// Copies the next hop into an entry, and returns its id.
static uint32_t put_nexthop(struct trial_past *p, uint32_t id, unsigned entry,
                            struct nexthop_past *was)
{
    const uint32_t to = NEXTHOP_TRIAL + entry;

    if (!id || !nexthop_was(id, p->at_ns, was)) {
        p->lost |= id ? TRIAL_LOST_NEXTHOP : 0;
        return 0;
    }
    p->id[entry] = id;
    nexthop_table[to] = was->is;
    nexthop_address[to] = was->address;
    return to;
}

// The same with the next hops behind an alias and behind labels. `b`: a group's member is chosen.
static uint32_t put_chain(struct trial_past *p, uint32_t id, unsigned entry, const struct burst *b)
{
    static struct nexthop_past was; // control's
    uint32_t to = put_nexthop(p, id, entry, &was), real = to;
    struct nexthop *nh = &nexthop_table[to];
    struct packet_trace_lookup none, *l = entry == DESTINATION ? &p->last : &none;

    *l = (struct packet_trace_lookup){.route_mtu = nexthop_route_mtu(to)};
    if (nh->kind == NEXTHOP_ALIAS) {
        for (unsigned i = 0; i < nh->alias.n && entry == SOURCE; i++)
            nh->alias.other[i] =
                (uint16_t)put_nexthop(p, nh->alias.other[i], entry + OTHERS + i, &was);
        nh->alias.target = real = put_nexthop(p, nh->alias.target, entry + TARGET, &was);
    }
    l->leaf = real ? p->id[real - NEXTHOP_TRIAL] : 0;
    l->leaf_kind = nexthop_table[real].kind;
    if (l->leaf_kind == NEXTHOP_GROUP && b) {
        l->hash = fwd_hash(b, 0, b->family);
        l->n_buckets = was.n;
        l->bucket = l->hash & (was.n - 1);
        if (was.bucket[l->bucket])
            put_nexthop(p, was.bucket[l->bucket], real - NEXTHOP_TRIAL, &was);
        else
            nexthop_table[real].group.word = NEXTHOP_BUCKET_MAX;
    }
    nh = &nexthop_table[real];
    if (nh->kind == NEXTHOP_ENCAP && nh->encap.via)
        nh->encap.via = put_nexthop(p, nh->encap.via, entry + VIA, &was);
    return to;
}

void trial_route(struct forwarder *f, struct burst *b)
{
    struct trial_past *p = f->trial->past;

    if (!b->n)
        return;
    const struct trial_route *r =
        find_route(p, b->vr[0], b->family, b->ip[0] + (b->family == IP4 ? 16 : 24));
    b->nh[0] = put_chain(p, r->leaf, DESTINATION, b);
    b->decided.looked_up = true;
    p->last.prefix = r->prefix;
    p->last.protocol = r->protocol;
    for (unsigned k = 0; k < b->decided.n_redirected; k++)
        b->redirected[k].nexthop = put_chain(p, p->id[REDIRECT], REDIRECT, b);
}

uint32_t trial_source(const struct forwarder *f, const struct burst *b)
{
    struct trial_past *p = f->trial->past;
    const uint8_t *src = b->ip[0] + (b->family == IP4 ? 12 : 8);

    return put_chain(p, find_route(p, b->vr[0], b->family, src)->leaf, SOURCE, NULL);
}

uint32_t trial_nexthop_to(const struct forwarder *f, const struct ip_addr *to, uint16_t vr)
{
    struct trial_past *p = f->trial->past;
    const struct trial_route *r = find_route(p, vr, to->family, to->b);
    uint32_t nh = nexthop_real(put_chain(p, r->leaf, REDIRECT, NULL));

    p->id[REDIRECT] = nh ? p->id[nh - NEXTHOP_TRIAL] : 0;
    return nh;
}

void trial_lookup(const struct forwarder *f, struct packet_trace_lookup *l)
{
    const struct nexthop *nh = nexthop_get(l->nexthop);
    const uint32_t via = nh->kind == NEXTHOP_ENCAP ? nh->encap.via : l->nexthop;

    if (l->nexthop < NEXTHOP_TRIAL || l->nexthop >= NEXTHOP_MAX) // none, or a tunnel's
        return;
    l->nexthop = f->trial->past->id[l->nexthop - NEXTHOP_TRIAL];
    l->neighbor = nexthop_address[via];
    nh = nexthop_get(via);
    if (nh->kind == NEXTHOP_ADJACENCY)
        memcpy(l->mac, nexthop_rewrite(nh, nh->word) + NEXTHOP_REWRITE - nh->head, 6);
}

void trial_end(void)
{
    memset(&nexthop_table[NEXTHOP_TRIAL], 0, NEXTHOP_TRIALS * sizeof *nexthop_table);
    memset(iface_get(IFACE_TRIAL), 0, (IFACE_MAX - IFACE_TRIAL) * sizeof(struct iface));
    for (unsigned entry = 0; entry < 2; entry++)
        rcu_publish(&acl_table[ACL_TRIAL + entry].content, NULL);
}
