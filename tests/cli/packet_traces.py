# SPDX-License-Identifier: BSD-3-Clause
"""PASSAGES: answers of kamueed to explain, by name; frames are cut to 80 bytes."""
TO_P0 = "a65c937a034b020000000001"      # addresses of the frames that p0 receives
TO_PEER = "2260d398fff736e10b086b3f"    # ... and of those that p1 sends
TCP_SYN = "990a010002c63364011388005000000000000000005002000067d30000"      # from the header's checksum on


def frame(length, octets, port="p0", interface=None):
    return {"port": port, "interface": interface or port, "length": length, "octets": octets.ljust(2 * min(length, 80), "0")}


def passage(came, *steps, vr="default", family="ipv4"):
    same = {"of": "packet", "interface": came["interface"], "vr": vr, "family": family, "ttl": 64, "result": "on", "frame": []}
    return {"in": came, "polled": True, "step": [{**same, **step} for step in steps]}


def step(stage, length, *frames, **more):
    return {"stage": stage, "length": length, **({"frame": list(frames)} if frames else {}), **more}


def ether_in(length, kind="plain", **more):
    return step("ether_in", length, kind=kind, **more)


def lookup(destination, prefix, of, nodes, metric=0, **to):
    """`of`: type and protocol; `nodes`: kind and bits of each node from the root on."""
    node, depth = [], 0
    for one in nodes.split(", "):
        kind, bits = one.split()
        node.append({"kind": kind, "depth": depth, "bits": int(bits)})
        depth += int(bits)
    return {"destination": destination, "prefix": prefix, **dict(zip(("type", "protocol"), of.split())), "metric": metric, "node": node, **to}


def adjacency(nexthop, interface, neighbor, mac, status="reachable", **group):
    return {"nexthop": nexthop, "kind": "adjacency", "interface": interface, "mtu": 1500, "neighbor": neighbor, "neighbor-status": status,
            "neighbor-mac": mac, **group}


def dropped(reason, sentence, source):
    return {"result": "dropped", "reason": reason, "sentence": sentence, "source": source}


def acl(rule, action, also, key, **more):
    return {"name": "edge", "direction": "in", "interface": "p0", "rule": rule, "action": action, "also": [also], **more,
            "key": {"source": "10.1.0.2", "destination": "198.51.100.1", **key}}


PEER = adjacency(11, "p1", "10.12.1.2", "22:60:d3:98:ff:f7")
MEMBER = lookup("198.51.100.1", "198.51.100.0/24", "unicast bgp", "directory 18, leaf 6", **PEER, group=13, hash=743340883, bucket=19, buckets=64)
STATIC = lookup("203.0.113.9", "203.0.113.0/24", "unicast static", "directory 18, leaf 6", **PEER)
SYN_IN = frame(60, f"{TO_P0}08004500002800000000400646{TCP_SYN}")
SYN_OUT = step("ether_out", 40, frame(54, f"{TO_PEER}080045000028000000003f0647{TCP_SYN}", "p1"), result="sent")
PING = frame(60, f"{TO_P0}08004500001c00000000400165d20a0100020a0c01010800f7ff")

PASSAGES = {
    "member": passage(SYN_IN, ether_in(40), step("ip4_fwd", 40, lookup=MEMBER), SYN_OUT),
    "error": passage(
        frame(62, f"{TO_P0}86dd6000000000081101fd00000100000000000000000000000220010db8010000000000000000000001c000829a00089185"),
        ether_in(48, ttl=1),
        step("ip6_fwd", 48, ttl=1, **dropped("ip6_hop_limit", "IPv6 hop limit expired", "RFC 8200 3"),
             lookup=lookup("2001:db8:100::1", "2001:db8:100::/48", "unicast boot", "directory 24, skip 24", 1024,
                           **adjacency(14, "p1", "fd00:12::2", "22:60:d3:98:ff:f7"), group=16, hash=3315538063, bucket=15, buckets=64),
             **{"icmp-error": {"result": "sent", "type": 3, "code": 0, "word": 0}}),
        step("ip6_fwd", 96, of="icmp-error", ttl=65, lookup=lookup(
            "fd00:1::2", "fd00:1::/64", "connected kernel",
            "outside 0, branch 6, branch 6, skip 12, branch 6, skip 30, branch 4, skip 60, leaf 4", 256,
            **adjacency(18, "p0", "fd00:1::2", "96:82:cc:e5:3b:8a", "stale"))),
        step("ether_out", 96, frame(110, "9682cce53b8aa65c937a034b86dd6c00000000383a40fd000001000000000000000000000001fd000001000000000000"
                                         "00000000000203009196000000006000000000081101fd000001"), of="icmp-error", ttl=65, result="sent"),
        family="ipv6"),
    "pieces": passage(
        frame(4014, f"{TO_P0}080045000fa000000000401125410a010002cb007109c000829a0f8c582e"), ether_in(4000),
        step("ip4_fwd", 4000, frame(1514, f"{TO_PEER}0800450005dc000020003f1110050a010002cb007109c000829a0f8c582e", "p1"),
             frame(1514, f"{TO_PEER}0800450005dc000020b93f110f4c0a010002cb007109", "p1"),
             frame(1054, f"{TO_PEER}080045000410000001723f11305f0a010002cb007109", "p1"), lookup=STATIC, result="sent")),
    "punt": passage(PING, ether_in(28), step("ip4_fwd", 28, PING, result="punted", **{"class": "icmp"}, lookup=lookup(
        "10.12.1.1", "10.12.1.1/32", "local kernel", "directory 18, mixed 6, wide 8", nexthop=1, kind="local"))),
    "martian": passage(
        frame(60, f"{TO_P0}08004500001c00000000401139c97f000001c0000207c000829a00087c3a"), ether_in(46, "odd"),
        step("ip4_in", 28, **dropped("ip4_martian_src", "IPv4 source address is not a valid source", "RFC 1812 5.3.7"))),
    "hold": passage(
        frame(60, f"{TO_P0}08004500001c000000004011aec70a010002c0000207c000829a0008f138"), ether_in(28),
        step("ip4_fwd", 28, result="held", lookup=lookup(
            "192.0.2.7", "192.0.2.0/24", "unicast boot", "directory 18, leaf 6", nexthop=6, kind="glean", interface="p1", mtu=1500))),
    "vlan": passage(
        frame(1518, "7242e8c1c603020000000001810000280800450005dc000040004011eedd0a280002cb007109c000829a05c86b8f", "p3", "v40"),
        ether_in(1500), step("ip4_fwd", 1500, lookup=STATIC),
        step("ether_out", 1500, frame(1514, f"{TO_PEER}0800450005dc000040003f11efdd0a280002cb007109c000829a05c86b8f", "p1"), result="sent")),
    "acl_rejected": passage(
        SYN_IN, ether_in(40),
        step("features_in", 40, **dropped("acl_rejected", "rejected by an access list, with an error to the sender", "RFC 1812 5.2.7.1"),
             acl=acl(100, "reject", "log", {"protocol": 6, "source-port": 5000, "destination-port": 80, "tcp-flags": 2, "dscp": 0,
                                            "part": "whole"}),
             **{"icmp-error": {"result": "reset"}})),
    "acl_redirected": passage(
        SYN_IN, ether_in(40),
        step("features_in", 40, acl=acl(0, "permit", "redirect", {"protocol": 1, "dscp": 46, "part": "later-fragment"},
                                        **{"class": 3, "remark-dscp": 46, "nexthop": 11}),
             police={"policer": "gold", "interface": "p0", "direction": "in", "color": "yellow", "action": "remark", "remark-dscp": 12}),
        step("ip4_fwd", 40, lookup=MEMBER), SYN_OUT),
    "waiting": passage(
        SYN_IN, ether_in(40),
        step("ip4_fwd", 40, **dropped("ip4_no_route", "no route", "RFC 1812 5.3.4"), lookup=lookup(
            "198.51.100.1", "0.0.0.0/0", "unreachable static", "floor 6", nexthop=2, kind="unreachable",
            **{"waiting-prefix": "198.51.100.0/24", "waiting-for": "ipv4-routes"})), vr="red"),
    "waiting6": passage(
        SYN_IN, ether_in(40),
        step("ip6_fwd", 40, **dropped("ip6_no_route", "no route", "RFC 4443 3.1"), lookup={
            "destination": "2001:db8::1", "waiting-prefix": "2001:db8::/32", "waiting-for": "memory", "node": [], "nexthop": 0, "kind": "none"}),
        family="ipv6"),
}
