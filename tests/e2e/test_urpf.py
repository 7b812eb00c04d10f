# SPDX-License-Identifier: BSD-3-Clause
"""Reverse-path checks: whose packets are believed follows the kernel's routes."""
import sys

import pytest

from kamuee.lab import measure
from support import eventually, kernel_has, received, receiver

LAB = """
nodes:
  h1: $HOST(1 198.51.100.1/32 100.64.0.1/32 2001:db8:100::1/128 2001:db8:64::1/128)
  h2: $HOST(2)
  h3: $HOST(3)
  r:
    kind: kamuee
    interfaces: {p0: [10.1.0.1/24, "fd00:1::1/64"], p1: [10.2.0.1/24, "fd00:2::1/64"], p2: [10.3.0.1/24, "fd00:3::1/64"]}
    routes:
      - default via 10.2.0.2
      - default via fd00:2::2
      - 198.51.100.0/24 via 10.2.0.2 metric 10
      - "2001:db8:100::/48 via fd00:2::2 metric 10"
links:
  - [h1:eth0, r:p0]
  - [h2:eth0, r:p1]
  - [h3:eth0, r:p2]
"""
SEND = """
import socket, sys
source, target, count = sys.argv[1:]
s = socket.socket(socket.AF_INET6 if ":" in source else socket.AF_INET, socket.SOCK_DGRAM)
s.bind((source, 0))
for n in range(int(count)):
    s.sendto(n.to_bytes(8, "big"), (target, 7000))
"""
PACKETS = 20
FAMILIES = pytest.mark.parametrize("family", ["ipv4", "ipv6"])
OWN = {"ipv4": "10.1.0.2", "ipv6": "fd00:1::2"}                       # h1's, on its link
OTHERS = {"ipv4": "198.51.100.1", "ipv6": "2001:db8:100::1"}          # h1 has it, the best route says h2
NOBODYS = {"ipv4": "100.64.0.1", "ipv6": "2001:db8:64::1"}            # only the default route covers it
TARGET = {"ipv4": "10.3.0.2", "ipv6": "fd00:3::2"}
TARGETS = tuple(TARGET.values())
WORSE = {"ipv4": "198.51.100.0/24 via 10.1.0.2", "ipv6": "2001:db8:100::/48 via fd00:1::2"}
PREFIX = {"ipv4": "198.51.100.0/24", "ipv6": "2001:db8:100::/48"}


@pytest.fixture
def urpf(router):
    """Sets how p0 checks sources."""
    return lambda family, mode, allow_default=False: router.configure(
        f"set interface p0 urpf {family} {mode} allow-default {str(allow_default).lower()}")


def refused(lab) -> int:
    interface = measure.client(lab["r"]).state("interface=p0")
    return int((interface[0] if isinstance(interface, list) else interface)["statistics"]["urpf-packets"])


def arrive(lab, source: str, family: str) -> bool:
    """Do packets with that source get from h1 to h3? All of them do, or all are counted as refused."""
    before, counting = refused(lab), receiver(lab["h3"])
    lab["h1"].run([sys.executable, "-c", SEND, source, TARGET[family], str(PACKETS)])
    came = received(counting, PACKETS if refused(lab) == before else 0)["sources"].get(source, 0)
    eventually(lambda: came + refused(lab) - before == PACKETS, 10, lambda: f"{came} came, {refused(lab) - before} refused")
    assert came in (0, PACKETS)
    return came == PACKETS


@FAMILIES
def test_off_believes_everybody(lab, family):
    assert arrive(lab, OTHERS[family], family)
    assert arrive(lab, NOBODYS[family], family)


@FAMILIES
@pytest.mark.rfc("3704", "2.2", "MAY")
def test_strict_believes_who_is_where_the_best_route_leads(lab, urpf, family):
    urpf(family, "strict")
    assert arrive(lab, OWN[family], family)
    assert not arrive(lab, OTHERS[family], family)
    assert not arrive(lab, NOBODYS[family], family)
    other = next(name for name in OWN if name != family)
    assert arrive(lab, OTHERS[other], other)


@FAMILIES
@pytest.mark.rfc("3704", "2.3", "MAY")
def test_feasible_believes_who_is_where_any_route_leads(lab, urpf, family):
    urpf(family, "feasible")
    assert not arrive(lab, OTHERS[family], family)
    lab["r"].ip(f"route add {WORSE[family]} metric 2000")
    eventually(lambda: kernel_has(lab["r"], PREFIX[family]))
    eventually(lambda: arrive(lab, OTHERS[family], family), 30, "the worse route counts")
    urpf(family, "strict")
    assert not arrive(lab, OTHERS[family], family)
    urpf(family, "feasible")
    assert arrive(lab, OTHERS[family], family)
    lab["r"].ip(f"route del {WORSE[family]} metric 2000")
    eventually(lambda: not arrive(lab, OTHERS[family], family), 30, "the deleted route counts no more")


@FAMILIES
@pytest.mark.rfc("3704", "2.4", "MAY")
def test_loose_believes_who_has_a_route_other_than_the_default_one(lab, urpf, family):
    urpf(family, "loose")
    assert arrive(lab, OTHERS[family], family)
    assert not arrive(lab, NOBODYS[family], family)
    urpf(family, "loose", allow_default=True)
    assert arrive(lab, NOBODYS[family], family)
    lab["r"].ip(f"route add blackhole {NOBODYS[family]}")                 # a source that is to be kept out (RFC 5635)
    eventually(lambda: not arrive(lab, NOBODYS[family], family), 30, "the blackholed source is refused")
    lab["r"].ip(f"route del blackhole {NOBODYS[family]}")


def test_strict_believes_every_leg_of_a_multipath_route(lab, urpf):
    urpf("ipv4", "strict")
    lab["r"].ip("route replace 198.51.100.0/24 metric 10 nexthop via 10.2.0.2 nexthop via 10.1.0.2")
    eventually(lambda: arrive(lab, OTHERS["ipv4"], "ipv4"), 30, "a leg leads back")
    lab["r"].ip("route replace 198.51.100.0/24 metric 10 via 10.2.0.2")
    eventually(lambda: not arrive(lab, OTHERS["ipv4"], "ipv4"), 30, "the leg is gone")


def test_what_is_said_of_the_interface(lab, urpf):
    urpf("ipv4", "feasible", allow_default=True)
    interface = measure.client(lab["r"]).state("interface=p0")
    interface = interface[0] if isinstance(interface, list) else interface
    assert (interface["urpf-ipv4"], interface["urpf-ipv6"], interface["urpf-allow-default"]) == ("feasible", "off", True)
