// SPDX-License-Identifier: BSD-3-Clause
// verdict_test.c - the effect of each verdict; order, counters and tables of programs
#include "acl_fixture.h"
#include "acl/set.h"
#include "fixture.h"

#include "forwarder/packet.h"
#include "forwarder/state.h"
#include "table/packet_class.h"

static int class_sent(void)
{
    struct rte_mbuf *m = rig_receive_mbuf(1);

    assert_non_null(m);
    int class = packet_class_get(m);
    rte_pktmbuf_free(m);
    return class;
}

static void verdicts_of_all_hooks(enum program_hook hook, bool six)
{
    struct frame f = packet(DEFAULT, six, 5, 30), g = forwarded(&f, DEFAULT, false), copy;
    struct native n = at_hook(hook);

    native_add(&n);
    does(KAMUEE_CONTINUE, NULL);
    forward(&f);
    assert_sent(1, &g);
    does(KAMUEE_VERDICT(KAMUEE_DROP, 1), NULL);
    uint64_t dropped = rig_drops(DROP_PROGRAM_DROP);
    forward(&f);
    assert_int_equal(rig_drops(DROP_PROGRAM_DROP), dropped + 1);
    assert_int_equal(native_status("one").count.reason[0], 0);
    assert_int_equal(native_status("one").count.reason[1], 1);
    for (unsigned class = 0; class < 8; class ++) {
        does(KAMUEE_VERDICT(KAMUEE_CLASS, class), NULL);
        forward(&f);
        assert_int_equal(class_sent(), class);
    }
    does(KAMUEE_MIRROR, NULL);
    forward(&f);
    assert_sent(1, &g);
    assert_true(rig_receive(3, &copy));
    if (hook != PROGRAM_OUTPUT)
        assert_frame(&copy, &f);
    assert_int_equal(rig_discard(3), 0);
    assert_int_equal(rig_drops_all(), dropped + 1);
    struct program_status s = native_status("one");
    assert_int_equal(s.off, 0);
    assert_int_equal(s.count.packets, 11);
    assert_int_equal(s.count.verdict[KAMUEE_CLASS], 8);
    assert_int_equal(s.count.verdict[KAMUEE_MIRROR], 1);
    router_role(ROLE_CONTROL);
    program_manager_del("one");
}

program_path_test(it_continues_drops_classifies_and_mirrors)
{
    for (enum program_hook hook = PROGRAM_ETHER; hook <= PROGRAM_OUTPUT; hook++)
        for (unsigned six = 0; six < 2; six++)
            verdicts_of_all_hooks(hook, six);
}

// The frame as a broadcast out of `aside`.
static struct frame broadcast_frame(const struct frame *f)
{
    struct frame g = *f;

    memset(g.b, 0xff, 6);
    memcpy(g.b + 6, iface_get(net[DEFAULT].aside)->mac, 6);
    return g;
}

static void verdicts_of_input(enum program_hook hook, bool six)
{
    struct frame f = packet(DEFAULT, six, 5, 30), g = forwarded(&f, DEFAULT, true),
                 b = broadcast_frame(&f), up;
    struct native n = at_hook(hook);

    native_add(&n);
    does(KAMUEE_VERDICT(KAMUEE_NEXT_HOP, 1 + six), NULL);
    forward(&f);
    assert_sent(2, &g);
    does(KAMUEE_VERDICT(KAMUEE_REDIRECT, ifindex_of(net[DEFAULT].aside)), NULL);
    forward(&f);
    assert_sent(2, &b);
    does(KAMUEE_PUNT, NULL);
    forward(&f);
    assert_true(punted(&up));
    assert_frame(&up, &f);
    assert_int_equal(rig_discard(1), 0);
    assert_int_equal(native_status("one").count.no_way, 0);
    router_role(ROLE_CONTROL);
    program_manager_del("one");
}

program_path_test(it_sends_elsewhere_and_punts)
{
    for (enum program_hook hook = PROGRAM_ETHER; hook <= PROGRAM_INPUT; hook++)
        for (unsigned six = 0; six < 2; six++)
            verdicts_of_input(hook, six);
    assert_int_equal(rig_drops_all(), 0);
}

program_path_test(what_cannot_be_sent_there_is_dropped)
{
    struct frame f = packet(DEFAULT, false, 5, 30);
    struct native n = at_hook(PROGRAM_INPUT);
    const uint64_t nowhere[] = {
        KAMUEE_VERDICT(KAMUEE_NEXT_HOP, 2),                          // next hop of the other family
        KAMUEE_VERDICT(KAMUEE_NEXT_HOP, 3),                          // no route to it
        KAMUEE_VERDICT(KAMUEE_REDIRECT, ifindex_of(net[RED].aside)), // another virtual router's
        KAMUEE_VERDICT(KAMUEE_REDIRECT, 99),                         // unknown interface
        KAMUEE_VERDICT(KAMUEE_REDIRECT, 0),
    };
    const unsigned n_nowhere = sizeof nowhere / sizeof *nowhere;

    n.next_hop[3] = "40.0.0.1";
    native_add(&n);
    for (unsigned i = 0; i < n_nowhere; i++) {
        does(nowhere[i], NULL);
        forward(&f);
        assert_only_drop(DROP_PROGRAM_NO_WAY, i + 1);
    }
    does(KAMUEE_VERDICT(KAMUEE_REDIRECT, ifindex_of(net[DEFAULT].aside)), NULL);
    iface_get(net[DEFAULT].aside)->mtu = 57; // one byte too small
    forward(&f);
    assert_only_drop(DROP_PROGRAM_NO_WAY, n_nowhere + 1);
    iface_get(net[DEFAULT].aside)->mtu = 58;
    forward(&f);
    assert_int_equal(rig_discard(2), 1);
    assert_int_equal(native_status("one").count.no_way, n_nowhere + 1);
    assert_int_equal(native_status("one").off, 0);
}

// --- after an access list ------------------------------------------------------------------------

static void goes_aside(struct kamuee_packet *p)
{
    p->data[16] = 30;
    p->changed = 20;
}

// The last four come from an address next to the set's member.
static void send_forty(void)
{
    for (unsigned i = 0; i < 40; i++) {
        struct frame f = ip_frame(.src = i < 36 ? "10.2.0.1" : "10.9.0.77", .dst = "20.0.0.1");
        rig_send(0, &f);
    }
    rig_poll();
}

// While the list waits for its set, it looks up next hops, and then the program changes the
// destinations.
program_path_test(it_moves_packets_whose_next_hop_is_found_already)
{
    struct list l = {.otherwise = {.verb = ACL_PERMIT}, .set = acl_set_new(0)};
    const struct prefix beside = {.family = 4, .len = 32, .b = {10, 9, 0, 1}};
    struct native n = at_hook(PROGRAM_INPUT);

    assert_int_equal(acl_set_change(l.set, NULL, 0, &beside, 1, NULL), 0);
    list_rule(&l, 10, ACL_IP4, ACL_DENY)->src.set = 0;
    list_bind(net[DEFAULT].in, list_publish(&l, "edge"), 0);
    send_forty();
    assert_true(rig_forwarder(0)->in4.decided.looked_up);
    assert_int_equal(rig_discard(1), 40);
    native_add(&n);
    does(KAMUEE_CONTINUE, goes_aside);
    send_forty();
    assert_int_equal(rig_discard(2), 40);
    list_bind(net[DEFAULT].in, 0, 0);
    acl_set_free(l.set);
}

// --- other EtherTypes ----------------------------------------------------------------------------

static void becomes_ip(struct kamuee_packet *p)
{
    p->ether_type = 0x0800;
    p->adjust = 8; // removes the bytes before the IP header
}

program_path_test(typed_frames_leave_as_frames_or_become_ip)
{
    struct native n = at_hook(PROGRAM_ETHER_TYPE);
    struct frame f = typed(DEFAULT, 0x88b5, 1, 60), g = f, b = broadcast_frame(&f), up;

    n.ether_type = 0x88b5;
    native_add(&n);
    memcpy(g.b, neighbor_mac(ASIDE_NEIGHBOR), 6);
    memcpy(g.b + 6, iface_get(net[DEFAULT].aside)->mac, 6);
    for (unsigned to = 1; to <= 2; to++) { // for both families
        does(KAMUEE_VERDICT(KAMUEE_NEXT_HOP, to), NULL);
        forward(&f);
        assert_sent(2, &g);
    }
    does(KAMUEE_VERDICT(KAMUEE_REDIRECT, ifindex_of(net[DEFAULT].aside)), NULL);
    forward(&f);
    assert_sent(2, &b);
    does(KAMUEE_PUNT, NULL);
    forward(&f);
    assert_true(punted(&up));
    assert_frame(&up, &f);
    does(KAMUEE_MIRROR, NULL);
    forward(&f);
    assert_sent(3, &f);
    assert_only_drop(DROP_ETHER_TYPE_UNKNOWN, 1); // it continued
    struct frame ip = packet(DEFAULT, false, 9, 40), in = ip, out = forwarded(&ip, DEFAULT, false);
    memmove(in.b + 22, in.b + 14, in.n - 14);
    memset(in.b + 14, 7, 8);
    store16(in.b + 12, RTE_BE16(0x88b5));
    in.n += 8;
    does(KAMUEE_CONTINUE, becomes_ip);
    forward(&in);
    assert_sent(1, &out);
    assert_int_equal(native_status("one").off, 0);
}

static void gets_label(struct kamuee_packet *p)
{
    memcpy(p->data, "\0\1\x01\x40", 4);
    p->adjust = -4;
    p->changed = 4;
    p->ether_type = 0x8847;
}

program_path_test(a_label_is_put_in_front)
{
    for (unsigned k = 0; k < 8; k++) { // hook, family, verdict
        enum program_hook hook = k & 1 ? PROGRAM_ETHER : PROGRAM_INPUT;
        struct frame f = packet(DEFAULT, k & 2, 1, 60), g = f;
        struct native n = at_hook(hook);
        native_add(&n);
        does(k & 4 ? KAMUEE_VERDICT(KAMUEE_NEXT_HOP, 1)
                   : KAMUEE_VERDICT(KAMUEE_REDIRECT, ifindex_of(net[DEFAULT].aside)),
             gets_label);
        memcpy(g.b, k & 4 ? neighbor_mac(ASIDE_NEIGHBOR) : broadcast_mac, 6);
        memcpy(g.b + 6, iface_get(net[DEFAULT].aside)->mac, 6);
        memmove(g.b + 18, g.b + 14, g.n - 14);
        memcpy(g.b + 12, "\x88\x47\0\1\x01\x40", 6);
        g.n += 4;
        forward(&f);
        assert_sent(2, &g);
        router_role(ROLE_CONTROL);
        program_manager_del("one");
    }
}

// --- several programs, tables --------------------------------------------------------------------

static char order[16]; // programs in the order they ran

static uint64_t run_as(char who, uint64_t verdict)
{
    size_t n = strlen(order);

    if (n + 1 < sizeof order)
        order[n] = who, order[n + 1] = 0;
    return verdict;
}

static uint64_t verdict_a, verdict_b;

static uint64_t code_a(struct kamuee_packet *p)
{
    return run_as('a', verdict_a);
}

static uint64_t code_b(struct kamuee_packet *p)
{
    return run_as('b', verdict_b);
}

static uint64_t code_c(struct kamuee_packet *p)
{
    look[0] = *p;
    return run_as('c', KAMUEE_CONTINUE);
}

static const char *run_order(uint64_t a, uint64_t b)
{
    struct frame f = packet(DEFAULT, false, 0, 20);

    verdict_a = a;
    verdict_b = b;
    order[0] = 0;
    forward(&f);
    return order;
}

program_path_test(programs_run_in_order_until_one_takes_the_packet)
{
    for (enum program_hook hook = PROGRAM_ETHER; hook <= PROGRAM_INPUT; hook++) {
        struct native a = at_hook(hook), b = at_hook(hook), c = at_hook(hook);
        c.name = "a-name", c.order = 200, c.code = code_c; // order comes before the name
        c.declared = hook == PROGRAM_ETHER ? "window 64" : "window 128";
        b.name = "m", b.order = 100, b.code = code_b;
        a.name = "l", a.order = 100, a.code = code_a;
        native_add(&c);
        native_add(&b);
        native_add(&a);
        assert_string_equal(run_order(KAMUEE_CONTINUE, KAMUEE_CONTINUE), "abc");
        assert_int_equal(rig_discard(1), 1);
        assert_string_equal(run_order(KAMUEE_VERDICT(KAMUEE_CLASS, 5), KAMUEE_CONTINUE), "abc");
        assert_int_equal(look[0].class, 5);
        assert_int_equal(class_sent(), 5);
        run_order(KAMUEE_VERDICT(KAMUEE_CLASS, 5), KAMUEE_VERDICT(KAMUEE_CLASS, 6));
        assert_int_equal(class_sent(), 6);
        assert_string_equal(run_order(KAMUEE_DROP, KAMUEE_CONTINUE), "a");
        assert_string_equal(run_order(KAMUEE_CONTINUE, KAMUEE_VERDICT(KAMUEE_NEXT_HOP, 1)), "ab");
        assert_int_equal(rig_discard(2), 1);
        assert_string_equal(run_order(KAMUEE_PUNT, KAMUEE_CONTINUE), "a");
        assert_int_equal(native_status("a-name").count.packets, 3);
        router_role(ROLE_CONTROL);
        program_manager_del("l");
        program_manager_del("m");
        program_manager_del("a-name");
    }
    assert_only_drop(DROP_PROGRAM_DROP, 2);
}

static uint64_t counts_and_puts(struct kamuee_packet *p)
{
    struct native_instance *i = native_running;
    uint64_t was = i->host.get(i->host.host, 0, 7);

    i->counter[1] += p->length;
    assert_int_equal(i->host.put(i->host.host, 0, 7, was == UINT64_MAX ? 1 : was + 1), 0);
    assert_int_equal(i->host.put(i->host.host, 1, 0, 1), -1);      // only the operator may write it
    assert_int_equal(i->host.get(i->host.host, 2, 0), UINT64_MAX); // no such table
    i->host.log(i->host.host, 4, was);
    return KAMUEE_CONTINUE;
}

program_path_test(counters_and_tables_are_its_own_and_explain_leaves_them)
{
    struct native n = {.hook = PROGRAM_INPUT,
                       .code = counts_and_puts,
                       .declared = "counter none; counter bytes; table hash seen 9; "
                                   "table array limit 1 read-only"};
    struct frame f = packet(DEFAULT, false, 0, 20);
    struct packet_trace *trace = malloc(sizeof *trace + 65536);

    assert_non_null(trace);
    native_add(&n);
    for (unsigned i = 0; i < 3; i++)
        forward(&f);
    packet_trace_init(trace, 65536, 65536);
    router_role(ROLE_CONTROL);
    assert_int_equal(forwarder_explain(0, f.b, f.n, NULL, trace), 0);
    struct program_status s = native_status("one");
    assert_int_equal(s.count.packets, 3);
    assert_int_equal(s.count.counter[0], 0);
    assert_int_equal(s.count.counter[1], 3 * 48);
    assert_int_equal(program_table_get(s.table[0], 7), 3);
    assert_int_equal(s.log.lines, 1); // one per second
    assert_int_equal(s.log.number, 4);
    bool told = false;
    for (unsigned i = 0; i < trace->n_steps; i++)
        told |= !strcmp(trace->step[i].program.name, "one");
    assert_true(told);
    assert_int_equal(rig_discard(1), 3);
    free(trace);
    native_again(&n); // counters and tables are kept
    forward(&f);
    s = native_status("one");
    assert_int_equal(s.count.counter[1], 4 * 48);
    assert_int_equal(program_table_get(s.table[0], 7), 4);
    assert_int_equal(s.loads, 2);
    assert_int_equal(rig_discard(1), 1);
}

static uint64_t puts_a_number(struct kamuee_packet *p)
{
    const struct native_instance *i = native_running;

    if (i->host.get(i->host.host, 0, 7) == UINT64_MAX)
        return i->host.put(i->host.host, 0, 7, 1) ? KAMUEE_DROP : KAMUEE_CONTINUE;
    return i->host.put(i->host.host, 0, 7, 2) ? KAMUEE_DROP : KAMUEE_CONTINUE;
}

// A table that is kept by the next version takes its declaration.
program_path_test(a_table_that_becomes_the_operators_is_kept)
{
    struct native n = {.hook = PROGRAM_INPUT, .code = puts_a_number};
    struct frame f = packet(DEFAULT, false, 0, 20);

    n.declared = "reason refused; table hash seen 9";
    native_add(&n);
    forward(&f);
    assert_int_equal(rig_discard(1), 1);
    n.declared = "reason refused; table hash seen 9 read-only";
    native_again(&n);
    forward(&f);
    assert_int_equal(rig_discard(1), 0);
    assert_only_drop(DROP_PROGRAM_DROP, 1);
    assert_int_equal(program_table_get(native_status("one").table[0], 7), 1);
    n.declared = "reason refused; table hash seen 9";
    native_again(&n);
    forward(&f);
    assert_int_equal(rig_discard(1), 1);
    assert_int_equal(program_table_get(native_status("one").table[0], 7), 2);
}
