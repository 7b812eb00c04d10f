// SPDX-License-Identifier: BSD-3-Clause
// gpu_test.c - bursts that wait for an (emulated) GPU: order, age, and a device that fails
#include "gpu_fixture.h"

#include "base/clock.h"

static int setup(void **state)
{
    int r = rig_setup(state);

    rig_iface(0, 0, VR_DEFAULT);
    out = rig_iface(1, 0, VR_DEFAULT);
    out2 = rig_iface(2, 0, VR_DEFAULT);
    rig_route(VR_DEFAULT, "10.0.0.0/8", rig_adjacency(out, 1));
    rig_route(VR_DEFAULT, "11.0.0.0/8", rig_adjacency(out2, 2));
    rig_route(VR_DEFAULT, "2001:db8:1::/48", rig_adjacency(out, 1));
    number = 0;
    return r;
}

#define gpu_path_test(name) unit_test_of(name, setup, teardown)

// --- normal operation ---

gpu_path_test(bursts_wait_and_go_on_in_order)
{
    gpu_on(LONG_US, LONG_MS);
    gpu_use_fault(use, GPU_FAULT_SILENT);
    send_n(100, "10.1.2.3", 0);
    send_n(20, "2001:db8:1::7", 0);
    send_n(10, "10.9.9.9", 4); // not plain
    rig_steps(0, 6);
    assert_int_equal(held(), 130);
    assert_int_equal(received_in_order(0), 0);
    gpu_use_fault(use, GPU_FAULT_NONE);
    answered();
    assert_int_equal(received_in_order(0), 130);
    assert_int_equal(held(), 0);
    assert_int_equal(sum().answered, 130);
    for (unsigned i = 0; i < GPU_CAUSES; i++)
        assert_int_equal(sum().by_cpu[i], 0);
    assert_true(sum().batches >= 2);
    assert_true(gpu_age_quantile(sum().age, 500) > 0);
}

gpu_path_test(one_batch_a_poll_has_the_bursts_of_all_queues)
{
    uint16_t other = rig_iface(3, 0, VR_DEFAULT);
    struct ip_spec spec = {.src = "192.0.2.1", .dst = "10.1.2.3"};
    struct frame f = frame_ip(&spec);

    gpu_on(LONG_US, LONG_MS);
    rig_send(0, &f);
    spec.to_iface = other;
    f = frame_ip(&spec);
    rig_send(3, &f);
    rig_step(0);
    answered();
    assert_int_equal(rig_discard(1), 2);
    assert_int_equal(sum().answered, 2);
    assert_int_equal(sum().batches, 1);
}

gpu_path_test(a_packet_without_a_route_has_its_drop)
{
    gpu_on(LONG_US, LONG_MS);
    send_n(3, "172.16.0.1", 0);
    rig_step(0);
    answered();
    assert_only_drop(DROP_IP4_NO_ROUTE, 3);
    assert_int_equal(sum().answered, 3);
}

// A frame for virtual router red, which this creates.
static struct frame red_frame(void)
{
    uint16_t red = rig_vr("red");
    uint16_t in = rig_iface(0, 7, red), red_out = rig_iface(1, 7, red);
    struct frame f = ip_frame(.src = "192.0.2.1", .dst = "10.1.2.3", .vlan = 7, .to_iface = in);

    rig_route(red, "10.0.0.0/8", rig_adjacency(red_out, 3));
    return f;
}

gpu_path_test(another_router_does_not_wait)
{
    struct frame f = red_frame();

    gpu_on(LONG_US, LONG_MS);
    gpu_use_fault(use, GPU_FAULT_SILENT);
    rig_send(0, &f);
    rig_step(0);
    assert_int_equal(rig_discard(1), 1);
    send_n(1, "10.1.2.3", 0); // a burst with packets of both virtual routers waits
    rig_send(0, &f);
    rig_step(0);
    gpu_use_fault(use, GPU_FAULT_NONE);
    answered();
    assert_int_equal(rig_discard(1), 2);
    assert_int_equal(held(), 0);
}

// A burst with packets of both virtual routers waits, and so does every later one.
gpu_path_test(what_comes_behind_a_burst_of_both_waits)
{
    struct frame f = red_frame();

    gpu_on(LONG_US, LONG_MS);
    gpu_use_fault(use, GPU_FAULT_SILENT);
    send_n(1, "10.1.2.3", 0);
    rig_step(0);
    send_n(1, "10.1.2.3", 0);
    rig_send(0, &f);
    rig_step(0);
    rig_send(0, &f); // would overtake the earlier one
    rig_step(0);
    assert_int_equal(rig_discard(1), 0);
    assert_int_equal(held(), 4);
    gpu_use_fault(use, GPU_FAULT_NONE);
    answered();
    assert_int_equal(rig_discard(1), 4);
    rig_send(0, &f);
    rig_step(0);
    assert_int_equal(rig_discard(1), 1);
}

// --- age ---

gpu_path_test(no_packet_waits_longer_than_it_may)
{
    gpu_on(1000, LONG_MS);
    gpu_use_fault(use, GPU_FAULT_SILENT);
    send_n(50, "10.1.2.3", 0);
    rig_step(0);
    pause_ms(2);
    rig_step(0);
    assert_int_equal(received_in_order(0), 50);
    assert_int_equal(sum().by_cpu[GPU_BY_LATE], 50);
    assert_int_equal(gpu_mirror_state(use->mirror), GPU_ON);
    // The late answer to them is ignored; the device answers the next ones.
    use->max_latency_tsc = UINT64_MAX / 4;
    gpu_use_fault(use, GPU_FAULT_NONE);
    send_n(50, "10.9.9.9", 0);
    rig_step(0);
    answered();
    assert_int_equal(received_in_order(50), 50);
    assert_int_equal(sum().answered, 50);
    assert_int_equal(sum().batches, 2);
}

gpu_path_test(a_grace_period_lets_them_go)
{
    gpu_on(LONG_US, LONG_MS);
    gpu_use_fault(use, GPU_FAULT_SILENT);
    use->rest_tsc = 0;
    send_n(50, "10.1.2.3", 0);
    rig_step(0);
    assert_int_equal(received_in_order(0), 50);
    assert_int_equal(sum().by_cpu[GPU_BY_DRAIN], 50);
    gpu_use_fault(use, GPU_FAULT_NONE);
}

gpu_path_test(the_oldest_burst_makes_room)
{
    gpu_on(LONG_US, LONG_MS);
    gpu_use_fault(use, GPU_FAULT_SILENT);
    for (unsigned k = 0; k < 20; k++) {
        send_n(5, "10.1.2.3", 0);
        rig_step(0);
    }
    assert_int_equal(held(), 5 * GPU_PARKED_MAX);
    assert_int_equal(received_in_order(0), 20);
    assert_true(sum().by_cpu[GPU_BY_FULL] >= 20);
    gpu_use_fault(use, GPU_FAULT_NONE);
    answered();
    assert_int_equal(received_in_order(20), 80);
    assert_int_equal(held(), 0);
}

// --- failure: nothing is lost, and the CPU takes over ---

static void expect_failure(enum gpu_state state, unsigned sent)
{
    assert_int_equal(gpu_mirror_state(use->mirror), state);
    assert_int_equal(received_in_order(0), sent);
    assert_int_equal(rig_drops_all(), 0);
    assert_int_equal(held(), 0);
    assert_int_equal(sum().by_cpu[GPU_BY_FAILURE], sent);
    send_n(10, "10.1.2.3", 0);
    rig_step(0);
    assert_int_equal(received_in_order(sent), 10);
    assert_int_equal(sum().by_cpu[GPU_BY_FAILURE], sent + 10);
}

gpu_path_test(a_device_is_lost_with_bursts_on_the_way)
{
    gpu_on(LONG_US, LONG_MS);
    gpu_use_fault(use, GPU_FAULT_SILENT);
    send_n(200, "10.1.2.3", 0);
    rig_steps(0, 4);
    assert_int_equal(held(), 200);
    gpu_use_fault(use, GPU_FAULT_LOST);
    rig_step(0);
    expect_failure(GPU_LOST, 200);
}

gpu_path_test(a_device_does_not_answer)
{
    gpu_on(LONG_US, 2);
    gpu_use_fault(use, GPU_FAULT_SILENT);
    send_n(100, "10.1.2.3", 0);
    rig_step(0);
    pause_ms(4);
    rig_step(0);
    answered();
    expect_failure(GPU_LATE, 100);
}

// Until a sample detects it, wrong answers are used: packets leave by the wrong port, or have no
// route.
gpu_path_test(a_device_answers_wrongly)
{
    unsigned n = 0;

    gpu_on(LONG_US, LONG_MS);
    gpu_use_fault(use, GPU_FAULT_WRONG);
    while (gpu_mirror_state(use->mirror) == GPU_ON && n < 100 * BURST_MAX) {
        send_n(BURST_MAX, "10.1.2.3", 0);
        n += BURST_MAX;
        rig_step(0);
        answered();
    }
    assert_int_equal(gpu_mirror_state(use->mirror), GPU_WRONG);
    assert_int_equal(rig_discard(1) + rig_discard(2) + rig_drops_all(), n);
    number = 0;
    send_n(100, "10.1.2.3", 0);
    rig_poll();
    assert_int_equal(received_in_order(0), 100);
    printf("a wrong answer was noticed after %u packets\n", n);
}

// --- tables that change ---

gpu_path_test(while_the_copy_is_old_the_cpu_answers)
{
    gpu_on(LONG_US, LONG_MS);
    gpu_use_fault(use, GPU_FAULT_SILENT);
    rig_route(VR_DEFAULT, "10.1.0.0/16", rig_adjacency(out2, 2));
    send_n(30, "10.1.2.3", 0);
    rig_step(0);
    assert_int_equal(rig_discard(2), 30);
    assert_int_equal(sum().by_cpu[GPU_BY_CHANGE], 30);
    gpu_use_fault(use, GPU_FAULT_NONE);
    copies_arrive();
    send_n(30, "10.1.2.3", 0);
    rig_step(0);
    answered();
    assert_int_equal(rig_discard(2), 30);
    assert_int_equal(sum().answered, 30);
}

gpu_path_test(a_route_goes_while_packets_wait)
{
    gpu_on(LONG_US, LONG_MS);
    gpu_use_fault(use, GPU_FAULT_SILENT);
    send_n(30, "10.1.2.3", 0);
    rig_step(0);
    rig_route(VR_DEFAULT, "10.0.0.0/8", rig_adjacency(out2, 2));
    gpu_use_fault(use, GPU_FAULT_NONE);
    answered();
    assert_int_equal(rig_discard(1) + rig_discard(2), 30); // by the old route or by the new one
    copies_arrive();
    send_n(30, "10.1.2.3", 0);
    rig_step(0);
    answered();
    assert_int_equal(rig_discard(2), 30);
}

// Many changes with packets on the way: each packet takes the old or the new route.
gpu_path_test(routes_change_all_the_time)
{
    unsigned by_gpu, n = 0, left = 0;
    uint32_t way[2] = {rig_adjacency(out, 1), rig_adjacency(out2, 2)};
    char prefix[32];

    gpu_on(LONG_US, LONG_MS);
    for (unsigned k = 0; k < 600; k++) {
        snprintf(prefix, sizeof prefix, "10.%u.%u.0/24", k % 7, k % 50);
        rig_route(VR_DEFAULT, prefix, way[k & 1]);
        if (k % 3 == 0)
            rig_unroute(VR_DEFAULT, prefix);
        if (k % 4 == 0)
            copies_arrive();
        snprintf(prefix, sizeof prefix, "10.%u.%u.1", k % 7, k % 50);
        send_n(9, prefix, 0);
        n += 9;
        rig_step(0);
        left += rig_discard(1) + rig_discard(2);
    }
    answered();
    left += rig_discard(1) + rig_discard(2);
    assert_int_equal(left, n);
    assert_int_equal(rig_drops_all(), 0);
    by_gpu = (unsigned)sum().answered;
    assert_int_equal(gpu_mirror_state(use->mirror), GPU_ON);
    assert_true(by_gpu > 0 && sum().by_cpu[GPU_BY_CHANGE] > 0);
    printf("%u packets, %u by the device\n", n, by_gpu);
}

gpu_path_test(the_gpu_goes_while_packets_wait)
{
    gpu_on(LONG_US, LONG_MS);
    gpu_use_fault(use, GPU_FAULT_SILENT);
    send_n(30, "10.1.2.3", 0);
    rig_step(0);
    assert_int_equal(held(), 30);
    gpu_use_fault(use, GPU_FAULT_NONE);
    gpu_off();
    assert_int_equal(received_in_order(0), 30);
    send_n(30, "10.1.2.3", 0);
    rig_poll();
    assert_int_equal(received_in_order(30), 30);
}

gpu_path_test(the_forwarder_ends_while_packets_wait)
{
    gpu_on(LONG_US, LONG_MS);
    gpu_use_fault(use, GPU_FAULT_SILENT);
    send_n(30, "10.1.2.3", 0);
    rig_step(0);
    uint64_t begun_ns = clock_now_ns();
    use->lookaside.end(&use->lookaside, rig_forwarder(0));
    assert_true(clock_now_ns() - begun_ns < LONG_MS / 2 * NS_PER_MS); // the device: LONG_MS
    assert_int_equal(received_in_order(0), 30);
    assert_int_equal(held(), 0);
    assert_int_equal(gpu_queue_waiting(use->parked[0].queue), 0);
    assert_int_equal(gpu_mirror_state(use->mirror), GPU_LATE); // after 100 ms
    gpu_use_fault(use, GPU_FAULT_NONE);
}

// As a repairing audit does: another FIB replaces a mirrored one.
gpu_path_test(a_mirrored_fib_is_replaced)
{
    struct vr *v = vr_get(VR_DEFAULT);
    struct fib *old = v->fib4;
    struct prefix p = {.family = IP4, .len = 8, .b = {10}};

    gpu_on(LONG_US, LONG_MS);
    gpu_use_fault(use, GPU_FAULT_SILENT);
    send_n(30, "10.1.2.3", 0);
    rig_step(0);
    router_role(ROLE_RIB_MANAGER);
    struct fib *new = fib_new(IP4, FIB_POPTRIE);
    assert_int_equal(fib_set(new, &p, fib_get(old, &p)), 0);
    fib_commit(new);
    vr_publish(v, IP4, new);
    use->rest_tsc = 0;
    rig_step(0);
    fib_free(old);
    assert_int_equal(received_in_order(0), 30);
    assert_int_equal(gpu_mirror_state(use->mirror), GPU_GONE);
    send_n(30, "10.1.2.3", 0);
    rig_step(0);
    assert_int_equal(received_in_order(30), 30);
    gpu_use_fault(use, GPU_FAULT_NONE);
}

gpu_path_test(a_fib_of_another_engine_is_refused)
{
    const struct gpu_settings s = {
        .device = GPU_EMULATED, .timeout_ms = 10, .n_vrs = 1, .vr = {VR_DEFAULT}};
    struct gpu_use *none = NULL;
    char err[256] = "";

    router_role(ROLE_CONTROL);
    struct fib *old = vr_get(VR_DEFAULT)->fib4, *lpm = fib_new(IP4, FIB_LPM);
    assert_non_null(lpm);
    vr_publish(vr_get(VR_DEFAULT), IP4, lpm);
    assert_int_equal(gpu_use_open(&none, &s, err, sizeof err), 0);
    assert_int_equal(gpu_use_mirror(none, err, sizeof err), -ENOTSUP);
    gpu_use_close(none);
    assert_non_null(strstr(err, "fib-engine poptrie"));
    vr_publish(vr_get(VR_DEFAULT), IP4, old);
    fib_free(lpm);
}

// --- the split ---

gpu_path_test(the_split_decides_by_cost_and_age)
{
    assert_int_equal(gpu_split(1000, 999, 0), GPU_SENDS);
    assert_int_equal(gpu_split(1000, 1000, 0), GPU_CPU_IS_FASTER);
    assert_int_equal(gpu_split(1000, 100, 10), GPU_SENDS);
    assert_int_equal(gpu_split(1000, 100, 11), GPU_IS_LATE);
}

// On this machine a thread that plays a GPU is no faster: after a window or two the CPU does all
// work except the probes.
gpu_path_test(a_device_that_does_not_pay_is_left_alone)
{
    struct gpu_count c;
    unsigned n = 0;

    gpu_on(LONG_US, LONG_MS);
    use->settings.always = false;
    use->window_tsc /= 10;
    for (unsigned k = 0; k < 400; k++) {
        send_n(BURST_MAX, "10.1.2.3", 0);
        n += BURST_MAX;
        rig_step(0);
        answered();
        rig_discard(1);
        number = 0;
    }
    c = sum();
    assert_true(use->count[0].cost.measured > 0);
    assert_true(use->count[0].cost.cpu > 0 && use->count[0].cost.gpu > 0);
    assert_int_equal(c.answered + c.by_cpu[GPU_BY_SPLIT], n);
    assert_true(c.by_cpu[GPU_BY_SPLIT] > 0);
    printf("a lookup: %u hundredths of a cycle by the CPU, %u with the device: %s\n",
           use->count[0].cost.cpu, use->count[0].cost.gpu,
           gpu_verdict_name[use->count[0].cost.verdict]);
}
