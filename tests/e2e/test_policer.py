# SPDX-License-Identifier: BSD-3-Clause
"""Policers of interfaces with real packets: the rate that passes, in and out, actions of colors, and refused settings."""
import sys
import time

import pytest

from kamuee.errors import DaemonError

from support import PATIENCE_S, STREAM, Router, eventually, received, receiver, send, two_hosts

LAB = two_hosts()
TARGETS = ("10.2.0.2", "fd00:2::2")
CIR = 2_000_000                                      # bit/s
CBS = 100_000                                        # bytes
SECONDS = 3
DISCOVERY = 5                                        # packets of neighbor discovery at most, which have a color and pass
BOTH = pytest.mark.parametrize("target", TARGETS, ids=["ipv4", "ipv6"])


def colors(router: Router, interface: str, way: str) -> dict[str, dict]:
    """{color: its counters} of an interface's policer."""
    found = next(entry for entry in router.entries("policer") if (entry["interface"], entry["direction"]) == (interface, way))
    return {entry["color"]: entry for entry in found["color"]}


def time_to_pass(router: Router, interface: str, way: str, wanted: float) -> tuple[float, float]:
    """Seconds in which a policer passes so many bytes from its first red packet on, and the part of them with a full bucket,
    because the sender or the router had paused for longer than the bucket lasts."""
    found = eventually(lambda: (now := colors(router, interface, way))["red"]["packets"] > 0 and now, 10, step_s=0.01)
    begun = last = time.monotonic()
    first, seen, full = found["green"]["bytes"], 0, 0.0
    while found["green"]["bytes"] - first < wanted:
        found, now = colors(router, interface, way), time.monotonic()
        assert now < begun + PATIENCE_S, found
        if (packets := sum(entry["packets"] for entry in found.values())) > seen:
            full += max(0, now - last - CBS * 8 / CIR)
            seen, last = packets, now
        time.sleep(0.01)
    return time.monotonic() - begun, full


@BOTH
@pytest.mark.parametrize("interface, way", [("p0", "in"), ("p1", "out")])
def test_a_flood_gets_the_committed_rate(lab, router, target, interface, way):
    """Eight times the rate: once the bucket is used up, the bytes of three seconds at the rate take three seconds. The bucket, which lasts
    for 400 ms, makes up for short pauses of the machine, the bound for others; tests/path/police has the exact rate."""
    router.configure(f"set policer gold cir {CIR} cbs {CBS} ebs 0", f"set interface {interface} police {way} gold")
    before = router.dropped(f"policed_{way}")
    # It ends with the measurement: a sender that catches up after a pause would pass a fixed number of packets too early.
    flood = lab["h1"].popen([sys.executable, str(STREAM), "send", "7000", "1000000", "1", "2000", "1000", target])
    try:
        took, full = time_to_pass(router, interface, way, CIR / 8 * SECONDS)
    finally:
        flood.kill()
        flood.wait()
    assert SECONDS - CBS * 8 / CIR <= took <= 1.5 * SECONDS + full, (took, full)

    def counted() -> bool:
        red, dropped = colors(router, interface, way)["red"]["packets"], router.dropped(f"policed_{way}") - before
        return 0 <= red - dropped <= DISCOVERY < red
    eventually(counted, 10, lambda: f"{colors(router, interface, way)}, {router.dropped(f'policed_{way}') - before} dropped")
    assert colors(router, interface, way)["yellow"]["packets"] == 0


@BOTH
def test_what_exceeds_arrives_with_another_dscp(lab, router, target):
    """Green packets fill the first burst, yellow ones the second, and the rate has room for hardly another."""
    router.configure("set policer gold kind srtcm cir 8k cbs 11000 ebs 22000", "set policer gold exceed remark-dscp af12",
                     "set policer gold violate drop", "set interface p0 police in gold",
                     "set acl seen rule 10 permit udp to any port 7000 dscp af12", "set acl seen rule 20 permit udp to any port 7000",
                     "set acl seen default permit", "set interface p1 acl out seen")
    sink, before = receiver(lab["h2"]), router.dropped("policed_in")
    send(lab["h1"], [target], 100, size=1000)

    def all_seen() -> tuple[int, int] | bool:
        yellow, green = (router.hits("seen")[number] for number in (10, 20))
        return router.dropped("policed_in") - before + yellow + green == 100 and (yellow, green)
    yellow, green = eventually(all_seen, what=lambda: f"{colors(router, 'p0', 'in')}, {router.hits('seen')}")
    assert 10 <= green <= 15 and 20 <= yellow <= 22
    assert received(sink, green + yellow)["distinct"] == green + yellow
    assert 0 <= colors(router, "p0", "in")["yellow"]["packets"] - yellow <= DISCOVERY
    eventually(lambda: f'kamuee_policer_packets_total{{interface="p0",direction="in",color="yellow"}} {colors(router, "p0", "in")["yellow"]["packets"]}\n'
               in router.metrics(), 10, "metrics have the same number")


def test_what_is_in_use_stays_and_changes_live(lab, router):
    router.configure("set policer gold cir 1M", "set interface p0 police in gold")
    with pytest.raises(DaemonError, match="refers to policer 'gold', which is not configured"):
        router.configure("delete policer gold")
    with pytest.raises(DaemonError, match="less than the interface's MTU"):
        router.configure("set port p0 mtu 9000", "set policer gold cbs 2k")
    assert router.entries("policer")[0]["cir"] == 1_000_000
    passage = router.call("explain", interface="p0", source="10.1.0.2", destination="10.2.0.2", protocol="udp", destination_port=7000)
    said = next(step["police"] for step in passage["step"] if "police" in step)
    assert said == {"policer": "gold", "interface": "p0", "direction": "in", "color": "green", "action": "pass"}
    router.configure("set policer gold cir 2.5M")
    assert router.entries("policer")[0]["cir"] == 2_500_000
    router.configure("delete interface p0 police", "delete policer gold")
    assert router.entries("policer") == []
