// SPDX-License-Identifier: BSD-3-Clause
// tunnel_judge_test.c - which Linux tunnel devices our tunnels can represent, and why not others
#include <stdint.h>

#include <string.h>

#include "tunnel/tunnel_linux.h"
#include "tests/unit.h"

static struct netlink_link link_of(uint8_t kind, uint8_t family)
{
    struct netlink_link l = {.ifindex = 9, .name = "t9"};

    l.tunnel.kind = kind;
    l.tunnel.family = family;
    l.tunnel.port = TUNNEL_PORT_VXLAN;
    memset(l.tunnel.local, 1, family == IP4 ? 4 : 16);
    memset(l.tunnel.remote, 2, family == IP4 ? 4 : 16);
    return l;
}

unit_test(what_it_is_becomes_settings)
{
    struct netlink_link l = link_of(NETLINK_TUNNEL_GRE, IP4);
    struct tunnel_settings s;

    l.tunnel.iflags = l.tunnel.oflags = 0x2000;
    l.tunnel.ikey = l.tunnel.okey = 7;
    l.tunnel.tos = 0xb8;
    assert_null(tunnel_judge(&l, &s));
    assert_true(s.by_linux && s.keyed && s.id.key == 7 && s.id.kind == TUNNEL_GRE && !s.only);
    assert_true(s.dscp_mode == TUNNEL_DSCP_FIXED && s.dscp == 46 && s.ttl == 0);
    assert_int_equal(s.id.remote[3], 2);

    l = link_of(NETLINK_TUNNEL_IP, IP4);
    l.tunnel.proto = 4;
    l.tunnel.tos = 1;
    assert_null(tunnel_judge(&l, &s));
    assert_true(s.id.kind == TUNNEL_IPIP && s.only == IP4 && s.dscp_mode == TUNNEL_DSCP_COPY);

    l = link_of(NETLINK_TUNNEL_IP, IP6);
    l.tunnel.flags = 0x1 | 0x10 | 0x2;
    assert_null(tunnel_judge(&l, &s));
    assert_true(s.only == IP_NONE && s.dscp_mode == TUNNEL_DSCP_UNIFORM);

    l = link_of(NETLINK_TUNNEL_VXLAN, IP4);
    l.tunnel.ikey = 77;
    assert_null(tunnel_judge(&l, &s));
    assert_true(s.id.key == 77 && s.ttl == 64 && !s.keyed);
}

static void assert_left(const struct netlink_link *l, const char *word)
{
    struct tunnel_settings s;
    const char *why = tunnel_judge(l, &s);

    assert_non_null(why);
    if (!strstr(why, word))
        fail_msg("\"%s\" has no \"%s\"", why, word);
}

unit_test(what_ours_cannot_be_is_left_with_a_reason)
{
    struct netlink_link l;

#define LEFT(kind, family, what, word)                                                             \
    l = link_of(kind, family);                                                                     \
    l.tunnel.what;                                                                                 \
    assert_left(&l, word)
    LEFT(NETLINK_TUNNEL_GRE, IP4, remote[0] = l.tunnel.remote[1] = l.tunnel.remote[2] =
                                      l.tunnel.remote[3] = 0, "remote");
    LEFT(NETLINK_TUNNEL_GRE, IP4, remote[0] = 239, "multicast");
    LEFT(NETLINK_TUNNEL_VXLAN, IP6, remote[0] = 0xff, "multicast");
    LEFT(NETLINK_TUNNEL_GRE, IP4, local[0] = l.tunnel.local[1] = l.tunnel.local[2] =
                                      l.tunnel.local[3] = 0, "local");
    LEFT(NETLINK_TUNNEL_GRE, IP6, elsewhere = true, "namespace");
    LEFT(NETLINK_TUNNEL_GRE, IP4, external = true, "external");
    LEFT(NETLINK_TUNNEL_GRE, IP4, oflags = 0x1000, "seq");
    LEFT(NETLINK_TUNNEL_GRE, IP4, iflags = 0x8000, "csum");
    LEFT(NETLINK_TUNNEL_GRE, IP4, iflags = 0x2000, "ikey");
    LEFT(NETLINK_TUNNEL_GRE, IP4, iflags = l.tunnel.oflags = 0x2000; l.tunnel.okey = 1, "okey");
    LEFT(NETLINK_TUNNEL_GRE, IP4, special = true, "ignore-df");
    LEFT(NETLINK_TUNNEL_GRE, IP4, mark = 1, "fwmark");
    LEFT(NETLINK_TUNNEL_IP, IP4, encap = 1, "encap");
    LEFT(NETLINK_TUNNEL_IP, IP4, flags = 1, "ISATAP");
    LEFT(NETLINK_TUNNEL_IP, IP4, proto = 137, "mode");
    LEFT(NETLINK_TUNNEL_IP, IP6, flags = 0x10, "dscp");
    LEFT(NETLINK_TUNNEL_VXLAN, IP4, port = 8472, "dstport");
    LEFT(NETLINK_TUNNEL_VXLAN, IP4, special = true, "gbp");
    LEFT(NETLINK_TUNNEL_VXLAN, IP6, zero_sent = true, "udp6zerocsum");
    LEFT(NETLINK_TUNNEL_GRE_OTHER, IP4, port = 0, "kind");
    LEFT(NETLINK_TUNNEL_OTHER, IP_NONE, port = 0, "kind");
}

unit_test(the_device_of_every_namespace_is_none)
{
    struct netlink_link l = link_of(NETLINK_TUNNEL_GRE, IP4);

    assert_false(tunnel_is_fallback(&l));
    strcpy(l.name, "gre0");
    assert_true(tunnel_is_fallback(&l));
}
