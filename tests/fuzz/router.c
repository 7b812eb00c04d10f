// SPDX-License-Identifier: BSD-3-Clause
// router.c - see router.h
#include "router.h"

#include <rte_mbuf.h>
#include <stdio.h>
#include <stdlib.h>

#include "forwarder/state.h"
#include "table/label.h"
#include "table/watch.h"

uint64_t fuzz_punted[PUNT_CLASS_N];
static uint32_t group, member[4];
static unsigned watch;

static uint32_t encap(uint32_t via, uint16_t vr, uint8_t n, uint8_t flags)
{
    struct nexthop_encap e = {.via = via, .vr = vr, .n = n, .flags = flags};

    for (unsigned k = 0; k < n; k++)
        e.label_be[k] = nexthop_label(FUZZ_LABEL + k);
    return nexthop_encap_new(&e);
}

// Each operation of a label, from FUZZ_LABEL on; routes that push.
static void fuzz_labels(uint32_t twice)
{
    router_role(ROLE_RIB_MANAGER);
    for (uint16_t i = 1; i <= 7; i++)
        iface_set_mpls(i, i != 6);
    const uint32_t of[FUZZ_LABELS] = {
        encap(member[0], 0, 1, 0),      encap(member[2], 0, 3, 0),
        encap(twice, 0, 8, 0),          encap(member[1], 0, 0, 0),
        encap(member[3], 0, 0, NEXTHOP_ENCAP_PIPE), encap(0, VR_DEFAULT, 0, 0),
        encap(0, VR_DEFAULT, 0, NEXTHOP_ENCAP_IP6), nexthop_new(NEXTHOP_BLACKHOLE, 0)};
    for (uint32_t k = 0; k < FUZZ_LABELS; k++)
        assert_int_equal(label_set(VR_DEFAULT, FUZZ_LABEL + k, of[k]), 0);
    const uint32_t ways[2] = {of[0], of[1]};
    assert_int_equal(label_set(VR_DEFAULT, FUZZ_LABEL + FUZZ_LABELS, rig_group(ways, 2)), 0);
    rig_routes(VR_DEFAULT, "10.15.0.0/16", "2001:db8:f::/48", of[2]);
    rig_routes(VR_DEFAULT, "10.16.0.0/16", "2001:db8:10::/48", of[0]);
}

void fuzz_router(void)
{
    random_router();
    random_lists();
    rig_icmp_rate(1000000000, 1000000000);
    // Interfaces 1..6 are as in random_router: ports 0, 1, 0.10, 2.20, 2 (MTU 300), 3 (down).
    member[0] = rig_adjacency(2, 11);
    member[1] = rig_adjacency(4, 12);
    member[2] = rig_adjacency(3, 13);
    member[3] = rig_adjacency(1, 14);
    group = rig_group(member, 4);
    rig_routes(VR_DEFAULT, "10.12.0.0/16", "2001:db8:c::/48", group);
    rig_route(VR_DEFAULT, "10.13.0.0/16", member[1]); // untagged to tagged
    (void)rig_iface_pair(0, 30, 0x88a8, 10, VR_DEFAULT);
    uint32_t twice = rig_adjacency(rig_iface_pair(1, 30, 0x8100, 20, VR_DEFAULT), 15);
    rig_routes(VR_DEFAULT, "2001:db8:d::/48", "198.51.100.0/25", twice);
    router_role(ROLE_RIB_MANAGER);
    rig_route(VR_DEFAULT, "10.14.0.0/16",
              nexthop_alias_new(&(struct nexthop_alias){
                  .target = member[0], .n = 2, .other = {(uint16_t)member[1], (uint16_t)group}}));
    for (unsigned k = 0; k < 4; k++) { // for redirects
        struct ip_addr a = {.family = k & 1 ? IP6 : IP4, .b = {10, 12, 0, 1}};
        nexthop_set_address(member[k], &a);
    }
    rig_route(VR_DEFAULT, "0.0.0.0/0",
              nexthop_alias_new(&(struct nexthop_alias){
                  .target = group, .is_default = true, .n = 1, .other = {(uint16_t)member[1]}}));
    rig_route(VR_DEFAULT, "::/0", group);
    fuzz_labels(twice);
    router_role(ROLE_CONTROL);
    int w = watch_new(&(struct watch){.to = WATCH_TO_SLOTS, .snap = 128}, 64);
    assert_true(w >= 0);
    watch = (unsigned)w;
}

static void watches_switch(uint32_t state)
{
    for (uint16_t p = 0; p < RIG_PORTS; p++) {
        watch_bit_set(&port_get(p)->watch_rx, watch, state & 1);
        watch_bit_set(&port_get(p)->watch_tx, watch, state & 2);
    }
    watch_bit_set(&watch_drop, watch, state & 4);
    watch_bit_set(&watch_punt, watch, state & 8);
}

// Reverse-path check of either family, each mode, each interface that is up; redirects; directed
// broadcast.
static void policy_switch(uint32_t state)
{
    for (uint16_t i = 1; i <= 5; i++, state = state >> 4 | state << 28) {
        uint8_t mode = (uint8_t)(state & 3);
        iface_get(i)->policy.urpf[0] = iface_get(i)->policy.urpf[1] =
            mode | (state & 4 ? URPF_ALLOW_DEFAULT : 0);
        iface_set_flags(iface_get(i), ~(unsigned)IFACE_UP,
                        (mode && state & 8 ? IFACE_URPF4 | IFACE_URPF6
                         : state & 4       ? IFACE_REDIRECT
                                           : 0u) |
                            (state & 32 ? IFACE_ACL_IN : 0u) | (state & 64 ? IFACE_ACL_OUT : 0u) |
                            (state & 128 ? IFACE_OFFLOAD : 0u));
        iface_get(i)->policy.directed_broadcast = state & 8;
    }
}

void fuzz_send(const struct fuzz_arrival *a, const struct frame *f)
{
    unsigned least = f->n / 32 + 1; // at most 32 segments
    unsigned segment = a->segment < least ? least : a->segment;
    struct rte_mbuf *m = rig_mbuf_before(f, segment > 2048 ? 2048 : segment, a->behind);

    if (a->stripped) {
        m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
        m->vlan_tci = a->tag;
    }
    if (a->sum_good)
        m->ol_flags |= RTE_MBUF_F_RX_IP_CKSUM_GOOD;
    rig_send_mbuf(a->port, 0, m);
}

// Members of the group come and go; the odd interface goes down; options are dropped, ignored,
// processed; reverse-path checks; somebody watches; each set of lanes.
void fuzz_switch(uint32_t state)
{
    const struct lanes *lanes = lanes_by_name(!(state & 1)      ? "scalar"
                                         : state & 1 << 29 ? "avx2"
                                         : state & 1 << 28 ? "avx512"
                                                           : "avx512-loads");

    router_role(ROLE_RIB_MANAGER);
    nexthop_set_kind(member[0], state & 2 ? NEXTHOP_HOLD : NEXTHOP_FAILED);
    if (state & 12)
        nexthop_set_adjacency(member[0], 2, neighbor_mac(11));
    (void)nexthop_group_set(group, member, (uint32_t[]){1, 2, 3, 1},
                            state >> 4 & 3 ? 4 : state >> 6 & 3);
    router_role(ROLE_CONTROL);
    plan_ip4_options = (uint8_t)((state >> 8 & 3) % 3);
    iface_set_flags(iface_get(6), IFACE_UP, state >> 10 & 1 ? IFACE_UP : 0);
    iface_get(3)->mtu = state >> 11 & 1 ? 1280 : 1500;
    watches_switch(state >> 12 & 1 ? state >> 13 & 15 : 0);
    policy_switch(state >> 17 & 1 ? state * 2654435761u : 0);
    rig_forwarder(0)->lanes = lanes ? lanes : lanes_by_name("scalar");
    rig_reach = rig_forwarder(0)->lanes == lanes_by_name("avx512")
                    ? 22
                    : 64; // the check for stray loads does not see gathers
}

void fuzz_settle(uint32_t fate)
{
    static struct frame f;
    struct watch_slot *seen[64];
    struct ledger l;

    rig_poll();
    watch_give_back(watch, seen, watch_take(watch, seen, 64));
    for (struct rte_mbuf *m; (m = rig_held()); fate = fate >> 1 | fate << 31)
        if (!(fate & 1) || rig_inject(0, m))
            rig_release(m);
    rig_poll();
    for (struct rte_mbuf *m; (m = rig_held());) // back once more: their neighbor is unknown still
        rig_release(m);
    for (unsigned c = 0; c < PUNT_CLASS_N; c++)
        while (rig_punted(c, &f, NULL))
            fuzz_punted[c]++;
    for (unsigned p = 0; p < RIG_PORTS; p++)
        rig_discard(p);
    ledger_read(&l, 2);
    if (l.imbalance || l.held || rig_buffers_in_use()) {
        fprintf(stderr, "router: ledger: imbalance=%ld held=%lu buffers=%u\n", l.imbalance, l.held,
                rig_buffers_in_use());
        abort();
    }
}
