// SPDX-License-Identifier: BSD-3-Clause
// explain_test.c - explain tells the truth, and changes nothing
//
// Explains each random frame of the ledger test, then sends it through the real forwarder. Drop
// reasons, punt class and interface, hold state, and every byte of every sent frame must be the
// same. KAMUEE_SEED=n repeats a run.
#include "random.h"

#include <rte_mbuf.h>
#include <stdlib.h>

#include "table/packet_trace.h"

#define FRAMES 20000u
#define ROOM 65536u
#define COUNTED offsetof(struct counter_block, iface[16])

static struct packet_trace *trace;

static const struct packet_trace *explain(unsigned port, const struct frame *f)
{
    if (!trace)
        trace = malloc(sizeof *trace + ROOM);
    assert_non_null(trace);
    packet_trace_init(trace, ROOM, ROOM);
    router_role(ROLE_CONTROL);
    assert_int_equal(forwarder_explain((uint16_t)port, f->b, f->n, NULL, trace), 0);
    return trace;
}

static int clean(void **state)
{
    router_role(ROLE_CONTROL);
    forwarder_explain_fini();
    return rig_teardown(state);
}

#define explain_test(name) unit_test_of(name, rig_setup, clean)

// --- nothing changes ---

static struct counter_block *before;

static void note(void)
{
    if (!before)
        before = calloc(THREAD_SLOT_FORWARDER + 1, sizeof *before);
    assert_non_null(before);
    for (unsigned s = 0; s <= THREAD_SLOT_FORWARDER; s++)
        memcpy(&before[s], counter_of_slot(s), COUNTED);
}

static void nothing_has_changed(void)
{
    struct ledger l;

    for (unsigned s = 0; s <= THREAD_SLOT_FORWARDER; s++)
        assert_memory_equal(&before[s], counter_of_slot(s), COUNTED);
    ledger_read(&l, 2);
    assert_int_equal(l.imbalance, 0);
    assert_int_equal(rig_buffers_in_use(), 0);
    assert_int_equal(exchange_held(), 0);
}

// --- same result as the forwarder ---

// Masks fields that differ between runs: the identification of our errors, and the time in options.
static void mask(struct frame *f, bool error)
{
    uint8_t *ip = frame_l3(f);

    if (!error || f->n < (unsigned)(ip - f->b) + 20 || ip[0] >> 4 != 4)
        return;
    memset(ip + 4, 0, 2);
    memset(ip + 10, 0, 2);
}

static void same_frame(const struct packet_trace *p, const struct packet_trace_frame *k, bool error,
                       struct frame *got)
{
    static struct frame told;

    assert_int_equal(k->kept, k->len);
    assert_int_equal(k->len, got->n);
    told.n = k->len;
    memcpy(told.b, p->bytes + k->at, k->len);
    mask(&told, error);
    mask(got, error);
    assert_memory_equal(told.b, got->b, got->n);
}

static void same_sent(const struct packet_trace *p, const struct packet_trace_step *s)
{
    static struct frame got;

    for (unsigned i = s->frame; i < (unsigned)s->frame + s->n_frames; i++) {
        assert_true(rig_receive_queue(p->frame[i].port, 0, &got));
        same_frame(p, &p->frame[i], s->of == TRACED_ERROR, &got);
    }
}

static void same_punted(const struct packet_trace *p, const struct packet_trace_step *s)
{
    static struct frame got;
    uint16_t iface;

    assert_true(rig_punted(s->punt_class, &got, &iface));
    assert_int_equal(p->frame[s->frame].iface, iface);
    same_frame(p, &p->frame[s->frame], false, &got);
}

struct tally {
    unsigned sent, punted, held, dropped, errors, beside;
};

static void same_step(const struct packet_trace *p, const struct packet_trace_step *s,
                      uint64_t *drop, struct tally *t)
{
    switch (s->end) {
    case TRACED_ON: // another packet was sent because of it, and it continues
        same_sent(p, s);
        t->beside += s->n_frames;
        break;
    case TRACED_SENT:
        same_sent(p, s);
        drop[s->drop] += s->drop != DROP_NONE; // another copy of a multicast packet
        t->sent++;
        break;
    case TRACED_PUNTED:
        same_punted(p, s);
        t->punted++;
        break;
    case TRACED_HELD: {
        struct rte_mbuf *m = rig_held();
        assert_non_null(m);
        assert_int_equal(packet_meta(m)->nexthop, s->lookup.nexthop);
        rig_release(m);
        drop[DROP_HOLD_GONE]++;
        t->held++;
        break;
    }
    case TRACED_DROPPED:
        drop[s->drop]++;
        t->dropped++;
        break;
    }
    t->errors += s->icmp == TRACED_ICMP_SENT;
}

static void nothing_is_left(void)
{
    static struct frame got;

    for (unsigned port = 0; port < RIG_PORTS; port++)
        assert_int_equal(rig_discard(port), 0);
    for (unsigned c = 0; c < PUNT_CLASS_N; c++)
        assert_false(rig_punted(c, &got, NULL));
    assert_null(rig_held());
}

static void the_same_happens(unsigned port, const struct frame *f, struct tally *t)
{
    uint64_t drop[DROP_N];
    struct counter_icmp icmp = counter_sum_icmp();

    for (unsigned r = 0; r < DROP_N; r++)
        drop[r] = rig_drops(r);
    note();
    const struct packet_trace *p = explain(port, f);
    nothing_has_changed();
    rig_send_mbuf(port, 0, rig_mbuf(f, 2048));
    rig_step(0);
    for (unsigned i = 0; i < p->n_steps; i++) {
        same_step(p, &p->step[i], drop, t);
        icmp.limited += p->step[i].icmp == TRACED_ICMP_LIMITED;
        icmp.forbidden += p->step[i].icmp == TRACED_ICMP_FORBIDDEN;
        icmp.sent += p->step[i].icmp == TRACED_ICMP_SENT || p->step[i].icmp == TRACED_RESET_SENT;
    }
    for (unsigned r = 0; r < DROP_N; r++)
        if (drop[r] != rig_drops(r))
            fail_msg("drop %s: told %lu, happened %lu", drop_info[r].name, drop[r], rig_drops(r));
    struct counter_icmp now = counter_sum_icmp();
    assert_memory_equal(&icmp, &now, sizeof now);
    nothing_is_left();
}

// A requested time stamp: it differs in each run.
static bool is_timestamped(const struct frame *f)
{
    return f->n > 40 && memchr(f->b + 34, 68, 24);
}

explain_test(explain_says_what_happens_to_random_frames)
{
    const char *seed = getenv("KAMUEE_SEED");
    struct random r = {.state = seed ? strtoull(seed, NULL, 0) : 20260522};
    static struct frame f;
    struct tally t = {0};

    random_router();
    rig_icmp_rate(1000000, 1000);
    for (unsigned i = 0; i < FRAMES; i++) {
        if (i == FRAMES / 2)
            random_lists();
        unsigned port = random_frame(&r, &f);
        plan_ip4_options = i / 64 % 3;
        if (plan_ip4_options == IP4_OPTIONS_PROCESS && is_timestamped(&f))
            continue;
        the_same_happens(port, &f, &t);
    }
    plan_ip4_options = IP4_OPTIONS_DROP;
    assert_in_range(t.sent, 1000, FRAMES * 2);
    assert_in_range(t.punted, 500, FRAMES);
    assert_in_range(t.held, 500, FRAMES);
    assert_in_range(t.dropped, 1000, FRAMES);
    assert_in_range(t.errors, 500, FRAMES);
}

// --- contents ---

static const struct packet_trace_step *stage_of(const struct packet_trace *p, const char *stage,
                                           enum packet_trace_of of)
{
    for (unsigned i = 0; i < p->n_steps; i++)
        if (p->step[i].of == of && !strcmp(p->step[i].stage, stage))
            return &p->step[i];
    fail_msg("no step %s", stage);
    return NULL;
}

explain_test(a_packet_for_a_group_shows_its_member)
{
    uint16_t in = rig_iface(0, 0, VR_DEFAULT), out = rig_iface(1, 0, VR_DEFAULT);
    uint32_t member[] = {rig_adjacency(out, 1), rig_adjacency(out, 2), rig_adjacency(out, 3)};
    uint32_t group = rig_group(member, 3);

    rig_route(VR_DEFAULT, "10.0.0.0/8", group);
    for (uint16_t sport = 1; sport < 200; sport++) {
        struct frame f = ip_frame(.src = "192.0.2.1", .dst = "10.1.2.3", .sport = sport,
                                  .to_iface = in),
                     got;
        const struct packet_trace *p = explain(0, &f);
        const struct packet_trace_step *s = stage_of(p, "ip4_fwd", TRACED_PACKET);
        assert_int_equal(s->lookup.leaf, group);
        assert_int_equal(s->lookup.leaf_kind, NEXTHOP_GROUP);
        assert_int_equal(nexthop_member(nexthop_get(group), s->lookup.hash), s->lookup.nexthop);
        assert_int_equal(s->lookup.bucket, s->lookup.hash % s->lookup.n_buckets);
        assert_int_equal(s->lookup.kind, NEXTHOP_ADJACENCY);
        assert_true(s->lookup.n_nodes >= 1);
        assert_int_equal(s->ttl, 64);
        assert_true(rig_passes(0, &f, 1, &got));
        assert_int_equal(nexthop_get(s->lookup.nexthop)->kind, NEXTHOP_ADJACENCY);
        assert_memory_equal(p->bytes + p->frame[0].at, got.b, got.n);
    }
}

explain_test(an_error_is_told_and_takes_no_token)
{
    uint16_t in = rig_iface(0, 0, VR_DEFAULT);

    rig_route(VR_DEFAULT, "192.0.2.0/24", rig_adjacency(in, 1));
    rig_icmp_rate(1, 1);
    struct frame f = ip_frame(.src = "192.0.2.1", .dst = "10.1.2.3", .to_iface = in);
    for (unsigned i = 0; i < 10; i++) { // not rate-limited, since no token is taken
        const struct packet_trace *p = explain(0, &f);
        const struct packet_trace_step *s = stage_of(p, "ip4_fwd", TRACED_PACKET);
        assert_int_equal(s->end, TRACED_DROPPED);
        assert_int_equal(s->drop, DROP_IP4_NO_ROUTE);
        assert_int_equal(s->icmp, TRACED_ICMP_SENT);
        assert_int_equal(s->icmp_type, 3);
        assert_int_equal(s->icmp_code, 0);
        assert_int_equal(stage_of(p, "ether_out", TRACED_ERROR)->end, TRACED_SENT);
    }
    rig_forward(0, &f);
    assert_int_equal(rig_discard(0), 1);
    assert_int_equal(stage_of(explain(0, &f), "ip4_fwd", TRACED_PACKET)->icmp,
                     TRACED_ICMP_LIMITED);
}

// A redirect is sent about the packet, and the packet is forwarded.
explain_test(a_redirect_is_told_beside_the_packet)
{
    uint16_t in = rig_iface(0, 0, VR_DEFAULT);
    struct tally t = {0};

    memcpy(iface_get(in)->addr6_ll, (uint8_t[16]){0xfe, 0x80, [15] = 0xfe}, 16);
    iface_put_flags(iface_get(in), IFACE_REDIRECT, IFACE_REDIRECT);
    rig_route(VR_DEFAULT, "10.1.0.1/32", rig_neighbor(in, 1, "10.1.0.1"));
    rig_route(VR_DEFAULT, "2001:db8:1::1/128", rig_neighbor(in, 1, "2001:db8:1::1"));
    rig_routes(VR_DEFAULT, "10.1.0.0/24", "2001:db8:1::/64", rig_nexthop(NEXTHOP_GLEAN, in));
    rig_route(VR_DEFAULT, "20.0.0.0/8", rig_neighbor(in, 2, "10.1.0.2"));
    rig_route(VR_DEFAULT, "2001:db8:b::/48", rig_neighbor(in, 2, "fe80::2"));
    rig_icmp_rate(1000, 1000);
    struct frame f4 = ip_frame(.src = "10.1.0.1", .dst = "20.1.2.3", .to_iface = in);
    struct frame f6 = ip_frame(.src = "2001:db8:1::1", .dst = "2001:db8:b::1", .to_iface = in);
    the_same_happens(0, &f4, &t);
    the_same_happens(0, &f6, &t);
    assert_int_equal(t.sent, 3); // both packets, and the IPv4 redirect by its own lookup
    assert_int_equal(t.beside, 1);
    assert_int_equal(t.errors, 2);
    assert_int_equal(t.dropped, 0);
    assert_int_equal(stage_of(explain(0, &f4), "features_in", TRACED_PACKET)->icmp_type, 5);
    assert_int_equal(stage_of(explain(0, &f6), "features_in", TRACED_PACKET)->icmp_type, 137);
}

explain_test(a_port_without_a_queue_is_told)
{
    uint16_t in = rig_iface(0, 0, VR_DEFAULT), out = rig_iface(1, 0, VR_DEFAULT);

    rig_route(VR_DEFAULT, "10.0.0.0/8", rig_adjacency(out, 1));
    struct plan *plan = rig_plan_new(0, &(struct plan_rx){0, 0}, 1);
    memset(plan->tx_owner, PLAN_TX_NONE, sizeof plan->tx_owner);
    rig_plan_set(0, plan);
    struct frame f = ip_frame(.src = "192.0.2.1", .dst = "10.1.2.3", .to_iface = in);
    const struct packet_trace *p = explain(0, &f);
    assert_true(p->polled);
    assert_int_equal(packet_trace_last(p, TRACED_PACKET)->drop, DROP_TX_NO_QUEUE);
    assert_false(explain(2, &f)->polled);
    rig_forward(0, &f);
    assert_only_drop(DROP_TX_NO_QUEUE, 1);
}

explain_test(nonsense_is_refused)
{
    static struct frame f;

    rig_iface(0, 0, VR_DEFAULT);
    router_role(ROLE_CONTROL);
    packet_trace_init(trace, ROOM, ROOM);
    assert_int_equal(forwarder_explain(0, f.b, 0, NULL, trace), -EINVAL);
    assert_int_equal(forwarder_explain(0, f.b, EXPLAIN_FRAME_MAX + 1, NULL, trace), -EINVAL);
    assert_int_equal(forwarder_explain(PORT_MAX, f.b, 60, NULL, trace), -EINVAL);
}
