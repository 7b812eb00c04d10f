// SPDX-License-Identifier: BSD-3-Clause
// rib_neigh_test.c - neighbors and held packets: real kernel, real ARP and ND, the test plays the
// forwarder
//
// The test puts packets on the hold ring like a forwarder and reads its inject ring. The peers in
// the second namespace answer. At the end of every test each packet is accounted for.
#include <rte_mbuf.h>
#include <rte_ring.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "core/eal.h"
#include "core/rcu.h"
#include "rib/neigh.h"
#include "rib/test/rib_fixture.h"
#include "rib/vr.h"
#include "table/counter.h"
#include "table/exchange.h"
#include "table/iface.h"
#include "table/nexthop.h"
#include "table/plan.h"
#include "table/vr.h"
#include "tests/unit.h"

static uint64_t sent, received;
static uint64_t returned; // received packets without an answer: their senders must be informed
static uint64_t drops_before[DROP_N];

static uint64_t drops(enum drop_reason reason)
{
    return counter_sum_drop(reason) - drops_before[reason];
}

static uint64_t all_drops(void)
{
    uint64_t n = 0;

    for (int i = 1; i < DROP_N; i++)
        n += drops((enum drop_reason)i);
    return n;
}

static uint64_t held(void)
{
    return __atomic_load_n(&counter_of_slot(THREAD_SLOT_RIB_MANAGER)->held, __ATOMIC_RELAXED);
}

static int open_all(void **state)
{
    for (int i = 0; i < DROP_N; i++)
        drops_before[i] = counter_sum_drop((enum drop_reason)i);
    sent = received = returned = 0;
    fixture_open();
    for (int i = 1; i <= 2; i++) // forwarder 0 serves both ports
        __atomic_store_n(&plan_port_home[i], 0, __ATOMIC_RELAXED);
    return 0;
}

static void put_on_hold(const struct ip_addr *dst, uint32_t nexthop)
{
    struct rte_mbuf *m;

    while (rte_ring_full(exchange_hold))
        fixture_run(1);
    m = rte_pktmbuf_alloc(exchange_pool);
    assert_non_null(m);
    memset(rte_pktmbuf_append(m, 40), 0, 40);
    if (dst->family == IP4)
        memcpy(rte_pktmbuf_mtod_offset(m, char *, 16), dst->b, 4);
    else
        memcpy(rte_pktmbuf_mtod_offset(m, char *, 24), dst->b, 16);
    *packet_meta(m) = (struct packet_meta){
        .vr = 0, .iface = fixture_iface[2], .family = dst->family, .nexthop = nexthop};
    assert_int_equal(rte_ring_enqueue(exchange_hold, m), 0);
    sent++;
}

// Like a forwarder with a burst of n: reads the id from the FIB once; its kind decides whether the
// packets have to wait.
static bool send_burst_to(const char *text, unsigned n)
{
    struct ip_addr dst;
    uint32_t id;
    enum nexthop_kind kind;

    assert_int_equal(ip_parse(text, &dst), 0);
    rcu_online();
    id = fib_find(dst.family == IP4 ? vr_get(0)->fib4 : vr_get(0)->fib6, &dst);
    kind = nexthop_word_kind(nexthop_word(nexthop_get(id)));
    rcu_offline();
    if (kind != NEXTHOP_HOLD && kind != NEXTHOP_GLEAN)
        return false;
    while (n--)
        put_on_hold(&dst, id);
    return true;
}

static bool send_to(const char *text)
{
    return send_burst_to(text, 1);
}

// Takes a packet from our inject ring; its next hop must be resolved, or failed.
static bool receive(uint32_t *nexthop)
{
    struct rte_mbuf *m = NULL;
    enum nexthop_kind kind;

    for (int ms = 0; ms < FIXTURE_PATIENCE_MS && rte_ring_dequeue(exchange_inject[0], (void **)&m);
         ms += 5)
        fixture_run(5);
    if (!m)
        return false;
    received++;
    assert_int_equal(packet_meta(m)->kind, INJECT_NEXTHOP);
    *nexthop = packet_meta(m)->nexthop;
    kind = nexthop_word_kind(nexthop_word(nexthop_get(*nexthop)));
    if (kind == NEXTHOP_FAILED ||
        kind == NEXTHOP_UNREACHABLE) // UNREACHABLE only if the packet is read seconds later
        returned++;
    else
        assert_int_equal(kind, NEXTHOP_ADJACENCY);
    rte_pktmbuf_free(m);
    return true;
}

static void eventually_none_held(void)
{
    fixture_eventually(!held() && !rte_ring_count(exchange_hold));
}

static int close_all(void **state)
{
    uint32_t nexthop;

    while (rte_ring_count(exchange_inject[0]))
        receive(&nexthop);
    fixture_close();
    assert_int_equal(held(), 0);
    assert_int_equal(sent, received + all_drops());
    assert_int_equal(rte_mempool_in_use_count(exchange_pool), 0);
    return 0;
}

static char *peer_adjacency(int i)
{
    static char text[64];
    char mac[32] = "";
    FILE *f;

    snprintf(text, sizeof text, "nsenter -t %d -n ip -br link show p%d", fixture_peer_pid(), i);
    f = popen(text, "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%*s %*s %17s", mac), 1);
    pclose(f);
    snprintf(text, sizeof text, "adjacency e%d %s", i, mac);
    return text;
}

static void a_host_is_gleaned_and_its_packets_follow(void **state)
{
    uint32_t nexthop;

    assert_string_equal(fixture_fib("10.0.1.2"), "glean e1");
    assert_true(send_burst_to("10.0.1.2", 5));
    for (int i = 0; i < 5; i++)
        assert_true(receive(&nexthop));
    assert_int_equal(nexthop_get(nexthop)->iface, fixture_iface[1]);
    fixture_expect("10.0.1.2", peer_adjacency(1));
    assert_false(send_to("10.0.1.2"));
    assert_string_equal(fixture_fib("10.0.1.3"), "glean e1");
}

static void an_ipv6_host_is_gleaned(void **state)
{
    uint32_t nexthop;

    assert_true(send_to("fd02::2"));
    assert_true(receive(&nexthop));
    fixture_expect("fd02::2", peer_adjacency(2));
}

static void a_gateway_is_kept_resolved_without_traffic(void **state)
{
    struct neigh_row row[16];
    unsigned n, gateways = 0;

    fixture_do("ip route add 1.1.1.0/24 via 10.0.1.2; ip -6 route add 2001:db8::/32 via fd02::2");
    fixture_expect("1.1.1.1", peer_adjacency(1));
    fixture_expect("2001:db8::1", peer_adjacency(2));
    fixture_do("ip neigh show 10.0.1.2 | grep -q managed");
    n = fixture_neighbors(row, 16);
    for (unsigned i = 0; i < n; i++)
        gateways += row[i].gateway && row[i].nexthop;
    assert_int_equal(gateways, 2);
    fixture_do("ip neigh flush dev e1"); // whatever happens to the entry, it is requested again
    fixture_expect("1.1.1.1", peer_adjacency(1));
    fixture_do("ip route del 1.1.1.0/24");
    fixture_expect("1.1.1.1", "none");
    fixture_eventually(fixture_try("ip neigh show 10.0.1.2 | grep -q managed"));
}

static void packets_for_a_gateway_wait_until_it_answers(void **state)
{
    uint32_t nexthop;

    fixture_peer("ip link set p1 arp off");
    fixture_do("ip route add 1.1.1.0/24 via 10.0.1.2");
    fixture_expect("1.1.1.1", "hold e1");
    assert_true(send_to("1.1.1.1"));
    assert_true(send_to("1.1.1.200"));
    fixture_eventually(held() == 2);
    assert_int_equal(rte_ring_count(exchange_inject[0]), 0);
    fixture_peer("ip link set p1 arp on");
    assert_true(receive(&nexthop));
    assert_true(receive(&nexthop));
    fixture_expect("1.1.1.1", peer_adjacency(1));
}

static void silence_is_told_to_the_senders_and_remembered(void **state)
{
    uint32_t nexthop;

    assert_true(send_burst_to("10.0.1.77", 40));
    fixture_eventually(drops(DROP_HOLD_FULL) == 8 && held() == 32);
    fixture_expect("10.0.1.77", "failed e1");
    eventually_none_held();
    for (int i = 0; i < 32; i++)
        assert_true(receive(&nexthop));
    assert_int_equal(returned, 32);
    assert_int_equal(drops(DROP_HOLD_TIMEOUT), 0);
    assert_string_equal(fixture_fib("10.0.1.78"), "glean e1");
    fixture_expect("10.0.1.77", "glean e1"); // and may be tried again
    assert_true(send_to("10.0.1.77"));
    fixture_eventually(held() == 1);
}

static void an_address_scan_is_bounded_and_hurts_nobody(void **state)
{
    char text[32];

    fixture_do("ip addr add 10.3.0.1/16 dev e1; ip route add 1.1.1.0/24 via 10.0.2.2");
    fixture_expect("10.3.9.9", "glean e1");
    for (unsigned i = 0; i < 6000; i++) {
        snprintf(text, sizeof text, "10.3.%u.%u", 1 + i / 250, 1 + i % 250);
        send_to(text);
    }
    assert_true(held() <= neigh_limit_pending(IP4) / 2); // on one link
    fixture_eventually(drops(DROP_HOLD_LIMIT) > 4000);
    fixture_expect("1.1.1.1", peer_adjacency(2)); // a gateway is still resolved
    for (int i = 0; i < 600 && strncmp(fixture_fib("fd02::2"), "adj", 3); i++) { // tokens come back
        send_to("fd02::2");
        fixture_run(100);
    }
    fixture_expect("fd02::2", peer_adjacency(2)); // and so is a host elsewhere
    eventually_none_held();
    fixture_expect("10.3.1.1", "glean e1");
    assert_int_equal(fixture_audit(), 0);
}

static void use(uint32_t nexthop) // like a forwarder with each packet
{
    __atomic_store_n(&nexthop_used_mark[0][nexthop],
                     __atomic_load_n(&nexthop_used_epoch, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

static void used_hosts_do_not_go_stale(void **state)
{
    uint32_t nexthop;
    bool fresh = false;

    send_to("10.0.1.2");
    send_to("10.0.2.2");
    assert_true(receive(&nexthop));
    assert_true(receive(&nexthop));
    fixture_expect("10.0.1.2", peer_adjacency(1));
    fixture_expect("10.0.2.2", peer_adjacency(2));
    fixture_do("ip neigh change 10.0.1.2 dev e1 lladdr $(ip neigh show 10.0.1.2 | sed 's/.*lladdr "
           "//;s/ .*//') nud stale");
    fixture_do("ip neigh change 10.0.2.2 dev e2 lladdr $(ip neigh show 10.0.2.2 | sed 's/.*lladdr "
           "//;s/ .*//') nud stale");
    rcu_online();
    nexthop =
        fib_find(vr_get(0)->fib4, &(struct ip_addr){.family = IP4, .ip4 = RTE_BE32(0x0a000102)});
    rcu_offline();
    for (int i = 0; i < 600 && !fresh; i++) { // forwarders mark next hops in use
        use(nexthop);
        fixture_run(100);
        fresh = !fixture_try("ip neigh show 10.0.1.2 | grep -Eq 'DELAY|PROBE|REACHABLE'");
    }
    assert_true(fresh);
    fixture_do("ip neigh show 10.0.2.2 | grep -q STALE"); // this one is not in use
}

// Sends until the host is resolved on link `i`: other tests may be filling the kernel's table,
// which all namespaces share.
static void resolve(const char *host, int i)
{
    for (int k = 0; k < 600 && strncmp(fixture_fib(host), "adj", 3); k++) {
        send_to(host);
        fixture_run(100);
    }
    fixture_expect(host, peer_adjacency(i));
}

// The kernel's table is shared by all namespaces. Adds entries that are not refreshed, more than
// the table can hold.
static void fill_the_kernels_table(void)
{
    fixture_try(
        "for i in $(seq 0 1199); do echo neigh add 172.16.$((i / 250)).$((i %% 250 + 1)) dev "
        "e2 lladdr 02:00:00:00:00:01 nud stale; "
        "done | ip -force -batch - 2>/dev/null");
}

static uint32_t fib_id(uint32_t addr_be)
{
    uint32_t id;

    rcu_online();
    id = fib_find(vr_get(0)->fib4, &(struct ip_addr){.family = IP4, .ip4 = addr_be});
    rcu_offline();
    return id;
}

static void a_host_in_use_outlives_a_full_table_of_the_kernel(void **state)
{
    uint32_t nexthop;
    bool pushed_out = false;

    fixture_eventually(neigh_limit_table(IP4)->limit &&
                   neigh_limit_table(IP4)->entries < neigh_limit_table(IP4)->limit / 2);
    resolve("10.0.1.2", 1);
    resolve("10.0.2.2", 2);
    nexthop = fib_id(RTE_BE32(0x0a000102));
    fixture_peer("ip link set p1 arp off"); // the kernel does not learn it again so soon
    for (int i = 0; i < 3 && !pushed_out; i++) {
        fixture_do(
            "ip neigh change 10.0.1.2 dev e1 lladdr $(ip neigh show 10.0.1.2 | sed 's/.*lladdr "
            "//;s/ .*//') nud stale; "
            "ip neigh change 10.0.2.2 dev e2 lladdr $(ip neigh show 10.0.2.2 | sed 's/.*lladdr "
            "//;s/ .*//') nud stale; "
            "ip neigh flush to 172.16.0.0/16");
        fixture_run(6000); // entries confirmed within five seconds stay
        use(nexthop);
        fixture_stall(); // otherwise the next tick may refresh the entry first
        fill_the_kernels_table();
        pushed_out = fixture_try("ip neigh show 10.0.1.2 dev e1 | grep -q lladdr");
        fixture_go_on();
    }
    assert_true(pushed_out);
    for (int i = 0; i < 100; i++) { // for two ticks and more: programs are run, too
        use(nexthop);
        assert_string_equal(fixture_fib("10.0.1.2"), peer_adjacency(1));
        fixture_run(10);
    }
    fixture_expect("10.0.2.2", "glean e2"); // not in use
    fixture_eventually(neigh_limit_table(IP4)->refused > 0);
    fixture_do("ip neigh flush to 172.16.0.0/16");
    fixture_expect("10.0.1.2", "glean e1"); // the host does not answer, and its time is over
    fixture_peer("ip link set p1 arp on");
    resolve("10.0.1.2", 1);
}

static unsigned n_warnings;

static bool count_warnings(enum log_level level, const char *text)
{
    n_warnings += strstr(text, "neighbor table is") != NULL;
    return true;
}

static void add_1200_neighbors(const char *how)
{
    fixture_try("for i in $(seq 0 1199); do echo neigh add 172.17.$((i / 250)).$((i %% 250 + 1)) "
                "dev e2 lladdr 02:00:00:00:00:01 %s; done | ip -force -batch - 2>/dev/null",
                how);
}

// A large router has more of these entries for its interfaces than the limit; none of them counts.
static void entries_that_the_kernel_does_not_count_are_not_warned_of(void **state)
{
    fixture_eventually(neigh_limit_table(IP4)->limit);
    uint64_t evictions = neigh_limit_table(IP4)->evictions;
    n_warnings = 0;
    log_set_level(LOG_LEVEL_WARNING);
    log_set_sink(count_warnings);
    add_1200_neighbors("extern_learn nud noarp");
    fixture_eventually(neigh_limit_table(IP4)->entries > neigh_limit_table(IP4)->limit);
    assert_true(!n_warnings || neigh_limit_table(IP4)->evictions > evictions); // elsewhere
    fill_the_kernels_table();
    fixture_eventually(n_warnings > 0);
    log_set_sink(NULL);
    log_set_level(LOG_LEVEL_ERROR);
    fixture_do("ip neigh flush to 172.16.0.0/16");
    fixture_do("ip neigh flush to 172.17.0.0/16");
}

static void the_kernels_table_tells_its_size(void **state)
{
    fixture_eventually(neigh_limit_table(IP4)->limit && neigh_limit_table(IP6)->limit);
    FILE *f = fopen("/proc/sys/net/ipv4/neigh/default/gc_thresh3", "r");
    unsigned limit = 0;
    if (f) { // only the first namespace has it
        assert_int_equal(fscanf(f, "%u", &limit), 1);
        fclose(f);
        assert_int_equal(neigh_limit_table(IP4)->limit, limit);
    }
    assert_in_range(neigh_limit_pending(IP4), 2, 1024);
    assert_true(neigh_limit_pending(IP4) <= neigh_limit_table(IP4)->limit / 2 ||
                neigh_limit_pending(IP4) == 2);
}

// A more specific route moves the host to another link and back: the prefix of the route is that of
// the host itself.
static void a_host_that_a_route_moves_to_another_link_is_resolved_there(void **state)
{
    static const char *const host[2] = {"10.0.1.2", "fd01::2"};

    for (int i = 0; i < 2; i++) {
        resolve(host[i], 1);
        fixture_do("ip route add %s dev e2", host[i]);
        fixture_expect(host[i], "glean e2");
        if (i) // in IPv4 the peer answers for all its addresses on every link
            fixture_peer("ip addr add %s/128 dev p2 nodad", host[i]);
        resolve(host[i], 2);
        fixture_do("ip route del %s dev e2", host[i]);
        fixture_expect(host[i], peer_adjacency(1));
    }
}

// The kernel accepts a group MAC. Here the previous MAC stays in force, and no new host gets a
// group MAC, unless the operator configures it.
static void a_group_mac_is_believed_of_nobody(void **state)
{
    resolve("10.0.1.2", 1);
    fixture_do("ip neigh change 10.0.1.2 dev e1 lladdr 01:00:5e:00:00:01 nud stale");
    fixture_do("ip neigh replace 10.0.1.77 dev e1 lladdr ff:ff:ff:ff:ff:ff nud reachable");
    fixture_do("ip neigh replace 10.0.1.78 dev e1 lladdr 01:00:5e:00:00:01 nud permanent");
    fixture_expect("10.0.1.78",
               "adjacency e1 01:00:5e:00:00:01"); // earlier announcements have been read
    assert_string_equal(fixture_fib("10.0.1.2"), peer_adjacency(1));
    assert_string_equal(fixture_fib("10.0.1.77"), "glean e1");
}

static void packets_of_a_deleted_interface_are_counted(void **state)
{
    fixture_peer("ip link set p1 arp off");
    assert_true(send_to("10.0.1.2"));
    fixture_eventually(held() == 1);
    assert_int_equal(rib_manager_iface_del(fixture_iface[1]), 0);
    assert_int_equal(held(), 0);
    assert_int_equal(drops(DROP_HOLD_GONE), 1);
}

static void without_a_forwarder_packets_are_counted(void **state)
{
    __atomic_store_n(&plan_port_home[1], PLAN_TX_NONE, __ATOMIC_RELAXED);
    assert_true(send_to("10.0.1.2"));
    fixture_expect("10.0.1.2", peer_adjacency(1));
    eventually_none_held();
    assert_int_equal(drops(DROP_INJECT_NO_FORWARDER), 1);
}

static void read_no_managed(void *arg)
{
    *(bool *)arg = rib_vr_find(VR_DEFAULT)->no_managed;
}

// The kernel refuses the group entries there. That does not mean that it lacks NTF_MANAGED.
static void an_interface_without_ipv6_leaves_gateways_to_the_kernel(void **state)
{
    bool no_managed = false;

    fixture_do("ip link set e1 down; ip link set e1 mtu 1200; ip link set e1 up");
    fixture_run(500);
    fixture_in_rib_manager(read_no_managed, &no_managed);
    assert_false(no_managed);
}

// `rib_neigh_test full` runs the test that fills the kernel's table, which all namespaces share.
int main(int argc, char **argv)
{
#define T(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)
    const struct CMUnitTest tests[] = {
        T(a_host_is_gleaned_and_its_packets_follow),
        T(an_ipv6_host_is_gleaned),
        T(a_gateway_is_kept_resolved_without_traffic),
        T(packets_for_a_gateway_wait_until_it_answers),
        T(silence_is_told_to_the_senders_and_remembered),
        T(an_address_scan_is_bounded_and_hurts_nobody),
        T(used_hosts_do_not_go_stale),
        T(a_host_that_a_route_moves_to_another_link_is_resolved_there),
        T(the_kernels_table_tells_its_size),
        T(a_group_mac_is_believed_of_nobody),
        T(packets_of_a_deleted_interface_are_counted),
        T(without_a_forwarder_packets_are_counted),
        T(an_interface_without_ipv6_leaves_gateways_to_the_kernel),
    };
    const struct CMUnitTest full[] = {
        T(entries_that_the_kernel_does_not_count_are_not_warned_of),
        T(a_host_in_use_outlives_a_full_table_of_the_kernel),
    };
    char name[32], err[200];
    int failed;

    unit_begin(NULL);
    snprintf(name, sizeof name, "rib-neigh-test-%d", getpid());
    if (eal_init(&(struct eal_config){.name = name, .memory_mib = 64, .no_huge = true}, err,
                 sizeof err)) {
        fprintf(stderr, "%s\n", err);
        return 1;
    }
    if (exchange_init(2047, 256))
        return 1;
    failed = argc > 1 && !strcmp(argv[1], "full") ? cmocka_run_group_tests(full, NULL, NULL)
                                                  : cmocka_run_group_tests(tests, NULL, NULL);
    exchange_fini();
    eal_fini();
    unit_end(NULL);
    return failed;
}
