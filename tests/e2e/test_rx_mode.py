# SPDX-License-Identifier: BSD-3-Clause
"""rx-mode: forwarders are woken by their ports, or look by the clock; a burst after 10 s of idleness arrives whole either way."""
import time

import pytest

from kamuee.lab import measure
from support import LINE, Router, assert_reaches, eventually, received, receiver, send

TWO_ROUTERS = """
nodes:
  h1: $HOST4(1)
  r1:
    kind: kamuee
    interfaces: {p0: [10.1.0.1/24]}
  r2:
    kind: kamuee
    interfaces: {p0: [10.2.0.1/24]}
  h2: $HOST4(2)
links:
  - [h1:eth0, r1:p0]
  - [r2:p0, h2:eth0]
"""
BURST = 200                   # fewer than the rings of a TAP (500) and of virtio (256) hold: a busy machine may run nobody else meanwhile
AS_FAST_AS_IT_CAN = 10_000_000
IDLE_S = 10
POLLS_BY_THE_CLOCK_PER_S = 100      # 250 where it gets its core at once
POLLS_ASLEEP_PER_S = 40       # woken at the latest every 100 ms, and by what hosts say to each other


def rx_modes(node) -> set[str]:
    """As `show port` and `show thread` say: one word where all agree."""
    client = measure.client(node)
    return ({port["rx-mode"] for port in client.entries("port")}
            | {queue["rx-mode"] for thread in client.entries("thread") for queue in thread.get("queue", [])})


def polls(node) -> int:
    return sum(thread["statistics"]["polls"] for thread in measure.client(node).entries("thread") if thread["role"] == "forwarder")


def polls_per_s(node) -> float:
    before, begun = polls(node), time.monotonic()
    time.sleep(1)
    return (polls(node) - before) / (time.monotonic() - begun)


def assert_burst_arrives_whole_after_idleness(h1, h2) -> None:
    time.sleep(IDLE_S)
    receiving = receiver(h2)
    send(h1, ["10.2.0.2"], BURST, per_s=AS_FAST_AS_IT_CAN)
    assert received(receiving, BURST)["distinct"] == BURST


@pytest.fixture(scope="module")
def sockets(labs, kamueed):
    return labs(LINE)


@pytest.mark.parametrize("rx_mode", ["interrupt", "poll"])
def test_packet_sockets_wake_or_are_polled_and_lose_nothing(sockets, rx_mode):
    r = sockets["r"]
    Router(r).configure(f"set port p0 rx-mode {rx_mode}", f"set port p1 rx-mode {rx_mode}")
    assert rx_modes(r) == {rx_mode}
    assert_reaches(sockets["h1"], "10.2.0.2")
    assert_burst_arrives_whole_after_idleness(sockets["h1"], sockets["h2"])
    if rx_mode == "poll":                          # by the clock, at most 4 ms apart
        eventually(lambda: polls_per_s(r) > POLLS_BY_THE_CLOCK_PER_S, 60, "the forwarder polls")
    else:
        eventually(lambda: polls_per_s(r) < POLLS_ASLEEP_PER_S, 60, "the forwarder sleeps until it is woken")
    Router(r).configure("delete port p0 rx-mode", "delete port p1 rx-mode")
    assert rx_modes(r) == {"interrupt"}


def test_a_port_that_cannot_wake_anybody_is_told_as_polled(sockets):
    r = sockets["r"]
    Router(r).configure("set port polled devargs net_ring0")
    assert {port["name"]: port["rx-mode"] for port in measure.client(r).entries("port")} == {
        "p0": "interrupt", "p1": "interrupt", "polled": "poll"}
    Router(r).configure("delete port polled")


@pytest.fixture(scope="module")
def routers(labs, kamueed):
    """Two routers; r1 is the host's end of the link between them (vhost), r2 the guest's (virtio)."""
    return labs(TWO_ROUTERS)


@pytest.fixture(params=["interrupt", "poll"])
def joined(routers, request, tmp_path):
    r1, r2, path = routers["r1"], routers["r2"], tmp_path / "vhost"
    Router(r1).configure(f"set port v0 devargs net_vhost0,iface={path} rx-mode {request.param}")
    Router(r2).configure(f"set port v0 devargs net_virtio_user0,path={path},queues=1 rx-mode {request.param}")
    r1.ip("addr add 10.9.0.1/24 dev v0")
    r2.ip("addr add 10.9.0.2/24 dev v0")
    r1.ip("route add 10.2.0.0/24 via 10.9.0.2")
    r2.ip("route add 10.1.0.0/24 via 10.9.0.1")
    yield routers, request.param
    Router(r2).configure("delete port v0")
    Router(r1).configure("delete port v0")


def test_receive_interrupts_of_vhost_and_virtio_wake_the_forwarder(joined):
    lab, rx_mode = joined
    assert_reaches(lab["h1"], "10.2.0.2")
    for r in (lab["r1"], lab["r2"]):
        assert rx_modes(r) == {"interrupt", rx_mode}
    assert_burst_arrives_whole_after_idleness(lab["h1"], lab["h2"])
    for r in (lab["r1"], lab["r2"]):
        if rx_mode == "poll":
            eventually(lambda r=r: polls_per_s(r) > POLLS_BY_THE_CLOCK_PER_S, 60, "the forwarder polls")
        else:
            eventually(lambda r=r: polls_per_s(r) < POLLS_ASLEEP_PER_S, 60, "the forwarder sleeps until it is woken")


@pytest.fixture(params=["interrupt", "poll"])
def tapped(sockets, request):
    """h1 has a second interface, the kernel's end of a net_tap port."""
    r, h1 = sockets["r"], sockets["h1"]
    Router(r).configure(f"set port t0 devargs net_tap0,iface=far0 namespace {h1.namespace.name} rx-mode {request.param}")
    h1.ip("addr add 10.3.0.2/24 dev far0")
    h1.ip("link set far0 up")
    h1.ip("route add 10.2.0.0/24 via 10.3.0.1")
    r.ip("addr add 10.3.0.1/24 dev t0")
    yield sockets, request.param
    Router(r).configure("delete port t0")


def test_a_burst_through_a_tap_port_arrives_whole_after_idleness(tapped):
    lab, rx_mode = tapped
    assert {port["name"]: port["rx-mode"] for port in measure.client(lab["r"]).entries("port")}["t0"] == rx_mode
    assert_reaches(lab["h1"], "10.2.0.2")
    assert_burst_arrives_whole_after_idleness(lab["h1"], lab["h2"])
