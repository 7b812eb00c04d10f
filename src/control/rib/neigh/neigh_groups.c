// SPDX-License-Identifier: BSD-3-Clause
// neigh_groups.c - keeps the groups of routing protocols reachable when the neighbor table is full
//
// The kernel treats 224.0.0.5 like any other neighbor: as an entry of a table of about a thousand
// (gc_thresh3), made when a packet is sent there. When an ARP flood fills the table, the kernel
// evicts group entries first and cannot make new ones: OSPF sends no more hellos, and its
// adjacencies end. So each of our interfaces gets permanent entries, exempt from garbage
// collection, for the groups that routing protocols use. The kernel drops them with the link, so we
// request them whenever it comes up.
#include "rib/neigh.h"
#include "rib/vr.h"

// Last octets: all hosts, all routers, OSPF, OSPF's designated routers, RIP, PIM, VRRP, IGMPv3 and
// MLDv2 (IANA's registries).
static const uint8_t groups4[] = {1, 2, 5, 6, 9, 13, 18, 22};        // 224.0.0.x
static const uint8_t groups6[] = {1, 2, 5, 6, 9, 0xd, 0x12, 0x16};   // ff02::x

bool neigh_is_group(const struct ip_addr *a)
{
    return a->family == IP4 ? (a->b[0] & 0xf0) == 0xe0 : a->b[0] == 0xff;
}

void neigh_groups_keep(struct rib_vr *v, const struct rib_link *l)
{
    struct ip_addr four = {.family = IP4, .b = {224}}, six = {.family = IP6, .b = {0xff, 2}};

    if (!l->iface || !l->up || !l->carrier)
        return;
    for (unsigned i = 0; i < sizeof groups4; i++) {
        four.b[3] = groups4[i];
        (void)netlink_neigh_request(&v->requests, l->ifindex, &four, NETLINK_NEIGH_GROUP);
    }
    for (unsigned i = 0; i < sizeof groups6; i++) {
        six.b[15] = groups6[i];
        (void)netlink_neigh_request(&v->requests, l->ifindex, &six, NETLINK_NEIGH_GROUP);
    }
}
