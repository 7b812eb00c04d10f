// SPDX-License-Identifier: BSD-3-Clause
// fixture.c - see fixture.h
#include "fixture.h"

#include <stdio.h>

#include "core/rcu.h"
#include "forwarder/packet.h"
#include "table/acl_target.h"
#include "table/watch.h"

#define REACH 160u // window size after the largest Ethernet header, see harness.h

struct native_next native_next;
struct native_instance *native_running;
struct net net[NETS];
static unsigned watch;

uint32_t ifindex_of(uint16_t iface)
{
    return 100u + iface;
}

static uint16_t iface_of(unsigned port, uint16_t vlan, uint16_t vr)
{
    uint16_t id = rig_iface(port, vlan, vr);

    router_role(ROLE_CONTROL);
    iface_get(id)->ifindex = (int)ifindex_of(id);
    return id;
}

static void make_net(unsigned k, const char *name, uint16_t vlan)
{
    struct net *n = &net[k];

    *n = (struct net){.name = name, .vr = k ? rig_vr(name) : VR_DEFAULT, .vlan = vlan};
    n->in = iface_of(0, vlan, n->vr);
    n->in2 = iface_of(0, vlan + 1, n->vr);
    n->out = iface_of(1, vlan, n->vr);
    n->aside = iface_of(2, vlan, n->vr);
    uint32_t out = rig_adjacency(n->out, OUT_NEIGHBOR),
             aside = rig_adjacency(n->aside, ASIDE_NEIGHBOR);
    rig_route(n->vr, "20.0.0.0/8", out);
    rig_route(n->vr, "2001:db8:b::/48", out);
    rig_route(n->vr, "30.0.0.0/8", aside);
    rig_route(n->vr, "2001:db8:c::/48", aside);
}

int programs_setup(void **state)
{
    rig_reach = REACH;
    if (rig_setup(state))
        return -1;
    make_net(DEFAULT, "default", 0);
    make_net(RED, "red", 10);
    make_net(BLUE, "blue", 20);
    uint16_t copies = rig_iface(3, 0, VR_DEFAULT);
    for (uint16_t p = 0; p < RIG_PORTS; p++)
        port_get(p)->mtu = 1500;
    router_role(ROLE_CONTROL);
    struct watch w = {.to = WATCH_TO_PORT, .to_port = iface_get(copies)->port, .port = PORT_NONE};
    int index = watch_new(&w, 0);
    assert_true(index >= 0);
    watch = (unsigned)index;
    return acl_mirror_lead("copy", watch);
}

int programs_teardown(void **state)
{
    rig_poll();
    router_role(ROLE_CONTROL);
    forwarder_explain_fini();
    program_manager_fini();
    acl_mirror_lead("copy", WATCH_MAX);
    rcu_synchronize();
    watch_free(watch);
    return rig_teardown(state);
}

// --- frames --------------------------------------------------------------------------------------

struct frame packet(unsigned n, bool six, unsigned number, unsigned payload)
{
    return ip_frame(.src = six ? "2001:db8:a::1" : "10.0.0.1",
                    .dst = six ? "2001:db8:b::1" : "20.0.0.1", .sport = (uint16_t)(1000 + number),
                    .vlan = net[n].vlan, .to_iface = net[n].in, .payload = payload);
}

struct frame typed(unsigned n, uint16_t type, unsigned number, unsigned payload)
{
    struct frame f = packet(n, false, number, payload);
    uint8_t *at = frame_l3(&f);

    store16(at - 2, rte_cpu_to_be_16(type));
    memset(at, 0x5a, f.n - (unsigned)(at - f.b));
    store16(at, rte_cpu_to_be_16(1000 + number));
    return f;
}

unsigned number_of(const struct kamuee_packet *p)
{
    const uint8_t *at = p->data;

    at += p->family == 4 ? (*at & 15) * 4u : p->family == 6 ? 40 : 0;
    return ((unsigned)at[0] << 8 | at[1]) - 1000;
}

void forward(const struct frame *f)
{
    rig_forward(0, f);
}

struct frame forwarded(const struct frame *f, unsigned n, bool aside)
{
    const struct iface *out = iface_get(aside ? net[n].aside : net[n].out);
    const unsigned header = net[n].vlan ? 18 : 14;
    struct frame g = *f;
    uint8_t *ip = frame_l3(&g);

    g.n = header + g.n - (unsigned)(ip - g.b);
    memmove(g.b + header - 2, ip - 2, g.n - header + 2); // with the EtherType
    ip = g.b + header;
    memcpy(g.b, neighbor_mac(aside ? ASIDE_NEIGHBOR : OUT_NEIGHBOR), 6);
    memcpy(g.b + 6, out->mac, 6);
    if (net[n].vlan) {
        store16(g.b + 12, RTE_BE16(0x8100));
        store16(g.b + 14, rte_cpu_to_be_16(net[n].vlan));
    }
    if (ip[0] >> 4 == 6) {
        ip[7]--;
    } else {
        ip[8]--;
        ip4_fix_checksum(&g);
    }
    return g;
}

bool punted(struct frame *f)
{
    for (unsigned c = 0; c < PUNT_CLASS_N; c++)
        if (rig_punted(c, f, NULL))
            return true;
    return false;
}

void assert_frame(const struct frame *is, const struct frame *expected)
{
    assert_int_equal(is->n, expected->n);
    assert_memory_equal(is->b, expected->b, expected->n);
}

void assert_sent(unsigned port, const struct frame *expected)
{
    static struct frame f;

    assert_true(rig_receive(port, &f));
    assert_frame(&f, expected);
    assert_false(rig_receive(port, &f));
}

// --- programs ------------------------------------------------------------------------------------

static void load(const struct native *n)
{
    native_next =
        (struct native_next){.declared = n->declared ? n->declared : "", .code = n->code};
    router_role(ROLE_CONTROL);
}

void native_add(const struct native *n)
{
    struct program_config c = {.hook = (uint8_t)n->hook,
                               .fault_drops = !n->passes,
                               .ether_type = n->ether_type,
                               .order = n->order};
    char err[1024] = "";

    load(n);
    snprintf(c.name, sizeof c.name, "%s", n->name ? n->name : "one");
    snprintf(c.vr, sizeof c.vr, "%s", net[n->net].name);
    snprintf(c.file, sizeof c.file, "%s", NATIVE);
    if (n->mirrors)
        snprintf(c.mirror, sizeof c.mirror, "copy");
    for (unsigned h = 0; h < sizeof n->next_hop / sizeof *n->next_hop; h++)
        if (n->next_hop[h])
            assert_int_equal(ip_parse(n->next_hop[h], &c.next_hop[h]), 0);
    if (program_manager_add(&c, err, sizeof err))
        fail_msg("%s", err);
}

void native_again(const struct native *n)
{
    char err[1024] = "";

    load(n);
    if (program_manager_replace(n->name ? n->name : "one", err, sizeof err))
        fail_msg("%s", err);
}

struct program_status native_status(const char *name)
{
    struct program_status s;

    assert_true(program_manager_find(name, &s));
    return s;
}

// --- a recording program -------------------------------------------------------------------------

struct kamuee_packet look[LOOKS];
unsigned looks;

static struct {
    uint64_t verdict;
    void (*change)(struct kamuee_packet *p);
} act;

static uint64_t look_and_act(struct kamuee_packet *p)
{
    look[looks++ % LOOKS] = *p;
    if (act.change)
        act.change(p);
    return act.verdict;
}

void does(uint64_t verdict, void (*change)(struct kamuee_packet *p))
{
    act.verdict = verdict;
    act.change = change;
    looks = 0;
}

struct native at_hook(enum program_hook hook)
{
    return (struct native){.hook = hook,
                           .code = look_and_act,
                           .declared = "reason one; reason two",
                           .mirrors = true,
                           .next_hop = {NULL, hook == PROGRAM_OUTPUT ? NULL : ASIDE4,
                                        hook == PROGRAM_OUTPUT ? NULL : ASIDE6}};
}
