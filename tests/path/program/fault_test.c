// SPDX-License-Identifier: BSD-3-Clause
// fault_test.c - a faulty packet program is off from that packet on, without effect on others
#include "fixture.h"

#include "forwarder/packet.h"

static struct kamuee_packet *now; // packet that `fault.change` changes

static void ip_byte(unsigned at, uint8_t v)
{
    now->data[at] = v;
    now->changed = (uint16_t)(at + 1 > now->changed ? at + 1 : now->changed);
}

// --- faults in packets ---------------------------------------------------------------------------

static void too_much(void)
{
    now->changed = (uint16_t)(now->readable + 1);
}

static void version(void)
{
    ip_byte(0, (uint8_t)(now->data[0] ^ 0x20));
}

static void header_length(void)
{
    ip_byte(0, 0x46);
}

static void total_length(void)
{
    ip_byte(3, (uint8_t)(now->data[3] - 1));
}

static void payload_length6(void)
{
    ip_byte(5, (uint8_t)(now->data[5] + 1));
}

static void fragment_field(void)
{
    ip_byte(6, 0x20);
}

static void raised_ttl(void)
{
    ip_byte(now->family == 4 ? 8 : 7, 65);
}

static void source_is_group(void)
{
    ip_byte(now->family == 4 ? 12 : 8, now->family == 4 ? 224 : 0xff);
    ip_byte(now->family == 4 ? 19 : 39, now->data[now->family == 4 ? 19 : 39]);
}

static void destination_is_group(void)
{
    ip_byte(now->family == 4 ? 16 : 24, now->family == 4 ? 239 : 0xff);
    ip_byte(now->family == 4 ? 19 : 39, now->data[now->family == 4 ? 19 : 39]);
}

static void source_is_this_network(void)
{
    ip_byte(12, 0);
    ip_byte(19, now->data[19]);
}

static void destination_is_loopback(void)
{
    memset(now->data + 24, 0, 16);
    if (now->family == 4)
        ip_byte(16, 127);
    ip_byte(now->family == 4 ? 19 : 39, 1);
}

static void front_moves(void)
{
    now->adjust = 4;
}

static void front_grows(void)
{
    now->adjust = -4;
    now->changed = 4;
}

static void other_type(void)
{
    now->ether_type = 0x88b5;
    ip_byte(0, now->data[0]);
}

// EtherType of a frame as it leaves.
static uint16_t frame_type;

static void refused_type(void)
{
    now->ether_type = frame_type;
}

static void grows_too_much(void)
{
    now->ether_type = 0x88b5;
    now->adjust = -65;
    now->changed = 65;
}

static void shrinks_too_much(void)
{
    now->ether_type = 0x88b5;
    now->adjust = 65;
}

static void shrinks_to_nothing(void)
{
    now->ether_type = 0x88b5;
    now->adjust = (int16_t)(now->readable + 1);
}

static void front_is_not_written(void)
{
    now->ether_type = 0x88b5;
    now->adjust = -8;
    now->changed = 7; // one byte would belong to another packet
}

static void writes_beyond_its_window(void)
{
    now->ether_type = 0x88b5;
    now->adjust = -8;
    now->changed = 129;
}

// --- the program ---------------------------------------------------------------------------------

static struct {
    uint64_t verdict;
    void (*change)(void);
    unsigned after; // good packets before the fault
} fault;
static unsigned calls;

static uint64_t code(struct kamuee_packet *p)
{
    if (calls++ < fault.after)
        return KAMUEE_CONTINUE;
    now = p;
    if (fault.change)
        fault.change();
    return fault.verdict;
}

static struct native faulty(enum program_hook hook, bool passes)
{
    return (struct native){
        .hook = hook,
        .code = code,
        .declared = "reason one; reason two",
        .passes = passes,
        .ether_type = hook == PROGRAM_ETHER_TYPE ? 0x88b5 : 0,
        .next_hop = {NULL, hook == PROGRAM_OUTPUT ? NULL : ASIDE4,
                     hook == PROGRAM_OUTPUT ? NULL : ASIDE6}};
}

static struct frame one_packet(enum program_hook hook, bool six)
{
    return hook == PROGRAM_ETHER_TYPE ? typed(DEFAULT, 0x88b5, 0, 20) : packet(DEFAULT, six, 0, 20);
}

// Sends two packets: the fault is in the second burst, whose packets are dropped or pass unchanged.
static void goes_wrong(enum program_hook hook, bool six, bool passes, enum program_fault expected)
{
    struct native n = faulty(hook, passes);
    struct frame f = one_packet(hook, six), g = forwarded(&f, DEFAULT, false);
    const uint64_t drops = rig_drops(DROP_PROGRAM_FAULT),
                   unknown = rig_drops(DROP_ETHER_TYPE_UNKNOWN);

    native_add(&n);
    calls = 0;
    fault.after = 1;
    for (unsigned i = 0; i < 3; i++) {
        forward(&f);
        if (hook != PROGRAM_ETHER_TYPE && (passes || i == 0))
            assert_sent(1, &g);
    }
    assert_int_equal(calls, 2);
    struct program_status s = native_status("one");
    assert_int_equal(s.off, 1);
    assert_int_equal(s.fault, expected);
    assert_int_equal(s.count.packets, 3);
    assert_int_equal(s.count.faults, 1);
    assert_int_equal(s.count.fault_packets, 2);
    assert_int_equal(s.count.verdict[KAMUEE_CONTINUE], 1);
    assert_int_equal(rig_drops(DROP_PROGRAM_FAULT), drops + (passes ? 0 : 2));
    if (hook == PROGRAM_ETHER_TYPE)
        assert_int_equal(rig_drops(DROP_ETHER_TYPE_UNKNOWN), unknown + (passes ? 3 : 1));
    for (unsigned p = 0; p < RIG_PORTS; p++)
        assert_int_equal(rig_discard(p), 0);
    fault.after = 1000;
    native_again(&n);
    assert_int_equal(native_status("one").off, 0);
    assert_int_equal(native_status("one").count.faults, 1);
    forward(&f);
    assert_int_equal(rig_discard(1), hook != PROGRAM_ETHER_TYPE);
    router_role(ROLE_CONTROL);
    program_manager_del("one");
}

static void goes_wrong_at(enum program_hook hook, enum program_fault expected)
{
    for (unsigned k = 0; k < (hook == PROGRAM_ETHER_TYPE ? 2 : 4); k++)
        goes_wrong(hook, k & 2, k & 1, expected);
}

static void goes_wrong_everywhere(enum program_fault expected)
{
    for (enum program_hook hook = PROGRAM_ETHER_TYPE; hook < PROGRAM_HOOKS; hook++)
        goes_wrong_at(hook, expected);
}

program_path_test(a_trap)
{
    fault.verdict = NATIVE_TRAPS;
    fault.change = NULL;
    goes_wrong_everywhere(PROGRAM_TRAP);
}

program_path_test(a_verdict_out_of_range)
{
    static const uint32_t wrong[] = {
        KAMUEE_ACTIONS,
        0xff,
        0xffffffff,
        KAMUEE_VERDICT(KAMUEE_CONTINUE, 1),
        KAMUEE_VERDICT(KAMUEE_DROP, 2), // only two are declared
        KAMUEE_VERDICT(KAMUEE_CLASS, 8),
        KAMUEE_VERDICT(KAMUEE_CLASS, 0xffffff),
        KAMUEE_VERDICT(KAMUEE_NEXT_HOP, 0), // not configured
        KAMUEE_VERDICT(KAMUEE_NEXT_HOP, 3),
        KAMUEE_VERDICT(KAMUEE_NEXT_HOP, 256),
        KAMUEE_VERDICT(KAMUEE_PUNT, 1),
        KAMUEE_MIRROR, // no mirror session
        KAMUEE_VERDICT(KAMUEE_MIRROR, 1),
    };

    fault.change = NULL;
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        fault.verdict = wrong[i];
        goes_wrong_everywhere(PROGRAM_VERDICT);
    }
    static const uint32_t at_output[] = {KAMUEE_PUNT, KAMUEE_VERDICT(KAMUEE_NEXT_HOP, 1),
                                         KAMUEE_REDIRECT};
    for (unsigned i = 0; i < sizeof at_output / sizeof *at_output; i++) {
        fault.verdict = at_output[i];
        goes_wrong_at(PROGRAM_OUTPUT, PROGRAM_VERDICT);
    }
}

struct wrong_change {
    void (*change)(void);
    bool four, six;
};

static void ip_goes_wrong(enum program_hook hook, const struct wrong_change *w, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        fault.change = w[i].change;
        for (unsigned k = 0; k < 4; k++)
            if (k & 2 ? w[i].six : w[i].four)
                goes_wrong(hook, k & 2, k & 1, PROGRAM_CHANGE);
    }
}

#define IP_GOES_WRONG(hook, list) ip_goes_wrong(hook, list, sizeof(list) / sizeof *(list))

// For any verdict.
program_path_test(an_ip_packet_that_is_another_then)
{
    static const struct wrong_change wrong[] = {
        {too_much, true, true},
        {version, true, true},
        {header_length, true, false},
        {total_length, true, false},
        {payload_length6, false, true},
        {fragment_field, true, false},
        {raised_ttl, true, true},
        {source_is_group, true, true},
        {destination_is_group, true, true},
        {source_is_this_network, true, false},
        {destination_is_loopback, true, true},
        {front_moves, true, true},
        {front_grows, true, true},
        {other_type, true, true},
    };
    static const uint32_t verdict[] = {KAMUEE_CONTINUE, KAMUEE_DROP,
                                       KAMUEE_VERDICT(KAMUEE_CLASS, 3), KAMUEE_PUNT};

    for (enum program_hook hook = PROGRAM_ETHER; hook <= PROGRAM_OUTPUT; hook++)
        for (unsigned v = 0; v < (hook == PROGRAM_OUTPUT ? 3 : 4); v++) {
            fault.verdict = verdict[v];
            IP_GOES_WRONG(hook, wrong);
        }
}

program_path_test(a_frame_that_would_be_others)
{
    static const struct wrong_change wrong[] = {
        {grows_too_much, true, true},       {shrinks_too_much, true, true},
        {shrinks_to_nothing, true, true},   {front_is_not_written, true, true},
        {writes_beyond_its_window, true, true},
    };

    for (enum program_hook hook = PROGRAM_ETHER; hook <= PROGRAM_INPUT; hook++)
        for (unsigned v = 0; v < 2; v++) {
            fault.verdict = v ? KAMUEE_VERDICT(KAMUEE_NEXT_HOP, 1)
                              : KAMUEE_VERDICT(KAMUEE_REDIRECT, ifindex_of(net[DEFAULT].aside));
            IP_GOES_WRONG(hook, wrong);
        }
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        fault.change = wrong[i].change;
        goes_wrong_at(PROGRAM_ETHER_TYPE, PROGRAM_CHANGE);
    }
}

program_path_test(an_ether_type_that_is_not_a_programs)
{
    static const uint16_t refused[] = {0x8100, 0x88a8, 0x9100, 0x8808, 0x8809, 0, 46, 0x5ff};

    for (unsigned i = 0; i < sizeof refused / sizeof *refused; i++) {
        frame_type = refused[i];
        fault.change = refused_type;
        for (unsigned v = 0; v < 2; v++) {
            fault.verdict = v ? KAMUEE_VERDICT(KAMUEE_NEXT_HOP, 1)
                              : KAMUEE_VERDICT(KAMUEE_REDIRECT, ifindex_of(net[DEFAULT].aside));
            for (enum program_hook hook = PROGRAM_ETHER_TYPE; hook <= PROGRAM_INPUT; hook++)
                goes_wrong_at(hook, PROGRAM_CHANGE);
        }
    }
    fault.verdict = KAMUEE_VERDICT(KAMUEE_NEXT_HOP, 1); // of the other family: an IP packet
    for (unsigned six = 0; six < 2; six++) {
        frame_type = six ? 0x0800 : 0x86dd;
        for (enum program_hook hook = PROGRAM_ETHER; hook <= PROGRAM_INPUT; hook++)
            for (unsigned passes = 0; passes < 2; passes++)
                goes_wrong(hook, six, passes, PROGRAM_CHANGE);
    }
}

// --- inside a burst, and next to other programs --------------------------------------------------

static void it_is_off_from_the_packet_on(enum program_hook hook, bool passes, uint64_t verdict)
{
    for (unsigned size = 1; size <= BURST_MAX; size += 9)
        for (unsigned at = 0; at < size; at += 5) {
            struct native n = faulty(hook, passes);
            const uint64_t drops = rig_drops(DROP_PROGRAM_FAULT);
            native_add(&n);
            calls = 0;
            fault.after = at;
            fault.verdict = verdict;
            fault.change = NULL;
            for (unsigned i = 0; i < size; i++) {
                struct frame f = packet(DEFAULT, false, i, 20);
                rig_send(0, &f);
            }
            assert_int_equal(rig_poll_out(1), passes ? size : at);
            assert_int_equal(rig_drops(DROP_PROGRAM_FAULT), drops + (passes ? 0 : size - at));
            struct program_status s = native_status("one");
            assert_int_equal(s.count.packets, size);
            assert_int_equal(s.count.verdict[KAMUEE_CONTINUE], at);
            assert_int_equal(s.count.fault_packets, size - at);
            assert_int_equal(s.count.faults, 1);
            router_role(ROLE_CONTROL);
            program_manager_del("one");
        }
}

program_path_test(packets_before_it_have_their_verdicts)
{
    for (enum program_hook hook = PROGRAM_ETHER; hook <= PROGRAM_OUTPUT; hook++)
        for (unsigned passes = 0; passes < 2; passes++) {
            it_is_off_from_the_packet_on(hook, passes, NATIVE_TRAPS);
            it_is_off_from_the_packet_on(hook, passes, KAMUEE_VERDICT(KAMUEE_CLASS, 9));
        }
}

static unsigned others;

static uint64_t other(struct kamuee_packet *p)
{
    others++;
    return KAMUEE_CONTINUE;
}

program_path_test(nobody_else_notices)
{
    struct native n = faulty(PROGRAM_INPUT, false), red = n, second = n;
    unsigned sent[NETS] = {0};

    red.name = "red";
    red.net = RED;
    second.name = "second"; // in the same virtual router
    red.code = second.code = other;
    native_add(&n);
    native_add(&red);
    native_add(&second);
    calls = others = 0;
    fault.after = 0;
    fault.verdict = NATIVE_TRAPS;
    for (unsigned i = 0; i < 60; i++) {
        unsigned k = i * 7 / 3 % NETS;
        struct frame f = packet(k, i & 1, i, 20);
        sent[k]++;
        rig_send(0, &f);
    }
    assert_int_equal(rig_poll_out(1), sent[RED] + sent[BLUE]);
    assert_only_drop(DROP_PROGRAM_FAULT, sent[DEFAULT]);
    assert_int_equal(others, sent[RED]);
    assert_int_equal(native_status("red").off, 0);
    assert_int_equal(native_status("second").off, 0);
}

program_path_test(on_other_forwarders_it_runs_on)
{
    struct native n = faulty(PROGRAM_INPUT, false);
    struct plan_rx all[RIG_PORTS];
    struct frame f = packet(DEFAULT, false, 0, 20);

    for (uint16_t p = 0; p < RIG_PORTS; p++)
        all[p] = (struct plan_rx){p, 1};
    rig_plan_set(1, rig_plan_new(1, all, RIG_PORTS));
    native_add(&n);
    calls = 0;
    fault.after = 0;
    fault.verdict = NATIVE_TRAPS;
    rig_send_queue(0, 0, &f);
    rig_step(0);
    fault.after = 1000;
    for (unsigned i = 0; i < 10; i++)
        rig_send_queue(0, i & 1, &f);
    rig_step(0);
    rig_step(1);
    assert_int_equal(rig_discard(1), 5);
    assert_only_drop(DROP_PROGRAM_FAULT, 6);
    assert_int_equal(native_status("one").off, 1);
    assert_int_equal(native_status("one").count.packets, 11);
    rig_plan_set(1, NULL);
}
