// SPDX-License-Identifier: BSD-3-Clause
// journal_describe.c - tells the journal the meaning of next-hop ids
//
// It describes an id when the first route with it goes to the FIB, and a group again whenever its
// legs change. Legs that carry no packets are left out.
#include "rib/journal.h"
#include "rib/neigh.h"
#include "rib/vr.h"
#include "table/iface.h"
#include "table/nexthop.h"

static uint8_t kind_of(uint32_t nexthop)
{
    enum nexthop_kind kind = nexthop_word_kind(nexthop_word(nexthop_get(nexthop)));

    return kind == NEXTHOP_HOLD || kind == NEXTHOP_FAILED ? NEXTHOP_ADJACENCY : (uint8_t)kind;
}

static void fill_leg(const struct rib_vr *v, struct journal_leg *leg, const struct netlink_hop *hop)
{
    const struct rib_link *l = rib_link_find(v, hop->ifindex);

    *leg = (struct journal_leg){.gateway = hop->gateway,
                                .labels = hop->labels,
                                .weight = hop->weight ? hop->weight : 1};
    if (hop->gateway.family == NETLINK_VIA_MAC)
        leg->gateway.family = IP_NONE;
    if (l)
        memcpy(leg->iface, l->name, sizeof leg->iface);
}

void journal_describe_group(struct rib_vr *v, const struct hop_set *s)
{
    struct journal_leg leg[NETLINK_HOPS];
    unsigned n = 0;

    for (unsigned i = 0; i < s->n; i++) {
        const struct rib_link *l = rib_link_find(v, s->hop[i].key.ifindex);

        if (l && (l->via || s->hop[i].key.labels.swaps) && !s->hop[i].lost &&
            rib_link_is_alive(l))
            fill_leg(v, &leg[n++], &s->hop[i].key);
    }
    journal_describe(v->id, s->id, NEXTHOP_GROUP, leg, n);
}

static void describe_host(struct rib_vr *v, const struct prefix *p, uint32_t nexthop)
{
    uint16_t iface = nexthop_word_iface(nexthop_word(nexthop_get(nexthop)));
    struct journal_leg leg = {.gateway.family = p->family, .weight = 1};

    memcpy(leg.gateway.b, p->b, sizeof leg.gateway.b);
    if (iface)
        memcpy(leg.iface, iface_get(iface)->name, sizeof leg.iface);
    journal_describe(v->id, nexthop, kind_of(nexthop), &leg, 1);
}

void journal_describe_nexthop(struct rib_vr *v, const struct hop_set *s, const struct prefix *p,
                         uint32_t nexthop)
{
    struct journal_leg leg;
    uint8_t kind = kind_of(nexthop);

    if (!s) {
        describe_host(v, p, nexthop);
        return;
    }
    if (kind == NEXTHOP_GROUP) {
        journal_describe_group(v, s);
    } else if ((kind == NEXTHOP_ADJACENCY || kind == NEXTHOP_GLEAN || kind == NEXTHOP_ENCAP) &&
               s->n) {
        fill_leg(v, &leg, &s->hop[0].key);
        journal_describe(v->id, nexthop, kind, &leg, 1);
    } else {
        journal_describe(v->id, nexthop, kind, NULL, 0);
    }
}
