// SPDX-License-Identifier: BSD-3-Clause
// rib_sync_test.c - lost events, several routers, walks during change, against the real kernel
//
// The tests lose events in a tiny receive buffer, delay rib_manager, and change routes during dumps
// and walks. Afterwards they compare the RIB with the kernel.
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "rib/test/rib_fixture.h"
#include "rib/vr.h"
#include "table/iface.h"
#include "table/vr.h"
#include "tests/unit.h"

static int open_fixture(void **state)
{
    fixture_open();
    return 0;
}

static int open_tiny(void **state)
{
    fixture_open_with(4096); // room for a handful of events
    return 0;
}

static int open_large(void **state)
{
    fixture_open_with(128u << 20);
    return 0;
}

static int close_fixture(void **state)
{
    fixture_close();
    return 0;
}

// `ip -batch` of n routes 30.x.y.0/24, starting at `from`.
static void batch(const char *verb, unsigned from, unsigned n, const char *tail)
{
    char name[] = "/tmp/fixture-batch-XXXXXX";
    int fd = mkstemp(name);
    FILE *f;

    assert_true(fd >= 0);
    f = fdopen(fd, "w");
    for (unsigned i = from; i < from + n; i++)
        fprintf(f, "route %s 30.%u.%u.0/24 %s\n", verb, i / 256, i % 256, tail);
    fclose(f);
    fixture_try("ip -force -batch %s", name); // some fail on purpose; also called in a child
    unlink(name);
}

static uint64_t wait_routes(uint64_t n)
{
    struct rib_stats s = {0};
    unsigned ms = 0;

    do {
        fixture_run(20);
        fixture_stats(&s);
    } while (s.family[0].by_protocol[4] != n && (ms += 20) < FIXTURE_PATIENCE_MS);
    return s.family[0].by_protocol[4];
}

static void expect_same(const char *a, const char *b)
{
    char text[80];

    fixture_eventually(
        (snprintf(text, sizeof text, "%s", fixture_fib(a)), !strcmp(text, fixture_fib(b))));
}

unit_test_of(overrun_ends_with_fib_equal_to_kernel, open_tiny, close_fixture)
{
    struct rib_stats s;

    fixture_stall();
    batch("add", 0, 4000, "via 10.0.1.2 proto static");
    fixture_go_on();
    assert_int_equal(wait_routes(4000), 4000);
    fixture_stall();
    batch("del", 1000, 2000, "");
    batch("replace", 0, 500, "via 10.0.2.2 proto static");
    fixture_go_on();
    assert_int_equal(wait_routes(2000), 2000);
    fixture_stats(&s);
    assert_true(s.overruns > 0);                            // otherwise the buffer was not tiny
    fixture_eventually((fixture_stats(&s), s.resyncs > 1)); // it ends after the routes
    expect_same("30.15.1.1", "30.14.1.1");
    assert_string_equal(fixture_fib("30.5.0.1"), "none");
    assert_ptr_equal(strstr(fixture_routes("30.1.0.0/24"), "10.0.2.2@e2"),
                     fixture_routes("30.1.0.0/24"));
    for (int i = 0; fixture_audit() && i < 5; i++)
        ;
    assert_int_equal(fixture_audit(), 0);
}

unit_test_of(overrun_by_link_and_route_churn_is_repaired, open_tiny, close_fixture)
{
    struct rib_stats s;
    pid_t pid = fork();

    if (!pid) {
        for (int i = 0; i < 8; i++) {
            fixture_try("ip link set e1 down; ip link set e1 up");
            batch("append", 0, 300, "via 10.0.1.2 proto static metric 5");
            batch("prepend", 100, 300, "via 10.0.2.2 proto static metric 5");
            fixture_try("ip nexthop replace id 10 via 10.0.1.2 dev e1");
            batch("replace", 400, 50, "nhid 10 proto static");
            batch("del", 50, 200, "via 10.0.2.2 metric 5");
        }
        _exit(0);
    }
    while (!waitpid(pid, NULL, WNOHANG)) {
        fixture_stall();
        fixture_run(20);
        fixture_go_on();
        fixture_run(30);
    }
    fixture_stats(&s);
    assert_true(s.overruns > 0);
    for (int i = 0; i < 10 && fixture_audit();
         i++) // the first finds the changes that the tail of the churn had lost
        fixture_run(100);
    assert_int_equal(fixture_audit(), 0);
}

// Changes route number i directly in the kernel: faster than `ip -batch`.
static void change6(struct mnl_socket *nl, unsigned i, bool del)
{
    static char buf[64 * 128];
    static size_t used;
    struct nlmsghdr *h = mnl_nlmsg_put_header(buf + used);
    struct rtmsg *r = mnl_nlmsg_put_extra_header(h, sizeof *r);
    uint8_t dst[16] = {0x20, 0x01, 0x0d, 0xb8, (uint8_t)(i >> 8), (uint8_t)i};
    uint8_t gateway[16] = {0xfd, 1, [15] = 2};

    h->nlmsg_type = del ? RTM_DELROUTE : RTM_NEWROUTE;
    h->nlmsg_flags = NLM_F_REQUEST | (del ? 0 : NLM_F_CREATE | NLM_F_REPLACE);
    *r = (struct rtmsg){.rtm_family = AF_INET6,
                        .rtm_dst_len = 48,
                        .rtm_table = RT_TABLE_MAIN,
                        .rtm_protocol = RTPROT_STATIC,
                        .rtm_type = RTN_UNICAST};
    mnl_attr_put(h, RTA_DST, 16, dst);
    if (!del)
        mnl_attr_put(h, RTA_GATEWAY, 16, gateway);
    used += MNL_ALIGN(h->nlmsg_len);
    if (used + 128 <= sizeof buf)
        return;
    mnl_socket_sendto(nl, buf, used);
    used = 0;
    while (recv(mnl_socket_get_fd(nl), buf, sizeof buf, MSG_DONTWAIT) > 0) // refusals
        ;
}

static struct mnl_socket *open_kernel(void)
{
    struct mnl_socket *nl = mnl_socket_open(NETLINK_ROUTE);

    bug_on(!nl || mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID));
    return nl;
}

// Random changes until the pipe is closed; at most 4,096 per byte received from the pipe, so that
// no socket overruns however late the reader is.
static void churn6(int credit)
{
    struct mnl_socket *nl = open_kernel();
    unsigned seed = 5;
    char more;

    while (read(credit, &more, 1) == 1)
        for (unsigned i = 0; i < 4096; i++) {
            change6(nl, (unsigned)rand_r(&seed) % 65536, rand_r(&seed) & 1);
            if (i % 64 == 0)
                usleep(1500);
        }
    _exit(0);
}

// The kernel's IPv6 dump counts its way through a changing tree, and skips rows: these must not be
// taken for deletions.
unit_test_of(audits_during_ipv6_changes_find_nothing, open_large, close_fixture)
{
    uint64_t until = clock_now_ns() + 2 * NS_PER_SECOND;
    struct rib_stats before, s;
    struct mnl_socket *nl;
    int credit[2];
    pid_t pid;

    nl = open_kernel();
    for (unsigned i = 0; i < 65536; i++)
        change6(nl, i, false);
    mnl_socket_close(nl);
    for (int i = 0; i < 50 && fixture_audit(); i++) // until the events have been read
        fixture_run(20);
    fixture_stats(&before);
    assert_int_equal(pipe(credit), 0);
    pid = fork();
    if (!pid) {
        close(credit[1]);
        churn6(credit[0]);
    }
    close(credit[0]);
    do {
        assert_int_equal(write(credit[1], "", 1), 1);
        fixture_audit(); // may see a change whose event comes a moment later, but must not lose
                         // anything
    } while (clock_now_ns() < until);
    close(credit[1]);
    waitpid(pid, NULL, 0);
    fixture_run(200); // all events are read: now nothing may differ
    fixture_stats(&s);
    assert_true(rib_vr_find(VR_DEFAULT)->events.ahead_batches > 0); // events among them
    assert_int_equal(s.overruns, before.overruns);
    assert_int_equal(s.swept, before.swept);
    assert_int_equal(fixture_audit(), 0);
}

#define rib_test(name) unit_test_of(name, open_fixture, close_fixture)

rib_test(a_router_in_another_namespace_has_its_own_routes)
{
    struct vr *first = vr_get(VR_DEFAULT), *blue = vr_new("blue");
    char path[64];
    int fd;

    snprintf(path, sizeof path, "/proc/%d/ns/net", fixture_peer_pid());
    fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(rib_manager_vr_add(blue->id, fd, 254), 0);
    assert_int_equal(rib_manager_vr_add(blue->id, fd, 254), -EEXIST);
    close(fd);
    fixture_do("ip route add 7.0.0.0/8 via 10.0.1.2");
    fixture_peer("ip route add blackhole 7.0.0.0/8");
    fixture_expect("10.0.1.1", "local");
    fixture_select(blue);
    fixture_expect("10.0.1.2", "local");
    fixture_expect("7.1.1.1", "blackhole");
    fixture_expect("10.0.1.1", "unreachable"); // p1 is not one of our interfaces
    assert_int_equal(fixture_audit(), 0);
    assert_int_equal(rib_manager_vr_del(blue->id), 0);
    assert_int_equal(rib_manager_vr_del(blue->id), -ENOENT);
    vr_free(blue);
    fixture_select(first);
    assert_true(strcmp(fixture_fib("7.1.1.1"), "blackhole"));
    assert_int_equal(fixture_audit(), 0);
}

rib_test(a_router_may_be_a_kernel_table)
{
    struct vr *first = vr_get(VR_DEFAULT), *red = vr_new("red");

    assert_int_equal(rib_manager_vr_add(red->id, -1, 100), 0);
    assert_int_equal(rib_manager_iface_del(fixture_iface[1]), 0);
    iface_get(fixture_iface[1])->vr = red->id;
    assert_int_equal(rib_manager_iface_add(fixture_iface[1]), 0);
    fixture_do("ip neigh replace 10.0.1.2 lladdr 02:00:00:00:01:02 dev e1 nud permanent");
    fixture_do("ip neigh replace 10.0.2.2 lladdr 02:00:00:00:02:02 dev e2 nud permanent");
    fixture_do(
        "ip route add 8.0.0.0/8 via 10.0.1.2 table 100; ip route add 8.0.0.0/8 via 10.0.2.2");
    fixture_expect("8.1.1.1", "adjacency e2 02:00:00:00:02:02");
    fixture_select(red);
    fixture_expect("8.1.1.1", "adjacency e1 02:00:00:00:01:02");
    fixture_expect("10.0.1.1",
                   "local"); // the namespace's local table, but only its routes on our interfaces
    fixture_expect("10.0.2.1", "none");
    assert_int_equal(fixture_audit(), 0);
    batch("add", 0, 2000, "via 10.0.2.2 proto static");
    fixture_select(first);
    assert_int_equal(wait_routes(2000), 2000);
    fixture_select(red);
    fixture_audit(); // all events have been read after it
    uint64_t before = rib_vr_find(red->id)->messages;
    assert_int_equal(fixture_audit(), 0);
    assert_true(rib_vr_find(red->id)->messages - before < 1000); // other tables are not dumped
    fixture_do("ip route flush table 100");                      // which is gone then
    fixture_expect("8.1.1.1", "none");
    assert_int_equal(fixture_audit(), 0);
    assert_int_equal(rib_manager_iface_del(fixture_iface[1]), 0);
    assert_int_equal(rib_manager_vr_del(red->id), 0);
    vr_free(red);
    fixture_select(first);
    iface_get(fixture_iface[1])->vr = first->id;
    assert_int_equal(rib_manager_iface_add(fixture_iface[1]), 0);
}

// Asserts that of 2,000 routes of another table none is sent to it, neither as rows nor as events.
static void hears_of_no_other(uint32_t own, uint32_t other)
{
    struct vr *first = vr_get(VR_DEFAULT), *red = vr_new("red");
    char tail[64], tail_own[64];
    struct rib_stats s, later;

    snprintf(tail, sizeof tail, "via 10.0.2.2 table %u", other);
    snprintf(tail_own, sizeof tail_own, "via 10.0.2.2 table %u", own);
    batch("add", 0, 2000, tail);
    batch("add", 0, 300, tail_own);
    assert_int_equal(rib_manager_vr_add(red->id, -1, own), 0);
    fixture_select(red);
    fixture_eventually((fixture_stats(&s), s.synced && s.family[0].routes == 300));
    assert_in_range(s.messages, 300, 1000);
    batch("add", 2000, 2000, tail);
    batch("del", 10, 290, tail_own); // behind them in the queue
    fixture_eventually((fixture_stats(&later), later.family[0].routes == 10));
    assert_in_range(later.messages - s.messages, 290, 1000);
    assert_int_equal(fixture_audit(), 0);
    batch("del", 0, 10, tail_own);
    batch("del", 0, 4000, tail);
    assert_int_equal(rib_manager_vr_del(red->id), 0);
    vr_free(red);
    fixture_select(first);
}

rib_test(a_router_with_a_table_hears_of_no_other)
{
    hears_of_no_other(100, 101);
    hears_of_no_other(70000, 70001); // wider than a byte
    hears_of_no_other(70002, 102);
}

// --- walks ---

struct seen {
    unsigned n, chunks, pause_every;
    struct prefix last;
    bool done;
    int result;
    struct rib_walk *walk;
};

static bool see(void *ctx, const struct rib_row *row, unsigned n)
{
    struct seen *s = ctx;

    for (unsigned i = 0; i < n; i++) {
        if (s->n + i)
            assert_true(prefix_compare(&s->last, &row[i].prefix) < 0); // in order, none twice
        s->last = row[i].prefix;
    }
    s->n += n;
    s->chunks++;
    return !s->pause_every || s->chunks % s->pause_every;
}

static void seen_all(void *ctx, int result)
{
    struct seen *s = ctx;

    s->done = true;
    s->result = result;
}

rib_test(a_walk_during_changes_keeps_its_order)
{
    struct rib_query q = {.vr = 0, .family = IP4, .match = RIB_ALL, .protocol = -1, .type = -1};
    struct seen s = {.pause_every = 3};
    unsigned ms = 0;
    pid_t pid;

    batch("add", 0, 3000, "via 10.0.1.2 proto static");
    assert_int_equal(wait_routes(3000), 3000);
    pid = fork();
    if (!pid) {
        for (int i = 0; i < 5; i++) {
            batch("del", 500, 1500, "");
            batch("add", 500, 1500, "via 10.0.2.2");
        }
        _exit(0);
    }
    for (int i = 0; i < 10; i++) {
        unsigned chunks = 0;

        s = (struct seen){.pause_every = 3};
        s.walk = rib_walk_open(&q, see, seen_all, &s);
        assert_non_null(s.walk);
        while (!s.done && ms++ < FIXTURE_PATIENCE_MS) {
            fixture_run(1);
            if (s.chunks != chunks && s.chunks % 3 == 0 && !s.done)
                rib_walk_more(s.walk);
            chunks = s.chunks;
        }
        assert_true(s.done && !s.result);
        assert_true(s.n >= 1500);
    }
    waitpid(pid, NULL, 0);
}

rib_test(a_closed_walk_calls_nobody)
{
    struct rib_query q = {.vr = 0, .family = IP4, .match = RIB_ALL, .protocol = -1, .type = -1};
    struct seen s = {0};

    s.walk = rib_walk_open(&q, see, seen_all, &s);
    rib_walk_close(s.walk);
    fixture_run(50);
    assert_int_equal(s.chunks, 0);
    assert_false(s.done);
    q.vr = 77; // no such router
    s.walk = rib_walk_open(&q, see, seen_all, &s);
    fixture_eventually(s.done);
    assert_int_equal(s.result, -ENOENT);
}

static unsigned rows_of(const char *prefix, int match, int protocol)
{
    struct rib_query q = {.vr = 0, .match = match, .protocol = protocol, .type = -1};
    struct rib_row row[4];

    assert_int_equal(prefix_parse(prefix, &q.prefix, true), 0);
    q.family = q.prefix.family;
    return fixture_rows(&q, row, 4);
}

rib_test(queries_choose_rows)
{
    struct rib_query q = {
        .vr = 0, .family = IP4, .match = RIB_LONGEST_MATCH, .protocol = -1, .type = -1};
    struct rib_row row[4];

    // Before the routes: a request to resolve a neighbor would clear "permanent".
    fixture_do("ip neigh replace 10.0.2.2 lladdr 02:00:00:00:02:02 dev e2 nud permanent");
    batch("add", 0, 600, "via 10.0.1.2 proto static");
    fixture_do(
        "ip route add 30.0.0.0/8 via 10.0.2.2 proto bgp; ip route add 30.0.0.0/8 via 10.0.2.3 "
        "metric 5");
    fixture_do("ip route add 0.0.0.0/0 via 10.0.2.2");
    fixture_expect("99.0.0.1", "adjacency e2 02:00:00:00:02:02");
    assert_int_equal(rows_of("30.0.7.0/24", RIB_EXACT, -1), 1);
    assert_int_equal(rows_of("30.0.0.0/8", RIB_EXACT, -1), 2);
    assert_int_equal(rows_of("30.0.0.0/8", RIB_EXACT, 186), 1);
    assert_int_equal(rows_of("30.0.0.0/8", RIB_LONGER, -1), 602);
    assert_int_equal(rows_of("30.1.0.0/16", RIB_LONGER, -1), 256);
    assert_int_equal(rows_of("30.1.0.0/16", RIB_LONGER, 186), 0);
    assert_int_equal(rows_of("30.99.0.0/16", RIB_EXACT, -1), 0);
    prefix_parse("30.1.2.3", &q.prefix, true);
    assert_int_equal(fixture_rows(&q, row, 4), 1);
    assert_int_equal(row[0].prefix.len, 24);
    assert_true(row[0].active && row[0].n_hops == 1);
    assert_string_equal(row[0].hop[0].iface, "e1");
    prefix_parse("30.99.2.3", &q.prefix, true);
    assert_int_equal(fixture_rows(&q, row, 4), 2);
    assert_true(row[0].active && !row[1].active);
    assert_int_equal(row[0].protocol, 186);
    prefix_parse("99.0.0.1", &q.prefix, true);
    assert_int_equal(fixture_rows(&q, row, 4), 1);
    assert_int_equal(row[0].prefix.len, 0);
}

static uint32_t address4(const struct iface *i)
{
    return be32toh(__atomic_load_n(&i->addr4, __ATOMIC_RELAXED));
}

rib_test(addresses_for_icmp_errors_follow_the_kernel)
{
    const struct iface *i = iface_get(fixture_iface[1]);

    fixture_eventually(address4(i) == 0x0a000101 && i->addr6[0] == 0xfd);
    fixture_do(
        "ip addr add 10.0.1.7/24 dev e1; ip addr del fe80::1/64 dev e1; ip addr add fe80::77/64 "
        "dev e1 nodad");
    fixture_eventually(i->addr6_ll[15] == 0x77);
    assert_int_equal(address4(i), 0x0a000101); // the primary one stays
    fixture_do("sysctl -qw net.ipv4.conf.e1.promote_secondaries=1; ip addr del 10.0.1.1/24 dev e1");
    fixture_eventually(address4(i) == 0x0a000107);
    fixture_do("ip addr flush dev e1");
    fixture_eventually(!address4(i) && !i->addr6[0] && !i->addr6_ll[0]);
}

// Delays rib_manager, as a hundred routers that read their tables would: the rest of the dump has
// arrived, but is not read.
static void be_late(void *missed)
{
    struct rib_vr *v = rib_vr_find(VR_DEFAULT);
    uint64_t now = clock_now_ns();

    rib_sync_want(v, RIB_STAGES_ALL, 0);
    while (v->sync.stage < 0 || !netlink_has_more(&v->events))
        rib_vr_turn(v);
    uint32_t asked = v->sync.seq;
    rib_sync_watch(v, now);
    rib_sync_watch(v, now + 10 * NS_PER_SECOND);
    *(bool *)missed = v->sync.seq != asked;
}

rib_test(a_dump_that_waits_to_be_read_is_not_silent)
{
    bool missed = true;

    fixture_in_rib_manager(be_late, &missed);
    assert_false(missed);
}

// In the middle of a route dump the kernel announces e1 again. Is the dump in doubt from there on?
static bool is_unsure_after(struct rib_vr *v, unsigned flags, uint32_t mtu)
{
    struct rib_link *l = rib_link_find(v, iface_get(fixture_iface[1])->ifindex);
    char space[512] __attribute__((aligned(4))) = {0};
    struct nlmsghdr *h = mnl_nlmsg_put_header(space);
    struct ifinfomsg *m = mnl_nlmsg_put_extra_header(h, sizeof *m);

    h->nlmsg_type = RTM_NEWLINK;
    m->ifi_index = l->ifindex;
    m->ifi_flags = flags;
    mnl_attr_put_u32(h, IFLA_MTU, mtu ? mtu : l->told.mtu);
    mnl_attr_put_strz(h, IFLA_IFNAME, l->name);
    v->sync.stage = RIB_STAGE_ROUTE4;
    rib_gaps_begin(&v->sync.gaps, IP4);
    rib_sync_message(v, h);
    v->sync.stage = -1;
    return v->sync.gaps.deleted_any;
}

static void tell_of_links(void *unsure)
{
    struct rib_vr *v = rib_vr_find(VR_DEFAULT);
    bool *is = unsure;

    is[0] = is_unsure_after(v, IFF_UP | IFF_RUNNING, 0); // as it was
    is[1] = is_unsure_after(v, IFF_UP, 0);               // its carrier is lost
    is[2] = is_unsure_after(v, IFF_UP | IFF_RUNNING, 0); // and there again
    is[3] = is_unsure_after(v, IFF_UP | IFF_RUNNING, 1400);
    is[4] = is_unsure_after(v, 0, 0);                    // down
    is[5] = is_unsure_after(v, IFF_UP | IFF_RUNNING, 0); // up
    rib_sync_want(v, RIB_STAGES_ALL, 0);                 // none of it was true: dump again
}

rib_test(a_link_that_takes_no_routes_spoils_no_dump)
{
    const bool expected[] = {false, true, false, true, true, false};
    bool unsure[6];

    fixture_in_rib_manager(tell_of_links, unsure);
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(unsure[i], expected[i]);
}
