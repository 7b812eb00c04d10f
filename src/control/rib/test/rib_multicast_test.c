// SPDX-License-Identifier: BSD-3-Clause
// rib_multicast_test.c - configured multicast routes, and kernel routes made by this program like a
// routing daemon, on a real kernel
#include <arpa/inet.h>
#include <errno.h>
#include <linux/mroute.h>
#include <linux/mroute6.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rib/test/rib_fixture.h"
#include "table/iface.h"
#include "table/multicast.h"
#include "table/vr.h"
#include "tests/unit.h"

static int daemon4 = -1, daemon6 = -1; // a daemon's sockets to the kernel

static void must(int result)
{
    if (result)
        fail_msg("%s", strerror(errno));
}

// Takes e1 and e2 as interfaces 0 and 1.
static void daemon_start(void)
{
    int one = 1;

    daemon4 = socket(AF_INET, SOCK_RAW, IPPROTO_IGMP);
    daemon6 = socket(AF_INET6, SOCK_RAW, IPPROTO_ICMPV6);
    must(setsockopt(daemon4, IPPROTO_IP, MRT_INIT, &one, sizeof one));
    must(setsockopt(daemon6, IPPROTO_IPV6, MRT6_INIT, &one, sizeof one));
    for (unsigned i = 0; i < 2; i++) {
        unsigned ifindex = if_nametoindex(i ? "e2" : "e1");
        struct vifctl v4 = {.vifc_vifi = (vifi_t)i,
                            .vifc_flags = VIFF_USE_IFINDEX,
                            .vifc_threshold = 1,
                            .vifc_lcl_ifindex = (int)ifindex};
        struct mif6ctl v6 = {
            .mif6c_mifi = (mifi_t)i, .vifc_threshold = 1, .mif6c_pifi = (uint16_t)ifindex};
        must(setsockopt(daemon4, IPPROTO_IP, MRT_ADD_VIF, &v4, sizeof v4));
        must(setsockopt(daemon6, IPPROTO_IPV6, MRT6_ADD_MIF, &v6, sizeof v6));
    }
}

static void daemon_stop(void)
{
    close(daemon4);
    close(daemon6);
    daemon4 = daemon6 = -1;
}

// Route from e1 to e2, for any source if none is given.
static void kernel_route4(const char *source, const char *group, bool add)
{
    struct mfcctl c = {.mfcc_parent = 0};

    c.mfcc_origin.s_addr = source ? inet_addr(source) : 0;
    c.mfcc_mcastgrp.s_addr = inet_addr(group);
    c.mfcc_ttls[1] = 5;
    if (!source)
        c.mfcc_ttls[0] = 1; // required by the kernel
    must(setsockopt(daemon4, IPPROTO_IP,
                    source ? (add ? MRT_ADD_MFC : MRT_DEL_MFC)
                    : add  ? MRT_ADD_MFC_PROXY
                           : MRT_DEL_MFC_PROXY,
                    &c, sizeof c));
}

static void kernel_route6(const char *source, const char *group, bool add)
{
    struct mf6cctl c = {.mf6cc_parent = 0};

    inet_pton(AF_INET6, source, &c.mf6cc_origin.sin6_addr);
    inet_pton(AF_INET6, group, &c.mf6cc_mcastgrp.sin6_addr);
    c.mf6cc_origin.sin6_family = c.mf6cc_mcastgrp.sin6_family = AF_INET6;
    IF_SET(1, &c.mf6cc_ifset);
    must(setsockopt(daemon6, IPPROTO_IPV6, add ? MRT6_ADD_MFC : MRT6_DEL_MFC, &c, sizeof c));
}

static struct multicast_key key(const char *source, const char *group)
{
    struct multicast_key k = {.family = strchr(group, ':') ? IP6 : IP4};

    inet_pton(k.family == IP4 ? AF_INET : AF_INET6, group, k.group);
    if (source)
        inet_pton(k.family == IP4 ? AF_INET : AF_INET6, source, k.source);
    return k;
}

static uint16_t looked_at; // virtual router

// The table's entry: "e1 > e2/5 kernel", "none".
static const char *entry(const char *source, const char *group)
{
    static char text[200];
    struct multicast_key k = key(source, group);
    const struct multicast_table *t = multicast_table[looked_at][k.family == IP6];
    const struct multicast_entry *e = t ? multicast_find(t, &k) : NULL;
    int n;

    if (!e)
        return "none";
    n = snprintf(text, sizeof text, "%s >", e->in ? iface_get(e->in)->name : "-");
    for (unsigned i = 0; i < e->n_out; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, " %s/%u", iface_get(e->out[i].iface)->name,
                      e->out[i].ttl);
    snprintf(text + n, sizeof text - (size_t)n, "%s%s%s",
             e->flags & MULTICAST_KERNEL ? " kernel" : "", e->flags & MULTICAST_SLOW ? " slow" : "",
             e->flags & MULTICAST_TREE ? " tree" : "");
    return text;
}

static bool is(const char *source, const char *group, const char *want)
{
    return !strcmp(entry(source, group), want);
}

static bool has_join(unsigned iface, const char *group)
{
    struct multicast_key k = key(NULL, group);
    const struct multicast_table *t = multicast_table[0][k.family == IP6];

    k.iface = fixture_iface[iface];
    return t && multicast_find(t, &k);
}

static int open_all(void **state)
{
    fixture_open();
    return 0;
}

static int close_all(void **state)
{
    if (daemon4 >= 0)
        daemon_stop();
    fixture_close();
    return 0;
}

#define multicast_test(name) unit_test_of(name, open_all, close_all)

multicast_test(routes_of_the_kernel_come_and_go)
{
    daemon_start();
    kernel_route4("10.0.1.2", "239.1.1.1", true);
    kernel_route4(NULL, "239.1.1.2", true);
    kernel_route6("fd01::2", "ff1e::1", true);
    fixture_eventually(is("10.0.1.2", "239.1.1.1", "e1 > e2/5 kernel"));
    fixture_eventually(is(NULL, "239.1.1.2", "e1 > e1/1 e2/5 kernel tree"));
    fixture_eventually(is("fd01::2", "ff1e::1", "e1 > e2/1 kernel"));
    kernel_route4("10.0.1.2", "239.1.1.1", false);
    kernel_route6("fd01::2", "ff1e::1", false);
    fixture_eventually(is("10.0.1.2", "239.1.1.1", "none"));
    fixture_eventually(is("fd01::2", "ff1e::1", "none"));
    assert_true(is(NULL, "239.1.1.2", "e1 > e1/1 e2/5 kernel tree"));
    assert_int_equal(fixture_audit(), 0);
    daemon_stop(); // the kernel forgets them all
    fixture_eventually(is(NULL, "239.1.1.2", "none"));
}

multicast_test(interfaces_tell_whether_a_daemon_works_on_them)
{
    assert_int_equal(multicast_daemon[fixture_iface[1]], 0);
    daemon_start();
    fixture_eventually(multicast_daemon[fixture_iface[1]] == 3 &&
                       multicast_daemon[fixture_iface[2]] == 3);
    daemon_stop();
    fixture_eventually(multicast_daemon[fixture_iface[1]] == 0 &&
                       multicast_daemon[fixture_iface[2]] == 0);
}

multicast_test(what_was_there_before_us_is_dumped)
{
    daemon_start();
    kernel_route4("10.0.1.2", "239.1.1.1", true);
    fixture_eventually(is("10.0.1.2", "239.1.1.1", "e1 > e2/5 kernel"));
    // a router that begins now: the same kernel, dumped for the first time; the interfaces belong
    // to the other router
    struct vr *late = vr_new("late");
    assert_non_null(late);
    assert_int_equal(rib_manager_vr_add(late->id, -1, 254), 0);
    looked_at = late->id;
    fixture_eventually(is("10.0.1.2", "239.1.1.1", "- > kernel slow"));
    assert_int_equal(rib_manager_vr_del(late->id), 0);
    assert_true(is("10.0.1.2", "239.1.1.1", "none"));
    vr_free(late);
    looked_at = 0;
    assert_true(is("10.0.1.2", "239.1.1.1", "e1 > e2/5 kernel"));
}

multicast_test(an_output_that_is_not_ours_leaves_the_route_to_the_kernel)
{
    struct vifctl v = {.vifc_vifi = 2, .vifc_flags = VIFF_USE_IFINDEX, .vifc_threshold = 1};
    struct mfcctl c = {.mfcc_parent = 0};

    daemon_start();
    fixture_do(
        "ip link add foreign type veth peer name other && ip addr add 10.0.9.1/24 dev foreign "
        "&& ip link set foreign up");
    v.vifc_lcl_ifindex = (int)if_nametoindex("foreign");
    must(setsockopt(daemon4, IPPROTO_IP, MRT_ADD_VIF, &v, sizeof v));
    c.mfcc_origin.s_addr = inet_addr("10.0.1.2");
    c.mfcc_mcastgrp.s_addr = inet_addr("239.1.1.1");
    c.mfcc_ttls[1] = c.mfcc_ttls[2] = 1;
    must(setsockopt(daemon4, IPPROTO_IP, MRT_ADD_MFC, &c, sizeof c));
    fixture_eventually(is("10.0.1.2", "239.1.1.1", "e1 > e2/1 kernel slow"));
    must(setsockopt(daemon4, IPPROTO_IP, MRT_DEL_VIF, &v,
                    sizeof v)); // which the kernel does not announce
    fixture_eventually(is("10.0.1.2", "239.1.1.1", "e1 > e2/1 kernel"));
    fixture_do("ip link del foreign");
}

static struct multicast_static fixed(const char *source, const char *group, const char *in,
                                     const char *out)
{
    struct multicast_static s = {.key = key(source, group), .n_out = 1, .out[0].ttl = 3};

    snprintf(s.in, sizeof s.in, "%s", in);
    snprintf(s.out[0].iface, sizeof s.out[0].iface, "%s", out);
    return s;
}

multicast_test(configured_routes_go_before_the_kernels)
{
    struct multicast_static s = fixed("10.0.1.2", "239.1.1.1", "e2", "e1"),
                            none = fixed(NULL, "239.9.9.9", "e2", "e1");

    assert_int_equal(rib_manager_multicast_set("default", &s), 0);
    assert_true(is("10.0.1.2", "239.1.1.1", "e2 > e1/3"));
    daemon_start();
    kernel_route4("10.0.1.2", "239.1.1.1", true);
    kernel_route4("10.0.1.2", "239.1.1.3", true);
    fixture_eventually(is("10.0.1.2", "239.1.1.3", "e1 > e2/5 kernel"));
    assert_true(is("10.0.1.2", "239.1.1.1", "e2 > e1/3"));
    assert_int_equal(rib_manager_multicast_del("default", &s.key), 0);
    assert_true(is("10.0.1.2", "239.1.1.1", "e1 > e2/5 kernel"));
    assert_int_equal(rib_manager_multicast_del("default", &s.key), -ENOENT);
    assert_int_equal(rib_manager_multicast_del("default", &none.key), -ENOENT);
    assert_int_equal(rib_manager_multicast_set("nowhere", &s), -ENOENT); // no such virtual router
}

multicast_test(routes_follow_their_interfaces)
{
    struct multicast_static s = fixed(NULL, "ff1e::7", "e1", "e2");

    assert_int_equal(rib_manager_multicast_set("default", &s), 0);
    daemon_start();
    kernel_route4("10.0.1.2", "239.1.1.1", true);
    fixture_eventually(is("10.0.1.2", "239.1.1.1", "e1 > e2/5 kernel"));
    assert_true(is(NULL, "ff1e::7", "e1 > e2/3"));
    assert_int_equal(rib_manager_iface_del(fixture_iface[2]), 0);
    assert_true(is(NULL, "ff1e::7", "e1 >"));
    assert_true(is("10.0.1.2", "239.1.1.1", "e1 > kernel slow"));
    assert_int_equal(multicast_daemon[fixture_iface[2]], 0);
    assert_int_equal(rib_manager_iface_add(fixture_iface[2]), 0);
    assert_true(is(NULL, "ff1e::7", "e1 > e2/3"));
    assert_true(is("10.0.1.2", "239.1.1.1", "e1 > e2/5 kernel"));
    assert_int_equal(multicast_daemon[fixture_iface[2]], 3);
}

multicast_test(groups_that_the_host_joins_are_known)
{
    int s = socket(AF_INET, SOCK_DGRAM, 0), s6 = socket(AF_INET6, SOCK_DGRAM, 0);
    struct ip_mreqn m = {.imr_ifindex = (int)if_nametoindex("e1")};
    struct ipv6_mreq m6 = {.ipv6mr_interface = if_nametoindex("e2")};

    m.imr_multiaddr.s_addr = inet_addr("239.1.1.1");
    inet_pton(AF_INET6, "ff1e::1", &m6.ipv6mr_multiaddr);
    if (fixture_try(
            "test $(uname -r | cut -d. -f1)$(printf %%03d $(uname -r | cut -d. -f2)) -ge 6014"))
        skip(); // not supported by the kernel
    must(setsockopt(s, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m, sizeof m));
    must(setsockopt(s6, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &m6, sizeof m6));
    fixture_eventually(has_join(1, "239.1.1.1") && has_join(2, "ff1e::1"));
    assert_false(has_join(2, "239.1.1.1"));
    assert_false(has_join(1, "224.0.0.1")); // link-local group
    assert_false(has_join(1, "ff02::1"));
    assert_int_equal(fixture_audit(), 0);
    assert_true(has_join(1, "239.1.1.1")); // dumped again meanwhile
    assert_int_equal(rib_manager_iface_del(fixture_iface[1]), 0);
    assert_false(has_join(1, "239.1.1.1"));
    assert_int_equal(rib_manager_iface_add(fixture_iface[1]), 0);
    assert_true(has_join(1, "239.1.1.1"));
    close(s);
    close(s6);
    fixture_eventually(!has_join(1, "239.1.1.1") && !has_join(2, "ff1e::1"));
}

static bool answered;

static void check_rows(void *ctx, const struct multicast_row *row, unsigned n,
                       const struct multicast_join_row *join, unsigned n_join)
{
    answered = true;
    assert_int_equal(n, 2);
    assert_int_equal(row[0].family, IP4);
    assert_int_equal(row[0].group.b[3], 1);
    assert_false(row[0].is_static);
    assert_string_equal(row[0].in, "e1");
    assert_string_equal(row[0].out[0].iface, "e2");
    assert_int_equal(row[0].out[0].ttl, 5);
    assert_int_equal(row[1].family, IP6);
    assert_int_equal(row[1].source.family, IP_NONE);
    assert_true(row[1].is_static);
    assert_int_equal(row[1].packets, 0);
}

multicast_test(control_is_told_of_all)
{
    struct multicast_static s = fixed(NULL, "ff1e::7", "e1", "e2");

    assert_int_equal(rib_manager_multicast_set("default", &s), 0);
    daemon_start();
    kernel_route4("10.0.1.2", "239.1.1.1", true);
    fixture_eventually(is("10.0.1.2", "239.1.1.1", "e1 > e2/5 kernel"));
    answered = false;
    assert_int_equal(rib_manager_multicast(check_rows, NULL), 0);
    fixture_eventually(answered);
}

multicast_test(many_routes_made_and_taken_at_random)
{
    bool there[64] = {false};
    char group[20];

    srandom(5);
    daemon_start();
    for (unsigned n = 0; n < 600; n++) {
        unsigned i = (unsigned)random() % 64;
        snprintf(group, sizeof group, "239.2.0.%u", i);
        if (there[i] || random() % 4)
            kernel_route4("10.0.1.2", group, !there[i]), there[i] = !there[i];
        if (n % 200 == 100)
            assert_int_equal(fixture_audit(), 0); // dumps among the events
    }
    for (unsigned i = 0; i < 64; i++) {
        snprintf(group, sizeof group, "239.2.0.%u", i);
        fixture_eventually(is("10.0.1.2", group, there[i] ? "e1 > e2/5 kernel" : "none"));
    }
    assert_int_equal(fixture_audit(), 0);
}
