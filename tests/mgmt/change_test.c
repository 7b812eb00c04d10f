// SPDX-License-Identifier: BSD-3-Clause
// change_test.c - order of changes; a refused change leaves no trace
//
// The fake managers abort on anything out of order: a vport on a missing port, a virtual router
// deleted under an interface, an MTU above the port's. Each pair of configurations is tried with
// every single call failing.
#include <stdint.h>
#include <errno.h>
#include <libyang/libyang.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "config/change.h"
#include "config/config.h"
#include "fake/fake_config.h"
#include "fake/fake_managers.h"
#include "export/export.h"
#include "model/model.h"
#include "table/icmp.h"
#include "table/plan.h"
#include "table/punt.h"
#include "yang/config_tree.h"
#include "tests/unit.h"

static struct model *made[8]; // by model_of(); freed at the end of a pair, or of the test
static unsigned n_made;

static void free_models_from(unsigned first)
{
    while (n_made > first)
        model_free(made[--n_made]);
}

static int free_models(void **state)
{
    free_models_from(0);
    return 0;
}

#define change_test(name) unit_test_of(name, NULL, free_models)

static struct model *model_of(const char *text)
{
    struct lyd_node *tree = NULL;
    struct errors e = {0};
    struct text why = {0};

    config_read_text(&tree, text, &e);
    struct model *m = config_model_of(&tree, &e);
    errors_text(&e, NULL, &why);
    assert_string_equal(text_str(&why), "");
    text_free(&why);
    lyd_free_all(tree);
    assert_true(n_made < sizeof made / sizeof *made);
    return made[n_made++] = m;
}

static char *state_of_managers(void)
{
    struct text t = {0};

    fake_state(&t);
    return t.s ? t.s : strdup("");
}

static void apply(const struct model *from, const struct model *to)
{
    struct errors e = {0};

    assert_int_equal(change_make(from, to, &e), 0);
    assert_int_equal(e.n, 0);
}

static void assert_calls(const struct model *from, const struct model *to, const char *calls)
{
    text_clear(&fake_calls);
    apply(from, to);
    assert_string_equal(text_str(&fake_calls), calls);
}

// Changes `a` to `b` with the n-th call failing: nothing has changed. False if there are fewer than
// n calls.
static bool fails_cleanly_at(int n, const struct model *empty, const struct model *a,
                             const struct model *b)
{
    struct errors e = {0};

    fake_reset();
    apply(empty, a);
    char *before = state_of_managers();
    fake_fail_at = n;
    int r = change_make(a, b, &e);
    bool failed = !fake_fail_at;
    fake_fail_at = 0;
    char *after = state_of_managers();
    if (failed) {
        assert_int_not_equal(r, 0);
        assert_int_equal(e.n, 1);
        assert_string_equal(after, before);
    } else {
        assert_int_equal(r, 0);
    }
    free(before);
    free(after);
    errors_free(&e);
    return failed;
}

// Returns the number of calls that the change took.
static int try_pair(const char *from, const char *to)
{
    unsigned first = n_made;
    struct model *empty = model_of(""), *a = model_of(from), *b = model_of(to);
    int n = 1;

    fake_reset();
    apply(empty, b);
    char *wanted = state_of_managers();
    fake_reset();
    apply(empty, a);
    apply(a, b);
    char *got = state_of_managers();
    assert_string_equal(got, wanted);
    while (fails_cleanly_at(n, empty, a, b))
        n++;
    free(wanted);
    free(got);
    free_models_from(first);
    return n - 1;
}

static const char rich[] =
    "set port p0 devargs net_null0 mtu 9000\nset port p1 devargs net_null1\n"
    "set vr red namespace red\nset vr blue table 7\n"
    "set vport v1 port p0 vlan 1\nset vport v2 port p0 vlan 2 mtu 1500\nset vport v3 port p1 vlan "
    "1\n"
    "set interface p1 vr red\nset interface v1 vr red\nset interface v2 vr blue\n"
    "set counters prefix default 192.0.2.0/24\nset counters prefix red 2001:db8::/32\n"
    "set multicast route red 239.1.1.1 any input p1 output v1 ttl 9\nset multicast route default "
    "ff1e::1 2001:db8::1 input p0\n"
    "set thread 1 forwarder port p0 rx-queue 0\nset thread 2 forwarder port p0 rx-queue 1\nset "
    "thread 2 forwarder port p1 rx-queue 0\n";

change_test(a_multicast_route_is_changed_in_place_and_moves_with_its_virtual_router)
{
#define BASE "set port p0 devargs net_null0\nset port p1 devargs net_null1\n"
    static const char a[] =
        BASE "set multicast route default 239.1.1.1 10.0.0.1 input p0 output p1\n";

    assert_int_equal(
        try_pair(a,
                 BASE "set multicast route default 239.1.1.1 10.0.0.1 input p0 output p1 ttl 5\n"),
        1);
    assert_int_equal(
        try_pair(a, BASE "set multicast route default 239.1.1.1 10.0.0.1 input p1 output p0\n"), 1);
    assert_int_equal(
        try_pair(a, BASE "set multicast route default 239.1.1.1 any input p0 output p1\n"), 2);
    assert_int_equal(try_pair(a, a), 0);
    try_pair(a, BASE "set vr red table 9\nset interface p0 vr red\nset interface p1 vr red\n"
                     "set multicast route red 239.1.1.1 10.0.0.1 input p0 output p1\n");
    try_pair(BASE "set vr red table 9\nset interface p0 vr red\nset multicast route red 239.1.1.1 "
                  "any input p0\n",
             BASE "set vr red table 10\nset interface p0 vr red\nset multicast route red 239.1.1.1 "
                  "any input p0\n");
}

change_test(a_counted_prefix_moves_with_its_virtual_router)
{
    static const char a[] = "set vr red table 9\nset counters prefix red 192.0.2.0/24\nset "
                            "counters prefix default 192.0.2.0/24\n";

    assert_int_equal(try_pair(a, a), 0);
    assert_int_equal(try_pair(a, "set vr red table 9\nset counters prefix red 192.0.2.0/25\nset "
                                 "counters prefix default 192.0.2.0/24\n"),
                     2);
    assert_int_equal(try_pair(a, "set vr red table 10\nset counters prefix red 192.0.2.0/24\n"
                                 "set counters prefix default 192.0.2.0/24\n"), 4);
}

change_test(everything_comes_and_goes)
{
    assert_int_equal(
        try_pair("", rich),
        2 + 2 + 1 + 3 + 1 + 2 +
            2); // vrs, ports, p1 into red, vports, threads, multicast routes, counted prefixes
    assert_true(try_pair(rich, "") > 8);
    assert_int_equal(try_pair(rich, rich), 0);
}

change_test(engine_of_a_router_follows_its_own_line_before_the_global_one)
{
    struct model *empty = model_of(""),
                 *both = model_of("set fib-engine lpm\nset vr red table 7\n"),
                 *own = model_of("set fib-engine lpm\nset vr red table 7 fib-engine dir24_8\n");

    fake_reset();
    assert_calls(empty, both, "set-engine default\nadd-vr red\n");
    assert_calls(both, own, "set-engine red\n");
    assert_int_equal(
        try_pair("set vr red table 7\n", "set vr red table 7\nset fib-engine dir24_8\n"), 2);
    assert_int_equal(try_pair("set vr red table 7 fib-engine lpm\n", "set vr red table 7\n"), 1);
}

change_test(calls_come_in_the_safe_order)
{
    struct model *empty = model_of(""), *m = model_of(rich);

    fake_reset();
    assert_calls(empty, m,
                 "add-vr blue\nadd-vr red\nattach p0\nattach p1\nset-vr p1\nadd-vport "
                 "v1\nadd-vport v2\nadd-vport v3\nassign queues\nset-multicast "
                 "default\nset-multicast red\nadd-counted default\nadd-counted red\n");
    assert_calls(m, empty,
                 "del-multicast default\ndel-multicast red\ndel-counted default\ndel-counted red\n"
                 "set-vr p1\ndel-vport v1\ndel-vport v2\ndel-vport v3\ndetach p0\ndetach p1\n"
                 "del-vr blue\ndel-vr red\nassign default\n");
}

change_test(a_mirror_comes_after_its_ports_and_goes_before_them)
{
    struct model *empty = model_of(""),
                 *m = model_of("set port p0 devargs a\nset port p1 devargs b\n"
                               "set port p0 mirror both to port p1\n");
    struct model *tap = model_of(
        "set port p0 devargs a\nset port p1 devargs b\nset port p0 mirror both to tap mon0\n");

    fake_reset();
    assert_calls(empty, m, "attach p0\nattach p1\nmirror p0 p1\n");
    assert_calls(m, tap, "unmirror p0 p1\nmirror p0 mon0\n");
    assert_calls(tap, tap, "");
    assert_calls(tap, empty, "unmirror p0 mon0\ndetach p0\ndetach p1\n");
}

change_test(who_is_told_is_set_last_and_set_back)
{
    struct model *empty =
        model_of("set sflow sample-rate 7\n"); // no collector is configured: same as nothing
    struct model *m = model_of("set port p0 devargs a\nset sflow collector "
                               "192.0.2.1\nset ipfix collector 2001:db8::1\n");
    struct errors e = {0};

    fake_reset();
    assert_calls(empty, m, "attach p0\nsflow on\nipfix on\n");
    const struct sflow_config *sflow = m->part[FEATURE_sflow];
    const struct ipfix_config *ipfix = m->part[FEATURE_ipfix];
    assert_true(sflow->sample_rate == 1000 && sflow->collector[0].port == 6343 &&
                ipfix->collector[0].addr.family == IP6);
    assert_calls(m, empty, "detach p0\nsflow off\nipfix off\n");
    text_clear(&fake_calls);
    fake_fail_at = 3;
    assert_int_equal(change_make(empty, m, &e), -EIO);
    assert_string_equal(text_str(&fake_calls),
                        "attach p0\nsflow on\nipfix on\nsflow off\ndetach p0\n");
    assert_string_equal(e.item[0].sentence, "ipfix: the device on refuses to ipfix");
    errors_free(&e);
}

change_test(another_device_is_a_change_of_the_port)
{
    assert_int_equal(try_pair("set port p0 devargs a\nset vport v port p0 vlan 1\n",
                              "set port p0 devargs b\nset vport v port p0 vlan 1\n"),
                     1);
    // unless another port still has it: a chain frees it first, a ring is removed and added
    assert_int_equal(try_pair("set port p0 devargs a\nset port p1 devargs b\n",
                              "set port p0 devargs b\nset port p1 devargs c\n"),
                     3);
    assert_int_equal(
        try_pair("set port p0 devargs a\nset port p1 devargs b\nset vport v port p0 vlan 1\n",
                 "set port p0 devargs b\nset port p1 devargs a\nset vport v port p0 vlan 1\n"),
        6);
}

change_test(what_cannot_change_in_place_goes_and_comes)
{
    // another VLAN; another namespace behind a virtual router, whose interfaces wait in the default
    // one
    assert_int_equal(try_pair("set port p0 devargs a\nset vport v port p0 vlan 1\n",
                              "set port p0 devargs a\nset vport v port p0 vlan 2\n"),
                     2);
    assert_int_equal(
        try_pair("set port p0 devargs a\nset vr red namespace red\nset interface p0 vr red\n",
                 "set port p0 devargs a\nset vr red namespace red2\nset interface p0 vr red\n"),
        4);
    try_pair(rich, "set port p0 devargs net_null0 mtu 9000\nset port p1 devargs net_null1\nset vr "
                   "red namespace red2\nset vr blue namespace red\n"
                   "set vport v1 port p0 vlan 1\nset vport v2 port p0 vlan 2 mtu 1500\nset vport "
                   "v3 port p1 vlan 9\nset interface p1 vr red\nset interface v1 vr blue\n");
}

change_test(mtus_shrink_before_and_grow_after_the_port)
{
    static const char small[] = "set port p0 devargs x mtu 1500\nset vport v port p0 vlan 1\n",
                      large[] = "set port p0 devargs x mtu 9000\nset vport v port p0 vlan 1\n";

    assert_int_equal(try_pair(small, large), 2);
    assert_int_equal(try_pair(large, small), 2);
}

change_test(a_changed_port_is_changed_not_replaced)
{
    struct model *empty = model_of(""), *a = model_of("set port p0 devargs x\n"),
                 *b = model_of(
                     "set port p0 devargs x rx-queues 2 promiscuous false mac 02:00:00:00:00:07\n");

    fake_reset();
    apply(empty, a);
    assert_calls(a, b, "change p0\n");
}

// One call for each object whose key is the name, none for its contents; and if any of them fails,
// it keeps the old name.
change_test(another_name_moves_no_interface)
{
    static const char text[] = "set port p0 devargs x\nset vr %s\nset interface p0 vr %s\n"
                               "set port p0 queue vr %s guarantee 1M\nset port p0 queue rate 9M\n"
                               "set counters prefix %s 192.0.2.0/24\n";
    char *red, *green;

    assert_true(asprintf(&red, text, "red", "red", "red", "red") > 0);
    assert_true(asprintf(&green, text, "green", "green", "green", "green") > 0);
    vr_rename_begin("red", "green");
    struct model *empty = model_of(""), *a = model_of(red), *b = model_of(green);
    fake_reset();
    apply(empty, a);
    text_clear(&fake_calls);
    apply(a, b);
    assert_non_null(strstr(text_str(&fake_calls), "rename-vr red\n"));
    assert_null(strstr(text_str(&fake_calls), "add-vr"));
    assert_null(strstr(text_str(&fake_calls), "del-vr"));
    assert_null(strstr(text_str(&fake_calls), "set-vr"));
    assert_true(try_pair(red, green) >= 2);
    assert_true(try_pair(green, red) >= 2);
    assert_int_equal(try_pair("set vr red table 7\n", "set vr green table 7\n"), 1);
    assert_int_equal(try_pair("set vr red table 7\n", "set vr green table 8\n"), 2);
    vr_rename_end();
    assert_int_equal(try_pair("set vr red\n", "set vr green\n"), 3); // delete, make, add
    free(red);
    free(green);
}

change_test(queues_that_go_leave_their_thread_first)
{
    struct model
        *empty = model_of(""),
        *a = model_of("set port p0 devargs x rx-queues 2\nset thread 1 forwarder port p0 rx-queue "
                      "0\nset thread 2 forwarder port p0 rx-queue 1\n"),
        *b = model_of(
            "set port p0 devargs x rx-queues 1\nset thread 1 forwarder port p0 rx-queue 0\n");

    fake_reset();
    apply(empty, a);
    assert_calls(a, b, "assign queues\nchange p0\n");
    assert_calls(b, a, "change p0\nassign queues\n");
}

change_test(settings_reach_their_owners_and_come_back)
{
    struct model *a = model_of(""),
                 *b = model_of("set log-level debug\nset forwarding idle performance\nset netlink "
                               "receive-buffer 5000\nset port p0 devargs x\n");
    struct errors e = {0};

    fake_reset();
    fake_fail_at = 1;
    assert_int_not_equal(change_make(a, b, &e), 0);
    assert_string_equal(
        text_str(&fake_calls),
        "receive-buffer 5000\nidle 0\nattach p0\nidle 1\nreceive-buffer 268435456\n");
    assert_int_equal(log_get_level(), LOG_LEVEL_INFO);
    assert_int_equal(e.item[0].line, 4);
    assert_string_equal(e.item[0].sentence, "port p0: the device p0 refuses to attach");
    errors_free(&e);
}

// Setting it would wake all forwarders.
change_test(the_idle_mode_is_set_only_if_it_changes)
{
    struct model *a = model_of("set acl l default permit\n"),
                 *b = model_of("set acl l default permit\nset forwarding acl in l\n"),
                 *c = model_of("set acl l default permit\nset forwarding ipv4-options ignore\n");

    fake_reset();
    apply(a, b);
    apply(b, c);
    assert_null(strstr(text_str(&fake_calls), "idle"));
    apply(c, a);
}

change_test(journal_and_audit_are_set_and_set_back_and_memory_may_be_short)
{
    struct model *a = model_of(""), *b = model_of("set journal size 7\nset fib-audit interval 0\n");
    struct errors e = {0};

    fake_reset();
    assert_int_equal(change_make(a, b, &e), 0);
    assert_int_equal(fake_journal_mib, 7);
    assert_int_equal(fake_audit_interval_s, 0);
    assert_int_equal(change_make(b, a, &e), 0);
    assert_int_equal(fake_journal_mib, 64);
    assert_int_equal(fake_audit_interval_s, 300);
    fake_journal_fails = true;
    assert_int_equal(change_make(a, b, &e), -ENOMEM);
    assert_string_equal(e.item[0].sentence,
                        "journal: no memory for 7 MiB: set a smaller journal size");
    assert_int_equal(fake_audit_interval_s, 300);
    errors_free(&e);
}

// Only 16 MiB of address space is left: counters of next hops need more.
change_test(a_setting_without_memory_takes_the_others_back)
{
    struct model *a = model_of(""),
                 *b = model_of("set journal size 7\nset counters nexthop true\n");
    struct errors e = {0};
    struct rlimit all, few;
    FILE *f = fopen("/proc/self/statm", "r");
    unsigned long pages;

    assert_non_null(f);
    assert_int_equal(fscanf(f, "%lu", &pages), 1);
    fclose(f);
    fake_reset();
    assert_int_equal(change_make(b, a, &e), 0);
    assert_int_equal(fake_journal_mib, 64);
    getrlimit(RLIMIT_AS, &all);
    few = (struct rlimit){pages * (rlim_t)sysconf(_SC_PAGESIZE) + (16 << 20), all.rlim_max};
    setrlimit(RLIMIT_AS, &few);
    int r = change_make(a, b, &e);
    setrlimit(RLIMIT_AS, &all);
    assert_int_equal(r, -ENOMEM);
    assert_string_equal(e.item[0].sentence,
                        "counters nexthop: no memory for the counters of next hops");
    assert_int_equal(fake_journal_mib, 64);
    errors_free(&e);
}

change_test(limits_of_the_exception_path_are_set_and_set_back)
{
    struct model *a = model_of(""),
                 *b = model_of("set punt icmp rate 7 queue 99\nset icmp rate 0 total-burst 9\n"
                               "set forwarding ipv4-options process\n");
    struct errors e = {0};

    fake_reset();
    assert_int_equal(change_make(a, b, &e), 0);
    assert_int_equal(punt_policy[PUNT_ICMP].limit.per_s, 7);
    assert_int_equal(punt_policy[PUNT_ICMP].limit.burst, punt_limit_default[PUNT_ICMP].burst);
    assert_int_equal(punt_policy[PUNT_ICMP].limit.queue, 99);
    assert_memory_equal(&punt_policy[PUNT_BFD].limit, &punt_limit_default[PUNT_BFD],
                        sizeof(struct punt_limit));
    assert_int_equal(icmp_limit_now().per_s, 0);
    assert_int_equal(icmp_limit_now().total_burst, 9);
    assert_int_equal(plan_ip4_options, IP4_OPTIONS_PROCESS);
    assert_int_equal(change_make(b, a, &e), 0);
    assert_memory_equal(&punt_policy[PUNT_ICMP].limit, &punt_limit_default[PUNT_ICMP],
                        sizeof(struct punt_limit));
    assert_int_equal(icmp_limit_now().per_s, icmp_limit_default.per_s);
    assert_int_equal(plan_ip4_options, IP4_OPTIONS_DROP);
    errors_free(&e);
}

static struct text state_with(const char *config)
{
    struct model *empty = model_of(""), *m = model_of(config);
    struct text t = {0};

    fake_reset();
    apply(empty, m);
    fake_state(&t);
    return t;
}

change_test(flow_hash_of_a_router_follows_its_own_line_before_the_global_one)
{
    struct text t = state_with(
        "set forwarding flow-hash l3 flow-label false\nset vr red table 7 flow-hash symmetric\n"
        "set vr blue table 8 flow-label true flow-hash-seed 5\n");

    assert_non_null(
        strstr(text_str(&t), "vr red ns= table=7 engine=poptrie flow-hash=symmetric/0/0 cpu=1\n"));
    assert_non_null(
        strstr(text_str(&t), "vr blue ns= table=8 engine=poptrie flow-hash=l3/1/5 cpu=1\n"));
    assert_non_null(strstr(text_str(&t), "vr default engine=poptrie flow-hash=l3/0/0 cpu=1\n"));
    text_free(&t);
    // Changed in place, in both directions: "default" and both routers that follow it, or one
    // alone.
    try_pair("set vr red table 7\n", "set vr red table 7\nset forwarding flow-hash l3\n");
    try_pair("set vr red table 7\n", "set vr red table 7 flow-hash-seed 9\n");
}

change_test(seeds_of_virtual_routers_differ_and_follow_from_the_configured_one)
{
    static const char config[] =
        "set forwarding flow-hash-seed 77\nset vr red table 7\nset vr blue table 8\n";
    struct model *a = model_of(config), *b = model_of(config),
                 *other = model_of("set forwarding flow-hash-seed 78\nset vr red table 7\n");
    uint32_t red = model_find_vr(a, "red")->set.flow_hash.seed,
             blue = model_find_vr(a, "blue")->set.flow_hash.seed;

    assert_int_equal(model_vrs(a)->set.flow_hash.seed, 77);
    assert_int_not_equal(red, 0);
    assert_int_not_equal(red, 77);
    assert_int_not_equal(red, blue);
    assert_int_equal(red, model_find_vr(b, "red")->set.flow_hash.seed);
    assert_int_not_equal(red, model_find_vr(other, "red")->set.flow_hash.seed);
}

change_test(random_changes_with_every_call_failing_once)
{
    struct text a = {0}, b = {0};
    int calls = 0;

    srand(11);
    fake_config(&a);
    for (int i = 0; i < 150; i++) {
        fake_config(&b);
        calls += try_pair(text_str(&a), text_str(&b));
        struct text swap = a;
        a = b;
        b = swap;
    }
    print_message("150 random changes, %d calls, each failed once\n", calls);
    assert_true(calls > 300);
    text_free(&a);
    text_free(&b);
}

change_test(a_policy_comes_with_its_interface_and_goes_with_it)
{
    static const char with[] = "set port p0 devargs a\nset vport v1 port p0 vlan 1\n"
                               "set interface p0 urpf ipv4 strict ipv6 loose allow-default true\n"
                               "set interface v1 redirect true directed-broadcast true\n";

    assert_int_equal(try_pair("", with), 1 + 1 + 2);
    assert_int_equal(try_pair(with, ""), 2 + 1 + 1);
    assert_int_equal(try_pair(with, with), 0);
    assert_int_equal(
        try_pair(with, "set port p0 devargs a\nset vport v1 port p0 vlan 2\n"
                       "set interface p0 urpf ipv4 feasible\nset interface v1 redirect true\n"),
        2 + 2 + 1); // v1 is removed and added with its policy, p0 changes
}
