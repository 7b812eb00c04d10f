// SPDX-License-Identifier: BSD-3-Clause
// trial_test.c - a trial predicts what the forwarder does after the change, and the trial
// itself changes nothing
//
// A thousand random changes of a router, one after the other: access lists of both directions,
// uRPF, virtual routers, policers, class maps of queues. Each is tried on packets first, then made;
// then the same packets must have the outcomes that the trial has predicted. KAMUEE_SEED=n repeats
// a run.
#include "acl_fixture.h"

#include <rte_cycles.h>
#include <stdlib.h>
#include <time.h>

#include "base/hash.h"
#include "table/policer.h"
#include "table/port_queue.h"
#include "table/trial.h"

#define CHANGES 1000u
#define FLOWS 40u
#define IFACES 5u
#define QUEUES 3u // of ports 0 to 2

static uint16_t iface[IFACES], red;
static struct packet_trace *trace;
static struct trial_iface *tried;
static struct trial trial;
static const struct trial in_force;
static struct policer policer[3];
static struct port_queue queue[QUEUES];
static struct queue_manager *manager;
static uint64_t dice;

static uint32_t roll(uint32_t n)
{
    dice += 0x9e3779b97f4a7c15u;
    return (uint32_t)((hash_mix64(dice) >> 32) * n >> 32);
}

// Frames are never sent here: the queues only tell their classes.
static void queues_make(void)
{
    struct plan_rx rx[RIG_PORTS];

    for (unsigned k = 0; k < RIG_PORTS; k++)
        rx[k] = (struct plan_rx){iface_get(iface[k < 3 ? k : 4])->port, 0};
    struct plan *p = rig_plan_new(0, rx, RIG_PORTS);
    manager = queue_make(&(struct queue_config){.ticks_hz = rte_get_tsc_hz(),
                                                .rate_bps = 1000000000,
                                                .clients = PORT_QUEUE_CLIENTS,
                                                .packets_max = 100,
                                                .frame_max = 1518});
    assert_non_null(manager);
    for (unsigned k = 0; k < QUEUES; k++) {
        queue[k] = (struct port_queue){.manager = manager,
                                       .settings = calloc(1, sizeof *queue[k].settings)};
        assert_non_null(queue[k].settings);
        p->queue[rx[k].port] = &queue[k];
    }
    rig_plan_set(0, p);
}

static void queues_free(void)
{
    rig_plan_set(0, rig_plan_new(0, NULL, 0));
    for (unsigned k = 0; k < QUEUES; k++)
        free(queue[k].settings);
    queue_free(manager, NULL, NULL);
}

void rig_begin(void)
{
    static const unsigned port[IFACES] = {0, 1, 2, 0, 3};

    red = rig_vr("red");
    for (unsigned k = 0; k < IFACES; k++)
        iface[k] = rig_iface(port[k], k == 3 ? 30 : 0, k == 4 ? red : VR_DEFAULT);
    rig_routes(VR_DEFAULT, "10.0.0.0/9", "2001:db8:a::/48", rig_adjacency(iface[0], 1));
    rig_routes(VR_DEFAULT, "10.128.0.0/9", "2001:db8:b::/48", rig_adjacency(iface[1], 2));
    rig_routes(VR_DEFAULT, "10.64.0.0/10", "2001:db8:a:8000::/49", rig_adjacency(iface[2], 3));
    rig_routes(red, "10.0.0.0/10", "2001:db8:b::/48", rig_adjacency(iface[4], 4));
    rig_routes(red, "10.192.0.0/10", "2001:db8:a::/48", rig_adjacency(iface[1], 5));
    for (unsigned k = 0; k < 3; k++) {
        policer[k] = (struct policer){.cir = 1000000, .cbs = k ? 9000 : 40, .kind = POLICER_SRTCM};
        snprintf(policer[k].name, sizeof policer[k].name, "k%u", k);
        policer[k].action[POLICER_RED] = POLICER_DROP;
        policer[k].action[POLICER_GREEN] = k == 2 ? POLICER_REMARK : POLICER_PASS;
        policer[k].dscp[POLICER_GREEN] = 10;
    }
    trace = calloc(1, sizeof *trace + 4096);
    tried = calloc(IFACE_MAX, sizeof *tried);
    assert_non_null(trace);
    assert_non_null(tried);
    trial.iface = tried;
    queues_make();
}

static int clean(void **state)
{
    router_role(ROLE_CONTROL);
    for (unsigned k = 0; k < IFACES; k++) {
        iface_bind_acl(iface_get(iface[k]), 0, 0);
        for (enum policer_direction d = 0; d < POLICER_DIRECTIONS; d++)
            policer_bind(iface[k], d, NULL);
    }
    forwarder_explain_fini();
    queues_free();
    router_role(ROLE_CONTROL);
    lists_free();
    free(trace);
    free(tried);
    return rig_teardown(state);
}

// --- packets -------------------------------------------------------------------------------------

struct flow {
    unsigned in;
    struct frame frame;
};

static struct flow random_flow(void)
{
    char src[48], dst[48];
    struct flow f = {.in = roll(IFACES)};
    bool six = roll(3) == 0;

    for (unsigned k = 0; k < 2; k++)
        snprintf(k ? dst : src, sizeof src, six ? "2001:db8:%c:%x::1" : "%u.%u.0.1",
                 six ? "abc"[roll(3)] : (int)(10 + (roll(8) == 0)), roll(256) << (six ? 8 : 0));
    f.frame = ip_frame(.src = src, .dst = dst, .sport = (uint16_t)(1000 + roll(4)),
                       .dport = (uint16_t)(2000 + roll(4)), .tos = (uint8_t)(roll(4) << 4),
                       .payload = roll(200), .vlan = f.in == 3 ? 30 : 0, .to_iface = iface[f.in],
                       .fragment = roll(16) ? 0 : 0x2000);
    return f;
}

struct outcome { // compared with memcmp
    uint32_t end, drop, vr, list_out, rule, port, iface, color, police_out, tos, class;
};

static struct outcome explain(const struct flow *f, const struct trial *t)
{
    struct outcome o;

    memset(&o, 0, sizeof o);
    packet_trace_init(trace, 4096, 128);
    router_role(ROLE_CONTROL);
    assert_int_equal(
        forwarder_explain(iface_get(iface[f->in])->port, f->frame.b, f->frame.n, t, trace), 0);
    const struct packet_trace_step *last = packet_trace_last(trace, TRACED_PACKET);
    assert_non_null(last);
    for (unsigned k = 0; k < trace->n_steps; k++) {
        const struct packet_trace_step *s = &trace->step[k];
        if (s->of != TRACED_PACKET)
            continue;
        o.vr = s->vr;
        if (s->acl.list) {
            o.list_out = 1u + s->acl.out;
            o.rule = s->acl.rule;
        }
        if (s->police.iface) {
            o.police_out = 1u + s->police.out;
            o.color = s->police.color;
        }
    }
    o.end = last->end;
    o.drop = last->drop;
    if (last->n_frames) {
        const struct packet_trace_frame *g = &trace->frame[last->frame];
        const uint8_t *ip = trace->bytes + g->at + 14 + (iface_get(g->iface)->vlan ? 4 : 0);
        o.port = g->port;
        o.iface = g->iface;
        o.class = g->queue.class;
        o.tos = ip[0] >> 4 == 4 ? ip[1] : (uint8_t)(ip[0] << 4 | ip[1] >> 4);
    }
    return o;
}

// --- changes -------------------------------------------------------------------------------------

struct change {
    unsigned of; // interface, or queue
    enum { LIST_IN, LIST_OUT, URPF, VR, POLICE_IN, POLICE_OUT, MAP, KINDS } kind;
    uint16_t list, vr;
    uint8_t urpf;
    const struct policer *police;
    struct class_map map;
};

static uint16_t random_list(void)
{
    struct list l = {.otherwise = {.verb = roll(4) ? ACL_PERMIT : ACL_DENY}};

    for (unsigned k = 0, n = roll(4); k < n; k++) {
        static const char *const prefix[] = {"10.0.0.0/9", "10.128.0.0/10", "10.0.0.0/8"};
        struct acl_rule *r = list_rule(&l, 10 + 10 * k, ACL_IP4, roll(3));
        side(roll(2) ? &r->src : &r->dst, prefix[roll(3)]);
        if (roll(4) == 0) {
            list_action(&l)->verb = ACL_PERMIT;
            list_action(&l)->extra = ACL_REMARK;
            list_action(&l)->dscp = (uint8_t)roll(64);
        }
    }
    return list_publish(&l, "x");
}

static struct change random_change(void)
{
    struct change c = {.kind = roll(KINDS)};

    c.of = roll(c.kind == MAP ? QUEUES : IFACES);
    if (c.kind <= LIST_OUT)
        c.list = roll(5) ? random_list() : 0;
    for (unsigned dscp = 0; dscp < 64; dscp++)
        c.map.of_dscp[dscp] = (uint8_t)roll(3);
    c.urpf = (uint8_t)(roll(4) | (roll(4) ? 0 : URPF_ALLOW_DEFAULT));
    c.vr = roll(2) ? red : VR_DEFAULT;
    c.police = roll(4) ? &policer[roll(3)] : NULL;
    return c;
}

static void try_change(const struct change *c)
{
    const struct iface *i = iface_get(iface[c->of]);
    struct trial_iface *t = &tried[i->id];

    memset(tried, 0, IFACE_MAX * sizeof *tried);
    memset(trial.map, 0, sizeof trial.map);
    if (c->kind == MAP) {
        trial.map[iface_get(iface[c->of])->port] = &c->map;
        return;
    }
    *t = (struct trial_iface){
        .differs = true,
        .vr = i->vr,
        .list = {{.id = i->acl_in}, {.id = i->acl_out}},
        .police = {policer_of(i->id, POLICER_IN), policer_of(i->id, POLICER_OUT)}};
    memcpy(t->urpf, i->policy.urpf, sizeof t->urpf);
    if (c->kind <= LIST_OUT) // built aside: it has an id here, but the trial does not use it
        t->list[c->kind] =
            (struct trial_list){.content = c->list ? acl_table[c->list].content : NULL};
    else if (c->kind == URPF)
        t->urpf[0] = t->urpf[1] = c->urpf;
    else if (c->kind == VR)
        t->vr = c->vr;
    else
        t->police[c->kind - POLICE_IN] = c->police;
}

static void make_change(const struct change *c)
{
    struct iface *i = iface_get(iface[c->of]);

    router_role(ROLE_CONTROL);
    if (c->kind == MAP) {
        queue[c->of].settings->map = c->map;
    } else if (c->kind <= LIST_OUT) {
        bool in = c->kind == LIST_IN;
        iface_bind_acl(i, in ? c->list : i->acl_in, in ? i->acl_out : c->list);
    } else if (c->kind == URPF) {
        i->policy.urpf[0] = i->policy.urpf[1] = c->urpf;
        iface_set_flags(i, IFACE_URPF4 | IFACE_URPF6,
                        c->urpf & URPF_MODE ? IFACE_URPF4 | IFACE_URPF6 : 0);
    } else if (c->kind == VR) {
        iface_set_vr(i, c->vr);
    } else {
        assert_int_equal(policer_bind(i->id, c->kind - POLICE_IN, c->police), 0);
    }
}

unit_test_of(a_thousand_changes_do_what_their_trial_has_said, rig_setup, clean)
{
    static struct flow flow[FLOWS];
    static struct outcome was[FLOWS], said[FLOWS];
    const char *seed = getenv("KAMUEE_SEED");
    unsigned changed = 0, quiet = 0, kinds = 0;

    dice = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL);
    print_message("KAMUEE_SEED=%llu\n", (unsigned long long)dice);
    for (unsigned n = 0; n < CHANGES; n++) {
        struct change c = random_change();
        struct iface before[IFACES];
        unsigned differ = 0;

        try_change(&c);
        for (unsigned k = 0; k < IFACES; k++)
            before[k] = *iface_get(iface[k]);
        for (unsigned k = 0; k < FLOWS; k++) {
            flow[k] = random_flow();
            was[k] = explain(&flow[k], &in_force);
            said[k] = explain(&flow[k], &trial);
            struct outcome again = explain(&flow[k], &in_force);
            assert_memory_equal(&again, &was[k], sizeof again);
            differ += memcmp(&was[k], &said[k], sizeof *was) != 0;
        }
        for (unsigned k = 0; k < IFACES; k++)
            assert_memory_equal(&before[k], iface_get(iface[k]), sizeof *before);
        make_change(&c);
        for (unsigned k = 0; k < FLOWS; k++) {
            struct outcome is = explain(&flow[k], &in_force);
            if (memcmp(&is, &said[k], sizeof is))
                fail_msg("change %u (kind %u of %u), flow %u: end %u %u drop %u %u iface %u %u "
                         "rule %u %u tos %u %u color %u %u vr %u %u",
                         n, c.kind, c.of, k, said[k].end, is.end, said[k].drop, is.drop,
                         said[k].iface, is.iface, said[k].rule, is.rule, said[k].tos, is.tos,
                         said[k].color, is.color, said[k].vr, is.vr);
        }
        changed += differ > 0;
        kinds |= differ ? 1u << c.kind : 0;
        quiet += !differ;
    }
    print_message("%u changes affected packets, %u did not\n", changed, quiet);
    assert_true(changed > CHANGES / 4); // otherwise the test tests little
    assert_true(quiet > CHANGES / 20);
    assert_int_equal(kinds, (1u << KINDS) - 1);
}

unit_test_of(other_forwarders_meet_no_entry_of_a_trial, rig_setup, clean)
{
    struct change c = {.of = 0, .kind = URPF, .urpf = URPF_STRICT};

    try_change(&c);
    struct flow f = random_flow();
    explain(&f, &trial);
    router_role(ROLE_CONTROL);
    for (unsigned k = 0; k < 2; k++) {
        assert_int_equal(iface_get((uint16_t)(IFACE_TRIAL + k))->kind, IFACE_NONE);
        assert_int_equal(iface_get((uint16_t)(IFACE_TRIAL + k))->acl_in, 0);
        assert_null(acl_table[ACL_TRIAL + k].content);
    }
    assert_true(iface_id_end() <= IFACE_TRIAL);
    for (unsigned k = 0; k < IFACES; k++)
        assert_true(iface[k] < IFACE_TRIAL);
}
