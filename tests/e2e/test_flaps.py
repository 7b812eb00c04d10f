# SPDX-License-Identifier: BSD-3-Clause
"""Many route changes: stable prefixes lose nothing meanwhile, and at the end FIB and kernel agree."""
import threading

import pytest

from kamuee.lab import measure

from support import Pinging, assert_reaches, eventually, kernel_has, received, receiver, send

pytestmark = pytest.mark.storm

CHURN = """
nodes:
  h1: $HOST(1)
  r:
    kind: $ROUTER
    daemon: frr
    interfaces:
      p0: [10.1.0.1/24, "fd00:1::1/64"]
      p1: [10.2.0.1/24, "fd00:2::1/64"]
      p2: [10.3.0.1/24, "fd00:3::1/64"]
    asn: 65001
    neighbors: [{address: 10.3.0.2, asn: 65010, families: [ipv4, ipv6]}]
    routes: [192.0.2.0/24 via 10.2.0.2, "2001:db8:2::/48 via fd00:2::2"]
    $SET
  h2: $HOST(2 192.0.2.1/32 2001:db8:2::1/128)
  feed:
    kind: feed
    interfaces: {eth0: [10.3.0.2/24, "fd00:3::2/64"]}
    asn: 65010
    peer: 10.3.0.1
    generate: true
    routes_count: 20000
links:
  - [h1:eth0, r:p0]
  - [r:p1, h2:eth0]
  - [r:p2, feed:eth0]
"""
STABLE = ("192.0.2.1", "2001:db8:2::1")
N_FLAPS = 10_000


@pytest.fixture(scope="module")
def lab(labs, kind):
    lab = labs(CHURN.replace("$SET", ""), kind)
    assert_reaches(lab["h1"], *STABLE)
    wait_for_table(lab)
    return lab


def wait_for_table(lab, n: int = 20_000) -> None:
    eventually(lambda: measure.count_received(lab["r"], ["10.3.0.2"]) == n, 60, "the feed's table is in BGP", 0.2)
    eventually(lambda: measure.count_kernel(lab["r"].namespace) >= n, 60, "the feed's table is in the kernel", 0.2)


def test_ten_thousand_flaps_cost_the_stable_prefixes_no_packet(lab):
    feed = lab["feed"]
    counting = receiver(lab["h2"])
    pings = [Pinging(lab["h1"], target) for target in STABLE]
    sending = threading.Thread(target=send, args=(lab["h1"], list(STABLE), 6000), kwargs={"per_s": 1000, "flows": 8})
    feed.tell("churn", str(N_FLAPS / 5), "5")
    sending.start()
    sending.join()
    eventually(lambda: not feed.tell("status")["churning"], 60, "the churn ends")
    assert feed.tell("status")["changes"] >= N_FLAPS
    for result in [pinging.stop(at_least=500) for pinging in pings]:
        assert result.lost == 0, result.said
    assert received(counting, 6000)["distinct"] == 6000
    wait_for_table(lab)


def test_a_session_that_breaks_and_comes_back_leaves_the_same_table(lab):
    feed = lab["feed"]
    pinging = Pinging(lab["h1"], STABLE[0])
    before = feed.tell("status")["times-established"]
    feed.tell("flap", "hard")
    eventually(lambda: feed.tell("status")["times-established"] > before, 60, "the session comes back")
    wait_for_table(lab)
    result = pinging.stop()
    assert result.lost == 0, result.said


def test_an_overrun_of_netlink_ends_with_fib_and_kernel_equal(labs, kamueed):
    """A receive buffer of a few messages, and thousands of routes at once: announcements are lost."""
    lab = labs(CHURN.replace("$SET", "set: [set netlink receive-buffer 4096]"))
    router = lab["r"]
    wait_for_table(lab)
    burst = [f"route add 198.18.{i // 256}.{i % 256}/32 via 10.2.0.2" for i in range(2500)]
    undone = [line.replace(" add ", " del ") for line in burst]
    for _ in range(8):
        router.namespace.ip_batch(burst)
        router.namespace.ip_batch(undone)
        router.namespace.ip_batch(burst)
        assert kernel_has(router, "198.18.9.195/32")
        eventually(lambda: measure.fib_differences(router) == [], 10,
                   lambda: f"FIB = kernel: {measure.fib_differences(router)}", 0.3)
        router.namespace.ip_batch(undone)
    vr = measure.client(router).state("vr=default")
    vr = vr[0] if isinstance(vr, list) else vr
    assert vr["overruns"] > 0, "no announcement was lost: the test has not tested anything"
    assert vr["resyncs"] > 0
    assert_reaches(lab["h1"], STABLE[0])
