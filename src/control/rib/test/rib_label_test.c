// SPDX-License-Identifier: BSD-3-Clause
// rib_label_test.c - routes of labels and routes with labels, against a naive model
//
// Random label routes come as events or only by the next dump, as if their events had been lost;
// links lose their carrier and neighbors their MAC. After each step, the forwarders' entry of each
// label is the one that the model derives from the kernel's route. The same for IP routes,
// next-hop objects, budgets and the journal.
#include <endian.h>
#include <libmnl/libmnl.h>
#include <linux/lwtunnel.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "rib/test/store_fixture.h"
#include "table/label.h"
#include "table/vr_budget.h"
#include "tests/unit.h"

#define LABELS 24
#define FIRST 1000 // label of model[0]
#define STEPS 4000

enum { LO = 1, E1 = 11, E2, RED, ELSEWHERE }; // links; ELSEWHERE is not ours
#define RED_TABLE 77

static struct vr *red_vr;
static struct rib_vr *red;
static unsigned seed;

static struct model {
    bool there, unheard; // the RIB has not heard of it
    struct netlink_route m;
} model[LABELS];

static unsigned pick(unsigned n)
{
    return (unsigned)rand_r(&seed) % n;
}

static void link_event(int ifindex, const char *name, bool carrier)
{
    struct netlink_event e = {.kind = NETLINK_EVENT_LINK};

    e.link = (struct netlink_link){.ifindex = ifindex, .mtu = 1500, .up = true, .carrier = carrier};
    strcpy(e.link.name, name);
    if (ifindex == RED) {
        e.link.kind = NETLINK_LINK_VRF;
        e.link.vrf_table = RED_TABLE;
    }
    rib_event_link(v, &e);
}

static void neigh_state(int ifindex, uint8_t last, bool resolved)
{
    struct netlink_neigh n = {.ifindex = ifindex, .addr = {.family = IP4, .b = {10, 0, 0, last}},
                              .state = resolved ? NUD_PERMANENT : NUD_FAILED,
                              .has_mac = resolved, .mac = {2, 0, 0, 0, 0, last}};

    neigh_event(v, &n, false);
}

static int open_labels(void **state)
{
    if (store_tables_open())
        return -1;
    red_vr = vr_new("red");
    for (int i = 0; i < 2; i++) {
        struct iface *f = iface_new(i ? "e2" : "e1");

        f->ifindex = i ? E2 : E1;
        f->kind = IFACE_PORT;
        f->mtu = 1500;
        f->carrier = true;
    }
    if (store_managers_open() || !(red = rib_vr_new(red_vr->id, -1, RED_TABLE)))
        return -1;
    v->rib[0].deferred = v->rib[1].deferred = false;
    v->synced = v->has_mpls = true;
    link_event(LO, "lo", true);
    link_event(E1, "e1", true);
    link_event(E2, "e2", true);
    link_event(RED, "vrf-red", true);
    link_event(ELSEWHERE, "eth0", true);
    rib_iface_bind(v, 1);
    rib_iface_bind(v, 2);
    return 0;
}

static int close_labels(void **state)
{
    rib_vr_free(red);
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    vr_free(red_vr);
    thread_adopt(ROLE_RIB_MANAGER, THREAD_SLOT_RIB_MANAGER);
    return close_store(state);
}

// --- the model ---

static struct netlink_hop random_hop(bool of_label)
{
    static const int ifindex[] = {E1, E1, E2, E2, RED, LO, ELSEWHERE};
    unsigned way = pick(of_label ? 7 : 3);
    struct netlink_hop hop = {.ifindex = ifindex[way], .weight = 1, .labels.swaps = of_label};

    if (way < 3)
        hop.gateway = (struct ip_addr){.family = IP4, .b = {10, 0, 0, (uint8_t)(1 + way)}};
    else if (way == 3 && pick(2))
        hop.gateway = (struct ip_addr){.family = NETLINK_VIA_MAC, .b = {2, 9, 9, 9, 9, 9}};
    hop.labels.n = (uint8_t)pick(4);
    for (unsigned i = 0; i < hop.labels.n; i++)
        hop.labels.label[i] = 16 + pick(3);
    hop.labels.ttl_mode = (uint8_t)pick(3);
    return hop;
}

static void random_route(struct netlink_route *m, unsigned i)
{
    *m = (struct netlink_route){.prefix = prefix_of_label(FIRST + i), .type = RTN_UNICAST,
                                .protocol = pick(8) ? 186 : 4};
    m->n_hops = pick(4) ? 1 : (uint16_t)(1 + pick(3));
    for (unsigned k = 0; k < m->n_hops; k++)
        m->hop[k] = random_hop(true);
    m->encap = pick(20) ? 0 : LWTUNNEL_ENCAP_MPLS; // too many labels
}

static void tell(struct model *m, bool is_row)
{
    static struct netlink_event e;

    e = (struct netlink_event){.kind = NETLINK_EVENT_LABEL, .del = !m->there};
    e.route = m->m;
    rib_label_event(v, &e, is_row);
    m->unheard = false;
}

// A dump finds the changes that the RIB has not heard of.
static void dump(void)
{
    unsigned unheard = 0;

    rib_map_fini(&v->sync.diverged);
    v->gen++;
    rib_label_dump_begins(v);
    for (unsigned i = 0; i < LABELS; i++) {
        unheard += model[i].unheard;
        if (model[i].there)
            tell(&model[i], true);
    }
    rib_label_sweep(v);
    assert_true(v->sync.diverged.n <= unheard);
    for (unsigned i = 0; i < LABELS; i++)
        model[i].unheard = false;
}

// --- comparison ---

static bool hop_is_usable(const struct netlink_hop *h)
{
    if ((h->ifindex == RED || h->ifindex == LO) && !h->labels.n)
        return true;
    return (h->ifindex == E1 || h->ifindex == E2) && h->gateway.family;
}

static void check_encap(uint32_t id, const struct netlink_hop *h)
{
    const struct nexthop *nh = nexthop_get(id);
    const struct nexthop_encap *e = &nh->encap;

    assert_int_equal(nexthop_word_kind(nexthop_word(nh)), NEXTHOP_ENCAP);
    assert_int_equal(e->n, h->labels.n);
    for (unsigned i = 0; i < e->n; i++)
        assert_int_equal(nexthop_label_number(e->label_be[i]), h->labels.label[i]);
    assert_int_equal(e->flags & NEXTHOP_ENCAP_LABEL ? 1 : 0, id >= NEXTHOP_MAX);
    assert_int_equal(e->flags & ~NEXTHOP_ENCAP_LABEL,
                     h->labels.ttl_mode == LABEL_TTL_UNIFORM ? NEXTHOP_ENCAP_UNIFORM
                     : h->labels.ttl_mode == LABEL_TTL_PIPE  ? NEXTHOP_ENCAP_PIPE
                                                             : 0);
    if (!e->via) {
        assert_int_equal(e->vr, h->ifindex == RED ? red->id : v->id);
        return;
    }
    assert_int_equal(nexthop_word_iface(nexthop_word(nh)), h->ifindex == E1 ? 1 : 2);
    const struct neigh *n = neigh_of_nexthop(e->via);
    if (h->gateway.family == IP4)
        assert_true(n && ip_equal(&n->addr, &h->gateway));
    else
        assert_int_equal(nexthop_rewrite(nexthop_get(e->via), nexthop_word(nexthop_get(e->via)))
                             [NEXTHOP_REWRITE - 14 + 5], 9);
}

static void check_label(unsigned i)
{
    const struct netlink_route *m = &model[i].m;
    uint32_t id = label_get(v->id, FIRST + i);
    const struct rib_label *l = rib_map_find(&v->labels.of, FIRST + i);
    unsigned usable = 0;

    if (model[i].unheard)
        return;
    assert_int_equal(l != NULL, model[i].there);
    for (unsigned k = 0; model[i].there && !m->encap && k < m->n_hops; k++)
        usable += hop_is_usable(&m->hop[k]);
    assert_int_equal(id != 0, usable != 0);
    if (!id)
        return;
    assert_int_equal(l->protocol, m->protocol);
    if (m->n_hops == 1) {
        check_encap(id, &m->hop[0]);
        return;
    }
    assert_int_equal(nexthop_word_kind(nexthop_word(nexthop_get(id))), NEXTHOP_GROUP);
    for (unsigned k = 0; k < m->n_hops; k++) {
        uint32_t leg = hop_nexthop(v, &l->set.hop[k]);
        bool alive = rib_link_is_alive(rib_link_find(v, m->hop[k].ifindex));

        assert_int_equal(leg != 0, hop_is_usable(&m->hop[k]));
        if (!leg)
            continue;
        check_encap(leg, &m->hop[k]);
        assert_int_equal(nexthop_group_count(id, leg) > 0, alive);
    }
}

static void check_all(void)
{
    char why[200];

    for (unsigned i = 0; i < LABELS; i++)
        check_label(i);
    if (nexthop_check(why, sizeof why))
        fail_msg("%s (seed %u)", why, seed);
    assert_int_equal(label_count(v->id), v->labels.n_installed);
}

static void step(void)
{
    struct model *m = &model[pick(LABELS)];

    switch (pick(10)) {
    case 0: link_event(E1, "e1", pick(2)); return;
    case 1: neigh_state(pick(2) ? E1 : E2, (uint8_t)(1 + pick(3)), pick(2)); return;
    case 2: dump(); return;
    case 3: m->there = false; break;
    default:
        m->there = true;
        random_route(&m->m, (unsigned)(m - model));
        break;
    }
    m->m.prefix = prefix_of_label(FIRST + (unsigned)(m - model));
    if (pick(8))
        tell(m, false);
    else
        m->unheard = true;
}

static void drop_all(void)
{
    for (unsigned i = 0; i < LABELS; i++) {
        model[i].there = false;
        model[i].m.prefix = prefix_of_label(FIRST + i);
        tell(&model[i], false);
    }
    link_event(E1, "e1", true);
    rib_commit(v);
}

unit_test(labels_follow_the_kernel)
{
    unsigned used = nexthop_used();

    seed = 7;
    for (unsigned i = 0; i < STEPS; i++) {
        step();
        check_all();
        if (pick(4) == 0)
            rib_commit(v);
    }
    drop_all();
    assert_int_equal(label_count(v->id), 0);
    assert_int_equal(nexthop_used(), used);
    assert_int_equal(v->n_nexthops, 0);
}

// --- dumps ---

static struct nlmsghdr *label_message(uint16_t type, uint32_t label)
{
    static _Alignas(8) char buf[256];
    struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
    struct rtmsg *m = mnl_nlmsg_put_extra_header(h, sizeof *m);

    h->nlmsg_type = type;
    *m = (struct rtmsg){.rtm_family = AF_MPLS, .rtm_dst_len = 20, .rtm_type = RTN_UNICAST};
    mnl_attr_put_u32(h, RTA_DST, htobe32(label << 12 | 0x100));
    mnl_attr_put_u32(h, RTA_OIF, LO);
    return h;
}

static void hear_row(struct nlmsghdr *h)
{
    h->nlmsg_pid = v->events.portid;
    h->nlmsg_seq = v->sync.seq;
    rib_sync_message(v, h);
}

unit_test(a_dump_sweeps_and_an_older_row_does_not_undo_an_event)
{
    static _Alignas(8) char done[64];
    struct nlmsghdr *end = mnl_nlmsg_put_header(done);
    int error = 0;

    for (uint32_t label = 100; label < 103; label++)
        rib_sync_message(v, label_message(RTM_NEWROUTE, label));
    v->sync = (struct rib_sync){.stage = -1, .want = 1u << RIB_STAGE_LABEL};
    rib_sync_step(v, true);
    assert_int_equal(v->sync.stage, RIB_STAGE_LABEL);
    hear_row(label_message(RTM_NEWROUTE, 100));
    rib_sync_message(v, label_message(RTM_DELROUTE, 101));
    hear_row(label_message(RTM_NEWROUTE, 101)); // was filled before the event
    hear_row(label_message(RTM_NEWROUTE, 103)); // its event was lost
    end->nlmsg_type = NLMSG_DONE;
    memcpy(mnl_nlmsg_put_extra_header(end, sizeof error), &error, sizeof error);
    hear_row(end);
    assert_int_equal(v->sync.stage, -1);
    for (uint32_t label = 100; label < 104; label++)
        assert_int_equal(label_get(v->id, label) != 0, label == 100 || label == 103);
    assert_int_equal(v->sync.diverged.n, 2); // 102 and 103
    rib_sync_message(v, label_message(RTM_NEWROUTE, 103)); // explains one of them
    assert_int_equal(v->sync.diverged.n, 1);
    rib_sync_message(v, label_message(RTM_DELROUTE, 100));
    rib_sync_message(v, label_message(RTM_DELROUTE, 103));
    rib_sync_step(v, true);
    assert_int_equal(label_count(v->id), 0);
}

unit_test(a_kernel_that_gets_mpls_is_asked_for_its_routes)
{
    v->has_mpls = false;
    v->sync.want = v->sync.whole = 0;
    rib_sync_want(v, 1u << RIB_STAGE_LABEL, 0);
    rib_sync_step(v, true);
    assert_int_equal(v->sync.stage, -1); // without MPLS it would show other routes
    rib_label_netconf(v, &(struct netlink_netconf){.family = IP_LABEL, .ifindex = E1}, false);
    assert_int_equal(v->sync.whole, 1u << RIB_STAGE_LABEL | 1u << RIB_STAGE_NETCONF_LABEL);
    v->sync = (struct rib_sync){.stage = -1};
}

// --- virtual routers and links ---

static void set_label(uint32_t label, const struct netlink_hop *hop)
{
    static struct netlink_event e;

    e = (struct netlink_event){.kind = NETLINK_EVENT_LABEL, .del = !hop};
    e.route = (struct netlink_route){.prefix = prefix_of_label(label), .n_hops = hop != NULL,
                                     .protocol = 186};
    if (hop)
        e.route.hop[0] = *hop;
    rib_label_event(v, &e, false);
}

unit_test(a_label_of_a_vrf_waits_for_its_virtual_router)
{
    struct netlink_hop hop = {.ifindex = RED, .weight = 1, .labels.swaps = true};
    uint16_t id = red->id;

    set_label(100, &hop);
    assert_int_equal(nexthop_get(label_get(v->id, 100))->encap.vr, id);
    rib_vr_free(red);
    assert_int_equal(label_get(v->id, 100), 0);
    red = rib_vr_new(id, -1, RED_TABLE);
    assert_int_equal(nexthop_get(label_get(v->id, 100))->encap.vr, id);
    set_label(100, NULL);
}

unit_test(a_router_of_a_vrf_keeps_labels_while_a_link_accepts_them)
{
    struct netlink_netconf on = {.family = IP_LABEL, .ifindex = E2, .has_labels = true,
                                 .labels = true};
    struct netlink_event e = {.kind = NETLINK_EVENT_LABEL};

    rib_label_netconf(v, &on, false);
    assert_true(iface_get(2)->mpls);
    rib_label_netconf(v, &on, true);
    assert_false(iface_get(2)->mpls);
    assert_false(red->labels.wanted);
    red->sync.want = red->sync.whole = 0;
    rib_iface_unbind(v, 2);
    rib_iface_bind(red, 2);
    rib_label_netconf(red, &on, false);
    assert_true(red->labels.wanted && iface_get(2)->mpls);
    assert_true(red->sync.whole & 1u << RIB_STAGE_LABEL); // it has to be told the routes
    e.route = (struct netlink_route){.prefix = prefix_of_label(100), .n_hops = 1};
    e.route.hop[0] = (struct netlink_hop){.ifindex = LO, .weight = 1, .labels.swaps = true};
    rib_event_link(red, &(struct netlink_event){
                            .link = {.ifindex = LO, .up = true, .carrier = true, .name = "lo"}});
    rib_label_event(red, &e, false);
    assert_int_equal(nexthop_get(label_get(red->id, 100))->encap.vr, v->id);
    rib_iface_unbind(red, 2);
    assert_false(red->labels.wanted || iface_get(2)->mpls);
    assert_int_equal(label_get(red->id, 100), 0);
    rib_iface_bind(v, 2);
}

unit_test(a_budget_refuses_labels_until_there_is_room)
{
    struct netlink_hop hop = {.ifindex = LO, .weight = 1, .labels.swaps = true};
    struct vr_limits limits = {.of[VR_BUDGET_LABELS] = 2};
    struct rib_unfollowed u;

    vr_budgets[v->id].limits = limits;
    for (uint32_t label = 100; label < 104; label++)
        set_label(label, &hop);
    assert_int_equal(label_count(v->id), 2);
    rib_unfollowed_report(v, &u);
    assert_int_equal(u.of[UNFOLLOWED_BUDGET].n, 2);
    assert_string_equal(u.of[UNFOLLOWED_BUDGET].example, "label 102");
    v->sync.want = v->sync.whole = 0;
    vr_budgets[v->id].limits.of[VR_BUDGET_LABELS] = 3;
    rib_label_tick(v, v->labels.read_ns + NS_PER_SECOND);
    assert_true(v->sync.whole & 1u << RIB_STAGE_LABEL);
    vr_budgets[v->id].limits.of[VR_BUDGET_LABELS] = 1;
    rib_label_tick(v, v->labels.read_ns + NS_PER_SECOND);
    assert_int_equal(label_count(v->id), 1);
    vr_budgets[v->id].limits.of[VR_BUDGET_LABELS] = 0;
    for (uint32_t label = 100; label < 104; label++)
        set_label(label, NULL);
    v->sync.want = v->sync.whole = 0;
}

// --- routes with labels ---

static uint32_t leads_to(const char *addr)
{
    struct ip_addr a;

    assert_int_equal(ip_parse(addr, &a), 0);
    return fib_find(rib_fib(v, IP4), &a);
}

static void put_route(const char *prefix, const struct netlink_hop *hop, unsigned n, uint32_t nhid,
                      bool del)
{
    static struct netlink_event e;

    e = (struct netlink_event){.kind = NETLINK_EVENT_ROUTE, .del = del, .create = true};
    e.route = (struct netlink_route){.type = RTN_UNICAST, .protocol = 186, .table = RIB_TABLE_MAIN,
                                     .nhid = nhid, .n_hops = (uint16_t)n};
    assert_int_equal(prefix_parse(prefix, &e.route.prefix, false), 0);
    memcpy(e.route.hop, hop, n * sizeof *hop);
    rib_event_route(v, &e);
}

static struct netlink_hop push(uint8_t last, uint32_t outer, uint32_t inner)
{
    return (struct netlink_hop){.ifindex = E1, .weight = 1,
                                .gateway = {.family = IP4, .b = {10, 0, 0, last}},
                                .labels = {.n = inner ? 2 : 1, .label = {outer, inner}}};
}

unit_test(equal_stacks_to_a_neighbor_share_an_encap)
{
    struct netlink_hop a = push(1, 100, 200), b = push(1, 100, 201), plain = push(1, 100, 0);
    unsigned used;
    uint32_t id;

    rib_commit(v);
    used = nexthop_used();
    plain.labels = (struct label_stack){0};
    put_route("1.0.0.0/8", &a, 1, 0, false);
    put_route("2.0.0.0/8", &a, 1, 0, false);
    put_route("3.0.0.0/8", &b, 1, 0, false);
    put_route("4.0.0.0/8", &plain, 1, 0, false);
    rib_commit(v);
    id = leads_to("1.0.0.1");
    check_encap(id, &a);
    assert_int_equal(leads_to("2.0.0.1"), id);
    check_encap(leads_to("3.0.0.1"), &b);
    assert_int_equal(nexthop_get(id)->encap.via, leads_to("4.0.0.1"));
    assert_int_equal(v->n_nexthops, 3); // a neighbor, two ENCAPs
    put_route("1.0.0.0/8", &a, 1, 0, true);
    put_route("2.0.0.0/8", &a, 1, 0, true);
    put_route("3.0.0.0/8", &b, 1, 0, true);
    put_route("4.0.0.0/8", &plain, 1, 0, true);
    rib_commit(v);
    assert_int_equal(nexthop_used(), used);
    assert_int_equal(v->n_nexthops, 0);
}

unit_test(legs_with_labels_form_a_group_and_objects_are_replaced_in_use)
{
    struct netlink_hop leg[2] = {push(1, 100, 0), push(2, 300, 0)};
    struct netlink_nexthop o = {.id = 5, .hop = leg[0]};
    uint32_t id;

    put_route("1.0.0.0/8", leg, 2, 0, false);
    id = leads_to("1.0.0.1");
    assert_int_equal(nexthop_word_kind(nexthop_word(nexthop_get(id))), NEXTHOP_GROUP);
    assert_true(nexthop_leads_out(id, 1) && nexthop_leads_on(id));
    nexthop_object_set(v, &o);
    put_route("2.0.0.0/8", NULL, 0, 5, false);
    check_encap(leads_to("2.0.0.1"), &leg[0]);
    o.hop = leg[1];
    nexthop_object_set(v, &o);
    while (rib_path_work(v, 100))
        ;
    check_encap(leads_to("2.0.0.1"), &leg[1]);
    put_route("1.0.0.0/8", leg, 2, 0, true);
    nexthop_object_del(v, 5);
    while (rib_path_work(v, 100))
        ;
    rib_commit(v);
    assert_int_equal(v->n_nexthops, 0);
}

unit_test(labels_need_a_gateway)
{
    struct netlink_hop hop = push(1, 100, 0);
    struct rib_unfollowed u;

    hop.gateway.family = IP_NONE;
    put_route("1.0.0.0/8", &hop, 1, 0, false);
    assert_int_equal(leads_to("1.0.0.1"), nexthop_shared(NEXTHOP_UNREACHABLE));
    rib_unfollowed_report(v, &u);
    assert_int_equal(u.of[UNFOLLOWED_ENCAP].n, 1);
    assert_string_equal(u.of[UNFOLLOWED_ENCAP].example, "1.0.0.0/8 encap mpls");
    put_route("1.0.0.0/8", &hop, 1, 0, true);
}

int main(void)
{
    return unit_tests_run(open_labels, close_labels);
}
