// SPDX-License-Identifier: BSD-3-Clause
// rib_kernel_test.c - random `ip` commands: after each handful the FIB answers like the kernel
//
// The oracle is the kernel's own lookup (RTM_GETROUTE with RTM_F_FIB_MATCH) for addresses in and
// around the prefixes that the commands use. Commands may fail; both sides then have to agree on
// that, too. A failure prints the seed; run with FIXTURE_SEED=N to repeat it and with FIXTURE_LOG=1
// to see the commands.
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netlink/netlink.h"
#include "rib/test/rib_fixture.h"
#include "tests/unit.h"

static unsigned seed;

static unsigned pick(unsigned n)
{
    return (unsigned)rand_r(&seed) % n;
}

static const char *link_name(int ifindex)
{
    static char name[2][IF_NAMESIZE];
    static int turn;

    turn = !turn;
    return if_indextoname((unsigned)ifindex, name[turn]) ? name[turn] : "?";
}

static bool is_ours(int ifindex)
{
    const char *name = link_name(ifindex);

    return !strcmp(name, "e1") || !strcmp(name, "e2");
}

struct verdict {
    int error;
    bool legs_dead[NETLINK_HOPS];
};

static struct netlink_event answer;

// Flags of the legs of a multipath answer, which netlink_parse does not keep: the kernel's view of
// the legs.
static void read_flags(const struct nlmsghdr *h, struct verdict *v)
{
    const struct nlattr *a;
    unsigned n = 0;

    mnl_attr_for_each(a, h, sizeof(struct rtmsg)) {
        const struct rtnexthop *nh = mnl_attr_get_payload(a);
        int left = mnl_attr_get_payload_len(a);

        if (mnl_attr_get_type(a) != RTA_MULTIPATH)
            continue;
        for (; RTNH_OK(nh, left); left -= RTNH_ALIGN(nh->rtnh_len), nh = RTNH_NEXT(nh))
            v->legs_dead[n++] = nh->rtnh_flags & (RTNH_F_DEAD | RTNH_F_LINKDOWN);
    }
}

static int ask_kernel(const struct ip_addr *a, struct verdict *v)
{
    static struct mnl_socket *s;
    union {
        struct nlmsghdr h;
        char space[16384];
    } m = {0};
    struct rtmsg *r;
    ssize_t n;

    memset(v, 0, sizeof *v);
    s = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
    assert_non_null(s);
    mnl_nlmsg_put_header(&m);
    m.h.nlmsg_type = RTM_GETROUTE;
    m.h.nlmsg_flags = NLM_F_REQUEST;
    r = mnl_nlmsg_put_extra_header(&m.h, sizeof *r);
    *r = (struct rtmsg){.rtm_family = (uint8_t)ip_af_of_family(a->family),
                        .rtm_flags = RTM_F_FIB_MATCH,
                        .rtm_dst_len = (uint8_t)ip_bits(a->family)};
    mnl_attr_put(&m.h, RTA_DST, a->family == IP4 ? 4 : 16, a->b);
    assert_true(mnl_socket_sendto(s, &m.h, m.h.nlmsg_len) > 0);
    n = mnl_socket_recvfrom(s, &m, sizeof m);
    mnl_socket_close(s);
    assert_true(n > 0);
    if (m.h.nlmsg_type == NLMSG_ERROR)
        return ((struct nlmsgerr *)NLMSG_DATA(&m.h))->error;
    assert_int_equal(netlink_parse(&m.h, &answer), 1);
    read_flags(&m.h, v);
    if (answer.route.nhid) { // netlink_parse dropped the copy of the hops: restore it
        struct nlattr *x;

        mnl_attr_for_each(x, &m.h, sizeof(struct rtmsg))
            if (mnl_attr_get_type(x) == RTA_NH_ID)
                x->nla_type = RTA_MARK;
        assert_int_equal(netlink_parse(&m.h, &answer), 1);
    }
    return 0;
}

static const char *hop_text(const struct netlink_hop *hop)
{
    static char text[80];
    const char *name = link_name(hop->ifindex);

    if (!is_ours(hop->ifindex))
        return "unreachable";
    if (!hop->gateway.family)
        snprintf(text, sizeof text, "glean %s", name);
    else
        snprintf(text, sizeof text, "adjacency %s 02:00:00:00:%s%c:%02x", name,
                 hop->gateway.family == IP4 ? "0" : "1", name[1],
                 hop->gateway.b[hop->gateway.family == IP4 ? 3 : 15]);
    return text;
}

// The kernel's answer in the format of fixture_fib().
static const char *kernel_says(const struct ip_addr *a)
{
    struct verdict v;
    int error = ask_kernel(a, &v);
    const struct netlink_route *r = &answer.route;
    static char text[80];
    bool leg[3] = {0};

    switch (error) {
    case 0: break;
    case -EINVAL: return "blackhole";
    case -EACCES: return "prohibit";
    default: return "none";
    }
    switch (r->type) {
    case RTN_BROADCAST:
        if (r->n_hops && is_ours(r->hop[0].ifindex)) {
            snprintf(text, sizeof text, "broadcast %s", link_name(r->hop[0].ifindex));
            return text;
        }
        return "local";
    case RTN_LOCAL:
    case RTN_ANYCAST: return "local";
    case RTN_BLACKHOLE: return "blackhole";
    case RTN_PROHIBIT: return "prohibit";
    case RTN_UNREACHABLE: return "none";
    }
    if (r->n_hops < 2)
        return r->n_hops ? hop_text(&r->hop[0]) : "none";
    for (unsigned i = 0; i < r->n_hops; i++)
        if (is_ours(r->hop[i].ifindex) && !v.legs_dead[i])
            leg[link_name(r->hop[i].ifindex)[1] - '0'] = true;
    snprintf(text, sizeof text, "group%s%s", leg[1] ? " e1" : "", leg[2] ? " e2" : "");
    return text;
}

// These count as equal: "no route" and "unreachable"; a group of one leg and that leg; "failed" and
// a gateway behind a link without carrier that the kernel still names.
static bool agree(const char *kernel, const char *fib)
{
    if (!strcmp(kernel, fib))
        return true;
    if (!strcmp(kernel, "none") || !strcmp(kernel, "unreachable"))
        return !strcmp(fib, "none") || !strcmp(fib, "unreachable") || !strcmp(fib, "no-route");
    if (!strncmp(kernel, "adjacency e", 11))
        return (!strncmp(fib, "group e", 7) && fib[7] == kernel[11] && !fib[8]) ||
               (!strncmp(fib, "failed e", 8) && fib[8] == kernel[11]) ||
               (!strncmp(fib, "hold e", 6) &&
                fib[6] == kernel[11]); // its permanent entry went with the link
    return !strncmp(kernel, "group", 5) && !strcmp(kernel, "group") && !strncmp(fib, "group", 5);
}

static void compare(const char *text)
{
    struct ip_addr a;

    assert_int_equal(ip_parse(text, &a), 0);
    for (unsigned ms = 0; !agree(kernel_says(&a), fixture_fib(text)); ms += 5) {
        if (ms > FIXTURE_PATIENCE_MS)
            fail_msg("%s: the kernel says \"%s\", the FIB \"%s\" (FIXTURE_SEED=%s)", text,
                     kernel_says(&a), fixture_fib(text),
                     getenv("FIXTURE_SEED") ? getenv("FIXTURE_SEED") : "default");
        fixture_run(5);
    }
}

static void gateways(void)
{
    for (int i = 1; i <= 2; i++)
        for (int k = 2; k <= 4; k++) {
            fixture_try(
                "ip neigh replace 10.0.%d.%d lladdr 02:00:00:00:0%d:0%d dev e%d nud permanent", i,
                k, i, k, i);
            fixture_try(
                "ip neigh replace fd0%d::%d lladdr 02:00:00:00:1%d:0%d dev e%d nud permanent", i, k,
                i, k, i);
        }
}

static const char *verb(void)
{
    static const char *const verbs[] = {"add",     "append", "prepend", "replace",
                                        "replace", "change", "del"};

    return verbs[pick(7)];
}

static void route_command(void)
{
    static const char *const special[] = {"blackhole", "unreachable", "prohibit", "throw"};
    unsigned p = pick(4), len = 8 + 8 * pick(3), i = 1 + pick(2), k = 2 + pick(3), metric = pick(3);
    const char *s = verb();
    char dst[64], m[32] = "";
    bool six = pick(2);

    if (six)
        snprintf(dst, sizeof dst,
                 len == 8    ? "2001:db8::/32"
                 : len == 16 ? "2001:db8:%u::/48"
                             : "2001:db8:%u:1::/64",
                 p);
    else
        snprintf(dst, sizeof dst, "20.%u.%u.0/%u", len > 8 ? p : 0, len > 16 ? 1u : 0, len);
    if (metric)
        snprintf(m, sizeof m, "metric %u", metric * 10);
    switch (pick(8)) {
    case 0:
        fixture_try("ip %s route %s %s %s %s", six ? "-6" : "-4", s, special[pick(six ? 3 : 4)],
                    dst, m);
        break;
    case 1: fixture_try("ip %s route %s %s dev e%u %s", six ? "-6" : "-4", s, dst, i, m); break;
    case 2:
        fixture_try("ip %s route %s %s nhid %u %s", six ? "-6" : "-4", s, dst,
                10 + (six ? 3 : 0) + pick(3), m);
        break;
    case 3:
        if (six)
            fixture_try(
                "ip -6 route %s %s %s nexthop via fd01::%u dev e1 nexthop via fd02::%u dev e2", s,
                dst, m, k, k);
        else
            fixture_try("ip route %s %s %s nexthop via 10.0.1.%u weight %u nexthop via 10.0.2.%u",
                        s, dst, m, k, 1 + pick(3), k);
        break;
    default:
        if (six)
            fixture_try("ip -6 route %s %s via fd0%u::%u dev e%u %s", s, dst, i, k, i, m);
        else
            fixture_try("ip route %s %s via 10.0.%u.%u %s", s, dst, i, k, m);
    }
}

static void command(void)
{
    unsigned i = 1 + pick(2), k = 2 + pick(3);

    switch (pick(40)) {
    case 0: fixture_try("ip link set e%u down", i); break;
    case 1: fixture_try("ip link set e%u down; ip link set e%u up", i, i); gateways(); break;
    case 2:
    case 3:
        fixture_try(
            "ip link set e%u up; ip addr add 10.0.%u.1/24 dev e%u; ip addr add fd0%u::1/64 dev "
            "e%u nodad",
            i, i, i, i, i);
        gateways();
        break;
    case 4: fixture_try("ip addr del 10.0.%u.1/24 dev e%u", i, i); break;
    case 5: fixture_try("ip addr del fd0%u::1/64 dev e%u", i, i); break;
    case 6: fixture_peer("ip link set p%u down", i); break;
    case 7:
    case 8: fixture_peer("ip link set p%u up", i); break;
    case 9: fixture_try("ip nexthop replace id 10 via 10.0.%u.%u dev e%u", i, k, i); break;
    case 10: fixture_try("ip nexthop replace id 11 via 10.0.%u.%u dev e%u", i, k, i); break;
    case 11: fixture_try("ip nexthop replace id 12 group 10/11,3"); break;
    case 12: fixture_try("ip nexthop replace id 13 via fd0%u::%u dev e%u", i, k, i); break;
    case 13: fixture_try("ip nexthop replace id 14 via fd0%u::%u dev e%u", i, k, i); break;
    case 14: fixture_try("ip nexthop replace id 15 group 13/14"); break;
    case 15: fixture_try("ip nexthop del id %u", 10 + pick(6)); break;
    case 16: fixture_try("ip nexthop replace id 12 group 1%u", pick(2)); break;
    case 17: fixture_try("ip route flush 20.0.0.0/8"); break;
    case 18:
        fixture_try("sysctl -qw net.ipv4.conf.e%u.ignore_routes_with_linkdown=%u", i, pick(2));
        break;
    case 19: // without announcements of IPv6 routes that go with their object
        fixture_try("sysctl -qw net.ipv4.nexthop_compat_mode=0; ip nexthop del id %u; "
                    "ip nexthop replace id 14 via fd0%u::%u dev e%u; "
                    "sysctl -qw net.ipv4.nexthop_compat_mode=1",
                    13 + pick(3), i, k, i);
        break;
    default: route_command();
    }
}

static void compare_all(void)
{
    for (unsigned p = 0; p < 4; p++) {
        char text[64];

        snprintf(text, sizeof text, "20.%u.0.9", p);
        compare(text);
        snprintf(text, sizeof text, "20.%u.1.9", p);
        compare(text);
        snprintf(text, sizeof text, "2001:db8:%u::9", p);
        compare(text);
        snprintf(text, sizeof text, "2001:db8:%u:1::9", p);
        compare(text);
    }
    compare("20.9.9.9");
    compare("2001:db8:9::9");
    compare("10.0.1.1");
    compare("10.0.1.200");
    compare("10.0.2.255");
    compare("fd02::1");
    compare("fd02::200");
    compare("30.0.0.1");
}

unit_test(fib_answers_like_the_kernel_after_random_commands)
{
    unsigned rounds = getenv("FIXTURE_ROUNDS") ? (unsigned)atoi(getenv("FIXTURE_ROUNDS")) : 60;

    seed = getenv("FIXTURE_SEED") ? (unsigned)atoi(getenv("FIXTURE_SEED")) : 7;
    fixture_open();
    for (int i = 1; i <= 2; i++) // only the permanent entries answer
        fixture_peer("sh -c 'ip addr flush dev p%d; ip link set p%d addrgenmode none'", i, i);
    gateways();
    for (unsigned i = 0; i < rounds; i++) {
        for (unsigned k = 1 + pick(8); k; k--)
            command();
        compare_all();
    }
    assert_int_equal(fixture_audit(), 0);
    fixture_close();
}
