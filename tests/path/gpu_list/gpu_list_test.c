// SPDX-License-Identifier: BSD-3-Clause
// gpu_list_test.c - an (emulated) GPU searches access lists for bursts: same drops and counters as
// on the CPU, same order, and failing devices
#include "gpu_fixture.h"

#include "acl/set.h"

static uint16_t in, list;

// Packets from these sources: rule 10 denies, 20 rejects, 30 permits by port; the rest passes.
#define GOOD "192.0.2.1"
#define DENIED "198.51.100.7"
#define REJECTED "203.0.113.9"

static struct list rules(void)
{
    struct list l = {.otherwise = {.verb = ACL_PERMIT}};
    struct acl_rule *r;

    side(&list_rule(&l, 10, ACL_IP4, ACL_DENY)->src, "198.51.100.0/24");
    side(&list_rule(&l, 20, ACL_IP4, ACL_REJECT)->src, REJECTED);
    r = list_rule(&l, 30, ACL_IP4, ACL_PERMIT);
    r->proto_any = false;
    r->proto = 17;
    ports(r->sport, 1000, 1009);
    side(&list_rule(&l, 40, ACL_IP6, ACL_DENY)->src, "2001:db8:bad::/48");
    return l;
}

static int setup(void **state)
{
    int r = rig_setup(state);
    struct list l = rules();

    in = rig_iface(0, 0, VR_DEFAULT);
    out = rig_iface(1, 0, VR_DEFAULT);
    out2 = rig_iface(2, 0, VR_DEFAULT);
    rig_route(VR_DEFAULT, "10.0.0.0/8", rig_adjacency(out, 1));
    rig_route(VR_DEFAULT, "11.0.0.0/8", rig_adjacency(out2, 2));
    rig_route(VR_DEFAULT, "192.0.2.0/24", rig_adjacency(in, 3));
    rig_route(VR_DEFAULT, "2001:db8:1::/48", rig_adjacency(out, 1));
    list = list_publish(&l, "edge");
    list_bind(in, list, 0);
    number = 0;
    return r;
}

static void send_from(const char *src, const char *dst, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct frame f =
            frame_ip(&(struct ip_spec){.src = src, .dst = dst, .sport = (uint16_t)(1000 + number)});
        number += !strcmp(src, GOOD);
        rig_send(0, &f);
    }
}

static uint64_t hits(uint32_t rule)
{
    return list_hits(list, rule).packets;
}

static uint64_t by_cpu(enum gpu_cause why)
{
    return sum().by_cpu[GPU_LIST][why];
}

static uint64_t answered_lists(void)
{
    return sum().answered[GPU_LIST];
}

// 30 permitted packets among 12 others.
static void send_mixture(void)
{
    for (unsigned k = 0; k < 3; k++) {
        send_from(GOOD, "10.1.2.3", 10);
        send_from(DENIED, "10.1.2.3", 4);
    }
    send_from("2001:db8:bad::1", "2001:db8:1::7", 3);
    send_from("2001:db8:2::1", "2001:db8:1::7", 2);
}

// The same number is denied each time.
static void expect_mixture(unsigned first, unsigned denied)
{
    struct frame f;
    unsigned four = 0, six = 0;

    while (rig_receive(1, &f))
        if (frame_l3(&f)[0] >> 4 == 6)
            six++;
        else if (number_of(&f) != first + four++)
            fail_msg("frame %u came as number %u", number_of(&f), first + four - 1);
    assert_int_equal(four, 30);
    assert_int_equal(six, 2);
    assert_only_drop(DROP_ACL_DENIED, denied);
    assert_int_equal(held(), 0);
}

// --- normal operation ---

static void the_gpu_finds_the_rules_that_the_cpu_would(void **state)
{
    uint64_t before[5];

    send_mixture();
    rig_poll();
    expect_mixture(0, 15);
    for (unsigned k = 0; k < 5; k++)
        before[k] = hits(10 * k);
    gpu_on_with(LONG_US, LONG_MS, 0, true);
    send_mixture();
    rig_step(0);
    answered();
    expect_mixture(30, 30);
    for (unsigned k = 0; k < 5; k++)
        assert_int_equal(hits(10 * k) - before[k],
                         k == 3 ? 0 : before[k] + (k == 0 ? 10 : 0)); // ports 1000 to 1009 are over
    assert_int_equal(before[3], 10);
    assert_int_equal(answered_lists(), 47);
    assert_int_equal(sum().answered[GPU_LOOKUP], 0);
    assert_true(sum().batches >= 2);
}

static void bursts_wait_for_their_list_and_then_for_their_lookup(void **state)
{
    gpu_on_with(LONG_US, LONG_MS, 1, true);
    gpu_use_fault(use, GPU_FAULT_SILENT);
    send_from(GOOD, "10.1.2.3", 200);
    for (unsigned k = 0; k < 6; k++)
        rig_step(0);
    assert_int_equal(held(), 200);
    assert_int_equal(received_in_order(0), 0);
    gpu_use_fault(use, GPU_FAULT_NONE);
    answered();
    assert_int_equal(received_in_order(0), 200);
    assert_int_equal(held(), 0);
    assert_int_equal(answered_lists(), 200);
    assert_int_equal(sum().answered[GPU_LOOKUP], 200);
    assert_int_equal(hits(30) + hits(0), 200);
}

static void order_is_kept_while_bursts_come_all_the_time(void **state)
{
    unsigned left = 0, sent = 0;

    gpu_on_with(LONG_US, LONG_MS, 1, true);
    for (unsigned k = 0; k < 500; k++) {
        unsigned n = 1 + k * 7 % 64;
        send_from(GOOD, "10.1.2.3", n);
        sent += n;
        if (k % 5 == 0)
            send_from(DENIED, "10.1.2.3", 3);
        rig_step(0);
        left += received_in_order(left);
    }
    answered();
    left += received_in_order(left);
    assert_int_equal(left, sent);
    assert_int_equal(hits(10), 300);
    printf("%u packets, %u of them by the device's rules\n", sent + 300,
           (unsigned)answered_lists());
    assert_true(answered_lists() > 0);
}

static void a_rule_may_do_more_than_permit(void **state)
{
    gpu_on_with(LONG_US, LONG_MS, 0, true);
    send_from(REJECTED, "10.1.2.3", 1);
    rig_step(0);
    answered();
    assert_only_drop(DROP_ACL_REJECTED, 1);
    assert_int_equal(hits(20), 1);
    assert_int_equal(answered_lists(), 1);
}

static void a_redirected_packet_has_its_next_hop(void **state)
{
    struct list l = {.otherwise = {.verb = ACL_PERMIT}};

    side(&list_rule(&l, 10, ACL_IP4, ACL_PERMIT)->src, GOOD);
    list_action(&l)->extra = ACL_REDIRECT;
    list_action(&l)->redirect = redirect_to("11.0.0.1");
    list_replace(list, &l);
    for (unsigned vrs = 0; vrs < 2; vrs++) {
        gpu_on_with(LONG_US, LONG_MS, vrs, true);
        send_from(GOOD, "10.1.2.3", 5);
        rig_step(0);
        answered();
        assert_int_equal(answered_lists(), 5);
        assert_int_equal(rig_discard(1), 0);
        assert_int_equal(rig_discard(2), 5);
        gpu_off();
    }
}

static void packets_without_a_key_are_the_cpus(void **state)
{
    struct frame f = frame_ip(&(struct ip_spec){.src = GOOD, .dst = "10.1.2.3", .sport = 1000});

    gpu_on_with(LONG_US, LONG_MS, 0, true);
    frame_l3(&f)[7] = 1; // a later fragment of UDP has no ports
    ip4_fix_checksum(&f);
    rig_send(0, &f);
    rig_step(0);
    answered();
    assert_int_equal(rig_discard(1), 1);
    frame_l3(&f)[9] = 6; // of TCP, inside the header
    ip4_fix_checksum(&f);
    rig_send(0, &f);
    send_from(GOOD, "10.1.2.3", 2);
    rig_step(0);
    answered();
    assert_int_equal(rig_discard(1), 2);
    assert_only_drop(DROP_ACL_UNREADABLE, 1);
    assert_int_equal(by_cpu(GPU_BY_UNSUITABLE), 3);
}

static void another_list_does_not_wait(void **state)
{
    struct list l = rules();
    uint16_t other_in = rig_iface(3, 0, VR_DEFAULT), another = list_publish(&l, "another");
    struct frame f = frame_ip(
        &(struct ip_spec){.src = GOOD, .dst = "10.1.2.3", .to_iface = other_in, .sport = 1001});

    list_bind(other_in, another, 0);
    gpu_on_with(LONG_US, LONG_MS, 0, true);
    gpu_use_fault(use, GPU_FAULT_SILENT);
    send_from(GOOD, "10.1.2.3", 1);
    rig_send(3, &f);
    rig_step(0);
    assert_int_equal(rig_discard(1), 1);
    assert_int_equal(held(), 1);
    gpu_use_fault(use, GPU_FAULT_NONE);
    answered();
    assert_int_equal(rig_discard(1), 1);
}

static void a_burst_of_two_lists_is_the_cpus_and_keeps_its_place(void **state)
{
    struct list l = rules();
    uint16_t vlan = rig_iface(0, 7, VR_DEFAULT), other = list_publish(&l, "other");
    struct frame f = frame_ip(&(struct ip_spec){
        .src = GOOD, .dst = "10.1.2.3", .vlan = 7, .to_iface = vlan, .sport = 1001});

    list_bind(vlan, other, 0);
    gpu_on_with(LONG_US, LONG_MS, 0, true);
    gpu_use_fault(use, GPU_FAULT_SILENT);
    send_from(GOOD, "10.1.2.3", 1);
    rig_step(0);
    number++;
    rig_send(0, &f); // number 1
    send_from(GOOD, "10.1.2.3", 1);
    rig_step(0);
    assert_int_equal(held(), 3);
    gpu_use_fault(use, GPU_FAULT_NONE);
    answered();
    assert_int_equal(received_in_order(0), 3);
    assert_int_equal(by_cpu(GPU_BY_UNSUITABLE), 2);
    assert_int_equal(answered_lists(), 1);
}

// --- lists that change ---

static void while_the_image_is_old_the_cpu_classifies(void **state)
{
    struct list l = rules();

    gpu_on_with(LONG_US, LONG_MS, 0, true);
    gpu_use_fault(use, GPU_FAULT_SILENT);
    side(&list_rule(&l, 5, ACL_IP4, ACL_DENY)->src, GOOD);
    list_replace(list, &l);
    send_from(GOOD, "10.1.2.3", 9);
    rig_step(0);
    assert_only_drop(DROP_ACL_DENIED, 9);
    assert_int_equal(by_cpu(GPU_BY_CHANGE), 9);
    gpu_use_fault(use, GPU_FAULT_NONE);
    pause_ms(50); // acl_manager spends at most a tenth of its time on images
    copies_arrive();
    send_from(GOOD, "10.1.2.3", 9);
    rig_step(0);
    answered();
    assert_only_drop(DROP_ACL_DENIED, 18);
    assert_int_equal(answered_lists(), 9);
}

// The list changes before the answer arrives: the answer is discarded.
static void a_list_changes_while_packets_wait(void **state)
{
    struct list l = {.otherwise = {.verb = ACL_DENY}};

    gpu_on_with(LONG_US, LONG_MS, 0, true);
    gpu_use_fault(use, GPU_FAULT_SILENT);
    send_from(GOOD, "10.1.2.3", 9);
    rig_step(0);
    assert_int_equal(held(), 9);
    list_replace(list, &l); // even without rules
    gpu_use_fault(use, GPU_FAULT_NONE);
    answered();
    assert_only_drop(DROP_ACL_DENIED, 9);
    assert_int_equal(by_cpu(GPU_BY_CHANGE), 9);
    assert_int_equal(answered_lists(), 0);
    assert_int_equal(gpu_mirror_state(use->mirror), GPU_ON);
}

static void a_list_goes_while_packets_wait(void **state)
{
    gpu_on_with(LONG_US, LONG_MS, 0, true);
    gpu_use_fault(use, GPU_FAULT_SILENT);
    send_from(GOOD, "10.1.2.3", 9);
    rig_step(0);
    lists_free();
    gpu_use_fault(use, GPU_FAULT_NONE);
    answered();
    assert_int_equal(received_in_order(0), 9);
    assert_int_equal(held(), 0);
    send_from(GOOD, "10.1.2.3", 9);
    rig_step(0);
    assert_int_equal(received_in_order(9), 9);
}

static struct acl_gpu_state state_of_list(void)
{
    struct acl_gpu_state s;

    assert_true(acl_gpu_state(0, &s));
    return s;
}

static void a_list_that_does_not_suit_stays_on_the_cpu(void **state)
{
    struct acl_gpu_state s;
    struct list l = {.otherwise = {.verb = ACL_PERMIT}, .set = acl_set_new(0)};

    list_rule(&l, 10, ACL_IP4, ACL_DENY)->src.set = 0;
    gpu_on_with(LONG_US, LONG_MS, 0, true);
    s = state_of_list();
    assert_int_equal(s.status, ACL_GPU_ON);
    assert_int_equal(s.rules, 3);
    assert_true(s.bytes > 0 && s.tuples > 0);
    list_replace(list, &l);
    pause_ms(50);
    copies_arrive();
    s = state_of_list();
    assert_int_equal(s.status, ACL_GPU_REFUSED);
    assert_non_null(strstr(s.why, "rule 10 names an address set"));
    send_from(GOOD, "10.1.2.3", 9);
    rig_step(0);
    assert_int_equal(received_in_order(0), 9);
    assert_int_equal(answered_lists(), 0);
    l = rules();
    list_replace(list, &l); // returns
    pause_ms(50);
    copies_arrive();
    assert_int_equal(state_of_list().status, ACL_GPU_ON);
    send_from(GOOD, "10.1.2.3", 9);
    rig_step(0);
    answered();
    assert_int_equal(answered_lists(), 9);
    assert_true(acl_gpu_state(1, &s));
    assert_string_equal(s.why, "there is no such list");
}

// --- age and failure ---

static void no_packet_waits_longer_for_its_list_than_it_may(void **state)
{
    gpu_on_with(1000, LONG_MS, 0, true);
    gpu_use_fault(use, GPU_FAULT_SILENT);
    send_from(GOOD, "10.1.2.3", 50);
    rig_step(0);
    pause_ms(2);
    rig_step(0);
    assert_int_equal(received_in_order(0), 50);
    assert_int_equal(by_cpu(GPU_BY_LATE), 50);
    assert_int_equal(gpu_mirror_state(use->mirror), GPU_ON);
    gpu_use_fault(use, GPU_FAULT_NONE);
}

static void the_oldest_burst_makes_room(void **state)
{
    gpu_on_with(LONG_US, LONG_MS, 1, true);
    gpu_use_fault(use, GPU_FAULT_SILENT);
    for (unsigned k = 0; k < 20; k++) {
        send_from(GOOD, "10.1.2.3", 5);
        rig_step(0);
    }
    assert_int_equal(held(), 5 * GPU_PARKED_MAX);
    assert_int_equal(received_in_order(0), 100 - 5 * GPU_PARKED_MAX);
    gpu_use_fault(use, GPU_FAULT_NONE);
    answered();
    assert_int_equal(received_in_order(100 - 5 * GPU_PARKED_MAX), 5 * GPU_PARKED_MAX);
    assert_int_equal(hits(30) + hits(0), 100);
}

static void a_grace_period_lets_them_go(void **state)
{
    gpu_on_with(LONG_US, LONG_MS, 1, true);
    gpu_use_fault(use, GPU_FAULT_SILENT);
    use->rest_tsc = 0;
    send_from(GOOD, "10.1.2.3", 50);
    rig_step(0);
    assert_int_equal(received_in_order(0), 50);
    assert_int_equal(by_cpu(GPU_BY_DRAIN), 50);
    gpu_use_fault(use, GPU_FAULT_NONE);
}

static void a_device_is_lost_in_the_middle(void **state)
{
    gpu_on_with(LONG_US, LONG_MS, 1, true);
    send_from(GOOD, "10.1.2.3", 30);
    rig_step(0);
    answered();
    gpu_use_fault(use, GPU_FAULT_SILENT);
    send_from(GOOD, "10.1.2.3", 200);
    for (unsigned k = 0; k < 4; k++)
        rig_step(0);
    assert_int_equal(held(), 200);
    gpu_use_fault(use, GPU_FAULT_LOST);
    rig_step(0);
    answered();
    assert_int_equal(gpu_mirror_state(use->mirror), GPU_LOST);
    assert_int_equal(received_in_order(0), 230);
    assert_int_equal(rig_drops_all(), 0);
    assert_int_equal(by_cpu(GPU_BY_FAILURE), 200);
    send_from(GOOD, "10.1.2.3", 30);
    send_from(DENIED, "10.1.2.3", 30);
    rig_step(0);
    assert_int_equal(received_in_order(230), 30);
    assert_only_drop(DROP_ACL_DENIED, 30);
}

static void wrong_rules_end_its_use(void **state)
{
    unsigned n = 0;

    gpu_on_with(LONG_US, LONG_MS, 0, true);
    gpu_use_fault(use, GPU_FAULT_WRONG);
    while (gpu_mirror_state(use->mirror) == GPU_ON && n < 100 * BURST_MAX) {
        send_from(GOOD, "10.1.2.3", BURST_MAX);
        n += BURST_MAX;
        rig_step(0);
        answered();
    }
    assert_int_equal(gpu_mirror_state(use->mirror), GPU_WRONG);
    assert_int_equal(rig_discard(1) + rig_drops_all(), n);
    rig_discard(0); // rejected packets
    number = 0;
    send_from(GOOD, "10.1.2.3", 30);
    rig_step(0);
    assert_int_equal(received_in_order(0), 30);
    printf("a wrong rule was noticed after %u packets\n", n);
}

static void a_gpu_that_does_not_pay_is_left_alone(void **state)
{
    const struct gpu_cost *c;
    unsigned n = 0;

    gpu_on_with(LONG_US, LONG_MS, 0, true);
    use->settings.always = false;
    use->window_tsc /= 10;
    for (unsigned k = 0; k < 400; k++) {
        send_from(GOOD, "10.1.2.3", BURST_MAX);
        n += BURST_MAX;
        rig_step(0);
        answered();
        rig_discard(1);
        number = 0;
    }
    c = &use->count[0].cost[GPU_LIST];
    assert_true(c->measured > 0 && c->cpu > 0 && c->gpu > 0);
    assert_int_equal(answered_lists() + by_cpu(GPU_BY_SPLIT), n);
    assert_true(by_cpu(GPU_BY_SPLIT) > 0);
    printf("a packet: %u hundredths of a cycle by the CPU, %u with the device: %s\n", c->cpu,
           c->gpu, gpu_verdict_name[c->verdict]);
}

#define list_path_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        list_path_test(the_gpu_finds_the_rules_that_the_cpu_would),
        list_path_test(bursts_wait_for_their_list_and_then_for_their_lookup),
        list_path_test(order_is_kept_while_bursts_come_all_the_time),
        list_path_test(a_rule_may_do_more_than_permit),
        list_path_test(a_redirected_packet_has_its_next_hop),
        list_path_test(packets_without_a_key_are_the_cpus),
        list_path_test(another_list_does_not_wait),
        list_path_test(a_burst_of_two_lists_is_the_cpus_and_keeps_its_place),
        list_path_test(while_the_image_is_old_the_cpu_classifies),
        list_path_test(a_list_changes_while_packets_wait),
        list_path_test(a_list_goes_while_packets_wait),
        list_path_test(a_list_that_does_not_suit_stays_on_the_cpu),
        list_path_test(no_packet_waits_longer_for_its_list_than_it_may),
        list_path_test(the_oldest_burst_makes_room),
        list_path_test(a_grace_period_lets_them_go),
        list_path_test(a_device_is_lost_in_the_middle),
        list_path_test(wrong_rules_end_its_use),
        list_path_test(a_gpu_that_does_not_pay_is_left_alone),
    };

    return path_run(tests);
}
